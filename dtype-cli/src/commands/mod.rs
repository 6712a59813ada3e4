//! The subcommands, a file each: their arguments, and how they are run. Their help is in main.rs: a doc
//! comment of their `Arguments` would become part of the help.

pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod cost;
pub(crate) mod draw;
pub(crate) mod explain;
pub(crate) mod flatten;
pub(crate) mod man;
pub(crate) mod normalize;
pub(crate) mod reconstruct;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod structs;

use std::{
    env,
    io::{self, IsTerminal},
    path::PathBuf,
};

use anyhow::Result;
use clap::{Args, ValueEnum};
use dtype_core::{Bounds, Datatype, Packing, Solution, TypeTree};

use crate::{
    input::{Source, name_of},
    models::Models,
    outcome::Outcome,
    output::{Answer, Format},
    record::Record,
};

// The arguments of the commands whose answer is a tree.
#[derive(Args)]
pub(super) struct Common {
    /// The format of the answer.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
    /// The name NAME in the written code: the function is `NAME_create`, or in Python `create_NAME`.
    #[arg(long, default_value = "layout")]
    pub(super) function: String,
    /// The MPI library that the code is written for. It gets the calls whose datatype is the fastest there.
    #[arg(long, value_enum, default_value_t)]
    pub(super) library: Library,
    #[command(flatten)]
    pub(super) source: Source,
    /// The input; standard input if omitted or `-`.
    pub(super) file: Option<PathBuf>,
}

impl Common {
    /// Reads the datatype and, for a struct, its fields.
    pub(super) fn datatype(&self) -> Result<(Datatype, Option<Record>)> {
        let mut layout = self.source.read(self.file.as_ref())?;
        let record = layout.record.take();
        Ok((layout.datatype()?, record))
    }

    /// Returns the answer: the tree of a solution in the wanted format. Pictures also show the `given` tree.
    pub(super) fn write(
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
            packing: self.library.packing(),
            record,
        };
        Ok(answer.write(self.format)?.into())
    }
}

/// An MPI library that code is written for.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(super) enum Library {
    /// Any library: the fewest calls.
    #[default]
    Any,
    /// Open MPI.
    Openmpi,
    /// MPICH, versions 4.0 to 4.2.
    Mpich,
    /// MPICH, from version 4.3 on.
    #[value(name = "mpich-4.3")]
    Mpich43,
    /// Intel MPI.
    Intel,
}

impl Library {
    fn packing(self) -> Packing {
        match self {
            Self::Any => Packing::default(),
            Self::Openmpi => Packing::OPEN_MPI,
            Self::Mpich => Packing::MPICH,
            Self::Mpich43 => Packing::MPICH_4_3,
            Self::Intel => Packing::INTEL_MPI,
        }
    }
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

impl Color {
    pub(crate) fn is_on(self) -> bool {
        match self {
            Self::Auto => {
                io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|no| no.is_empty())
            }
            Self::Always => true,
            Self::Never => false,
        }
    }
}
