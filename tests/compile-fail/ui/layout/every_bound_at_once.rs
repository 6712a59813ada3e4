use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64[10][20][30] => [10, 20.., ..;0]);
}
