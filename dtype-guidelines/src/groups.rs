//! The layouts of the benchmarks, with the descriptions that are compared and the expectations of them.
//!
//! "The paper" is "Performance Expectations and Guidelines for MPI Derived Datatypes", 2011.

use dtype_core::{BaseType, Constructor};
use serde::{Deserialize, Serialize};

use crate::{
    applications::Application,
    description::Description,
    generate::{Random, Sample},
    loops::Loops,
};

/// The benchmark of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Benchmark {
    /// Benchmark 1: one strided layout, five constructors (tables 1 and 2 of the paper).
    Strided,
    /// Benchmark 2: a count of datatypes, or the count within the datatype.
    Count,
    /// Benchmark 3: one long list, or two short levels.
    Levels,
    /// Section 2.4 of the thesis: a row and a column of a matrix.
    RowColumn,
    /// The four basic patterns of "MPI Derived Datatypes: Performance Expectations and Status Quo"
    /// (Carpen-Amarie, Hunold, Träff 2016).
    Patterns,
    /// Irregular layouts, which no vector describes.
    Irregular,
    /// Layouts of published applications.
    Applications,
}

impl Benchmark {
    /// All benchmarks, in the order of a report.
    pub const ALL: [Self; 7] = [
        Self::Strided,
        Self::Count,
        Self::Levels,
        Self::RowColumn,
        Self::Patterns,
        Self::Irregular,
        Self::Applications,
    ];

    /// Returns the heading in a report.
    pub fn title(self) -> &'static str {
        match self {
            Self::Strided => "Benchmark 1: one strided layout, described by each constructor",
            Self::Count => "Benchmark 2: a count of datatypes, or the count within the datatype",
            Self::Levels => "Benchmark 3: one long list, or two short levels",
            Self::RowColumn => "Row plus column of a matrix, three descriptions",
            Self::Patterns => "Four basic patterns: blocks and strides that alternate",
            Self::Irregular => "Irregular blocks: what no vector describes",
            Self::Applications => "Mini applications",
        }
    }
}

/// An expectation of a user, with its number in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expectation {
    /// (1) A count is as fast as a contiguous datatype.
    Count,
    /// (2) The constructor with fewer parameters is not slower.
    Constructor,
    /// (3) The constructor with more parameters is not slower either: the library normalizes it.
    Normalization,
    /// (4) Contiguous data is as fast as a basic datatype, however it is described.
    Contiguous,
    /// (5) Sending a datatype is not slower than packing it with `MPI_Pack` and sending the packed bytes.
    Packing,
    /// (6) `MPI_Pack` is not slower than a loop by hand.
    ByHand,
}

impl Expectation {
    /// All expectations, in order.
    pub const ALL: [Self; 6] =
        [Self::Count, Self::Constructor, Self::Normalization, Self::Contiguous, Self::Packing, Self::ByHand];

    /// Returns the number in the paper.
    pub fn number(self) -> usize {
        1 + Self::ALL.iter().position(|all| *all == self).unwrap_or_default()
    }

    /// Returns the formula.
    pub fn formula(self) -> &'static str {
        match self {
            Self::Count => "A(1, contiguous(n, T)) ≈ A(n, T)",
            Self::Constructor => "A(contiguous) ⪯ A(vector) ⪯ A(indexed block) ⪯ A(indexed) ⪯ A(struct)",
            Self::Normalization => "A(struct) ≈ A(indexed) ≈ A(vector), where each describes the layout",
            Self::Contiguous => "A(n, T) ≈ A(n basic elements), where T is contiguous",
            Self::Packing => "A(n, T) ⪯ MPI_Pack(n, T, B) + A(B)",
            Self::ByHand => "MPI_Pack(n, T, B) ⪯ a loop by hand",
        }
    }

    /// Returns the meaning, for readers who do not know the paper.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Count => {
                "Sending n elements of a datatype takes as long as sending one contiguous datatype of n \
                 elements."
            }
            Self::Constructor => "The simplest constructor for a layout is the fastest.",
            Self::Normalization => "Choosing a more general constructor costs nothing.",
            Self::Contiguous => "Contiguous data is sent at full speed, whatever its datatype.",
            Self::Packing => "Sending a datatype is no slower than packing it first.",
            Self::ByHand => "MPI_Pack is no slower than a simple loop.",
        }
    }

    /// Returns the advice for a user if the expectation is violated.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Count => "Use the faster of the two descriptions below.",
            Self::Constructor => "Try the more general constructor; it is the faster one below.",
            Self::Normalization => "Describe the layout with the simplest constructor, or let dtype do so.",
            Self::Contiguous => "Send contiguous data as a count of a basic datatype.",
            Self::Packing => "Pack such data before you send it.",
            Self::ByHand => "Pack such data with a loop of your own, or with a plan of dtype-runtime.",
        }
    }
}

