//! Compares `layout!` and the ready-made layouts, without MPI, with plain loops that collect the same values.
#![allow(clippy::items_after_statements)] // items stand beside their use

use std::fmt::Debug;

use dtype_core::{Item, Optimality, Progression, SelectionError, solve_layout};
use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{
    DynamicLayout, Error, Layout, MpiDatatype, layout,
    layout::{ArrayOrder, Band, Darray, Distribution, Halo, LayoutOrigin, Subarray, Tile, layout_cache},
    pack,
};
use proptest::prelude::*;

#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Particle {
    position: [f64; 3],
    velocity: [f64; 3],
    id: u64,
    kind: u8,
    matrix: [[i16; 4]; 3],
}

impl Particle {
    fn of(number: usize) -> Self {
        let x = number as f64;
        Self {
            position: [x, x + 0.25, x + 0.5],
            velocity: [-x, -x - 0.25, -x - 0.5],
            id: number as u64 * 1000,
            kind: number as u8,
            matrix: std::array::from_fn(|i| std::array::from_fn(|j| (number * 12 + 4 * i + j) as i16)),
        }
    }
}

/// Element types of all sizes and kinds, with distinct values.
trait Numbered: MpiDatatype + Copy + PartialEq + Debug + Default {
    fn numbered(number: usize) -> Self;
}

macro_rules! numbered {
    ($($type:ty: |$number:ident| $value:expr;)*) => {$(
        impl Numbered for $type {
            fn numbered($number: usize) -> Self {
                $value
            }
        }
    )*};
}

numbered! {
    u8: |n| n as u8;
    i16: |n| n as i16 - 300;
    f64: |n| n as f64 + 0.5;
    (u8, f64): |n| (n as u8, n as f64);
    [i32; 3]: |n| [n as i32, -(n as i32), 7];
    Particle: |n| Particle::of(n);
}

fn array<T: Numbered>(length: usize) -> Vec<T> {
    (0..length).map(T::numbered).collect()
}

/// Checks that a layout packs `expected`, which a plain loop of the caller has collected, and that unpacking
/// writes these values to the same places and nothing else. Also checks that the tree has the cost of the
/// layout, and that solving the tree again does not raise the cost.
fn check<L, T>(layout: &L, lengths: &[usize], expected: &[T])
where
    L: Layout<Element = T, Coverage: dtype_runtime::layout::Disjoint<Error, L>>,
    T: Numbered,
    [T]: dtype_runtime::layout::ArrayLikeMut<T, L::Shape, Mismatch = Error>,
{
    let source = array::<T>(lengths.iter().product());
    let packed = layout.of(&source[..]).unwrap().pack();
    assert_eq!(packed, pack(expected), "{layout:?}", layout = layout.explain());
    assert_eq!(layout.packed_size(), packed.len());
    assert_eq!(layout.count(), expected.len());
    let tree = layout.tree();
    let measure = tree.measure().unwrap();
    assert_eq!(measure.size, packed.len() as u64);
    assert_eq!(layout.cost(), tree.cost(&T::COSTS));
    assert!(solve_layout(tree, &T::COSTS).unwrap().cost <= layout.cost());

    // Unpacks values that differ from one another into an array of defaults.
    let mut target = vec![T::default(); source.len()];
    match layout.of_mut(&mut target[..]) {
        Ok(mut view) => view.unpack(&packed).unwrap(),
        Err(error) => {
            assert_eq!(error, Error::Pack(PackError::Overlap));
            return;
        }
    }
    let mut untouched = vec![T::default(); source.len()];
    for (i, value) in source.iter().enumerate() {
        if expected.contains(value) {
            untouched[i] = *value;
        }
    }
    assert_eq!(target, untouched);
}

/// Returns the position in memory of an index.
fn at(lengths: &[usize], order: ArrayOrder, index: &[usize]) -> usize {
    let fold = |at, (length, i): (&usize, &usize)| at * length + i;
    match order {
        ArrayOrder::RowMajor => lengths.iter().zip(index).fold(0, fold),
        ArrayOrder::ColumnMajor => lengths.iter().zip(index).rev().fold(0, fold),
    }
}

const N: usize = 6;
const M: usize = 5;
const K: i32 = -2;
const fn half(n: usize) -> usize {
    n / 2
}

/// Tests each form of the language, known at compile time, next to its loop.
#[test]
fn every_form_selects_what_the_loop_does() {
    macro_rules! forms {
        ($($element:ty[$($length:expr),+]: $layout:expr => |$array:ident| $values:expr;)*) => {$({
            let lengths = [$($length),+];
            let $array = array::<$element>(lengths.iter().product());
            let $array = |index: &[usize]| $array[at(&lengths, ArrayOrder::RowMajor, index)];
            let values: Vec<$element> = $values;
            check(&$layout, &lengths, &values);
        })*};
    }
    forms! {
        f64[100, 100]: layout!(f64[100][100] => [.., 3]) => |a| (0..100).map(|i| a(&[i, 3])).collect();
        f64[100, 100]: layout!(f64[100][100] => [-1, ..]) => |a| (0..100).map(|j| a(&[99, j])).collect();
        f64[16, 16, 16]: layout!(f64[16][16][16] => [1..15, 1..=14, 0]) => |a| {
            (1..15).flat_map(|i| (1..15).map(move |j| [i, j, 0])).map(|at| a(&at)).collect()
        };
        f64[20, 30]: layout!(f64[20][30] => [..;2, 1..;3]) => |a| {
            let cells = (0..20).step_by(2).flat_map(|i| (1..30).step_by(3).map(move |j| [i, j]));
            cells.map(|at| a(&at)).collect()
        };
        i16[20, 30]: layout!(i16[20][30] => [..;-3, 4..11;-2]) => |a| {
            let columns = |i| (4..11).rev().step_by(2).map(move |j| [i, j]);
            (0..20).rev().step_by(3).flat_map(columns).map(|at| a(&at)).collect()
        };
        f64[30, 30]: layout!(f64[30][30] => [0, ..] + [1.., 0]) => |a| {
            (0..30).map(|j| a(&[0, j])).chain((1..30).map(|i| a(&[i, 0]))).collect()
        };
        f64[8, 8]: layout!(f64[8][8] => [i, i..] for i in 0..8) => |a| {
            (0..8).flat_map(|i| (i..8).map(move |j| [i, j])).map(|at| a(&at)).collect()
        };
        f64[8, 8]: layout!(f64[8][8] => [i, ..i] for i in 0..8) => |a| {
            (0..8).flat_map(|i| (0..i).map(move |j| [i, j])).map(|at| a(&at)).collect()
        };
        u8[9, 9]: layout!(u8[9][9] => [3 * i, 2 * j + 1] for i in 0..3, j in i..=3) => |a| {
            (0..3).flat_map(|i| (i..=3).map(move |j| [3 * i, 2 * j + 1])).map(|at| a(&at)).collect()
        };
        f64[7, 4]: layout!(f64[7][4] => [.., j] for j in 0..4) => |a| {
            (0..4).flat_map(|j| (0..7).map(move |i| [i, j])).map(|at| a(&at)).collect()
        };
        Particle[12]: layout!(Particle[12] => [1..-1;3]) => |a| [1, 4, 7, 10].map(|i| a(&[i])).to_vec();
        f64[6, 5]: layout!(f64[N][M] => [.., K]) => |a| (0..6).map(|i| a(&[i, 3])).collect();
        f64[6, 5]: layout!(f64[N][M] => [1..N - 1, 2..M;2]) => |a| {
            (1..5).flat_map(|i| [[i, 2], [i, 4]]).map(|at| a(&at)).collect()
        };
        f64[6, 6]: layout!(f64[N][N] => [i, i..] for i in 0..N) => |a| {
            (0..6).flat_map(|i| (i..6).map(move |j| [i, j])).map(|at| a(&at)).collect()
        };
        (u8, f64)[6, 6]: layout!((u8, f64)[N][N] => [i, N - 1 - i] for i in 0..N) => |a| {
            (0..6).map(|i| a(&[i, 5 - i])).collect()
        };
        [i32; 3][6]: layout!([i32; 3][const { 2 * half(N) }] => [const { half(N) }..]) => |a| {
            (3..6).map(|i| a(&[i])).collect()
        };
        u8[3, 2, 2, 2, 3]: layout!(u8[3][2][2][2][3] => [1.., .., 0, ..;-1, 1..]) => |a| {
            let mut values = Vec::new();
            for i in 1..3 {
                for j in 0..2 {
                    for l in [1, 0] {
                        values.extend((1..3).map(|m| a(&[i, j, 0, l, m])));
                    }
                }
            }
            values
        };
        u8[4]: layout!(u8[4] => [2..2]) => |_a| Vec::new();
        u8[1]: layout!(u8[1] => [0]) => |a| vec![a(&[0])];
    }
}

