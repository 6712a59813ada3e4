use dtype_runtime::layout;

fn main() {
    layout!(pub Column = f64[10][10] => [.., 3]);
}
