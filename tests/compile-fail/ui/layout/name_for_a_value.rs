use dtype_runtime::layout;

const N: usize = 3;

fn main() {
    layout!(type Column = f64[10][10] => [.., N]);
    let n = 3;
    layout!(type Row = f64[10][10] => [n, ..]);
    let _ = (Column, n);
}
