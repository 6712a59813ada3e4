//! The answers of the command, in several formats. Formats that are programs have a file each.

mod c;
mod dot;
mod emitted;
mod fortran;
pub(crate) mod pictures;
mod python;
mod rsmpi;
mod rust;
mod table;

use std::fmt::{self, Display, Write};

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use dtype_core::{BaseType, Bounds, Packing, Program, Solution, TypeTree, picture::Picture};
use emitted::Emitted;
use pictures::{Drawn, compared, page, picture};
use serde::Serialize;
pub(crate) use table::{fields, structs};

use crate::{models::Models, record::Record};

/// The format of an answer.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON object: the tree, without the bounds of the datatype.
    #[default]
    Json,
    /// The tree, one node per line.
    Text,
    /// The tree in the papers' notation, without the bounds.
    Notation,
    /// The MPI calls that make the datatype.
    Calls,
    /// A C function that makes the datatype.
    C,
    /// A Fortran subroutine that makes the datatype, with the module `mpi_f08`.
    Fortran,
    /// A Fortran subroutine that makes the datatype, with the module `mpi`.
    FortranMpi,
    /// A Python function that makes the datatype, with mpi4py.
    Python,
    /// Rust code for dtype-runtime: a struct that derives `MpiDatatype`, or `layout!`.
    Rust,
    /// A Rust function that makes the datatype, with rsmpi alone.
    Rsmpi,
    /// The tree as a graph for Graphviz, with equal subtrees drawn once.
    Dot,
    /// A picture of the memory and of the tree.
    Svg,
    /// A page with pictures, for a browser; the cost model and the order of a struct's fields can be changed.
    Html,
    /// A picture for the terminal, in colours if the output is one.
    Ansi,
}

/// An answer: a tree, its cost, and the bounds of the datatype.
pub(crate) struct Answer<'a> {
    pub(crate) solution: &'a Solution,
    /// The given tree, if pictures show it.
    pub(crate) given: Option<&'a TypeTree>,
    /// The chosen cost model, and the other models, which only pages show.
    pub(crate) models: &'a Models,
    /// `true` if escape sequences may be written.
    pub(crate) is_coloured: bool,
    pub(crate) bounds: Bounds,
    /// The name of the input.
    pub(crate) source: String,
    /// The name from which the names of functions and modules are formed.
    pub(crate) name: &'a str,
    /// The way in which the library packs that code is written for.
    pub(crate) packing: Packing,
    /// The fields, if the layout is a struct.
    pub(crate) record: Option<&'a Record>,
}

/// The JSON form of an answer.
#[derive(Serialize)]
struct Json<'a> {
    cost: u64,
    optimality: &'a str,
    tree: &'a TypeTree,
}

impl Answer<'_> {
    /// Returns the answer as text in a format.
    pub(crate) fn write(&self, format: Format) -> Result<String> {
        let Solution { tree, cost, optimality } = self.solution;
        let mut text = String::new();
        match format {
            Format::Json => {
                let json = Json { cost: *cost, optimality: optimality.name(), tree };
                text = serde_json::to_string(&json)? + "\n";
            }
            Format::Text => write!(text, "cost {cost} ({})\n{tree}", optimality.name())?,
            Format::Notation => writeln!(text, "{}", Notation(tree))?,
            Format::Calls => write!(text, "{:#}", self.emitted()?.program)?,
            Format::C => c::write(&mut text, &self.emitted()?.portable())?,
            Format::Fortran => fortran::write(&mut text, &self.emitted()?.portable(), &fortran::F08)?,
            Format::FortranMpi => fortran::write(&mut text, &self.emitted()?.portable(), &fortran::OLD)?,
            Format::Python => {
                let emitted = self.emitted()?.portable();
                if let Some(base) = emitted.bases().find(|base| base.mpi4py_name().is_none()) {
                    bail!(no_name("mpi4py", base));
                }
                python::write(&mut text, &emitted)?;
            }
            Format::Rust => rust::write(&mut text, &self.emitted()?, tree)?,
            Format::Rsmpi => {
                let emitted = self.emitted()?;
                if let Some(base) = emitted.bases().find(|base| base.rust_type().is_none()) {
                    bail!(no_name("rsmpi", base));
                }
                rsmpi::write(&mut text, &emitted)?;
            }
            Format::Dot => dot::write(&mut text, tree, self.models.wanted())?,
            Format::Svg => text = self.picture()?.svg(),
            Format::Ansi => text = self.picture()?.text(self.is_coloured),
            Format::Html => {
                let tree = self.given.unwrap_or(tree);
                text = page(&self.title(), tree, self.bounds, self.models, self.record)?;
            }
        }
        Ok(text)
    }

    /// Returns the title of pictures.
    fn title(&self) -> String {
        self.record.map_or_else(|| self.source.clone(), |record| record.name.clone())
    }

    fn picture(&self) -> Result<Picture> {
        let costs = self.models.wanted();
        let trees = match self.given {
            Some(given) => compared(given, self.solution, costs),
            None => vec![("tree".to_owned(), &self.solution.tree)],
        };
        let trees = trees.iter().map(|(heading, tree)| (heading.as_str(), *tree)).collect();
        let (bounds, record) = (self.bounds, self.record);
        picture(&Drawn { title: &self.title(), bounds, trees, costs, record })
    }

    fn emitted(&self) -> Result<Emitted<'_>> {
        ensure!(
            is_function_name(self.name),
            "`{}` cannot be the name of a function: `--function` takes up to 40 letters, digits and \
             underscores, a letter first",
            self.name
        );
        let Solution { tree, cost, optimality } = self.solution;
        // Counts have the range of C's `int` in every language.
        let program = Program::lower_for(tree, Some(self.bounds), i32::MAX as u64, self.packing)?;
        let measure = tree.measure()?;
        let Bounds { lower_bound, extent } = self.bounds;
        // A file name must not end the comment.
        let source = self.source.replace(char::is_control, " ").replace("*/", "* /");
        let suited = if self.packing == Packing::default() {
            ""
        } else {
            "The calls make the tree in the way that is the fastest with the chosen library.\n"
        };
        let comment = format!(
            "Written by `dtype` from {source}.\n\
             {} bytes of data, lower bound {lower_bound}, extent {extent}; cost {cost} ({}).\n\
             {suited}\n{tree}",
            measure.size,
            optimality.name()
        );
        Ok(Emitted { name: self.name, program, bounds: self.bounds, measure, comment, record: self.record })
    }
}

/// Returns `true` if all languages take a name for a function, and for others that begin with it.
pub(crate) fn is_function_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_part) && name.len() <= 40
}

/// Returns the message for a predefined datatype that a library has no name for.
fn no_name(library: &str, base: BaseType) -> String {
    format!("{library} has no name for {}; write the datatype in another language", base.mpi_name())
}

/// A tree in the papers' notation, in the form that `input` reads.
struct Notation<'a>(&'a TypeTree);

impl Display for Notation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            TypeTree::Leaf(base) => write!(f, "{base}"),
            TypeTree::Vector { count, stride, child } => write!(f, "vec({count}, {stride}, {})", Self(child)),
            TypeTree::Index { displacements, child } => write!(f, "idx({displacements:?}, {})", Self(child)),
            TypeTree::IndexBucket { stride, buckets, displacements, child } => {
                write!(f, "idxbuc({stride}, {buckets:?}, {displacements:?}, {})", Self(child))
            }
            TypeTree::Struct { displacements, children } => {
                write!(f, "strc({displacements:?}, [")?;
                for (i, child) in children.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { "" } else { ", " }, Notation(child))?;
                }
                f.write_str("])")
            }
        }
    }
}
