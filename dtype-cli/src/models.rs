//! The cost models: those with a name, and those in files.

use std::fs;

use anyhow::{Context, Result};
use clap::Args;
use dtype_core::{CostModel, NodeCosts, Penalty};

#[derive(Args)]
pub(crate) struct Costs {
    /// What a description costs: storage, processing, penalty, or the path of a cost file.
    ///
    /// A cost file is JSON:
    /// {"leaf":3,"vec":5,"idx":5,"strc":5,"idxbuc":7,"lookup":1,"weighting":"storage"}, and for what the data
    /// takes, whatever describes it, "block", "change" and "byte". `cargo xtask bench guidelines` measures
    /// such files.
    #[arg(long, default_value = "storage")]
    cost: String,
}

/// Cost models with their names: the one that is wanted, and the other ones that have a name.
pub(crate) struct Models(Vec<(String, Box<dyn CostModel>)>);

/// The models with a name.
fn named() -> [(&'static str, Box<dyn CostModel>); 3] {
    [
        ("storage", Box::new(NodeCosts::default())),
        ("processing", Box::new(NodeCosts::processing())),
        ("penalty", Box::new(Penalty::default())),
    ]
}

impl Models {
    /// The one that is wanted.
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
            // A list would be read, too.
            let object: serde_json::Map<_, _> = serde_json::from_str(&text)?;
            Ok(serde_json::from_value(object.into())?)
        });
        costs
            .with_context(|| self.cost.clone())
            .context("--cost takes `storage`, `processing`, `penalty` or a cost file")
    }
}
