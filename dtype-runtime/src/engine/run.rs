//! Running plans: from a node and two addresses to the copies.
//!
//! Loops on the way to a block are collected as *repeats*, and the innermost of them are handed to a kernel.
//! Where a loop is around different things, as in an array of structs, it is cut into chunks that stay in the
//! first-level cache, and each thing is copied for a whole chunk at a time: one pass over memory, and still a
//! tight loop for each field. Nothing is called for each element.

use super::{
    kernels::{Stride, copy_listed, kernel},
    node::{Block, Bytes, Group, Kind, Node, Placed, Places, Turns, overlapping},
};

/// Packed bytes of a chunk, which is gone over more than once: few enough to be in the first-level cache
/// still. And elements of one.
pub(crate) const CHUNK: usize = 8 << 10;
const ELEMENTS: usize = 256;

/// Loops that are kept for a kernel to choose from; what is deeper is taken turn by turn.
const MOST_REPEATS: usize = 6;

/// From which side bytes are copied to which.
pub(crate) trait Direction {
    /// The two sides as what is read and what is written.
    fn sides<T>(a: T, b: T) -> (T, T);

    /// Copies `size` bytes.
    ///
    /// # Safety
    /// The conditions of all copying here and in `kernels`, for the bytes that are copied:
    /// 1. those on the side that is read are initialized, and nobody writes them meanwhile;
    /// 2. those on the side that is written may be written, and nobody else uses them meanwhile;
    /// 3. none that is written is read.
    #[inline(always)]
    unsafe fn copy(a: *mut u8, b: *mut u8, size: usize) {
        let (from, to) = Self::sides(a, b);
        // SAFETY: 1 to 3 are those of the caller, for the same bytes.
        unsafe { to.copy_from_nonoverlapping(from, size) };
    }
}

/// From side `a` to side `b`.
pub(crate) struct Packing;

/// From side `b` to side `a`.
pub(crate) struct Unpacking;

impl Direction for Packing {
    #[inline(always)]
    fn sides<T>(a: T, b: T) -> (T, T) {
        (a, b)
    }
}

impl Direction for Unpacking {
    #[inline(always)]
    fn sides<T>(a: T, b: T) -> (T, T) {
        (b, a)
    }
}

/// Addresses on both sides.
#[derive(Clone, Copy)]
pub(crate) struct Sides {
    pub a: *mut u8,
    pub b: *mut u8,
}

impl Sides {
    #[inline(always)]
    pub fn at(self, a: isize, b: isize) -> Self {
        Self { a: self.a.wrapping_offset(a), b: self.b.wrapping_offset(b) }
    }

    /// # Safety
    /// 1 to 3 of [`Direction::copy`], for `size` bytes.
    #[inline(always)]
    unsafe fn copy<D: Direction>(self, size: usize) {
        // SAFETY: 1 to 3 are those of the caller, for the same bytes.
        unsafe { D::copy(self.a, self.b, size) };
    }
}

/// A loop around what is copied.
#[derive(Clone, Copy)]
struct Repeat<'p> {
    pub count: usize,
    pub a: PlacesRef<'p>,
    pub b: PlacesRef<'p>,
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

    /// Those from the i-th on, which lies so far away.
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
    fn stride<D: Direction>(self) -> Option<Stride> {
        match (self.a, self.b) {
            (PlacesRef::Every(a), PlacesRef::Every(b)) => {
                let (from, to) = D::sides(a, b);
                Some(Stride { count: self.count, from, to })
            }
            _ => None,
        }
    }
}

/// The loops around something, the innermost last.
#[derive(Clone, Copy)]
struct Repeats<'p> {
    list: [Repeat<'p>; MOST_REPEATS],
    depth: usize,
}

impl<'p> Repeats<'p> {
    /// No loop.
    fn none() -> Self {
        Self { list: [Repeat::ONCE; MOST_REPEATS], depth: 0 }
    }

    fn as_slice(&self) -> &[Repeat<'p>] {
        &self.list[..self.depth]
    }

