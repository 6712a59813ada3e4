//! The command `cost`: the cost of a description, and the least cost, under all cost models.

use std::{any::Any, fmt::Write, path::PathBuf};

use anyhow::Result;
use clap::Args;
use dtype_core::{Datatype, NodeCosts, Solution, normalize};
use serde::Serialize;

use crate::{
    input::Source,
    models::{Costs, Models},
    outcome::{MapFormat, Outcome, json},
};

#[derive(Args)]
pub(crate) struct Arguments {
    /// The format of the answer.
    #[arg(long, value_enum, default_value = "text")]
    format: MapFormat,
    #[command(flatten)]
    costs: Costs,
    #[command(flatten)]
    source: Source,
    /// The input; standard input if omitted or `-`.
    file: Option<PathBuf>,
}

impl Arguments {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<Outcome> {
        let Self { format, costs, source, file } = self;
        let models = costs.models()?;
        cost(format, &models, &source.read(file.as_ref())?.datatype()?)
    }
}

/// The cost of a description as given, and the least cost.
#[derive(Serialize)]
struct Priced<'a> {
    model: &'a str,
    given: u64,
    least: u64,
    optimality: &'static str,
    /// The two costs with the data included, if a cost file prices the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<[u64; 2]>,
}

/// Returns the costs of a datatype under each model.
fn cost(format: MapFormat, models: &Models, Datatype { tree, .. }: &Datatype) -> Result<Outcome> {
    let mut all = Vec::new();
    for (model, costs) in models.iter() {
        let Solution { cost: least, optimality, tree: best } = normalize(tree, costs)?;
        let prices_data = |costs: &&NodeCosts| costs.block > 0 || costs.change > 0 || costs.byte > 0;
        let costs_of_data = (costs as &dyn Any).downcast_ref::<NodeCosts>().filter(prices_data);
        let time = costs_of_data.map(|costs| [costs.time(tree), costs.time(&best)]);
        all.push(Priced { model, given: tree.cost(costs), least, optimality: optimality.name(), time });
    }
    if format == MapFormat::Json {
        return Ok(json(&all)?.into());
    }
    let width = all.iter().map(|priced| priced.model.chars().count() + 2).fold(12, usize::max);
    let numbers = all
        .iter()
        .flat_map(|priced| [priced.given, priced.least].into_iter().chain(priced.time.unwrap_or_default()));
    let wide = numbers.max().map_or(12, |most| most.to_string().len() + 2).max(12);
    let mut text = String::new();
    writeln!(text, "{:<width$}{:>wide$}{:>wide$}", "cost model", "given", "least")?;
    for Priced { model, given, least, optimality, time } in all {
        writeln!(text, "{model:<width$}{given:>wide$}{least:>wide$}  {optimality}")?;
        if let Some([given, least]) = time {
            writeln!(text, "{:<width$}{given:>wide$}{least:>wide$}", "  with its data")?;
        }
    }
    Ok(text.into())
}
