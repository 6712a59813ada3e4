//! Messages from any rank.

use std::marker::PhantomData;

use ::mpi::Tag;

use super::{
    Arrived, Peer, Pending, Place, Starting,
    peer::{arrived_value, value},
};
use crate::{
    FromMessage, Result, Wire,
    mpi::{Usable, ready},
    transfer::address::{Address, Channel},
};

/// All ranks of a communicator, to receive from whichever sends (`MPI_ANY_SOURCE`).
///
/// ```no_run
/// use dtype_runtime::{Peer, Result, run};
///
/// fn main() {
///     run(|world| -> Result {
///         if world.rank() == 0 {
///             for _ in 1..world.size() {
///                 let (name, from): (String, Peer) = world.any().receive()?;
///                 from.send(&format!("hello, {name}"))?;
///             }
///         } else {
///             world.peer(0).send(&format!("rank {}", world.rank()))?;
///             println!("{}", world.peer(0).receive::<String>()?);
///         }
///         Ok(())
///     });
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Any<'c> {
    channel: Channel,
    tag: Option<Tag>,
    wire: Wire,
    communicator: PhantomData<&'c ()>,
}

impl<'c> Any<'c> {
    pub(super) fn new(channel: Channel) -> Self {
        Self { channel, tag: None, wire: Wire::Auto, communicator: PhantomData }
    }

    /// Receives with this tag.
    #[must_use]
    pub fn tag(mut self, tag: Tag) -> Self {
        self.tag = Some(tag);
        self
    }

    /// Receives on this wire. See [`Peer::wire`].
    #[must_use]
    pub fn wire(mut self, wire: Wire) -> Self {
        self.wire = wire;
        self
    }

    fn source(&self, mpi: &Usable) -> Result<Address> {
        self.channel.address(mpi, None, self.tag)
    }

    fn sender(&self, sender: Address) -> Peer<'c> {
        Peer::new(self.channel, usize::try_from(sender.rank).unwrap_or(usize::MAX))
    }

    /// Receives a value from any rank, and returns the rank as well.
    ///
    /// # Errors
    /// The errors of [`Peer::receive`].
    pub fn receive<T: FromMessage>(&self) -> Result<(T, Peer<'c>)> {
        let mpi = &ready()?;
        let (value, sender) = value(mpi, self.wire, self.source(mpi)?)?;
        Ok((value, self.sender(sender)))
    }

    /// Receives a message from any rank into memory that is there, and returns the rank.
    ///
    /// # Errors
    /// The errors of [`Peer::receive_into`].
    pub fn receive_into<M: Place + ?Sized>(&self, place: &mut M) -> Result<Peer<'c>> {
        let mpi = &ready()?;
        let sender = place.incoming().receive(mpi, self.wire, self.source(mpi)?)?;
        Ok(self.sender(sender))
    }

    /// Receives a value if a message of any rank has arrived. Otherwise returns `None` at once.
    ///
    /// # Errors
    /// The errors of [`Peer::receive`].
    pub fn try_receive<T: FromMessage>(&self) -> Result<Option<(T, Peer<'c>)>> {
        let mpi = &ready()?;
        let found = arrived_value(mpi, self.source(mpi)?)?;
        Ok(found.map(|(value, sender)| (value, self.sender(sender))))
    }

    /// Returns what has arrived from any rank, without receiving it, or `None` if there is nothing.
    ///
    /// # Errors
    /// The errors of [`Peer::probe`].
    pub fn probe(&self) -> Result<Option<Arrived<'c>>> {
        let mpi = &ready()?;
        Arrived::look_for(mpi, self.channel, self.source(mpi)?)
    }

    /// Starts to receive instead of waiting.
    pub fn start(self) -> Starting<Self> {
        Starting(self)
    }
}

impl<'c> Starting<Any<'c>> {
    /// Starts to receive a value from any rank (`MPI_Irecv`). [`finish`](Pending::finish) returns the rank as
    /// well. See [the same call of a rank](struct.Starting.html#method.receive).
    ///
    /// # Errors
    /// The errors of [`Peer::receive`], from [`finish`](Pending::finish).
    pub fn receive<T: FromMessage + 'c>(&self) -> Result<Pending<'c, (T, Peer<'c>)>> {
        let mpi = &ready()?;
        let any = self.0;
        let from = any.source(mpi)?;
        Pending::value(mpi, from, move |value, sender| (value, any.sender(sender)))
    }

    /// Starts to receive a message from any rank into memory that is there, which is borrowed until
    /// [`finish`](Pending::finish) writes it and returns the rank.
    ///
    /// # Errors
    /// The errors of [`Peer::receive_into`], from [`finish`](Pending::finish).
    pub fn receive_into<'a, M: Place + ?Sized>(&self, place: &'a mut M) -> Result<Pending<'a, Peer<'c>>>
    where
        'c: 'a,
    {
        let mpi = &ready()?;
        let any = self.0;
        let from = any.source(mpi)?;
        Pending::place(mpi, place.incoming(), any.wire, from, move |sender| any.sender(sender))
    }
}

debug!([] Any<'_>, |any| tag: any.tag, wire: any.wire);
