//! The error type for type maps and type trees.

use alloc::string::String;
use core::fmt;

/// The reason why a type map or type tree cannot be used. The message names the argument or the kind of node,
/// the value and the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A type map without entries, which has no type tree.
    EmptyMap,
    /// A type map whose two sequences differ in length.
    LengthsDiffer {
        /// Number of base types.
        types: usize,
        /// Number of displacements.
        displacements: usize,
    },
    /// A type map with two base types, although a type path holds only one.
    Heterogeneous {
        /// Index of the first entry whose base type is not that of entry 0.
        entry: usize,
    },
    /// A byte position that does not fit `i64`.
    Overflow {
        /// The node kind (leaf, vec, idx, idxbuc, strc), `map`, or `layout` for many copies of a layout.
        node: &'static str,
    },
    /// A tree node whose sequences differ in length.
    UnevenNode {
        /// The node kind: `idxbuc` or `strc`.
        node: &'static str,
        /// Number of displacements.
        displacements: usize,
        /// The name of the other sequence: `buckets`, `children` or `block lengths`.
        of: &'static str,
        /// The length of the other sequence.
        others: usize,
    },
    /// An argument of a constructor that has an invalid value.
    Argument {
        /// The name of the argument.
        argument: String,
        /// The value of the argument.
        value: i128,
        /// The requirement that the value does not meet.
        requirement: String,
    },
    /// A type map with more entries than can be listed.
    TooLong {
        /// The number of entries of the type map.
        entries: u64,
        /// The largest number of entries that is listed.
        limit: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyMap => f.write_str("the type map is empty; a datatype needs at least one entry"),
            Self::LengthsDiffer { types, displacements } => write!(
                f,
                "a type map needs one displacement for each type, but has {types} types and {displacements} \
                 displacements"
            ),
            Self::Heterogeneous { entry } => write!(
                f,
                "a type path holds a single base type, but the base types of entries 0 and {entry} differ; \
                 reconstruct a tree instead"
            ),
            Self::Overflow { node } => write!(
                f,
                "a displacement or count of this {node} leads to a byte position beyond the limit of i64 \
                 ({} bytes); make the counts or strides smaller",
                i64::MAX
            ),
            Self::UnevenNode { node, displacements, of, others } => write!(
                f,
                "this {node} has {displacements} displacements but {others} {of}; give one for each"
            ),
            Self::Argument { argument, value, requirement } => {
                write!(f, "the argument `{argument}` is {value}, but must be {requirement}")
            }
            Self::TooLong { entries, limit } => write!(
                f,
                "the type map has {entries} entries, but at most {limit} can be listed; use the tree instead"
            ),
        }
    }
}

impl core::error::Error for Error {}
