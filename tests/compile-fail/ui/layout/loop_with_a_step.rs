use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64[8][8] => [i, i..] for i in 0..8;2);
    let _ = layout!(f64[8][8] => [i, i..] for i in 0..8..2);
}
