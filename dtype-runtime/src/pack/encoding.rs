//! How numbers are written among packed bytes: in which order of bytes, and in how many of them.

use std::{mem, ops::Range};

use dtype_core::BaseType;

use crate::{
    Error,
    engine::signature::{Signature, external_unit, unit},
};

/// In which byte order numbers are packed, and in how many bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Representation {
    /// Those of this machine.
    #[default]
    Native,
    /// The lowest byte first. Numbers have their sizes of this machine.
    LittleEndian,
    /// The highest byte first. Numbers have their sizes of this machine.
    BigEndian,
    /// MPI's `external32` (MPI 4.1 section 14.5.2), the bytes that `MPI_Pack_external` gives: the highest
    /// byte first, and sizes that are the same everywhere. They are those of this machine but in what was
    /// decoded from datatypes of C: `MPI_LONG` takes 4 bytes. Numbers that do not fit lose their upper bytes,
    /// as in `MPI_Pack_external`.
    External32,
}

/// Bytes of the largest unit.
pub(super) const LARGEST_UNIT: usize = 16;

/// What a representation makes of the numbers of one signature: what is native to this machine becomes
/// encoded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Encoding {
    /// Whether numbers are turned round.
    turns: bool,
    /// Whether some have fewer bytes.
    pub resizes: bool,
}

impl Encoding {
    /// # Errors
    /// [`Error::Representation`] where it is not known how to write some of the numbers.
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
            // No number has more bytes there than here, so equal sums are of equal sizes.
            Some(external) => is_external && external != signature.size,
        };
        Ok(Self { turns, resizes })
    }

    /// Whether all numbers stay as they are.
    pub fn is_native(self) -> bool {
        !self.turns && !self.resizes
    }

    /// A number, encoded.
    pub fn encode(self, native: &[u8], encoded: &mut [u8]) {
        let mut number = [0; LARGEST_UNIT];
        let number = &mut number[..native.len()];
        number.copy_from_slice(native);
        if self.turns {
            number.reverse();
        }
        // One that shrinks has its highest byte first now.
        encoded.copy_from_slice(&number[native.len() - encoded.len()..]);
    }

    /// The number that was encoded so, of this base type or a component of it.
    pub fn decode(self, base: BaseType, encoded: &[u8], native: &mut [u8]) {
        // Characters are not, whatever C makes of them.
        let is_signed = base != BaseType::WChar
            && matches!(base.plain(), Some(BaseType::I8 | BaseType::I16 | BaseType::I32 | BaseType::I64));
        let (above, number) = native.split_at_mut(native.len() - encoded.len());
        above.fill(if is_signed && encoded[0] >= 0x80 { 0xFF } else { 0 });
        number.copy_from_slice(encoded);
        if self.turns {
            native.reverse();
        }
    }

    /// Encodes whole units of packed bytes, those from `start` on, or decodes them, in their place: the sizes
    /// of numbers stay.
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

    /// Encodes whole units of packed bytes, those from `start` on.
    pub fn encode_all(self, signature: &Signature, start: usize, native: &[u8], mut encoded: &mut [u8]) {
        for_each_number(signature, start, native.len(), &mut |base, bytes| {
            let (number, rest) = mem::take(&mut encoded).split_at_mut(external_unit(base));
            self.encode(&native[bytes], number);
            encoded = rest;
        });
    }

    /// The other way round.
    pub fn decode_all(self, signature: &Signature, start: usize, mut encoded: &[u8], native: &mut [u8]) {
        for_each_number(signature, start, native.len(), &mut |base, bytes| {
            let (number, rest) = encoded.split_at(external_unit(base));
            self.decode(base, number, &mut native[bytes]);
            encoded = rest;
        });
    }
}

/// Calls back for each number of whole units of packed bytes, those from `start` on: with its base type, and
/// which of these bytes it has.
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
