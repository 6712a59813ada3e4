use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
struct Bad {
    file: std::path::PathBuf,
}

fn main() {}
