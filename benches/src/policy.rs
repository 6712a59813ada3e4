//! The policy of the preloaded library, derived from the recorded times of blocks of some lengths and
//! arrangements.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
};

use anyhow::{Context, Result};

use crate::record::{self, Size, Times, split_machine, split_shape};

/// The arrangements of the blocks, as the policy names them.
pub const ARRANGEMENTS: [&str; 6] =
    ["columns", "small-columns", "lists", "small-lists", "lists-of-lengths", "structs"];

/// The mean lengths of the blocks in bytes.
const LENGTHS: [usize; 7] = [1, 4, 8, 16, 48, 128, 512];

/// Returns the mean lengths of the blocks in bytes. Blocks of different lengths have whole `f64`s, and so
/// have those in structs.
pub fn lengths(arrangement: &str) -> &'static [usize] {
    match arrangement {
        "lists-of-lengths" | "structs" => &LENGTHS[2..],
        _ => &LENGTHS,
    }
}

/// The sizes of the messages in packed bytes. Open MPI sends messages of more than 4 KiB in another way, and
/// MPICH cuts those of more than 8 KiB.
pub const SIZES: [usize; 10] = [256, 1024, 3840, 4608, 7680, 8704, 32 << 10, 256 << 10, 1 << 20, 8 << 20];

/// Returns `true` if messages of `size` bytes are measured with blocks of `length` bytes: if they have
/// several blocks, and not more than a million.
pub fn is_measured(size: usize, length: usize) -> bool {
    (2..=1 << 20).contains(&(size / length))
}

/// The least packed size in bytes of messages that are packed.
const LEAST: usize = 512;

/// The largest part of the time by the datatype for which a packed message is clearly faster.
const FASTER: f64 = 0.9;

/// The size in bytes from which on Open MPI sends a message in another way: 4 KiB less a header.
const LIMIT_OF_OPEN_MPI: usize = 4032;

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
    /// The part that a packed message takes of the time by the datatype that a user would write.
    ratio: f64,
}

/// Returns the policy for all recorded libraries, as `dtype-interpose/src/policy.csv` has it: the sizes that
/// are packed, for each arrangement and length of blocks. They are faster packed on each machine. On one that
/// has not measured blocks of this length, longer ones count, which gain less.
///
/// # Errors
/// If the text is no file of recorded rows, or a case of the policy lacks a time.
pub fn policy(recorded: &str) -> Result<String> {
    let mut groups: BTreeMap<(String, usize, usize), BTreeMap<String, Vec<Measured>>> = BTreeMap::new();
    for ((library, case), times) in record::read(recorded)? {
        let (name, size) = split_shape(&case);
        let Some((arrangement, length)) = split_case(name) else { continue };
        let found = measured(size, &times).with_context(|| format!("{library}: `{case}` lacks a time"))?;
        let (version, machine) = split_machine(&library);
        let group = groups.entry((version.to_owned(), arrangement, length)).or_default();
        group.entry(machine.to_owned()).or_default().push(found);
    }
    groups.values_mut().flat_map(BTreeMap::values_mut).for_each(|all| all.sort_by_key(|one| one.size));
    let mut text = "library,arrangement,block,sizes\n".to_owned();
    for key in groups.keys() {
        let (library, arrangement, length) = key;
        let longest = (library.clone(), *arrangement, usize::MAX);
        let known = library.starts_with("openmpi-").then_some(LIMIT_OF_OPEN_MPI);
        let mut machines: BTreeMap<&String, Vec<Range>> = BTreeMap::new();
        for ((.., measured_length), group) in groups.range(key..&longest) {
            for (machine, measured) in group {
                let as_measured = || ranges(measured, known).into_iter();
                let for_length = |range: Range| range.of_shorter_blocks(measured_length / length);
                machines.entry(machine).or_insert_with(|| as_measured().map(for_length).collect());
            }
        }
        let of_each = machines.into_values();
        let sizes: Vec<_> = of_each.reduce(|one, other| common(&one, &other)).into_iter().flatten().collect();
        let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
        writeln!(text, "{library},{},{length},{}", ARRANGEMENTS[*arrangement], sizes.join("; "))?;
    }
    Ok(text)
}

/// Returns the arrangement and the length of the blocks in bytes that the name of a [`case`] says, or `None`
/// if it is another case.
fn split_case(name: &str) -> Option<(usize, usize)> {
    let (arrangement, length) = name.split_once('/')?.0.rsplit_once("-of-")?;
    let arrangement = ARRANGEMENTS.iter().position(|known| *known == arrangement)?;
    Some((arrangement, length.parse().ok()?))
}

/// Returns a case from its shape and its times, or `None` if one of them is missing.
fn measured(shape: Option<Size>, times: &Times) -> Option<Measured> {
    let (size, touched) = match shape? {
        Size::Contiguous(bytes) => (bytes, 1.0),
        Size::Blocks(shape) => (shape.bytes, shape.memory() as f64 / shape.bytes as f64),
    };
    let ratio = times.get("packed")? / times.get("typed")?;
    Some(Measured { size, touched, ratio })
}

/// A range of sizes that are packed.
#[derive(Clone, Copy)]
struct Range {
    start: usize,
    /// The least size in bytes that is too large, with the `touched` memory if the caches limit it; `None` if
    /// no measured size is too large.
    end: Option<(usize, Option<f64>)>,
}

impl Range {
    /// Returns the range for blocks that are so many times shorter. A limit of the caches is that of so many
    /// blocks.
    fn of_shorter_blocks(mut self, times: usize) -> Self {
        if let Some((end, Some(_))) = &mut self.end {
            *end *= times;
        }
        self
    }
}

