//! `cargo xtask bench NAME`: one benchmark, all of whose contenders run in turn in one process.

use anyhow::Result;
use clap::ValueEnum;
use xshell::{Shell, cmd};

/// The benchmarks.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Name {
    /// Reconstruction and normalization against the published algorithms.
    Reconstruct,
}

pub(crate) fn run(name: Name, quick: bool, json: bool) -> Result<()> {
    let sh = Shell::new()?;
    let bin = match name {
        Name::Reconstruct => "bench-reconstruct",
    };
    let options =
        [(quick, "--quick"), (json, "--json")].into_iter().filter_map(|(on, option)| on.then_some(option));
    cmd!(sh, "cargo run --quiet --release --package dtype-benches --bin {bin} -- {options...}")
        .quiet()
        .run()?;
    Ok(())
}
