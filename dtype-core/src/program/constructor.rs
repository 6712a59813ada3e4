//! MPI's constructors with their arguments, and what they make: the way from calls to a type tree.
//!
//! [`Program::lower`] is the other way. It has the six constructors that it needs; here are all.

use alloc::{format, string::String, vec::Vec};
use core::slice;

use super::distribution::{ArrayOrder, Distribution, Share};
use crate::{BaseType, Bounds, Error, OldType, Program, Step, TypeTree};

/// What MPI knows of a datatype: its type map, and its bounds (MPI 4.1 section 5.1.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datatype {
    /// The type map, node for node as the datatype was made.
    pub tree: TypeTree,
    /// The lower bound and the extent.
    pub bounds: Bounds,
    /// Whether a resize has set the bounds, of this datatype or of one that it is made of. In what is made of
    /// it, only such parts then count for the bounds.
    pub resized: bool,
}

impl Datatype {
    /// A predefined one.
    ///
    /// ```
    /// use dtype_core::{BaseType, Bounds, Datatype};
    /// assert_eq!(Datatype::base(BaseType::F64).bounds, Bounds::of_extent(8));
    /// ```
    pub fn base(base: BaseType) -> Self {
        Self { tree: TypeTree::Leaf(base), bounds: Bounds::of_extent(base.extent() as i64), resized: false }
    }

    /// What a tree describes, with the bounds that the standard gives it: from its first byte to its last
    /// one, rounded up to the alignment (equation 5.1).
    ///
    /// # Errors
    /// Those of [`TypeTree::measure`].
    pub fn of_tree(tree: TypeTree) -> Result<Self, Error> {
        let measure = tree.measure()?;
        let bounds = Bounds { lower_bound: measure.lower_bound, extent: measure.extent() };
        Ok(Self { tree, bounds, resized: false })
    }
}

/// A constructor call, with its arguments under the standard's names (MPI 4.1 section 5.1.2). Of what is an
/// element or a datatype there are copies an extent apart.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are the standard's arguments
pub enum Constructor {
    /// `MPI_Type_dup`
    Dup { oldtype: Datatype },
    /// `MPI_Type_contiguous`
    Contiguous { count: u64, oldtype: Datatype },
    /// `MPI_Type_vector`; the stride is in extents.
    Vector { count: u64, blocklength: u64, stride: i64, oldtype: Datatype },
    /// `MPI_Type_create_hvector`; the stride is in bytes.
    Hvector { count: u64, blocklength: u64, stride: i64, oldtype: Datatype },
    /// `MPI_Type_indexed`; displacements are in extents.
    Indexed { blocklengths: Vec<u64>, displacements: Vec<i64>, oldtype: Datatype },
    /// `MPI_Type_create_hindexed`; displacements are in bytes.
    Hindexed { blocklengths: Vec<u64>, displacements: Vec<i64>, oldtype: Datatype },
    /// `MPI_Type_create_indexed_block`; displacements are in extents.
    IndexedBlock { blocklength: u64, displacements: Vec<i64>, oldtype: Datatype },
    /// `MPI_Type_create_hindexed_block`; displacements are in bytes.
    HindexedBlock { blocklength: u64, displacements: Vec<i64>, oldtype: Datatype },
    /// `MPI_Type_create_struct`; displacements are in bytes.
    Struct { blocklengths: Vec<u64>, displacements: Vec<i64>, oldtypes: Vec<Datatype> },
    /// `MPI_Type_create_subarray` (MPI 4.1 section 5.1.3)
    Subarray { dimensions: Vec<Subdimension>, order: ArrayOrder, oldtype: Datatype },
    /// `MPI_Type_create_darray` (MPI 4.1 section 5.1.4). The number of processes is the product of theirs.
    Darray { rank: u64, dimensions: Vec<Distributed>, order: ArrayOrder, oldtype: Datatype },
    /// `MPI_Type_create_resized`
    Resized { lower_bound: i64, extent: i64, oldtype: Datatype },
}

/// A dimension of a subarray, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subdimension {
    /// Of the whole array.
    pub size: u64,
    /// Of the part.
    pub subsize: u64,
    /// Where that begins.
    pub start: u64,
}

/// A dimension of a distributed array, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distributed {
    /// Of the whole array.
    pub size: u64,
    /// How it is distributed.
    pub distribution: Distribution,
    /// Over how many processes.
    pub processes: u64,
}

