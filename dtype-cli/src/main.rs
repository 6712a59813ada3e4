//! The command `dtype`: descriptions of layouts in, least-cost trees, type maps and programs out.
//!
//! Exit code 0 and the answer on standard output, or a message on standard error and exit code 2. `compare`
//! has 1 as well, for two descriptions that are not the same.
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
    /// have their names of Rust, i8 to i64, u8 to u64, f32, f64 and bool; c32 and c64 are complex numbers of
    /// these, and byte is one; or their names of C, such as double, or of MPI, such as MPI_LONG.
    Reconstruct {
        /// Which descriptions are searched.
        #[arg(long, value_enum, default_value_t)]
        shape: ShapeName,
        #[command(flatten)]
        costs: Costs,
        #[command(flatten)]
        common: Common,
    },
    /// Find a cheap tree with the type map of a given tree, however long that map is.
    ///
    /// The answer is the least-cost tree where it says "proven".
    Normalize {
        #[command(flatten)]
        costs: Costs,
        #[command(flatten)]
        common: Common,
    },
    /// Write a description as it stands in another format.
    Convert {
        #[command(flatten)]
        costs: Costs,
        #[command(flatten)]
        common: Common,
    },
    /// List the type map of a description.
    ///
    /// That may be a tree in JSON, such as {"vec":{"count":3,"stride":16,"child":{"leaf":"f64"}}}.
    Flatten {
        /// How the answer is written.
        #[arg(long, value_enum, default_value_t)]
        format: MapFormat,
        #[command(flatten)]
        source: Source,
        /// The input; standard input if left out or `-`.
        file: Option<PathBuf>,
    },
    /// Say what a description costs, under all cost models, and what the least-cost one does.
    Cost {
        /// How the answer is written.
        #[arg(long, value_enum, default_value = "text")]
        format: MapFormat,
        #[command(flatten)]
        costs: Costs,
        #[command(flatten)]
        source: Source,
        /// The input; standard input if left out or `-`.
        file: Option<PathBuf>,
    },
    /// Say what is in a layout, what repeats in it, and why the cheapest tree is what it is.
    Explain {
        #[command(flatten)]
        costs: Costs,
        #[command(flatten)]
        source: Source,
        /// The input; standard input if left out or `-`.
        file: Option<PathBuf>,
    },
    /// Say whether two descriptions have the same type map, and which is cheaper.
    ///
    /// Exit code 0 where they have the same one, and 1 where not.
    Compare {
        /// How the answer is written.
        #[arg(long, value_enum, default_value = "text")]
        format: MapFormat,
        #[command(flatten)]
        costs: Costs,
        #[command(flatten)]
        source: Source,
        /// One description; standard input if `-`.
        one: PathBuf,
        /// The other one.
        other: PathBuf,
    },
    /// Draw a layout: memory byte by byte, and the trees that describe it, as it is given and at least cost.
    ///
    /// Of a large layout one period is drawn, and how much of each part of the whole is data.
    Draw {
        /// How it is drawn.
        #[arg(long, value_enum, default_value_t)]
        format: DrawFormat,
        /// Open the page, or the picture, in a browser.
        #[arg(long)]
        open: bool,
        /// Whether the form for the terminal has colours: `auto` if it goes to one, and NO_COLOR is not set.
        #[arg(long, value_enum, default_value_t)]
        color: Color,
        #[command(flatten)]
        costs: Costs,
        #[command(flatten)]
        source: Source,
        /// The input; standard input if left out or `-`.
        file: Option<PathBuf>,
    },
    /// Show the structs of a compiled program, or of a header, and the datatype of one.
    ///
    /// Programs in C, C++, Fortran and Rust are read by their debug information (compile with `-g`). Of a
    /// header in C or C++ a compiler makes it. Without a name, all structs are listed, with their padding and
    /// the bytes that another order of the fields would save.
    Struct {
        /// List the structs that have the name in theirs.
        #[arg(long)]
        list: bool,
        /// How the answer is written; if left out, as a table and a tree.
        #[arg(long, value_enum)]
        format: Option<Format>,
        /// What a function is called that makes the datatype.
        #[arg(long, default_value = "layout")]
        function: String,
        #[command(flatten)]
        costs: Costs,
        #[command(flatten)]
        source: Source,
        /// The program, library, object file or header; standard input if left out or `-`.
        file: Option<PathBuf>,
        /// The struct, as in 'struct particle', sim::Particle or 'type(particle)'.
        struct_name: Option<String>,
    },
    /// Show what a program did with its datatypes, as the preloaded library has reported it.
    ///
    /// Run the program with DTYPE_REPORT=FILE; then this reads FILE.0.json, FILE.1.json and so on, one of
    /// each rank, and shows their sums: what was won or could be, and why messages stay as they are; a row
    /// for each constructor and place of a commit; and a picture of each layout as it is and at least cost.
    Report {
        /// The form of the answer. JSON has all rows.
        #[arg(long, value_enum, default_value = "text")]
        format: MapFormat,
        /// The order of the rows.
        #[arg(long, value_enum, default_value_t)]
        sort: report::Sort,
        /// Show all rows, not only the first 20.
        #[arg(long)]
        all: bool,
        /// Whether pictures have colours: `auto` if they go to a terminal, and NO_COLOR is not set.
        #[arg(long, value_enum, default_value_t)]
        color: Color,
        #[command(flatten)]
        costs: Costs,
        /// The FILE of DTYPE_REPORT, or the file of one rank.
        file: PathBuf,
    },
    /// Print what a shell needs to complete this command.
    Completions { shell: Shell },
    /// Print the manual page of this command, or of one of its commands.
    Man { command: Option<String> },
}

#[derive(Args)]
struct Common {
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// What a function is called that makes the datatype.
    #[arg(long, default_value = "layout")]
    function: String,
    #[command(flatten)]
    source: Source,
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
    // Trees of a thousand levels are walked by functions that call themselves.
    let walks = thread::Builder::new().stack_size(1 << 28).spawn(|| run(action));
    let outcome = walks.map_err(Into::into).and_then(|walks| {
        // What was wrong has been said.
        walks.join().unwrap_or_else(|_| Err(anyhow!("this should not have happened")))
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

/// Writes the answer. A reader that has seen enough, such as `head`, is no error.
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

/// The structs of a program.
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

/// The manual page of the whole, or of one command.
fn manual(command: Option<&str>) -> Result<Outcome> {
    let mut all = Command::command();
    // Gives each command its full name.
    all.build();
    let page = match command {
        None => all,
        Some(name) => {
            let found = all.find_subcommand(name).cloned();
            found.with_context(|| format!("`{name}` is no command of `dtype`; `dtype help` lists them"))?
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    Ok(String::from_utf8(text)?.into())
}

impl Common {
    /// The datatype that is described, and of a struct its fields.
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
