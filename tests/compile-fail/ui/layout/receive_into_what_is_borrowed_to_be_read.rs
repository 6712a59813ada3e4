use dtype_runtime::layout;

fn main() {
    let matrix = [[0.0f64; 10]; 10];
    layout!(f64[10][10] => [.., 0]).of_mut(&matrix);
}