    /// The innermost loop as strides, if there is one and it has any.
    fn innermost<D: Direction>(&self) -> Option<Stride> {
        self.as_slice().last()?.stride::<D>()
    }

    /// Calls back within one more loop.
    fn within(&mut self, repeat: Repeat<'p>, sides: Sides, mut visit: impl FnMut(&mut Self, Sides)) {
        if self.depth == MOST_REPEATS {
            return repeat.turns(sides).for_each(|sides| visit(self, sides));
        }
        self.list[self.depth] = repeat;
        self.depth += 1;
        visit(self, sides);
        self.depth -= 1;
    }

    /// Cuts the loops around something of `size` bytes into chunks that stay in the cache, and calls back
    /// with the loops within each.
    fn for_each_chunk(&self, size: usize, sides: Sides, mut visit: impl FnMut(&mut Self, Sides)) {
        let most = (CHUNK / size.max(1)).clamp(1, ELEMENTS);
        // As many of the inner loops as fit a chunk whole.
        let (mut whole, mut elements) = (self.depth, 1);
        while whole > 0 && self.list[whole - 1].count <= most / elements {
            whole -= 1;
            elements *= self.list[whole].count;
        }
        let length = most / elements;
        let rest = |whole: usize| {
            let mut rest = Self { list: self.list, depth: self.depth - whole };
            rest.list[..rest.depth].copy_from_slice(&self.list[whole..self.depth]);
            rest
        };
        if length < 2 || whole == 0 {
            let mut inner = rest(whole);
            return for_each_turn(&self.list[..whole], sides, &mut |sides| visit(&mut inner, sides));
        }
        // The loop that is cut, around those that are whole.
        let (cut, mut chunk) = (self.list[whole - 1], rest(whole - 1));
        for_each_turn(&self.list[..whole - 1], sides, &mut |sides| {
            for i in (0..cut.count).step_by(length) {
                let (a, b, part) = cut.part(i, length.min(cut.count - i));
                chunk.list[0] = part;
                visit(&mut chunk, sides.at(a, b));
            }
        });
    }
}

/// Copies all of a node, once.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for all blocks that the node describes at `sides`.
pub(crate) unsafe fn run<D: Direction>(node: &Node, sides: Sides) {
    match &node.kind {
        // SAFETY: 1 to 3 are those of the caller, for the same blocks.
        Kind::Block => unsafe { sides.copy::<D>(node.size) },
        Kind::Repeat { count, a, b, child } => match nest::<D>(node) {
            // SAFETY: 1 to 3 are those of the caller, for the same blocks.
            Some((size, loops)) => unsafe { run_nest::<D>(size, loops, sides) },
            // SAFETY: 1 to 3 are those of the caller: the node is its child, `count` times.
            None => unsafe { run_all::<D>(child, Repeat::of(*count, a, b), sides) },
        },
        Kind::Blocks { blocks, .. } => {
            for block in blocks {
                // SAFETY: 1 to 3 hold for a block of the node.
                unsafe { sides.at(block.a, block.b).copy::<D>(block.size) };
            }
        }
        Kind::Buckets { a, b, buckets, child } => {
            for bucket in buckets {
                // SAFETY: 1 to 3 hold for the children of a bucket.
                unsafe { run_all::<D>(child, Repeat::of(bucket.count, a, b), sides.at(bucket.a, bucket.b)) };
            }
        }
        Kind::Sequence(parts) => {
            for part in parts {
                // SAFETY: 1 to 3 hold for a part of the node.
                unsafe { run::<D>(&part.node, sides.at(part.a, part.b)) };
            }
        }
    }
}

/// Copies all turns of a loop over a node.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for the node's blocks at each turn.
#[inline(never)]
unsafe fn run_all<'p, D: Direction>(child: &'p Node, repeat: Repeat<'p>, sides: Sides) {
    if let Kind::Block = child.kind {
        // SAFETY: 1 to 3 are those of the caller, for the same blocks.
        return unsafe { run_block::<D>(child.size, &[repeat], sides) };
    }
    // SAFETY: 1 to 3 are those of the caller, for the same blocks.
    Repeats::none().within(repeat, sides, |repeats, sides| unsafe { run_within::<D>(child, repeats, sides) });
}

