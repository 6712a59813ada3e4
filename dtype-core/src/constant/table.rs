//! The search for the least-cost tree of few pieces, in a constant. [`crate::reconstruct`] does the same for
//! any number of pieces. This search has no allocation, and none of the optimizations for large maps. The
//! proof is the same: see docs/search.md.

use super::{
    pieces::{MOST, PieceList},
    recipe::{Node, Recipe},
    strides::StrideCounts,
};
use crate::{LinearCosts, Price, repeat::Repeat};

/// A cost. The type is small so that the tables fit the stack of any thread.
pub(super) type Cost = u32;

/// A cost above any known cost. The sum of two such costs does not overflow.
pub(super) const UNKNOWN: Cost = Cost::MAX >> 1;

/// The least-cost trees of all segments of up to [`MOST`] pieces.
pub(super) struct Table {
    pieces: PieceList,
    costs: LinearCosts,
    leaf: Cost,
    structure: Cost,
    /// `true` if a vec costs the same for all counts, and never more than an idx or an idxbuc of one bucket.
    flat: bool,
    /// By first piece and end of a segment: the end of the segment after it that repeats it, or 0 if there is
    /// none.
    again: [[u8; MOST + 1]; MOST],
    /// By first piece and length − 1: the way to make that segment.
    choices: [[Choice; MOST]; MOST],
    /// By first piece and length − 1: the least cost of the segment, as a tree (`aligned`) and as a sequence
    /// of parts (`before`).
    aligned: [[Cost; MOST]; MOST],
    before: [[Cost; MOST]; MOST],
    /// By length − 1: the root of the segment from piece 0 on, moved to begin anywhere except at 0.
    shifted: [Root; MOST],
    /// The ends of the segments that may be a part of a strc.
    kept_end: [u8; MOST * (MOST + 1) / 2],
    /// By first piece: the end in `kept_end` of its kept segments. They begin where those of the next piece
    /// end.
    kept: [usize; MOST + 1],
}

/// The root of a segment's tree.
#[derive(Clone, Copy)]
enum Root {
    /// A single entry.
    Leaf,
    /// A node over a leaf of which all entries are copies.
    Leaves(Repeat),
    /// A node over a child. The numbers are the number of copies, and the number of pieces in the first copy.
    Copies(Repeat, u8, u8),
    /// A strc of two or more parts.
    Parts,
    /// A strc of one part, which it shifts.
    Part,
}

impl Root {
    /// A placeholder for a missing root. It has no uninitialized bytes, so the interpreter of constants
    /// copies whole arrays of it at once.
    const UNKNOWN: Self = Self::Copies(Repeat::Vector, 0, 0);
}

#[derive(Clone, Copy)]
struct Choice {
    /// The root of the cheapest tree without a strc at its root.
    whole: Root,
    /// `true` if a strc at the root is cheaper.
    strc: bool,
    /// `true` if the best sequence of parts is the whole as a single part.
    single: bool,
    /// The first piece of the last part in the best sequence of two or more parts.
    last: u8,
}

/// The least cost of a segment so far, and its root, by length.
struct Least {
    cost: [Cost; MOST + 1],
    root: [Root; MOST + 1],
}

impl Least {
    const fn unknown() -> Self {
        Self { cost: [UNKNOWN; _], root: [Root::UNKNOWN; _] }
    }

    const fn relax(&mut self, length: usize, cost: Cost, root: Root) {
        if cost < self.cost[length] {
            self.cost[length] = cost;
            self.root[length] = root;
        }
    }
}

/// The segments that begin at one piece, by length.
struct Row {
    start: usize,
    /// The length up to which the segments are solved.
    known: usize,
    whole: Least,
    shifted: Least,
    /// The best sequence of two or more parts: its cost, and the place where the last part begins.
    parts: [Cost; MOST + 1],
    last: [u8; MOST + 1],
    /// By the length of a child: the length up to which its copies follow each other at one stride.
    regular: [u8; MOST + 1],
}

impl Row {
    const fn new(start: usize, known: usize) -> Self {
        Self {
            start,
            known,
            whole: Least::unknown(),
            shifted: Least::unknown(),
            parts: [UNKNOWN; _],
            last: [0; _],
            regular: [0; _],
        }
    }
}

/// A match: the segments of up to `length` pieces from one piece on are the same as those from piece `start`.
#[derive(Clone, Copy)]
struct Match {
    length: usize,
    start: usize,
}

