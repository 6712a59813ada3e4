//! Datatypes as a user builds them: nested calls of MPI's constructors.

use std::fmt;

use dtype_core::{BaseType, Constructor, Datatype, Error, OldType, Program, Step, Subdimension, TypeTree};

/// A datatype, described by its constructor call and the datatypes that the call takes. The arguments have
/// the standard's names and units (MPI 4.1 section 5.1.2).
#[derive(Clone, Debug)]
#[must_use]
#[allow(missing_docs)] // the fields are the standard's arguments
pub enum Description {
    /// A predefined datatype.
    Base(BaseType),
    Contiguous {
        count: u64,
        oldtype: Box<Self>,
    },
    /// A vector. The stride is in extents.
    Vector {
        count: u64,
        blocklength: u64,
        stride: i64,
        oldtype: Box<Self>,
    },
    /// A vector. The stride is in bytes.
    Hvector {
        count: u64,
        blocklength: u64,
        stride: i64,
        oldtype: Box<Self>,
    },
    /// Blocks of one length. The displacements are in extents.
    IndexedBlock {
        blocklength: u64,
        displacements: Vec<i64>,
        oldtype: Box<Self>,
    },
    /// Blocks of one length. The displacements are in bytes.
    HindexedBlock {
        blocklength: u64,
        displacements: Vec<i64>,
        oldtype: Box<Self>,
    },
    /// Blocks of different lengths. The displacements are in extents.
    Indexed {
        blocklengths: Vec<u64>,
        displacements: Vec<i64>,
        oldtype: Box<Self>,
    },
    /// Blocks of different lengths. The displacements are in bytes.
    Hindexed {
        blocklengths: Vec<u64>,
        displacements: Vec<i64>,
        oldtype: Box<Self>,
    },
    /// Blocks of different datatypes. The displacements are in bytes.
    Struct {
        blocklengths: Vec<u64>,
        displacements: Vec<i64>,
        oldtypes: Vec<Self>,
    },
    /// A part of an array in C's order.
    Subarray {
        sizes: Vec<u64>,
        subsizes: Vec<u64>,
        starts: Vec<u64>,
        oldtype: Box<Self>,
    },
    Resized {
        lower_bound: i64,
        extent: i64,
        oldtype: Box<Self>,
    },
}

impl Description {
    /// Returns `count` adjacent copies of this datatype.
    pub fn contiguous(self, count: u64) -> Self {
        Self::Contiguous { count, oldtype: Box::new(self) }
    }

    /// Returns blocks of adjacent copies. The stride between blocks is in extents.
    pub fn vector(self, count: u64, blocklength: u64, stride: i64) -> Self {
        Self::Vector { count, blocklength, stride, oldtype: Box::new(self) }
    }

    /// Returns blocks of adjacent copies. The stride between blocks is in bytes.
    pub fn hvector(self, count: u64, blocklength: u64, stride: i64) -> Self {
        Self::Hvector { count, blocklength, stride, oldtype: Box::new(self) }
    }

    /// Returns blocks of one length. The displacements are in extents.
    pub fn indexed_block(self, blocklength: u64, displacements: Vec<i64>) -> Self {
        Self::IndexedBlock { blocklength, displacements, oldtype: Box::new(self) }
    }

    /// Returns blocks of different lengths. The displacements are in extents.
    pub fn indexed(self, blocklengths: Vec<u64>, displacements: Vec<i64>) -> Self {
        Self::Indexed { blocklengths, displacements, oldtype: Box::new(self) }
    }

    /// Returns this datatype with another extent in bytes, and the lower bound 0.
    pub fn resized(self, extent: i64) -> Self {
        Self::Resized { lower_bound: 0, extent, oldtype: Box::new(self) }
    }

    /// Returns a part of an array in C's order.
    pub fn subarray(self, sizes: Vec<u64>, subsizes: Vec<u64>, starts: Vec<u64>) -> Self {
        Self::Subarray { sizes, subsizes, starts, oldtype: Box::new(self) }
    }

    /// Returns a struct with one copy of each datatype. The displacements are in bytes.
    pub fn structure(parts: impl IntoIterator<Item = (i64, Self)>) -> Self {
        let (displacements, oldtypes): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        Self::Struct { blocklengths: vec![1; oldtypes.len()], displacements, oldtypes }
    }

    /// Describes the calls of a constructor program. A step that is used twice is described twice.
    pub fn of_program(program: &Program) -> Self {
        Self::of_oldtype(program, program.result)
    }

