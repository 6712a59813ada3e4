//! Text, sequences, sets and maps as messages: the length, and then the values.

use std::{
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, TryReserveError, VecDeque},
    hash::{BuildHasher, Hash},
};

use dtype_engine::Error as PackError;

use super::{
    Fingerprint, FromMessage, Message, MpiMessage, OwnedMemory, Plain, PlainValues, PlainValuesMut, Reader,
    Writer,
    compose::of_array,
    limits::{malformed, unsendable},
    traits::{fixed, slice_align, value_type},
};
use crate::{Error, types::ValueType};

/// The least number of bytes of a length.
const LENGTH: usize = 4;

impl MpiMessage for str {
    const LEAST: usize = LENGTH;

    fn describe(of: &mut Fingerprint) {
        of.add("text");
    }

    #[inline]
    fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
        to.counted(self.as_bytes(), 1);
        Ok(())
    }
}

impl MpiMessage for String {
    const LEAST: usize = LENGTH;
    const KEPT: usize = 1;

    fn describe(of: &mut Fingerprint) {
        str::describe(of);
    }

    #[inline]
    fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
        self.as_str().write(to)
    }
}

/// Reads text.
#[inline]
pub(super) fn text<'r>(from: &'r mut Reader<'_>) -> Result<&'r str, Error> {
    let length = from.length()?;
    utf8(from.memory(length)?)
}

/// Returns `true` if no byte has its highest bit set. (The standard library goes through the last bytes of a
/// text one by one, which takes longer for short ones.)
#[inline]
fn is_ascii(bytes: &[u8]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    match bytes.last_chunk::<8>() {
        None => bytes.iter().fold(0, |all, byte| all | byte) < 0x80,
        Some(last) => {
            // The last eight bytes may contain some of the words before.
            let words = bytes.as_chunks::<8>().0.iter().chain([last]);
            words.fold(0, |all, word| all | u64::from_ne_bytes(*word)) & HIGH == 0
        }
    }
}

/// Returns bytes as text. Most text is ASCII, for which the test is faster than that of UTF-8.
#[inline]
fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    if is_ascii(bytes) {
        // SAFETY: ASCII is UTF-8.
        return Ok(unsafe { str::from_utf8_unchecked(bytes) });
    }
    str::from_utf8(bytes).map_err(not_utf8)
}

#[cold]
fn not_utf8(error: std::str::Utf8Error) -> Error {
    malformed(format!("a text is not UTF-8: {error}"))
}

/// Makes a text of received memory.
#[cold]
fn text_of_memory(memory: OwnedMemory, length: usize) -> Result<String, Error> {
    // SAFETY: 1 to 3, since bytes have an alignment of 1 and any value, and the memory has `length` of them.
    let bytes = unsafe { memory.into_vec::<u8>(length) }?;
    String::from_utf8(bytes).map_err(|error| not_utf8(error.utf8_error()))
}

impl FromMessage for String {
    #[inline]
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        if let Some(short) = from.short() {
            return utf8(short).map(Self::from);
        }
        let length = from.length()?;
        match from.take_memory(length, 1) {
            None => utf8(from.memory(length)?).map(Self::from),
            Some(memory) => text_of_memory(memory, length),
        }
    }

    fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), Error> {
        let length = from.length()?;
        if let Some(memory) = from.take_memory(length, 1) {
            *self = text_of_memory(memory, length)?;
            return Ok(());
        }
        let text = utf8(from.memory(length)?)?;
        self.clear();
        self.push_str(text);
        Ok(())
    }

    #[inline]
    fn check(from: &mut Reader<'_>) -> Result<(), Error> {
        text(from).map(drop)
    }
}

/// Writes the length of a sequence, and a byte for each value without bytes.
#[inline]
fn write_length<T: MpiMessage>(length: usize, to: &mut Writer<'_>) -> Result<(), Error> {
    /// The greatest length of a sequence of values without bytes.
    const MOST: usize = 1 << 30;
    to.length(length);
    if T::LEAST == 0 {
        if length > MOST {
            return Err(unsendable(format!(
                "a sequence has {length} values that may have no bytes, more than {MOST}"
            )));
        }
        to.blank(length);
    }
    Ok(())
}

/// Reads the length of a sequence. If values may be a block, they are not compared with the in-band part.
#[inline]
fn read_length<T: MpiMessage>(from: &mut Reader<'_>) -> Result<usize, Error> {
    let length = from.length()?;
    if slice_align::<T>() > 0 { Ok(length) } else { from.fits::<T>(length, T::LEAST) }
}

/// Adds to a fingerprint the type of the values of a sequence or array, and two facts that decide on their
/// form: `true` if they are written all at once, and if they may have no bytes.
pub(super) fn describe_values<T: MpiMessage>(of: &mut Fingerprint) {
    of.number(u64::from(fixed::<T>().is_some()) + 2 * u64::from(T::LEAST == 0));
    of.of(T::describe);
}