/// A datatype for a layout, with the count that is sent.
#[derive(Clone, Debug)]
pub struct Way {
    /// The name in tables.
    pub name: &'static str,
    /// The constructor calls.
    pub description: Description,
    /// The count that is sent.
    pub count: u64,
}

/// An expectation that one way takes no longer than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected<Name> {
    /// The expectation.
    pub by: Expectation,
    /// The way that should be no slower.
    pub left: Name,
    /// The way with which it is compared.
    pub right: Name,
}

/// A layout with all its ways.
#[derive(Clone, Debug)]
pub struct Group {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// The layout without its size. Layouts that differ only in size are points of one plot.
    pub series: String,
    /// The size, such as "32,768 elements".
    pub size: String,
    /// The base type that loops by hand copy.
    pub base: BaseType,
    /// The packed size in bytes.
    pub bytes: u64,
    /// The loops by hand.
    pub loops: Loops,
    /// The datatypes, those with a lower penalty first.
    pub ways: Vec<Way>,
    /// The expectations of these ways.
    pub expected: Vec<Expected<&'static str>>,
    /// `true` if broadcasts and all-gathers are measured too.
    pub collective: bool,
    /// The application, if `layout!` or the derive describes the layout.
    pub application: Option<Application>,
}

impl Group {
    fn new(benchmark: Benchmark, series: String, base: BaseType, loops: Loops) -> Self {
        Self {
            benchmark,
            series,
            size: String::new(),
            base,
            bytes: 0,
            loops,
            ways: Vec::new(),
            expected: Vec::new(),
            collective: false,
            application: None,
        }
    }

    /// Sets the size to a number of elements.
    fn sized(mut self, elements: u64) -> Self {
        self.size = format!("{} elements", thousands(elements));
        self.bytes = elements * self.base.size();
        self
    }

    fn way(mut self, name: &'static str, description: Description) -> Self {
        self.ways.push(Way { name, description, count: 1 });
        self
    }

    fn ways(mut self, name: &'static str, description: Description, count: u64) -> Self {
        self.ways.push(Way { name, description, count });
        self
    }

    fn expect(mut self, by: Expectation, left: &'static str, right: &'static str) -> Self {
        self.expected.push(Expected { by, left, right });
        self
    }

