//! Boxes of arrays in three dimensions, as a user describes them to MPI, and ways to move them that are timed
//! together.

use std::{os::raw::c_int, time::Duration};

use mpi::{
    ffi::{self, MPI_Datatype},
    raw::AsRaw,
    topology::SimpleCommunicator,
    traits::*,
};

use crate::{
    journeys::{Arguments, Effort, rounds},
    measure::{Medians, print},
};

/// A way to move data, with its name.
pub type Way<'a> = (&'static str, Box<dyn Fn() + 'a>);

/// The length of a measurement.
#[derive(Clone, Copy)]
pub struct Runs {
    /// The runs that are timed together.
    batch: usize,
    /// The least time of all runs in milliseconds.
    at_least: u64,
}

/// The runs in a measurement of calls that take microseconds.
pub const SHORT: Runs = Runs { batch: 20, at_least: 400 };

/// The runs in a measurement of calls that take milliseconds at most.
pub const MANY: Runs = Runs { batch: 4, at_least: 3000 };

/// The runs in a measurement of calls that may take a second.
pub const FEW: Runs = Runs { batch: 1, at_least: 3000 };

/// Times all ways in turn, and prints a row with the first one as ours.
pub fn measure(
    bench: &'static str,
    arguments: &Arguments,
    world: &SimpleCommunicator,
    case: &str,
    Runs { batch, at_least }: Runs,
    ways: &[Way<'_>],
) {
    let quick = arguments.options.quick;
    if !case.starts_with(&arguments.only) {
        return;
    }
    let effort = Effort {
        runs: if quick { 9 } else { 41 },
        at_least: Duration::from_millis(if quick { at_least / 10 } else { at_least }),
        at_most: Duration::from_secs(20),
        batch,
    };
    let times = rounds(world, ways.len(), &effort, |way, _| ways[way].1());
    if world.rank() == 0 {
        let all = ways.iter().zip(times).map(|((name, _), times)| (*name, times, None));
        let case = format!("{}-ranks/{case}", world.size());
        let mut row = Medians::of(all).row(bench, case, "ours");
        row.library.clone_from(&arguments.library);
        print(&row, &arguments.options);
    }
}

/// A box of an array: its first index and its lengths.
#[derive(Clone, Copy)]
pub struct Part {
    /// The first index in each dimension.
    pub start: [usize; 3],
    /// The number of elements in each dimension.
    pub lengths: [usize; 3],
}

impl Part {
    /// Returns the box of a rank if each dimension is divided into blocks.
    pub fn of_rank(rank: usize, sizes: [usize; 3], blocks: [usize; 3]) -> Self {
        let mut rest = rank;
        let mut place = [0; 3];
        for k in (0..3).rev() {
            place[k] = rest % blocks[k];
            rest /= blocks[k];
        }
        let ends = |k: usize| [place[k], place[k] + 1].map(|i| i * sizes[k] / blocks[k]);
        Self {
            start: std::array::from_fn(|k| ends(k)[0]),
            lengths: std::array::from_fn(|k| ends(k)[1] - ends(k)[0]),
        }
    }

    /// Returns the datatype of the box of `T`s in an array of these sizes. It lives as long as the program.
    pub fn subarray<T: Equivalence>(self, sizes: [usize; 3]) -> MPI_Datatype {
        let [sizes, lengths, start] =
            [sizes, self.lengths, self.start].map(|all| all.map(|number| number as c_int));
        // SAFETY: the box lies within the array.
        unsafe {
            let mut datatype = ffi::RSMPI_DATATYPE_NULL;
            let element = T::equivalent_datatype().as_raw();
            let (sizes, lengths, start) = (sizes.as_ptr(), lengths.as_ptr(), start.as_ptr());
            let order = ffi::MPI_ORDER_C as c_int;
            ffi::MPI_Type_create_subarray(3, sizes, lengths, start, order, element, &raw mut datatype);
            ffi::MPI_Type_commit(&raw mut datatype);
            datatype
        }
    }

    /// Calls `each` with the place of each row of the box in an array of these sizes.
    #[inline]
    pub fn rows(&self, sizes: [usize; 3], mut each: impl FnMut(usize)) {
        let Self { start, lengths } = self;
        for i in start[0]..start[0] + lengths[0] {
            for j in start[1]..start[1] + lengths[1] {
                each((i * sizes[1] + j) * sizes[2] + start[2]);
            }
        }
    }

    /// Returns the box that two boxes of one array have in common. It may be empty.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        let start = std::array::from_fn(|k| self.start[k].max(other.start[k]));
        let lengths = std::array::from_fn(|k| {
            (self.start[k] + self.lengths[k]).min(other.start[k] + other.lengths[k]).saturating_sub(start[k])
        });
        Self { start, lengths }
    }

    /// Returns the number of elements.
    pub fn count(&self) -> usize {
        self.lengths.iter().product()
    }

    /// Returns the same elements, with indices from `origin` on.
    #[must_use]
    pub fn within(&self, origin: [usize; 3]) -> Self {
        Self { start: std::array::from_fn(|k| self.start[k].saturating_sub(origin[k])), ..*self }
    }
}
