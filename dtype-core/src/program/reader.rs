//! The reading of a constructor call: its arguments in the order of the call (MPI 4.1 section 5.1.2).

use alloc::vec::Vec;

use super::{
    arguments::ConstructorKind,
    constructor::{Constructor, Distributed, Subdimension},
    distribution::ArrayOrder,
};

impl ConstructorKind {
    /// Reads the arguments of a call.
    ///
    /// # Errors
    /// The errors of the reader.
    pub fn read<R: ArgumentReader>(self, from: &mut R) -> Result<Constructor<R::Datatype>, R::Error> {
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
                let sizes = from.counts(ndims)?;
                let subsizes = from.counts(ndims)?;
                let starts = from.counts(ndims)?;
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
                let size = from.integer()?;
                let rank = from.integer()?;
                let ndims = from.integer()?;
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
    /// The type of what is read for a datatype.
    type Datatype;

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
    fn datatype(&mut self) -> Result<Self::Datatype, Self::Error>;

    /// Takes a list of `count` datatypes.
    fn datatypes(&mut self, count: u64) -> Result<Vec<Self::Datatype>, Self::Error>;
}
