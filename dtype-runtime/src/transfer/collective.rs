//! Collective transfers of packed bytes (MPI 4.1 chapter 6).
//!
//! The ranks first find out whether all of them send, or expect, the same number of packed bytes. This takes
//! one reduction of a few numbers, however many ranks there are. If the numbers are equal, the plain MPI call
//! follows. Otherwise the sizes are sent to the receivers, and in an all-to-all short parts with them. So the
//! numbers of values may differ from rank to rank. If the numbers do not fit, every rank that would receive
//! something gets an error instead, and all ranks complete the call. The announced bytes must also arrive:
//! behind the bytes of each rank is a seal, with a number drawn at random for the call (`frame.rs`). As in
//! MPI, nothing checks that all ranks make the same call with the same root.
//!
//! If there are more bytes than fit an MPI count, they are counted in larger units, on which all ranks agree:
//! see `parts.rs`.

use std::os::raw::c_int;

use ::mpi::ffi::{self, MPI_Comm};

use dtype_engine::Error as PackError;

use super::{
    agreement::{number, reduce},
    frame::{are_plain, draw, read_numbers, seal_size, unseal, write_numbers},
    members::{Members, Rooted},
    parts::{Described, Parts, Sizes, Told, Unit, unseal_as, with_seals},
    sendable::sealed::{Read, Write},
};
use crate::{
    Error,
    mpi::{Usable, called, is_between_groups},
    pack::PackBuffer,
};

/// The sizes that the ranks of a call have agreed on.
pub(crate) struct Agreed<'m> {
    mpi: &'m Usable,
    communicator: MPI_Comm,
    ranks: usize,
    /// The number of packed bytes of this rank.
    own: u64,
    /// The smallest number of packed bytes of any rank.
    least: u64,
    /// The largest number of packed bytes of any rank.
    most: u64,
    /// The random number of the seals.
    drawn: u64,
    /// The number of packed bytes at the root of a scatter.
    pub(crate) found: u64,
    unit: Unit,
    /// An upper bound for the bytes of the largest buffer of the call; 0 if unknown.
    bytes: u64,
}

/// Finds out the sizes of all ranks (`MPI_Allreduce`). On an intercommunicator, a rank learns nothing about
/// its own group, so the sizes are always sent.
pub(crate) fn agree(members: Members<'_>, own: usize, found: usize) -> Result<Agreed<'_>, Error> {
    let Members { mpi, communicator, ranks } = members;
    let unknown = Agreed {
        mpi,
        communicator,
        ranks,
        own: own as u64,
        least: 0,
        most: u64::MAX,
        drawn: draw(),
        found: found as u64,
        unit: Unit::BYTE,
        bytes: 0,
    };
    if is_between_groups(mpi, communicator)? {
        return Ok(unknown);
    }
    let numbers = [unknown.own, !unknown.own, unknown.drawn, unknown.found];
    // SAFETY: a constant of the library.
    let [most, others, drawn, found] = reduce(mpi, communicator, numbers, unsafe { ffi::RSMPI_MAX })?;
    let bytes = most.saturating_add(seal_size() as u64).saturating_mul(ranks as u64);
    if bytes > isize::MAX as u64 {
        return Err(too_many(bytes));
    }
    Ok(Agreed { least: !others, most, drawn, found, unit: Unit::for_buffer(bytes), bytes, ..unknown })
}

impl Agreed<'_> {
    /// Returns `true` if all ranks have the same number of packed bytes.
    pub(crate) fn is_even(&self) -> bool {
        self.least == self.most
    }

    /// Returns the number of packed bytes of all ranks together.
    fn total(&self) -> Result<u64, Error> {
        if self.is_even() {
            return Ok(self.own.saturating_mul(self.ranks as u64));
        }
        // SAFETY: a constant of the library.
        reduce(self.mpi, self.communicator, [self.own], unsafe { ffi::RSMPI_SUM }).map(|[total]| total)
    }

    fn told(&self) -> Told {
        [self.own, self.drawn]
    }

    /// Returns the parts of the ranks. If they are not of equal size, `tell` exchanges the sizes.
    fn parts(&self, tell: impl FnOnce() -> Result<Vec<Told>, Error>) -> Result<Parts, Error> {
        if self.is_even() {
            Parts::even(self.ranks, self.told(), self.unit)
        } else {
            Parts::each(&tell()?, self.unit)
        }
    }

    /// Sends the announcement of each rank to all ranks (`MPI_Allgather`).
    fn tell_all(&self) -> Result<Vec<Told>, Error> {
        let (own, mut all) = (self.told(), vec![[0; 2]; self.ranks]);
        called(self.mpi, "MPI_Allgather", self.communicator, || {
            let (from, to) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
            // SAFETY: there is room for two numbers of each rank.
            unsafe { self.mpi.MPI_Allgather(from, 2, number(), to, 2, number(), self.communicator) }
        })?;
        Ok(all)
    }

    /// Sends the announcement of each rank to the root (`MPI_Gather`). On other ranks the result is empty.
    fn tell(&self, root: c_int, is_root: bool) -> Result<Vec<Told>, Error> {
        let (own, mut all) = (self.told(), vec![[0; 2]; if is_root { self.ranks } else { 0 }]);
        called(self.mpi, "MPI_Gather", self.communicator, || {
            let (from, to) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
            // SAFETY: at the root there is room for two numbers of each rank. Elsewhere MPI reads only the
            // send buffer.
            unsafe { self.mpi.MPI_Gather(from, 2, number(), to, 2, number(), root, self.communicator) }
        })?;
        Ok(all)
    }
}

