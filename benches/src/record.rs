//! Rows of benchmarks, and the files and tables of recorded rows.
//!
//! `cargo xtask bench NAME --record` keeps rows in `benches/recorded/NAME.csv`, one line for each case. It
//! writes a table of them into BENCHMARKS.md, and one of `interpose` into
//! dtype-interpose/README.md.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::Path,
};

use anyhow::{Context, Result, ensure};
use dtype_engine::prices::Shape;
use dtype_guidelines::{report, results::Results};
use serde::Serialize;

const HEADER: &str = "library,case,microseconds of the contenders";

/// The mark between the contenders of a line.
const NEXT: char = ';';

/// The name of our contender.
const OURS: &str = "ours";

/// A row of a benchmark. Its JSON form is for other programs.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The name of the benchmark.
    pub bench: &'static str,
    /// The name of the case, with its size.
    pub case: String,
    /// The MPI library, or `none` if the benchmark uses none.
    pub library: String,
    /// Our median, in microseconds.
    pub ours_us: f64,
    /// The interquartile range of our times, as a fraction of the median.
    pub ours_spread: f64,
    /// The medians of the peers, in microseconds.
    pub peers_us: BTreeMap<&'static str, f64>,
    /// The medians of other ways of ours, in microseconds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub others_us: BTreeMap<&'static str, f64>,
    /// The cost of our tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ours_cost: Option<u64>,
    /// The costs of the peers' trees.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub peers_cost: BTreeMap<&'static str, u64>,
}

/// Appends a row to a file. Creates the file if it does not exist.
///
/// # Errors
/// If the file cannot be written.
pub fn add(file: &Path, row: &Row) -> io::Result<()> {
    let is_new = !file.exists();
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    if is_new {
        writeln!(file, "{HEADER}")?;
    }
    let ours = [(&OURS, &row.ours_us)].into_iter();
    let all = ours.chain(&row.peers_us).chain(&row.others_us);
    let times: Vec<_> = all.map(|(contender, time)| format!("{contender}={time:.4}")).collect();
    writeln!(file, "{},{},{}", row.library, row.case, times.join(&NEXT.to_string()))
}

/// The word between the name of a case and the size or the shape of its message.
const OF: &str = " of ";

/// The unit of the size of a message without blocks.
const BYTES: &str = " bytes";

/// The size of a message, and its blocks if it is not contiguous.
#[derive(Clone, Copy)]
pub enum Size {
    /// The size in bytes of a contiguous message.
    Contiguous(usize),
    /// The shape of any other message.
    Blocks(Shape),
}

impl Size {
    /// Returns the size in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Contiguous(bytes) => *bytes,
            Self::Blocks(shape) => shape.bytes,
        }
    }
}

/// Returns the name of a case with the shape of its message, or with its `bytes` if that is contiguous.
pub fn named(case: &str, shape: Option<Shape>, bytes: usize) -> String {
    let size = shape.map_or_else(|| format!("{bytes}{BYTES}"), |shape| shape.to_string());
    format!("{case}{OF}{size}")
}

/// Splits what [`named`] has joined. Other names have no size.
pub fn split_shape(case: &str) -> (&str, Option<Size>) {
    let split = case.split_once(OF).and_then(|(name, size)| {
        let contiguous = || size.strip_suffix(BYTES)?.parse().ok().map(Size::Contiguous);
        Some((name, size.parse().ok().map(Size::Blocks).or_else(contiguous)?))
    });
    split.map_or((case, None), |(name, size)| (name, Some(size)))
}

/// The word between the name of a library and that of the machine.
const ON: &str = " on ";

/// Returns the name of a library, and that of the machine on which it is measured: the maker of the
/// processor, or its architecture.
pub fn on_this_machine(library: &str) -> String {
    let said = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let makers = [("AuthenticAMD", "AMD"), ("GenuineIntel", "Intel")];
    let maker = makers.into_iter().find(|(name, _)| said.contains(name));
    format!("{library}{ON}{}", maker.map_or(std::env::consts::ARCH, |(_, maker)| maker))
}

