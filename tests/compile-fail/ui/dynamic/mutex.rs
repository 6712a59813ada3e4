use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
enum Bad {
    Shared(std::sync::Mutex<f64>),
}

fn main() {}
