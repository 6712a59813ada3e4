//! The cuts of runs that are needed so that solving the pieces solves the map. docs/search.md has the proof.

use crate::Run;

mod model;
mod repetitions;
mod stretches;
mod work;

pub(crate) use model::{FAR, LISTED, Long, Tiling, entries, is_within_reason, takes_runs_for_atoms};
pub(crate) use work::{Anchor, Repetition, Room, Stretch};
use work::{Cuts, START};

/// Finds the cuts of a map. Cuts are at the ends of its runs, wherever a repetition copies these ends, and
/// where a run can be divided into runs of the length of another run. Solving the pieces solves the map under
/// any model that takes [runs for atoms](takes_runs_for_atoms).
///
/// For example, `a² x a⁵ x a⁵ x a³` at a regular stride repeats with a period of six entries. So both runs of
/// five are cut after the third entry, and the search finds `vec(3, strc(a², x, a³))`.
///
/// Writes the cuts, including both ends of the map, and returns their number. Returns `None` if the buffers
/// in `room` are too short.
pub(crate) const fn cut(runs: &[Run], tiling: &Tiling, room: Room<'_>) -> Option<usize> {
    let mut cuts = Cuts::none(runs, tiling, room);
    cuts.insert_ends();
    cuts.find_stretches();
    cuts.tile();
    cuts.find_repetitions();
    cuts.repeat();
    if cuts.complete { Some(cuts.length) } else { None }
}

impl Cuts<'_> {
    /// Cuts at the ends of all runs. If the base type continues at another stride, also cuts one entry before
    /// and one after, because the entry on either side may fit both strides.
    const fn insert_ends(&mut self) {
        let mut at = START;
        self.insert(0);
        while at.run < self.runs.len() {
            at = self.end_of(at);
            self.insert(at.at);
            if at.run < self.runs.len() && self.goes_on(at.run) {
                if self.runs[at.run - 1].count > 1 {
                    self.insert(at.at - 1);
                }
                if self.runs[at.run].count > 1 {
                    self.insert(at.at + 1);
                }
            }
        }
    }
}
