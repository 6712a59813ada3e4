//! Halo exchanges against the whole grid, of which every rank computes each cell by a formula.

use std::{fmt::Debug, mem, ops::Range};

use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{
    Comm, Error, MpiDatatype,
    comm::{HaloExchange, PendingHalo},
    layout::{ArrayLikeMut, ArrayOrder, Dimensions, Halo, Neighbours},
};
use mpi::{
    topology::{CartesianCommunicator, SimpleCommunicator},
    traits::*,
};

use crate::engine::Random;

/// A cell that knows its place in the whole grid. It has padding, and a part that must be checked.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Mixed {
    is_odd: bool,
    value: f64,
    place: [u16; 3],
}

/// The exchanges of a halo on a grid.
trait On<const D: usize> {
    fn on<T: MpiDatatype>(&self, grid: &CartesianCommunicator) -> Result<HaloExchange<T, D>, Error>;

    fn exchange<T, S>(&self, grid: &CartesianCommunicator, array: &mut S) -> Result<(), Error>
    where
        T: MpiDatatype,
        S: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        self.on(grid)?.exchange(array)
    }
}

impl<const D: usize> On<D> for Halo<D> {
    fn on<T: MpiDatatype>(&self, grid: &CartesianCommunicator) -> Result<HaloExchange<T, D>, Error> {
        Comm::from(grid).halo(*self)
    }
}

/// A type of cells: those of the grid are numbered.
trait Cell: MpiDatatype + Copy + Debug + PartialEq {
    fn of(number: u64) -> Self;
}

impl Cell for f64 {
    fn of(number: u64) -> Self {
        number as f64 + 0.5
    }
}

impl Cell for u8 {
    fn of(number: u64) -> Self {
        number.wrapping_mul(151) as u8
    }
}

impl Cell for Mixed {
    fn of(number: u64) -> Self {
        let place = [number, number >> 16, number >> 32].map(|part| part as u16);
        Self { is_odd: number % 2 == 1, value: number as f64 / 3.0, place }
    }
}

/// A cell of many equal values, which is a long block by itself.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
struct Long {
    values: [u64; 9],
}

impl Cell for Long {
    fn of(number: u64) -> Self {
        Self { values: std::array::from_fn(|i| number.wrapping_mul(i as u64 + 1)) }
    }
}

/// A cell that is a long block, and has to be checked.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
struct Flags {
    flags: [bool; 64],
}

impl Cell for Flags {
    fn of(number: u64) -> Self {
        Self { flags: std::array::from_fn(|i| number >> i & 1 == 1) }
    }
}

/// A grid that is divided among ranks.
struct Divided<'a, const D: usize> {
    communicator: &'a Comm<CartesianCommunicator>,
    periodic: [bool; D],
    coordinates: [usize; D],
    /// The first index of each rank's own cells along each dimension, and the end of the grid.
    starts: [Vec<usize>; D],
    halo: Halo<D>,
}

