//! An attribute macro below the derive that leaves fields as they are, with packed, skipped and dropped ones.

use dtype_runtime::{MpiDatatype, pack};
use dtype_test_attribute::becomes;

#[derive(MpiDatatype)]
#[becomes(#[repr(C, packed)] struct Packed(u8, f64);)]
#[repr(C, packed)]
struct Packed(u8, f64);

#[derive(MpiDatatype)]
#[becomes(struct Node<T> { value: T, names: Vec<String> })]
struct Node<T> {
    value: T,
    #[mpi(skip)]
    names: Vec<String>,
}

impl<T> Drop for Node<T> {
    fn drop(&mut self) {
        self.names.clear();
    }
}

fn main() {
    assert_eq!(pack(&[Packed(1, 2.0)]).len(), 9);
    assert_eq!(pack(&[Node { value: 7u8, names: Vec::new() }]), [7]);
}
