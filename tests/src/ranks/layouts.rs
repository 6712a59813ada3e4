//! Layouts against plain loops, against `MPI_Pack`, and between ranks: random layouts, which
//! `build/layouts.rs` writes, and layouts of every kind of source.

use std::{ops::Range, os::raw::c_int};

use dtype_runtime::{
    Error, Layout, MpiDatatype, View, layout,
    layout::{ArrayLike, ArrayLikeMut, ArrayOrder, Darray, Disjoint, Distribution, Subarray},
};

use dtype_tests::{Cover, constant, is_intel, memory, mpi_pack, packed_by_many};
use mpi::{
    datatype::{AsDatatype, Collection, Pointer},
    ffi::{self, MPI_Aint, MPI_Datatype},
    point_to_point::send_receive_into,
    raw::AsRaw,
    topology::SimpleCommunicator,
    traits::*,
};

use crate::engine::Random;

/// An element with fields and arrays.
#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Pair {
    pub tag: u8,
    pub values: [f64; 4],
    pub inner: [[i16; 3]; 2],
}

impl Cover for Pair {
    fn cover(at: usize, bytes: &mut Vec<Range<usize>>) {
        u8::cover(at + std::mem::offset_of!(Self, tag), bytes);
        <[f64; 4]>::cover(at + std::mem::offset_of!(Self, values), bytes);
        <[[i16; 3]; 2]>::cover(at + std::mem::offset_of!(Self, inner), bytes);
    }
}

/// The code that `build/layouts.rs` writes.
#[allow(clippy::all, clippy::pedantic, clippy::restriction, unused_variables)]
mod made {
    use std::ops::Range;

    use dtype_runtime::layout;
    use dtype_tests::Cover;
    use mpi::topology::SimpleCommunicator;

    use super::{Pair, read, read_and_write};

    include!(concat!(env!("OUT_DIR"), "/layouts.rs"));
}

/// Checks every random layout.
pub fn random(world: &SimpleCommunicator) {
    made::for_each(world);
}

/// Checks layouts of more than a fragment of a message, of each form that libraries pack in their own way.
pub fn long(world: &SimpleCommunicator) {
    let (n, m) = (20_000, 10);
    let cells = |cells: &mut dyn Iterator<Item = usize>| -> Vec<Range<usize>> {
        cells.map(|i| 8 * i..8 * i + 8).collect()
    };
    let column = layout!(f64[n][m] => [.., 3]).expect("a small matrix");
    read_and_write(world, "column", &column, n * m, &cells(&mut (0..n).map(|i| i * m + 3)));
    let (planes, rows) = (30, 500);
    let faces = layout!(f64[planes][rows][m] => [.., 1.., 2..4]).expect("a small box");
    let of_faces = (0..planes * (rows - 1) * 2)
        .map(|i| (i / 2 / (rows - 1), 1 + i / 2 % (rows - 1), 2 + i % 2))
        .map(|(plane, row, cell)| (plane * rows + row) * m + cell);
    read_and_write(world, "faces", &faces, planes * rows * m, &cells(&mut of_faces.into_iter()));
    let fields = layout!(Pair[n][3] => [.., 1]).expect("a small matrix");
    let of_fields: Vec<_> = (0..n)
        .flat_map(|i| {
            let mut bytes = Vec::new();
            Pair::cover((3 * i + 1) * size_of::<Pair>(), &mut bytes);
            bytes
        })
        .collect();
    read_and_write(world, "fields", &fields, 3 * n, &of_fields);

    let mut drawn = Random(dtype_tests::seed(60));
    for count in [2_000, 30_000, 150_000] {
        let mut at = 0;
        let next = |_| {
            at += 2 + drawn.below(7);
            at
        };
        let single: Vec<usize> = (0..count).map(next).collect();
        let mut at = 0;
        let runs = (0..count / 4).flat_map(|_| {
            let (first, distance) = (at + 5 + drawn.below(9), 1 + 2 * drawn.below(2));
            let run: Vec<usize> = (0..=drawn.below(12)).map(|i| first + i * distance).collect();
            at = run[run.len() - 1];
            run
        });
        let runs: Vec<usize> = runs.collect();
        for (name, indices) in [("list", single), ("runs", runs)] {
            let n = indices[indices.len() - 1] + 1;
            let gather = layout!(f64[n] => {&indices}).expect("all are within");
            read_and_write(
                world,
                &format!("{name} of {count}"),
                &gather,
                n,
                &cells(&mut indices.into_iter()),
            );
        }
    }
    let n = 300;
    let triangle = layout!(f64[n][n] => [i, i..] for i in 0..n).expect("a small matrix");
    let of_triangle = (0..n * n).filter(|i| i % n >= i / n);
    read_and_write(world, "triangle", &triangle, n * n, &cells(&mut of_triangle.into_iter()));
}

