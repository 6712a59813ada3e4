//! Sending and receiving, as extensions of rsmpi's destinations and sources (MPI 4.1 chapter 3).

use ::mpi::{
    Tag,
    point_to_point::{Destination, Source, Status},
    request::Scope,
};

use super::{
    Receivable, Sendable, Wire,
    immediate::{PendingReceive, PendingSend},
    persistent::SendMode,
    prepared::{PartitionedReceive, PartitionedSend, PreparedReceive, PreparedSend},
    receive::receive,
    request::{Address, any_tag},
    segments,
    send::{Sending, send, start_packed},
    transfer::{Making, Transfer},
};
use crate::{Error, mpi::ready};

/// Calls that send a message on a wire.
pub trait SendOver: Destination {
    /// Packs a message and sends it.
    ///
    /// ```no_run
    /// use dtype_runtime::{layout, traits::*};
    /// use mpi::traits::*;
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let world = universe.world();
    /// let mut matrix = [[0.5f64; 100]; 100];
    /// let column = layout!(f64[100][100] => [.., 3]);
    /// match world.rank() {
    ///     0 => world.process_at_rank(1).send_packed(&column.of(&matrix))?,
    ///     _ => drop(world.process_at_rank(0).receive_values_into(&mut column.of_mut(&mut matrix))?),
    /// }
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Tag`] if the tag is out of range. An error before `MPI_Init`, after `MPI_Finalize`, on a
    /// thread that may not call MPI, if an MPI call fails, and if there is no memory for a buffer.
    #[inline]
    fn send_packed<M: Sendable + ?Sized>(&self, message: &M) -> Result<(), Error> {
        self.send_over(Wire::Packed, message)
    }

    /// Packs a message and sends it with a tag.
    ///
    /// # Errors
    /// The errors of [`send_packed`](Self::send_packed).
    #[inline]
    fn send_packed_with_tag<M: Sendable + ?Sized>(&self, message: &M, tag: Tag) -> Result<(), Error> {
        self.send_over_with_tag(Wire::Packed, message, tag)
    }

    /// Sends a message on a wire. [`receive_values_into`](ReceiveOver::receive_values_into) receives it,
    /// except on [`Wire::Segments`]: then [`receive_over`](ReceiveOver::receive_over) with that wire must
    /// receive it.
    ///
    /// # Errors
    /// The errors of [`send_packed`](Self::send_packed); [`Error::Wire`] if the message cannot be sent on the
    /// wire; [`Error::Table`] if `DTYPE_WIRES` names a file that is not a table.
    #[inline]
    fn send_over<M: Sendable + ?Sized>(&self, wire: Wire, message: &M) -> Result<(), Error> {
        self.send_over_with_tag(wire, message, Tag::default())
    }

    /// Sends a message on a wire, with a tag.
    ///
    /// # Errors
    /// The errors of [`send_over`](Self::send_over).
    #[inline]
    fn send_over_with_tag<M: Sendable + ?Sized>(
        &self,
        wire: Wire,
        message: &M,
        tag: Tag,
    ) -> Result<(), Error> {
        let mpi = &ready()?;
        send(mpi, message, wire, Address::destination(mpi, self, tag)?)
    }

    /// Packs a message and starts to send it. The whole message has been packed when the call returns.
    ///
    /// # Errors
    /// The errors of [`send_packed`](Self::send_packed).
    fn immediate_send_packed<'a, Sc: Scope<'a>, M: Sendable + ?Sized>(
        &self,
        scope: Sc,
        message: &'a M,
    ) -> Result<PendingSend<'a, M, Sc>, Error> {
        self.immediate_send_over_with_tag(scope, Wire::Packed, message, Tag::default())
    }

    /// Starts to send a message on a wire, with a tag. The message is borrowed for as long as the request
    /// lives, because some wires send directly from its memory.
    ///
    /// # Errors
    /// The errors of [`send_over`](Self::send_over).
    fn immediate_send_over_with_tag<'a, Sc: Scope<'a>, M: Sendable + ?Sized>(
        &self,
        scope: Sc,
        wire: Wire,
        message: &'a M,
        tag: Tag,
    ) -> Result<PendingSend<'a, M, Sc>, Error> {
        let mpi = &ready()?;
        PendingSend::new(mpi, scope, message, wire, Address::destination(mpi, self, tag)?)
    }

    /// Prepares messages of the packed size of `message` (`MPI_Send_init`). Nothing is sent before
    /// [`start`](PreparedSend::start). Every call that receives values receives the messages, on the tag.
    ///
    /// ```no_run
    /// use dtype_runtime::{layout, traits::*};
    /// use mpi::traits::*;
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let world = universe.world();
    /// let column = layout!(f64[100][100] => [.., 3]);
    /// let mut matrix = [[0.5f64; 100]; 100];
    /// if world.rank() == 0 {
    ///     let there = world.process_at_rank(1);
    ///     let mut send = there.prepare_send_packed(&column.of(&matrix), 0)?;
    ///     for _ in 0..10 {
    ///         send.start(&column.of(&matrix))?;
    ///         matrix[0][3] += 1.0; // the message has been packed
    ///     }
    /// } else {
    ///     let there = world.process_at_rank(0);
    ///     let mut receive = there.prepare_receive_packed(&column.of(&matrix), 0)?;
    ///     for _ in 0..10 {
    ///         receive.start()?;
    ///         receive.finish(&mut column.of_mut(&mut matrix))?;
    ///     }
    /// }
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`send_packed`](Self::send_packed).
    fn prepare_send_packed<M: Sendable + ?Sized>(
        &self,
        message: &M,
        tag: Tag,
    ) -> Result<PreparedSend<'_>, Error> {
        let mpi = &ready()?;
        let to = Address::destination(mpi, self, tag)?;
        // SAFETY: 1, since the result borrows the destination, which borrows its communicator.
        unsafe { PreparedSend::new(mpi, message.packed_size(), SendMode::Standard, to) }
    }

    /// Like [`prepare_send_packed`](Self::prepare_send_packed), in synchronous mode (`MPI_Ssend_init`): a
    /// message has been sent only when the receiver has begun to receive it.
    ///
    /// # Errors
    /// The errors of [`send_packed`](Self::send_packed).
    fn prepare_synchronous_send_packed<M: Sendable + ?Sized>(
        &self,
        message: &M,
        tag: Tag,
    ) -> Result<PreparedSend<'_>, Error> {
        let mpi = &ready()?;
        let to = Address::destination(mpi, self, tag)?;
        // SAFETY: 1, as in `prepare_send_packed`.
        unsafe { PreparedSend::new(mpi, message.packed_size(), SendMode::Synchronous, to) }
    }

    /// Like [`prepare_send_packed`](Self::prepare_send_packed), in ready mode (`MPI_Rsend_init`).
    ///
    /// # Errors
    /// The errors of [`send_packed`](Self::send_packed).
    ///
    /// # Safety
    /// The receiver has started each receive before [`start`](PreparedSend::start) is called. Otherwise the
    /// outcome is undefined (MPI 4.1 section 3.4).
    unsafe fn prepare_ready_send_packed<M: Sendable + ?Sized>(
        &self,
        message: &M,
        tag: Tag,
    ) -> Result<PreparedSend<'_>, Error> {
        let mpi = &ready()?;
        let to = Address::destination(mpi, self, tag)?;
        // SAFETY: 1, as in `prepare_send_packed`; 2 is the caller's condition.
        unsafe { PreparedSend::new(mpi, message.packed_size(), SendMode::Ready, to) }
    }

    /// Packs a message and sends it in synchronous mode (`MPI_Ssend`): the call returns only when the
    /// receiver has begun to receive it.
    ///
    /// # Errors
    /// The errors of [`send_packed`](Self::send_packed).
    fn synchronous_send_packed<M: Sendable + ?Sized>(&self, message: &M, tag: Tag) -> Result<(), Error> {
        let mut send = self.prepare_synchronous_send_packed(message, tag)?;
        send.start(message)?;
        send.wait()
    }

    /// Prepares messages in `partitions` partitions, each of the packed size of `message` (`MPI_Psend_init`).
    /// [`prepare_partitioned_receive_packed`](ReceiveOver::prepare_partitioned_receive_packed) receives them.
    /// They need a tag of their own.
    ///
    /// # Errors
    /// The errors of [`send_packed`](Self::send_packed).
    fn prepare_partitioned_send_packed<M: Sendable + ?Sized>(
        &self,
        message: &M,
        partitions: usize,
        tag: Tag,
    ) -> Result<PartitionedSend<'_>, Error> {
        let mpi = &ready()?;
        let to = Address::destination(mpi, self, tag)?;
        // SAFETY: 1, since the result borrows the destination, which borrows its communicator.
        unsafe { PartitionedSend::new(mpi, message.packed_size(), partitions, to) }
    }
}

