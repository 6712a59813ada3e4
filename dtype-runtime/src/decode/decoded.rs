//! Descriptions of existing datatypes.

use std::{fmt, sync::OnceLock};

use dtype_core::{Bounds, LinearCosts, Purpose, TypeTree};
use dtype_engine::Plan;

use crate::{
    Error,
    layout::{LayoutDatatype, entry::Entry},
    types::{
        cache::cached,
        entry::{COSTS, Wanted},
    },
};

/// The description of an existing datatype: its type map as a tree, its lower bound and its extent.
///
/// It supports the operations of a layout. The tree has a cost and can be normalized, drawn and lowered (see
/// [`crate::tree`]); [`plan`](Self::plan) packs, unpacks, copies and visits the data;
/// [`datatype`](Self::datatype) returns the least-cost datatype.
pub struct Decoded {
    tree: TypeTree,
    bounds: Bounds,
    plan: OnceLock<Plan>,
}

impl Decoded {
    pub(super) fn new(tree: TypeTree, bounds: Bounds) -> Self {
        Self { tree, bounds, plan: OnceLock::new() }
    }

    /// Returns the tree, node for node as the datatype was constructed. Displacements are bytes from the
    /// start of a buffer.
    pub fn tree(&self) -> &TypeTree {
        &self.tree
    }

    /// Returns the lower bound and the extent.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Returns the plan for packing, compiled at the first call. Several copies are one extent apart.
    ///
    /// # Errors
    /// `Argument` if the bytes do not fit this machine's memory.
    pub fn plan(&self) -> Result<Plan, Error> {
        if let Some(plan) = self.plan.get() {
            return Ok(plan.clone());
        }
        let extent = isize::try_from(self.bounds.extent)
            .map_err(|_| dtype_core::Error::Overflow { node: self.tree.kind() })?;
        let plan = Plan::new(&self.tree)?.resized(extent);
        Ok(self.plan.get_or_init(|| plan).clone())
    }

    /// Returns a committed datatype of least cost, with the same type map, lower bound and extent. A datatype
    /// that was built before comes from the cache of layouts.
    ///
    /// # Errors
    /// An error after `MPI_Finalize`, and if an MPI call fails.
    pub fn datatype(&self) -> Result<LayoutDatatype, Error> {
        self.datatype_by(&COSTS)
    }

    /// Returns the datatype of least cost in another cost model. Such a model may hold costs measured on the
    /// MPI library in use, from a cost file of `cargo xtask bench guidelines`. (The feature `serde` of
    /// `dtype-core` reads such files.)
    ///
    /// ```no_run
    /// use dtype_runtime::{decode, tree::NodeCosts};
    /// use mpi::{datatype::UserDatatype, traits::*};
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let list = UserDatatype::indexed(&[1; 3], &[0, 2, 4], &f64::equivalent_datatype());
    /// // A library on which a list is cheap.
    /// let costs = NodeCosts { vec: 250, idxbuc: 250, ..NodeCosts::THESIS };
    /// let datatype = decode(&list)?.datatype_by(&costs.linear())?;
    /// assert!(format!("{datatype:?}").contains("HindexedBlock"));
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`datatype`](Self::datatype).
    pub fn datatype_by(&self, costs: &LinearCosts) -> Result<LayoutDatatype, Error> {
        let wanted = Wanted {
            costs: *costs,
            purpose: Purpose::Any,
            ..Wanted::new(self.tree.clone(), Some(self.bounds))
        };
        Entry::Shared(cached(wanted)).datatype()
    }
}

impl fmt::Debug for Decoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoded")
            .field("tree", &self.tree)
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}