/// Memory for a number of elements. All bytes are set, and most of them depend on the argument `which` of
/// [`new`](Self::new).
pub struct Memory<T>(Vec<u128>, usize, std::marker::PhantomData<T>);

impl<T: MpiDatatype> Memory<T> {
    pub fn new(which: usize, elements: usize) -> Self {
        assert!(align_of::<T>() <= align_of::<u128>());
        let bytes = memory(which, elements * size_of::<T>());
        let words = bytes.chunks(16).map(|chunk| {
            let mut word = [0; 16];
            word[..chunk.len()].copy_from_slice(chunk);
            u128::from_ne_bytes(word)
        });
        Self(words.collect(), elements, std::marker::PhantomData)
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the memory has at least this many bytes, and all of them are set.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.1 * size_of::<T>()) }
    }

    pub fn elements(&self) -> &[T] {
        // SAFETY: the memory is borrowed; the elements are numbers, and structs and arrays of numbers, so
        // that all byte patterns are valid values.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.1) }
    }

    fn elements_mut(&mut self) -> &mut [T] {
        // SAFETY: the memory is borrowed mutably; the elements are numbers, and structs and arrays of them.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.1) }
    }
}

/// Returns the bytes that `MPI_Pack` makes of a view.
pub fn packed_by_mpi<L: Layout>(view: &View<'_, L>) -> Vec<u8> {
    let datatype = view.as_datatype();
    mpi_pack(view.pointer().cast(), Collection::count(view) as usize, datatype.as_raw(), view.packed_size())
}

/// Checks that this library and MPI both pack the bytes that the loop lists. Returns the cost of the layout.
fn read<T: MpiDatatype, L: Layout<Element = T>>(
    _world: &SimpleCommunicator,
    name: &str,
    layout: &L,
    elements: usize,
    bytes: &[Range<usize>],
) -> u64
where
    [T]: ArrayLike<T, L::Shape, Mismatch = Error>,
{
    let memory = Memory::<T>::new(1, elements);
    let expected: Vec<u8> = bytes.iter().flat_map(|range| &memory.bytes()[range.clone()]).copied().collect();
    let name = format!("{name} of seed {}, {}", made::SEED, layout.layout_origin());
    let view = layout.of(memory.elements()).expect(&name);
    assert_eq!(view.pack(), expected, "{name}");
    packed_by_many(&packed_by_mpi(&view), &expected, &name);
    layout.cost()
}

/// Like `read`, and checks that a message to the next rank through the layout changes only the bytes of the
/// loop.
fn read_and_write<T: MpiDatatype, L: Layout<Element = T, Coverage: Disjoint<Error, L>>>(
    world: &SimpleCommunicator,
    name: &str,
    layout: &L,
    elements: usize,
    bytes: &[Range<usize>],
) -> u64
where
    [T]: ArrayLikeMut<T, L::Shape, Mismatch = Error>,
{
    let cost = read(world, name, layout, elements, bytes);
    let (rank, size) = (world.rank(), world.size());
    let previous = (rank + size - 1) % size;
    let own = Memory::<T>::new(rank as usize, elements);
    let mut target = Memory::<T>::new(100, elements);
    let mut expected = target.bytes().to_vec();
    let theirs = Memory::<T>::new(previous as usize, elements);
    for range in bytes {
        expected[range.clone()].copy_from_slice(&theirs.bytes()[range.clone()]);
    }
    let view = layout.of(own.elements()).expect(name);
    let mut view_mut = layout.of_mut(target.elements_mut()).expect(name);
    let next = world.process_at_rank((rank + 1) % size);
    send_receive_into(&view, &next, &mut view_mut, &world.process_at_rank(previous));
    assert_eq!(target.bytes(), expected, "{name}");

    // This check needs no MPI.
    let mut target = Memory::<T>::new(100, elements);
    let packed = layout.of(theirs.elements()).expect(name).pack();
    layout.of_mut(target.elements_mut()).expect(name).unpack(&packed).expect(name);
    assert_eq!(target.bytes(), expected, "{name}");
    cost
}

