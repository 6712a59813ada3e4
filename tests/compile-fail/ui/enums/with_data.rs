use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
enum Shape {
    Circle { radius: f64 },
    Point,
}

fn main() {}