/// Splits what [`on_this_machine`] has joined. Other names have no machine.
pub(crate) fn split_machine(library: &str) -> (&str, &str) {
    library.split_once(ON).unwrap_or((library, ""))
}

/// The times of a case, in microseconds, by contender.
pub(crate) type Times = BTreeMap<String, f64>;

/// Parses a file of recorded rows: the times by library and case.
pub(crate) fn read(text: &str) -> Result<BTreeMap<(String, String), Times>> {
    let mut all: BTreeMap<_, Times> = BTreeMap::new();
    let mut lines = text.lines();
    ensure!(lines.next() == Some(HEADER), "the first line is not `{HEADER}`");
    for (i, line) in lines.enumerate() {
        let words: Vec<&str> = line.split(',').collect();
        let [library, case, contenders] = words[..] else {
            anyhow::bail!("line {}: not three columns", i + 2);
        };
        let times = contenders.split(NEXT).map(|one| {
            let (contender, time) = one.split_once('=')?;
            Some((contender.to_owned(), time.parse().ok()?))
        });
        let times = times.collect::<Option<Times>>();
        let times = times.with_context(|| format!("line {}: `{contenders}` are no times", i + 2))?;
        all.insert((library.to_owned(), case.to_owned()), times);
    }
    Ok(all)
}

/// The ratios of our times to a peer's, each with its case.
type Ratios = Vec<(f64, String)>;

/// Returns a table of recorded rows: for each of our ways, library and peer, the ratio of our time to the
/// peer's.
///
/// # Errors
/// If the text is not a file of recorded rows.
fn table(text: &str) -> Result<String> {
    let mut groups: BTreeMap<[String; 3], Ratios> = BTreeMap::new();
    for ((library, case), times) in read(text)? {
        let Some(ours) = times.get(OURS) else { continue };
        // Packing has a row for each of our ways.
        let (name, way) = match case.rsplit_once('/') {
            Some((name, way @ ("generated" | "plan"))) => (name, way),
            _ => (case.as_str(), OURS),
        };
        for (peer, time) in times.iter().filter(|(peer, _)| *peer != OURS) {
            let group = [way.to_owned(), library.clone(), peer.clone()];
            let name = split_shape(name).0.to_owned();
            groups.entry(group).or_default().push((ours / time, name));
        }
    }
    let mut table = String::from(
        "| our way | library | against | cases | median | 9 of 10 | most | of |\n\
         |---|---|---|--:|--:|--:|--:|---|\n",
    );
    for ([way, library, peer], mut ratios) in groups {
        ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
        let last = ratios.len() - 1;
        let (median, most_of, (most, case)) = (ratios[last / 2].0, ratios[last * 9 / 10].0, &ratios[last]);
        let count = ratios.len();
        writeln!(
            table,
            "| {way} | {library} | {peer} | {count} | {median:.2} | {most_of:.2} | {most:.2} | {case} |"
        )?;
    }
    Ok(table)
}

/// The benchmark whose table has a row for each case.
const PROGRAMS: &str = "programs";

/// Returns a table of programs: the times of each without the preloaded library and with it, in seconds,
/// their ratio, and the ratio of two measurements without the library, which differ by chance. The first time
/// is the mean of these two.
fn programs_table(text: &str) -> Result<String> {
    let mut table = String::from(
        "| program | library | without | with | ratio | by chance |\n|---|---|--:|--:|--:|--:|\n",
    );
    for ((library, case), times) in read(text)? {
        let of = |contender: &str| times.get(contender).map(|time| time / 1e6);
        let (Some(with), Some(without), Some(again)) = (of(OURS), of("without"), of("again")) else {
            continue;
        };
        let (without, chance) = (f64::midpoint(without, again), again / without);
        let ratio = with / without;
        writeln!(table, "| {case} | {library} | {without:.2} | {with:.2} | {ratio:.2} | {chance:.2} |")?;
    }
    Ok(table)
}

/// The benchmark with two tables before that of all contenders.
const LIBRARIES: &str = "libraries";

/// Our least-cost datatype, and the datatype that a user would write.
const DATATYPES: [&str; 2] = ["least-cost", "typed"];

