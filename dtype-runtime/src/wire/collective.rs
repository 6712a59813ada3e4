//! Collective calls on packed bytes (MPI 4.1 chapter 6).
//!
//! The ranks first find out whether all of them send, or expect, the same number of packed bytes. This takes
//! one reduction of a few numbers, however many ranks there are. If the numbers are equal, the plain MPI call
//! follows. Otherwise the sizes are sent to the receivers, and in an all-to-all short parts with them. So the
//! numbers of values may differ from rank to rank. If the numbers do not fit, every rank that would receive
//! something gets an error instead, and all ranks complete the call. The announced bytes must also arrive:
//! behind the bytes of each rank is a seal, with a number drawn at random for the call (`frame.rs`). As in
//! MPI, nothing checks that all ranks make the same call with the same root.
//!
//! A program may know that all ranks have the same number of bytes. For such a program there are calls whose
//! names end in `_exact`, which send only the packed bytes. They are unsafe, because libraries write a
//! message that is longer than expected past the end of a buffer. On intercommunicators, and with
//! `DTYPE_CHECK=1`, they do the same as the other calls.
//!
//! If there are more bytes than fit an MPI count, they are counted in larger units, on which all ranks agree:
//! see `parts.rs`.

use std::{os::raw::c_int, sync::Arc};

use ::mpi::{
    collective::Root,
    ffi::{self, MPI_Comm},
    topology::Communicator,
};

use super::{
    Receivable, Sendable,
    agreement::{number, reduce, together},
    attach::{Companion, companion},
    broadcast::broadcast,
    exchange::{Ends, PendingExchange, PreparedExchange},
    frame::{checks, draw, fits, seal_size},
    members::{Members, Rooted, intracommunicator, members},
    parts::{Described, Form, Parts, Sizes, Told, with_seals},
    request::Address,
};
use crate::{
    Error,
    mpi::{Usable, called, is_between_groups, ready},
    pack::PackBuffer,
};

/// Collective calls without a root, on packed bytes.
///
/// All ranks must make the same calls in the same order, as MPI requires of its own calls (MPI 4.1 section
/// 6.1). If one rank makes another call, ranks may wait for ever. The numbers of values may differ between
/// ranks: each call documents the result.
pub trait PackedCollectives: Communicator {
    /// Sends the values of every rank to every rank, in the order of the ranks (`MPI_Allgather`, or
    /// `MPI_Allgatherv` if ranks send different numbers of values).
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
    /// [`Error::Fit`] if all ranks together do not send exactly as many bytes as are received here;
    /// [`Error::InvalidValue`]; [`Error::Announced`] if not all bytes arrive that a rank has announced; with
    /// `DTYPE_CHECK=1`, [`Error::Mismatch`]. After an error, nothing has been written.
    fn all_gather_packed<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Sendable + ?Sized,
        R: Receivable + ?Sized,
    {
        let mpi = &ready()?;
        all_gather(&agree(members(mpi, self)?, message.packed_size(), 0)?, message, into)
    }

    /// Like [`all_gather_packed`](Self::all_gather_packed), but all ranks must have the same number of packed
    /// bytes. The call is one `MPI_Allgather` of them, and nothing else.
    ///
    /// # Errors
    /// The errors of [`all_gather_packed`](Self::all_gather_packed), except [`Error::Announced`]. A rank
    /// without memory for a buffer leaves the others waiting.
    ///
    /// # Safety
    /// All ranks make this call, and their messages have the same number of packed bytes.
    unsafe fn all_gather_packed_exact<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Sendable + ?Sized,
        R: Receivable + ?Sized,
    {
        let mpi = &ready()?;
        // SAFETY: the caller guarantees 1 of `promised`.
        let agreed = unsafe { promised(members(mpi, self)?, message.packed_size(), 0) }?;
        all_gather(&agreed, message, into)
    }

    /// Sends an equal part of each rank's values to each rank (`MPI_Alltoall`).
    ///
    /// # Errors
    /// [`Error::Parts`] if the values cannot be divided equally; otherwise the errors of
    /// [`all_gather_packed`](Self::all_gather_packed).
    fn all_to_all_packed<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Sendable + ?Sized,
        R: Receivable + ?Sized,
    {
        let mpi = &ready()?;
        let members = members(mpi, self)?;
        // All ranks must complete the call, so a rank whose values cannot be divided sends none.
        let part = part_of(message, members.ranks);
        let agreed = agree(members, *part.as_ref().unwrap_or(&0), 0)?;
        let (mut all, incoming) = all_to_all(&agreed, message)?;
        part?;
        incoming.unpack(&mut all, into)
    }

    /// Like [`all_to_all_packed`](Self::all_to_all_packed), but all ranks must have the same number of packed
    /// bytes. The call is one `MPI_Alltoall` of them, and nothing else.
    ///
    /// # Errors
    /// The errors of [`all_to_all_packed`](Self::all_to_all_packed), except [`Error::Announced`]. A rank
    /// without memory for a buffer, or with values that cannot be divided, leaves the others waiting.
    ///
    /// # Safety
    /// All ranks make this call, and their messages have the same number of packed bytes.
    unsafe fn all_to_all_packed_exact<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Sendable + ?Sized,
        R: Receivable + ?Sized,
    {
        let mpi = &ready()?;
        let members = members(mpi, self)?;
        let part = part_of(message, members.ranks)?;
        // SAFETY: the caller guarantees 1 of `promised`.
        let agreed = unsafe { promised(members, part, 0) }?;
        let (mut all, incoming) = all_to_all(&agreed, message)?;
        incoming.unpack(&mut all, into)
    }

