use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Wide(u128, [i128; 2]);

fn main() {}
