//! Parts of arrays of numbers: the rows of the table in the MPITypes slides, strides 1 and 16 of the
//! guidelines paper, and the parts that stencils, matrices and meshes use.

use std::{convert::Infallible, hint::black_box, ptr::copy_nonoverlapping as copy};

use dtype_core::{BaseType, TypeTree};
use dtype_guidelines::{generate::Random, way::Way};
use dtype_runtime::{
    DynamicLayout, Layout, layout,
    layout::{ArrayLikeMut, Band, Disjoint},
    pack::{Data, DataMut, Plan},
};

#[cfg(feature = "mpi")]
use dtype_runtime::{Message, Place};
#[cfg(feature = "mpi")]
use mpi::traits::{Buffer, BufferMut};

use super::{
    Bench, Case, Task, Travel, c,
    user::{DOUBLE, User},
};

/// Returns an array in which each number equals its index.
pub fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|i| i as f64).collect()
}

/// Returns the way of a loop by hand, with one closure to pack and one to unpack. Each gets pointers to
/// numbers.
fn hand<'a>(
    memory: *mut f64,
    pack: impl Fn(*const f64, *mut f64) + 'a,
    unpack: impl Fn(*mut f64, *const f64) + 'a,
) -> Way<'a> {
    Way::new(
        move |packed| pack(black_box(memory), packed.as_mut_ptr().cast()),
        move |packed| unpack(black_box(memory), packed.as_ptr().cast()),
    )
}

/// Copies one number.
///
/// # Safety
/// `from` is readable and `to` is writable for one number, each at any alignment.
#[inline(always)]
unsafe fn one(from: *const f64, to: *mut f64) {
    unsafe { to.write_unaligned(from.read_unaligned()) };
}

/// Returns the ways to pack a static layout (generated code, its plan, and MPI) and to send it.
fn of_static<'a, L, A>(layout: &L, array: *mut A, user: &User) -> Ours<'a>
where
    L: Layout<Coverage: Disjoint<Infallible, L>> + 'a,
    A: ArrayLikeMut<L::Element, L::Shape, Mismatch = Infallible> + 'a,
{
    let (read, write) = (move || unsafe { &*black_box(array) }, move || unsafe { &mut *black_box(array) });
    let (pack, unpack) = (layout.clone(), layout.clone());
    let generated = Way::new(
        move |packed| drop(pack.of(read()).pack_into(packed)),
        move |packed| drop(unpack.of_mut(write()).unpack(packed)),
    );
    let plan = of_plan(layout.of(read()).data(), array.cast());
    let ways = vec![
        ("generated", generated),
        ("plan", plan),
        #[cfg(feature = "mpi")]
        ("mpi_pack", super::mpi::way(layout.of(read()), layout.packed_size())),
    ];
    let (sent, received) = (layout.clone(), layout.clone());
    let travels = travels(move || sent.of(read()), move || received.of_mut(write()), array.cast(), user);
    Ours { ways, travels }
}

/// Returns the ways to send a message: on our wires, and with the datatype that a user would write.
#[cfg(feature = "mpi")]
fn travels<'a, M: Message + Buffer + 'a, N: Place + BufferMut + 'a>(
    message: impl Fn() -> M + Clone + 'a,
    into: impl Fn() -> N + Clone + 'a,
    memory: *mut f64,
    user: &User,
) -> Vec<(&'static str, Travel<'a>)> {
    let mut all = Travel::on_all_wires(message.clone(), into.clone(), true);
    all.push(Travel::least_cost(message, into));
    all.push(("typed", super::mpi::typed(memory.cast(), user)));
    all
}

/// Returns nothing: without MPI there are no messages.
#[cfg(not(feature = "mpi"))]
fn travels<'a, M: 'a, N: 'a>(
    _: impl Fn() -> M,
    _: impl Fn() -> N,
    _: *mut f64,
    _: &User,
) -> Vec<(&'static str, Travel<'a>)> {
    Vec::new()
}

