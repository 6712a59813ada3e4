use dtype_runtime::layout;

const N: usize = 4;

fn main() {
    let _ = layout!(f64[10][N] => [10, ..]);
}
