//! The traits of messages.

use std::array;

use super::{Fingerprint, Fixed, OwnedMemory, Reader, Writer};
use crate::Error;

/// A value that can be sent as a message of any length: see the [module](super).
///
/// [Derive it](derive@crate::MpiMessage). A handwritten implementation writes the fields of a value one after
/// another, and its [`FromMessage`] reads them in the same order:
///
/// ```
/// use dtype_runtime::{Error, message::{Fingerprint, FromMessage, MpiMessage, Reader, Writer}};
///
/// /// A type of another crate in a wrapper.
/// #[derive(Debug, PartialEq)]
/// struct Address(std::net::Ipv4Addr);
///
/// impl MpiMessage for Address {
///     fn describe(of: &mut Fingerprint) {
///         of.add("Address");
///     }
///     fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
///         to.bytes(&self.0.octets());
///         Ok(())
///     }
/// }
///
/// impl FromMessage for Address {
///     fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
///         Ok(Self(from.array::<4>()?.into()))
///     }
/// }
/// let bytes = dtype_runtime::message::to_bytes(&vec![Address([127, 0, 0, 1].into())])?;
/// # assert_eq!(dtype_runtime::message::from_bytes::<Vec<Address>>(&bytes)?.len(), 1);
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a message: it does not implement `MpiMessage`",
    label = "not a message, nor a part of one",
    note = "if `{Self}` is your own type, put `#[derive(MpiMessage)]` on its definition, or \
            `#[derive(MpiDatatype)]` if it holds only numbers and arrays of them",
    note = "for a type of another crate, implement `MpiMessage` for a wrapper, or use `message::Serde` \
            (feature `serde`)"
)]
pub trait MpiMessage {
    /// The functions for slices of a type with [`MpiDatatype`] and without skipped fields.
    #[doc(hidden)]
    const SLICES: Option<Fixed<Self>> = None;
    /// The least number of bytes that a value has in a message. If it is 0, each value of a sequence has one
    /// more byte in the in-band part, so that a length never exceeds the bytes that are there.
    #[doc(hidden)]
    const LEAST: usize = 0;
    /// The alignment of the elements of a `Vec` within a value, if received memory can become that `Vec`;
    /// otherwise 0. If there are several such `Vec`s, the greatest alignment.
    #[doc(hidden)]
    const KEPT: usize = 0;

    /// Adds the type to a fingerprint: the names and types of its fields.
    fn describe(of: &mut Fingerprint);

    /// Writes the value.
    ///
    /// # Errors
    /// [`Error::Unsendable`] if values are nested too deeply, and for reasons of the type's own.
    fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error>;
}

/// A value that can be made from a message: see [`MpiMessage`].
///
/// Types that borrow, such as `&str`, can be sent, but not received.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be made from a message: it does not implement `FromMessage`",
    label = "not a type that can be received",
    note = "`#[derive(MpiMessage)]` and `#[derive(MpiDatatype)]` implement it for types that borrow nothing, \
            and whose fields with `#[mpi(skip)]` implement `Default`",
    note = "a type that borrows where its definition does not show it can be sent: `#[mpi(send_only)]`"
)]
pub trait FromMessage: MpiMessage + Sized {
    /// Reads a value.
    ///
    /// # Errors
    /// [`Error::Message`] if the bytes are not a value; [`Error::InvalidValue`]; [`Error::Memory`].
    fn read(from: &mut Reader<'_>) -> Result<Self, Error>;

    /// Reads a value and uses the memory of the old one again. The bytes have passed [`check`](Self::check).
    #[doc(hidden)]
    fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), Error> {
        match const { Self::SLICES } {
            Some(fixed) => fixed.read_over(array::from_mut(self), from),
            None => replace(self, from),
        }
    }

    /// Reads a value without making it: returns the errors of [`read`](Self::read).
    #[doc(hidden)]
    fn check(from: &mut Reader<'_>) -> Result<(), Error> {
        match const { Self::SLICES } {
            Some(fixed) => fixed.check(1, from),
            None => read_and_drop::<Self>(from),
        }
    }

    /// Takes the memory of a `Vec` within the value, to receive a message of `size` bytes there. Returns
    /// `None` if there is no such `Vec` of the alignment [`KEPT`](MpiMessage::KEPT), or it has less memory.
    #[doc(hidden)]
    fn lend(&mut self, _size: usize) -> Option<OwnedMemory> {
        None
    }
}

/// Reads a value in place of an old one. It is on the stack of this function alone.
#[inline(never)]
fn replace<T: FromMessage>(value: &mut T, from: &mut Reader<'_>) -> Result<(), Error> {
    *value = T::read(from)?;
    Ok(())
}

/// Reads a value. It is on the stack of this function alone.
#[inline(never)]
fn read_and_drop<T: FromMessage>(from: &mut Reader<'_>) -> Result<(), Error> {
    T::read(from).map(drop)
}
