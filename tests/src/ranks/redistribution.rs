//! Redistributions against the global array, in which every element is its own number.

use std::{fmt::Debug, mem};

use dtype_runtime::{
    Comm, Error, FromMessage, MpiDatatype, Pending,
    layout::{ArrayOrder, Darray, Distributed, Distribution, Part, Placed, Subarray},
};
use mpi::{topology::SimpleCommunicator, traits::*};

use crate::engine::Random;

/// An element with padding, and a part that must be checked.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Mixed {
    pub is_odd: bool,
    pub number: u64,
}

/// An element that travels as its bytes.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
#[mpi(wire = "bytes")]
pub struct Padded {
    number: u32,
    tag: u8,
}

pub trait Element: MpiDatatype + FromMessage + Copy + Debug + PartialEq {
    fn of(number: u64) -> Self;
}

impl Element for f64 {
    fn of(number: u64) -> Self {
        number as Self
    }
}

impl Element for Mixed {
    fn of(number: u64) -> Self {
        Self { is_odd: number % 2 == 1, number }
    }
}

impl Element for Padded {
    fn of(number: u64) -> Self {
        Self { number: number as u32, tag: number as u8 }
    }
}

/// The parts of one rank, and for each the global index of every element of its local array, in memory order;
/// `None` for elements around the part.
pub struct Own<const D: usize> {
    parts: Parts<D>,
    pub indices: Vec<Vec<Option<[usize; D]>>>,
}

enum Parts<const D: usize> {
    Grid(Darray<D>),
    Part(Part<D>),
    Boxes(Vec<Subarray<D>>),
    Placed(Vec<Placed<D>>),
}

/// Returns all indices of an array of these lengths, in memory order.
fn all<const D: usize>(sizes: [usize; D], order: ArrayOrder) -> Vec<[usize; D]> {
    let mut walk: Vec<usize> = (0..D).collect();
    if order == ArrayOrder::RowMajor {
        walk.reverse();
    }
    (0..sizes.iter().product())
        .map(|mut number: usize| {
            let mut index = [0; D];
            for &k in &walk {
                index[k] = number % sizes[k];
                number /= sizes[k];
            }
            index
        })
        .collect()
}

/// Divides an array into boxes, by cutting it again and again.
fn boxes<const D: usize>(drawn: &mut Random, sizes: [usize; D]) -> Vec<([usize; D], [usize; D])> {
    let mut boxes = vec![([0; D], sizes)];
    for _ in 0..drawn.below(7) {
        let (starts, lengths) = boxes.swap_remove(drawn.below(boxes.len()));
        let k = drawn.below(D);
        let cut = drawn.below(lengths[k] + 1);
        let mut low = lengths;
        let mut high = lengths;
        let mut above = starts;
        low[k] = cut;
        high[k] -= cut;
        above[k] += cut;
        boxes.extend([(starts, low), (above, high)]);
    }
    boxes
}

/// Divides the ranks into a grid.
fn grid<const D: usize>(drawn: &mut Random, ranks: usize) -> [usize; D] {
    let (mut grid, mut rest) = ([1; D], ranks);
    for length in &mut grid[1..] {
        let divisors: Vec<_> = (1..=rest).filter(|divisor| rest % divisor == 0).collect();
        *length = divisors[drawn.below(divisors.len())];
        rest /= *length;
    }
    grid[0] = rest;
    grid
}

/// Returns the coordinates of a rank of a grid.
fn coordinates<const D: usize>(mut rank: usize, grid: [usize; D]) -> [usize; D] {
    let mut coordinates = [0; D];
    for k in (0..D).rev() {
        coordinates[k] = rank % grid[k];
        rank /= grid[k];
    }
    coordinates
}

