//! The commands `cost` and `compare`.

use std::{any::Any, fmt::Write};

use anyhow::Result;
use dtype_core::{Bounds, CostModel, Datatype, NodeCosts, Solution, normalize};
use serde::Serialize;

use crate::{
    models::Models,
    outcome::{MapFormat, Outcome, json},
};

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
pub(crate) fn cost(format: MapFormat, models: &Models, Datatype { tree, .. }: &Datatype) -> Result<Outcome> {
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

/// The comparison of two descriptions.
#[derive(Serialize)]
struct Compared {
    same_type_map: bool,
    same_bounds: bool,
    costs: [u64; 2],
}

/// Compares the type maps and the costs of two datatypes.
pub(crate) fn compare(
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