#[test]
fn where_a_layout_is_solved_depends_on_what_is_known_of_it() {
    let n = 6;
    assert_eq!(layout!(f64[6][6] => [.., 0..2]).layout_origin(), LayoutOrigin::Expansion);
    assert_eq!(layout!(f64[N][M] => [.., 0..2]).layout_origin(), LayoutOrigin::ConstantEvaluation);
    assert_eq!(layout!(Particle[9] => [..].velocity).layout_origin(), LayoutOrigin::ConstantEvaluation);
    assert_eq!(layout!(f64[n][6] => [.., 0..2]).unwrap().layout_origin(), LayoutOrigin::RunTime);
    // Layouts of literals, constants and values have the same cost.
    let costs = [
        layout!(f64[6][6] => [.., 0..2]).cost(),
        layout!(f64[N][N] => [.., 0..2]).cost(),
        layout!(f64[n][n] => [.., 0..2]).unwrap().cost(),
    ];
    assert_eq!(costs, [13; 3]);
    // Long boxes are solved at compile time, too, and take no space.
    const LONG: usize = 1000;
    let block = layout!(Particle[LONG][LONG][LONG] => [1..LONG - 1, 1..LONG - 1, 3..400]);
    assert_eq!(block.layout_origin(), LayoutOrigin::ConstantEvaluation);
    let n = LONG;
    let found = layout!(Particle[n][n][n] => [1..n - 1, 1..n - 1, 3..400]).unwrap();
    assert_eq!((block.cost(), block.tree()), (found.cost(), found.tree()));
    assert_eq!(size_of_val(&block), 0);
    let block = layout!(f64[LONG][LONG] => [1..LONG - 1, 1..LONG - 1]);
    assert_eq!((block.cost(), block.optimality()), (13, Optimality::Proven));
}

#[test]
fn fields_of_elements_are_selected_by_their_paths() {
    let particles: [Particle; 9] = std::array::from_fn(Particle::of);
    let packed = |values: Vec<f64>| pack(&values);

    let view = layout!(Particle[9] => [..].velocity[0..2]);
    let expected = particles.iter().flat_map(|p| p.velocity[..2].to_vec()).collect();
    assert_eq!(view.of(&particles).pack(), packed(expected));
    assert_eq!(view.count(), 18);

    let view = layout!(Particle[9] => [1..;4].position);
    assert_eq!(view.of(&particles).pack(), pack(&[particles[1].position, particles[5].position]));
    assert_eq!(view.count(), 2);

    // Arrays within arrays, with one pair of brackets or with two.
    let view = layout!(Particle[9] => [2].matrix[1..][..;2]);
    let expected = pack(&[1usize, 2].map(|i| [particles[2].matrix[i][0], particles[2].matrix[i][2]]));
    assert_eq!(view.of(&particles).pack(), expected);
    assert_eq!(layout!(Particle[9] => [2].matrix[1.., ..;2]).of(&particles).pack(), expected);

    // First one field of all elements and then another, or both fields element by element.
    let view = layout!(Particle[9] => [..].kind + [..].id);
    let expected = [pack(&particles.map(|p| p.kind)), pack(&particles.map(|p| p.id))].concat();
    assert_eq!(view.of(&particles).pack(), expected);
    let view = layout!(Particle[9] => [i].kind + [i].id for i in 0..9);
    assert_eq!(view.of(&particles).pack(), pack(&particles.map(|p| (p.kind, p.id))));
    assert_eq!(view.tree().children().len(), 1, "{}", view.explain());

    // A layout of one value also fits several values.
    let view = layout!(Particle => .position + .id);
    let expected = pack(&particles.map(|p| (p.position, p.id)));
    assert_eq!(view.of(&particles[0]).pack(), expected[..32]);
    assert_eq!(view.of(&particles).pack(), expected);
    assert_eq!(view.of(&particles[..]).unwrap().pack(), expected);
    let mut copies = [Particle::default(); 9];
    view.of_mut(&mut copies).unpack(&expected).unwrap();
    for (copy, particle) in copies.iter().zip(&particles) {
        let Particle { position, id, .. } = *particle;
        assert_eq!(*copy, Particle { position, id, ..Particle::default() });
    }

    // Bounds within an element may be run-time values.
    let (a, b) = (1, 3);
    let view = layout!(Particle => .velocity[a..b]).unwrap();
    assert_eq!(view.of(&particles[3]).unwrap().pack(), pack(&particles[3].velocity[1..]));

    // Fields of tuples and of packed structs.
    #[derive(MpiDatatype, Clone, Copy)]
    #[repr(C, packed)]
    struct Packed {
        tag: u8,
        values: (f64, [u16; 2]),
    }
    let values = [Packed { tag: 1, values: (0.5, [2, 3]) }; 2];
    let view = layout!(Packed[2] => [..].values.1[1] + [..].tag);
    assert_eq!(view.of(&values).pack(), pack(&[(3u16, 3u16)]).into_iter().chain([1, 1]).collect::<Vec<_>>());
}

#[test]
fn a_type_map_reads_and_writes_bytes_at_its_displacements() {
    let map = layout!(<i32 @ 0, f64 @ 8, f64 @ 16>);
    assert_eq!(map.type_map().unwrap().to_string(), "i32 @ 0, 2 × f64 @ 8 stride 8");
    assert_eq!(map.layout_origin(), LayoutOrigin::Expansion);
    let bytes: Vec<u8> = (0..30).collect();
    let expected: Vec<u8> = (0..4).chain(8..24).collect();
    assert_eq!(map.of(&bytes).unwrap().pack(), expected);
    assert_eq!(map.of(&[0u8; 24]).unwrap().pack(), [0; 20]);
    let error = map.of(&bytes[..23]).unwrap_err();
    assert_eq!(error.to_string(), "the layout reaches from byte 0 to byte 24, but the memory has 23 bytes");
    let mut target = [99; 25];
    map.of_mut(&mut target).unwrap().unpack(&expected).unwrap();
    let untouched: Vec<u8> = (0..25).map(|i| if expected.contains(&i) { i } else { 99 }).collect();
    assert_eq!(target[..], untouched);

    // Structs and constants, in any order, not aligned.
    const AT: usize = 70;
    let map = layout!(<Particle @ AT, u8 @ AT - 1, bool @ 0>);
    assert_eq!(map.layout_origin(), LayoutOrigin::ConstantEvaluation);
    let mut memory = [1u8; 200];
    let mut view = map.of_mut(&mut memory).unwrap();
    let size = view.as_view().packed_size();
    let mut packed = vec![0; size];
    packed[size - 1] = 2;
    assert!(matches!(view.unpack(&packed), Err(Error::Pack(PackError::InvalidValue { what: "bool", .. }))));
    packed[size - 1] = 1;
    view.unpack(&packed).unwrap();
    assert_eq!(memory[..70], [[1u8; 69].as_slice(), &[0]].concat());
}

