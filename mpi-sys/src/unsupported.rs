//! Systems on which no MPI library is chosen: programs compile, and their first call says why.

use crate::library::Library;

/// Returns the reason why there is no library.
pub(crate) fn choose() -> Result<Library, String> {
    Err("MPI libraries are loaded on Linux only: on this system, use the `mpi-sys` of the registry, without \
         the lines of `[patch.crates-io]`"
        .to_owned())
}

/// Returns `false`: nothing is preloaded.
pub(crate) fn is_tool() -> bool {
    false
}