/// Returns the way of a plan, for data in an array of numbers that begins at `memory`.
fn of_plan(data: Data<'_>, memory: *mut f64) -> Way<'_> {
    let reach = data.plan().extent().unsigned_abs();
    let plan = data.plan().clone();
    let bytes = move || unsafe { std::slice::from_raw_parts_mut(memory.cast::<u8>(), reach) };
    Way::new(
        move |packed| drop(data.pack_into(packed)),
        move |packed| drop(DataMut::new(&plan, 1, bytes(), 0).expect("the same memory").unpack(packed)),
    )
}

/// Returns the ways to pack a layout that is known at run time (its plan, and MPI) and to send it.
fn of_dynamic<'a, const D: usize>(
    layout: &DynamicLayout<f64, D>,
    memory: *mut f64,
    length: usize,
    user: &User,
) -> Ours<'a> {
    let read = move || unsafe { std::slice::from_raw_parts(black_box(memory), length) };
    let write = move || unsafe { std::slice::from_raw_parts_mut(black_box(memory), length) };
    let view = layout.of(read()).expect("an array of this length");
    let ways = vec![
        ("plan", of_plan(view.data(), memory)),
        #[cfg(feature = "mpi")]
        ("mpi_pack", super::mpi::way(view, layout.packed_size())),
    ];
    let (sent, received) = (layout.clone(), layout.clone());
    let travels = travels(
        move || sent.of(read()).expect("its size"),
        move || received.of_mut(write()).expect("its size"),
        memory,
        user,
    );
    Ours { ways, travels }
}

/// Our ways to pack and to send a case, with the MPI peers.
struct Ours<'a> {
    ways: Vec<(&'static str, Way<'a>)>,
    travels: Vec<(&'static str, Travel<'a>)>,
}

fn measure(bench: &dyn Bench, name: String, size: usize, ours: Ours<'_>, peers: [Way<'_>; 2]) {
    let [hand, c] = peers;
    let ways = [("hand", hand), ("c", c)].into_iter().chain(ours.ways).collect();
    bench.measure(&Case { name, size, ways, travels: ours.travels });
}

/// Measures one case for each of some sizes, which are constants in the static layout.
///
/// The first list has three sizes for packing, or none. The second list is for ping-pong: packed sizes of
/// about 64 B, 4 KiB, 64 KiB, 256 KiB and 16 MiB as far as the shape allows.
macro_rules! sizes {
    (
        $bench:ident, $name:literal, [$a:literal $b:literal $c:literal], [$($other:literal)*],
        |$n:ident| $body:block
    ) => {
        sizes!(@one $bench, $name, $a, Task::Pack, false, |$n| $body);
        sizes!(@one $bench, $name, $b, Task::Pack, true, |$n| $body);
        sizes!(@one $bench, $name, $c, Task::Pack, false, |$n| $body);
        $(sizes!(@one $bench, $name, $other, Task::Pingpong, true, |$n| $body);)*
    };
    ($bench:ident, $name:literal, [], [$($other:literal)*], |$n:ident| $body:block) => {
        $(sizes!(@one $bench, $name, $other, Task::Pingpong, true, |$n| $body);)*
    };
    (
        @one $bench:ident, $name:literal, $size:literal, $task:expr, $quick:literal,
        |$n:ident| $body:block
    ) => {{
        const $n: usize = $size;
        let name = format!("{}/{}", $name, $n);
        if $bench.wants(&name, $task, $quick) {
            let (numbers, size, ours, hand, c): Ways<'_> = $body;
            measure($bench, name, size, ours, [hand, c]);
            drop(numbers);
        }
    }};
}

/// The array, the packed size in bytes, our ways, and the loops by hand in Rust and in C.
type Ways<'a> = (Vec<f64>, usize, Ours<'a>, Way<'a>, Way<'a>);

/// Returns an array of numbers, and a pointer to it.
fn array(count: usize) -> (Vec<f64>, *mut f64) {
    let mut numbers = numbers(count);
    let memory = numbers.as_mut_ptr();
    (numbers, memory)
}

pub fn run(bench: &dyn Bench) {
    contiguous(bench);
    strided(bench);
    rows(bench);
    faces(bench);
    flash(bench);
    matrices(bench);
    lists(bench);
    halo(bench);
}

fn contiguous(bench: &dyn Bench) {
    sizes!(bench, "contiguous", [2000 32_768 8_000_000], [8 512 32_768 2_097_152], |N| {
        let (numbers, memory) = array(N);
        let hand =
            hand(memory, |from, to| unsafe { copy(from, to, N) }, |to, from| unsafe { copy(from, to, N) });
        let user = User { datatype: DOUBLE, count: N };
        let ours = of_static(&layout!(f64[N] => [..]), memory.cast::<[f64; N]>(), &user);
        (numbers, 8 * N, ours, hand, c::contiguous(memory, N))
    });
    sizes!(bench, "stride-1", [2000 32_768 8_000_000], [8 512 32_768 2_097_152], |N| {
        let (numbers, memory) = array(N);
        let hand =
            hand(memory, |from, to| unsafe { copy(from, to, N) }, |to, from| unsafe { copy(from, to, N) });
        let column = layout!(f64[N][1] => [.., 0]);
        let user = User::one(DOUBLE.vector(N as u64, 1, 1));
        let ours = of_static(&column, memory.cast::<[[f64; 1]; N]>(), &user);
        (numbers, 8 * N, ours, hand, c::strided(memory, N, black_box(1)))
    });
}

