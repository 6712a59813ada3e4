//! Collective calls on packed bytes (MPI 4.1 chapter 6).
//!
//! Every rank first tells how many packed bytes it has, or expects. So the numbers of values may differ from
//! rank to rank, and where they do not fit, every rank to which something would come gets an error instead,
//! and all ranks come out of the call. What has been announced must also come: behind the bytes of each rank
//! is a seal, of a number that it tells with them (`frame.rs`).
//!
//! More bytes than an MPI count are counted in larger units, which all ranks agree on: see `parts.rs`.

use std::os::raw::c_int;

use ::mpi::{
    collective::Root,
    ffi::{self, MPI_Comm, MPI_Datatype},
    topology::Communicator,
};

use super::{
    Receivable, Sendable,
    frame::{break_seal, draw, fits, seal, seal_size, unseal},
    parts::{Parts, Told, total, with_seals},
    pool::Buffer,
};
use crate::{
    Error,
    mpi::{called, packed_datatype, ready_on},
};

/// Collective calls without a root, on packed bytes.
pub trait PackedCollectives: Communicator {
    /// Sends the values of every rank to every rank, in the order of the ranks (`MPI_Allgather`, and
    /// `MPI_Allgatherv` where ranks send different numbers of values).
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
    /// [`Error::Fit`] where all together are not as many bytes as are received here; [`Error::InvalidValue`];
    /// [`Error::Announced`] where a rank makes another call; with `DTYPE_CHECK=1`, [`Error::Mismatch`].
    /// Nothing is written then.
    fn all_gather_packed<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Sendable + ?Sized,
        R: Receivable + ?Sized,
    {
        let communicator = ready_on(self)?;
        let drawn = draw();
        let told = tell_all(communicator, self.target_size(), [message.packed_size() as u64, drawn])?;
        let bytes = with_seals(&told);
        let parts = Parts::of(&told, largest(communicator, bytes)?)?;
        let buffers = parts.pack_one(message, drawn).and_then(|one| Ok((one, parts.room_for_all()?)));
        let ((packed, own), mut all) = all_have_memory(communicator, bytes, buffers)?;
        let (from, to, unit) = (packed.as_ptr(), all.as_mut_ptr(), parts.unit()?);
        called("MPI_Allgatherv", communicator, || {
            let (counts, starts, kind) = (parts.counts.as_ptr(), parts.starts.as_ptr(), unit.datatype);
            // SAFETY: the buffers have room for as many units as are sent, and as have been announced.
            unsafe {
                ffi::MPI_Allgatherv(from.cast(), own, kind, to.cast(), counts, starts, kind, communicator)
            }
        })?;
        parts.unpack(&mut all, into)
    }

    /// Sends an equal part of each rank's values to each rank (`MPI_Alltoall`).
    ///
    /// # Errors
    /// [`Error::Parts`] where the values cannot be divided so; otherwise as
    /// [`all_gather_packed`](Self::all_gather_packed).
    fn all_to_all_packed<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Sendable + ?Sized,
        R: Receivable + ?Sized,
    {
        let communicator = ready_on(self)?;
        let (ranks, size) = (self.target_size() as usize, message.packed_size());
        // All ranks must come out of the call, so one whose values cannot be divided sends none.
        let divides = size % ranks == 0 && (size / ranks) % message.step() == 0;
        let part = if divides { size / ranks } else { 0 };
        let outgoing = vec![[part as u64, draw()]; ranks];
        let (mut all, incoming) = exchange(communicator, &outgoing, |parts| parts.pack(message))?;
        if !divides {
            return Err(Error::Parts { what: "packed bytes", found: size, ranks });
        }
        incoming.unpack(&mut all, into)
    }

