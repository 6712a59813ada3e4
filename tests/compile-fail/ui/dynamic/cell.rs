use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
struct Bad {
    value: std::cell::RefCell<Vec<u8>>,
}

fn main() {}
