use dtype_runtime::layout;

const N: usize = 10;
const M: usize = 20;
const K: i32 = 20;

fn main() {
    let _ = layout!(f64[N][M] => [.., K]);
}