/// Returns a loop over `n` numbers at a distance of `STRIDE`.
fn every<'a, const STRIDE: usize>(memory: *mut f64, n: usize) -> Way<'a> {
    hand(
        memory,
        move |from, to| (0..n).for_each(|i| unsafe { one(from.add(STRIDE * i), to.add(i)) }),
        move |to, from| (0..n).for_each(|i| unsafe { one(from.add(i), to.add(STRIDE * i)) }),
    )
}

fn strided(bench: &dyn Bench) {
    sizes!(bench, "vector", [1000 16_384 4_194_304], [8 512 8192 32_768 2_097_152], |N| {
        let (numbers, memory) = array(2 * N);
        let column = layout!(f64[N][2] => [.., 0]);
        let user = User::one(DOUBLE.vector(N as u64, 1, 2));
        let ours = of_static(&column, memory.cast::<[[f64; 2]; N]>(), &user);
        (numbers, 8 * N, ours, every::<2>(memory, N), c::strided(memory, N, black_box(2)))
    });
    sizes!(bench, "stride-16", [250 4096 1_048_576], [8 512 8192 32_768 2_097_152], |N| {
        let (numbers, memory) = array(16 * N);
        let column = layout!(f64[N][16] => [.., 0]);
        let user = User::one(DOUBLE.vector(N as u64, 1, 16));
        let ours = of_static(&column, memory.cast::<[[f64; 16]; N]>(), &user);
        (numbers, 8 * N, ours, every::<16>(memory, N), c::strided(memory, N, black_box(16)))
    });
}

/// Measures parts of the rows of a matrix, 400 bytes of each.
fn rows(bench: &dyn Bench) {
    const PART: usize = 50;
    sizes!(bench, "rows", [], [10 40 200 1000], |N| {
        let (numbers, memory) = array(1000 * N);
        let hand = hand(
            memory,
            |from, to| (0..N).for_each(|i| unsafe { copy(from.add(1000 * i + 40), to.add(PART * i), PART) }),
            |to, from| (0..N).for_each(|i| unsafe { copy(from.add(PART * i), to.add(1000 * i + 40), PART) }),
        );
        let rows = layout!(f64[N][1000] => [.., 40..90]);
        let user = User::one(DOUBLE.subarray(vec![N as u64, 1000], vec![N as u64, 50], vec![0, 40]));
        let ours = of_static(&rows, memory.cast::<[[f64; 1000]; N]>(), &user);
        (numbers, 8 * PART * N, ours, hand, c::blocks(unsafe { memory.add(40) }, N, PART, 1000))
    });
}

fn faces(bench: &dyn Bench) {
    sizes!(bench, "xy-face", [16 40 256], [3 23 181 362], |N| {
        let (numbers, memory) = array(N * N * N);
        let hand = hand(
            memory,
            |from, to| unsafe { copy(from, to, N * N) },
            |to, from| unsafe { copy(from, to, N * N) },
        );
        let face = layout!(f64[N][N][N] => [0, .., ..]);
        let ours = of_static(&face, memory.cast::<[[[f64; N]; N]; N]>(), &User::face(N, 0));
        (numbers, 8 * N * N, ours, hand, c::contiguous(memory, N * N))
    });
    sizes!(bench, "xz-face", [16 40 256], [3 23 91 181 362], |N| {
        let (numbers, memory) = array(N * N * N);
        let hand = hand(
            memory,
            |from, to| (0..N).for_each(|i| unsafe { copy(from.add(i * N * N), to.add(i * N), N) }),
            |to, from| (0..N).for_each(|i| unsafe { copy(from.add(i * N), to.add(i * N * N), N) }),
        );
        let face = layout!(f64[N][N][N] => [.., 0, ..]);
        let ours = of_static(&face, memory.cast::<[[[f64; N]; N]; N]>(), &User::face(N, 1));
        (numbers, 8 * N * N, ours, hand, c::blocks(memory, N, N, N * N))
    });
    sizes!(bench, "yz-face", [16 40 256], [3 23 91 181 362], |N| {
        let (numbers, memory) = array(N * N * N);
        let face = layout!(f64[N][N][N] => [.., .., 0]);
        let ours = of_static(&face, memory.cast::<[[[f64; N]; N]; N]>(), &User::face(N, 2));
        let c = c::strided(memory, N * N, N);
        (numbers, 8 * N * N, ours, every::<N>(memory, N * N), c)
    });
}

