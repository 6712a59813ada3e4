//! Windows: memory of each rank that other ranks read and write (MPI 4.1 chapter 12).
//!
//! A window and its epochs are closures. So they end by themselves, in a panic too, and nobody can forget
//! them. While a window is open, its memory is borrowed, and the program reaches it only where MPI allows
//! that.

use std::{
    marker::PhantomData,
    os::raw::{c_int, c_void},
    process, ptr,
    sync::{
        Once,
        atomic::{AtomicUsize, Ordering},
    },
};

use ::mpi::{
    Rank,
    collective::SystemOperation,
    ffi::{self, MPI_Aint, MPI_Datatype, MPI_Group, MPI_Op, MPI_Win},
    raw::AsRaw,
    topology::Communicator,
};
use dtype_core::BaseType;

use super::{
    MessageCollectives, Receivable, Sendable,
    attach::Companion,
    blocks::wire_plan,
    collective::least_and_greatest,
    members::{Members, intracommunicator, members},
};
use crate::{
    Error, Layout, MpiDatatype,
    engine::Plan,
    layout::{LayoutDatatype, WholeElements, shapes::refused},
    mpi::{Usable, at_end, called, checked, predefined, ready, true_code, without_communicator},
    types::{AnyPattern, layout_number},
};

/// Opens a window over the values of each rank while `body` runs, with epochs in which all ranks take part:
/// [`fence`](Window::fence) and [`exchange`](Window::exchange). All ranks of the communicator must make this
/// call, with values of one type; their numbers may differ.
///
/// The values are copied into memory of MPI, and back when the window ends: open it once, around all epochs.
///
/// ```no_run
/// use dtype_runtime::{layout, wire::window};
/// use mpi::traits::*;
///
/// let universe = mpi::initialize().unwrap();
/// let world = universe.world();
/// let next = (world.rank() + 1) % world.size();
/// let (own, mut values) = ([f64::from(world.rank()); 10], vec![0.0; 20]);
/// window(&world, &mut values, |window| {
///     // Ten values go to every second place of the next rank's window.
///     window.fence(|epoch| epoch.put(&own, next, &layout!(f64[20] => [..;2])))??;
///     println!("{}", window.values()[2]);
///     Ok::<_, dtype_runtime::Error>(())
/// })??;
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// [`Error::Window`] if a rank has values of another type, or makes the other call; an error if an MPI call
/// fails. The values may have been written then.
pub fn window<C, T, R>(
    communicator: &C,
    values: &mut [T],
    body: impl FnOnce(&mut Window<'_, T>) -> R,
) -> Result<R, Error>
where
    C: Communicator + ?Sized,
    T: MpiDatatype + AnyPattern,
{
    let mpi = &ready()?;
    let (open, values) = Open::new(mpi, communicator, values, Kind::Active)?;
    Ok(body(&mut Window { open, values, borrow: PhantomData }))
}

/// Opens a window over the values of each rank while `body` runs, with epochs in which only one rank takes
/// part: [`lock`](PassiveWindow::lock) and [`lock_all`](PassiveWindow::lock_all). A rank reaches its own
/// values in the same way as those of others. All ranks of the communicator must make this call.
///
/// ```no_run
/// use dtype_runtime::{layout, wire::passive_window};
/// use mpi::{collective::SystemOperation, traits::*};
///
/// let universe = mpi::initialize().unwrap();
/// let world = universe.world();
/// let mut counters = vec![0u64; 4];
/// passive_window(&world, &mut counters, |window| {
///     let first = layout!(u64[4] => [0]);
///     window.lock_all(|epoch| epoch.accumulate(&1u64, SystemOperation::sum(), 0, &first))??;
///     Ok::<_, dtype_runtime::Error>(())
/// })??;
/// assert!(world.rank() > 0 || counters[0] == world.size() as u64);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// The errors of [`window`].
pub fn passive_window<C, T, R>(
    communicator: &C,
    values: &mut [T],
    body: impl FnOnce(&mut PassiveWindow<'_, T>) -> R,
) -> Result<R, Error>
where
    C: Communicator + ?Sized,
    T: MpiDatatype + AnyPattern,
{
    let mpi = &ready()?;
    let (open, _) = Open::new(mpi, communicator, values, Kind::Passive)?;
    Ok(body(&mut PassiveWindow { open, borrow: PhantomData }))
}

/// A window that is open, with epochs in which all ranks, or groups of ranks, take part: see [`window()`].
pub struct Window<'w, T> {
    open: Open,
    /// The values. All access uses this one pointer, which MPI has, too.
    values: *mut [T],
    borrow: PhantomData<&'w mut [T]>,
}

/// A window that is open, with epochs in which only one rank takes part: see [`passive_window`].
pub struct PassiveWindow<'w, T> {
    open: Open,
    borrow: PhantomData<&'w mut [T]>,
}

