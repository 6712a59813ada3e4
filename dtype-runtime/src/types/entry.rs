//! One entry a layout: solved at the latest at first use, built once, kept for the life of the process.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock},
};

#[cfg(feature = "mpi")]
use ::mpi::{Count, datatype::DatatypeRef, raw::FromRaw};
use dtype_core::{
    BaseType, Bounds, LinearCosts, NodeCosts, Program, Runs, Solution, TypeTree, constant::Solved,
    solve_layout,
};

use super::fields::Fields;
#[cfg(feature = "mpi")]
use crate::mpi::{Handle, Slot, has_large_counts};
use crate::{Error, engine::Plan};

/// The cost model of all that is solved here; the macros use the same.
pub const COSTS: LinearCosts = NodeCosts::THESIS.linear();

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

/// What the MPI datatype of an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Messages, and so MPI's own copies. Complex numbers that the library would tear apart are two numbers
    /// each.
    Messages,
    /// Whatever there is, reductions in windows too: it is made of the predefined datatypes that it says.
    #[cfg_attr(not(feature = "mpi"), expect(dead_code, reason = "there are no MPI datatypes"))]
    Any,
}

/// What a macro has worked out.
pub struct Expansion {
    /// The cost of the tree.
    pub cost: u64,
    /// The constructor calls, as `{:#}` prints a program.
    pub calls: &'static str,
}

/// A layout as it is written down, not yet solved.
pub enum Description {
    /// A type that travels as a base type.
    Leaf(BaseType),
    /// A type that travels as its bytes in memory: their number.
    Bytes(usize),
    /// An array: the layout of its elements, their number and their distance in bytes.
    Elements(fn() -> &'static LazyDatatype, usize, usize),
    /// A struct or tuple.
    Fields(&'static Fields),
    /// What is no type, listed by a function.
    Listed(fn() -> TypeTree),
    /// What is known at run time only.
    Given(Arc<TypeTree>),
}

impl Description {
    /// The type tree: of a struct, a strc of the trees of its fields, nothing simplified but them.
    pub(crate) fn tree(&self) -> Cow<'_, TypeTree> {
        Cow::Owned(match self {
            Self::Leaf(base) => TypeTree::Leaf(*base),
            Self::Bytes(size) => TypeTree::vector(*size as u64, 1, TypeTree::Leaf(BaseType::Byte)),
            Self::Elements(element, count, stride) => match element().solution().tree.clone() {
                // Elements without data may be more than fit a count.
                TypeTree::Struct { children, .. } if children.is_empty() => TypeTree::structure([], []),
                element => TypeTree::vector(*count as u64, *stride as i64, element),
            },
            Self::Fields(fields) => fields.tree(),
            Self::Listed(list) => list(),
            Self::Given(tree) => return Cow::Borrowed(tree),
        })
    }
}

/// What makes a layout that is known at run time the same as another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// Its tree, as it is written down.
    pub(crate) tree: Arc<TypeTree>,
    /// The cost model of its solution.
    pub(crate) costs: LinearCosts,
    /// The bounds that its MPI datatype must have, if they matter.
    pub(crate) bounds: Option<Bounds>,
    /// What that is for.
    pub(crate) purpose: Purpose,
}

impl Wanted {
    /// A datatype for messages, by the costs that the macros know too.
    pub(crate) fn new(tree: TypeTree, bounds: Option<Bounds>) -> Self {
        Self { tree: Arc::new(tree), costs: COSTS, bounds, purpose: Purpose::Messages }
    }
}

/// A layout with everything that is worked out of it once.
pub struct LazyDatatype {
    description: Description,
    costs: LinearCosts,
    /// The bounds that the MPI datatype must have.
    bounds: Option<Bounds>,
    #[cfg_attr(not(feature = "mpi"), expect(dead_code, reason = "there are no MPI datatypes"))]
    purpose: Purpose,
    expansion: Option<Expansion>,
    /// What constant evaluation has solved.
    solved: fn() -> Option<&'static Solved>,
    solution: OnceLock<Solution>,
    program: OnceLock<Program>,
    plan: OnceLock<Plan>,
    #[cfg(feature = "mpi")]
    handle: Slot,
}

impl LazyDatatype {
    /// The entry of a layout that is known at run time.
    pub(crate) fn of_wanted(wanted: Wanted) -> Self {
        let Wanted { tree, costs, bounds, purpose } = wanted;
        Self { purpose, ..Self::of(Description::Given(tree), costs, bounds, None, unsolved) }
    }

    /// An entry. Of what is not named in `solved` nothing is evaluated, nor does it find its way into the
    /// program; an expansion is believed, since it was compared with the compiler's own layout.
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
        self.program.get_or_init(|| {
            let expanded = self.expansion.as_ref().map(|expansion| expansion.calls.parse());
            debug_assert!(!matches!(expanded, Some(Err(_))), "macros write what is read here");
            match expanded {
                Some(Ok(program)) => program,
                _ => Program::lower(&self.solution().tree, self.bounds).expect("the tree has been measured"),
            }
        })
    }

    /// The committed datatype, built at the first call.
    #[cfg(feature = "mpi")]
    pub(crate) fn handle(&self) -> Result<Handle, Error> {
        let may_split = self.purpose == Purpose::Messages;
        self.handle.get_or_build(|construct| {
            let program = self.program();
            let asked = program.datatype()?.tree.measure()?;
            if program.largest_count() <= Count::MAX as u64 || has_large_counts() {
                construct(program, may_split, &asked)
            } else {
                let program = Program::lower_within(&self.solution().tree, self.bounds, Count::MAX as u64)?;
                construct(&program, may_split, &asked)
            }
        })
    }

    /// The same of an entry that is never dropped.
    #[cfg(feature = "mpi")]
    pub(crate) fn datatype(&'static self) -> Result<DatatypeRef<'static>, Error> {
        let handle = self.handle()?;
        // SAFETY: the handle is committed and lives until `MPI_Finalize`, after which no MPI call may be made
        // at all.
        Ok(unsafe { DatatypeRef::from_raw(handle.raw()) })
    }

    /// The bounds that the MPI datatype must have, if they matter.
    #[cfg(feature = "mpi")]
    pub(crate) fn bounds(&self) -> Option<Bounds> {
        self.bounds
    }

    /// The plan for packing, which whoever asks first makes.
    pub(crate) fn plan(&self, make: impl FnOnce() -> Plan) -> &Plan {
        self.plan.get_or_init(make)
    }

    pub(crate) fn type_map(&self) -> Result<Runs, Error> {
        Ok(self.solution().tree.runs()?)
    }
}

/// Where nothing is known before the program runs.
pub(crate) fn unsolved() -> Option<&'static Solved> {
    None
}
