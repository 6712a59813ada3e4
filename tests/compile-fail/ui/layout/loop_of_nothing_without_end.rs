use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64[8] => [j] for i in 0..1000000000000, j in 0..0);
}
