//! In a crate without the prelude.
#![no_implicit_prelude]
#![deny(warnings, unsafe_code)]

use ::dtype_runtime::{MpiDatatype, MpiMessage};

#[derive(MpiDatatype)]
#[repr(C)]
pub struct Plain {
    pub value: f64,
    pub pairs: [(u8, bool); 2],
}

#[derive(MpiDatatype)]
#[mpi(order = "memory", cost = "processing")]
pub struct Generic<T, const N: usize> {
    pub items: [T; N],
    #[mpi(skip)]
    pub local: ::std::vec::Vec<T>,
}

#[derive(MpiDatatype)]
#[repr(C)]
#[mpi(wire = "bytes")]
pub struct Block {
    pub tag: u8,
    pub value: f64,
}

#[derive(MpiDatatype)]
#[repr(u8)]
pub enum Kind {
    One,
    Two,
}

#[derive(MpiMessage)]
pub enum Tree<T> {
    Leaf(T),
    Node {
        children: ::std::vec::Vec<Tree<T>>,
        #[mpi(skip)]
        local: u8,
    },
}

fn main() {
    ::std::assert_eq!(Plain::cost(), 30);
    ::std::assert!(Generic::<u8, 3>::cost() >= 14);
    ::std::assert_eq!(Block::cost(), 8);
    ::std::assert_eq!(Kind::cost(), 3);
    let bytes = ::dtype_runtime::message::to_bytes(&Tree::Leaf(1u8)).unwrap();
    ::std::assert!(::dtype_runtime::message::from_bytes::<Tree<u8>>(&bytes).is_ok());
}
