//! The cost models: the named ones, and those in cost files.

use std::fs;

use anyhow::{Context, Result};
use clap::Args;
use dtype_core::{CostModel, NodeCosts, Penalty};

#[derive(Args)]
pub(crate) struct Costs {
    /// The cost model: storage, processing, penalty, or the path of a cost file.
    ///
    /// A cost file is JSON: {"leaf":3,"vec":5,"idx":5,"strc":5,"idxbuc":7,"lookup":1,"weighting":"storage"}.
    /// The keys "block", "change" and "byte" price the data itself, which is the same for all trees.
    /// Benchmarks measure such files: `cargo xtask bench guidelines`.
    #[arg(long, default_value = "storage")]
    cost: String,
}

/// The cost models with their names: the chosen model, then the other named ones.
pub(crate) struct Models(Vec<(String, Box<dyn CostModel>)>);

/// Returns the named models.
fn named() -> [(&'static str, Box<dyn CostModel>); 3] {
    [
        ("storage", Box::new(NodeCosts::default())),
        ("processing", Box::new(NodeCosts::processing())),
        ("penalty", Box::new(Penalty::default())),
    ]
}

impl Models {
    /// Returns the chosen model.
    pub(crate) fn wanted(&self) -> &dyn CostModel {
        &*self.0[0].1
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &dyn CostModel)> {
        self.0.iter().map(|(name, model)| (name.as_str(), &**model))
    }
}

impl Costs {
    pub(crate) fn models(&self) -> Result<Models> {
        let (mut wanted, others): (Vec<_>, Vec<_>) = named()
            .into_iter()
            .map(|(name, model)| (name.to_owned(), model))
            .partition(|(name, _)| *name == self.cost);
        if wanted.is_empty() {
            wanted.push((self.cost.clone(), Box::new(self.read()?)));
        }
        wanted.extend(others);
        Ok(Models(wanted))
    }

    fn read(&self) -> Result<NodeCosts> {
        let costs = fs::read_to_string(&self.cost).map_err(anyhow::Error::from).and_then(|text| {
            // Deserialization of a struct would also accept a JSON array.
            let object: serde_json::Map<_, _> = serde_json::from_str(&text)?;
            Ok(serde_json::from_value(object.into())?)
        });
        costs
            .with_context(|| self.cost.clone())
            .context("--cost takes `storage`, `processing`, `penalty` or a cost file")
    }
}
