//! A library in Rust for programs in Python that use mpi4py. `program.py` calls it.

use std::{mem::ManuallyDrop, os::raw::c_int, slice};

use dtype_runtime::{Comm, Result, layout};
use mpi::{
    ffi::{RSMPI_Comm_f2c, RSMPI_Fint},
    raw::FromRaw,
    topology::SimpleCommunicator,
};

/// Sends the last column of the matrix `from` to the next rank, and receives the first column of `to` from
/// the previous one. Both matrices have `rows` rows of `columns` numbers. Returns 0, or 1 after an error,
/// such as that there are no columns.
///
/// # Safety
/// 1. `communicator` is the handle of a live communicator between ranks of one group (`py2f` in Python), and
///    not `MPI_COMM_WORLD`.
/// 2. Both addresses are those of `rows * columns` numbers, and nobody else uses those at `to`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shift(
    communicator: RSMPI_Fint,
    from: *const f64,
    to: *mut f64,
    rows: usize,
    columns: usize,
) -> c_int {
    // SAFETY: condition 1. The communicator is the program's, and is not freed here.
    let world = ManuallyDrop::new(unsafe { SimpleCommunicator::from_raw(RSMPI_Comm_f2c(communicator)) });
    // SAFETY: condition 2.
    let (from, to) = unsafe {
        (slice::from_raw_parts(from, rows * columns), slice::from_raw_parts_mut(to, rows * columns))
    };
    let world = Comm::from(&*world);
    match shift_columns(&world, from, to, [rows, columns]) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("rank {}: {error}", world.rank());
            1
        }
    }
}

fn shift_columns(
    world: &Comm<&SimpleCommunicator>,
    from: &[f64],
    to: &mut [f64],
    [rows, columns]: [usize; 2],
) -> Result {
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    let last = columns.wrapping_sub(1);
    let sent = layout!(f64[rows][columns] => [.., last])?;
    let received = layout!(f64[rows][columns] => [.., 0])?;
    world.exchange([(next, &sent.of(from)?)], [(previous, &mut received.of_mut(to)?)])
}
