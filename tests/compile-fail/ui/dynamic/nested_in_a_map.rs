use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
struct Bad {
    places: std::collections::HashMap<String, Option<*mut u8>>,
}

fn main() {}
