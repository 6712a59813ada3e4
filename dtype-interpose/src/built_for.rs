//! The MPI library that this library is built for. The build script finds it by its `mpi.h`.

#[cfg(library = "intel")]
pub(crate) use dtype_mpi::IntelMpi as Current;
#[cfg(library = "mpich")]
pub(crate) use dtype_mpi::Mpich as Current;
#[cfg(library = "openmpi")]
pub(crate) use dtype_mpi::OpenMpi as Current;
#[cfg(library = "abi")]
pub(crate) use dtype_mpi::StandardAbi as Current;
use dtype_mpi::Version;

/// The version of the library that this library is built for.
pub(crate) const VERSION: Version = (number(env!("DTYPE_MPI_MAJOR")), number(env!("DTYPE_MPI_MINOR")));

/// Parses a text of decimal digits.
const fn number(text: &str) -> u32 {
    match u32::from_str_radix(text, 10) {
        Ok(number) => number,
        Err(_) => panic!("the build script writes numbers"),
    }
}
