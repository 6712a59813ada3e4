//! Collective calls (MPI 4.1 chapter 6).

use super::{
    Comm, Handle, Message, Place, Preparing, Starting,
    message::{or_failed, outgoing},
};
use crate::{
    Error, FromMessage, Result,
    message::unsendable,
    mpi::{Usable, ready},
    pack::PackBuffer,
    transfer::{
        broadcast::{broadcast, broadcast_whole},
        carried::{Carried, RangeOf},
        collective::{agree, exchange, gather, gather_to_all, scatter, scatter_each},
        frame::{are_plain, draw},
        incoming::{Incoming, made, made_into},
        members::{Members, Rooted},
        parts::{Described, Parts},
        sendable::sealed::{Read, Write},
    },
};

/// The number that a rank adds to an agreement if it takes whatever share the root sends.
const ANY_SHARE: usize = 1 << 62;

/// Collective calls.
///
/// All ranks make the same calls in the same order, with the same root. A root is the first argument, and one
/// call serves all ranks: what only the root has, or gets, is an `Option`. The numbers of values may differ
/// from rank to rank. If a rank has an error, such as a value that cannot be sent, the others complete the
/// call, and those that would receive its value get an error as well.
///
/// On an intercommunicator, the calls without a root receive the values of the other group; those with a root
/// are errors.
impl<C: Handle> Comm<C> {
    /// Sends the root's value to all ranks, and returns it on each (`MPI_Bcast`). The root passes
    /// `Some(value)`, and the other ranks pass `None`.
    ///
    /// ```no_run
    /// use dtype_runtime::{Result, run};
    ///
    /// fn main() {
    ///     run(|world| -> Result {
    ///         let arguments = (world.rank() == 0).then(|| std::env::args().collect());
    ///         let arguments: Vec<String> = world.broadcast(0, arguments)?;
    ///         println!("{arguments:?}");
    ///         Ok(())
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// `Unsupported` on an intercommunicator; `Argument` if there is no such root, and at the root if it has
    /// no value or one that cannot be sent; `Type` on the other ranks if the root has none to send, and if
    /// ranks name different types that are owned or, with `DTYPE_CHECK=1`, plain; `Value` if the value is
    /// invalid; `Size` if not all bytes arrive. An error before `MPI_Init`, after `MPI_Finalize`, on a thread
    /// that may not call MPI, if an MPI call fails, and if there is no memory for the message.
    #[doc(alias = "broadcast_message")]
    pub fn broadcast<T: FromMessage>(&self, root: usize, value: Option<T>) -> Result<T> {
        let mpi = &ready()?;
        let root = self.rooted(mpi, root)?;
        if !root.is_here {
            let (arrived, size) = broadcast_whole::<Carried<'_>>(root, None, T::VALUES)?;
            return made(&arrived[..size]).map_err(|error| error.sent_by(root.rank));
        }
        broadcast_own(root, outgoing(value.as_ref()))?;
        value.ok_or_else(none_to_send)
    }

    /// Sends the root's values to all ranks, into memory that is there (`MPI_Bcast`).
    ///
    /// # Errors
    /// `Size` on a rank whose place has another size than the root's message; otherwise those of
    /// [`broadcast`](Self::broadcast). After an error, the place is unchanged. If `Size` or, with
    /// `DTYPE_CHECK=1`, `Type` is found behind the first part of a long message, earlier parts may have been
    /// written.
    #[doc(alias = "broadcast_packed")]
    pub fn broadcast_into<M: Place + ?Sized>(&self, root: usize, place: &mut M) -> Result {
        let mpi = &ready()?;
        let root = self.rooted(mpi, root)?;
        match place.incoming().split() {
            Ok(exact) => broadcast(root, exact),
            Err(value) if root.is_here => broadcast_own(root, or_failed(value.carried())),
            Err(value) => {
                let (arrived, size) = broadcast_whole::<Carried<'_>>(root, None, value.values())?;
                made_into(&arrived[..size], value).map_err(|error| error.sent_by(root.rank))
            }
        }
    }

    /// Sends a value of each rank to the root, which gets them all, in the order of the ranks (`MPI_Gather`,
    /// `MPI_Gatherv`). Other ranks get `None`.
    ///
    /// ```no_run
    /// use dtype_runtime::{Result, run};
    ///
    /// fn main() {
    ///     run(|world| -> Result {
    ///         let found: Vec<f64> = vec![0.5; world.rank()];
    ///         if let Some(all) = world.gather(0, &found)? {
    ///             println!("{} values in all", all.concat().len());
    ///         }
    ///         Ok(())
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// The errors of [`broadcast`](Self::broadcast).
    #[doc(alias = "gather_vec")]
    #[doc(alias = "gather_message")]
    pub fn gather<T: FromMessage>(&self, root: usize, value: &T) -> Result<Option<Vec<T>>> {
        let mpi = &ready()?;
        let root = self.rooted(mpi, root)?;
        let (own, failed) = outgoing(Some(value));
        let arrived = gather(&agree(root.members, own.packed_size(), 0)?, root, &own)?;
        failed?;
        arrived.map(|(all, parts)| parts.make_each(&all, T::VALUES, made)).transpose()
    }