    /// Sends a message to each rank, and receives one from each: message `i` goes to rank `i`, and
    /// destination `i` receives from rank `i` (`MPI_Alltoallv`, or `MPI_Alltoallw`, since each message may
    /// have another layout).
    ///
    /// # Errors
    /// [`Error::Messages`] if there are not as many messages as ranks; otherwise the errors of
    /// [`all_gather_packed`](Self::all_gather_packed). If a message does not fit, nothing has been written.
    /// If a message holds an invalid value, the messages from lower ranks have been received.
    fn all_to_all_varcount_packed<S, R>(&self, messages: &[S], into: &mut [R]) -> Result<(), Error>
    where
        S: Sendable,
        R: Receivable,
    {
        let mpi = &ready()?;
        let Members { communicator, ranks, .. } = members(mpi, self)?;
        // All ranks must complete the call, so a rank with a wrong number of messages sends nothing.
        let right = messages.len() == ranks && into.len() == ranks;
        let (own, drawn) = (if right { messages } else { &[] }, draw());
        let outgoing: Vec<_> =
            (0..ranks).map(|i| [own.get(i).map_or(0, S::packed_size) as u64, drawn]).collect();
        let (all, incoming) = exchange(mpi, communicator, &outgoing, |parts| parts.pack_each(own))?;
        if !right {
            let (what, found) = if messages.len() == ranks {
                ("messages to receive into", into.len())
            } else {
                ("messages to send", messages.len())
            };
            return Err(Error::Messages { what, found, ranks });
        }
        incoming.unpack_each(&all, into)
    }

