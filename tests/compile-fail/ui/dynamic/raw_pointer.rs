use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
struct Bad {
    name: String,
    place: *const f64,
}

fn main() {}
