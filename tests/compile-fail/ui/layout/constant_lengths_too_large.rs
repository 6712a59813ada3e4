use dtype_runtime::layout;

const N: usize = 1 << 40;

fn main() {
    let _ = layout!(f64[N][N] => [0, 0]);
}
