use dtype_runtime::layout;

fn main() {
    let at = 8;
    let _ = layout!(<i32 @ 0, f64 @ at>);
}
