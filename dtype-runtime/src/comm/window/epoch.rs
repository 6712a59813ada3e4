//! Epochs of windows, and the calls within them. They only start transfers, which end with the epoch.

use std::{marker::PhantomData, mem, ptr};

use ::mpi::{
    Rank,
    collective::SystemOperation,
    ffi::{self, MPI_Aint, MPI_Datatype, MPI_Op},
    raw::AsRaw,
};
use dtype_core::BaseType;
use dtype_engine::Error as PackError;

use super::{
    super::{Message, Place},
    open::{Open, rank_of, unusable},
};
use crate::{
    Error, Layout, MpiDatatype, Result,
    layout::{Disjoint, LayoutDatatype, WholeElements, shapes::refused},
    mpi::predefined,
    pack::plan_of,
    transfer::{
        blocks::wire_plan,
        sendable::{
            Typed,
            sealed::{Read, Write},
        },
    },
    types::AnyPattern,
};

/// An epoch: the time in which a rank writes to and reads from windows. Its calls only start transfers, which
/// end with the epoch. Values that it sends or receives live at least for `'e`: longer than the epoch.
pub struct Epoch<'e, T> {
    open: &'e Open,
    /// The ranks that may be targets; `None` for all.
    targets: Option<Vec<Rank>>,
    // Invariant, so that nobody shortens the lifetime.
    values: PhantomData<Borrowed<'e, T>>,
}

/// The values that an epoch borrows.
type Borrowed<'e, T> = (fn(&'e ()) -> &'e (), T);

/// The end of an epoch, which also comes in a panic.
struct AtEnd<'o, F: FnMut(&Open) -> Result>(&'o Open, F);

impl<F: FnMut(&Open) -> Result> Drop for AtEnd<'_, F> {
    fn drop(&mut self) {
        let _ = (self.1)(self.0);
    }
}

impl<'e, T: MpiDatatype + AnyPattern> Epoch<'e, T> {
    /// Runs the body of an epoch that has begun, and then `end`.
    pub(super) fn run<R>(
        open: &'e Open,
        targets: Option<Vec<Rank>>,
        body: impl FnOnce(&Self) -> Result<R>,
        end: impl FnMut(&Open) -> Result,
    ) -> Result<R> {
        let mut at_end = AtEnd(open, end);
        let result = body(&Self { open, targets, values: PhantomData });
        let ended = (at_end.1)(open);
        mem::forget(at_end);
        ended.and(result)
    }

