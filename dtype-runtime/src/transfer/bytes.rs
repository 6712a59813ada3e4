//! Bytes as arguments of MPI calls.

use std::sync::OnceLock;

use ::mpi::{Count, ffi::MPI_Datatype, raw::AsRaw};
use dtype_core::{BaseType, Bounds, TypeTree};

use crate::{
    Error,
    layout::{LayoutDatatype, entry::Entry},
    mpi::{packed_datatype, with_gap},
    types::{
        cache::cached,
        entry::{LazyDatatype, Wanted},
    },
};

/// Bytes as arguments of an MPI call: `count` elements of a datatype.
pub(crate) struct Bytes {
    pub count: Count,
    pub datatype: MPI_Datatype,
    /// The owner of the datatype, which keeps it alive.
    #[expect(dead_code, reason = "it keeps the datatype alive")]
    pub(super) owner: Option<LayoutDatatype>,
}

impl Bytes {
    /// Returns bytes of type `MPI_PACKED`, which matches any datatype that is sent or received (MPI 4.1
    /// section 5.2). If `size` exceeds an MPI count, returns one element of a datatype of that size.
    #[inline]
    pub fn of(size: usize) -> Result<Self, Error> {
        match Count::try_from(size) {
            Ok(count) => Ok(Self { count, datatype: packed_datatype(), owner: None }),
            Err(_) => Self::one_of(size),
        }
    }

    /// Returns one element of a datatype of `size` bytes.
    pub fn one_of(size: usize) -> Result<Self, Error> {
        if size == 1 {
            return Ok(Self { count: 1, datatype: packed_datatype(), owner: None });
        }
        Self::of_entry(Entry::Shared(cached(wanted(bytes_in_a_row(size), size as i64))))
    }

    /// Returns one element of a datatype with a gap: 2ⁿ bytes, a gap of one byte, and one more byte. Open MPI
    /// writes no more of a message into such a datatype than fits.
    pub(super) fn with_gap(n: u32) -> Result<Self, Error> {
        static ENTRIES: [OnceLock<LazyDatatype>; isize::BITS as usize] = [const { OnceLock::new() }; _];
        let entry = ENTRIES[n as usize].get_or_init(|| {
            let size = 1usize << n;
            LazyDatatype::of_wanted(wanted(with_gap(&bytes_in_a_row(size + 1), 1), size as i64 + 2))
        });
        Self::of_entry(Entry::Fixed(entry))
    }

    pub(super) fn of_entry(entry: Entry) -> Result<Self, Error> {
        let layout = entry.datatype()?;
        Ok(Self { count: 1, datatype: layout.as_raw(), owner: Some(layout) })
    }
}

/// Returns a number as an argument of an MPI call.
///
/// # Errors
/// `Argument` if the number exceeds an MPI count.
pub(super) fn count_of(call: &'static str, argument: &'static str, number: u64) -> Result<Count, Error> {
    let (value, limit) = (number.into(), Count::MAX.into());
    Count::try_from(number).map_err(|_| dtype_mpi::Error::Argument { call, argument, value, limit }.into())
}

fn wanted(tree: TypeTree, extent: i64) -> Wanted {
    Wanted::new(tree, Some(Bounds::of_extent(extent)))
}

fn bytes_in_a_row(size: usize) -> TypeTree {
    TypeTree::vector(size as u64, 1, TypeTree::Leaf(BaseType::Byte))
}
