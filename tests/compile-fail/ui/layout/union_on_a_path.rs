use dtype_runtime::{MpiDatatype, layout};

union Bits {
    number: u64,
    half: u32,
}

#[derive(MpiDatatype)]
struct Node {
    value: f64,
    #[mpi(skip)]
    bits: Bits,
}

fn main() {
    let _ = layout!(Node[1] => [0].bits.number);
    let n = 1;
    let _ = layout!(Node[n] => [0].bits.number);
}
