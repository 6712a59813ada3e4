//! The nodes of a plan: loops over contiguous blocks, between two sides.
//!
//! A [`Node`] maps the bytes of one side to the bytes of the other. For packing, side `a` is memory and side
//! `b` is the packed bytes; for transpacking, both sides are memory. Only the functions here make nodes. They
//! keep nodes simple: adjacent blocks become one block, a loop that continues its inner loop becomes one loop
//! with it, and empty parts are dropped. Nothing here accesses memory.

use std::{ops::Deref, sync::Arc};

use super::{
    moves::Moves,
    passes::{Group, Passes},
    sides::Span,
};

/// A part of a plan. All offsets are in bytes, relative to the offset of the node itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// The number of data bytes.
    pub size: usize,
    pub kind: Kind,
    pub strategy: Strategy,
}

/// The chosen way to copy the blocks of a node. The module `strategy` chooses it before the node is first
/// run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strategy {
    /// Another part with the same blocks, which is run instead of the node.
    pub instead: Option<Box<Placed>>,
    /// The size in bytes of the cache lines that the blocks touch on side `a`; 0 if it was not estimated.
    pub lines: usize,
    /// The largest number of blocks for which `moves` and `passes` may be built.
    pub most: usize,
    /// The number of times that the node is run each time that the plan is.
    pub runs: usize,
    /// `true` if passes are faster than the node's own loops.
    pub in_passes: bool,
    /// The blocks, prepared for passes; `None` if passes are not the fastest way.
    pub passes: Option<Passes>,
    /// `true` if moves are faster record by record than block by block.
    pub in_records: bool,
    /// The blocks, as moves; `None` if moves are never the fastest way, or cannot be built.
    pub moves: Option<Moves>,
    /// The largest number of iterations for which moves are the fastest way.
    pub turns_of_moves: usize,
}

impl Strategy {
    /// Returns the moves if they are the fastest way for this number of iterations. Iterations that are
    /// listed on both sides cannot be run in passes, so they always use the moves, if there are any.
    #[inline(always)]
    pub fn moves(&self, turns: usize, both_listed: bool) -> Option<&Moves> {
        self.moves.as_ref().filter(|_| turns <= self.turns_of_moves || both_listed)
    }
}

/// Treats all strategies as equal, because a strategy follows from the rest of its node.
impl PartialEq for Strategy {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// One block of `size` bytes, contiguous on both sides.
    Block,
    /// The child, `count` times.
    Repeat { count: usize, a: Places, b: Places, child: Box<Node> },
    /// A list of blocks of different sizes.
    Blocks(Arc<[Span]>),
    /// For each bucket, the child several times. Distances between children are the same in all buckets.
    Buckets { a: Places, b: Places, buckets: Arc<[Bucket]>, child: Box<Node> },
    /// Different parts.
    Sequence(Box<[Placed]>),
}

/// The offsets of the iterations of a loop, on one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Places<List = Arc<[isize]>> {
    /// Multiples of a stride in bytes, beginning with 0.
    Every(isize),
    /// A list of offsets in bytes.
    At(List),
}

/// A group of children at equal distances: the offsets of the first child on both sides, and the number of
/// children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub a: isize,
    pub b: isize,
    pub count: usize,
}

/// A node, and its offsets on both sides relative to its parent, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placed {
    pub a: isize,
    pub b: isize,
    pub node: Node,
}

impl<List: Deref<Target = [isize]>> Places<List> {
    /// Returns the offset of iteration `i`.
    pub fn nth(&self, i: usize) -> isize {
        match self {
            Self::Every(stride) => stride.wrapping_mul(i as isize),
            Self::At(offsets) => offsets[i],
        }
    }
}

impl Placed {
    /// Returns a part without bytes.
    pub fn empty() -> Self {
        Self::block(0)
    }

    /// Returns a block of `size` bytes, at offset 0 on both sides.
    pub fn block(size: usize) -> Self {
        Node::new(size, Kind::Block).at(0, 0)
    }

    /// Returns the part as a block, if it is one.
    pub fn as_block(&self) -> Option<Span> {
        let Self { a, b, node: Node { size, kind, .. } } = self;
        matches!(kind, Kind::Block).then_some(Span { a: *a, b: *b, size: *size })
    }

    /// Returns the position and the size of the part on side `b`, which is packed.
    pub fn packed(&self) -> (usize, usize) {
        (self.b as usize, self.node.size)
    }

    pub fn moved(self, a: isize, b: isize) -> Self {
        Self { a: self.a.wrapping_add(a), b: self.b.wrapping_add(b), ..self }
    }

