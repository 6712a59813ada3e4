//! Staging: the packed buffer that the library gets in place of the program's buffer. Data is packed into it
//! before the call, or unpacked from it after the call.

use std::{
    any::Any,
    mem::MaybeUninit,
    os::raw::{c_int, c_void},
    sync::Arc,
};

use dtype_engine::PackBuffer;
use dtype_mpi::packed_datatype;

use crate::{
    argument::{Argument, Transfer},
    call::{Call, SUCCESS, or_else_plain},
    first_use::is_preparing,
    message::Message,
    native::{self, MPI_Comm, MPI_Status},
    part::Part,
    peers,
    truncation_guard::{GAP, Whole},
};

/// Parts of the program's memory, which lie anywhere and are packed one after the other, with their packed
/// buffer. A persistent call uses it at each start.
pub(crate) struct Staged {
    /// The parts before the last.
    before: Vec<Part>,
    last: Part,
    /// The packed size of all parts in bytes.
    bytes: usize,
    buffer: PackBuffer,
    /// The copies that are still to be made.
    transfer: Transfer,
    /// The datatype with the gap, if there is a truncation guard.
    whole: Option<Arc<Whole>>,
    /// The lists to which the forwarded arguments point.
    _lists: Box<dyn Any>,
}

// SAFETY: promises 3 and 4: the program leaves its memory alone until the message is complete, whichever
// thread completes the message. The lists are vectors of numbers and handles, which this library owns. A
// handle names an object of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Staged {}

impl Staged {
    /// Allocates the packed buffer, or returns `None` if there is not enough memory.
    pub fn of(before: Vec<Part>, last: Part, transfer: Transfer) -> Option<Self> {
        let bytes = before.iter().try_fold(last.bytes()?, |sum, part| sum.checked_add(part.bytes()?))?;
        let buffer = PackBuffer::with_room(bytes.checked_add(GAP)?).ok()?;
        let lists = Box::new(());
        Some(Self { before, last, bytes, buffer, transfer, whole: None, _lists: lists })
    }

    /// Keeps the lists to which the forwarded arguments point.
    pub fn with_lists(self, lists: impl Any) -> Self {
        Self { _lists: Box::new(lists), ..self }
    }

