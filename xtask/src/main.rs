//! `cargo xtask demo | example | test | bench | docs | interpose | package`: the tasks of the workspace. They
//! install what they need, so that nothing has to be installed by hand.
#![forbid(unsafe_code)]

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};
use test::{Choice, Extent};

mod any_mpi;
mod bench;
mod changed;
mod demo;
mod docs;
mod documents;
mod example;
mod house;
mod interpose;
mod mpi;
mod nodes;
mod package;
mod programs;
mod rooms;
mod tables;
mod test;
mod uncalled;

/// Sets up MPI, then runs the demo, the benchmarks or the checks.
#[derive(Parser)]
struct Command {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Send particles round a ring and pieces of arrays between ranks, and show how.
    Demo {
        /// The MPI libraries. Default: one that is found; if there is none, MPICH, which is a wheel on PyPI.
        #[arg(long, value_enum)]
        mpi: Option<Libraries>,
        /// Run on all libraries that are found.
        #[arg(long, conflicts_with = "mpi")]
        all: bool,
    },
    /// Run an example program, or list all of them.
    Example {
        /// The name of the example.
        name: Option<String>,
        /// The number of ranks.
        #[arg(short = 'n', default_value_t = 4)]
        ranks: usize,
        /// The MPI library. Default: the first one that is found.
        #[arg(long, value_enum, default_value_t)]
        mpi: Libraries,
        /// Arguments of the example.
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Measure against the peers, all in one run.
    Bench(bench::Options),
    /// Build the guide as a book with a search, and the documentation of the crates.
    Docs,
    /// Build the library that existing programs preload, and print how to use it.
    Interpose,
    /// Build the Python package of the command `dtype` and of the preloaded libraries, for people without
    /// Rust.
    Package,
    /// Run the checks: format, lints, documentation, unit tests, and the tests on several ranks, with a
    /// sample of the slow cases.
    Test {
        /// The MPI library.
        #[arg(long, value_enum, default_value_t)]
        mpi: Libraries,
        /// Run all the checks of CI: all cases, and packing under valgrind and AddressSanitizer.
        #[arg(long)]
        ci: bool,
        /// Also run Miri and the long sweeps, which take some hours: on the libraries of `--mpi`, and on the
        /// newest ones, which are wheels on PyPI.
        #[arg(long)]
        long: bool,
        /// Run only this step. Without the part from `@` on, its name means the step on all libraries. May be
        /// given several times.
        #[arg(long, value_name = "STEP")]
        only: Vec<String>,
        /// Run only the steps of CI that the files that are not committed can fail, or those of the last
        /// commit if everything is committed.
        #[arg(long, conflicts_with_all = ["only", "ci", "long"])]
        changed: bool,
        /// List the steps and what they take, and run none.
        #[arg(long)]
        list: bool,
    },
}

/// The MPI libraries that a task runs on.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Libraries {
    Openmpi,
    Mpich,
    /// Open MPI and MPICH, and Intel MPI if its `mpicc` and `mpiexec` are on the path.
    #[default]
    All,
    /// The newest Open MPI, MPICH and Intel MPI, which are wheels on PyPI.
    Newest,
    /// Intel MPI, which is a wheel on PyPI.
    Intel,
    /// All libraries with the ABI of MPI 5, through the newest MPICH.
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

/// Runs a task at the root of the workspace, from any folder.
fn run(task: Task) -> Result<()> {
    let called_from = env::current_dir()?;
    let workspace = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    if let Some(root) = workspace.as_deref().and_then(Path::parent) {
        env::set_current_dir(root)?;
    }
    match task {
        Task::Demo { mpi, all } => demo::run(if all { Some(Libraries::All) } else { mpi }),
        Task::Example { name, ranks, mpi, arguments } => {
            example::run(name.as_deref(), ranks, mpi, &arguments)
        }
        Task::Bench(options) => bench::run(options, &called_from),
        Task::Docs => docs::run(),
        Task::Interpose => interpose::run(),
        Task::Package => package::run(),
        Task::Test { mpi, ci, long, only, changed, list } => {
            let extent = if long {
                Extent::Long
            } else if ci || changed {
                Extent::Full
            } else {
                Extent::Brief
            };
            test::run(&Choice { libraries: mpi, extent, only, changed, list })
        }
    }
}
