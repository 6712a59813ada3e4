use dtype_runtime::layout;

fn main() {
    let matrix = [[0.0f64; 3]; 2];
    layout!(column_major f64[2][3] => [.., 1]).of(&matrix);
}
