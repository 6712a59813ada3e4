//! The command `convert`: a description in another format.

use anyhow::Result;
use clap::Args;
use dtype_core::{Datatype, Optimality, Solution};

use super::Common;
use crate::{models::Costs, outcome::Outcome};

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    costs: Costs,
    #[command(flatten)]
    common: Common,
}

impl Arguments {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<Outcome> {
        let Self { costs, common } = self;
        let models = costs.models()?;
        let (Datatype { tree, bounds, .. }, record) = common.datatype()?;
        let cost = tree.cost(models.wanted());
        let solution = Solution { tree, cost, optimality: Optimality::UpperBound };
        common.write(&models, None, &solution, bounds, record.as_ref())
    }
}