/// The least costs of all pieces together.
#[derive(Clone, Copy)]
pub(super) struct Costs {
    /// The cost as a tree that begins at 0.
    pub(super) aligned: Cost,
    /// The cost as a tree that begins elsewhere, if that was requested.
    pub(super) shifted: Cost,
    /// The cost as a sequence of parts of a strc.
    pub(super) parts: Cost,
}

impl Table {
    /// Creates an empty table.
    pub(super) const fn new(pieces: PieceList, costs: &LinearCosts) -> Self {
        let unknown = Choice { whole: Root::UNKNOWN, strc: false, single: false, last: 0 };
        Self {
            pieces,
            costs: *costs,
            leaf: at_most(costs.leaf),
            structure: at_most(costs.structure),
            flat: is_flat(costs),
            again: [[0; _]; _],
            choices: [[unknown; _]; _],
            aligned: [[UNKNOWN; _]; _],
            before: [[UNKNOWN; _]; _],
            shifted: [Root::UNKNOWN; MOST],
            kept_end: [0; _],
            kept: [0; _],
        }
    }

    /// Solves all segments. If `shift` is set, also solves the segments from piece 0 on, moved to begin
    /// anywhere except at 0.
    pub(super) const fn fill(&mut self, shift: bool) -> Costs {
        let (mut start, mut matched) = (self.pieces.length, [0; MOST]);
        let mut all = Costs { aligned: UNKNOWN, shifted: UNKNOWN, parts: UNKNOWN };
        while start > 0 {
            start -= 1;
            let known = self.find_repeats(start, &mut matched);
            all = self.solve(start, known, &matched, shift && start == 0);
        }
        all
    }

    /// Returns `true` if solving the pieces solves the map.
    pub(super) const fn is_exact(&self) -> bool {
        self.pieces.exact
    }

    /// Finds, for each segment that begins at `start`, the end of the segment after it that repeats it. For
    /// each shift, `matched` has the length of the match between the pieces from `start` on and the pieces
    /// from `start + shift` on. Returns the longest match.
    ///
    /// All copies of a repetition that crosses the ends of runs are cut alike. So the number of matching
    /// pieces shows such a repetition. Parts of stretches may be cut in different ways, so their entries are
    /// compared.
    const fn find_repeats(&mut self, start: usize, matched: &mut [usize; MOST]) -> Match {
        let (pieces, mut known) = (&self.pieces, Match { length: 0, start });
        let (symbol, mut shift) = (pieces.symbol[start], 1);
        while start + shift < pieces.length {
            let middle = start + shift;
            let mut same = 0;
            if pieces.symbol[middle] == symbol {
                same = 1;
                let before = matched[shift];
                if before > 0 && pieces.distance(start, start + 1) == pieces.distance(middle, middle + 1) {
                    same += before;
                }
            }
            matched[shift] = same;
            if same >= shift {
                self.again[start][middle] = (middle + shift) as u8;
            } else if middle <= pieces.end[start] as usize {
                self.again[start][middle] = self.as_many_of_a_stretch(start, middle) as u8;
            }
            if same > known.length {
                known = Match { length: same, start: middle };
            }
            shift += 1;
        }
        known
    }

    /// Returns the end of the segment from `middle` on that has as many entries as the one from `start` to
    /// `middle`. The first segment must lie in one stretch. Returns 0 if the second one does not lie in a
    /// stretch of the same base type and stride.
    const fn as_many_of_a_stretch(&self, start: usize, middle: usize) -> usize {
        let (pieces, mut first, mut second, mut i) = (&self.pieces, 0, 0, start);
        while i < middle {
            first += pieces.list[i].count;
            i += 1;
        }
        while i < pieces.end[middle] as usize && second < first {
            second += pieces.list[i].count;
            i += 1;
        }
        let alike = pieces.list[start].base as u8 == pieces.list[middle].base as u8
            && (first == 1 || pieces.stride[start] == pieces.stride[middle]);
        if second == first && alike { i } else { 0 }
    }