    /// Sends plain values of each rank to the root, which receives them all, one after another in the order
    /// of the ranks, into memory that is there (`MPI_Gather`, `MPI_Gatherv`). The root passes `Some(place)`,
    /// and the other ranks pass `None`: `(rank == 0).then_some(&mut all)`.
    ///
    /// # Errors
    /// `Size` at the root if all ranks together send another number of bytes than the place has; `Argument`
    /// at the root if it passes `None`; otherwise those of [`broadcast`](Self::broadcast).
    #[doc(alias = "gather_packed")]
    pub fn gather_into<S, R>(&self, root: usize, message: &S, place: Option<&mut R>) -> Result
    where
        S: Message + ?Sized,
        R: Place + ?Sized,
    {
        let mpi = &ready()?;
        let root = self.rooted(mpi, root)?;
        let (own, failed) = outgoing_plain(message);
        let arrived = gather(&agree(root.members, own.packed_size(), 0)?, root, &own)?;
        failed?;
        let Some((mut all, parts)) = arrived else { return Ok(()) };
        let mut place = place.ok_or_else(|| unsendable("the root must pass `Some(place)`"))?.incoming();
        join_into(&parts, &mut all, &mut place)
    }

    /// Sends one of the root's values to each rank, in the order of the ranks, and returns it there
    /// (`MPI_Scatter`, `MPI_Scatterv`). The root passes `Some(values)`, and the other ranks pass `None`.
    ///
    /// # Errors
    /// `Argument` at the root if there are not as many values as ranks, or if it has none or one that cannot
    /// be sent; then `Type` on the other ranks. Otherwise those of [`broadcast`](Self::broadcast).
    #[doc(alias = "scatter_message")]
    #[doc(alias = "scatter_vec")]
    pub fn scatter<T: FromMessage>(&self, root: usize, values: Option<&[T]>) -> Result<T> {
        let mpi = &ready()?;
        let root = self.rooted(mpi, root)?;
        let ranks = root.members.ranks;
        if !root.is_here {
            let (arrived, size) = scatter_each::<Carried<'_>>(root, None, T::VALUES.into())?;
            return made(&arrived[..size]).map_err(|error| error.sent_by(root.rank));
        }
        let right = values.filter(|values| values.len() == ranks);
        let (own, failed) = outgoing_each((0..ranks).map(|i| right.map(|values| &values[i])));
        let (arrived, size) = scatter_each(root, Some(&own), T::VALUES.into())?;
        if let Some(values) = values.filter(|_| right.is_none()) {
            return Err(Error::Messages { what: "messages to send", found: values.len(), ranks });
        }
        failed?;
        values.ok_or_else(none_to_send)?;
        made(&arrived[..size])
    }

    /// Divides the root's plain values among the ranks, in their order, into memory that is there
    /// (`MPI_Scatter`, `MPI_Scatterv`). Each rank gets as many as its place takes. If a place takes what
    /// comes, such as a `Vec`, all ranks get equal shares. The root passes `Some(values)`, and the other
    /// ranks pass `None`.
    ///
    /// # Errors
    /// `Size` on all ranks if the root has another number of bytes than all places together; `Argument` at
    /// the root if its values cannot be divided equally, and then `Type` on the other ranks. Otherwise those
    /// of [`broadcast`](Self::broadcast).
    #[doc(alias = "scatter_packed")]
    pub fn scatter_into<S, R>(&self, root: usize, values: Option<&S>, place: &mut R) -> Result
    where
        S: Message + ?Sized,
        R: Place + ?Sized,
    {
        let mpi = &ready()?;
        let root = self.rooted(mpi, root)?;
        let mut place = place.incoming();
        let own =
            values.filter(|_| root.is_here).map(|values| only_plain(values.carried(false)?)).transpose();
        let found = own.as_ref().ok().and_then(Option::as_ref).map_or(0, Read::packed_size);
        let (expected, found) = match place.split() {
            Ok(exact) => (exact.packed_size(), found),
            Err(_) => (0, ANY_SHARE),
        };
        let agreed = agree(root.members, expected, found)?;
        if agreed.found < ANY_SHARE as u64 {
            let Ok(exact) = place.split() else { return Ok(()) };
            let scattered = scatter(&agreed, root, own.as_ref().ok().and_then(Option::as_ref), exact);
            own?;
            return scattered;
        }
        scatter_shares(root, own, &mut place)
    }

