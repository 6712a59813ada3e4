//! Existing datatypes as type trees: from C code, from rsmpi's constructors, from anywhere (MPI 4.1 section
//! 5.1.13).

use std::{
    fmt,
    os::raw::c_int,
    sync::{Arc, OnceLock},
};

use ::mpi::{datatype::UncommittedDatatype, ffi::MPI_Datatype};
use dtype_core::{Bounds, LinearCosts, TypeTree};
use tree::{add_contents, bounds, constructors_of, tree_of};

use crate::{
    Error,
    engine::Plan,
    layout::{LayoutDatatype, entry::Entry},
    mpi::{ready, without_communicator},
    types::{
        cache::cached,
        entry::{COSTS, Purpose, Wanted},
    },
};

mod attribute;
mod tree;

/// What an existing datatype describes: its type map as a tree, its lower bound and its extent.
///
/// Everything that can be done with a layout can be done with it: the tree has a cost and can be normalized,
/// drawn and lowered (see [`dtype_core`]); [`plan`](Self::plan) packs, unpacks, copies and visits it;
/// [`datatype`](Self::datatype) gives the least-cost datatype.
pub struct Decoded {
    tree: TypeTree,
    bounds: Bounds,
    plan: OnceLock<Plan>,
}

impl Decoded {
    /// Takes a datatype apart as [`decode`] does, and keeps nothing on it: for who keeps it elsewhere, and
    /// where libraries call back at a bad time, as MPICH does with what is kept on a datatype that is freed
    /// while a message is under way.
    ///
    /// # Errors
    /// As for [`decode`].
    pub fn of<D: UncommittedDatatype + ?Sized>(datatype: &D) -> Result<Self, Error> {
        ready()?;
        without_communicator(|| Ok(Self::read(datatype.as_raw())?.0))
    }

    /// What a datatype describes, and whether it is a predefined one.
    fn read(datatype: MPI_Datatype) -> Result<(Self, bool), Error> {
        let (tree, named) = tree_of(datatype, 0)?;
        tree.measure()?;
        Ok((Self { tree, bounds: bounds(datatype)?, plan: OnceLock::new() }, named))
    }

    /// The tree, node for node as the datatype was made. Displacements are bytes from where a buffer begins.
    pub fn tree(&self) -> &TypeTree {
        &self.tree
    }

    /// The lower bound and the extent.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The plan for packing, made at the first call; several copies are an extent apart.
    ///
    /// # Errors
    /// [`Error::Tree`] where the bytes do not fit this machine's memory.
    pub fn plan(&self) -> Result<Plan, Error> {
        if let Some(plan) = self.plan.get() {
            return Ok(plan.clone());
        }
        let extent = isize::try_from(self.bounds.extent)
            .map_err(|_| dtype_core::Error::Overflow { node: self.tree.kind() })?;
        let plan = Plan::new(&self.tree)?.resized(extent);
        Ok(self.plan.get_or_init(|| plan).clone())
    }

    /// A committed datatype of least cost, with the same type map, lower bound and extent. It is found in the
    /// cache of layouts if it has been made before.
    ///
    /// # Errors
    /// After `MPI_Finalize`, and where MPI refuses a call.
    pub fn datatype(&self) -> Result<LayoutDatatype, Error> {
        self.datatype_by(&COSTS)
    }