    /// Adds expectations between constructors of one layout, in the order of increasing penalty. Each
    /// constructor should be no slower than the next, (2), and no slower than the first, (3).
    fn chain(mut self, names: &[&'static str]) -> Self {
        for pair in names.windows(2) {
            self = self.expect(Expectation::Constructor, pair[0], pair[1]);
        }
        for name in &names[1..] {
            self = self.expect(Expectation::Normalization, name, names[0]);
        }
        self
    }

    fn collective(mut self, wanted: bool) -> Self {
        self.collective = wanted;
        self
    }

    /// Returns the description of the first way with count 1. If there is none, returns that of the first
    /// way.
    ///
    /// # Panics
    /// Never: every layout has a description.
    pub fn whole(&self) -> &Description {
        let one = self.ways.iter().find(|way| way.count == 1).or(self.ways.first());
        &one.expect("a layout has a description").description
    }

    /// Returns the layout with its size.
    pub fn name(&self) -> String {
        format!("{}: {}", self.series, self.size)
    }

    /// Returns the group of an application.
    pub fn of_application(application: Application) -> Self {
        let Sample { name, .. } = application.sample();
        let mut group = Self::new(
            Benchmark::Applications,
            application.name().to_owned(),
            BaseType::U8,
            Loops::Written(application.written()),
        );
        application.size().clone_into(&mut group.size);
        group.bytes = name.rsplit('/').next().and_then(|bytes| bytes.parse().ok()).unwrap_or_default();
        group = group.way("as published", application.published());
        group.application = Some(application);
        group
    }
}

/// Writes a number with commas.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns all layouts. A quick run has fewer sizes and applications.
pub fn all(quick: bool) -> Vec<Group> {
    let mut all = Vec::new();
    strided(&mut all, quick);
    counts(&mut all, quick);
    levels(&mut all, quick);
    row_column(&mut all, quick);
    patterns(&mut all, quick);
    irregular(&mut all, quick);
    all.extend(Application::ALL.iter().filter(|a| !quick || a.is_quick()).map(|a| Group::of_application(*a)));
    all
}

/// Returns the numbers of elements in a strided layout.
fn sizes(quick: bool) -> &'static [u64] {
    if quick { &[64, 4096, 32_768] } else { &[16, 256, 4096, 32_768, 262_144] }
}

/// Returns `count` displacements at a stride, in elements.
fn every(count: u64, stride: u64) -> Vec<i64> {
    (0..count).map(|i| (i * stride) as i64).collect()
}

/// Returns a struct of blocks at displacements in elements.
fn one_each(base: BaseType, lengths: &[u64], places: &[i64]) -> Description {
    Description::from(Constructor::Struct {
        blocklengths: lengths.to_vec(),
        displacements: places.iter().map(|at| at * base.size() as i64).collect(),
        oldtypes: vec![Description::Base(base); places.len()],
    })
}

fn strided(all: &mut Vec<Group>, quick: bool) {
    let doubles = [(1, 1), (1, 2), (1, 16), (8, 16)].map(|(length, stride)| (BaseType::F64, length, stride));
    let others = [BaseType::U8, BaseType::I32, BaseType::C64];
    let others = others.into_iter().flat_map(|base| [(base, 1, 1), (base, 1, 16)]);
    for (base, length, stride) in doubles.into_iter().chain(others) {
        let is_double = base == BaseType::F64;
        let sizes = match (is_double, quick) {
            (true, _) => sizes(quick),
            (false, true) => &[4096],
            (false, false) => &[256, 32_768],
        };
        for &elements in sizes {
            let is_shown = is_double && length == 1 && stride != 2;
            let collective = is_shown && elements == 4096 || !quick && is_shown && elements == 32_768;
            all.push(blocks(base, elements / length, length, stride).collective(collective));
        }
    }
}

/// Returns benchmark 1: `count` blocks of `length`, `stride` apart.
fn blocks(base: BaseType, count: u64, length: u64, stride: u64) -> Group {
    let (element, size) = (Description::Base(base), base.size());
    let contiguous = stride == length;
    let elements = count * length;
    let series = match (length, stride) {
        (1, 1) => format!("{base}, stride 1"),
        (1, stride) => format!("{base}, stride {stride}"),
        (length, stride) => format!("{base}, blocks of {length}, stride {stride}"),
    };
    let loops =
        if contiguous { Loops::contiguous(elements) } else { Loops::periodic(count, stride, &[(0, length)]) };
    let places = every(count, stride);
    let mut group = Group::new(Benchmark::Strided, series, base, loops).sized(elements);
    let mut chain = vec!["vector", "indexed block", "indexed", "struct"];
    if contiguous {
        group = group.ways("basic", element.clone(), elements);
        group = group.way("contiguous", element.clone().contiguous(elements));
        chain.insert(0, "contiguous");
    }
    let one = if length == 1 { element.clone() } else { element.clone().contiguous(length) };
    group = group
        .ways("resized", one.resized((stride * size) as i64), count)
        .way("vector", element.clone().vector(count, length, stride as i64))
        .way("indexed block", element.clone().indexed_block(length, places.clone()))
        .way("indexed", element.indexed(vec![length; places.len()], places.clone()))
        .way("struct", one_each(base, &vec![length; places.len()], &places))
        .chain(&chain)
        .expect(Expectation::Constructor, "resized", "vector");
    if contiguous {
        for name in ["contiguous", "resized", "vector", "indexed block", "indexed", "struct"] {
            group = group.expect(Expectation::Contiguous, name, "basic");
        }
    }
    group
}

