use dtype_runtime::layout;

fn main() {
    let mut matrix = [[0.0f64; 10]; 10];
    layout!(f64[10][10] => [.., ..;2] + [.., 1..;3]).of_mut(&mut matrix);
}
