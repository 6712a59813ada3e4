use dtype_runtime::layout;

const N: usize = 5000;

fn main() {
    let _ = layout!(f64[N] => [i] for i in 0..N);
}