/// Returns the value of a cell, which identifies the rank and the cell.
fn number(rank: i32, i: usize, j: usize) -> f64 {
    f64::from(100 * rank) + (10 * i + j) as f64 + 0.5
}

fn own(rank: i32) -> [[f64; 5]; 4] {
    std::array::from_fn(|i| std::array::from_fn(|j| number(rank, i, j)))
}

/// Returns the value that a rank's cell has after a receive: its number within the block that travels, and -1
/// around the block.
fn block_of(rank: i32, i: usize, j: usize) -> f64 {
    if (1..3).contains(&i) && j % 2 == 0 { number(rank, i, j) } else { -1.0 }
}

/// Sources and destinations of every kind: arrays, slices, boxes, and arrays of them; ndarray's and
/// nalgebra's arrays and views, with gaps and reversed. A layout of any kind is received into any other kind,
/// and no other element changes.
pub fn sources(world: &SimpleCommunicator) {
    use dtype_runtime::layout;
    use nalgebra::{DMatrix, Matrix4x5};
    use ndarray::{Array2, Axis, ShapeBuilder, s};

    let (rank, size) = (world.rank(), world.size());
    let previous = (rank + size - 1) % size;
    let own = own(rank);
    let block = layout!(f64[4][5] => [1..3, ..;2]);
    let n = 4;
    let block_of_values = layout!(f64[n][n + 1] => [1..n - 1, ..;2]).unwrap();
    let expected = |i: usize, j: usize| block_of(previous, i, j);
    let next = world.process_at_rank((rank + 1) % size);
    let from = world.process_at_rank(previous);

    // Receives the block from each kind of source, each time into a fresh target.
    macro_rules! into {
        (
            $layout:ident $(.$unwrap:ident())?,
            $fresh:expr, |$target:ident, $i:ident, $j:ident| $cell:expr
        ) => {{
            macro_rules! exchange {
                ($view:expr) => {{
                    let mut $target = $fresh;
                    send_receive_into(&$view, &next, &mut $layout.of_mut(&mut $target)$(.$unwrap())?, &from);
                    for $i in 0..4 {
                        for $j in 0..5 {
                            let what = stringify!($fresh);
                    assert_eq!($cell, expected($i, $j), "at [{}][{}] of {what}", $i, $j);
                        }
                    }
                    assert_eq!(packed_by_mpi(&$view), $view.pack(), "{}", stringify!($view));
                    let mut $target = $fresh;
                    let packed = $view.pack();
                    let mut view = $layout.of_mut(&mut $target)$(.$unwrap())?;
                    view.unpack(&packed).unwrap();
                    assert_eq!(view.as_view().pack(), packed);
                }};
            }
            let flat = own.concat();
            exchange!(block.of(&own));
            exchange!(block_of_values.of(&own).unwrap());
            exchange!(block.of(&flat).unwrap());
            exchange!(block.of(&flat[..]).unwrap());
            exchange!(block.of(&own[..]).unwrap());
            exchange!(block.of(&Box::new(own)));
            // Arrays of ndarray: in either memory order, as parts of larger arrays, and reversed.
            let array = Array2::from_shape_fn((4, 5), |(i, j)| own[i][j]);
            exchange!(block.of(&array).unwrap());
            let fortran = Array2::from_shape_fn((4, 5).f(), |(i, j)| own[i][j]);
            exchange!(block.of(&fortran).unwrap());
            // Every second element of a larger array.
            let spread = |i: usize, j: usize| {
                if i % 2 == 1 && j > 0 && j % 2 == 0 { own[i / 2][j / 2 - 1] } else { -7.0 }
            };
            let large = Array2::from_shape_fn((9, 11), |(i, j)| spread(i, j));
            exchange!(block.of(&large.slice(s![1..;2, 2..;2])).unwrap());
            let mut backwards = Array2::from_shape_fn((4, 5), |(i, j)| own[3 - i][4 - j]);
            backwards.invert_axis(Axis(0));
            backwards.invert_axis(Axis(1));
            exchange!(block.of(&backwards).unwrap());
            exchange!(block_of_values.of(&backwards.view()).unwrap());
            exchange!(block.of(&array.view().into_dyn()).unwrap());
            // nalgebra stores matrices column by column.
            let matrix = Matrix4x5::from_fn(|i, j| own[i][j]);
            exchange!(block.of(&matrix).unwrap());
            let large = DMatrix::from_fn(9, 11, spread);
            exchange!(block.of(&large.view_with_steps((1, 2), (4, 5), (1, 1))).unwrap());
            let columns = layout!(column_major f64[4][5] => [1..3, j] for j in 0..5);
            assert_eq!(columns.of(&matrix).unwrap().pack(), columns.of(&fortran).unwrap().pack());
        }};
    }
    into!(block, [[-1.0; 5]; 4], |target, i, j| target[i][j]);
    into!(block.unwrap(), vec![-1.0; 20], |target, i, j| target[5 * i + j]);
    into!(block_of_values.unwrap(), vec![[-1.0; 5]; 4], |target, i, j| target[i][j]);
    into!(block, Box::new([[-1.0; 5]; 4]), |target, i, j| target[i][j]);
    into!(block.unwrap(), Array2::from_elem((4, 5), -1.0), |target, i, j| target[[i, j]]);
    into!(block.unwrap(), Array2::from_elem((4, 5).f(), -1.0), |target, i, j| target[[i, j]]);
    into!(block.unwrap(), Matrix4x5::from_element(-1.0), |target, i, j| target[(i, j)]);
    into!(block_of_values.unwrap(), DMatrix::from_element(4, 5, -1.0), |target, i, j| target[(i, j)]);

    // For another source, the same layout has another datatype, which `explain` shows.
    let matrix = Matrix4x5::from_element(0.0);
    let (of_rows, of_columns) = (block.of(&own), block.of(&matrix).unwrap());
    assert!(
        of_rows.explain().contains("vec 2, stride 40") && of_columns.explain().contains("vec 2, stride 8")
    );
    assert_eq!(of_rows.cost(), of_columns.cost());

    // The block is received into a reversed part of a larger array; the elements around it keep their values.
    let mut large = Array2::from_elem((9, 11), -1.0);
    let mut window = large.slice_mut(s![1..8;2, 2..11;2]);
    window.invert_axis(Axis(0));
    send_receive_into(&block.of(&own), &next, &mut block.of_mut(&mut window).unwrap(), &from);
    for ((i, j), value) in large.indexed_iter() {
        let inside = i % 2 == 1 && j > 0 && j % 2 == 0;
        assert_eq!(*value, if inside { expected(3 - i / 2, j / 2 - 1) } else { -1.0 }, "at [{i}][{j}]");
    }
}

