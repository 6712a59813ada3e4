//! The MPI side: constructor programs become committed handles, and views become rsmpi buffers.
//!
//! A handle is built at first use, under one lock, and kept. At the first of them an attribute is put on
//! `MPI_COMM_SELF` whose deletion, the first thing `MPI_Finalize` does (MPI 4.1 section 11.2.4), frees them all.

use std::{
    collections::BTreeMap,
    fmt,
    os::raw::{c_int, c_void},
    ptr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use ::mpi::{
    Address, Count,
    datatype::{
        AsDatatype, Buffer, BufferMut, Collection, Datatype, DatatypeRef, Pointer, PointerMut,
        UncommittedDatatype, UserDatatype,
    },
    ffi::{self, MPI_Datatype},
    raw::{AsRaw, FromRaw},
};
use dtype_core::{BaseType, OldType, Program, Step};

use crate::{
    Error, MpiDatatype, View, ViewMut,
    layout::{Entry, Layout},
    lazy::LazyDatatype,
};

/// A committed datatype of this process.
#[derive(Clone, Copy)]
pub(crate) struct Handle {
    raw: MPI_Datatype,
    /// Which of those that have been built it is; nothing for a predefined one.
    number: Option<u64>,
}

// SAFETY: an MPI handle names an object of the process, not of a thread (MPI 4.1 section 2.5.1); it is only copied
// here, and which thread may call MPI with it is MPI's own rule.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// All handles built so far, to be freed by `MPI_Finalize`. The lock is held while one is built.
static BUILT: Mutex<Built> =
    Mutex::new(Built { handles: BTreeMap::new(), next: 0, unused: Vec::new(), freed_at_finalize: false });

struct Built {
    handles: BTreeMap<u64, Handle>,
    /// The number of the next one.
    next: u64,
    /// Those of which the entry is gone, to be freed with the next call that may call MPI.
    unused: Vec<Handle>,
    /// Whether `MPI_Finalize` has been told to free them.
    freed_at_finalize: bool,
}

/// Whether `MPI_Finalize` has freed the handles.
static FREED: AtomicBool = AtomicBool::new(false);

impl LazyDatatype {
    /// The datatype of an entry that is never dropped.
    pub(crate) fn datatype(&'static self) -> Result<DatatypeRef<'static>, Error> {
        let handle = self.handle()?;
        // SAFETY: the handle is committed and lives until `MPI_Finalize`, after which no MPI call may be made at all.
        Ok(unsafe { DatatypeRef::from_raw(handle.raw) })
    }

    /// The committed handle, built at the first call.
    fn handle(&self) -> Result<Handle, Error> {
        if FREED.load(Ordering::Acquire) {
            return Err(Error::Finalized);
        }
        self.handle.get().map_or_else(|| self.build(), |handle| Ok(*handle))
    }

    #[cold]
    fn build(&self) -> Result<Handle, Error> {
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = self.handle.get() {
            return Ok(*handle);
        }
        check_state()?;
        if !built.freed_at_finalize {
            free_at_finalize()?;
            built.freed_at_finalize = true;
        }
        built.unused.drain(..).for_each(free);
        let (raw, owned) = construct(self.program())?;
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

/// The datatype for rsmpi's `Equivalence`, which cannot return an error.
///
/// # Panics
/// With the text of the error that [`MpiDatatype::datatype`] returns: before `MPI_Init`, after `MPI_Finalize`, and
/// where MPI refuses a constructor call.
pub fn equivalent_datatype<T: MpiDatatype>() -> DatatypeRef<'static> {
    const {
        assert!(
            T::FACTS.complete,
            "rsmpi may make values out of what it receives, which would lack the fields with `#[mpi(skip)]`: hand it \
             `T::buffer(&values)` and `T::buffer_mut(&mut values)` instead of the values themselves"
        );
    }
    or_panic(T::lazy().datatype(), std::any::type_name::<T>())
}

pub(crate) fn or_panic<D>(datatype: Result<D, Error>, of: &str) -> D {
    datatype.unwrap_or_else(|error| panic!("no MPI datatype for `{of}`: {error}"))
}

/// A number of things as MPI's count.
///
/// # Panics
/// Beyond the largest count, as rsmpi's own slices do.
pub(crate) fn number_of(number: usize, things: &str, of: &str) -> Count {
    Count::try_from(number).unwrap_or_else(|_| {
        panic!("{number} {things} of `{of}` are more than an MPI count: send them in pieces")
    })
}

/// MPI calls are allowed between initialization and finalization only (MPI 4.1 section 11.4.1).
fn check_state() -> Result<(), Error> {
    let (mut initialized, mut finalized) = (0, 0);
    // SAFETY: these two may be called at any time, from any thread (MPI 4.1 section 11.4.1).
    unsafe {
        ffi::MPI_Initialized(&raw mut initialized);
        ffi::MPI_Finalized(&raw mut finalized);
    }
    match (initialized, finalized) {
        (0, _) => Err(Error::NotInitialized),
        (_, 0) => Ok(()),
        _ => Err(Error::Finalized),
    }
}

/// Has `MPI_Finalize` call [`free_all`].
fn free_at_finalize() -> Result<(), Error> {
    let mut key = 0;
    // SAFETY: MPI is initialized; the callbacks have the types of MPI 4.1 section 7.7.2 and use no extra state. Freeing
    // the key only marks it: it lives until the attribute is deleted.
    unsafe {
        let create =
            ffi::MPI_Comm_create_keyval(Some(no_copy), Some(free_all), &raw mut key, ptr::null_mut());
        checked("MPI_Comm_create_keyval", create)?;
        let set = ffi::MPI_Comm_set_attr(ffi::RSMPI_COMM_SELF, key, ptr::null_mut());
        checked("MPI_Comm_set_attr", set)?;
        checked("MPI_Comm_free_keyval", ffi::MPI_Comm_free_keyval(&raw mut key))
    }
}

/// `MPI_COMM_NULL_COPY_FN`, which is a macro in some libraries: duplicates of a communicator do not free handles.
unsafe extern "C" fn no_copy(
    _: ffi::MPI_Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI passes a valid place for the flag.
    unsafe { *flag = 0 };
    ffi::MPI_SUCCESS as c_int
}

/// Frees every handle: the delete callback of the attribute on `MPI_COMM_SELF`.
unsafe extern "C" fn free_all(_: ffi::MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    FREED.store(true, Ordering::Release);
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    // MPI is still usable while it runs this callback.
    std::mem::take(&mut built.handles).into_values().for_each(free);
    built.unused.drain(..).for_each(free);
    ffi::MPI_SUCCESS as c_int
}

fn checked(call: &'static str, code: c_int) -> Result<(), Error> {
    if code == ffi::MPI_SUCCESS as c_int { Ok(()) } else { Err(Error::Mpi { call, code }) }
}

/// Runs a program and commits its result; the flag says whether it was built, and so is to be freed.
fn construct(program: &Program) -> Result<(MPI_Datatype, bool), Error> {
    let mut steps = Steps(Vec::with_capacity(program.steps.len()));
    for step in program.steps.iter() {
        let handle = steps.call(step)?;
        steps.0.push(handle);
    }
    let OldType::Step(index) = program.result else {
        return Ok((steps.handle(program.result), false));
    };
    let mut result = steps.0.swap_remove(index);
    // SAFETY: the handle was built by the last step.
    let code = unsafe { ffi::MPI_Type_commit(&raw mut result) };
    checked("MPI_Type_commit", code).inspect_err(|_| steps.0.push(result))?;
    Ok((result, true))
}

/// The handles of the steps run so far. Dropping frees them: a datatype keeps what it was built from alive.
struct Steps(Vec<MPI_Datatype>);

impl Drop for Steps {
    fn drop(&mut self) {
        for handle in &mut self.0 {
            // SAFETY: each was built here and is freed once.
            unsafe { ffi::MPI_Type_free(handle) };
        }
    }
}

impl Steps {
    fn handle(&self, oldtype: OldType) -> MPI_Datatype {
        match oldtype {
            OldType::Base(base) => predefined(base),
            OldType::Step(index) => self.0[index],
        }
    }

    /// Makes one constructor call.
    fn call(&self, step: &Step) -> Result<MPI_Datatype, Error> {
        // SAFETY: reading a constant that MPI_Init has set up.
        let mut new = unsafe { ffi::RSMPI_DATATYPE_NULL };
        // SAFETY, for every call below: MPI is initialized, the lists have the length that is passed with them, and the
        // old types are predefined or built by earlier steps and not freed yet.
        match step {
            Step::Contiguous { count: copies, oldtype } => {
                const CALL: &str = "MPI_Type_contiguous";
                let (copies, old) = (count(CALL, "count", *copies)?, self.handle(*oldtype));
                // SAFETY: see above.
                checked(CALL, unsafe { ffi::MPI_Type_contiguous(copies, old, &raw mut new) })
            }
            Step::Hvector { count: copies, blocklength, stride, oldtype } => {
                const CALL: &str = "MPI_Type_create_hvector";
                let copies = count(CALL, "count", *copies)?;
                let blocklength = count(CALL, "blocklength", *blocklength)?;
                let (stride, old) = (address(CALL, "stride", *stride)?, self.handle(*oldtype));
                // SAFETY: see above.
                checked(CALL, unsafe {
                    ffi::MPI_Type_create_hvector(copies, blocklength, stride, old, &raw mut new)
                })
            }
            Step::HindexedBlock { blocklength, displacements, oldtype } => {
                const CALL: &str = "MPI_Type_create_hindexed_block";
                let copies = count(CALL, "count", displacements.len() as u64)?;
                let blocklength = count(CALL, "blocklength", *blocklength)?;
                let (displacements, old) = (addresses(CALL, displacements)?, self.handle(*oldtype));
                // SAFETY: see above.
                checked(CALL, unsafe {
                    let displacements = displacements.as_ptr();
                    ffi::MPI_Type_create_hindexed_block(copies, blocklength, displacements, old, &raw mut new)
                })
            }
            Step::Hindexed { blocklengths, displacements, oldtype } => {
                const CALL: &str = "MPI_Type_create_hindexed";
                let copies = count(CALL, "count", displacements.len() as u64)?;
                let (blocklengths, displacements) =
                    (counts(CALL, blocklengths)?, addresses(CALL, displacements)?);
                let old = self.handle(*oldtype);
                // SAFETY: see above.
                checked(CALL, unsafe {
                    let (blocklengths, displacements) = (blocklengths.as_ptr(), displacements.as_ptr());
                    ffi::MPI_Type_create_hindexed(copies, blocklengths, displacements, old, &raw mut new)
                })
            }
            Step::Struct { blocklengths, displacements, oldtypes } => {
                const CALL: &str = "MPI_Type_create_struct";
                let copies = count(CALL, "count", displacements.len() as u64)?;
                let (blocklengths, displacements) =
                    (counts(CALL, blocklengths)?, addresses(CALL, displacements)?);
                let old: Vec<_> = oldtypes.iter().map(|oldtype| self.handle(*oldtype)).collect();
                // SAFETY: see above.
                checked(CALL, unsafe {
                    let (blocklengths, displacements) = (blocklengths.as_ptr(), displacements.as_ptr());
                    ffi::MPI_Type_create_struct(
                        copies,
                        blocklengths,
                        displacements,
                        old.as_ptr(),
                        &raw mut new,
                    )
                })
            }
            Step::Resized { lower_bound, extent, oldtype } => {
                const CALL: &str = "MPI_Type_create_resized";
                let (lb, extent) = (address(CALL, "lb", *lower_bound)?, address(CALL, "extent", *extent)?);
                // SAFETY: see above.
                checked(CALL, unsafe {
                    ffi::MPI_Type_create_resized(self.handle(*oldtype), lb, extent, &raw mut new)
                })
            }
        }?;
        Ok(new)
    }
}

/// The predefined handle of a base type.
fn predefined(base: BaseType) -> MPI_Datatype {
    // SAFETY: constants of the MPI library, set up before `main`.
    unsafe {
        match base {
            BaseType::I8 => ffi::RSMPI_INT8_T,
            BaseType::I16 => ffi::RSMPI_INT16_T,
            BaseType::I32 => ffi::RSMPI_INT32_T,
            BaseType::I64 => ffi::RSMPI_INT64_T,
            // rsmpi does not hand out MPI_BYTE, and no Rust type stands for it.
            BaseType::U8 | BaseType::Byte => ffi::RSMPI_UINT8_T,
            BaseType::U16 => ffi::RSMPI_UINT16_T,
            BaseType::U32 => ffi::RSMPI_UINT32_T,
            BaseType::U64 => ffi::RSMPI_UINT64_T,
            BaseType::F32 => ffi::RSMPI_FLOAT,
            BaseType::F64 => ffi::RSMPI_DOUBLE,
            BaseType::Bool => ffi::RSMPI_C_BOOL,
            BaseType::C32 => ffi::RSMPI_FLOAT_COMPLEX,
            BaseType::C64 => ffi::RSMPI_DOUBLE_COMPLEX,
        }
    }
}

fn count(call: &'static str, argument: &'static str, value: u64) -> Result<Count, Error> {
    let error = Error::Argument { call, argument, value: value.into(), limit: Count::MAX.into() };
    Count::try_from(value).map_err(|_| error)
}

fn counts(call: &'static str, values: &[u64]) -> Result<Vec<Count>, Error> {
    values.iter().map(|value| count(call, "array_of_blocklengths", *value)).collect()
}

fn address(call: &'static str, argument: &'static str, value: i64) -> Result<Address, Error> {
    let error = Error::Argument { call, argument, value: value.into(), limit: Address::MAX as i128 };
    Address::try_from(value).map_err(|_| error)
}

fn addresses(call: &'static str, values: &[i64]) -> Result<Vec<Address>, Error> {
    values.iter().map(|value| address(call, "array_of_displacements", *value)).collect()
}

/// The committed datatype of a layout or a view: what rsmpi takes for one.
///
/// Of a layout that is known at run time it keeps the MPI datatype alive, which is freed when nobody has it any more.
pub struct LayoutDatatype(Entry, Handle);

impl Entry {
    pub(crate) fn datatype(self) -> Result<LayoutDatatype, Error> {
        let handle = self.handle()?;
        Ok(LayoutDatatype(self, handle))
    }
}

// SAFETY: the handle is of a committed datatype, which the entry keeps alive.
unsafe impl AsRaw for LayoutDatatype {
    type Raw = MPI_Datatype;

    fn as_raw(&self) -> MPI_Datatype {
        self.1.raw
    }
}

impl UncommittedDatatype for LayoutDatatype {
    type DuplicatedDatatype = UserDatatype;
}

impl Datatype for LayoutDatatype {}

impl Clone for LayoutDatatype {
    fn clone(&self) -> Self {
        Self(self.0.clone(), self.1)
    }
}

impl fmt::Debug for LayoutDatatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LayoutDatatype").field(self.0.program()).finish()
    }
}

// The views as rsmpi buffers: as many copies of one datatype at the first value selected.
//
// SAFETY, for all of them: by the contracts of `Layout` and `Source`, the pointer is that of the first value selected, and
// the datatype covers selected values of the borrowed source only; of one borrowed mutably, no byte twice.

// SAFETY: see above.
unsafe impl<L: Layout> AsDatatype for View<'_, L> {
    type Out = LayoutDatatype;
    fn as_datatype(&self) -> Self::Out {
        or_panic(View::datatype(self), std::any::type_name::<Self>())
    }
}

// SAFETY: see above.
unsafe impl<L: Layout> Collection for View<'_, L> {
    fn count(&self) -> Count {
        number_of(self.place.copies, "arrays", std::any::type_name::<Self>())
    }
}

// SAFETY: see above.
unsafe impl<L: Layout> Pointer for View<'_, L> {
    fn pointer(&self) -> *const c_void {
        self.first().cast()
    }
}

// SAFETY: see above.
unsafe impl<L: Layout> Buffer for View<'_, L> {}

// SAFETY: see above.
unsafe impl<L: Layout> AsDatatype for ViewMut<'_, L> {
    type Out = LayoutDatatype;
    fn as_datatype(&self) -> Self::Out {
        self.as_view().as_datatype()
    }
}

// SAFETY: see above.
unsafe impl<L: Layout> Collection for ViewMut<'_, L> {
    fn count(&self) -> Count {
        self.as_view().count()
    }
}

// SAFETY: see above.
unsafe impl<L: Layout> PointerMut for ViewMut<'_, L> {
    fn pointer_mut(&mut self) -> *mut c_void {
        self.as_view().first().cast()
    }
}

// SAFETY: see above; the source is borrowed mutably.
unsafe impl<L: Layout> BufferMut for ViewMut<'_, L> {}