    /// Sends a value of each rank to all ranks, and returns them all, in the order of the ranks
    /// (`MPI_Allgather`, `MPI_Allgatherv`).
    ///
    /// # Errors
    /// `Argument` if the value cannot be sent, and then `Type` on the other ranks; `Type` also if ranks name
    /// different types; `Value` if a value is invalid; `Size` if not all bytes arrive. An error before
    /// `MPI_Init`, after `MPI_Finalize`, on a thread that may not call MPI, if an MPI call fails, and if
    /// there is no memory for the messages.
    #[doc(alias = "all_gather_vec")]
    #[doc(alias = "all_gather_message")]
    pub fn all_gather<T: FromMessage>(&self, value: &T) -> Result<Vec<T>> {
        let mpi = &ready()?;
        let (own, failed) = outgoing(Some(value));
        let (all, parts) = gather_to_all(&agree(self.members(mpi), own.packed_size(), 0)?, &own)?;
        failed?;
        parts.make_each(&all, T::VALUES, made)
    }

    /// Sends plain values of each rank to all ranks, one after another in the order of the ranks, into memory
    /// that is there (`MPI_Allgather`, `MPI_Allgatherv`).
    ///
    /// # Errors
    /// `Size` if all ranks together send another number of bytes than the place has; otherwise those of
    /// [`all_gather`](Self::all_gather).
    #[doc(alias = "all_gather_packed")]
    pub fn all_gather_into<S, R>(&self, message: &S, place: &mut R) -> Result
    where
        S: Message + ?Sized,
        R: Place + ?Sized,
    {
        let mpi = &ready()?;
        let (own, failed) = outgoing_plain(message);
        let (mut all, parts) = gather_to_all(&agree(self.members(mpi), own.packed_size(), 0)?, &own)?;
        failed?;
        join_into(&parts, &mut all, &mut place.incoming())
    }

    /// Sends a value to each rank, and returns one from each: number `i` goes to rank `i`, and comes from
    /// there (`MPI_Alltoall`, `MPI_Alltoallv`).
    ///
    /// ```no_run
    /// use dtype_runtime::{MpiDatatype, Result, run};
    ///
    /// #[derive(MpiDatatype, Clone)]
    /// struct Particle { position: [f64; 3], id: u64 }
    ///
    /// fn main() {
    ///     run(|world| -> Result {
    ///         // The particles that leave for each rank, of any number.
    ///         let leaving: Vec<Vec<Particle>> = vec![Vec::new(); world.size()];
    ///         let arrived = world.all_to_all(&leaving)?.concat();
    ///         println!("{} particles arrived", arrived.len());
    ///         Ok(())
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// `Argument` if there are not as many values as ranks; otherwise those of
    /// [`all_gather`](Self::all_gather).
    #[doc(alias = "all_to_all_vec")]
    #[doc(alias = "all_to_all_message")]
    pub fn all_to_all<T: FromMessage>(&self, values: &[T]) -> Result<Vec<T>> {
        let mpi = &ready()?;
        let (all, parts) = exchange_each(self.members(mpi), values)?;
        parts.make_each(&all, T::VALUES, made)
    }

    /// Sends a message to each rank, and receives one from each into memory that is there: message `i` goes
    /// to rank `i`, and place `i` receives from rank `i` (`MPI_Alltoallw`). Each message and each place may
    /// have a layout of its own.
    ///
    /// # Errors
    /// `Argument` if there are not as many messages, or places, as ranks; `Size` if a message does not fit
    /// its place; otherwise those of [`all_gather`](Self::all_gather). If a message does not fit, nothing
    /// has been written. If a message holds an invalid value, those from lower ranks have been received.
    #[doc(alias = "all_to_all_packed")]
    #[doc(alias = "all_to_all_varcount_packed")]
    pub fn all_to_all_into<S: Message, R: Place>(&self, messages: &[S], places: &mut [R]) -> Result {
        let mpi = &ready()?;
        let members = self.members(mpi);
        let (all, parts) = exchange_each(members, messages)?;
        if places.len() != members.ranks {
            let what = "places to receive into";
            return Err(Error::Messages { what, found: places.len(), ranks: members.ranks });
        }
        let mut places: Vec<_> = places.iter_mut().map(Place::incoming).collect();
        parts.unpack_into_each(&all, &mut places)
    }

    /// Starts calls instead of waiting for them.
    pub fn start(&self) -> Starting<&Self> {
        Starting(self)
    }

