use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Mesh {
    points: std::vec::Vec<[f64; 3]>,
}

fn main() {}
