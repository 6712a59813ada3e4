//! Collective calls that send values of any shape, one or more from each rank (MPI 4.1 chapter 6). No rank
//! needs to know the size of another one's values.

use ::mpi::{collective::Root, topology::Communicator};

use super::{
    broadcast::broadcast_whole,
    collective::{agree, exchange, gather, gather_to_all, scatter_each},
    frame::draw,
    members::{Members, Rooted, members},
    parts::Described,
    sendable::sealed::Read,
};
use crate::{
    Error, FromMessage, MpiMessage,
    message::{Encoded, Message, malformed, unsendable},
    mpi::ready,
};

/// Collective calls without a root, for values of any shape.
///
/// All ranks must make the same calls in the same order, as MPI requires of its own (MPI 4.1 section 6.1). If
/// the values of one rank cannot be sent or received, the calls of the others complete.
pub trait MessageCollectives: Communicator {
    /// Sends the value of each rank to all ranks, and returns them all, in the order of the ranks.
    ///
    /// ```no_run
    /// use dtype_runtime::traits::*;
    /// use mpi::traits::*;
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let world = universe.world();
    /// let names: Vec<String> = world.all_gather_vec(&format!("rank {}", world.rank()))?;
    /// assert_eq!(names[0], "rank 0");
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsendable`] if this rank's value cannot be sent; [`Error::Message`] if another rank sent
    /// none, or one of another type; [`Error::InvalidValue`]; [`Error::Announced`] if not all bytes arrive
    /// that a rank has announced. An error before `MPI_Init`, after `MPI_Finalize`, on a thread that may not
    /// call MPI, if an MPI call fails, and if there is no memory for the messages.
    fn all_gather_vec<M: FromMessage>(&self, message: &M) -> Result<Vec<M>, Error> {
        let mpi = &ready()?;
        let (message, failed) = encoded(Some(message));
        let (all, parts) = gather_to_all(&agree(members(mpi, self)?, message.packed_size(), 0)?, &message)?;
        failed.map_or(Ok(()), Err)?;
        parts.make_each(&all, None, make)
    }

    /// Sends a value to each rank, and returns one from each: number `i` goes to rank `i`, and comes from
    /// there.
    ///
    /// ```no_run
    /// use dtype_runtime::{MpiDatatype, traits::*};
    /// use mpi::traits::*;
    ///
    /// #[derive(MpiDatatype, Clone)]
    /// #[repr(C)]
    /// struct Particle { position: [f64; 3], id: u64 }
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let world = universe.world();
    /// // The particles that leave for each rank, of any number.
    /// let leaving: Vec<Vec<Particle>> = vec![Vec::new(); world.size() as usize];
    /// let arrived: Vec<Vec<Particle>> = world.all_to_all_vec(&leaving)?;
    /// println!("{} particles arrived", arrived.iter().map(Vec::len).sum::<usize>());
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Messages`] if there are not as many values as ranks; otherwise those of
    /// [`all_gather_vec`](Self::all_gather_vec).
    fn all_to_all_vec<M: FromMessage>(&self, messages: &[M]) -> Result<Vec<M>, Error> {
        let mpi = &ready()?;
        let Members { communicator, ranks, .. } = members(mpi, self)?;
        // All ranks must complete the call, so a rank with another number of values sends nothing.
        let right = messages.len() == ranks;
        let mut failed = None;
        let own: Vec<_> = (0..ranks)
            .map(|i| {
                let (message, error) = encoded(messages.get(i).filter(|_| right));
                failed = failed.take().or(error);
                message
            })
            .collect();
        let drawn = draw();
        let outgoing: Vec<_> = own.iter().map(|message| [message.packed_size() as u64, drawn]).collect();
        let (all, parts) = exchange(mpi, communicator, &outgoing, |parts| parts.pack_each(&own))?;
        if !right {
            return Err(Error::Messages { what: "messages to send", found: messages.len(), ranks });
        }
        failed.map_or(Ok(()), Err)?;
        parts.make_each(&all, None, make)
    }
}

impl<C: Communicator + ?Sized> MessageCollectives for C {}

/// Collective calls with a root, for values of any shape. The rules of [`PackedRoot`](super::PackedRoot)
/// hold.
pub trait MessageRoot: Root {
    /// Sends the root's value to every rank, and returns it on each. The root passes `Some(value)`; the other
    /// ranks pass `None`.
    ///
    /// ```no_run
    /// use dtype_runtime::traits::*;
    /// use mpi::traits::*;
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let world = universe.world();
    /// let arguments = (world.rank() == 0).then(|| std::env::args().collect());
    /// let arguments: Vec<String> = world.process_at_rank(0).broadcast_message(arguments)?;
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsendable`] at the root if it has no value or one that cannot be sent, and then
    /// [`Error::Message`] on the other ranks; otherwise those of
    /// [`all_gather_vec`](MessageCollectives::all_gather_vec).
    fn broadcast_message<M: FromMessage>(&self, message: Option<M>) -> Result<M, Error> {
        let mpi = &ready()?;
        let root = Rooted::of(mpi, self)?;
        if !root.is_here {
            let (arrived, size) = broadcast_whole::<Encoded<'_>>(root, None, None)?;
            return make(&arrived[..size]).map_err(|error| error.sent_by(root.rank));
        }
        let (own, failed) = encoded(message.as_ref());
        broadcast_whole(root, Some(&own), None)?;
        failed.map_or(Ok(()), Err)?;
        message.ok_or_else(none_to_send)
    }

    /// Sends the value of each rank to the root, which gets them all, in the order of the ranks. Other ranks
    /// get `None`.
    ///
    /// ```no_run
    /// use dtype_runtime::traits::*;
    /// use mpi::traits::*;
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let world = universe.world();
    /// let found: Vec<f64> = vec![0.5; world.rank() as usize];
    /// if let Some(all) = world.process_at_rank(0).gather_vec(&found)? {
    ///     println!("rank 2 found {} values", all[2].len());
    /// }
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`all_gather_vec`](MessageCollectives::all_gather_vec).
    fn gather_vec<M: FromMessage>(&self, message: &M) -> Result<Option<Vec<M>>, Error> {
        let mpi = &ready()?;
        let root = Rooted::of(mpi, self)?;
        let (own, failed) = encoded(Some(message));
        let arrived = gather(&agree(root.members, own.packed_size(), 0)?, root, &own)?;
        failed.map_or(Ok(()), Err)?;
        arrived.map(|(all, parts)| parts.make_each(&all, None, make)).transpose()
    }

    /// Sends one of the root's values to each rank, in the order of the ranks, and returns it there. The root
    /// passes `Some(values)`; the other ranks pass `None`.
    ///
    /// # Errors
    /// At the root, [`Error::Messages`] if there are not as many values as ranks, and [`Error::Unsendable`]
    /// if it has none or one that cannot be sent. Then [`Error::Message`] on the other ranks; otherwise those
    /// of [`all_gather_vec`](MessageCollectives::all_gather_vec).
    fn scatter_message<M: FromMessage>(&self, messages: Option<&[M]>) -> Result<M, Error> {
        let mpi = &ready()?;
        let root = Rooted::of(mpi, self)?;
        let ranks = root.members.ranks;
        if !root.is_here {
            let (arrived, size) = scatter_each::<Encoded<'_>>(root, None, Described::Bytes)?;
            return make(&arrived[..size]).map_err(|error| error.sent_by(root.rank));
        }
        let right = messages.filter(|messages| messages.len() == ranks);
        let mut failed = None;
        let own: Vec<_> = (0..ranks)
            .map(|i| {
                let (message, error) = encoded(right.map(|messages| &messages[i]));
                failed = failed.take().or(error);
                message
            })
            .collect();
        let (arrived, size) = scatter_each(root, Some(&own), Described::Bytes)?;
        if let Some(messages) = messages.filter(|_| right.is_none()) {
            return Err(Error::Messages { what: "messages to send", found: messages.len(), ranks });
        }
        failed.map_or(Ok(()), Err)?;
        messages.ok_or_else(none_to_send)?;
        make(&arrived[..size])
    }
}

impl<R: Root + ?Sized> MessageRoot for R {}

/// Returns a value as a message. A rank that has no value, or one that cannot be sent, sends no bytes, so
/// that all ranks complete the call, and gets the error afterwards.
fn encoded<M: MpiMessage>(message: Option<&M>) -> (Encoded<'_>, Option<Error>) {
    match message.map(|message| Encoded::of(message, false)) {
        Some(Ok(encoded)) => (encoded, None),
        Some(Err(error)) => (Encoded::nothing(), Some(error)),
        None => (Encoded::nothing(), None),
    }
}

#[cold]
fn none_to_send() -> Error {
    unsendable("the root must pass `Some`, and passed `None`")
}

/// Makes the value of a message.
fn make<M: FromMessage>(arrived: &[u8]) -> Result<M, Error> {
    if arrived.is_empty() {
        return Err(malformed("this rank had no value to send, and got an error itself"));
    }
    Message::Borrowed(arrived).make()
}
