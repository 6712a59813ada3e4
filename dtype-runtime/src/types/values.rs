//! Slices to be handed to rsmpi.

/// Values to send, an rsmpi `Buffer`: see [`MpiDatatype::buffer`](crate::MpiDatatype::buffer).
#[derive(Clone, Copy, Debug)]
pub struct Values<'a, T>(pub(crate) &'a [T]);

/// Values to receive into, an rsmpi `BufferMut`: see
/// [`MpiDatatype::buffer_mut`](crate::MpiDatatype::buffer_mut), which alone makes it, of types that are
/// [`AnyPattern`](super::AnyPattern).
#[derive(Debug)]
pub struct ValuesMut<'a, T>(pub(crate) &'a mut [T]);
