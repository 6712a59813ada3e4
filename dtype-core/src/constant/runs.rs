//! Type maps in constants: runs in a buffer of fixed size.

use crate::{BaseType, Run, Runs, TypeTree, run::Next};

/// A type map of at most [`CAPACITY`](Self::CAPACITY) runs, in order. A constant can build and read it.
///
/// The runs depend on the map alone, not on the steps that built it. A map of more runs makes the buffer
/// [incomplete](Self::runs) permanently.
///
/// ```
/// use dtype_core::{BaseType, constant::RunBuffer};
/// const VECTOR: RunBuffer = RunBuffer::of_base(BaseType::F64).repeated(3, 8);
/// const PARTICLE: RunBuffer = {
///     let mut runs = VECTOR;
///     runs.append(&VECTOR, 24);
///     runs.append(&RunBuffer::of_base(BaseType::U8), 48);
///     runs
/// };
/// const CELL: RunBuffer = PARTICLE.repeated(2, 56);
/// let runs: Vec<String> = CELL.runs().unwrap().map(|run| run.to_string()).collect();
/// assert_eq!(runs, ["6 × f64 @ 0 stride 8", "u8 @ 48", "6 × f64 @ 56 stride 8", "u8 @ 104"]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RunBuffer {
    // These fields are not an array of `Run`s, because the compiler validates every constant. It validates an
    // array of numbers, which has no padding, in one step.
    bases: [u8; Self::CAPACITY],
    displacements: [i64; Self::CAPACITY],
    counts: [u64; Self::CAPACITY],
    strides: [i64; Self::CAPACITY],
    length: usize,
    complete: bool,
}

impl RunBuffer {
    /// The largest number of runs that a buffer holds.
    pub const CAPACITY: usize = 64;

    /// Creates an empty map.
    pub const fn new() -> Self {
        Self {
            bases: [0; _],
            displacements: [0; _],
            counts: [0; _],
            strides: [0; _],
            length: 0,
            complete: true,
        }
    }

    /// Creates a map of one entry at displacement 0.
    pub const fn of_base(base: BaseType) -> Self {
        let mut runs = Self::new();
        runs.push(Run::single(base, 0));
        runs
    }

    /// Returns the type map of a tree. The tree must have been measured.
    pub(crate) fn of(tree: &TypeTree) -> Self {
        let (mut runs, few) = (Self::new(), tree.few_runs(Self::CAPACITY));
        few.iter().flat_map(Runs::as_slice).for_each(|run| runs.push(*run));
        runs.complete &= few.is_some();
        runs
    }

    /// Returns `true` if all runs fit the buffer.
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns all runs, or `None` if they did not fit.
    pub fn runs(&self) -> Option<impl Iterator<Item = Run>> {
        self.complete.then(|| (0..self.length).map(|i| self.get(i)))
    }

    /// Returns an array that begins with all runs, and their number. Returns `None` if they did not fit.
    pub(crate) const fn list(&self) -> Option<([Run; Self::CAPACITY], usize)> {
        let mut list = [Run::single(BaseType::Byte, 0); Self::CAPACITY];
        let mut i = 0;
        while i < self.length {
            list[i] = self.get(i);
            i += 1;
        }
        if self.complete { Some((list, self.length)) } else { None }
    }

    const fn get(&self, i: usize) -> Run {
        Run {
            base: BaseType::nth(self.bases[i]),
            displacement: self.displacements[i],
            count: self.counts[i],
            stride: self.strides[i],
        }
    }

    const fn set(&mut self, i: usize, run: Run) {
        self.bases[i] = run.base as u8;
        self.displacements[i] = run.displacement;
        self.counts[i] = run.count;
        self.strides[i] = run.stride;
    }

    /// Appends a run, and joins it to the runs before if it continues them.
    pub const fn push(&mut self, run: Run) {
        // Most runs do not continue the run before. For such a run, this shortcut saves the compiler many
        // steps.
        let alone = self.length == 0 || self.bases[self.length - 1] != run.base as u8;
        let adjacent = run.count == 1 || run.stride == run.base.extent() as i64;
        // If a run of entries that are not adjacent is pushed entry by entry, it takes two slots of the
        // buffer until its third entry.
        let room = if adjacent { Self::CAPACITY } else { Self::CAPACITY - 1 };
        if alone && run.count > 0 && (adjacent || run.count > 2) && self.length < room {
            let stride = if run.count == 1 { 0 } else { run.stride };
            self.set(self.length, Run { stride, ..run });
            self.length += 1;
            return;
        }
        let mut i = 0;
        while i < run.count && i < Run::SETTLED {
            self.push_entry(run.base, run.entry(i));
            i += 1;
        }
        if self.complete && run.count > i {
            let last = self.length - 1;
            match self.counts[last].checked_add(run.count - i) {
                Some(count) => self.counts[last] = count,
                None => self.complete = false,
            }
        }
    }

    const fn push_entry(&mut self, base: BaseType, at: i64) {
        let length = self.length;
        let last = if length > 0 { Some(self.get(length - 1)) } else { None };
        let before = if length > 1 { Some(self.get(length - 2)) } else { None };
        let (place, run) = match Run::next(before, last, base, at) {
            Next::Longer(run) => (length - 1, run),
            Next::Three(run) => (length - 2, run),
            Next::New(run) => (length, run),
        };
        if self.complete && place < Self::CAPACITY {
            self.set(place, run);
            self.length = place + 1;
        } else {
            self.complete = false;
        }
    }

    /// Appends another map, moved by `offset` bytes.
    pub const fn append(&mut self, other: &Self, offset: i64) {
        let mut i = 0;
        while i < other.length {
            let run = other.get(i);
            self.push(Run { displacement: run.displacement.wrapping_add(offset), ..run });
            i += 1;
        }
        self.complete &= other.complete;
    }

    /// Returns the map repeated `count` times, `stride` bytes apart.
    #[must_use]
    pub const fn repeated(&self, count: u64, stride: i64) -> Self {
        let mut copies = Self::new();
        copies.complete = self.complete || count == 0;
        let run = self.get(0);
        match self.length {
            0 => {}
            // If all copies are one run, they are added at once.
            1 if run.count == 1 => copies.push(Run { count, stride, ..run }),
            1 if run.entry(run.count).wrapping_sub(run.displacement) == stride => {
                match run.count.checked_mul(count) {
                    Some(count) => copies.push(Run { count, ..run }),
                    None => copies.complete = false,
                }
            }
            // Otherwise every copy begins a run, so the loop ends soon.
            _ => {
                let mut i = 0;
                while i < count && copies.complete {
                    copies.append(self, stride.wrapping_mul(i as i64));
                    i += 1;
                }
            }
        }
        copies
    }
}

impl Default for RunBuffer {
    fn default() -> Self {
        Self::new()
    }
}