/// Copies all of a node, as often as the repeats around it say.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for the node's blocks wherever the repeats lead from `sides`.
unsafe fn run_within<'p, D: Direction>(node: &'p Node, repeats: &mut Repeats<'p>, sides: Sides) {
    if repeats.depth == 0 {
        // SAFETY: 1 to 3 are those of the caller, for the same blocks.
        return unsafe { run::<D>(node, sides) };
    }
    match &node.kind {
        // SAFETY: 1 to 3 are those of the caller, for the same blocks.
        Kind::Block => unsafe { run_block::<D>(node.size, repeats.as_slice(), sides) },
        Kind::Repeat { count, a, b, child } => {
            repeats.within(Repeat::of(*count, a, b), sides, |repeats, sides| {
                // SAFETY: 1 to 3 are those of the caller: the node is its child, `count` times.
                unsafe { run_within::<D>(child, repeats, sides) };
            });
        }
        Kind::Blocks { groups, .. }
            if groups.len() == 1
                && let Some(turns) = repeats.innermost::<D>() =>
        {
            // SAFETY: 1 to 3 are those of the caller, for the same blocks.
            unsafe { run_groups::<D>(groups, turns, repeats.as_slice(), sides) };
        }
        Kind::Blocks { blocks, groups } => repeats.for_each_chunk(node.size, sides, |repeats, sides| {
            if let Some(turns) = repeats.innermost::<D>().filter(|_| !groups.is_empty()) {
                // SAFETY: 1 to 3 hold for all blocks of the node, as often as the repeats of the chunk say.
                return unsafe { run_groups::<D>(groups, turns, repeats.as_slice(), sides) };
            }
            for block in blocks {
                // SAFETY: 1 to 3 hold for a block of the node, as often as the repeats of the chunk say.
                unsafe { run_block::<D>(block.size, repeats.as_slice(), sides.at(block.a, block.b)) };
            }
        }),
        Kind::Buckets { a, b, buckets, child } => {
            repeats.for_each_chunk(node.size, sides, |repeats, sides| {
                for bucket in buckets {
                    let repeat = Repeat::of(bucket.count, a, b);
                    repeats.within(repeat, sides.at(bucket.a, bucket.b), |repeats, sides| {
                        // SAFETY: 1 to 3 hold for the children of a bucket, as often as the repeats of the
                        // chunk say.
                        unsafe { run_within::<D>(child, repeats, sides) };
                    });
                }
            });
        }
        Kind::Sequence(parts) => repeats.for_each_chunk(node.size, sides, |repeats, sides| {
            for part in parts {
                // SAFETY: 1 to 3 hold for a part of the node, as often as the repeats of the chunk say.
                unsafe { run_within::<D>(&part.node, repeats, sides.at(part.a, part.b)) };
            }
        }),
    }
}

/// A node that is up to four loops with strides around a block: the size of the block, and the loops, the
/// innermost last.
fn nest<D: Direction>(node: &Node) -> Option<(usize, [Stride; 4])> {
    let (mut loops, mut within) = ([Stride::ONCE; 4], node);
    while let Some((stride, child)) = stride_of::<D>(within) {
        if loops[0].count > 1 {
            return None;
        }
        loops = [loops[1], loops[2], loops[3], stride];
        within = child;
    }
    matches!(within.kind, Kind::Block).then_some((within.size, loops))
}

/// Copies the blocks of four loops.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for all of these blocks.
unsafe fn run_nest<D: Direction>(size: usize, [first, second, outer, inner]: [Stride; 4], sides: Sides) {
    let kernel = kernel(size, outer, inner);
    let (from, to) = D::sides(sides.a, sides.b);
    for i in 0..first.count as isize {
        let (from, to) = (from.wrapping_offset(i * first.from), to.wrapping_offset(i * first.to));
        for j in 0..second.count as isize {
            let (from, to) = (from.wrapping_offset(j * second.from), to.wrapping_offset(j * second.to));
            // SAFETY: 1 to 3 are those of the caller, for the same blocks.
            unsafe { kernel(size, outer, inner, from, to) };
        }
    }
}

