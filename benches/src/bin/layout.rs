//! `cargo xtask bench layout`: the run-time cost of layouts, against plain loops over the same elements.
//! Layouts are made, solved, found in the cache, and packed. Redistributions of one rank of many are planned.

use std::hint::black_box;

use clap::Parser;
use dtype_benches::measure::{Contender, Effort, Options, print, row};
use dtype_guidelines::generate::Random;
use dtype_runtime::{
    Halo, Layout, layout,
    layout::{Band, Part},
};

/// Times layouts against loops, in one run.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

const N: usize = 1000;

type Matrix = Box<[[f64; N]]>;

fn main() {
    let options = Arguments::parse().options;
    let effort = if options.quick { Effort::new(3, 50) } else { Effort::new(21, 500) };
    let measure = |case: &str, contenders: Vec<Contender<'_>>| {
        print(&row("layout", case.into(), contenders, &effort), &options);
    };
    let matrix: Matrix = (0..N).map(|i| std::array::from_fn(|j| (i * N + j) as f64)).collect();
    columns(&matrix, &measure);
    lists(&measure);
    boxes(&matrix, &measure);
    pieces(&matrix, &measure);
    plans(&measure);
    plans_of_arrays(&measure);
    halos::<2>(&measure);
    halos::<3>(&measure);
    halos::<4>(&measure);
}

