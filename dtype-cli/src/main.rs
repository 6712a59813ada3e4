//! The command `dtype`, which reads descriptions of layouts and writes least-cost trees, type maps and
//! programs.
//!
//! If the command succeeds, the exit code is 0 and the answer is on standard output. If it fails, the exit
//! code is 2 and a message is on standard error. `compare` also has the exit code 1, for two descriptions
//! that differ.
#![forbid(unsafe_code)]

mod compare;
mod draw;
mod explain;
mod input;
mod models;
mod outcome;
mod output;
mod record;
mod report;

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    thread,
};

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use dtype_core::{Bounds, Datatype, Optimality, Shape, Solution, TypeTree, normalize, reconstruct};

use compare::{compare, cost};
use draw::{Color, DrawFormat, draw, open};
use input::{Listed, Source, name_of};
use models::{Costs, Models};
use outcome::{MapFormat, Outcome, json};
use output::{Answer, Format};
use record::Record;

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
    Reconstruct {
        /// The kind of descriptions to search.
        #[arg(long, value_enum, default_value_t)]
        shape: ShapeName,
        #[command(flatten)]
        costs: Costs,
        #[command(flatten)]
        common: Common,
    },
    /// Find a low-cost tree for the type map of a given tree, however long that map is.
    ///
    /// If the answer says "proven", the tree has the least cost.
    Normalize {
        #[command(flatten)]
        costs: Costs,
        #[command(flatten)]
        common: Common,
    },
    /// Write a description in another format, without changing its tree.
    Convert {
        #[command(flatten)]
        costs: Costs,
        #[command(flatten)]
        common: Common,
    },
    /// List the type map of a description.
    ///
    /// The description may be a tree in JSON, such as {"vec":{"count":3,"stride":16,"child":{"leaf":"f64"}}}.
    Flatten {
        /// The format of the answer.
        #[arg(long, value_enum, default_value_t)]
        format: MapFormat,
        #[command(flatten)]
        source: Source,
        /// The input; standard input if omitted or `-`.
        file: Option<PathBuf>,
    },
    /// Print the cost of a description, and the least cost, under all cost models.
    Cost {
        /// The format of the answer.
        #[arg(long, value_enum, default_value = "text")]
        format: MapFormat,
        #[command(flatten)]
        costs: Costs,
        #[command(flatten)]
        source: Source,
        /// The input; standard input if omitted or `-`.
        file: Option<PathBuf>,
    },
    /// Explain a layout: what it contains, what repeats in it, and why the cheapest tree has its form.
    Explain {
        #[command(flatten)]
        costs: Costs,
        #[command(flatten)]
        source: Source,
        /// The input; standard input if omitted or `-`.
        file: Option<PathBuf>,
    },
    /// Say whether two descriptions have the same type map, and which is cheaper.
    ///
    /// The exit code is 0 if the type maps are the same, and 1 if they differ.
    Compare {
        /// The format of the answer.
        #[arg(long, value_enum, default_value = "text")]
        format: MapFormat,
        #[command(flatten)]
        costs: Costs,
        #[command(flatten)]
        source: Source,
        /// The first description; standard input if `-`.
        one: PathBuf,
        /// The second description; standard input if `-`.
        other: PathBuf,
    },
    /// Draw a layout: its memory byte by byte, the given tree and the least-cost tree.
    ///
    /// If the layout is large, one period is drawn, and the share of data in each part of the whole.
    Draw {
        /// The format of the picture.
        #[arg(long, value_enum, default_value_t)]
        format: DrawFormat,
        /// Open the page, or the picture, in a browser.
        #[arg(long)]
        open: bool,
        /// Use colours in the terminal format: `auto` uses them if the output is a terminal and NO_COLOR is
        /// not set.
        #[arg(long, value_enum, default_value_t)]
        color: Color,
        #[command(flatten)]
        costs: Costs,
        #[command(flatten)]
        source: Source,
        /// The input; standard input if omitted or `-`.
        file: Option<PathBuf>,
    },
    /// Show the structs of a compiled program or of a header, and the datatype of one.
    ///
    /// Programs in C, C++, Fortran and Rust are read from their debug information (compile with `-g`). For a
    /// header in C or C++, a compiler creates that information. Without a name, all structs are listed, with
    /// their padding and the bytes that another order of the fields would save.
    Struct {
        /// List the structs whose names contain the given name.
        #[arg(long)]
        list: bool,
        /// The format of the answer; if omitted, a table and a tree.
        #[arg(long, value_enum)]
        format: Option<Format>,
        /// The name of the written function that makes the datatype.
        #[arg(long, default_value = "layout")]
        function: String,
        #[command(flatten)]
        costs: Costs,
        #[command(flatten)]
        source: Source,
        /// The program, library, object file or header; standard input if omitted or `-`.
        file: Option<PathBuf>,
        /// The struct, as in 'struct particle', sim::Particle or 'type(particle)'.
        struct_name: Option<String>,
    },
    /// Show how a program used its datatypes, as the preloaded library reported it.
    ///
    /// Run the program with DTYPE_REPORT=FILE. This command then reads FILE.0.json, FILE.1.json and so on,
    /// one for each rank, and shows their sums. It shows the time that was or could be won, and why messages
    /// were not packed. A table has a row for each constructor and place of a commit. Each layout is drawn
    /// with its given and its least-cost tree.
    Report {
        /// The format of the answer. JSON contains all rows.
        #[arg(long, value_enum, default_value = "text")]
        format: MapFormat,
        /// The order of the rows.
        #[arg(long, value_enum, default_value_t)]
        sort: report::Sort,
        /// Show all rows, not only the first 20.
        #[arg(long)]
        all: bool,
        /// Use colours in pictures: `auto` uses them if the output is a terminal and NO_COLOR is not set.
        #[arg(long, value_enum, default_value_t)]
        color: Color,
        #[command(flatten)]
        costs: Costs,
        /// The FILE of DTYPE_REPORT, or the report file of one rank.
        file: PathBuf,
    },
    /// Print the completion script of a shell.
    Completions { shell: Shell },
    /// Print the manual page of this command, or of one of its commands.
    Man { command: Option<String> },
}

