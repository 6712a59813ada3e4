//! A report as a table.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fmt::{self, Write as _},
};

use dtype_core::{NodeCosts, TypeTree};

use crate::{Layout, Report, Usage};

/// The largest number of rows that `Display` writes.
pub const MOST_ROWS: usize = 20;

/// The largest number of lines of a tree.
const MOST_LINES: usize = 12;
/// The largest number of characters of a tree's line, and of the constructors.
const MOST_CHARACTERS: usize = 90;

/// Writes a table: the time won in all, the reasons why messages were not packed, and the first [`MOST_ROWS`]
/// rows with their trees.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, MOST_ROWS, true)
    }
}

impl Report {
    /// Returns the table with at most `rows` rows, without trees.
    pub fn table(&self, rows: usize) -> String {
        struct Table<'a>(&'a Report, usize);
        impl fmt::Display for Table<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.write(f, self.1, false)
            }
        }
        Table(self, rows).to_string()
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, rows: usize, has_trees: bool) -> fmt::Result {
        self.write_summary(f)?;
        let (packed, won) = if self.packs { ("packed", "won") } else { ("to pack", "to win") };
        writeln!(f, "messages {packed:>8}       bytes    packing  first use   MPI_Pack {won:>10}")?;
        for usage in self.datatypes.iter().take(rows) {
            self.write_row(f, usage)?;
            writeln!(f, "  {}", cut(&usage.built))?;
            usage.write_details(f, has_trees)?;
        }
        let more = self.datatypes.len().saturating_sub(rows);
        if more > 0 {
            writeln!(f, "… and {more} more: `dtype report --all` shows them")?;
        }
        self.write_row(f, &self.sum())?;
        writeln!(f, "  in all")
    }

    /// Writes the number of packed messages, the time that packing won, and the reasons why the other
    /// messages were not packed.
    fn write_summary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sum, times) = (self.sum(), self.times());
        let (ranks, of, library, messages) = (self.ranks, self.of, &self.library, sum.messages);
        let s = if of == 1 { "" } else { "s" };
        write!(f, "{library}, {ranks} of {of} rank{s}: ")?;
        if self.packs {
            writeln!(f, "{} of {messages} messages were packed.", sum.packed)?;
        } else {
            writeln!(f, "messages were counted, {} of {messages} would be packed.", sum.packable)?;
        }
        let compared =
            self.datatypes.iter().any(|usage| usage.worth > 0 && usage.times(self.packs).is_some());
        let uncompared = self.uncompared();
        let all = times.plus(uncompared.unwrap_or_default());
        let [packing, first_use, there] = [all.packing, all.first_use, times.library].map(time);
        let of_samples = if uncompared.is_some() { " for the rows with samples" } else { "" };
        match (sum.worth > 0, compared, self.packs) {
            (false, ..) => write!(f, "Nothing was worth packing; first use took {first_use}")?,
            (true, false, true) => write!(
                f,
                "Packing took {packing} and first use {first_use}; no message was also packed by MPI_Pack, \
                 to compare the times"
            )?,
            (true, false, false) => write!(
                f,
                "First use took {first_use}; no message was packed in both ways, to compare the times"
            )?,
            (true, true, true) => write!(
                f,
                "Packing took {packing} and first use {first_use}; MPI_Pack would have taken \
                 {there}{of_samples}"
            )?,
            (true, true, false) => write!(
                f,
                "Packing would take {packing} and first use {first_use}; MPI_Pack takes {there}{of_samples}"
            )?,
        }
        let won = times.won();
        if compared {
            let verb = match (self.packs, won < 0.0) {
                (true, false) => "won",
                (true, true) => "lost",
                (false, false) => "to win",
                (false, true) => "to lose",
            };
            write!(f, ": {} {verb}", time(won.abs()))?;
            if ranks > 1 {
                write!(f, ", {} per rank", time(won.abs() / ranks as f64))?;
            }
        }
        writeln!(f, ".")?;
        self.write_both_signs(f)?;
        if compared {
            writeln!(f, "If the library is slower in messages than in MPI_Pack, the gain is larger.")?;
        }
        for (reason, messages) in self.reasons() {
            let s = if messages == 1 { "" } else { "s" };
            writeln!(f, "{messages} message{s} not packed: {reason}.")?;
        }
        writeln!(f)
    }

    /// Writes how much some rows win and others lose, if there are rows of both kinds.
    fn write_both_signs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = self.datatypes.iter().filter_map(|usage| usage.times(self.packs));
        let all = times.map(|times| times.won()).filter(|won| *won != 0.0);
        let (won, lost): (Vec<_>, Vec<_>) = all.partition(|won| *won > 0.0);
        if won.is_empty() || lost.is_empty() {
            return Ok(());
        }
        let rows = |count: usize| format!("{count} row{}", if count == 1 { "" } else { "s" });
        let [wins, loses] = [&won, &lost].map(|rows| time(rows.iter().sum::<f64>()));
        let would = if self.packs { "" } else { "would " };
        let s = |count: usize| if self.packs && count == 1 { "s" } else { "" };
        let (win, lose) = (format!("{would}win{}", s(won.len())), format!("{would}lose{}", s(lost.len())));
        let (won, lost) = (rows(won.len()), rows(lost.len()));
        writeln!(f, "{won} {win} {wins}, {lost} {lose} {}.", loses.trim_start_matches('-'))
    }

    /// Returns the reasons why messages of all rows were not packed, most messages first.
    fn reasons(&self) -> Vec<(&str, u64)> {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for (reason, messages) in self.datatypes.iter().flat_map(Usage::reasons) {
            let sum = sums.entry(reason).or_default();
            *sum = sum.saturating_add(messages);
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|(_, messages)| Reverse(*messages));
        sums
    }

    /// Returns the total counts of all rows.
    fn sum(&self) -> Usage {
        let sum = |count: fn(&Usage) -> u64| self.datatypes.iter().map(count).fold(0, u64::saturating_add);
        Usage {
            messages: sum(|usage| usage.messages),
            bytes: sum(|usage| usage.bytes),
            packed: sum(|usage| usage.packed),
            packable: sum(|usage| usage.packable),
            worth: sum(|usage| usage.worth),
            ..Usage::default()
        }
    }

    /// Writes the numbers of a row, or the totals if `usage` has no constructor. The times of rows without
    /// samples cannot be compared with those of the library.
    fn write_row(&self, f: &mut fmt::Formatter<'_>, usage: &Usage) -> fmt::Result {
        let is_sum = usage.built.is_empty();
        let is_worth = |usage: &&Usage| usage.worth > 0;
        let (compared, uncompared) = if is_sum {
            let mut rows = self.datatypes.iter().filter(is_worth);
            let has_samples = rows.any(|usage| usage.times(self.packs).is_some()) || usage.worth == 0;
            (has_samples.then(|| self.times()), self.uncompared())
        } else {
            let times = usage.times(self.packs);
            (times, times.is_none().then(|| usage.uncompared(self.packs)))
        };
        let all = compared.unwrap_or_default().plus(uncompared.unwrap_or_default());
        let of_packed = |seconds| if usage.worth > 0 { time(seconds) } else { String::new() };
        let is_measured = self.packs || compared.is_some();
        let packing = if is_measured { of_packed(all.packing) } else { String::new() };
        let first_use = time(all.first_use);
        let library = compared.map_or_else(String::new, |times| of_packed(times.library));
        let won = compared.map_or_else(String::new, |times| time(times.won()));
        let packed = if self.packs { usage.packed } else { usage.packable };
        let (messages, bytes) = (usage.messages, bytes(usage.bytes));
        write!(f, "{messages:8} {packed:8} {bytes:>11} {packing:>10} {first_use:>10} {library:>10} {won:>10}")
    }
}