    /// Sends a message to each rank, and receives one from each: number i goes to rank i, and comes
    /// from there (`MPI_Alltoallv`, or `MPI_Alltoallw`, since each may be of another layout).
    ///
    /// # Errors
    /// [`Error::Parts`] where there are not as many messages as ranks; otherwise as
    /// [`all_gather_packed`](Self::all_gather_packed). Nothing is written where one does not fit; where one
    /// holds an invalid value, those from ranks before have been received.
    fn all_to_all_varcount_packed<S, R>(&self, messages: &[S], into: &mut [R]) -> Result<(), Error>
    where
        S: Sendable,
        R: Receivable,
    {
        let communicator = ready_on(self)?;
        let ranks = self.target_size() as usize;
        // All ranks must come out of the call, so one with too few messages sends nothing.
        let right = messages.len() == ranks && into.len() == ranks;
        let (own, drawn) = (if right { messages } else { &[] }, draw());
        let outgoing: Vec<Told> =
            (0..ranks).map(|i| [own.get(i).map_or(0, S::packed_size) as u64, drawn]).collect();
        let (all, incoming) = exchange(communicator, &outgoing, |parts| parts.pack_each(own))?;
        if !right {
            let (what, found) = if messages.len() == ranks {
                ("messages to receive into", into.len())
            } else {
                ("messages to send", messages.len())
            };
            return Err(Error::Parts { what, found, ranks });
        }
        incoming.unpack_each(&all, into)
    }
}

impl<C: Communicator + ?Sized> PackedCollectives for C {}

/// Collective calls with a root, on packed bytes.
pub trait PackedRoot: Root {
    /// Sends the root's values to every rank (`MPI_Bcast`).
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
    /// [`Error::Fit`] on a rank that has room for another number of bytes than the root sends, and
    /// [`Error::InvalidValue`]: nothing is written there then. [`Error::Announced`] where a rank makes
    /// another call, and with `DTYPE_CHECK=1` [`Error::Mismatch`]: parts of 256 KiB that came before may have
    /// been written.
    fn broadcast_packed<M: Receivable + ?Sized>(&self, message: &mut M) -> Result<(), Error> {
        /// Bytes of a part: while one travels, another one is packed or unpacked.
        const PART: usize = 256 << 10;
        let communicator = ready_on(self.as_communicator())?;
        let (root, is_root) = (self.root_rank(), self.as_communicator().rank() == self.root_rank());
        let expected = message.packed_size();
        // Parts end between values of the root's.
        let part = PART - PART % message.step().min(PART);
        let mut told = [expected as u64, part as u64, draw()].map(u64::to_ne_bytes);
        broadcast(communicator, root, told.as_flattened_mut())?;
        let [size, part, drawn] = told.map(u64::from_ne_bytes);
        let [size, part] = [size, part].map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let part = part.clamp(1, PART);
        let mut packed = Buffer::with_room(part.min(size) + seal_size())?;
        // What is refused is received all the same: all ranks must come out of the call.
        let mut refused = fits(message, size, None).err();
        // What has to be looked at before any of it is written is put together first.
        let looks_first = refused.is_none() && !is_root && !message.any_pattern();
        let mut whole = if looks_first {
            Buffer::with_room(size).map_err(|error| refused = Some(error)).ok()
        } else {
            None
        };
        for start in (0..size).step_by(part) {
            let bytes = start..size.min(start.saturating_add(part));
            let drawn = drawn.wrapping_add(start as u64);
            let (place, behind) = packed[..bytes.len() + seal_size()].split_at_mut(bytes.len());
            if is_root {
                message.pack_range(bytes.clone(), place)?;
                seal(message, bytes.clone(), drawn, behind);
            } else {
                break_seal(drawn, behind);
            }
            broadcast(communicator, root, &mut packed[..bytes.len() + seal_size()])?;
            if is_root || refused.is_some() {
                continue;
            }
            let (place, behind) = packed.split_at(bytes.len());
            let taken = unseal(message, bytes.clone(), drawn, behind, root).and_then(|()| match &mut whole {
                Some(whole) => {
                    whole[bytes].copy_from_slice(place);
                    Ok(())
                }
                None => message.unpack_range(start, place),
            });
            refused = taken.err();
        }
        match (refused, whole) {
            (Some(error), _) => Err(error),
            (None, Some(whole)) => message.unpack(&whole[..size]),
            (None, None) => Ok(()),
        }
    }

