//! Prices of MPI libraries: how long a message takes by its datatype, and how long packed (docs/wires.md,
//! "The choice of `Auto`").

use std::{
    fmt::{self, Write as _},
    ops::Range,
    str::FromStr,
};

use crate::{Order, Plan, Spacing};

/// The recorded prices, as `cargo xtask bench libraries --record` derives them from its times.
const RECORDED: &str = include_str!("prices.csv");

/// The word for all sizes.
const ANY: &str = "any";

/// The number of prices of a way, one for each of [`Shape::terms`].
pub const PRICES: usize = 8;

/// The names of the prices. Those of the blocks are named after their arrangement: the three [orders](Order)
/// of values of one base type, and any order of values of different base types. Only the latter have runs of
/// equal base types.
pub const NAMES: [&str; PRICES] = ["call", "byte", "strided", "nested", "listed", "mixed", "run", "memory"];

/// The prices in [`NAMES`] that are those of blocks.
const ARRANGEMENTS: Range<usize> = 2..6;

/// A way in which a message is transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By its datatype.
    Typed,
    /// As packed bytes.
    Packed,
}

impl Way {
    /// All ways, in the order of the recorded prices.
    pub const ALL: [Self; 2] = [Self::Typed, Self::Packed];

    /// Returns the name in the recorded prices.
    pub fn name(self) -> &'static str {
        match self {
            Self::Typed => "typed",
            Self::Packed => "packed",
        }
    }
}

/// The size and the blocks of a message that is not contiguous. They decide how long it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The size in packed bytes.
    pub bytes: usize,
    /// The number of blocks.
    blocks: usize,
    /// The arrangement of the blocks: one of [`ARRANGEMENTS`].
    arrangement: usize,
    /// The number of runs of equal base types; 0 if all values have one base type.
    runs: usize,
    /// The bytes of memory that pass through the caches.
    memory: usize,
}

impl Shape {
    /// Returns the shape of a message of `bytes` packed bytes.
    #[inline]
    pub fn new(bytes: usize, Spacing { mean_block, mean_run, touched, order }: Spacing) -> Self {
        let arrangement = match (order, mean_run) {
            (_, Some(_)) => 5,
            (Order::Strided, None) => 2,
            (Order::Nested, None) => 3,
            (Order::Listed, None) => 4,
        };
        let parts = |mean: f64| ((bytes as f64 / mean + 0.5) as usize).max(1);
        let memory = (bytes as f64 * touched + 0.5) as usize;
        Self { bytes, blocks: parts(mean_block), arrangement, runs: mean_run.map_or(0, parts), memory }
    }

    /// Returns the shape of `count` copies of a plan. Returns `None` if they are contiguous or empty, or have
    /// more bytes than can be counted.
    pub fn for_copies(plan: &Plan, count: usize) -> Option<Self> {
        let bytes = plan.packed_size().checked_mul(count).filter(|bytes| *bytes > 0)?;
        let spacing = plan.spacing().filter(|_| plan.contiguous(count).is_none())?;
        Some(Self::new(bytes, spacing))
    }

    /// Returns the bytes of memory, in whole cache lines, that pass through the caches.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Returns the factors of the prices: the call, the bytes, the blocks of each arrangement, the runs, and
    /// the memory beyond the bytes.
    pub fn terms(&self) -> [f64; PRICES] {
        let mut terms = [1.0, self.bytes as f64, 0.0, 0.0, 0.0, 0.0, self.runs as f64, self.beyond()];
        terms[self.arrangement] = self.blocks as f64;
        terms
    }

    /// Returns the sum of the prices times the [`terms`](Self::terms), most of which are 0.
    #[inline]
    fn time(&self, prices: &[f64; PRICES]) -> f64 {
        let [call, byte, .., run, memory] = prices;
        let blocks = prices[self.arrangement] * self.blocks as f64;
        call + byte * self.bytes as f64 + blocks + run * self.runs as f64 + memory * self.beyond()
    }

    /// Returns the bytes of memory beyond those of the message.
    #[inline]
    fn beyond(&self) -> f64 {
        self.memory.saturating_sub(self.bytes) as f64
    }
}

