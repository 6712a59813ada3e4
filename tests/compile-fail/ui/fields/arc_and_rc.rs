use dtype_runtime::MpiDatatype;
use std::{rc::Rc, sync::Arc};

#[derive(MpiDatatype)]
struct Shared {
    local: Rc<f64>,
    global: Arc<[u8; 4]>,
}

fn main() {}