    /// Sends this rank's values to the root, which calls
    /// [`gather_packed_into_root`](Self::gather_packed_into_root) (`MPI_Gather`).
    ///
    /// # Errors
    /// Before `MPI_Init` and after `MPI_Finalize`; where MPI refuses a call; where there is no memory for a
    /// buffer.
    fn gather_packed<S: Sendable + ?Sized>(&self, message: &S) -> Result<(), Error> {
        gather(self, message).map(|_| ())
    }

    /// Receives the values of all ranks at the root, its own included, in the order of the ranks. They may
    /// send different numbers of them (`MPI_Gatherv`).
    ///
    /// # Errors
    /// As [`all_gather_packed`](PackedCollectives::all_gather_packed).
    fn gather_packed_into_root<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Sendable + ?Sized,
        R: Receivable + ?Sized,
    {
        let (mut all, parts) = gather(self, message)?;
        match parts {
            Some(parts) => parts.unpack(&mut all, into),
            None => fits(into, 0, None),
        }
    }

    /// Receives this rank's part from the root, which calls
    /// [`scatter_packed_into_root`](Self::scatter_packed_into_root) (`MPI_Scatter`).
    ///
    /// # Errors
    /// [`Error::Fit`] on all ranks where the root does not have just as many bytes as all ranks expect;
    /// [`Error::InvalidValue`]; nothing is written then.
    fn scatter_packed_into<R: Receivable + ?Sized>(&self, into: &mut R) -> Result<(), Error> {
        scatter::<Self, [u8], R>(self, None, into)
    }

    /// Sends every rank its part, in the order of the ranks, and receives one's own. They may expect
    /// different numbers of values (`MPI_Scatterv`).
    ///
    /// # Errors
    /// As [`scatter_packed_into`](Self::scatter_packed_into).
    fn scatter_packed_into_root<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Sendable + ?Sized,
        R: Receivable + ?Sized,
    {
        scatter(self, Some(message), into)
    }
}

impl<R: Root + ?Sized> PackedRoot for R {}

/// Sends bytes of the root's to every rank: no more than an MPI count, and the same number on all ranks.
fn broadcast(communicator: MPI_Comm, root: c_int, bytes: &mut [u8]) -> Result<(), Error> {
    called("MPI_Bcast", communicator, || {
        let (place, count) = (bytes.as_mut_ptr().cast(), bytes.len() as c_int);
        // SAFETY: the bytes are there, to be written.
        unsafe { ffi::MPI_Bcast(place, count, packed_datatype(), root, communicator) }
    })
}

/// The datatype in which ranks tell each other numbers.
fn number() -> MPI_Datatype {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_UINT64_T }
}

/// Exchanges `N` numbers of each rank with all ranks (`MPI_Allgather`).
fn tell_all<const N: usize>(
    communicator: MPI_Comm,
    ranks: c_int,
    own: [u64; N],
) -> Result<Vec<[u64; N]>, Error> {
    let mut all = vec![[0; N]; ranks as usize];
    called("MPI_Allgather", communicator, || {
        let (from, to, count) = (own.as_ptr().cast(), all.as_mut_ptr().cast(), N as c_int);
        // SAFETY: there is room for `N` numbers of each rank.
        unsafe { ffi::MPI_Allgather(from, count, number(), to, count, number(), communicator) }
    })?;
    Ok(all)
}

