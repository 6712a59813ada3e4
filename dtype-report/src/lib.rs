//! Reports of how programs use datatypes: the number of messages, the time for packing, and the time that an
//! MPI library would have taken. A preloaded library counts on each rank; the command `dtype report` reads
//! the reports.
//!
//! ```
//! use dtype_report::{Report, SortBy, Usage};
//!
//! // Each rank writes its report as JSON.
//! let row = Usage { built: "vector(f64)".into(), messages: 10, bytes: 8000, ..Usage::default() };
//! let of_rank = Report { ranks: 1, of: 2, datatypes: vec![row], ..Report::default() };
//! let text = serde_json::to_string(&of_rank).unwrap();
//!
//! // The rows of the ranks are added up.
//! let mut all: Report = serde_json::from_str(&text).unwrap();
//! all.add(&of_rank);
//! all.sort(SortBy::Bytes);
//! assert_eq!((all.ranks, all.datatypes[0].messages), (2, 20));
//! assert!(all.table(10).contains("vector(f64)"));
//! ```
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod table;

use std::{cmp::Reverse, collections::BTreeMap};

use dtype_core::{Bounds, CostModel, Error, Limits, Optimality, TypeTree, normalize_within};
use serde::{Deserialize, Serialize};

pub use table::MOST_ROWS;

/// The use of datatypes by one or several ranks of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The MPI library, by the name that it reports.
    pub library: String,
    /// The number of ranks in the report.
    pub ranks: u64,
    /// The number of ranks in the job.
    pub of: u64,
    /// `true` if messages were packed; otherwise they were only counted.
    pub packs: bool,
    /// The datatypes that were committed and used, a row for each pair of constructors and call site.
    pub datatypes: Vec<Usage>,
}

/// A row: the datatypes with the same constructors that were committed at the same call site of the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// The constructors, the outermost first: `resized(struct(u8, f64))`.
    pub built: String,
    /// The call site of the commit: a function, with its file and line if there is debug information.
    pub place: String,
    /// The layout of the largest datatype, if it is known.
    pub layout: Option<Layout>,
    /// The packed bytes of the smallest and of the largest datatype.
    pub sizes: [u64; 2],
    /// The number of datatypes that were committed and used.
    pub committed: u64,
    /// The number of messages that were sent or received, of one-sided operations, and of calls of `MPI_Pack`
    /// and `MPI_Unpack`. A collective call counts its blocks.
    pub messages: u64,
    /// The packed bytes of these messages.
    pub bytes: u64,
    /// The number of messages that were packed.
    pub packed: u64,
    /// The number of messages that would have been packed if packing had been on.
    pub packable: u64,
    /// The packed bytes of the messages that were packed, or would have been.
    pub worth: u64,
    /// The seconds spent in packing and unpacking.
    pub seconds: f64,
    /// The seconds that are spent once for each datatype.
    pub first_use: FirstUse,
    /// The times of messages that were packed both by a plan and by `MPI_Pack`, to compare the times.
    pub samples: Samples,
    /// The reasons why messages were not packed, with the number of messages for each reason.
    pub reasons: BTreeMap<String, u64>,
}

/// The seconds that are spent once for each datatype.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FirstUse {
    /// Inspecting the datatype in `MPI_Type_commit`.
    pub commit: f64,
    /// Decoding the datatype and making its plan.
    pub planning: f64,
    /// Packing or unpacking the first message, which [`Usage::seconds`] includes.
    pub message: f64,
    /// The packed bytes of the first message; not a time.
    pub bytes: u64,
}

/// A layout, with its least-cost tree if there was a search for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// The tree as the datatype was constructed.
    pub tree: TypeTree,
    /// The lower bound and the extent of the datatype.
    pub bounds: Bounds,
    /// The least-cost tree that was found, and whether it is proven to be the least.
    pub least: Option<(TypeTree, Optimality)>,
}

/// Times of packing the same messages in two ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// Packed bytes.
    pub bytes: u64,
    /// Seconds by a plan.
    pub plan: f64,
    /// Seconds by `MPI_Pack`.
    pub library: f64,
}

