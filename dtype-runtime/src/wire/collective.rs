//! Collective calls on packed bytes (MPI 4.1 chapter 6).
//!
//! Every rank first tells how many packed bytes it has, or expects. So the numbers of values may differ from rank to rank, and where
//! they do not fit, every rank to which something would come gets an error instead, and all ranks come out of the call.
//!
//! More bytes than an MPI count are counted in larger units, which all ranks agree on: see `parts.rs`.

use std::os::raw::c_int;

use ::mpi::{
    collective::Root,
    ffi::{self, MPI_Comm, MPI_Datatype},
    topology::Communicator,
};

use super::{
    Message, MessageMut,
    parts::{Parts, total},
    pool::Buffer,
    transfer::buffer,
};
use crate::{
    Error,
    mpi::{called, packed_datatype, ready_on},
};

/// Collective calls without a root, on packed bytes.
pub trait PackedCollectives: Communicator {
    /// What every rank sends goes to every rank, in the order of the ranks (`MPI_Allgather`, and `MPI_Allgatherv` where ranks send
    /// different numbers of values).
    ///
    /// ```no_run
    /// use dtype_runtime::traits::*;
    /// use mpi::traits::*;
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let world = universe.world();
    /// let own = (world.rank() as u8, 0.5f64);
    /// let mut all = vec![(0u8, 0.0); world.size() as usize];
    /// world.all_gather_packed(&own, &mut all)?;
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Fit`] where all together are not as many bytes as are received here; [`Error::InvalidValue`]; nothing is written then.
    fn all_gather_packed<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Message + ?Sized,
        R: MessageMut + ?Sized,
    {
        let communicator = ready_on(self)?;
        let sizes = tell_all(communicator, self.target_size(), [message.packed_size()])?;
        let parts = Parts::of(sizes.as_flattened(), largest(communicator, total(sizes.as_flattened()))?)?;
        let ((mut packed, own), mut all) = (parts.pack_one(message)?, buffer(parts.room())?);
        let (from, to, unit) = (packed.place(), all.place(), parts.unit()?);
        // SAFETY: there are as many bytes as have been told, on both sides.
        let call = || unsafe {
            let (counts, starts, kind) = (parts.counts.as_ptr(), parts.starts.as_ptr(), unit.datatype);
            ffi::MPI_Allgatherv(from.cast(), own, kind, to.cast(), counts, starts, kind, communicator)
        };
        called("MPI_Allgatherv", call)?;
        // SAFETY: all of it has been received.
        unpack(into, unsafe { parts.close_up(&mut all) })
    }

    /// Each rank sends an equal part of its values to each rank (`MPI_Alltoall`).
    ///
    /// # Errors
    /// [`Error::Parts`] where the values cannot be divided so; otherwise as [`all_gather_packed`](Self::all_gather_packed).
    fn all_to_all_packed<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Message + ?Sized,
        R: MessageMut + ?Sized,
    {
        let communicator = ready_on(self)?;
        let (ranks, size) = (self.target_size() as usize, message.packed_size());
        // All ranks must come out of the call, so one whose values cannot be divided sends none.
        let divides = size % ranks == 0 && (size / ranks) % message.step() == 0;
        let part = if divides { size / ranks } else { 0 };
        let (mut all, incoming) =
            exchange(communicator, &vec![part as u64; ranks], |parts| parts.pack(message))?;
        if !divides {
            return Err(Error::Parts {
                what: "packed bytes, which are not values for every rank",
                found: size,
                ranks,
            });
        }
        // SAFETY: all of it has been received.
        unpack(into, unsafe { incoming.close_up(&mut all) })
    }

    /// Each rank sends a message to each rank, and receives one from each: number i goes to rank i, and comes from there
    /// (`MPI_Alltoallv`, or `MPI_Alltoallw`, since each may be of another layout).
    ///
    /// # Errors
    /// [`Error::Parts`] where there are not as many messages as ranks; otherwise as [`all_gather_packed`](Self::all_gather_packed).
    /// Messages from ranks before the one that does not fit have been received then.
    fn all_to_all_varcount_packed<S, R>(&self, messages: &[S], into: &mut [R]) -> Result<(), Error>
    where
        S: Message,
        R: MessageMut,
    {
        let communicator = ready_on(self)?;
        let ranks = self.target_size() as usize;
        // All ranks must come out of the call, so one with too few messages sends nothing.
        let right = messages.len() == ranks && into.len() == ranks;
        let sizes: Vec<u64> =
            (0..ranks).map(|i| if right { messages[i].packed_size() as u64 } else { 0 }).collect();
        let (all, incoming) = exchange(communicator, &sizes, |parts| {
            let mut packed = buffer(parts.room())?;
            for (i, message) in messages.iter().enumerate().filter(|_| right) {
                // SAFETY: there is room for all of them, each in its part.
                unsafe { message.pack(packed.place().add(parts.range(i).start)) };
            }
            Ok(packed)
        })?;
        if !right {
            let found = messages.len().min(into.len());
            return Err(Error::Parts { what: "messages", found, ranks });
        }
        // SAFETY: all of it has been received.
        let all = unsafe { all.first(incoming.room()) };
        into.iter_mut().enumerate().try_for_each(|(i, message)| unpack(message, &all[incoming.range(i)]))
    }
}

impl<C: Communicator + ?Sized> PackedCollectives for C {}

/// Collective calls with a root, on packed bytes.
pub trait PackedRoot: Root {
    /// What the root has goes to every rank (`MPI_Bcast`).
    ///
    /// ```no_run
    /// use dtype_runtime::traits::*;
    /// use mpi::traits::*;
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let world = universe.world();
    /// let mut values = vec![(world.rank() as u8, 0.5f64); 1000];
    /// world.process_at_rank(0).broadcast_packed(&mut values)?;
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Fit`] on a rank that has room for another number of bytes than the root sends; [`Error::InvalidValue`]; nothing is written
    /// there then.
    fn broadcast_packed<M: MessageMut + ?Sized>(&self, message: &mut M) -> Result<(), Error> {
        /// Bytes of a part: while one travels, another one is packed or unpacked.
        const PART: usize = 256 << 10;
        let communicator = ready_on(self.as_communicator())?;
        let (root, is_root) = (self.root_rank(), self.as_communicator().rank() == self.root_rank());
        let expected = message.packed_size();
        // Parts end between values of the root's.
        let mut told = [expected as u64, (PART - PART % message.step().min(PART)) as u64];
        // SAFETY: as many bytes on every rank.
        broadcast(communicator, root, told.as_mut_ptr().cast(), size_of_val(&told))?;
        let [size, part] = told.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        let part = part.clamp(1, PART);
        let fits = size == expected;
        // What has to be looked at before any of it is written is put together first.
        let in_parts = !fits || is_root || message.any_pattern();
        let mut packed = buffer(if in_parts { part.min(size) } else { size })?;
        for start in (0..size).step_by(part) {
            let end = size.min(start.saturating_add(part));
            let at = if in_parts { 0 } else { start };
            let bytes = &mut packed.first_mut(at + end - start)[at..];
            if is_root {
                message.pack_range(start..end, bytes)?;
            }
            broadcast(communicator, root, bytes.as_mut_ptr(), end - start)?;
            if fits && in_parts && !is_root {
                message.unpack_range(start, bytes)?;
            }
        }
        match (fits, in_parts) {
            (false, _) => Err(Error::Fit { expected, found: size }),
            (true, true) => Ok(()),
            (true, false) => message.unpack(packed.first_mut(size)),
        }
    }

    /// Sends this rank's values to the root, which calls [`gather_packed_into_root`](Self::gather_packed_into_root) (`MPI_Gather`).
    ///
    /// # Errors
    /// Before `MPI_Init` and after `MPI_Finalize`; where MPI refuses a call; where there is no memory for a buffer.
    fn gather_packed<S: Message + ?Sized>(&self, message: &S) -> Result<(), Error> {
        gather(self, message).map(|_| ())
    }

    /// Receives the values of all ranks at the root, its own included, in the order of the ranks. They may send different numbers of them
    /// (`MPI_Gatherv`).
    ///
    /// # Errors
    /// As [`all_gather_packed`](PackedCollectives::all_gather_packed).
    fn gather_packed_into_root<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Message + ?Sized,
        R: MessageMut + ?Sized,
    {
        let (mut all, parts) = gather(self, message)?;
        // SAFETY: all of it has been received.
        unpack(into, unsafe { parts.close_up(&mut all) })
    }

    /// Receives this rank's part from the root, which calls [`scatter_packed_into_root`](Self::scatter_packed_into_root) (`MPI_Scatter`).
    ///
    /// # Errors
    /// [`Error::Fit`] on all ranks where the root does not have just as many bytes as all ranks expect; [`Error::InvalidValue`]; nothing
    /// is written then.
    fn scatter_packed_into<R: MessageMut + ?Sized>(&self, into: &mut R) -> Result<(), Error> {
        scatter::<Self, [u8], R>(self, None, into)
    }

    /// Sends every rank its part, in the order of the ranks, and receives one's own. They may expect different numbers of values
    /// (`MPI_Scatterv`).
    ///
    /// # Errors
    /// As [`scatter_packed_into`](Self::scatter_packed_into).
    fn scatter_packed_into_root<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Message + ?Sized,
        R: MessageMut + ?Sized,
    {
        scatter(self, Some(message), into)
    }
}

impl<R: Root + ?Sized> PackedRoot for R {}

/// Unpacks what has arrived, if it fits.
fn unpack<M: MessageMut + ?Sized>(message: &mut M, packed: &[u8]) -> Result<(), Error> {
    let expected = message.packed_size();
    if packed.len() != expected {
        return Err(Error::Fit { expected, found: packed.len() });
    }
    message.unpack(packed)
}

/// So many bytes of the root's to every rank: no more than an MPI count.
fn broadcast(communicator: MPI_Comm, root: c_int, place: *mut u8, bytes: usize) -> Result<(), Error> {
    // SAFETY: the callers have as many bytes there, the same number on all ranks.
    let call =
        || unsafe { ffi::MPI_Bcast(place.cast(), bytes as c_int, packed_datatype(), root, communicator) };
    called("MPI_Bcast", call)
}

/// The datatype in which ranks tell each other numbers.
fn number() -> MPI_Datatype {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_UINT64_T }
}

/// Tells all ranks some numbers, and is told theirs.
fn tell_all<const N: usize>(
    communicator: MPI_Comm,
    ranks: c_int,
    own: [usize; N],
) -> Result<Vec<[u64; N]>, Error> {
    let (own, mut all) = (own.map(|number| number as u64), vec![[0; N]; ranks as usize]);
    // SAFETY: so many numbers from each rank to each.
    let call = || unsafe {
        let (from, to, count) = (own.as_ptr().cast(), all.as_mut_ptr().cast(), N as c_int);
        ffi::MPI_Allgather(from, count, number(), to, count, number(), communicator)
    };
    called("MPI_Allgather", call)?;
    Ok(all)
}

/// The bytes of the largest buffer, which all ranks know, so that they count in one unit. Between groups they know only each other's: there
/// one byte is counted as one.
fn largest(communicator: MPI_Comm, bytes: u64) -> Result<u64, Error> {
    let mut between_groups = 0;
    // SAFETY: the communicator is one of rsmpi's.
    let call = || unsafe { ffi::MPI_Comm_test_inter(communicator, &raw mut between_groups) };
    called("MPI_Comm_test_inter", call)?;
    Ok(if between_groups == 0 { bytes } else { 0 })
}

/// Sends a part of a buffer to each rank, and gives what comes from each.
fn exchange(
    communicator: MPI_Comm,
    outgoing: &[u64],
    pack: impl FnOnce(&Parts) -> Result<Buffer, Error>,
) -> Result<(Buffer, Parts), Error> {
    let mut incoming = vec![0u64; outgoing.len()];
    // SAFETY: a number from each rank to each.
    let call = || unsafe {
        let (from, to) = (outgoing.as_ptr().cast(), incoming.as_mut_ptr().cast());
        ffi::MPI_Alltoall(from, 1, number(), to, 1, number(), communicator)
    };
    called("MPI_Alltoall", call)?;
    // All ranks count in the unit of the largest buffer.
    let (own, mut bytes) = (total(outgoing).max(total(&incoming)), 0u64);
    // SAFETY: one number on every rank.
    let call = || unsafe {
        let (from, to) = ((&raw const own).cast(), (&raw mut bytes).cast());
        ffi::MPI_Allreduce(from, to, 1, number(), ffi::RSMPI_MAX, communicator)
    };
    called("MPI_Allreduce", call)?;
    let largest = largest(communicator, bytes)?;
    let (outgoing, incoming) = (Parts::of(outgoing, largest)?, Parts::of(&incoming, largest)?);
    let (mut packed, mut all) = (pack(&outgoing)?, buffer(incoming.room())?);
    let (from, to, unit) = (packed.place(), all.place(), incoming.unit()?);
    // SAFETY: there are as many bytes as have been told, on both sides.
    let call = || unsafe {
        let (counts, starts, kind) = (outgoing.counts.as_ptr(), outgoing.starts.as_ptr(), unit.datatype);
        let (counts_in, starts_in) = (incoming.counts.as_ptr(), incoming.starts.as_ptr());
        let (from, to) = (from.cast(), to.cast());
        ffi::MPI_Alltoallv(from, counts, starts, kind, to, counts_in, starts_in, kind, communicator)
    };
    called("MPI_Alltoallv", call)?;
    Ok((all, incoming))
}

/// The packed bytes of all ranks, at the root; elsewhere an empty buffer.
fn gather<R: Root + ?Sized, M: Message + ?Sized>(root: &R, message: &M) -> Result<(Buffer, Parts), Error> {
    let (world, to_rank) = (root.as_communicator(), root.root_rank());
    let communicator = ready_on(world)?;
    let sizes = tell_all(communicator, world.target_size(), [message.packed_size()])?;
    let (sizes, largest) = (sizes.as_flattened(), largest(communicator, total(sizes.as_flattened()))?);
    let parts = Parts::of(if world.rank() == to_rank { sizes } else { &[] }, largest)?;
    let ((mut packed, own), mut all) = (parts.pack_one(message)?, buffer(parts.room())?);
    let (from, to, unit) = (packed.place(), all.place(), parts.unit()?);
    // SAFETY: there are as many bytes as have been told.
    let call = || unsafe {
        let (counts, starts, kind) = (parts.counts.as_ptr(), parts.starts.as_ptr(), unit.datatype);
        ffi::MPI_Gatherv(from.cast(), own, kind, to.cast(), counts, starts, kind, to_rank, communicator)
    };
    called("MPI_Gatherv", call)?;
    Ok((all, parts))
}

/// The root's message in parts to all ranks: at the root there is one.
fn scatter<R, S, M>(root: &R, message: Option<&S>, into: &mut M) -> Result<(), Error>
where
    R: Root + ?Sized,
    S: Message + ?Sized,
    M: MessageMut + ?Sized,
{
    let (world, from_rank) = (root.as_communicator(), root.root_rank());
    let communicator = ready_on(world)?;
    let expected = into.packed_size();
    // What each rank expects, and what the root has.
    let told = [expected, message.map_or(0, S::packed_size)];
    let told = tell_all(communicator, world.target_size(), told)?;
    let sizes: Vec<u64> = told.iter().map(|[expected, _]| *expected).collect();
    let (all, found) = (total(&sizes), told.get(from_rank as usize).map_or(0, |[_, found]| *found));
    if found != all {
        let [expected, found] = [all, found].map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        return Err(Error::Fit { expected, found });
    }
    let parts = Parts::of(&sizes, largest(communicator, all)?)?;
    let mut packed = match message.filter(|_| world.rank() == from_rank) {
        Some(message) => parts.pack(message)?,
        None => buffer(0)?,
    };
    let (mut part, own) = parts.room_for(expected)?;
    let (from, to, unit) = (packed.place(), part.place(), parts.unit()?);
    // SAFETY: there are as many bytes as have been told.
    let call = || unsafe {
        let (counts, starts, kind) = (parts.counts.as_ptr(), parts.starts.as_ptr(), unit.datatype);
        ffi::MPI_Scatterv(from.cast(), counts, starts, kind, to.cast(), own, kind, from_rank, communicator)
    };
    called("MPI_Scatterv", call)?;
    // SAFETY: all of it has been received.
    into.unpack(unsafe { part.first(expected) })
}
