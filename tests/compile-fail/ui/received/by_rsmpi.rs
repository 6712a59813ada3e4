//! rsmpi's own calls require `Equivalence` of a type; without MPI, another trait stands in for it.

use std::num::NonZero;

use dtype_runtime::{MpiDatatype, __private::Equivalence};

#[derive(MpiDatatype)]
#[repr(u8)]
enum Phase {
    Solid,
    Liquid,
}

#[derive(MpiDatatype)]
struct Cell {
    phase: Phase,
    value: f64,
}

#[derive(MpiDatatype)]
struct Name {
    letters: [char; 8],
}

#[derive(MpiDatatype)]
struct Pair<T>(T, T);

#[derive(MpiDatatype)]
struct Node {
    value: f64,
    #[mpi(skip)]
    neighbours: Vec<usize>,
}

#[derive(MpiDatatype)]
struct Tree {
    nodes: [Node; 2],
}

fn receive_into<T: Equivalence>() {}

fn main() {
    receive_into::<Phase>();
    receive_into::<Cell>();
    receive_into::<Name>();
    receive_into::<Pair<NonZero<u8>>>();
    receive_into::<Node>();
    receive_into::<Tree>();
}