impl Samples {
    /// Returns the times for `bytes` bytes at the same speeds.
    #[must_use]
    pub fn scaled_to(&self, bytes: u64) -> Self {
        if self.bytes == 0 {
            return *self;
        }
        let factor = bytes as f64 / self.bytes as f64;
        Self { bytes, plan: self.plan * factor, library: self.library * factor }
    }

    fn add(&mut self, other: &Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.plan += other.plan;
        self.library += other.library;
    }
}

impl FirstUse {
    fn total(&self) -> f64 {
        self.commit + self.planning + self.message
    }

    fn add(&mut self, other: &Self) {
        self.commit += other.commit;
        self.planning += other.planning;
        self.message += other.message;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// The seconds with packed messages, and without them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// The time for packing and unpacking, without the first message of each datatype.
    pub packing: f64,
    /// The time that is spent once for each datatype: for its commit, its plan and its first message.
    pub first_use: f64,
    /// The time that `MPI_Pack` and `MPI_Unpack` take for the same messages.
    pub library: f64,
}

impl Times {
    /// Returns the seconds that packing wins; negative if packing loses time.
    pub fn won(&self) -> f64 {
        self.library - self.packing - self.first_use
    }

    fn plus(self, other: Self) -> Self {
        Self {
            packing: self.packing + other.packing,
            first_use: self.first_use + other.first_use,
            library: self.library + other.library,
        }
    }
}

/// The largest number of different reasons in a row.
const MOST_REASONS: usize = 8;

impl Usage {
    /// Returns `true` if another row has the same constructors and call site.
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.place, &self.built) == (&other.place, &other.built)
    }

    /// Adds a row with the same constructors and call site to this one.
    pub fn add(&mut self, other: &Self) {
        // All columns are named, so that none is forgotten.
        let Self {
            built: _,
            place: _,
            layout,
            sizes,
            committed,
            messages,
            bytes,
            packed,
            packable,
            worth,
            seconds,
            first_use,
            samples,
            reasons,
        } = other;
        let is_missing = sizes[1] == self.sizes[1] && self.layout.is_none();
        if sizes[1] > self.sizes[1] || is_missing {
            self.layout.clone_from(layout);
        }
        self.sizes = [self.sizes[0].min(sizes[0]), self.sizes[1].max(sizes[1])];
        // A report file may contain any numbers, so the sums saturate.
        self.committed = self.committed.saturating_add(*committed);
        self.messages = self.messages.saturating_add(*messages);
        self.bytes = self.bytes.saturating_add(*bytes);
        self.packed = self.packed.saturating_add(*packed);
        self.packable = self.packable.saturating_add(*packable);
        self.worth = self.worth.saturating_add(*worth);
        self.seconds += seconds;
        self.first_use.add(first_use);
        self.samples.add(samples);
        for (reason, messages) in reasons {
            if self.reasons.len() < MOST_REASONS || self.reasons.contains_key(reason) {
                let sum = self.reasons.entry(reason.clone()).or_default();
                *sum = sum.saturating_add(*messages);
            }
        }
    }

    /// Returns the times of this row if it has no samples to compare with the library: those that were
    /// measured. The time of the library is 0.
    fn uncompared(&self, packs: bool) -> Times {
        let packing = if packs { self.seconds - self.first_use.message } else { 0.0 };
        Times { packing, first_use: self.first_use.total(), library: 0.0 }
    }

    /// Returns the times of this row, or `None` if there are messages to compare but no samples.
    ///
    /// If messages were only counted, both times are scaled from the samples. If messages were packed, the
    /// time of `MPI_Pack` is estimated from the measured packing time by the ratio of the samples. First
    /// messages find memory cold, so for these the time of the samples counts.
    ///
    /// A library may take longer for a message than for packing it, as MPICH does if it splits a message
    /// within an element.
    pub fn times(&self, packs: bool) -> Option<Times> {
        let (first_use, Samples { bytes, plan, library }) = (self.first_use.total(), self.samples);
        if self.worth == 0 {
            return Some(Times { first_use, ..Times::default() });
        }
        if bytes == 0 || plan <= 0.0 {
            return None;
        }
        let sampled = |worth: u64| worth as f64 / bytes as f64;
        if !packs {
            let (packing, library) = (plan * sampled(self.worth), library * sampled(self.worth));
            return Some(Times { packing, first_use, library });
        }
        let packing = self.seconds - self.first_use.message;
        let library = packing * library / plan + library * sampled(self.first_use.bytes);
        Some(Times { packing, first_use, library })
    }

    /// Returns the reasons why messages were not packed, most messages first.
    fn reasons(&self) -> Vec<(&str, u64)> {
        let named = self.reasons.iter().map(|(reason, messages)| (reason.as_str(), *messages));
        let mut reasons: Vec<_> = named.filter(|(_, messages)| *messages > 0).collect();
        let known = reasons.iter().map(|(_, messages)| *messages);
        let known = known.chain([self.packed, self.packable]).fold(0, u64::saturating_add);
        if self.messages > known {
            reasons.push(("the whole call is not packed", self.messages - known));
        }
        reasons.sort_by_key(|(_, messages)| Reverse(*messages));
        reasons
    }
}