    /// Returns `count` copies of the part, `a` and `b` bytes apart on the two sides.
    pub fn repeated(self, count: usize, a: isize, b: isize) -> Self {
        let Self { a: at_a, b: at_b, node } = self;
        if count == 0 || node.size == 0 {
            return Self::empty();
        }
        if count == 1 {
            return node.at(at_a, at_b);
        }
        let size = node.size * count;
        let node = match node.kind {
            Kind::Block if a == node.size as isize && b == a => Node::new(size, Kind::Block),
            Kind::Repeat { count: inner, a: Places::Every(inner_a), b: Places::Every(inner_b), child }
                if a == inner_a.wrapping_mul(inner as isize) && b == inner_b.wrapping_mul(inner as isize) =>
            {
                Node::repeat(count * inner, Places::Every(inner_a), Places::Every(inner_b), child)
            }
            _ => Node::repeat(count, Places::Every(a), Places::Every(b), Box::new(node)),
        };
        node.at(at_a, at_b)
    }

    /// Returns a copy of the part at each of the offsets `a` on side `a`. On side `b`, copies are `b` bytes
    /// apart.
    pub fn listed(self, a: &[isize], b: isize) -> Self {
        let Self { a: at_a, b: at_b, node } = self;
        let ([first, ..], 1..) = (a, node.size) else { return Self::empty() };
        let stride = a.get(1).map_or(0, |second| second.wrapping_sub(*first));
        if a.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == stride) {
            return node.at(at_a, at_b).repeated(a.len(), stride, b).moved(*first, 0);
        }
        if matches!(node.kind, Kind::Block) && b == node.size as isize {
            let size = node.size;
            // Merges adjacent blocks only if far fewer blocks remain, because blocks of different sizes take
            // longer to copy.
            let joined = a.windows(2).filter(|pair| pair[1].wrapping_sub(pair[0]) == b).count();
            if joined > 0 && (4 * joined >= 3 * a.len() || 2 * joined == a.len()) {
                let blocks = a.iter().enumerate().map(|(i, a)| Span { a: *a, b: i as isize * b, size });
                return Self::blocks(blocks.collect()).moved(at_a, at_b);
            }
        }
        let places = a.iter().map(|a| a.wrapping_add(at_a)).collect();
        Node::repeat(a.len(), Places::At(places), Places::Every(b), Box::new(node)).at(0, at_b)
    }

    /// Returns `count` copies of the part for each bucket, `a` and `b` bytes apart within the bucket.
    pub fn bucketed(self, a: isize, b: isize, mut buckets: Vec<Bucket>) -> Self {
        buckets.retain(|bucket| bucket.count > 0);
        let Some(Bucket { count, .. }) = buckets.first().copied().filter(|_| self.node.size > 0) else {
            return Self::empty();
        };
        let size = self.node.size;
        if matches!(self.node.kind, Kind::Block) && a == size as isize && b == a {
            let block = |Bucket { a, b, count }| Span { a, b, size: count * size };
            return Self::blocks(buckets.into_iter().map(block).collect()).moved(self.a, self.b);
        }
        let next = b.wrapping_mul(count as isize);
        let even = |(i, bucket): (usize, &Bucket)| bucket.count == count && bucket.b == i as isize * next;
        if buckets.iter().enumerate().all(even) {
            let places: Vec<_> = buckets.iter().map(|bucket| bucket.a).collect();
            return self.repeated(count, a, b).listed(&places, next);
        }
        let size = size * buckets.iter().map(|bucket| bucket.count).sum::<usize>();
        let at_a = self.a;
        let at_b = self.b;
        let child = Box::new(self.node);
        let (a, b) = (Places::Every(a), Places::Every(b));
        Node::new(size, Kind::Buckets { a, b, buckets: buckets.into(), child }).at(at_a, at_b)
    }

    /// Returns blocks, one after the other, as one part.
    pub fn blocks(mut blocks: Vec<Span>) -> Self {
        blocks.retain(|block| block.size > 0);
        blocks.dedup_by(|next, block| {
            let continued = block.is_continued_by(next);
            if continued {
                block.size += next.size;
            }
            continued
        });
        let Some(Span { a, b, size }) = blocks.first().copied() else { return Self::empty() };
        let stride = blocks.get(1).map_or(0, |second| second.b.wrapping_sub(b));
        let even = blocks.iter().enumerate().all(|(i, block)| {
            block.size == size && block.b.wrapping_sub(b) == (i as isize).wrapping_mul(stride)
        });
        if even {
            let places: Vec<_> = blocks.iter().map(|block| block.a.wrapping_sub(a)).collect();
            return Self::block(size).listed(&places, stride).moved(a, b);
        }
        for block in &mut blocks {
            (block.a, block.b) = (block.a.wrapping_sub(a), block.b.wrapping_sub(b));
        }
        let size = blocks.iter().map(|block| block.size).sum();
        Node::new(size, Kind::Blocks(blocks.into())).at(a, b)
    }

    /// Returns parts, one after the other, as one part.
    pub fn sequence(parts: Vec<Self>) -> Self {
        let mut all: Vec<Self> = Vec::with_capacity(parts.len());
        for part in parts {
            push_all(&mut all, part);
        }
        if let [first, second, ..] = &all[..] {
            let stride = second.b.wrapping_sub(first.b);
            let alike = |(i, part): (usize, &Self)| {
                part.b.wrapping_sub(first.b) == stride.wrapping_mul(i as isize) && part.node == first.node
            };
            if all.iter().enumerate().all(alike) {
                let places: Vec<_> = all.iter().map(|part| part.a).collect();
                let b = first.b;
                return all.swap_remove(0).node.at(0, 0).listed(&places, stride).moved(0, b);
            }
        }
        if all.windows(2).any(|pair| pair.iter().all(|part| part.as_block().is_some())) {
            all = with_fields(all);
        }
        if all.len() < 2 {
            return all.pop().unwrap_or_else(Self::empty);
        }
        let size = all.iter().map(|part| part.node.size).sum();
        Node::new(size, Kind::Sequence(all.into())).at(0, 0)
    }
}

