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
    /// Compiling a crate of structs, against rsmpi's derive and none.
    Compile,
}

pub(crate) fn run(name: Name, quick: bool, json: bool) -> Result<()> {
    let sh = Shell::new()?;
    let bin = match name {
        Name::Reconstruct => "bench-reconstruct",
        Name::Compile => "bench-compile",
    };
    // Both derives are compiled against the first MPI library.
    let library = match name {
        Name::Reconstruct => None,
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
