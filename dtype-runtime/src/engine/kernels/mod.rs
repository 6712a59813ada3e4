//! The innermost loops: blocks of one size copied from places to places.
//!
//! Each is compiled for every kind of size and of places, so that what happens to a block is a handful of
//! instructions. Up to 128 bytes each size has code of its own.
//!
//! - `width`: how a block of each size is copied;
//! - `loops`: strides, lists and tiles of them, with those for `x86_64`;
//! - `group`: the fields of a struct.
//!
//! The conditions of each `unsafe fn` here are those of [`Direction::copy`](super::sides::Direction::copy),
//! for the blocks that it copies: 1. what is read is initialized; 2. what is written may be written; 3. no
//! block that is written overlaps one that is read.

mod group;
mod loops;
mod width;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub(crate) use group::{GroupKernel, Listed, group_kernel};
pub(crate) use loops::{Stride, copy_listed, kernel};
pub(crate) use width::{Any, Exact, Lines, Width, copy_block, copy_forward, with_width};