/// Returns the parts, with each row of consecutive blocks (such as the fields of a struct) as one node.
fn with_fields(all: Vec<Placed>) -> Vec<Placed> {
    let (mut parts, mut blocks) = (Vec::with_capacity(all.len()), Vec::with_capacity(all.len()));
    for part in all {
        if let Some(block) = part.as_block() {
            blocks.push(block);
        } else {
            flush(&mut blocks, &mut parts);
            parts.push(part);
        }
    }
    flush(&mut blocks, &mut parts);
    parts
}

/// Appends the blocks as one part, and empties their list.
fn flush(blocks: &mut Vec<Span>, parts: &mut Vec<Placed>) {
    let part = Placed::blocks(std::mem::take(blocks));
    if part.node.size > 0 {
        parts.push(part);
    }
}

/// Appends a part, or the parts that it consists of.
fn push_all(parts: &mut Vec<Placed>, part: Placed) {
    /// The largest number of iterations of a small loop that are appended one by one.
    const FEW: usize = 4;
    match part.node.kind {
        Kind::Sequence(inner) => inner.into_iter().for_each(|inner| push(parts, inner.moved(part.a, part.b))),
        Kind::Blocks(blocks) if blocks.len() <= Passes::MOST => {
            blocks.iter().for_each(|block| {
                let (a, b) = (part.a.wrapping_add(block.a), part.b.wrapping_add(block.b));
                push(parts, Placed::block(block.size).moved(a, b));
            });
        }
        Kind::Repeat { count: count @ ..=FEW, a, b, child } if child.is_small() => {
            for i in 0..count {
                push_all(parts, child.as_ref().clone().at(a.nth(i), b.nth(i)).moved(part.a, part.b));
            }
        }
        kind => push(parts, Placed { node: Node::new(part.node.size, kind), ..part }),
    }
}

/// Appends a part, or merges it with the last one if both are blocks and adjacent.
fn push(parts: &mut Vec<Placed>, next: Placed) {
    if next.node.size == 0 {
        return;
    }
    if let Some(last) = parts.last_mut()
        && let (Some(block), Some(next)) = (last.as_block(), next.as_block())
        && block.is_continued_by(&next)
    {
        last.node.size += next.size;
        return;
    }
    parts.push(next);
}

/// The arrangement of contiguous blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// Equal distances.
    Strided,
    /// Equal distances, in loops within loops.
    Nested,
    /// Any offsets.
    Listed,
}

impl Node {
    /// Returns the arrangement of the blocks: the least regular one that occurs in the node.
    pub fn order(&self) -> Order {
        match &self.kind {
            Kind::Block => Order::Strided,
            Kind::Repeat { a: Places::Every(_), child, .. } => match child.kind {
                Kind::Block => Order::Strided,
                _ => child.order().max(Order::Nested),
            },
            Kind::Sequence(parts) => {
                parts.iter().map(|part| part.node.order()).max().unwrap_or(Order::Strided)
            }
            _ => Order::Listed,
        }
    }

    /// Returns the number of contiguous blocks in all iterations together; `usize::MAX` if it overflows.
    pub fn block_count(&self) -> usize {
        match &self.kind {
            Kind::Block => usize::from(self.size > 0),
            Kind::Repeat { count, child, .. } => child.block_count().saturating_mul(*count),
            Kind::Blocks(blocks) => blocks.len(),
            Kind::Buckets { buckets, child, .. } => {
                let count = buckets.iter().fold(0usize, |sum, bucket| sum.saturating_add(bucket.count));
                child.block_count().saturating_mul(count)
            }
            Kind::Sequence(parts) => {
                parts.iter().fold(0, |sum, part| sum.saturating_add(part.node.block_count()))
            }
        }
    }

