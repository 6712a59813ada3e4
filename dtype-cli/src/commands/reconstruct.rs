//! The command `reconstruct`: the least-cost tree of a type map.

use anyhow::Result;
use clap::{Args, ValueEnum};
use dtype_core::{Shape, reconstruct};

use super::Common;
use crate::{models::Costs, outcome::Outcome};

#[derive(Args)]
pub(crate) struct Arguments {
    /// The kind of descriptions to search.
    #[arg(long, value_enum, default_value_t)]
    shape: ShapeName,
    #[command(flatten)]
    costs: Costs,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum ShapeName {
    /// Leaf, vec and idx; for maps of one base type.
    Path,
    /// Leaf, vec, idx and idxbuc; for maps of one base type.
    ExtendedPath,
    /// All five kinds of nodes.
    #[default]
    Tree,
    /// All five kinds of nodes, equal subtrees counted once; the cost is an upper bound.
    Dag,
}

impl ShapeName {
    fn shape(self) -> Shape {
        match self {
            Self::Path => Shape::Path,
            Self::ExtendedPath => Shape::ExtendedPath,
            Self::Tree => Shape::Tree,
            Self::Dag => Shape::Dag,
        }
    }
}

impl Arguments {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<Outcome> {
        let Self { shape, costs, common } = self;
        let models = costs.models()?;
        let mut layout = common.source.read(common.file.as_ref())?;
        let (bounds, record) = (layout.bounds()?, layout.record.take());
        let solution = reconstruct(&layout.map()?, shape.shape(), models.wanted())?;
        common.write(&models, None, &solution, bounds, record.as_ref())
    }
}
