//! Measuring rows: ours and the peers in turn, again and again, in one run; medians; one line a row.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use clap::Args;
use serde::Serialize;

/// What every benchmark is asked for.
#[derive(Args)]
pub struct Options {
    /// All cases, fewer sizes and runs: under a minute.
    #[arg(long)]
    pub quick: bool,
    /// One JSON object a line.
    #[arg(long)]
    pub json: bool,
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
    /// The peers' medians.
    pub peers_us: BTreeMap<&'static str, f64>,
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

/// Times all contenders in turn, at least `runs` times each and, if they are quick, for `at_least` together.
///
/// # Panics
/// Where none is called `ours`.
pub fn row(
    bench: &'static str,
    case: String,
    mut contenders: Vec<Contender<'_>>,
    runs: usize,
    at_least: Duration,
) -> Row {
    let mut times: Vec<Vec<Duration>> = contenders.iter().map(|_| Vec::new()).collect();
    let mut costs = vec![None; contenders.len()];
    let started = Instant::now();
    let mut run = 0;
    while run < runs || started.elapsed() < at_least {
        for (i, contender) in contenders.iter_mut().enumerate() {
            if contender.once && run > 0 {
                continue;
            }
            let start = Instant::now();
            costs[i] = std::hint::black_box((contender.run)());
            times[i].push(start.elapsed());
        }
        run += 1;
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e6
    };
    let ours = contenders.iter().position(|contender| contender.name == "ours").expect("one is ours");
    let peers = || contenders.iter().enumerate().filter(|(i, _)| *i != ours);
    Row {
        bench,
        case,
        library: "none".to_owned(),
        ours_us: median(&mut times[ours]),
        peers_us: peers().map(|(i, peer)| (peer.name, median(&mut times[i]))).collect(),
        ours_cost: costs[ours],
        peers_cost: peers().filter_map(|(i, peer)| Some((peer.name, costs[i]?))).collect(),
    }
}

/// Prints a row: JSON on one line, or a line for people.
///
/// # Panics
/// Never: a row is always valid JSON.
pub fn print(row: &Row, json: bool) {
    if json {
        println!("{}", serde_json::to_string(row).expect("a row is valid JSON"));
        return;
    }
    let cost = row.ours_cost.map_or(String::new(), |cost| format!(" (cost {cost})"));
    print!("{:<34}{:>12.1} µs{cost}", row.case, row.ours_us);
    for (name, time) in &row.peers_us {
        let cost = row.peers_cost.get(name).map_or(String::new(), |cost| format!(" (cost {cost})"));
        print!("   {name} {:.1} ×{cost}", time / row.ours_us);
    }
    println!();
}