#[test]
fn column_major_arrays_lie_and_travel_with_the_first_index_fastest() {
    // Two rows and three columns, column by column.
    let matrix = [[0u8, 1], [10, 11], [20, 21]];
    let pack = |layout: &dyn Fn() -> Vec<u8>| layout();
    assert_eq!(pack(&|| layout!(column_major u8[2][3] => [.., 1]).of(&matrix).pack()), [10, 11]);
    assert_eq!(pack(&|| layout!(column_major u8[2][3] => [1, ..]).of(&matrix).pack()), [1, 11, 21]);
    assert_eq!(pack(&|| layout!(column_major u8[2][3] => [.., 1..]).of(&matrix).pack()), [10, 11, 20, 21]);
    let (n, m) = (2, 3);
    let block = layout!(column_major u8[n][m] => [.., ..;2]).unwrap();
    assert_eq!(block.of(&matrix).unwrap().pack(), [0, 1, 20, 21]);
    assert_eq!(block.of(&matrix.concat()).unwrap().pack(), [0, 1, 20, 21]);
    assert!(block.of(&[[0u8; 3]; 2]).is_err());
}

mod named {
    dtype_runtime::layout!(
        /// A column.
        #[allow(dead_code)]
        pub type Column = f64[4][3] => [.., 1];
    );
    dtype_runtime::layout!(type Corner = u8[3][3] => [0, 0]);

    pub fn corner() -> usize {
        Corner.count()
    }
}

#[test]
fn a_named_layout_is_a_type_and_a_value() {
    fn first(view: dtype_runtime::View<'_, named::Column>) -> f64 {
        f64::from_ne_bytes(view.pack()[..8].try_into().unwrap())
    }
    let matrix = [[0.0, 0.5, 1.0]; 4];
    assert_eq!(first(named::Column.of(&matrix)), 0.5);
    assert_eq!(first(named::Column::default().of(&matrix)), 0.5);
    assert_eq!(named::corner(), 1);
}

#[test]
fn bounds_beyond_the_array_are_errors_in_the_words_of_the_compiler() {
    let (n, m) = (8usize, 100i64);
    let text = |layout: Result<DynamicLayout<f64, 2>, Error>| layout.unwrap_err().to_string();
    let far = 8;
    for (found, expected) in [
        (
            text(layout!(f64[n][m] => [far, ..])),
            "index 8 is out of bounds: dimension 0 has length 8, so valid values are -8 to 7",
        ),
        (
            text(layout!(f64[n][m] => [-9 * n as i32 / 8, ..])),
            "index -9 is out of bounds: dimension 0 has length 8, so valid values are -8 to 7",
        ),
        (
            text(layout!(f64[n][m] => [.., m + 1..])),
            "range start 101 is out of bounds: dimension 1 has length 100, so valid values are -100 to 100",
        ),
        (
            text(layout!(f64[n][m] => [.., ..=m])),
            "range end 100 is out of bounds: dimension 1 has length 100, so valid values are -100 to 99",
        ),
        (
            text(layout!(f64[n][m] => [5..n - 4, ..])),
            "the range of dimension 0 starts at index 5 and ends before index 4; the smaller bound comes \
             first, also with a negative step",
        ),
        (
            text(layout!(f64[n][m] => [..;n - 8, ..])),
            "the step of dimension 0 is 0; it must be 1 or more, or negative to go from back to front",
        ),
        (
            text(layout!(f64[n - 8][m] => [0, ..])),
            "index 0 is out of bounds: dimension 0 has length 0, so it has no elements to select",
        ),
        (
            text(layout!(f64[n][-m] => [0, ..])),
            "the length of dimension 1 is -100; it must be between 0 and 9223372036854775743",
        ),
        (
            text(layout!(f64[n << 40][m << 40] => [0, ..])),
            "the array, or the selected part of it, takes more than 9223372036854775743 bytes, the limit of \
             an array in memory",
        ),
        (
            text(layout!(f64[n][m] => [{[0, 7, 8]}, ..])),
            "entry 2 of the index list is 8, out of bounds: dimension 0 has length 8, so valid values are 0 \
             to 7",
        ),
        (
            text(layout!(f64[n][m] => [{vec![3, -1]}, ..])),
            "entry 1 of the index list is -1, out of bounds: dimension 0 has length 8, so valid values are 0 \
             to 7",
        ),
    ] {
        assert_eq!(found, expected);
    }
    // Only the first mistake is reported.
    assert!(text(layout!(f64[n][m] => [i, ..] + [i, m] for i in 0..n)).starts_with("index 100 "));
}

/// Arrays that no machine can hold, and lists of pieces that no memory can hold, give an error or a layout
/// that describes them.
#[test]
fn absurd_sizes_are_errors_and_take_no_memory() {
    let n = isize::MAX as usize / 16;
    let layout = layout!(f64[n] => {[n - 1, 0, 7]}).unwrap();
    assert_eq!(
        layout.of_mut(&mut [0.0; 8][..]).unwrap_err(),
        Error::Shape { expected: vec![n], found: vec![8] }
    );
    assert!(layout.explain().contains("idx 3"));
    assert_eq!(layout!(f64[n] => [..;-3]).unwrap().tree().to_string().lines().count(), 2);
    let too_large = Error::Selection(SelectionError::TooLarge);
    assert_eq!(layout!(f64[n] => [..] + [..] + [..]).unwrap_err(), too_large);
    assert_eq!(layout!(()[n][n] => [..;2, ..]).unwrap_err(), too_large);
    let nothing = layout!(()[n] => [..;2]).unwrap();
    assert_eq!((nothing.count(), nothing.packed_size()), (n.div_ceil(2), 0));
    let too_many = Error::Selection(SelectionError::TooManyPieces { limit: 1 << 22 });
    assert_eq!(layout!(u8[n] => [i] for i in 0..5_000_000).unwrap_err(), too_many);
    assert_eq!(Band::diagonal([1 << 30, 1 << 30], 0).layout::<u8>().unwrap_err(), too_many);
    // Nested loops may have more iterations than there are pieces.
    let rows = 1_500_000;
    let deep =
        layout!(u8[rows] => [i] for i in 0..rows, _a in 0..1, _b in 0..1, _c in 0..1, _d in 0..1, _e in 0..1);
    assert_eq!(deep.unwrap().count(), rows);
    // The limit also counts iterations that add no piece.
    let (endless, j) = (3_000_000_000u64, 20);
    assert_eq!(layout!(u8[10] => [0] for _i in 0..endless).unwrap_err(), too_many);
    assert_eq!(layout!(u8[10] => [0] for _i in 0..endless, _j in 0..0).unwrap_err(), too_many);
    assert!(layout!(u8[10] => [j] for _i in 0..endless).unwrap_err().to_string().starts_with("index 20"));
    let nine = Subarray { sizes: [1; 9], subsizes: [1; 9], starts: [0; 9], order: ArrayOrder::RowMajor };
    assert_eq!(nine.layout::<u8>().unwrap_err().to_string(), "9 dimensions, but a layout has at most 8");
    let cyclic = |block, length| Darray {
        rank: 1,
        gsizes: [length],
        distributions: [Distribution::Cyclic(Some(block))],
        psizes: [2],
        order: ArrayOrder::RowMajor,
    };
    assert_eq!(cyclic((1 << 62) - 1, 10).layout::<u8>().unwrap().count(), 0);
    // Blocks that are dealt out take a few numbers, however many they are.
    assert_eq!(
        cyclic((1 << 62) - 1, isize::MAX as usize - 64).layout::<u8>().unwrap().count(),
        (1 << 62) - 64
    );
    assert_eq!(cyclic(2, 1 << 61).layout::<u8>().unwrap().count(), 1 << 60);
    let length = layout!(u8[-1i64 + (endless as i64 - endless as i64)] => [..]).unwrap_err().to_string();
    assert_eq!(length, "the length of dimension 0 is -1; it must be between 0 and 9223372036854775743");
    // A `main` that returns this error prints this text.
    assert_eq!(format!("{too_many:?}"), format!("Argument: {too_many}"));
    assert_eq!(too_many.to_string(), "the layout has more than 4194304 pieces, the limit; send it in parts");
}

