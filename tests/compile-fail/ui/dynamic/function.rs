use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
struct Bad {
    call: fn(f64) -> f64,
}

fn main() {}
