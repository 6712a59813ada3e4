//! What the compiler knows of the shape of an array.

use std::convert::Infallible;

/// The shape of an array that only the running program knows: `D` dimensions.
#[derive(Debug)]
pub struct Dimensions<const D: usize>(Infallible);

/// The shape of a type map: any memory that is long enough.
#[derive(Debug)]
pub struct Memory(Infallible);
