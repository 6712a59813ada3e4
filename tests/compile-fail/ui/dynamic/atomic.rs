use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
struct Bad {
    count: std::sync::atomic::AtomicU64,
}

fn main() {}