/// Measures one of 24 variables in the inner cells of blocks of cells.
fn flash(bench: &dyn Bench) {
    /// Calls `visit` with each inner cell of a block: its index in the array, and its packed index.
    #[inline(always)]
    fn cells(block: usize, mut visit: impl FnMut(usize, usize)) {
        for z in 0..8 {
            for y in 0..8 {
                for x in 0..8 {
                    let cell = ((block * 16 + z + 4) * 16 + y + 4) * 16 + x + 4;
                    visit(24 * cell + 3, ((block * 8 + z) * 8 + y) * 8 + x);
                }
            }
        }
    }
    sizes!(bench, "flash", [1 8 80], [1 16 64 1024], |N| {
        let (numbers, memory) = array(N * 16 * 16 * 16 * 24);
        let hand = hand(
            memory,
            |from, to| (0..N).for_each(|b| cells(b, |at, i| unsafe { one(from.add(at), to.add(i)) })),
            |to, from| (0..N).for_each(|b| cells(b, |at, i| unsafe { one(from.add(i), to.add(at)) })),
        );
        let layout = layout!(f64[N][16][16][16][24] => [.., 4..12, 4..12, 4..12, 3]);
        let user = User::one(DOUBLE.subarray(
            vec![N as u64, 16, 16, 16, 24],
            vec![N as u64, 8, 8, 8, 1],
            vec![0, 4, 4, 4, 3],
        ));
        let ours = of_static(&layout, memory.cast::<[[[[[f64; 24]; 16]; 16]; 16]; N]>(), &user);
        (numbers, 8 * N * 512, ours, hand, c::flash(memory, N))
    });
}

/// Calls `visit` with all cells of a matrix, in tiles that fit in the cache, by columns within a tile.
#[inline(always)]
fn tiles<const N: usize>(mut visit: impl FnMut(usize, usize)) {
    const TILE: usize = 16;
    for jj in (0..N).step_by(TILE) {
        for ii in (0..N).step_by(TILE) {
            for j in jj..N.min(jj + TILE) {
                (ii..N.min(ii + TILE)).for_each(|i| visit(i * N + j, j * N + i));
            }
        }
    }
}

fn matrices(bench: &dyn Bench) {
    sizes!(bench, "row-plus-column", [60 250 3000], [4 256 4096 8192], |N| {
        let (numbers, memory) = array(N * N);
        let hand = hand(
            memory,
            |from, to| unsafe {
                copy(from, to, N);
                (1..N).for_each(|i| one(from.add(i * N), to.add(N - 1 + i)));
            },
            |to, from| unsafe {
                copy(from, to, N);
                (1..N).for_each(|i| one(from.add(N - 1 + i), to.add(i * N)));
            },
        );
        let user = User::listed((0..N).chain((1..N).map(|i| i * N)).map(|at| at as i64).collect());
        let parts = layout!(f64[N][N] => [0, ..] + [1.., 0]);
        let ours = of_static(&parts, memory.cast::<[[f64; N]; N]>(), &user);
        (numbers, 8 * (2 * N - 1), ours, hand, c::row_column(memory, N))
    });
    sizes!(bench, "upper-triangle", [60 250 3000], [4 32 128 256 2048], |N| {
        let (numbers, memory) = array(N * N);
        let hand = hand(
            memory,
            |from, mut to| (0..N).for_each(|i| unsafe {
                copy(from.add(i * N + i), to, N - i);
                to = to.add(N - i);
            }),
            |to, mut from| (0..N).for_each(|i| unsafe {
                copy(from, to.add(i * N + i), N - i);
                from = from.add(N - i);
            }),
        );
        let triangle = Band::upper_triangle([N, N]).layout().expect("a small matrix");
        let lengths = (0..N).map(|i| (N - i) as u64).collect();
        let user = User::one(DOUBLE.indexed(lengths, (0..N).map(|i| (i * N + i) as i64).collect()));
        let ours = of_dynamic(&triangle, memory, N * N, &user);
        (numbers, 4 * N * (N + 1), ours, hand, c::triangle(memory, N))
    });
    sizes!(bench, "transpose", [60 250 1000], [3 23 91 181 1448], |N| {
        let (numbers, memory) = array(N * N);
        let hand = hand(
            memory,
            |from, to| tiles::<N>(|at, i| unsafe { one(from.add(at), to.add(i)) }),
            |to, from| tiles::<N>(|i, at| unsafe { one(from.add(at), to.add(i)) }),
        );
        let n = N;
        let columns = layout!(f64[n][n] => [.., j] for j in 0..n).expect("a small matrix");
        let user = User::one(DOUBLE.vector(N as u64, 1, N as i64).hvector(N as u64, 1, 8));
        let ours = of_dynamic(&columns, memory, N * N, &user);
        (numbers, 8 * N * N, ours, hand, c::transpose(memory, N))
    });
}