impl Layout {
    /// Searches for the least-cost tree, within limits.
    ///
    /// # Errors
    /// The errors of [`TypeTree::measure`].
    pub fn solve(&mut self, costs: &dyn CostModel, limits: &Limits) -> Result<(), Error> {
        let solution = normalize_within(&self.tree, costs, limits)?;
        self.least = Some((solution.tree, solution.optimality));
        Ok(())
    }
}

/// The order of a report's rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// Most seconds won or lost first.
    #[default]
    Time,
    /// Most seconds of first use first.
    FirstUse,
    /// Most bytes first.
    Bytes,
    /// Most messages first.
    Messages,
}

impl Report {
    /// Adds the report of other ranks of the job.
    pub fn add(&mut self, other: &Self) {
        self.ranks = self.ranks.saturating_add(other.ranks);
        self.packs |= other.packs;
        for usage in &other.datatypes {
            self.add_usage(usage.clone());
        }
    }

    /// Adds a row to the one with the same constructors and call site, or appends it if there is none.
    pub fn add_usage(&mut self, usage: Usage) {
        match self.datatypes.iter_mut().find(|other| other.is_like(&usage)) {
            Some(other) => other.add(&usage),
            None => self.datatypes.push(usage),
        }
    }

    /// Sorts the rows.
    pub fn sort(&mut self, by: SortBy) {
        let packs = self.packs;
        let times = |usage: &Usage| usage.times(packs).unwrap_or_default();
        let size = |number: f64| if number < 0.0 { -number } else { number };
        self.datatypes.sort_by(|a, b| {
            let of_times = |key: fn(Times) -> f64| size(key(times(b))).total_cmp(&size(key(times(a))));
            let order = match by {
                SortBy::Time => of_times(|times| times.won()),
                SortBy::FirstUse => of_times(|times| times.first_use),
                SortBy::Bytes => b.bytes.cmp(&a.bytes),
                SortBy::Messages => b.messages.cmp(&a.messages),
            };
            order.then(b.bytes.cmp(&a.bytes))
        });
    }

    /// Returns the total times of all rows that can be compared with the library.
    pub fn times(&self) -> Times {
        self.datatypes.iter().filter_map(|usage| usage.times(self.packs)).fold(Times::default(), Times::plus)
    }

    /// Returns the total times of the rows that have no samples, and so cannot be compared with the library.
    /// The time of the library is 0. Returns `None` if there are no such rows.
    pub fn uncompared(&self) -> Option<Times> {
        let rows = self.datatypes.iter().filter(|usage| usage.times(self.packs).is_none());
        rows.map(|usage| usage.uncompared(self.packs)).reduce(Times::plus)
    }
}

#[cfg(test)]
mod tests {
    use dtype_core::{BaseType, NodeCosts};

    use super::*;

