use dtype_runtime::{MpiMessage, message::from_bytes};

#[derive(MpiMessage)]
struct Line<'a> {
    text: &'a str,
}

fn main() {
    let _ = from_bytes::<Line<'_>>(&[]);
}
