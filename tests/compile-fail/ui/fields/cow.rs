use dtype_runtime::MpiDatatype;
use std::borrow::Cow;

#[derive(MpiDatatype)]
struct Text {
    text: Cow<'static, str>,
}

fn main() {}
