//! The traits of messages.

use std::array;

use super::{
    Fingerprint, Message, OwnedMemory, Plain, PlainValues, PlainValuesMut, Reader, Writer, plain::one_value,
};
use crate::{Error, types::ValueType};

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
    /// The value type, if values of the type are plain: they travel as packed bytes.
    #[doc(hidden)]
    const PLAIN: Option<Plain<Self>> = None;
    /// The type of the plain values that a message of the type consists of; `None` if the type is owned.
    #[doc(hidden)]
    const VALUES: Option<&'static ValueType> = value_type::<Self>();
    /// The least number of bytes that a value has in a message. If it is 0, each value of a sequence has one
    /// more byte in the in-band part, so that a length never exceeds the bytes that are there.
    #[doc(hidden)]
    const LEAST: usize = match Self::PLAIN {
        Some(plain) => plain.of.facts.packed_size,
        None => 0,
    };
    /// The alignment of the elements of a `Vec` within a value, if received memory can become that `Vec`;
    /// otherwise 0. If there are several such `Vec`s, the greatest alignment.
    #[doc(hidden)]
    const KEPT: usize = 0;

    /// Adds the type to a fingerprint: the names and types of its fields.
    fn describe(of: &mut Fingerprint);

    /// Writes the value.
    ///
    /// # Errors
    /// `Argument` if values are nested too deeply, and for reasons of the type's own.
    fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error>;

    /// Returns the plain values that a value consists of, or `None` if it is owned: it travels in the format
    /// of messages.
    #[doc(hidden)]
    fn plain(&self) -> Option<PlainValues<'_>> {
        Self::PLAIN.map(|plain| plain.value(self))
    }
}

/// Returns the value type of `T` if all values of `T` have the same number of bytes in a message, which is
/// so if no field is skipped.
pub(crate) const fn fixed<T: MpiMessage + ?Sized>() -> Option<Plain<T>> {
    match T::PLAIN {
        Some(plain) if plain.of.facts.complete => Some(plain),
        _ => None,
    }
}

/// Returns the alignment of `T` if the memory of a slice is its packed bytes, and otherwise 0.
pub(super) const fn slice_align<T: MpiMessage>() -> usize {
    match T::PLAIN {
        Some(plain) => plain.of.slice_align(),
        None => 0,
    }
}

/// Returns the value type of `T`, or `None` if values of `T` are not plain.
pub(super) const fn value_type<T: MpiMessage + ?Sized>() -> Option<&'static ValueType> {
    match T::PLAIN {
        Some(plain) => Some(plain.of),
        None => None,
    }
}

/// A value that can be made from a message: see [`MpiMessage`].
///
/// Types that borrow, such as `&str`, can be sent, but not received.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be made from a message: it does not implement `FromMessage`",
    label = "not a type that can be received",
    note = "`#[derive(MpiMessage)]` and `#[derive(MpiDatatype)]` implement it for types that borrow nothing, \
            and whose fields with `#[mpi(skip)]` implement `Default`",
    note = "a type that borrows where its definition does not show it can be sent: `#[mpi(send_only)]`",
    note = "a slice or a view is filled by the calls with `_into`, such as `receive_into(&mut slice)` and \
            `all_gather_into(&slice, &mut all)`; a list of views is sent by `all_to_all_into`"
)]
pub trait FromMessage: MpiMessage + Sized {
    /// `true` if a message that is received into a value must have exactly the size of the value; otherwise
    /// the value takes what arrives.
    #[doc(hidden)]
    const IS_EXACT: bool = Self::PLAIN.is_some();

    /// Reads a value.
    ///
    /// # Errors
    /// `Type` if the bytes are not a value; `Value` if a `bool`, `char`, `NonZero` or enum has no such value;
    /// `Memory` if there is no memory for the value.
    fn read(from: &mut Reader<'_>) -> Result<Self, Error>;

    /// Reads a value and uses the memory of the old one again. The bytes have passed [`check`](Self::check).
    #[doc(hidden)]
    fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), Error> {
        match const { fixed::<Self>() } {
            Some(fixed) => fixed.read_over(array::from_mut(self), from),
            None => replace(self, from),
        }
    }

    /// Reads a value without making it: returns the errors of [`read`](Self::read).
    #[doc(hidden)]
    fn check(from: &mut Reader<'_>) -> Result<(), Error> {
        match const { fixed::<Self>() } {
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

    /// Returns the plain values that a message is received into, if the type is [exact](Self::IS_EXACT).
    #[doc(hidden)]
    fn plain_mut(&mut self) -> PlainValuesMut<'_> {
        match Self::PLAIN {
            Some(plain) => plain.value_mut(self),
            None => PlainValuesMut::nothing(),
        }
    }

    /// Returns the plain values of a sequence, such as a `Vec`, to be written in place.
    #[doc(hidden)]
    fn elements(&mut self) -> Option<PlainValuesMut<'_>> {
        None
    }

    /// Makes a value of a message that has arrived: of packed bytes if the type consists of plain values, and
    /// otherwise of a message in the format of messages.
    #[doc(hidden)]
    fn arrived(message: Message<'_>) -> Result<Self, Error> {
        match Self::PLAIN {
            Some(plain) => Self::read(&mut Reader::of_packed(one_value(plain.of, message.bytes())?)),
            None => message.make(),
        }
    }

    /// Like [`arrived`](Self::arrived), in place of an old value. After an error, the old value is unchanged.
    #[doc(hidden)]
    fn arrived_into(&mut self, message: Message<'_>) -> Result<(), Error> {
        let Some(plain) = Self::PLAIN else { return message.make_into(self) };
        let packed = one_value(plain.of, message.bytes())?;
        Self::check(&mut Reader::of_packed(packed))?;
        self.read_into(&mut Reader::of_packed(packed))
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