/// Sends the message of each rank to all ranks.
pub(crate) fn gather_to_all<S: Read + ?Sized>(
    agreed: &Agreed<'_>,
    message: &S,
) -> Result<(PackBuffer, Parts), Error> {
    let Agreed { mpi, communicator, unit, bytes, .. } = *agreed;
    let parts = agreed.parts(|| agreed.tell_all())?;
    let one = unit.pack_one(message, agreed.drawn);
    let buffers = one.and_then(|one| Ok((one, parts.room_for_all()?)));
    let ((packed, own), mut all) = all_have_memory(mpi, communicator, bytes, buffers)?;
    let from = packed.as_ptr().cast();
    let to = all.as_mut_ptr().cast();
    let one = unit.datatype()?;
    let kind = one.datatype;
    let even = |count| {
        // SAFETY: the buffers have room for the units that are sent, and for those of all equal parts.
        unsafe { mpi.MPI_Allgather(from, own, kind, to, count, kind, communicator) }
    };
    let each = |counts, starts| {
        // SAFETY: the buffers have room for the units that are sent, and for those that have been announced.
        unsafe { mpi.MPI_Allgatherv(from, own, kind, to, counts, starts, kind, communicator) }
    };
    parts.call(mpi, communicator, ["MPI_Allgather", "MPI_Allgatherv"], even, each)?;
    Ok((all, parts))
}

/// The number of bytes for which every rank is expected to have the memory.
const FEW: u64 = 256 << 20;

/// Returns the buffers of this rank if all ranks have theirs, and an error otherwise, so that no rank waits
/// for one without memory. If there are few bytes, each rank decides alone; `bytes` is the same on all ranks.
fn all_have_memory<T>(
    mpi: &Usable,
    communicator: MPI_Comm,
    bytes: u64,
    own: Result<T, Error>,
) -> Result<T, Error> {
    if bytes <= FEW || is_between_groups(mpi, communicator)? {
        return own;
    }
    // SAFETY: a constant of the library.
    let minimum = unsafe { ffi::RSMPI_MIN };
    let all_have = reduce(mpi, communicator, [own.is_ok().into()], minimum)? == [1];
    match own {
        Ok(_) if !all_have => Err(too_many(bytes)),
        own => own,
    }
}

/// Returns the error of a rank without memory for so many bytes.
fn too_many(bytes: u64) -> Error {
    PackError::Memory { bytes: in_memory(bytes) }.into()
}