    fn of_oldtype(program: &Program, oldtype: OldType) -> Self {
        let step = match oldtype {
            OldType::Base(base) => return Self::Base(base),
            OldType::Step(number) => &program.steps[number],
        };
        let of = |oldtype: &OldType| Self::of_oldtype(program, *oldtype);
        let boxed = |oldtype: &OldType| Box::new(of(oldtype));
        match step.clone() {
            Step::Contiguous { count, oldtype } => of(&oldtype).contiguous(count),
            Step::Hvector { count, blocklength, stride, oldtype } => {
                of(&oldtype).hvector(count, blocklength, stride)
            }
            Step::HindexedBlock { blocklength, displacements, oldtype } => {
                Self::HindexedBlock { blocklength, displacements, oldtype: boxed(&oldtype) }
            }
            Step::Hindexed { blocklengths, displacements, oldtype } => {
                Self::Hindexed { blocklengths, displacements, oldtype: boxed(&oldtype) }
            }
            Step::Struct { blocklengths, displacements, oldtypes } => {
                Self::Struct { blocklengths, displacements, oldtypes: oldtypes.iter().map(of).collect() }
            }
            Step::Resized { lower_bound, extent, oldtype } => {
                Self::Resized { lower_bound, extent, oldtype: boxed(&oldtype) }
            }
        }
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
            TypeTree::Index { displacements, child } => Self::HindexedBlock {
                blocklength: 1,
                displacements: displacements.clone(),
                oldtype: Box::new(Self::of_tree(child)?),
            },
            TypeTree::IndexBucket { stride, buckets, displacements, child } => {
                let of = Self::of_tree(child)?;
                let of = if of.datatype()?.bounds.extent == *stride { of } else { of.resized(*stride) };
                Self::Hindexed {
                    blocklengths: buckets.clone(),
                    displacements: displacements.clone(),
                    oldtype: Box::new(of),
                }
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
        let constructor = match self.clone() {
            Self::Base(base) => return Ok(Datatype::base(base)),
            Self::Contiguous { count, oldtype } => {
                Constructor::Contiguous { count, oldtype: oldtype.datatype()? }
            }
            Self::Vector { count, blocklength, stride, oldtype } => {
                Constructor::Vector { count, blocklength, stride, oldtype: oldtype.datatype()? }
            }
            Self::Hvector { count, blocklength, stride, oldtype } => {
                Constructor::Hvector { count, blocklength, stride, oldtype: oldtype.datatype()? }
            }
            Self::IndexedBlock { blocklength, displacements, oldtype } => {
                Constructor::IndexedBlock { blocklength, displacements, oldtype: oldtype.datatype()? }
            }
            Self::HindexedBlock { blocklength, displacements, oldtype } => {
                Constructor::HindexedBlock { blocklength, displacements, oldtype: oldtype.datatype()? }
            }
            Self::Indexed { blocklengths, displacements, oldtype } => {
                Constructor::Indexed { blocklengths, displacements, oldtype: oldtype.datatype()? }
            }
            Self::Hindexed { blocklengths, displacements, oldtype } => {
                Constructor::Hindexed { blocklengths, displacements, oldtype: oldtype.datatype()? }
            }
            Self::Struct { blocklengths, displacements, oldtypes } => {
                let oldtypes = oldtypes.iter().map(Self::datatype).collect::<Result<_, _>>()?;
                Constructor::Struct { blocklengths, displacements, oldtypes }
            }
            Self::Subarray { sizes, subsizes, starts, oldtype } => {
                let dimensions = sizes.into_iter().zip(subsizes).zip(starts);
                Constructor::Subarray {
                    dimensions: dimensions
                        .map(|((size, subsize), start)| Subdimension { size, subsize, start })
                        .collect(),
                    order: dtype_core::ArrayOrder::RowMajor,
                    oldtype: oldtype.datatype()?,
                }
            }
            Self::Resized { lower_bound, extent, oldtype } => {
                Constructor::Resized { lower_bound, extent, oldtype: oldtype.datatype()? }
            }
        };
        constructor.datatype()
    }
}

/// Writes the nested calls without the prefix `MPI_Type_`. Long lists are cut off.
impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base(base) => write!(f, "{}", base.mpi_name()),
            Self::Contiguous { count, oldtype } => write!(f, "contiguous({count}, {oldtype})"),
            Self::Vector { count, blocklength, stride, oldtype } => {
                write!(f, "vector({count}, {blocklength}, {stride}, {oldtype})")
            }
            Self::Hvector { count, blocklength, stride, oldtype } => {
                write!(f, "create_hvector({count}, {blocklength}, {stride}, {oldtype})")
            }
            Self::IndexedBlock { blocklength, displacements, oldtype } => {
                let (count, places) = (displacements.len(), List(displacements));
                write!(f, "create_indexed_block({count}, {blocklength}, {places}, {oldtype})")
            }
            Self::HindexedBlock { blocklength, displacements, oldtype } => {
                let (count, places) = (displacements.len(), List(displacements));
                write!(f, "create_hindexed_block({count}, {blocklength}, {places}, {oldtype})")
            }
            Self::Indexed { blocklengths, displacements, oldtype } => {
                let (count, places) = (displacements.len(), List(displacements));
                write!(f, "indexed({count}, {}, {places}, {oldtype})", List(blocklengths))
            }
            Self::Hindexed { blocklengths, displacements, oldtype } => {
                let (count, places) = (displacements.len(), List(displacements));
                write!(f, "create_hindexed({count}, {}, {places}, {oldtype})", List(blocklengths))
            }
            Self::Struct { blocklengths, displacements, oldtypes } => {
                let (count, places) = (displacements.len(), List(displacements));
                write!(f, "create_struct({count}, {}, {places}, {})", List(blocklengths), List(oldtypes))
            }
            Self::Subarray { sizes, subsizes, starts, oldtype } => {
                let (sizes, subsizes, starts) = (List(sizes), List(subsizes), List(starts));
                write!(f, "create_subarray({sizes}, {subsizes}, {starts}, {oldtype})")
            }
            Self::Resized { lower_bound, extent, oldtype } => {
                write!(f, "create_resized({oldtype}, {lower_bound}, {extent})")
            }
        }
    }
}

/// A list that is displayed by its first three items, with `…` if there are more.
struct List<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 3;
        f.write_str("[")?;
        for (i, item) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
        }
        f.write_str(if self.0.len() > SHOWN { ", …]" } else { "]" })
    }
}