/// The other ways to send that a user would write.
const BY_HAND: [&str; 3] = ["mpi_pack", "hand", "bytes"];

/// Returns a table of how many times as long two ways take, for each library: the default way compared with
/// the best of our datatype and the ways of users, and our datatype compared with the user's.
fn libraries_table(text: &str) -> Result<String> {
    const SHORT: usize = 1024;
    let mut groups: BTreeMap<[String; 2], Ratios> = BTreeMap::new();
    for ((library, case), times) in read(text)? {
        let mut add = |what: &str, ratio: f64| {
            let group = [what.to_owned(), library.clone()];
            groups.entry(group).or_default().push((ratio, case.clone()));
        };
        if let [Some(ours), Some(theirs)] = DATATYPES.map(|name| times.get(name)) {
            add("our datatype / the user's", ours / theirs);
        }
        let others = DATATYPES.iter().chain(&BY_HAND).filter_map(|name| times.get(*name));
        let best = others.copied().fold(f64::INFINITY, f64::min);
        let is_short = split_shape(&case).1.is_some_and(|size| size.bytes() < SHORT);
        if let Some(ours) = times.get(OURS) {
            let size = if is_short { "below 1 KiB" } else { "from 1 KiB on" };
            add(&format!("the default / the best, {size}"), ours / best);
        }
    }
    let mut table = String::from(
        "| ratio | library | cases | median | up to 1.05 | up to 1.10 | up to 1.30 | most | of |\n\
         |---|---|--:|--:|--:|--:|--:|--:|---|\n",
    );
    for ([what, library], mut ratios) in groups {
        ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
        let count = ratios.len();
        let [within_5, within_10, within_30] = [1.05, 1.1, 1.3]
            .map(|limit| 100 * ratios.iter().filter(|(ratio, _)| *ratio <= limit).count() / count);
        let (median, (most, case)) = (ratios[(count - 1) / 2].0, &ratios[count - 1]);
        let case = split_shape(case).0;
        writeln!(
            table,
            "| {what} | {library} | {count} | {median:.2} | {within_5} % | {within_10} % | {within_30} % \
             | {most:.2} | {case} |"
        )?;
    }
    Ok(table)
}

/// Returns the table of a benchmark's recorded rows.
///
/// # Errors
/// If the text is not a file of recorded rows, or lacks a case of the table.
pub fn table_of(name: &str, text: &str) -> Result<String> {
    match name {
        README_TABLE => readme_table(text),
        PROGRAMS => programs_table(text),
        LIBRARIES => Ok(libraries_table(text)? + "\n" + &table(text)?),
        _ => table(text),
    }
}

/// The rows of the table in dtype-interpose/README.md: the title, and the case of `cargo xtask bench
/// interpose`.
const README_ROWS: [(&str, &str); 4] = [
    ("10,000 structs `{u8, f64, i16, f32}`", "structs: 10000 structs"),
    ("20,000 points of SPECFEM3D", "applications: SPECFEM3D outer core 20000 points"),
    ("halo of WRF in x", "applications: WRF halo in x 64²·28"),
    ("one number, which is not packed", "plain: a number"),
];

/// The name of the table in dtype-interpose/README.md, in the marks of the page and for [`write()`].
pub const README_TABLE: &str = "interpose-readme";

/// Returns the table in dtype-interpose/README.md for a file of `cargo xtask bench interpose`: the times
/// without the preloaded library and with it.
///
/// # Errors
/// If the text is not a file of recorded rows, or lacks a case.
fn readme_table(text: &str) -> Result<String> {
    let all = read(text)?;
    let libraries: BTreeSet<&String> = all.keys().map(|(library, _)| library).collect();
    let titles = libraries.iter().map(|library| {
        let names = [("openmpi-", "Open MPI "), ("mpich-", "MPICH "), ("intel-", "Intel MPI ")];
        let title =
            names.into_iter().fold(String::clone(library), |title, (name, own)| title.replace(name, own));
        format!(" {title} |")
    });
    let mut table = format!("| µs each way |{}\n", titles.collect::<String>());
    writeln!(table, "|---|{}", "--:|".repeat(libraries.len()))?;
    for (title, case) in README_ROWS {
        write!(table, "| {title} |")?;
        for library in &libraries {
            let times = all.get(&((*library).clone(), case.to_owned()));
            let time = |contender| {
                let time = times.and_then(|times| times.get(contender));
                time.with_context(|| format!("{library} has no `{contender}` of `{case}`"))
            };
            write!(table, " {} → {} |", short(*time("without")?), short(*time(OURS)?))?;
        }
        table.push('\n');
    }
    Ok(table)
}