/// Several arrays in one message, views received as other views, views in collective calls, and type maps of
/// bytes.
pub fn several(world: &SimpleCommunicator) {
    use dtype_runtime::layout;

    let (rank, size) = (world.rank(), world.size());
    let previous = (rank + size - 1) % size;
    let (next, from) = (world.process_at_rank((rank + 1) % size), world.process_at_rank(previous));
    let own = own(rank);
    let block = layout!(f64[4][5] => [1..3, ..;2]);
    let n = 4;
    let expected = |i: usize, j: usize| block_of(previous, i, j);

    // Several arrays are a count of one datatype. They are received into several arrays, and into a plain
    // slice.
    let several = [own, own.map(|row| row.map(|value| -value)), own];
    let mut targets = vec![[[-1.0; 5]; 4]; 3];
    let view = block.of(&several);
    assert_eq!(Collection::count(&view), 3);
    assert_eq!(packed_by_mpi(&view), view.pack());
    send_receive_into(&view, &next, &mut block.of_mut(&mut targets[..]), &from);
    for (k, target) in targets.iter().enumerate() {
        for (i, row) in target.iter().enumerate() {
            for (j, value) in row.iter().enumerate() {
                let sign = if k == 1 && expected(i, j) > 0.0 { -1.0 } else { 1.0 };
                assert_eq!(*value, sign * expected(i, j), "at [{i}][{j}] of {k}");
            }
        }
    }
    let mut plain = [0.0; 18];
    send_receive_into(&view, &next, &mut plain[..], &from);
    assert_eq!(plain[..6], plain[12..]);

    // A matrix is received into its transpose, and listed elements into a vector.
    let mut transposed = [[-1.0; 4]; 5];
    let (rows, columns) = (layout!(f64[4][5] => [.., ..]), layout!(f64[5][4] => [.., i] for i in 0..4));
    send_receive_into(&rows.of(&own), &next, &mut columns.of_mut(&mut transposed), &from);
    assert!((0..4).all(|i| (0..5).all(|j| transposed[j][i] == number(previous, i, j))));
    let mesh: Vec<f64> = (0..100).map(|i| number(rank, 0, i)).collect();
    let nodes = [17, 3, 99, 42];
    let mut gathered = nalgebra::DVector::from_element(4, -1.0);
    let (gather, all) = (layout!(f64[25 * n] => {&nodes}).unwrap(), layout!(f64[n] => [..]).unwrap());
    send_receive_into(&gather.of(&mesh).unwrap(), &next, &mut all.of_mut(&mut gathered).unwrap(), &from);
    assert_eq!(gathered.as_slice(), nodes.map(|node| number(previous, 0, node)));

    // A view is also a buffer of collective calls.
    let mut all_blocks = vec![[[-1.0; 5]; 4]; size as usize];
    world.all_gather_into(&block.of(&own), &mut block.of_mut(&mut all_blocks[..]));
    for (rank, found) in all_blocks.iter().enumerate() {
        assert!((0..4).all(|i| (0..5).all(|j| {
            found[i][j] == if expected(i, j) == -1.0 { -1.0 } else { number(rank as i32, i, j) }
        })));
    }
    // A type map of bytes: the fields of a struct that another program has laid out.
    let map = layout!(<u32 @ 4, f64 @ 8>);
    let mut bytes = [7u8; 20];
    send_receive_into(
        &map.of(&[rank as u8; 16]).unwrap(),
        &next,
        &mut map.of_mut(&mut bytes).unwrap(),
        &from,
    );
    assert_eq!(bytes, std::array::from_fn(|i| if (4..16).contains(&i) { previous as u8 } else { 7 }));
}

