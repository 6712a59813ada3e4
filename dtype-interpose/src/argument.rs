//! The arguments that describe a buffer in a call, as the program passes them, or as this library forwards
//! them.

use std::os::raw::{c_int, c_void};

use crate::native::{self, MPI_Datatype};

/// The arguments that describe a buffer in a call: its address, a count, and the datatype.
#[derive(Clone, Copy)]
pub(crate) struct Argument {
    pub buffer: *mut c_void,
    pub count: i64,
    pub datatype: MPI_Datatype,
    pub transfer: Transfer,
    /// `true` in a collective call, in which all ranks must decide alike.
    pub is_collective: bool,
    /// `true` for a message to or from `MPI_PROC_NULL`, which has no bytes.
    pub is_of_nobody: bool,
}

/// The copies between a buffer and the packed buffer that takes its place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// The buffer is packed before the call. All of it exists.
    Send,
    /// The bytes that have arrived, as the status says, are unpacked after the call. Only these must exist.
    Receive,
    /// The buffer is packed before the call, and receives another message: two messages in all.
    Replace,
    /// All bytes are unpacked after the call.
    Fill,
    /// All bytes are packed before the call and unpacked after it: the call may leave some of them unchanged.
    Update,
}

impl Argument {
    /// Creates the arguments of a buffer that the call reads.
    pub fn read(buffer: *const c_void, count: impl Into<i64>, datatype: MPI_Datatype) -> Self {
        Self { transfer: Transfer::Send, ..Self::written(buffer.cast_mut(), count, datatype) }
    }

    /// Creates the arguments of a buffer that the call writes.
    pub fn written(buffer: *mut c_void, count: impl Into<i64>, datatype: MPI_Datatype) -> Self {
        Self {
            buffer,
            count: count.into(),
            datatype,
            transfer: Transfer::Receive,
            is_collective: false,
            is_of_nobody: false,
        }
    }

    /// Returns the arguments of a message to or from this rank.
    #[inline]
    pub fn with(self, rank: c_int) -> Self {
        Self { is_of_nobody: rank == native::MPI_PROC_NULL(), ..self }
    }

    /// Returns the arguments of a message to one rank that is replaced by one from another.
    #[inline]
    pub fn replaced(self, to: c_int, from: c_int) -> Self {
        let is_sent = !self.with(to).is_of_nobody;
        let transfer = if is_sent { Transfer::Replace } else { Transfer::Receive };
        Self { transfer, is_of_nobody: !is_sent && self.with(from).is_of_nobody, ..self }
    }

    /// Returns `true` if the call reads the buffer, all of which exists.
    #[inline]
    pub fn is_read(&self) -> bool {
        matches!(self.transfer, Transfer::Send | Transfer::Replace)
    }

    /// Returns the count, or `None` if no elements are moved.
    #[inline]
    pub fn elements(&self) -> Option<usize> {
        usize::try_from(self.count).ok().filter(|count| *count > 0 && !self.is_of_nobody)
    }
}