/// Adds benchmark 2: `n` copies of the datatypes T0 to T5, of `k` elements each, against a contiguous
/// datatype of `n` copies.
fn counts(all: &mut Vec<Group>, quick: bool) {
    const BASE: BaseType = BaseType::F64;
    const K: u64 = 16;
    let element = || Description::Base(BASE);
    let places = || every(K, 2);
    for &elements in if quick { &[4096][..] } else { &[256, 4096, 65_536] } {
        let count = elements / K;
        let strided = [
            ("T2, vector", element().vector(K, 1, 2)),
            ("T3, indexed block", element().indexed_block(1, places())),
            ("T4, indexed", element().indexed(vec![1; K as usize], places())),
            ("T5, struct", one_each(BASE, &[1; K as usize], &places())),
        ];
        let contiguous =
            [("T0, basic", element(), elements), ("T1, contiguous", element().contiguous(K), count)];
        let contiguous = contiguous.map(|(name, of, count)| (name, of, count, Loops::contiguous(elements)));
        // The extent ends with the last element, so the last element of a copy and the first of the next are
        // adjacent.
        let blocks: Vec<_> = (0..K).map(|i| (2 * i, 1)).collect();
        let loops = Loops::periodic(count, 2 * K - 1, &blocks);
        let strided = strided.map(|(name, of)| (name, of, count, loops.clone()));
        for (name, of, count, loops) in contiguous.into_iter().chain(strided) {
            let group = Group::new(Benchmark::Count, name.to_owned(), BASE, loops).sized(elements);
            let is_collective = name.starts_with("T2") && elements == 4096;
            all.push(
                group
                    .ways("count", of.clone(), count)
                    .way("contiguous of it", of.contiguous(count))
                    .expect(Expectation::Count, "count", "contiguous of it")
                    .expect(Expectation::Count, "contiguous of it", "count")
                    .collective(is_collective),
            );
        }
    }
}

