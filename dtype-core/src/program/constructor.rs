//! MPI's constructors with their arguments, and the type trees of the datatypes that they create.
//!
//! [`Program::lower`](super::Program::lower) goes from trees to calls and needs only six constructors; this
//! module has all of them.

use alloc::{format, string::String, vec, vec::Vec};
use core::slice;

use super::{
    arguments::{Argument, ConstructorKind},
    distribution::{ArrayOrder, Blocks, Distribution, Share, grid_size},
};
use crate::{BaseType, Bounds, Error, TypeTree};

/// A datatype as MPI sees it: its type map and its bounds (MPI 4.1 section 5.1.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datatype {
    /// The type map as a tree, node for node as the datatype was constructed.
    pub tree: TypeTree,
    /// The lower bound and the extent.
    pub bounds: Bounds,
    /// `true` if a resize, a subarray or a darray has set the bounds of this datatype, or of one that it is
    /// made of. If a datatype has resized parts, only these count for its bounds.
    pub resized: bool,
}

impl Datatype {
    /// Returns a predefined datatype.
    ///
    /// ```
    /// use dtype_core::{BaseType, Bounds, Datatype};
    /// assert_eq!(Datatype::base(BaseType::F64).bounds, Bounds::of_extent(8));
    /// ```
    pub fn base(base: BaseType) -> Self {
        Self { tree: TypeTree::Leaf(base), bounds: Bounds::of_extent(base.extent() as i64), resized: false }
    }

    /// Returns the datatype of a tree, with the bounds of the standard: from the first byte to the last one,
    /// rounded up to the alignment (equation 5.1).
    ///
    /// # Errors
    /// The errors of [`TypeTree::measure`].
    pub fn of_tree(tree: TypeTree) -> Result<Self, Error> {
        let measure = tree.measure()?;
        let bounds = Bounds { lower_bound: measure.lower_bound, extent: measure.extent() };
        Ok(Self { tree, bounds, resized: false })
    }
}

/// A constructor call, with its arguments under the standard's names (MPI 4.1 section 5.1.2). Consecutive
/// copies of a datatype or an array element are one extent apart. `T` is what the call is about in place of a
/// handle: a [`Datatype`], or an [`OldType`](super::OldType).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // the fields are the standard's arguments
pub enum Constructor<T> {
    /// `MPI_Type_dup`
    Dup { oldtype: T },
    /// `MPI_Type_contiguous`
    Contiguous { count: u64, oldtype: T },
    /// `MPI_Type_vector`; the stride is in extents.
    Vector { count: u64, blocklength: u64, stride: i64, oldtype: T },
    /// `MPI_Type_create_hvector`; the stride is in bytes.
    Hvector { count: u64, blocklength: u64, stride: i64, oldtype: T },
    /// `MPI_Type_indexed`; displacements are in extents.
    Indexed { blocklengths: Vec<u64>, displacements: Vec<i64>, oldtype: T },
    /// `MPI_Type_create_hindexed`; displacements are in bytes.
    Hindexed { blocklengths: Vec<u64>, displacements: Vec<i64>, oldtype: T },
    /// `MPI_Type_create_indexed_block`; displacements are in extents.
    IndexedBlock { blocklength: u64, displacements: Vec<i64>, oldtype: T },
    /// `MPI_Type_create_hindexed_block`; displacements are in bytes.
    HindexedBlock { blocklength: u64, displacements: Vec<i64>, oldtype: T },
    /// `MPI_Type_create_struct`; displacements are in bytes.
    Struct { blocklengths: Vec<u64>, displacements: Vec<i64>, oldtypes: Vec<T> },
    /// `MPI_Type_create_subarray` (MPI 4.1 section 5.1.3)
    Subarray { dimensions: Vec<Subdimension>, order: ArrayOrder, oldtype: T },
    /// `MPI_Type_create_darray` (MPI 4.1 section 5.1.4). The number of processes is the product over all
    /// dimensions.
    Darray { rank: u64, dimensions: Vec<Distributed>, order: ArrayOrder, oldtype: T },
    /// `MPI_Type_create_resized`
    Resized { lower_bound: i64, extent: i64, oldtype: T },
}

