//! Layouts that are generated at random. The same seed generates the same layouts.

use dtype_core::{BaseType, TypeTree, gcd};

/// A small pseudorandom number generator (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Returns a number from 0 to `limit - 1`, or 0 if `limit` is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }

    /// Returns a number from `least` to `most`. Its logarithm is uniformly distributed.
    fn spread(&mut self, least: u64, most: u64) -> u64 {
        let (low, high) = ((least as f64).log2(), (most as f64).log2());
        let at = self.below(1 << 20) as f64 / f64::from(1 << 20);
        ((low + at * (high - low)).exp2().round() as u64).clamp(least, most)
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }

    fn one_in(&mut self, number: u64) -> bool {
        self.below(number) == 0
    }
}

/// A layout to pack: copies of a tree.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The structure from the outside in, and the packed size in bytes.
    pub name: String,
    /// One copy. No byte occurs twice, neither within a copy nor in two copies.
    pub tree: TypeTree,
    /// The distance from one copy to the next, in bytes.
    pub extent: i64,
    /// The number of copies.
    pub count: u64,
}

/// The number of generated samples that are measured.
pub(super) const DRAWN: usize = 200;

/// The largest memory of a layout, in bytes.
const MOST_MEMORY: u64 = 96 << 20;

/// Returns samples of about `least` to `most` packed bytes.
pub fn samples(seed: u64, least: u64, most: u64) -> impl Iterator<Item = Sample> {
    let mut random = Random::new(seed);
    (0..).map(move |number| {
        let target = random.spread(least, most);
        sample(&mut random, number, target)
    })
}

/// A tree that grows outwards: each level encloses the levels before it. Displacement 0 is its first byte.
struct Growing {
    tree: TypeTree,
    size: u64,
    /// The distance from the first byte to behind the last one.
    span: u64,
    /// The structure, for the name of the sample.
    text: String,
}

fn sample(random: &mut Random, number: usize, target: u64) -> Sample {
    let mut growing = element(random);
    let levels = random.pick(&[1, 2, 2, 2, 3, 3, 4]);
    for level in (1..=levels).rev() {
        let room = (target / growing.size.max(1)).max(1);
        // The outermost level fills the target size; each level before it takes a random part.
        let count = if level == 1 { room } else { random.spread(1, room.clamp(1, 512)) };
        let innermost = level == levels;
        growing = around(random, growing, count, innermost);
    }
    // The outermost loop may become the count of MPI.
    let room = (target / growing.size.max(1)).max(1);
    let count = match room.min((MOST_MEMORY / growing.span.max(1)).max(1)) {
        1 => 1,
        room => random.spread(1, room),
    };
    let Growing { tree, size, span, text } = growing;
    let gap = gap(random, &tree);
    let forward = (span + gap) as i64;
    let extent = if random.one_in(6) { -forward } else { forward };
    let name = format!("{number}-{text}/{}", size * count);
    Sample { name, tree, extent, count }
}

/// Returns a gap between neighbours, in bytes. The gap is often 0. If the true extent of the tree is a
/// multiple of its alignment, so is the gap.
fn gap(random: &mut Random, tree: &TypeTree) -> u64 {
    let measure = tree.measure().expect("a small tree");
    let aligned = measure.true_extent() as u64 % measure.alignment == 0;
    let unit = if aligned { measure.alignment } else { 1 };
    match random.below(8) {
        0 | 1 => 0,
        2..=5 => unit * random.spread(1, 16),
        _ => unit * random.spread(1, 512),
    }
}

const NUMBERS: [BaseType; 7] =
    [BaseType::U8, BaseType::I16, BaseType::F32, BaseType::F64, BaseType::F64, BaseType::C32, BaseType::C64];

/// Returns a number, or a record of a few numbers.
fn element(random: &mut Random) -> Growing {
    if !random.one_in(3) {
        let base = random.pick(&NUMBERS);
        let size = base.size();
        return Growing { tree: TypeTree::Leaf(base), size, span: size, text: base.to_string() };
    }
    let packed = random.one_in(4);
    let (mut displacements, mut children) = (Vec::new(), Vec::new());
    let (mut end, mut size, mut alignment) = (0, 0, 1);
    for _ in 0..2 + random.below(6) {
        let base = random.pick(&NUMBERS);
        let length = if random.one_in(3) { 2 + random.below(4) } else { 1 };
        let own = if packed { 1 } else { base.alignment() };
        let at = u64::next_multiple_of(end, own);
        displacements.push(at as i64);
        children.push(repeated(length, base.size() as i64, TypeTree::Leaf(base)));
        (end, size) = (at + length * base.size(), size + length * base.size());
        alignment = alignment.max(own);
    }
    let text = format!("record{}of{}", size, end.next_multiple_of(alignment));
    let tree = TypeTree::structure(displacements, children);
    Growing { tree, size, span: end.next_multiple_of(alignment), text }
}

pub(super) fn repeated(count: u64, stride: i64, child: TypeTree) -> TypeTree {
    if count == 1 { child } else { TypeTree::vector(count, stride, child) }
}

