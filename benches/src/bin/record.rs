//! The last step of `cargo xtask bench NAME --record`: it writes a table of recorded rows into a page such as
//! BENCHMARKS.md, and may derive the prices of `Wire::Auto` and the policy of the preloaded library.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use clap::Parser;
use dtype_benches::{policy::policy, prices::prices, record};

/// Writes a table of recorded rows into a page.
#[derive(Parser)]
struct Arguments {
    /// The page, which marks the place of the table.
    page: PathBuf,
    /// The name of the benchmark.
    name: String,
    /// The file of recorded rows, or the folder of a guidelines report.
    recorded: PathBuf,
    /// The file of prices that are derived from recorded ping-pongs.
    #[arg(long, requires = "policy")]
    prices: Option<PathBuf>,
    /// The file of the policy that is derived from recorded ping-pongs.
    #[arg(long, requires = "prices")]
    policy: Option<PathBuf>,
}

fn main() -> Result<()> {
    let Arguments { page, name, recorded, prices: prices_file, policy: policy_file } = Arguments::parse();
    record::write(&page, &name, &recorded)?;
    let (Some(prices_file), Some(policy_file)) = (prices_file, policy_file) else { return Ok(()) };
    let text = fs::read_to_string(&recorded).with_context(|| recorded.display().to_string())?;
    let write = |file: PathBuf, text| fs::write(&file, text).with_context(|| file.display().to_string());
    write(prices_file, prices(&text)?)?;
    write(policy_file, policy(&text)?)
}
