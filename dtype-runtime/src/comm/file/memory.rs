//! The memory side of transfers: the packed bytes of a message, and room for bytes that are read.

use std::{marker::PhantomData, ops::Range, os::raw::c_int, ptr::NonNull, slice};

use crate::transfer::sendable::{
    Span, pack_with_room,
    sealed::{Read, Write},
};
use crate::{Result, pack::PackBuffer};

/// Memory of the program, which consists of packed bytes, or a buffer.
enum Memory {
    Own(*mut u8),
    Buffer(PackBuffer),
}

/// The packed bytes of a message to write: its memory, or a copy.
pub(super) struct Packed<'m> {
    memory: Memory,
    /// The number of bytes.
    pub size: usize,
    message: PhantomData<&'m ()>,
}

impl<'m> Packed<'m> {
    pub fn of<M: Read + ?Sized>(message: &'m M) -> Result<Self> {
        let size = message.packed_size();
        let memory = match message.span() {
            Some(Span { place, .. }) => Memory::Own(place),
            None => Memory::Buffer(pack_with_room(message, size)?),
        };
        Ok(Self { memory, size, message: PhantomData })
    }

    pub fn nothing() -> Self {
        Self { memory: Memory::Own(NonNull::dangling().as_ptr()), size: 0, message: PhantomData }
    }

    /// Returns the first bytes of a buffer.
    pub fn of_buffer(buffer: PackBuffer, size: usize) -> Self {
        Self { memory: Memory::Buffer(buffer), size, message: PhantomData }
    }

    /// Returns some of the bytes.
    pub fn bytes(&self, bytes: Range<usize>) -> &[u8] {
        assert!(bytes.start <= bytes.end && bytes.end <= self.size, "a part of the packed bytes");
        let (place, _) = self.part(bytes.clone());
        // SAFETY: the memory has `size` bytes, and stays as it is while the message is borrowed.
        unsafe { slice::from_raw_parts(place, bytes.len()) }
    }

    /// Returns the address and the number of some of the bytes.
    pub fn part(&self, bytes: Range<usize>) -> (*const u8, c_int) {
        let first = match &self.memory {
            Memory::Own(place) => *place,
            Memory::Buffer(packed) => packed.as_ptr(),
        };
        (first.wrapping_add(bytes.start), bytes.len() as c_int)
    }
}

/// Room for bytes that are read: the memory of the values, if it may hold any bytes, or a buffer.
pub(super) struct Room {
    memory: Memory,
    /// The number of bytes.
    pub size: usize,
}

impl Room {
    /// Returns room for the packed bytes of values. They must be borrowed mutably while it is used.
    pub fn of<M: Write + ?Sized>(into: &mut M) -> Result<Self> {
        let size = into.packed_size();
        let own = if into.any_pattern() { into.span_mut() } else { None };
        let memory = match own {
            Some(Span { place, .. }) => Memory::Own(place),
            None => Memory::Buffer(PackBuffer::with_room(size)?),
        };
        Ok(Self { memory, size })
    }

    /// Returns the address and the number of some of the bytes.
    pub fn part(&mut self, bytes: Range<usize>) -> (*mut u8, c_int) {
        let first = match &mut self.memory {
            Memory::Own(place) => *place,
            Memory::Buffer(buffer) => buffer.as_mut_ptr(),
        };
        (first.wrapping_add(bytes.start), bytes.len() as c_int)
    }

    /// Returns the first bytes of a buffer.
    pub fn of_buffer(buffer: PackBuffer, size: usize) -> Self {
        Self { memory: Memory::Buffer(buffer), size }
    }

    /// Returns some of the bytes.
    pub fn bytes_mut(&mut self, bytes: Range<usize>) -> &mut [u8] {
        assert!(bytes.start <= bytes.end && bytes.end <= self.size, "a part of the room");
        let (place, _) = self.part(bytes.clone());
        // SAFETY: the memory has `size` bytes, which are initialized and borrowed mutably: the condition of
        // `of`.
        unsafe { slice::from_raw_parts_mut(place, bytes.len()) }
    }

    /// Unpacks the bytes, unless they are where they should be.
    pub fn unpack<M: Write + ?Sized>(self, into: &mut M) -> Result {
        match self.memory {
            Memory::Own(_) => Ok(()),
            Memory::Buffer(packed) => into.unpack(&packed[..self.size]),
        }
    }
}