/// Measures layouts of run-time values that are made and found in the cache.
fn columns(matrix: &Matrix, measure: &impl Fn(&str, Vec<Contender<'_>>)) {
    let (n, cells) = (N, matrix.as_flattened());
    measure(
        "make-and-find/100-columns",
        vec![
            Contender::new("ours", || {
                (0..100).map(|j| layout!(f64[n][n] => [.., j]).ok().map(|column| column.cost())).sum()
            }),
            Contender::new("read", || {
                black_box((0..100).map(|j| cells[j * n]).sum::<f64>());
                None
            }),
        ],
    );
}

/// Measures lists of a million indices.
///
/// A list is checked when the layout is made, and solved when the layout is first used. Both are skipped if
/// the list is in the cache, so each run of these cases has another list. A third case finds the same list in
/// the cache.
fn lists(measure: &impl Fn(&str, Vec<Contender<'_>>)) {
    let size = N * N;
    let mut random = Random::new(5);
    let lists = [
        ("regular", indices(|k| 2 * k)),
        ("scattered", indices(|k| k.wrapping_mul(2_654_435_761) % (2 * size))),
        ("random", indices(|_| random.below(2 * size as u64) as usize)),
    ];
    for (name, list) in &lists {
        let read = || {
            black_box(list.iter().map(|index| i64::from(*index)).sum::<i64>());
            None
        };
        let (mut length, mut others) = (2 * size, list.clone());
        // Another last index makes a list that is not in the cache.
        let mut another = || {
            length += 1;
            *others.last_mut()? = i32::try_from(length - 1).ok()?;
            layout!(u32[length] => {&others}).ok()
        };
        let make = || {
            black_box(another()?.count());
            None
        };
        measure(
            &format!("make/{name}-list"),
            vec![Contender::new("ours", make), Contender::new("read", read)],
        );
        let solve = || another().map(|list| list.cost());
        measure(
            &format!("make-and-solve/{name}-list"),
            vec![Contender::new("ours", solve), Contender::new("read", read)],
        );
        let length = 2 * size;
        let find = || layout!(u32[length] => {list}).ok().map(|list| list.cost());
        measure(
            &format!("make-and-find/{name}-list"),
            vec![Contender::new("ours", find), Contender::new("read", read)],
        );
    }
}

/// Measures packing boxes, against the loop that a careful programmer writes.
fn boxes(matrix: &Matrix, measure: &impl Fn(&str, Vec<Contender<'_>>)) {
    let size = N * N;
    let mut packed = vec![0u8; 8 * size];
    let mut by_hand = packed.clone();
    let column = layout!(f64[N][N] => [.., 3]);
    let square: &[[f64; N]; N] = (&**matrix).try_into().expect("as many rows as columns");
    measure(
        "pack/column",
        packing(column, square, &mut packed, &mut by_hand, |bytes| {
            let rows = bytes.chunks_exact_mut(8).zip(matrix);
            rows.for_each(|(bytes, row)| bytes.copy_from_slice(&row[3].to_ne_bytes()));
        }),
    );
    let block = layout!(f64[N][N] => [100..300, 40..90]);
    measure(
        "pack/block",
        packing(block, square, &mut packed, &mut by_hand, |bytes| {
            let values = matrix[100..300].iter().flat_map(|row| &row[40..90]);
            bytes
                .chunks_exact_mut(8)
                .zip(values)
                .for_each(|(bytes, value)| bytes.copy_from_slice(&value.to_ne_bytes()));
        }),
    );
}

/// Measures packing layouts that are not boxes: a triangle, and scattered elements.
fn pieces(matrix: &Matrix, measure: &impl Fn(&str, Vec<Contender<'_>>)) {
    let (n, size, cells) = (N, N * N, matrix.as_flattened());
    let (mut packed, mut by_hand) = (vec![0u8; 8 * size], vec![0u8; 8 * size]);
    let triangle = Band::upper_triangle([n, n]).layout::<f64>().expect("a small matrix");
    measure(
        "pack/triangle",
        vec![
            Contender::new("ours", || {
                triangle.of(cells).ok()?.pack_into(&mut packed).ok()?;
                None
            }),
            Contender::new("hand", || {
                let values = matrix.iter().enumerate().flat_map(|(i, row)| &row[i..]);
                let bytes = by_hand.chunks_exact_mut(8).zip(values);
                bytes.for_each(|(bytes, value)| bytes.copy_from_slice(&value.to_ne_bytes()));
                None
            }),
        ],
    );
    let nodes = indices(|k| k.wrapping_mul(2_654_435_761) % size);
    let gather = layout!(f64[size] => {&nodes}).expect("all are within");
    measure(
        "pack/gather",
        vec![
            Contender::new("ours", || {
                gather.of(cells).ok()?.pack_into(&mut packed).ok()?;
                None
            }),
            Contender::new("hand", || {
                let bytes = by_hand.chunks_exact_mut(8).zip(&nodes);
                bytes.for_each(|(bytes, node)| bytes.copy_from_slice(&cells[*node as usize].to_ne_bytes()));
                None
            }),
        ],
    );
}

/// Measures what one rank of many computes for a redistribution, against a loop over its elements that counts
/// those of each owner.
fn plans(measure: &impl Fn(&str, Vec<Contender<'_>>)) {
    /// The largest number of elements of a rank over which a loop is measured.
    const MOST: usize = 1 << 26;
    for ranks in [4, 256, 1 << 16] {
        for length in [1 << 20, 1 << 24, 1 << 31] {
            for (name, blocks) in
                [("64-to-100", [64, 100]), ("127-to-128", [127, 128]), ("block-to-64", [0, 64])]
            {
                let [from, to] = blocks.map(|block| {
                    let part = Part::of(3, [length], [ranks]);
                    if block == 0 { part } else { part.cyclic([block]) }
                });
                let ours = || {
                    black_box((from.peers(&to), to.peers(&from)));
                    None
                };
                let mut counts = vec![0; ranks];
                let hand = || {
                    counts.fill(0);
                    from.indices(0).for_each(|index| counts[index / blocks[1] % ranks] += 1);
                    black_box(&counts);
                    None
                };
                let mut contenders = vec![Contender::new("ours", ours)];
                if from.local()[0] <= MOST {
                    contenders.push(Contender::new("loop", hand));
                }
                measure(&format!("plan/{name}/{length}-on-{ranks}-ranks"), contenders);
            }
        }
    }
}

/// Measures what one rank of many computes for a redistribution of a matrix and of a cube of 2³¹ elements.
fn plans_of_arrays(measure: &impl Fn(&str, Vec<Contender<'_>>)) {
    for ranks in [64usize, 4096, 1 << 16] {
        let side = ranks.isqrt();
        let rank = ranks / 2 + 1;
        let matrix = |grid, block| Part::of(rank, [46_341, 46_341], grid).cyclic([block; 2]);
        let (from, to) = (matrix([side, side], 64), matrix([side / 2, side * 2], 100));
        let cube = |grid| Part::of(rank, [1290; 3], grid);
        let (slab, pencil) = (cube([1, side, side]), cube([side, side, 1]));
        let plan = |case: &str, plan: &dyn Fn() -> usize| {
            let ours = || {
                black_box(plan());
                None
            };
            measure(&format!("plan/{case}-on-{ranks}-ranks"), vec![Contender::new("ours", ours)]);
        };
        plan("matrix-64-to-100", &|| from.peers(&to).len() + to.peers(&from).len());
        plan("pencils-to-pencils", &|| slab.peers(&pencil).len() + pencil.peers(&slab).len());
    }
}

/// Measures what a rank computes for the halo of its box with all neighbours, whatever the number of ranks.
fn halos<const D: usize>(measure: &impl Fn(&str, Vec<Contender<'_>>)) {
    for side in [16, 1024, 1 << 14] {
        let halo = Halo::new([side; D], 1);
        let ours = || {
            black_box(halo.parts::<f64>().expect("a halo"));
            None
        };
        let case = format!("plan/halo/{side}-in-{D}-dimensions");
        measure(&case, vec![Contender::new("ours", ours)]);
    }
}

/// Returns a million indices, as 32-bit integers.
fn indices(mut index: impl FnMut(usize) -> usize) -> Vec<i32> {
    (0..N * N).map(|k| i32::try_from(index(k)).expect("a small index")).collect()
}

/// Returns the contenders for packing a part of a matrix: ours, and a loop by hand.
fn packing<'a, L: Layout<Element = f64, Shape = [[(); N]; N]> + 'a>(
    layout: L,
    matrix: &'a [[f64; N]; N],
    packed: &'a mut [u8],
    by_hand: &'a mut [u8],
    hand: impl Fn(&mut [u8]) + 'a,
) -> Vec<Contender<'a>> {
    let ours = move || {
        layout.of(matrix).pack_into(packed).ok()?;
        None
    };
    let hand = move || {
        hand(&mut *by_hand);
        None
    };
    vec![Contender::new("ours", ours), Contender::new("hand", hand)]
}
