//! The patience of calls that wait for other ranks.

use std::{hint, thread};

/// The patience of a wait: its first turns keep the core, and later ones leave it to other processes.
///
/// A message that is under way arrives within the first turns. To leave the core takes longer than that, and
/// on a busy machine it may last milliseconds. A rank that shares its core with the one that it waits for
/// must leave it.
pub(crate) struct Patience {
    turns: u32,
}

impl Patience {
    /// Returns the patience at the start of a wait.
    pub const fn new() -> Self {
        Self { turns: 0 }
    }

    /// Takes a turn, between two questions whether the wait is over. Returns `true` if it left the core.
    #[inline]
    pub fn turn(&mut self) -> bool {
        /// As many questions take 1 to 3 microseconds.
        const KEEPS: u32 = 32;
        if self.turns < KEEPS {
            self.turns += 1;
            hint::spin_loop();
            false
        } else {
            thread::yield_now();
            true
        }
    }
}