    /// Packs a send buffer; that of a persistent operation is packed at each start instead. Returns the
    /// argument to forward, and the packed buffer if there is one.
    ///
    /// # Safety
    /// 1. Promises 1 and 2 for the communicator and the datatype.
    /// 2. Promise 3 for the buffer, unless the operation is persistent.
    #[inline(always)]
    pub unsafe fn sent(call: &Call, argument: Argument, communicator: MPI_Comm) -> (Argument, Option<Self>) {
        let stage = |message: Message<'_>| {
            // SAFETY: promises 1 and 2, by condition 1; promise 3, by condition 2: the data of a persistent
            // operation is not read.
            let engine = unsafe { message.engine(call) }?;
            let datatype = message.sent(engine, communicator)?;
            let mut staged = Self::of(Vec::new(), message.part(engine), Transfer::Send)?;
            if !is_preparing() {
                // SAFETY: promise 3, by condition 2.
                unsafe { staged.begin() };
            }
            Some((Argument { buffer: staged.address(), datatype, ..argument }, staged))
        };
        // SAFETY: promises 1 and 2, by condition 1.
        forwarded(argument, unsafe { Message::new(&argument) }, stage)
    }

    /// Allocates the packed buffer for a message, which may be shorter than the buffer; a longer one is an
    /// error. The sender need not be a peer. If the buffer is sent on the communicator `replaced` before,
    /// packs the sent message. Returns the argument to forward, and the packed buffer if there is one.
    ///
    /// # Safety
    /// 1. Promises 1 and 2 for the datatype and for the communicator.
    /// 2. Promise 3 for the buffer, before the call, if the argument says that it is sent.
    #[inline(always)]
    pub unsafe fn received(
        call: &Call,
        argument: Argument,
        replaced: Option<MPI_Comm>,
    ) -> (Argument, Option<Self>) {
        let stage = |message: Message<'_>| {
            // SAFETY: promises 1 and 2, by condition 1; promise 3 for a buffer that the call reads, by
            // condition 2.
            let engine = unsafe { message.engine(call) }?;
            if let Some(communicator) = replaced {
                message.sent(engine, communicator)?;
            }
            let datatype = message.received(engine)?;
            let mut staged = Self::of(Vec::new(), message.part(engine), argument.transfer)?;
            let mut packed = Argument { buffer: staged.address(), datatype, ..argument };
            if let Some(gap) = engine.gap() {
                let whole = gap.datatype(message.count)?;
                packed = Argument { datatype: whole.datatype, count: 1, ..packed };
                staged.whole = Some(whole);
            }
            if argument.transfer == Transfer::Replace {
                // SAFETY: promise 3, by condition 2.
                unsafe { staged.begin() };
                let start = staged.bytes - staged.behind();
                staged.buffer.copy_within(start..staged.bytes, start + GAP);
                staged.transfer = Transfer::Receive;
            }
            Some((packed, staged))
        };
        // SAFETY: promises 1 and 2, by condition 1.
        forwarded(argument, unsafe { Message::new(&argument) }, stage)
    }

    /// Packs a buffer, to send or receive it as `MPI_PACKED` between peers. A receive buffer is packed, too,
    /// since no status says how many bytes have arrived. Returns the argument to forward, and the packed
    /// buffer if there is one.
    ///
    /// # Safety
    /// 1. Promises 1 and 2 for the communicator and the datatype.
    /// 2. Every byte of the buffer is readable and initialized, as in promise 3, even if the call writes the
    ///    buffer.
    pub unsafe fn between_peers(
        call: &Call,
        argument: Argument,
        communicator: MPI_Comm,
    ) -> (Argument, Option<Self>) {
        let stage = |message: Message<'_>| {
            // SAFETY: promises 1 and 2, by condition 1; promise 3 for a buffer that the call reads, by
            // condition 2.
            let engine = unsafe { message.engine(call) }?;
            let goes = engine.received(message.count).is_some() && peers::all(communicator);
            (goes && engine.is_for_peers()).then_some(())?;
            (!argument.is_read() || engine.sent(message.count, communicator).is_some()).then_some(())?;
            let transfer = if argument.is_read() { argument.transfer } else { Transfer::Update };
            let mut staged = Self::of(Vec::new(), message.part(engine), transfer)?;
            // SAFETY: promise 3 for a send buffer, and the same for a receive buffer, by condition 2.
            unsafe { staged.begin() };
            let (buffer, count) = (staged.address(), staged.bytes as i64);
            let packed = Argument { buffer, count, datatype: packed_datatype().into(), ..argument };
            if transfer == Transfer::Replace {
                staged.transfer = Transfer::Fill;
            }
            Some((packed, staged))
        };
        // SAFETY: promises 1 and 2, by condition 1.
        forwarded(argument, unsafe { Message::new(&argument) }, stage)
    }

    /// Returns the packed size of all parts in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of bytes behind the gap: 0 without a truncation guard.
    fn behind(&self) -> usize {
        self.whole.as_ref().map_or(0, |whole| whole.behind)
    }

    /// Returns the address of the packed buffer.
    pub fn address(&mut self) -> *mut c_void {
        self.buffer.as_mut_ptr().cast()
    }

    /// Packs the current contents of the program's memory before the call or a start, if the transfer says
    /// so.
    ///
    /// # Safety
    /// Promise 3 for all parts that are sent. Every byte of a receive buffer that is packed is readable and
    /// initialized, as in promise 3.
    pub unsafe fn begin(&mut self) {
        let counts = match self.transfer {
            Transfer::Send | Transfer::Replace => true,
            Transfer::Update => false,
            Transfer::Receive | Transfer::Fill => return,
        };
        let mut target = &mut self.buffer[..self.bytes];
        for part in self.before.iter().chain([&self.last]) {
            let messages = if counts { part.messages } else { 0 };
            // SAFETY: the caller's condition for this part.
            target = unsafe { part.pack(messages, target) };
        }
    }

    /// Unpacks the data that a complete call has received, if the transfer says so. If the status counts the
    /// bytes, these are unpacked, unless the message was cancelled.
    ///
    /// # Safety
    /// 1. Promise 4 for all parts: the program leaves them alone until it knows that the message is complete.
    /// 2. Promise 1. If a message is received ([`Transfer::Receive`]), the status is that of the message,
    ///    which was received without an error.
    pub unsafe fn finish(&mut self, status: *const MPI_Status) {
        let arrived = match self.transfer {
            Transfer::Send | Transfer::Replace => None,
            // SAFETY: condition 2.
            Transfer::Receive => unsafe { arrived(status) }.map(|arrived| arrived.min(self.bytes)),
            Transfer::Fill | Transfer::Update => Some(self.bytes),
        };
        let Some(arrived) = arrived else { return };
        let start = self.bytes - self.behind();
        if arrived > start {
            self.buffer.copy_within(start + GAP..arrived + GAP, start);
        }
        let mut bytes = &self.buffer[..arrived];
        for part in self.before.iter().chain([&self.last]) {
            // SAFETY: promise 4 for this part, by condition 1.
            bytes = unsafe { part.unpack(bytes) };
        }
    }

    /// Receives a message by `receive`, and unpacks it. `receive` gets the program's status, or a status of
    /// this library if the program ignores statuses.
    ///
    /// # Safety
    /// 1. Condition 1 of [`finish`](Self::finish).
    /// 2. `receive` forwards the call with the status that it gets, and returns the library's code.
    pub unsafe fn receive(
        mut self,
        status: *mut MPI_Status,
        receive: impl FnOnce(*mut MPI_Status) -> c_int,
    ) -> c_int {
        let mut own = MaybeUninit::<MPI_Status>::zeroed();
        let status = if status == native::MPI_STATUS_IGNORE() { own.as_mut_ptr() } else { status };
        let code = receive(status);
        if code == SUCCESS {
            // SAFETY: condition 1 is that of the caller; by condition 2 the status is that of a message
            // without an error.
            unsafe { self.finish(status) };
        }
        code
    }
}

