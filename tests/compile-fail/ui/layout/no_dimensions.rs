use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64 => [..]);
}