/// Writes the shape as words in the name of a case: `4096 bytes in 512 strided blocks of 32768 in memory`.
/// Values of different base types have `512 mixed blocks with 900 runs of …`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, blocks, arrangement, runs, memory } = self;
        write!(f, "{bytes} bytes in {blocks} {} blocks", NAMES[*arrangement])?;
        if *runs > 0 {
            write!(f, " with {runs} runs")?;
        }
        write!(f, " of {memory} in memory")
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no shape");
        let words: Vec<&str> = text.split(' ').collect();
        let [bytes, "bytes", "in", blocks, arrangement, "blocks", rest @ ..] = &words[..] else {
            return Err(wrong());
        };
        let (runs, rest) = match rest {
            ["with", runs, "runs", rest @ ..] => (*runs, rest),
            rest => ("0", rest),
        };
        let ["of", memory, "in", "memory"] = rest else { return Err(wrong()) };
        let number = |word: &str| word.parse().map_err(|_| wrong());
        let arrangement = ARRANGEMENTS.clone().find(|i| NAMES[*i] == *arrangement).ok_or_else(wrong)?;
        let [bytes, blocks] = [number(bytes)?, number(blocks)?];
        Ok(Self { bytes, blocks, arrangement, runs: number(runs)?, memory: number(memory)? })
    }
}

/// The prices of the messages of some sizes, in nanoseconds.
#[derive(Clone, Debug)]
struct Prices {
    /// The least size in bytes that is too large for these prices.
    end: usize,
    /// The prices of each way, in the order of [`Way::ALL`].
    ways: [[f64; PRICES]; Way::ALL.len()],
}

/// An MPI library with its prices.
#[derive(Clone, Debug)]
pub struct Library {
    /// The name with the version, and the machine: `mpich-4.0.2 on AMD`.
    pub name: &'static str,
    /// The prices by size, the last of which are for all sizes.
    prices: Vec<Prices>,
}

impl Library {
    /// Returns all libraries whose prices are recorded.
    pub fn all() -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for (name, prices) in RECORDED.lines().filter_map(read) {
            match all.last_mut().filter(|last| last.name == name) {
                Some(last) => last.prices.push(prices),
                None => all.push(Self { name, prices: vec![prices] }),
            }
        }
        all
    }

    /// Returns the libraries whose prices hold for a library: those of its major version, on each machine. If
    /// there are none, returns those of all its versions, or else all libraries.
    ///
    /// ```
    /// use dtype_engine::prices::Library;
    ///
    /// assert!(Library::nearest("mpich", 4).iter().all(|library| library.name.starts_with("mpich-4.")));
    /// assert!(Library::nearest("mpich", 99).len() > 1);
    /// ```
    pub fn nearest(name: &str, major: u32) -> Vec<Self> {
        let all = Self::all();
        let named = |beginning: String| -> Vec<Self> {
            all.iter().filter(|library| library.name.starts_with(&beginning)).cloned().collect()
        };
        let mut found = [format!("{name}-{major}."), format!("{name}-")].into_iter().map(named);
        found.find(|found| !found.is_empty()).unwrap_or(all)
    }

    /// Predicts the time of a message by its datatype, and packed, in nanoseconds: half a ping-pong between
    /// two ranks of a node.
    #[inline]
    pub fn times(&self, shape: &Shape) -> [f64; 2] {
        let Some(prices) = self.prices.iter().find(|prices| shape.bytes < prices.end) else {
            return [0.0; 2];
        };
        prices.ways.each_ref().map(|prices| shape.time(prices))
    }
}

/// Returns a table of the predicted times of a message of `count` copies of a plan, by its datatype and
/// packed, on all recorded libraries. Returns `None` if the copies are contiguous or empty, so that all ways
/// are one.
pub fn predictions(plan: &Plan, count: usize) -> Option<String> {
    let shape = Shape::for_copies(plan, count)?;
    let mut text = format!(
        "predicted time of {shape},\nhalf a ping-pong between two ranks of a node, in µs:\n{:>43}{:>16}\n",
        "by its datatype", "packed"
    );
    for library in Library::all() {
        let [typed, packed] = library.times(&shape).map(|time| time / 1e3);
        let digits = |time: f64| if time < 10.0 { 2 } else { 0 };
        let (typed_digits, packed_digits) = (digits(typed), digits(packed));
        let name = library.name;
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {name:<25}{typed:>16.typed_digits$}{packed:>16.packed_digits$}");
    }
    Some(text)
}

