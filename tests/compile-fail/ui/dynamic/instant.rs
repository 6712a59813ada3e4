use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
struct Bad {
    start: std::time::Instant,
}

fn main() {}
