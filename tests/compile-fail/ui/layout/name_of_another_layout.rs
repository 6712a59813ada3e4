use dtype_runtime::{View, layout};

layout!(type First = f64[10][10] => [.., 3]);
layout!(type Second = f64[10][10] => [.., 4]);

fn first(_: View<'_, First>) {}

fn main() {
    let matrix = [[0.0f64; 10]; 10];
    first(Second.of(&matrix));
}
