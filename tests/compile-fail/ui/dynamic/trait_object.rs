use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
struct Bad {
    shapes: Vec<Box<dyn std::fmt::Debug>>,
}

fn main() {}
