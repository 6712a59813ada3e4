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
    /// Packing and unpacking against loops by hand in Rust and in C, `memcpy`, and each MPI library.
    Pack,
}

pub(crate) fn run(name: Name, quick: bool, json: bool) -> Result<()> {
    let sh = Shell::new()?;
    let options: Vec<_> = [(quick, "--quick"), (json, "--json")]
        .into_iter()
        .filter_map(|(on, option)| on.then_some(option))
        .collect();
    let options = &options;
    let run = |bin: &str, features: &[&str], more: &[&str]| {
        let package = ["--package", "dtype-benches", "--bin", bin];
        cmd!(sh, "cargo run --quiet --release {package...} {features...} -- {options...} {more...}")
            .quiet()
            .run()
    };
    match name {
        Name::Reconstruct => run("bench-reconstruct", &[], &[])?,
        Name::Layout => run("bench-layout", &[], &[])?,
        Name::Compile => {
            // Both derives are compiled against the first MPI library.
            let library = mpi::set_up(&sh, Choice::All)?.into_iter().next();
            let _environment = library.as_ref().map(|library| library.enter(&sh));
            run("bench-compile", &[], &[])?;
        }
        Name::Pack => match mpi::set_up(&sh, Choice::All) {
            Ok(libraries) => {
                for library in &libraries {
                    let _environment = library.enter(&sh);
                    run("bench-pack", &["--features", "mpi"], &["--library", &library.label()])?;
                }
            }
            Err(error) => {
                eprintln!("No MPI here: {error:#}\n\nThese are the peers that need none.\n");
                run("bench-pack", &[], &[])?;
            }
        },
    }
    Ok(())
}
