//! Runs plans: turns a node and two addresses into copies.
//!
//! A loop is passed down to the node that it repeats, so that a kernel gets one loop, or two nested loops. If
//! a loop repeats different parts, as in an array of structs, it is cut into chunks that stay in the
//! first-level cache. Each part is copied for a whole chunk before the next part. So memory is passed over
//! once, and each field still has a tight loop. No function is called per element.

use super::{
    kernels::{Listed, Stride, copy_block, copy_listed, kernel},
    moves::Moves,
    node::{Bytes, Kind, Node, Placed, Places, Turns, overlapping},
    passes::Passes,
    records::Records,
    sides::{CHUNK, Direction, Sides, Span, TURNS},
};

/// The number of iterations for which a list of moves is run before the next list.
const TURNS_OF_MOVES: usize = 32;

/// A loop around a node: all iterations of a loop of the plan, or some of them.
#[derive(Clone, Copy)]
struct Repeat<'p> {
    count: usize,
    a: PlacesRef<'p>,
    b: PlacesRef<'p>,
}

/// Borrowed [`Places`], or some of them.
type PlacesRef<'p> = Places<&'p [isize]>;

impl<'p> PlacesRef<'p> {
    fn of(places: &'p Places) -> Self {
        match places {
            Places::Every(stride) => Self::Every(*stride),
            Places::At(offsets) => Self::At(offsets),
        }
    }

    /// Returns the places from iteration `i` on, and the offset that they are relative to.
    fn from(self, i: usize) -> (isize, Self) {
        match self {
            Self::Every(stride) => (stride.wrapping_mul(i as isize), self),
            Self::At(offsets) => (0, Self::At(&offsets[i..])),
        }
    }
}

impl<'p> Repeat<'p> {
    fn of(count: usize, a: &'p Places, b: &'p Places) -> Self {
        Self { count, a: PlacesRef::of(a), b: PlacesRef::of(b) }
    }

    /// A single iteration.
    const ONCE: Self = Self { count: 1, a: PlacesRef::Every(0), b: PlacesRef::Every(0) };

    /// Returns `count` iterations from iteration `i` on, and the offsets that they are relative to.
    fn part(self, i: usize, count: usize) -> (isize, isize, Self) {
        let ((at_a, a), (at_b, b)) = (self.a.from(i), self.b.from(i));
        (at_a, at_b, Self { count, a, b })
    }

    /// Returns the addresses of each iteration.
    fn turns(self, sides: Sides) -> impl Iterator<Item = Sides> {
        (0..self.count).map(move |i| sides.at(self.a.nth(i), self.b.nth(i)))
    }

    /// Returns the loop as strides, if it has strides on both sides.
    #[inline(always)]
    fn stride<D: Direction>(self) -> Option<Stride> {
        match (self.a, self.b) {
            (PlacesRef::Every(a), PlacesRef::Every(b)) => {
                let (from, to) = D::sides(a, b);
                Some(Stride { count: self.count, from, to })
            }
            _ => None,
        }
    }

    /// Returns the loop as a list on one side and a stride on the other, if it has this form.
    fn listed<D: Direction>(self) -> Option<Listed<'p>> {
        match D::sides(self.a, self.b) {
            (PlacesRef::At(list), PlacesRef::Every(stride)) => {
                Some(Listed::Reads(&list[..self.count], stride))
            }
            (PlacesRef::Every(stride), PlacesRef::At(list)) => {
                Some(Listed::Writes(stride, &list[..self.count]))
            }
            _ => None,
        }
    }

    /// Calls `visit` with chunks of the iterations and the addresses of each chunk. One iteration counts as
    /// `size` bytes of a chunk.
    #[inline(always)]
    fn for_each_chunk(self, size: usize, sides: Sides, mut visit: impl FnMut(Self, Sides)) {
        let most = (CHUNK / size.max(1)).clamp(1, TURNS);
        if self.count <= most {
            return visit(self, sides);
        }
        for i in (0..self.count).step_by(most) {
            let (a, b, chunk) = self.part(i, most.min(self.count - i));
            visit(chunk, sides.at(a, b));
        }
    }
}

