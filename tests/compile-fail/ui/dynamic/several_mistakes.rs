use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
struct Bad {
    place: *const f64,
    file: std::path::PathBuf,
    call: fn(),
}

fn main() {}
