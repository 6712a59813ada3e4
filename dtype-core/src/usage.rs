//! What programs did with datatypes: how often, how long packing took, and what an MPI library would have
//! taken. A preloaded library counts it, each rank for itself; the command `dtype report` reads it.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt::{self, Write as _};

use crate::{Bounds, CostModel, Error, Limits, NodeCosts, Optimality, TypeTree, normalize_within};

/// What one rank or several ranks of a job did.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Report {
    /// The MPI library, as it calls itself.
    pub library: String,
    /// How many ranks are in it, and how many there are in the job.
    pub ranks: u64,
    /// See `ranks`.
    pub of: u64,
    /// Whether messages went packed; otherwise they were only counted.
    pub packs: bool,
    /// What was committed and used, the datatypes of most bytes first.
    pub datatypes: Vec<Usage>,
}

/// Datatypes of one layout, committed at one place of the program.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Usage {
    /// The constructors, the outermost first: `resized(struct(u8, f64))`.
    pub built: String,
    /// Where it was committed: a function, with its file and line where debug information has them.
    pub place: String,
    /// What it describes, if that is known.
    pub layout: Option<Layout>,
    /// Packed bytes of one.
    pub size: u64,
    /// Messages that were sent or received, or blocks of collective calls.
    pub messages: u64,
    /// Their packed bytes.
    pub bytes: u64,
    /// Messages that went packed.
    pub packed: u64,
    /// Bytes of messages that went packed, or would have, were messages not only counted.
    pub worth: u64,
    /// How long packing and unpacking took, in seconds.
    pub seconds: f64,
    /// Messages that were packed in both ways to compare them.
    pub samples: Samples,
    /// Why messages stay as they are, if all do.
    pub reason: Option<String>,
}

/// A layout, and its least-cost form if that has been looked for.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Layout {
    /// As the datatype was made.
    pub tree: TypeTree,
    /// Its lower bound and its extent.
    pub bounds: Bounds,
    /// The least-cost tree, and whether it is known to be that.
    pub least: Option<(TypeTree, Optimality)>,
}

/// Packing the same messages in two ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Samples {
    /// Packed bytes.
    pub bytes: u64,
    /// Seconds by a plan.
    pub plan: f64,
    /// Seconds by `MPI_Pack`.
    pub library: f64,
}

impl Samples {
    fn add(&mut self, other: &Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.plan += other.plan;
        self.library += other.library;
    }
}

impl Usage {
    /// Whether it is about the same datatypes as another one.
    pub fn is_like(&self, other: &Self) -> bool {
        let is_same = match (&self.layout, &other.layout) {
            (Some(one), Some(other)) => one.bounds == other.bounds && one.tree == other.tree,
            (one, other) => one.is_none() && other.is_none(),
        };
        (&self.built, &self.place, self.size) == (&other.built, &other.place, other.size) && is_same
    }

    /// Adds what was done with other datatypes like it.
    pub fn add(&mut self, other: &Self) {
        // Files may say anything.
        self.messages = self.messages.saturating_add(other.messages);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.packed = self.packed.saturating_add(other.packed);
        self.worth = self.worth.saturating_add(other.worth);
        self.seconds += other.seconds;
        self.samples.add(&other.samples);
        if other.reason.is_none() {
            self.reason = None;
        }
    }

    /// Seconds in packing and unpacking, and what `MPI_Pack` and `MPI_Unpack` would have taken at the ratio
    /// of the samples; where messages were only counted, both as the samples say. Nothing without samples.
    ///
    /// A library may take longer for a message than for packing it, as MPICH does where it cuts within an
    /// element.
    pub fn seconds(&self, packs: bool) -> Option<(f64, f64)> {
        let Samples { bytes, plan, library } = self.samples;
        if bytes == 0 || self.worth == 0 || plan <= 0.0 {
            return None;
        }
        let seconds = if packs { self.seconds } else { plan * (self.worth as f64 / bytes as f64) };
        Some((seconds, seconds * library / plan))
    }
}

impl Layout {
    /// Looks for the least-cost tree, within limits.
    ///
    /// # Errors
    /// Those of [`TypeTree::measure`].
    pub fn solve(&mut self, costs: &dyn CostModel, limits: &Limits) -> Result<(), Error> {
        let solution = normalize_within(&self.tree, costs, limits)?;
        self.least = Some((solution.tree, solution.optimality));
        Ok(())
    }
}

impl Report {
    /// Adds what other ranks of the job did.
    pub fn add(&mut self, other: &Self) {
        self.ranks = self.ranks.saturating_add(other.ranks);
        self.packs |= other.packs;
        for usage in &other.datatypes {
            self.add_usage(usage.clone());
        }
    }

    /// Adds what was done with one datatype.
    pub fn add_usage(&mut self, usage: Usage) {
        match self.datatypes.iter_mut().find(|other| other.is_like(&usage)) {
            Some(other) => other.add(&usage),
            None => self.datatypes.push(usage),
        }
    }