/// Calls that receive a message from any wire.
pub trait ReceiveOver: Source {
    /// Receives a message into a value, slice or view with the same number of values. The receive matches any
    /// tag (`MPI_ANY_TAG`); sends without a tag use tag 0. A receive from `MPI_PROC_NULL` returns at once and
    /// writes nothing.
    ///
    /// # Errors
    /// [`Error::Fit`] if the size of the message is not that of the destination. [`Error::InvalidValue`] if
    /// the message holds an invalid value. With `DTYPE_CHECK=1`, [`Error::Mismatch`] if the message holds
    /// other base types. After one of these, nothing has been written. [`Error::Tag`] if the tag is out of
    /// range. An error before `MPI_Init`, after `MPI_Finalize`, on a thread that may not call MPI, if an MPI
    /// call fails, and if there is no memory for a buffer.
    #[inline]
    fn receive_values_into<M: Receivable + ?Sized>(&self, message: &mut M) -> Result<Status, Error> {
        // The receive matches any tag, like rsmpi's own call.
        self.receive_values_into_with_tag(message, any_tag())
    }

    /// Receives a message with a tag.
    ///
    /// # Errors
    /// The errors of [`receive_values_into`](Self::receive_values_into).
    #[inline]
    fn receive_values_into_with_tag<M: Receivable + ?Sized>(
        &self,
        message: &mut M,
        tag: Tag,
    ) -> Result<Status, Error> {
        let mpi = &ready()?;
        receive(mpi, message, Making::Fastest, Address::source(mpi, self, tag)?)
    }

