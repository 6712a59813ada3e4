use dtype_runtime::layout;

const S: usize = 0;

fn main() {
    let _ = layout!(f64[10] => [..;S]);
}