/// `MPI_Type_create_subarray` and `MPI_Type_create_darray` select the same elements as `Subarray` and
/// `Darray` with the same arguments.
pub fn ready_made() {
    // A layout is found in its array, whether or not the compiler knows its shape.
    let n = 3;
    let fixed = layout!(i16[3][4] => [1.., 2]).array_datatype().unwrap();
    let dynamic = layout!(i16[n][4] => [1.., 2]).unwrap().array_datatype().unwrap();
    for datatype in [&fixed, &dynamic] {
        // SAFETY: the datatypes are live.
        assert_eq!(unsafe { extent(datatype.as_raw()) }, [0, 24]);
        let memory: Vec<u8> = (0..24).collect();
        assert_eq!(mpi_pack(memory.as_ptr(), 1, datatype.as_raw(), 4), [12, 13, 20, 21]);
    }
    for order in [ArrayOrder::RowMajor, ArrayOrder::ColumnMajor] {
        for (subsizes, starts) in [([2, 3, 4], [1, 0, 2]), ([5, 6, 7], [0; 3]), ([1, 6, 1], [4, 0, 6])] {
            let sizes = [5, 6, 7];
            let layout = Subarray { sizes, subsizes, starts, order }.layout::<i16>().unwrap();
            same_as_by_mpi(&layout, 210, |new| {
                let [sizes, subsizes, starts] =
                    [sizes, subsizes, starts].map(|numbers| numbers.map(|n| n as c_int));
                // SAFETY: MPI is initialized; the lists have three entries; the output is a datatype of its
                // own.
                unsafe {
                    ffi::MPI_Type_create_subarray(
                        3,
                        sizes.as_ptr(),
                        subsizes.as_ptr(),
                        starts.as_ptr(),
                        mpi_order(order),
                        ffi::RSMPI_INT16_T,
                        new,
                    )
                }
            });
        }
        let (gsizes, psizes) = ([10, 13], [2, 3]);
        let kinds = [
            Distribution::Block(None),
            Distribution::Block(Some(7)),
            Distribution::Cyclic(None),
            Distribution::Cyclic(Some(2)),
        ];
        // Intel MPI packs block-cyclic dimensions wrongly.
        let is_right = |kind: &Distribution| !is_intel() || !matches!(kind, Distribution::Cyclic(_));
        let pairs = kinds.iter().flat_map(|a| kinds.map(|b| [*a, b]));
        for distributions in pairs.filter(|pair| pair.iter().all(is_right)) {
            for rank in 0..6 {
                let layout = Darray { rank, gsizes, distributions, psizes, order }.layout::<i16>().unwrap();
                same_as_by_mpi(&layout, 130, |new| {
                    let [gsizes, psizes] = [gsizes, psizes].map(|numbers| numbers.map(|n| n as c_int));
                    let (kinds, blocks): (Vec<c_int>, Vec<c_int>) =
                        distributions.map(mpi_distribution).into_iter().unzip();
                    // SAFETY: MPI is initialized; the lists have two entries; the output is a datatype of its
                    // own.
                    unsafe {
                        ffi::MPI_Type_create_darray(
                            6,
                            rank as c_int,
                            2,
                            gsizes.as_ptr(),
                            kinds.as_ptr(),
                            blocks.as_ptr(),
                            psizes.as_ptr(),
                            mpi_order(order),
                            ffi::RSMPI_INT16_T,
                            new,
                        )
                    }
                });
            }
        }
    }
}