    /// Solves all segments that begin at `start`, given those of all later pieces. Segments that are the same
    /// as later ones are copied.
    const fn solve(&mut self, start: usize, known: Match, matched: &[usize; MOST], shift: bool) -> Costs {
        let reach = self.pieces.length - start;
        let known = if shift { Match { length: 0, start } } else { known };
        if known.length > 0 {
            self.choices[start] = self.choices[known.start];
            self.aligned[start] = self.aligned[known.start];
            self.before[start] = self.before[known.start];
        }
        let mut kept = self.keep_known(start, known);
        let mut row = Row::new(start, known.length);
        let (mut length, mut leaves) = (1, StrideCounts::new());
        while length <= reach {
            let end = start + length - 1;
            if !leaves.mixed {
                leaves.push_piece(&self.pieces.list, start, end);
            }
            if length > known.length {
                if !leaves.mixed {
                    self.leaves(&mut row, length, &leaves, shift);
                }
                if self.settle(&mut row, length, &leaves, shift) {
                    self.kept_end[kept] = (end + 1) as u8;
                    kept += 1;
                }
            }
            if length < reach {
                if self.again[start][end + 1] != 0 {
                    self.repeat(&mut row, length, matched[length], shift);
                }
                self.append(&mut row, length);
            }
            length += 1;
        }
        self.kept[start] = kept;
        Costs {
            aligned: self.aligned[start][reach - 1],
            shifted: row.shifted.cost[reach],
            parts: self.before[start][reach - 1],
        }
    }

    /// Copies the kept segments from the row that `known` matches, and returns the end of the list.
    const fn keep_known(&mut self, start: usize, known: Match) -> usize {
        let mut kept = self.kept[start + 1];
        let (mut i, end) = (self.kept[known.start + 1], self.kept[known.start]);
        let behind = known.start - start;
        while i < end && self.kept_end[i] as usize <= known.start + known.length && known.length > 0 {
            self.kept_end[kept] = self.kept_end[i] - behind as u8;
            kept += 1;
            i += 1;
        }
        kept
    }

    /// Decides how to make the row's first `length` pieces, after all nodes have been tried. Returns `true`
    /// if they may be a part of a strc.
    const fn settle(&mut self, row: &mut Row, length: usize, leaves: &StrideCounts, shift: bool) -> bool {
        let (whole, sequence) = (row.whole.cost[length], row.parts[length]);
        let joined = sum(self.structure, sequence);
        let mut choice = Choice {
            whole: row.whole.root[length],
            strc: joined < whole,
            single: false,
            last: row.last[length],
        };
        let (mut aligned, mut before) = (joined, sequence);
        // For most segments, a strc of parts is the only tree.
        if whole < UNKNOWN {
            let part = times(self.costs.part, whole);
            // At equal cost, adjacent leaves are a part, because MPI takes them as a block length.
            choice.single = part < sequence || (part == sequence && self.adjacent(row.start, leaves));
            before = if choice.single { part } else { sequence };
            aligned = if choice.strc { joined } else { whole };
        }
        self.choices[row.start][length - 1] = choice;
        self.aligned[row.start][length - 1] = aligned;
        self.before[row.start][length - 1] = before;
        if shift {
            self.shift(row, length, aligned);
            self.shifted[length - 1] = row.shifted.root[length];
        }
        choice.single
    }

    /// Returns `true` if these are adjacent leaves.
    const fn adjacent(&self, start: usize, leaves: &StrideCounts) -> bool {
        let extent = self.pieces.list[start].base.extent() as i64;
        !leaves.mixed && leaves.length == 1 && leaves.differences[0] == extent
    }

    /// Tries the nodes over a leaf for the row's first `length` pieces, whose entries have one base type.
    const fn leaves(&self, row: &mut Row, length: usize, leaves: &StrideCounts, shift: bool) {
        let (costs, leaf, count) = (&self.costs, self.leaf, leaves.pushed + 1);
        if count == 1 {
            row.whole.relax(length, leaf, Root::Leaf);
            return;
        }
        if leaves.length == 1 {
            row.whole.relax(length, times(costs.vector.at(count), leaf), Root::Leaves(Repeat::Vector));
            if self.flat && !shift {
                return;
            }
        }
        let (mut index, buckets) = (times(costs.index.at(count), leaf), count - leaves.most);
        let mut bucket = times(costs.index_bucket.at(count).with(buckets, costs.bucket), leaf);
        index = if leaves.long.can_be_listed() { index } else { UNKNOWN };
        bucket = if leaves.long.fits_buckets(leaves.best()) { bucket } else { UNKNOWN };
        row.whole.relax(length, index, Root::Leaves(Repeat::Index));
        row.whole.relax(length, bucket, Root::Leaves(Repeat::Bucket));
        if shift {
            row.shifted.relax(length, index, Root::Leaves(Repeat::Index));
            row.shifted.relax(length, bucket, Root::Leaves(Repeat::Bucket));
        }
    }

