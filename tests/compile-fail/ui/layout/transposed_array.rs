use dtype_runtime::layout;

fn main() {
    let matrix = [[0.0f64; 50]; 100];
    layout!(f64[50][100] => [.., 3]).of(&matrix);
}
