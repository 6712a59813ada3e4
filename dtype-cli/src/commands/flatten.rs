//! The command `flatten`: the type map of a description.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::{
    input::Source,
    outcome::{MapFormat, Outcome, json},
};

#[derive(Args)]
pub(crate) struct Arguments {
    /// The format of the answer.
    #[arg(long, value_enum, default_value_t)]
    format: MapFormat,
    #[command(flatten)]
    source: Source,
    /// The input; standard input if omitted or `-`.
    file: Option<PathBuf>,
}

impl Arguments {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<Outcome> {
        let Self { format, source, file } = self;
        let map = source.read(file.as_ref())?.map()?;
        Ok(match format {
            MapFormat::Json => json(&map)?.into(),
            MapFormat::Text => format!("{map}\n").into(),
        })
    }
}