    fn usage(messages: u64) -> Usage {
        let leaf = TypeTree::Leaf(BaseType::F64);
        let tree = TypeTree::index([0, 16, 32, 48], leaf);
        Usage {
            built: "indexed_block(f64)".into(),
            place: "main (a.c:3)".into(),
            layout: Some(Layout { tree, bounds: Bounds::of_extent(56), least: None }),
            sizes: [32, 32],
            committed: 1,
            messages,
            bytes: messages * 3200,
            packed: messages,
            packable: 0,
            worth: messages * 3200,
            seconds: messages as f64 * 1e-6,
            first_use: FirstUse { commit: 1e-6, planning: 2e-6, message: 1e-6, bytes: 3200 },
            samples: Samples { bytes: 6400, plan: 2e-6, library: 8e-6 },
            reasons: BTreeMap::new(),
        }
    }

    /// Returns a row whose messages were not packed.
    fn staying(messages: u64, reason: &str) -> Usage {
        let (first_use, samples) = (FirstUse::default(), Samples::default());
        let reasons = [(reason.to_owned(), messages)].into();
        Usage { packed: 0, worth: 0, seconds: 0.0, first_use, samples, reasons, ..usage(messages) }
    }

    fn report(packs: bool, datatypes: Vec<Usage>) -> Report {
        Report { library: "Some MPI 1.2".into(), ranks: 1, of: 2, packs, datatypes }
    }

    #[test]
    fn a_row_has_the_layout_of_its_largest_datatype_in_whatever_order_ranks_are_added() {
        let small = usage(1);
        let large = Usage { sizes: [64, 64], layout: None, ..usage(1) };
        let drawn = Usage { layout: usage(1).layout, ..large.clone() };
        let layout_of = |rows: [&Usage; 3]| {
            let mut sum = rows[0].clone();
            rows[1..].iter().for_each(|row| sum.add(row));
            sum.layout
        };
        // The layout of the largest datatype is not known, so the row has none.
        assert_eq!(layout_of([&small, &large, &small]), None);
        assert_eq!(layout_of([&large, &small, &small]), None);
        // Another rank knows it.
        assert!(layout_of([&small, &large, &drawn]).is_some());
        assert!(layout_of([&drawn, &small, &large]).is_some());
        assert!(layout_of([&large, &drawn, &small]).is_some());
    }

    #[test]
    fn ranks_are_added_row_by_row() {
        let other = Usage { place: "other (a.c:9)".into(), ..usage(7) };
        let mut all = report(true, vec![usage(10)]);
        all.add(&report(true, vec![other.clone(), usage(5)]));
        assert_eq!((all.ranks, all.datatypes.len()), (2, 2));
        assert_eq!((all.datatypes[0].messages, &all.datatypes[1]), (15, &other));
        let times = all.times();
        assert!((times.packing - (22e-6 - 3e-6)).abs() < 1e-9, "{times:?}");
        assert!((times.first_use - 3.0 * 4e-6).abs() < 1e-9, "{times:?}");
        assert!((times.library - 22.0 * 4e-6).abs() < 1e-9, "{times:?}");
    }

    /// Datatypes of one constructor and call site share a row, with a range of sizes and the tree of the
    /// largest.
    #[test]
    fn sizes_of_one_place_and_constructor_are_one_row() {
        let mut all = report(true, vec![]);
        for count in [4, 9, 2, 7] {
            let tree = TypeTree::vector(count, 16, TypeTree::Leaf(BaseType::F64));
            let layout = Some(Layout { tree, bounds: Bounds::of_extent(16 * count as i64), least: None });
            all.add_usage(Usage { layout, sizes: [8 * count; 2], ..usage(count) });
        }
        let [row] = &all.datatypes[..] else { panic!("{all:?}") };
        assert_eq!((row.sizes, row.committed, row.messages), ([16, 72], 4, 22));
        assert!(matches!(row.layout.as_ref().unwrap().tree, TypeTree::Vector { count: 9, .. }));
        let text = all.to_string();
        assert!(text.contains("    4 datatypes of 16 B to 72 B, committed in main (a.c:3)\n"), "{text}");
        assert!(text.contains("    the largest:\n      vec 9, stride 16"), "{text}");
    }