/// Writes the values of a slice, without its length.
#[inline]
fn write_values<'a, T: MpiMessage>(values: &'a [T], to: &mut Writer<'a>) -> Result<(), Error> {
    match const { fixed::<T>() } {
        Some(fixed) => {
            fixed.write(values, to);
            Ok(())
        }
        None => to.nested(|to| to.local(|to| values.iter().try_for_each(|value| value.write(to)))),
    }
}

/// Reads a value for each of `count`, without making it.
fn check_values<T: FromMessage>(count: usize, from: &mut Reader<'_>) -> Result<(), Error> {
    match const { fixed::<T>() } {
        Some(fixed) => fixed.check(count, from),
        None => from.nested::<T, _>(|from| (0..count).try_for_each(|_| T::check(from))),
    }
}

impl<T: MpiMessage> MpiMessage for [T] {
    const VALUES: Option<&'static ValueType> = value_type::<T>();
    const LEAST: usize = LENGTH;

    fn describe(of: &mut Fingerprint) {
        of.field("sequence", describe_values::<T>);
    }

    #[inline]
    fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
        write_length::<T>(self.len(), to)?;
        write_values(self, to)
    }

    #[inline]
    fn plain(&self) -> Option<PlainValues<'_>> {
        T::PLAIN.map(|plain| plain.values(self))
    }
}

impl<T: MpiMessage> MpiMessage for Vec<T> {
    const VALUES: Option<&'static ValueType> = value_type::<T>();
    const LEAST: usize = LENGTH;
    const KEPT: usize = slice_align::<T>();

    fn describe(of: &mut Fingerprint) {
        <[T]>::describe(of);
    }

    #[inline]
    fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
        self.as_slice().write(to)
    }

    #[inline]
    fn plain(&self) -> Option<PlainValues<'_>> {
        self.as_slice().plain()
    }
}

/// Reads `count` values.
pub(crate) fn read_values<T: FromMessage>(count: usize, from: &mut Reader<'_>) -> Result<Vec<T>, Error> {
    match const { fixed::<T>() } {
        Some(fixed) => fixed.read_all(count, from),
        None => from.nested::<T, _>(|from| {
            let (mut values, some) = (Vec::new(), from.reserve::<T>(count));
            let bytes = some * size_of::<T>();
            values.try_reserve_exact(some).map_err(|_| PackError::Memory { bytes })?;
            for _ in 0..count {
                values.push(T::read(from)?);
            }
            from.release::<T>(some);
            Ok(values)
        }),
    }
}

impl<T: FromMessage> FromMessage for Vec<T> {
    const IS_EXACT: bool = false;

    #[inline]
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        let count = read_length::<T>(from)?;
        read_values(count, from)
    }

    fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), Error> {
        let count = read_length::<T>(from)?;
        match const { fixed::<T>() } {
            Some(fixed) => fixed.read_into(self, count, from),
            None => from.nested::<T, _>(|from| {
                self.truncate(count);
                self.iter_mut().try_for_each(|value| value.read_into(from))?;
                for _ in self.len()..count {
                    self.push(T::read(from)?);
                }
                Ok(())
            }),
        }
    }

    fn check(from: &mut Reader<'_>) -> Result<(), Error> {
        let count = read_length::<T>(from)?;
        check_values::<T>(count, from)
    }

    fn lend(&mut self, size: usize) -> Option<OwnedMemory> {
        fixed::<T>()?.lend(self, size)
    }

    fn elements(&mut self) -> Option<PlainValuesMut<'_>> {
        T::PLAIN.map(|plain| plain.values_mut(self))
    }

    fn arrived(message: Message<'_>) -> Result<Self, Error> {
        match T::PLAIN {
            Some(plain) => {
                let count = plain.of.count_in(message.bytes().len())?;
                read_values(count, &mut message.packed())
            }
            None => message.make(),
        }
    }

    fn arrived_into(&mut self, message: Message<'_>) -> Result<(), Error> {
        let Some(plain) = T::PLAIN else { return message.make_into(self) };
        let count = plain.of.count_in(message.bytes().len())?;
        if let Some(fixed) = const { fixed::<T>() } {
            fixed.check(count, &mut Reader::of_packed(message.bytes()))?;
            return fixed.read_into(self, count, &mut message.packed());
        }
        *self = read_values(count, &mut message.packed())?;
        Ok(())
    }
}

impl<T: MpiMessage, const N: usize> MpiMessage for [T; N] {
    const PLAIN: Option<Plain<Self>> = of_array();
    const LEAST: usize = T::LEAST.saturating_mul(N);
    const KEPT: usize = T::KEPT;

    fn describe(of: &mut Fingerprint) {
        of.add("array");
        of.number(N as u64);
        describe_values::<T>(of);
    }

    #[inline]
    fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
        match const { fixed::<T>() } {
            Some(fixed) => {
                fixed.write(self, to);
                Ok(())
            }
            None => self.iter().try_for_each(|value| value.write(to)),
        }
    }
}

