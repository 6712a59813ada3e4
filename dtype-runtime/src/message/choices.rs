//! Choices, tuples, times, ranges and wrappers as messages.

use std::{
    num::{Saturating, Wrapping},
    ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive},
    time::Duration,
};

use super::{
    Fingerprint, FromMessage, MpiMessage, OwnedMemory, Plain, Reader, Writer, compose::of_tuple,
    limits::malformed,
};
use crate::Error;

/// Returns the greatest one of some numbers, or 0.
pub const fn greatest(numbers: &[usize]) -> usize {
    let (mut most, mut i) = (0, 0);
    while i < numbers.len() {
        if numbers[i] > most {
            most = numbers[i];
        }
        i += 1;
    }
    most
}

/// Returns the error of a variant that an enum does not have.
#[cold]
pub fn no_variant(name: &str, number: u32) -> Error {
    malformed(format!("{number} is not a variant of `{name}`"))
}

/// Implements both traits for the enums of the standard library: the variants, each with its number.
macro_rules! choices {
    ($([$($name:ident),*] $type:ty: $text:literal,
        $($number:literal => $variant:ident $(($field:ident: $of:ty))?),*;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($name: MpiMessage),*> MpiMessage for $type {
            const LEAST: usize = 1;
            const KEPT: usize = greatest(&[$($(<$of>::KEPT,)?)*]);

            fn describe(of: &mut Fingerprint) {
                of.add($text);
                $(of.of(<$name>::describe);)*
            }

            #[inline]
            fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
                match self {
                    $(Self::$variant $(($field))? => {
                        to.bytes(&[$number]);
                        $($field.write(to)?;)?
                    })*
                }
                Ok(())
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($name: FromMessage),*> FromMessage for $type {
            #[inline]
            fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
                Ok(match from.array()? {
                    $([$number] => Self::$variant $((<$of>::read(from)?))?,)*
                    [other] => return Err(no_variant($text, other.into())),
                })
            }

            fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), Error> {
                match (from.array()?, &mut *self) {
                    $($(([$number], Self::$variant($field)) => return <$of>::read_into($field, from),)?)*
                    $(([$number], _) => *self = Self::$variant $((<$of>::read(from)?))?,)*
                    ([other], _) => return Err(no_variant($text, other.into())),
                }
                Ok(())
            }

            fn check(from: &mut Reader<'_>) -> Result<(), Error> {
                match from.array()? {
                    $([$number] => { $(<$of>::check(from)?;)? })*
                    [other] => return Err(no_variant($text, other.into())),
                }
                Ok(())
            }

            fn lend(&mut self, size: usize) -> Option<OwnedMemory> {
                match self {
                    $($(Self::$variant($field) if <$of>::KEPT == Self::KEPT => $field.lend(size),)?)*
                    _ => None,
                }
            }
        }
    )*};
}

choices! {
    [T] Option<T>: "Option", 0 => None, 1 => Some(value: T);
    [T, E] Result<T, E>: "Result", 0 => Ok(value: T), 1 => Err(error: E);
    [T] Bound<T>: "Bound", 0 => Unbounded, 1 => Included(value: T), 2 => Excluded(value: T);
}

/// Implements both traits for types with parts: the name, or the type that has the same layout and values; an
/// expression for each part; and how a value is made of them.
macro_rules! parts {
    ($([$($name:ident)*] $type:ty: $($text:literal)? $(as $same:ty)?,
        |$value:ident| $(($part:ident: $of:ty) = $get:expr),* => $make:expr;)*) => {$(
        impl<$($name: MpiMessage),*> MpiMessage for $type {
            $(const PLAIN: Option<Plain<Self>> = match <$same>::PLAIN {
                // SAFETY: 1, as the documentation of the type guarantees.
                Some(plain) => Some(unsafe { Plain::new(plain.of) }),
                None => None,
            };)?
            const LEAST: usize = 0 $(+ <$of>::LEAST)*;
            const KEPT: usize = greatest(&[$(<$of>::KEPT),*]);

            fn describe(_of: &mut Fingerprint) {
                $(_of.add($text);)?
                $(_of.of(<$of>::describe);)*
            }

            #[inline]
            fn write<'a>(&'a self, _to: &mut Writer<'a>) -> Result<(), Error> {
                let $value = self;
                $(<$of>::write($get, _to)?;)*
                Ok(())
            }
        }

        impl<$($name: FromMessage),*> FromMessage for $type {
            #[inline]
            fn read(_from: &mut Reader<'_>) -> Result<Self, Error> {
                $(let $part = <$of>::read(_from)?;)*
                Ok($make)
            }

            fn check(_from: &mut Reader<'_>) -> Result<(), Error> {
                $(<$of>::check(_from)?;)*
                Ok(())
            }
        }
    )*};
}

