//! The datatypes built so far: each at first use, under one lock, and kept. `MPI_Finalize` has them freed.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use ::mpi::{
    Count,
    datatype::DatatypeRef,
    ffi::{self, MPI_Datatype},
    raw::FromRaw,
};

use super::{
    construct::{construct, has_large_counts},
    errors::without_communicator,
    life::{at_end, ready},
};
use crate::{Error, lazy::LazyDatatype};

/// A committed datatype of this process.
#[derive(Clone, Copy)]
pub(crate) struct Handle {
    pub(super) raw: MPI_Datatype,
    /// Which of those that have been built it is; nothing for a predefined one.
    number: Option<u64>,
}

// SAFETY: an MPI handle names an object of the process, not of a thread (MPI 4.1 section 2.5.1); it is only copied
// here, and which thread may call MPI with it is MPI's own rule.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// All handles built so far, to be freed by `MPI_Finalize`. The lock is held while one is built.
static BUILT: Mutex<Built> = Mutex::new(Built { handles: BTreeMap::new(), next: 0, unused: Vec::new() });

struct Built {
    handles: BTreeMap<u64, Handle>,
    /// The number of the next one.
    next: u64,
    /// Those of which the entry is gone, to be freed with the next call that may call MPI.
    unused: Vec<Handle>,
}

impl LazyDatatype {
    /// The datatype of an entry that is never dropped.
    pub(crate) fn datatype(&'static self) -> Result<DatatypeRef<'static>, Error> {
        let handle = self.handle()?;
        // SAFETY: the handle is committed and lives until `MPI_Finalize`, after which no MPI call may be made at all.
        Ok(unsafe { DatatypeRef::from_raw(handle.raw) })
    }

    /// The committed handle, built at the first call.
    pub(super) fn handle(&self) -> Result<Handle, Error> {
        ready()?;
        self.handle.get().map_or_else(|| self.build(), |handle| Ok(*handle))
    }

    /// Makes the calls.
    fn construct(&self) -> Result<(MPI_Datatype, bool), Error> {
        let program = self.program();
        if program.largest_count() <= Count::MAX as u64 || has_large_counts() {
            construct(program)
        } else {
            construct(&self.program_within(Count::MAX as u64)?)
        }
    }

    #[cold]
    fn build(&self) -> Result<Handle, Error> {
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = self.handle.get() {
            return Ok(*handle);
        }
        built.unused.drain(..).for_each(free);
        let (raw, owned) = without_communicator(|| self.construct())?;
        if owned && built.next == 0 {
            at_end(free_all);
        }
        let number = built.next;
        let handle = Handle { raw, number: owned.then_some(number) };
        if owned {
            built.handles.insert(number, handle);
            built.next += 1;
        }
        Ok(*self.handle.get_or_init(|| handle))
    }
}

impl Drop for LazyDatatype {
    /// Leaves the handle to be freed: this may be any thread, and not every one may call MPI.
    fn drop(&mut self) {
        if let Some(Handle { number: Some(number), .. }) = self.handle.get() {
            let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
            let unused = built.handles.remove(number);
            built.unused.extend(unused);
        }
    }
}

/// Frees a handle that is in none of the lists any more.
fn free(mut handle: Handle) {
    // SAFETY: the handle was built here and is freed once, while MPI is usable. MPI lets what is under way end.
    unsafe { ffi::MPI_Type_free(&raw mut handle.raw) };
}

/// Frees every handle, when MPI ends.
fn free_all() {
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::take(&mut built.handles).into_values().for_each(free);
    built.unused.drain(..).for_each(free);
}
