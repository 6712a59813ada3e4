use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
enum Never {}

fn main() {}
