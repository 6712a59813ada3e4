use dtype_runtime::layout;

fn three() -> usize {
    3
}

fn main() {
    let _ = layout!(f64[10] => [const { three() }]);
}