/// A node that is a loop with strides: those, and what is within.
#[inline(always)]
fn stride_of<D: Direction>(node: &Node) -> Option<(Stride, &Node)> {
    match &node.kind {
        Kind::Repeat { count, a: Places::Every(a), b: Places::Every(b), child } => {
            let (from, to) = D::sides(*a, *b);
            Some((Stride { count: *count, from, to }, child))
        }
        _ => None,
    }
}

/// Calls back for each turn of some loops.
fn for_each_turn(repeats: &[Repeat<'_>], sides: Sides, visit: &mut impl FnMut(Sides)) {
    match repeats {
        [] => visit(sides),
        [last] => last.turns(sides).for_each(visit),
        [outer, inner @ ..] => outer.turns(sides).for_each(|sides| for_each_turn(inner, sides, visit)),
    }
}

/// Copies a block as often as the repeats say.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for the block wherever the repeats lead from `sides`.
unsafe fn run_block<D: Direction>(size: usize, repeats: &[Repeat<'_>], sides: Sides) {
    let [outer @ .., last] = repeats else {
        // SAFETY: 1 to 3 are those of the caller, for the same blocks.
        return unsafe { sides.copy::<D>(size) };
    };
    if let Some(inner) = last.stride::<D>() {
        let (outer, next) = match outer {
            [outer @ .., next] if let Some(next) = next.stride::<D>() => (outer, next),
            _ => (outer, Stride::ONCE),
        };
        let kernel = kernel(size, next, inner);
        for_each_turn(outer, sides, &mut |sides| {
            let (from, to) = D::sides(sides.a, sides.b);
            // SAFETY: 1 to 3 are those of the caller, for the same blocks.
            unsafe { kernel(size, next, inner, from, to) };
        });
        return;
    }
    for_each_turn(outer, sides, &mut |sides| {
        let (from, to) = D::sides(sides.a, sides.b);
        // SAFETY: 1 to 3 are those of the caller, for the same blocks.
        unsafe {
            match D::sides(last.a, last.b) {
                (PlacesRef::At(reads), PlacesRef::Every(writes)) => {
                    copy_listed(size, last.count, (from, reads), (to, writes));
                }
                (PlacesRef::Every(reads), PlacesRef::At(writes)) => {
                    copy_listed(size, last.count, (from, reads), (to, writes));
                }
                (PlacesRef::At(reads), PlacesRef::At(writes)) => {
                    copy_listed(size, last.count, (from, reads), (to, writes));
                }
                (PlacesRef::Every(_), PlacesRef::Every(_)) => {}
            }
        }
    });
}

/// Copies the pieces of groups as often as the repeats say, the innermost of which has these strides.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for the pieces wherever the repeats lead from `sides`.
unsafe fn run_groups<D: Direction>(groups: &[Group], turns: Stride, repeats: &[Repeat<'_>], sides: Sides) {
    for group in groups {
        let (reads, writes) = D::sides(&group.a, &group.b);
        for_each_turn(&repeats[..repeats.len() - 1], sides, &mut |sides| {
            let (from, to) = D::sides(sides.a, sides.b);
            // SAFETY: 1 to 3 are those of the caller, for the same blocks.
            unsafe { (group.kernel)(reads, writes, turns, from, to) };
        });
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
        Kind::Blocks { blocks, .. } => {
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

/// Copies some bytes of `count` turns of a loop.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for these bytes.
pub(crate) unsafe fn run_turns<'p, D: Direction>(
    child: &'p Node,
    (count, places): (usize, &'p Places),
    bytes: Bytes,
    sides: Sides,
) {
    if bytes.is_empty() {
        return;
    }
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
    if bytes == (0..count.saturating_mul(child.size)) {
        // SAFETY: 1 to 3 hold for whole turns, all of them.
        return unsafe { run_all::<D>(child, repeat, sides) };
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