/// Draws a part of blocks, or of blocks that are dealt out, of a grid of some of the ranks.
fn part<const D: usize>(
    drawn: &mut Random,
    gsizes: [usize; D],
    rank: usize,
    ranks: usize,
    order: ArrayOrder,
) -> Own<D> {
    let members = 1 + drawn.below(ranks);
    let grid = grid(drawn, members);
    let blocks = (drawn.below(2) == 0).then(|| std::array::from_fn(|_| 1 + drawn.below(4)));
    let widths: [[usize; 2]; D] = std::array::from_fn(|_| [drawn.below(3), drawn.below(2)]);
    let part = Part::of(rank, gsizes, grid).widths(widths);
    let part = blocks.map_or(part, |blocks| part.cyclic(blocks));
    let part = if order == ArrayOrder::RowMajor { part } else { part.column_major() };
    let indices = (rank < members).then(|| {
        let at = coordinates(rank, grid);
        let owned: [Vec<usize>; D] = std::array::from_fn(|k| {
            // The owner of each index, by dealing out one after another.
            let counts: Vec<usize> = (0..grid[k]).map(|q| (q..gsizes[k]).step_by(grid[k]).count()).collect();
            let owner = |i: usize| match blocks {
                Some(blocks) => i / blocks[k] % grid[k],
                None => (0..grid[k]).find(|q| i < counts[..=*q].iter().sum()).unwrap(),
            };
            (0..gsizes[k]).filter(|i| owner(*i) == at[k]).collect()
        });
        let sizes = std::array::from_fn(|k| owned[k].len() + widths[k][0] + widths[k][1]);
        let global = |index: [usize; D]| {
            let of = |k: usize| owned[k].get(index[k].checked_sub(widths[k][0])?).copied();
            let found: [Option<usize>; D] = std::array::from_fn(of);
            found.iter().all(Option::is_some).then(|| found.map(Option::unwrap_or_default))
        };
        all(sizes, order).into_iter().map(global).collect()
    });
    Own { parts: Parts::Part(part), indices: indices.into_iter().collect() }
}

/// Draws a distribution of a global array. All ranks draw the same one, and get their own parts.
pub fn distribution<const D: usize>(
    drawn: &mut Random,
    gsizes: [usize; D],
    rank: usize,
    ranks: usize,
) -> Own<D> {
    let order = if drawn.below(2) == 0 { ArrayOrder::RowMajor } else { ArrayOrder::ColumnMajor };
    match drawn.below(5) {
        0 => {
            // Each rank has its own part, or that of the next rank: then there is no one rule.
            let rank = (rank + drawn.below(2)) % ranks;
            let psizes = grid(drawn, ranks);
            let distributions = std::array::from_fn(|k| match drawn.below(4) {
                0 => Distribution::Block(None),
                1 => Distribution::Cyclic(None),
                2 => Distribution::Cyclic(Some(1 + drawn.below(3))),
                _ if psizes[k] == 1 => Distribution::None,
                _ => Distribution::Block(Some(gsizes[k].div_ceil(psizes[k]) + 1)),
            });
            let own = Darray { rank, gsizes, distributions, psizes, order };
            // A formula of its own for the indices of each dimension (MPI 4.1 section 5.1.4).
            let coordinates = coordinates(rank, psizes);
            let owned: [Vec<usize>; D] = std::array::from_fn(|k| {
                let (size, processes) = (gsizes[k], psizes[k]);
                let block = match distributions[k] {
                    Distribution::None => size.max(1),
                    Distribution::Block(None) => size.div_ceil(processes).max(1),
                    Distribution::Block(Some(block)) => block,
                    Distribution::Cyclic(block) => block.unwrap_or(1),
                };
                (0..size).filter(|i| i / block % processes == coordinates[k]).collect()
            });
            let sizes = std::array::from_fn(|k| owned[k].len());
            let global = |index: [usize; D]| Some(std::array::from_fn(|k| owned[k][index[k]]));
            let indices = all(sizes, order).into_iter().map(global).collect();
            Own { parts: Parts::Grid(own), indices: vec![indices] }
        }
        1 => part(drawn, gsizes, rank, ranks, order),
        kind => {
            let mut own = Vec::new();
            for (starts, lengths) in boxes(drawn, gsizes) {
                let around: [[usize; 2]; D] = std::array::from_fn(|_| [drawn.below(3), drawn.below(2)]);
                if drawn.below(ranks) == rank {
                    own.push((starts, lengths, around));
                }
            }
            let part = |(starts, lengths): ([usize; D], [usize; D])| Subarray {
                sizes: gsizes,
                subsizes: lengths,
                starts,
                order,
            };
            let indices = own.iter().map(|(starts, lengths, around)| {
                let around = if kind == 2 { [[0; 2]; D] } else { *around };
                let sizes = std::array::from_fn(|k| lengths[k] + around[k][0] + around[k][1]);
                let global = |index: [usize; D]| {
                    let inside =
                        (0..D).all(|k| (around[k][0]..around[k][0] + lengths[k]).contains(&index[k]));
                    inside.then(|| std::array::from_fn(|k| starts[k] + index[k] - around[k][0]))
                };
                all(sizes, order).into_iter().map(global).collect()
            });
            let indices = indices.collect();
            let parts = if kind == 2 {
                Parts::Boxes(own.iter().map(|(starts, lengths, _)| part((*starts, *lengths))).collect())
            } else {
                let placed = |(starts, lengths, around): &([usize; D], [usize; D], [[usize; 2]; D])| Placed {
                    part: part((*starts, *lengths)),
                    local: Subarray {
                        sizes: std::array::from_fn(|k| lengths[k] + around[k][0] + around[k][1]),
                        subsizes: *lengths,
                        starts: std::array::from_fn(|k| around[k][0]),
                        order,
                    },
                };
                Parts::Placed(own.iter().map(placed).collect())
            };
            Own { parts, indices }
        }
    }
}