    /// Puts the datatypes of most bytes first.
    pub fn sort(&mut self) {
        self.datatypes.sort_by_key(|usage| core::cmp::Reverse(usage.bytes));
    }

    /// Seconds in packing and unpacking, and what the library would have taken, in all.
    pub fn seconds(&self) -> (f64, f64) {
        let all = self.datatypes.iter().filter_map(|usage| usage.seconds(self.packs));
        all.fold((0.0, 0.0), |sum, seconds| (sum.0 + seconds.0, sum.1 + seconds.1))
    }
}

/// As many lines of a tree are written, and as many characters of each.
const MOST_LINES: usize = 12;
const MOST_CHARACTERS: usize = 90;

/// A table: each datatype with its counts and times, what it is, and its least-cost tree; then the sums.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, true)
    }
}

impl Report {
    /// The table without the trees, for whoever draws them.
    pub fn table(&self) -> String {
        struct Table<'a>(&'a Report);
        impl fmt::Display for Table<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.write(f, false)
            }
        }
        Table(self).to_string()
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, has_trees: bool) -> fmt::Result {
        let (ranks, of, library) = (self.ranks, self.of, &self.library);
        let what =
            if self.packs { "messages went packed" } else { "messages were counted, none went packed" };
        let s = if of == 1 { "" } else { "s" };
        writeln!(f, "{library}, {ranks} of {of} rank{s}: {what}.\n")?;
        let won = if self.packs { "won" } else { "to win" };
        writeln!(f, "messages   packed       bytes    packing    library  {won:>9}")?;
        for usage in &self.datatypes {
            row(f, [usage.messages, usage.packed, usage.bytes], usage.seconds(self.packs))?;
            writeln!(f, "  {}", usage.built)?;
            writeln!(f, "    committed in {}", usage.place)?;
            if let Some(layout) = usage.layout.as_ref().filter(|_| has_trees) {
                f.write_str(&layout.in_short())?;
            }
            if let Some(reason) = &usage.reason {
                writeln!(f, "    stays as it is: {reason}")?;
            }
        }
        let sum = |count: fn(&Usage) -> u64| self.datatypes.iter().map(count).fold(0, u64::saturating_add);
        let counts = [sum(|usage| usage.messages), sum(|usage| usage.packed), sum(|usage| usage.bytes)];
        let (plan, library) = self.seconds();
        row(f, counts, Some((plan, library)).filter(|_| library > 0.0))?;
        writeln!(f, "  in all\n")?;
        let (here, there) = (time(plan), time(library));
        match (library > 0.0, self.packs) {
            (false, _) => return writeln!(f, "Nothing was worth packing."),
            (true, true) => write!(f, "Packing took {here}, where MPI_Pack would have taken {there}")?,
            (true, false) => write!(f, "Packing would take {here}, where MPI_Pack takes {there}")?,
        }
        if library > plan {
            let won = if self.packs { "won" } else { "to win" };
            write!(f, ": {} {won}", time(library - plan))?;
        }
        writeln!(f, ".\nLibraries may take longer in a message than in MPI_Pack, as MPICH does.")
    }
}

fn row(
    f: &mut fmt::Formatter<'_>,
    [messages, packed, bytes]: [u64; 3],
    seconds: Option<(f64, f64)>,
) -> fmt::Result {
    let [plan, library, won] = match seconds {
        Some((plan, library)) => [plan, library, library - plan].map(time),
        None => ["", "", ""].map(ToString::to_string),
    };
    let bytes = crate::usage::bytes(bytes);
    write!(f, "{messages:8} {packed:8} {bytes:>11} {plan:>10} {library:>10} {won:>10}")
}

impl Layout {
    /// The tree, and the least-cost one if it is another, in a few lines.
    fn in_short(&self) -> String {
        let mut text = short(&self.tree);
        let costs = NodeCosts::default();
        match &self.least {
            Some((least, optimality)) if least.cost(&costs) < self.tree.cost(&costs) => {
                let _ = writeln!(text, "    at least cost ({}):", optimality.name());
                text.push_str(&short(least));
            }
            Some((_, optimality)) => {
                let _ = writeln!(text, "    nothing cheaper describes it ({})", optimality.name());
            }
            None => {}
        }
        text
    }
}

/// The first lines of a tree, indented.
fn short(tree: &TypeTree) -> String {
    let drawn = tree.to_string();
    let mut text = String::new();
    for line in drawn.lines().take(MOST_LINES) {
        let cut: String = line.chars().take(MOST_CHARACTERS).collect();
        let _ = writeln!(text, "      {cut}");
    }
    let more = drawn.lines().count().saturating_sub(MOST_LINES);
    if more > 0 {
        let _ = writeln!(text, "      … {more} more");
    }
    text
}

