use dtype_runtime::layout;

fn main() {
    let mut bytes = [0u8; 16];
    layout!(<f64 @ 0, i32 @ 6>).of_mut(&mut bytes);
}
