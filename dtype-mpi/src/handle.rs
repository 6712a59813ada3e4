//! The datatypes built so far. Each is built at first use, under one lock. `MPI_Finalize` frees the remaining
//! ones.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use ::mpi::ffi::MPI_Datatype;
use dtype_core::{Bounds, NodeCosts, Program, Purpose, TypeTree, solve_layout};

use crate::{
    Error, Usable,
    construct::construct,
    errors::without_communicator,
    init_finalize::{at_end, ready},
};

/// A committed datatype of this process.
#[derive(Clone, Copy)]
pub struct Handle {
    raw: MPI_Datatype,
    /// The number of the datatype among those built here; `None` for a predefined one.
    number: Option<u64>,
}

impl Handle {
    /// Returns MPI's handle.
    pub fn raw(self) -> MPI_Datatype {
        self.raw
    }
}

// SAFETY: an MPI handle names an object of the process, not of a thread (MPI 4.1 section 2.5.1). The handle
// is only copied here; MPI's own rules say which thread may pass it to a call.
unsafe impl Send for Handle {}
// SAFETY: an MPI handle names an object of the process, and is only copied here.
unsafe impl Sync for Handle {}

/// The handles built so far, which `MPI_Finalize` frees. The lock is held while a datatype is built.
static BUILT: Mutex<All> = Mutex::new(All { handles: BTreeMap::new(), next: 0, unused: Vec::new() });

struct All {
    handles: BTreeMap<u64, Handle>,
    /// The number of the next handle.
    next: u64,
    /// Handles whose slot has been dropped. They are freed when the next datatype is built.
    unused: Vec<Handle>,
}

/// A handle, and `true` if it was built and must be freed.
pub type Built = (MPI_Datatype, bool);

/// A datatype that is built at first use.
pub struct Slot(OnceLock<Handle>);

impl Default for Slot {
    fn default() -> Self {
        Self::new()
    }
}

impl Slot {
    /// Creates a slot whose datatype is not built yet.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Returns the committed datatype. If it must be built, `build` builds it, such as by
    /// [`construct`](crate::construct()).
    ///
    /// # Errors
    /// The errors of [`ready`] and of `build`.
    pub fn get_or_build<E: From<Error>>(
        &self,
        build: impl FnOnce(&Usable) -> Result<Built, E>,
    ) -> Result<Handle, E> {
        let mpi = &ready()?;
        self.0.get().map_or_else(|| self.build(mpi, build), |handle| Ok(*handle))
    }

    #[cold]
    fn build<E>(&self, mpi: &Usable, build: impl FnOnce(&Usable) -> Result<Built, E>) -> Result<Handle, E> {
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = self.0.get() {
            return Ok(*handle);
        }
        for handle in built.unused.drain(..) {
            free(mpi, handle);
        }
        let (raw, owned) = without_communicator(mpi, || build(mpi))?;
        if owned && built.next == 0 {
            at_end(free_all);
        }
        let number = built.next;
        let handle = Handle { raw, number: owned.then_some(number) };
        if owned {
            built.handles.insert(number, handle);
            built.next += 1;
        }
        Ok(*self.0.get_or_init(|| handle))
    }
}

impl Drop for Slot {
    /// Leaves the handle to be freed later: the current thread may not be allowed to call MPI.
    fn drop(&mut self) {
        if let Some(Handle { number: Some(number), .. }) = self.0.get() {
            let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
            let unused = built.handles.remove(number);
            built.unused.extend(unused);
        }
    }
}

/// A committed datatype of this process, which is freed when the last copy of this value is gone.
#[derive(Clone)]
pub struct Committed {
    handle: Handle,
    _slot: Arc<Slot>,
}

impl Committed {
    /// Builds a datatype of least cost for a type tree and these bounds, of the predefined datatypes in the
    /// tree.
    ///
    /// # Errors
    /// [`Error::Tree`] for an invalid tree; the errors of [`ready`] and of [`construct`].
    pub fn new(tree: &TypeTree, bounds: Bounds) -> Result<Self, Error> {
        let tree = solve_layout(tree, &NodeCosts::THESIS.linear())?.tree;
        let program = Program::lower(&tree, Some(bounds))?;
        let slot = Arc::new(Slot::new());
        let handle = slot.get_or_build(|mpi| construct(mpi, &program, Purpose::Any))?;
        Ok(Self { handle, _slot: slot })
    }

    /// Returns MPI's handle.
    pub fn raw(&self) -> MPI_Datatype {
        self.handle.raw()
    }
}

/// Frees a handle that has been removed from `handles` and `unused` of [`All`].
fn free(mpi: &Usable, mut handle: Handle) {
    // SAFETY: the handle was built here and is freed once. MPI lets pending
    // communication with the datatype complete.
    unsafe { mpi.MPI_Type_free(&raw mut handle.raw) };
}

/// Frees every handle when MPI ends.
fn free_all(mpi: &Usable) {
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let handles = std::mem::take(&mut built.handles).into_values();
    for handle in handles.chain(built.unused.drain(..)) {
        free(mpi, handle);
    }
}
