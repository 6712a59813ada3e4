//! The two sides of a collective call: what a rank sends, and what it receives.

use std::os::raw::{c_int, c_void};

use mpi::ffi::{self, MPI_Comm, MPI_Datatype, MPI_Request};

use crate::{
    call::Call,
    known::is_known,
    requests::{self, Work, list},
    staged::{Argument, Parts, SUCCESS, Staged, or_else_plain},
};

/// What the library is given for one side: what the program has named, or packed bytes.
///
/// Packed or not, there are as many datatypes of as many bytes; so what a library decides by these, as Open
/// MPI does the length of segments, it decides as it would without us, and as it does on other ranks.
pub(super) struct Side<P = c_int> {
    pub buffer: *mut c_void,
    pub datatype: MPI_Datatype,
    /// Where blocks begin, in datatypes.
    pub places: *const P,
    staged: Option<Staged>,
    /// Where packed blocks begin.
    list: Vec<P>,
}

/// An integer of the standard that says where a block begins.
pub(super) trait Index: Copy + Into<i64> + TryFrom<i64> + Send + 'static {}

impl<P: Copy + Into<i64> + TryFrom<i64> + Send + 'static> Index for P {}

/// A block for each rank, of as many datatypes as this says, at these places.
pub(super) struct Listed<C, P> {
    pub buffer: *const c_void,
    pub counts: *const C,
    pub places: *const P,
    pub datatype: MPI_Datatype,
}

impl<P: Index> Side<P> {
    /// What is named, as it is.
    pub fn named(buffer: *const c_void, datatype: MPI_Datatype, places: *const P) -> Self {
        Self { buffer: buffer.cast_mut(), datatype, places, staged: None, list: Vec::new() }
    }

    /// What is named as many times as there are `blocks`, packed if it should be.
    ///
    /// # Safety
    /// The program's promise.
    unsafe fn of(call: &Call, named: Argument, blocks: usize, communicator: MPI_Comm) -> Self {
        let packed = or_else_plain(|| {
            // SAFETY: the program's promise.
            let found = unsafe { named.engine(call) }?;
            let datatype = found.engine.sent(found.count, communicator)?;
            let parts = Parts::One((named.buffer.cast(), found.count.checked_mul(blocks)?));
            Some((Staged::of(found, parts)?, datatype))
        });
        match packed.filter(|_| blocks > 0) {
            Some((mut staged, datatype)) => Self {
                buffer: staged.place(),
                datatype,
                places: std::ptr::null(),
                staged: Some(staged),
                list: Vec::new(),
            },
            None => Self::named(named.buffer, named.datatype, std::ptr::null()),
        }
    }

    /// What is sent.
    ///
    /// # Safety
    /// The program's promise.
    pub unsafe fn sent(call: &Call, named: Argument, blocks: usize, communicator: MPI_Comm) -> Self {
        // SAFETY: the program's promise.
        unsafe { Self::of(call, named, blocks, communicator).packed() }
    }

    /// What is received.
    ///
    /// # Safety
    /// The program's promise.
    pub unsafe fn received(call: &Call, named: Argument, blocks: usize, communicator: MPI_Comm) -> Self {
        // SAFETY: the program's promise.
        unsafe { Self::of(call, named, blocks, communicator) }
    }

    /// The same, packed now: what is sent; and what is received where a block of it is there already
    /// (`MPI_IN_PLACE`), which then is unpacked with the others.
    ///
    /// # Safety
    /// The program's promise.
    pub unsafe fn packed(mut self) -> Self {
        // SAFETY: the program's promise.
        self.staged.iter_mut().for_each(|staged| unsafe { staged.pack() });
        self
    }

    /// What is listed, packed if it should be: if the largest block should.
    ///
    /// # Safety
    /// The program's promise, for `blocks` ranks.
    pub unsafe fn listed<C: Copy + Into<i64>>(
        call: &Call,
        named: &Listed<C, P>,
        blocks: usize,
        communicator: MPI_Comm,
    ) -> Self {
        let Listed { buffer, counts, places, datatype } = *named;
        let packed = or_else_plain(|| {
            // SAFETY: the program's promise.
            let (counts, places) = unsafe {
                is_known(datatype).then_some(())?;
                let blocks = c_int::try_from(blocks).ok()?;
                (list(counts, blocks), list(places, blocks))
            };
            let largest = counts.iter().map(|count| (*count).into()).max()?;
            // SAFETY: the program's promise.
            let found = unsafe { Argument::new(buffer, largest, datatype).engine(call) }?;
            let (engine, packed) = (found.engine, found.engine.sent(found.count, communicator)?);
            let (mut parts, mut list, mut end) = (Vec::new(), Vec::new(), 0i64);
            for (count, place) in counts.iter().zip(places) {
                let (count, place): (i64, i64) = ((*count).into(), (*place).into());
                let at = isize::try_from(place).ok()?.checked_mul(engine.plan().extent())?;
                parts
                    .push((buffer.cast_mut().cast::<u8>().wrapping_offset(at), usize::try_from(count).ok()?));
                list.push(P::try_from(end).ok()?);
                end = end.checked_add(count)?;
            }
            Some((Staged::of(found, Parts::Many(parts))?, packed, list))
        });
        match packed {
            Some((mut staged, datatype, list)) => {
                Self { buffer: staged.place(), datatype, places: list.as_ptr(), staged: Some(staged), list }
            }
            None => Self::named(buffer, datatype, places),
        }
    }