    /// Relaxes the row's first `length` pieces, shifted as a whole. A strc of parts can carry the shift, or a
    /// node with a single child.
    const fn shift(&self, row: &mut Row, length: usize, aligned: Cost) {
        let (costs, all) = (&self.costs, length as u8);
        let part = times(costs.part, row.whole.cost[length]);
        let shifted = &mut row.shifted;
        shifted.relax(length, sum(self.structure, row.parts[length]), Root::Parts);
        shifted.relax(length, times(costs.index.at(1), aligned), Root::Copies(Repeat::Index, 1, all));
        let bucket = costs.index_bucket.at(1).with(1, costs.bucket);
        shifted.relax(length, times(bucket, aligned), Root::Copies(Repeat::Bucket, 1, all));
        shifted.relax(length, sum(self.structure, part), Root::Part);
    }

    /// Relaxes every longer segment that repeats the row's first `child` pieces. There must be one. `matched`
    /// is the length of the match between the pieces of the row and those `child` places later.
    const fn repeat(&self, row: &mut Row, child: usize, matched: usize, shift: bool) {
        let (start, pieces, costs) = (row.start, &self.pieces, &self.costs);
        let (mut last, mut end) = (start, start + child);
        // A single entry is a leaf.
        if child == 1 && pieces.list[start].count == 1 {
            return;
        }
        let choice = &self.choices[start][child - 1];
        // No node over several copies is better than a vec of the copies that extends as far as the node
        // could.
        let regular = start + matched / child * child;
        let ends = regular + child >= pieces.length || self.again[regular][regular + child] == 0;
        if self.flat
            && !shift
            && matched >= child
            && ends
            && !choice.strc
            && let Root::Copies(Repeat::Vector, _, copy) = choice.whole
            && row.regular[copy as usize] as usize >= child + matched
        {
            return;
        }
        let aligned = self.aligned[start][child - 1];
        let mut strides = StrideCounts::new();
        let (mut copies, each) = (1u8, child as u8);
        while end < pieces.length && self.again[last][end] != 0 {
            strides.push(pieces.distance(last, end), 1);
            (last, end) = (end, self.again[last][end] as usize);
            copies += 1;
            let (count, length, buckets) = (copies as u64, end - start, copies as u64 - strides.most);
            if buckets == 1 {
                row.regular[child] = length as u8;
            }
            if length <= row.known {
                continue;
            }
            // No node over several copies is better than a vec of these copies that extends beyond them.
            if self.flat && !shift && !choice.strc && go_on(choice.whole, row.whole.root[length]) {
                continue;
            }
            if buckets == 1 {
                let (vector, root) = (costs.vector.at(count), Root::Copies(Repeat::Vector, copies, each));
                row.whole.relax(length, times(vector, aligned), root);
                if shift {
                    row.shifted.relax(length, times(vector, row.shifted.cost[child]), root);
                }
                if self.flat && !shift {
                    continue;
                }
            }
            let index = times(costs.index.at(count), aligned);
            let bucket = times(costs.index_bucket.at(count).with(buckets, costs.bucket), aligned);
            let roots =
                (Root::Copies(Repeat::Index, copies, each), Root::Copies(Repeat::Bucket, copies, each));
            row.whole.relax(length, index, roots.0);
            row.whole.relax(length, bucket, roots.1);
            if shift {
                row.shifted.relax(length, index, roots.0);
                row.shifted.relax(length, bucket, roots.1);
            }
        }
    }

    /// Relaxes every longer sequence of parts whose last part is kept and begins after the row's first
    /// `length` pieces.
    const fn append(&self, row: &mut Row, length: usize) {
        let (next, known) = (row.start + length, row.start + row.known);
        let before = self.before[row.start][length - 1];
        let (first, mut kept) = (self.kept[next + 1], self.kept[next]);
        while kept > first {
            kept -= 1;
            let end = self.kept_end[kept] as usize;
            if end <= known {
                return;
            }
            // A kept segment is its own best sequence of parts.
            let (cost, longer) = (before + self.before[next][end - next - 1], end - row.start);
            if cost < row.parts[longer] {
                row.parts[longer] = cost;
                row.last[longer] = length as u8;
            }
        }
    }

