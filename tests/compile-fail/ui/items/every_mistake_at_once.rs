use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Everything {
    good: f64,
    name: String,
    pairs: [(u8, Vec<u8>); 3],
    last: Option<u8>,
}

fn main() {}
