//! The commands `cost` and `compare`.

use std::fmt::Write;

use anyhow::Result;
use dtype_core::{Bounds, CostModel, Datatype, Solution, normalize};
use serde::Serialize;

use crate::{
    models::named,
    outcome::{MapFormat, Outcome, json},
};

/// What a description costs, given and at least.
#[derive(Serialize)]
struct Priced {
    model: &'static str,
    given: u64,
    least: u64,
    optimality: &'static str,
}

/// What a datatype costs under each model that has a name.
pub(crate) fn cost(format: MapFormat, Datatype { tree, .. }: &Datatype) -> Result<Outcome> {
    let mut all = Vec::new();
    for (model, costs) in named() {
        let Solution { cost: least, optimality, .. } = normalize(tree, &*costs)?;
        all.push(Priced { model, given: tree.cost(&*costs), least, optimality: optimality.name() });
    }
    if format == MapFormat::Json {
        return Ok(json(&all)?.into());
    }
    let mut text = String::new();
    writeln!(text, "{:<12}{:>12}{:>12}", "cost model", "given", "least")?;
    for Priced { model, given, least, optimality } in all {
        writeln!(text, "{model:<12}{given:>12}{least:>12}  {optimality}")?;
    }
    Ok(text.into())
}

/// How two descriptions differ.
#[derive(Serialize)]
struct Compared {
    same_type_map: bool,
    same_bounds: bool,
    costs: [u64; 2],
}

/// Whether two datatypes have the same type map, and which is cheaper.
pub(crate) fn compare(
    format: MapFormat,
    costs: &dyn CostModel,
    (one, a): (String, Datatype),
    (other, b): (String, Datatype),
) -> Result<Outcome> {
    // Of the same type map the runs are the same, and they need not be listed one by one.
    let same_type_map = a.tree.runs()? == b.tree.runs()?;
    let same_bounds = a.bounds == b.bounds;
    let [first, second] = [&a, &b].map(|datatype| datatype.tree.cost(costs));
    if format == MapFormat::Json {
        let answer = json(&Compared { same_type_map, same_bounds, costs: [first, second] })?;
        return Ok(Outcome { answer, yes: same_type_map });
    }
    let mut answer = match (same_type_map, same_bounds) {
        (true, true) => "the same type map and bounds\n".to_owned(),
        (true, false) => "the same type map, but other bounds\n".to_owned(),
        (false, _) => "another type map\n".to_owned(),
    };
    for (name, Datatype { bounds, .. }, cost) in [(&one, &a, first), (&other, &b, second)] {
        let Bounds { lower_bound, extent } = bounds;
        writeln!(answer, "{name}: cost {cost}, lower bound {lower_bound}, extent {extent}")?;
    }
    let (less, more) = (first.min(second), first.max(second));
    if same_type_map && less < more {
        let cheaper = if first < second { one } else { other };
        writeln!(answer, "{cheaper} costs {} less, {less} of {more}", more - less)?;
    }
    Ok(Outcome { answer, yes: same_type_map })
}