/// Copies all blocks of a node once.
///
/// # Safety
/// Conditions 1 to 3 of [`Direction::copy`] hold for all blocks that the node describes at `sides`.
pub(crate) unsafe fn run<D: Direction>(node: &Node, sides: Sides) {
    // SAFETY: the caller guarantees 1 to 3 for the same blocks.
    unsafe { run_all::<D>(node, Repeat::ONCE, sides) };
}

/// Copies all blocks of a node in each iteration of a loop.
///
/// # Safety
/// Conditions 1 to 3 of [`Direction::copy`] hold for the node's blocks in each iteration.
unsafe fn run_all<D: Direction>(node: &Node, turns: Repeat<'_>, sides: Sides) {
    if let Some(instead) = &node.strategy.instead {
        // SAFETY: the caller guarantees 1 to 3 for the same blocks.
        return unsafe { run_all::<D>(&instead.node, turns, sides.at(instead.a, instead.b)) };
    }
    let both_listed = matches!((turns.a, turns.b), (PlacesRef::At(_), PlacesRef::At(_)));
    if let Some(moves) = node.strategy.moves(turns.count, both_listed) {
        // SAFETY: the caller guarantees 1 to 3 for the same blocks.
        return unsafe { run_moves::<D>(moves, node.size, turns, sides) };
    }
    if let Some(passes) = &node.strategy.passes
        && !both_listed
    {
        // SAFETY: 1 to 3 hold for the node's blocks in each iteration.
        return turns.for_each_chunk(node.size.max(node.strategy.lines / 3), sides, |turns, sides| unsafe {
            run_passes::<D>(passes, turns, sides);
        });
    }
    match &node.kind {
        // SAFETY: the caller guarantees 1 to 3 for the same blocks.
        Kind::Block => unsafe { run_blocks::<D>(node.size, turns, sides) },
        Kind::Repeat { count, a, b, child } => {
            // SAFETY: the caller guarantees 1 to 3: the node is its child, `count` times.
            unsafe { run_nest::<D>(child, Repeat::of(*count, a, b), turns, sides) };
        }
        Kind::Blocks(blocks) => turns.for_each_chunk(node.size, sides, |turns, sides| {
            for block in &**blocks {
                // SAFETY: 1 to 3 hold for a block of the node in the iterations of the chunk.
                unsafe { run_blocks::<D>(block.size, turns, sides.at(block.a, block.b)) };
            }
        }),
        Kind::Buckets { a, b, buckets, child } => turns.for_each_chunk(node.size, sides, |turns, sides| {
            for bucket in &**buckets {
                let (own, sides) = (Repeat::of(bucket.count, a, b), sides.at(bucket.a, bucket.b));
                // SAFETY: 1 to 3 hold for the children of a bucket in the iterations of the chunk.
                unsafe { run_nest::<D>(child, own, turns, sides) };
            }
        }),
        Kind::Sequence(parts) => turns.for_each_chunk(node.size, sides, |turns, sides| {
            for part in parts {
                // SAFETY: 1 to 3 hold for a part of the node in the iterations of the chunk.
                unsafe { run_all::<D>(&part.node, turns, sides.at(part.a, part.b)) };
            }
        }),
    }
}