impl<T> Constructor<T> {
    /// Returns the constructor without its arguments.
    pub fn kind(&self) -> ConstructorKind {
        match self {
            Self::Dup { .. } => ConstructorKind::Dup,
            Self::Contiguous { .. } => ConstructorKind::Contiguous,
            Self::Vector { .. } => ConstructorKind::Vector,
            Self::Hvector { .. } => ConstructorKind::Hvector,
            Self::Indexed { .. } => ConstructorKind::Indexed,
            Self::Hindexed { .. } => ConstructorKind::Hindexed,
            Self::IndexedBlock { .. } => ConstructorKind::IndexedBlock,
            Self::HindexedBlock { .. } => ConstructorKind::HindexedBlock,
            Self::Struct { .. } => ConstructorKind::Struct,
            Self::Subarray { .. } => ConstructorKind::Subarray,
            Self::Darray { .. } => ConstructorKind::Darray,
            Self::Resized { .. } => ConstructorKind::Resized,
        }
    }

    /// Returns the arguments in the order of the call, without the new datatype. Their names are
    /// [`ConstructorKind::arguments`].
    ///
    /// ```
    /// use dtype_core::{Argument, BaseType, Constructor};
    ///
    /// let row = Constructor::Contiguous { count: 3, oldtype: BaseType::F64 };
    /// assert_eq!(row.arguments(), [Argument::Count(3), Argument::OldType(&BaseType::F64)]);
    /// assert_eq!(row.kind().arguments(), ["count", "oldtype"]);
    /// ```
    pub fn arguments(&self) -> Vec<Argument<'_, T>> {
        use Argument::{Address, Addresses, Constant, Constants, Count, Counts, Number, Numbers, OldTypes};
        let old = Argument::OldType;
        let length = |displacements: &[i64]| Count(displacements.len() as u64);
        match self {
            Self::Dup { oldtype } => vec![old(oldtype)],
            Self::Contiguous { count, oldtype } => vec![Count(*count), old(oldtype)],
            Self::Vector { count, blocklength, stride, oldtype } => {
                vec![Count(*count), Count(*blocklength), Number(*stride), old(oldtype)]
            }
            Self::Hvector { count, blocklength, stride, oldtype } => {
                vec![Count(*count), Count(*blocklength), Address(*stride), old(oldtype)]
            }
            Self::Indexed { blocklengths, displacements: at, oldtype } => {
                vec![length(at), Counts(blocklengths.into()), Numbers(at), old(oldtype)]
            }
            Self::Hindexed { blocklengths, displacements: at, oldtype } => {
                vec![length(at), Counts(blocklengths.into()), Addresses(at), old(oldtype)]
            }
            Self::IndexedBlock { blocklength, displacements: at, oldtype } => {
                vec![length(at), Count(*blocklength), Numbers(at), old(oldtype)]
            }
            Self::HindexedBlock { blocklength, displacements: at, oldtype } => {
                vec![length(at), Count(*blocklength), Addresses(at), old(oldtype)]
            }
            Self::Struct { blocklengths, displacements: at, oldtypes } => {
                vec![length(at), Counts(blocklengths.into()), Addresses(at), OldTypes(oldtypes)]
            }
            Self::Subarray { dimensions, order, oldtype } => {
                let list = |of: fn(&Subdimension) -> u64| Counts(dimensions.iter().map(of).collect());
                let [sizes, subsizes, starts] = [
                    list(|dimension| dimension.size),
                    list(|dimension| dimension.subsize),
                    list(|dimension| dimension.start),
                ];
                let ndims = Count(dimensions.len() as u64);
                vec![ndims, sizes, subsizes, starts, Constant(order.mpi_name()), old(oldtype)]
            }
            Self::Darray { rank, dimensions, order, oldtype } => {
                let list = |of: fn(&Distributed) -> u64| Counts(dimensions.iter().map(of).collect());
                let all = dimensions.iter().map(|dimension| dimension.distribution);
                vec![
                    Count(grid_size(dimensions.iter().map(|dimension| dimension.processes))),
                    Count(*rank),
                    Count(dimensions.len() as u64),
                    list(|dimension| dimension.size),
                    Constants(all.clone().map(|distribution| distribution.mpi_name().into()).collect()),
                    Constants(all.map(Distribution::mpi_argument).collect()),
                    list(|dimension| dimension.processes),
                    Constant(order.mpi_name()),
                    old(oldtype),
                ]
            }
            Self::Resized { lower_bound, extent, oldtype } => {
                vec![old(oldtype), Address(*lower_bound), Address(*extent)]
            }
        }
    }

    /// Returns the largest of the call's counts, block lengths and list lengths.
    pub fn largest_count(&self) -> u64 {
        let largest = |argument: Argument<'_, T>| match argument {
            Argument::Count(count) => count,
            Argument::Counts(counts) => counts.iter().copied().max().unwrap_or(0),
            _ => 0,
        };
        self.arguments().into_iter().map(largest).max().unwrap_or(0)
    }

    /// Returns the datatypes that the new datatype is made of.
    pub fn oldtypes(&self) -> &[T] {
        match self {
            Self::Struct { oldtypes, .. } => oldtypes,
            Self::Dup { oldtype }
            | Self::Contiguous { oldtype, .. }
            | Self::Vector { oldtype, .. }
            | Self::Hvector { oldtype, .. }
            | Self::Indexed { oldtype, .. }
            | Self::Hindexed { oldtype, .. }
            | Self::IndexedBlock { oldtype, .. }
            | Self::HindexedBlock { oldtype, .. }
            | Self::Subarray { oldtype, .. }
            | Self::Darray { oldtype, .. }
            | Self::Resized { oldtype, .. } => slice::from_ref(oldtype),
        }
    }

    /// Returns the same call with other datatypes in place of those that it is made of.
    ///
    /// # Errors
    /// The first error of `other`.
    pub fn try_map<U, E>(self, mut other: impl FnMut(T) -> Result<U, E>) -> Result<Constructor<U>, E> {
        macro_rules! mapped {
            ($($of_one:ident($($field:ident),*)),*) => {
                match self {
                    $(Self::$of_one { $($field,)* oldtype } => {
                        Constructor::$of_one { $($field,)* oldtype: other(oldtype)? }
                    })*
                    Self::Struct { blocklengths, displacements, oldtypes } => {
                        let oldtypes = oldtypes.into_iter().map(other).collect::<Result<_, _>>()?;
                        Constructor::Struct { blocklengths, displacements, oldtypes }
                    }
                }
            };
        }
        Ok(mapped! {
            Dup(), Contiguous(count), Vector(count, blocklength, stride), Hvector(count, blocklength, stride),
            Indexed(blocklengths, displacements), Hindexed(blocklengths, displacements),
            IndexedBlock(blocklength, displacements), HindexedBlock(blocklength, displacements),
            Subarray(dimensions, order), Darray(rank, dimensions, order), Resized(lower_bound, extent)
        })
    }
}