#[test]
fn parts_that_are_read_and_written_at_once_do_not_overlap() {
    use dtype_runtime::layout::{split, split_mut};
    let n = 6;
    let column = |j: usize| layout!(u8[n][n] => [.., j]).unwrap();
    let row = |i: usize| layout!(u8[n][n] => [i, ..]).unwrap();
    let listed = |list: &[usize]| layout!(u8[n][n] => [{list}, 0]).unwrap();
    let mut cells: Vec<u8> = (0..36).collect();
    let (reads, mut writes) = split(&mut cells, &[column(0), column(5)], &[column(1), column(2)]).unwrap();
    for (read, write) in reads.iter().zip(&mut writes) {
        write.unpack(&read.pack()).unwrap();
    }
    assert_eq!(cells[..6], [0, 0, 5, 3, 4, 5]);
    let overlaps = |cells: &mut Vec<u8>, reads: &[DynamicLayout<u8, 2>], writes: &[DynamicLayout<u8, 2>]| {
        matches!(split(cells, reads, writes), Err(Error::Pack(PackError::Overlap) | Error::Meet { .. }))
    };
    let error = split(&mut cells, &[row(1), column(0)], &[column(1), column(0)]).unwrap_err();
    assert_eq!(error, Error::Meet { write: 0, other: 0, is_read: true });
    assert!(error.to_string().starts_with("layout 0 to be written and layout 0 to be read overlap"));
    let error = split(&mut cells, &[column(5)], &[column(1), row(1)]).unwrap_err();
    assert_eq!(error, Error::Meet { write: 1, other: 0, is_read: false });
    let twice = split_mut(&mut cells, &[listed(&[1, 2, 1])]).unwrap_err();
    assert_eq!(twice, Error::Pack(PackError::Overlap));
    assert!(overlaps(&mut cells, &[row(0)], &[column(0)]));
    assert!(overlaps(&mut cells, &[], &[column(0), row(3)]));
    assert!(!overlaps(&mut cells, &[row(0), column(3)], &[]));
    assert!(overlaps(&mut cells, &[], &[listed(&[1, 2, 1])]));
    assert!(overlaps(&mut cells, &[listed(&[1, 2])], &[listed(&[3, 2])]));
    assert!(!overlaps(&mut cells, &[listed(&[1, 1])], &[listed(&[3, 2]), column(1)]));
    // All layouts must have the same shape.
    let other = layout!(u8[2 * n][n / 2] => [0, ..]).unwrap();
    assert!(matches!(split(&mut cells, &[row(0)], &[other]), Err(Error::Shape { .. })));
    assert!(split(&mut cells[1..], &[row(0)], &[row(1)]).is_err());
    let none: [DynamicLayout<u8, 2>; 0] = [];
    assert!(split(&mut cells[..0], &none, &none).unwrap().0.is_empty());
}

/// A view can be moved to another thread if a slice can.
#[test]
fn layouts_and_views_can_be_shared_between_threads() {
    fn is_shared<T: Send + Sync>(value: T) -> T {
        value
    }
    let (n, mut cells) = (8, [0u8; 8]);
    let layout = is_shared(layout!(u8[n] => [..;2]).unwrap());
    std::thread::scope(|scope| {
        let mut view = is_shared(layout.of_mut(&mut cells).unwrap());
        scope.spawn(move || view.unpack(&[1; 4]).unwrap());
    });
    let view = is_shared(is_shared(layout!(u8[8] => [..;2])).of(&cells));
    assert_eq!(std::thread::scope(|scope| scope.spawn(|| view.pack()).join().unwrap()), [1; 4]);
}

#[test]
fn sources_of_another_shape_are_errors() {
    let column = layout!(f64[4][3] => [.., 1]);
    let error = column.of(&[0.0; 13][..]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the layout or part is of an array of shape [4, 3], but this array has shape [13]"
    );
    assert!(column.of(&vec![0.0; 11]).is_err() && column.of_mut(&mut vec![0.0; 11]).is_err());
    assert!(column.of(&vec![[0.0; 3]; 5]).is_err());
    let n = 4;
    let column = layout!(f64[n][3] => [.., 1]).unwrap();
    let error = column.of(&[[0.0; 4]; 3]).unwrap_err();
    assert_eq!(error, Error::Shape { expected: vec![4, 3], found: vec![3, 4] });
    assert!(column.of(&vec![[0.0; 3]; 3]).is_err());
}

#[test]
fn what_is_covered_twice_cannot_be_received_into() {
    let n = 10;
    let overlap = |layout: Result<DynamicLayout<f64, 2>, Error>| {
        let layout = layout.unwrap();
        let mut matrix = [[0.0; 10]; 10];
        layout.of(&matrix).unwrap();
        matches!(layout.of_mut(&mut matrix), Err(Error::Pack(PackError::Overlap)))
    };
    assert!(overlap(layout!(f64[n][n] => [0, ..] + [.., 0])));
    assert!(!overlap(layout!(f64[n][n] => [0, ..] + [1.., 0])));
    assert!(!overlap(layout!(f64[n][n] => [..;2, ..] + [1..;2, ..])));
    assert!(overlap(layout!(f64[n][n] => [..;2, ..] + [1..;3, ..])));
    assert!(overlap(layout!(f64[n][n] => [{[1, 2, 1]}, ..])));
    assert!(!overlap(layout!(f64[n][n] => [{[1, 2, 3]}, ..])));
    assert!(overlap(layout!(f64[n][n] => [{[1, 2, 3]}, 2] + [.., 2])));
    assert!(!overlap(layout!(f64[n][n] => [i, j] for i in 0..n, j in 0..n)));
    assert!(overlap(layout!(f64[n][n] => [i, j..] for i in 0..n, j in 0..n)));

    // Columns of large matrices within an element, known during constant evaluation.
    #[derive(MpiDatatype, Clone)]
    struct Large {
        matrix: [[u16; 200]; 200],
        nothing: (),
    }
    let mut large = vec![Large { matrix: [[1; 200]; 200], nothing: () }; 2];
    let columns = layout!(Large[2] => [..].matrix[.., 0] + [..].nothing + [..].matrix[..;2, 1..;2]);
    columns.of_mut(&mut large).unwrap().unpack(&vec![0; columns.packed_size()]).unwrap();
    assert_eq!(large[1].matrix[0][..4], [0, 0, 1, 0]);
    assert_eq!(large[1].matrix[1][..4], [0, 1, 1, 1]);

    let fields = |layout: Result<DynamicLayout<Particle, 1, layout::Fields>, Error>| {
        let mut particles = [Particle::default(); 10];
        matches!(layout.unwrap().of_mut(&mut particles), Err(Error::Pack(PackError::Overlap)))
    };
    assert!(!fields(layout!(Particle[n] => [..].id + [..].kind)));
    assert!(fields(layout!(Particle[n] => [..].position + [3].position[1])));
    assert!(!fields(layout!(Particle[n] => [..].position[..;2] + [3].position[1])));
    assert!(!fields(layout!(Particle[n] => [i].id + [i].position[0] for i in 0..n)));
    assert!(fields(layout!(Particle[n] => [i].id + [0].position[0] for i in 0..n)));
    assert!(!fields(layout!(Particle[100 - 9 * n] => [{(0..10).rev().collect::<Vec<_>>()}].id)));
}

