//! The demo: prints the solutions for a few layouts, and checks that values arrive byte for byte.
//!
//! `cargo xtask demo` runs the demo on 2 and 4 ranks. With the argument `check` it measures no times, with
//! `times` it does nothing else. Without the feature `mpi`, it has only the parts that need no MPI.

mod layouts;

#[cfg(feature = "mpi")]
mod exchange;
#[cfg(feature = "mpi")]
mod timing;

#[cfg(feature = "mpi")]
fn main() {
    // A rank that finds a wrong byte panics, and `run` ends the job.
    dtype_runtime::run(|world| -> dtype_runtime::Result {
        use mpi::traits::*;

        let argument = std::env::args().nth(1);
        let does = |part| argument.as_deref().is_none_or(|wanted| wanted == part);
        if does("check") {
            // The layouts do not depend on the number of ranks, so only one run prints them.
            if world.rank() == 0 && world.size() == 2 {
                layouts::describe();
            }
            world.barrier();
            exchange::ring(world)?;
            exchange::sub_blocks(world)?;
        }
        if does("times") && world.size() == 2 {
            timing::table(world)?;
        }
        Ok(())
    });
}

#[cfg(not(feature = "mpi"))]
fn main() {
    layouts::describe();
    layouts::pack_and_unpack();
}