#[derive(Args)]
struct Common {
    /// The format of the answer.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The name of the written function that makes the datatype.
    #[arg(long, default_value = "layout")]
    function: String,
    #[command(flatten)]
    source: Source,
    /// The input; standard input if omitted or `-`.
    file: Option<PathBuf>,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum ShapeName {
    /// Leaf, vec and idx; for maps of one base type.
    Path,
    /// Leaf, vec, idx and idxbuc; for maps of one base type.
    ExtendedPath,
    /// All five kinds of nodes.
    #[default]
    Tree,
    /// All five kinds of nodes, equal subtrees counted once; the cost is an upper bound.
    Dag,
}

impl ShapeName {
    fn shape(self) -> Shape {
        match self {
            Self::Path => Shape::Path,
            Self::ExtendedPath => Shape::ExtendedPath,
            Self::Tree => Shape::Tree,
            Self::Dag => Shape::Dag,
        }
    }
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
        Action::Reconstruct { shape, costs, common } => {
            let models = costs.models()?;
            let mut layout = common.source.read(common.file.as_ref())?;
            let (bounds, record) = (layout.bounds()?, layout.record.take());
            let solution = reconstruct(&layout.map()?, shape.shape(), models.wanted())?;
            common.write(&models, None, &solution, bounds, record.as_ref())
        }
        Action::Normalize { costs, common } => {
            let models = costs.models()?;
            let (Datatype { tree, bounds, .. }, record) = common.datatype()?;
            let solution = normalize(&tree, models.wanted())?;
            common.write(&models, Some(&tree), &solution, bounds, record.as_ref())
        }
        Action::Convert { costs, common } => {
            let models = costs.models()?;
            let (Datatype { tree, bounds, .. }, record) = common.datatype()?;
            let cost = tree.cost(models.wanted());
            let solution = Solution { tree, cost, optimality: Optimality::UpperBound };
            common.write(&models, None, &solution, bounds, record.as_ref())
        }
        Action::Flatten { format, source, file } => {
            let map = source.read(file.as_ref())?.map()?;
            Ok(match format {
                MapFormat::Json => json(&map)?.into(),
                MapFormat::Text => format!("{map}\n").into(),
            })
        }
        Action::Cost { format, costs, source, file } => {
            let models = costs.models()?;
            cost(format, &models, &source.read(file.as_ref())?.datatype()?)
        }
        Action::Explain { costs, source, file } => {
            let models = costs.models()?;
            Ok(explain::explain(&source.read(file.as_ref())?.datatype()?, models.wanted())?.into())
        }
        Action::Compare { format, costs, source, one, other } => {
            let models = costs.models()?;
            let [one, other] = [one, other].map(|file| {
                let datatype = source.read(Some(&file))?.datatype()?;
                Ok::<_, anyhow::Error>((file.display().to_string(), datatype))
            });
            compare(format, models.wanted(), one?, other?)
        }
        Action::Draw { format, open: is_opened, color, costs, source, file } => {
            let models = costs.models()?;
            let layout = source.read(file.as_ref())?;
            let (format, ending) = match format {
                DrawFormat::Svg | DrawFormat::Html if is_opened => (DrawFormat::Html, ".html"),
                format => (format, ".txt"),
            };
            let drawn = draw(format, color, &models, layout, name_of(file.as_ref()))?;
            Ok(if is_opened { open(&drawn, ending)? } else { drawn }.into())
        }
        Action::Struct { list, format, function, costs, source, file, struct_name } => {
            let models = costs.models()?;
            let source = source.named(struct_name);
            if list || !source.has_name() {
                return structs(format, &source.list(file.as_ref())?);
            }
            let (record, datatype) = source.structure_of(file.as_ref())?;
            let mut text = String::new();
            let datatype = match (format, datatype) {
                (None, Err(refused)) => {
                    output::fields(&mut text, &record)?;
                    return Ok(format!("{text}\n{refused}\n").into());
                }
                (None, datatype) => {
                    output::fields(&mut text, &record)?;
                    text.push('\n');
                    datatype
                }
                (Some(_), datatype) => datatype.with_context(|| name_of(file.as_ref())),
            };
            let Datatype { tree, bounds, .. } = datatype?;
            let solution = normalize(&tree, models.wanted())?;
            let common = Common { format: format.unwrap_or(Format::Text), function, source, file };
            Ok((text + &common.write(&models, Some(&tree), &solution, bounds, Some(&record))?.answer).into())
        }
        Action::Report { format, sort, all, color, costs, file } => {
            Ok(report::report(format, (sort, all), color, &costs.models()?, &file)?.into())
        }
        Action::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Command::command(), "dtype", &mut script);
            Ok(String::from_utf8(script)?.into())
        }
        Action::Man { command } => manual(command.as_deref()),
    }
}

