//! Encodings of packed numbers: the order of their bytes, and their sizes.

use std::{mem, ops::Range};

use dtype_core::BaseType;

use crate::{
    Error,
    signature::{Signature, external_unit, unit},
};

/// The byte order and the sizes of packed numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Representation {
    /// The byte order and the sizes of this machine.
    #[default]
    Native,
    /// The lowest byte first. Numbers have the sizes of this machine.
    LittleEndian,
    /// The highest byte first. Numbers have the sizes of this machine.
    BigEndian,
    /// MPI's `external32` (MPI 4.1 section 14.5.2), the bytes that `MPI_Pack_external` writes: the highest
    /// byte first, and the same sizes on all machines. These sizes differ from this machine's only for
    /// layouts that were decoded from C datatypes: `MPI_LONG` takes 4 bytes, and `MPI_WCHAR` takes 2. Numbers
    /// that do not fit lose their upper bytes, as in `MPI_Pack_external`.
    External32,
}

/// The size in bytes of the largest unit: a number, or one component of a complex value.
pub(super) const LARGEST_UNIT: usize = 16;

/// The changes that a representation makes to the numbers of one signature. Encoding converts from native
/// numbers, and decoding converts back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Encoding {
    /// `true` if the bytes of numbers are reversed.
    turns: bool,
    /// `true` if some encoded numbers have fewer bytes.
    pub resizes: bool,
}

impl Encoding {
    /// Returns the encoding of a signature in a representation.
    ///
    /// # Errors
    /// [`Error::Representation`] if the encoding of some numbers is unknown.
    pub fn new(representation: Representation, signature: &Signature) -> Result<Self, Error> {
        let turns = match representation {
            Representation::Native => false,
            Representation::LittleEndian => cfg!(target_endian = "big"),
            Representation::BigEndian | Representation::External32 => cfg!(target_endian = "little"),
        };
        let is_external = representation == Representation::External32;
        let resizes = match signature.external {
            _ if !turns && !is_external => false,
            None => {
                let base = signature.opaque().unwrap_or(BaseType::LongDouble);
                return Err(Error::Representation { base });
            }
            // No number is larger in `external32`, so equal sums mean that all sizes are equal.
            Some(external) => is_external && external != signature.size,
        };
        Ok(Self { turns, resizes })
    }

    /// Returns `true` if numbers are not changed.
    pub fn is_native(self) -> bool {
        !self.turns && !self.resizes
    }

    /// Encodes a number.
    pub fn encode(self, native: &[u8], encoded: &mut [u8]) {
        let mut number = [0; LARGEST_UNIT];
        let number = &mut number[..native.len()];
        number.copy_from_slice(native);
        if self.turns {
            number.reverse();
        }
        // A number that shrinks has its highest byte first by now.
        encoded.copy_from_slice(&number[native.len() - encoded.len()..]);
    }

    /// Decodes a number of this base type, or a component of a value of this base type.
    pub fn decode(self, base: BaseType, encoded: &[u8], native: &mut [u8]) {
        // Characters are unsigned, even if `wchar_t` is a signed type in C.
        let is_signed = base != BaseType::WChar
            && matches!(base.plain(), Some(BaseType::I8 | BaseType::I16 | BaseType::I32 | BaseType::I64));
        let (above, number) = native.split_at_mut(native.len() - encoded.len());
        above.fill(if is_signed && encoded[0] >= 0x80 { 0xFF } else { 0 });
        number.copy_from_slice(encoded);
        if self.turns {
            native.reverse();
        }
    }

    /// Encodes or decodes whole units in place. `start` is the position of the first byte among the packed
    /// bytes. The sizes of numbers do not change.
    pub fn turn(self, signature: &Signature, start: usize, packed: &mut [u8]) {
        fn reverse<const N: usize>(numbers: &mut [u8]) {
            numbers.as_chunks_mut::<N>().0.iter_mut().for_each(|number| number.reverse());
        }
        debug_assert!(!self.resizes);
        if !self.turns {
            return;
        }
        signature.for_each_run(start..start + packed.len(), &mut |base, bytes| {
            let numbers = &mut packed[bytes.start - start..bytes.end - start];
            match unit(base) {
                2 => reverse::<2>(numbers),
                4 => reverse::<4>(numbers),
                8 => reverse::<8>(numbers),
                16 => reverse::<16>(numbers),
                _ => {}
            }
        });
    }

    /// Encodes whole units. `start` is the position of the first byte among the packed bytes of this machine.
    pub fn encode_all(self, signature: &Signature, start: usize, native: &[u8], mut encoded: &mut [u8]) {
        for_each_number(signature, start, native.len(), &mut |base, bytes| {
            let (number, rest) = mem::take(&mut encoded).split_at_mut(external_unit(base));
            self.encode(&native[bytes], number);
            encoded = rest;
        });
    }

    /// Decodes whole units. `start` is the position of the first byte among the packed bytes of this machine.
    pub fn decode_all(self, signature: &Signature, start: usize, mut encoded: &[u8], native: &mut [u8]) {
        for_each_number(signature, start, native.len(), &mut |base, bytes| {
            let (number, rest) = encoded.split_at(external_unit(base));
            self.decode(base, number, &mut native[bytes]);
            encoded = rest;
        });
    }
}

/// Calls `visit` for each number of whole units: `size` packed bytes from `start` on. The arguments are the
/// base type, and the range of the number's bytes, relative to `start`.
fn for_each_number(
    signature: &Signature,
    start: usize,
    size: usize,
    visit: &mut impl FnMut(BaseType, Range<usize>),
) {
    signature.for_each_run(start..start + size, &mut |base, bytes| {
        let unit = unit(base);
        bytes.step_by(unit).for_each(|at| visit(base, at - start..at - start + unit));
    });
}
