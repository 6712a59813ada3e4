use dtype_runtime::layout;

const N: usize = 6;

fn main() {
    let mut matrix = [[0.0f64; N]; N];
    layout!(f64[N][N] => [i, i..] + [i, ..=i] for i in 0..N).of_mut(&mut matrix);
}