/// Returns the structs of a program as a table or as JSON.
fn structs(format: Option<Format>, all: &[Listed]) -> Result<Outcome> {
    match format {
        None | Some(Format::Text) => {
            let mut text = String::new();
            output::structs(&mut text, all)?;
            Ok(text.into())
        }
        Some(Format::Json) => Ok(json(&all)?.into()),
        Some(_) => bail!("a list of structs is written as `text` or `json`"),
    }
}

/// Returns the manual page of `dtype`, or of one of its commands.
fn manual(command: Option<&str>) -> Result<Outcome> {
    let mut all = Command::command();
    // `build` gives each command its full name.
    all.build();
    let page = match command {
        None => all,
        Some(name) => {
            let found = all.find_subcommand(name).cloned();
            found.with_context(|| {
                format!("`{name}` is not a command of `dtype`; `dtype help` lists the commands")
            })?
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    Ok(String::from_utf8(text)?.into())
}

impl Common {
    /// Reads the datatype and, for a struct, its fields.
    fn datatype(&self) -> Result<(Datatype, Option<Record>)> {
        let mut layout = self.source.read(self.file.as_ref())?;
        let record = layout.record.take();
        Ok((layout.datatype()?, record))
    }

    fn write(
        &self,
        models: &Models,
        given: Option<&TypeTree>,
        solution: &Solution,
        bounds: Bounds,
        record: Option<&Record>,
    ) -> Result<Outcome> {
        let answer = Answer {
            solution,
            given,
            models,
            is_coloured: Color::Auto.is_on(),
            bounds,
            source: name_of(self.file.as_ref()),
            name: &self.function,
            record,
        };
        Ok(answer.write(self.format)?.into())
    }
}
