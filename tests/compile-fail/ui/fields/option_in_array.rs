use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Sensors {
    readings: [[Option<f64>; 2]; 3],
}

fn main() {}
