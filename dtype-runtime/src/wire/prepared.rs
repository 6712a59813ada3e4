//! Prepared messages between two ranks: persistent requests, in one piece or in partitions (MPI 4.1 section
//! 3.9 and chapter 4).
//!
//! A request has a buffer of its own. A program packs values into it to start a send, and unpacks them after
//! a receive. So nothing of the program is borrowed while a message is under way, and the values may lie
//! elsewhere each time.

use std::{fmt, marker::PhantomData, sync::Arc};

use super::{
    Receivable, Sendable,
    attach::descriptions_on,
    descriptions::{Descriptions, announce},
    frame::checks,
    persistent::{Persistent, SendMode},
    request::{Address, any_rank},
};
use crate::{
    Error,
    layout::shapes::refused,
    mpi::{Usable, ready},
};

/// Messages of one size to one rank, prepared once by
/// [`prepare_send_packed`](super::SendOver::prepare_send_packed) and sent many times.
///
/// It may be dropped or forgotten at any time. Dropping it waits for a message under way.
pub struct PreparedSend<'a> {
    /// The request; `None` if the destination is `MPI_PROC_NULL`.
    request: Option<Persistent>,
    size: usize,
    to: Address,
    descriptions: Option<Arc<Descriptions>>,
    communicator: PhantomData<&'a ()>,
}

impl PreparedSend<'_> {
    /// Prepares messages of `size` bytes.
    ///
    /// # Safety
    /// 1. The communicator lives as long as the result.
    /// 2. In ready mode, the receiver starts each receive before the message is started.
    pub(super) unsafe fn new(mpi: &Usable, size: usize, mode: SendMode, to: Address) -> Result<Self, Error> {
        let request = (!to.is_nobody()).then(|| {
            let mut request = Persistent::on(to.communicator);
            request.add_send_in(mpi, mode, size, to).map(|_| request)
        });
        let descriptions = if checks() { descriptions_on(mpi, to.communicator)? } else { None };
        Ok(Self { request: request.transpose()?, size, to, descriptions, communicator: PhantomData })
    }

    /// Packs a message and starts to send it (`MPI_Start`). The message is free again at once. If the message
    /// before is still under way, the call waits for it.
    ///
    /// # Errors
    /// [`Error::Length`] if the message has another packed size than the one that was prepared; an error if
    /// an MPI call fails.
    pub fn start<M: Sendable + ?Sized>(&mut self, message: &M) -> Result<(), Error> {
        let mpi = &ready()?;
        Error::unless_exactly("a prepared message", self.size, message.packed_size())?;
        let Some(request) = &mut self.request else { return Ok(()) };
        request.settle(mpi)?;
        if checks() {
            announce(mpi, self.descriptions.as_deref(), message, self.to)?;
        }
        let packed = request.outgoing(0);
        Error::unless_exactly("a prepared message", self.size, packed.len())?;
        // SAFETY: there is room for the packed size of the message, in a buffer of this crate.
        unsafe { message.pack(packed.as_mut_ptr()) }?;
        request.start(mpi)
    }

    /// Returns `true` if no message is under way (`MPI_Test`).
    ///
    /// # Errors
    /// If an MPI call fails.
    pub fn is_done(&mut self) -> Result<bool, Error> {
        let mpi = &ready()?;
        self.request.as_mut().map_or(Ok(true), |request| request.is_done(mpi))
    }

    /// Waits for the message under way, if there is one (`MPI_Wait`).
    ///
    /// # Errors
    /// If an MPI call fails.
    pub fn wait(&mut self) -> Result<(), Error> {
        let mpi = &ready()?;
        self.request.as_mut().map_or(Ok(()), |request| request.wait(mpi))
    }
}

/// Messages of one size from one rank, prepared once by
/// [`prepare_receive_packed`](super::ReceiveOver::prepare_receive_packed) and received many times.
///
/// It may be dropped or forgotten at any time. Dropping it cancels a receive under way.
pub struct PreparedReceive<'a> {
    /// The request; `None` if the source is `MPI_PROC_NULL`.
    request: Option<Persistent>,
    /// `true` if a receive was ever started.
    is_started: bool,
    size: usize,
    from: Address,
    descriptions: Option<Arc<Descriptions>>,
    communicator: PhantomData<&'a ()>,
}