impl<const D: usize> Divided<'_, D> {
    /// Returns the number of the cell that lies at an index of the local array of this rank, or `None` for a
    /// ghost cell that nobody sends.
    fn number(&self, index: [usize; D]) -> Option<u64> {
        let own = self.halo.own();
        let mut number = 0;
        let mut steps = 0;
        for k in 0..D {
            let (Range { start, end }, starts) = (own[k].clone(), &self.starts[k]);
            let (ranks, at) = (starts.len() - 1, self.coordinates[k]);
            let (step, within): (isize, usize) = match index[k] {
                i if i < start => (-1, i),
                i if i >= end => (1, i - end),
                i => (0, i - start),
            };
            steps += step.unsigned_abs();
            let there = at as isize + step;
            if !(0..ranks as isize).contains(&there) && !self.periodic[k] {
                return None;
            }
            let there = there.rem_euclid(ranks as isize) as usize;
            let global = if step < 0 { starts[there + 1] - start + within } else { starts[there] + within };
            number = number * 1000 + global as u64;
        }
        (steps < 2 || self.halo.neighbours == Neighbours::All).then_some(number)
    }

    fn indices(&self) -> Vec<[usize; D]> {
        let sizes = self.halo.sizes;
        let count: usize = sizes.iter().product();
        let index = |mut place: usize| {
            let mut index = [0; D];
            let mut put = |k: usize| {
                index[k] = place % sizes[k];
                place /= sizes[k];
            };
            match self.halo.order {
                ArrayOrder::RowMajor => (0..D).rev().for_each(&mut put),
                ArrayOrder::ColumnMajor => (0..D).for_each(&mut put),
            }
            index
        };
        (0..count).map(index).collect()
    }

    /// Returns the array of this rank before an exchange, or after it. `which` makes arrays differ.
    fn array<T: Cell>(&self, which: u64, is_filled: bool) -> Vec<T> {
        let own = self.halo.own();
        let is_own = |index: [usize; D]| own.iter().zip(index).all(|(own, i)| own.contains(&i));
        let cell = |index| match self.number(index) {
            Some(number) if is_filled || is_own(index) => T::of(7 * number + which),
            _ => T::of(u64::MAX),
        };
        self.indices().into_iter().map(cell).collect()
    }

    /// Exchanges in every way.
    fn check<T: Cell>(&self, name: &str) -> Result<(), Error> {
        let Self { halo, communicator, .. } = *self;
        let same = |found: &[T], which, what: &str| {
            assert!(found == self.array::<T>(which, true), "{what}, {name}: {:?}", self.halo);
        };
        let mut once = self.array::<T>(1, false);
        halo.exchange(communicator, &mut once)?;
        same(&once, 1, "one exchange");

        let mut exchange = communicator.halo::<T, D>(halo)?;
        let mut another = halo.on::<T>(communicator)?;
        let (mut a, mut b) = (self.array::<T>(2, false), self.array::<T>(3, false));
        exchange.exchange(&mut a)?;
        exchange.exchange(&mut b[..])?;
        same(&a, 2, "the first array");
        same(&b, 3, "the second array");
        // Ghost cells that are filled are filled again, and do not become own cells.
        exchange.exchange(&mut a)?;
        same(&a, 2, "the same array again");

        // Two exchanges under way at a time, finished in another order than started.
        let (mut a, mut b) = (self.array::<T>(4, false), self.array::<T>(5, false));
        let (mut first, second) = (exchange.start(&mut a)?, another.start(&mut b)?);
        let (own, interior) = (halo.own(), halo.interior());
        let within = |ranges: &[Range<usize>; D], index: [usize; D]| {
            ranges.iter().zip(index).all(|(r, i)| r.contains(&i))
        };
        let mut cells = first.cells();
        assert_eq!((cells.own(), cells.interior()), (own.clone(), interior.clone()));
        for index in self.indices() {
            let number = self.number(index).filter(|_| within(&own, index));
            assert_eq!(cells.get(index).copied(), number.map(|number| T::of(7 * number + 4)));
            let adjacent = if halo.order == ArrayOrder::RowMajor { D - 1 } else { 0 };
            let length = |ranges: &[Range<usize>; D]| {
                within(ranges, index).then(|| ranges[adjacent].end - index[adjacent])
            };
            assert_eq!(cells.row(index).map(<[T]>::len), length(&own));
            assert_eq!(cells.row_mut(index).map(|row| row.len()), length(&interior));
            assert_eq!(cells.get_mut(index).is_some(), within(&interior, index));
            if let Some(cell) = cells.get_mut(index) {
                *cell = T::of(u64::MAX - 1);
            }
        }
        assert!(first.cells_of(1).is_none());
        while !first.is_done()? {}
        second.finish()?;
        first.finish()?;
        same(&b, 5, "the second of two under way");
        for (index, found) in self.indices().into_iter().zip(&a) {
            let expected = self.number(index).map_or(u64::MAX, |number| 7 * number + 4);
            let expected = if within(&interior, index) { u64::MAX - 1 } else { expected };
            assert_eq!(*found, T::of(expected), "{index:?} of {name}: {:?}", self.halo);
        }

        // Guards that are dropped or forgotten: the array stays as it is, and the next exchange is right.
        let mut a = self.array::<T>(6, false);
        mem::forget(exchange.start(&mut a)?);
        drop(exchange.start(&mut a)?);
        let _ = halo.on(communicator)?.start(&mut b)?.is_done()?;
        assert!(a == self.array::<T>(6, false), "after a forgotten exchange, {name}");
        exchange.exchange(&mut a)?;
        same(&a, 6, "after a forgotten exchange");
        drop(exchange);

        // Several arrays in a message, of other numbers each time.
        let mut all: Vec<_> = (7..10).map(|which| self.array::<T>(which, false)).collect();
        for count in [2, 3, 1] {
            let mut some: Vec<&mut Vec<T>> = all.iter_mut().take(count).collect();
            another.exchange_all(&mut some)?;
            let mut pending = another.start_all(&mut some)?;
            assert!(pending.cells_of(count - 1).is_some() && pending.cells_of(count).is_none());
            assert_eq!(pending.cells_of_all().len(), count);
            pending.finish()?;
        }
        (7..).zip(&all).for_each(|(which, array)| same(array, which, "one of several arrays"));
        Ok(())
    }
}

