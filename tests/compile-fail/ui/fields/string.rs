use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Person {
    age: u32,
    name: String,
}

fn main() {}
