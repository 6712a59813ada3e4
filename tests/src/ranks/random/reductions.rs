//! Reductions of random values with functions that do not commute.

use std::fmt::Debug;

use dtype_runtime::{Comm, MpiDatatype};
use mpi::topology::SimpleCommunicator;

use super::each;
use crate::engine::Random;

/// The function x ↦ `factor` · x + `shift` of numbers modulo 2⁶⁴.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Affine {
    factor: u64,
    shift: u64,
}

/// The first and the last of a series, if each fits the next one. It has padding, and values that must be
/// checked.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Series {
    first: u8,
    fits: bool,
    last: u32,
}

trait Value: MpiDatatype + Copy + Debug + PartialEq + Send + Sync {
    fn sample(drawn: &mut Random, rank: usize) -> Self;
    /// An associative function.
    fn then(&self, next: &Self) -> Self;
}

impl Value for Affine {
    fn sample(drawn: &mut Random, _: usize) -> Self {
        Self { factor: drawn.below(1 << 30) as u64, shift: drawn.below(1 << 30) as u64 }
    }

    fn then(&self, next: &Self) -> Self {
        let shift = next.factor.wrapping_mul(self.shift).wrapping_add(next.shift);
        Self { factor: self.factor.wrapping_mul(next.factor), shift }
    }
}

impl Value for Series {
    fn sample(drawn: &mut Random, rank: usize) -> Self {
        Self { first: rank as u8, fits: !drawn.one_in(10), last: rank as u32 }
    }

    fn then(&self, next: &Self) -> Self {
        let fits = self.fits && next.fits && self.last + 1 == u32::from(next.first);
        Self { first: self.first, fits, last: next.last }
    }
}

impl Value for i32 {
    fn sample(drawn: &mut Random, _: usize) -> Self {
        drawn.below(1000) as Self - 500
    }

    fn then(&self, next: &Self) -> Self {
        (*self).max(*next)
    }
}

impl Value for [u16; 3] {
    fn sample(drawn: &mut Random, _: usize) -> Self {
        [(); 3].map(|()| drawn.below(1 << 16) as u16)
    }

    fn then(&self, next: &Self) -> Self {
        [self[0].wrapping_add(next[0]), self[1], next[2]]
    }
}

pub fn reductions(world: &SimpleCommunicator) {
    each(world, 150, |world, drawn| match drawn.below(4) {
        0 => one::<Affine>(world, drawn),
        1 => one::<Series>(world, drawn),
        2 => one::<i32>(world, drawn),
        _ => one::<[u16; 3]>(world, drawn),
    });
}

/// Reduces the values of all ranks, which all ranks draw.
fn one<T: Value>(world: &SimpleCommunicator, drawn: &mut Random) {
    let world = &Comm::from(world);
    let (rank, ranks) = (world.rank(), world.size());
    let count = if drawn.one_in(8) { drawn.below(5000) } else { drawn.below(40) };
    let values: Vec<Vec<T>> =
        (0..ranks).map(|of| (0..count).map(|_| T::sample(drawn, of)).collect()).collect();
    // The results of the first ranks.
    let of_first =
        |ranks: usize, i: usize| values[1..ranks].iter().fold(values[0][i], |all, own| all.then(&own[i]));
    let all_of_first = |ranks: usize| (0..count).map(|i| of_first(ranks, i)).collect::<Vec<T>>();
    let (all, up_to_own) = (all_of_first(ranks), all_of_first(rank + 1));
    let own = &values[rank];
    let root = drawn.below(ranks);
    let is_root = rank == root;
    // Position by position.
    assert_eq!(world.all_reduce(own, T::then).unwrap(), all);
    assert_eq!(world.reduce(root, &own[..], T::then).unwrap(), is_root.then(|| all.clone()));
    assert_eq!(world.scan(own, T::then).unwrap(), up_to_own);
    assert_eq!(world.scan_before(&own[..], T::then).unwrap(), (rank > 0).then(|| all_of_first(rank)));
    let before = values[ranks - 1].clone();
    let mut into = before.clone();
    world.all_reduce_into(own, &mut into, T::then).unwrap();
    assert_eq!(into, all);
    let mut into = before.clone();
    world.scan_into(own, &mut into, T::then).unwrap();
    assert_eq!(into, up_to_own);
    let mut into = before.clone();
    world.reduce_into(root, own, is_root.then_some(&mut into[..]), T::then).unwrap();
    assert_eq!(into, if is_root { all } else { before });
    // One value.
    let Some(own) = own.first() else { return };
    assert_eq!(world.all_reduce(own, T::then).unwrap(), of_first(ranks, 0));
    assert_eq!(world.scan(own, T::then).unwrap(), of_first(rank + 1, 0));
    assert_eq!(world.scan_before(own, T::then).unwrap(), (rank > 0).then(|| of_first(rank, 0)));
    assert_eq!(world.reduce(root, own, T::then).unwrap(), is_root.then(|| of_first(ranks, 0)));
}