impl<T: FromMessage, const N: usize> FromMessage for [T; N] {
    #[inline]
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        if let Some(fixed) = const { fixed::<T>() } {
            return fixed.read(from);
        }
        let mut failed = None;
        let values: [Option<T>; N] = std::array::from_fn(|_| match failed {
            None => T::read(from).map_err(|error| failed = Some(error)).ok(),
            Some(_) => None,
        });
        match failed {
            // No value is missing.
            None => Ok(values.map(|value| value.unwrap_or_else(|| unreachable!()))),
            Some(error) => Err(error),
        }
    }

    fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), Error> {
        if let Some(fixed) = const { fixed::<T>() } {
            return fixed.read_over(self, from);
        }
        self.iter_mut().try_for_each(|value| value.read_into(from))
    }

    fn check(from: &mut Reader<'_>) -> Result<(), Error> {
        match const { fixed::<T>() } {
            Some(fixed) => fixed.check(N, from),
            None => (0..N).try_for_each(|_| T::check(from)),
        }
    }
}

impl<T: MpiMessage> MpiMessage for VecDeque<T> {
    const LEAST: usize = 2 * LENGTH;

    fn describe(of: &mut Fingerprint) {
        of.field("queue", describe_values::<T>);
    }

    /// Writes the two slices of the queue.
    fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
        let (front, back) = self.as_slices();
        front.write(to)?;
        back.write(to)
    }
}

impl<T: FromMessage> FromMessage for VecDeque<T> {
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        let front = Vec::read(from)?;
        let mut values = Self::from(front);
        values.extend(Vec::read(from)?);
        Ok(values)
    }

    fn check(from: &mut Reader<'_>) -> Result<(), Error> {
        Vec::<T>::check(from)?;
        Vec::<T>::check(from)
    }
}

/// Implements both traits for collections: the name, the type of an item, its parts, how room for some items
/// is made, and how an item is added.
macro_rules! collections {
    ($([$($generics:tt)*] [$($bounds:tt)*] $type:ty: $name:literal, $item:ty, $parts:pat => [$($part:ident)*],
        |$all:ident, $room:pat_param| $reserve:expr, |$read:pat_param| $add:expr;)*) => {$(
        impl<$($generics)*> MpiMessage for $type {
            const LEAST: usize = LENGTH;

            fn describe(of: &mut Fingerprint) {
                of.field($name, describe_values::<$item>);
            }

            fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
                write_length::<$item>(self.len(), to)?;
                to.nested(|to| {
                    for $parts in self {
                        $($part.write(to)?;)*
                    }
                    Ok(())
                })
            }
        }

        impl<$($bounds)*> FromMessage for $type {
            fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
                let count = read_length::<$item>(from)?;
                from.nested::<$item, _>(|from| {
                    let mut $all = Self::default();
                    let some = from.reserve::<$item>(count);
                    let $room = some;
                    $reserve.map_err(|_| PackError::Memory { bytes: some * size_of::<$item>() })?;
                    for _ in 0..count {
                        let $read = <$item>::read(from)?;
                        $add;
                    }
                    from.release::<$item>(some);
                    Ok($all)
                })
            }

            fn check(from: &mut Reader<'_>) -> Result<(), Error> {
                let count = read_length::<$item>(from)?;
                from.nested::<$item, _>(|from| (0..count).try_for_each(|_| <$item>::check(from)))
            }
        }
    )*};
}

collections! {
    [T: MpiMessage] [T: FromMessage + Ord] BTreeSet<T>: "set", T, item => [item],
        |all, _| Ok::<_, TryReserveError>(()), |item| all.insert(item);
    [T: MpiMessage, S] [T: FromMessage + Eq + Hash, S: BuildHasher + Default] HashSet<T, S>: "set", T,
        item => [item], |all, room| all.try_reserve(room), |item| all.insert(item);
    [K: MpiMessage, V: MpiMessage] [K: FromMessage + Ord, V: FromMessage] BTreeMap<K, V>: "map", (K, V),
        (key, value) => [key value],
        |all, _| Ok::<_, TryReserveError>(()), |(key, value)| all.insert(key, value);
    [K: MpiMessage, V: MpiMessage, S]
        [K: FromMessage + Eq + Hash, V: FromMessage, S: BuildHasher + Default] HashMap<K, V, S>: "map",
        (K, V), (key, value) => [key value],
        |all, room| all.try_reserve(room), |(key, value)| all.insert(key, value);
    [T: MpiMessage] [T: FromMessage] LinkedList<T>: "list", T, item => [item],
        |all, _| Ok::<_, TryReserveError>(()), |item| all.push_back(item);
    [T: MpiMessage] [T: FromMessage + Ord] BinaryHeap<T>: "heap", T, item => [item],
        |all, room| all.try_reserve(room), |item| all.push(item);
}

#[cfg(test)]
mod tests {
    use super::is_ascii;

    #[test]
    fn text_of_any_length_is_ascii_if_all_of_its_bytes_are() {
        for length in 0..40 {
            let mut text = vec![0x7f; length];
            assert!(is_ascii(&text));
            for i in 0..length {
                text[i] = 0x80;
                assert!(!is_ascii(&text), "byte {i} of {length}");
                text[i] = 0;
            }
        }
    }
}
