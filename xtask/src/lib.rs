//! What the tests share with `cargo xtask`: how to start a program on several ranks.

pub mod launch;
