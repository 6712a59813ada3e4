use dtype_runtime::MpiDatatype;

mod __dtype {
    #[derive(dtype_runtime::MpiDatatype)]
    pub struct EquivalentDatatype(pub u64);
}

#[derive(MpiDatatype)]
struct Outer {
    inner: __dtype::EquivalentDatatype,
}

fn main() {}
