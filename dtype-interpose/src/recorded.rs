//! The recorded policies: the sizes of messages that are faster packed than by their datatype, for blocks of
//! some lengths and arrangements. `cargo xtask bench libraries --record` derives them from its times.

use std::sync::OnceLock;

use dtype_mpi::running;

/// The recorded policies.
const RECORDED: &str = include_str!("policy.csv");

/// The largest number of ranges of sizes.
pub(crate) const RANGES: usize = 3;

/// The longest block, in bytes, to which a recorded policy applies. The longest ones that are recorded have
/// 512 bytes.
pub(crate) const LONGEST: usize = 1 << 10;

/// The library whose policies hold for libraries that are not recorded.
const OTHERS: &str = "mpich";

/// The arrangement of the blocks in the elements of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// At equal distances, in elements of many blocks.
    Columns,
    /// At equal distances, in elements of few blocks.
    SmallColumns,
    /// At any offsets, in elements of many blocks.
    Lists,
    /// At any offsets, in elements of few blocks.
    SmallLists,
    /// At any offsets, of different lengths.
    ListsOfLengths,
    /// Of different base types.
    Structs,
}

impl Arrangement {
    /// All arrangements.
    const ALL: [Self; 6] = [
        Self::Columns,
        Self::SmallColumns,
        Self::Lists,
        Self::SmallLists,
        Self::ListsOfLengths,
        Self::Structs,
    ];

    /// Returns the name in the recorded file.
    const fn name(self) -> &'static str {
        match self {
            Self::Columns => "columns",
            Self::SmallColumns => "small-columns",
            Self::Lists => "lists",
            Self::SmallLists => "small-lists",
            Self::ListsOfLengths => "lists-of-lengths",
            Self::Structs => "structs",
        }
    }
}

/// A range of sizes of messages that are packed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sizes {
    /// The least packed size in bytes.
    pub start: usize,
    /// The least packed size in bytes that is too large.
    pub end: usize,
    /// If the caches limit the size: the bytes of memory, in whole cache lines, that the recorded layout
    /// touches for each packed byte.
    pub touched: Option<f64>,
}

impl Sizes {
    /// Returns the least packed size in bytes that is too large for a layout. Its blocks are `longer` times
    /// as long as the recorded ones, and it touches so much memory for each packed byte. Blocks that touch
    /// twice as much memory each may be a quarter as many: there are twice as many lines, and lines that are
    /// far apart are not fetched ahead.
    pub fn end_for(&self, longer: f64, touched: f64) -> usize {
        let end = self.end as f64;
        self.touched.map_or(self.end, |recorded| (end / longer * (recorded / touched).powi(2)) as usize)
    }

    /// Reads `512 to 8192`, or `65536 to 400000 at 2.9`, with the touched memory. `any` is no limit.
    fn parse(text: &str) -> Option<Self> {
        let number = |word: &str| if word == "any" { Some(usize::MAX) } else { word.parse().ok() };
        let (start, end) = text.trim().split_once(" to ")?;
        let (end, touched) = match end.split_once(" at ") {
            Some((end, touched)) => (end, Some(touched.parse().ok()?)),
            None => (end, None),
        };
        Some(Self { start: number(start)?, end: number(end)?, touched })
    }
}

/// The recorded policy for blocks of one length and arrangement.
struct Row {
    library: &'static str,
    arrangement: Arrangement,
    /// The length of the blocks in bytes.
    block: usize,
    sizes: Vec<Sizes>,
}

impl Row {
    /// Reads `openmpi-4.1.4,columns,8,512 to 1000; 4000 to any`.
    fn parse(line: &'static str) -> Option<Self> {
        let [library, name, block, sizes] = line.split(',').collect::<Vec<_>>().try_into().ok()?;
        let arrangement = Arrangement::ALL.into_iter().find(|arrangement| arrangement.name() == name)?;
        let sizes = sizes.split(';').filter(|text| !text.is_empty()).map(Sizes::parse);
        Some(Self { library, arrangement, block: block.parse().ok()?, sizes: sizes.collect::<Option<_>>()? })
    }
}