impl PreparedReceive<'_> {
    /// Prepares receives of `size` bytes.
    ///
    /// # Safety
    /// 1. The communicator lives as long as the result.
    pub(super) unsafe fn new(mpi: &Usable, size: usize, from: Address) -> Result<Self, Error> {
        let request = if from.is_nobody() { None } else { Some(receive(mpi, size, from)?) };
        let descriptions = if checks() { descriptions_on(mpi, from.communicator)? } else { None };
        Ok(Self { request, is_started: false, size, from, descriptions, communicator: PhantomData })
    }

    /// Starts to receive a message (`MPI_Start`). If the message before has not been taken by
    /// [`finish`](Self::finish), the call waits for it and drops it.
    ///
    /// # Errors
    /// If an MPI call fails.
    pub fn start(&mut self) -> Result<(), Error> {
        let mpi = &ready()?;
        let Some(request) = &mut self.request else { return Ok(()) };
        request.settle(mpi)?;
        if !request.is_whole() {
            *request = receive(mpi, self.size, self.from)?;
        }
        self.is_started = true;
        request.start(mpi)
    }

    /// Returns `true` if no message is under way: it has arrived, and [`finish`](Self::finish) does not wait
    /// (`MPI_Test`).
    ///
    /// # Errors
    /// If an MPI call fails.
    pub fn is_done(&mut self) -> Result<bool, Error> {
        let mpi = &ready()?;
        self.request.as_mut().map_or(Ok(true), |request| request.is_done(mpi))
    }

    /// Waits for the message, and unpacks it. The same message can be unpacked several times, until the next
    /// receive is started. A receive from `MPI_PROC_NULL` writes nothing.
    ///
    /// # Errors
    /// [`Error::Length`] if the destination has another packed size than the one that was prepared;
    /// [`Error::NotStarted`] if no receive was started; [`Error::Fit`] if the message has
    /// another size; [`Error::InvalidValue`];
    /// with `DTYPE_CHECK=1`, [`Error::Mismatch`]; an error if an MPI call fails. After an error, nothing has
    /// been written.
    pub fn finish<M: Receivable + ?Sized>(&mut self, message: &mut M) -> Result<(), Error> {
        let mpi = &ready()?;
        Error::unless_exactly("a prepared destination", self.size, message.packed_size())?;
        let Some(request) = &mut self.request else { return Ok(()) };
        if !self.is_started {
            return Err(Error::NotStarted { what: "the receive" });
        }
        request.wait(mpi)?;
        let packed = request.incoming(mpi, 0, message.step())?;
        if let Some(descriptions) = &self.descriptions {
            descriptions.compare(mpi, message, packed, request.status(0))?;
        }
        message.unpack(packed)
    }
}

impl Drop for PreparedReceive<'_> {
    fn drop(&mut self) {
        self.request.as_mut().map(Persistent::cancel);
    }
}

fn receive(mpi: &Usable, size: usize, from: Address) -> Result<Persistent, Error> {
    let mut request = Persistent::on(from.communicator);
    request.add_receive(mpi, size, from)?;
    Ok(request)
}

/// The number of bytes before each partition, which hold its round and its number.
const NUMBER: usize = size_of::<u64>();

/// A message in partitions that are sent when they are ready, in any order (MPI 4.1 chapter 4). Each
/// partition is one MPI message, with its number before its values.
///
/// ```no_run
/// use dtype_runtime::traits::*;
/// use mpi::traits::*;
///
/// let universe = mpi::initialize().unwrap();
/// let world = universe.world();
/// let mut values = vec![0.5f64; 4000];
/// if world.rank() == 0 {
///     let there = world.process_at_rank(1);
///     let mut send = there.prepare_partitioned_send_packed(&values[..1000], 4, 7)?;
///     for part in [2, 0, 3, 1] {
///         let of_part = &mut values[1000 * part..][..1000];
///         of_part.fill(part as f64); // a part is computed, and sent while the next one is
///         send.ready(part, of_part)?;
///     }
///     send.wait()?;
/// } else {
///     let there = world.process_at_rank(0);
///     let mut receive = there.prepare_partitioned_receive_packed(&values[..1000], 4, 7)?;
///     receive.start()?;
///     for part in 0..4 {
///         receive.finish(part, &mut values[1000 * part..][..1000])?;
///     }
/// }
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
pub struct PartitionedSend<'a> {
    parts: Vec<Persistent>,
    is_to_nobody: bool,
    round: u32,
    /// For each partition `true` if it was sent in this round.
    sent: Vec<bool>,
    size: usize,
    communicator: PhantomData<&'a ()>,
}