/// Adds benchmark 3, a) and b).
fn levels(all: &mut Vec<Group>, quick: bool) {
    const BASE: BaseType = BaseType::F64;
    const STRIDE: u64 = 16;
    for &elements in if quick { &[4096, 32_768][..] } else { &[256, 4096, 32_768, 262_144] } {
        // The repeated unit is a pair of elements, the second of which is shifted by one element.
        let pairs = elements / 2;
        let places = (0..elements).map(|i| (i * STRIDE + i % 2) as i64).collect();
        let loops = Loops::periodic(pairs, 2 * STRIDE, &[(0, 1), (STRIDE + 1, 1)]);
        let pair = Description::Base(BASE).vector(2, 1, STRIDE as i64 + 1);
        let levels = pair.resized((2 * STRIDE * 8) as i64).contiguous(pairs);
        let group = Group::new(Benchmark::Levels, format!("a) i·{STRIDE} + (i mod 2)"), BASE, loops);
        all.push(
            group
                .sized(elements)
                .way("two vectors", levels)
                .way("indexed block", Description::Base(BASE).indexed_block(1, places))
                .chain(&["two vectors", "indexed block"]),
        );
        // Each period is: two elements, a gap, three, a gap, one. The last element of a period and the first
        // two of the next form another block of three.
        let times = elements / 6;
        let (gap, elements) = (STRIDE, times * 6);
        let period = 6 + 2 * gap;
        let blocks = [(0, 2), (2 + gap, 3), (5 + 2 * gap, 1)];
        let (lengths, places): (Vec<_>, Vec<_>) =
            (0..times).flat_map(|i| blocks.map(|(at, length)| (length, (i * period + at) as i64))).unzip();
        let threes = times * 2 - 1;
        // All blocks of three are separated by gaps of one length.
        let block = Description::Base(BASE).vector(threes, 3, 3 + gap as i64);
        let parts = [
            (0, Description::Base(BASE).contiguous(2)),
            (8 * (2 + gap) as i64, block),
            (8 * ((times - 1) * period + 5 + 2 * gap) as i64, Description::Base(BASE)),
        ];
        let loops = Loops::periodic(times, period, &blocks);
        let series = "b) 2, 3, 1 with gaps between".to_owned();
        all.push(
            Group::new(Benchmark::Levels, series, BASE, loops)
                .sized(elements)
                .way("2, vector of 3, 1", Description::structure(parts))
                .way("indexed", Description::Base(BASE).indexed(lengths, places))
                .chain(&["2, vector of 3, 1", "indexed"]),
        );
    }
}

/// Adds the first row and the rest of the first column of a matrix of `int`.
///
/// The thesis takes the whole column. The corner would then be sent twice, and received twice, which MPI does
/// not allow.
fn row_column(all: &mut Vec<Group>, quick: bool) {
    const BASE: BaseType = BaseType::I32;
    for &n in if quick { &[1000_u64][..] } else { &[100, 1000, 3000] } {
        let element = || Description::Base(BASE);
        let row = (0..n).map(|i| i as i64);
        let column: Vec<i64> = (1..n).map(|i| (i * n) as i64).collect();
        let lengths = std::iter::once(n).chain(column.iter().map(|_| 1)).collect();
        let places = std::iter::once(0).chain(column.iter().copied()).collect();
        let parts = [
            (0, element().vector(n, 1, 1)),
            ((n * BASE.size()) as i64, element().vector(n - 1, 1, n as i64)),
        ];
        let below = Loops::periodic(n - 1, n, &[(n, 1)]);
        let loops = Loops::Several(vec![Loops::contiguous(n), below]);
        all.push(
            Group::new(Benchmark::RowColumn, "row and column of a matrix of int".to_owned(), BASE, loops)
                .sized(2 * n - 1)
                .way("struct of vectors", Description::structure(parts))
                .way("indexed", element().indexed(lengths, places))
                .way("indexed block", element().indexed_block(1, row.chain(column).collect()))
                .expect(Expectation::Normalization, "indexed", "struct of vectors")
                .expect(Expectation::Normalization, "indexed block", "struct of vectors")
                .expect(Expectation::Constructor, "struct of vectors", "indexed")
                .collective(n == 1000),
        );
    }
}

