//! Addresses of messages: communicators, ranks and tags, which are checked here.

use ::mpi::{
    Rank, Tag,
    ffi::{self, MPI_Comm},
};

use crate::{
    Error,
    mpi::{Usable, called, greatest_tag, is_between_groups},
};

/// The address of a message: the communicator, the rank of the other side, and the tag.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    pub communicator: MPI_Comm,
    pub rank: Rank,
    pub tag: Tag,
}

/// A communicator for messages between two ranks.
#[derive(Clone, Copy)]
pub(crate) struct Channel {
    pub communicator: MPI_Comm,
    /// The number of ranks that messages can be sent to.
    pub ranks: usize,
}

impl Channel {
    /// Returns the address of a message to or from a rank, or from any rank. `tag` is `None` for any tag.
    /// Libraries may be built without checks, so both are checked here.
    ///
    /// # Errors
    /// `Argument` if the communicator has no such rank, or MPI no such tag.
    #[inline]
    pub fn address(self, mpi: &Usable, rank: Option<usize>, tag: Option<Tag>) -> Result<Address, Error> {
        let Self { communicator, ranks } = self;
        let rank = match rank {
            None => any_rank(),
            Some(rank) if rank < ranks => rank as Rank,
            Some(rank) => {
                let [rank, ranks] = [rank, ranks].map(|number| Rank::try_from(number).unwrap_or(Rank::MAX));
                return Err(Error::Rank { rank, ranks });
            }
        };
        let Some(tag) = tag else { return Ok(Address { communicator, rank, tag: any_tag() }) };
        if tag != 0 {
            let greatest = greatest_tag(mpi, communicator);
            if !(0..=greatest).contains(&tag) {
                return Err(Error::Tag { tag, greatest });
            }
        }
        Ok(Address { communicator, rank, tag })
    }
}

impl Address {
    /// Returns `true` if the rank is `MPI_PROC_NULL` (MPI 4.1 section 3.11).
    #[inline]
    pub fn is_nobody(self) -> bool {
        // SAFETY: a constant of the library.
        self.rank == unsafe { ffi::RSMPI_PROC_NULL }
    }
}

/// Returns the number of ranks of the other group of an intercommunicator, or `None` for another
/// communicator.
pub(crate) fn remote_size(mpi: &Usable, communicator: MPI_Comm) -> Result<Option<Rank>, Error> {
    if !is_between_groups(mpi, communicator)? {
        return Ok(None);
    }
    let mut size = 0;
    called(mpi, "MPI_Comm_remote_size", communicator, || {
        // SAFETY: the communicator is live and has two groups; there is room for a number.
        unsafe { mpi.MPI_Comm_remote_size(communicator, &raw mut size) }
    })?;
    Ok(Some(size))
}

/// Returns `MPI_ANY_SOURCE`.
#[inline]
pub(crate) fn any_rank() -> Rank {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_ANY_SOURCE }
}

/// Returns `MPI_ANY_TAG`.
#[inline]
pub(crate) fn any_tag() -> Tag {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_ANY_TAG }
}
