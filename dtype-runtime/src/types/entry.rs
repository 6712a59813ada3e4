//! Entries of layouts. A layout is solved at first use at the latest, and its MPI datatype is built once.

use std::{
    any::TypeId,
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

#[cfg(feature = "mpi")]
use ::mpi::{datatype::DatatypeRef, raw::FromRaw};
use dtype_core::{
    Bounds, LinearCosts, NodeCosts, Program, Purpose, Runs, Solution, TypeTree, constant::Solved,
    solve_layout,
};
use dtype_engine::Plan;
use foldhash::HashMap;

use crate::Error;
#[cfg(feature = "mpi")]
use crate::mpi::{Handle, Slot, construct};

/// The cost model of layouts that do not choose their own. The macros use the same model.
pub const COSTS: LinearCosts = NodeCosts::THESIS.linear();

/// The stage in which a layout was solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LayoutOrigin {
    /// Macro expansion: the expansion holds the finished constructor calls.
    Expansion,
    /// Constant evaluation: the program holds the finished tree.
    ConstantEvaluation,
    /// Run time, at first use.
    RunTime,
}

impl fmt::Display for LayoutOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expansion => "macro expansion",
            Self::ConstantEvaluation => "constant evaluation",
            Self::RunTime => "run time",
        })
    }
}

/// The result of a macro that has solved a layout.
pub struct Expansion {
    /// The cost of the tree.
    pub cost: u64,
    /// The constructor calls, as `{:#}` prints a program.
    pub calls: &'static str,
}

/// A layout as written down, not yet solved.
pub enum Description {
    /// A type, or a part of an array. The function returns its tree.
    Listed(fn() -> TypeTree),
    /// A layout that is known only at run time.
    Given(Arc<TypeTree>),
}

impl Description {
    /// Returns the type tree.
    fn tree(&self) -> Cow<'_, TypeTree> {
        match self {
            Self::Listed(list) => Cow::Owned(list()),
            Self::Given(tree) => Cow::Borrowed(tree),
        }
    }
}

/// The key of a layout that is known at run time. Layouts with equal keys share an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// The tree as written down.
    pub(crate) tree: Arc<TypeTree>,
    /// The cost model that the layout is solved for.
    pub(crate) costs: LinearCosts,
    /// The bounds that its MPI datatype must have, if they matter.
    pub(crate) bounds: Option<Bounds>,
    /// The purpose of the MPI datatype.
    pub(crate) purpose: Purpose,
}

impl Wanted {
    /// Returns the key of a datatype for messages, with the cost model of the macros.
    pub(crate) fn new(tree: TypeTree, bounds: Option<Bounds>) -> Self {
        Self { tree: Arc::new(tree), costs: COSTS, bounds, purpose: Purpose::Messages }
    }
}

/// A layout with everything that is computed from it once.
pub struct LazyDatatype {
    description: Description,
    costs: LinearCosts,
    /// The bounds that the MPI datatype must have, if they matter.
    bounds: Option<Bounds>,
    #[cfg_attr(not(feature = "mpi"), expect(dead_code, reason = "there are no MPI datatypes"))]
    purpose: Purpose,
    expansion: Option<Expansion>,
    /// A function that returns the solution of constant evaluation, if there is one.
    solved: fn() -> Option<&'static Solved>,
    solution: OnceLock<Solution>,
    program: OnceLock<Program>,
    plan: OnceLock<Plan>,
    #[cfg(feature = "mpi")]
    handle: Slot,
}

impl LazyDatatype {
    /// Creates the entry of a layout that is known at run time.
    pub(crate) fn of_wanted(wanted: Wanted) -> Self {
        let Wanted { tree, costs, bounds, purpose } = wanted;
        Self { purpose, ..Self::of(Description::Given(tree), costs, bounds, None, unsolved) }
    }

