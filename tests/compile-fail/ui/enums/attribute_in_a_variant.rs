use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(u8)]
enum Shape {
    Point,
    Circle {
        #[mpi(skip)]
        radius: f64,
    },
}

fn main() {}
