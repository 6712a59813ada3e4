use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Particle {
    data: (f64, Vec<f64>),
}

fn main() {}