impl<T: MpiDatatype + AnyPattern> Window<'_, T> {
    /// Returns the values of this rank, between epochs.
    pub fn values(&self) -> &[T] {
        // SAFETY: the values are borrowed mutably as long as the window. No epoch is open, so no rank has
        // access.
        unsafe { &*self.values }
    }

    /// Returns the values of this rank for writing, between epochs.
    pub fn values_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `values`.
        unsafe { &mut *self.values }
    }

    /// Runs an epoch of all ranks (`MPI_Win_fence` before and after). All ranks must make this call. Values
    /// that are sent or received in the epoch are borrowed until its end.
    ///
    /// # Errors
    /// [`Error::Window`] if another rank has left the window; an error if an MPI call fails. The body has not
    /// run then.
    pub fn fence<'e, R>(&'e mut self, body: impl FnOnce(&Epoch<'e, T>) -> R) -> Result<R, Error> {
        let mpi = &ready()?;
        self.open.begin(mpi)?;
        let end = AtEnd(&self.open, |open| open.fence(mpi, ffi::MPI_MODE_NOSUCCEED));
        let result = body(&Epoch { open: &self.open, target: None, values: PhantomData });
        end.now()?;
        Ok(result)
    }

    /// Runs an epoch of some ranks: this rank writes to and reads from `targets`, and `origins` do so here
    /// (`MPI_Win_post`, `MPI_Win_start`, `MPI_Win_complete`, `MPI_Win_wait`). Each of these ranks must make
    /// the call with this rank on the other side.
    ///
    /// # Errors
    /// [`Error::Rank`] if a rank is none of the communicator; an error if an MPI call fails.
    pub fn exchange<'e, R>(
        &'e mut self,
        targets: &[Rank],
        origins: &[Rank],
        body: impl FnOnce(&Epoch<'e, T>) -> R,
    ) -> Result<R, Error> {
        let mpi = &ready()?;
        let [access, exposure] = [Group::of(mpi, &self.open, targets)?, Group::of(mpi, &self.open, origins)?];
        self.open.call("MPI_Win_post", |window| {
            // SAFETY: the window and the group are live.
            unsafe { mpi.MPI_Win_post(exposure.0, 0, window) }
        })?;
        self.open.call("MPI_Win_start", |window| {
            // SAFETY: the window and the group are live.
            unsafe { mpi.MPI_Win_start(access.0, 0, window) }
        })?;
        let end = AtEnd(&self.open, |open| {
            // SAFETY: both epochs are open.
            let completed = open.call("MPI_Win_complete", |window| unsafe { mpi.MPI_Win_complete(window) });
            // SAFETY: as above.
            completed.and(open.call("MPI_Win_wait", |window| unsafe { mpi.MPI_Win_wait(window) }))
        });
        let targets = Some(targets.to_vec());
        let result = body(&Epoch { open: &self.open, target: targets, values: PhantomData });
        end.now()?;
        Ok(result)
    }
}

/// The kind of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lock {
    /// Other ranks may lock the window of the target at a time.
    Shared,
    /// No other rank locks the window of the target at a time.
    Exclusive,
}

