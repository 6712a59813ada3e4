//! The two sides of a collective call: what a rank sends, and what it receives.

use std::{
    any::Any,
    os::raw::{c_int, c_void},
};

use mpi::ffi::{MPI_Comm, MPI_Datatype, MPI_Request};

use super::members::Blocks;
use crate::{
    call::{Call, SUCCESS, list},
    known::{is_known, stays},
    requests::{Kind, Work, keep},
    staged::{Argument, Block, Parts, Staged, or_else_plain},
    usage::is_counting,
};

/// An integer of the standard.
pub(super) trait Integer: Copy + TryInto<i64> + TryFrom<i64> + 'static {}

impl<I: Copy + TryInto<i64> + TryFrom<i64> + 'static> Integer for I {}

/// What a call names beside a buffer: how many of which datatype, where.
pub(super) trait Named: Copy {
    /// Whether it is remembered that it stays as it is, wherever this is significant.
    fn stays(self) -> bool;

    /// Memory for the blocks, packed, if they should be.
    ///
    /// # Safety
    /// The program's promise.
    unsafe fn stage(self, around: Around<'_>) -> Option<(Staged, Replaced<Self>)>;
}

/// What stands around that: the call, the buffer, how many blocks there are, and who takes part.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    call: &'a Call,
    buffer: *mut c_void,
    blocks: usize,
    communicator: MPI_Comm,
    is_sent: bool,
}

impl Around<'_> {
    fn argument(&self, buffer: *mut c_void, count: i64, datatype: MPI_Datatype) -> Argument {
        Argument { is_read: self.is_sent, is_collective: true, ..Argument::written(buffer, count, datatype) }
    }
}

/// What the library is given instead.
///
/// There are as many datatypes of as many bytes; so what a library decides by these, as Open MPI does the
/// length of segments, it decides as it would without us, and as it does on other ranks.
pub(super) struct Replaced<A> {
    arguments: A,
    /// The lists among them.
    lists: Box<dyn Any>,
}

/// Blocks of the same length, one behind the other.
impl<C: Integer> Named for (C, MPI_Datatype) {
    #[inline]
    fn stays(self) -> bool {
        let count = self.0.try_into().ok().and_then(|count: i64| usize::try_from(count).ok());
        !is_counting() && stays(self.1, Some(count.unwrap_or(0)))
    }

    unsafe fn stage(self, around: Around<'_>) -> Option<(Staged, Replaced<Self>)> {
        let Around { call, buffer, blocks, communicator, .. } = around;
        let (count, datatype) = self;
        // SAFETY: the program's promise.
        let found = unsafe {
            let count: i64 = count.try_into().ok()?;
            let all = usize::try_from(count).ok()?.checked_mul(blocks)?;
            around.argument(buffer, count, datatype).largest_of(blocks, all)?.engine(call)
        }?;
        let packed = found.sent(communicator)?;
        let part = found.part(buffer.cast(), found.count.checked_mul(blocks)?);
        Some((Staged::of(Parts::One(part))?, Replaced { arguments: (count, packed), lists: Box::new(()) }))
    }
}

/// Blocks of these lengths, that begin at these places in datatypes.
impl<C: Integer, P: Integer> Named for (*const C, *const P, MPI_Datatype) {
    #[inline]
    fn stays(self) -> bool {
        !is_counting() && stays(self.2, None)
    }

    /// The largest block decides.
    unsafe fn stage(self, around: Around<'_>) -> Option<(Staged, Replaced<Self>)> {
        let Around { call, buffer, blocks, communicator, .. } = around;
        let (counts, places, datatype) = self;
        let blocks = c_int::try_from(blocks).ok()?;
        // SAFETY: the program's promise.
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
        // SAFETY: the program's promise.
        let found = unsafe {
            let largest = around.argument(buffer, i64::try_from(largest).ok()?, datatype);
            largest.largest_of(blocks, all)?.engine_at(call, at)
        }?;
        let packed = found.sent(communicator)?;
        let (mut parts, mut list, mut end) = (Vec::new(), Vec::new(), 0i64);
        for (count, place) in items {
            list.push(P::try_from(end).ok()?);
            end = end.checked_add(count as i64)?;
            if count > 0 {
                let at = place.checked_mul(found.engine.plan().extent())?;
                parts.push(found.part(buffer.cast::<u8>().wrapping_offset(at), count));
            }
        }
        let arguments = (counts, list.as_ptr(), packed);
        Some((Staged::of(Parts::Many(parts))?, Replaced { arguments, lists: Box::new(list) }))
    }
}

/// Blocks of these lengths and datatypes, that begin at these places in bytes.
impl<C: Integer, P: Integer> Named for (*const C, *const P, *const MPI_Datatype) {
    fn stays(self) -> bool {
        false
    }