/// Copies what `moves` are made of, `size` bytes, in each iteration of a loop.
///
/// # Safety
/// Conditions 1 to 3 of [`Direction::copy`] hold for the blocks of the moves in each iteration.
unsafe fn run_moves<D: Direction>(moves: &Moves, size: usize, turns: Repeat<'_>, sides: Sides) {
    let lists = match moves {
        Moves::Blocks(lists) => lists,
        Moves::Records(records) => {
            if let Some(outer) = turns.stride::<D>() {
                // SAFETY: the caller guarantees 1 to 3 for the same blocks.
                return unsafe { run_records::<D>(records, outer, sides) };
            }
            // SAFETY: 1 to 3 hold for each iteration.
            let run = |sides| unsafe { run_records::<D>(records, Stride::ONCE, sides) };
            return turns.turns(sides).for_each(run);
        }
    };
    if turns.count == 1 {
        let sides = sides.at(turns.a.nth(0), turns.b.nth(0));
        // SAFETY: 1 to 3 hold for the only iteration.
        return unsafe { lists.run::<D>(&[sides]) };
    }
    let mut all = [sides; TURNS_OF_MOVES];
    let most = (CHUNK / size.max(1)).clamp(1, TURNS_OF_MOVES);
    for first in (0..turns.count).step_by(most) {
        let count = most.min(turns.count - first);
        for (i, turn) in all[..count].iter_mut().enumerate() {
            *turn = sides.at(turns.a.nth(first + i), turns.b.nth(first + i));
        }
        // SAFETY: 1 to 3 hold for the blocks of the moves in these iterations.
        unsafe { lists.run::<D>(&all[..count]) };
    }
}

/// Copies records in each iteration of a loop with strides.
///
/// # Safety
/// Conditions 1 to 3 of [`Direction::copy`] hold for the blocks of the records in each iteration.
unsafe fn run_records<D: Direction>(records: &Records, outer: Stride, sides: Sides) {
    let Records { group, a, step } = records;
    let own = Repeat { count: a.len(), a: PlacesRef::At(a), b: PlacesRef::Every(*step) };
    let (reads, writes) = D::sides(&group.a, &group.b);
    let (from, to) = D::sides(sides.a, sides.b);
    if let Some(own) = own.listed::<D>() {
        // SAFETY: the caller guarantees 1 to 3 for the same blocks.
        unsafe { (group.kernel.listed)(reads, writes, outer, own, from, to) };
    }
}

/// Copies all blocks of a node in each iteration of two nested loops: `own` within `turns`.
///
/// # Safety
/// Conditions 1 to 3 of [`Direction::copy`] hold for the node's blocks in each iteration of both loops.
unsafe fn run_nest<D: Direction>(child: &Node, own: Repeat<'_>, turns: Repeat<'_>, sides: Sides) {
    if turns.count == 1 {
        if let Kind::Block = child.kind {
            let sides = sides.at(turns.a.nth(0), turns.b.nth(0));
            // SAFETY: 1 to 3 hold for the only iteration.
            return unsafe { run_blocks::<D>(child.size, own, sides) };
        }
        // SAFETY: 1 to 3 hold for the only iteration.
        return unsafe { run_all::<D>(child, own, sides.at(turns.a.nth(0), turns.b.nth(0))) };
    }
    if let Kind::Block = child.kind
        && let Some(inner) = own.stride::<D>()
        && let Some(outer) = turns.stride::<D>()
    {
        let (from, to) = D::sides(sides.a, sides.b);
        // SAFETY: the caller guarantees 1 to 3 for the same blocks.
        return unsafe { kernel(child.size, outer, inner)(child.size, outer, inner, from, to) };
    }
    if let Kind::Block = child.kind
        && (own.count >= 4 || turns.stride::<D>().is_none() && own.stride::<D>().is_some())
    {
        // SAFETY: 1 to 3 hold for each iteration.
        return turns.turns(sides).for_each(|sides| unsafe { run_blocks::<D>(child.size, own, sides) });
    }
    // The two loops may be nested either way: the longer one becomes the inner loop, within the limits of a
    // chunk.
    if own.count >= turns.count.min(TURNS) || own.count * child.size >= CHUNK {
        // SAFETY: 1 to 3 hold for each iteration.
        return turns.turns(sides).for_each(|sides| unsafe { run_all::<D>(child, own, sides) });
    }
    turns.for_each_chunk(own.count * child.size, sides, |turns, sides| {
        // SAFETY: 1 to 3 hold for one iteration of the node's own loop and all iterations of the chunk.
        own.turns(sides).for_each(|sides| unsafe { run_all::<D>(child, turns, sides) });
    });
}

