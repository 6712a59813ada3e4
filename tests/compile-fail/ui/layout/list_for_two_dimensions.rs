use dtype_runtime::layout;

fn main() {
    let list = [1usize, 2];
    let _ = layout!(f64[10][10] => {list});
}
