use dtype_runtime::layout;

fn main() {
    let _ = layout!(column_major f64[100][50] => [.., 50]);
}
