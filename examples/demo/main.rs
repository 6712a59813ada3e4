//! The demo: what the compiler works out for a few layouts, and that they travel, byte for byte.
//!
//! `cargo xtask demo` runs it on 2 and 4 ranks of each MPI library. Without the feature `mpi` it shows what
//! needs no MPI.

mod layouts;

#[cfg(feature = "mpi")]
mod exchange;
#[cfg(feature = "mpi")]
mod timing;

#[cfg(feature = "mpi")]
fn main() {
    use mpi::traits::*;

    // A rank that finds a wrong byte ends at once, and mpiexec ends the others: unwinding would wait for them
    // in `MPI_Finalize`, and they for it.
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        std::process::exit(1);
    }));
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    // What the layouts are does not depend on the number of ranks.
    if world.rank() == 0 && world.size() == 2 {
        layouts::describe();
    }
    world.barrier();
    exchange::ring(&world);
    exchange::sub_blocks(&world);
    if world.size() == 2 {
        timing::table(&world);
    }
}

#[cfg(not(feature = "mpi"))]
fn main() {
    layouts::describe();
    layouts::pack_and_unpack();
}
