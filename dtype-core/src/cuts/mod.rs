//! Where runs must be cut, so that solving the pieces solves the map. DESIGN.md has the argument.

use crate::Run;

mod model;
mod repetitions;
mod stretches;
mod work;

pub(crate) use model::{FAR, LISTED, Long, Tiling, entries, is_within_reason, takes_runs_for_atoms};
pub(crate) use work::{Anchor, Repetition, Room, Stretch};
use work::{Cuts, START};

/// Where to cut a map: at the ends of its runs, at what a repetition makes of these, and where runs of one
/// length would fit into others. Solving the pieces solves the map under any model that takes [runs for
/// atoms](takes_runs_for_atoms).
///
/// `a² x a⁵ x a⁵ x a³` at a regular stride repeats with a period of six entries; so both runs of five are cut
/// behind the third entry, and what is found is `vec(3, strc(a², x, a³))`.
///
/// Writes the cuts, both ends of the map among them, and gives their number; nothing if there is no room for
/// all.
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
    /// The ends of all runs. Where one base type goes on at another stride, an entry more or less on either
    /// side may belong to something else by chance.
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