/// A number of bytes with its unit.
fn bytes(bytes: u64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let unit = units.into_iter().find(|(unit, _)| bytes as f64 >= *unit);
    unit.map_or_else(|| format!("{bytes} B"), |(unit, name)| format!("{:.1} {name}", bytes as f64 / unit))
}

/// A time with its unit.
fn time(seconds: f64) -> String {
    let size = if seconds < 0.0 { -seconds } else { seconds };
    let units = [(1.0, "s"), (1e-3, "ms"), (0.0, "us")];
    let (unit, name) = units.into_iter().find(|(unit, _)| size >= *unit).unwrap_or((0.0, "us"));
    let unit = if unit == 0.0 { 1e-6 } else { unit };
    format!("{:.1} {name}", seconds / unit)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::BaseType;

    fn usage(messages: u64) -> Usage {
        let leaf = TypeTree::Leaf(BaseType::F64);
        let tree = TypeTree::index([0, 16, 32, 48], leaf);
        Usage {
            built: "indexed_block(f64)".into(),
            place: "main (a.c:3)".into(),
            layout: Some(Layout { tree, bounds: Bounds::of_extent(56), least: None }),
            size: 32,
            messages,
            bytes: messages * 3200,
            packed: messages,
            worth: messages * 3200,
            seconds: messages as f64 * 1e-6,
            samples: Samples { bytes: 6400, plan: 2e-6, library: 8e-6 },
            reason: None,
        }
    }

    fn report(packs: bool, datatypes: Vec<Usage>) -> Report {
        Report { library: "Some MPI 1.2".into(), ranks: 1, of: 2, packs, datatypes }
    }

    #[test]
    fn ranks_are_added_datatype_by_datatype() {
        let other = Usage { place: "other (a.c:9)".into(), ..usage(7) };
        let mut all = report(true, vec![usage(10)]);
        all.add(&report(true, vec![other.clone(), usage(5)]));
        assert_eq!((all.ranks, all.datatypes.len()), (2, 2));
        assert_eq!((all.datatypes[0].messages, &all.datatypes[1]), (15, &other));
        let (plan, library) = all.seconds();
        assert!((plan - 22e-6).abs() < 1e-9 && (library - 22.0 * 4e-6).abs() < 1e-9, "{plan} {library}");
    }

    #[test]
    fn what_went_packed_on_some_rank_does_not_stay_as_it_is() {
        let small = Usage { packed: 0, worth: 0, reason: Some("its messages are small".into()), ..usage(3) };
        for (one, other) in [(&small, &usage(2)), (&usage(2), &small)] {
            let mut all = report(true, vec![one.clone()]);
            all.add(&report(true, vec![other.clone()]));
            assert_eq!((all.datatypes.len(), all.datatypes[0].reason.clone()), (1, None));
        }
        let mut all = report(true, vec![small.clone()]);
        all.add(&report(true, vec![small.clone()]));
        assert_eq!(all.datatypes[0].reason, small.reason);
    }

    #[test]
    fn no_count_in_a_file_is_too_large() {
        let most = Usage { bytes: u64::MAX, packed: u64::MAX, worth: u64::MAX, ..usage(0) };
        let most = Usage { messages: u64::MAX, samples: Samples { bytes: u64::MAX, ..most.samples }, ..most };
        let other = Usage { place: "other (a.c:9)".into(), ..most.clone() };
        let mut all = Report { ranks: u64::MAX, ..report(true, vec![most.clone(), other]) };
        all.add(&Report { ranks: 1, ..report(true, vec![most]) });
        assert_eq!((all.ranks, all.datatypes[0].messages), (u64::MAX, u64::MAX));
        assert!(all.to_string().contains("18446744073709551615"));
    }

    #[test]
    fn the_table_says_what_was_won() {
        let mut counted = usage(10);
        counted.layout.as_mut().unwrap().solve(&NodeCosts::default(), &Limits::default()).unwrap();
        let text = report(true, vec![counted.clone()]).to_string();
        assert!(text.contains("      10       10     32.0 kB    10.0 us    40.0 us    30.0 us"), "{text}");
        assert!(text.contains("at least cost (proven):\n      vec 4, stride 16"), "{text}");
        assert!(text.contains("where MPI_Pack would have taken 40.0 us: 30.0 us won.\n"), "{text}");
        counted = Usage { packed: 0, seconds: 0.0, ..counted };
        let text = report(false, vec![counted]).to_string();
        assert!(text.contains("Packing would take 10.0 us, where MPI_Pack takes 40.0 us: 30.0 us to win.\n"));
        let none = Usage { worth: 0, reason: Some("its blocks are long".into()), ..usage(1) };
        let text = report(true, vec![none]).to_string();
        assert!(
            text.contains("stays as it is: its blocks") && text.ends_with("Nothing was worth packing.\n")
        );
    }
}
