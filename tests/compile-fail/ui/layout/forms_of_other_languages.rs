//! Selections as C, Fortran and numpy write them.

use dtype_runtime::layout;

fn main() {
    let list = vec![1usize, 4];
    let m = [[0.0f64; 9]; 9];
    layout!(f64[9][9] => [:, 3]);
    layout!(f64[9][9] => [1:5, 3]);
    layout!(f64[9][9] => [..][3]);
    layout!(f64[9][9] => [0..9..2, 3]);
    layout!(f64[9][9] => [list, 3]);
    layout!(m => [.., 3]);
}
