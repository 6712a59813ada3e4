//! Slices that are passed to rsmpi.

/// Values to send, an rsmpi `Buffer`: see [`MpiDatatype::buffer`](crate::MpiDatatype::buffer).
#[derive(Clone, Copy, Debug)]
pub struct Values<'a, T>(pub(crate) &'a [T]);

/// Values to receive into, an rsmpi `BufferMut`. Only
/// [`MpiDatatype::buffer_mut`](crate::MpiDatatype::buffer_mut) makes them, of types that are
/// [`AnyPattern`](super::AnyPattern).
#[derive(Debug)]
pub struct ValuesMut<'a, T>(pub(crate) &'a mut [T]);