    /// Receives a message that was sent on a wire, with any tag. On [`Wire::Segments`], both sides must name
    /// that wire. Segments have communicators of their own, so if only one side names this wire, the receive
    /// waits for ever. All other wires are received in the same way.
    ///
    /// # Errors
    /// The errors of [`receive_values_into`](Self::receive_values_into). On [`Wire::Segments`] also
    /// [`Error::Wire`] if the communicator is not [attached](super::attach), and [`Error::Segment`], after
    /// which some values may have been written.
    #[inline]
    fn receive_over<M: Receivable + ?Sized>(&self, wire: Wire, message: &mut M) -> Result<Status, Error> {
        self.receive_over_with_tag(wire, message, any_tag())
    }

    /// Receives a message that was sent on a wire, with a tag.
    ///
    /// # Errors
    /// The errors of [`receive_over`](Self::receive_over).
    #[inline]
    fn receive_over_with_tag<M: Receivable + ?Sized>(
        &self,
        wire: Wire,
        message: &mut M,
        tag: Tag,
    ) -> Result<Status, Error> {
        let mpi = &ready()?;
        let from = Address::source(mpi, self, tag)?;
        match wire.transfer() {
            Transfer::Segments => segments::receive(mpi, message, from),
            Transfer::Whole(making) => receive(mpi, message, making, from),
        }
    }

    /// Starts to receive a message with any tag. MPI receives it into a buffer while the program does other
    /// work. After [`wait`](PendingReceive::wait), the message has been checked and unpacked.
    ///
    /// There is no such call for [`Wire::Segments`]. MPI cannot receive further segments by itself, so ranks
    /// that wait for each other would wait for ever.
    ///
    /// # Errors
    /// The errors of [`receive_values_into`](Self::receive_values_into).
    fn immediate_receive_values_into<'a, Sc: Scope<'a>, M: Receivable + ?Sized>(
        &self,
        scope: Sc,
        message: &'a mut M,
    ) -> Result<PendingReceive<'a, M, Sc>, Error> {
        self.immediate_receive_values_into_with_tag(scope, message, any_tag())
    }

    /// Starts to receive a message with a tag.
    ///
    /// # Errors
    /// The errors of [`immediate_receive_values_into`](Self::immediate_receive_values_into).
    fn immediate_receive_values_into_with_tag<'a, Sc: Scope<'a>, M: Receivable + ?Sized>(
        &self,
        scope: Sc,
        message: &'a mut M,
        tag: Tag,
    ) -> Result<PendingReceive<'a, M, Sc>, Error> {
        let mpi = &ready()?;
        PendingReceive::new(mpi, scope, message, Address::source(mpi, self, tag)?)
    }

    /// Prepares receives of messages of the packed size of `message` (`MPI_Recv_init`). Nothing is received
    /// before [`start`](PreparedReceive::start). The messages may be sent by any call that sends values
    /// whole.
    ///
    /// # Errors
    /// The errors of [`receive_values_into`](Self::receive_values_into).
    fn prepare_receive_packed<M: Sendable + ?Sized>(
        &self,
        message: &M,
        tag: Tag,
    ) -> Result<PreparedReceive<'_>, Error> {
        let mpi = &ready()?;
        let from = Address::source(mpi, self, tag)?;
        // SAFETY: 1, since the result borrows the source, which borrows its communicator.
        unsafe { PreparedReceive::new(mpi, message.packed_size(), from) }
    }

    /// Prepares receives of messages in `partitions` partitions, each of the packed size of `message`
    /// (`MPI_Precv_init`), from
    /// [`prepare_partitioned_send_packed`](SendOver::prepare_partitioned_send_packed) with equal numbers.
    ///
    /// # Errors
    /// The errors of [`receive_values_into`](Self::receive_values_into).
    fn prepare_partitioned_receive_packed<M: Sendable + ?Sized>(
        &self,
        message: &M,
        partitions: usize,
        tag: Tag,
    ) -> Result<PartitionedReceive<'_>, Error> {
        let mpi = &ready()?;
        let from = Address::source(mpi, self, tag)?;
        // SAFETY: 1, since the result borrows the source, which borrows its communicator.
        unsafe { PartitionedReceive::new(mpi, message.packed_size(), partitions, from) }
    }
}

