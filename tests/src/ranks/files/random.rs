//! Random programs of files against a model: the file's bytes in an array. All ranks draw the same program,
//! with the arguments of all ranks, so each knows what the file must hold and which calls must fail.

use std::{
    fs, mem, panic,
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
};

use dtype_runtime::{
    Comm, Error, File, View,
    comm::{FileOptions, FileView},
    layout::{ArrayOrder, DynamicLayout, Subarray},
};
use mpi::{topology::SimpleCommunicator, traits::*};

use super::{
    cells::{Cell, Dense},
    model::Model,
    path,
};
use crate::{
    engine::Random,
    redistribution::{Mixed, Own, distribution},
};

/// Returns `true` if values have the same bytes, also if these are no numbers.
fn same<T: Cell>(values: &[T], others: &[T]) -> bool {
    let bytes = |values: &[T]| values.iter().flat_map(Cell::bytes).collect::<Vec<_>>();
    bytes(values) == bytes(others)
}

/// A transfer of one rank: the offset of each element in the file, in the order of the message.
type Places = Vec<usize>;

/// The seed of the program that runs, which is printed if it fails.
static SEED: AtomicU64 = AtomicU64::new(0);

/// The number of the step that runs.
static STEP: AtomicU64 = AtomicU64::new(0);

/// Runs random programs. `DTYPE_SEED` is the seed of the first one.
pub fn programs(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        eprintln!("DTYPE_SEED={}, step {}", SEED.load(Ordering::Relaxed), STEP.load(Ordering::Relaxed));
        print(panic);
    }));
    let (first, programs) = (dtype_tests::seed(71), if dtype_tests::is_long() { 10_000 } else { 100 });
    for seed in first..first + programs {
        SEED.store(seed, Ordering::Relaxed);
        let mut program = Program::new(world, seed);
        for step in 0..8 {
            STEP.store(step, Ordering::Relaxed);
            program.step();
            program.compare();
        }
        program.end();
    }
}

struct Program<'w> {
    world: &'w Comm<&'w SimpleCommunicator>,
    rank: usize,
    ranks: usize,
    drawn: Random,
    path: PathBuf,
    /// The file; `None` while it is opened again.
    file: Option<File>,
    model: Model,
    /// The offset of the next call in the order of the ranks.
    ordered: usize,
    /// The number of the next value to write.
    next: u64,
}

