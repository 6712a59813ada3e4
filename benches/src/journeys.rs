//! Round trips of messages between two ranks, measured in several ways in turn.

use std::time::{Duration, Instant};

use clap::Args;
use mpi::{topology::SimpleCommunicator, traits::*};

use crate::measure::Options;

/// The options of a benchmark of messages.
#[derive(Args)]
pub struct Arguments {
    /// The options of every benchmark.
    #[command(flatten)]
    pub options: Options,
    /// The MPI library that this program was compiled against.
    #[arg(long)]
    pub library: String,
    /// Only cases whose names begin with this text.
    #[arg(long, default_value = "")]
    pub only: String,
}

/// The number of rounds that is enough for slow cases.
const FEW: usize = 5;

/// The duration of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The least number of rounds, unless they take longer than `at_most`.
    pub runs: usize,
    /// The least total time of all rounds.
    pub at_least: Duration,
    /// The total time after which a few rounds are enough.
    pub at_most: Duration,
    /// The number of round trips in a round.
    pub batch: usize,
}

/// Half of a round trip, as this rank sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The half in which this rank sends.
    There,
    /// The half in which this rank receives.
    Back,
}

/// Returns the times of half a round trip, for each of the `ways`. Each round runs all ways, beginning with
/// another one. `go` sends or receives.
pub fn rounds(
    world: &SimpleCommunicator,
    ways: usize,
    effort: &Effort,
    go: impl Fn(usize, Direction),
) -> Vec<Vec<Duration>> {
    let started = Instant::now();
    let mut times = vec![Vec::new(); ways];
    let mut round = 0;
    loop {
        // Rank 0 decides, so that both ranks end after the same round.
        let mut goes_on = match started.elapsed() {
            elapsed if elapsed < effort.at_least => true,
            elapsed if elapsed > effort.at_most => round < FEW,
            _ => round < effort.runs,
        };
        world.process_at_rank(0).broadcast_into(&mut goes_on);
        if !goes_on {
            return times;
        }
        for way in (0..ways).map(|i| (i + round) % ways) {
            let journey = || {
                let directions = [Direction::There, Direction::Back];
                let in_turn = if world.rank() == 0 { directions } else { [directions[1], directions[0]] };
                for direction in in_turn {
                    go(way, direction);
                }
            };
            // This untimed round trip fills the caches with the data of this way.
            journey();
            world.barrier();
            let start = Instant::now();
            (0..effort.batch).for_each(|_| journey());
            times[way].push(start.elapsed() / (2 * effort.batch) as u32);
        }
        round += 1;
    }
}
