use dtype_runtime::MpiDatatype;
use std::{ffi::CString, path::PathBuf};

#[derive(MpiDatatype)]
struct File {
    path: PathBuf,
    name: CString,
}

fn main() {}
