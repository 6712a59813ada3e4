use dtype_runtime::layout;

fn main() {
    let list = [0.5, 1.5];
    let n = 10;
    let _ = layout!(f64[n] => {list});
}
