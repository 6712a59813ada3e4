//! Descriptions of messages between two ranks, in the checked mode (`DTYPE_CHECK=1`).
//!
//! A program may ask for the length of a message before it receives it, and may receive it with a plain call.
//! Therefore the message is the same as without the checked mode, and its description is sent separately, on
//! a communicator that `attach` creates. The description has the message's tag, its size, and a hash of its
//! packed bytes, by which the receiver finds it. A message of a plain send has no description. A plain
//! receive leaves the description of its message over. The receiver never waits for a description.
//!
//! Descriptions are sent in synchronous mode. So when MPI ends, each rank knows whether its own descriptions
//! have been received. When all of them have, the rank enters a barrier. It receives descriptions of others
//! until all ranks have entered the barrier (Hoefler, Siebert and Lumsdaine, "Scalable communication
//! protocols for dynamic sparse data exchange").

use std::{
    collections::VecDeque,
    hash::BuildHasher,
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError},
};

use ::mpi::ffi::MPI_Comm;
use foldhash::fast::FixedState;

use super::{
    address::{Address, any_rank, any_tag},
    frame::{DESCRIPTION, compare_described, describe},
    patience::Patience,
    request::{Matched, Outgoing, Request},
    sendable::{pack_with_room, sealed::Read},
};
use crate::{Error, mpi::Usable, pack::PackBuffer};

/// The largest number of descriptions that are kept for messages not yet received.
const MOST: usize = 1 << 14;

/// The size in bytes of the hash behind a description.
const HASH: usize = 8;

/// The descriptions of the messages on a communicator.
pub(crate) struct Descriptions {
    communicator: MPI_Comm,
    /// The descriptions that are being sent.
    sent: Mutex<VecDeque<Request>>,
    arrived: Mutex<VecDeque<Arrived>>,
}

// SAFETY: MPI handles name objects of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Descriptions {}
// SAFETY: MPI handles name objects of the process, and the other fields are behind locks.
unsafe impl Sync for Descriptions {}

/// A description that has arrived.
struct Arrived {
    rank: i32,
    tag: i32,
    /// The description, followed by the hash of the packed bytes.
    bytes: PackBuffer,
}

fn hash(packed: &[u8]) -> [u8; HASH] {
    FixedState::with_seed(0).hash_one(packed).to_ne_bytes()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends the description of a message before the message itself. `descriptions` belong to the message's
/// communicator; `None` if it is not attached.
pub(crate) fn announce<M: Read + ?Sized>(
    mpi: &Usable,
    descriptions: Option<&Descriptions>,
    message: &M,
    to: Address,
) -> Result<(), Error> {
    let Some(descriptions) = descriptions else {
        warn_once();
        return Ok(());
    };
    let size = message.packed_size();
    let packed = pack_with_room(message, size)?;
    let mut bytes = PackBuffer::with_room(DESCRIPTION + HASH)?;
    describe(message, 0..size, &mut bytes[..DESCRIPTION]);
    bytes[DESCRIPTION..][..HASH].copy_from_slice(&hash(&packed[..size]));
    let to = Address { communicator: descriptions.communicator, ..to };
    let request = Outgoing::of_buffer(bytes, DESCRIPTION + HASH)?.start_synchronous(mpi, to)?;
    let mut sent = locked(&descriptions.sent);
    // Each call checks more requests than it adds, so that the list stays short.
    for _ in 0..4.min(sent.len()) {
        sent.rotate_left(1);
        if sent.back_mut().is_some_and(|request| request.is_over(mpi)) {
            sent.pop_back();
        }
    }
    sent.push_back(request);
    Ok(())
}

/// Warns once that messages are not compared. Users who have set `DTYPE_CHECK` would not notice otherwise.
#[cold]
fn warn_once() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        eprintln!(
            "dtype: DTYPE_CHECK: the base types of messages are not checked on a communicator that is not \
             attached: all of its ranks must first call `attach` on it"
        );
    });
}

impl Descriptions {
    /// Creates the descriptions that are sent on a communicator of this crate.
    pub fn new(communicator: MPI_Comm) -> Self {
        Self { communicator, sent: Mutex::default(), arrived: Mutex::default() }
    }

    /// Compares a message that has arrived with its destination, if the sender has described the message.
    pub fn compare<M: Read + ?Sized>(
        &self,
        mpi: &Usable,
        message: &M,
        packed: &[u8],
        sender: Address,
    ) -> Result<(), Error> {
        let mut arrived = locked(&self.arrived);
        self.take_all(mpi, &mut arrived)?;
        let hash = hash(packed);
        let is_of_message = |described: &Arrived| {
            (described.rank, described.tag) == (sender.rank, sender.tag)
                && described.bytes[DESCRIPTION..][..HASH] == hash
        };
        let found = arrived.iter().position(is_of_message).and_then(|i| arrived.remove(i));
        drop(arrived);
        found.map_or(Ok(()), |found| compare_described(message, &found.bytes[..DESCRIPTION], sender))
    }

    /// Receives all descriptions that have arrived.
    fn take_all(&self, mpi: &Usable, arrived: &mut VecDeque<Arrived>) -> Result<(), Error> {
        let anybody = Address { communicator: self.communicator, rank: any_rank(), tag: any_tag() };
        while let Some(matched) = Matched::look_for(mpi, anybody)? {
            let (size, Address { rank, tag, .. }) = (matched.size, matched.sender());
            let bytes = matched.receive(mpi)?;
            if size == DESCRIPTION + HASH {
                arrived.push_back(Arrived { rank, tag, bytes });
            }
            if arrived.len() > MOST {
                arrived.pop_front();
            }
        }
        Ok(())
    }

    /// Receives the descriptions that have arrived, and enters the barrier once all own descriptions have
    /// been received. Returns `true` if all ranks have entered the barrier.
    fn is_at_end(&self, mpi: &Usable, barrier: &mut Option<Request>) -> Result<bool, Error> {
        self.take_all(mpi, &mut VecDeque::new())?;
        if let Some(barrier) = barrier {
            return Ok(barrier.is_over(mpi));
        }
        let mut sent = locked(&self.sent);
        sent.retain_mut(|request| !request.is_over(mpi));
        if sent.is_empty() {
            *barrier = Some(Request::barrier(mpi, self.communicator)?);
        }
        Ok(false)
    }
}

/// Receives the descriptions that are left over, and frees the communicators. All ranks do so when MPI ends.
pub(crate) fn end(mpi: &Usable, all: &[Arc<Descriptions>]) {
    let mut on_their_way: Vec<_> = all.iter().map(|descriptions| (descriptions, None)).collect();
    let mut patience = Patience::new();
    while !on_their_way.is_empty() {
        on_their_way.retain_mut(|(descriptions, barrier)| {
            // After an error, do not wait any more.
            !descriptions.is_at_end(mpi, barrier).unwrap_or(true)
        });
        patience.turn();
    }
    for descriptions in all {
        let mut communicator = descriptions.communicator;
        // SAFETY: the communicator was created here and is freed once, while MPI is usable.
        unsafe { mpi.MPI_Comm_free(&raw mut communicator) };
    }
}