/// A dimension of a subarray, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subdimension {
    /// The size of the whole array.
    pub size: u64,
    /// The size of the part.
    pub subsize: u64,
    /// The index at which the part begins.
    pub start: u64,
}

/// A dimension of a distributed array, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Distributed {
    /// The size of the whole array.
    pub size: u64,
    /// The distribution of the dimension.
    pub distribution: Distribution,
    /// The number of processes that share the dimension.
    pub processes: u64,
}

impl Constructor<Datatype> {
    /// Returns the datatype that the call creates.
    ///
    /// Its bounds are those of the standard: from the first byte to the last one, rounded up to the
    /// alignment. If the datatype has resized parts, its bounds are those of these parts alone.
    ///
    /// ```
    /// use dtype_core::{BaseType, Bounds, Constructor, Datatype};
    ///
    /// let column = Constructor::Vector {
    ///     count: 3,
    ///     blocklength: 1,
    ///     stride: 16,
    ///     oldtype: Datatype::base(BaseType::F64),
    /// };
    /// let column = column.datatype()?;
    /// assert_eq!(column.tree.to_string(), "vec 3, stride 128\n└─ f64\n");
    /// assert_eq!(column.bounds, Bounds { lower_bound: 0, extent: 2 * 128 + 8 });
    /// # Ok::<(), dtype_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] for an argument that the standard does not allow, and for datatypes that are
    /// nested more than 1,000 deep; [`Error::UnevenNode`] if lists differ in length; and [`Error::Overflow`].
    pub fn datatype(self) -> Result<Datatype, Error> {
        let resized = match &self {
            Self::Resized { lower_bound, extent, .. } => {
                Some(Bounds { lower_bound: *lower_bound, extent: *extent })
            }
            Self::Subarray { dimensions, oldtype, .. } => {
                Some(whole(dimensions.iter().map(|dimension| dimension.size), oldtype)?)
            }
            Self::Darray { dimensions, oldtype, .. } => {
                Some(whole(dimensions.iter().map(|dimension| dimension.size), oldtype)?)
            }
            _ => self.resized_before()?,
        };
        let tree = self.tree()?;
        if tree.is_deeper_than(MOST_LEVELS) {
            let requirement = format!("less than {MOST_LEVELS} nodes deep");
            let argument = "the depth of the tree".into();
            return Err(Error::Argument { argument, value: MOST_LEVELS as i128 + 1, requirement });
        }
        let natural = Datatype::of_tree(tree)?;
        Ok(match resized {
            Some(bounds) => Datatype { bounds, resized: true, ..natural },
            None => natural,
        })
    }

