use dtype_runtime::{MpiDatatype, layout};

#[derive(MpiDatatype)]
struct Deep {
    values: [[[[[u8; 2]; 2]; 2]; 2]; 2],
}

fn main() {
    let _ = layout!(Deep[3] => [..].values[0][0][0][0][..]);
}