/// Divides a random grid among the ranks, and exchanges.
pub fn random<const D: usize>(world: &SimpleCommunicator, random: &mut Random, case: usize) {
    let world = &Comm::from(world);
    // A random factorization of the number of ranks.
    let (mut lengths, mut rest) = ([1; D], world.size());
    for length in &mut lengths[1..] {
        let divisors: Vec<_> = (1..=rest).filter(|divisor| rest % divisor == 0).collect();
        *length = divisors[random.below(divisors.len())];
        rest /= *length;
    }
    lengths[0] = rest;
    let periodic = lengths.map(|_| random.below(2) == 1);
    let widths = lengths.map(|_| match random.below(3) {
        0 => [1, 1],
        1 => [2, 2],
        _ => [random.below(3), random.below(3)],
    });
    let starts: [Vec<usize>; D] = std::array::from_fn(|k| {
        let least = widths[k][0].max(widths[k][1]).max(1);
        let mut starts = vec![0];
        for i in 0..lengths[k] {
            starts.push(starts[i] + least + random.below(5));
        }
        starts
    });
    let (order, neighbours) = (random.below(2), random.below(2));
    let communicator = world.cartesian(lengths, periodic).unwrap();
    let coordinates = communicator.rank_to_coordinates(communicator.rank() as i32);
    let coordinates: [usize; D] = std::array::from_fn(|k| coordinates[k] as usize);
    let sizes = std::array::from_fn(|k| {
        let at = coordinates[k];
        starts[k][at + 1] - starts[k][at] + widths[k].iter().sum::<usize>()
    });
    let mut halo = Halo::new(sizes, 0).widths(widths);
    halo = if neighbours == 0 { halo } else { halo.faces() };
    halo = if order == 0 { halo } else { halo.column_major() };
    let divided = Divided { communicator: &communicator, periodic, coordinates, starts, halo };
    let name = format!("case {case} on {lengths:?}, periodic {periodic:?}");
    divided.check::<f64>(&name).unwrap();
    divided.check::<Mixed>(&name).unwrap();
    divided.check::<u8>(&name).unwrap();
    divided.check::<Long>(&name).unwrap();
    divided.check::<Flags>(&name).unwrap();
}

/// Exchanges halos of random grids.
pub fn exchanges(world: &SimpleCommunicator) {
    let mut drawn = Random(dtype_tests::seed(43));
    let cases = if dtype_tests::is_long() { 400 } else { 12 };
    for case in 0..cases {
        random::<1>(world, &mut drawn, case);
        random::<2>(world, &mut drawn, case);
        random::<3>(world, &mut drawn, case);
    }
    random::<5>(world, &mut drawn, 0);
}

/// A cell that travels as its bytes.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
#[mpi(wire = "bytes")]
struct Padded {
    tag: u8,
    value: f64,
}

/// A cell whose fields the compiler orders.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
struct Ordered {
    tag: u8,
    value: f64,
    more: u16,
}

/// Exchanges two arrays of cells in a ring.
fn carried<T: MpiDatatype + Copy + Debug + PartialEq>(
    torus: &CartesianCommunicator,
    cell: impl Fn(i32) -> T,
) {
    let (rank, size) = (torus.rank(), torus.size());
    let mut arrays = [vec![cell(rank); 12], vec![cell(rank + 100); 12]];
    let mut exchange = Halo::new([4, 3], 1).on::<T>(torus).unwrap();
    let [first, second] = &mut arrays;
    exchange.exchange_all(&mut [first, second]).unwrap();
    for (array, more) in arrays.iter().zip([0, 100]) {
        let row = |rank: i32| [cell(rank.rem_euclid(size) + more); 3];
        let expected = [row(rank - 1), row(rank), row(rank), row(rank + 1)];
        assert_eq!(array[..], *expected.as_flattened());
    }
}