    /// Returns the tree of the datatype that the call creates, without computing its bounds.
    ///
    /// # Errors
    /// The errors of [`datatype`](Self::datatype), but without a check of the depth; [`TypeTree::measure`]
    /// may still fail for the tree.
    pub fn tree(self) -> Result<TypeTree, Error> {
        Ok(match self {
            Self::Dup { oldtype } | Self::Resized { oldtype, .. } => oldtype.tree,
            Self::Contiguous { count, oldtype } => block(count, oldtype),
            Self::Vector { count, blocklength, stride, oldtype } => {
                let stride = bytes(stride, &oldtype)?;
                copies(count, stride, block(blocklength, oldtype))
            }
            Self::Hvector { count, blocklength, stride, oldtype } => {
                copies(count, stride, block(blocklength, oldtype))
            }
            Self::Indexed { blocklengths, displacements, oldtype } => {
                let displacements = all_bytes(&displacements, &oldtype)?;
                TypeTree::index_bucket(oldtype.bounds.extent, blocklengths, displacements, oldtype.tree)
            }
            Self::Hindexed { blocklengths, displacements, oldtype } => {
                TypeTree::index_bucket(oldtype.bounds.extent, blocklengths, displacements, oldtype.tree)
            }
            Self::IndexedBlock { blocklength, displacements, oldtype } => {
                TypeTree::index(all_bytes(&displacements, &oldtype)?, block(blocklength, oldtype))
            }
            Self::HindexedBlock { blocklength, displacements, oldtype } => {
                TypeTree::index(displacements, block(blocklength, oldtype))
            }
            Self::Struct { blocklengths, displacements, oldtypes } => {
                if blocklengths.len() != oldtypes.len() {
                    let (displacements, others) = (displacements.len(), blocklengths.len());
                    let of = "block lengths";
                    return Err(Error::UnevenNode { node: "strc", displacements, of, others });
                }
                let blocks = blocklengths.into_iter().zip(oldtypes);
                TypeTree::structure(
                    displacements,
                    blocks.map(|(count, oldtype)| block(count, oldtype)).collect::<Vec<_>>(),
                )
            }
            Self::Subarray { dimensions, order, oldtype } => {
                let shares = dimensions.iter().enumerate().map(|(k, own)| Ok((own.size, own.share(k)?)));
                part(shares.collect::<Result<_, Error>>()?, order, oldtype)?
            }
            Self::Darray { rank, dimensions, order, oldtype } => {
                let sizes = dimensions.iter().map(|own| own.size);
                part(sizes.zip(Distributed::shares(rank, &dimensions)?).collect(), order, oldtype)?
            }
        })
    }

    /// Returns the bounds of the resized parts alone, or `None` if there is no copy of such a part.
    fn resized_before(&self) -> Result<Option<Bounds>, Error> {
        if self.oldtypes().iter().all(|oldtype| !oldtype.resized) {
            return Ok(None);
        }
        // Measure twice: each resized part becomes a byte, first at its beginning and then at its end. All
        // other parts become empty.
        let measure = |byte: fn(Bounds) -> i64| {
            let marked = self.clone().try_map(|Datatype { bounds, resized, .. }| {
                let bytes = if resized { vec![byte(bounds)] } else { Vec::new() };
                let tree = TypeTree::index(bytes, TypeTree::Leaf(BaseType::Byte));
                Ok::<_, Error>(Datatype { tree, bounds, resized })
            });
            marked?.tree()?.measure()
        };
        let first = measure(|bounds| bounds.lower_bound)?;
        let last = measure(|bounds| bounds.lower_bound.saturating_add(bounds.extent).saturating_sub(1))?;
        let extent = last.upper_bound.checked_sub(first.lower_bound).ok_or(TOO_FAR)?;
        Ok((first.entries > 0).then_some(Bounds { lower_bound: first.lower_bound, extent }))
    }
}

/// The largest depth of a tree: functions on trees call themselves once for each level.
const MOST_LEVELS: usize = 1000;

const TOO_FAR: Error = Error::Overflow { node: "map" };

/// Converts a number of extents to bytes.
fn bytes(extents: i64, oldtype: &Datatype) -> Result<i64, Error> {
    extents.checked_mul(oldtype.bounds.extent).ok_or(TOO_FAR)
}

fn all_bytes(extents: &[i64], oldtype: &Datatype) -> Result<Vec<i64>, Error> {
    extents.iter().map(|at| bytes(*at, oldtype)).collect()
}

/// Returns `count` copies, `stride` bytes apart.
fn copies(count: u64, stride: i64, child: TypeTree) -> TypeTree {
    if count == 1 { child } else { TypeTree::vector(count, stride, child) }
}

/// Returns `count` copies, one extent apart.
fn block(count: u64, oldtype: Datatype) -> TypeTree {
    copies(count, oldtype.bounds.extent, oldtype.tree)
}