/// Returns a number of bytes, or the greatest one of this machine's memory.
fn in_memory(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// The announcement of a rank to another one in an all-to-all: the size and the seal of the part, the bytes
/// of all parts of the rank with their seals, and the packed bytes of its largest part.
type Announcement = [u64; 4];

/// The size of an announcement in bytes.
const ANNOUNCEMENT: usize = size_of::<Announcement>();

/// Returns the number of bytes behind each announcement in which a short part travels. Announcement and part
/// have 2 KiB at most, and those of all ranks 64 KiB. With very many ranks, nothing travels there.
fn room_behind_announcement(ranks: usize) -> usize {
    let room = ((64 << 10) / ranks.max(1)).min(2 << 10).saturating_sub(ANNOUNCEMENT);
    if room < 4 * ANNOUNCEMENT { 0 } else { room }
}

/// Sends a part of a buffer to each rank, and returns the parts that come from them. All parts may differ in
/// size. If all parts of all ranks are short, they travel with their announcements.
pub(crate) fn exchange(
    mpi: &Usable,
    communicator: MPI_Comm,
    outgoing: &[Told],
    pack: impl Fn(&Parts) -> Result<PackBuffer, Error>,
) -> Result<(PackBuffer, Parts), Error> {
    // On an intercommunicator, no rank learns whether all parts of its own group are short.
    let between_groups = is_between_groups(mpi, communicator)?;
    let room = if between_groups { 0 } else { room_behind_announcement(outgoing.len()) };
    let is_short = |size: u64| size.saturating_add(seal_size() as u64) <= room as u64;
    let slot = ANNOUNCEMENT + room;
    let size = outgoing.len() * slot;
    let largest = outgoing.iter().map(|[size, _]| *size).max().unwrap_or(0);
    let mut told = if is_short(largest) {
        pack(&Parts::within(outgoing, ANNOUNCEMENT, room)?)?
    } else {
        PackBuffer::with_room(size)?
    };
    // Each rank also tells all ranks how many bytes it sends. The sum limits the buffers of all of them.
    let own = with_seals(outgoing);
    for (at, [size, drawn]) in told.chunks_exact_mut(slot).zip(outgoing) {
        write_numbers([*size, *drawn, own, largest], at);
    }
    let mut come = PackBuffer::with_room(size)?;
    come[..size].fill(0);
    let byte = Unit::BYTE.datatype()?.datatype;
    called(mpi, "MPI_Alltoall", communicator, || {
        let (from, to, count) = (told.as_ptr().cast(), come.as_mut_ptr().cast(), slot as c_int);
        // SAFETY: both buffers have room for the announcement and the short part of each rank.
        unsafe { mpi.MPI_Alltoall(from, count, byte, to, count, byte, communicator) }
    })?;
    let incoming: Vec<Announcement> = come[..size].chunks_exact(slot).map(read_numbers).collect();
    let all = incoming.iter().fold(0u64, |sum, [_, _, own, _]| sum.saturating_add(*own));
    let all_short = incoming.iter().all(|[.., largest]| is_short(*largest));
    let incoming: Vec<Told> = incoming.into_iter().map(|[size, drawn, ..]| [size, drawn]).collect();
    if all_short {
        return Ok((come, Parts::within(&incoming, ANNOUNCEMENT, room)?));
    }
    // On an intercommunicator, each group knows only the sum of the other one, so parts are counted in bytes.
    let (unit, bytes) = if all <= FEW || between_groups {
        (Unit::BYTE, all)
    } else {
        // All ranks count in the unit of the largest buffer.
        // SAFETY: a constant of the library.
        let maximum = unsafe { ffi::RSMPI_MAX };
        let [bytes] = reduce(mpi, communicator, [own.max(with_seals(&incoming))], maximum)?;
        (Unit::for_buffer(bytes), bytes)
    };
    let made = Parts::each(outgoing, unit).and_then(|outgoing| {
        let incoming = Parts::each(&incoming, unit)?;
        Ok((pack(&outgoing)?, incoming.room_for_all()?, outgoing, incoming))
    });
    let (packed, mut all, outgoing, incoming) = all_have_memory(mpi, communicator, bytes, made)?;
    let from = packed.as_ptr().cast();
    let to = all.as_mut_ptr().cast();
    let one = unit.datatype()?;
    if let (Sizes::Each { counts, starts, .. }, Sizes::Each { counts: counts_in, starts: starts_in, .. }) =
        (&outgoing.sizes, &incoming.sizes)
    {
        called(mpi, "MPI_Alltoallv", communicator, || {
            let counts = counts.as_ptr();
            let starts = starts.as_ptr();
            let kind = one.datatype;
            let (counts_in, starts_in) = (counts_in.as_ptr(), starts_in.as_ptr());
            // SAFETY: the buffers have room for the units that are sent, and for those that have been
            // announced.
            unsafe {
                mpi.MPI_Alltoallv(from, counts, starts, kind, to, counts_in, starts_in, kind, communicator)
            }
        })?;
    }
    Ok((all, incoming))
}

/// Returns the packed bytes of all ranks and their division at the root, and `None` on other ranks.
pub(crate) fn gather<M: Read + ?Sized>(
    agreed: &Agreed<'_>,
    root: Rooted<'_>,
    message: &M,
) -> Result<Option<(PackBuffer, Parts)>, Error> {
    let Rooted { rank: to_rank, is_here: is_root, .. } = root;
    let parts = agreed.parts(|| agreed.tell(to_rank, is_root))?;
    let Agreed { mpi, communicator, unit, bytes, drawn, .. } = *agreed;
    let all = if is_root { parts.room_for_all() } else { Ok(PackBuffer::with_room(0)?) };
    let buffers = all.and_then(|all| Ok((unit.pack_one(message, drawn)?, all)));
    let ((packed, own), mut all) = all_have_memory(mpi, communicator, bytes, buffers)?;
    let from = packed.as_ptr().cast();
    let to = all.as_mut_ptr().cast();
    let one = unit.datatype()?;
    let kind = one.datatype;
    // Except at the root, MPI reads only the send buffer.
    let even = |count| {
        // SAFETY: the buffers have room for the units that are sent, and at the root for those of all parts.
        unsafe { mpi.MPI_Gather(from, own, kind, to, count, kind, to_rank, communicator) }
    };
    let each = |counts, starts| {
        // SAFETY: the buffers have room for the units that are sent, and at the root for the announced ones.
        unsafe { mpi.MPI_Gatherv(from, own, kind, to, counts, starts, kind, to_rank, communicator) }
    };
    parts.call(mpi, communicator, ["MPI_Gather", "MPI_Gatherv"], even, each)?;
    Ok(is_root.then_some((all, parts)))
}

/// Sends the root's message to all ranks in parts. `message` is `Some` only at the root.
pub(crate) fn scatter<S, M>(
    agreed: &Agreed<'_>,
    root: Rooted<'_>,
    message: Option<&S>,
    into: &mut M,
) -> Result<(), Error>
where
    S: Read + ?Sized,
    M: Write + ?Sized,
{
    let (Rooted { rank: from_rank, is_here: is_root, .. }, expected) = (root, into.packed_size());
    let total = agreed.total()?;
    if agreed.found != total {
        let [expected, found] = [total, agreed.found].map(in_memory);
        return Err(Error::Fit { value: into.step(), expected, found: Some(found), from: None });
    }
    let Agreed { mpi, communicator, unit, bytes, drawn, .. } = *agreed;
    let parts = agreed.parts(|| agreed.tell(from_rank, is_root))?;
    let packed = message.map_or_else(|| Ok(PackBuffer::with_room(0)?), |message| parts.pack(message));
    let buffers = packed.and_then(|packed| Ok((packed, unit.room_for(expected, drawn)?)));
    let (packed, (mut part, own)) = all_have_memory(mpi, communicator, bytes, buffers)?;
    let from = packed.as_ptr().cast();
    let to = part.as_mut_ptr().cast();
    let one = unit.datatype()?;
    let kind = one.datatype;
    // Except at the root, MPI does not read the send buffer.
    let even = |count| {
        // SAFETY: the root's buffer has all parts, and there is room for the units that are expected here.
        unsafe { mpi.MPI_Scatter(from, count, kind, to, own, kind, from_rank, communicator) }
    };
    let each = |counts, starts| {
        // SAFETY: the root's buffer has the announced parts, and there is room for the units expected here.
        unsafe { mpi.MPI_Scatterv(from, counts, starts, kind, to, own, kind, from_rank, communicator) }
    };
    parts.call(mpi, communicator, ["MPI_Scatter", "MPI_Scatterv"], even, each)?;
    let (packed, behind) = part.split_at(expected);
    unseal(into, 0..expected, drawn, behind, from_rank)?;
    are_plain(into, packed, expected)?;
    into.unpack(packed)
}

/// Sends one of the root's messages to each rank. The ranks do not know their sizes. `messages` is `Some`
/// only at the root, one for each rank. Returns the message, and its size in bytes.
pub(crate) fn scatter_each<S: Read>(
    root: Rooted<'_>,
    messages: Option<&[S]>,
    described: Described<'_>,
) -> Result<(PackBuffer, usize), Error> {
    let Rooted { members: Members { mpi, communicator, ranks }, rank: from_rank, .. } = root;
    let drawn = draw();
    let told: Vec<_> =
        messages.unwrap_or_default().iter().map(|one| [one.packed_size() as u64, drawn]).collect();
    // Each rank gets the size and the seal of its message, and the number of bytes of all of them.
    let bytes = with_seals(&told);
    let outgoing: Vec<_> = told.iter().map(|[size, drawn]| [*size, *drawn, bytes]).collect();
    let mut own = [0u64; 3];
    called(mpi, "MPI_Scatter", communicator, || {
        let (from, to) = (outgoing.as_ptr().cast(), own.as_mut_ptr().cast());
        // SAFETY: the root has three numbers for each rank, and there is room for three. Elsewhere MPI does
        // not read the send buffer.
        unsafe { mpi.MPI_Scatter(from, 3, number(), to, 3, number(), from_rank, communicator) }
    })?;
    let [size, drawn, bytes] = own;
    let unit = Unit::for_buffer(bytes);
    let size = usize::try_from(size).map_err(|_| too_many(size))?;
    let made = Parts::each(&told, unit).and_then(|parts| {
        let packed = match messages {
            Some(messages) => parts.pack_each(messages)?,
            None => PackBuffer::with_room(0)?,
        };
        Ok((packed, parts, unit.room_for(size, drawn)?))
    });
    let (packed, parts, (mut part, count)) = all_have_memory(mpi, communicator, bytes, made)?;
    debug_assert!(messages.is_none_or(|messages| messages.len() == ranks));
    let from = packed.as_ptr().cast();
    let to = part.as_mut_ptr().cast();
    let one = unit.datatype()?;
    if let Sizes::Each { counts, starts, .. } = &parts.sizes {
        called(mpi, "MPI_Scatterv", communicator, || {
            let counts = counts.as_ptr();
            let starts = starts.as_ptr();
            let kind = one.datatype;
            // SAFETY: the root's buffer has a part for each rank, and there is room for the announced units.
            // Elsewhere MPI does not read the send buffer.
            unsafe { mpi.MPI_Scatterv(from, counts, starts, kind, to, count, kind, from_rank, communicator) }
        })?;
    }
    let (arrived, behind) = part.split_at(size);
    unseal_as(described, size, (0..size, arrived), drawn, behind, from_rank)?;
    Ok((part, size))
}

#[cfg(test)]
mod tests {
    use super::{ANNOUNCEMENT, room_behind_announcement};

    #[test]
    fn announcements_and_short_parts_have_64_kib_at_most() {
        let room = [1, 32, 33, 409, 410, 1 << 20].map(room_behind_announcement);
        assert_eq!(room, [2016, 2016, 1953, 128, 0, 0]);
        assert!((1..=409).all(|ranks| (room_behind_announcement(ranks) + ANNOUNCEMENT) * ranks <= 64 << 10));
    }
}
