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
    fmt::Display,
    os::raw::c_int,
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

/// Returns this process's rank in its job, as the launcher sets it in the environment.
pub(crate) fn launched_rank() -> Option<c_int> {
    let names = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    names.iter().find_map(|name| env::var(name).ok()?.parse().ok())
}

/// Prints a line about a mistake in the environment, which is the same for all ranks: rank 0 prints it for
/// the job. A process whose rank is unknown prints its own.
fn warn(line: impl Display) {
    if launched_rank().is_none_or(|rank| rank == 0) {
        eprintln!("dtype: {line}");
    }
}

/// Returns the mode that the user asked for. An unknown value warns once; the default applies.
pub(crate) fn mode() -> Mode {
    static MODE: OnceLock<Mode> = OnceLock::new();
    *MODE.get_or_init(|| match env::var("DTYPE_INTERPOSE").as_deref() {
        Ok("off" | "0") => Mode::Off,
        Ok("report") => Mode::Report,
        Ok("on" | "1" | "") | Err(_) => Mode::On,
        Ok(other) => {
            warn(format_args!(
                "DTYPE_INTERPOSE={other} is not known; it may be on, report or off. It is on."
            ));
            Mode::On
        }
    })
}

/// Whether messages go packed at all.
pub(crate) fn is_on() -> bool {
    mode() == Mode::On
}

/// The names of all calls of C that this library intercepts: the linker collects them from where they are
/// defined.
#[linkme::distributed_slice]
pub(crate) static INTERCEPTED: [&str];

/// The calls that the user denies, and those that are allowed, where any are. A pattern that matches no call
/// warns once.
static LISTS: LazyLock<[Option<String>; 2]> = LazyLock::new(|| {
    ["DTYPE_DENY", "DTYPE_ALLOW"].map(|name| {
        let list = env::var(name).ok()?;
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

/// The text of both.
pub(crate) fn lists() -> &'static [Option<String>; 2] {
    &LISTS
}

/// Whether messages of a call may be packed.
pub(crate) fn packs(call: &str) -> bool {
    let [deny, allow] = &*LISTS;
    let is_in = |list: &str| patterns(list).any(|pattern| matches(pattern, call));
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

/// Returns `true` if the user wants datatypes planned at their first message. An unknown value warns once.
pub(crate) fn plans_at_once() -> bool {
    static FIRST: LazyLock<bool> = LazyLock::new(|| match env::var("DTYPE_PLAN").as_deref() {
        Ok("first") => true,
        Ok("") | Err(_) => false,
        Ok(other) => {
            warn(format_args!("DTYPE_PLAN={other} is not known; it may be first. It is ignored."));
            false
        }
    });
    *FIRST
}

/// The value of `DTYPE_PEERS`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Peers {
    /// Nothing was said: the library finds out.
    Unsaid,
    All,
    None,
}

/// Returns what the user said of the ranks. An unknown value warns once; the library finds out.
fn peers() -> Peers {
    static PEERS: OnceLock<Peers> = OnceLock::new();
    *PEERS.get_or_init(|| match env::var("DTYPE_PEERS").as_deref() {
        Ok("all") => Peers::All,
        Ok("none") => Peers::None,
        Ok("") | Err(_) => Peers::Unsaid,
        Ok(other) => {
            warn(format_args!("DTYPE_PEERS={other} is not known; it may be all or none. It is ignored."));
            Peers::Unsaid
        }
    })
}

/// Returns `true` if the user said that all ranks have preloaded this library.
pub(crate) fn all_peers() -> bool {
    peers() == Peers::All
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
        // Those of Fortran are denied by the names of C.
        let wrong = ["MPI_Snd", "mpi_send", "mpi_*", "MPI_Q*", "MPI_Wtime", "PMPI_Send"];
        assert!(!wrong.iter().any(|pattern| is_intercepted(pattern)));
        assert_eq!(patterns(" MPI_I*,, MPI_Send ,").collect::<Vec<_>>(), ["MPI_I*", "MPI_Send"]);
    }
}