    /// Writes the tree of all pieces.
    pub(super) const fn write(&self, recipe: &mut Recipe, shift: bool) {
        let n = self.pieces.length;
        let root = if shift {
            self.shifted[n - 1]
        } else if self.choices[0][n - 1].strc {
            Root::Parts
        } else {
            self.choices[0][n - 1].whole
        };
        self.write_root(recipe, root, 0, n, shift);
    }

    /// Writes the best sequence of parts for all pieces, and returns the number of parts.
    pub(super) const fn write_parts(&self, recipe: &mut Recipe) -> usize {
        let n = self.pieces.length;
        if self.choices[0][n - 1].single {
            self.write_root(recipe, self.choices[0][n - 1].whole, 0, n, false);
            return 1;
        }
        self.write_sequence(recipe, 0, n)
    }

    const fn write_root(&self, recipe: &mut Recipe, root: Root, start: usize, length: usize, shift: bool) {
        let pieces = length as u16;
        let (kind, child) = match root {
            Root::Leaf => return recipe.push(Node::Leaf),
            Root::Leaves(kind) => return recipe.push(Node::Leaves(kind, pieces)),
            Root::Parts => {
                let place = recipe.reserve();
                let count = self.write_sequence(recipe, start, length);
                return recipe.set(place, Node::Struct(count as u16));
            }
            Root::Part => {
                recipe.push(Node::Struct(1));
                let whole = self.choices[start][length - 1].whole;
                return self.write_root(recipe, whole, start, length, false);
            }
            Root::Copies(kind, copies, child) => {
                recipe.push(Node::Repeat(kind, copies as u16));
                (kind, child as usize)
            }
        };
        let choice = &self.choices[start][child - 1];
        // A vec passes a shift down to its child; the other kinds carry it in their lists.
        let below = shift && matches!(kind, Repeat::Vector);
        let root = if below {
            self.shifted[child - 1]
        } else if choice.strc {
            Root::Parts
        } else {
            choice.whole
        };
        self.write_root(recipe, root, start, child, below);
    }

    /// Writes the best sequence of two or more parts, and returns the number of parts.
    const fn write_sequence(&self, recipe: &mut Recipe, start: usize, length: usize) -> usize {
        // The places where the parts begin, from the last part to the first.
        let mut begins = [0; MOST];
        let (mut count, mut end) = (0, length);
        while end > 0 {
            let choice = &self.choices[start][end - 1];
            // The pieces before the last part are a single part, or again a sequence of parts.
            end = if end < length && choice.single { 0 } else { choice.last as usize };
            begins[count] = end;
            count += 1;
        }
        let mut i = count;
        while i > 0 {
            i -= 1;
            let end = if i > 0 { begins[i - 1] } else { length };
            let (start, length) = (start + begins[i], end - begins[i]);
            self.write_root(recipe, self.choices[start][length - 1].whole, start, length, false);
        }
        count
    }
}

const fn is_flat(costs: &LinearCosts) -> bool {
    let LinearCosts { vector, index, index_bucket, bucket, .. } = costs;
    let less = vector.first.own <= index.first.own
        && vector.first.own <= index_bucket.first.own.saturating_add(bucket.own)
        && vector.first.times <= 1;
    less && vector.is_flat()
}

/// Returns `true` if both segments are vecs of the same child, so that the longer one has more copies.
const fn go_on(shorter: Root, longer: Root) -> bool {
    match (shorter, longer) {
        (Root::Leaves(Repeat::Vector), Root::Leaves(Repeat::Vector)) => true,
        (Root::Copies(Repeat::Vector, _, a), Root::Copies(Repeat::Vector, _, b)) => a == b,
        _ => false,
    }
}

/// Returns the cost of a node over a child, or [`UNKNOWN`] if the cost is higher.
pub(super) const fn times(price: Price, child: Cost) -> Cost {
    // This is the usual case, and much cheaper for the interpreter of constants.
    if price.times <= 1 && price.own <= UNKNOWN as u64 {
        return sum(price.own as Cost, child);
    }
    at_most(price.of(child as u64))
}

/// Returns the sum of two costs of at most [`UNKNOWN`], or [`UNKNOWN`] if the sum is higher.
pub(super) const fn sum(a: Cost, b: Cost) -> Cost {
    let sum = a + b;
    if sum > UNKNOWN { UNKNOWN } else { sum }
}

/// Returns the cost, or [`UNKNOWN`] if it is higher.
pub(super) const fn at_most(cost: u64) -> Cost {
    if cost > UNKNOWN as u64 { UNKNOWN } else { cost as Cost }
}
