//! Reductions with functions of the program, over values of any type (MPI 4.1 sections 6.9 to 6.12).
//!
//! MPI's operation (`MPI_Op_create`) gets packed values and calls the function of the program. It finds the
//! function by an attribute of the datatype, so it may run on any thread of the library. Each element has a
//! mark before its packed bytes. If the function panics, or a value is invalid, the mark says so to all
//! ranks.

use std::{
    any::Any,
    ffi::c_void,
    os::raw::c_int,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr, slice,
    sync::{Mutex, PoisonError},
};

use ::mpi::ffi::{self, MPI_Datatype, MPI_Op};
use dtype_mpi::{Attribute, OnDatatype};

use dtype_engine::Error as PackError;

use super::{
    agreement::least_and_greatest,
    bytes::count_of,
    members::{Members, intracommunicator},
};
use crate::{
    Error, MpiDatatype,
    mpi::{Usable, at_end, called, checked, told, without_communicator},
    pack::{PackBuffer, pack_into, packed_size, unpack_into},
    types::layout_number,
};

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    All,
    Scan,
    Exclusive,
    /// The exclusive scan of the first rank, which gets nothing.
    ExclusiveOfNone,
    To {
        rank: c_int,
        is_here: bool,
    },
}

/// The marks before the packed bytes of an element.
const RIGHT: u8 = 1;
const PANICKED: u8 = 2;
const INVALID: u8 = 3;

/// The context of a reduction, for MPI's callback: the function, without its type.
struct Context<'a> {
    /// Combines packed elements: the values of lower ranks, and those of higher ranks, which the results
    /// replace.
    combine: &'a (dyn Fn(&[u8], &mut [u8]) + Sync),
    /// The size of a packed element with its mark, in bytes.
    element: usize,
    /// The first panic on this rank.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Reduces values into others. Returns `true` if this rank has got a result.
