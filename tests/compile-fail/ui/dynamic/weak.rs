use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
struct Bad {
    parent: std::rc::Weak<String>,
}

fn main() {}
