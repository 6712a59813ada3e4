//! Descriptions of arrays: the header of a `.npy` file, and the dictionary that `__array_interface__`
//! holds. The layout is that of one element; the shape is the count of a message.

use anyhow::{Context, Result, ensure};

use super::{Described, Reader};
use crate::input::scanner::Read;

/// The first bytes of a `.npy` file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// Returns `true` if the bytes begin as those of a `.npy` file.
pub(crate) fn is_npy(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Returns the header of a `.npy` file, a dictionary of Python. Two bytes for the version and the length
/// precede the header; the length has four bytes from version 2 on.
pub(crate) fn header(bytes: &[u8]) -> Result<&str> {
    const SHORT: &str = "this `.npy` file ends within its header";
    let rest = &bytes[MAGIC.len()..];
    let version = *rest.first().context(SHORT)?;
    ensure!((1..=3).contains(&version), "this `.npy` file has version {version}; 1, 2 and 3 are known");
    let width = if version == 1 { 2 } else { 4 };
    let digits = rest.get(2..2 + width).context(SHORT)?;
    let length = digits.iter().rev().fold(0, |length, digit| length << 8 | usize::from(*digit));
    let header = rest.get(2 + width..).and_then(|rest| rest.get(..length)).context(SHORT)?;
    str::from_utf8(header).context("the header of this `.npy` file is no text")
}

impl Reader<'_> {
    /// Reads a dictionary that describes an array, and returns the dtype of its elements.
    pub(super) fn array(&mut self, place: usize, align: bool, levels: usize) -> Read<Described> {
        let (mut descr, mut typestr) = (None, None);
        let mut shape: Vec<i64> = Vec::new();
        let mut strides: Option<(usize, Vec<i64>)> = None;
        while !self.scanner.takes("}") {
            let key_at = self.scanner.place();
            let key = self.quoted("a key")?;
            self.scanner.expect(":")?;
            match key {
                "descr" => descr = Some(self.dtype(align, levels)?),
                "typestr" => typestr = Some(self.dtype(align, levels)?),
                "shape" => shape = self.list("a shape", |reader| reader.scanner.number("a length"))?,
                "strides" if !self.scanner.takes_word("None") => {
                    let all = self.list("strides", |reader| reader.scanner.number("a stride"))?;
                    strides = Some((key_at, all));
                }
                "strides" => {}
                "fortran_order" | "data" | "version" | "mask" | "offset" => self.pass_value()?,
                _ => {
                    let known = "a key of an array's description, such as 'descr', 'typestr' and 'shape'";
                    return Err(self.scanner.unexpected_at(key_at, known));
                }
            }
            self.scanner.behind_item("}")?;
        }
        let Some(described) = descr.or(typestr) else {
            return Err(self.scanner.unexpected_at(place, "a dictionary with 'descr' or 'typestr'"));
        };
        if let Some((at, strides)) = strides {
            let mut next = described.datatype.bounds.extent;
            for (length, stride) in shape.iter().zip(strides).rev() {
                if stride != next && *length > 1 {
                    let reason = "the elements of this array do not follow one another: describe its strides \
                                  as `vec(count, stride, …)`, or leave them out for the layout of an element";
                    return Err(self.scanner.wrong_at(at, reason));
                }
                next = next.saturating_mul(*length);
            }
        }
        Ok(described)
    }
}