impl<const D: usize> Own<D> {
    pub fn parts(&self) -> &dyn Distributed<D> {
        match &self.parts {
            Parts::Grid(own) => own,
            Parts::Part(own) => own,
            Parts::Boxes(own) => own,
            Parts::Placed(own) => own,
        }
    }

    /// Returns the local arrays: each element is its number in the global array plus `shift`, and `other`
    /// around the parts.
    pub fn arrays<T: Element>(&self, gsizes: [usize; D], shift: u64, other: u64) -> Vec<Vec<T>> {
        let number = |index: [usize; D]| (0..D).fold(0, |number, k| number * gsizes[k] + index[k]) as u64;
        let element = |index: &Option<[usize; D]>| T::of(index.map_or(other, |index| number(index) + shift));
        self.indices.iter().map(|indices| indices.iter().map(element).collect()).collect()
    }
}

fn check<T: Element, const D: usize>(
    world: &Comm<&SimpleCommunicator>,
    gsizes: [usize; D],
    [from, to]: [&Own<D>; 2],
    name: &str,
) -> Result<(), Error> {
    let mut moved = world.prepare().redistribute::<T, D, _, _>(from.parts(), to.parts())?;
    for shift in [1, 1000] {
        let sources = from.arrays::<T>(gsizes, shift, 7);
        // Elements around the parts stay as they are.
        let mut arrays = to.arrays::<T>(gsizes, 5000, 9);
        let sources: Vec<&Vec<T>> = sources.iter().collect();
        moved.run_all(&sources, &mut arrays.iter_mut().collect::<Vec<_>>())?;
        assert!(arrays == to.arrays::<T>(gsizes, shift, 9), "{name}");
    }
    // A redistribution that is forgotten, and then one of the only parts.
    if from.indices.len() == 1 && to.indices.len() == 1 {
        let source = &from.arrays::<T>(gsizes, 3, 7)[0];
        let mut arrays = to.arrays::<T>(gsizes, 5000, 9);
        mem::forget(moved.start(source, &mut arrays[0])?);
        let mut pending = moved.start(source, &mut arrays[0])?;
        while !pending.is_done()? {}
        pending.finish()?;
        assert!(arrays == to.arrays::<T>(gsizes, 3, 9), "{name}, after a forgotten one");
    } else {
        let sources = from.arrays::<T>(gsizes, 3, 7);
        let sources: Vec<&Vec<T>> = sources.iter().collect();
        for _ in 0..2 {
            let mut arrays = to.arrays::<T>(gsizes, 5000, 9);
            moved.run_all(&sources, &mut arrays.iter_mut().collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

/// Redistributes a random array between random distributions.
pub fn random<const D: usize>(world: &SimpleCommunicator, drawn: &mut Random, case: usize) {
    let world = &Comm::from(world);
    let (rank, ranks) = (world.rank(), world.size());
    let gsizes = std::array::from_fn(|_| drawn.below([0, 10, 10, 6, 4][D]));
    let [from, to] = std::array::from_fn(|_| distribution::<D>(drawn, gsizes, rank, ranks));
    let name = format!("case {case} of {gsizes:?}");
    check::<f64, D>(world, gsizes, [&from, &to], &name).unwrap();
    check::<Mixed, D>(world, gsizes, [&from, &to], &name).unwrap();
    check::<Padded, D>(world, gsizes, [&from, &to], &name).unwrap();
}

/// Redistributes random arrays between random distributions.
pub fn redistributions(world: &SimpleCommunicator) {
    let mut drawn = Random(dtype_tests::seed(47));
    for case in 0..if dtype_tests::is_long() { 2000 } else { 40 } {
        random::<1>(world, &mut drawn, case);
        random::<2>(world, &mut drawn, case);
        random::<3>(world, &mut drawn, case);
    }
}

/// Checks the special forms of arrays, and mistakes.
pub fn rest(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, ranks) = (world.rank(), world.size());
    let n = 4 * ranks;
    let rows = Darray::blocks(rank, [n, n], [ranks, 1]);
    let columns = Darray::blocks(rank, [n, n], [1, ranks]);
    let number = |i: usize, j: usize| (n * i + j) as f64;
    let own_rows: Vec<f64> = (4 * rank * n..4 * (rank + 1) * n).map(|number| number as f64).collect();

    // Parts of more than 16 KiB, of a type with padding and of numbers; then of the compiler's own order.
    let large = 120 * ranks;
    let (wide, tall) = (
        Darray::blocks(rank, [large; 2], [ranks, 1]),
        Darray::blocks(rank, [large; 2], [1, ranks]).column_major(),
    );
    large_parts::<f64>(world, large, &wide, &tall);
    large_parts::<Mixed>(world, large, &wide, &tall);
    large_parts::<Ordered>(world, large, &wide, &tall);

    // A transpose is one line.
    let mut transposed = vec![0.0; 4 * n];
    world
        .prepare()
        .redistribute(&rows, &columns.column_major())
        .unwrap()
        .run(&own_rows, &mut transposed)
        .unwrap();
    for (j, row) in transposed.chunks(n).enumerate() {
        assert!(row.iter().enumerate().all(|(i, element)| *element == number(i, 4 * rank + j)));
    }
    // An array of ndarray, in each order of memory, to columns of nested arrays.
    let array = ndarray::Array2::from_shape_fn((4, n), |(i, j)| number(4 * rank + i, j));
    let mut by_column = vec![[0.0; 4]; n];
    let mut moved = world.prepare().redistribute(&rows, &columns).unwrap();
    assert_eq!(moved.elements_sent(), 16 * (ranks - 1));
    moved.run(&array, &mut by_column).unwrap();
    let is_right = |by_column: &[[f64; 4]]| {
        by_column.iter().enumerate().all(|(i, row)| (0..4).all(|j| row[j] == number(i, 4 * rank + j)))
    };
    assert!(is_right(&by_column));
    by_column.as_flattened_mut().fill(0.0);
    let turned = ndarray::Array2::from_shape_fn((n, 4), |(j, i)| number(4 * rank + i, j)).reversed_axes();
    moved.run(&turned, &mut by_column).unwrap();
    assert!(is_right(&by_column));
    // Several global arrays at once, and then one again.
    let mut back = world.prepare().redistribute(&rows, &rows).unwrap();
    assert_eq!(back.elements_sent(), 0);
    if ranks == 2 {
        let three: Vec<[[f64; 8]; 4]> = (0..3)
            .map(|a| {
                std::array::from_fn(|i| {
                    std::array::from_fn(|j| 100.0 * f64::from(a) + number(4 * rank + i, j))
                })
            })
            .collect();
        let mut into = vec![[[0.0; 4]; 8]; 3];
        moved.run(&three, &mut into).unwrap();
        for (a, array) in into.iter().enumerate() {
            let shifted = array.map(|row| row.map(|element| element - 100.0 * a as f64));
            assert!(is_right(&shifted));
        }
        moved.run(&array, &mut by_column).unwrap();
        assert!(moved.run(&three, &mut by_column).is_err());
    }
    // A communicator may be freed before the redistribution.
    let other = Comm::from(world.duplicate());
    let mut outlives = other.prepare().redistribute(&rows, &columns).unwrap();
    drop(other);
    outlives.run(&own_rows, &mut by_column).unwrap();
    assert!(is_right(&by_column));
    let mut copied = vec![0.0; 4 * n];
    back.run(&own_rows, &mut copied).unwrap();
    assert_eq!(copied, own_rows);

    // Numbers of processes whose least common multiple is no number of the machine.
    let far = |processes: usize| Darray {
        rank,
        gsizes: [ranks],
        distributions: [Distribution::Cyclic(None)],
        psizes: [processes],
        order: ArrayOrder::RowMajor,
    };
    for [a, b] in [[1 << 40, (1 << 40) - 1], [(1 << 63) - 1, 1 << 62], [3, usize::MAX]] {
        let (a, b) = (far(a.max(ranks)), far(b));
        let mut moved = [0.0];
        world.prepare().redistribute(&a, &b).unwrap().run(&[number(rank, 0)], &mut moved).unwrap();
        assert_eq!(moved, [number(rank, 0)]);
    }
    // Blocks that are dealt out are not listed: arrays of 2³¹ indices are planned at once.
    for [before, after] in [[64, 100], [1, 4096], [127, 128], [99_991, 7]] {
        let [from, to] = [before, after].map(|block| world.blocks([1 << 31], [ranks]).cyclic([block]));
        let moved = world.prepare().redistribute::<u8, 1, _, _>(&from, &to).unwrap();
        let others = from.peers(&to).into_iter().filter(|(peer, _)| *peer != rank);
        assert_eq!(moved.elements_sent() as u128, others.map(|(_, elements)| elements).sum::<u128>());
    }
    // Common indices that are far apart are computed, not searched.
    let sparse = |processes| Darray { gsizes: [1 << 40], ..far(processes) };
    world.prepare().redistribute::<(), 1, _, _>(&sparse(ranks), &sparse((1 << 38) - 1)).unwrap();

    mistakes(world, &rows, &columns);
}

/// An element whose fields the compiler orders, some of them skipped.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
struct Ordered {
    tag: u8,
    number: u64,
    #[mpi(skip)]
    own: u16,
    is_odd: bool,
}

impl Element for Ordered {
    fn of(number: u64) -> Self {
        Self { tag: number as u8, number, own: 7, is_odd: number % 2 == 1 }
    }
}

/// Transposes a matrix, back and forth.
fn large_parts<T: Element>(
    world: &Comm<&SimpleCommunicator>,
    large: usize,
    wide: &Darray<2>,
    tall: &Darray<2>,
) {
    let (rank, height) = (world.rank(), wide.local_sizes().unwrap()[0]);
    let number = |i: usize, j: usize| (i * large + j) as u64;
    let own: Vec<T> = (0..height * large).map(|at| T::of(number(height * rank, at))).collect();
    let mut across = vec![T::of(0); own.len()];
    world.prepare().redistribute(wide, tall).unwrap().run(&own, &mut across).unwrap();
    for (at, found) in across.iter().enumerate() {
        assert_eq!(*found, T::of(number(at % large, height * rank + at / large)));
    }
    let mut back = vec![T::of(0); own.len()];
    world.prepare().redistribute(tall, wide).unwrap().run(&across, &mut back).unwrap();
    assert!(back == own);
}

fn refused_of(
    world: &Comm<&SimpleCommunicator>,
    from: &dyn Distributed<2>,
    to: &dyn Distributed<2>,
) -> String {
    world.prepare().redistribute::<f64, 2, _, _>(from, to).map(|_| ()).unwrap_err().to_string()
}

/// Checks that an array of one rank that does not fit is an error on all, in each call, and that they go on.
fn array_of_one_rank(world: &Comm<&SimpleCommunicator>, rows: &Darray<2>, columns: &Darray<2>) {
    let (rank, n) = (world.rank(), 4 * world.size());
    let mut plan = world.prepare().redistribute::<f64, 2, _, _>(rows, columns).unwrap();
    let (own, mut into) = (vec![0.5; 4 * n], vec![0.0; 4 * n]);
    let wrong = &own[usize::from(rank == 0)..];
    for _ in 0..2 {
        let refused = plan.run(wrong, &mut into).unwrap_err();
        assert_eq!(matches!(refused, Error::Shape { .. }), rank == 0, "{refused}");
        assert!(rank == 0 || matches!(refused, Error::Neighbour { rank: 0, .. }), "{refused}");
        let started = plan.start(wrong, &mut into).and_then(Pending::finish);
        assert_eq!(matches!(started, Err(Error::Shape { .. })), rank == 0, "{started:?}");
        assert!(rank == 0 || matches!(started, Err(Error::Neighbour { rank: 0, .. })), "{started:?}");
        into.fill(0.0);
        plan.start(&own, &mut into).unwrap().finish().unwrap();
        assert_eq!(into, own);
    }
}

fn mistakes(world: &Comm<&SimpleCommunicator>, rows: &Darray<2>, columns: &Darray<2>) {
    let (rank, ranks) = (world.rank(), world.size());
    let n = 4 * ranks;
    let refused = |from: &dyn Distributed<2>, to: &dyn Distributed<2>| refused_of(world, from, to);
    let order = ArrayOrder::RowMajor;
    let rows_from = |start: usize, count: usize| Subarray {
        sizes: [n, n],
        subsizes: [count, n],
        starts: [start, 0],
        order,
    };
    // A hole, of which every rank hears.
    let text = refused(&rows_from(4 * rank, 3), columns);
    let own = format!("part 0 of rank {rank} in the destination has {} elements, of which {}", 4 * n, 3 * n);
    assert!(text.contains(&own), "{text}");
    // Parts that overlap, and a destination that is on one rank.
    if ranks > 1 {
        let one: Vec<_> = if rank == 1 { vec![rows_from(0, n)] } else { Vec::new() };
        let text = refused(&rows_from((4 * rank).saturating_sub(1), 4), &one);
        let found = "a part of rank 0 and a part of rank 1 overlap in the source";
        let heard = "rank 1 found a mistake, which its own error describes";
        assert!(text.contains(if rank == 1 { found } else { heard }), "{text}");
        // A mistake of one rank alone.
        let beyond = if rank == 1 { rows_from(n, 1) } else { rows_from(4 * rank, 4) };
        let text = refused(&beyond, columns);
        let heard = "rank 1 found a mistake";
        assert!(text.contains(if rank == 1 { "Subarray: " } else { heard }), "{text}");
        let larger = Darray::blocks(rank, [n + usize::from(rank == 1), n], [ranks, 1]);
        let text = refused(&larger, columns);
        assert!(text.contains("dimension 0 of the global array has length"), "{text}");
    }
    array_of_one_rank(world, rows, columns);
    // Other numbers of dimensions, local arrays that no memory can hold, and more elements than can be
    // counted.
    let order = ArrayOrder::RowMajor;
    if ranks > 1 {
        let refused = if rank == 0 {
            let own = Subarray { sizes: [4], subsizes: [4], starts: [0], order };
            world.prepare().redistribute::<u8, 1, _, _>(&own, &own).map(|_| ())
        } else {
            let none: Vec<Subarray<2>> = Vec::new();
            world.prepare().redistribute::<u8, 2, _, _>(&none, &none).map(|_| ())
        };
        assert!(matches!(refused, Err(Error::Distribution { .. })), "{refused:?}");
        let part = rows_from(4 * rank, 4);
        let huge = if rank == 0 { [1 << 40, 1 << 40] } else { [4, n] };
        let placed =
            Placed { part, local: Subarray { sizes: huge, subsizes: [4, n], starts: [0; 2], order } };
        let text = refused_of(world, &placed, columns);
        assert!(text.contains(if rank == 0 { "more than" } else { "rank 0 found a mistake" }), "{text}");
        let half = 1usize << 32;
        let (sizes, subsizes) = ([2 * half, 2 * half], [half, 2 * half]);
        let source = Subarray { sizes, subsizes, starts: [half * rank.min(1), 0], order };
        let source = if rank < 2 { vec![source] } else { Vec::new() };
        let whole = Subarray { sizes, subsizes: sizes, starts: [0; 2], order };
        let whole = if rank == 0 { vec![whole] } else { Vec::new() };
        let planned = world.prepare().redistribute::<(), 2, _, _>(&source, &whole);
        assert!(matches!(planned, Err(Error::Selection(_) | Error::Distribution { .. })), "{planned:?}");
        // Parts that overlap only where nothing is needed.
        let own = Subarray { sizes: [3], subsizes: [2], starts: [rank.min(1)], order };
        let source = if rank < 2 { vec![own] } else { Vec::new() };
        let cyclic =
            Darray { rank: 0, gsizes: [3], distributions: [Distribution::Cyclic(None)], psizes: [2], order };
        let needed = if rank == 0 { vec![cyclic] } else { Vec::new() };
        let mut moved = world.prepare().redistribute::<u8, 1, _, _>(&source, &needed).unwrap();
        let mut into = [9u8; 2];
        let (none, some) = (&[][..], &[1 + 2 * rank as u8, 2 + 2 * rank as u8][..]);
        moved
            .run(if rank < 2 { some } else { none }, if rank == 0 { &mut into[..] } else { &mut [] })
            .unwrap();
        assert_eq!(into, if rank == 0 { [1, 4] } else { [9, 9] });
    }
    // A dimension without elements beside a long one.
    let long = |distribution| Darray {
        rank,
        gsizes: [0, 1 << 40],
        distributions: [Distribution::None, distribution],
        psizes: [1, ranks],
        order,
    };
    let (from, to) = (long(Distribution::Cyclic(None)), long(Distribution::Block(None)));
    world.prepare().redistribute::<(), 2, _, _>(&from, &to).unwrap();
    let long = |distribution| Darray {
        rank,
        gsizes: [1 << 40],
        distributions: [distribution],
        psizes: [ranks],
        order,
    };
    let (from, to) = (long(Distribution::Cyclic(None)), long(Distribution::Block(None)));
    world.prepare().redistribute::<(), 1, _, _>(&from, &to).unwrap();

    // The ranks are still in step. All pass wrong arrays.
    let mut moved = world.prepare().redistribute::<f64, 2, _, _>(rows, columns).unwrap();
    let (own, mut into) = (vec![0.5; 4 * n], vec![0.0; 4 * n]);
    assert!(matches!(moved.run(&own[1..], &mut into), Err(Error::Shape { .. })));
    assert!(matches!(moved.run(&own, &mut into[1..]), Err(Error::Shape { .. })));
    assert!(matches!(
        moved.run_all::<Vec<f64>, Vec<f64>>(&[], &mut [&mut into]),
        Err(Error::Parameter { .. })
    ));
    world.barrier();
    moved.run(&own, &mut into).unwrap();
    assert_eq!(into, own);
}
