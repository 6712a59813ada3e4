//! Running plans: from a node and two addresses to the copies.
//!
//! A loop is handed down to what is within it, so that a kernel gets it, or two of them. Where it is around
//! different things, as in an array of structs, it is cut into chunks that stay in the first-level cache, and
//! each thing is copied for a whole chunk at a time: one pass over memory, and still a tight loop for each
//! field. Nothing is called for each element.

use super::{
    how::Passes,
    kernels::{Listed, Stride, copy_block, copy_listed, kernel},
    node::{Bytes, Kind, Node, Placed, Places, Turns, overlapping},
    sides::{Block, CHUNK, Direction, Sides, TURNS},
};

/// Turns for which a list of moves is gone through before the next list.
const TURNS_OF_MOVES: usize = 32;

/// A loop around what is copied: its turns are those of a node, or some of them.
#[derive(Clone, Copy)]
struct Repeat<'p> {
    count: usize,
    a: PlacesRef<'p>,
    b: PlacesRef<'p>,
}

/// [`Places`], or some of them.
#[derive(Clone, Copy)]
enum PlacesRef<'p> {
    Every(isize),
    At(&'p [isize]),
}

impl<'p> PlacesRef<'p> {
    fn of(places: &'p Places) -> Self {
        match places {
            Places::Every(stride) => Self::Every(*stride),
            Places::At(offsets) => Self::At(offsets),
        }
    }

    fn nth(self, i: usize) -> isize {
        match self {
            Self::Every(stride) => stride.wrapping_mul(i as isize),
            Self::At(offsets) => offsets[i],
        }
    }

    /// Those from the i-th on, and where that one is.
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

    /// No loop.
    const ONCE: Self = Self { count: 1, a: PlacesRef::Every(0), b: PlacesRef::Every(0) };

    /// `count` of the turns from the i-th on, and where the first of them is.
    fn part(self, i: usize, count: usize) -> (isize, isize, Self) {
        let ((at_a, a), (at_b, b)) = (self.a.from(i), self.b.from(i));
        (at_a, at_b, Self { count, a, b })
    }

    /// Where each turn is.
    fn turns(self, sides: Sides) -> impl Iterator<Item = Sides> {
        (0..self.count).map(move |i| sides.at(self.a.nth(i), self.b.nth(i)))
    }

    /// The loop as strides, if it has any.
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

    /// The loop as a list on one side, and strides on the other.
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

