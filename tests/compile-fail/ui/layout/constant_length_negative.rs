use dtype_runtime::layout;

const N: i64 = -4;

fn main() {
    let _ = layout!(f64[N] => [..]);
}
