use dtype_runtime::layout;

fn main() {
    let _ = layout!(<i32 @ -4, f64 @ 8>);
}
