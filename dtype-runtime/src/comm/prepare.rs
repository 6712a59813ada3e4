//! Prepared calls: messages of one size, prepared once and transferred many times (MPI 4.1 sections 3.9 and
//! 6.13).
//!
//! Prepared messages have buffers of their own. A message is packed when its transfer starts, and unpacked at
//! the end. So nothing of the program is borrowed in between, and the values may lie elsewhere each time.

use std::sync::Arc;

use dtype_engine::Error as PackError;

use super::{Comm, Handle, Message, Neighbours, Peer, Pending, Place, Preparing, peer::Options};
use crate::{
    Error, Result, Wire,
    mpi::{Usable, ready},
    transfer::{
        address::Address,
        attach::descriptions_on,
        descriptions::{Descriptions, announce},
        exchange::{Around, Repeated},
        frame::checks,
        incoming::Incoming,
        persistent::Persistent,
        sendable::{pack_exactly, sealed::Read},
        waiting::{is_awaited, meanwhile, progress},
    },
};

impl Preparing<Peer<'_>> {
    /// Prepares messages of the size of this one (`MPI_Send_init`).
    ///
    /// ```no_run
    /// use dtype_runtime::{Result, run};
    ///
    /// fn main() {
    ///     run(|world| -> Result {
    ///         let other = 1 - world.rank();
    ///         let (mut own, mut others) = ([0.5; 100], [0.0; 100]);
    ///         let mut send = world.peer(other).prepare().send(&own)?;
    ///         let mut receive = world.peer(other).prepare().receive_into(&others)?;
    ///         for _ in 0..10 {
    ///             let sending = send.start(&own)?;
    ///             receive.run(&mut others)?;
    ///             sending.finish()?;
    ///             own = others.map(|x| 0.5 * x);
    ///         }
    ///         Ok(())
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// `Argument` if the rank or the tag is out of range, or if the message cannot be sent; `Unsupported` on
    /// other wires than [`Wire::Auto`] and [`Wire::Packed`]; an error if an MPI call fails, and if there is
    /// no memory for the buffer.
    #[doc(alias = "prepare_send_packed")]
    pub fn send<M: Message + ?Sized>(self, message: &M) -> Result<PreparedSend> {
        let mpi = &ready()?;
        let Options { wire, is_synchronous, .. } = self.0.options;
        is_packed(wire)?;
        let (to, size) = (self.0.destination(mpi)?, message.carried(false)?.packed_size());
        let mut request = Persistent::on_live(mpi, to.communicator)?;
        if is_synchronous {
            request.add_synchronous_send(mpi, size, to)?;
        } else {
            request.add_send(mpi, size, to)?;
        }
        let descriptions = descriptions_on(mpi, to.communicator)?;
        Ok(PreparedSend { request, to, descriptions })
    }

    /// Prepares receives of messages of the size of this one, which is not written (`MPI_Recv_init`).
    ///
    /// # Errors
    /// The errors of [`send`](Self::send).
    #[doc(alias = "prepare_receive_packed")]
    pub fn receive_into<M: Message + ?Sized>(self, place: &M) -> Result<PreparedReceive> {
        let mpi = &ready()?;
        is_packed(self.0.options.wire)?;
        let (from, size) = (self.0.source(mpi)?, place.carried(false)?.packed_size());
        let descriptions = descriptions_on(mpi, from.communicator)?;
        Ok(PreparedReceive { request: receives(mpi, size, from)?, size, from, descriptions })
    }
}

fn receives(mpi: &Usable, size: usize, from: Address) -> Result<Persistent> {
    let mut request = Persistent::on_live(mpi, from.communicator)?;
    request.add_receive(mpi, size, from)?;
    Ok(request)
}

/// Checks that messages on a wire are packed bytes.
fn is_packed(wire: Wire) -> Result {
    let name = match wire {
        Wire::Auto | Wire::Packed => return Ok(()),
        Wire::Typed => "typed",
        Wire::Bytes => "bytes",
        Wire::Segments => "segments",
    };
    Err(Error::Wire { wire: name, reason: "prepared messages are packed into a buffer of their own" })
}

/// Messages of one size to one rank: what [`Preparing::send`] returns. It borrows nothing, and may be dropped
/// or forgotten at any time. Dropping it waits for a message under way.
pub struct PreparedSend {
    request: Persistent,
    to: Address,
    descriptions: Option<Arc<Descriptions>>,
}

