//! The ranks of a collective call, and its root.

use std::os::raw::c_int;

use ::mpi::{ffi::MPI_Comm, topology::Communicator};

use super::address::remote_size;
use crate::{
    Error,
    mpi::{Usable, is_between_groups},
};

/// The communicator of a call, and the number of ranks that the call reaches.
#[derive(Clone, Copy)]
pub(crate) struct Members<'m> {
    pub mpi: &'m Usable,
    pub communicator: MPI_Comm,
    pub ranks: usize,
}

/// Returns the members of a call on a communicator.
pub(crate) fn members<'m>(
    mpi: &'m Usable,
    world: &(impl Communicator + ?Sized),
) -> Result<Members<'m>, Error> {
    let communicator = world.as_raw();
    // For a process of an intercommunicator, rsmpi gives the size of this rank's own group.
    let ranks = remote_size(mpi, communicator)?.unwrap_or_else(|| world.target_size());
    Ok(Members { mpi, communicator, ranks: ranks as usize })
}

/// Checks that a communicator is an intracommunicator.
pub(crate) fn intracommunicator(mpi: &Usable, communicator: MPI_Comm) -> Result<(), Error> {
    let reason = "this call needs an intracommunicator, but its communicator is an intercommunicator";
    if is_between_groups(mpi, communicator)? { Err(Error::Wire { wire: "packed", reason }) } else { Ok(()) }
}

/// The root of a call.
#[derive(Clone, Copy)]
pub(crate) struct Rooted<'m> {
    pub members: Members<'m>,
    pub rank: c_int,
    /// `true` if this rank is the root.
    pub is_here: bool,
}

impl<'m> Rooted<'m> {
    /// Returns the root of a call.
    ///
    /// # Errors
    /// `Argument` if the root is not a rank of its communicator; `Unsupported` on an
    /// intercommunicator, where roots are not ranks (MPI 4.1 section 6.2.3).
    pub fn at(members: Members<'m>, root: usize, own: usize) -> Result<Self, Error> {
        if is_between_groups(members.mpi, members.communicator)? {
            let reason = "a collective call with a root needs an intracommunicator, but this is an \
                          intercommunicator: send to each rank, or use a collective call without a root";
            return Err(Error::Wire { wire: "packed", reason });
        }
        if root >= members.ranks {
            let [rank, ranks] = [root, members.ranks].map(|number| i32::try_from(number).unwrap_or(i32::MAX));
            return Err(Error::Rank { rank, ranks });
        }
        Ok(Self { members, rank: root as c_int, is_here: root == own })
    }
}
