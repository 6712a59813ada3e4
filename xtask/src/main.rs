//! `cargo xtask demo | test | bench`: all the set-up there is, so that nothing is installed by hand.
#![forbid(unsafe_code)]

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};

mod bench;
mod demo;
mod house;
mod mpi;
mod test;

/// Sets up MPI, then runs the demo or all the checks.
#[derive(Parser)]
struct Command {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Send particles round a ring and pieces of arrays between ranks, and show how.
    Demo {
        /// Which MPI library.
        #[arg(long, value_enum, default_value_t)]
        mpi: Libraries,
    },
    /// Measure against the peers, all in one run.
    Bench {
        /// Which benchmark.
        #[arg(value_enum)]
        name: bench::Name,
        /// All cases, fewer sizes and runs: under a minute.
        #[arg(long)]
        quick: bool,
        /// Print one JSON object a line.
        #[arg(long)]
        json: bool,
        /// Keep the rows in `benches/recorded/NAME.csv`, and write what they say into BENCHMARKS.md.
        #[arg(long)]
        record: bool,
        /// Of `pingpong`: what `Wire::Auto` is to choose goes into this file, which the environment variable
        /// `DTYPE_WIRES` then names. It is added to what is there: machines have faster and slower times.
        #[arg(long, value_name = "FILE")]
        wires: Option<PathBuf>,
        /// Of `pack`: layouts are drawn with this number. Another one gives others, as a check.
        #[arg(long, value_name = "NUMBER")]
        seed: Option<u64>,
        /// Of `guidelines`: which MPI library.
        #[arg(long, value_enum, default_value_t)]
        mpi: Libraries,
        /// Of `guidelines`: how many ranks.
        #[arg(long, default_value_t = 2)]
        ranks: usize,
        /// Of `guidelines`: the folder of the report; `target/guidelines`, emptied first, if it is not given.
        #[arg(long, value_name = "FOLDER")]
        report: Option<PathBuf>,
        /// Of `guidelines`: the folder of an earlier report to compare with.
        #[arg(long, value_name = "FOLDER")]
        baseline: Option<PathBuf>,
    },
    /// Run every check: format, lints, documentation, unit tests, and the tests on several ranks.
    Test {
        /// Which MPI library.
        #[arg(long, value_enum, default_value_t)]
        mpi: Libraries,
        /// Then also Miri and the long sweeps, on these libraries and on the newest ones, which are wheels on
        /// PyPI: some hours.
        #[arg(long)]
        long: bool,
    },
}

/// The MPI libraries a task is run on.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Libraries {
    Openmpi,
    Mpich,
    #[default]
    All,
}

fn main() -> ExitCode {
    match run(Command::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a task at the root of the workspace, wherever it was called.
fn run(task: Task) -> Result<()> {
    let called_from = env::current_dir()?;
    let workspace = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    if let Some(root) = workspace.as_deref().and_then(Path::parent) {
        env::set_current_dir(root)?;
    }
    match task {
        Task::Demo { mpi } => demo::run(mpi),
        Task::Bench { name, quick, json, record, wires, seed, mpi, ranks, report, baseline } => {
            let there = |path: Option<PathBuf>| path.map(|path| called_from.join(path));
            let (wires, report, baseline) = (there(wires), there(report), there(baseline));
            let guidelines = bench::Guidelines { mpi, ranks, report, baseline };
            bench::run(name, bench::Options { quick, json, record, wires, seed, guidelines })
        }
        Task::Test { mpi, long } => test::run(mpi, long),
    }
}
