//! The traits of messages that are sent, and of places that they are received into.

use dtype_engine::prices::Shape;

use crate::{
    FromMessage, Layout, MpiMessage, Result, View, ViewMut,
    pack::{Data, DataMut},
    transfer::{
        carried::{Carried, carried},
        incoming::{Exact, Incoming, OwnedSlice},
        making,
        sendable::sealed::Read as _,
    },
};

/// A message: anything that can be sent.
///
/// | message | travels as |
/// |---|---|
/// | a value of a type with [`MpiDatatype`]: a number, a struct that derives it, … | its packed bytes |
/// | a slice or a `Vec` of such values | their packed bytes |
/// | a part of an array: a [`View`] | its packed bytes |
/// | any layout of any memory: [`Data`] | its packed bytes |
/// | a value of another type with [`MpiMessage`]: a `String`, an `Option`, … | an owned message |
///
/// The type alone decides. Packed bytes are *plain*: other MPI programs may send or receive them. An owned
/// message has the format of [`message`](crate::message), which only this crate reads.
///
/// [`MpiDatatype`]: crate::MpiDatatype
///
/// Only this crate implements the trait. To send a type of your own, derive
/// [`MpiDatatype`](derive@crate::MpiDatatype) or [`MpiMessage`](derive@crate::MpiMessage).
#[diagnostic::on_unimplemented(
    message = "a `{Self}` cannot be sent",
    label = "not a message",
    note = "a message is a value, slice or `Vec` of a type that derives `MpiDatatype` or `MpiMessage`, a \
            view of a layout, or `Data`",
    note = "a layout of an array whose length is known only at run time gives a `Result`: add `?`, as in \
            `&layout.of(&array)?`"
)]
pub trait Message {
    /// Returns the message without its type. `spare` says that it is sent at once: its memory may be that of
    /// an earlier message.
    #[doc(hidden)]
    fn carried(&self, spare: bool) -> Result<Carried<'_>>;
}

/// Returns the shape of a message on which [`Wire::Auto`](crate::Wire::Auto) has a choice.
#[doc(hidden)]
pub fn shape_of<M: Message + ?Sized>(message: &M) -> Option<Shape> {
    let message = message.carried(false).ok()?;
    if message.span().is_some() { None } else { making::shape(&message) }
}

impl<M: MpiMessage + ?Sized> Message for M {
    #[inline]
    fn carried(&self, spare: bool) -> Result<Carried<'_>> {
        carried(self, spare)
    }
}

/// Implements the trait for parts of memory: the type, and the part that it borrows.
macro_rules! parts {
    ($([$($generics:tt)*] $type:ty: |$message:ident| $part:expr;)*) => {$(
        impl<$($generics)*> Message for $type {
            #[inline]
            fn carried(&self, _: bool) -> Result<Carried<'_>> {
                let $message = self;
                Ok(Carried::Part($part))
            }
        }
    )*};
}

parts! {
    [L: Layout] View<'_, L>: |view| view;
    [L: Layout] &View<'_, L>: |view| *view;
    [L: Layout] ViewMut<'_, L>: |view| view.as_view();
    [L: Layout] &ViewMut<'_, L>: |view| view.as_view();
    [] Data<'_>: |data| data;
    [] &Data<'_>: |data| *data;
    [] DataMut<'_>: |data| data.as_data();
}

/// A place: anything that a message can be received into.
///
/// | place | takes |
/// |---|---|
/// | a value, an array or a slice of a type with [`MpiDatatype`] | exactly its size |
/// | a part of an array: a [`ViewMut`]; any layout: [`DataMut`] | exactly its size |
/// | a slice of owned values | exactly as many |
/// | a `Vec`, a `String`, any other type with [`FromMessage`] | what comes, and uses its memory again |
///
/// [`MpiDatatype`]: crate::MpiDatatype
///
/// Only this crate implements the trait.
#[diagnostic::on_unimplemented(
    message = "nothing can be received into a `{Self}`",
    label = "not a place for a message",
    note = "a place is a value, slice or `Vec` of a type that derives `MpiDatatype` or `MpiMessage`, a view \
            from a layout's `of_mut`, or `DataMut`",
    note = "a layout of an array whose length is known only at run time gives a `Result`: add `?`, as in \
            `&mut layout.of_mut(&mut array)?`"
)]
pub trait Place {
    /// Returns the place without its type.
    #[doc(hidden)]
    fn incoming(&mut self) -> Incoming<'_>;
}

impl<T: FromMessage> Place for T {
    #[inline]
    fn incoming(&mut self) -> Incoming<'_> {
        if const { T::IS_EXACT } {
            Incoming::Exact(Exact::Values(self.plain_mut()))
        } else {
            Incoming::Any(self)
        }
    }
}

impl<T: FromMessage> Place for [T] {
    #[inline]
    fn incoming(&mut self) -> Incoming<'_> {
        match T::PLAIN {
            Some(plain) => Incoming::Exact(Exact::Values(plain.values_mut(self))),
            None => Incoming::Each(Box::new(OwnedSlice(self))),
        }
    }
}

impl<T: FromMessage> Place for &mut [T] {
    #[inline]
    fn incoming(&mut self) -> Incoming<'_> {
        (**self).incoming()
    }
}

impl<L: Layout> Place for ViewMut<'_, L> {
    #[inline]
    fn incoming(&mut self) -> Incoming<'_> {
        Incoming::Exact(Exact::Part(self))
    }
}

impl<L: Layout> Place for &mut ViewMut<'_, L> {
    #[inline]
    fn incoming(&mut self) -> Incoming<'_> {
        Incoming::Exact(Exact::Part(*self))
    }
}

impl Place for DataMut<'_> {
    #[inline]
    fn incoming(&mut self) -> Incoming<'_> {
        Incoming::Exact(Exact::Part(self))
    }
}

/// Returns a message without its type, and the error of this rank if it cannot be sent. If there is none, or
/// one that cannot be sent, the message says so to the ranks that wait for it.
pub(super) fn outgoing<M: Message + ?Sized>(message: Option<&M>) -> (Carried<'_>, Result) {
    message.map_or_else(|| (Carried::failed(), Ok(())), |message| or_failed(message.carried(false)))
}

/// Returns a message, or one that says that there is none, and the error of this rank.
pub(super) fn or_failed(message: Result<Carried<'_>>) -> (Carried<'_>, Result) {
    match message {
        Ok(carried) => (carried, Ok(())),
        Err(error) => (Carried::failed(), Err(error)),
    }
}
