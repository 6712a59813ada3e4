//! The command `explain`: the runs of a layout, its repetitions, the cost of each node of the given and the
//! least-cost tree, and the predicted times of a message.

use std::{
    collections::HashSet,
    fmt::{self, Write},
    path::PathBuf,
};

use anyhow::Result;
use clap::Args;
use dtype_core::{CostModel, Datatype, Run, Solution, TypeMap, TypeTree, normalize};
use dtype_engine::{Plan, prices::predictions};

use crate::{input::Source, models::Costs, outcome::Outcome};

/// The largest number of runs, and of repetitions, that are listed.
const SHOWN: usize = 8;
/// The largest number of entries for which repetitions are searched, and of runs that are examined.
const MOST: u64 = 1 << 20;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    costs: Costs,
    /// The number of elements of the message whose time is predicted.
    #[arg(long, default_value_t = 1)]
    count: usize,
    #[command(flatten)]
    source: Source,
    /// The input; standard input if omitted or `-`.
    file: Option<PathBuf>,
}

impl Arguments {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<Outcome> {
        let Self { costs, count, source, file } = self;
        let models = costs.models()?;
        Ok(explain(&source.read(file.as_ref())?.datatype()?, models.wanted(), count)?.into())
    }
}

/// Returns the explanation of a layout under a cost model, with the predicted time of a message of `count`
/// elements.
fn explain(Datatype { tree, bounds, .. }: &Datatype, costs: &dyn CostModel, count: usize) -> Result<String> {
    let measure = tree.measure()?;
    let Solution { tree: least, cost, optimality } = normalize(tree, costs)?;
    let mut text = String::new();
    writeln!(
        text,
        "{}: {} of data in {}, lower bound {}, extent {}",
        many(measure.entries, "entry", "entries"),
        many(measure.size, "byte", "bytes"),
        measure.true_extent(),
        bounds.lower_bound,
        bounds.extent
    )?;
    match tree.few_runs(MOST as usize) {
        Some(runs) => list(&mut text, runs.as_slice())?,
        None => writeln!(text, "\ntoo many runs to list")?,
    }
    if (1..=MOST).contains(&measure.entries) {
        repetitions(&mut text, &tree.flatten()?)?;
    }
    let given = tree.cost(costs);
    writeln!(text, "\nas given, cost {given}:")?;
    nodes(&mut text, tree, costs)?;
    if cost < given {
        writeln!(text, "\nleast-cost tree, cost {cost} ({}):", optimality.name())?;
        nodes(&mut text, &least, costs)?;
    } else {
        writeln!(text, "\nnothing cheaper was found ({})", optimality.name())?;
    }
    let plan = Plan::new(&least).map(|plan| plan.resized(bounds.extent as isize));
    if let Some(times) = plan.ok().and_then(|plan| predictions(&plan, count)) {
        write!(text, "\n{times}")?;
    }
    Ok(text)
}

fn many(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn list(f: &mut String, runs: &[Run]) -> fmt::Result {
    if !runs.is_empty() {
        writeln!(f, "\n{}:", many(runs.len() as u64, "run", "runs"))?;
    }
    runs.iter().take(SHOWN).try_for_each(|run| writeln!(f, "  {run}"))?;
    if runs.len() > SHOWN { writeln!(f, "  … and {} more", runs.len() - SHOWN) } else { Ok(()) }
}

/// Writes the repeated prefixes (thesis section 4.2): leading segments whose copies make up the whole map.
fn repetitions(f: &mut String, map: &TypeMap) -> fmt::Result {
    let (types, at) = (map.types(), map.displacements());
    let n = map.len();
    let repeats = |q: usize| {
        (q..n).all(|i| {
            let (copy, entry) = (i - i % q, i % q);
            types[i] == types[entry] && at[i].wrapping_sub(at[copy]) == at[entry].wrapping_sub(at[0])
        })
    };
    let lengths = (1..=n / 2).filter(|q| n % q == 0 && repeats(*q));
    let lengths: Vec<usize> = lengths.take(SHOWN + 1).collect();
    if lengths.is_empty() {
        return writeln!(f, "\nno prefix repeats to the end");
    }
    writeln!(f, "\nrepeated prefixes:")?;
    for q in lengths.iter().take(SHOWN) {
        let starts: Vec<i64> = at.iter().copied().step_by(*q).collect();
        let step = starts[1].wrapping_sub(starts[0]);
        let is_strided = starts.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == step);
        let how =
            if is_strided { format!("{step} bytes apart") } else { "at irregular distances".to_owned() };
        writeln!(f, "  the first {}, {} times, {how}", many(*q as u64, "entry", "entries"), n / q)?;
    }
    if lengths.len() > SHOWN { writeln!(f, "  … and longer ones") } else { Ok(()) }
}

/// Writes a tree, one node per line, each with the cost of its subtree and the reason for its kind.
fn nodes(f: &mut String, tree: &TypeTree, costs: &dyn CostModel) -> fmt::Result {
    let drawn = tree.to_string();
    let mut all = Vec::new();
    in_order(tree, &mut all);
    let width = drawn.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    for (line, node) in drawn.lines().zip(all) {
        let pad = width - line.chars().count();
        let line = format!("  {line}{:pad$}  {:>8}  {}", "", node.cost(costs), reason(node, costs));
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Appends the nodes in the order in which they are drawn.
fn in_order<'a>(tree: &'a TypeTree, all: &mut Vec<&'a TypeTree>) {
    all.push(tree);
    tree.children().iter().for_each(|child| in_order(child, all));
}

/// Returns the reason why a node is of its kind, with the cost of another kind.
fn reason(node: &TypeTree, costs: &dyn CostModel) -> String {
    let as_index = |copies: u64, child: &TypeTree| costs.index(copies).of(child.cost(costs));
    match node {
        TypeTree::Leaf(_) => String::new(),
        TypeTree::Vector { count, child, .. } => {
            format!("equal distances; as an idx, cost {}", as_index(*count, child))
        }
        TypeTree::Index { displacements, child } => {
            let steps = distances(displacements);
            let count = displacements.len() as u64;
            match steps {
                0 => "it only moves its child".to_owned(),
                1 => format!("equal distances; as a vec, cost {}", costs.vector(count).of(child.cost(costs))),
                steps => format!("{steps} different distances"),
            }
        }
        TypeTree::IndexBucket { buckets, child, .. } => {
            let copies = buckets.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
            format!("equal distances within each bucket; as an idx, cost {}", as_index(copies, child))
        }
        TypeTree::Struct { children, .. } => {
            match (children.len(), children.iter().collect::<HashSet<_>>().len()) {
                (1, _) => "it only moves its child".to_owned(),
                (_, 1) => "equal parts".to_owned(),
                (_, different) => format!("{different} different parts"),
            }
        }
    }
}

/// Returns the number of different distances between neighbouring displacements.
fn distances(displacements: &[i64]) -> usize {
    let mut steps: Vec<i64> = displacements.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
    steps.sort_unstable();
    steps.dedup();
    steps.len()
}