impl PreparedSend {
    /// Sends a message, and waits until it has been sent.
    ///
    /// # Errors
    /// The errors of [`start`](Self::start).
    pub fn run<M: Message + ?Sized>(&mut self, message: &M) -> Result {
        self.start(message)?.finish()
    }

    /// Starts to send a message (`MPI_Start`), which is free when the call returns. If the message before is
    /// still under way, the call waits for it.
    ///
    /// # Errors
    /// `Size` if the message has another packed size than the one that was prepared; `State` if the
    /// communicator has been freed, unless the library keeps it; an error if an MPI call fails.
    pub fn start<M: Message + ?Sized>(&mut self, message: &M) -> Result<Pending<'_>> {
        let mpi = &ready()?;
        let message = message.carried(false)?;
        self.request.settle(mpi)?;
        pack_exactly(message.read(), self.request.outgoing(0))?;
        if checks() {
            announce(mpi, self.descriptions.as_deref(), message.read(), self.to)?;
        }
        self.request.start(mpi)?;
        Ok(Pending::new(
            &mut self.request,
            |request, mpi| {
                progress(mpi);
                request.is_done(mpi)
            },
            |request, mpi| meanwhile(mpi, || request.is_done(mpi)),
        ))
    }
}

/// Messages of one size from one rank: what [`Preparing::receive_into`] returns. It borrows nothing, and may
/// be dropped or forgotten at any time. Dropping it gives up a receive under way.
pub struct PreparedReceive {
    request: Persistent,
    size: usize,
    from: Address,
    descriptions: Option<Arc<Descriptions>>,
}

impl PreparedReceive {
    /// Receives a message, and waits for it.
    ///
    /// # Errors
    /// The errors of [`start`](Self::start), and those of [`Peer::receive_into`].
    pub fn run<M: Place + ?Sized>(&mut self, place: &mut M) -> Result {
        self.start(place)?.finish()
    }

    /// Starts to receive a message (`MPI_Start`) into a place, which is written by
    /// [`finish`](Pending::finish). Dropping the result gives up the receive; if it is forgotten, the message
    /// is lost.
    ///
    /// # Errors
    /// `Size` if the place has another packed size than the one that was prepared; `State` if the
    /// communicator has been freed, unless the library keeps it; an error if an MPI call fails. The errors of
    /// [`Peer::receive_into`] are those of [`finish`](Pending::finish).
    pub fn start<'a, M: Place + ?Sized>(&'a mut self, place: &'a mut M) -> Result<Pending<'a>> {
        let mpi = &ready()?;
        let mut place = place.incoming();
        if let Ok(exact) = place.split() {
            PackError::unless_exactly("a prepared destination", self.size, exact.packed_size())?;
        }
        let Self { request, size, from, descriptions } = self;
        request.settle(mpi)?;
        if !request.is_whole() {
            *request = receives(mpi, *size, *from)?;
        }
        // A receive that was started before, by another call, takes the message first.
        if is_awaited(*from) {
            request.check_life()?;
            return Pending::place(mpi, place, Wire::Auto, *from, drop);
        }
        request.start(mpi)?;
        let receiving = Receiving { request, descriptions: descriptions.as_deref(), place };
        Ok(Pending::new(receiving, Receiving::is_done, Receiving::finish))
    }
}

impl Drop for PreparedReceive {
    fn drop(&mut self) {
        self.request.cancel();
    }
}

/// A prepared message that is being received.
struct Receiving<'a> {
    request: &'a mut Persistent,
    descriptions: Option<&'a Descriptions>,
    place: Incoming<'a>,
}

impl Receiving<'_> {
    fn is_done(&mut self, mpi: &Usable) -> Result<bool> {
        progress(mpi);
        self.request.is_done(mpi)
    }

    fn finish(mut self, mpi: &Usable) -> Result {
        let Self { request, descriptions, place } = &mut self;
        meanwhile(mpi, || request.is_done(mpi))?;
        let value = place.split().map_or(1, |exact| exact.step());
        let bytes = request.incoming(mpi, 0, value)?;
        if let (Some(descriptions), Ok(exact)) = (descriptions, place.split()) {
            descriptions.compare(mpi, exact, bytes, request.sender(0))?;
        }
        let sender = request.sender(0).rank;
        place.unpack(bytes).map_err(|error| error.sent_by(sender))
    }
}

impl Drop for Receiving<'_> {
    fn drop(&mut self) {
        self.request.cancel();
    }
}