#[test]
fn arrays_of_sources_are_several_copies() {
    let column = layout!(u8[2][3] => [.., 1]);
    let mut sources = [[[1u8, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]];
    assert_eq!(column.of(&sources).pack(), [2, 5, 8, 11]);
    assert_eq!(column.of(&sources[1..]).pack(), [8, 11]);
    assert_eq!(column.of(&sources.to_vec()).pack(), [2, 5, 8, 11]);
    assert_eq!(column.of(&sources[..0]).pack(), []);
    column.of_mut(&mut sources[..]).unpack(&[0; 4]).unwrap();
    assert_eq!(sources, [[[1, 0, 3], [4, 0, 6]], [[7, 0, 9], [10, 0, 12]]]);
    assert!(column.of_mut(&mut sources).unpack(&[0; 3]).is_err());
    // The tree is that of one array. The extent of its datatype is the size of an array.
    let n = 2;
    let column = layout!(u8[n][3] => [.., 1]).unwrap();
    assert_eq!(column.of(&sources).unwrap().pack(), [0; 4]);
    assert_eq!(column.of(&sources).unwrap().tree().to_string(), "vec 2, stride 3\n└─ u8\n");
    // References and boxes of sources are sources.
    let boxed = Box::new([[1u8, 2, 3], [4, 5, 6]]);
    assert_eq!(column.of(&boxed).unwrap().pack(), [2, 5]);
    assert_eq!(layout!(u8[2][3] => [1, ..]).of(&boxed).pack(), [4, 5, 6]);
    assert_eq!(layout!(u8[2][3] => [1, ..]).of(&&boxed[..]).unwrap().pack(), [4, 5, 6]);
}

#[test]
fn an_index_list_of_a_regular_grid_becomes_vectors_and_says_so() {
    let line: Vec<usize> = (0..1_000_000).map(|i| 2 * i + 1).collect();
    let n = 2_000_000;
    let layout = layout!(f64[n] => {line}).unwrap();
    assert_eq!(layout.tree().to_string(), "vec 1000000, stride 16\n└─ f64\n");
    assert!(layout.explain().contains("vec 1000000, stride 16"));
    let plane: Vec<i32> = (0..1000).flat_map(|i| (0..1000).map(move |j| 2000 * i + 2 * j)).collect();
    let layout = layout!(f64[n] => {&plane}).unwrap();
    assert_eq!(layout.tree().to_string(), "vec 1000000, stride 16\n└─ f64\n");
    let box_: Vec<i32> = (0..100)
        .flat_map(|i| (0..100).flat_map(move |j| (0..100).map(move |k| 20_000 * i + 150 * j + k)))
        .collect();
    let layout = layout!(Particle[n] => {box_}).unwrap();
    assert_eq!(layout.tree().to_string().matches("vec 100,").count(), 3, "{}", layout.tree());
    // Rows of a matrix can be listed, too.
    let rows = [5usize, 1, 3];
    let matrix: [[u8; 4]; 6] = std::array::from_fn(|i| std::array::from_fn(|j| (10 * i + j) as u8));
    let layout = layout!(u8[6][4] => [{rows}, 1..3]).unwrap();
    assert_eq!(layout.of(&matrix).unwrap().pack(), [51, 52, 11, 12, 31, 32]);
    // In a loop, each iteration has its own list.
    let columns = [vec![0, 3], vec![], vec![1]];
    let layout = layout!(u8[6][4] => [i, {&columns[i]}] for i in 0..3).unwrap();
    assert_eq!(layout.of(&matrix).unwrap().pack(), [0, 3, 21]);
    let empty: &[usize] = &[];
    assert_eq!(layout!(u8[6][4] => [{empty}, ..]).unwrap().of(&matrix).unwrap().pack(), []);
}

#[test]
fn explaining_shows_the_cells_beside_the_tree() {
    let text = layout!(f64[9][10] => [.., 1] + [2, ..]).explain();
    let (text, times) = text.split_once("\npredicted time of ").unwrap();
    assert!(times.starts_with("152 bytes in "), "{times}");
    assert_eq!(
        text,
        "19 values of an array [9][10], 152 bytes; cost 25, the least cost\nsolved at macro \
         expansion\n\n· ■ · · · · · · · ·   strc 2\n· ■ · · · · · · · ·   ├─ @ 0: vec 9, stride 80\n■ 2 ■ ■ \
         ■ ■ ■ ■ ■ ■   │  └─ f64\n· ■ · · · · · · · ·   └─ @ 152: vec 10, stride 8\n· ■ · · · · · · · ·      \
         └─ f64\n· ■ · · · · · · · ·\n· ■ · · · · · · · ·\n· ■ · · · · · · · ·\n· ■ · · · · · · · ·\n\nt0 = \
         MPI_Type_create_hvector(9, 1, 80, MPI_DOUBLE)\nt1 = MPI_Type_create_struct(2, [1, 10], [0, 152], \
         [t0, MPI_DOUBLE])\nMPI_Type_commit(t1)\n"
    );
    // The middle of a large array is left out.
    let large = layout!(u8[100][100] => [.., 99]).explain();
    assert!(large.lines().all(|line| line.chars().count() <= 110), "{large}");
    assert!(large.contains("… · · ·") && large.contains("⋮"), "{large}");
}

#[test]
fn the_cache_forgets_what_was_not_used_for_longest() {
    // Other tests use the cache, too, so only lower bounds of differences are certain.
    let column = |n: usize| layout!(u16[n][n] => [.., 0]).unwrap().tree().clone();
    let before = layout_cache();
    for _ in 0..3 {
        column(12_345);
    }
    let after = layout_cache();
    assert!(after.hits >= before.hits + 2 && after.misses > before.misses);
    (20_000..20_600).for_each(|n| drop(column(n)));
    assert!(layout_cache().entries <= 256);
    // A list that is too long for the cache.
    let many: Vec<usize> = (0..5_000_000).collect();
    let n = many.len();
    assert_eq!(layout!(u8[n] => {many}).unwrap().count(), n);
    assert!(layout_cache().numbers <= 1 << 22);
}

/// A long list is found by its contents, and by nothing else.
#[test]
fn a_long_list_that_is_given_again_is_the_same_layout() {
    const N: usize = 3000;
    let cells: Vec<u32> = (0..2 * N as u32).collect();
    let mut list: Vec<i32> = (0..N as i32).map(|k| k * 7 % N as i32).collect();
    let n = cells.len();
    let packed = |list: &[i32]| list.iter().flat_map(|i| (*i as u32).to_ne_bytes()).collect::<Vec<_>>();
    let before = layout_cache();
    for _ in 0..3 {
        let layout = layout!(u32[n] => {&list}).unwrap();
        assert!(layout.cost() > 0);
        assert_eq!(layout.of(&cells).unwrap().pack(), packed(&list));
    }
    assert!(layout_cache().hits >= before.hits + 2);

    // Other layouts: with another entry in the list, another type of integers or elements, and another shape.
    list[N / 2] += N as i32;
    assert_eq!(layout!(u32[n] => {&list}).unwrap().of(&cells).unwrap().pack(), packed(&list));
    let wide: Vec<u64> = list.iter().map(|index| *index as u64).collect();
    assert_eq!(layout!(u32[n] => {&wide}).unwrap().of(&cells).unwrap().pack(), packed(&list));
    let small: Vec<u8> = cells.iter().map(|cell| *cell as u8).collect();
    let bytes: Vec<u8> = list.iter().map(|index| *index as u8).collect();
    assert_eq!(layout!(u8[n] => {&list}).unwrap().of(&small).unwrap().pack(), bytes);
    let rows = layout!(u32[n][2] => [{&list}, 1]).unwrap();
    let columns = layout!(u32[2][n] => [1, {&list}]).unwrap();
    assert_eq!(rows.packed_size(), columns.packed_size());
    assert_ne!(rows.tree(), columns.tree());

    // A list that does not fit the array is rejected, in the cache or not.
    let m = list[N / 2] as usize;
    for list in [list.clone(), list.iter().rev().copied().collect()] {
        let entry = list.iter().position(|index| *index as usize == m).unwrap();
        let message = layout!(u32[m] => {&list}).unwrap_err().to_string();
        assert!(
            message.contains(&format!("entry {entry} ")) && message.contains(&m.to_string()),
            "{message}"
        );
    }
    list[5] = -1;
    assert!(layout!(u32[n] => {&list}).unwrap_err().to_string().contains("-1"));
    let huge = vec![u64::MAX; N];
    assert!(layout!(u32[n] => {&huge}).is_err());
}

#[test]
fn a_list_that_selects_twice_is_refused_whenever_it_is_given() {
    let n = 5000;
    let twice: Vec<usize> = (0..n).chain([17]).collect();
    let once: Vec<usize> = (0..n).collect();
    let mut cells = vec![0u16; n];
    for _ in 0..2 {
        let layout = layout!(u16[n] => {&twice}).unwrap();
        assert_eq!(layout.of(&cells).unwrap().pack().len(), 2 * n + 2);
        assert!(matches!(layout.of_mut(&mut cells), Err(Error::Pack(PackError::Overlap))));
        assert!(layout!(u16[n] => {&once}).unwrap().of_mut(&mut cells).is_ok());
    }
}

#[test]
fn threads_may_give_the_same_lists_at_once() {
    let n = 20_000;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let cells: Vec<u32> = (0..n as u32).collect();
                for round in 0..40 {
                    let step = 1 + (thread + round) % 3;
                    let list: Vec<usize> = (0..n).step_by(step).map(|k| n - 1 - k).collect();
                    let packed = layout!(u32[n] => {&list}).unwrap().of(&cells).unwrap().pack();
                    let expected = list.iter().flat_map(|i| (*i as u32).to_ne_bytes());
                    assert!(packed.into_iter().eq(expected));
                }
            });
        }
    });
}

