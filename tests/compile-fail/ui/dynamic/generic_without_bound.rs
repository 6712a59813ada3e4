use dtype_runtime::{MpiMessage, message::to_bytes};

#[derive(MpiMessage)]
struct Pair<T> {
    one: T,
    more: Vec<T>,
}

fn send<T>(pair: &Pair<T>) {
    let _ = to_bytes(pair);
}

fn main() {}