impl Usage {
    /// Writes the lines below the numbers of a row.
    fn write_details(&self, f: &mut fmt::Formatter<'_>, has_trees: bool) -> fmt::Result {
        let [least, most] = self.sizes.map(bytes);
        let sizes = if least == most { least } else { format!("{least} to {most}") };
        let s = if self.committed == 1 { "" } else { "s" };
        writeln!(f, "    {} datatype{s} of {sizes}, committed in {}", self.committed, self.place)?;
        if let Some(layout) = self.layout.as_ref().filter(|_| has_trees) {
            if self.sizes[0] != self.sizes[1] {
                writeln!(f, "    the largest:")?;
            }
            f.write_str(&layout.in_short())?;
        }
        for (reason, messages) in self.reasons() {
            match messages {
                all if all == self.messages => writeln!(f, "    not packed: {reason}")?,
                1 => writeln!(f, "    1 not packed: {reason}")?,
                some => writeln!(f, "    {some} not packed: {reason}")?,
            }
        }
        Ok(())
    }
}

/// Returns a line, cut off if it is too long.
fn cut(line: &str) -> String {
    match line.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

impl Layout {
    /// Returns a few lines of the tree, and of the least-cost tree if that is cheaper.
    fn in_short(&self) -> String {
        let mut text = short(&self.tree);
        let costs = NodeCosts::default();
        match &self.least {
            Some((least, optimality)) if least.cost(&costs) < self.tree.cost(&costs) => {
                let _ = writeln!(text, "    least-cost tree ({}):", optimality.name());
                text.push_str(&short(least));
            }
            Some((_, optimality)) => {
                let _ = writeln!(text, "    nothing cheaper was found ({})", optimality.name());
            }
            None => {}
        }
        text
    }
}

/// Returns the first lines of a tree, indented.
fn short(tree: &TypeTree) -> String {
    let drawn = tree.to_string();
    let mut text = String::new();
    for line in drawn.lines().take(MOST_LINES) {
        let _ = writeln!(text, "      {}", cut(line));
    }
    let more = drawn.lines().count().saturating_sub(MOST_LINES);
    if more > 0 {
        let _ = writeln!(text, "      … {more} more");
    }
    text
}

/// Returns a number of bytes with its unit.
fn bytes(bytes: u64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let unit = units.into_iter().find(|(unit, _)| bytes as f64 >= *unit);
    unit.map_or_else(|| format!("{bytes} B"), |(unit, name)| format!("{:.1} {name}", bytes as f64 / unit))
}

/// Returns a time with its unit.
fn time(seconds: f64) -> String {
    let size = if seconds < 0.0 { -seconds } else { seconds };
    let units = [(1.0, "s"), (1e-3, "ms"), (0.0, "us")];
    let (unit, name) = units.into_iter().find(|(unit, _)| size >= *unit).unwrap_or((0.0, "us"));
    let unit = if unit == 0.0 { 1e-6 } else { unit };
    format!("{:.1} {name}", seconds / unit)
}