/// Exchanges halos of every kind of array, and says what is wrong.
pub fn sources(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let communicator = world.cartesian([world.size(), 1], [true, true]).unwrap();
    let own = communicator.rank() as f64;
    let below = ((communicator.rank() + world.size() - 1) % world.size()) as f64;
    let halo = Halo::new([4, 3], 1);
    assert_eq!(*halo.on::<f64>(&communicator).unwrap().halo(), halo);

    let mut nested = [[own; 3]; 4];
    halo.exchange(&communicator, &mut nested).unwrap();
    assert_eq!((nested[0], nested[1]), ([below; 3], [own; 3]));
    let mut boxed = vec![[own; 3]; 4];
    halo.exchange::<f64, _>(&communicator, &mut boxed).unwrap();
    assert_eq!(boxed, nested);
    let mut several = vec![[[own; 3]; 4]; 2];
    halo.exchange::<f64, _>(&communicator, &mut several).unwrap();
    assert_eq!(several, [nested; 2]);

    // Several arrays of long rows, and one with gaps between the rows.
    let wider = Halo::new([6, 30], 2).faces();
    let filled = |matrix: &dyn Fn(usize, usize) -> f64| {
        (0..6).all(|i| (2..28).all(|j| i > 1 || matrix(i, j) == below) && matrix(2, 7) == own)
    };
    let mut several = vec![[[own; 30]; 6]; 2];
    wider.exchange::<f64, _>(&communicator, &mut several).unwrap();
    assert!(several.iter().all(|matrix| filled(&|i, j| matrix[i][j])));
    let mut among = ndarray::Array2::from_elem((12, 40), own);
    let mut view = among.slice_mut(ndarray::s![..;2, 5..35]);
    wider.exchange::<f64, _>(&communicator, &mut view).unwrap();
    assert!(filled(&|i, j| among[[2 * i, 5 + j]]));
    assert!((0..12).all(|i| (0..40).all(|j| (i % 2 == 0 && (5..35).contains(&j)) || among[[i, j]] == own)));

    // An array with gaps: every second column of another one.
    let mut wide = ndarray::Array2::from_elem((4, 6), own);
    let mut view = wide.slice_mut(ndarray::s![.., ..;2]);
    let mut exchange = halo.on::<f64>(&communicator).unwrap();
    let mut pending = exchange.start(&mut view).unwrap();
    let mut cells = pending.cells();
    assert_eq!((cells[[1, 1]], cells.row([1, 1])), (own, None));
    assert!(cells.get_mut([1, 1]).is_none());
    pending.finish().unwrap();
    assert_eq!(wide.row(0).to_vec(), [below, own, below, own, below, own]);

    let mut matrix = nalgebra::DMatrix::from_element(4, 3, own);
    exchange.exchange(&mut matrix).unwrap();
    assert_eq!(matrix.row(0).iter().copied().collect::<Vec<_>>(), [below; 3]);

    // No arrays, and arrays of no copies, before and after others.
    let mut none = halo.on::<f64>(&communicator).unwrap();
    none.exchange_all::<Vec<f64>>(&mut []).unwrap();
    none.exchange(&mut Vec::<[[f64; 3]; 4]>::new()).unwrap();
    assert!(none.start_all::<Vec<f64>>(&mut []).unwrap().cells_of(0).is_none());
    let mut again = [[own; 3]; 4];
    none.exchange(&mut again).unwrap();
    none.exchange_all::<Vec<f64>>(&mut []).unwrap();
    assert_eq!(again, nested);
    // Rows from the last to the first one: the neighbour below is the one of the last row in memory.
    let mut upside_down = ndarray::Array2::from_elem((4, 3), own);
    let mut view = upside_down.slice_mut(ndarray::s![..;-1, ..]);
    let mut pending = exchange.start(&mut view).unwrap();
    assert_eq!(pending.cells().row([2, 1]), Some(&[own][..]));
    pending.finish().unwrap();
    assert_eq!(upside_down.row(3).to_vec(), [below; 3]);
    // Elements that travel with their padding, and fields in the compiler's own order.
    carried(&communicator, |number| Padded { tag: number as u8, value: f64::from(number) });
    carried(&communicator, |number| Ordered { tag: number as u8, value: f64::from(number), more: 7 });
    carried(&communicator, |_| ());

    // Mistakes are errors on this rank alone, before anything is sent.
    let wrong = |error: Error| error.to_string();
    let mut short = vec![own; 11];
    assert_eq!(
        exchange.exchange(&mut short).map_err(wrong).unwrap_err(),
        "the layout or part is of an array of shape [4, 3], but this array has shape [11]"
    );
    assert_eq!(
        Halo::new([4], 1).on::<f64>(&communicator).map(|_| ()).map_err(wrong).unwrap_err(),
        "Halo: the communicator's number of dimensions is 2, but must be 1, the number of dimensions of the \
         array"
    );
    // A communicator may be freed before the exchange that was made for it.
    drop(communicator);
    exchange.exchange(&mut nested).unwrap();
    assert_eq!(nested[0], [below; 3]);
    world.barrier();

    // A neighbour with another number of cells: an error on both sides, and no ghost cell is written.
    if world.size() == 2 {
        let line = world.cartesian([2], [false]).unwrap();
        let width = 1 + world.rank();
        let mut cells = vec![own; 8];
        let error = Halo::new([8], width).exchange(&line, &mut cells).unwrap_err();
        // The widths stand for sizes: cells go up in the ghost cells below, and the other way round.
        let Error::Neighbour { rank, value: 8, expected, found } = error else { panic!("{error}") };
        assert_eq!((rank, expected), (1 - world.rank() as i32, 8 * width));
        assert!(found.is_none_or(|found| found == 8 * (3 - width)));
        assert_eq!(cells, [own; 8]);
    }
}

