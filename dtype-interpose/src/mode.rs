//! The user's settings: environment variables, each of which is read once.
//!
//! - `DTYPE_INTERPOSE`: `on` is the default; `report` changes nothing and only counts; `off` does nothing.
//! - `DTYPE_DENY`, `DTYPE_ALLOW`: names of calls, separated by commas, as `MPI_Bcast,MPI_I*`. Calls that are
//!   denied are forwarded unchanged. If any calls are allowed, all others are forwarded unchanged, too.
//! - `DTYPE_PEERS`: `all` says that all ranks of the job have preloaded this library; `same` says that they
//!   also run the same program; `none` says that not all ranks receive structs as the same structs.
//! - `DTYPE_PLAN=first`: datatypes are planned at their first message, whatever that costs.
//! - `DTYPE_REPORT`: the file of the report. With a report, datatypes are planned at their first message,
//!   too.
//! - `DTYPE_VERIFY`: `1` compares each packed message with what the MPI library packs, and ends the program
//!   at the first difference; `plain` goes on with the library's bytes.

use std::{
    env,
    fmt::Display,
    os::raw::c_int,
    sync::{LazyLock, OnceLock},
};

use dtype_mpi::{RANK_VARIABLES, SIZE_VARIABLES};

use crate::{say::say, table::INTERCEPTED};

/// The mode of the library.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Forwarding all calls unchanged.
    Off,
    /// Counting messages, and forwarding all calls unchanged.
    Report,
    /// Packing messages.
    On,
}

/// Returns this process's rank in its job, as the launcher sets it in the environment, or `None` if no
/// variable of a launcher is set.
pub(crate) fn launched_rank() -> Option<c_int> {
    RANK_VARIABLES.iter().find_map(|name| env::var(name).ok()?.parse().ok())
}

/// Returns the number of ranks in this process's job, as the launcher sets it in the environment.
pub(crate) fn launched_ranks() -> Option<c_int> {
    SIZE_VARIABLES.iter().filter_map(|name| env::var(name).ok()?.parse().ok()).max()
}

/// Prints a line about a mistake in the environment, which is the same for all ranks. Rank 0 prints it for
/// the job. A process whose rank is unknown prints a line of its own.
fn warn(line: impl Display) {
    if launched_rank().is_none_or(|rank| rank == 0) {
        say(line);
    }
}

/// Returns the value of a variable, or `None` if it is not set or empty. Bytes that are no text are replaced.
fn value(name: &str) -> Option<String> {
    let value = env::var_os(name)?.to_string_lossy().into_owned();
    Some(value).filter(|value| !value.is_empty())
}

/// Returns the mode that the user asked for. An unknown value warns once; the default applies.
pub(crate) fn mode() -> Mode {
    static MODE: OnceLock<Mode> = OnceLock::new();
    *MODE.get_or_init(|| match value("DTYPE_INTERPOSE").as_deref() {
        Some("off" | "0") => Mode::Off,
        Some("report") => Mode::Report,
        None | Some("on" | "1") => Mode::On,
        Some(other) => {
            warn(format_args!(
                "DTYPE_INTERPOSE={other} is not known; it may be on, report or off. It is on."
            ));
            Mode::On
        }
    })
}

/// Returns `true` if messages are packed at all.
pub(crate) fn is_on() -> bool {
    mode() == Mode::On
}

/// The values of `DTYPE_DENY` and `DTYPE_ALLOW`, if they are set. A pattern that matches no call warns once.
static LISTS: LazyLock<[Option<String>; 2]> = LazyLock::new(|| {
    ["DTYPE_DENY", "DTYPE_ALLOW"].map(|name| {
        let list = value(name)?;
        for pattern in patterns(&list).filter(|pattern| !is_intercepted(pattern)) {
            warn(format_args!(
                "{name}: {pattern} names no call that this library intercepts. Calls have their names of C, \
                 as MPI_Send or MPI_I*."
            ));
        }
        Some(list)
    })
});

/// Returns the patterns of a list.
fn patterns(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|pattern| !pattern.is_empty())
}

/// Returns `true` if a pattern matches a call that this library intercepts.
fn is_intercepted(pattern: &str) -> bool {
    INTERCEPTED.iter().any(|call| matches(pattern, call))
}

/// Returns the values of `DTYPE_DENY` and `DTYPE_ALLOW`, if they are set.
pub(crate) fn lists() -> &'static [Option<String>; 2] {
    &LISTS
}

