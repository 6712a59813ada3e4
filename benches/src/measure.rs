//! Measuring rows: ours and the peers in turn, again and again, in one run; medians; one line a row.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;
use serde::Serialize;

use crate::record;

/// What every benchmark is asked for.
#[derive(Args, Clone)]
pub struct Options {
    /// All cases, fewer sizes and runs: under a minute.
    #[arg(long)]
    pub quick: bool,
    /// One JSON object a line.
    #[arg(long)]
    pub json: bool,
    /// Also adds the rows to this file: see [`record`].
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

/// One line of a benchmark, in the JSON form that others read.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Which benchmark.
    pub bench: &'static str,
    /// Which case, with its size.
    pub case: String,
    /// The MPI library, `none` where there is none in it.
    pub library: String,
    /// Our median, in microseconds.
    pub ours_us: f64,
    /// How far apart the middle half of our times is, in parts of the median.
    pub ours_spread: f64,
    /// The peers' medians.
    pub peers_us: BTreeMap<&'static str, f64>,
    /// The medians of other ways of ours.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub others_us: BTreeMap<&'static str, f64>,
    /// The cost of our tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ours_cost: Option<u64>,
    /// The costs of the peers' trees.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub peers_cost: BTreeMap<&'static str, u64>,
}

/// Something to time: a name, and what it does, which may have a cost as its result.
pub struct Contender<'a> {
    /// The name in `peers_us`; `ours` for ours.
    pub name: &'static str,
    /// What is timed.
    pub run: Box<dyn FnMut() -> Option<u64> + 'a>,
    /// Run only once: it takes long, and there is no need to be exact.
    pub once: bool,
}

impl<'a> Contender<'a> {
    /// One that is timed as often as the others.
    pub fn new(name: &'static str, run: impl FnMut() -> Option<u64> + 'a) -> Self {
        Self { name, run: Box::new(run), once: false }
    }
}

/// How long is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The least number of times that each contender is run,
    pub runs: usize,
    /// and, if they are quick, all of them for so long together.
    pub at_least: Duration,
    /// How often a contender repeats its work in one run.
    pub batch: u32,
}

impl Effort {
    /// `runs` runs and `milliseconds` of contenders that do their work once a run.
    pub const fn new(runs: usize, milliseconds: u64) -> Self {
        Self { runs, at_least: Duration::from_millis(milliseconds), batch: 1 }
    }
}

/// What was measured of all contenders.
#[derive(Debug)]
pub struct Medians(Vec<Measured>);

#[derive(Debug)]
struct Measured {
    name: &'static str,
    /// The median, in microseconds.
    time: f64,
    /// From the first quartile to the third, in parts of the median.
    spread: f64,
    /// The last result.
    cost: Option<u64>,
}

/// Times all contenders in turn, another one first each time.
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
    /// Of times that were measured, by name, with the last result.
    ///
    /// # Panics
    /// Where there are no times.
    pub fn of(all: impl Iterator<Item = (&'static str, Vec<Duration>, Option<u64>)>) -> Self {
        let measured = |(name, mut times, cost): (_, Vec<Duration>, _)| {
            times.sort_unstable();
            let at = |part: usize| times[times.len() * part / 4].as_secs_f64() * 1e6;
            Measured { name, time: at(2), spread: (at(3) - at(1)) / at(2), cost }
        };
        Self(all.map(measured).collect())
    }

    /// The median of one of them, in microseconds.
    pub fn time(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|found| found.name == name).map(|found| found.time)
    }

    /// The row of one of them, called ours, against the rest.
    ///
    /// # Panics
    /// Where none has this name.
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

/// Times all contenders, one of which is called `ours`.
///
/// # Panics
/// Where none is.
pub fn row(bench: &'static str, case: String, contenders: Vec<Contender<'_>>, effort: &Effort) -> Row {
    medians(contenders, effort).row(bench, case, "ours")
}

/// Prints a row, JSON on one line or a line for people, and records it if that is asked for.
///
/// # Panics
/// Where it cannot be recorded.
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