/// Blocks that are dealt out are the elements of a list, at no higher cost, and may be split.
#[test]
fn cyclic_darrays_are_lists_of_their_elements() {
    use dtype_runtime::layout::split;
    for (n, block, processes) in [(7, 2, 2), (10, 3, 3), (61, 5, 2), (200, 3, 2), (1001, 2, 3)] {
        let part = |rank| {
            let distributions = [Distribution::Cyclic(Some(block)), Distribution::None];
            let order = ArrayOrder::ColumnMajor;
            let own = Darray { rank, gsizes: [n, 3], distributions, psizes: [processes, 1], order };
            own.layout::<u8>().unwrap()
        };
        for rank in 0..processes {
            let rows: Vec<usize> = (0..n).filter(|row| row / block % processes == rank).collect();
            let elements: Vec<usize> = (0..3).flat_map(|j| rows.iter().map(move |row| j * n + row)).collect();
            let length = 3 * n;
            let listed = layout!(u8[length] => [{&elements}]).unwrap();
            assert_eq!(part(rank).type_map().unwrap(), listed.type_map().unwrap());
            assert!(part(rank).cost() <= listed.cost(), "{n} {block} {processes}");
            let mut cells = vec![0; length];
            let others: Vec<_> = (0..processes).filter(|other| *other != rank).map(part).collect();
            let (_, mut writes) = split(&mut cells, &others, &[part(rank)]).unwrap();
            writes[0].unpack(&vec![9; elements.len()]).unwrap();
            assert!(cells.iter().enumerate().all(|(i, cell)| (*cell == 9) == elements.contains(&i)));
            assert!(split(&mut cells, &[part(rank)], &[part(rank)]).is_err());
        }
    }
}

#[test]
fn ready_made_layouts_say_which_parameter_is_wrong() {
    let order = ArrayOrder::RowMajor;
    let subarray = |subsizes, starts| Subarray { sizes: [9, 5], subsizes, starts, order }.layout::<u8>();
    let darray = |rank, distributions, psizes| {
        Darray { rank, gsizes: [9, 5], distributions, psizes, order }.layout::<u8>()
    };
    use Distribution::{Block, Cyclic, None};
    for (found, expected) in [
        (
            subarray([9, 6], [0, 0]),
            "Subarray: subsizes[1] is 6, but must be 5 at most, the length of the array",
        ),
        (
            subarray([3, 5], [7, 0]),
            "Subarray: starts[0] is 7, but must be 6 at most, so that 3 of the 9 elements follow",
        ),
        (
            darray(6, [Block(Option::None); 2], [2, 3]),
            "Darray: rank is 6, but must be less than 6, the number of processes in the grid",
        ),
        (darray(0, [Block(Option::None); 2], [0, 3]), "Darray: psizes[0] is 0, but must be 1 or more"),
        (
            darray(0, [None, None], [1, 3]),
            "Darray: psizes[1] is 3, but must be 1, as the dimension is not distributed",
        ),
        (
            darray(0, [Block(Some(4)), None], [2, 1]),
            "Darray: the block of distributions[0] is 4, but must be 5 or more, so that 2 blocks hold 9 \
             elements",
        ),
        (
            darray(0, [None, Cyclic(Some(0))], [1, 2]),
            "Darray: the block of distributions[1] is 0, but must be 1 or more",
        ),
        (
            Tile { sizes: [9, 5], tile: [4, 4], index: [3, 0], order }.layout(),
            "Tile: index[0] is 3, but must be less than 3, the number of tiles",
        ),
        (
            Halo::new([9, 5], 2).part([0, 1]).map(|part| part.send),
            "Halo: sizes[1] is 5, but must be 6 or more: it has 2 and 2 layers of ghost cells, and as many \
             own cells as the wider of them",
        ),
        (
            Halo::new([9, 5], usize::MAX).part([0, 1]).map(|part| part.send),
            "Halo: sizes[0] is 9, but must be 18446744073709551615 or more: it has 18446744073709551615 and \
             18446744073709551615 layers of ghost cells, and as many own cells as the wider of them",
        ),
        (
            Halo::new([9, 5], 1).part([0, 2]).map(|part| part.send),
            "Halo: direction[1] is 2, but must be -1, 0 or 1",
        ),
    ] {
        assert_eq!(found.map(|_| ()).unwrap_err().to_string(), expected);
    }
}

#[test]
fn what_a_neighbour_sends_is_what_its_ghosts_are() {
    // A torus of 2 × 2 × 2 boxes: after the exchange, every ghost cell has the value of the cell that it
    // stands for.
    const SIDE: usize = 3;
    let exchanges = Halo::new([SIDE + 2; 3], 1).parts::<u32>().unwrap();
    assert_eq!(exchanges.len(), 26);
    let cell = |rank: [usize; 3], index: [usize; 3]| {
        let global: Vec<usize> =
            (0..3).map(|k| (rank[k] * SIDE + index[k] + 2 * SIDE - 1) % (2 * SIDE)).collect();
        (global[0] * 10_000 + global[1] * 100 + global[2] + 1) as u32
    };
    let ranks = || (0..8usize).map(|rank| [rank >> 2, rank >> 1 & 1, rank & 1]);
    let indices = || (0..125usize).map(|i| [i / 25, i / 5 % 5, i % 5]);
    let inner = |index: [usize; 3]| index.iter().all(|i| (1..=SIDE).contains(i));
    let boxes: Vec<Vec<u32>> = ranks()
        .map(|rank| indices().map(|index| if inner(index) { cell(rank, index) } else { 0 }).collect())
        .collect();
    let mut filled = boxes.clone();
    for (i, exchange) in exchanges.iter().enumerate() {
        let opposite = &exchanges[exchanges.len() - 1 - i];
        assert_eq!(opposite.direction, exchange.direction.map(|step| -step));
        for (rank, target) in ranks().zip(&mut filled) {
            let neighbour: Vec<usize> =
                (0..3).map(|k| (rank[k] as i32 + exchange.direction[k]).rem_euclid(2) as usize).collect();
            let neighbour = neighbour[0] << 2 | neighbour[1] << 1 | neighbour[2];
            let packed = opposite.send.of(&boxes[neighbour]).unwrap().pack();
            exchange.receive.of_mut(target).unwrap().unpack(&packed).unwrap();
        }
    }
    for (rank, found) in ranks().zip(filled) {
        assert_eq!(found, indices().map(|index| cell(rank, index)).collect::<Vec<_>>());
    }
}

