//! Messages to several ranks and from several ranks at a time.

use super::{Comm, Handle, Message, Place, message::outgoing};
use crate::{
    Error, Result, Wire,
    mpi::ready,
    transfer::exchange::{at_once, misfit},
};

impl<C: Handle> Comm<C> {
    /// Sends messages to some ranks, and receives others from some ranks, without waiting for one before the
    /// other: a ring, a swap, the neighbours in a mesh.
    ///
    /// The lists have a rank and a message, and a rank and a place. Only the ranks named must make the call,
    /// each with its own lists. Messages of two ranks to each other arrive in the order of the lists. They
    /// have tag 0; a [`send`](super::Peer::send) without a tag matches a receive of this call, too.
    ///
    /// ```no_run
    /// use dtype_runtime::{Result, run};
    ///
    /// fn main() {
    ///     run(|world| -> Result {
    ///         let next = (world.rank() + 1) % world.size();
    ///         let previous = (world.rank() + world.size() - 1) % world.size();
    ///         let own = vec![world.rank() as f64; 1000];
    ///         let mut others = Vec::<f64>::new();
    ///         world.exchange([(next, &own)], [(previous, &mut others)])?;
    ///         assert_eq!(others, vec![previous as f64; 1000]);
    ///         Ok(())
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// `Argument` if there is no such rank; then nothing is sent. `Size` if a message has another size than
    /// its place; otherwise those of [`Peer::send`](super::Peer::send) and
    /// [`Peer::receive_into`](super::Peer::receive_into). After an error, the other messages are sent and
    /// received nevertheless, and the receiver of one that cannot be sent gets an error.
    #[doc(alias = "send_receive")]
    #[doc(alias = "send_receive_packed")]
    pub fn exchange<'m, 'p, S, R>(
        &self,
        messages: impl IntoIterator<Item = (usize, &'m S)>,
        places: impl IntoIterator<Item = (usize, &'p mut R)>,
    ) -> Result
    where
        S: Message + ?Sized + 'm,
        R: Place + ?Sized + 'p,
    {
        let mpi = &ready()?;
        let channel = self.channel();
        let mut failed = Ok(());
        let sends = messages.into_iter().map(|(rank, message)| {
            let to = channel.address(mpi, Some(rank), Some(0))?;
            let (message, error) = outgoing(Some(message));
            failed = failed.clone().and(error);
            Ok::<_, Error>((to, message))
        });
        let sends = sends.collect::<Result<Vec<_>, _>>()?;
        let receives = places.into_iter().map(|(rank, place)| {
            Ok::<_, Error>((channel.address(mpi, Some(rank), Some(0))?, place.incoming()))
        });
        let mut receives = receives.collect::<Result<Vec<_>, _>>()?;
        let exchanged = at_once(mpi, &sends, receives.len(), |number| {
            let (from, place) = &mut receives[number];
            let received = place.receive(mpi, Wire::Auto, *from);
            received.map(|_| ()).map_err(|error| misfit(error, from.rank))
        });
        failed.and(exchanged)
    }
}
