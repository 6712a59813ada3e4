use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
struct Bad {
    inner: Option<Inner>,
}

struct Inner(u8);

fn main() {}
