use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64[10] => [340282366920938463463374607431768211456]);
}
