//! `cargo xtask bench NAME`: one benchmark, all of whose contenders run in turn in one process.

use anyhow::Result;
use clap::ValueEnum;
use xshell::{Shell, cmd};

use crate::{Choice, mpi};

/// The benchmarks.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Name {
    /// Reconstruction and normalization against the published algorithms.
    Reconstruct,
    /// Compiling a crate of structs, or of layouts, against rsmpi and against doing without.
    Compile,
    /// Layouts made, solved, found and packed, against plain loops.
    Layout,
}

pub(crate) fn run(name: Name, quick: bool, json: bool) -> Result<()> {
    let sh = Shell::new()?;
    let bin = match name {
        Name::Reconstruct => "bench-reconstruct",
        Name::Compile => "bench-compile",
        Name::Layout => "bench-layout",
    };
    // Both derives are compiled against the first MPI library.
    let library = match name {
        Name::Reconstruct | Name::Layout => None,
        Name::Compile => mpi::set_up(&sh, Choice::All)?.into_iter().next(),
    };
    let _environment = library.as_ref().map(|library| library.enter(&sh));
    let options =
        [(quick, "--quick"), (json, "--json")].into_iter().filter_map(|(on, option)| on.then_some(option));
    cmd!(sh, "cargo run --quiet --release --package dtype-benches --bin {bin} -- {options...}")
        .quiet()
        .run()?;
    Ok(())
}
