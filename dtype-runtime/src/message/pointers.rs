//! Pointers as messages: the value that they hold.

use std::{
    borrow::{Borrow, Cow},
    marker::PhantomData,
    rc::Rc,
    sync::Arc,
};

use super::{
    Fingerprint, FromMessage, Message, MpiMessage, Plain, PlainValues, PlainValuesMut, Reader, Writer,
    plain::one_value, sequences::text, traits::fixed,
};
use crate::{Error, types::ValueType};

/// Implements `MpiMessage` for pointers, each one level deeper than its value.
macro_rules! pointers {
    ($([$($generics:tt)*] $type:ty => $target:ty;)*) => {$(
        impl<$($generics)*> MpiMessage for $type {
            const VALUES: Option<&'static ValueType> = <$target>::VALUES;
            const LEAST: usize = <$target>::LEAST;

            fn describe(of: &mut Fingerprint) {
                of.of(<$target>::describe);
            }

            #[inline]
            fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
                let target: &'a $target = self;
                to.nested(|to| target.write(to))
            }

            #[inline]
            fn plain(&self) -> Option<PlainValues<'_>> {
                let target: &$target = self;
                target.plain()
            }
        }
    )*};
}

pointers! {
    [T: MpiMessage + ?Sized] &T => T;
    [T: MpiMessage + ?Sized] &mut T => T;
    [T: MpiMessage + ?Sized] Box<T> => T;
    [T: MpiMessage + ?Sized] Rc<T> => T;
    [T: MpiMessage + ?Sized] Arc<T> => T;
    [T: MpiMessage + ToOwned + ?Sized] Cow<'_, T> => T;
}

impl<T: FromMessage> FromMessage for Box<T> {
    const IS_EXACT: bool = T::IS_EXACT;

    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        // The value of a large type must not be on the stack of the function that reads it to the heap.
        #[inline(never)]
        fn by_stack<T: FromMessage>(from: &mut Reader<'_>) -> Result<Box<T>, Error> {
            T::read(from).map(Box::new)
        }
        from.nested::<T, _>(|from| match const { fixed::<T>() } {
            Some(fixed) => fixed.read_boxed(from),
            None => by_stack(from),
        })
    }

    fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), Error> {
        from.nested::<T, _>(|from| T::read_into(self, from))
    }

    fn check(from: &mut Reader<'_>) -> Result<(), Error> {
        from.nested::<T, _>(T::check)
    }

    fn plain_mut(&mut self) -> PlainValuesMut<'_> {
        T::plain_mut(self)
    }

    fn arrived(message: Message<'_>) -> Result<Self, Error> {
        match (Self::VALUES, const { fixed::<T>() }) {
            (None, _) => message.make(),
            (Some(_), Some(fixed)) => {
                fixed.read_boxed(&mut Reader::of_packed(one_value(fixed.of, message.bytes())?))
            }
            (Some(_), None) => T::arrived(message).map(Box::new),
        }
    }

    fn arrived_into(&mut self, message: Message<'_>) -> Result<(), Error> {
        match Self::VALUES {
            None => message.make_into(self),
            Some(_) => T::arrived_into(self, message),
        }
    }
}

impl<T: FromMessage> FromMessage for Box<[T]> {
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        from.nested::<Self, _>(Vec::<T>::read).map(Vec::into_boxed_slice)
    }

    fn check(from: &mut Reader<'_>) -> Result<(), Error> {
        from.nested::<Self, _>(Vec::<T>::check)
    }

    fn arrived(message: Message<'_>) -> Result<Self, Error> {
        match Self::VALUES {
            None => message.make(),
            Some(_) => Vec::<T>::arrived(message).map(Vec::into_boxed_slice),
        }
    }

    fn arrived_into(&mut self, message: Message<'_>) -> Result<(), Error> {
        *self = Self::arrived(message)?;
        Ok(())
    }
}

impl FromMessage for Box<str> {
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        from.nested::<Self, _>(|from| text(from).map(Self::from))
    }

    fn check(from: &mut Reader<'_>) -> Result<(), Error> {
        from.nested::<Self, _>(|from| text(from).map(drop))
    }
}

/// Implements `FromMessage` for shared pointers. Each one that is received has a value of its own.
macro_rules! shared {
    ($($pointer:ident)*) => {$(
        impl<T: ?Sized> FromMessage for $pointer<T>
        where
            T: MpiMessage,
            Box<T>: FromMessage,
        {
            fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
                Box::<T>::read(from).map(Self::from)
            }

            fn check(from: &mut Reader<'_>) -> Result<(), Error> {
                Box::<T>::check(from)
            }

            fn arrived(message: Message<'_>) -> Result<Self, Error> {
                Box::<T>::arrived(message).map(Self::from)
            }

            fn arrived_into(&mut self, message: Message<'_>) -> Result<(), Error> {
                *self = Self::arrived(message)?;
                Ok(())
            }
        }
    )*};
}

shared! { Rc Arc }

impl<T: MpiMessage + ToOwned + ?Sized> FromMessage for Cow<'_, T>
where
    T::Owned: FromMessage + Borrow<T>,
{
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        from.nested::<T::Owned, _>(T::Owned::read).map(Cow::Owned)
    }

    fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), Error> {
        if let Cow::Owned(owned) = self {
            return from.nested::<T::Owned, _>(|from| owned.read_into(from));
        }
        *self = Self::read(from)?;
        Ok(())
    }

    fn check(from: &mut Reader<'_>) -> Result<(), Error> {
        from.nested::<T::Owned, _>(T::Owned::check)
    }

    fn arrived(message: Message<'_>) -> Result<Self, Error> {
        match Self::VALUES {
            None => message.make(),
            Some(_) => T::Owned::arrived(message).map(Cow::Owned),
        }
    }

    fn arrived_into(&mut self, message: Message<'_>) -> Result<(), Error> {
        match (Self::VALUES, &mut *self) {
            (None, _) => message.make_into(self),
            (Some(_), Cow::Owned(owned)) => owned.arrived_into(message),
            (Some(_), Cow::Borrowed(_)) => {
                *self = Self::arrived(message)?;
                Ok(())
            }
        }
    }
}

impl<T: ?Sized> MpiMessage for PhantomData<T> {
    const PLAIN: Option<Plain<Self>> = match <()>::PLAIN {
        // SAFETY: 1, since neither type has bytes.
        Some(plain) => Some(unsafe { Plain::new(plain.of) }),
        None => None,
    };

    fn describe(_: &mut Fingerprint) {}

    #[inline]
    fn write<'a>(&'a self, _: &mut Writer<'a>) -> Result<(), Error> {
        Ok(())
    }
}

impl<T: ?Sized> FromMessage for PhantomData<T> {
    #[inline]
    fn read(_: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Self)
    }
}
