//! Agreement: numbers of all ranks, and results that either all ranks have or none.
//!
//! A rank may refuse arguments that other ranks do not know of. If it returned at once, they would wait for
//! it. So each rank first makes all that it can make alone, and then all say whether they have it.

use std::os::raw::c_int;

use ::mpi::ffi::{self, MPI_Comm, MPI_Datatype};

use crate::{
    Error,
    mpi::{Usable, called},
};

/// Returns what this rank has made for a collective call, if all ranks have made theirs. All ranks must make
/// this call (`MPI_Allreduce`).
///
/// # Errors
/// The error of this rank; otherwise `Elsewhere` if another rank has one.
pub(crate) fn together<V>(mpi: &Usable, communicator: MPI_Comm, own: Result<V, Error>) -> Result<V, Error> {
    let rank = rank_in(mpi, communicator)?;
    let failed = if own.is_err() { rank as u64 + 1 } else { 0 };
    let all = least_and_greatest(mpi, communicator, [failed]);
    let (own, [[_, failed]]) = (own?, all?);
    if failed > 0 { Err(Error::Elsewhere { rank: failed as i32 - 1 }) } else { Ok(own) }
}

/// Returns the rank of this process.
pub(crate) fn rank_in(mpi: &Usable, communicator: MPI_Comm) -> Result<c_int, Error> {
    let mut rank = 0;
    called(mpi, "MPI_Comm_rank", communicator, || {
        // SAFETY: the communicator is live; there is room for a number.
        unsafe { mpi.MPI_Comm_rank(communicator, &raw mut rank) }
    })?;
    Ok(rank)
}

/// Returns the datatype of the numbers that ranks exchange.
pub(crate) fn number() -> MPI_Datatype {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_UINT64_T }
}

/// Reduces each number over all ranks, with an operation for numbers (`MPI_Allreduce`).
pub(crate) fn reduce<const N: usize>(
    mpi: &Usable,
    communicator: MPI_Comm,
    own: [u64; N],
    operation: ffi::MPI_Op,
) -> Result<[u64; N], Error> {
    let mut all = [0; N];
    reduce_into(mpi, communicator, &own, &mut all, operation)?;
    Ok(all)
}

/// Like [`reduce`], for lists of equally many numbers, which all ranks have.
fn reduce_into(
    mpi: &Usable,
    communicator: MPI_Comm,
    own: &[u64],
    all: &mut [u64],
    operation: ffi::MPI_Op,
) -> Result<(), Error> {
    called(mpi, "MPI_Allreduce", communicator, || {
        let count = own.len().min(all.len()) as c_int;
        let (from, to) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
        // SAFETY: both lists have `count` numbers.
        unsafe { mpi.MPI_Allreduce(from, to, count, number(), operation, communicator) }
    })
}

/// Returns the least and the greatest of each of the numbers of all ranks. MPICH 4.0 compares numbers as
/// signed ones, so each must be less than 2⁶³.
pub(crate) fn least_and_greatest<const N: usize>(
    mpi: &Usable,
    communicator: MPI_Comm,
    own: [u64; N],
) -> Result<[[u64; 2]; N], Error> {
    const MOST: u64 = i64::MAX as u64;
    let (own, mut all) = (own.map(|number| [MOST - number, number]), [[0; 2]; N]);
    // SAFETY: a constant of the library.
    let greatest = unsafe { ffi::RSMPI_MAX };
    reduce_into(mpi, communicator, own.as_flattened(), all.as_flattened_mut(), greatest)?;
    Ok(all.map(|[rest, greatest]| [MOST - rest, greatest]))
}

/// Returns the sum of the numbers of all lower ranks, and the sum of those of all ranks.
pub(crate) fn sums(mpi: &Usable, communicator: MPI_Comm, own: u64) -> Result<[u64; 2], Error> {
    // SAFETY: a constant of the library.
    let sum = unsafe { ffi::RSMPI_SUM };
    let mut up_to_this = 0u64;
    called(mpi, "MPI_Scan", communicator, || {
        let (from, to) = ((&raw const own).cast(), (&raw mut up_to_this).cast());
        // SAFETY: every rank has one number.
        unsafe { mpi.MPI_Scan(from, to, 1, number(), sum, communicator) }
    })?;
    let [all] = reduce(mpi, communicator, [own], sum)?;
    Ok([up_to_this - own, all])
}
