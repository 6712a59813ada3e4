//! The receiving side of a message that arrives in pieces.

use std::{ops::Range, slice};

use super::sendable::{Span, sealed::Write};
use crate::{Error, pack::PackBuffer};

/// A message that arrives in pieces. If it is refused, its pieces are received nevertheless, because the
/// sender waits for that.
pub(super) struct Pieces<'a, M: ?Sized> {
    message: &'a mut M,
    /// The size of the whole message in bytes.
    size: usize,
    /// A buffer for the whole message, if it must be checked before any of it is written.
    whole: Option<PackBuffer>,
    /// `Ok`, or the reason for refusing the message.
    accepted: Result<(), Error>,
}

impl<'a, M: Write + ?Sized> Pieces<'a, M> {
    /// Begins to receive a message of `size` bytes, unless `check` refuses it.
    pub fn new(message: &'a mut M, size: usize, check: impl FnOnce(&M) -> Result<(), Error>) -> Self {
        let mut whole = None;
        let accepted = check(message).and_then(|()| {
            if !message.any_pattern() {
                whole = Some(PackBuffer::with_room(size)?);
            }
            Ok(())
        });
        Self { message, size, whole, accepted }
    }

    /// Returns the memory where a piece of these packed bytes can be received; `None` if it must be passed to
    /// [`take`](Self::take).
    pub fn memory(&mut self, bytes: Range<usize>) -> Option<&mut [u8]> {
        if self.accepted.is_err() {
            return None;
        }
        if let Some(whole) = &mut self.whole {
            return Some(&mut whole[bytes]);
        }
        let Span { place, size } = self.message.span_mut()?;
        // SAFETY: the span is borrowed mutably, holds `size` bytes, and any pattern may be written there,
        // since there is no buffer for the whole message.
        Some(&mut unsafe { slice::from_raw_parts_mut(place, size) }[bytes])
    }

    /// Stores or unpacks a piece that has been received, unless `check` refuses it.
    pub fn take(&mut self, position: usize, packed: &[u8], check: impl FnOnce(&M) -> Result<(), Error>) {
        if self.accepted.is_ok() {
            self.accepted = check(self.message).and_then(|()| match &mut self.whole {
                Some(whole) => {
                    whole[position..position + packed.len()].copy_from_slice(packed);
                    Ok(())
                }
                None => self.message.unpack_range(position, packed),
            });
        }
    }

    /// Ends the message, whose pieces have all been received.
    pub fn end(self) -> Result<(), Error> {
        self.accepted?;
        self.whole.map_or(Ok(()), |whole| self.message.unpack(&whole[..self.size]))
    }
}
