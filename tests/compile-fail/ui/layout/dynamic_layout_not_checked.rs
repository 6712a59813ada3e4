use dtype_runtime::layout;

fn main() {
    let n = 10;
    let matrix = [[0.0f64; 10]; 10];
    let _ = layout!(f64[n][n] => [.., 1]).of(&matrix);
}