    /// Writes values into the part of the target's values that a layout selects (`MPI_Put`). The values may
    /// have another layout, with equally many of the same types. Nothing else may be written there in this
    /// epoch, or read.
    ///
    /// # Errors
    /// `Argument` if the target is no rank of the communicator, or no target of this epoch, if the layout is
    /// not of an array of as many elements as the target's values, or if a dynamic layout selects an element
    /// twice (MPI 4.1 section 12.3); `Size` for another number of values, and `Type` for other types; an
    /// error if an MPI call fails.
    pub fn put<M, L>(&self, message: &'e M, target: usize, layout: &L) -> Result
    where
        M: Message + ?Sized,
        L: Layout<Element = T, Selects: WholeElements, Coverage: Disjoint<Error, L>>,
    {
        L::Coverage::check(layout)?;
        let message = message.carried(false)?;
        let Some(there) = self.there(&message, target, layout)? else { return Ok(()) };
        let There { target, offset, .. } = there;
        let Typed { place, count, datatype } = message.typed()?;
        self.open.call("MPI_Put", |mpi, window| {
            let (own_type, there_type) = (datatype.as_raw(), there.datatype.as_raw());
            // SAFETY: the values live until the epoch ends, and the layout is within the window of the
            // target.
            unsafe { mpi.MPI_Put(place, count, own_type, target, offset, 1, there_type, window) }
        })
    }

    /// Reads the part of the target's values that a layout selects (`MPI_Get`). The values arrive before the
    /// epoch ends.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put); `Unsupported` if not every pattern is a valid value of the
    /// destination.
    pub fn get<M, L>(&self, into: &'e mut M, target: usize, layout: &L) -> Result
    where
        M: Place + ?Sized,
        L: Layout<Element = T, Selects: WholeElements>,
    {
        let mut into = into.incoming().sized()?;
        if !into.any_pattern() {
            return Err(PackError::Restricted.into());
        }
        let Some(there) = self.there(&into, target, layout)? else { return Ok(()) };
        let There { target, offset, .. } = there;
        let Typed { place, count, datatype } = into.typed_mut()?;
        self.open.call("MPI_Get", |mpi, window| {
            let (own_type, there_type) = (datatype.as_raw(), there.datatype.as_raw());
            // SAFETY: the destination is borrowed until the epoch ends, any bytes may be written there, and
            // the layout is within the window of the target.
            unsafe { mpi.MPI_Get(place, count, own_type, target, offset, 1, there_type, window) }
        })
    }

    /// Combines values with the part of the target's values that a layout selects (`MPI_Accumulate`). Each
    /// element is combined at once, so several ranks may accumulate into one element.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put); `Argument` if the values are not numbers of one base type, or if MPI
    /// has no such operation for them.
    pub fn accumulate<M, L>(
        &self,
        message: &'e M,
        operation: SystemOperation,
        target: usize,
        layout: &L,
    ) -> Result
    where
        M: Message + ?Sized,
        L: Layout<Element = T, Selects: WholeElements, Coverage: Disjoint<Error, L>>,
    {
        L::Coverage::check(layout)?;
        combined::<T>(operation.as_raw())?;
        let message = message.carried(false)?;
        let Some(there) = self.there(&message, target, layout)? else { return Ok(()) };
        let There { target, offset, .. } = there;
        let Typed { place, count, datatype } = message.typed()?;
        self.open.call("MPI_Accumulate", |mpi, window| {
            let (own_type, there_type) = (datatype.as_raw(), there.datatype.as_raw());
            let combine = operation.as_raw();
            // SAFETY: as in `put`.
            unsafe {
                mpi.MPI_Accumulate(place, count, own_type, target, offset, 1, there_type, combine, window)
            }
        })
    }

    /// Combines a number with one of the target's, and reads what was there before (`MPI_Fetch_and_op`), at
    /// once. It arrives before the epoch ends.
    ///
    /// ```no_run
    /// use dtype_runtime::{Result, run};
    /// use mpi::collective::SystemOperation;
    ///
    /// fn main() {
    ///     run(|world| -> Result {
    ///         // The first rank's counter gives each task to one rank.
    ///         world.passive_window(&mut [0u64], |window| {
    ///             loop {
    ///                 let mut task = 0;
    ///                 let sum = SystemOperation::sum();
    ///                 window.lock_all(|epoch| epoch.fetch_and_op(&1, &mut task, sum, 0, 0))?;
    ///                 if task >= 100 {
    ///                     return Ok(());
    ///                 }
    ///                 println!("task {task}");
    ///             }
    ///         })
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// `Argument` if the target is no rank of the communicator, or no target of this epoch, if it has no
    /// element of this index, or if MPI has no such operation for the values; an error if an MPI call fails.
    pub fn fetch_and_op(
        &self,
        value: &'e T,
        before: &'e mut T,
        operation: SystemOperation,
        target: usize,
        index: usize,
    ) -> Result {
        let (value, before) = (ptr::from_ref(value).cast(), ptr::from_mut(before).cast());
        let target = rank_of(target);
        let (datatype, at) = self.number(operation.as_raw(), target, index)?;
        self.open.call("MPI_Fetch_and_op", |mpi, window| {
            // SAFETY: both numbers live until the epoch ends, and the target has the element.
            unsafe { mpi.MPI_Fetch_and_op(value, before, datatype, target, at, operation.as_raw(), window) }
        })
    }

    /// Returns the datatype of a number of the target, and the displacement in its memory.
    fn number(&self, operation: MPI_Op, target: Rank, index: usize) -> Result<(MPI_Datatype, MPI_Aint)> {
        self.check(target)?;
        let elements = self.open.lengths[target as usize];
        if index >= elements {
            let requirement = format!("less than {elements}, the number of the target's values");
            return Err(refused("the window", "the index", index as i128, requirement));
        }
        let base = Some(combined::<T>(operation)?).filter(|base| base.size() as usize == size_of::<T>());
        let datatype = base.and_then(predefined).ok_or_else(|| {
            unusable("MPI fetches only single numbers, such as `u64`: not arrays or structs of several")
        })?;
        self.open.uses(target);
        Ok((datatype, self.open.displacement(target, index * size_of::<T>())))
    }

    /// Waits until all transfers of this epoch that this rank has started to the target are complete there
    /// (`MPI_Win_flush`).
    ///
    /// # Errors
    /// `Argument` if the target is no rank of the communicator, or no target of this epoch; `Mpi` if the MPI
    /// call fails.
    pub fn flush(&self, target: usize) -> Result {
        let target = rank_of(target);
        self.check(target)?;
        self.open.flush_at(target)
    }

    fn check(&self, target: Rank) -> Result {
        self.open.check(target)?;
        match &self.targets {
            Some(targets) if !targets.contains(&target) => Err(unusable("this epoch has other targets")),
            _ => Ok(()),
        }
    }

    /// Returns the place of a message at the target, or `None` for a message without bytes: Open MPI 5 waits
    /// for ever for the end of such a transfer.
    fn there<L>(&self, message: &dyn Read, target: usize, layout: &L) -> Result<Option<There>>
    where
        L: Layout<Element = T>,
    {
        let target = rank_of(target);
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
        let offset = self.open.displacement(target, layout.offset());
        self.open.uses(target);
        Ok(Some(There { target, offset, datatype: layout.datatype()? }))
    }
}

/// Returns the base type of values, which MPI must be able to combine (MPI 4.1 section 6.9.2). Libraries end
/// the program if they cannot.
fn combined<T: MpiDatatype>(operation: MPI_Op) -> Result<BaseType> {
    use BaseType::{C32, C64, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

    let base = if T::BYTES { None } else { plan_of::<T>().one_type() };
    let base = base
        .ok_or_else(|| unusable("MPI accumulates only numbers of one base type, such as `f64` or `u32`"))?;
    // SAFETY: constants of the library.
    let (sums, order) = unsafe { ([ffi::RSMPI_SUM, ffi::RSMPI_PROD], [ffi::RSMPI_MAX, ffi::RSMPI_MIN]) };
    match base {
        I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 => Ok(base),
        F32 | F64 if sums.contains(&operation) || order.contains(&operation) => Ok(base),
        C32 | C64 if sums.contains(&operation) => Ok(base),
        _ => Err(unusable(
            "MPI has no such operation for its type: all are for integers, maximum and minimum also for real \
             numbers, sum and product for complex ones, too",
        )),
    }
}

/// A place in the window of another rank.
struct There {
    target: Rank,
    /// The displacement of the first value in the memory of the target.
    offset: MPI_Aint,
    datatype: LayoutDatatype,
}
