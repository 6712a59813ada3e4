use dtype_runtime::layout;

fn main() {
    let mut matrix = [[0.0f64; 4]; 4];
    let (first, second) = (layout!(f64[4][4] => [.., 0]), layout!(f64[4][4] => [.., 1]));
    let mut receive = first.of_mut(&mut matrix);
    let send = second.of(&matrix);
    receive.unpack(&send.pack()).unwrap();
}
