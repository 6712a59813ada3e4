//! The two sides of a collective call on this rank: the sent buffer, and the received one.

use std::{
    os::raw::{c_int, c_void},
    ptr,
};

use super::members::BlockCounts;
use crate::{
    argument::{Argument, Transfer},
    call::{Call, SUCCESS, list, or_else_plain},
    datatype_cache::{is_known, stays},
    message::Message,
    native::{MPI_Comm, MPI_Datatype, MPI_Request},
    profile::is_counting,
    requests::{Kind, Work, keep},
    staged::Staged,
};

/// An integer type of the standard, for counts and displacements.
pub(crate) trait Integer: Copy + TryInto<i64> + TryFrom<i64> + 'static {}

impl<I: Copy + TryInto<i64> + TryFrom<i64> + 'static> Integer for I {}

/// The arguments of a buffer beside its address: counts, datatypes and displacements.
pub(crate) trait Named: Copy {
    /// Returns `true` if a significant buffer with this datatype is certainly forwarded unchanged, as far as
    /// that is known without queries. Accepts insignificant arguments, even invalid handles.
    fn stays(self) -> bool;

    /// Stages the blocks, or returns `None` if the buffer is forwarded unchanged.
    ///
    /// The counts and the sizes of the datatypes in bytes are those of the program's arguments. From these
    /// numbers, libraries derive values on which all ranks must agree, such as the length of segments in Open
    /// MPI. So the derived values are the same as for the program's arguments, and as on other ranks.
    ///
    /// # Safety
    /// Promises 1 and 2 for the arguments, and promise 3 for a buffer that is sent.
    unsafe fn stage(self, around: Around<'_>) -> Option<Side<Self>>;
}

/// The context in which a buffer is staged: the call, its address, the number of blocks, and the
/// communicator.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    call: &'a Call,
    buffer: *mut c_void,
    blocks: usize,
    communicator: MPI_Comm,
    transfer: Transfer,
    /// The blocks that are not moved: see [`BlockCounts`].
    missing: u64,
}

impl Around<'_> {
    /// Returns `true` if block `i` is not moved.
    fn lacks(&self, i: usize) -> bool {
        i < 64 && self.missing >> i & 1 == 1
    }

    fn argument(&self, buffer: *mut c_void, count: i64, datatype: MPI_Datatype) -> Argument {
        let written = Argument::written(buffer, count, datatype);
        Argument { transfer: self.transfer, is_collective: true, ..written }
    }
}

/// Blocks of equal length, one after the other.
impl<C: Integer> Named for (C, MPI_Datatype) {
    #[inline]
    fn stays(self) -> bool {
        let count = self.0.try_into().ok().and_then(|count: i64| usize::try_from(count).ok()).unwrap_or(0);
        !is_counting() && stays(self.1, Some(count))
    }

    unsafe fn stage(self, around: Around<'_>) -> Option<Side<Self>> {
        let Around { call, buffer, blocks, communicator, transfer, .. } = around;
        let (count, datatype) = self;
        let argument = around.argument(buffer, count.try_into().ok()?, datatype);
        let all = usize::try_from(argument.count).ok()?.checked_mul(blocks)?;
        // SAFETY: promises 1 and 2 for the datatype.
        let message = unsafe { Message::with_blocks(&argument, blocks, all) }?;
        // SAFETY: promises 1 and 2 for the datatype, and promise 3 for a buffer that is sent.
        let engine = unsafe { message.engine(call) }?;
        let packed = message.sent(engine, communicator)?;
        let part = message.part_at(engine, buffer.cast(), all);
        Some(Side::packed((count, packed), Staged::of(Vec::new(), part, transfer)?))
    }
}

/// Blocks of different lengths, with displacements in extents of their one datatype.
impl<C: Integer, P: Integer> Named for (*const C, *const P, MPI_Datatype) {
    #[inline]
    fn stays(self) -> bool {
        !is_counting() && stays(self.2, None)
    }

    /// Stages all blocks if the largest one is worth packing.
    unsafe fn stage(self, around: Around<'_>) -> Option<Side<Self>> {
        let Around { call, buffer, blocks, communicator, transfer, .. } = around;
        let (counts, places, datatype) = self;
        let blocks = c_int::try_from(blocks).ok()?;
        // SAFETY: promises 1 and 2 for the datatype and the lists, which have an item for each block.
        let items = unsafe {
            is_known(datatype).then_some(())?;
            list(counts, blocks).iter().zip(list(places, blocks))
        };
        let items = items.map(|(count, place)| {
            let count: i64 = (*count).try_into().ok()?;
            Some((usize::try_from(count).ok()?, isize::try_from((*place).try_into().ok()?).ok()?))
        });
        let items = items.collect::<Option<Vec<_>>>()?;
        let (largest, at) = *items.iter().max_by_key(|(count, _)| *count)?;
        let all = items.iter().try_fold(0usize, |sum, (count, _)| sum.checked_add(*count))?;
        let blocks = items.iter().filter(|(count, _)| *count > 0).count();
        let largest = around.argument(buffer, i64::try_from(largest).ok()?, datatype);
        // SAFETY: promises 1 and 2 for the datatype.
        let message = unsafe { Message::with_blocks(&largest, blocks, all) }?;
        // SAFETY: promises 1 and 2 for the datatype, and promise 3 for a buffer that is sent.
        let engine = unsafe { message.engine_at(call, at) }?;
        let packed = message.sent(engine, communicator)?;
        let mut parts = Vec::new();
        let mut list = Vec::new();
        let mut end = 0i64;
        for (count, place) in items {
            list.push(P::try_from(end).ok()?);
            end = end.checked_add(count as i64)?;
            if count > 0 {
                let at = place.checked_mul(engine.plan().extent())?;
                parts.push(message.part_at(engine, buffer.cast::<u8>().wrapping_offset(at), count));
            }
        }
        let last = parts.pop()?;
        let arguments = (counts, list.as_ptr(), packed);
        Some(Side::packed(arguments, Staged::of(parts, last, transfer)?.with_lists(list)))
    }
}