/// Copies a block in each iteration of a loop.
///
/// # Safety
/// Conditions 1 to 3 of [`Direction::copy`] hold for the block in each iteration.
unsafe fn run_blocks<D: Direction>(size: usize, turns: Repeat<'_>, sides: Sides) {
    let (from, to) = D::sides(sides.a, sides.b);
    // SAFETY: the caller guarantees 1 to 3 for the same blocks.
    unsafe {
        match D::sides(turns.a, turns.b) {
            (PlacesRef::Every(reads), PlacesRef::Every(writes)) => {
                let turns = Stride { count: turns.count, from: reads, to: writes };
                if turns.count == 1 {
                    return copy_block(size, from, to);
                }
                kernel(size, Stride::ONCE, turns)(size, Stride::ONCE, turns, from, to);
            }
            (PlacesRef::At(reads), PlacesRef::Every(writes)) => {
                copy_listed(size, turns.count, (from, reads), (to, writes));
            }
            (PlacesRef::Every(reads), PlacesRef::At(writes)) => {
                copy_listed(size, turns.count, (from, reads), (to, writes));
            }
            (PlacesRef::At(reads), PlacesRef::At(writes)) => {
                copy_listed(size, turns.count, (from, reads), (to, writes));
            }
        }
    }
}

/// Copies blocks in each iteration of a loop. At most one side of the loop is a list.
///
/// # Safety
/// Conditions 1 to 3 of [`Direction::copy`] hold for the blocks in each iteration.
unsafe fn run_passes<D: Direction>(passes: &Passes, turns: Repeat<'_>, sides: Sides) {
    let (from, to) = D::sides(sides.a, sides.b);
    let (strides, listed) = (turns.stride::<D>(), turns.listed::<D>());
    for group in &passes.groups {
        let (reads, writes) = D::sides(&group.a, &group.b);
        // SAFETY: the caller guarantees 1 to 3 for the same blocks.
        unsafe {
            if let Some(strides) = strides {
                (group.kernel.strided)(reads, writes, strides, from, to);
            } else if let Some(listed) = listed {
                (group.kernel.listed)(reads, writes, Stride::ONCE, listed, from, to);
            }
        }
    }
    for block in &passes.blocks {
        // SAFETY: the caller guarantees 1 to 3 for each of the blocks.
        unsafe { run_blocks::<D>(block.size, turns, sides.at(block.a, block.b)) };
    }
}

/// Copies a range of bytes of a node whose side `b` is packed: its data follow one another without gaps. On
/// side `b`, `sides` is the address of byte 0 of the node, even if the range begins later.
///
/// # Safety
/// Conditions 1 to 3 of [`Direction::copy`] hold for these bytes.
pub(crate) unsafe fn run_range<D: Direction>(node: &Node, bytes: Bytes, sides: Sides) {
    if bytes == (0..node.size) {
        // SAFETY: the caller guarantees 1 to 3 for the same blocks.
        return unsafe { run::<D>(node, sides) };
    }
    match &node.kind {
        Kind::Block => {
            let at = bytes.start as isize;
            // SAFETY: 1 to 3 hold for bytes of the block.
            unsafe { sides.at(at, at).copy::<D>(bytes.len()) };
        }
        Kind::Repeat { count, a, child, .. } => {
            // SAFETY: the caller guarantees 1 to 3 for the same blocks.
            unsafe { run_turns::<D>(child, (*count, a), bytes, sides) };
        }
        Kind::Blocks(blocks) => {
            for (block, bytes) in overlapping(blocks, Span::packed, bytes) {
                let at = bytes.start as isize;
                // SAFETY: 1 to 3 hold for bytes of a block of the node.
                unsafe { sides.at(block.a + at, block.b + at).copy::<D>(bytes.len()) };
            }
        }
        Kind::Buckets { a, buckets, child, .. } => {
            for (bucket, bytes) in overlapping(buckets, |bucket| bucket.packed(child.size), bytes) {
                // SAFETY: 1 to 3 hold for bytes of a bucket of the node.
                unsafe { run_turns::<D>(child, (bucket.count, a), bytes, sides.at(bucket.a, bucket.b)) };
            }
        }
        Kind::Sequence(parts) => {
            for (part, bytes) in overlapping(parts, Placed::packed, bytes) {
                // SAFETY: 1 to 3 hold for bytes of a part of the node.
                unsafe { run_range::<D>(&part.node, bytes, sides.at(part.a, part.b)) };
            }
        }
    }
}

