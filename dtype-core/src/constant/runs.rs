//! Type maps in constants: runs in a buffer of fixed size.

use core::ops::ControlFlow;

use crate::{BaseType, Run, TypeTree, run::Next};

/// A type map of at most [`CAPACITY`](Self::CAPACITY) runs, in order, that can be put together and read in a constant.
///
/// The runs depend on the map alone, not on the steps in which it was put together. A map of more runs makes the buffer
/// [incomplete](Self::as_slice) for good.
///
/// ```
/// use dtype_core::{BaseType, constant::RunBuffer};
/// const VECTOR: RunBuffer = RunBuffer::of_base(BaseType::F64).repeated(3, 8);
/// const PARTICLE: RunBuffer =
///     RunBuffer::new().with(&VECTOR, 0).with(&VECTOR, 24).with(&RunBuffer::of_base(BaseType::U8), 48);
/// const CELL: RunBuffer = PARTICLE.repeated(2, 56);
/// assert_eq!(CELL.as_slice().unwrap().len(), 4);
/// assert_eq!(CELL.as_slice().unwrap()[2].to_string(), "6 × f64 @ 56 stride 8");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RunBuffer {
    runs: [Run; Self::CAPACITY],
    length: usize,
    complete: bool,
}

impl RunBuffer {
    /// The most runs a buffer holds.
    pub const CAPACITY: usize = 64;

    /// An empty map.
    pub const fn new() -> Self {
        let nothing = Run { base: BaseType::Byte, displacement: 0, count: 0, stride: 0 };
        Self { runs: [nothing; Self::CAPACITY], length: 0, complete: true }
    }

    /// One entry at displacement 0.
    pub const fn of_base(base: BaseType) -> Self {
        let mut runs = Self::new();
        runs.push(Run::single(base, 0));
        runs
    }

    /// The type map of a tree. It must have been measured.
    pub(crate) fn of(tree: &TypeTree) -> Self {
        /// Trees are looked at in so many steps: even runs without end may be written copy by copy.
        const STEPS: usize = 1 << 12;
        let mut runs = Self::new();
        if let Some(run) = tree.single_run() {
            runs.push(run);
            return runs;
        }
        let mut steps = 0;
        let walk = tree.for_each_run(0, &mut |run| {
            runs.push(run);
            steps += 1;
            if runs.complete && steps < STEPS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        runs.complete &= walk.is_continue();
        runs
    }

    /// All runs, or nothing if they were too many.
    pub const fn as_slice(&self) -> Option<&[Run]> {
        if self.complete { Some(self.runs.split_at(self.length).0) } else { None }
    }

    /// Appends a run.
    pub const fn push(&mut self, run: Run) {
        let mut i = 0;
        while i < run.count && i < Run::SETTLED {
            self.push_entry(run.base, run.entry(i));
            i += 1;
        }
        if self.complete && run.count > i {
            let last = &mut self.runs[self.length - 1];
            match last.count.checked_add(run.count - i) {
                Some(count) => last.count = count,
                None => self.complete = false,
            }
        }
    }

    const fn push_entry(&mut self, base: BaseType, at: i64) {
        let length = self.length;
        let last = if length > 0 { Some(self.runs[length - 1]) } else { None };
        let before = if length > 1 { Some(self.runs[length - 2]) } else { None };
        let (place, run) = match Run::next(before, last, base, at) {
            Next::Longer(run) => (length - 1, run),
            Next::Three(run) => (length - 2, run),
            Next::New(run) => (length, run),
        };
        if self.complete && place < Self::CAPACITY {
            self.runs[place] = run;
            self.length = place + 1;
        } else {
            self.complete = false;
        }
    }

    const fn append(&mut self, other: &Self, offset: i64) {
        let mut i = 0;
        while i < other.length {
            let run = other.runs[i];
            self.push(Run { displacement: run.displacement.wrapping_add(offset), ..run });
            i += 1;
        }
        self.complete &= other.complete;
    }

    /// The map followed by another one, moved by `offset` bytes.
    #[must_use]
    pub const fn with(mut self, other: &Self, offset: i64) -> Self {
        self.append(other, offset);
        self
    }

    /// The map `count` times, `stride` bytes apart.
    #[must_use]
    pub const fn repeated(&self, count: u64, stride: i64) -> Self {
        let mut copies = Self::new();
        copies.complete = self.complete || count == 0;
        let run = self.runs[0];
        match self.length {
            0 => {}
            // All copies at once, where they are one run.
            1 if run.count == 1 => copies.push(Run { count, stride, ..run }),
            1 if run.entry(run.count).wrapping_sub(run.displacement) == stride => {
                match run.count.checked_mul(count) {
                    Some(count) => copies.push(Run { count, ..run }),
                    None => copies.complete = false,
                }
            }
            // Otherwise every copy begins a run, so that this ends soon.
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