/// Encloses a tree in one more level, of about `count` copies.
fn around(random: &mut Random, inner: Growing, count: u64, innermost: bool) -> Growing {
    let Growing { tree, size, span, text } = inner;
    let fits = (MOST_MEMORY / 4 / span.max(1)).max(1);
    let count = count.min(fits);
    let step = span + gap(random, &tree);
    let fits = |step: u64| count.min((MOST_MEMORY / 2 / step).max(1));
    // Most layouts of applications consist of blocks of 1 to 64 elements.
    if innermost && !random.one_in(4) {
        let length = random.spread(1, count.clamp(1, 64));
        if random.one_in(3) && count > 4 {
            return blocks(random, Growing { tree, size, span, text }, count, length);
        }
        let text = format!("{length}×{text}");
        let block = Growing {
            tree: repeated(length, span as i64, tree),
            size: size * length,
            span: span * length,
            text,
        };
        return around(random, block, (count / length).max(1), false);
    }
    match random.below(8) {
        // A matrix that is traversed by columns: the loops are exchanged.
        0 if count >= 16 => {
            let rows = random.spread(2, count / 4);
            let columns = (fits(step) / rows).max(1);
            let stride = rows * step + gap(random, &tree);
            let column = repeated(columns, stride as i64, tree);
            let span = stride * (columns - 1) + step * (rows - 1) + span;
            let text = format!("across {rows}·{columns} {text}");
            Growing { tree: repeated(rows, step as i64, column), size: size * rows * columns, span, text }
        }
        1 | 2 => listed(random, Growing { tree, size, span, text }, count),
        3 => {
            // Two or three parts with different numbers of copies.
            let (mut displacements, mut children, mut at, mut total) = (Vec::new(), Vec::new(), 0, 0);
            let parts = 2 + random.below(2);
            for _ in 0..parts {
                let copies = random.spread(1, (fits(step) / parts).clamp(1, 1 << 20));
                let step = span + gap(random, &tree);
                displacements.push(at as i64);
                children.push(repeated(copies, step as i64, tree.clone()));
                at += step * (copies - 1) + span + gap(random, &tree);
                total += copies;
            }
            let span = at;
            let text = format!("{parts} parts {text}");
            Growing { tree: TypeTree::structure(displacements, children), size: size * total, span, text }
        }
        number => {
            let count = fits(step);
            let backward = number == 4 && count > 1;
            let span = step * (count - 1) + span;
            let text = format!("{}{count}·{text}", if backward { "-" } else { "" });
            let size = size * count;
            let tree = if backward {
                let last = (step * (count - 1)) as i64;
                TypeTree::structure([last], [repeated(count, -(step as i64), tree)])
            } else {
                repeated(count, step as i64, tree)
            };
            Growing { tree, size, span, text }
        }
    }
}

/// Returns blocks of different lengths at irregular distances.
fn blocks(random: &mut Random, inner: Growing, count: u64, mean: u64) -> Growing {
    let Growing { tree, size, span, text } = inner;
    let (mut displacements, mut lengths, mut at, mut total) = (Vec::new(), Vec::new(), 0, 0);
    let widest = random.spread(2, 64);
    while total < count && at < MOST_MEMORY / 2 {
        let length = 1 + random.below((2 * mean).min(64));
        displacements.push(at as i64);
        lengths.push(length);
        total += length;
        at += span * (length + random.below(widest));
    }
    let text = format!("{} blocks {text}", lengths.len());
    let tree = TypeTree::index_bucket(span as i64, lengths, displacements, tree);
    Growing { tree, size: size * total, span: at, text }
}

/// Returns copies at irregular distances, in order or shuffled.
fn listed(random: &mut Random, inner: Growing, count: u64) -> Growing {
    let Growing { tree, size, span, text } = inner;
    let unit = tree.measure().expect("a small tree").alignment;
    let step = span.next_multiple_of(unit);
    let widest = random.spread(2, 32);
    let (mut displacements, mut at) = (Vec::new(), 0);
    for _ in 0..count {
        displacements.push(at as i64);
        at += step + unit * random.below(widest);
        if at >= MOST_MEMORY / 2 {
            break;
        }
    }
    let shuffled = random.one_in(3);
    if shuffled {
        for i in (1..displacements.len()).rev() {
            displacements.swap(i, random.below(i as u64 + 1) as usize);
        }
    }
    let count = displacements.len() as u64;
    let text = format!("{}{count} at {text}", if shuffled { "~" } else { "" });
    Growing { tree: TypeTree::index(displacements, tree), size: size * count, span: at, text }
}

/// Returns the lists of a tree that the loops by hand read, outer lists first. Displacements are in units of
/// [`list_unit`]. The lengths of buckets follow the displacements.
pub fn lists(tree: &TypeTree) -> Vec<Vec<i32>> {
    let mut all = Vec::new();
    add_lists(tree, &mut all);
    all
}

fn add_lists(tree: &TypeTree, all: &mut Vec<Vec<i32>>) {
    let small = |number: i64| i32::try_from(number).expect("a number that a list can hold");
    if let TypeTree::Index { displacements, .. } | TypeTree::IndexBucket { displacements, .. } = tree {
        let unit = list_unit(displacements);
        all.push(displacements.iter().map(|at| small(at / unit)).collect());
    }
    if let TypeTree::IndexBucket { buckets, .. } = tree {
        all.push(buckets.iter().map(|count| small(*count as i64)).collect());
    }
    tree.children().iter().for_each(|child| add_lists(child, all));
}

/// Returns the greatest common divisor of the displacements, in bytes, or 1 if all are 0.
pub fn list_unit(displacements: &[i64]) -> i64 {
    let unit = displacements.iter().fold(0, |unit, at| gcd(unit, at.unsigned_abs() as usize));
    unit.max(1) as i64
}