/// Generates an item of a dimension. Bounds may be negative, and the item may be invalid.
fn item() -> impl Strategy<Value = Item> {
    let bound = || prop::option::of(-7i128..8);
    let range =
        (bound(), bound(), any::<bool>(), prop::sample::select(vec![1i128, 1, 1, 2, 3, 9, -1, -2, 0]))
            .prop_map(|(start, end, closed, step)| Item::Range {
                start,
                end,
                closed: closed && end.is_some(),
                step,
            });
    prop_oneof![(-7i128..7).prop_map(Item::Index), range]
}

/// Returns the indices that ndarray's `s![]` would select: a second implementation, element by element.
fn selected(item: Item, length: usize) -> Option<Vec<usize>> {
    let n = length as i128;
    let from_front = |bound: i128| if bound < 0 { bound + n } else { bound };
    match item {
        Item::Index(index) => {
            let index = from_front(index);
            (0..n).contains(&index).then(|| vec![index as usize])
        }
        Item::Range { start, end, closed, step } => {
            let first = start.map_or(0, from_front);
            let past = end.map_or(n, |end| from_front(end) + i128::from(closed));
            if !(0..=n).contains(&first) || !(0..=n).contains(&past) || past < first || step == 0 {
                return None;
            }
            if closed && past == 0 {
                return None;
            }
            let mut indices: Vec<usize> = (first..past).map(|i| i as usize).collect();
            if step < 0 {
                indices.reverse();
            }
            Some(indices.into_iter().step_by(step.unsigned_abs() as usize).collect())
        }
    }
}

/// Returns the positions of the elements of a box, in the order in which they are packed.
fn boxes(lengths: [usize; 3], order: ArrayOrder, axes: &[Vec<usize>; 3]) -> Vec<usize> {
    let mut values = Vec::new();
    let mut push = |index: [usize; 3]| values.push(at(&lengths, order, &index));
    match order {
        ArrayOrder::RowMajor => axes[0].iter().for_each(|i| {
            axes[1].iter().for_each(|j| axes[2].iter().for_each(|k| push([*i, *j, *k])));
        }),
        ArrayOrder::ColumnMajor => axes[2].iter().for_each(|k| {
            axes[1].iter().for_each(|j| axes[0].iter().for_each(|i| push([*i, *j, *k])));
        }),
    }
    values
}

macro_rules! with_bounds {
    ($order:ident, $element:ty, $lengths:expr, $a:expr, $b:expr) => {{
        let [n0, n1, n2] = $lengths;
        // Two pieces of half-open ranges with steps. All numbers are run-time values.
        let ([a0, a1, a2], [b0, b1, b2]) = ($a, $b);
        match $order {
            ArrayOrder::RowMajor => layout!($element[n0][n1][n2] =>
                [a0.0..a0.1;a0.2, a1.0..a1.1;a1.2, a2.0..a2.1;a2.2]
                + [b0.0..b0.1;b0.2, b1.0..b1.1;b1.2, b2.0..b2.1;b2.2]),
            ArrayOrder::ColumnMajor => layout!(column_major $element[n0][n1][n2] =>
                [a0.0..a0.1;a0.2, a1.0..a1.1;a1.2, a2.0..a2.1;a2.2]
                + [b0.0..b0.1;b0.2, b1.0..b1.1;b1.2, b2.0..b2.1;b2.2]),
        }
    }};
}

/// Generates a range of a dimension: start, end, step.
fn bounds(length: usize) -> impl Strategy<Value = (usize, usize, i32)> {
    (0..=length, 0..=length, prop::sample::select(vec![1, 1, 2, 3, -1, -2]))
        .prop_map(|(a, b, step)| (a.min(b), a.max(b), step))
}

fn check_bounds<T: Numbered>(
    lengths: [usize; 3],
    order: ArrayOrder,
    ranges: &[[(usize, usize, i32); 3]; 2],
    layout: &DynamicLayout<T, 3>,
) {
    let indices = |(start, end, step): (usize, usize, i32)| {
        let item = Item::Range {
            start: Some(start as i128),
            end: Some(end as i128),
            closed: false,
            step: step.into(),
        };
        (item, start, end)
    };
    let source = array::<T>(lengths.iter().product());
    let mut found = Vec::new();
    for ranges in ranges {
        let axes = std::array::from_fn(|k| selected(indices(ranges[k]).0, lengths[k]).unwrap());
        found.extend(boxes(lengths, order, &axes));
    }
    let expected: Vec<T> = found.iter().map(|i| source[*i]).collect();
    assert_eq!(layout.of(&source).unwrap().pack(), pack(&expected));
    let mut sorted = found.clone();
    sorted.sort_unstable();
    let overlaps = sorted.windows(2).any(|pair| pair[0] == pair[1]);
    let mut target = vec![T::default(); source.len()];
    match layout.of_mut(&mut target) {
        Err(error) => assert!(error == Error::Pack(PackError::Overlap) && overlaps),
        Ok(mut view) => {
            assert!(!overlaps);
            view.unpack(&pack(&expected)).unwrap();
            for (i, value) in target.iter().enumerate() {
                assert_eq!(*value, if found.contains(&i) { source[i] } else { T::default() });
            }
        }
    }
    // The tree flattens to exactly the selected bytes.
    let flat = layout.tree().flatten();
    if !expected.is_empty() {
        let displacements: Vec<usize> = found.iter().map(|i| i * size_of::<T>()).collect();
        let per_element = T::tree().flatten().unwrap();
        let law: Vec<i64> = displacements
            .iter()
            .flat_map(|at| per_element.displacements().iter().map(move |inner| *at as i64 + inner))
            .map(|at| at - displacements[0] as i64)
            .collect();
        assert_eq!(flat.unwrap().displacements(), law);
    }
}