impl PartitionedSend<'_> {
    /// Prepares partitions of `size` bytes each.
    ///
    /// # Safety
    /// 1. The communicator lives as long as the result.
    pub(super) unsafe fn new(
        mpi: &Usable,
        size: usize,
        partitions: usize,
        to: Address,
    ) -> Result<Self, Error> {
        let is_to_nobody = to.is_nobody();
        let partitions = if is_to_nobody { 0 } else { few(partitions)? };
        let part = |_| {
            let mut part = Persistent::on(to.communicator);
            part.add_send_in(mpi, SendMode::Standard, size.saturating_add(NUMBER), to)?;
            Ok::<_, Error>(part)
        };
        let parts = (0..partitions).map(part).collect::<Result<_, _>>()?;
        let sent = vec![false; partitions];
        Ok(Self { parts, is_to_nobody, round: 0, sent, size, communicator: PhantomData })
    }

    /// Packs a partition and starts to send it (`MPI_Pready`). The values are free again at once. In each
    /// round, every partition must be sent once.
    ///
    /// # Errors
    /// [`Error::Length`] if the partition has another packed size than was prepared; [`Error::Parameter`] if
    /// there is no such partition, or if it was sent in this round; an error if an MPI call fails.
    pub fn ready<M: Sendable + ?Sized>(&mut self, partition: usize, message: &M) -> Result<(), Error> {
        let mpi = &ready()?;
        Error::unless_exactly("a prepared partition", self.size, message.packed_size())?;
        let partitions = self.parts.len();
        let Some(part) = self.parts.get_mut(partition) else {
            return if self.is_to_nobody { Ok(()) } else { Err(no_partition(partition, partitions)) };
        };
        if self.sent[partition] {
            let requirement =
                "one that has not been sent in this round: the round ends with its last partition";
            return Err(refused("a partitioned message", "partition", partition as i128, requirement));
        }
        part.settle(mpi)?;
        let packed = part.outgoing(0);
        Error::unless_exactly("a prepared partition", self.size + NUMBER, packed.len())?;
        let (number, packed) = packed.split_at_mut(NUMBER);
        number.copy_from_slice(&numbered(self.round, partition).to_ne_bytes());
        // SAFETY: there is room for the packed size of the message, in a buffer of this crate.
        unsafe { message.pack(packed.as_mut_ptr()) }?;
        part.start(mpi)?;
        self.sent[partition] = true;
        if self.sent.iter().all(|sent| *sent) {
            self.sent.fill(false);
            self.round = self.round.wrapping_add(1);
        }
        Ok(())
    }

    /// Waits until all partitions that are ready have been sent.
    ///
    /// # Errors
    /// If an MPI call fails.
    pub fn wait(&mut self) -> Result<(), Error> {
        let mpi = &ready()?;
        self.parts.iter_mut().try_for_each(|part| part.wait(mpi))
    }
}

/// A message in partitions that are received as they arrive: see [`PartitionedSend`].
///
/// Dropping it cancels the receives under way.
pub struct PartitionedReceive<'a> {
    parts: Vec<Persistent>,
    /// The round that was started; `None` before the first one.
    round: Option<u32>,
    size: usize,
    from: Address,
    /// For each partition the request that has received it.
    arrived: Vec<Option<usize>>,
    communicator: PhantomData<&'a ()>,
}

