//! The measuring of rows. Our code and the peers run in turn in one process; a row holds their medians.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;

use crate::record::{self, Row};

/// The options of every benchmark.
#[derive(Args, Clone)]
pub struct Options {
    /// Run all cases with fewer sizes and runs: under a minute.
    #[arg(long)]
    pub quick: bool,
    /// Print one JSON object per line.
    #[arg(long)]
    pub json: bool,
    /// Also append the rows to this file: see [`record`].
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

/// A function that is timed. It may return the cost of a tree.
pub struct Contender<'a> {
    /// The name in `peers_us`; `ours` for ours.
    pub name: &'static str,
    /// The function that is timed.
    pub run: Box<dyn FnMut() -> Option<u64> + 'a>,
    /// `true` if the contender runs only once, because it is slow and its time need not be exact.
    pub once: bool,
}

impl<'a> Contender<'a> {
    /// Returns a contender that is timed as often as the others.
    pub fn new(name: &'static str, run: impl FnMut() -> Option<u64> + 'a) -> Self {
        Self { name, run: Box::new(run), once: false }
    }
}

/// The duration of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The least number of runs of each contender.
    pub runs: usize,
    /// The least total time of all runs.
    pub at_least: Duration,
    /// The number of times that a contender repeats its work in one run.
    pub batch: u32,
    /// `true` if each contender runs once more before it is timed. Then it finds the heap and the caches as
    /// it leaves them itself, not as the contender before it does.
    pub warm: bool,
}

impl Effort {
    /// Returns an effort of at least `runs` runs and `milliseconds`, for contenders that do their work once a
    /// run.
    pub const fn new(runs: usize, milliseconds: u64) -> Self {
        Self { runs, at_least: Duration::from_millis(milliseconds), batch: 1, warm: false }
    }
}

/// The measured times of all contenders.
#[derive(Debug)]
pub struct Medians(Vec<Measured>);

#[derive(Debug)]
struct Measured {
    name: &'static str,
    /// The median, in microseconds.
    time: f64,
    /// The interquartile range, as a fraction of the median.
    spread: f64,
    /// The cost that the last run returned.
    cost: Option<u64>,
}

/// Times all contenders in turn. Each round begins with another one.
pub fn medians(mut contenders: Vec<Contender<'_>>, effort: &Effort) -> Medians {
    let mut times: Vec<Vec<Duration>> = contenders.iter().map(|_| Vec::new()).collect();
    let mut costs = vec![None; contenders.len()];
    let started = Instant::now();
    let (mut run, count) = (0, contenders.len());
    while run < effort.runs || started.elapsed() < effort.at_least {
        for i in (0..count).map(|i| (i + run) % count) {
            let contender = &mut contenders[i];
            if contender.once && run > 0 {
                continue;
            }
            if effort.warm {
                std::hint::black_box((contender.run)());
            }
            let start = Instant::now();
            costs[i] = std::hint::black_box((contender.run)());
            times[i].push(start.elapsed());
        }
        run += 1;
    }
    let each = |times: Vec<Duration>| times.into_iter().map(|time| time / effort.batch).collect();
    let all = contenders.iter().zip(times).zip(costs);
    Medians::of(all.map(|((contender, times), cost)| (contender.name, each(times), cost)))
}

impl Medians {
    /// Computes the medians of measured times. Each item has a name, the times, and the last result.
    ///
    /// # Panics
    /// If a contender has no times.
    pub fn of(all: impl Iterator<Item = (&'static str, Vec<Duration>, Option<u64>)>) -> Self {
        let measured = |(name, mut times, cost): (_, Vec<Duration>, _)| {
            times.sort_unstable();
            let at = |part: usize| times[times.len() * part / 4].as_secs_f64() * 1e6;
            Measured { name, time: at(2), spread: (at(3) - at(1)) / at(2), cost }
        };
        Self(all.map(measured).collect())
    }

    /// Returns the median of a contender, in microseconds.
    pub fn time(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|found| found.name == name).map(|found| found.time)
    }

    /// Returns the row of the contender `ours`, with all others as its peers.
    ///
    /// # Panics
    /// If no contender is called `ours`.
    pub fn row(&self, bench: &'static str, case: String, ours: &str) -> Row {
        let own = self.0.iter().find(|found| found.name == ours).expect("one is ours");
        let peers = || self.0.iter().filter(|peer| peer.name != ours);
        Row {
            bench,
            case,
            library: "none".to_owned(),
            ours_us: own.time,
            ours_spread: own.spread,
            peers_us: peers().map(|peer| (peer.name, peer.time)).collect(),
            others_us: BTreeMap::new(),
            ours_cost: own.cost,
            peers_cost: peers().filter_map(|peer| Some((peer.name, peer.cost?))).collect(),
        }
    }
}

/// Times all contenders, and returns the row of the one that is called `"ours"`.
///
/// # Panics
/// If no contender is called `"ours"`.
pub fn row(bench: &'static str, case: String, contenders: Vec<Contender<'_>>, effort: &Effort) -> Row {
    medians(contenders, effort).row(bench, case, "ours")
}

/// Prints a row, as a JSON line or as text, and records it if the options name a file.
///
/// # Panics
/// If the file cannot be written.
pub fn print(row: &Row, options: &Options) {
    if let Some(file) = &options.record {
        record::add(file, row).expect("the file of recorded rows can be written");
    }
    if options.json {
        println!("{}", serde_json::to_string(row).expect("a row is valid JSON"));
        return;
    }
    let cost = row.ours_cost.map_or(String::new(), |cost| format!(" (cost {cost})"));
    print!("{:<34}{:>12.1} µs{cost}", row.case, row.ours_us);
    for (name, time) in &row.peers_us {
        let cost = row.peers_cost.get(name).map_or(String::new(), |cost| format!(" (cost {cost})"));
        print!("   {name} {:.1} ×{cost}", time / row.ours_us);
    }
    for (name, time) in &row.others_us {
        print!("   (ours, {name}: {:.1} ×)", time / row.ours_us);
    }
    println!();
}