/// Returns a time with two or three digits.
fn short(time: f64) -> String {
    match time {
        ..1.0 => format!("{time:.2}"),
        ..10.0 => format!("{time:.1}"),
        _ => format!("{time:.0}"),
    }
}

/// Returns the least, the median and the greatest ratio of two contenders' times, over the wanted cases.
///
/// # Errors
/// If the text is not a file of recorded rows, or no wanted case has both contenders.
pub fn ratios(text: &str, [one, other]: [&str; 2], is_wanted: impl Fn(&str) -> bool) -> Result<[f64; 3]> {
    let all = read(text)?;
    let wanted = all.iter().filter(|((_, case), _)| is_wanted(case));
    let mut ratios: Vec<f64> =
        wanted.filter_map(|(_, times)| Some(times.get(one)? / times.get(other)?)).collect();
    ratios.sort_by(f64::total_cmp);
    let [least, .., most] = ratios[..] else {
        anyhow::bail!("fewer than two cases have both `{one}` and `{other}`");
    };
    Ok([least, ratios[(ratios.len() - 1) / 2], most])
}

/// Puts a table between the marks of a benchmark in the text of a page.
///
/// # Errors
/// If the page lacks the marks.
pub fn insert(page: &str, name: &str, table: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- recorded: {name} -->\n"), "<!-- end -->");
    let (before, rest) =
        page.split_once(&begin).with_context(|| format!("there is no mark `{}`", begin.trim()))?;
    let (_, after) =
        rest.split_once(end).with_context(|| format!("nothing ends what is recorded of {name}"))?;
    Ok(format!("{before}{begin}{table}{end}{after}"))
}

/// Writes the table of a file of recorded rows, or of the folder of a guidelines report, into a page.
///
/// # Errors
/// If the page or the records cannot be read or are malformed, or if the page cannot be written.
pub fn write(page: &Path, name: &str, recorded: &Path) -> Result<()> {
    let read = |path: &Path| fs::read_to_string(path).with_context(|| path.display().to_string());
    let table = if recorded.is_dir() {
        report::recorded(&Results::load(recorded)?)
    } else {
        table_of(name, &read(recorded)?).with_context(|| recorded.display().to_string())?
    };
    let text = insert(&read(page)?, name, &table).with_context(|| page.display().to_string())?;
    fs::write(page, text).with_context(|| page.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_says_how_many_times_as_long_ours_takes_at_the_median_and_at_most() {
        let rows = ["a/1/pack/plan,ours=2;hand=1", "b/1/pack/plan,ours=3;hand=4", "c,ours=1"];
        let mut text = format!("{HEADER}\n");
        for row in rows {
            writeln!(text, "mpich-4,{row}").unwrap();
        }
        let table = table(&text).unwrap();
        assert!(
            table.ends_with("| plan | mpich-4 | hand | 2 | 0.75 | 0.75 | 2.00 | a/1/pack |\n"),
            "{table}"
        );
        let page = insert("x\n<!-- recorded: pack -->\nold\n<!-- end -->\ny\n", "pack", &table).unwrap();
        assert_eq!(page, format!("x\n<!-- recorded: pack -->\n{table}<!-- end -->\ny\n"));
    }

    #[test]
    fn what_is_no_record_is_an_error_that_says_where() {
        for (text, says) in [
            ("", "the first line"),
            ("a,b,c", "the first line"),
            ("x\n1,2", "line 2"),
            ("x\n1,2,3", "line 2"),
            ("x\n1,2,a=y", "line 2"),
        ] {
            let text = text.replace('x', HEADER);
            let error = table(&text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!(insert("no marks", "pack", "").is_err());
    }
}