/// Copies all of `count` iterations of a loop around a node whose side `b` is packed.
///
/// # Safety
/// Conditions 1 to 3 of [`Direction::copy`] hold for all blocks of the node in each iteration.
pub(crate) unsafe fn run_copies<D: Direction>(node: &Node, (count, places): (usize, &Places), sides: Sides) {
    if node.is_gapless(places) || count == 1 && node.is_block() {
        // SAFETY: 1 to 3 hold for all iterations, which form one block.
        return unsafe { sides.copy::<D>(node.size * count) };
    }
    if count == 1
        && let Some(Moves::Blocks(lists)) = &node.strategy.moves
    {
        // SAFETY: the caller guarantees 1 to 3 for the same blocks.
        return unsafe { lists.run::<D>(&[sides]) };
    }
    let turns = Repeat { count, a: PlacesRef::of(places), b: PlacesRef::Every(node.size as isize) };
    // SAFETY: the caller guarantees 1 to 3 for the same blocks.
    unsafe { run_all::<D>(node, turns, sides) };
}

/// Copies a range of bytes of `count` iterations of a loop. The range is not empty.
///
/// # Safety
/// Conditions 1 to 3 of [`Direction::copy`] hold for these bytes.
pub(crate) unsafe fn run_turns<'p, D: Direction>(
    child: &'p Node,
    (count, places): (usize, &'p Places),
    bytes: Bytes,
    sides: Sides,
) {
    if child.is_gapless(places) {
        let at = bytes.start as isize;
        // SAFETY: 1 to 3 hold for these bytes: all iterations form one block.
        return unsafe { sides.at(at, at).copy::<D>(bytes.len()) };
    }
    let repeat = Repeat { count, a: PlacesRef::of(places), b: PlacesRef::Every(child.size as isize) };
    if count == 1 {
        // SAFETY: the caller guarantees 1 to 3 for the same blocks.
        return unsafe { run_range::<D>(child, bytes, sides.at(places.nth(0), 0)) };
    }
    let turn = |i: usize| sides.at(repeat.a.nth(i), repeat.b.nth(i));
    let Turns { head, whole, tail } = Turns::of(child.size, &bytes);
    if let Some((i, bytes)) = head {
        // SAFETY: 1 to 3 hold for bytes of one iteration.
        unsafe { run_range::<D>(child, bytes, turn(i)) };
    }
    if whole.len() == 1 {
        // SAFETY: 1 to 3 hold for a whole iteration.
        unsafe { run::<D>(child, turn(whole.start)) };
    } else if !whole.is_empty() {
        let (a, b, whole) = repeat.part(whole.start, whole.len());
        // SAFETY: 1 to 3 hold for whole iterations.
        unsafe { run_all::<D>(child, whole, sides.at(a, b)) };
    }
    if let Some((i, bytes)) = tail {
        // SAFETY: 1 to 3 hold for bytes of one iteration.
        unsafe { run_range::<D>(child, bytes, turn(i)) };
    }
}
