//! A static layout is an item of its own, and cannot name the parameters of the function around it: a value can.

use dtype_runtime::layout;

fn column<const N: usize>(matrix: &[[f64; N]; N]) -> Vec<u8> {
    let n = N;
    layout!(f64[n][n] => [.., 0]).unwrap().of(matrix).unwrap().pack();
    layout!(f64[N][N] => [.., 1]).of(matrix).pack()
}

fn main() {
    column(&[[0.0; 3]; 3]);
}
