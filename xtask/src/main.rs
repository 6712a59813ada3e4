//! `cargo xtask demo | test`: all the set-up there is, so that nothing is installed by hand.

use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

mod demo;
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
        mpi: Choice,
    },
    /// Run every check: format, lints, documentation, unit tests, and the tests on several ranks.
    Test {
        /// Which MPI library.
        #[arg(long, value_enum, default_value_t)]
        mpi: Choice,
    },
}

/// The MPI libraries a task is run on.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Choice {
    Openmpi,
    Mpich,
    #[default]
    All,
}

fn main() -> ExitCode {
    let done = match Command::parse().task {
        Task::Demo { mpi } => demo::run(mpi),
        Task::Test { mpi } => test::run(mpi),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
