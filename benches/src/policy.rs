//! The policy of the preloaded library, derived from the recorded times of blocks of some lengths and
//! arrangements.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::{Context, Result};

use crate::record::{self, Size, Times, split_shape};

/// The arrangements of the blocks, as the policy names them.
pub const ARRANGEMENTS: [&str; 6] =
    ["columns", "small-columns", "lists", "small-lists", "lists-of-lengths", "structs"];

/// The mean lengths of the blocks in bytes.
pub const LENGTHS: [usize; 5] = [8, 16, 48, 128, 512];

/// The sizes of the messages in packed bytes.
pub const SIZES: [usize; 6] = [1 << 10, 4 << 10, 16 << 10, 256 << 10, 1 << 20, 8 << 20];

/// The least packed size in bytes of messages that are packed.
const LEAST: usize = 512;

/// The largest part of the time by the datatype for which a packed message is clearly faster.
const FASTER: f64 = 0.9;

/// The size in bytes from which on packing ends to be faster because of the caches, and not because of the
/// library.
const CACHED: usize = 64 << 10;

/// Returns the name of the case with blocks of a length in a message of a size, both in bytes.
pub fn case(arrangement: &str, length: usize, size: usize) -> String {
    format!("{arrangement}-of-{length}/{size}")
}

/// A measured case.
struct Measured {
    /// The packed size in bytes.
    size: usize,
    /// The bytes of memory that pass through the caches for each packed byte.
    touched: f64,
    /// `true` if the message is clearly faster packed than by the datatype that a user would write.
    is_faster_packed: bool,
}

/// Returns the policy for all recorded libraries, as `dtype-interpose/src/policy.csv` has it: the sizes that
/// are packed, for each arrangement and length of blocks.
///
/// # Errors
/// If the text is no file of recorded rows, or lacks a case.
pub fn policy(recorded: &str) -> Result<String> {
    let all = record::read(recorded)?;
    let mut cases: BTreeMap<&str, BTreeMap<&str, (Option<Size>, &Times)>> = BTreeMap::new();
    for ((library, case), times) in &all {
        let (name, size) = split_shape(case);
        cases.entry(library).or_default().insert(name, (size, times));
    }
    let mut text = "library,arrangement,block,sizes\n".to_owned();
    for (library, cases) in cases {
        for arrangement in ARRANGEMENTS {
            for length in LENGTHS {
                let measured = SIZES.map(|size| {
                    let case = case(arrangement, length, size);
                    let found = cases.get(case.as_str()).and_then(|(shape, times)| measured(*shape, times));
                    found.with_context(|| format!("{library} lacks `{case}`, or a time of it"))
                });
                let measured: Vec<_> = measured.into_iter().collect::<Result<_>>()?;
                writeln!(text, "{library},{arrangement},{length},{}", sizes(&measured))?;
            }
        }
    }
    Ok(text)
}

/// Returns a case from its shape and its times, or `None` if one of them is missing.
fn measured(shape: Option<Size>, times: &Times) -> Option<Measured> {
    let (size, touched) = match shape? {
        Size::Contiguous(bytes) => (bytes, 1.0),
        Size::Blocks(shape) => (shape.bytes, shape.memory() as f64 / shape.bytes as f64),
    };
    let is_faster_packed = times.get("packed")? < &(FASTER * times.get("typed")?);
    Some(Measured { size, touched, is_faster_packed })
}

/// Returns the ranges of sizes that are packed. Between two measured sizes that differ, the limit is their
/// geometric mean.
fn sizes(measured: &[Measured]) -> String {
    let between = |i: usize| (measured[i].size as f64 * measured[i + 1].size as f64).sqrt() as usize;
    let mut ranges = Vec::new();
    let mut first = None;
    for (i, Measured { touched, is_faster_packed, .. }) in measured.iter().enumerate() {
        if !is_faster_packed {
            continue;
        }
        let start = *first.get_or_insert_with(|| if i == 0 { LEAST } else { between(i - 1) });
        if measured.get(i + 1).is_some_and(|next| next.is_faster_packed) {
            continue;
        }
        first = None;
        ranges.push(match measured.get(i + 1).map(|_| between(i)) {
            None => format!("{start} to any"),
            Some(end) if end < CACHED => format!("{start} to {end}"),
            Some(end) => format!("{start} to {end} at {touched:.2}"),
        });
    }
    ranges.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_are_faster_packed_are_ranges() {
        let measured = |faster: [bool; 4]| -> Vec<Measured> {
            let sizes = [1 << 10, 4 << 10, 16 << 10, 1 << 20];
            let all = sizes.into_iter().zip(faster);
            all.map(|(size, is_faster_packed)| Measured { size, touched: 2.0, is_faster_packed }).collect()
        };
        assert_eq!(sizes(&measured([false; 4])), "");
        assert_eq!(sizes(&measured([true; 4])), "512 to any");
        assert_eq!(sizes(&measured([true, false, false, true])), "512 to 2048; 131072 to any");
        assert_eq!(sizes(&measured([false, true, false, false])), "2048 to 8192");
        assert_eq!(sizes(&measured([false, true, true, false])), "2048 to 131072 at 2.00");
    }
}
