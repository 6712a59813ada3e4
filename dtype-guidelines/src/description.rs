//! Datatypes as a user builds them: nested calls of MPI's constructors.

use std::{convert::Infallible, fmt};

use dtype_core::{
    ArrayOrder, BaseType, Constructor, Datatype, Error, OldType, Program, Subdimension, TypeTree,
};

/// A datatype, described by its constructor call and the datatypes that the call takes. The arguments have
/// the standard's names and units (MPI 4.1 section 5.1.2).
#[derive(Clone, Debug)]
#[must_use]
pub enum Description {
    /// A predefined datatype.
    Base(BaseType),
    /// The result of a call.
    Call(Box<Constructor<Self>>),
}

impl From<Constructor<Self>> for Description {
    fn from(call: Constructor<Self>) -> Self {
        Self::Call(Box::new(call))
    }
}

impl Description {
    /// Returns `count` adjacent copies of this datatype.
    pub fn contiguous(self, count: u64) -> Self {
        Constructor::Contiguous { count, oldtype: self }.into()
    }

    /// Returns blocks of adjacent copies. The stride between blocks is in extents.
    pub fn vector(self, count: u64, blocklength: u64, stride: i64) -> Self {
        Constructor::Vector { count, blocklength, stride, oldtype: self }.into()
    }

    /// Returns blocks of adjacent copies. The stride between blocks is in bytes.
    pub fn hvector(self, count: u64, blocklength: u64, stride: i64) -> Self {
        Constructor::Hvector { count, blocklength, stride, oldtype: self }.into()
    }

    /// Returns blocks of one length. The displacements are in extents.
    pub fn indexed_block(self, blocklength: u64, displacements: Vec<i64>) -> Self {
        Constructor::IndexedBlock { blocklength, displacements, oldtype: self }.into()
    }

    /// Returns blocks of one length. The displacements are in bytes.
    pub fn hindexed_block(self, blocklength: u64, displacements: Vec<i64>) -> Self {
        Constructor::HindexedBlock { blocklength, displacements, oldtype: self }.into()
    }

    /// Returns blocks of different lengths. The displacements are in extents.
    pub fn indexed(self, blocklengths: Vec<u64>, displacements: Vec<i64>) -> Self {
        Constructor::Indexed { blocklengths, displacements, oldtype: self }.into()
    }

    /// Returns blocks of different lengths. The displacements are in bytes.
    pub fn hindexed(self, blocklengths: Vec<u64>, displacements: Vec<i64>) -> Self {
        Constructor::Hindexed { blocklengths, displacements, oldtype: self }.into()
    }

    /// Returns this datatype with another extent in bytes, and the lower bound 0.
    pub fn resized(self, extent: i64) -> Self {
        Constructor::Resized { lower_bound: 0, extent, oldtype: self }.into()
    }

    /// Returns a part of an array in C's order.
    pub fn subarray(self, sizes: Vec<u64>, subsizes: Vec<u64>, starts: Vec<u64>) -> Self {
        let dimensions = sizes.into_iter().zip(subsizes).zip(starts);
        let dimensions = dimensions.map(|((size, subsize), start)| Subdimension { size, subsize, start });
        Constructor::Subarray { dimensions: dimensions.collect(), order: ArrayOrder::RowMajor, oldtype: self }
            .into()
    }

    /// Returns a struct with one copy of each datatype. The displacements are in bytes.
    pub fn structure(parts: impl IntoIterator<Item = (i64, Self)>) -> Self {
        let (displacements, oldtypes): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        Constructor::Struct { blocklengths: vec![1; oldtypes.len()], displacements, oldtypes }.into()
    }

    /// Describes the calls of a constructor program. A step that is used twice is described twice.
    pub fn of_program(program: &Program) -> Self {
        Self::of_oldtype(program, program.result)
    }

    fn of_oldtype(program: &Program, oldtype: OldType) -> Self {
        let step = match oldtype {
            OldType::Base(base) => return Self::Base(base),
            OldType::Step(number) => program.steps[number].clone(),
        };
        let call = step.try_map(|oldtype| Ok::<_, Infallible>(Self::of_oldtype(program, oldtype)));
        call.unwrap_or_else(|error| match error {}).into()
    }

    /// Describes a tree as a user would write it: with one constructor for each node.
    ///
    /// # Errors
    /// The errors of [`Datatype::of_tree`].
    pub fn of_tree(tree: &TypeTree) -> Result<Self, Error> {
        Ok(match tree {
            TypeTree::Leaf(base) => Self::Base(*base),
            TypeTree::Vector { count, stride, child } => {
                let of = Self::of_tree(child)?;
                let is_dense = of.datatype()?.bounds.extent == *stride;
                if is_dense { of.contiguous(*count) } else { of.hvector(*count, 1, *stride) }
            }
            TypeTree::Index { displacements, child } => {
                Self::of_tree(child)?.hindexed_block(1, displacements.clone())
            }
            TypeTree::IndexBucket { stride, buckets, displacements, child } => {
                let of = Self::of_tree(child)?;
                let of = if of.datatype()?.bounds.extent == *stride { of } else { of.resized(*stride) };
                of.hindexed(buckets.clone(), displacements.clone())
            }
            TypeTree::Struct { displacements, children } => {
                let parts = displacements.iter().zip(children);
                let parts = parts.map(|(at, child)| Ok((*at, Self::of_tree(child)?)));
                Self::structure(parts.collect::<Result<Vec<_>, Error>>()?)
            }
        })
    }

    /// Returns the type tree and the bounds.
    ///
    /// # Errors
    /// The errors of [`Constructor::datatype`].
    pub fn datatype(&self) -> Result<Datatype, Error> {
        match self {
            Self::Base(base) => Ok(Datatype::base(*base)),
            Self::Call(call) => (**call).clone().try_map(|oldtype| oldtype.datatype())?.datatype(),
        }
    }
}

/// Writes the nested calls without the prefix `MPI_Type_`. The middle of long lists is left out.
impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base(base) => f.write_str(base.mpi_name()),
            Self::Call(call) => f.write_str(call.to_string().trim_start_matches("MPI_Type_")),
        }
    }
}