    #[test]
    fn messages_that_stay_say_why_and_how_many_they_are() {
        let mut all = report(true, vec![staying(3, "too small")]);
        all.add(&report(true, vec![usage(2), staying(1, "one block")]));
        assert_eq!(all.datatypes.len(), 1);
        let text = all.to_string();
        let says = "    3 not packed: too small\n    1 not packed: one block\n";
        assert!(text.contains(says), "{text}");
        let alone = Usage { messages: 5, ..staying(4, "too small") };
        let text = report(true, vec![staying(4, "too small"), alone]).to_string();
        assert!(text.contains("    not packed: too small\n"), "{text}");
        assert!(text.contains("    1 not packed: the whole call is not packed\n"), "{text}");
        assert!(text.contains("\n8 messages not packed: too small.\n"), "{text}");
    }

    #[test]
    fn rows_are_sorted_by_what_they_won_or_lost() {
        let named = |name: &str, usage: Usage| Usage { place: name.into(), ..usage };
        let expensive = FirstUse { planning: 1e-3, ..FirstUse::default() };
        let rows = vec![
            named("many bytes", Usage { bytes: 1 << 40, ..staying(3, "one block") }),
            named("wins", usage(100)),
            named("loses", Usage { first_use: expensive, ..usage(9) }),
            named("wins less", usage(50)),
            named("most messages", staying(1000, "too small")),
        ];
        let mut all = report(true, rows);
        let mut sorted = |by| {
            all.sort(by);
            all.datatypes.iter().map(|usage| usage.place.clone()).collect::<Vec<_>>()
        };
        assert_eq!(sorted(SortBy::Time), ["loses", "wins", "wins less", "many bytes", "most messages"]);
        assert_eq!(sorted(SortBy::Bytes)[..2], ["many bytes", "most messages"]);
        assert_eq!(sorted(SortBy::Messages)[..2], ["most messages", "wins"]);
        assert_eq!(sorted(SortBy::FirstUse)[0], "loses");
        assert!(all.to_string().contains("\n2 rows win 444.0 us, 1 row loses 973.0 us.\n"), "{all}");
    }