/// Returns `true` if the user's settings admit packing for a call.
pub(crate) fn packs(call: &str) -> bool {
    let [deny, allow] = &*LISTS;
    let is_in = |list: &str| patterns(list).any(|pattern| matches(pattern, call));
    is_on()
        && !deny.as_deref().is_some_and(is_in)
        && allow.as_deref().is_none_or(|allow| allow.trim().is_empty() || is_in(allow))
}

/// Returns `true` if a pattern, which may end in `*`, matches the name of a call. A name without `_c` also
/// matches the call with large counts.
fn matches(pattern: &str, call: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(front) => call.starts_with(front),
        None => call == pattern || call.strip_suffix("_c") == Some(pattern),
    }
}

/// Returns `true` if the user wants datatypes planned at their first message. An unknown value warns once.
pub(crate) fn plans_at_once() -> bool {
    static FIRST: LazyLock<bool> = LazyLock::new(|| match value("DTYPE_PLAN").as_deref() {
        Some("first") => true,
        None => false,
        Some(other) => {
            warn(format_args!("DTYPE_PLAN={other} is not known; it may be first. It is ignored."));
            false
        }
    });
    *FIRST
}

/// The consequence if a plan packs other bytes than the MPI library.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verify {
    /// The program ends.
    Abort,
    /// The message has the library's bytes.
    Plain,
}

/// Returns the value of `DTYPE_VERIFY`, or `None` if messages are not verified. An unknown value warns once,
/// and the program ends at a difference.
#[inline]
pub(crate) fn verify() -> Option<Verify> {
    static VERIFY: LazyLock<Option<Verify>> = LazyLock::new(|| match value("DTYPE_VERIFY").as_deref() {
        None | Some("0") => None,
        Some("1") => Some(Verify::Abort),
        Some("plain") => Some(Verify::Plain),
        Some(other) => {
            warn(format_args!("DTYPE_VERIFY={other} is not known; it may be 1 or plain. It is 1."));
            Some(Verify::Abort)
        }
    });
    *VERIFY
}

/// The value of `DTYPE_PEERS`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Peers {
    /// The variable is not set: the library searches for peers.
    Unsaid,
    All,
    /// All ranks have preloaded the library and run the same program, so each rank finds out for all whether
    /// it receives every message by intercepted calls. `dtype run` says so.
    Same,
    None,
}

/// Returns the value of `DTYPE_PEERS`. An unknown value warns once, and the library searches for peers.
fn peers() -> Peers {
    static PEERS: OnceLock<Peers> = OnceLock::new();
    *PEERS.get_or_init(|| match value("DTYPE_PEERS").as_deref() {
        Some("all") => Peers::All,
        Some("same") => Peers::Same,
        Some("none") => Peers::None,
        None => Peers::Unsaid,
        Some(other) => {
            warn(format_args!(
                "DTYPE_PEERS={other} is not known; it may be all, same or none. It is ignored."
            ));
            Peers::Unsaid
        }
    })
}

/// Returns `true` if the user said that all ranks have preloaded this library.
pub(crate) fn all_peers() -> bool {
    peers() == Peers::All
}

/// Returns `true` if the user said that all ranks have preloaded this library and run the same program.
pub(crate) fn same_peers() -> bool {
    peers() == Peers::Same
}

/// Returns `true` if the user said that not all ranks receive structs as the same structs.
pub(crate) fn no_peers() -> bool {
    peers() == Peers::None
}

#[cfg(test)]
mod tests {
    use super::{is_intercepted, matches, patterns};

    #[test]
    fn a_pattern_names_a_call_or_all_that_begin_like_it() {
        assert!(matches("MPI_Send", "MPI_Send") && matches("MPI_Send", "MPI_Send_c"));
        assert!(matches("MPI_I*", "MPI_Isend") && matches("*", "MPI_Pack"));
        assert!(!matches("MPI_Send", "MPI_Send_init") && !matches("", "MPI_Send"));
    }

    #[test]
    fn a_pattern_that_matches_no_call_is_seen() {
        let right = ["MPI_Send", "MPI_I*", "*", "MPI_Bcast", "MPI_Neighbor_alltoallw"];
        assert!(right.iter().all(|pattern| is_intercepted(pattern)));
        // Fortran calls are denied by their C names.
        let wrong = ["MPI_Snd", "mpi_send", "mpi_*", "MPI_Q*", "MPI_Wtime", "PMPI_Send"];
        assert!(!wrong.iter().any(|pattern| is_intercepted(pattern)));
        assert_eq!(patterns(" MPI_I*,, MPI_Send ,").collect::<Vec<_>>(), ["MPI_I*", "MPI_Send"]);
    }
}