pub(crate) fn reduce<T, F>(
    members: Members<'_>,
    kind: Kind,
    values: &[T],
    into: &mut [T],
    combine: &F,
) -> Result<bool, Error>
where
    T: MpiDatatype + Clone + Send + Sync,
    F: Fn(&T, &T) -> T + Sync,
{
    let Members { mpi, communicator, .. } = members;
    intracommunicator(mpi, communicator)?;
    let element = 1 + packed_size::<T>(1);
    let room = values.len().saturating_mul(element);
    let buffers = || {
        let [own, others] = [values.len(), into.len()].map(packed_size::<T>);
        PackError::unless_exactly("the destination", own, others)?;
        let (mut from, to) = (PackBuffer::with_room(room)?, PackBuffer::with_room(room)?);
        for (element, value) in from[..room].chunks_exact_mut(element).zip(values) {
            element[0] = RIGHT;
            pack_into(slice::from_ref(value), &mut element[1..])?;
        }
        Ok::<_, Error>((from, to))
    };
    let buffers = buffers();
    // A rank with an error tells the others, so that none waits for it.
    let own = [buffers.is_err().into(), room.min(isize::MAX as usize) as u64, layout_number::<T>()];
    let all = least_and_greatest(mpi, communicator, own);
    let ((from, mut to), [[_, failed], rooms, layouts]) = (buffers?, all?);
    if failed > 0 {
        return Err(Error::Reduction { reason: "another rank has an error, and no part in it" });
    }
    if [rooms, layouts].iter().any(|[least, greatest]| least != greatest) {
        return Err(Error::Reduction {
            reason: "the ranks have different numbers of values, or other types",
        });
    }
    let (from, to) = (&from[..room], &mut to[..room]);
    to.copy_from_slice(from);
    let has_result = !matches!(kind, Kind::ExclusiveOfNone | Kind::To { is_here: false, .. });
    let Some(some) = values.first() else { return Ok(has_result) };
    let combine = |lower: &[u8], higher: &mut [u8]| {
        let (mut a, mut b) = (some.clone(), some.clone());
        for (lower, higher) in lower.chunks_exact(element).zip(higher.chunks_exact_mut(element)) {
            let mark = lower[0].max(higher[0]);
            if mark != RIGHT {
                higher[0] = mark;
                continue;
            }
            let are_valid = unpack_into(&lower[1..], slice::from_mut(&mut a)).is_ok()
                && unpack_into(&higher[1..], slice::from_mut(&mut b)).is_ok();
            if !are_valid {
                higher[0] = INVALID;
                continue;
            }
            // The mark stays if the function panics.
            higher[0] = PANICKED;
            let combined = combine(&a, &b);
            if pack_into(slice::from_ref(&combined), &mut higher[1..]).is_ok() {
                higher[0] = RIGHT;
            }
        }
    };
    let context = Context { combine: &combine, element, panic: Mutex::new(None) };
    let datatype = ElementType::new(mpi, element, &context)?;
    // A library counts elements by `int`.
    let most = c_int::MAX as usize;
    let operation = operation(mpi)?;
    for (from, to) in from.chunks(most * element).zip(to.chunks_mut(most * element)) {
        let (count, kind_of, place) = ((from.len() / element) as c_int, datatype.raw, to.as_mut_ptr().cast());
        let from = from.as_ptr().cast();
        let name = match kind {
            Kind::All => "MPI_Allreduce",
            Kind::Scan => "MPI_Scan",
            Kind::Exclusive | Kind::ExclusiveOfNone => "MPI_Exscan",
            Kind::To { .. } => "MPI_Reduce",
        };
        called(mpi, name, communicator, || {
            // SAFETY: both buffers have `count` elements. The datatype, and the context that it leads to,
            // live until the call returns.
            unsafe {
                match kind {
                    Kind::All => mpi.MPI_Allreduce(from, place, count, kind_of, operation, communicator),
                    Kind::Scan => mpi.MPI_Scan(from, place, count, kind_of, operation, communicator),
                    Kind::Exclusive | Kind::ExclusiveOfNone => {
                        mpi.MPI_Exscan(from, place, count, kind_of, operation, communicator)
                    }
                    Kind::To { rank, .. } => {
                        mpi.MPI_Reduce(from, place, count, kind_of, operation, rank, communicator)
                    }
                }
            }
        })?;
    }
    drop(datatype);
    if let Some(panic) = context.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(panic);
    }
    if !has_result {
        return Ok(false);
    }
    for element in to.chunks_exact(element) {
        match element[0] {
            RIGHT => {}
            INVALID => return Err(Error::Reduction { reason: "a rank has sent an invalid value" }),
            _ => return Err(Error::Reduction { reason: "the function has panicked on another rank" }),
        }
    }
    // All values are checked before any is written.
    let mut results = into.to_vec();
    for (element, value) in to.chunks_exact(element).zip(&mut results) {
        unpack_into(&element[1..], slice::from_mut(value))?;
    }
    into.clone_from_slice(&results);
    Ok(true)
}

/// A datatype of one element, with the context of its reduction as an attribute.
struct ElementType<'m> {
    mpi: &'m Usable,
    raw: MPI_Datatype,
}

impl<'m> ElementType<'m> {
    fn new(mpi: &'m Usable, size: usize, context: &Context<'_>) -> Result<Self, Error> {
        let count = count_of("MPI_Type_contiguous", "count", size as u64)?;
        // SAFETY: a constant of the library.
        let mut made = Self { mpi, raw: unsafe { ffi::RSMPI_DATATYPE_NULL } };
        let code = without_communicator(mpi, || {
            // SAFETY: there is room for a handle.
            unsafe { mpi.MPI_Type_contiguous(count, ffi::RSMPI_UINT8_T, &raw mut made.raw) }
        });
        checked(mpi, "MPI_Type_contiguous", code)?;
        let code = without_communicator(mpi, || {
            // SAFETY: the datatype is live.
            unsafe { mpi.MPI_Type_commit(&raw mut made.raw) }
        });
        checked(mpi, "MPI_Type_commit", code)?;
        let context: *const Context<'_> = context;
        // SAFETY: 1, since the datatype was just made.
        let kept = unsafe { CONTEXT.keep(mpi, made.raw, ContextAddress(context.expose_provenance())) };
        told(mpi, "MPI_Type_set_attr", kept)?;
        Ok(made)
    }
}