/// Checks that messages of another size, in blocks that are long, write nothing but ghost cells.
fn misfits_of_long_blocks(world: &Comm<&SimpleCommunicator>, rows: usize) {
    let (rank, size) = (world.rank(), world.size());
    let row = world.cartesian([1, size], [false; 2]).unwrap();
    let mut exchange = Halo::new([rows, 40], 10).faces().widths([[0; 2], [10; 2]]).on::<f64>(&row).unwrap();
    let own = rank as f64;
    for arrays in [0, 2, 30] {
        // The array lies between others, which nobody may write.
        let mut memory = vec![vec![own; rows * 40]; 3];
        let [before, cells, after] = &mut memory[..] else { unreachable!("there are three arrays") };
        let exchanged = if rank == 0 {
            let mut many = vec![vec![own; rows * 40]; arrays];
            exchange.exchange_all(&mut many.iter_mut().collect::<Vec<_>>())
        } else {
            exchange.exchange(cells)
        };
        assert_eq!(exchanged.is_err(), size > 1 && rank < 2, "{exchanged:?}");
        if rank == 1 {
            assert!(matches!(exchanged, Err(Error::Neighbour { rank: 0, .. })), "{exchanged:?}");
        }
        assert!(before.iter().chain(&*after).all(|cell| *cell == own));
        for (i, cell) in cells.iter().enumerate() {
            assert!((i % 40 < 10 || i % 40 >= 30) || *cell == own, "{i}: {cell}");
        }
        // The next exchange is right.
        let mut cells = vec![own; rows * 40];
        exchange.exchange(&mut cells).unwrap();
        let beside = [rank.wrapping_sub(1), rank + 1].map(|beside| if beside < size { beside } else { rank });
        for row in cells.chunks(40) {
            assert_eq!([row[0], row[9], row[30], row[39]], [0, 0, 1, 1].map(|side| beside[side] as f64));
        }
    }
}