/// Whether a communicator is one between two groups.
fn is_between_groups(communicator: MPI_Comm) -> Result<bool, Error> {
    let mut between_groups = 0;
    called("MPI_Comm_test_inter", communicator, || {
        // SAFETY: the communicator is one of rsmpi's; there is room for a flag.
        unsafe { ffi::MPI_Comm_test_inter(communicator, &raw mut between_groups) }
    })?;
    Ok(between_groups != 0)
}

/// The bytes of the largest buffer, which all ranks know, so that they count in one unit. Between groups they
/// know only each other's: there one byte is counted as one.
fn largest(communicator: MPI_Comm, bytes: u64) -> Result<u64, Error> {
    Ok(if is_between_groups(communicator)? { 0 } else { bytes })
}

/// Reduces a number of each rank, with an operation for numbers.
fn reduce(communicator: MPI_Comm, own: u64, operation: ffi::MPI_Op) -> Result<u64, Error> {
    let mut all = 0u64;
    called("MPI_Allreduce", communicator, || {
        let (from, to) = ((&raw const own).cast(), (&raw mut all).cast());
        // SAFETY: one number on every rank.
        unsafe { ffi::MPI_Allreduce(from, to, 1, number(), operation, communicator) }
    })?;
    Ok(all)
}

/// What a rank has made in memory, if all ranks have: otherwise some would wait for those that have not.
/// Where there are few bytes nobody asks; all ranks know how many there are.
fn all_have_memory<T>(communicator: MPI_Comm, bytes: u64, own: Result<T, Error>) -> Result<T, Error> {
    const FEW: u64 = 256 << 20;
    if bytes <= FEW || is_between_groups(communicator)? {
        return own;
    }
    // SAFETY: a constant of the library.
    let minimum = unsafe { ffi::RSMPI_MIN };
    let all_have = reduce(communicator, own.is_ok().into(), minimum)? == 1;
    match own {
        Ok(_) if !all_have => Err(Error::Memory { bytes: usize::try_from(bytes).unwrap_or(usize::MAX) }),
        own => own,
    }
}

/// Sends a part of a buffer to each rank, and gives what comes from each.
fn exchange(
    communicator: MPI_Comm,
    outgoing: &[Told],
    pack: impl FnOnce(&Parts) -> Result<Buffer, Error>,
) -> Result<(Buffer, Parts), Error> {
    let mut incoming = vec![[0u64; 2]; outgoing.len()];
    called("MPI_Alltoall", communicator, || {
        let (from, to) = (outgoing.as_ptr().cast(), incoming.as_mut_ptr().cast());
        // SAFETY: two numbers for each rank, and room for two of each.
        unsafe { ffi::MPI_Alltoall(from, 2, number(), to, 2, number(), communicator) }
    })?;
    // All ranks count in the unit of the largest buffer.
    // SAFETY: a constant of the library.
    let maximum = unsafe { ffi::RSMPI_MAX };
    let bytes = reduce(communicator, with_seals(outgoing).max(with_seals(&incoming)), maximum)?;
    let largest = largest(communicator, bytes)?;
    let made = Parts::of(outgoing, largest).and_then(|outgoing| {
        let incoming = Parts::of(&incoming, largest)?;
        Ok((pack(&outgoing)?, incoming.room_for_all()?, outgoing, incoming))
    });
    let (packed, mut all, outgoing, incoming) = all_have_memory(communicator, bytes, made)?;
    let (from, to, unit) = (packed.as_ptr(), all.as_mut_ptr(), incoming.unit()?);
    called("MPI_Alltoallv", communicator, || {
        let (counts, starts, kind) = (outgoing.counts.as_ptr(), outgoing.starts.as_ptr(), unit.datatype);
        let (counts_in, starts_in) = (incoming.counts.as_ptr(), incoming.starts.as_ptr());
        let (from, to) = (from.cast(), to.cast());
        // SAFETY: the buffers have room for as many units as are sent, and as have been announced.
        unsafe {
            ffi::MPI_Alltoallv(from, counts, starts, kind, to, counts_in, starts_in, kind, communicator)
        }
    })?;
    Ok((all, incoming))
}

