//! What the user has asked for, by environment variables that are read once.
//!
//! - `DTYPE_INTERPOSE`: `on`, as without it; `report`, which changes nothing and only counts; `off`.
//! - `DTYPE_DENY`, `DTYPE_ALLOW`: names of calls with commas between, as `MPI_Bcast,MPI_I*`. Those that are
//!   denied, and those that are not allowed where some are, stay as they are.
//! - `DTYPE_PEERS=all`: the user's word that all ranks of the job have preloaded this library; `none`, that
//!   they do not all receive what is sent as the same structs.
//! - `DTYPE_PLAN=first`: datatypes are planned at their first message, whatever that takes.
//! - `DTYPE_REPORT`: where the report goes. With it they are planned so, too.

use std::{
    env,
    sync::{LazyLock, OnceLock},
};

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Nothing at all.
    Off,
    /// Counting only.
    Report,
    /// Packing.
    On,
}

/// What was asked for. What is misspelled is told of once, and taken for the default.
pub(crate) fn mode() -> Mode {
    static MODE: OnceLock<Mode> = OnceLock::new();
    *MODE.get_or_init(|| match env::var("DTYPE_INTERPOSE").as_deref() {
        Ok("off" | "0") => Mode::Off,
        Ok("report") => Mode::Report,
        Ok("on" | "1" | "") | Err(_) => Mode::On,
        Ok(other) => {
            eprintln!("dtype: DTYPE_INTERPOSE={other} is not known; it may be on, report or off. It is on.");
            Mode::On
        }
    })
}

/// Whether messages go packed at all.
pub(crate) fn is_on() -> bool {
    mode() == Mode::On
}

/// The calls that the user denies, and those that are allowed, where any are.
static LISTS: LazyLock<[Option<String>; 2]> =
    LazyLock::new(|| ["DTYPE_DENY", "DTYPE_ALLOW"].map(|name| env::var(name).ok()));

/// The text of both.
pub(crate) fn lists() -> &'static [Option<String>; 2] {
    &LISTS
}

/// Whether messages of a call may be packed.
pub(crate) fn packs(call: &str) -> bool {
    let [deny, allow] = &*LISTS;
    let is_in = |list: &str| list.split(',').any(|pattern| matches(pattern.trim(), call));
    is_on()
        && !deny.as_deref().is_some_and(is_in)
        && allow.as_deref().is_none_or(|allow| allow.trim().is_empty() || is_in(allow))
}

/// Whether a name is the one of a pattern, which may end in `*`; calls with large counts are those without
/// `_c` too.
fn matches(pattern: &str, call: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(front) => call.starts_with(front),
        None => call == pattern || call.strip_suffix("_c") == Some(pattern),
    }
}

/// Returns `true` if the user wants datatypes planned at their first message.
pub(crate) fn plans_at_once() -> bool {
    static FIRST: LazyLock<bool> = LazyLock::new(|| env::var("DTYPE_PLAN").is_ok_and(|word| word == "first"));
    *FIRST
}

/// Whether the user has said that all ranks are alike.
pub(crate) fn all_peers() -> bool {
    env::var("DTYPE_PEERS").is_ok_and(|word| word == "all")
}

/// Whether the user has said that they are not.
pub(crate) fn no_peers() -> bool {
    env::var("DTYPE_PEERS").is_ok_and(|word| word == "none")
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_pattern_names_a_call_or_all_that_begin_like_it() {
        assert!(matches("MPI_Send", "MPI_Send") && matches("MPI_Send", "MPI_Send_c"));
        assert!(matches("MPI_I*", "MPI_Isend") && matches("*", "MPI_Pack"));
        assert!(!matches("MPI_Send", "MPI_Send_init") && !matches("", "MPI_Send"));
    }
}
