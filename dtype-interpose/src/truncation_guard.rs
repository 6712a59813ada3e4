//! The truncation guard, for libraries that may write a message past the end of its buffer, unless the
//! datatype of the receive has a gap.
//!
//! The program's own datatype has gaps, or its messages would not be packed. The datatype of the packed
//! buffer must therefore have a gap, too (`dtype_mpi::with_gap`): its last value lies [`GAP`] bytes further
//! on.

use std::{
    os::raw::c_int,
    sync::{Arc, Mutex},
};

use dtype_core::{Bounds, TypeTree};
use dtype_mpi::{Committed, with_gap};

use crate::{
    call::SUCCESS,
    lock::lock,
    native::{self, MPI_Aint, MPI_Datatype},
};

/// The size in bytes of the gap before the last value of a packed buffer.
pub(crate) const GAP: usize = 16;

/// The truncation guard of a datatype: the datatypes that its packed elements are received as.
pub(crate) struct TruncationGuard {
    /// The datatype of one packed element without the gap.
    gapless: Committed,
    /// The datatype of the last packed element, with the gap.
    one: Committed,
    size: usize,
    /// The size of the last value in bytes.
    last: usize,
    /// The count of the latest receive, and its datatype.
    kept: Mutex<Option<(usize, Arc<Whole>)>>,
}

impl TruncationGuard {
    /// Creates the guard for packed elements with this type tree and this datatype.
    ///
    /// # Errors
    /// If the datatype with the gap cannot be built.
    pub fn of(tree: &TypeTree, gapless: &Committed) -> Result<Self, dtype_mpi::Error> {
        let size = tree.measure()?.size as usize;
        let mut last = tree;
        while let Some(child) = last.children().last() {
            last = child;
        }
        let one = Committed::new(&with_gap(tree, GAP as i64), Bounds::of_extent((size + GAP) as i64))?;
        let last = last.measure()?.size as usize;
        Ok(Self { gapless: gapless.clone(), one, size, last, kept: Mutex::new(None) })
    }

    /// Returns the datatype that `count` packed elements are received as, or `None` if it cannot be built.
    pub fn datatype(&self, count: usize) -> Option<Arc<Whole>> {
        let mut kept = lock(&self.kept);
        if let Some((_, whole)) = kept.as_ref().filter(|(of, _)| *of == count) {
            return Some(Arc::clone(whole));
        }
        let counts = [c_int::try_from(count.checked_sub(1)?).ok()?, 1];
        let places = [0, (self.size * (count - 1)) as MPI_Aint];
        let parts = [self.gapless.raw(), self.one.raw()].map(MPI_Datatype::from);
        let mut whole = Whole { datatype: native::MPI_DATATYPE_NULL(), behind: self.last };
        // SAFETY: promise 1; `self` keeps both datatypes live, and the lists have two items each.
        let code = unsafe {
            let (counts, places, parts) = (counts.as_ptr(), places.as_ptr(), parts.as_ptr());
            match native::MPI_Type_create_struct(2, counts, places, parts, &raw mut whole.datatype) {
                SUCCESS => native::MPI_Type_commit(&raw mut whole.datatype),
                code => code,
            }
        };
        let whole = (code == SUCCESS).then(|| Arc::new(whole))?;
        *kept = Some((count, Arc::clone(&whole)));
        Some(whole)
    }
}

/// A datatype with the gap, which is freed when the last reference to it is dropped.
pub(crate) struct Whole {
    pub datatype: MPI_Datatype,
    /// The number of bytes behind the gap: the size of the last value.
    pub behind: usize,
}

// SAFETY: an MPI handle names an object of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Whole {}
// SAFETY: the handle is only copied.
unsafe impl Sync for Whole {}

impl Drop for Whole {
    fn drop(&mut self) {
        // SAFETY: promise 1; the handle is a constant of the library, or that of a datatype that was created
        // here. MPI completes pending operations that use a freed datatype.
        unsafe {
            if self.datatype != native::MPI_DATATYPE_NULL() {
                native::MPI_Type_free(&raw mut self.datatype);
            }
        }
    }
}