impl<T: MpiDatatype + AnyPattern> PassiveWindow<'_, T> {
    /// Runs an epoch with one target (`MPI_Win_lock` and `MPI_Win_unlock`). Values that are sent or received
    /// in the epoch are borrowed until its end.
    ///
    /// # Errors
    /// [`Error::Rank`] if the target is no rank of the communicator; an error if an MPI call fails.
    pub fn lock<'e, R>(
        &'e mut self,
        lock: Lock,
        target: Rank,
        body: impl FnOnce(&Epoch<'e, T>) -> R,
    ) -> Result<R, Error> {
        let mpi = &ready()?;
        self.open.check(target)?;
        let kind = match lock {
            Lock::Shared => ffi::MPI_LOCK_SHARED,
            Lock::Exclusive => ffi::MPI_LOCK_EXCLUSIVE,
        };
        self.open.call("MPI_Win_lock", |window| {
            // SAFETY: the window is live, and the target one of its ranks.
            unsafe { mpi.MPI_Win_lock(kind as c_int, target, 0, window) }
        })?;
        let end = AtEnd(&self.open, move |open| {
            // SAFETY: the target is locked.
            open.call("MPI_Win_unlock", |window| unsafe { mpi.MPI_Win_unlock(target, window) })
        });
        let targets = Some(vec![target]);
        let result = body(&Epoch { open: &self.open, target: targets, values: PhantomData });
        end.now()?;
        Ok(result)
    }

    /// Runs an epoch with all ranks as targets, which other ranks share (`MPI_Win_lock_all` and
    /// `MPI_Win_unlock_all`).
    ///
    /// # Errors
    /// An error if an MPI call fails.
    pub fn lock_all<'e, R>(&'e mut self, body: impl FnOnce(&Epoch<'e, T>) -> R) -> Result<R, Error> {
        let mpi = &ready()?;
        // SAFETY: the window is live.
        self.open.call("MPI_Win_lock_all", |window| unsafe { mpi.MPI_Win_lock_all(0, window) })?;
        let end = AtEnd(&self.open, |open| {
            // SAFETY: all targets are locked.
            open.call("MPI_Win_unlock_all", |window| unsafe { mpi.MPI_Win_unlock_all(window) })
        });
        let result = body(&Epoch { open: &self.open, target: None, values: PhantomData });
        end.now()?;
        Ok(result)
    }
}

/// An epoch: the time in which a rank writes to and reads from windows. Its calls only start transfers, which
/// end with the epoch. Values that it sends or receives live at least for `'e`: longer than the epoch.
pub struct Epoch<'e, T> {
    open: &'e Open,
    /// The ranks that may be targets; `None` for all.
    target: Option<Vec<Rank>>,
    // Invariant, so that nobody shortens the lifetime.
    values: PhantomData<Borrowed<'e, T>>,
}

/// The values that an epoch borrows.
type Borrowed<'e, T> = (fn(&'e ()) -> &'e (), T);