    /// Prepares calls that are made many times.
    pub fn prepare(&self) -> Preparing<&Self> {
        Preparing(self)
    }

    /// Returns the root of a call.
    fn rooted<'m>(&self, mpi: &'m Usable, root: usize) -> Result<Rooted<'m>> {
        Rooted::at(self.members(mpi), root, self.rank())
    }
}

/// Returns a message of plain values, which ranks join or divide, or the error of one that is owned.
fn only_plain(message: Carried<'_>) -> Result<Carried<'_>> {
    if matches!(message, Carried::Owned(_)) {
        return Err(unsendable(
            "the message is an owned value, such as a `String`, and this call joins or divides plain values: \
             use `gather`, `all_gather` or `scatter`",
        ));
    }
    Ok(message)
}

/// Returns a message of plain values: see [`outgoing`].
fn outgoing_plain<M: Message + ?Sized>(message: &M) -> (Carried<'_>, Result) {
    or_failed(message.carried(false).and_then(only_plain))
}

/// Sends the message of the root, where this rank is, to all ranks.
fn broadcast_own(root: Rooted<'_>, (own, failed): (Carried<'_>, Result)) -> Result {
    broadcast_whole(root, Some(&own), None)?;
    failed
}

/// Returns messages without their types, and the first error of this rank: see [`outgoing`].
fn outgoing_each<'m, M: Message + ?Sized + 'm>(
    messages: impl Iterator<Item = Option<&'m M>>,
) -> (Vec<Carried<'m>>, Result) {
    let mut first = Ok(());
    let mut all = Vec::new();
    for (carried, failed) in messages.map(outgoing) {
        all.push(carried);
        first = first.and(failed);
    }
    (all, first)
}

/// Sends a message to each rank, and returns the packed bytes of those from all ranks with their division.
fn exchange_each<M: Message>(members: Members<'_>, messages: &[M]) -> Result<(PackBuffer, Parts)> {
    let Members { mpi, communicator, ranks } = members;
    let found = messages.len();
    let right = Some(messages).filter(|_| found == ranks);
    let (own, failed) = outgoing_each((0..ranks).map(|i| right.map(|messages| &messages[i])));
    let drawn = draw();
    let told: Vec<_> = own.iter().map(|message| [message.packed_size() as u64, drawn]).collect();
    let arrived = exchange(mpi, communicator, &told, |parts| parts.pack_each(&own))?;
    failed?;
    right.map(|_| arrived).ok_or(Error::Messages { what: "messages to send", found, ranks })
}

/// Writes the packed bytes of all ranks to a place, one after another.
fn join_into(parts: &Parts, all: &mut [u8], place: &mut Incoming<'_>) -> Result {
    match place.split() {
        Ok(exact) => parts.unpack(all, exact),
        Err(value) => made_into(parts.joined(all, value.values())?, value),
    }
}

/// Sends equal shares of the root's message to all ranks.
fn scatter_shares(root: Rooted<'_>, own: Result<Option<Carried<'_>>>, place: &mut Incoming<'_>) -> Result {
    let ranks = root.members.ranks;
    let described = match place.split() {
        Ok(exact) => Described::As(exact),
        Err(value) => value.values().into(),
    };
    let (arrived, failed) = if root.is_here {
        let (whole, failed) = or_failed(own.and_then(|own| {
            let own = own.ok_or_else(none_to_send)?;
            let size = own.packed_size();
            let divides = size % ranks == 0 && (size / ranks) % own.step() == 0;
            if divides { Ok(own) } else { Err(Error::Parts { found: size, ranks }) }
        }));
        // After an error, each rank gets the whole message, which says so.
        let shares = if failed.is_ok() { ranks } else { 1 };
        let share = whole.packed_size() / shares;
        let start = |rank| rank % shares * share;
        let shares: Vec<_> = (0..ranks)
            .map(|rank| RangeOf { whole: &whole, bytes: start(rank)..start(rank) + share })
            .collect();
        (scatter_each(root, Some(&shares), described), failed)
    } else {
        (scatter_each::<Carried<'_>>(root, None, described), Ok(()))
    };
    let (arrived, size) = arrived?;
    failed?;
    let received = match place.split() {
        Ok(exact) => {
            let (expected, value) = (exact.packed_size(), exact.step());
            if size == expected {
                are_plain(&*exact, &arrived[..size], size).and_then(|()| exact.unpack(&arrived[..size]))
            } else {
                Err(Error::Neighbour { rank: root.rank, value, expected, found: Some(size) })
            }
        }
        Err(value) => made_into(&arrived[..size], value),
    };
    received.map_err(|error| error.sent_by(root.rank))
}

#[cold]
fn none_to_send() -> Error {
    unsendable("the root must pass `Some`, and passed `None`")
}
