//! The command `struct`: the structs of a program or of a header, and the datatype of one.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use dtype_core::{Datatype, normalize};

use super::{Common, Library};
use crate::{
    input::{Listed, Source, name_of},
    models::Costs,
    outcome::{Outcome, json},
    output::{self, Format},
};

#[derive(Args)]
pub(crate) struct Arguments {
    /// List the structs whose names contain the given name.
    #[arg(long)]
    list: bool,
    /// The format of the answer; if omitted, a table and a tree.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The name NAME in the written code: the function is `NAME_create`, or in Python `create_NAME`. Default:
    /// that of the struct, or else `layout`.
    #[arg(long)]
    function: Option<String>,
    /// The MPI library that the code is written for. It gets the calls whose datatype is the fastest there.
    #[arg(long, value_enum, default_value_t)]
    library: Library,
    #[command(flatten)]
    costs: Costs,
    #[command(flatten)]
    source: Source,
    /// The program, library, object file or header; standard input if omitted or `-`.
    file: Option<PathBuf>,
    /// The struct, as in 'struct particle', sim::Particle or 'type(particle)'.
    struct_name: Option<String>,
}

impl Arguments {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<Outcome> {
        let Self { list, format, function, library, costs, source, file, struct_name } = self;
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
        let own = Some(record.own_name()).filter(|name| output::is_function_name(name));
        let function = function.unwrap_or_else(|| own.unwrap_or("layout").to_owned());
        let common = Common { format: format.unwrap_or(Format::Text), function, library, source, file };
        Ok((text + &common.write(&models, Some(&tree), &solution, bounds, Some(&record))?.answer).into())
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
