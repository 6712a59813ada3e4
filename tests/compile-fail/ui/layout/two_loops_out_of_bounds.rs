use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64[8][6] => [i, j] for i in 0..8, j in i..8);
}
