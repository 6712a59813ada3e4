use dtype_runtime::layout;

fn main() {
    let matrix = [[0.0f32; 100]; 100];
    layout!(f64[100][100] => [.., 3]).of(&matrix);
}