impl<D: Destination + ?Sized> SendOver for D {}
impl<S: Source + ?Sized> ReceiveOver for S {}

/// Sends one message packed while another one is received (MPI 4.1 section 3.10). Neither waits for the
/// other.
///
/// ```no_run
/// use dtype_runtime::wire::send_receive_packed;
/// use mpi::traits::*;
///
/// let universe = mpi::initialize().unwrap();
/// let world = universe.world();
/// let (rank, size) = (world.rank(), world.size());
/// let next = world.process_at_rank((rank + 1) % size);
/// let previous = world.process_at_rank((rank + size - 1) % size);
/// let own = vec![(rank as u8, 0.5f64); 1000];
/// let mut others = own.clone();
/// send_receive_packed(&own, &next, &mut others, &previous)?;
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// The errors of [`SendOver::send_packed`] and [`ReceiveOver::receive_values_into`]. If the received message
/// does not fit, the other one is sent nevertheless.
pub fn send_receive_packed<M, D, N, S>(
    message: &M,
    destination: &D,
    into: &mut N,
    source: &S,
) -> Result<Status, Error>
where
    M: Sendable + ?Sized,
    D: Destination + ?Sized,
    N: Receivable + ?Sized,
    S: Source + ?Sized,
{
    send_receive_over(Wire::Packed, message, destination, into, source)
}

/// Sends one message while another one is received, on any wire. On [`Wire::Segments`], both are sent in
/// segments.
///
/// # Errors
/// The errors of [`SendOver::send_over`] and [`ReceiveOver::receive_over`]. If the received message does not
/// fit, the other one is sent nevertheless.
pub fn send_receive_over<M, D, N, S>(
    wire: Wire,
    message: &M,
    destination: &D,
    into: &mut N,
    source: &S,
) -> Result<Status, Error>
where
    M: Sendable + ?Sized,
    D: Destination + ?Sized,
    N: Receivable + ?Sized,
    S: Source + ?Sized,
{
    send_receive_over_with_tags(wire, message, destination, Tag::default(), into, source, any_tag())
}

/// Sends one message while another one is received, on any wire, with tags.
///
/// # Errors
/// The errors of [`send_receive_over`].
pub fn send_receive_over_with_tags<M, D, N, S>(
    wire: Wire,
    message: &M,
    to: &D,
    send_tag: Tag,
    into: &mut N,
    from: &S,
    receive_tag: Tag,
) -> Result<Status, Error>
where
    M: Sendable + ?Sized,
    D: Destination + ?Sized,
    N: Receivable + ?Sized,
    S: Source + ?Sized,
{
    let mpi = &ready()?;
    let (to, from) = (Address::destination(mpi, to, send_tag)?, Address::source(mpi, from, receive_tag)?);
    match wire.transfer() {
        Transfer::Segments => segments::send_receive(mpi, message, to, into, from),
        Transfer::Whole(making) => {
            let mut sending = Sending::whole(mpi, message, making, to)?;
            // The message is being sent, and MPI makes progress while this rank waits.
            let received = receive(mpi, into, making, from);
            sending.advance(mpi, true)?;
            received
        }
    }
}

/// Sends a message while another one of equal size is received in its place (MPI 4.1 section 3.10,
/// `MPI_Sendrecv_replace`).
///
/// ```no_run
/// use dtype_runtime::wire::send_receive_replace_packed;
/// use mpi::traits::*;
///
/// let universe = mpi::initialize().unwrap();
/// let world = universe.world();
/// let (rank, size) = (world.rank(), world.size());
/// let mut values = vec![(rank as u8, 0.5f64); 1000];
/// let next = world.process_at_rank((rank + 1) % size);
/// let previous = world.process_at_rank((rank + size - 1) % size);
/// send_receive_replace_packed(&mut values, &next, &previous)?;
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// The errors of [`send_receive_packed`]. If the received message does not fit, the values stay as they are,
/// and have been sent nevertheless.
pub fn send_receive_replace_packed<M, D, S>(
    message: &mut M,
    destination: &D,
    source: &S,
) -> Result<Status, Error>
where
    M: Receivable + ?Sized,
    D: Destination + ?Sized,
    S: Source + ?Sized,
{
    let mpi = &ready()?;
    let to = Address::destination(mpi, destination, Tag::default())?;
    let from = Address::source(mpi, source, any_tag())?;
    let mut sending = start_packed(mpi, message, to)?;
    let received = receive(mpi, message, Making::Packed, from);
    sending.is_sent(mpi, true)?;
    received
}