impl<C: Handle> Preparing<&Comm<C>> {
    /// Prepares exchanges of messages and places of these sizes, one for each rank (`MPI_Alltoallw_init`).
    /// The places are not written. All ranks must make this call.
    ///
    /// ```no_run
    /// use dtype_runtime::{Result, run};
    ///
    /// fn main() {
    ///     run(|world| -> Result {
    ///         let sent = vec![[0.5; 10]; world.size()];
    ///         let mut received = vec![[0.0; 10]; world.size()];
    ///         let mut exchange = world.prepare().all_to_all_into(&sent, &received)?;
    ///         for _ in 0..10 {
    ///             exchange.run(&sent, &mut received)?;
    ///         }
    ///         Ok(())
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// `Argument` if there are not as many messages, or places, as ranks; `Elsewhere` if another rank has an
    /// error; `Unsupported` on an intercommunicator; an error if an MPI call fails.
    #[doc(alias = "prepare_all_to_all_varcount_packed")]
    pub fn all_to_all_into<S, R>(self, messages: &[S], places: &[R]) -> Result<PreparedExchange>
    where
        S: Message,
        R: Message,
    {
        let mpi = &ready()?;
        PreparedExchange::new(mpi, Around::all(self.0.members(mpi))?, messages, places)
    }
}

impl Preparing<Neighbours<'_>> {
    /// Prepares exchanges of messages and places of these sizes, one for each neighbour
    /// (`MPI_Neighbor_alltoallw_init`). The places are not written. All ranks must make this call.
    ///
    /// # Errors
    /// `Argument` if there are not as many messages, or places, as neighbours, or if the communicator has no
    /// topology; `Elsewhere` if another rank has an error; an error if an MPI call fails.
    #[doc(alias = "prepare_neighbour_all_to_all_varcount_packed")]
    pub fn all_to_all_into<S, R>(self, messages: &[S], places: &[R]) -> Result<PreparedExchange>
    where
        S: Message,
        R: Message,
    {
        let mpi = &ready()?;
        PreparedExchange::new(mpi, self.0.around(mpi)?, messages, places)
    }
}

/// Messages of fixed sizes to several ranks and from several ranks: what `prepare().all_to_all_into(…)`
/// returns. It borrows nothing, and may be dropped or forgotten at any time.
pub struct PreparedExchange(Repeated);

impl PreparedExchange {
    fn new<S: Message, R: Message>(
        mpi: &Usable,
        around: Around,
        messages: &[S],
        places: &[R],
    ) -> Result<Self> {
        fn sizes<M: Message>(messages: &[M]) -> Result<Vec<usize>> {
            messages.iter().map(|message| Ok(message.carried(false)?.packed_size())).collect()
        }
        let sizes = sizes(messages).and_then(|own| Ok([own, sizes(places)?]));
        around.prepare(mpi, sizes).map(Self)
    }

    /// Sends a message to each rank, and receives one from each into its place. All ranks must make this
    /// call.
    ///
    /// # Errors
    /// `Argument` if the lists have other lengths than when the exchange was prepared, and `Size` if a
    /// message, or a place, has another size: then empty messages are sent. `Size` if a rank sent another
    /// number of bytes than is received here, or has an error: then nothing has been written. `Value` if a
    /// rank sent invalid values: then earlier messages have been written. An error if an MPI call fails.
    pub fn run<S: Message, R: Place>(&mut self, messages: &[S], places: &mut [R]) -> Result {
        self.start(messages, places)?.finish()
    }

    /// Starts to send and to receive. The messages are free when the call returns. The places are borrowed
    /// until [`finish`](Pending::finish), which writes them. If the result is forgotten, the messages are
    /// lost.
    ///
    /// # Errors
    /// `Argument` and `Size` as for [`run`](Self::run); an error if an MPI call fails.
    pub fn start<'a, S: Message, R: Place>(
        &'a mut self,
        messages: &[S],
        places: &'a mut [R],
    ) -> Result<Pending<'a>> {
        let mpi = &ready()?;
        let messages = messages.iter().map(|message| message.carried(false)).collect();
        let mut places: Vec<_> = places.iter_mut().map(Place::incoming).collect();
        self.0.start(mpi, messages, &mut places)?;
        let is_done = |(exchange, _): &mut (&mut Repeated, _), mpi: &Usable| {
            progress(mpi);
            exchange.is_done(mpi)
        };
        Ok(Pending::new((&mut self.0, places), is_done, |(exchange, mut places), mpi| {
            exchange.finish(mpi, &mut places)
        }))
    }
}

debug!([] PreparedSend, |send| to: send.to.rank);
debug!([] PreparedReceive, |receive| packed_size: receive.size);
debug!([] PreparedExchange);