/// Reads a line of the recorded prices.
fn read(line: &'static str) -> Option<(&'static str, Prices)> {
    let mut words = line.split(',');
    let name = words.next()?;
    let end = words.next().map(|end| if end == ANY { Some(usize::MAX) } else { end.parse().ok() })??;
    let numbers: Vec<f64> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
    let ways: Vec<[f64; PRICES]> =
        numbers.chunks(PRICES).map(|prices| prices.try_into().ok()).collect::<Option<_>>()?;
    Some((name, Prices { end, ways: ways.try_into().ok()? }))
}

/// Returns `true` if a message is faster by its datatype than packed. If the prices are of several libraries,
/// chooses the way that loses less where it loses most.
#[inline]
pub fn is_faster_by_datatype(shape: &Shape, libraries: &[Library]) -> bool {
    if let [library] = libraries {
        let [typed, packed] = library.times(shape);
        return typed < packed;
    }
    let (mut least, mut most) = (f64::INFINITY, 0.0f64);
    for library in libraries {
        let [typed, packed] = library.times(shape);
        let ratio = typed / packed.max(f64::MIN_POSITIVE);
        (least, most) = (least.min(ratio), most.max(ratio));
    }
    least * most < 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_recorded_prices_is_read_and_each_library_has_prices_for_all_sizes() {
        let all = Library::all();
        let lines = RECORDED.lines().count();
        assert_eq!(lines, 1 + all.iter().map(|library| library.prices.len()).sum::<usize>());
        for Library { name, prices } in &all {
            assert!(prices.windows(2).all(|pair| pair[0].end < pair[1].end), "{name}");
            assert_eq!(prices.last().map(|last| last.end), Some(usize::MAX), "{name}");
        }
        let mut names: Vec<_> = all.iter().map(|library| library.name).collect();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    fn a_shape_is_read_as_it_is_written() {
        let shape = Shape { bytes: 4096, blocks: 512, arrangement: 2, runs: 0, memory: 32_768 };
        assert_eq!(shape.to_string(), "4096 bytes in 512 strided blocks of 32768 in memory");
        assert_eq!(shape.to_string().parse(), Ok(shape));
        let shape = Shape { arrangement: 5, runs: 900, ..shape };
        assert_eq!(shape.to_string(), "4096 bytes in 512 mixed blocks with 900 runs of 32768 in memory");
        assert_eq!(shape.to_string().parse(), Ok(shape));
        let wrong_runs = "4096 bytes in 512 mixed blocks with x runs of 1 in memory";
        for wrong in ["", "4096 bytes", "4096 bytes in x strided blocks of 1 in memory", wrong_runs] {
            assert!(wrong.parse::<Shape>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_library_without_prices_has_those_of_its_kin() {
        let names =
            |libraries: Vec<Library>| libraries.iter().map(|library| library.name).collect::<Vec<_>>();
        let all = names(Library::all());
        let of_mpich: Vec<_> = all.iter().copied().filter(|name| name.starts_with("mpich-")).collect();
        assert!(of_mpich.len() > 1 && of_mpich.len() < all.len());
        assert_eq!(names(Library::nearest("mpich", 99)), of_mpich);
        assert_eq!(names(Library::nearest("none", 1)), all);
        // One version, on each machine.
        let mut of_four = names(Library::nearest("mpich", 4));
        for name in &mut of_four {
            *name = name.split(" on ").next().unwrap_or_default();
        }
        of_four.dedup();
        assert!(matches!(of_four[..], [one] if one.starts_with("mpich-4.")));
    }

    #[test]
    fn of_several_libraries_the_way_is_taken_that_loses_less_where_it_loses_most() {
        let of = |name, typed: f64, packed: f64| {
            let call = |price: f64| [price, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
            let prices = Prices { end: usize::MAX, ways: [typed, packed].map(call) };
            Library { name, prices: vec![prices] }
        };
        let shape = Shape { bytes: 8, blocks: 1, arrangement: 2, runs: 0, memory: 8 };
        assert!(is_faster_by_datatype(&shape, &[of("a", 1.0, 4.0), of("b", 2.0, 1.0)]));
        assert!(!is_faster_by_datatype(&shape, &[of("a", 1.0, 2.0), of("b", 4.0, 1.0)]));
        assert!(!is_faster_by_datatype(&shape, &[]));
    }

    /// Checks the two forms of the sum: that of the fit, and that of the prediction.
    #[test]
    fn a_time_is_the_sum_of_the_prices_times_the_terms() {
        let prices = [3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0];
        for (arrangement, runs) in [(2, 0), (3, 0), (4, 0), (5, 900)] {
            let shape = Shape { bytes: 4096, blocks: 512, arrangement, runs, memory: 32_768 };
            let sum: f64 = shape.terms().iter().zip(prices).map(|(term, price)| term * price).sum();
            assert!((shape.time(&prices) - sum).abs() < 1e-6, "{shape}");
        }
    }

    /// Checks that blocks are counted in all parts of a layout, and runs of equal base types beside them.
    #[test]
    fn blocks_and_runs_are_counted_everywhere() {
        use dtype_core::{BaseType, TypeTree};

        let run = |count, stride, base| TypeTree::vector(count, stride, TypeTree::Leaf(base));
        // A row of 1 MiB, and then a column of as many bytes.
        let parts = [run(1 << 17, 8, BaseType::F64), run(1 << 17, 80, BaseType::F64)];
        let plan = Plan::new(&TypeTree::structure([0, 1 << 20], parts)).unwrap();
        let spacing = plan.spacing().unwrap();
        assert!((12.0..=20.0).contains(&spacing.mean_block), "{spacing:?}");
        // 16 bytes without a gap, of two base types.
        let parts = [run(1, 8, BaseType::F64), run(2, 4, BaseType::I32)];
        let plan = Plan::new(&TypeTree::structure([0, 8], parts)).unwrap().resized(24);
        let spacing = plan.spacing().unwrap();
        assert_eq!((spacing.mean_block, spacing.mean_run), (16.0, Some(8.0)));
    }

    #[test]
    fn each_library_has_a_line_of_predictions() {
        use dtype_core::{BaseType, TypeTree};

        let plan = Plan::new(&TypeTree::vector(1000, 16, TypeTree::Leaf(BaseType::F64))).unwrap();
        let text = predictions(&plan, 10).unwrap();
        assert!(text.starts_with("predicted time of 80000 bytes in 10000 strided blocks"), "{text}");
        let lines: Vec<_> = text.lines().skip(3).collect();
        assert_eq!(lines.len(), Library::all().len());
        for line in lines {
            let words: Vec<_> = line.split_whitespace().collect();
            assert!(words.len() == 5 && words[1] == "on", "{line}");
            assert!(words[3..].iter().all(|time| time.parse::<f64>().unwrap() > 0.0), "{line}");
        }
        assert_eq!(predictions(&plan, 0), None);
    }

    /// Checks the shape of a column: each number is a block, and its cache line is touched.
    #[test]
    fn the_shape_of_a_column_counts_cache_lines() {
        use dtype_core::{BaseType, TypeTree};

        let column = |stride| {
            let tree = TypeTree::vector(1000, stride, TypeTree::Leaf(BaseType::F64));
            Shape::for_copies(&Plan::new(&tree).unwrap(), 1).map(|shape| shape.to_string())
        };
        assert_eq!(column(8), None);
        assert_eq!(column(16).unwrap(), "8000 bytes in 1000 strided blocks of 15992 in memory");
        let far = "8000 bytes in 1000 strided blocks of 64000 in memory";
        assert_eq!(column(800).unwrap(), far);
        // A smaller extent does not change what one copy touches.
        let tree = TypeTree::vector(1000, 800, TypeTree::Leaf(BaseType::F64));
        let resized = Plan::new(&tree).unwrap().resized(8);
        assert_eq!(Shape::for_copies(&resized, 1).unwrap().to_string(), far);
    }
}
