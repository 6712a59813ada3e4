use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
#[repr(C, packed)]
struct Bad {
    flag: u8,
    values: Vec<f64>,
}

fn main() {}
