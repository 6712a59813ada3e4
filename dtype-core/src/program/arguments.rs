//! The constructors by name, and their arguments in the order of the call (MPI 4.1 section 5.1.2).

use alloc::{borrow::Cow, string::String, vec::Vec};

macro_rules! kinds {
    ($($kind:ident = $name:literal [$($argument:literal),*];)*) => {
        /// The name of a constructor, without its arguments.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ConstructorKind {
            $(#[doc = concat!("`", $name, "`")] $kind,)*
        }

        impl ConstructorKind {
            /// A list of all constructors.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// Returns the name of the call.
            pub const fn mpi_name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// Returns the standard's names of the arguments, in the order of the call.
            pub const fn arguments(self) -> &'static [&'static str] {
                match self {
                    $(Self::$kind => &[$($argument),*],)*
                }
            }
        }
    };
}

kinds! {
    Contiguous = "MPI_Type_contiguous" ["count", "oldtype"];
    Vector = "MPI_Type_vector" ["count", "blocklength", "stride", "oldtype"];
    Hvector = "MPI_Type_create_hvector" ["count", "blocklength", "stride", "oldtype"];
    Indexed = "MPI_Type_indexed" ["count", "array_of_blocklengths", "array_of_displacements", "oldtype"];
    Hindexed =
        "MPI_Type_create_hindexed" ["count", "array_of_blocklengths", "array_of_displacements", "oldtype"];
    IndexedBlock =
        "MPI_Type_create_indexed_block" ["count", "blocklength", "array_of_displacements", "oldtype"];
    HindexedBlock =
        "MPI_Type_create_hindexed_block" ["count", "blocklength", "array_of_displacements", "oldtype"];
    Struct =
        "MPI_Type_create_struct"
        ["count", "array_of_blocklengths", "array_of_displacements", "array_of_types"];
    Subarray =
        "MPI_Type_create_subarray"
        ["ndims", "array_of_sizes", "array_of_subsizes", "array_of_starts", "order", "oldtype"];
    Darray =
        "MPI_Type_create_darray"
        [
            "size", "rank", "ndims", "array_of_gsizes", "array_of_distribs", "array_of_dargs",
            "array_of_psizes", "order", "oldtype"
        ];
    Resized = "MPI_Type_create_resized" ["oldtype", "lb", "extent"];
    Dup = "MPI_Type_dup" ["oldtype"];
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument<'a, T> {
    /// A count, a block length, a size or a rank.
    Count(u64),
    /// A list of them.
    Counts(Cow<'a, [u64]>),
    /// A distance in extents.
    Number(i64),
    /// A list of distances in extents.
    Numbers(&'a [i64]),
    /// A distance in bytes.
    Address(i64),
    /// A list of distances in bytes.
    Addresses(&'a [i64]),
    /// A constant of MPI.
    Constant(&'static str),
    /// A list of constants of MPI, and of numbers.
    Constants(Vec<String>),
    /// A datatype.
    OldType(&'a T),
    /// A list of datatypes.
    OldTypes(&'a [T]),
}

impl ConstructorKind {
    /// Returns the name of the call after `MPI_Type_`.
    pub fn name(self) -> &'static str {
        self.mpi_name().trim_start_matches("MPI_Type_")
    }

    /// Returns the constructor whose name after `MPI_Type_` is `name`. The names from before MPI 2 are known,
    /// too.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "hvector" => Some(Self::Hvector),
            "hindexed" => Some(Self::Hindexed),
            "struct" => Some(Self::Struct),
            name => Self::ALL.iter().copied().find(|kind| kind.name() == name),
        }
    }
}