fn mpi_order(order: ArrayOrder) -> c_int {
    match order {
        ArrayOrder::RowMajor => constant!(MPI_ORDER_C),
        ArrayOrder::ColumnMajor => constant!(MPI_ORDER_FORTRAN),
    }
}

/// Returns the entries of `array_of_distribs` and `array_of_dargs`.
fn mpi_distribution(distribution: Distribution) -> (c_int, c_int) {
    let block =
        |block: Option<usize>| block.map_or(constant!(MPI_DISTRIBUTE_DFLT_DARG), |block| block as c_int);
    match distribution {
        Distribution::None => (constant!(MPI_DISTRIBUTE_NONE), block(None)),
        Distribution::Block(size) => (constant!(MPI_DISTRIBUTE_BLOCK), block(size)),
        Distribution::Cyclic(size) => (constant!(MPI_DISTRIBUTE_CYCLIC), block(size)),
    }
}

/// Returns the lower bound and the extent of a datatype.
///
/// # Safety
/// `datatype` is a live datatype.
unsafe fn extent(datatype: MPI_Datatype) -> [MPI_Aint; 2] {
    let [mut lower_bound, mut extent] = [0; 2];
    // SAFETY: the datatype is live, by the caller's condition; both numbers are locals.
    unsafe { ffi::MPI_Type_get_extent(datatype, &raw mut lower_bound, &raw mut extent) };
    [lower_bound, extent]
}

/// Checks that a layout packs the same bytes of an array as the datatype that `create` makes, which begins at
/// the array's start.
fn same_as_by_mpi<L: Layout<Element = i16>>(
    layout: &L,
    elements: usize,
    create: impl FnOnce(*mut MPI_Datatype) -> c_int,
) where
    [i16]: ArrayLike<i16, L::Shape, Mismatch = Error>,
{
    let memory = Memory::<i16>::new(3, elements);
    let packed = layout.of(memory.elements()).unwrap().pack();
    // SAFETY: `create` makes a datatype of elements of the array; the datatype is committed here and freed
    // once.
    unsafe {
        let mut datatype = ffi::RSMPI_DATATYPE_NULL;
        assert_eq!(create(&raw mut datatype), 0);
        ffi::MPI_Type_commit(&raw mut datatype);
        assert_eq!(
            mpi_pack(memory.bytes().as_ptr(), 1, datatype, packed.len()),
            packed,
            "{layout:?}",
            layout = layout.explain()
        );
        // With the array's bounds, the layout's datatype packs the same bytes and has the same bounds.
        let own = layout.array_datatype().unwrap();
        assert_eq!(mpi_pack(memory.bytes().as_ptr(), 1, own.as_raw(), packed.len()), packed);
        assert_eq!(extent(own.as_raw()), extent(datatype));
        ffi::MPI_Type_free(&raw mut datatype);
    }
}
