use dtype_runtime::layout;

fn main() {
    let mut matrix = [[0.0f64; 10]; 10];
    let cross = layout!(f64[10][10] => [0, ..] + [.., 0]);
    cross.of(&matrix);
    cross.of_mut(&mut matrix);
}