/// Returns a number from 0 to `limit - 1`.
fn below(random: &mut Random, limit: usize) -> usize {
    random.below(limit as u64) as usize
}

fn small(number: usize) -> i32 {
    i32::try_from(number).expect("a small number")
}

fn lists(bench: &dyn Bench) {
    list(bench, "indexed", |i, random| 2 * i + below(random, 2));
    list(bench, "gather-regular", |i, _| 2 * i);
    sizes!(bench, "gather-random", [1000 16_384 4_194_304], [8 512 8192 32_768 2_097_152], |N| {
        let (numbers, memory) = array(2 * N);
        // Each number occurs at most once, in a random order.
        let mut random = Random::new(7);
        let mut indices: Vec<i32> = (0..2 * N).map(small).collect();
        (0..N).for_each(|i| indices.swap(i, i + below(&mut random, 2 * N - i)));
        indices.truncate(N);
        of_indices(numbers, memory, indices)
    });
    sizes!(bench, "random-lengths", [2000 32_768 8_000_000], [32 512 8192 32_768 2_097_152], |N| {
        let (numbers, memory) = array(2 * N);
        let (mut random, mut at, mut blocks) = (Random::new(7), 0, Vec::new());
        while at + 32 < 2 * N {
            let length = 1 + below(&mut random, 16);
            blocks.push((at, length));
            at += length + 1 + below(&mut random, 16);
        }
        let starts: Vec<i32> = blocks.iter().map(|block| small(block.0)).collect();
        let lengths: Vec<i32> = blocks.iter().map(|block| small(block.1)).collect();
        let size = 8 * blocks.iter().map(|block| block.1).sum::<usize>();
        let buckets: Vec<u64> = blocks.iter().map(|block| block.1 as u64).collect();
        let places: Vec<i64> = blocks.iter().map(|block| 8 * block.0 as i64).collect();
        let user = {
            let (lengths, starts) = (buckets.clone(), blocks.iter().map(|block| block.0 as i64).collect());
            User::one(DOUBLE.indexed(lengths, starts))
        };
        let tree = TypeTree::index_bucket(8, buckets, places, TypeTree::Leaf(BaseType::F64));
        let plan: &'static Plan = Box::leak(Box::new(Plan::new(&tree).expect("a small array")));
        let bytes = unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), 16 * N) };
        let data = Data::new(plan, 1, bytes, 0).expect("blocks of the array");
        let of = move || {
            let bytes = unsafe { std::slice::from_raw_parts_mut(memory.cast::<u8>(), 16 * N) };
            DataMut::new(plan, 1, bytes, 0).expect("blocks of the array")
        };
        let ours = Ours {
            ways: vec![
                ("plan", of_plan(data, memory)),
                #[cfg(feature = "mpi")]
                ("mpi_pack", super::mpi::of_datatype(memory.cast(), &user, size)),
            ],
            #[cfg(feature = "mpi")]
            travels: {
                // A plan has no MPI datatype, so there is no way `least-cost`.
                let mut all = Travel::on_all_wires(of, of, false);
                all.push(("typed", super::mpi::typed(memory.cast(), &user)));
                all
            },
            #[cfg(not(feature = "mpi"))]
            travels: travels(of, || (), memory, &user),
        };
        let (read, write) = (blocks.clone(), blocks);
        let hand = hand(
            memory,
            move |from, mut to| read.iter().for_each(|(at, length)| unsafe {
                copy(from.add(*at), to, *length);
                to = to.add(*length);
            }),
            move |to, mut from| write.iter().for_each(|(at, length)| unsafe {
                copy(from, to.add(*at), *length);
                from = from.add(*length);
            }),
        );
        let (starts, lengths): (&'static [i32], &'static [i32]) = (starts.leak(), lengths.leak());
        let count = starts.len();
        let c = c::lengths(memory, starts.as_ptr(), lengths.as_ptr(), count);
        (numbers, size, ours, hand, c)
    });
}

