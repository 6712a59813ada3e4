use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64[8][8] => [k, ..] for i in 0..8);
}
