use dtype_runtime::message::to_bytes;

struct Plain {
    value: f64,
}

fn main() {
    let _ = to_bytes(&Plain { value: 0.5 });
}
