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
    use mpi::traits::*;

    // A rank that finds a wrong byte exits at once, and mpiexec ends the others. Unwinding would wait in
    // `MPI_Finalize` for the other ranks, which wait for this one.
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        std::process::exit(1);
    }));
    let argument = std::env::args().nth(1);
    let does = |part| argument.as_deref().is_none_or(|wanted| wanted == part);
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    if does("check") {
        // The layouts do not depend on the number of ranks, so only one run prints them.
        if world.rank() == 0 && world.size() == 2 {
            layouts::describe();
        }
        world.barrier();
        exchange::ring(&world);
        exchange::sub_blocks(&world);
    }
    if does("times") && world.size() == 2 {
        timing::table(&world);
    }
}

#[cfg(not(feature = "mpi"))]
fn main() {
    layouts::describe();
    layouts::pack_and_unpack();
}
