//! Constructor programs: the list of MPI calls that builds a datatype from a type tree.
//!
//! A program is plain data. The derive macro writes the text of its calls into the expansion. The runtime
//! parses this text and makes the `MPI_Type_*` calls.

mod arguments;
mod constructor;
mod distribution;
mod lowering;
mod packing;
mod text;
mod written_out;

use alloc::vec::Vec;
use core::slice;

pub use self::{
    arguments::{ArgumentReader, ConstructorKind},
    constructor::{Constructor, Datatype, Distributed, Subdimension},
    distribution::{ArrayOrder, Blocks, Distribution, Share},
    packing::{Buckets, Packing, Purpose, WrittenOut},
    text::CallsError,
};
use crate::BaseType;

/// The datatype that a constructor call builds on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OldType {
    /// A predefined datatype.
    Base(BaseType),
    /// The result of an earlier step, by its index.
    Step(usize),
}

/// One constructor call (MPI 4.1 section 5.1.2), with its arguments under the standard's names. Strides and
/// displacements are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // the fields are the standard's arguments
pub enum Step {
    /// `MPI_Type_contiguous`
    Contiguous { count: u64, oldtype: OldType },
    /// `MPI_Type_create_hvector`
    Hvector { count: u64, blocklength: u64, stride: i64, oldtype: OldType },
    /// `MPI_Type_create_hindexed_block`
    HindexedBlock { blocklength: u64, displacements: Vec<i64>, oldtype: OldType },
    /// `MPI_Type_create_hindexed`
    Hindexed { blocklengths: Vec<u64>, displacements: Vec<i64>, oldtype: OldType },
    /// `MPI_Type_create_struct`
    Struct { blocklengths: Vec<u64>, displacements: Vec<i64>, oldtypes: Vec<OldType> },
    /// `MPI_Type_create_resized`
    Resized { lower_bound: i64, extent: i64, oldtype: OldType },
}

impl Step {
    /// Returns the largest of the call's counts, block lengths and list lengths.
    pub fn largest_count(&self) -> u64 {
        match self {
            Self::Contiguous { count, .. } => *count,
            Self::Hvector { count, blocklength, .. } => *count.max(blocklength),
            Self::HindexedBlock { blocklength, displacements, .. } => {
                (*blocklength).max(displacements.len() as u64)
            }
            Self::Hindexed { blocklengths, .. } | Self::Struct { blocklengths, .. } => {
                blocklengths.iter().copied().fold(blocklengths.len() as u64, u64::max)
            }
            Self::Resized { .. } => 0,
        }
    }

    /// Returns the datatypes that the call builds on.
    pub fn oldtypes(&self) -> &[OldType] {
        match self {
            Self::Contiguous { oldtype, .. }
            | Self::Hvector { oldtype, .. }
            | Self::HindexedBlock { oldtype, .. }
            | Self::Hindexed { oldtype, .. }
            | Self::Resized { oldtype, .. } => slice::from_ref(oldtype),
            Self::Struct { oldtypes, .. } => oldtypes,
        }
    }

    /// Returns the stride, the displacements or the extent, in bytes; empty for `MPI_Type_contiguous`.
    pub fn strides(&self) -> &[i64] {
        match self {
            Self::Contiguous { .. } => &[],
            Self::Hvector { stride, .. } => slice::from_ref(stride),
            Self::HindexedBlock { displacements, .. }
            | Self::Hindexed { displacements, .. }
            | Self::Struct { displacements, .. } => displacements,
            Self::Resized { extent, .. } => slice::from_ref(extent),
        }
    }
}

/// The lower bound and the extent of a datatype, in bytes (MPI 4.1 section 5.1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bounds {
    /// The lower bound, relative to displacement 0.
    pub lower_bound: i64,
    /// The extent: the bytes from one copy to the next.
    pub extent: i64,
}

impl Bounds {
    /// Returns the bounds of a datatype that begins at displacement 0.
    pub const fn of_extent(extent: i64) -> Self {
        Self { lower_bound: 0, extent }
    }
}

/// A list of constructor calls, and the datatype that they build. Only this datatype is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The calls in order; each uses only predefined types and earlier steps.
    pub steps: Vec<Step>,
    /// The finished datatype: the last step, or a predefined type if there is none.
    pub result: OldType,
}

impl Program {
    /// Returns the largest count, block length or list length of all calls.
    pub fn largest_count(&self) -> u64 {
        self.steps.iter().map(Step::largest_count).max().unwrap_or(0)
    }

    /// Returns the number of constructor calls.
    pub fn calls(&self) -> usize {
        self.steps.len()
    }
}
