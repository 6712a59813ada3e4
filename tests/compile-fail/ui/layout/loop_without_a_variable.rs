use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64[8][8] => [3, ..] for 0..8);
}
