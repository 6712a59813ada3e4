//! Lines for the user.

use std::{
    fmt::Display,
    io::{Write, stderr},
};

/// Prints a line on standard error. It is written at once, so that lines of several ranks do not mix. An
/// error is ignored, since there is nowhere to report it.
pub(crate) fn say(line: impl Display) {
    let _ = stderr().write_all(format!("dtype: {line}\n").as_bytes());
}