impl<'w> Program<'w> {
    fn new(world: &'w Comm<&'w SimpleCommunicator>, seed: u64) -> Self {
        let path = path(world, "random");
        let file = Some(world.create(&path).unwrap());
        let (rank, ranks) = (world.rank(), world.size());
        let (model, drawn) = (Model::default(), Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        Self { world, rank, ranks, drawn, path, file, model, ordered: 0, next: 1 }
    }

    fn file(&mut self) -> &mut File {
        self.file.as_mut().expect("the file is open")
    }

    fn step(&mut self) {
        match self.drawn.below(3) {
            0 => self.step_of::<f64>(),
            1 => self.step_of::<Mixed>(),
            _ => self.step_of::<Dense>(),
        }
    }

    fn step_of<T: Cell>(&mut self) {
        match self.drawn.below(16) {
            0 | 1 => self.at_offsets::<T>(),
            2 | 3 => self.immediate::<T>(),
            4 | 5 => self.in_order::<T>(),
            6 => self.distributed::<T, 1>([40, 400]),
            7 | 8 => self.distributed::<T, 2>([7, 60]),
            9 => self.distributed::<T, 3>([5, 5]),
            10 | 11 => self.viewed::<T>(),
            12 => self.boxed::<T>(),
            13 => self.sized(),
            14 => self.forgotten::<T>(),
            _ => self.open_again(),
        }
    }

    /// Compares the file on the disk with the model.
    fn compare(&mut self) {
        let size = self.on_disk(Model::compare).bytes.len() as u64;
        assert_eq!(self.file().size().unwrap(), size);
        // No rank may change it before.
        self.world.barrier();
    }

    /// Ends a step in which some ranks may have written their bytes: each byte of the file is old or new.
    fn either(&mut self, new: &Model) {
        self.on_disk(|model, found| model.either(new, found));
    }

    /// Gives the bytes on the disk to the model, while no rank writes.
    fn on_disk(&mut self, compare: impl FnOnce(&mut Model, &[u8])) -> &Model {
        self.world.barrier();
        compare(&mut self.model, &fs::read(&self.path).unwrap());
        self.world.barrier();
        &self.model
    }

    fn end(mut self) {
        if self.drawn.below(2) == 0 {
            self.file.take().expect("the file is open").close().unwrap();
        }
        drop(self.file.take());
        super::remove(self.world, &self.path);
    }

    /// Returns values that were never written, one for each place.
    fn values<T: Cell>(&mut self, places: &[usize]) -> Vec<T> {
        let first = self.next;
        self.next += places.len() as u64;
        (first..self.next).map(T::of).collect()
    }

    /// Returns places of adjacent elements for each rank. No two ranks share a byte, and some have none.
    fn adjacent<T: Cell>(&mut self) -> Vec<Places> {
        let (mut all, mut at) = (vec![Places::new(); self.ranks], self.drawn.below(50));
        let first = self.drawn.below(self.ranks);
        for i in 0..self.ranks {
            let count = self.drawn.below(7);
            all[(first + i) % self.ranks] = (0..count).map(|i| at + i * T::SIZE).collect();
            at += count * T::SIZE + self.drawn.below(2) * self.drawn.below(9);
        }
        all
    }

    /// Writes to the model what the ranks write at these places, and returns this rank's values.
    fn write<T: Cell>(&mut self, model: &mut Model, all: &[Places]) -> Vec<T> {
        let mut own = Vec::new();
        for (rank, places) in all.iter().enumerate() {
            let values: Vec<T> = self.values(places);
            places.iter().zip(&values).for_each(|(at, value)| model.write(*at, &value.bytes()));
            if rank == self.rank {
                own = values;
            }
        }
        own
    }

    /// Returns the values at places of the model; `None` if the file ends before, or if a value is none.
    fn expected<T: Cell>(&self, places: &[usize]) -> Option<Vec<T>> {
        places.iter().map(|at| self.model.read(*at)).collect()
    }

    /// Checks the result of a read of all ranks: it fails if it must fail on any rank.
    fn check_read<T: Cell>(&self, all: &[Places], read: &Result<(), Error>, found: &[T]) {
        let is_right = all.iter().all(|places| self.expected::<T>(places).is_some());
        assert_eq!(read.is_ok(), is_right, "{read:?}");
        if is_right {
            assert!(same(found, &self.expected::<T>(&all[self.rank]).unwrap()), "{found:?}");
        }
    }

    /// Draws a rank that has an error; `None` in most cases.
    fn failing(&mut self) -> Option<usize> {
        let rank = self.drawn.below(self.ranks);
        (self.drawn.below(5) == 0).then_some(rank)
    }

    /// Returns the layout of every other element of so many.
    fn every_other<T: Cell>(count: usize) -> DynamicLayout<T, 2> {
        let order = ArrayOrder::RowMajor;
        Subarray { sizes: [count, 2], subsizes: [count, 1], starts: [0, 1], order }.layout().unwrap()
    }

    fn at_offsets<T: Cell>(&mut self) {
        let (all, failing) = (self.adjacent::<T>(), self.failing());
        let (is_strided, together) = (self.drawn.below(2) == 0, self.drawn.below(2) == 0);
        let own = all[self.rank].clone();
        let wrong = failing == Some(self.rank);
        let at = if wrong { u64::MAX } else { own.first().copied().unwrap_or(0) as u64 };
        if self.drawn.below(2) == 0 {
            let mut new = self.model.clone();
            let values: Vec<T> = self.write(&mut new, &all);
            let doubled: Vec<T> = values.iter().flat_map(|value| [*value; 2]).collect();
            let layout = Self::every_other::<T>(own.len());
            let view: View<'_, _> = layout.of(&doubled).unwrap();
            let file = self.file();
            let written = match (is_strided, together) {
                (true, true) => file.write_at_all(at, &view),
                (false, true) => file.write_at_all(at, &values),
                (true, false) => file.write_at(at, &view),
                (false, false) => file.write_at(at, &values),
            };
            assert_eq!(written.is_err(), if together { failing.is_some() } else { wrong }, "{written:?}");
            return if failing.is_some() { self.either(&new) } else { self.model = new };
        }
        let mut found = vec![T::of(0); own.len()];
        let mut doubled = vec![T::of(0); 2 * own.len()];
        let file = self.file();
        let read = if is_strided {
            let layout = Self::every_other::<T>(own.len());
            let mut view = layout.of_mut(&mut doubled).unwrap();
            if together { file.read_at_all(at, &mut view) } else { file.read_at(at, &mut view) }
        } else if together {
            file.read_at_all(at, &mut found)
        } else {
            file.read_at(at, &mut found)
        };
        if is_strided {
            found = doubled.iter().skip(1).step_by(2).copied().collect();
        }
        match (together, failing) {
            (true, Some(_)) => assert!(read.is_err()),
            (true, None) => self.check_read(&all, &read, &found),
            (false, _) if wrong => assert!(read.is_err()),
            (false, _) => self.check_read(&vec![own; self.ranks], &read, &found),
        }
    }

    /// Several immediate transfers at a time, each asked and ended in its own way.
    fn immediate<T: Cell>(&mut self) {
        let (mut new, mut forgets) = (self.model.clone(), false);
        let rounds = 1 + self.drawn.below(3);
        let shared: Vec<_> = (0..rounds).map(|_| self.adjacent::<T>()).collect();
        let ends: Vec<_> = (0..rounds).map(|_| [self.drawn.below(4), self.drawn.below(3)]).collect();
        // Later rounds lie behind earlier ones: transfers at a time share no bytes.
        let end = 60 + self.ranks * 6 * (T::SIZE + 9);
        let own: Vec<Places> = shared
            .iter()
            .enumerate()
            .map(|(round, all)| all[self.rank].iter().map(|at| at + round * end).collect())
            .collect();
        if self.drawn.below(2) == 0 {
            let values: Vec<Vec<T>> = shared
                .iter()
                .enumerate()
                .map(|(round, all)| {
                    let moved = |places: &Places| places.iter().map(|at| at + round * end).collect();
                    let all: Vec<Places> = all.iter().map(moved).collect();
                    self.write(&mut new, &all)
                })
                .collect();
            let mut pending = Vec::new();
            let file = self.file.as_ref().expect("the file is open");
            for (places, values) in own.iter().zip(&values) {
                let at = places.first().copied().unwrap_or(0) as u64;
                pending.push(file.start().write_at(at, values).unwrap());
            }
            for (mut write, [asks, end]) in pending.into_iter().zip(ends).rev() {
                for _ in 0..asks {
                    write.is_done().unwrap();
                }
                match end {
                    0 => write.finish().unwrap(),
                    1 => drop(write),
                    _ => mem::forget(write),
                }
                forgets = forgets || end == 2;
            }
            self.model = new;
        } else {
            let file = self.file.as_ref().expect("the file is open");
            for (places, [asks, end]) in own.iter().zip(ends) {
                let at = places.first().copied().unwrap_or(0) as u64;
                let (expected, mut found) = (self.expected::<T>(places), vec![T::of(0); places.len()]);
                let Ok(mut read) = file.start().read_at(at, &mut found) else {
                    assert!(expected.is_none());
                    continue;
                };
                for _ in 0..asks {
                    read.is_done().unwrap();
                }
                match end {
                    0 => {
                        assert_eq!(read.finish().is_ok(), expected.is_some());
                        assert!(expected.is_none_or(|expected| same(&found, &expected)));
                    }
                    1 => drop(read),
                    _ => mem::forget(read),
                }
            }
        }
        // A write that was forgotten ends when the file is closed.
        if forgets {
            self.open_again();
        }
    }

    fn in_order<T: Cell>(&mut self) {
        if self.drawn.below(2) == 0 {
            let (to, failing) = (self.drawn.below(60), self.failing());
            let own = if failing == Some(self.rank) { u64::MAX } else { to as u64 };
            assert_eq!(self.file().seek_ordered(own).is_ok(), failing.is_none());
            self.ordered = if failing.is_none() { to } else { self.ordered };
        }
        let (mut at, mut all) = (self.ordered, Vec::new());
        for _ in 0..self.ranks {
            let count = self.drawn.below(6);
            all.push((0..count).map(|i| at + i * T::SIZE).collect::<Places>());
            at += count * T::SIZE;
        }
        self.ordered = at;
        if self.drawn.below(2) == 0 {
            let mut new = self.model.clone();
            let values: Vec<T> = self.write(&mut new, &all);
            self.file().append(&values).unwrap();
            self.model = new;
        } else {
            let mut found = vec![T::of(0); all[self.rank].len()];
            let read = self.file().read_ordered(&mut found[..]);
            self.check_read(&all, &read, &found);
        }
    }

    /// Arrays of up to `small` elements in each dimension, and at times of up to `large` in the last one.
    fn distributed<T: Cell, const D: usize>(&mut self, [small, large]: [usize; 2]) {
        let mut gsizes: [usize; D] = std::array::from_fn(|_| self.drawn.below(small + 1));
        if self.drawn.below(4) == 0 {
            gsizes[D - 1] = self.drawn.below(large + 1);
        }
        let at = self.drawn.below(60);
        let own: Own<D> = distribution(&mut self.drawn, gsizes, self.rank, self.ranks);
        let (failing, count) = (self.failing(), gsizes.iter().product::<usize>());
        let offset = if failing == Some(self.rank) { u64::MAX - 7 } else { at as u64 };
        let everything: Places = (0..count).map(|number| at + number * T::SIZE).collect();
        if self.drawn.below(2) == 0 {
            let (shift, values) = (self.next, self.values::<T>(&everything));
            let mut new = self.model.clone();
            everything.iter().zip(&values).for_each(|(at, value)| new.write(*at, &value.bytes()));
            let arrays = own.arrays::<T>(gsizes, shift, 7);
            let arrays: Vec<&Vec<T>> = arrays.iter().collect();
            let written = match &arrays[..] {
                [array] => self.file().at(offset).write(own.parts(), *array),
                arrays => self.file().at(offset).write_all(own.parts(), arrays),
            };
            assert_eq!(written.is_err(), failing.is_some(), "{written:?} of {gsizes:?} at {at}");
            return if failing.is_some() { self.either(&new) } else { self.model = new };
        }
        let mut arrays = own.arrays::<T>(gsizes, 5000, 9);
        let read = match &mut arrays[..] {
            [array] => self.file().at(offset).read(own.parts(), array),
            arrays => {
                let mut arrays: Vec<&mut Vec<T>> = arrays.iter_mut().collect();
                self.file().at(offset).read_all(own.parts(), &mut arrays)
            }
        };
        let expected = self.expected::<T>(&everything).filter(|_| failing.is_none());
        assert_eq!(read.is_ok(), expected.is_some(), "{read:?} of {gsizes:?} at {at}");
        let Some(expected) = expected else { return };
        let number = |index: &[usize; D]| (0..D).fold(0, |number, k| number * gsizes[k] + index[k]);
        for (array, indices) in arrays.iter().zip(&own.indices) {
            for (found, index) in array.iter().zip(indices) {
                let expected = index.as_ref().map_or(T::of(9), |index| expected[number(index)]);
                assert!(same(&[*found], &[expected]), "{found:?}, not {expected:?} of {gsizes:?} at {at}");
            }
        }
    }

    /// Views of lists of elements, which the ranks share out.
    fn viewed<T: Cell>(&mut self) {
        let (n, at) = (1 + self.drawn.below(9), self.drawn.below(60));
        let mut lists = vec![Vec::new(); self.ranks + 1];
        for i in 0..n {
            lists[self.drawn.below(self.ranks + 1)].push(i);
        }
        let list = lists[self.rank].clone();
        let failing = self.failing();
        if failing.is_some() && self.drawn.below(2) == 0 {
            let wrong = if failing == Some(self.rank) { vec![n - 1, n - 1] } else { list };
            assert!(T::view(self.file(), at as u64, n, &wrong).is_err());
            return;
        }
        let mut file = self.file.take().expect("the file is open");
        let mut view = T::view(&mut file, at as u64, n, &list).unwrap();
        let place = |list: &[usize], position: usize| {
            at + (position / list.len() * n + list[position % list.len()]) * T::SIZE
        };
        for _ in 0..=self.drawn.below(3) {
            self.in_view(&mut view, failing, |rank, position| {
                let list = &lists[rank];
                (!list.is_empty()).then(|| place(list, position))
            });
        }
        drop(view);
        self.file = Some(file);
    }

    /// Views of boxes of a matrix: some columns for each rank.
    fn boxed<T: Cell>(&mut self) {
        let [rows, width, at] = [1 + self.drawn.below(4), 1 + self.drawn.below(3), self.drawn.below(60)];
        let (columns, order) = (width * self.ranks, ArrayOrder::RowMajor);
        let starts = [0, width * self.rank];
        let own = Subarray { sizes: [rows, columns], subsizes: [rows, width], starts, order };
        let mut file = self.file.take().expect("the file is open");
        let mut view = file.view(at as u64, &own.layout::<T>().unwrap()).unwrap();
        for _ in 0..=self.drawn.below(3) {
            self.in_view(&mut view, None, |rank, position| {
                let (row, column) = (position / width, position % width);
                Some(at + (row * columns + rank * width + column) * T::SIZE)
            });
        }
        drop(view);
        self.file = Some(file);
    }

    /// Makes a call in a view. `place` returns the offset of an element, from its rank and position; `None`
    /// if the rank sees nothing.
    fn in_view<T: Cell>(
        &mut self,
        view: &mut FileView<'_, T>,
        failing: Option<usize>,
        place: impl Fn(usize, usize) -> Option<usize>,
    ) {
        let places: Vec<(u64, Places)> = (0..self.ranks)
            .map(|rank| {
                let (first, count) = (self.drawn.below(12), self.drawn.below(9));
                (first as u64, (first..first + count).filter_map(|position| place(rank, position)).collect())
            })
            .collect();
        let all: Vec<Places> = places.iter().map(|(_, places)| places.clone()).collect();
        let together = self.drawn.below(3) > 0;
        let wrong = failing == Some(self.rank);
        let position = if wrong { u64::MAX } else { places[self.rank].0 };
        if self.drawn.below(2) == 0 {
            let mut new = self.model.clone();
            let values: Vec<T> = self.write(&mut new, &all);
            let written = if together {
                view.write_at_all(position, &values)
            } else {
                view.write_at(position, &values)
            };
            assert_eq!(written.is_err(), if together { failing.is_some() } else { wrong }, "{written:?}");
            if failing.is_some() {
                return self.either(&new);
            }
            self.model = new;
            // The next call in this view may read the bytes between, which nobody wrote.
            self.on_disk(Model::compare);
            return;
        }
        let own = &all[self.rank];
        let mut found = vec![T::of(0); own.len()];
        let read = if together {
            view.read_at_all(position, &mut found)
        } else {
            view.read_at(position, &mut found)
        };
        match (together, failing) {
            (true, Some(_)) => assert!(read.is_err()),
            (true, None) => self.check_read(&all, &read, &found),
            (false, _) if wrong => assert!(read.is_err()),
            (false, _) => self.check_read(&vec![own.clone(); self.ranks], &read, &found),
        }
        self.world.barrier();
    }

    fn sized(&mut self) {
        let (size, failing) = (self.drawn.below(self.model.bytes.len() + 60), self.failing());
        let own = if failing == Some(self.rank) { u64::MAX } else { size as u64 };
        assert_eq!(self.file().set_size(own).is_ok(), failing.is_none());
        if failing.is_none() {
            self.model.set_size(size);
        }
        if self.drawn.below(4) == 0 {
            self.file().sync().unwrap();
        }
    }

    /// A view that all ranks forget: every call is an error until another view has ended.
    fn forgotten<T: Cell>(&mut self) {
        let own: Own<1> = distribution(&mut self.drawn, [9], self.rank, self.ranks);
        let (mut arrays, call) = (own.arrays::<T>([9], 5, 7), self.drawn.below(8));
        let file = self.file();
        mem::forget(T::view(file, 3, 4, &[1, 2]).unwrap());
        let result = match call {
            0 => file.write_at(0, &T::of(1)),
            1 => file.read_at_all(0, &mut T::of(1)),
            2 => file.append(&T::of(1)),
            3 => file.start().write_at(0, &T::of(1)).map(|_| ()),
            4 => file.start().read_at(0, &mut T::of(1)).map(|_| ()),
            5 => file.read_ordered(&mut T::of(1)),
            6 => file.at(0).write_all(own.parts(), &arrays.iter().collect::<Vec<_>>()),
            _ => file.at(0).read_all(own.parts(), &mut arrays.iter_mut().collect::<Vec<_>>()),
        };
        assert!(matches!(result, Err(Error::File { .. })), "{result:?}");
        drop(T::view(file, 0, 1, &[0]).unwrap());
    }

    fn open_again(&mut self) {
        let file = self.file.take().expect("the file is open");
        if self.drawn.below(2) == 0 {
            file.close().unwrap();
        } else {
            drop(file);
        }
        let collective = ["enable", "disable", "automatic"][self.drawn.below(3)];
        let options = FileOptions::new().read(true).write(true).hint("romio_cb_write", collective);
        self.file = Some(options.open(self.world, &self.path).unwrap());
        self.ordered = 0;
    }
}