/// Measures lists of half the numbers of an array.
fn list(bench: &dyn Bench, name: &str, index: impl Fn(usize, &mut Random) -> usize) {
    let sizes = [1000, 16_384, 4_194_304].map(|n| (n, Task::Pack));
    let others = [8, 512, 8192, 32_768, 2_097_152].map(|n| (n, Task::Pingpong));
    for (n, task) in sizes.into_iter().chain(others) {
        let case = format!("{name}/{n}");
        if !bench.wants(&case, task, n == 16_384 || task == Task::Pingpong) {
            continue;
        }
        let (numbers, memory) = array(2 * n);
        let mut random = Random::new(7);
        let indices = (0..n).map(|i| small(index(i, &mut random))).collect();
        let (numbers, size, ours, hand, c) = of_indices(numbers, memory, indices);
        measure(bench, case, size, ours, [hand, c]);
        drop(numbers);
    }
}

fn of_indices<'a>(numbers: Vec<f64>, memory: *mut f64, indices: Vec<i32>) -> Ways<'a> {
    let (n, size) = (numbers.len(), 8 * indices.len());
    let gather = layout!(f64[n] => {&indices}).expect("all are within");
    let ours =
        of_dynamic(&gather, memory, n, &User::listed(indices.iter().map(|at| i64::from(*at)).collect()));
    // The cases are few and the program ends soon, so the list is leaked.
    let indices: &'static [i32] = indices.leak();
    let hand = hand(
        memory,
        |from, to| {
            indices.iter().enumerate().for_each(|(i, at)| unsafe {
                one(from.add(*at as usize), to.add(i));
            });
        },
        |to, from| {
            indices.iter().enumerate().for_each(|(i, at)| unsafe {
                one(from.add(i), to.add(*at as usize));
            });
        },
    );
    let c = c::indexed(memory, indices.as_ptr(), indices.len());
    (numbers, size, ours, hand, c)
}

/// Measures the faces of a four-dimensional box, on all eight sides.
fn halo(bench: &dyn Bench) {
    /// Calls `visit` with each contiguous block of all faces: its index in the array, and its length.
    #[inline(always)]
    fn blocks<const N: usize>(mut visit: impl FnMut(usize, usize)) {
        for dimension in 0..4 {
            for end in [0, N - 1] {
                let range = |d| if d == dimension { end..end + 1 } else { 1..N - 1 };
                for i in range(0) {
                    for j in range(1) {
                        for k in range(2) {
                            let row = ((i * N + j) * N + k) * N;
                            let cells = range(3);
                            visit(row + cells.start, cells.len());
                        }
                    }
                }
            }
        }
    }
    sizes!(bench, "halo-4d", [8 16 54], [3 6 12 18 66], |N| {
        let (numbers, memory) = array(N * N * N * N);
        let hand = hand(
            memory,
            |from, mut to| blocks::<N>(|at, length| unsafe {
                copy(from.add(at), to, length);
                to = to.add(length);
            }),
            |to, mut from| blocks::<N>(|at, length| unsafe {
                copy(from, to.add(at), length);
                from = from.add(length);
            }),
        );
        let faces = layout!(f64[N][N][N][N] =>
            [0, 1..-1, 1..-1, 1..-1] + [-1, 1..-1, 1..-1, 1..-1]
            + [1..-1, 0, 1..-1, 1..-1] + [1..-1, -1, 1..-1, 1..-1]
            + [1..-1, 1..-1, 0, 1..-1] + [1..-1, 1..-1, -1, 1..-1]
            + [1..-1, 1..-1, 1..-1, 0] + [1..-1, 1..-1, 1..-1, -1]);
        let (size, array) = (faces.packed_size(), memory.cast::<[[[[f64; N]; N]; N]; N]>());
        let ours = of_static(&faces, array, &User::halo(N));
        (numbers, size, ours, hand, c::halo(memory, N))
    });
}
