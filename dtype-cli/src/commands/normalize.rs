//! The command `normalize`: a low-cost tree for the type map of a tree.

use anyhow::Result;
use clap::Args;
use dtype_core::{Datatype, normalize};

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
        let solution = normalize(&tree, models.wanted())?;
        common.write(&models, Some(&tree), &solution, bounds, record.as_ref())
    }
}