impl PartitionedReceive<'_> {
    /// Prepares partitions of `size` bytes each.
    ///
    /// # Safety
    /// 1. The communicator lives as long as the result.
    pub(super) unsafe fn new(
        mpi: &Usable,
        size: usize,
        partitions: usize,
        from: Address,
    ) -> Result<Self, Error> {
        if from.rank == any_rank() {
            let requirement = "one rank: partitions of several ranks would be mixed";
            return Err(refused("a partitioned receive", "the source", from.rank, requirement));
        }
        let partitions = if from.is_nobody() { 0 } else { few(partitions)? };
        let part = |_| receive(mpi, size.saturating_add(NUMBER), from);
        let parts = (0..partitions).map(part).collect::<Result<_, _>>()?;
        let arrived = vec![None; partitions];
        Ok(Self { parts, round: None, size, from, arrived, communicator: PhantomData })
    }

    /// Starts to receive all partitions. The call first waits for partitions of the round before, and drops
    /// those that have not been taken.
    ///
    /// # Errors
    /// If an MPI call fails.
    pub fn start(&mut self) -> Result<(), Error> {
        let mpi = &ready()?;
        self.arrived.fill(None);
        self.round = Some(self.round.map_or(0, |round| round.wrapping_add(1)));
        for part in &mut self.parts {
            part.settle(mpi)?;
            if !part.is_whole() {
                *part = receive(mpi, self.size.saturating_add(NUMBER), self.from)?;
            }
            part.start(mpi)?;
        }
        Ok(())
    }

    /// Returns `true` if a partition has arrived (`MPI_Parrived`).
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is no such partition; [`Error::Message`] if a message is no partition;
    /// an error if an MPI call fails.
    pub fn has_arrived(&mut self, partition: usize) -> Result<bool, Error> {
        let mpi = &ready()?;
        self.advance(mpi, partition, false)
    }

    /// Waits for a partition, and unpacks it.
    ///
    /// # Errors
    /// The errors of [`has_arrived`](Self::has_arrived); [`Error::Length`] if the destination has another
    /// packed size than was prepared; [`Error::Fit`] if the partition has; [`Error::InvalidValue`]. After an
    /// error, nothing has been written.
    pub fn finish<M: Receivable + ?Sized>(&mut self, partition: usize, message: &mut M) -> Result<(), Error> {
        let mpi = &ready()?;
        Error::unless_exactly("a prepared partition", self.size, message.packed_size())?;
        if self.from.is_nobody() {
            return Ok(());
        }
        self.advance(mpi, partition, true)?;
        let Some(request) = self.arrived[partition] else { return Err(no_round()) };
        message.unpack(&self.parts[request].incoming(mpi, 0, 1)?[NUMBER..])
    }

    /// Looks for a partition; if `wait` is set, waits for it.
    fn advance(&mut self, mpi: &Usable, partition: usize, wait: bool) -> Result<bool, Error> {
        let partitions = self.parts.len();
        if self.from.is_nobody() {
            return Ok(true);
        }
        if partition >= partitions {
            return Err(no_partition(partition, partitions));
        }
        let Some(round) = self.round else {
            return Err(Error::NotStarted { what: "the partitioned receive" });
        };
        for (request, part) in self.parts.iter_mut().enumerate() {
            if self.arrived[partition].is_some() {
                break;
            }
            if self.arrived.contains(&Some(request)) {
                continue;
            }
            // Messages of one sender are received in the order in which they were sent.
            if wait {
                part.wait(mpi)?;
            } else if !part.is_done(mpi)? {
                break;
            }
            let number = part.incoming(mpi, 0, 1)?.first_chunk().map(|number| u64::from_ne_bytes(*number));
            let number = number.and_then(|number| number.checked_sub(numbered(round, 0)));
            let number = number.and_then(|number| usize::try_from(number).ok());
            match number.and_then(|number| self.arrived.get_mut(number)) {
                Some(arrived @ None) => *arrived = Some(request),
                _ => return Err(no_round()),
            }
        }
        Ok(self.arrived[partition].is_some())
    }
}

impl Drop for PartitionedReceive<'_> {
    fn drop(&mut self) {
        self.parts.iter_mut().for_each(Persistent::cancel);
    }
}

/// Returns the number of a partition of a round.
fn numbered(round: u32, partition: usize) -> u64 {
    u64::from(round) << 32 | partition as u64
}

/// Checks a number of partitions.
fn few(partitions: usize) -> Result<usize, Error> {
    let requirement = "less than 2³²";
    u32::try_from(partitions).map(|_| partitions).map_err(|_| {
        refused("a partitioned message", "the number of partitions", partitions as i128, requirement)
    })
}

#[cold]
fn no_partition(partition: usize, partitions: usize) -> Error {
    let requirement = format!("less than {partitions}, the number of partitions");
    refused("a partitioned message", "partition", partition as i128, requirement)
}

#[cold]
fn no_round() -> Error {
    Error::Message {
        from: None,
        reason: "a message on the tag of a partitioned receive is no partition of this round: use a tag of \
                 its own, start the receive, and send each partition once a round"
            .into(),
    }
}

impl fmt::Debug for PreparedSend<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedSend").field("packed_size", &self.size).finish_non_exhaustive()
    }
}

impl fmt::Debug for PreparedReceive<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedReceive").field("packed_size", &self.size).finish_non_exhaustive()
    }
}

impl fmt::Debug for PartitionedSend<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionedSend").field("partitions", &self.parts.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for PartitionedReceive<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionedReceive").field("arrived", &self.arrived).finish_non_exhaustive()
    }
}
