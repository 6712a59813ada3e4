use dtype_runtime::layout;

fn main() {
    let _ = layout!(String[10] => [3]);
}
