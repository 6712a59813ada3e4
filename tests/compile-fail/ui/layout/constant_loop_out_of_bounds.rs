use dtype_runtime::layout;

const N: usize = 4;

fn main() {
    let _ = layout!(f64[N][N] => [i, ..=i] for i in 0..=N);
}
