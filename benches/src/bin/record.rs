//! The last step of `cargo xtask bench NAME --record`: it writes a table of recorded rows into a page such as
//! BENCHMARKS.md.

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;

/// Writes a table of recorded rows into a page.
#[derive(Parser)]
struct Arguments {
    /// The page, which marks the place of the table.
    page: PathBuf,
    /// The name of the benchmark.
    name: String,
    /// The file of recorded rows, or the folder of a guidelines report.
    recorded: PathBuf,
}

fn main() -> Result<()> {
    let Arguments { page, name, recorded } = Arguments::parse();
    dtype_benches::record::write(&page, &name, &recorded)
}