impl<'e, T: MpiDatatype + AnyPattern> Epoch<'e, T> {
    /// Writes values into the part of the target's values that a layout selects (`MPI_Put`). The values may
    /// have another layout, with equally many of the same types. Nothing else may be written there in this
    /// epoch, or read.
    ///
    /// # Errors
    /// [`Error::Rank`] if the target is none of the communicator, and [`Error::Window`] if it is none of the
    /// epoch; [`Error::Shape`] if the layout is not of an array of as many elements as the target's values;
    /// [`Error::Fit`] for another number of values, and [`Error::Signature`] for other types; an error if an
    /// MPI call fails.
    pub fn put<M, L>(&self, message: &'e M, target: Rank, layout: &L) -> Result<(), Error>
    where
        M: Sendable + ?Sized,
        L: Layout<Element = T, Selects: WholeElements>,
    {
        let mpi = &ready()?;
        let Some(there) = self.there(message, target, layout)? else { return Ok(()) };
        let own = message.typed()?;
        self.open.call("MPI_Put", |window| {
            // SAFETY: the values live until the epoch ends, and the layout is within the window of the
            // target.
            unsafe {
                mpi.MPI_Put(
                    own.place,
                    own.count,
                    own.datatype.as_raw(),
                    target,
                    there.offset,
                    1,
                    there.datatype.as_raw(),
                    window,
                )
            }
        })
    }

    /// Reads the part of the target's values that a layout selects (`MPI_Get`). The values arrive before the
    /// epoch ends.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put); [`Error::Restricted`] if not every pattern is a valid value of the
    /// destination.
    pub fn get<M, L>(&self, into: &'e mut M, target: Rank, layout: &L) -> Result<(), Error>
    where
        M: Receivable + ?Sized,
        L: Layout<Element = T, Selects: WholeElements>,
    {
        let mpi = &ready()?;
        if !into.any_pattern() {
            return Err(Error::Restricted);
        }
        let Some(there) = self.there(into, target, layout)? else { return Ok(()) };
        let own = into.typed_mut()?;
        self.open.call("MPI_Get", |window| {
            // SAFETY: the destination is borrowed until the epoch ends, any bytes may be written there, and
            // the layout is within the window of the target.
            unsafe {
                mpi.MPI_Get(
                    own.place,
                    own.count,
                    own.datatype.as_raw(),
                    target,
                    there.offset,
                    1,
                    there.datatype.as_raw(),
                    window,
                )
            }
        })
    }

    /// Combines values with the part of the target's values that a layout selects (`MPI_Accumulate`). Each
    /// element is combined at once, so several ranks may accumulate into one element.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put); [`Error::Window`] if the values are not
    /// numbers of one base type, or if MPI has no such operation for them.
    pub fn accumulate<M, L>(
        &self,
        message: &'e M,
        operation: SystemOperation,
        target: Rank,
        layout: &L,
    ) -> Result<(), Error>
    where
        M: Sendable + ?Sized,
        L: Layout<Element = T, Selects: WholeElements>,
    {
        let mpi = &ready()?;
        combined::<T>(operation.as_raw())?;
        let Some(there) = self.there(message, target, layout)? else { return Ok(()) };
        let own = message.typed()?;
        self.open.call("MPI_Accumulate", |window| {
            // SAFETY: as in `put`.
            unsafe {
                mpi.MPI_Accumulate(
                    own.place,
                    own.count,
                    own.datatype.as_raw(),
                    target,
                    there.offset,
                    1,
                    there.datatype.as_raw(),
                    operation.as_raw(),
                    window,
                )
            }
        })
    }

    /// Combines a number with one of the target's, and reads what was there before (`MPI_Fetch_and_op`), at
    /// once. It arrives before the epoch ends.
    ///
    /// ```no_run
    /// use dtype_runtime::wire::passive_window;
    /// use mpi::{collective::SystemOperation, traits::*};
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let world = universe.world();
    /// // The first rank's counter gives each task to one rank.
    /// passive_window(&world, &mut [0u64], |window| {
    ///     loop {
    ///         let mut task = 0;
    ///         window.lock_all(|epoch| epoch.fetch_and_op(&1, &mut task, SystemOperation::sum(), 0, 0))??;
    ///         if task >= 100 {
    ///             return Ok::<_, dtype_runtime::Error>(());
    ///         }
    ///         println!("task {task}");
    ///     }
    /// })??;
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Rank`] if the target is none of the communicator; [`Error::Parameter`] if it has no element
    /// of this index; [`Error::Window`] if MPI has no such operation for the values, or if the target is none
    /// of the epoch; an error if an MPI call fails.
    pub fn fetch_and_op(
        &self,
        value: &'e T,
        before: &'e mut T,
        operation: SystemOperation,
        target: Rank,
        index: usize,
    ) -> Result<(), Error> {
        let mpi = &ready()?;
        let (value, before) = (ptr::from_ref(value).cast(), ptr::from_mut(before).cast());
        let (datatype, at) = self.number(operation.as_raw(), target, index)?;
        self.open.call("MPI_Fetch_and_op", |window| {
            // SAFETY: both numbers live until the epoch ends, and the target has the element.
            unsafe { mpi.MPI_Fetch_and_op(value, before, datatype, target, at, operation.as_raw(), window) }
        })
    }

    /// Returns the datatype of a number of the target, and the bytes from the start of its window.
    fn number(
        &self,
        operation: MPI_Op,
        target: Rank,
        index: usize,
    ) -> Result<(MPI_Datatype, MPI_Aint), Error> {
        self.check(target)?;
        let elements = self.open.lengths[target as usize];
        if index >= elements {
            let requirement = format!("less than {elements}, the number of the target's values");
            return Err(refused("the window", "the index", index as i128, requirement));
        }
        let base = Some(combined::<T>(operation)?).filter(|base| base.size() as usize == size_of::<T>());
        let datatype = base.and_then(predefined).ok_or(Error::Window {
            reason: "MPI fetches only single numbers, such as `u64`: not arrays or structs of several",
        })?;
        Ok((datatype, (index * size_of::<T>()) as MPI_Aint))
    }

    /// Waits until all transfers of this epoch that this rank has started to the target are complete there
    /// (`MPI_Win_flush`), in an epoch with a lock.
    ///
    /// # Errors
    /// [`Error::Rank`] and [`Error::Window`] as for [`put`](Self::put); an error if an MPI call fails, also
    /// in other epochs.
    pub fn flush(&self, target: Rank) -> Result<(), Error> {
        let mpi = &ready()?;
        self.check(target)?;
        // SAFETY: the window is live, and the target one of its ranks.
        self.open.call("MPI_Win_flush", |window| unsafe { mpi.MPI_Win_flush(target, window) })
    }

    fn check(&self, target: Rank) -> Result<(), Error> {
        self.open.check(target)?;
        match &self.target {
            Some(targets) if !targets.contains(&target) => {
                Err(Error::Window { reason: "this epoch has other targets" })
            }
            _ => Ok(()),
        }
    }

    /// Returns the place of a message at the target, or `None` for a message without bytes: Open MPI 5 waits
    /// for ever for the end of such a transfer.
    fn there<M, L>(&self, message: &M, target: Rank, layout: &L) -> Result<Option<There>, Error>
    where
        M: Sendable + ?Sized,
        L: Layout<Element = T>,
    {
        self.check(target)?;
        let (region, elements) = (layout.region(), self.open.lengths[target as usize]);
        if region.array_elements() != elements {
            return Err(Error::Shape { expected: region.shape.to_vec(), found: vec![elements] });
        }
        let plan = wire_plan(layout)?;
        let (expected, found) = (plan.packed_size(), message.packed_size());
        if expected != found {
            return Err(Error::Fit { value: T::FACTS.packed_size, expected, found: Some(found), from: None });
        }
        message.plan().same_signature(&plan, found)?;
        if found == 0 {
            return Ok(None);
        }
        Ok(Some(There { offset: layout.offset() as MPI_Aint, datatype: layout.datatype()? }))
    }
}

/// Returns the base type of values, which MPI must be able to combine (MPI 4.1 section 6.9.2). Libraries end
/// the program if they cannot.
fn combined<T: MpiDatatype>(operation: MPI_Op) -> Result<BaseType, Error> {
    use BaseType::{C32, C64, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

    let base = if T::BYTES { None } else { Plan::of::<T>().one_type() };
    let base = base.ok_or(Error::Window {
        reason: "MPI accumulates only numbers of one base type, such as `f64` or `u32`",
    })?;
    // SAFETY: constants of the library.
    let (sums, order) = unsafe { ([ffi::RSMPI_SUM, ffi::RSMPI_PROD], [ffi::RSMPI_MAX, ffi::RSMPI_MIN]) };
    match base {
        I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 => Ok(base),
        F32 | F64 if sums.contains(&operation) || order.contains(&operation) => Ok(base),
        C32 | C64 if sums.contains(&operation) => Ok(base),
        _ => Err(Error::Window {
            reason: "MPI has no such operation for its type: all are for integers, maximum and minimum \
                     also for real numbers, sum and product for complex ones, too",
        }),
    }
}

/// A place in the window of another rank.
struct There {
    /// The bytes from the start of the window to the first value.
    offset: MPI_Aint,
    datatype: LayoutDatatype,
}

/// The epochs of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Epochs in which the target takes part.
    Active,
    /// Epochs in which it does not.
    Passive,
}

/// The number of open windows.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Counts a window that opens.
fn count_open() {
    static AT_END: Once = Once::new();
    AT_END.call_once(|| at_end(|_| none_is_open()));
    OPEN.fetch_add(1, Ordering::Relaxed);
}

/// Ends the program if a window is open when MPI ends: its values lie in memory of MPI, and other ranks may
/// still write there.
fn none_is_open() {
    if OPEN.load(Ordering::Relaxed) > 0 {
        eprintln!("dtype: MPI was finalized while a window was open: drop the universe after the window");
        process::abort();
    }
}

/// A window that is open.
struct Open {
    window: MPI_Win,
    /// A communicator of this window alone: ranks that use another window meanwhile do not say that they use
    /// this one.
    companion: Companion,
    kind: Kind,
    /// The number of elements of each rank.
    lengths: Vec<usize>,
    /// The values of the program.
    program: *mut u8,
    /// Their copies in the window, which others read and write; `None` if there is no window.
    place: Option<*mut u8>,
    /// The number of their bytes.
    size: usize,
}

impl Open {
    /// Opens a window over copies of the values of each rank.
    fn new<C: Communicator + ?Sized, T: MpiDatatype + AnyPattern>(
        mpi: &Usable,
        communicator: &C,
        values: &mut [T],
        kind: Kind,
    ) -> Result<(Self, *mut [T]), Error> {
        let Members { communicator: raw, .. } = members(mpi, communicator)?;
        intracommunicator(mpi, raw)?;
        let companion = Companion::alone(mpi, raw)?;
        let own = [values.len() as u64, layout_number::<T>(), kind as u64];
        let all = communicator.all_gather_vec(&own)?;
        if all.iter().any(|[_, layout, kind]| [*layout, *kind] != own[1..]) {
            let reason = "all ranks must have values of the same type, and all call `window`, or all \
                          `passive_window`";
            return Err(Error::Window { reason });
        }
        // A type for which the program vouches: parts of values may be mixed here.
        if !T::FACTS.any_pattern {
            return Err(Error::Restricted);
        }
        let lengths = all.iter().map(|[length, ..]| *length as usize).collect();
        // SAFETY: a constant of the library.
        let window = unsafe { ffi::RSMPI_WIN_NULL };
        let (program, size) = (values.as_mut_ptr(), size_of_val(values));
        let mut open = Self { window, companion, lengths, kind, program: program.cast(), place: None, size };
        count_open();
        let place = open.allocate(mpi)?;
        let is_aligned = size == 0 || place.addr() % align_of::<T>() == 0;
        // No rank begins an epoch before all values are in their windows.
        let [[_, is_misaligned]] =
            least_and_greatest(mpi, open.companion.communicator, [u64::from(!is_aligned)])?;
        if is_misaligned > 0 {
            return Err(Error::Window {
                reason: "the library does not allocate it with the values' alignment",
            });
        }
        // Without bytes, MPI may allocate nothing.
        let place = if size > 0 { place.cast() } else { program };
        Ok((open, ptr::slice_from_raw_parts_mut(place, values.len())))
    }

    /// Allocates the window (`MPI_Win_allocate`), and copies the values there. A window over memory of the
    /// program (`MPI_Win_create`) would be up to a hundred times slower, and Open MPI 4.1 creates none for a
    /// single rank.
    fn allocate(&mut self, mpi: &Usable) -> Result<*mut u8, Error> {
        let (communicator, mut place) = (self.companion.communicator, ptr::null_mut::<u8>());
        let (size, window) = (self.size as MPI_Aint, &raw mut self.window);
        called(mpi, "MPI_Win_allocate", communicator, || {
            let base = (&raw mut place).cast::<c_void>();
            // SAFETY: there is room for a pointer and a handle.
            unsafe { mpi.MPI_Win_allocate(size, 1, ffi::RSMPI_INFO_NULL, communicator, base, window) }
        })?;
        // SAFETY: the window was just allocated.
        let code = unsafe { mpi.MPI_Win_set_errhandler(self.window, ffi::RSMPI_ERRORS_RETURN) };
        checked(mpi, "MPI_Win_set_errhandler", code)?;
        if self.size > 0 {
            // SAFETY: MPI has allocated as many bytes. The values are borrowed mutably, and not used until
            // they are copied back.
            unsafe { place.copy_from_nonoverlapping(self.program, self.size) };
        }
        self.place = Some(place);
        Ok(place)
    }

    fn barrier(&self, mpi: &Usable) -> Result<(), Error> {
        // SAFETY: the communicator lives as long as the window.
        called(mpi, "MPI_Barrier", self.companion.communicator, || unsafe {
            mpi.MPI_Barrier(self.companion.communicator)
        })
    }

    fn ranks(&self) -> Rank {
        self.lengths.len() as Rank
    }

    fn check(&self, rank: Rank) -> Result<(), Error> {
        let ranks = self.ranks();
        if (0..ranks).contains(&rank) { Ok(()) } else { Err(Error::Rank { rank, ranks }) }
    }

    /// Makes a call on the window. Its errors are returned; some libraries raise them on other handlers.
    fn call(&self, name: &'static str, call: impl FnOnce(MPI_Win) -> c_int) -> Result<(), Error> {
        let mpi = &ready()?;
        let code = without_communicator(mpi, || true_code(call(self.window)));
        Ok(checked(mpi, name, code)?)
    }

    /// Begins an epoch of all ranks, unless a rank leaves. In some libraries, `MPI_Win_fence` of one rank
    /// ends with `MPI_Win_free` of another one, whose values would be written after they were given back.
    fn begin(&self, mpi: &Usable) -> Result<(), Error> {
        let [[_, leaves]] = least_and_greatest(mpi, self.companion.communicator, [0])?;
        if leaves > 0 {
            return Err(Error::Window { reason: "another rank has left it" });
        }
        self.fence(mpi, ffi::MPI_MODE_NOPRECEDE)
    }

    fn fence(&self, mpi: &Usable, assertion: u32) -> Result<(), Error> {
        // SAFETY: the window is live. Each epoch begins and ends with a fence of its own.
        self.call("MPI_Win_fence", |window| unsafe { mpi.MPI_Win_fence(assertion as c_int, window) })
    }

    /// Waits until all ranks leave the window.
    fn leave(&self, mpi: &Usable) -> Result<(), Error> {
        if self.kind == Kind::Passive {
            return self.barrier(mpi);
        }
        while least_and_greatest(mpi, self.companion.communicator, [1])? != [[1, 1]] {}
        Ok(())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let Ok(mpi) = &ready() else { return };
        // Other ranks may still be in an epoch, or begin one.
        let _ = self.leave(mpi);
        if let Some(place) = self.place
            && self.size > 0
        {
            // SAFETY: the values are still borrowed mutably, and no epoch is open.
            unsafe { self.program.copy_from_nonoverlapping(place, self.size) };
        }
        // SAFETY: a constant of the library.
        if self.window != unsafe { ffi::RSMPI_WIN_NULL } {
            // SAFETY: no epoch is open, and the window is freed once, by all ranks.
            without_communicator(mpi, || unsafe { mpi.MPI_Win_free(&raw mut self.window) });
        }
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The end of an epoch, which also comes in a panic.
struct AtEnd<'o, F: FnMut(&Open) -> Result<(), Error>>(&'o Open, F);

impl<F: FnMut(&Open) -> Result<(), Error>> AtEnd<'_, F> {
    /// Ends the epoch.
    fn now(mut self) -> Result<(), Error> {
        let ended = (self.1)(self.0);
        std::mem::forget(self);
        ended
    }
}

impl<F: FnMut(&Open) -> Result<(), Error>> Drop for AtEnd<'_, F> {
    fn drop(&mut self) {
        let _ = (self.1)(self.0);
    }
}

/// A group of ranks.
struct Group(MPI_Group);

impl Group {
    fn of(mpi: &Usable, open: &Open, ranks: &[Rank]) -> Result<Self, Error> {
        ranks.iter().try_for_each(|rank| open.check(*rank))?;
        // SAFETY: a constant of the library.
        let (mut all, mut some) = unsafe { (Self(ffi::RSMPI_GROUP_NULL), Self(ffi::RSMPI_GROUP_NULL)) };
        called(mpi, "MPI_Comm_group", open.companion.communicator, || {
            // SAFETY: the communicator is live; there is room for a handle.
            unsafe { mpi.MPI_Comm_group(open.companion.communicator, &raw mut all.0) }
        })?;
        // Twice the same rank would be an error.
        let mut different = ranks.to_vec();
        different.sort_unstable();
        different.dedup();
        called(mpi, "MPI_Group_incl", open.companion.communicator, || {
            // SAFETY: the group is live, and has these ranks; there is room for a handle.
            unsafe {
                mpi.MPI_Group_incl(all.0, different.len() as c_int, different.as_ptr(), &raw mut some.0)
            }
        })?;
        Ok(some)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Ok(mpi) = &ready() else { return };
        // SAFETY: a constant of the library, and a group that was made here and is freed once.
        unsafe {
            if self.0 != ffi::RSMPI_GROUP_NULL {
                mpi.MPI_Group_free(&raw mut self.0);
            }
        }
    }
}
