//! Short and long blocks in messages of all sizes: the cases from which the policy of the preloaded library
//! is derived.

use std::{hint::black_box, ptr::copy_nonoverlapping as copy};

use dtype_core::BaseType;
use dtype_guidelines::{
    description::Description,
    generate::{Random, Sample},
    way::Way,
};
use dtype_runtime::pack::Plan;

use crate::policy::{ARRANGEMENTS, SIZES, case, is_measured, lengths};

use super::{
    Bench, Case, Task, drawn,
    user::{DOUBLE, User},
};

/// The size of the largest number in bytes.
const NUMBER: usize = size_of::<f64>();

/// A contiguous block. Both fields are in bytes.
#[derive(Clone, Copy)]
struct Block {
    at: usize,
    length: usize,
}

/// Measures all cases.
pub fn run(bench: &dyn Bench) {
    for arrangement in ARRANGEMENTS {
        for length in lengths(arrangement) {
            for size in SIZES.into_iter().filter(|size| is_measured(*size, *length)) {
                let name = case(arrangement, *length, size);
                if bench.wants(&name, Task::Pingpong, *length == 16) {
                    let (user, blocks) = blocks(arrangement, *length, size);
                    measure(bench, name, user, blocks);
                }
            }
        }
    }
}

/// Returns blocks of `length` bytes on average, and the datatype that a user would write for them. Their
/// message has `size` bytes.
fn blocks(arrangement: &str, length: usize, size: usize) -> (User, Vec<Block>) {
    let number = length.min(NUMBER);
    let base = match number {
        1 => BaseType::U8,
        4 => BaseType::F32,
        _ => BaseType::F64,
    };
    let numbers = length / number;
    let count = size / length;
    // Small datatypes have some 256 bytes, and are sent in many copies.
    let of_each = if arrangement.starts_with("small") { (256 / length).max(2) } else { count };
    let (copies, is_varied) = (count / of_each, arrangement == "lists-of-lengths");
    let mut random = Random::new((length * size) as u64);
    let mut list = || -> Vec<Block> {
        let mut end = 0;
        let blocks = (0..of_each).map(|_| {
            let numbers = if is_varied { 1 + random.below(2 * numbers as u64 - 1) } else { numbers as u64 };
            let block = Block { at: end, length: numbers as usize * number };
            end += block.length + number * (1 + random.below(2 * numbers)) as usize;
            block
        });
        blocks.collect()
    };
    let one = Description::Base(base);
    let in_numbers = |blocks: &[Block]| blocks.iter().map(|block| (block.at / number) as i64).collect();
    let (datatype, blocks) = match arrangement {
        "structs" => return structs(2 * length, size),
        "columns" | "small-columns" => {
            let blocks = (0..of_each).map(|i| Block { at: 3 * length * i, length });
            (one.vector(of_each as u64, numbers as u64, 3 * numbers as i64), blocks.collect())
        }
        "lists" | "small-lists" => {
            let blocks = list();
            (one.indexed_block(numbers as u64, in_numbers(&blocks)), blocks)
        }
        _ => {
            let blocks = list();
            let lengths = blocks.iter().map(|block| (block.length / number) as u64).collect();
            (one.indexed(lengths, in_numbers(&blocks)), blocks)
        }
    };
    repeated(datatype, &blocks, copies)
}

/// Returns structs of one `i32` and then as many numbers as `length` bytes have room for.
fn structs(length: usize, size: usize) -> (User, Vec<Block>) {
    let numbers = (length - 4) / NUMBER;
    let record = [(0, Description::Base(BaseType::I32)), (8, DOUBLE.contiguous(numbers as u64))];
    let blocks = [Block { at: 0, length: 4 }, Block { at: 8, length: numbers * NUMBER }];
    // The next struct begins after a gap.
    repeated(Description::structure(record), &blocks, size / (4 + numbers * NUMBER))
}

/// Returns copies of a datatype with a gap between them.
fn repeated(datatype: Description, blocks: &[Block], copies: usize) -> (User, Vec<Block>) {
    let end = blocks.last().map_or(0, |block| block.at + block.length);
    let extent = end + NUMBER;
    let copy = |i: usize| blocks.iter().map(move |block| Block { at: block.at + i * extent, ..*block });
    let datatype = if copies > 1 { datatype.resized(extent as i64) } else { datatype };
    (User { datatype, count: copies }, (0..copies).flat_map(copy).collect())
}

fn measure(bench: &dyn Bench, name: String, User { datatype, count }: User, blocks: Vec<Block>) {
    let made = datatype.datatype().expect("a small datatype");
    let sample = Sample { name, tree: made.tree, extent: made.bounds.extent, count: count as u64 };
    let plan = Plan::new(&sample.tree).expect("a small tree").resized(sample.extent as isize);
    let end = blocks.last().map_or(0, |block| block.at + block.length);
    let bytes = end.max(count * sample.extent as usize);
    let mut memory: Vec<u64> = (0..bytes.div_ceil(NUMBER) as u64).collect();
    let first: *mut u8 = memory.as_mut_ptr().cast();
    let is_equal = blocks.iter().all(|block| block.length == blocks[0].length);
    let by_hand = match blocks[0].length {
        1 if is_equal => hand::<1>(first, blocks),
        4 if is_equal => hand::<4>(first, blocks),
        8 if is_equal => hand::<8>(first, blocks),
        16 if is_equal => hand::<16>(first, blocks),
        48 if is_equal => hand::<48>(first, blocks),
        _ => hand::<0>(first, blocks),
    };
    let size = plan.packed_size() * count;
    let travels = drawn::travels(&sample, datatype, &plan, first, (bytes, 0));
    bench.measure(&Case { name: sample.name.clone(), size, ways: vec![("hand", by_hand)], travels });
}

/// Returns loops by hand over a list of blocks of `LENGTH` bytes, or of any lengths if it is 0.
fn hand<const LENGTH: usize>(first: *mut u8, blocks: Vec<Block>) -> Way<'static> {
    let also = blocks.clone();
    let length = |block: &Block| if LENGTH == 0 { block.length } else { LENGTH };
    Way::new(
        move |packed| {
            let (from, mut to) = (black_box(first), packed.as_mut_ptr());
            for block in &blocks {
                unsafe { copy(from.add(block.at), to, length(block)) };
                to = to.wrapping_add(length(block));
            }
        },
        move |packed| {
            let (mut from, to) = (packed.as_ptr(), black_box(first));
            for block in &also {
                unsafe { copy(from, to.add(block.at), length(block)) };
                from = from.wrapping_add(length(block));
            }
        },
    )
}
