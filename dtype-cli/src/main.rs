//! The command `dtype`: type maps and type trees in, least-cost trees and type maps out.
//!
//! Exit code 0 and the answer on standard output, or a message on standard error and exit code 2.
#![forbid(unsafe_code)]

use std::{
    fs,
    io::{self, Read, Write},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand, ValueEnum};
use dtype_core::{CostModel, NodeCosts, Penalty, Shape, Solution, TypeMap, TypeTree, normalize, reconstruct};
use serde::{Serialize, de::DeserializeOwned};

/// Describe memory layouts to MPI at the least cost.
#[derive(Parser)]
#[command(version)]
struct Command {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Find the least-cost description of a type map.
    ///
    /// The type map is JSON, such as `{"types": ["i32", "f64"], "displacements": [0, 8]}` or `{"type": "f64",
    /// "displacements": [0, 8, 16]}`. Displacements are in bytes. Base types have their names of Rust, i8 to
    /// i64, u8 to u64, f32, f64 and bool; c32 and c64 are complex numbers of these, and byte is one; or their
    /// names of MPI, such as MPI_LONG.
    Reconstruct {
        /// Which descriptions are searched.
        #[arg(long, value_enum, default_value_t)]
        shape: ShapeName,
        /// What a description costs: storage, processing, penalty, or the path of a cost file.
        ///
        /// A cost file is JSON:
        /// {"leaf":3,"vec":5,"idx":5,"strc":5,"idxbuc":7,"lookup":1,"weighting":"storage"}.
        #[arg(long, default_value = "storage")]
        cost: String,
        #[command(flatten)]
        common: Common,
    },
    /// Find a cheap tree with the type map of a given tree, however long that map is.
    ///
    /// The answer is the least-cost tree where it says "proven".
    Normalize {
        /// What a description costs: as for `reconstruct`.
        #[arg(long, default_value = "storage")]
        cost: String,
        #[command(flatten)]
        common: Common,
    },
    /// List the type map of a type tree.
    ///
    /// The tree is JSON, such as {"vec":{"count":3,"stride":16,"child":{"leaf":"f64"}}}.
    Flatten {
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Args)]
struct Common {
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The input; standard input if left out or `-`.
    file: Option<PathBuf>,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum ShapeName {
    /// Leaf, vec and idx; maps of one base type.
    Path,
    /// And idxbuc.
    ExtendedPath,
    /// All five nodes.
    #[default]
    Tree,
    /// All five nodes, equal subtrees counted once; an upper bound.
    Dag,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Format {
    #[default]
    Json,
    Text,
}

/// The JSON answer of `reconstruct` and `normalize`.
#[derive(Serialize)]
struct Answer<'a> {
    cost: u64,
    optimality: &'a str,
    tree: &'a TypeTree,
}

fn main() -> ExitCode {
    let answer = run(Command::parse().action);
    match answer.and_then(|answer| print(&answer).context("standard output")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dtype: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Writes the answer. A reader that has seen enough, such as `head`, is no error.
fn print(answer: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(answer.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

fn run(action: Action) -> Result<String> {
    match action {
        Action::Reconstruct { shape, cost, common } => {
            let shape = match shape {
                ShapeName::Path => Shape::Path,
                ShapeName::ExtendedPath => Shape::ExtendedPath,
                ShapeName::Tree => Shape::Tree,
                ShapeName::Dag => Shape::Dag,
            };
            let costs = costs(&cost)?;
            let map: TypeMap = common.read()?;
            common.write(&reconstruct(&map, shape, &*costs)?)
        }
        Action::Normalize { cost, common } => {
            let costs = costs(&cost)?;
            common.write(&normalize(&common.read()?, &*costs)?)
        }
        Action::Flatten { common } => {
            let map = common.read::<TypeTree>()?.flatten()?;
            match common.format {
                Format::Json => json(&map),
                Format::Text => Ok(format!("{map}\n")),
            }
        }
    }
}

impl Common {
    fn write(&self, solution: &Solution) -> Result<String> {
        let Solution { tree, cost, optimality } = solution;
        let optimality = optimality.name();
        match self.format {
            Format::Json => json(&Answer { cost: *cost, optimality, tree }),
            Format::Text => Ok(format!("cost {cost} ({optimality})\n{tree}")),
        }
    }

    fn read<T: DeserializeOwned>(&self) -> Result<T> {
        if let Some(path) = self.file.as_ref().filter(|path| path.as_os_str() != "-") {
            return read(path);
        }
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).context("standard input")?;
        serde_json::from_str(&text).context("standard input")
    }
}

fn read<T: DeserializeOwned>(path: &PathBuf) -> Result<T> {
    let name = || path.display().to_string();
    let text = fs::read_to_string(path).with_context(name)?;
    serde_json::from_str(&text).with_context(name)
}

fn costs(name: &str) -> Result<Box<dyn CostModel>> {
    Ok(match name {
        "storage" => Box::new(NodeCosts::default()),
        "processing" => Box::new(NodeCosts::processing()),
        "penalty" => Box::new(Penalty::default()),
        file => Box::new(
            read::<NodeCosts>(&file.into())
                .context("--cost takes `storage`, `processing`, `penalty` or a cost file")?,
        ),
    })
}

fn json(answer: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(answer)? + "\n")
}