/// Checks exchanges after errors of this rank and of neighbours.
pub fn faults(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, size) = (world.rank(), world.size());
    let ring = world.cartesian([size], [true]).unwrap();
    let (before, after) = ((rank + size - 1) % size, (rank + 1) % size);
    let is_right = |exchange: &mut HaloExchange<f64, 1>| {
        let mut cells = vec![rank as f64; 6];
        exchange.exchange(&mut cells).unwrap();
        assert_eq!((cells[0], cells[5]), (before as f64, after as f64));
    };

    // An error of one rank, in the first call on the communicator and later: an error of all, which go on.
    for _ in 0..2 {
        let halo = Halo::new([if rank == 0 { 2 } else { 4 }], 1);
        let is_refused = |refused: Result<(), Error>| match refused {
            Err(Error::Parameter { .. }) => rank == 0,
            Err(Error::Elsewhere { rank: 0 }) => rank > 0,
            _ => false,
        };
        let mut cells = vec![rank as f64; halo.sizes[0]];
        assert!(is_refused(halo.on::<f64>(&ring).map(|_| ())));
        assert!(is_refused(halo.exchange(&ring, &mut cells)));
        assert!(is_refused(halo.on(&ring).and_then(|mut halo| halo.start(&mut cells).map(|_| ()))));
        assert!(cells.iter().all(|cell| *cell == rank as f64));
        is_right(&mut Halo::new([6], 1).on(&ring).unwrap());
    }

    // An array of one rank that does not fit: its neighbours get an error, and the others go on.
    let mut exchange = Halo::new([6], 1).on::<f64>(&ring).unwrap();
    for _ in 0..2 {
        let mut cells = vec![rank as f64; if rank == 0 { 7 } else { 6 }];
        let refused = exchange.exchange(&mut cells);
        let is_beside = [before, after].contains(&0);
        match refused {
            Err(Error::Shape { .. }) => assert_eq!(rank, 0),
            Err(Error::Neighbour { rank: 0, .. }) => assert!(is_beside),
            found => assert!(found.is_ok() && !is_beside && rank > 0, "{found:?}"),
        }
        let started = exchange.start(&mut cells).and_then(PendingHalo::finish);
        assert_eq!(started.is_ok(), rank > 0 && !is_beside, "{started:?}");
        is_right(&mut exchange);
    }

    // A neighbour sends much more: Open MPI then frees the receive request.
    if size > 1 {
        let mut exchange = Halo::new([6], 2).on::<f64>(&ring).unwrap();
        for arrays in [5, 40] {
            let mut many = vec![vec![rank as f64; 6]; if rank == 0 { arrays } else { 1 }];
            let exchanged = exchange.exchange_all(&mut many.iter_mut().collect::<Vec<_>>());
            let is_written = many.iter().flatten().any(|cell| *cell != rank as f64);
            assert_eq!(exchanged.is_ok(), is_written);
            match exchanged {
                Err(Error::Neighbour { rank: from, value: 8, expected, found }) => {
                    assert_eq!(from == 0, rank != 0);
                    assert_eq!(expected, 16 * if rank == 0 { arrays } else { 1 });
                    assert!(found.is_none_or(|found| found != expected));
                }
                found => assert!(found.is_ok() && ![before, after, rank].contains(&0), "{found:?}"),
            }
            let mut cells = vec![rank as f64; 6];
            exchange.exchange(&mut cells).unwrap();
            assert_eq!((cells[1], cells[4]), (before as f64, after as f64));
        }
    }

    for rows in [3, 40, 3000] {
        misfits_of_long_blocks(world, rows);
    }

    // A neighbour sends invalid values: no cell is written, whichever neighbour comes first.
    if size > 2 {
        let mut flags = [true; 4];
        let sent = if rank == 0 {
            Halo::new([4], 1).exchange(&ring, &mut [7u8; 4])
        } else {
            Halo::new([4], 1).exchange(&ring, &mut flags)
        };
        let from_first = [before, after].contains(&0);
        assert_eq!(matches!(sent, Err(Error::Pack(PackError::InvalidValue { .. }))), from_first, "{sent:?}");
        assert_eq!(flags, [true; 4]);
    }

    // More arrays than memory can have, of no bytes.
    let mut units = Box::new([[(); 4]; usize::MAX]);
    let exchanged = Halo::new([4], 1).on::<()>(&ring).unwrap().exchange_all(&mut [&mut units[..0]]);
    assert_eq!(exchanged, Ok(()));

    // When all tags have been taken, another exchange does not get those of the first one.
    if dtype_tests::is_long() {
        let all = world.cartesian([size, 1, 1, 1, 1, 1, 1, 1], [true; 8]).unwrap();
        let mut widths = [[0; 2]; 8];
        widths[0] = [1, 0];
        let halo = Halo::new([3, 1, 1, 1, 1, 1, 1, 1], 0).faces().widths(widths);
        let mut first = halo.on::<u64>(&all).unwrap();
        let calls = (1u32 << 31) / 3u32.pow(8);
        let mut another = halo.on::<u64>(&all).unwrap();
        for _ in 1..calls {
            another = halo.on::<u64>(&all).unwrap();
        }
        let of = |rank: usize| rank as u64;
        let (mut a, mut b) = (vec![1 + of(rank); 3], vec![100 + of(rank); 3]);
        let (one, two) = if rank % 2 == 0 {
            let one = first.start(&mut a).unwrap();
            (one, another.start(&mut b).unwrap())
        } else {
            let two = another.start(&mut b).unwrap();
            (first.start(&mut a).unwrap(), two)
        };
        one.finish().unwrap();
        two.finish().unwrap();
        assert_eq!((a[0], b[0]), (1 + of(before), 100 + of(before)));
    }
}
