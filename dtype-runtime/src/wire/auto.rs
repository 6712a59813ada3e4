//! Which wire is the fastest for a message.

use super::{
    message::{
        Span,
        sealed::{Read, Write},
    },
    transfer::Chosen,
};

/// What was measured.
pub(super) struct Table;

impl Table {
    pub fn current() -> &'static Self {
        &Self
    }

    /// Whether it is faster to look for short messages than to have a buffer wait for them.
    pub fn probes(&self) -> bool {
        false
    }

    /// How to send a message.
    #[inline]
    pub fn choose<M: Read + ?Sized>(&self, message: &M) -> Chosen {
        match message.span() {
            Some(span) => Chosen::Span(span),
            None => Chosen::Packed,
        }
    }

    /// Whether to receive a message straight into its memory with a datatype.
    pub fn receives_typed<M: Write + ?Sized>(&self, _message: &M) -> bool {
        false
    }
}