impl Constructor {
    /// The datatype that the call makes.
    ///
    /// Its bounds are the standard's: from the first byte to the last one, rounded up to the alignment, or,
    /// where it is made of datatypes that were resized, those of these alone.
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
    /// [`Error::Argument`] for one that the standard does not allow, and for datatypes that are nested 1,000
    /// deep; [`Error::UnevenNode`] for lists that are not as long as each other, and [`Error::Overflow`].
    pub fn datatype(mut self) -> Result<Datatype, Error> {
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
            let requirement = format!("less than {MOST_LEVELS} nodes deep, as every layout is");
            let argument = "the depth of the tree".into();
            return Err(Error::Argument { argument, value: MOST_LEVELS as i128 + 1, requirement });
        }
        let natural = Datatype::of_tree(tree)?;
        Ok(match resized {
            Some(bounds) => Datatype { bounds, resized: true, ..natural },
            None => natural,
        })
    }

    /// What the datatype that the call makes describes; its bounds are not looked at.
    ///
    /// # Errors
    /// As for [`datatype`](Self::datatype), but that displacements may be beyond `i64`: [`TypeTree::measure`]
    /// tells.
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

    /// The bounds, where some of what it is made of was resized: those of these parts alone.
    fn resized_before(&mut self) -> Result<Option<Bounds>, Error> {
        if self.oldtypes_mut().iter().all(|oldtype| !oldtype.resized) {
            return Ok(None);
        }
        // With a byte where each of these parts begins, and in all others nothing; then with one where they
        // end.
        let measure = |byte: fn(Bounds) -> i64| {
            let mut marked = self.clone();
            for Datatype { tree, bounds, resized } in marked.oldtypes_mut() {
                let bytes = if *resized { alloc::vec![byte(*bounds)] } else { Vec::new() };
                *tree = TypeTree::index(bytes, TypeTree::Leaf(BaseType::Byte));
            }
            marked.tree()?.measure()
        };
        let first = measure(|bounds| bounds.lower_bound)?;
        let last = measure(|bounds| bounds.lower_bound.saturating_add(bounds.extent).saturating_sub(1))?;
        let extent = last.upper_bound.checked_sub(first.lower_bound).ok_or(TOO_FAR)?;
        Ok((first.entries > 0).then_some(Bounds { lower_bound: first.lower_bound, extent }))
    }

    /// The datatypes that it is made of.
    fn oldtypes_mut(&mut self) -> &mut [Datatype] {
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
            | Self::Resized { oldtype, .. } => slice::from_mut(oldtype),
        }
    }
}

/// How deep a tree may be: each node is a call.
const MOST_LEVELS: usize = 1000;

const TOO_FAR: Error = Error::Overflow { node: "map" };

/// A number of extents, in bytes.
fn bytes(extents: i64, oldtype: &Datatype) -> Result<i64, Error> {
    extents.checked_mul(oldtype.bounds.extent).ok_or(TOO_FAR)
}

fn all_bytes(extents: &[i64], oldtype: &Datatype) -> Result<Vec<i64>, Error> {
    extents.iter().map(|at| bytes(*at, oldtype)).collect()
}

/// `count` copies, `stride` bytes apart.
fn copies(count: u64, stride: i64, child: TypeTree) -> TypeTree {
    if count == 1 { child } else { TypeTree::vector(count, stride, child) }
}

/// `count` copies, an extent apart.
fn block(count: u64, oldtype: Datatype) -> TypeTree {
    copies(count, oldtype.bounds.extent, oldtype.tree)
}

/// The bounds of an array, of dimensions of these sizes.
fn whole(mut sizes: impl Iterator<Item = u64>, element: &Datatype) -> Result<Bounds, Error> {
    let extent =
        sizes.try_fold(element.bounds.extent, |extent, size| extent.checked_mul(i64::try_from(size).ok()?));
    Ok(Bounds::of_extent(extent.ok_or(TOO_FAR)?))
}