    /// The same, packed now.
    ///
    /// # Safety
    /// The program's promise, for `blocks` ranks.
    pub unsafe fn sent_listed<C: Copy + Into<i64>>(
        call: &Call,
        named: &Listed<C, P>,
        blocks: usize,
        communicator: MPI_Comm,
    ) -> Self {
        // SAFETY: the program's promise.
        unsafe { Self::listed(call, named, blocks, communicator).packed() }
    }
}

/// What a rank sends and receives.
pub(super) struct Sides<S = c_int, R = c_int> {
    pub send: Side<S>,
    pub receive: Side<R>,
}

impl<S: Index, R: Index> Sides<S, R> {
    /// What is named, as it is: buffers and datatypes.
    pub fn named(send: (*const c_void, MPI_Datatype), receive: (*mut c_void, MPI_Datatype)) -> Self {
        let nowhere = std::ptr::null();
        let receive = Side::named(receive.0, receive.1, std::ptr::null());
        Self { send: Side::named(send.0, send.1, nowhere), receive }
    }

    /// The side that is packed, if one is, in a call with one buffer.
    pub fn used(&self) -> Argument {
        match &self.send.staged {
            Some(_) => Argument::new(self.send.buffer, 0, self.send.datatype),
            None => Argument::new(self.receive.buffer, 0, self.receive.datatype),
        }
    }

    /// Unpacks what has come, in a call that is over.
    ///
    /// # Safety
    /// The program's promise; the code is that of the call.
    pub unsafe fn finish(mut self, code: c_int) -> c_int {
        if code == SUCCESS {
            // SAFETY: the program's promise.
            self.receive.staged.iter_mut().for_each(|staged| unsafe { staged.unpack() });
        }
        code
    }

    /// Keeps what a call uses that has been begun.
    ///
    /// # Safety
    /// The program's promise; the code is that of the call.
    pub unsafe fn begin(self, code: c_int, request: *const MPI_Request) -> c_int {
        let Self { send, receive } = self;
        if code == SUCCESS && (send.staged.is_some() || receive.staged.is_some()) {
            let lists = Box::new((send.list, receive.list));
            let work = Work::Collective { _sends: send.staged, receives: receive.staged, _lists: lists };
            // SAFETY: the library has set it.
            requests::keep(unsafe { *request }, work);
        }
        code
    }
}

/// Who is in a call: this rank, how many blocks there are, and whether there is another group.
pub(super) struct Members {
    pub rank: c_int,
    /// Those of the other group, if there is one.
    pub size: usize,
    pub has_other_group: bool,
}

impl Members {
    /// # Safety
    /// The program's promise.
    pub unsafe fn of(communicator: MPI_Comm) -> Self {
        let (mut rank, mut size, mut between) = (0, 0, 0);
        // SAFETY: the program's promise; there is room for a number each.
        unsafe {
            ffi::MPI_Comm_rank(communicator, &raw mut rank);
            ffi::MPI_Comm_test_inter(communicator, &raw mut between);
            if between == 0 {
                ffi::MPI_Comm_size(communicator, &raw mut size);
            } else {
                ffi::MPI_Comm_remote_size(communicator, &raw mut size);
            }
        }
        Self { rank, size: usize::try_from(size).unwrap_or(0), has_other_group: between != 0 }
    }

    /// Whether this rank is the root of a call.
    pub fn is_root(&self, root: c_int) -> bool {
        if self.has_other_group { root == dtype_interpose_root() } else { root == self.rank }
    }

    /// Whether it has the other part in a call with a root.
    pub fn is_other(&self, root: c_int) -> bool {
        if self.has_other_group { root >= 0 } else { root != self.rank }
    }
}

/// `MPI_IN_PLACE`.
pub(super) fn in_place() -> *const c_void {
    dtype_interpose_in_place()
}

unsafe extern "C" {
    safe fn dtype_interpose_root() -> c_int;
    safe fn dtype_interpose_in_place() -> *mut c_void;
}
