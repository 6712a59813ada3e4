//! Writes recorded rows into BENCHMARKS.md, the last step of `cargo xtask bench NAME --record`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;

/// Writes recorded rows into a page.
#[derive(Parser)]
struct Arguments {
    /// The page with marks for the table.
    page: PathBuf,
    /// The benchmark.
    name: String,
    /// Its recorded rows, or the folder of a report of the guidelines.
    recorded: PathBuf,
}

fn main() -> Result<()> {
    let Arguments { page, name, recorded } = Arguments::parse();
    dtype_benches::record::write(&page, &name, &recorded)
}