    /// Like [`all_to_all_varcount_packed`](Self::all_to_all_varcount_packed), but returns without waiting
    /// (`MPI_Ialltoallw`). Each rank sends one message to each rank.
    ///
    /// # Errors
    /// [`Error::Messages`] if there are not as many messages as ranks; otherwise those of
    /// [`PreparedExchange::start`].
    fn start_all_to_all_varcount_packed<'a, S, R>(
        &self,
        messages: &[S],
        into: &'a mut [R],
    ) -> Result<PendingExchange<'a, R>, Error>
    where
        S: Sendable,
        R: Receivable,
    {
        let mpi = &ready()?;
        let (companion, ends) = with_all(mpi, self)?;
        PreparedExchange::start_once(mpi, companion, ends, messages, into)
    }

    /// Prepares exchanges of messages and destinations of these sizes, one for each rank
    /// (`MPI_Alltoallw_init`). All ranks must make this call.
    ///
    /// ```no_run
    /// use dtype_runtime::traits::*;
    /// use mpi::traits::*;
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let world = universe.world();
    /// let ranks = world.size() as usize;
    /// let (sent, mut received) = (vec![[0.5; 10]; ranks], vec![[0.0; 10]; ranks]);
    /// let mut exchange = world.prepare_all_to_all_varcount_packed(&sent, &received)?;
    /// for _ in 0..10 {
    ///     exchange.exchange(&sent, &mut received)?;
    /// }
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Messages`] if there are not as many messages as ranks; [`Error::Elsewhere`] if another rank
    /// has an error; an error if an MPI call fails.
    fn prepare_all_to_all_varcount_packed<S, R>(
        &self,
        messages: &[S],
        into: &[R],
    ) -> Result<PreparedExchange, Error>
    where
        S: Sendable,
        R: Receivable,
    {
        let mpi = &ready()?;
        let (companion, ends) = with_all(mpi, self)?;
        let all = companion.communicator;
        together(mpi, all, PreparedExchange::new(companion, ends, messages, into))
    }
}

impl<C: Communicator + ?Sized> PackedCollectives for C {}

/// Returns the ends of messages between all ranks. All ranks must make this call.
fn with_all(
    mpi: &Usable,
    communicator: &(impl Communicator + ?Sized),
) -> Result<(Arc<Companion>, Ends), Error> {
    let Members { communicator, ranks, .. } = members(mpi, communicator)?;
    intracommunicator(mpi, communicator)?;
    let (companion, tag) = companion(mpi, communicator, 1)?;
    let peer = |i: usize| Address { communicator: companion.communicator, rank: i as c_int, tag };
    let all = || (0..ranks).map(|i| (i, peer(i))).collect();
    let ends = Ends { sends: all(), receives: all(), lengths: [ranks; 2] };
    Ok((companion, ends))
}

/// Collective calls with a root, on packed bytes.
///
/// All ranks must make the same calls in the same order and with the same root, as MPI requires of its own
/// calls (MPI 4.1 section 6.1). If one rank does not, ranks may wait for ever, or receive the data of another
/// call. If the root is not a rank of its communicator, the error is [`Error::Rank`]. On an
/// intercommunicator, the error is [`Error::Wire`].
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
    /// [`Error::Fit`] on a rank that expects another number of bytes than the root sends, and
    /// [`Error::InvalidValue`]: nothing has been written there then. [`Error::Announced`] if not all bytes
    /// arrive that the root has announced, and with `DTYPE_CHECK=1` [`Error::Mismatch`]: earlier parts may
    /// have been written then. (The first part has 984 bytes at most, the others have 256 KiB.)
    fn broadcast_packed<M: Receivable + ?Sized>(&self, message: &mut M) -> Result<(), Error> {
        let mpi = &ready()?;
        broadcast(Rooted::of(mpi, self)?, message, Form::BYTES)
    }

    /// Like [`broadcast_packed`](Self::broadcast_packed), but all ranks must have the same number of packed
    /// bytes. The call is an `MPI_Bcast` of each 256 KiB of them, and nothing else.
    ///
    /// # Errors
    /// The errors of [`broadcast_packed`](Self::broadcast_packed), except [`Error::Announced`]. A rank
    /// without memory for a buffer leaves the others waiting.
    ///
    /// # Safety
    /// All ranks make this call with this root, and their messages have the same number of packed bytes.
    unsafe fn broadcast_packed_exact<M: Receivable + ?Sized>(&self, message: &mut M) -> Result<(), Error> {
        let mpi = &ready()?;
        // SAFETY: the caller guarantees 1 of `bare`.
        let form = if checks() { Form::BYTES } else { unsafe { Form::bare(0) } };
        broadcast(Rooted::of(mpi, self)?, message, form)
    }

    /// Sends this rank's values to the root, which calls
    /// [`gather_packed_into_root`](Self::gather_packed_into_root) (`MPI_Gather`).
    ///
    /// # Errors
    /// An error before `MPI_Init`, after `MPI_Finalize`, if an MPI call fails, and if there is no memory for
    /// a buffer.
    fn gather_packed<S: Sendable + ?Sized>(&self, message: &S) -> Result<(), Error> {
        let mpi = &ready()?;
        let root = Rooted::of(mpi, self)?;
        gather(&agree(root.members, message.packed_size(), 0)?, root, message).map(|_| ())
    }

    /// Like [`gather_packed`](Self::gather_packed), but all ranks must have the same number of packed bytes.
    /// The call is one `MPI_Gather` of them, and nothing else. The root calls
    /// [`gather_packed_into_root_exact`](Self::gather_packed_into_root_exact).
    ///
    /// # Errors
    /// The errors of [`gather_packed`](Self::gather_packed).
    ///
    /// # Safety
    /// All ranks make this call or the root's, with this root, and their messages have the same number of
    /// packed bytes.
    unsafe fn gather_packed_exact<S: Sendable + ?Sized>(&self, message: &S) -> Result<(), Error> {
        let mpi = &ready()?;
        let root = Rooted::of(mpi, self)?;
        // SAFETY: the caller guarantees 1 of `promised`.
        let agreed = unsafe { promised(root.members, message.packed_size(), 0) }?;
        gather(&agreed, root, message).map(|_| ())
    }

    /// Receives the values of all ranks at the root, including its own, in the order of the ranks. The ranks
    /// may send different numbers of values (`MPI_Gatherv`).
    ///
    /// # Errors
    /// The errors of [`all_gather_packed`](PackedCollectives::all_gather_packed).
    fn gather_packed_into_root<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Sendable + ?Sized,
        R: Receivable + ?Sized,
    {
        let mpi = &ready()?;
        let root = Rooted::of(mpi, self)?;
        gather_into(&agree(root.members, message.packed_size(), 0)?, root, message, into)
    }

    /// Receives the values of rank `i` into destination `i` at the root, including its own. Each destination
    /// may have another layout. (MPI has no `MPI_Gatherw`.) The other ranks call
    /// [`gather_packed`](Self::gather_packed).
    ///
    /// # Errors
    /// [`Error::Messages`] if there are not as many destinations as ranks; otherwise those of
    /// [`all_to_all_varcount_packed`](PackedCollectives::all_to_all_varcount_packed).
    fn gather_varcount_packed_into_root<S, R>(&self, message: &S, into: &mut [R]) -> Result<(), Error>
    where
        S: Sendable + ?Sized,
        R: Receivable,
    {
        let mpi = &ready()?;
        let root = Rooted::of(mpi, self)?;
        let arrived = gather(&agree(root.members, message.packed_size(), 0)?, root, message)?;
        match arrived {
            Some(_) if into.len() != root.members.ranks => {
                let (found, ranks) = (into.len(), root.members.ranks);
                Err(Error::Messages { what: "messages to receive into", found, ranks })
            }
            Some((all, parts)) => parts.unpack_each(&all, into),
            None => Ok(()),
        }
    }

    /// Sends message `i` to rank `i`, and receives the root's own message. Each message may have another
    /// layout. (MPI has no `MPI_Scatterw`.) The other ranks call
    /// [`scatter_varcount_packed_into`](Self::scatter_varcount_packed_into).
    ///
    /// # Errors
    /// [`Error::Messages`] if there are not as many messages as ranks: then every rank gets an error.
    /// Otherwise those of [`scatter_varcount_packed_into`](Self::scatter_varcount_packed_into).
    fn scatter_varcount_packed_into_root<S, R>(&self, messages: &[S], into: &mut R) -> Result<(), Error>
    where
        S: Sendable,
        R: Receivable + ?Sized,
    {
        let mpi = &ready()?;
        let root = Rooted::of(mpi, self)?;
        let Members { ranks, .. } = root.members;
        let right = messages.len() == ranks;
        let nothing: Vec<[u8; 0]> = vec![[]; ranks];
        let arrived = if right && root.is_here {
            scatter_each(root, Some(messages), Described::Bytes)
        } else {
            scatter_each(root, root.is_here.then_some(&nothing), Described::Bytes)
        }?;
        if root.is_here && !right {
            return Err(Error::Messages { what: "messages to send", found: messages.len(), ranks });
        }
        unpack_scattered(&arrived, root.rank, into)
    }

    /// Receives this rank's message from the root, which calls
    /// [`scatter_varcount_packed_into_root`](Self::scatter_varcount_packed_into_root).
    ///
    /// # Errors
    /// [`Error::Neighbour`] if the root sends another number of bytes; [`Error::InvalidValue`];
    /// [`Error::Announced`] if not all bytes arrive. After an error, nothing has been written.
    fn scatter_varcount_packed_into<R: Receivable + ?Sized>(&self, into: &mut R) -> Result<(), Error> {
        let mpi = &ready()?;
        let root = Rooted::of(mpi, self)?;
        let nothing: Vec<[u8; 0]> = vec![[]; if root.is_here { root.members.ranks } else { 0 }];
        let arrived = scatter_each(root, root.is_here.then_some(&nothing), Described::Bytes)?;
        unpack_scattered(&arrived, root.rank, into)
    }

    /// Like [`gather_packed_into_root`](Self::gather_packed_into_root), but all ranks must have the same
    /// number of packed bytes.
    ///
    /// # Errors
    /// The errors of [`all_gather_packed_exact`](PackedCollectives::all_gather_packed_exact).
    ///
    /// # Safety
    /// All other ranks call [`gather_packed_exact`](Self::gather_packed_exact) with this root, and the
    /// messages of all ranks have the same number of packed bytes.
    unsafe fn gather_packed_into_root_exact<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Sendable + ?Sized,
        R: Receivable + ?Sized,
    {
        let mpi = &ready()?;
        let root = Rooted::of(mpi, self)?;
        // SAFETY: the caller guarantees 1 of `promised`.
        let agreed = unsafe { promised(root.members, message.packed_size(), 0) }?;
        gather_into(&agreed, root, message, into)
    }

    /// Receives this rank's part from the root, which calls
    /// [`scatter_packed_into_root`](Self::scatter_packed_into_root) (`MPI_Scatter`).
    ///
    /// # Errors
    /// [`Error::Fit`] on all ranks if the root does not have exactly as many bytes as all ranks expect
    /// together; [`Error::InvalidValue`]; [`Error::Announced`] if not all bytes of this rank's part arrive;
    /// with `DTYPE_CHECK=1`, [`Error::Mismatch`]. After an error, nothing has been written.
    fn scatter_packed_into<R: Receivable + ?Sized>(&self, into: &mut R) -> Result<(), Error> {
        let mpi = &ready()?;
        let root = Rooted::of(mpi, self)?;
        scatter::<[u8], R>(&agree(root.members, into.packed_size(), 0)?, root, None, into)
    }

    /// Like [`scatter_packed_into`](Self::scatter_packed_into), but all ranks must expect the same number of
    /// packed bytes. The call is one `MPI_Scatter` of them, and nothing else. The root calls
    /// [`scatter_packed_into_root_exact`](Self::scatter_packed_into_root_exact).
    ///
    /// # Errors
    /// The errors of [`scatter_packed_into`](Self::scatter_packed_into), except [`Error::Announced`]. Only
    /// the root returns [`Error::Fit`]. A rank without memory for a buffer, or a root whose bytes do not fit,
    /// leaves the others waiting.
    ///
    /// # Safety
    /// All ranks make this call or the root's, with this root, and expect the same number of packed bytes.
    unsafe fn scatter_packed_into_exact<R: Receivable + ?Sized>(&self, into: &mut R) -> Result<(), Error> {
        let mpi = &ready()?;
        let root = Rooted::of(mpi, self)?;
        // SAFETY: the caller guarantees 1 of `promised`.
        let agreed = unsafe { promised(root.members, into.packed_size(), 0) }?;
        scatter::<[u8], R>(&agreed, root, None, into)
    }

    /// Sends every rank its part, in the order of the ranks, and receives the root's own part. The ranks may
    /// expect different numbers of values (`MPI_Scatterv`).
    ///
    /// # Errors
    /// The errors of [`scatter_packed_into`](Self::scatter_packed_into).
    fn scatter_packed_into_root<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Sendable + ?Sized,
        R: Receivable + ?Sized,
    {
        let mpi = &ready()?;
        let root = Rooted::of(mpi, self)?;
        let message = root.is_here.then_some(message);
        let found = message.map_or(0, S::packed_size);
        scatter(&agree(root.members, into.packed_size(), found)?, root, message, into)
    }

    /// Like [`scatter_packed_into_root`](Self::scatter_packed_into_root), but all ranks must expect the same
    /// number of packed bytes.
    ///
    /// # Errors
    /// The errors of [`scatter_packed_into_exact`](Self::scatter_packed_into_exact).
    ///
    /// # Safety
    /// All other ranks call [`scatter_packed_into_exact`](Self::scatter_packed_into_exact) with this root,
    /// and all ranks expect the same number of packed bytes.
    unsafe fn scatter_packed_into_root_exact<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Sendable + ?Sized,
        R: Receivable + ?Sized,
    {
        let mpi = &ready()?;
        let root = Rooted::of(mpi, self)?;
        let message = root.is_here.then_some(message);
        let found = message.map_or(0, S::packed_size);
        // SAFETY: the caller guarantees 1 of `promised`.
        let agreed = unsafe { promised(root.members, into.packed_size(), found) }?;
        scatter(&agreed, root, message, into)
    }
}

impl<R: Root + ?Sized> PackedRoot for R {}

/// The sizes that the ranks of a call have agreed on.
pub(crate) struct Agreed<'m> {
    mpi: &'m Usable,
    communicator: MPI_Comm,
    ranks: usize,
    /// The number of packed bytes of this rank.
    own: u64,
    /// The smallest number of packed bytes of any rank.
    least: u64,
    /// The largest number of packed bytes of any rank.
    most: u64,
    /// The random number of the seals.
    drawn: u64,
    /// The number of packed bytes at the root of a scatter.
    pub(crate) found: u64,
    form: Form,
    /// An upper bound for the bytes of the largest buffer of the call; 0 if unknown.
    bytes: u64,
}

/// Finds out the sizes of all ranks (`MPI_Allreduce`). On an intercommunicator, a rank learns nothing about
/// its own group, so the sizes are always sent.
pub(crate) fn agree(members: Members<'_>, own: usize, found: usize) -> Result<Agreed<'_>, Error> {
    let Members { mpi, communicator, ranks } = members;
    let unknown = Agreed {
        mpi,
        communicator,
        ranks,
        own: own as u64,
        least: 0,
        most: u64::MAX,
        drawn: draw(),
        found: found as u64,
        form: Form::BYTES,
        bytes: 0,
    };
    if is_between_groups(mpi, communicator)? {
        return Ok(unknown);
    }
    let numbers = [unknown.own, !unknown.own, unknown.drawn, unknown.found];
    // SAFETY: a constant of the library.
    let [most, others, drawn, found] = reduce(mpi, communicator, numbers, unsafe { ffi::RSMPI_MAX })?;
    let bytes = most.saturating_add(seal_size() as u64).saturating_mul(ranks as u64);
    if bytes > isize::MAX as u64 {
        return Err(Error::Memory { bytes: usize::try_from(bytes).unwrap_or(usize::MAX) });
    }
    Ok(Agreed { least: !others, most, drawn, found, form: Form::sealed(bytes), bytes, ..unknown })
}

/// Returns the sizes that the program guarantees. On an intercommunicator, equal sizes do not mean equal
/// parts. There and in the checked mode, the ranks find out the sizes as in [`agree`].
///
/// # Safety
/// 1. The ranks make the same call, and all have the same number of packed bytes.
unsafe fn promised(members: Members<'_>, own: usize, found: usize) -> Result<Agreed<'_>, Error> {
    let Members { mpi, communicator, ranks } = members;
    if checks() || is_between_groups(mpi, communicator)? {
        return agree(members, own, found);
    }
    let own = own as u64;
    // SAFETY: the caller guarantees 1, which is the same condition.
    let form = unsafe { Form::bare(own.saturating_mul(ranks as u64)) };
    let (least, most, drawn, found, bytes) = (own, own, 0, found as u64, 0);
    Ok(Agreed { mpi, communicator, ranks, own, least, most, drawn, found, form, bytes })
}

impl Agreed<'_> {
    /// Returns `true` if all ranks have the same number of packed bytes.
    pub(super) fn is_even(&self) -> bool {
        self.least == self.most
    }

    /// Returns `true` if there is nothing to send, not even a seal.
    fn is_nothing(&self) -> bool {
        self.is_even() && self.own == 0 && self.form.is_bare()
    }

    /// Returns the number of packed bytes of all ranks together.
    fn total(&self) -> Result<u64, Error> {
        if self.is_even() {
            return Ok(self.own.saturating_mul(self.ranks as u64));
        }
        // SAFETY: a constant of the library.
        reduce(self.mpi, self.communicator, [self.own], unsafe { ffi::RSMPI_SUM }).map(|[total]| total)
    }

    fn told(&self) -> Told {
        [self.own, self.drawn]
    }

    /// Returns the parts of the ranks. If they are not of equal size, `tell` exchanges the sizes.
    fn parts(&self, tell: impl FnOnce() -> Result<Vec<Told>, Error>) -> Result<Parts, Error> {
        if self.is_even() {
            Parts::even(self.ranks, self.told(), self.form)
        } else {
            Parts::each(&tell()?, self.form)
        }
    }

    /// Sends the announcement of each rank to all ranks (`MPI_Allgather`).
    fn tell_all(&self) -> Result<Vec<Told>, Error> {
        let (own, mut all) = (self.told(), vec![[0; 2]; self.ranks]);
        called(self.mpi, "MPI_Allgather", self.communicator, || {
            let (from, to) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
            // SAFETY: there is room for two numbers of each rank.
            unsafe { self.mpi.MPI_Allgather(from, 2, number(), to, 2, number(), self.communicator) }
        })?;
        Ok(all)
    }

    /// Sends the announcement of each rank to the root (`MPI_Gather`). On other ranks the result is empty.
    fn tell(&self, root: c_int, is_root: bool) -> Result<Vec<Told>, Error> {
        let (own, mut all) = (self.told(), vec![[0; 2]; if is_root { self.ranks } else { 0 }]);
        called(self.mpi, "MPI_Gather", self.communicator, || {
            let (from, to) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
            // SAFETY: at the root there is room for two numbers of each rank. Elsewhere MPI reads only the
            // send buffer.
            unsafe { self.mpi.MPI_Gather(from, 2, number(), to, 2, number(), root, self.communicator) }
        })?;
        Ok(all)
    }
}

fn all_gather<S, R>(agreed: &Agreed<'_>, message: &S, into: &mut R) -> Result<(), Error>
where
    S: Sendable + ?Sized,
    R: Receivable + ?Sized,
{
    if agreed.is_nothing() {
        return fits(into, 0, None);
    }
    let (mut all, parts) = gather_to_all(agreed, message)?;
    parts.unpack(&mut all, into)
}

/// Sends the message of each rank, which is not empty or has a seal, to all ranks.
pub(crate) fn gather_to_all<S: Sendable + ?Sized>(
    agreed: &Agreed<'_>,
    message: &S,
) -> Result<(PackBuffer, Parts), Error> {
    let Agreed { mpi, communicator, form, bytes, .. } = *agreed;
    let parts = agreed.parts(|| agreed.tell_all())?;
    let one = form.pack_one(message, agreed.drawn);
    let buffers = one.and_then(|one| Ok((one, parts.room_for_all()?)));
    let ((packed, own), mut all) = all_have_memory(mpi, communicator, bytes, buffers)?;
    let (from, to, unit) = (packed.as_ptr().cast(), all.as_mut_ptr().cast(), form.datatype()?);
    let kind = unit.datatype;
    let call = parts.sizes.either("MPI_Allgather", "MPI_Allgatherv");
    called(mpi, call, communicator, || {
        // SAFETY: the buffers have room for the units that are sent, and for those that have been announced.
        unsafe {
            match &parts.sizes {
                Sizes::Even { count, .. } => {
                    mpi.MPI_Allgather(from, own, kind, to, *count, kind, communicator)
                }
                Sizes::Each { counts, starts, .. } => {
                    let (counts, starts) = (counts.as_ptr(), starts.as_ptr());
                    mpi.MPI_Allgatherv(from, own, kind, to, counts, starts, kind, communicator)
                }
            }
        }
    })?;
    Ok((all, parts))
}

/// Returns the number of packed bytes of each part, if a message is divided into `ranks` equal parts.
fn part_of<M: Sendable + ?Sized>(message: &M, ranks: usize) -> Result<usize, Error> {
    let size = message.packed_size();
    let divides = size % ranks == 0 && (size / ranks) % message.step() == 0;
    divides.then_some(size / ranks).ok_or(Error::Parts { found: size, ranks })
}

/// Sends an equal part of a message to each rank, and returns the parts that come from them.
fn all_to_all<M: Sendable + ?Sized>(agreed: &Agreed<'_>, message: &M) -> Result<(PackBuffer, Parts), Error> {
    let Agreed { mpi, communicator, form, bytes, .. } = *agreed;
    if !agreed.is_even() {
        let outgoing = vec![agreed.told(); agreed.ranks];
        return exchange(mpi, communicator, &outgoing, |parts| parts.pack(message));
    }
    let parts = Parts::even(agreed.ranks, agreed.told(), form)?;
    if agreed.is_nothing() {
        return Ok((PackBuffer::with_room(0)?, parts));
    }
    let count = form.units(agreed.own)?;
    let buffers = parts.pack(message).and_then(|packed| Ok((packed, parts.room_for_all()?)));
    let (packed, mut all) = all_have_memory(mpi, communicator, bytes, buffers)?;
    let (from, to, unit) = (packed.as_ptr().cast(), all.as_mut_ptr().cast(), form.datatype()?);
    let kind = unit.datatype;
    called(mpi, "MPI_Alltoall", communicator, || {
        // SAFETY: the buffers have room for `count` units of each rank.
        unsafe { mpi.MPI_Alltoall(from, count, kind, to, count, kind, communicator) }
    })?;
    Ok((all, parts))
}

/// The number of bytes for which every rank is expected to have the memory.
const FEW: u64 = 256 << 20;

/// Returns the buffers of this rank if all ranks have theirs, and an error otherwise, so that no rank waits
/// for one without memory. If there are few bytes, each rank decides alone; `bytes` is the same on all ranks.
fn all_have_memory<T>(
    mpi: &Usable,
    communicator: MPI_Comm,
    bytes: u64,
    own: Result<T, Error>,
) -> Result<T, Error> {
    if bytes <= FEW || is_between_groups(mpi, communicator)? {
        return own;
    }
    // SAFETY: a constant of the library.
    let minimum = unsafe { ffi::RSMPI_MIN };
    let all_have = reduce(mpi, communicator, [own.is_ok().into()], minimum)? == [1];
    match own {
        Ok(_) if !all_have => Err(Error::Memory { bytes: usize::try_from(bytes).unwrap_or(usize::MAX) }),
        own => own,
    }
}

/// The announcement of a rank to another one in an all-to-all: the size and the seal of the part, the bytes
/// of all parts of the rank with their seals, and the packed bytes of its largest part.
type Announcement = [u64; 4];

/// The size of an announcement in bytes.
const ANNOUNCEMENT: usize = size_of::<Announcement>();

/// Returns the number of bytes behind each announcement in which a short part travels. Announcement and part
/// have 2 KiB at most, and those of all ranks 64 KiB. With very many ranks, nothing travels there.
fn room_behind_announcement(ranks: usize) -> usize {
    let room = ((64 << 10) / ranks.max(1)).min(2 << 10).saturating_sub(ANNOUNCEMENT);
    if room < 4 * ANNOUNCEMENT { 0 } else { room }
}

/// Sends a part of a buffer to each rank, and returns the parts that come from them. All parts may differ in
/// size. If all parts of all ranks are short, they travel with their announcements.
pub(crate) fn exchange(
    mpi: &Usable,
    communicator: MPI_Comm,
    outgoing: &[Told],
    pack: impl Fn(&Parts) -> Result<PackBuffer, Error>,
) -> Result<(PackBuffer, Parts), Error> {
    // On an intercommunicator, no rank learns whether all parts of its own group are short.
    let between_groups = is_between_groups(mpi, communicator)?;
    let room = if between_groups { 0 } else { room_behind_announcement(outgoing.len()) };
    let is_short = |size: u64| size.saturating_add(seal_size() as u64) <= room as u64;
    let slot = ANNOUNCEMENT + room;
    let size = outgoing.len() * slot;
    let largest = outgoing.iter().map(|[size, _]| *size).max().unwrap_or(0);
    let mut told = if is_short(largest) {
        pack(&Parts::within(outgoing, ANNOUNCEMENT, room)?)?
    } else {
        PackBuffer::with_room(size)?
    };
    // Each rank also tells all ranks how many bytes it sends. The sum limits the buffers of all of them.
    let own = with_seals(outgoing);
    for (at, [size, drawn]) in told.chunks_exact_mut(slot).zip(outgoing) {
        let announced: Announcement = [*size, *drawn, own, largest];
        at[..ANNOUNCEMENT].copy_from_slice(announced.map(u64::to_ne_bytes).as_flattened());
    }
    let mut come = PackBuffer::with_room(size)?;
    come[..size].fill(0);
    let byte = Form::BYTES.datatype()?.datatype;
    called(mpi, "MPI_Alltoall", communicator, || {
        let (from, to, count) = (told.as_ptr().cast(), come.as_mut_ptr().cast(), slot as c_int);
        // SAFETY: both buffers have room for the announcement and the short part of each rank.
        unsafe { mpi.MPI_Alltoall(from, count, byte, to, count, byte, communicator) }
    })?;
    let incoming: Vec<Announcement> = come[..size]
        .chunks_exact(slot)
        .map(|at| {
            let (numbers, _) = at.as_chunks();
            std::array::from_fn(|i| u64::from_ne_bytes(numbers[i]))
        })
        .collect();
    let all = incoming.iter().fold(0u64, |sum, [_, _, own, _]| sum.saturating_add(*own));
    let all_short = incoming.iter().all(|[.., largest]| is_short(*largest));
    let incoming: Vec<Told> = incoming.into_iter().map(|[size, drawn, ..]| [size, drawn]).collect();
    if all_short {
        return Ok((come, Parts::within(&incoming, ANNOUNCEMENT, room)?));
    }
    // On an intercommunicator, each group knows only the sum of the other one, so parts are counted in bytes.
    let (form, bytes) = if all <= FEW || between_groups {
        (Form::BYTES, all)
    } else {
        // All ranks count in the unit of the largest buffer.
        // SAFETY: a constant of the library.
        let maximum = unsafe { ffi::RSMPI_MAX };
        let [bytes] = reduce(mpi, communicator, [own.max(with_seals(&incoming))], maximum)?;
        (Form::sealed(bytes), bytes)
    };
    let made = Parts::each(outgoing, form).and_then(|outgoing| {
        let incoming = Parts::each(&incoming, form)?;
        Ok((pack(&outgoing)?, incoming.room_for_all()?, outgoing, incoming))
    });
    let (packed, mut all, outgoing, incoming) = all_have_memory(mpi, communicator, bytes, made)?;
    let (from, to, unit) = (packed.as_ptr().cast(), all.as_mut_ptr().cast(), form.datatype()?);
    if let (Sizes::Each { counts, starts, .. }, Sizes::Each { counts: counts_in, starts: starts_in, .. }) =
        (&outgoing.sizes, &incoming.sizes)
    {
        called(mpi, "MPI_Alltoallv", communicator, || {
            let (counts, starts, kind) = (counts.as_ptr(), starts.as_ptr(), unit.datatype);
            let (counts_in, starts_in) = (counts_in.as_ptr(), starts_in.as_ptr());
            // SAFETY: the buffers have room for the units that are sent, and for those that have been
            // announced.
            unsafe {
                mpi.MPI_Alltoallv(from, counts, starts, kind, to, counts_in, starts_in, kind, communicator)
            }
        })?;
    }
    Ok((all, incoming))
}

/// Returns the packed bytes of all ranks and their division at the root, and `None` on other ranks.
pub(crate) fn gather<M: Sendable + ?Sized>(
    agreed: &Agreed<'_>,
    root: Rooted<'_>,
    message: &M,
) -> Result<Option<(PackBuffer, Parts)>, Error> {
    let Rooted { rank: to_rank, is_here: is_root, .. } = root;
    let parts = agreed.parts(|| agreed.tell(to_rank, is_root))?;
    if agreed.is_nothing() {
        return Ok(is_root.then_some((PackBuffer::with_room(0)?, parts)));
    }
    let Agreed { mpi, communicator, form, bytes, drawn, .. } = *agreed;
    let all = if is_root { parts.room_for_all() } else { PackBuffer::with_room(0) };
    let buffers = all.and_then(|all| Ok((form.pack_one(message, drawn)?, all)));
    let ((packed, own), mut all) = all_have_memory(mpi, communicator, bytes, buffers)?;
    let (from, to, unit) = (packed.as_ptr().cast(), all.as_mut_ptr().cast(), form.datatype()?);
    let kind = unit.datatype;
    let call = parts.sizes.either("MPI_Gather", "MPI_Gatherv");
    called(mpi, call, communicator, || {
        // SAFETY: the buffers have room for the units that are sent, and at the root for those that have been
        // announced. Elsewhere MPI reads only the send buffer.
        unsafe {
            match &parts.sizes {
                Sizes::Even { count, .. } => {
                    mpi.MPI_Gather(from, own, kind, to, *count, kind, to_rank, communicator)
                }
                Sizes::Each { counts, starts, .. } => {
                    let (counts, starts) = (counts.as_ptr(), starts.as_ptr());
                    mpi.MPI_Gatherv(from, own, kind, to, counts, starts, kind, to_rank, communicator)
                }
            }
        }
    })?;
    Ok(is_root.then_some((all, parts)))
}

/// Gathers the values of all ranks at the root. On other ranks nothing is received, and `into` must be empty.
fn gather_into<S, M>(agreed: &Agreed<'_>, root: Rooted<'_>, message: &S, into: &mut M) -> Result<(), Error>
where
    S: Sendable + ?Sized,
    M: Receivable + ?Sized,
{
    match gather(agreed, root, message)? {
        Some((mut all, parts)) => parts.unpack(&mut all, into),
        None => fits(into, 0, None),
    }
}

/// Sends the root's message to all ranks in parts. `message` is `Some` only at the root.
pub(crate) fn scatter<S, M>(
    agreed: &Agreed<'_>,
    root: Rooted<'_>,
    message: Option<&S>,
    into: &mut M,
) -> Result<(), Error>
where
    S: Sendable + ?Sized,
    M: Receivable + ?Sized,
{
    let (Rooted { rank: from_rank, is_here: is_root, .. }, expected) = (root, into.packed_size());
    let total = agreed.total()?;
    if agreed.found != total && (is_root || !agreed.form.is_bare()) {
        let [expected, found] =
            [total, agreed.found].map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        return Err(Error::Fit { value: into.step(), expected, found: Some(found), from: None });
    }
    if agreed.is_nothing() {
        return into.unpack(&[]);
    }
    let Agreed { mpi, communicator, form, bytes, drawn, .. } = *agreed;
    let parts = agreed.parts(|| agreed.tell(from_rank, is_root))?;
    let packed = message.map_or_else(|| PackBuffer::with_room(0), |message| parts.pack(message));
    let buffers = packed.and_then(|packed| Ok((packed, form.room_for(expected, drawn)?)));
    let (packed, (mut part, own)) = all_have_memory(mpi, communicator, bytes, buffers)?;
    let (from, to, unit) = (packed.as_ptr().cast(), part.as_mut_ptr().cast(), form.datatype()?);
    let kind = unit.datatype;
    let call = parts.sizes.either("MPI_Scatter", "MPI_Scatterv");
    called(mpi, call, communicator, || {
        // SAFETY: the root's buffer has all parts, and there is room for the units that are expected here.
        // Elsewhere MPI does not read the send buffer.
        unsafe {
            match &parts.sizes {
                Sizes::Even { count, .. } => {
                    mpi.MPI_Scatter(from, *count, kind, to, own, kind, from_rank, communicator)
                }
                Sizes::Each { counts, starts, .. } => {
                    let (counts, starts) = (counts.as_ptr(), starts.as_ptr());
                    mpi.MPI_Scatterv(from, counts, starts, kind, to, own, kind, from_rank, communicator)
                }
            }
        }
    })?;
    form.unpack_one(&part, drawn, from_rank, into)
}

/// Sends one of the root's messages to each rank. The ranks do not know their sizes. `messages` is `Some`
/// only at the root, one for each rank. Returns the message, and its size in bytes.
pub(crate) fn scatter_each<S: Sendable>(
    root: Rooted<'_>,
    messages: Option<&[S]>,
    described: Described<'_>,
) -> Result<(PackBuffer, usize), Error> {
    let Rooted { members: Members { mpi, communicator, ranks }, rank: from_rank, .. } = root;
    let drawn = draw();
    let told: Vec<_> =
        messages.unwrap_or_default().iter().map(|one| [one.packed_size() as u64, drawn]).collect();
    // Each rank gets the size and the seal of its message, and the number of bytes of all of them.
    let bytes = with_seals(&told);
    let outgoing: Vec<_> = told.iter().map(|[size, drawn]| [*size, *drawn, bytes]).collect();
    let mut own = [0u64; 3];
    called(mpi, "MPI_Scatter", communicator, || {
        let (from, to) = (outgoing.as_ptr().cast(), own.as_mut_ptr().cast());
        // SAFETY: the root has three numbers for each rank, and there is room for three. Elsewhere MPI does
        // not read the send buffer.
        unsafe { mpi.MPI_Scatter(from, 3, number(), to, 3, number(), from_rank, communicator) }
    })?;
    let [size, drawn, bytes] = own;
    let form = Form::sealed(bytes);
    let size = usize::try_from(size).map_err(|_| Error::Memory { bytes: usize::MAX })?;
    let made = Parts::each(&told, form).and_then(|parts| {
        let packed = match messages {
            Some(messages) => parts.pack_each(messages)?,
            None => PackBuffer::with_room(0)?,
        };
        Ok((packed, parts, form.room_for(size, drawn)?))
    });
    let (packed, parts, (mut part, count)) = all_have_memory(mpi, communicator, bytes, made)?;
    debug_assert!(messages.is_none_or(|messages| messages.len() == ranks));
    let (from, to, unit) = (packed.as_ptr().cast(), part.as_mut_ptr().cast(), form.datatype()?);
    if let Sizes::Each { counts, starts, .. } = &parts.sizes {
        called(mpi, "MPI_Scatterv", communicator, || {
            let (counts, starts, kind) = (counts.as_ptr(), starts.as_ptr(), unit.datatype);
            // SAFETY: the root's buffer has a part for each rank, and there is room for the announced units.
            // Elsewhere MPI does not read the send buffer.
            unsafe { mpi.MPI_Scatterv(from, counts, starts, kind, to, count, kind, from_rank, communicator) }
        })?;
    }
    let (arrived, behind) = part.split_at(size);
    form.unseal_as(described, size, (0..size, arrived), drawn, behind, from_rank)?;
    Ok((part, size))
}

/// Unpacks a message that the root has sent to this rank.
fn unpack_scattered<R: Receivable + ?Sized>(
    (arrived, size): &(PackBuffer, usize),
    rank: c_int,
    into: &mut R,
) -> Result<(), Error> {
    let (value, expected) = (into.step(), into.packed_size());
    if *size != expected {
        return Err(Error::Neighbour { rank, value, expected, found: Some(*size) });
    }
    into.unpack(&arrived[..expected])
}

#[cfg(test)]
mod tests {
    use super::{ANNOUNCEMENT, room_behind_announcement};

    #[test]
    fn announcements_and_short_parts_have_64_kib_at_most() {
        let room = [1, 32, 33, 409, 410, 1 << 20].map(room_behind_announcement);
        assert_eq!(room, [2016, 2016, 1953, 128, 0, 0]);
        assert!((1..=409).all(|ranks| (room_behind_announcement(ranks) + ANNOUNCEMENT) * ranks <= 64 << 10));
    }
}
