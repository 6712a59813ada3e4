use dtype_runtime::layout;

const N: u64 = 3_000_000_000;

fn main() {
    let _ = layout!(u8[10] => [0] for _i in 0..N, _j in 0..0);
}