/// Returns the policies that hold for a library: those of its major version. If there are none, returns those
/// of its newest recorded version, or else of the newest MPICH.
fn for_library(name: &str, major: u32) -> Vec<Row> {
    let all = || RECORDED.lines().skip(1).filter_map(Row::parse);
    let newest = |beginning: String| all().filter(|row| row.library.starts_with(&beginning)).last();
    let found =
        [format!("{name}-{major}."), format!("{name}-"), format!("{OTHERS}-")].into_iter().find_map(newest);
    found.map_or_else(Vec::new, |found| all().filter(|row| row.library == found.library).collect())
}

/// Returns the sizes of messages that are packed with the library that runs, and how many times as long as
/// the recorded blocks those of a layout are. `block` is their mean length in bytes.
pub(crate) fn sizes(arrangement: Arrangement, block: usize) -> (&'static [Sizes], f64) {
    static OWN: OnceLock<Vec<Row>> = OnceLock::new();
    let own = OWN.get_or_init(|| for_library(running().name, running().version.0));
    let of_arrangement = own.iter().filter(|row| row.arrangement == arrangement);
    let ratio = |row: &&Row| row.block.max(block) as f64 / row.block.min(block).max(1) as f64;
    // Of two that are equally near, the longer one.
    let nearest = of_arrangement.rev().min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    nearest.map_or((&[], 1.0), |row| (&row.sizes, block.max(1) as f64 / row.block as f64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_line_of_the_recorded_policies_is_read() {
        let rows: Vec<_> = RECORDED.lines().skip(1).filter_map(Row::parse).collect();
        assert_eq!(rows.len(), RECORDED.lines().count() - 1);
        assert!(rows.iter().all(|row| row.sizes.len() <= RANGES && row.block <= LONGEST));
        let libraries: BTreeSet<_> = rows.iter().map(|row| row.library).collect();
        for arrangement in Arrangement::ALL {
            let of_arrangement = || rows.iter().filter(|row| row.arrangement == arrangement);
            let lengths: BTreeSet<_> = of_arrangement().map(|row| row.block).collect();
            // Each library has each length once.
            assert!(lengths.len() >= 5, "{}", arrangement.name());
            assert_eq!(of_arrangement().count(), lengths.len() * libraries.len(), "{}", arrangement.name());
        }
    }

    #[test]
    fn a_library_that_is_not_recorded_has_the_policy_of_its_kin() {
        let library = |name, major| for_library(name, major)[0].library;
        assert!(library("mpich", 4).starts_with("mpich-4."));
        assert_eq!(library("mpich", 99), library("mpich", 5));
        assert_eq!(library("abi", 0), library("mpich", 5));
        assert!(library("openmpi", 99).starts_with("openmpi-5."));
    }

    #[test]
    fn sizes_are_read_with_the_memory_that_limits_them() {
        let sizes = |start, end, touched| Some(Sizes { start, end, touched });
        assert_eq!(Sizes::parse("512 to 8192"), sizes(512, 8192, None));
        assert_eq!(Sizes::parse(" 9 to 4000 at 2.5"), sizes(9, 4000, Some(2.5)));
        assert_eq!(Sizes::parse("512 to any"), sizes(512, usize::MAX, None));
        assert!(["512", "512 to x", "512 to 8 at x"].into_iter().all(|text| Sizes::parse(text).is_none()));
        let limited = Sizes { start: 512, end: 80_000, touched: Some(2.0) };
        assert_eq!([1.0, 2.0, 4.0].map(|touched| limited.end_for(1.0, touched)), [320_000, 80_000, 20_000]);
        // As many blocks of a quarter of the length, which touch a quarter of the memory or as much each.
        assert_eq!([2.0, 8.0].map(|touched| limited.end_for(0.25, touched)), [320_000, 20_000]);
        assert_eq!(Sizes { touched: None, ..limited }.end_for(0.5, 4.0), 80_000);
    }
}
