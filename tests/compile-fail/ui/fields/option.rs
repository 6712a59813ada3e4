use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Sensor {
    reading: Option<f64>,
}

fn main() {}
