use dtype_runtime::layout;

fn main() {
    layout!(f64[10] => [3]).of("0123456789");
}