parts! {
    [T] Range<T>: "Range", |range| (start: T) = &range.start, (end: T) = &range.end => start..end;
    [T] RangeInclusive<T>: "RangeInclusive", |range| (start: T) = range.start(), (end: T) = range.end()
        => start..=end;
    [T] RangeFrom<T>: "RangeFrom", |range| (start: T) = &range.start => start..;
    [T] RangeTo<T>: "RangeTo", |range| (end: T) = &range.end => ..end;
    [T] RangeToInclusive<T>: "RangeToInclusive", |range| (end: T) = &range.end => ..=end;
    [] RangeFull: "RangeFull", |_range| => ..;
    [T] Wrapping<T>: as T, |wrapper| (value: T) = &wrapper.0 => Wrapping(value);
    [T] Saturating<T>: as T, |wrapper| (value: T) = &wrapper.0 => Saturating(value);
}

/// Implements both traits for tuples.
macro_rules! tuples {
    ($($name:ident $index:tt)*) => {
        impl<$($name: MpiMessage),*> MpiMessage for ($($name,)*) {
            const PLAIN: Option<Plain<Self>> = of_tuple();
            const LEAST: usize = 0 $(+ $name::LEAST)*;
            const KEPT: usize = greatest(&[$($name::KEPT),*]);

            fn describe(of: &mut Fingerprint) {
                of.add("tuple");
                of.number(0 $(+ stringify!($name).len() as u64)*);
                $(of.of(<$name>::describe);)*
            }

            #[inline]
            fn write<'a>(&'a self, _to: &mut Writer<'a>) -> Result<(), Error> {
                $(self.$index.write(_to)?;)*
                Ok(())
            }
        }

        impl<$($name: FromMessage),*> FromMessage for ($($name,)*) {
            #[inline]
            fn read(_from: &mut Reader<'_>) -> Result<Self, Error> {
                Ok(($($name::read(_from)?,)*))
            }

            fn read_into(&mut self, _from: &mut Reader<'_>) -> Result<(), Error> {
                $(self.$index.read_into(_from)?;)*
                Ok(())
            }

            fn check(_from: &mut Reader<'_>) -> Result<(), Error> {
                $($name::check(_from)?;)*
                Ok(())
            }

            fn lend(&mut self, _size: usize) -> Option<OwnedMemory> {
                $(if $name::KEPT == Self::KEPT && let lent @ Some(_) = self.$index.lend(_size) {
                    return lent;
                })*
                None
            }
        }
    };
}

for_each_tuple!(tuples);

impl MpiMessage for Duration {
    const LEAST: usize = 12;

    fn describe(of: &mut Fingerprint) {
        of.add("Duration");
    }

    #[inline]
    fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
        to.bytes(&self.as_secs().to_ne_bytes());
        to.bytes(&self.subsec_nanos().to_ne_bytes());
        Ok(())
    }
}

impl FromMessage for Duration {
    #[inline]
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        let (seconds, nanoseconds) = (from.array()?, u32::from_ne_bytes(from.array()?));
        if nanoseconds >= 1_000_000_000 {
            return Err(malformed(format!("a `Duration` of {nanoseconds} ns beside its seconds")));
        }
        Ok(Self::new(u64::from_ne_bytes(seconds), nanoseconds))
    }
}

/// Implements both traits for integers that MPI has no base type for.
macro_rules! integers {
    ($($type:ident)*) => {$(
        impl MpiMessage for $type {
            const LEAST: usize = size_of::<$type>();

            fn describe(of: &mut Fingerprint) {
                of.add(stringify!($type));
            }

            #[inline]
            fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
                to.bytes(&self.to_ne_bytes());
                Ok(())
            }
        }

        impl FromMessage for $type {
            #[inline]
            fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
                from.array().map(Self::from_ne_bytes)
            }
        }
    )*};
}

integers! { i128 u128 }
