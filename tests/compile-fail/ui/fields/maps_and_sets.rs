use dtype_runtime::MpiDatatype;
use std::collections::{BTreeMap, HashSet};

#[derive(MpiDatatype)]
struct Index {
    names: BTreeMap<u32, u32>,
    seen: HashSet<u32>,
}

fn main() {}
