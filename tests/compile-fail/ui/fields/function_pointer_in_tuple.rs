use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Handlers(u8, (u16, fn(u8)));

fn main() {}