    /// Creates an entry. A constant is evaluated, and becomes part of the program, only if `solved` names it.
    /// The expansion is trusted, because it has been compared with the compiler's own layout.
    pub(crate) const fn of(
        description: Description,
        costs: LinearCosts,
        bounds: Option<Bounds>,
        expansion: Option<Expansion>,
        solved: fn() -> Option<&'static Solved>,
    ) -> Self {
        Self {
            description,
            costs,
            bounds,
            purpose: Purpose::Messages,
            expansion,
            solved,
            solution: OnceLock::new(),
            program: OnceLock::new(),
            plan: OnceLock::new(),
            #[cfg(feature = "mpi")]
            handle: Slot::new(),
        }
    }

    pub(crate) fn origin(&self) -> LayoutOrigin {
        match (&self.expansion, (self.solved)()) {
            (Some(_), _) => LayoutOrigin::Expansion,
            (None, Some(_)) => LayoutOrigin::ConstantEvaluation,
            (None, None) => LayoutOrigin::RunTime,
        }
    }

    /// Returns the solved tree. An expansion holds only the calls, so its tree is solved again at the first
    /// request.
    pub(crate) fn solution(&self) -> &Solution {
        self.solution.get_or_init(|| match (self.solved)() {
            Some(solved) => solved.solution(),
            None => solve_layout(&self.description.tree(), &self.costs)
                .expect("a Rust type or array is smaller than i64::MAX bytes"),
        })
    }

    pub(crate) fn cost(&self) -> u64 {
        self.expansion.as_ref().map_or_else(|| self.solution().cost, |expansion| expansion.cost)
    }

    pub(crate) fn program(&self) -> &Program {
        self.program.get_or_init(|| {
            let expanded = self.expansion.as_ref().map(|expansion| expansion.calls.parse());
            debug_assert!(!matches!(expanded, Some(Err(_))), "macros write what is read here");
            match expanded {
                Some(Ok(program)) => program,
                _ => Program::lower(&self.solution().tree, self.bounds).expect("the tree has been measured"),
            }
        })
    }

    /// Returns the committed datatype, which the first call builds.
    #[cfg(feature = "mpi")]
    pub(crate) fn handle(&self) -> Result<Handle, Error> {
        self.handle.get_or_build(|mpi| Ok(construct(mpi, self.program(), self.purpose)?))
    }

    /// Returns the committed datatype of an entry that is never dropped.
    #[cfg(feature = "mpi")]
    pub(crate) fn datatype(&'static self) -> Result<DatatypeRef<'static>, Error> {
        let handle = self.handle()?;
        // SAFETY: the handle is committed and lives until `MPI_Finalize`, after which no MPI call may be made
        // at all.
        Ok(unsafe { DatatypeRef::from_raw(handle.raw()) })
    }

    /// Returns the bounds that the MPI datatype must have, if they matter.
    #[cfg(feature = "mpi")]
    pub(crate) fn bounds(&self) -> Option<Bounds> {
        self.bounds
    }

    /// Returns the plan for packing, which the first caller makes.
    #[inline]
    pub(crate) fn plan(&self, make: &dyn Fn() -> Plan) -> &Plan {
        self.plan.get_or_init(make)
    }

    pub(crate) fn type_map(&self) -> Result<Runs, Error> {
        Ok(self.solution().tree.runs()?)
    }
}

/// Entries of types that cannot have a `static` of their own. They are never dropped.
pub(crate) struct EntriesOfTypes(RwLock<Option<HashMap<TypeId, &'static LazyDatatype>>>);

impl EntriesOfTypes {
    /// Creates a table without entries.
    pub const fn new() -> Self {
        Self(RwLock::new(None))
    }

    /// Returns the entry of a type, which the first call makes.
    pub fn get_or_make(&self, id: TypeId, make: &dyn Fn() -> LazyDatatype) -> &'static LazyDatatype {
        // A panic elsewhere cannot leave the map half-changed, so a poisoned lock is ignored.
        let found = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = found.as_ref().and_then(|entries| entries.get(&id)) {
            return entry;
        }
        drop(found);
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        entries.get_or_insert_default().entry(id).or_insert_with(|| Box::leak(Box::new(make())))
    }
}

/// Returns `None`, for layouts that constant evaluation does not solve.
pub(crate) fn unsolved() -> Option<&'static Solved> {
    None
}
