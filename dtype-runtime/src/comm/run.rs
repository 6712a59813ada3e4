//! The frame of a program.

use std::{
    fmt,
    io::{self, Write as _},
    process, thread,
    time::Duration,
};

use ::mpi::topology::{Communicator, SimpleCommunicator};

use super::Comm;
use crate::transfer::{frame::checks, unwinding::begin_run};

/// Initializes MPI, runs a program on all ranks, and ends MPI.
///
/// If the program returns an error on a rank, the error is printed with the rank, and the job ends. If it
/// panics, the job ends, too. (A `main` that returned the error would first wait in `MPI_Finalize` for ranks
/// that wait for this one.)
///
/// ```no_run
/// use dtype_runtime::{Result, run};
///
/// fn main() {
///     run(|world| -> Result {
///         let names: Vec<String> = world.all_gather(&format!("rank {}", world.rank()))?;
///         println!("{names:?}");
///         Ok(())
///     });
/// }
/// ```
///
/// With `DTYPE_CHECK=1`, the communicator is [attached](Comm::attach), so that the base types of messages are
/// compared.
///
/// If the program must do more before or after, or calls MPI from several threads, initialize MPI with rsmpi,
/// and use `Comm::from(universe.world())`.
pub fn run<E: fmt::Display>(program: impl FnOnce(&Comm) -> Result<(), E>) {
    /// Ends the job if a rank panics: the others may wait for it.
    struct EndsJob;

    impl Drop for EndsJob {
        fn drop(&mut self) {
            if thread::panicking() {
                SimpleCommunicator::world().abort(101);
            }
        }
    }

    let Some(universe) = ::mpi::initialize() else {
        eprintln!("dtype_runtime::run: MPI has been initialized already; use `Comm::from(universe.world())`");
        process::exit(1);
    };
    begin_run();
    let _ends_job = EndsJob;
    let world = Comm::from(universe.world());
    if checks()
        && let Err(error) = world.attach()
    {
        end(&world, &error);
    }
    if let Err(error) = program(&world) {
        end(&world, &error);
    }
}

/// Prints the error of this rank, and ends the job. The line is written at once, so that those of several
/// ranks do not mix.
fn end(world: &Comm, error: &dyn fmt::Display) -> ! {
    let line = format!("rank {}: {error}\n", world.rank());
    // Without a place to print to, the job ends all the same.
    let _ = io::stderr().write_all(line.as_bytes());
    // MPICH's launcher loses what a rank prints just before the job ends.
    thread::sleep(Duration::from_millis(50));
    world.abort(1)
}
