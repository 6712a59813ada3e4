//! Communicators.

use std::{fmt::Debug, ops::Deref};

use ::mpi::topology::{
    AnyProcess, CartesianCommunicator, Communicator, InterCommunicator, Process, SimpleCommunicator,
};

use super::{Any, Peer};
use crate::{
    Result,
    mpi::{Usable, ready},
    transfer::{
        address::Channel,
        attach::attach,
        members::{Members, members},
    },
};

/// A communicator, with the calls of this crate.
///
/// It is made of any communicator of rsmpi, or of a reference to one: `Comm::from(universe.world())`. rsmpi's
/// own calls are there as well, so a program may move to the calls of this crate line by line. If both have a
/// call of the same name, it is that of this crate; rsmpi's is `(*world).name(…)`.
///
/// All ranks must make the same collective calls in the same order, and with the same root, as MPI requires
/// (MPI 4.1 section 6.1).
pub struct Comm<C = SimpleCommunicator> {
    inner: C,
    rank: usize,
    size: usize,
    targets: usize,
}

/// A communicator of rsmpi, or a reference to one. Only this crate implements the trait.
pub trait Handle: sealed::Handle {}

/// A communicator of rsmpi with a Cartesian grid, or a reference to one. Only this crate implements the
/// trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no grid",
    label = "not a Cartesian communicator",
    note = "`world.cartesian([2, 3], [true, false])?` makes a communicator with a grid: a \
            `Comm<CartesianCommunicator>`, of rsmpi's `mpi::topology::CartesianCommunicator`"
)]
#[doc(hidden)]
pub trait Cartesian: Handle {
    /// Returns the communicator.
    #[doc(hidden)]
    fn grid(&self) -> &CartesianCommunicator;
}

impl Cartesian for CartesianCommunicator {
    fn grid(&self) -> &CartesianCommunicator {
        self
    }
}

impl<C: Cartesian> Cartesian for &C {
    fn grid(&self) -> &CartesianCommunicator {
        C::grid(self)
    }
}

mod sealed {
    use super::Communicator;

    pub trait Handle {
        fn communicator(&self) -> &dyn Communicator;
    }
}

impl<C: sealed::Handle> Handle for C {}

macro_rules! handles {
    ($($type:ty)*) => {$(
        impl sealed::Handle for $type {
            #[inline]
            fn communicator(&self) -> &dyn Communicator {
                self
            }
        }
    )*};
}

handles! { SimpleCommunicator CartesianCommunicator InterCommunicator Process<'_> AnyProcess<'_> }

impl<C: sealed::Handle> sealed::Handle for &C {
    #[inline]
    fn communicator(&self) -> &dyn Communicator {
        C::communicator(self)
    }
}

impl<C: Handle> From<C> for Comm<C> {
    fn from(inner: C) -> Self {
        // Before `MPI_Init` and after `MPI_Finalize`, each call returns an error.
        let numbers = ready().ok().and_then(|mpi| {
            let communicator = inner.communicator();
            let targets = members(&mpi, communicator).ok()?.ranks;
            Some([communicator.rank() as usize, communicator.size() as usize, targets])
        });
        let [rank, size, targets] = numbers.unwrap_or_default();
        Self { inner, rank, size, targets }
    }
}

impl<C> Deref for Comm<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.inner
    }
}

debug!([C: Debug] Comm<C>, |comm| rank: comm.rank, size: comm.size);

impl<C> Comm<C> {
    /// Returns the rank of this process (`MPI_Comm_rank`).
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of ranks (`MPI_Comm_size`); in an intercommunicator, of this rank's own group.
    pub fn size(&self) -> usize {
        self.size
    }
}

impl<C: Handle> Comm<C> {
    /// Returns a rank to send to and to receive from; in an intercommunicator, a rank of the other group.
    ///
    /// A rank that does not exist is an error of the call that is made with it.
    pub fn peer(&self, rank: usize) -> Peer<'_> {
        Peer::new(self.channel(), rank)
    }

    /// Returns all ranks as a source (`MPI_ANY_SOURCE`).
    pub fn any(&self) -> Any<'_> {
        Any::new(self.channel())
    }

    /// Prepares the communicator for messages on [`Wire::Segments`](crate::Wire::Segments). With
    /// `DTYPE_CHECK=1`, base types of messages between two ranks are compared from then on. All ranks must
    /// make this call before the first such message; a second call does nothing.
    ///
    /// It creates two communicators with the same ranks. They live as long as this one, or until
    /// `MPI_Finalize`. With `DTYPE_CHECK=1` it creates a third one, which lives until `MPI_Finalize`.
    ///
    /// # Errors
    /// `Unsupported` on all ranks if `DTYPE_CHECK` is set on some ranks and not on others. An error before
    /// `MPI_Init`, after `MPI_Finalize`, and if an MPI call fails.
    pub fn attach(&self) -> Result {
        let mpi = &ready()?;
        attach(mpi, self.members(mpi).communicator)
    }

    /// Returns the communicator for messages between two ranks.
    pub(super) fn channel(&self) -> Channel {
        Channel { communicator: self.handle().as_raw(), ranks: self.targets }
    }

    /// Returns the communicator as one of rsmpi.
    pub(super) fn handle(&self) -> &dyn Communicator {
        self.inner.communicator()
    }

    /// Returns the members of a collective call.
    pub(super) fn members<'m>(&self, mpi: &'m Usable) -> Members<'m> {
        Members { mpi, communicator: self.handle().as_raw(), ranks: self.targets }
    }
}