/// Returns the bounds of an array whose dimensions have these sizes.
fn whole(mut sizes: impl Iterator<Item = u64>, element: &Datatype) -> Result<Bounds, Error> {
    let extent =
        sizes.try_fold(element.bounds.extent, |extent, size| extent.checked_mul(i64::try_from(size).ok()?));
    Ok(Bounds::of_extent(extent.ok_or(TOO_FAR)?))
}

/// Returns a part of an array whose elements are one extent apart. Each dimension is given by its size and
/// the share of it that the part has.
fn part(dimensions: Vec<(u64, Share)>, order: ArrayOrder, element: Datatype) -> Result<TypeTree, Error> {
    let (mut tree, mut stride, mut first) = (element.tree, element.bounds.extent, 0i64);
    let mut add = |(size, share): (u64, Share)| {
        let at = |index: usize| i64::try_from(index).ok()?.checked_mul(stride);
        first = first.checked_add(at(share.start)?)?;
        let inner = core::mem::replace(&mut tree, EMPTY);
        let of_blocks = |Blocks { count, length, .. }: Blocks| {
            let block = copies(length as u64, stride, inner.clone());
            // A single block has no next one, and may have a step that is too long.
            Some(if count < 2 {
                copies(count as u64, 0, block)
            } else {
                copies(count as u64, at(share.step)?, block)
            })
        };
        tree = match share.blocks() {
            [whole, Blocks { count: 0, .. }] => of_blocks(whole)?,
            [Blocks { count: 0, .. }, last] => of_blocks(last)?,
            [whole, last] => {
                let behind = at(share.at(last.position) - share.start)?;
                TypeTree::structure([0, behind], [of_blocks(whole)?, of_blocks(last)?])
            }
        };
        stride = stride.checked_mul(i64::try_from(size).ok()?)?;
        Some(())
    };
    // Begin with the dimension whose elements are adjacent.
    let added = match order {
        ArrayOrder::RowMajor => dimensions.into_iter().rev().try_for_each(&mut add),
        ArrayOrder::ColumnMajor => dimensions.into_iter().try_for_each(&mut add),
    };
    added.ok_or(TOO_FAR)?;
    Ok(if first == 0 { tree } else { TypeTree::index([first], tree) })
}

/// A placeholder for a tree that was moved out.
const EMPTY: TypeTree = TypeTree::Leaf(BaseType::Byte);

impl Subdimension {
    /// Returns the share of dimension `k` that the part has.
    ///
    /// # Errors
    /// [`Error::Argument`], with the number of the dimension, if the part is not within the array.
    pub fn share(self, k: usize) -> Result<Share, Error> {
        let Self { size, subsize, start } = self;
        let refused = |name: &str, value: u64, requirement: String| {
            Err(Error::Argument { argument: format!("{name}[{k}]"), value: value.into(), requirement })
        };
        match size.checked_sub(subsize) {
            None => refused("subsizes", subsize, format!("{size} at most, the length of the array")),
            Some(limit) if start > limit => {
                let requirement = format!("{limit} at most, so that {subsize} of the {size} elements follow");
                refused("starts", start, requirement)
            }
            Some(_) => Ok(Share::consecutive(start as usize, subsize as usize)),
        }
    }
}

impl Distributed {
    /// Returns the share of each dimension that a process of the grid has. Ranks are counted with the last
    /// dimension fastest.
    ///
    /// # Errors
    /// [`Error::Argument`] if a dimension has no processes or the grid has no process `rank`, and those of
    /// [`Distribution::share`].
    pub fn shares(rank: u64, dimensions: &[Self]) -> Result<Vec<Share>, Error> {
        let refused = |argument: String, value: u64, requirement: String| {
            Err(Error::Argument { argument, value: value.into(), requirement })
        };
        if let Some(k) = dimensions.iter().position(|own| own.processes == 0) {
            return refused(format!("psizes[{k}]"), 0, "1 or more".into());
        }
        let all = grid_size(dimensions.iter().map(|own| own.processes));
        if rank >= all {
            return refused(
                "rank".into(),
                rank,
                format!("less than {all}, the number of processes in the grid"),
            );
        }
        let mut rest = rank;
        let mut shares = Vec::with_capacity(dimensions.len());
        for (k, Self { size, distribution, processes }) in dimensions.iter().enumerate().rev() {
            let coordinate = (rest % processes) as usize;
            rest /= processes;
            shares.push(distribution.share(k, coordinate, *processes as usize, *size as usize)?);
        }
        shares.reverse();
        Ok(shares)
    }
}