/// Writes `512 to 8192`, or `65536 to 400000 at 2.90`, with the touched memory. `any` is no limit.
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.start;
        match self.end {
            None => write!(f, "{start} to any"),
            Some((end, None)) => write!(f, "{start} to {end}"),
            Some((end, Some(touched))) => write!(f, "{start} to {end} at {touched:.2}"),
        }
    }
}

/// Returns the ranges of sizes that are packed. Between two measured sizes that differ, the limit is the
/// `known` one, or their geometric mean.
fn ranges(measured: &[Measured], known: Option<usize>) -> Vec<Range> {
    let between = |i: usize| {
        let [below, above] = [measured[i].size, measured[i + 1].size];
        let known = known.filter(|known| (below..above).contains(known));
        known.unwrap_or_else(|| (below as f64 * above as f64).sqrt() as usize)
    };
    let mut ranges = Vec::new();
    let mut first = None;
    for (i, Measured { touched, ratio, .. }) in measured.iter().enumerate() {
        if *ratio >= FASTER {
            continue;
        }
        let start = || if i == 0 { (measured[0].size / 2).max(LEAST) } else { between(i - 1) };
        let start = *first.get_or_insert_with(start);
        if measured.get(i + 1).is_some_and(|next| next.ratio < FASTER) {
            continue;
        }
        first = None;
        let end = measured.get(i + 1).map(|_| between(i));
        ranges.push(Range { start, end: end.map(|end| (end, (end >= CACHED).then_some(*touched))) });
    }
    ranges
}

/// Returns the sizes that are in one of the ranges of both lists.
fn common(one: &[Range], other: &[Range]) -> Vec<Range> {
    let limit = |range: &Range| range.end.map_or(usize::MAX, |(end, _)| end);
    let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
    let both = pairs.map(|(a, b)| Range {
        start: a.start.max(b.start),
        end: if limit(a) <= limit(b) { a.end } else { b.end },
    });
    both.filter(|range| range.start < limit(range)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_case_is_read_as_it_is_written() {
        for (i, arrangement) in ARRANGEMENTS.into_iter().enumerate() {
            assert_eq!(split_case(&case(arrangement, 48, 1024)), Some((i, 48)));
        }
        assert!(["struct-of-12/64", "contiguous/8", "drawn/lists-of-8"].map(split_case) == [None; 3]);
    }

    /// Checks that sizes are packed only if all machines agree, and that longer blocks count where short ones
    /// were not measured.
    #[test]
    fn a_policy_is_that_of_all_machines() {
        let row = |machine: &str, length: usize, size: usize, packed: f64| {
            let case = case("columns", length, size);
            format!("mpich-4.0.2 on {machine},{case} of {size} bytes,packed={packed};typed=10\n")
        };
        let header = "library,case,microseconds of the contenders\n";
        let rows = [
            row("AMD", 4, 1024, 2.0) + &row("AMD", 4, 4096, 2.0) + &row("AMD", 8, 1024, 2.0),
            row("AMD", 8, 4096, 9.5) + &row("Intel", 8, 1024, 20.0) + &row("Intel", 8, 4096, 5.0),
        ];
        let policy = policy(&(header.to_owned() + &rows.concat())).unwrap();
        let expected = "mpich-4.0.2,columns,4,2048 to any\nmpich-4.0.2,columns,8,\n";
        assert_eq!(policy, "library,arrangement,block,sizes\n".to_owned() + expected);
    }

    /// Checks that a limit of the caches is that of so many blocks, and a limit of the library is not.
    #[test]
    fn a_limit_of_the_caches_is_higher_for_shorter_blocks() {
        let range = |end| Range { start: 512, end: Some(end) };
        assert_eq!(range((100_000, Some(3.0))).of_shorter_blocks(8).to_string(), "512 to 800000 at 3.00");
        assert_eq!(range((4032, None)).of_shorter_blocks(8).to_string(), "512 to 4032");
        assert_eq!(Range { start: 512, end: None }.of_shorter_blocks(8).to_string(), "512 to any");
    }

    #[test]
    fn sizes_that_are_faster_packed_are_ranges() {
        let text = |ranges: Vec<Range>| ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let measured = |faster: [bool; 4]| -> Vec<Measured> {
            let sizes = [1 << 10, 4 << 10, 16 << 10, 1 << 20];
            let all = sizes.into_iter().zip(faster);
            all.map(|(size, is_faster)| Measured {
                size,
                touched: 2.0,
                ratio: if is_faster { 0.8 } else { 1.0 },
            })
            .collect()
        };
        assert_eq!(text(ranges(&measured([false; 4]), None)), "");
        assert_eq!(text(ranges(&measured([true; 4]), None)), "512 to any");
        assert_eq!(text(ranges(&measured([true, false, false, true]), None)), "512 to 2048; 131072 to any");
        assert_eq!(text(ranges(&measured([false, true, false, false]), None)), "2048 to 8192");
        assert_eq!(text(ranges(&measured([false, true, true, false]), None)), "2048 to 131072 at 2.00");
        let [one, other] = [[true, false, false, true], [true, true, true, false]]
            .map(|faster| ranges(&measured(faster), None));
        let known = Some(4032);
        assert_eq!(text(ranges(&measured([true, false, false, false]), known)), "512 to 4032");
        assert_eq!(text(ranges(&measured([true, true, false, false]), known)), "512 to 8192");
        assert_eq!(text(common(&one, &other)), "512 to 2048");
        assert_eq!(text(common(&one, &one)), text(one));
    }
}
