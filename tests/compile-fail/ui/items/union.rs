use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(C)]
union Bits {
    float: f32,
    integer: u32,
}

fn main() {}