/// Stages a message. Returns the argument to forward, and the packed buffer. If there is none, the argument
/// is the program's. Only the part that most calls need is inlined into them.
#[inline(always)]
pub(crate) fn forwarded<'a>(
    argument: Argument,
    message: Option<Message<'a>>,
    stage: impl FnOnce(Message<'a>) -> Option<(Argument, Staged)>,
) -> (Argument, Option<Staged>) {
    #[inline(never)]
    fn staged(
        argument: Argument,
        stage: impl FnOnce() -> Option<(Argument, Staged)>,
    ) -> (Argument, Option<Staged>) {
        or_else_plain(stage).map_or((argument, None), |(packed, staged)| (packed, Some(staged)))
    }
    match message {
        Some(message) => staged(argument, || stage(message)),
        None => (argument, None),
    }
}

/// Returns the number of bytes of a message that have arrived, or `None` if the message was cancelled.
///
/// # Safety
/// Promise 1; the status is that of a message, which was received without an error.
unsafe fn arrived(status: *const MPI_Status) -> Option<usize> {
    let (mut bytes, mut cancelled) = (0, 0);
    // SAFETY: promise 1 and the status, as of the caller; there is room for a flag and for a number.
    unsafe {
        native::MPI_Test_cancelled(status, &raw mut cancelled);
        native::MPI_Get_count(status, native::MPI_UINT8_T(), &raw mut bytes);
    }
    (cancelled == 0).then(|| usize::try_from(bytes).unwrap_or(0))
}
