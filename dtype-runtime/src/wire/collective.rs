//! Collective calls on packed bytes (MPI 4.1 chapter 6).
//!
//! Every rank first tells how many packed bytes it has, or expects. So the numbers of values may differ from rank to rank, and where
//! they do not fit, every rank to which something would come gets an error instead, and all ranks come out of the call.

use std::os::raw::c_int;

use ::mpi::{
    Count,
    collective::Root,
    ffi::{self, MPI_Comm},
    raw::AsRaw,
    topology::Communicator,
};

use super::{
    Message, MessageMut,
    pool::Buffer,
    transfer::{buffer, pack},
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
    /// [`Error::Argument`] for more bytes than an MPI count.
    fn all_gather_packed<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Message + ?Sized,
        R: MessageMut + ?Sized,
    {
        const CALL: &str = "MPI_Allgatherv";
        let communicator = ready_on(self)?;
        let sizes = tell_all(communicator, self.target_size(), message.packed_size())?;
        let own = count(CALL, message.packed_size() as u64)?;
        let (mut packed, parts) = (pack(message)?, Parts::of(CALL, &sizes)?);
        let mut all = buffer(parts.total)?;
        let (from, to, kind) = (packed.place(), all.place(), packed_datatype());
        // SAFETY: there are as many bytes as have been told, on both sides.
        let call = || unsafe {
            let (counts, starts) = (parts.counts.as_ptr(), parts.starts.as_ptr());
            ffi::MPI_Allgatherv(from.cast(), own, kind, to.cast(), counts, starts, kind, communicator)
        };
        called(CALL, call)?;
        // SAFETY: all of it has been received.
        unpack(into, unsafe { all.first(parts.total) })
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
        let packed = pack(message)?;
        // SAFETY: all of it has been packed.
        let (all, incoming) =
            exchange(communicator, unsafe { packed.first(size) }, &vec![part as u64; ranks])?;
        if !divides {
            return Err(Error::Parts {
                what: "packed bytes, which are not values for every rank",
                found: size,
                ranks,
            });
        }
        // SAFETY: all of it has been received.
        unpack(into, unsafe { all.first(incoming.total) })
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
        let parts = Parts::of("MPI_Alltoallv", &sizes)?;
        let mut packed = buffer(parts.total)?;
        for (i, message) in messages.iter().enumerate().filter(|_| right) {
            // SAFETY: there is room for all of them, one after the other.
            unsafe { message.pack(packed.place().add(parts.range(i).start)) };
        }
        // SAFETY: all of them have been packed.
        let (all, incoming) = exchange(communicator, unsafe { packed.first(parts.total) }, &sizes)?;
        if !right {
            let found = messages.len().min(into.len());
            return Err(Error::Parts { what: "messages", found, ranks });
        }
        // SAFETY: all of it has been received.
        let all = unsafe { all.first(incoming.total) };
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
        let part = part.max(1);
        let fits = size == expected;
        let in_parts = fits && message.any_pattern();
        let mut packed = buffer(part.min(size))?;
        let mut whole = Vec::new();
        for start in (0..size).step_by(part) {
            let end = size.min(start.saturating_add(part));
            let bytes = packed.first_mut(end - start);
            if is_root {
                message.pack_range(start..end, bytes)?;
            }
            broadcast(communicator, root, bytes.as_mut_ptr(), end - start)?;
            if is_root {
                continue;
            }
            if in_parts {
                message.unpack_range(start, bytes)?;
            } else if fits {
                whole.extend_from_slice(bytes);
            }
        }
        if !fits {
            return Err(Error::Fit { expected, found: size });
        }
        if is_root || in_parts { Ok(()) } else { message.unpack(&whole) }
    }

    /// Sends this rank's values to the root, which calls [`gather_packed_into_root`](Self::gather_packed_into_root) (`MPI_Gather`).
    ///
    /// # Errors
    /// [`Error::Argument`] for more bytes than an MPI count.
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
        let (all, size) = gather(self, message)?;
        // SAFETY: all of it has been received.
        unpack(into, unsafe { all.first(size) })
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

/// How many bytes each rank has of a buffer, and where they begin.
struct Parts {
    counts: Vec<Count>,
    starts: Vec<Count>,
    total: usize,
}

impl Parts {
    fn of(call: &'static str, sizes: &[u64]) -> Result<Self, Error> {
        let (mut parts, mut total) = (Self { counts: Vec::new(), starts: Vec::new(), total: 0 }, 0u64);
        for size in sizes {
            parts.counts.push(count(call, *size)?);
            parts.starts.push(count(call, total)?);
            total = total.saturating_add(*size);
        }
        parts.total = usize::try_from(total).map_err(|_| Error::Memory { bytes: usize::MAX })?;
        Ok(parts)
    }

    fn range(&self, rank: usize) -> std::ops::Range<usize> {
        let start = self.starts[rank] as usize;
        start..start + self.counts[rank] as usize
    }
}

fn count(call: &'static str, bytes: u64) -> Result<Count, Error> {
    let (value, limit) = (i128::from(bytes), i128::from(Count::MAX));
    Count::try_from(bytes).map_err(|_| Error::Argument {
        call,
        argument: "the bytes of a rank",
        value,
        limit,
    })
}

/// Unpacks what has arrived, if it fits.
fn unpack<M: MessageMut + ?Sized>(message: &mut M, packed: &[u8]) -> Result<(), Error> {
    let expected = message.packed_size();
    if packed.len() != expected {
        return Err(Error::Fit { expected, found: packed.len() });
    }
    message.unpack(packed)
}

/// So many bytes of the root's to every rank.
fn broadcast(communicator: MPI_Comm, root: c_int, place: *mut u8, bytes: usize) -> Result<(), Error> {
    let count = count("MPI_Bcast", bytes as u64)?;
    // SAFETY: the callers have as many bytes there, the same number on all ranks.
    let call = || unsafe { ffi::MPI_Bcast(place.cast(), count, packed_datatype(), root, communicator) };
    called("MPI_Bcast", call)
}

/// Tells all ranks a number, and is told theirs.
fn tell_all(communicator: MPI_Comm, ranks: c_int, number: usize) -> Result<Vec<u64>, Error> {
    let (own, mut all) = (number as u64, vec![0u64; ranks as usize]);
    // SAFETY: a number from each rank to each.
    let call = || unsafe {
        let (from, to, kind) = ((&raw const own).cast(), all.as_mut_ptr().cast(), ffi::RSMPI_UINT64_T);
        ffi::MPI_Allgather(from, 1, kind, to, 1, kind, communicator)
    };
    called("MPI_Allgather", call)?;
    Ok(all)
}

/// Sends a part of a buffer to each rank, and gives what comes from each.
fn exchange(communicator: MPI_Comm, packed: &[u8], outgoing: &[u64]) -> Result<(Buffer, Parts), Error> {
    let mut sizes = vec![0u64; outgoing.len()];
    // SAFETY: a number from each rank to each.
    let call = || unsafe {
        let (from, to, kind) = (outgoing.as_ptr().cast(), sizes.as_mut_ptr().cast(), ffi::RSMPI_UINT64_T);
        ffi::MPI_Alltoall(from, 1, kind, to, 1, kind, communicator)
    };
    called("MPI_Alltoall", call)?;
    let outgoing = Parts::of("MPI_Alltoallv", outgoing)?;
    let incoming = Parts::of("MPI_Alltoallv", &sizes)?;
    debug_assert!(packed.len() >= outgoing.total);
    let mut all = buffer(incoming.total)?;
    let (from, to, kind) = (packed.as_ptr().cast(), all.place().cast(), packed_datatype());
    // SAFETY: there are as many bytes as have been told, on both sides.
    let call = || unsafe {
        let (counts, starts) = (outgoing.counts.as_ptr(), outgoing.starts.as_ptr());
        let (counts_in, starts_in) = (incoming.counts.as_ptr(), incoming.starts.as_ptr());
        ffi::MPI_Alltoallv(from, counts, starts, kind, to, counts_in, starts_in, kind, communicator)
    };
    called("MPI_Alltoallv", call)?;
    Ok((all, incoming))
}

/// The packed bytes of all ranks, at the root; elsewhere none.
fn gather<R: Root + ?Sized, M: Message + ?Sized>(root: &R, message: &M) -> Result<(Buffer, usize), Error> {
    const CALL: &str = "MPI_Gatherv";
    let (communicator, rank) = (ready_on(root.as_communicator())?, root.root_rank());
    let sizes = tell_root(root, message.packed_size())?;
    let own = count(CALL, message.packed_size() as u64)?;
    let (mut packed, parts) = (pack(message)?, Parts::of(CALL, &sizes)?);
    let mut all = buffer(parts.total)?;
    let (from, to, kind) = (packed.place(), all.place(), packed_datatype());
    // SAFETY: there are as many bytes as have been told.
    let call = || unsafe {
        let (counts, starts) = (parts.counts.as_ptr(), parts.starts.as_ptr());
        ffi::MPI_Gatherv(from.cast(), own, kind, to.cast(), counts, starts, kind, rank, communicator)
    };
    called(CALL, call)?;
    Ok((all, parts.total))
}

/// Tells the root a number; it is told those of all ranks, and the others nothing.
fn tell_root<R: Root + ?Sized>(root: &R, number: usize) -> Result<Vec<u64>, Error> {
    let (world, rank) = (root.as_communicator(), root.root_rank());
    let communicator = world.as_raw();
    let ranks = if world.rank() == rank { world.target_size() as usize } else { 0 };
    let (own, mut all) = (number as u64, vec![0u64; ranks]);
    // SAFETY: a number from each rank, for which there is room at the root.
    let call = || unsafe {
        let (from, to, kind) = ((&raw const own).cast(), all.as_mut_ptr().cast(), ffi::RSMPI_UINT64_T);
        ffi::MPI_Gather(from, 1, kind, to, 1, kind, rank, communicator)
    };
    called("MPI_Gather", call)?;
    Ok(all)
}

/// The root's message in parts to all ranks: at the root there is one.
fn scatter<R, S, M>(root: &R, message: Option<&S>, into: &mut M) -> Result<(), Error>
where
    R: Root + ?Sized,
    S: Message + ?Sized,
    M: MessageMut + ?Sized,
{
    const CALL: &str = "MPI_Scatterv";
    let (communicator, rank) = (ready_on(root.as_communicator())?, root.root_rank());
    let expected = into.packed_size();
    let own = count(CALL, expected as u64)?;
    let parts = Parts::of(CALL, &tell_root(root, expected)?)?;
    // All ranks are told what the root has, and what they would have to take of it.
    let mut told = [message.map_or(0, |message| message.packed_size() as u64), parts.total as u64];
    broadcast(communicator, rank, told.as_mut_ptr().cast(), size_of_val(&told))?;
    if told[0] != told[1] {
        let [found, expected] = told.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        return Err(Error::Fit { expected, found });
    }
    let mut packed = message.map_or_else(|| buffer(0), pack)?;
    let mut part = buffer(expected)?;
    let (from, to, kind) = (packed.place(), part.place(), packed_datatype());
    // SAFETY: there are as many bytes as have been told.
    let call = || unsafe {
        let (counts, starts) = (parts.counts.as_ptr(), parts.starts.as_ptr());
        ffi::MPI_Scatterv(from.cast(), counts, starts, kind, to.cast(), own, kind, rank, communicator)
    };
    called(CALL, call)?;
    // SAFETY: all of it has been received.
    into.unpack(unsafe { part.first(expected) })
}