/// Blocks of different lengths and datatypes, with displacements in bytes.
impl<C: Integer, P: Integer> Named for (*const C, *const P, *const MPI_Datatype) {
    fn stays(self) -> bool {
        false
    }

    /// Stages the blocks that are worth it. The others stay where they are, with displacements from the
    /// packed buffer: the program's may be `MPI_BOTTOM`, which MPICH accepts for absolute addresses only. If
    /// these displacements do not fit the type of the call, no block is staged. Blocks that could only be
    /// packed between peers stay.
    unsafe fn stage(self, around: Around<'_>) -> Option<Side<Self>> {
        let Around { call, buffer, blocks, communicator, .. } = around;
        // Blocks that are not moved are not staged, so the call fills all of the packed buffer.
        let transfer = match around.transfer {
            Transfer::Update if around.missing > 0 => Transfer::Fill,
            transfer => transfer,
        };
        let (counts, places, datatypes) = self;
        let blocks = c_int::try_from(blocks).ok()?;
        // SAFETY: promise 2 for the lists, which have an item for each block.
        let items =
            unsafe { list(counts, blocks).iter().zip(list(places, blocks)).zip(list(datatypes, blocks)) };
        let goes = |(i, ((count, _), datatype)): (usize, ((&C, &P), &MPI_Datatype))| {
            let count: i64 = (*count).try_into().unwrap_or(0);
            count > 0 && !around.lacks(i) && !stays(*datatype, usize::try_from(count).ok())
        };
        if !is_counting() && !items.clone().enumerate().any(goes) {
            return None;
        }
        let mut parts = Vec::new();
        let mut placed = Vec::new();
        let mut end = 0i64;
        for (i, ((count, place), datatype)) in items.enumerate() {
            let (count, place): (i64, i64) = ((*count).try_into().ok()?, (*place).try_into().ok()?);
            let origin = buffer.cast::<u8>().wrapping_offset(isize::try_from(place).ok()?);
            let argument = Argument {
                is_of_nobody: around.lacks(i),
                ..around.argument(origin.cast(), count, *datatype)
            };
            // SAFETY: promises 1 and 2 for the datatype of the block.
            let message = unsafe { Message::new(&argument) };
            let packed = message.and_then(|message| {
                // SAFETY: promises 1 and 2 for that datatype, and promise 3 for a block that is sent.
                let engine = unsafe { message.engine(call) }.filter(|engine| !engine.is_for_peers())?;
                Some((message.sent(engine, communicator)?, message.part(engine)))
            });
            placed.push(match packed {
                Some((datatype, part)) => {
                    let bytes = i64::try_from(part.bytes()?).ok()?;
                    parts.push(part);
                    end = end.checked_add(bytes)?;
                    Block::Packed(datatype, end - bytes)
                }
                None if count == 0 || around.lacks(i) => Block::Empty(*datatype),
                // Both buffers are mostly too far from each other for an `int`.
                None if size_of::<P>() < size_of::<usize>() && !is_counting() => return None,
                None => Block::Left(*datatype, place),
            });
        }
        let last = parts.pop()?;
        let mut staged = Staged::of(parts, last, transfer)?;
        let distance = buffer.addr().wrapping_sub(staged.address().addr()) as i64;
        let mut list = Vec::with_capacity(placed.len());
        let mut types = Vec::with_capacity(placed.len());
        for block in placed {
            let (datatype, place) = match block {
                Block::Empty(datatype) => (datatype, 0),
                Block::Left(datatype, place) => (datatype, distance.checked_add(place)?),
                Block::Packed(datatype, place) => (datatype, place),
            };
            types.push(datatype);
            list.push(P::try_from(place).ok()?);
        }
        let arguments = (counts, list.as_ptr(), types.as_ptr());
        Some(Side::packed(arguments, staged.with_lists((list, types))))
    }
}

/// A block of a call with blocks of different datatypes, with its datatype.
enum Block {
    /// A block of which nothing is moved.
    Empty(MPI_Datatype),
    /// A block in the program's buffer, with its displacement there.
    Left(MPI_Datatype, i64),
    /// A block in the packed buffer, with its displacement there.
    Packed(MPI_Datatype, i64),
}