    /// Rows without samples count for the totals, but not for the time that was won.
    #[test]
    fn totals_have_the_rows_without_samples() {
        let receiving = |place: &str| Usage { place: place.into(), samples: Samples::default(), ..usage(10) };
        let text = report(true, vec![receiving("a"), receiving("b")]).to_string();
        let first = "Some MPI 1.2, 1 of 2 ranks: 20 of 20 messages were packed.\nPacking took 18.0 us and \
                     first use 8.0 us; no message was also packed by MPI_Pack, to compare the times.\n\n";
        assert!(text.starts_with(first), "{text}");
        let row =
            "      10       10     32.0 kB     9.0 us     4.0 us                        indexed_block(f64)";
        assert!(text.contains(row), "{text}");
        assert!(
            text.ends_with(
                "      20       20     64.0 kB    18.0 us     8.0 us                        in all\n"
            ),
            "{text}"
        );

        let text = report(true, vec![usage(10), receiving("a")]).to_string();
        let first = "Some MPI 1.2, 1 of 2 ranks: 20 of 20 messages were packed.\nPacking took 18.0 us and \
                     first use 8.0 us; MPI_Pack would have taken 40.0 us \
                     for the rows with samples: 27.0 us won.\n";
        assert!(text.starts_with(first), "{text}");
        let all = "      20       20     64.0 kB    18.0 us     8.0 us    40.0 us    27.0 us  in all\n";
        assert!(text.ends_with(all), "{text}");

        // Without packing, only the samples tell how long it would take.
        let counted = Usage { packed: 0, packable: 10, seconds: 0.0, ..receiving("a") };
        let text = report(false, vec![counted]).to_string();
        assert!(
            text.contains(
                "\nFirst use took 4.0 us; no message was packed in both ways, to compare the times.\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn twenty_rows_are_written_and_the_others_counted() {
        let row = |i: u64| Usage { place: format!("place {i}"), ..usage(i) };
        let all = report(true, (1..=23).map(row).collect());
        let text = all.to_string();
        assert!(text.contains("place 20\n") && !text.contains("place 21\n"), "{text}");
        assert!(text.contains("\n… and 3 more: `dtype report --all` shows them\n"), "{text}");
        let text = all.table(usize::MAX);
        assert!(text.contains("place 23\n") && !text.contains("more"), "{text}");
    }

    /// The time of first use has a column, even for datatypes that are never packed.
    #[test]
    fn first_use_is_a_column() {
        let first_use = FirstUse { commit: 1e-6, planning: 3e-6, ..FirstUse::default() };
        let text = report(true, vec![Usage { first_use, ..staying(2, "one block") }]).to_string();
        let row =
            "       2        0      6.4 kB                4.0 us               -4.0 us  indexed_block(f64)";
        assert!(text.contains(row), "{text}");
    }

    #[test]
    fn no_count_in_a_file_is_too_large() {
        let most = Usage { bytes: u64::MAX, packed: u64::MAX, worth: u64::MAX, ..usage(0) };
        let reasons = BTreeMap::from([("x".to_owned(), u64::MAX), ("y".to_owned(), u64::MAX)]);
        let most = Usage { packable: u64::MAX, committed: u64::MAX, sizes: [u64::MAX; 2], reasons, ..most };
        let most = Usage { messages: u64::MAX, samples: Samples { bytes: u64::MAX, ..most.samples }, ..most };
        let other = Usage { place: "other (a.c:9)".into(), ..most.clone() };
        let mut all = Report { ranks: u64::MAX, ..report(true, vec![most.clone(), other]) };
        all.add(&Report { ranks: 1, ..report(true, vec![most]) });
        assert_eq!((all.ranks, all.datatypes[0].messages), (u64::MAX, u64::MAX));
        assert!(all.to_string().contains("18446744073709551615"));
    }

    #[test]
    fn a_row_keeps_a_few_reasons() {
        let mut all = staying(1, "reason 0");
        (1..100).for_each(|i| all.add(&staying(1, &format!("reason {i}"))));
        assert_eq!((all.reasons.len(), all.reasons().len()), (MOST_REASONS, MOST_REASONS + 1));
    }

    #[test]
    fn samples_of_a_datatype_are_scaled_to_its_messages() {
        let samples = Samples { bytes: 100, plan: 1.0, library: 3.0 };
        assert_eq!(samples.scaled_to(200), Samples { bytes: 200, plan: 2.0, library: 6.0 });
        assert_eq!(Samples::default().scaled_to(200), Samples::default());
    }

    #[test]
    fn the_table_says_first_what_was_won() {
        let mut counted = usage(10);
        counted.layout.as_mut().unwrap().solve(&NodeCosts::default(), &Limits::default()).unwrap();
        let text = report(true, vec![counted.clone()]).to_string();
        let row =
            "      10       10     32.0 kB     9.0 us     4.0 us    40.0 us    27.0 us  indexed_block(f64)";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("least-cost tree (proven):\n      vec 4, stride 16"), "{text}");
        let first = "Some MPI 1.2, 1 of 2 ranks: 10 of 10 messages were packed.\nPacking took 9.0 us and \
                     first use 4.0 us; MPI_Pack would have taken 40.0 us: 27.0 us won.\n";
        assert!(text.starts_with(first), "{text}");
        let first_use = FirstUse { message: 0.0, ..counted.first_use };
        counted = Usage { packed: 0, packable: 10, seconds: 0.0, first_use, ..counted };
        let text = report(false, vec![counted]).to_string();
        let first = "Some MPI 1.2, 1 of 2 ranks: messages were counted, 10 of 10 would be packed.\n\
                     Packing would take 10.0 us and first use 3.0 us; MPI_Pack takes 40.0 us: \
                     27.0 us to win.\n";
        assert!(text.starts_with(first), "{text}");
        let slow = Usage { samples: Samples { bytes: 6400, plan: 8e-6, library: 4e-6 }, ..usage(10) };
        assert!(report(true, vec![slow]).to_string().contains("6.5 us: 6.5 us lost.\n"));
        let text = report(true, vec![staying(1, "its blocks are long")]).to_string();
        assert!(text.contains("\nNothing was worth packing; first use took 0.0 us.\n"), "{text}");
    }
}
