//! Epochs in which some ranks take part: how these ranks begin and end them.
//!
//! The ranks of an epoch first say to each other that they take part. Then nothing of another epoch is under
//! way, and no rank waits for one that is not there. (In MPICH 4.0.2, `MPI_Win_start` and `MPI_Win_wait` only
//! count ranks, and may count those of the next epoch.)

use std::collections::BTreeSet;

use ::mpi::Rank;

use super::open::{ABSENT, ENDING, Open, rank_of, unusable};
use crate::{
    Error, Result,
    transfer::{address::Address, persistent::Persistent},
};

/// The part of a rank in the epoch of another one: what it says when they meet.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Part {
    /// It is an origin: it writes to and reads from the other rank.
    is_origin: bool,
    /// It is a target of the other rank.
    is_target: bool,
}

impl Part {
    /// The part of a rank that does not take part.
    const NONE: Self = Self::from_byte(ABSENT);

    /// Returns the part that the other rank must have.
    const fn opposite(self) -> Self {
        Self { is_origin: self.is_target, is_target: self.is_origin }
    }

    const fn to_byte(self) -> u8 {
        self.is_origin as u8 + 2 * self.is_target as u8
    }

    const fn from_byte(byte: u8) -> Self {
        Self { is_origin: byte & 1 != 0, is_target: byte & 2 != 0 }
    }
}

/// The ranks that take part in an epoch of this one.
#[derive(Default)]
pub(super) struct Partners {
    pub targets: Vec<Rank>,
    pub origins: Vec<Rank>,
}

impl Partners {
    /// Meets the ranks of an epoch: each says to the others which part it has. Returns those whose parts fit,
    /// and an error if there are others, or if a rank is none of the communicator.
    pub fn meet(open: &Open, targets: &[usize], origins: &[usize]) -> (Self, Result) {
        let ranks = |ranks: &[usize]| -> Vec<Rank> { ranks.iter().copied().map(rank_of).collect() };
        let (targets, origins) = (&ranks(targets), &ranks(origins));
        let mut named: BTreeSet<_> = targets.iter().chain(origins).copied().collect();
        let checked = named.iter().try_for_each(|rank| open.check(*rank)).and_then(|()| open.sync());
        named.retain(|rank| open.check(*rank).is_ok());
        // A rank with an error says that it does not take part, so that none waits for it.
        let own = named.iter().map(|rank| match checked {
            Ok(()) => Part { is_origin: targets.contains(rank), is_target: origins.contains(rank) },
            Err(_) => Part::NONE,
        });
        let own: Vec<_> = named.iter().copied().zip(own).collect();
        let met = checked.and(tell(open, &own));
        let (mut partners, mut all) = (Self::default(), Ok(()));
        let others = match met {
            Ok(others) => others,
            Err(error) => return (partners, Err(error)),
        };
        for ((rank, part), other) in own.into_iter().zip(others) {
            if other != part.opposite() {
                all = all.and(Err(absent(rank)));
                continue;
            }
            partners.targets.extend(part.is_origin.then_some(rank));
            partners.origins.extend(part.is_target.then_some(rank));
        }
        (partners, all)
    }

    /// Ends the epoch: tells the targets that the transfers of this rank are complete, and waits until the
    /// origins say the same.
    pub fn end(&self, open: &Open) -> Result {
        let flushed = open.flush();
        let (mpi, communicator) = (&open.mpi, open.companion.communicator);
        let peer = |rank: &Rank| Address { communicator, rank: *rank, tag: ENDING };
        let mut requests = Persistent::on(communicator);
        for rank in &self.origins {
            requests.add_receive(mpi, 0, peer(rank))?;
        }
        for rank in &self.targets {
            requests.add_send(mpi, 0, peer(rank))?;
        }
        requests.start(mpi)?;
        flushed.and(requests.wait(mpi)).and(open.sync())
    }
}

/// Tells each rank the part of this one, and returns their parts. A rank may be this one itself.
fn tell(open: &Open, own: &[(Rank, Part)]) -> Result<Vec<Part>> {
    let (mpi, communicator) = (&open.mpi, open.companion.communicator);
    let mut requests = Persistent::on(communicator);
    let mut answers = Vec::new();
    for (rank, part) in own {
        let peer = Address { communicator, rank: *rank, tag: open.meeting.get() };
        answers.push(requests.add_receive(mpi, 1, peer)?);
        let told = requests.add_send(mpi, 1, peer)?;
        requests.outgoing(told).fill(part.to_byte());
    }
    requests.start(mpi)?;
    requests.wait(mpi)?;
    let part = |number| Ok(Part::from_byte(requests.incoming(mpi, number, 1)?[0]));
    answers.into_iter().map(part).collect()
}

#[cold]
fn absent(rank: Rank) -> Error {
    unusable(format!(
        "rank {rank} does not take part in this exchange: it has left the window, names other ranks, or has \
         an error"
    ))
}
