use dtype_runtime::layout;

const N: usize = 10;

fn main() {
    let _ = layout!(f64[N] => [N - 1..N - 3]);
}
