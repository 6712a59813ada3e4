//! Messages there and back between two ranks, in several ways in turn.

use std::time::{Duration, Instant};

use clap::Args;
use mpi::{topology::SimpleCommunicator, traits::*};

use crate::measure::Options;

/// What such a benchmark is asked for.
#[derive(Args)]
pub struct Arguments {
    /// What every benchmark is asked for.
    #[command(flatten)]
    pub options: Options,
    /// The MPI library this has been compiled against.
    #[arg(long)]
    pub library: String,
    /// Only cases whose name begins so.
    #[arg(long, default_value = "")]
    pub only: String,
}

/// Runs of what takes long.
const FEW: usize = 5;

/// How long is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The least number of times that each way is run,
    pub runs: usize,
    /// and, if they are quick, all of them for so long together.
    pub at_least: Duration,
    /// After so long a few runs are enough.
    pub at_most: Duration,
    /// Journeys there and back in a run.
    pub batch: usize,
}

/// Half of a journey, from one rank to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// What this rank sends.
    There,
    /// What it receives.
    Back,
}

/// The times of half a journey, of all `ways` in turn, another one first each time. `go` sends or receives.
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
        // Both ranks end after the same round.
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
            // The caches are as this way leaves them, not as the one before did.
            journey();
            world.barrier();
            let start = Instant::now();
            (0..effort.batch).for_each(|_| journey());
            times[way].push(start.elapsed() / (2 * effort.batch) as u32);
        }
        round += 1;
    }
}
