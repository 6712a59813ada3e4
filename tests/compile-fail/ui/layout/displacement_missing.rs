use dtype_runtime::layout;

fn main() {
    let _ = layout!(<i32, f64 @ 8>);
}
