//! The innermost loops: copies of blocks of one size from offsets to offsets.
//!
//! A kernel is compiled for each kind of size and of offsets, so that a block takes only a few instructions.
//! Each size up to 128 bytes has code of its own.
//!
//! - `width`: the copy of a block of each size;
//! - `stride`: the iterations of a loop;
//! - `loops`: loops with strides or lists, and tiles of them, with `x86_64` for that architecture;
//! - `group`: the fields of a struct.
//!
//! The conditions of each `unsafe fn` here are those of [`Direction::copy`](super::sides::Direction::copy),
//! for the blocks that it copies:
//! 1. the bytes that are read are initialized, and nobody writes them during the copy;
//! 2. the bytes that are written may be written, and nobody else uses them during the copy;
//! 3. no block that is written overlaps one that is read.

mod group;
mod loops;
mod stride;
mod width;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub(crate) use group::{GroupKernel, Listed, group_kernel};
pub(crate) use loops::{copy_listed, kernel};
pub(crate) use stride::Stride;
pub use width::copy_forward;
pub(crate) use width::{Any, Exact, Tail, Width, copy_block, with_width};
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) use x86_64::fetch;

/// Fetches nothing: no other architecture has been measured.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(crate) fn fetch(_place: *const u8) {}
