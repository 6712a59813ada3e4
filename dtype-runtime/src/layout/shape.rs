//! The shapes of arrays as types, as far as the compiler knows them.

use std::convert::Infallible;

/// The shape of an array of `D` dimensions whose lengths are known only at run time.
#[derive(Debug)]
pub struct Dimensions<const D: usize>(Infallible);

/// The shape of a type map: any memory that is long enough.
#[derive(Debug)]
pub struct Memory(Infallible);
