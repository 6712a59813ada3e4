//! What the tests share with `cargo xtask`: how to start a program on several ranks.
#![forbid(unsafe_code)]

pub mod launch;
