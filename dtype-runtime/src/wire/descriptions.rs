//! Descriptions of messages between two ranks, in the checked mode (`DTYPE_CHECK=1`).
//!
//! A program may ask how long a message is before it receives it, and may receive it by a plain call. So the
//! message is as without the checked mode, and its description travels by itself, in a communicator that
//! `attach` makes. It has the message's tag, its size, and a hash of its packed bytes, by which the receiver
//! finds it. What plain calls send has none, and what they receive leaves one over: neither is waited for.
//!
//! Descriptions are sent in synchronous mode. So when MPI ends, each rank knows of its own whether they have
//! been received; when all have, it enters a barrier, and receives those of others until all ranks have
//! (Hoefler, Siebert and Lumsdaine, "Scalable communication protocols for dynamic sparse data exchange").

use std::{
    collections::VecDeque,
    hash::BuildHasher,
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError},
    thread,
};

use ::mpi::ffi::{self, MPI_Comm, MPI_Status};
use foldhash::fast::FixedState;

use super::{
    frame::{DESCRIPTION, compare_described, describe},
    message::{pack_with_room, sealed::Read},
    request::{Matched, Outgoing, Peer, Request, any_rank, any_tag},
};
use crate::{Error, pack::PackBuffer};

/// The most descriptions that are kept of messages which nobody has asked for.
const MOST: usize = 1 << 14;

/// Bytes of the hash behind a description.
const HASH: usize = 8;

/// The descriptions of the messages on a communicator.
pub(super) struct Descriptions {
    communicator: MPI_Comm,
    sent: Mutex<Requests>,
    arrived: Mutex<VecDeque<Arrived>>,
}

// SAFETY: MPI handles name objects of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Descriptions {}
// SAFETY: likewise; all else is locked.
unsafe impl Sync for Descriptions {}

/// Descriptions that are on their way.
#[derive(Default)]
struct Requests(VecDeque<Request>);

/// A description that has arrived.
struct Arrived {
    rank: i32,
    tag: i32,
    /// The description, and the hash of the packed bytes.
    bytes: PackBuffer,
}

fn hash(packed: &[u8]) -> [u8; HASH] {
    FixedState::with_seed(0).hash_one(packed).to_ne_bytes()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends the description of a message before the message itself. `descriptions` are those of its
/// communicator.
pub(super) fn announce<M: Read + ?Sized>(
    descriptions: Option<&Descriptions>,
    message: &M,
    to: Peer,
) -> Result<(), Error> {
    if to.is_nobody() {
        return Ok(());
    }
    let Some(descriptions) = descriptions else {
        warn_once();
        return Ok(());
    };
    let size = message.packed_size();
    let packed = pack_with_room(message, size)?;
    let mut bytes = PackBuffer::with_room(DESCRIPTION + HASH)?;
    describe(message, 0..size, &mut bytes[..DESCRIPTION]);
    bytes[DESCRIPTION..][..HASH].copy_from_slice(&hash(&packed[..size]));
    let to = Peer { communicator: descriptions.communicator, ..to };
    let request = Outgoing::of_buffer(bytes, DESCRIPTION + HASH)?.start_synchronous(to)?;
    let Requests(sent) = &mut *locked(&descriptions.sent);
    // More are looked at than are added.
    for _ in 0..4.min(sent.len()) {
        sent.rotate_left(1);
        if sent.back_mut().is_some_and(Request::is_over) {
            sent.pop_back();
        }
    }
    sent.push_back(request);
    Ok(())
}

/// Says that messages are not compared, since whoever has asked for that would not see it otherwise.
#[cold]
fn warn_once() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        eprintln!(
            "dtype: DTYPE_CHECK: the messages of a communicator that is not attached are not compared: all \
             of its ranks must call `wire::attach(&communicator)` first"
        );
    });
}

impl Descriptions {
    /// Makes the descriptions that travel in a communicator of our own.
    pub fn new(communicator: MPI_Comm) -> Self {
        Self { communicator, sent: Mutex::default(), arrived: Mutex::default() }
    }

    /// Compares a message that has arrived with what it is received into, if its sender has described it.
    pub fn compare<M: Read + ?Sized>(
        &self,
        message: &M,
        packed: &[u8],
        status: &MPI_Status,
    ) -> Result<(), Error> {
        let mut arrived = locked(&self.arrived);
        self.take_all(&mut arrived)?;
        let hash = hash(packed);
        let is_of_message = |described: &Arrived| {
            (described.rank, described.tag) == (status.MPI_SOURCE, status.MPI_TAG)
                && described.bytes[DESCRIPTION..][..HASH] == hash
        };
        let found = arrived.iter().position(is_of_message).and_then(|i| arrived.remove(i));
        drop(arrived);
        found.map_or(Ok(()), |found| compare_described(message, &found.bytes[..DESCRIPTION], status))
    }

    /// Receives all that have come.
    fn take_all(&self, arrived: &mut VecDeque<Arrived>) -> Result<(), Error> {
        let anybody = Peer { communicator: self.communicator, rank: any_rank(), tag: any_tag() };
        while let Some(matched) = Matched::look_for(anybody)? {
            let (size, Peer { rank, tag, .. }) = (matched.size, matched.sender());
            let bytes = matched.receive()?;
            if size == DESCRIPTION + HASH {
                arrived.push_back(Arrived { rank, tag, bytes });
            }
            if arrived.len() > MOST {
                arrived.pop_front();
            }
        }
        Ok(())
    }

    /// Goes on with the end, and returns `true` if all ranks have received all.
    fn is_at_end(&self, barrier: &mut Option<Request>) -> Result<bool, Error> {
        self.take_all(&mut VecDeque::new())?;
        if let Some(barrier) = barrier {
            return Ok(barrier.is_over());
        }
        let Requests(sent) = &mut *locked(&self.sent);
        sent.retain_mut(|request| !request.is_over());
        if sent.is_empty() {
            *barrier = Some(Request::barrier(self.communicator)?);
        }
        Ok(false)
    }
}

/// Receives what nobody has asked for, and frees the communicators, when MPI ends: all ranks do so.
pub(super) fn end(all: &[Arc<Descriptions>]) {
    let mut on_their_way: Vec<_> = all.iter().map(|descriptions| (descriptions, None)).collect();
    while !on_their_way.is_empty() {
        on_their_way.retain_mut(|(descriptions, barrier)| {
            // After an error nobody is waited for.
            !descriptions.is_at_end(barrier).unwrap_or(true)
        });
        thread::yield_now();
    }
    for descriptions in all {
        let mut communicator = descriptions.communicator;
        // SAFETY: it was made here, and is freed once, while MPI is usable.
        unsafe { ffi::MPI_Comm_free(&raw mut communicator) };
    }
}
