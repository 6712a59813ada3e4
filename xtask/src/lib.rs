//! The part of `xtask` that the tests use: starting a program on several ranks.
#![forbid(unsafe_code)]

pub mod launch;