    pub fn is_block(&self) -> bool {
        matches!(self.kind, Kind::Block)
    }

    /// Returns `true` if the node is a short block or a few small fields.
    fn is_small(&self) -> bool {
        match &self.kind {
            Kind::Block => self.size <= Group::LONGEST,
            Kind::Blocks(blocks) => blocks.len() <= 4 && blocks.iter().all(|block| block.size <= 8),
            _ => false,
        }
    }

    /// Returns `true` if copies at these places form one block: the node is a block, and its size is the
    /// stride.
    pub fn is_gapless(&self, places: &Places) -> bool {
        matches!((&self.kind, places), (Kind::Block, Places::Every(stride)) if *stride == self.size as isize)
    }

    pub fn new(size: usize, kind: Kind) -> Self {
        Self { size, kind, strategy: Strategy::default() }
    }

    pub fn at(self, a: isize, b: isize) -> Placed {
        Placed { a, b, node: self }
    }

    /// Visits the node, which is at the offsets `at` on both sides, and the nodes within, in the order of
    /// side `b`. Returns `None` if a visit stops.
    pub fn visit(
        &self,
        at: (isize, isize),
        visitor: &mut impl FnMut(&Self, (isize, isize)) -> Visit,
    ) -> Option<()> {
        match visitor(self, at) {
            Visit::Within => {}
            Visit::Beyond => return Some(()),
            Visit::Stop => return None,
        }
        let from = |a: isize, b: isize| (at.0.wrapping_add(a), at.1.wrapping_add(b));
        match &self.kind {
            Kind::Block | Kind::Blocks(_) => Some(()),
            Kind::Repeat { count, a, b, child } => {
                (0..*count).try_for_each(|i| child.visit(from(a.nth(i), b.nth(i)), visitor))
            }
            Kind::Buckets { a, b, buckets, child } => buckets.iter().try_for_each(|bucket| {
                let place = |i| from(bucket.a.wrapping_add(a.nth(i)), bucket.b.wrapping_add(b.nth(i)));
                (0..bucket.count).try_for_each(|i| child.visit(place(i), visitor))
            }),
            Kind::Sequence(parts) => {
                parts.iter().try_for_each(|part| part.node.visit(from(part.a, part.b), visitor))
            }
        }
    }

    pub fn repeat(count: usize, a: Places, b: Places, child: Box<Self>) -> Self {
        Self::new(count * child.size, Kind::Repeat { count, a, b, child })
    }
}

/// The way on from a node that was visited.
pub(crate) enum Visit {
    /// To the nodes within.
    Within,
    /// To the next node.
    Beyond,
    /// To no other node.
    Stop,
}

/// A half-open range of byte positions.
pub(crate) type Bytes = std::ops::Range<usize>;

/// Returns the items that overlap `bytes`, each with the range of the overlap, counted from the first byte of
/// the item. The items follow one another without gaps. `extent` returns the position and the size of an
/// item.
pub(crate) fn overlapping<T>(
    items: &[T],
    extent: impl Fn(&T) -> (usize, usize) + Copy,
    bytes: Bytes,
) -> impl Iterator<Item = (&T, Bytes)> {
    let first = items.partition_point(|item| {
        let (start, size) = extent(item);
        start + size <= bytes.start
    });
    items[first..].iter().map_while(move |item| {
        let (start, size) = extent(item);
        let within = bytes.start.saturating_sub(start)..bytes.end.saturating_sub(start).min(size);
        (!within.is_empty()).then_some((item, within))
    })
}

/// A range of bytes of a loop: the end of an iteration, whole iterations, and the beginning of an iteration.
/// `head` and `tail` have the number of their iteration, and a range of its bytes.
pub(crate) struct Turns {
    pub head: Option<(usize, Bytes)>,
    pub whole: std::ops::Range<usize>,
    pub tail: Option<(usize, Bytes)>,
}

impl Turns {
    /// Splits a range of bytes of a loop whose iterations have `size` bytes each. A range within one
    /// iteration becomes the head.
    pub fn of(size: usize, bytes: &Bytes) -> Self {
        let (first, last) = (bytes.start / size, bytes.end / size);
        let (from, to) = (bytes.start % size, bytes.end % size);
        if from > 0 && first == last {
            return Self { head: Some((first, from..to)), whole: 0..0, tail: None };
        }
        Self {
            head: (from > 0).then_some((first, from..size)),
            whole: first + usize::from(from > 0)..last,
            tail: (to > 0).then_some((last, 0..to)),
        }
    }
}

impl Bucket {
    /// Returns the position and the size of the bucket on side `b`, which is packed. A child has `size`
    /// bytes.
    pub fn packed(&self, size: usize) -> (usize, usize) {
        (self.b as usize, self.count * size)
    }
}
