//! Receiving where the library may write behind a buffer.
//!
//! Open MPI writes a message that is too long behind its buffer, where one process reads the memory of the
//! other, unless the datatype of the receive has a gap. What a program receives into has gaps, or it would
//! not be packed here; so what is received into for it has one too: its last number lies a little further on.

use std::{
    os::raw::c_int,
    sync::{Arc, Mutex},
};

use dtype_runtime::{
    Error,
    decode::build,
    dtype_core::{Bounds, TypeTree},
    layout::LayoutDatatype,
};
use mpi::{
    ffi::{self, MPI_Datatype},
    raw::AsRaw,
};

use crate::{call::SUCCESS, lock::lock};

/// Bytes between the last number of a message and the one before.
pub(crate) const GAP: usize = 16;

/// What the packed bytes of a datatype are received as.
pub(crate) struct Gap {
    /// The packed bytes of one without the gap.
    gapless: LayoutDatatype,
    /// Those of the last one, with the gap.
    one: LayoutDatatype,
    size: usize,
    /// Bytes of the last number.
    last: usize,
    /// How many were received last, and their datatype.
    kept: Mutex<Option<(usize, Arc<Whole>)>>,
}

impl Gap {
    /// That of packed bytes of which this is the tree and the datatype.
    ///
    /// # Errors
    /// Where it cannot be built.
    pub fn of(tree: &TypeTree, gapless: &LayoutDatatype) -> Result<Self, Error> {
        let size = tree.measure()?.size as usize;
        let mut last = tree;
        while let Some(child) = last.children().last() {
            last = child;
        }
        let one = build(with_gap(tree), Bounds::of_extent((size + GAP) as i64))?;
        let last = last.measure()?.size as usize;
        Ok(Self { gapless: gapless.clone(), one, size, last, kept: Mutex::new(None) })
    }

    /// Bytes of the last number, which are the ones behind the gap.
    pub fn last(&self) -> usize {
        self.last
    }

    /// The datatype that `count` are received as; nothing where it cannot be built.
    pub fn datatype(&self, count: usize) -> Option<Arc<Whole>> {
        let mut kept = lock(&self.kept);
        if let Some((_, whole)) = kept.as_ref().filter(|(of, _)| *of == count) {
            return Some(Arc::clone(whole));
        }
        let counts = [c_int::try_from(count.checked_sub(1)?).ok()?, 1];
        let places = [0, (self.size * (count - 1)) as ffi::MPI_Aint];
        let parts = [self.gapless.as_raw(), self.one.as_raw()];
        // SAFETY: a constant of the library.
        let mut whole = Whole(unsafe { ffi::RSMPI_DATATYPE_NULL });
        // SAFETY: MPI is usable, both datatypes are live, and the lists have two items each.
        let code = unsafe {
            let (counts, places, parts) = (counts.as_ptr(), places.as_ptr(), parts.as_ptr());
            match ffi::MPI_Type_create_struct(2, counts, places, parts, &raw mut whole.0) {
                SUCCESS => ffi::MPI_Type_commit(&raw mut whole.0),
                code => code,
            }
        };
        let whole = (code == SUCCESS).then(|| Arc::new(whole))?;
        *kept = Some((count, Arc::clone(&whole)));
        Some(whole)
    }
}

/// A datatype that is freed when nobody needs it any more.
pub(crate) struct Whole(MPI_Datatype);

// SAFETY: an MPI handle names an object of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Whole {}
// SAFETY: it is only copied.
unsafe impl Sync for Whole {}

impl Whole {
    pub fn raw(&self) -> MPI_Datatype {
        self.0
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        // SAFETY: a constant of the library, and a datatype that was made here. MPI lets what is under way
        // end.
        unsafe {
            if self.0 != ffi::RSMPI_DATATYPE_NULL {
                ffi::MPI_Type_free(&raw mut self.0);
            }
        }
    }
}

/// A tree without gaps, of which the last leaf lies further on.
fn with_gap(tree: &TypeTree) -> TypeTree {
    match tree {
        TypeTree::Vector { count, stride, child } if *count > 0 => {
            let before = TypeTree::vector(count - 1, *stride, (**child).clone());
            TypeTree::structure([0, (*count as i64 - 1) * stride], [before, with_gap(child)])
        }
        TypeTree::Struct { displacements, children } => {
            let mut children = children.clone();
            let last = children.pop().map(|last| with_gap(&last));
            children.extend(last);
            TypeTree::structure(displacements.clone(), children)
        }
        tree => TypeTree::structure([GAP as i64], [tree.clone()]),
    }
}
