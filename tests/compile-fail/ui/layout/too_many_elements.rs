use dtype_runtime::layout;

fn main() {
    let _ = layout!(u8[4294967296][4294967296] => [0, 0]);
}