/// One side as it is forwarded: the program's buffer and arguments, or a packed buffer with matching
/// arguments.
pub(crate) struct Side<A> {
    buffer: *mut c_void,
    arguments: A,
    staged: Option<Staged>,
}

impl<A: Named> Side<A> {
    /// Stages a side.
    ///
    /// # Safety
    /// Promises 1 and 2 for the arguments, and promise 3 for a buffer that is sent.
    unsafe fn of(arguments: A, around: Around<'_>) -> Self {
        let staged = or_else_plain(|| {
            (around.blocks > 0).then_some(())?;
            // SAFETY: promises 1 to 3, by the caller's condition.
            unsafe { arguments.stage(around) }
        });
        staged.unwrap_or(Self { buffer: around.buffer, arguments, staged: None })
    }

    /// Returns a side whose arguments are relative to the packed buffer.
    fn packed(arguments: A, mut staged: Staged) -> Self {
        Self { buffer: staged.address(), arguments, staged: Some(staged) }
    }
}

/// The two sides of a call on this rank.
pub(crate) struct CollectiveBuffers<S, R> {
    send: Side<S>,
    receive: Side<R>,
}

impl<S: Named, R: Named> CollectiveBuffers<S, R> {
    /// Stages both sides.
    ///
    /// # Safety
    /// Promises 1 and 2 for the arguments, and promise 3 for the send buffer.
    pub unsafe fn of(
        call: &Call,
        blocks: BlockCounts,
        send: (*const c_void, S),
        receive: (*mut c_void, R),
        communicator: MPI_Comm,
    ) -> Self {
        let BlockCounts { sent, received, keeps, missing } = blocks;
        let buffer = send.0.cast_mut();
        let sending = Around { call, buffer, blocks: sent, communicator, transfer: Transfer::Send, missing };
        let transfer = if keeps { Transfer::Update } else { Transfer::Fill };
        let receiving = Around { buffer: receive.0, blocks: received, transfer, ..sending };
        // SAFETY: promises 1 and 2 for the arguments, and promise 3 for the send buffer.
        unsafe { Self { send: Side::of(send.1, sending), receive: Side::of(receive.1, receiving) } }
    }

    /// Returns the buffer that is sent, and its arguments, as they are forwarded.
    pub fn sent(&self) -> (*const c_void, S) {
        (self.send.buffer, self.send.arguments)
    }

    /// Returns the buffer that is received into, and its arguments, as they are forwarded.
    pub fn received(&self) -> (*mut c_void, R) {
        (self.receive.buffer, self.receive.arguments)
    }

    /// Packs the sent side, and the received one if it keeps blocks.
    ///
    /// # Safety
    /// Promise 3 for the send buffer, and promise 4 for the receive buffer.
    pub unsafe fn begin(&mut self) {
        let buffers = [&mut self.send.staged, &mut self.receive.staged];
        // SAFETY: promise 3 for the sent side, and promise 4 for the received one.
        buffers.into_iter().flatten().for_each(|staged| unsafe { staged.begin() });
    }

    /// Unpacks the received side of a complete call, if it has succeeded. Returns `code`.
    ///
    /// # Safety
    /// Promise 4 for the receive buffer; `code` is the result of the call.
    pub unsafe fn finish(mut self, code: c_int) -> c_int {
        if code == SUCCESS {
            // SAFETY: 1 is promise 4 for the receive buffer; 2, as promise 1 holds, and no status counts
            // the bytes.
            self.receive.staged.iter_mut().for_each(|staged| unsafe { staged.finish(ptr::null()) });
        }
        code
    }

    /// Registers the buffers and lists of a call with its request. Returns `code`.
    ///
    /// # Safety
    /// Promise 2 for `request`; `code` is the result of the call.
    pub unsafe fn keep(self, code: c_int, request: *const MPI_Request, kind: Kind) -> c_int {
        let work = Work::buffers(self.send.staged, self.receive.staged);
        // SAFETY: promise 2 for `request`, which the library has set if the call has succeeded.
        unsafe { keep(code, request, kind, work) }
    }
}

impl<A: Named> CollectiveBuffers<A, A> {
    /// Stages the buffer of a broadcast, for the side that `blocks` selects: it is sent on the root, and
    /// received on other ranks.
    ///
    /// # Safety
    /// Promises 1 and 2 for the arguments, and promise 3 for the buffer if it is sent.
    pub unsafe fn of_one(
        call: &Call,
        blocks: BlockCounts,
        buffer: (*mut c_void, A),
        communicator: MPI_Comm,
    ) -> Self {
        // SAFETY: promises 1 and 2 for the arguments, and promise 3 for the buffer if it is sent. `blocks`
        // selects at most one side, so the buffer has only one use.
        unsafe { Self::of(call, blocks, (buffer.0.cast_const(), buffer.1), buffer, communicator) }
    }

    /// Returns the buffer and the arguments to forward.
    pub fn used(&self) -> (*mut c_void, A) {
        let side = if self.send.staged.is_some() { &self.send } else { &self.receive };
        (side.buffer, side.arguments)
    }
}