proptest! {
    #[test]
    fn an_item_selects_what_ndarray_would(item in item(), length in 0usize..7) {
        let found = item.select(2, length).ok();
        let found = found.map(|found| (0..found.count).map(|i| found.nth(i)).collect::<Vec<_>>());
        prop_assert_eq!(found, selected(item, length));
    }

    #[test]
    fn progressions_meet_where_they_have_an_index_in_common(
        a in (0usize..40, 0usize..9, -9isize..9), b in (0usize..40, 0usize..9, -9isize..9),
    ) {
        let progression = |(start, count, step): (usize, usize, isize)| {
            let start = start + 80;
            Progression { start, count, step: if count < 2 || step == 0 { 1 } else { step } }
        };
        let (a, b) = (progression(a), progression(b));
        let indices = |p: Progression| (0..p.count).map(move |i| p.nth(i));
        prop_assert_eq!(a.meets(&b), indices(a).any(|i| indices(b).any(|j| i == j)));
    }

    #[test]
    fn two_boxes_of_any_order_and_type_are_packed_as_by_a_loop(
        (lengths, ranges) in [1usize..6, 1..6, 1..6].prop_flat_map(|lengths| {
            let ranges = || [bounds(lengths[0]), bounds(lengths[1]), bounds(lengths[2])];
            (Just(lengths), [ranges(), ranges()])
        }),
        column_major in any::<bool>(),
    ) {
        let order = if column_major { ArrayOrder::ColumnMajor } else { ArrayOrder::RowMajor };
        macro_rules! of {
            ($element:ident) => {{
                let layout = with_bounds!(order, $element, lengths, ranges[0], ranges[1]).unwrap();
                check_bounds(lengths, order, &ranges, &layout);
            }};
        }
        of!(u8);
        of!(f64);
        of!(Particle);
    }

    #[test]
    fn an_index_list_gathers_what_a_loop_does(indices in prop::collection::vec(0usize..50, 0..40)) {
        let source = array::<i16>(50);
        let n = source.len();
        let layout = layout!(i16[n] => {&indices}).unwrap();
        let expected: Vec<i16> = indices.iter().map(|i| source[*i]).collect();
        prop_assert_eq!(layout.of(&source).unwrap().pack(), pack(&expected));
        let narrow: Vec<i32> = indices.iter().map(|i| *i as i32).collect();
        let narrow = layout!(i16[n] => {&narrow}).unwrap();
        prop_assert_eq!(narrow.tree(), layout.tree());
        let mut sorted = indices.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let mut target = vec![0; n];
        prop_assert_eq!(layout.of_mut(&mut target).is_ok(), sorted.len() == indices.len());
    }

    #[test]
    fn darrays_of_all_processes_cover_the_array_once(
        gsizes in [1usize..9, 1..9],
        psizes in [1usize..4, 1..4],
        kinds in [0usize..5, 0..5],
        block in 1usize..4,
        column_major in any::<bool>(),
    ) {
        let distribution = |k: usize| match kinds[k] {
            0 if psizes[k] == 1 => Distribution::None,
            0 | 1 => Distribution::Block(None),
            2 => Distribution::Block(Some(gsizes[k].div_ceil(psizes[k]) + block)),
            3 => Distribution::Cyclic(None),
            _ => Distribution::Cyclic(Some(block)),
        };
        let owner = |k: usize, i: usize| match distribution(k) {
            Distribution::None => 0,
            Distribution::Block(block) => i / block.unwrap_or(gsizes[k].div_ceil(psizes[k])),
            Distribution::Cyclic(block) => i / block.unwrap_or(1) % psizes[k],
        };
        let order = if column_major { ArrayOrder::ColumnMajor } else { ArrayOrder::RowMajor };
        let source = array::<u8>(gsizes[0] * gsizes[1]);
        for rank in 0..psizes[0] * psizes[1] {
            let distributions = [distribution(0), distribution(1)];
            let layout = Darray { rank, gsizes, distributions, psizes, order }.layout::<u8>().unwrap();
            let coordinates = [rank / psizes[1], rank % psizes[1]];
            let is_own = |k: usize, i: &usize| owner(k, *i) == coordinates[k];
            let own = |k: usize| (0..gsizes[k]).filter(|i| is_own(k, i)).collect::<Vec<_>>();
            let lengths = [1, gsizes[0], gsizes[1]];
            let expected: Vec<u8> = match order {
                ArrayOrder::RowMajor => boxes(lengths, order, &[vec![0], own(0), own(1)]),
                ArrayOrder::ColumnMajor => {
                    boxes([gsizes[0], gsizes[1], 1], order, &[own(0), own(1), vec![0]])
                }
            }.into_iter().map(|i| source[i]).collect();
            prop_assert_eq!(layout.of(&source).unwrap().pack(), expected);
        }
    }

    #[test]
    fn bands_are_the_elements_between_their_diagonals(
        sizes in [0usize..8, 0..8], lowest in -9isize..9, width in 0isize..9, column_major in any::<bool>(),
    ) {
        let band = Band { sizes, lowest, highest: lowest + width, order: ArrayOrder::RowMajor };
        let band = if column_major { band.column_major() } else { band };
        let source = array::<i16>(sizes[0] * sizes[1]);
        let within = |i: usize, j: usize| (lowest..=lowest + width).contains(&(j as isize - i as isize));
        let row = |i| (0..sizes[1]).map(move |j| (i, j));
        let column = |j| (0..sizes[0]).map(move |i| (i, j));
        let cells: Vec<(usize, usize)> = match band.order {
            ArrayOrder::RowMajor => (0..sizes[0]).flat_map(row).collect(),
            ArrayOrder::ColumnMajor => (0..sizes[1]).flat_map(column).collect(),
        };
        let expected: Vec<i16> = cells.into_iter().filter(|(i, j)| within(*i, *j))
            .map(|(i, j)| source[at(&sizes, band.order, &[i, j])]).collect();
        let layout = band.layout::<i16>().unwrap();
        prop_assert_eq!(layout.of(&source).unwrap().pack(), pack(&expected));
        prop_assert!(layout.of_mut(&mut source.clone()).is_ok());
    }

    #[test]
    fn tiles_and_subarrays_are_boxes(
        sizes in [1usize..9, 1..9], tile in [1usize..5, 1..5], index in [0usize..4, 0..4],
    ) {
        let (order, source) = (ArrayOrder::RowMajor, array::<f64>(sizes[0] * sizes[1]));
        let starts = [index[0] * tile[0], index[1] * tile[1]];
        let found = Tile { sizes, tile, index, order }.layout::<f64>();
        prop_assert_eq!(found.is_ok(), starts[0] < sizes[0] && starts[1] < sizes[1]);
        if let Ok(found) = found {
            let subsizes = [tile[0].min(sizes[0] - starts[0]), tile[1].min(sizes[1] - starts[1])];
            let subarray = Subarray { sizes, subsizes, starts, order }.layout::<f64>().unwrap();
            let expected: Vec<f64> = (starts[0]..starts[0] + subsizes[0])
                .flat_map(|i| (starts[1]..starts[1] + subsizes[1]).map(move |j| (i, j)))
                .map(|(i, j)| source[i * sizes[1] + j]).collect();
            prop_assert_eq!(found.of(&source).unwrap().pack(), pack(&expected));
            prop_assert_eq!(subarray.of(&source).unwrap().pack(), pack(&expected));
            prop_assert_eq!(subarray.tree(), found.tree());
        }
    }
}

#[test]
fn errors_of_a_selection_are_told_apart() {
    assert_eq!(
        Item::Index(1).select(0, 1),
        Err(SelectionError::OutOfBounds { what: "index", dimension: 0, length: 1, given: 1, greatest: 0 })
    );
}

/// Calls each method that tells of a layout on the layout itself and on a reference to it, whose method is
/// that of the trait.
#[test]
fn layouts_tell_of_themselves_with_or_without_the_trait() {
    fn check<L: Layout>(layout: &L, own: (usize, usize, usize, Optimality), expected: (usize, usize, usize)) {
        let (count, packed, offset, optimality) = own;
        assert_eq!((count, packed, offset), expected);
        assert_eq!((layout.count(), layout.packed_size(), layout.offset()), expected);
        assert_eq!((optimality, layout.optimality()), (Optimality::Proven, Optimality::Proven));
    }
    macro_rules! check {
        ($layout:expr, $expected:expr) => {{
            let layout = $layout;
            let own = (layout.count(), layout.packed_size(), layout.offset(), layout.optimality());
            check(&layout, own, $expected);
            #[cfg(feature = "picture")]
            {
                let drawn =
                    [layout.draw(), Layout::draw(&layout)].map(|picture| picture.unwrap().text(false));
                assert!(drawn[0] == drawn[1] && drawn[0].contains("· ■ · ·"), "{}", drawn[0]);
            }
        }};
    }
    let n = 4;
    check!(layout!(u16[3][4] => [.., 1]), (3, 6, 2));
    check!(layout!(u16[3][n] => [.., 1]).unwrap(), (3, 6, 2));
    let order = ArrayOrder::RowMajor;
    let column = Subarray { sizes: [3, 4], subsizes: [3, 1], starts: [0, 1], order };
    check!(column.layout::<u16>().unwrap(), (3, 6, 2));
}

#[test]
#[cfg(feature = "picture")]
fn types_and_plans_are_drawn() {
    let text = Particle::draw().unwrap().text(false);
    assert!(text.contains("velocity") && text.contains("id"), "{text}");
    let plan = pack::Plan::new(Particle::tree()).unwrap();
    let text = plan.draw().unwrap().text(false);
    assert!(text.contains("what is run"), "{text}");
}
