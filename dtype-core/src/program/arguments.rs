//! The constructors by name, and the reading of their arguments in the order of the call (MPI 4.1 section
//! 5.1.2).

use alloc::vec::Vec;

use super::{
    constructor::{Constructor, Datatype, Distributed, Subdimension},
    distribution::ArrayOrder,
};

/// The name of a constructor, without its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are those of `Constructor`
pub enum ConstructorKind {
    Contiguous,
    Vector,
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Subarray,
    Darray,
    Resized,
    Dup,
}

impl ConstructorKind {
    /// A list of all constructors.
    pub const ALL: [Self; 12] = [
        Self::Contiguous,
        Self::Vector,
        Self::Hvector,
        Self::Indexed,
        Self::Hindexed,
        Self::IndexedBlock,
        Self::HindexedBlock,
        Self::Struct,
        Self::Subarray,
        Self::Darray,
        Self::Resized,
        Self::Dup,
    ];

    /// Returns the name of the call after `MPI_Type_`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Contiguous => "contiguous",
            Self::Vector => "vector",
            Self::Hvector => "create_hvector",
            Self::Indexed => "indexed",
            Self::Hindexed => "create_hindexed",
            Self::IndexedBlock => "create_indexed_block",
            Self::HindexedBlock => "create_hindexed_block",
            Self::Struct => "create_struct",
            Self::Subarray => "create_subarray",
            Self::Darray => "create_darray",
            Self::Resized => "create_resized",
            Self::Dup => "dup",
        }
    }

    /// Returns the constructor whose name after `MPI_Type_` is `name`. The names from before MPI 2 are known,
    /// too.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "hvector" => Some(Self::Hvector),
            "hindexed" => Some(Self::Hindexed),
            "struct" => Some(Self::Struct),
            name => Self::ALL.into_iter().find(|kind| kind.name() == name),
        }
    }

    /// Returns the standard's names of the arguments, in the order of the call.
    pub fn arguments(self) -> &'static [&'static str] {
        const LISTS: [&str; 4] = ["count", "array_of_blocklengths", "array_of_displacements", "oldtype"];
        const BLOCKS: [&str; 4] = ["count", "blocklength", "array_of_displacements", "oldtype"];
        const STRIDED: [&str; 4] = ["count", "blocklength", "stride", "oldtype"];
        match self {
            Self::Contiguous => &["count", "oldtype"],
            Self::Vector | Self::Hvector => &STRIDED,
            Self::Indexed | Self::Hindexed => &LISTS,
            Self::IndexedBlock | Self::HindexedBlock => &BLOCKS,
            Self::Struct => &["count", "array_of_blocklengths", "array_of_displacements", "array_of_types"],
            Self::Subarray => {
                &["ndims", "array_of_sizes", "array_of_subsizes", "array_of_starts", "order", "oldtype"]
            }
            Self::Darray => &[
                "size",
                "rank",
                "ndims",
                "array_of_gsizes",
                "array_of_distribs",
                "array_of_dargs",
                "array_of_psizes",
                "order",
                "oldtype",
            ],
            Self::Resized => &["oldtype", "lb", "extent"],
            Self::Dup => &["oldtype"],
        }
    }

    /// Reads the arguments of a call.
    ///
    /// # Errors
    /// The errors of the reader.
    pub fn read<R: ArgumentReader>(self, from: &mut R) -> Result<Constructor, R::Error> {
        Ok(match self {
            Self::Contiguous => Constructor::Contiguous { count: from.count()?, oldtype: from.datatype()? },
            Self::Vector => Constructor::Vector {
                count: from.count()?,
                blocklength: from.count()?,
                stride: from.number()?,
                oldtype: from.datatype()?,
            },
            Self::Hvector => Constructor::Hvector {
                count: from.count()?,
                blocklength: from.count()?,
                stride: from.address()?,
                oldtype: from.datatype()?,
            },
            Self::Indexed => {
                let count = from.count()?;
                let (blocklengths, displacements) = (from.counts(count)?, from.numbers(count)?);
                Constructor::Indexed { blocklengths, displacements, oldtype: from.datatype()? }
            }
            Self::Hindexed => {
                let count = from.count()?;
                let (blocklengths, displacements) = (from.counts(count)?, from.addresses(count)?);
                Constructor::Hindexed { blocklengths, displacements, oldtype: from.datatype()? }
            }
            Self::IndexedBlock => {
                let (count, blocklength) = (from.count()?, from.count()?);
                let displacements = from.numbers(count)?;
                Constructor::IndexedBlock { blocklength, displacements, oldtype: from.datatype()? }
            }
            Self::HindexedBlock => {
                let (count, blocklength) = (from.count()?, from.count()?);
                let displacements = from.addresses(count)?;
                Constructor::HindexedBlock { blocklength, displacements, oldtype: from.datatype()? }
            }
            Self::Struct => {
                let count = from.count()?;
                let (blocklengths, displacements) = (from.counts(count)?, from.addresses(count)?);
                Constructor::Struct { blocklengths, displacements, oldtypes: from.datatypes(count)? }
            }
            Self::Subarray => {
                let ndims = from.integer()?;
                let (sizes, subsizes, starts) =
                    (from.counts(ndims)?, from.counts(ndims)?, from.counts(ndims)?);
                let dimensions = sizes.into_iter().zip(subsizes).zip(starts);
                let dimensions =
                    dimensions.map(|((size, subsize), start)| Subdimension { size, subsize, start });
                Constructor::Subarray {
                    dimensions: dimensions.collect(),
                    order: from.order()?,
                    oldtype: from.datatype()?,
                }
            }
            Self::Darray => {
                let (size, rank, ndims) = (from.integer()?, from.integer()?, from.integer()?);
                Constructor::Darray {
                    rank,
                    dimensions: from.distributed(size, ndims)?,
                    order: from.order()?,
                    oldtype: from.datatype()?,
                }
            }
            Self::Resized => {
                let oldtype = from.datatype()?;
                Constructor::Resized { lower_bound: from.address()?, extent: from.address()?, oldtype }
            }
            Self::Dup => Constructor::Dup { oldtype: from.datatype()? },
        })
    }
}