    /// The same by another cost model: by what things cost on the MPI library that runs, say, as a cost file
    /// of `cargo xtask bench guidelines` has it. (The feature `serde` of `dtype-core` reads such files.)
    ///
    /// ```no_run
    /// use dtype_runtime::{decode, dtype_core::NodeCosts};
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
    /// As of [`datatype`](Self::datatype).
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

/// Takes a datatype apart, committed or not. What was found is kept on it as an attribute (MPI 4.1 section
/// 7.7.4), and on its duplicates, so that it is looked for once.
///
/// Leaves are the predefined datatypes that it was made of, under their own names: `MPI_INT` is not the `i32`
/// that it holds, and [`normalize`] writes it back. The numbers of `MPI_Type_create_f90_real` and its like
/// have no names, and become those of their sizes.
///
/// ```no_run
/// use dtype_runtime::{decode, pack::Data};
/// use mpi::{datatype::UserDatatype, traits::*};
///
/// let universe = mpi::initialize().unwrap();
/// let column = UserDatatype::vector(10, 1, 10, &i32::equivalent_datatype());
/// let decoded = decode(&column)?;
/// assert_eq!(decoded.tree().to_string(), "vec 10, stride 40\n└─ i32\n");
///
/// let bytes = [1u8; 400]; // a matrix of 10 × 10 numbers
/// assert_eq!(Data::new(&decoded.plan()?, 1, &bytes, 0)?.pack().len(), 40);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// [`Error::Datatype`] for a datatype that no tree can describe: made by a constructor that is not known
/// here, of a predefined datatype that is not in the MPI standard, or nested 256 deep. Before `MPI_Init` and
/// after `MPI_Finalize`, and where MPI refuses a call.
pub fn decode<D: UncommittedDatatype + ?Sized>(datatype: &D) -> Result<Arc<Decoded>, Error> {
    ready()?;
    let raw = datatype.as_raw();
    without_communicator(|| {
        if let Some(decoded) = attribute::get(raw)? {
            return Ok(decoded);
        }
        let (decoded, named) = Decoded::read(raw)?;
        let decoded = Arc::new(decoded);
        if !named {
            attribute::set(raw, &decoded)?;
        }
        Ok(decoded)
    })
}

/// The constructors that a datatype was made by, the outermost first, with the base types in them: five
/// levels, and of a struct the first six parts. It says what somebody wrote, for people to find it again;
/// [`decode`] says what that means.
///
/// ```no_run
/// use dtype_runtime::decode::constructors;
/// use mpi::{datatype::UserDatatype, traits::*};
///
/// let universe = mpi::initialize().unwrap();
/// let column = UserDatatype::vector(10, 1, 10, &i32::equivalent_datatype());
/// assert_eq!(constructors(&UserDatatype::contiguous(3, &column))?, "contiguous(vector(i32))");
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// As for [`decode`].
pub fn constructors<D: UncommittedDatatype + ?Sized>(datatype: &D) -> Result<String, Error> {
    ready()?;
    without_communicator(|| constructors_of(datatype.as_raw(), 0))
}

/// The arguments by which a datatype and all that it was made of were constructed: two datatypes of one
/// process with equal contents have the same type map and bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Contents {
    /// Of each datatype the constructor and the lengths of its lists; of a predefined one what it is.
    nodes: Vec<i64>,
    /// The lists of all, one behind the other.
    integers: Vec<c_int>,
    addresses: Vec<i64>,
    is_mixed: bool,
}

impl Contents {
    /// Reads the arguments of a datatype: one pass, without a tree.
    ///
    /// ```no_run
    /// use dtype_runtime::decode::Contents;
    /// use mpi::{datatype::UserDatatype, traits::*};
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let column = || UserDatatype::vector(10, 1, 10, &i32::equivalent_datatype());
    /// assert_eq!(Contents::of(&column())?, Contents::of(&column())?);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`decode`].
    pub fn of<D: UncommittedDatatype + ?Sized>(datatype: &D) -> Result<Self, Error> {
        ready()?;
        let mut contents = Self::default();
        without_communicator(|| add_contents(&mut contents, datatype.as_raw(), 0))?;
        Ok(contents)
    }

    /// The length of the arguments in bytes: 4 for each item of a list of integers.
    pub fn size(&self) -> usize {
        size_of_val(&*self.nodes) + size_of_val(&*self.integers) + size_of_val(&*self.addresses)
    }

    /// Returns `true` if the datatype may have values of several base types: it has a struct or a pair in it.
    pub fn is_mixed(&self) -> bool {
        self.is_mixed
    }
}

/// A new committed datatype of least cost with the same type map, lower bound and extent: [`decode`], then
/// [`Decoded::datatype`].
///
/// ```no_run
/// use dtype_runtime::decode::normalize;
/// use mpi::{datatype::UserDatatype, traits::*};
///
/// let universe = mpi::initialize().unwrap();
/// let number = i32::equivalent_datatype();
/// // A list of 100 places, 8 bytes apart: a vector.
/// let lengths = [1; 100];
/// let places: Vec<i32> = (0..100).map(|i| 2 * i).collect();
/// let list = UserDatatype::indexed(&lengths, &places, &number);
/// let vector = normalize(&list)?;
/// assert!(format!("{vector:?}").contains("Hvector"));
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// As for both.
pub fn normalize<D: UncommittedDatatype + ?Sized>(datatype: &D) -> Result<LayoutDatatype, Error> {
    decode(datatype)?.datatype()
}

/// A committed datatype of least cost of a type tree, with these bounds: the way back from
/// [`Decoded::tree`]. It is found in the cache of layouts if it has been made before.
///
/// ```no_run
/// use dtype_runtime::{
///     decode::{build, decode},
///     dtype_core::Bounds,
/// };
/// use mpi::{datatype::UserDatatype, traits::*};
///
/// let universe = mpi::initialize().unwrap();
/// let column = UserDatatype::vector(10, 1, 10, &i32::equivalent_datatype());
/// // What the packed bytes of a column are: ten numbers.
/// let numbers = build(decode(&column)?.tree().gapless()?, Bounds::of_extent(40))?;
/// assert!(format!("{numbers:?}").contains("Contiguous"));
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// [`Error::Tree`] for an invalid tree, and as of [`Decoded::datatype`].
pub fn build(tree: TypeTree, bounds: Bounds) -> Result<LayoutDatatype, Error> {
    tree.measure()?;
    let wanted = Wanted { purpose: Purpose::Any, ..Wanted::new(tree, Some(bounds)) };
    Entry::Shared(cached(wanted)).datatype()
}
