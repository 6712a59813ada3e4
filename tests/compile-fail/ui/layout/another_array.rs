use dtype_runtime::layout;

fn main() {
    let matrix = [[0.0f64; 50]; 100];
    let column = layout!(f64[100][100] => [.., 3]);
    column.of(&matrix);
}
