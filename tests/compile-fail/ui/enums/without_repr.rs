use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
enum Color {
    Red,
    Green,
}

fn main() {}