/// A part of an array of elements an extent apart: of each dimension its size, and what the part has of it.
fn part(dimensions: Vec<(u64, Share)>, order: ArrayOrder, element: Datatype) -> Result<TypeTree, Error> {
    let (mut tree, mut stride, mut first) = (element.tree, element.bounds.extent, 0i64);
    let mut add = |(size, share): (u64, Share)| {
        let at = |index: usize| i64::try_from(index).ok()?.checked_mul(stride);
        match share {
            Share::Strided { start, count, step } => {
                first = first.checked_add(at(start)?)?;
                tree = copies(count as u64, at(step)?, core::mem::replace(&mut tree, EMPTY));
            }
            Share::Listed(indices) => {
                let places = indices.into_iter().map(at).collect::<Option<Vec<_>>>()?;
                tree = TypeTree::index(places, core::mem::replace(&mut tree, EMPTY));
            }
        }
        stride = stride.checked_mul(i64::try_from(size).ok()?)?;
        Some(())
    };
    // From the dimension on whose elements are neighbours.
    let added = match order {
        ArrayOrder::RowMajor => dimensions.into_iter().rev().try_for_each(&mut add),
        ArrayOrder::ColumnMajor => dimensions.into_iter().try_for_each(&mut add),
    };
    added.ok_or(TOO_FAR)?;
    Ok(if first == 0 { tree } else { TypeTree::index([first], tree) })
}

/// A leaf, while its tree is elsewhere.
const EMPTY: TypeTree = TypeTree::Leaf(BaseType::Byte);

impl Subdimension {
    /// What the part has of dimension `k`.
    ///
    /// # Errors
    /// [`Error::Argument`], with the number of the dimension, where the part is not within the array.
    pub fn share(self, k: usize) -> Result<Share, Error> {
        let Self { size, subsize, start } = self;
        let refused = |name: &str, value: u64, requirement: String| {
            Err(Error::Argument { argument: format!("{name}[{k}]"), value: value.into(), requirement })
        };
        match size.checked_sub(subsize) {
            None => refused("subsizes", subsize, format!("{size} at most, as long as the array")),
            Some(limit) if start > limit => {
                let requirement = format!("{limit} at most, so that {subsize} elements of {size} follow");
                refused("starts", start, requirement)
            }
            Some(_) => Ok(Share::Strided { start: start as usize, count: subsize as usize, step: 1 }),
        }
    }
}

impl Distributed {
    /// What a process of the grid has of each dimension. Processes are counted with the last dimension
    /// fastest.
    ///
    /// # Errors
    /// [`Error::Argument`] where there is no such process, and those of [`Distribution::share`].
    pub fn shares(rank: u64, dimensions: &[Self]) -> Result<Vec<Share>, Error> {
        let refused = |argument: String, value: u64, requirement: String| {
            Err(Error::Argument { argument, value: value.into(), requirement })
        };
        if let Some(k) = dimensions.iter().position(|own| own.processes == 0) {
            return refused(format!("psizes[{k}]"), 0, "1 or more".into());
        }
        let all = dimensions.iter().fold(1u64, |all, own| all.saturating_mul(own.processes));
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

impl Program {
    /// What the calls make: the way back from [`lower`](Self::lower).
    ///
    /// # Errors
    /// Those of [`Constructor::datatype`]; and [`Error::Argument`] for a step that uses a later one.
    pub fn datatype(&self) -> Result<Datatype, Error> {
        let mut made: Vec<Datatype> = Vec::with_capacity(self.steps.len());
        let old = |made: &[Datatype], oldtype: OldType| match oldtype {
            OldType::Base(base) => Ok(Datatype::base(base)),
            OldType::Step(step) => made.get(step).cloned().ok_or_else(|| Error::Argument {
                argument: "oldtype".into(),
                value: step as i128,
                requirement: format!("the number of an earlier step, less than {}", made.len()),
            }),
        };
        for step in self.steps.iter().cloned() {
            let old = |oldtype| old(&made, oldtype);
            let constructor = match step {
                Step::Contiguous { count, oldtype } => {
                    Constructor::Contiguous { count, oldtype: old(oldtype)? }
                }
                Step::Hvector { count, blocklength, stride, oldtype } => {
                    Constructor::Hvector { count, blocklength, stride, oldtype: old(oldtype)? }
                }
                Step::HindexedBlock { blocklength, displacements, oldtype } => {
                    Constructor::HindexedBlock { blocklength, displacements, oldtype: old(oldtype)? }
                }
                Step::Hindexed { blocklengths, displacements, oldtype } => {
                    Constructor::Hindexed { blocklengths, displacements, oldtype: old(oldtype)? }
                }
                Step::Struct { blocklengths, displacements, oldtypes } => Constructor::Struct {
                    blocklengths,
                    displacements,
                    oldtypes: oldtypes.into_iter().map(old).collect::<Result<_, _>>()?,
                },
                Step::Resized { lower_bound, extent, oldtype } => {
                    Constructor::Resized { lower_bound, extent, oldtype: old(oldtype)? }
                }
            };
            made.push(constructor.datatype()?);
        }
        old(&made, self.result)
    }
}