/// The packed bytes of all ranks and how they are divided, at the root; elsewhere nothing.
fn gather<R: Root + ?Sized, M: Sendable + ?Sized>(
    root: &R,
    message: &M,
) -> Result<(Buffer, Option<Parts>), Error> {
    let (world, to_rank) = (root.as_communicator(), root.root_rank());
    let communicator = ready_on(world)?;
    let is_root = world.rank() == to_rank;
    let drawn = draw();
    let told = tell_all(communicator, world.target_size(), [message.packed_size() as u64, drawn])?;
    let bytes = with_seals(&told);
    let parts = Parts::of(&told, largest(communicator, bytes)?)?;
    let buffers = parts
        .pack_one(message, drawn)
        .and_then(|one| Ok((one, if is_root { parts.room_for_all()? } else { Buffer::with_room(0)? })));
    let ((packed, own), mut all) = all_have_memory(communicator, bytes, buffers)?;
    let (from, to, unit) = (packed.as_ptr(), all.as_mut_ptr(), parts.unit()?);
    called("MPI_Gatherv", communicator, || {
        let (counts, starts, kind) = (parts.counts.as_ptr(), parts.starts.as_ptr(), unit.datatype);
        // SAFETY: the buffers have room for as many units as are sent, and at the root as have been
        // announced; elsewhere MPI looks at what is sent only.
        unsafe {
            ffi::MPI_Gatherv(from.cast(), own, kind, to.cast(), counts, starts, kind, to_rank, communicator)
        }
    })?;
    Ok((all, is_root.then_some(parts)))
}

/// The root's message in parts to all ranks: at the root there is one.
fn scatter<R, S, M>(root: &R, message: Option<&S>, into: &mut M) -> Result<(), Error>
where
    R: Root + ?Sized,
    S: Sendable + ?Sized,
    M: Receivable + ?Sized,
{
    let (world, from_rank) = (root.as_communicator(), root.root_rank());
    let communicator = ready_on(world)?;
    let expected = into.packed_size();
    // What each rank expects, and what the root has.
    let own = [expected as u64, message.map_or(0, S::packed_size) as u64, draw()];
    let all = tell_all(communicator, world.target_size(), own)?;
    let [_, found, drawn] = all.get(from_rank as usize).copied().unwrap_or_default();
    let told: Vec<Told> = all.iter().map(|[expected, ..]| [*expected, drawn]).collect();
    if found != total(&told) {
        let [expected, found] =
            [total(&told), found].map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        return Err(Error::Fit { expected, found: Some(found), from: None });
    }
    let bytes = with_seals(&told);
    let parts = Parts::of(&told, largest(communicator, bytes)?)?;
    let packed = match message.filter(|_| world.rank() == from_rank) {
        Some(message) => parts.pack(message),
        None => Buffer::with_room(0),
    };
    let buffers = packed.and_then(|packed| Ok((packed, parts.room_for(expected, drawn)?)));
    let (packed, (mut part, own)) = all_have_memory(communicator, bytes, buffers)?;
    let (from, to, unit) = (packed.as_ptr(), part.as_mut_ptr(), parts.unit()?);
    called("MPI_Scatterv", communicator, || {
        let (counts, starts, kind) = (parts.counts.as_ptr(), parts.starts.as_ptr(), unit.datatype);
        // SAFETY: the root's buffer has all parts, and there is room for as many units as are expected here;
        // elsewhere MPI does not look at what is sent.
        unsafe {
            ffi::MPI_Scatterv(
                from.cast(),
                counts,
                starts,
                kind,
                to.cast(),
                own,
                kind,
                from_rank,
                communicator,
            )
        }
    })?;
    let (packed, seal) = part.split_at(expected);
    unseal(into, 0..expected, drawn, seal, from_rank)?;
    into.unpack(packed)
}
