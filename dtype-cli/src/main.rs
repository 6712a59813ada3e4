//! The command `dtype`, which reads descriptions of layouts and writes least-cost trees, type maps and
//! programs.
//!
//! If the command succeeds, the exit code is 0 and the answer is on standard output. If it fails, the exit
//! code is 2 and a message is on standard error. `compare` also has the exit code 1, for two descriptions
//! that differ.
#![forbid(unsafe_code)]

mod commands;
mod input;
mod models;
mod outcome;
mod output;
mod preload;
mod record;

use std::{
    io::{self, Write as _},
    process::ExitCode,
    thread,
};

use anyhow::{Context, Result, anyhow};
use clap::{CommandFactory, Parser, Subcommand};

use commands::{
    compare, completions, convert, cost, draw, explain, flatten, man, normalize, reconstruct, report, run,
    structs,
};
use outcome::Outcome;

/// Describe memory layouts to MPI at the least cost.
#[derive(Parser)]
#[command(name = "dtype", version)]
struct Command {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Find the least-cost description of a type map.
    ///
    /// The type map is JSON, such as `{"types": ["i32", "f64"], "displacements": [0, 8]}` or `{"type": "f64",
    /// "displacements": [0, 8, 16]}`, or any other form (`--from`). Displacements are in bytes. Base types
    /// have their Rust names: i8 to i64, u8 to u64, f32, f64 and bool. There are also byte, and the complex
    /// numbers c32 and c64, whose parts are f32 and f64. The names of C, such as double, and of MPI, such as
    /// MPI_LONG, are valid, too.
    Reconstruct(reconstruct::Arguments),
    /// Find a low-cost tree for the type map of a given tree, however long that map is.
    ///
    /// If the answer says "proven", the tree has the least cost.
    Normalize(normalize::Arguments),
    /// Write a description in another format, without changing its tree.
    Convert(convert::Arguments),
    /// List the type map of a description.
    ///
    /// The description may be a tree in JSON, such as {"vec":{"count":3,"stride":16,"child":{"leaf":"f64"}}}.
    Flatten(flatten::Arguments),
    /// Print the cost of a description, and the least cost, under all cost models.
    Cost(cost::Arguments),
    /// Explain a layout: what it contains, what repeats in it, and why the cheapest tree has its form.
    Explain(explain::Arguments),
    /// Say whether two descriptions have the same type map, and which is cheaper.
    ///
    /// The exit code is 0 if the type maps are the same, and 1 if they differ.
    Compare(compare::Arguments),
    /// Draw a layout: its memory byte by byte, the given tree and the least-cost tree.
    ///
    /// If the layout is large, one period is drawn, and the share of data in each part of the whole.
    Draw(draw::Arguments),
    /// Show the structs of a compiled program or of a header, and the datatype of one.
    ///
    /// Programs in C, C++, Fortran and Rust are read from their debug information (compile with `-g`). For a
    /// header in C or C++, a compiler creates that information. Without a name, all structs are listed, with
    /// their padding and the bytes that another order of the fields would save.
    Struct(structs::Arguments),
    /// Show how a program used its datatypes, as the preloaded library reported it.
    ///
    /// Run the program with DTYPE_REPORT=FILE. This command then reads FILE.0.json, FILE.1.json and so on,
    /// one for each rank, and shows their sums. It shows the time that was or could be won, and why messages
    /// were not packed. A table has a row for each constructor and place of a commit. Each layout is drawn
    /// with its given and its least-cost tree.
    Report(report::Arguments),
    /// Run a command whose programs preload the library that fits their MPI library.
    ///
    /// Messages of mixed structs and of short blocks are packed by that library, which makes them faster. The
    /// programs are not compiled again, and receive the same data. The MPI library is found out by `ldd`, and
    /// for Python by importing mpi4py. Settings are environment variables, such as DTYPE_INTERPOSE=report.
    Run(run::Arguments),
    /// Print the completion script of a shell.
    Completions(completions::Arguments),
    /// Print the manual page of this command, or of one of its commands.
    Man(man::Arguments),
}

fn main() -> ExitCode {
    let action = Command::parse().action;
    // Recursive functions walk trees of a thousand levels, which takes a large stack.
    let walks = thread::Builder::new().stack_size(1 << 28).spawn(|| run(action));
    let outcome = walks.map_err(Into::into).and_then(|walks| {
        // The panic's message has been printed.
        walks.join().unwrap_or_else(|_| Err(anyhow!("an internal error occurred")))
    });
    match outcome.and_then(|outcome| print(&outcome.answer).context("standard output").map(|()| outcome.yes))
    {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("dtype: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Writes the answer. A reader that closes its end early, such as `head`, is not an error.
fn print(answer: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(answer.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

fn run(action: Action) -> Result<Outcome> {
    match action {
        Action::Reconstruct(arguments) => arguments.run(),
        Action::Normalize(arguments) => arguments.run(),
        Action::Convert(arguments) => arguments.run(),
        Action::Flatten(arguments) => arguments.run(),
        Action::Cost(arguments) => arguments.run(),
        Action::Explain(arguments) => arguments.run(),
        Action::Compare(arguments) => arguments.run(),
        Action::Draw(arguments) => arguments.run(),
        Action::Struct(arguments) => arguments.run(),
        Action::Report(arguments) => arguments.run(),
        Action::Run(arguments) => arguments.run(),
        Action::Completions(arguments) => arguments.run(Command::command()),
        Action::Man(arguments) => arguments.run(Command::command()),
    }
}