impl Drop for ElementType<'_> {
    fn drop(&mut self) {
        // SAFETY: a constant of the library.
        if self.raw == unsafe { ffi::RSMPI_DATATYPE_NULL } {
            return;
        }
        // SAFETY: the datatype was made here, and is freed once. MPI keeps one that is in use.
        without_communicator(self.mpi, || unsafe { self.mpi.MPI_Type_free(&raw mut self.raw) });
    }
}

/// The address of a [`Context`], which is kept on the datatype of its reduction.
struct ContextAddress(usize);

impl OnDatatype for ContextAddress {
    fn of_duplicate(&self) -> Self {
        Self(self.0)
    }
}

static CONTEXT: Attribute<ContextAddress> = Attribute::new();

/// MPI's operation for all reductions.
struct Operation(MPI_Op);

// SAFETY: MPI handles name objects of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Operation {}

static OPERATION: Mutex<Option<Operation>> = Mutex::new(None);

/// Returns the operation, which the first call creates.
fn operation(mpi: &Usable) -> Result<MPI_Op, Error> {
    let mut known = OPERATION.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Operation(operation)) = &*known {
        return Ok(*operation);
    }
    // SAFETY: a constant of the library.
    let mut operation = unsafe { ffi::RSMPI_SUM };
    // SAFETY: the function has the type of MPI 4.1 section 6.9.5, and is not commutative.
    let code =
        without_communicator(mpi, || unsafe { mpi.MPI_Op_create(Some(combine), 0, &raw mut operation) });
    checked(mpi, "MPI_Op_create", code)?;
    at_end(free);
    Ok(known.insert(Operation(operation)).0)
}

/// Frees the operation and the key of the attribute when MPI ends.
fn free(mpi: &Usable) {
    if let Some(Operation(mut operation)) = OPERATION.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // SAFETY: the operation was made here, and is freed once.
        unsafe { mpi.MPI_Op_free(&raw mut operation) };
    }
    CONTEXT.end(mpi);
}

/// Combines the elements of two vectors: MPI's callback.
unsafe extern "C" fn combine(
    lower: *mut c_void,
    higher: *mut c_void,
    count: *mut c_int,
    datatype: *mut MPI_Datatype,
) {
    // SAFETY: 1, since MPI calls this function within a reduction.
    let mpi = &unsafe { Usable::assumed() };
    // SAFETY: MPI passes a count and a datatype. The datatype is that of a reduction under way, whose context
    // lives until its call returns.
    let (count, address) = unsafe { (*count, CONTEXT.get(mpi, *datatype)) };
    let (Ok(Some(ContextAddress(address))), Ok(count)) = (address, usize::try_from(count)) else { return };
    // SAFETY: the address of a context that lives.
    let context = unsafe { &*ptr::with_exposed_provenance::<Context<'_>>(*address) };
    if count == 0 {
        return;
    }
    let size = count * context.element;
    // SAFETY: MPI passes two vectors of `count` elements, which do not overlap.
    let (lower, higher) = unsafe {
        (
            slice::from_raw_parts(lower.cast::<u8>(), size),
            slice::from_raw_parts_mut(higher.cast::<u8>(), size),
        )
    };
    // No panic may leave a function of C.
    let combined = catch_unwind(AssertUnwindSafe(|| (context.combine)(lower, higher)));
    if let Err(panic) = combined {
        // A panic elsewhere than in the function leaves elements without a mark.
        higher.chunks_exact_mut(context.element).for_each(|element| element[0] = PANICKED);
        context.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
    }
}