    /// All blocks go packed, or none: they have one buffer. What ranks would have to agree on goes plain.
    unsafe fn stage(self, around: Around<'_>) -> Option<(Staged, Replaced<Self>)> {
        let Around { call, buffer, blocks, communicator, .. } = around;
        let (counts, places, datatypes) = self;
        let blocks = c_int::try_from(blocks).ok()?;
        // SAFETY: the program's promise.
        let items =
            unsafe { list(counts, blocks).iter().zip(list(places, blocks)).zip(list(datatypes, blocks)) };
        let (mut parts, mut list, mut types, mut end) = (Vec::new(), Vec::new(), Vec::new(), 0i64);
        let mut all_go = true;
        for ((count, place), datatype) in items {
            let (count, place): (i64, i64) = ((*count).try_into().ok()?, (*place).try_into().ok()?);
            list.push(P::try_from(end).ok()?);
            if count == 0 {
                types.push(*datatype);
                continue;
            }
            let origin = buffer.cast::<u8>().wrapping_offset(isize::try_from(place).ok()?);
            // SAFETY: the program's promise.
            let named = unsafe { around.argument(origin.cast(), count, *datatype).candidate() };
            // SAFETY: the program's promise.
            let found = named.and_then(|named| unsafe { named.engine(call) });
            let found = found.filter(|found| !found.engine.is_for_peers());
            let packed = found.and_then(|found| found.sent(communicator));
            let Some((found, packed)) = found.zip(packed) else {
                // The others are only counted.
                all_go = false;
                if !is_counting() {
                    break;
                }
                continue;
            };
            types.push(packed);
            parts.push(found.part(origin, found.count));
            end = end.checked_add(i64::try_from(found.engine.size().checked_mul(found.count)?).ok()?)?;
        }
        let arguments = (counts, list.as_ptr(), types.as_ptr());
        let staged = if all_go && !parts.is_empty() { Staged::of(Parts::Many(parts)) } else { None };
        Some((staged?, Replaced { arguments, lists: Box::new((list, types)) }))
    }
}

/// What the library is given for one side: what the program has named, or packed bytes.
pub(super) struct Side<A> {
    pub buffer: *mut c_void,
    pub arguments: A,
    block: Option<Block>,
    lists: Option<Box<dyn Any>>,
}

impl<A: Named> Side<A> {
    /// `is_packed` says whether it is packed before the call.
    ///
    /// # Safety
    /// The program's promise.
    unsafe fn of(arguments: A, around: Around<'_>, is_packed: bool) -> Self {
        let Around { buffer, blocks, is_sent, .. } = around;
        let staged = or_else_plain(|| {
            (blocks > 0).then_some(())?;
            // SAFETY: the program's promise.
            unsafe { arguments.stage(around) }
        });
        let Some((staged, Replaced { arguments, lists })) = staged else {
            return Self { buffer, arguments, block: None, lists: None };
        };
        let mut block = Block { staged, is_packed, is_received: !is_sent };
        Self { buffer: block.staged.place(), arguments, block: Some(block), lists: Some(lists) }
    }
}

/// What a rank sends and receives.
pub(super) struct Sides<S, R> {
    pub send: Side<S>,
    pub receive: Side<R>,
}

impl<S: Named, R: Named> Sides<S, R> {
    /// # Safety
    /// The program's promise.
    pub unsafe fn of(
        call: &Call,
        blocks: Blocks,
        send: (*const c_void, S),
        receive: (*mut c_void, R),
        communicator: MPI_Comm,
    ) -> Self {
        let Blocks { sent, received, keeps } = blocks;
        let sending = Around { call, buffer: send.0.cast_mut(), blocks: sent, communicator, is_sent: true };
        let receiving = Around { buffer: receive.0, blocks: received, is_sent: false, ..sending };
        // SAFETY: the program's promise.
        unsafe {
            Self { send: Side::of(send.1, sending, true), receive: Side::of(receive.1, receiving, keeps) }
        }
    }

    /// Packs what is packed before the call.
    ///
    /// # Safety
    /// The program's promise.
    pub unsafe fn begin(&mut self) {
        let blocks = [&mut self.send.block, &mut self.receive.block];
        // SAFETY: the program's promise.
        blocks.into_iter().flatten().for_each(|block| unsafe { block.begin() });
    }

    /// Unpacks what has come, in a call that is over.
    ///
    /// # Safety
    /// The program's promise; the code is that of the call.
    pub unsafe fn finish(mut self, code: c_int) -> c_int {
        if code == SUCCESS {
            // SAFETY: the program's promise.
            self.receive.block.iter_mut().for_each(|block| unsafe { block.finish() });
        }
        code
    }

    /// Keeps what a call with a request uses.
    ///
    /// # Safety
    /// The program's promise; the code is that of the call.
    pub unsafe fn keep(self, code: c_int, request: *const MPI_Request, kind: Kind) -> c_int {
        let Self { send, receive } = self;
        let is_ours = send.block.is_some() || receive.block.is_some();
        let lists = Box::new((send.lists, receive.lists));
        let work = Work::Collective { sides: [send.block, receive.block], _lists: lists };
        // SAFETY: the library has set the request.
        unsafe { keep(code, request, kind, is_ours.then_some(work)) }
    }
}

/// The only side of a call with one buffer, and nothing on the other.
pub(super) type Broadcast<C> = Sides<(C, MPI_Datatype), (C, MPI_Datatype)>;

impl<C: Integer> Broadcast<C> {
    /// # Safety
    /// The program's promise.
    pub unsafe fn of_one(
        call: &Call,
        blocks: Blocks,
        buffer: *mut c_void,
        named: (C, MPI_Datatype),
        communicator: MPI_Comm,
    ) -> Self {
        // SAFETY: the program's promise; it is one of both.
        unsafe { Self::of(call, blocks, (buffer, named), (buffer, named), communicator) }
    }

    /// The buffer and the datatype that the library is given.
    pub fn used(&self) -> (*mut c_void, MPI_Datatype) {
        let side = if self.send.block.is_some() { &self.send } else { &self.receive };
        (side.buffer, side.arguments.1)
    }
}
