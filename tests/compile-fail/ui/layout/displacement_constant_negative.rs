use dtype_runtime::layout;

const AT: i64 = -4;

fn main() {
    let _ = layout!(<i32 @ AT>);
}
