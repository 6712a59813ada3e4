use dtype_runtime::layout;

mod inner {
    #[derive(dtype_runtime::MpiDatatype)]
    pub struct Hidden {
        secret: u8,
    }
}

fn main() {
    let _ = layout!(inner::Hidden => .secret);
}
