//! One entry a layout: solved at the latest at first use, built once, kept for the life of the process.

use std::{
    any::TypeId,
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use dtype_core::{Bounds, LinearCosts, Program, Solution, TypeTree, constant::Solved, solve_layout};

use crate::{MpiDatatype, datatype::COSTS, fields::Description, layout::Selection, pack::Plan};

/// Where a layout was solved: the tiers of the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LayoutOrigin {
    /// In the macro: the expansion holds the finished constructor calls.
    Expansion,
    /// While the compiler evaluated constants: the program holds the finished tree.
    ConstantEvaluation,
    /// In the running program, at first use.
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

/// What a macro has worked out.
pub struct Expansion {
    /// The cost of the tree.
    pub cost: u64,
    /// The constructor calls.
    pub program: Program,
}

/// A layout with everything that is worked out of it once.
pub struct LazyDatatype {
    description: Description,
    costs: LinearCosts,
    /// The bounds that the MPI datatype must have.
    bounds: Option<Bounds>,
    expansion: Option<Expansion>,
    /// What constant evaluation has solved.
    solved: fn() -> Option<&'static Solved>,
    solution: OnceLock<Solution>,
    program: OnceLock<Program>,
    plan: OnceLock<Plan>,
    #[cfg(feature = "mpi")]
    pub(crate) handle: OnceLock<crate::mpi::Handle>,
}

impl LazyDatatype {
    /// The entry of a type. An expansion is believed; it was compared with the compiler's own layout.
    pub const fn new<T: MpiDatatype>(expansion: Option<Expansion>) -> Self {
        // What is not named here is not evaluated, nor does it find its way into the program.
        let solved = if expansion.is_some() { unsolved } else { solved::<T> };
        let bounds = Bounds::of_extent(size_of::<T>() as i64);
        Self::of(T::DESCRIPTION, T::COSTS, Some(bounds), expansion, solved)
    }

    /// The entry of a layout that is known at compile time, of an array without gaps. Its bounds do not matter.
    pub const fn of_selection<S: Selection>(expansion: Option<Expansion>) -> Self {
        let solved = if expansion.is_some() { unsolved } else { solved_selection::<S> };
        let describe = || S::REGION.tree(&S::REGION.contiguous());
        Self::of(Description::Listed(describe), COSTS, None, expansion, solved)
    }

    /// The entry of a layout that is known at run time, whose bounds matter only if they are given.
    pub(crate) fn of_tree(tree: Arc<TypeTree>, bounds: Option<Bounds>) -> Self {
        Self::of(Description::Given(tree), COSTS, bounds, None, unsolved)
    }

    const fn of(
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
            expansion,
            solved,
            solution: OnceLock::new(),
            program: OnceLock::new(),
            plan: OnceLock::new(),
            #[cfg(feature = "mpi")]
            handle: OnceLock::new(),
        }
    }

    pub(crate) fn origin(&self) -> LayoutOrigin {
        match (&self.expansion, (self.solved)()) {
            (Some(_), _) => LayoutOrigin::Expansion,
            (None, Some(_)) => LayoutOrigin::ConstantEvaluation,
            (None, None) => LayoutOrigin::RunTime,
        }
    }

    /// The solved tree. An expansion holds only the calls; its tree is found again when somebody looks.
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
        self.expansion.as_ref().map_or_else(
            || {
                self.program.get_or_init(|| {
                    Program::lower(&self.solution().tree, self.bounds).expect("the tree has been measured")
                })
            },
            |expansion| &expansion.program,
        )
    }

    /// The bounds that the MPI datatype must have, if they matter.
    #[cfg(feature = "mpi")]
    pub(crate) fn bounds(&self) -> Option<Bounds> {
        self.bounds
    }

    /// The calls for an MPI library that takes no larger count.
    #[cfg(feature = "mpi")]
    pub(crate) fn program_within(&self, limit: u64) -> Result<Program, dtype_core::Error> {
        Program::lower_within(&self.solution().tree, self.bounds, limit)
    }

    /// The plan for packing, which whoever asks first makes.
    pub(crate) fn plan(&self, make: impl FnOnce() -> Plan) -> &Plan {
        self.plan.get_or_init(make)
    }

    pub(crate) fn type_map(&self) -> String {
        self.solution().tree.runs().map_or_else(|error| error.to_string(), |runs| runs.to_string())
    }
}

/// The layout of a type as constant evaluation solves it: done once, when code for this function is made.
fn solved<T: MpiDatatype>() -> Option<&'static Solved> {
    const { &Solved::of(&T::RUNS, &T::COSTS) }.as_ref()
}

/// The layout of a selection as constant evaluation solves it.
fn solved_selection<S: Selection>() -> Option<&'static Solved> {
    const { &S::REGION.solved() }.as_ref()
}

fn unsolved() -> Option<&'static Solved> {
    None
}

/// The entry of a type that cannot have a `static` of its own: arrays, tuples and generic structs.
pub fn of_type<T: MpiDatatype>() -> &'static LazyDatatype {
    static ENTRIES: RwLock<Option<HashMap<TypeId, &'static LazyDatatype>>> = RwLock::new(None);
    let id = TypeId::of::<T>();
    // A panic elsewhere cannot leave the map half-changed, so a poisoned lock is as good as any.
    let found = ENTRIES.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(entry) = found.as_ref().and_then(|entries| entries.get(&id)) {
        return entry;
    }
    drop(found);
    let mut entries = ENTRIES.write().unwrap_or_else(PoisonError::into_inner);
    entries
        .get_or_insert_default()
        .entry(id)
        .or_insert_with(|| Box::leak(Box::new(LazyDatatype::new::<T>(None))))
}