/// Adds the four patterns: blocks of A elements every B; at alternating strides; of alternating lengths; and
/// both.
fn patterns(all: &mut Vec<Group>, quick: bool) {
    const BASE: BaseType = BaseType::F64;
    let element = || Description::Base(BASE);
    for (what, a) in [("small", 2_u64), ("large", 128)] {
        let (a1, a2, b, b1, b2) = (a / 2, a + a / 2, 2 * a, a + a / 2, 3 * a);
        let kinds = [
            ("tiled", vec![(0, a)], b),
            ("alternating strides", vec![(0, a), (b1, a)], b1 + b2),
            ("buckets", vec![(0, a1), (b, a2)], 2 * b),
            ("both", vec![(0, a1), (b1, a2)], b1 + b2),
        ];
        for (kind, blocks, period) in kinds {
            for &elements in if quick { &[32_768][..] } else { &[2048, 32_768, 262_144] } {
                let per_period: u64 = blocks.iter().map(|(_, length)| length).sum();
                let (times, elements) = (elements / per_period, elements / per_period * per_period);
                let (lengths, places): (Vec<u64>, Vec<i64>) = (0..times)
                    .flat_map(|i| blocks.iter().map(move |(at, length)| (*length, (i * period + at) as i64)))
                    .unzip();
                let loops = Loops::periodic(times, period, &blocks);
                let series = format!("{kind}, {what} blocks");
                let mut group = Group::new(Benchmark::Patterns, series, BASE, loops).sized(elements);
                let levels = match &blocks[..] {
                    [(_, length)] => {
                        group = group
                            .way("vector", element().vector(times, *length, period as i64))
                            .way(
                                "vector of contiguous",
                                element().contiguous(*length).hvector(times, 1, 8 * period as i64),
                            )
                            .expect(Expectation::Normalization, "vector of contiguous", "vector");
                        "vector"
                    }
                    blocks => {
                        let parts =
                            blocks.iter().map(|(at, length)| (8 * *at as i64, element().contiguous(*length)));
                        let one = Description::structure(parts).resized(8 * period as i64);
                        group = group.way("contiguous of struct", one.contiguous(times));
                        "contiguous of struct"
                    }
                };
                let mut chain = vec![levels];
                if lengths.iter().all(|length| *length == lengths[0]) {
                    group = group.way("indexed block", element().indexed_block(lengths[0], places.clone()));
                    chain.push("indexed block");
                }
                chain.extend(["indexed", "struct"]);
                let structure = one_each(BASE, &lengths, &places);
                all.push(
                    group
                        .way("indexed", element().indexed(lengths, places))
                        .way("struct", structure)
                        .chain(&chain)
                        .collective(kind == "buckets" && elements <= 32_768),
                );
            }
        }
    }
}

/// Adds elements at random distances.
fn irregular(all: &mut Vec<Group>, quick: bool) {
    const BASE: BaseType = BaseType::F64;
    let element = || Description::Base(BASE);
    for &elements in if quick { &[10_000_u64][..] } else { &[256, 10_000, 100_000] } {
        let mut random = Random::new(elements);
        let mut at = 0;
        let places: Vec<i64> = (0..elements)
            .map(|_| {
                at += 1 + random.below(12);
                at as i64
            })
            .collect();
        let listed = places.iter().map(|at| *at as i32).collect();
        let loops = Loops::Listed { length: 1, places: listed };
        let ones = vec![1; places.len()];
        all.push(
            Group::new(Benchmark::Irregular, "elements at random distances".to_owned(), BASE, loops)
                .sized(elements)
                .way("indexed block", element().indexed_block(1, places.clone()))
                .way("indexed", element().indexed(ones.clone(), places.clone()))
                .way("struct", one_each(BASE, &ones, &places))
                .chain(&["indexed block", "indexed", "struct"])
                .collective(elements == 10_000),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_of_a_layout_have_one_type_map() {
        for group in all(false).into_iter().chain(all(true)) {
            let runs = |way: &Way| {
                let datatype = way.description.datatype().unwrap();
                let tree = dtype_core::TypeTree::vector(way.count, datatype.bounds.extent, datatype.tree);
                assert_eq!(tree.measure().unwrap().size, group.bytes, "{}: {}", group.name(), way.name);
                let tree = if way.count == 1 { tree.children()[0].clone() } else { tree };
                tree.runs().unwrap()
            };
            let first = runs(&group.ways[0]);
            for way in &group.ways[1..] {
                assert!(runs(way) == first, "{}: {}", group.name(), way.name);
            }
        }
    }

    #[test]
    fn what_is_expected_is_of_ways_that_there_are() {
        for group in all(false) {
            for expected in &group.expected {
                for name in [expected.left, expected.right] {
                    assert!(group.ways.iter().any(|way| way.name == name), "{}: {name}", group.name());
                }
            }
        }
    }
}
