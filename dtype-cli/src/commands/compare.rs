//! The command `compare`: the type maps and the costs of two descriptions.

use std::{fmt::Write, path::PathBuf};

use anyhow::Result;
use clap::Args;
use dtype_core::{Bounds, CostModel, Datatype};
use serde::Serialize;

use crate::{
    input::Source,
    models::Costs,
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
    /// The first description; standard input if `-`.
    one: PathBuf,
    /// The second description; standard input if `-`.
    other: PathBuf,
}

impl Arguments {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<Outcome> {
        let Self { format, costs, source, one, other } = self;
        let models = costs.models()?;
        let [one, other] = [one, other].map(|file| {
            let datatype = source.read(Some(&file))?.datatype()?;
            Ok::<_, anyhow::Error>((file.display().to_string(), datatype))
        });
        compare(format, models.wanted(), one?, other?)
    }
}

/// The comparison of two descriptions.
#[derive(Serialize)]
struct Compared {
    same_type_map: bool,
    same_bounds: bool,
    costs: [u64; 2],
}

/// Compares the type maps and the costs of two datatypes.
fn compare(
    format: MapFormat,
    costs: &dyn CostModel,
    (one, a): (String, Datatype),
    (other, b): (String, Datatype),
) -> Result<Outcome> {
    // Equal type maps have equal runs, so the entries need not be listed one by one.
    let same_type_map = a.tree.runs()? == b.tree.runs()?;
    let same_bounds = a.bounds == b.bounds;
    let [first, second] = [&a, &b].map(|datatype| datatype.tree.cost(costs));
    if format == MapFormat::Json {
        let answer = json(&Compared { same_type_map, same_bounds, costs: [first, second] })?;
        return Ok(Outcome { answer, yes: same_type_map });
    }
    let mut answer = match (same_type_map, same_bounds) {
        (true, true) => "the same type map and bounds\n".to_owned(),
        (true, false) => "the same type map, but different bounds\n".to_owned(),
        (false, _) => "different type maps\n".to_owned(),
    };
    for (name, Datatype { bounds, .. }, cost) in [(&one, &a, first), (&other, &b, second)] {
        let Bounds { lower_bound, extent } = bounds;
        writeln!(answer, "{name}: cost {cost}, lower bound {lower_bound}, extent {extent}")?;
    }
    let (less, more) = (first.min(second), first.max(second));
    if same_type_map && less < more {
        let cheaper = if first < second { one } else { other };
        writeln!(answer, "{cheaper} costs {} less: {less} instead of {more}", more - less)?;
    }
    Ok(Outcome { answer, yes: same_type_map })
}