/// A source of the arguments of a call. [`ConstructorKind::read`] takes them one after another.
///
/// There are separate methods for arguments that `MPI_Type_get_contents` returns in different lists (MPI 4.1
/// section 5.1.13). For other sources, the provided methods suffice. All methods fail if the argument is
/// missing or invalid.
#[allow(clippy::missing_errors_doc)] // the error is that of the trait
pub trait ArgumentReader {
    /// The error for an argument that is missing or invalid.
    type Error;

    /// Takes a number that is a C `int` even in calls with large counts.
    fn integer(&mut self) -> Result<u64, Self::Error> {
        self.count()
    }

    /// Takes a count, or a number of elements.
    fn count(&mut self) -> Result<u64, Self::Error>;

    /// Takes a list of `count` counts.
    fn counts(&mut self, count: u64) -> Result<Vec<u64>, Self::Error>;

    /// Takes a distance in extents.
    fn number(&mut self) -> Result<i64, Self::Error>;

    /// Takes a list of `count` distances in extents.
    fn numbers(&mut self, count: u64) -> Result<Vec<i64>, Self::Error>;

    /// Takes a distance in bytes.
    fn address(&mut self) -> Result<i64, Self::Error> {
        self.number()
    }

    /// Takes a list of `count` distances in bytes.
    fn addresses(&mut self, count: u64) -> Result<Vec<i64>, Self::Error> {
        self.numbers(count)
    }

    /// Takes the order of an array.
    fn order(&mut self) -> Result<ArrayOrder, Self::Error>;

    /// Takes the four lists of an array of `ndims` dimensions that `size` processes share: array_of_gsizes,
    /// array_of_distribs, array_of_dargs and array_of_psizes.
    fn distributed(&mut self, size: u64, ndims: u64) -> Result<Vec<Distributed>, Self::Error>;

    /// Takes a datatype.
    fn datatype(&mut self) -> Result<Datatype, Self::Error>;

    /// Takes a list of `count` datatypes.
    fn datatypes(&mut self, count: u64) -> Result<Vec<Datatype>, Self::Error>;
}