    /// Calls back with chunks of the turns, of what has `size` bytes a turn, and where each chunk begins.
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

/// Copies all of a node, once.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for all blocks that the node describes at `sides`.
pub(crate) unsafe fn run<D: Direction>(node: &Node, sides: Sides) {
    // SAFETY: 1 to 3 are those of the caller, for the same blocks.
    unsafe { run_all::<D>(node, Repeat::ONCE, sides) };
}

/// Copies all of a node at all turns of a loop.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for the node's blocks at each turn.
unsafe fn run_all<D: Direction>(node: &Node, turns: Repeat<'_>, sides: Sides) {
    if let Some(instead) = &node.how.instead {
        // SAFETY: 1 to 3 are those of the caller, for the same blocks.
        return unsafe { run_all::<D>(&instead.node, turns, sides.at(instead.a, instead.b)) };
    }
    let both_listed = matches!((turns.a, turns.b), (PlacesRef::At(_), PlacesRef::At(_)));
    if let Some(moves) = node.how.moves(turns.count, both_listed) {
        let mut all = [sides; TURNS_OF_MOVES];
        let most = (CHUNK / node.size.max(1)).clamp(1, TURNS_OF_MOVES);
        for first in (0..turns.count).step_by(most) {
            let count = most.min(turns.count - first);
            for (i, turn) in all[..count].iter_mut().enumerate() {
                *turn = sides.at(turns.a.nth(first + i), turns.b.nth(first + i));
            }
            // SAFETY: 1 to 3 hold for the node's blocks at these turns.
            unsafe { moves.run::<D>(&all[..count]) };
        }
        return;
    }
    if let Some(passes) = &node.how.passes
        && !both_listed
    {
        // SAFETY: 1 to 3 hold for the node's blocks at each turn.
        return turns.for_each_chunk(node.size.max(node.how.lines / 3), sides, |turns, sides| unsafe {
            run_passes::<D>(passes, turns, sides);
        });
    }
    match &node.kind {
        // SAFETY: 1 to 3 are those of the caller, for the same blocks.
        Kind::Block => unsafe { run_blocks::<D>(node.size, turns, sides) },
        Kind::Repeat { count, a, b, child } => {
            // SAFETY: 1 to 3 are those of the caller: the node is its child, `count` times.
            unsafe { run_nest::<D>(child, Repeat::of(*count, a, b), turns, sides) };
        }
        Kind::Blocks(blocks) => turns.for_each_chunk(node.size, sides, |turns, sides| {
            for block in &**blocks {
                // SAFETY: 1 to 3 hold for a block of the node at the turns of the chunk.
                unsafe { run_blocks::<D>(block.size, turns, sides.at(block.a, block.b)) };
            }
        }),
        Kind::Buckets { a, b, buckets, child } => turns.for_each_chunk(node.size, sides, |turns, sides| {
            for bucket in &**buckets {
                let (own, sides) = (Repeat::of(bucket.count, a, b), sides.at(bucket.a, bucket.b));
                // SAFETY: 1 to 3 hold for the children of a bucket at the turns of the chunk.
                unsafe { run_nest::<D>(child, own, turns, sides) };
            }
        }),
        Kind::Sequence(parts) => turns.for_each_chunk(node.size, sides, |turns, sides| {
            for part in parts {
                // SAFETY: 1 to 3 hold for a part of the node at the turns of the chunk.
                unsafe { run_all::<D>(&part.node, turns, sides.at(part.a, part.b)) };
            }
        }),
    }
}

/// Copies all of a node at all turns of two loops, the first within the second.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for the node's blocks at each turn of both.
unsafe fn run_nest<D: Direction>(child: &Node, own: Repeat<'_>, turns: Repeat<'_>, sides: Sides) {
    if turns.count == 1 {
        if let Kind::Block = child.kind {
            let sides = sides.at(turns.a.nth(0), turns.b.nth(0));
            // SAFETY: 1 to 3 hold for the only turn.
            return unsafe { run_blocks::<D>(child.size, own, sides) };
        }
        // SAFETY: 1 to 3 hold for the only turn.
        return unsafe { run_all::<D>(child, own, sides.at(turns.a.nth(0), turns.b.nth(0))) };
    }
    if let Kind::Block = child.kind
        && let Some(inner) = own.stride::<D>()
        && let Some(outer) = turns.stride::<D>()
    {
        let (from, to) = D::sides(sides.a, sides.b);
        // SAFETY: 1 to 3 are those of the caller, for the same blocks.
        return unsafe { kernel(child.size, outer, inner)(child.size, outer, inner, from, to) };
    }
    if let Kind::Block = child.kind
        && (own.count >= 4 || turns.stride::<D>().is_none() && own.stride::<D>().is_some())
    {
        // SAFETY: 1 to 3 hold for each turn.
        return turns.turns(sides).for_each(|sides| unsafe { run_blocks::<D>(child.size, own, sides) });
    }
    // The order is free: the longer loop is within the other, as far as the cache reaches.
    if own.count >= turns.count.min(TURNS) || own.count * child.size >= CHUNK {
        // SAFETY: 1 to 3 hold for each turn.
        return turns.turns(sides).for_each(|sides| unsafe { run_all::<D>(child, own, sides) });
    }
    turns.for_each_chunk(own.count * child.size, sides, |turns, sides| {
        // SAFETY: 1 to 3 hold for a turn of the node's own loop, and all turns of the chunk.
        own.turns(sides).for_each(|sides| unsafe { run_all::<D>(child, turns, sides) });
    });
}

/// Copies a block at all turns of a loop.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for the block at each turn.
unsafe fn run_blocks<D: Direction>(size: usize, turns: Repeat<'_>, sides: Sides) {
    let (from, to) = D::sides(sides.a, sides.b);
    // SAFETY: 1 to 3 are those of the caller, for the same blocks.
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

/// Copies blocks at all turns of a loop, which is listed on one side at most.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for the blocks at each turn.
unsafe fn run_passes<D: Direction>(passes: &Passes, turns: Repeat<'_>, sides: Sides) {
    let (from, to) = D::sides(sides.a, sides.b);
    let (strides, listed) = (turns.stride::<D>(), turns.listed::<D>());
    for group in &passes.groups {
        let (reads, writes) = D::sides(&group.a, &group.b);
        // SAFETY: 1 to 3 are those of the caller, for the same blocks.
        unsafe {
            if let Some(strides) = strides {
                (group.kernel.strided)(reads, writes, strides, from, to);
            } else if let Some(listed) = listed {
                (group.kernel.listed)(reads, writes, listed, from, to);
            }
        }
    }
    for block in &passes.blocks {
        // SAFETY: 1 to 3 are those of the caller, for one of the blocks.
        unsafe { run_blocks::<D>(block.size, turns, sides.at(block.a, block.b)) };
    }
}

/// Copies some bytes of a node whose side `b` is packed: all of its data, one after the other. Side `b` of
/// the node is where it would be if all of it were there.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for these bytes.
pub(crate) unsafe fn run_range<D: Direction>(node: &Node, bytes: Bytes, sides: Sides) {
    if bytes == (0..node.size) {
        // SAFETY: 1 to 3 are those of the caller, for the same blocks.
        return unsafe { run::<D>(node, sides) };
    }
    match &node.kind {
        Kind::Block => {
            let at = bytes.start as isize;
            // SAFETY: 1 to 3 hold for bytes of the block.
            unsafe { sides.at(at, at).copy::<D>(bytes.len()) };
        }
        Kind::Repeat { count, a, child, .. } => {
            // SAFETY: 1 to 3 are those of the caller, for the same blocks.
            unsafe { run_turns::<D>(child, (*count, a), bytes, sides) };
        }
        Kind::Blocks(blocks) => {
            for (block, bytes) in overlapping(blocks, Block::packed, bytes) {
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

/// Copies all of `count` turns of a loop around a node, whose side `b` is packed.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for all blocks of the node at each turn.
pub(crate) unsafe fn run_copies<D: Direction>(node: &Node, (count, places): (usize, &Places), sides: Sides) {
    if node.is_gapless(places) || count == 1 && node.is_block() {
        // SAFETY: 1 to 3 hold for what is one block.
        return unsafe { sides.copy::<D>(node.size * count) };
    }
    if count == 1
        && let Some(moves) = &node.how.moves
    {
        // SAFETY: 1 to 3 are those of the caller, for the same blocks.
        return unsafe { moves.run::<D>(&[sides]) };
    }
    let turns = Repeat { count, a: PlacesRef::of(places), b: PlacesRef::Every(node.size as isize) };
    // SAFETY: 1 to 3 are those of the caller, for the same blocks.
    unsafe { run_all::<D>(node, turns, sides) };
}

/// Copies some bytes of `count` turns of a loop, and not none.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for these bytes.
pub(crate) unsafe fn run_turns<'p, D: Direction>(
    child: &'p Node,
    (count, places): (usize, &'p Places),
    bytes: Bytes,
    sides: Sides,
) {
    if child.is_gapless(places) {
        let at = bytes.start as isize;
        // SAFETY: 1 to 3 hold for bytes of what is one block.
        return unsafe { sides.at(at, at).copy::<D>(bytes.len()) };
    }
    let repeat = Repeat { count, a: PlacesRef::of(places), b: PlacesRef::Every(child.size as isize) };
    if count == 1 {
        // SAFETY: 1 to 3 are those of the caller, for the same blocks.
        return unsafe { run_range::<D>(child, bytes, sides.at(places.nth(0), 0)) };
    }
    let turn = |i: usize| sides.at(repeat.a.nth(i), repeat.b.nth(i));
    let Turns { head, whole, tail } = Turns::of(child.size, &bytes);
    if let Some((i, bytes)) = head {
        // SAFETY: 1 to 3 hold for bytes of a turn.
        unsafe { run_range::<D>(child, bytes, turn(i)) };
    }
    if whole.len() == 1 {
        // SAFETY: 1 to 3 hold for a whole turn.
        unsafe { run::<D>(child, turn(whole.start)) };
    } else if !whole.is_empty() {
        let (a, b, whole) = repeat.part(whole.start, whole.len());
        // SAFETY: 1 to 3 hold for whole turns.
        unsafe { run_all::<D>(child, whole, sides.at(a, b)) };
    }
    if let Some((i, bytes)) = tail {
        // SAFETY: 1 to 3 hold for bytes of a turn.
        unsafe { run_range::<D>(child, bytes, turn(i)) };
    }
}
