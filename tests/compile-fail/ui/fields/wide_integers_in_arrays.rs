use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Keys {
    keys: [i128; 4],
    pair: (u8, u128),
}

fn main() {}
