//! What a plan is made of: loops over contiguous blocks, between two sides.
//!
//! A [`Node`] says which bytes of one side belong to which bytes of the other. For packing, side `a` is
//! memory and side `b` the packed bytes; for transpacking both are memory. Nodes are made by the functions
//! here only, which keep them simple: blocks that continue one another are one block, loops that do are one
//! loop, and what is empty vanishes. Nothing here touches memory.

use std::sync::Arc;

use super::{
    how::{Group, How, Passes},
    sides::Block,
};

/// A part of a plan. All offsets are in bytes, from where the parent places it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// Bytes of data.
    pub size: usize,
    pub kind: Kind,
    pub how: How,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// `size` bytes, contiguous on both sides.
    Block,
    /// The child again and again.
    Repeat { count: usize, a: Places, b: Places, child: Box<Node> },
    /// Blocks of different sizes.
    Blocks(Arc<[Block]>),
    /// The child several times at each of several places, at the same distance everywhere.
    Buckets { a: Places, b: Places, buckets: Arc<[Bucket]>, child: Box<Node> },
    /// Different things.
    Sequence(Box<[Placed]>),
}

/// Where copies lie.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Places {
    /// At equal distances in bytes, the first at 0.
    Every(isize),
    /// At these offsets.
    At(Arc<[isize]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub a: isize,
    pub b: isize,
    pub count: usize,
}

/// A node, and where it lies on both sides, relative to what it is a part of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placed {
    pub a: isize,
    pub b: isize,
    pub node: Node,
}

impl Places {
    /// Where the i-th copy lies.
    pub fn nth(&self, i: usize) -> isize {
        match self {
            Self::Every(stride) => stride.wrapping_mul(i as isize),
            Self::At(offsets) => offsets[i],
        }
    }
}

impl Placed {
    /// Nothing.
    pub fn empty() -> Self {
        Self::block(0)
    }

    /// A block of `size` bytes, at 0 on both sides.
    pub fn block(size: usize) -> Self {
        Node::new(size, Kind::Block).at(0, 0)
    }

    pub fn moved(self, a: isize, b: isize) -> Self {
        Self { a: self.a.wrapping_add(a), b: self.b.wrapping_add(b), ..self }
    }

    /// This `count` times, at these distances on each side.
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

    /// This at each of these places, `b` bytes apart on the other side.
    pub fn listed(self, a: &[isize], b: isize) -> Self {
        let Self { a: at_a, b: at_b, node } = self;
        let ([first, ..], 1..) = (a, node.size) else { return Self::empty() };
        let stride = a.get(1).map_or(0, |second| second.wrapping_sub(*first));
        if a.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == stride) {
            return node.at(at_a, at_b).repeated(a.len(), stride, b).moved(*first, 0);
        }
        if matches!(node.kind, Kind::Block) && b == node.size as isize {
            let size = node.size;
            // Where the blocks become much fewer: those of different sizes take longer, each.
            let joined = a.windows(2).filter(|pair| pair[1].wrapping_sub(pair[0]) == b).count();
            if joined > 0 && (4 * joined >= 3 * a.len() || 2 * joined == a.len()) {
                let blocks = a.iter().enumerate().map(|(i, a)| Block { a: *a, b: i as isize * b, size });
                return Self::blocks(blocks.collect()).moved(at_a, at_b);
            }
        }
        let places = a.iter().map(|a| a.wrapping_add(at_a)).collect();
        Node::repeat(a.len(), Places::At(places), Places::Every(b), Box::new(node)).at(0, at_b)
    }

    /// A number of these in each bucket, `a` and `b` bytes apart within it.
    pub fn bucketed(self, a: isize, b: isize, mut buckets: Vec<Bucket>) -> Self {
        buckets.retain(|bucket| bucket.count > 0);
        let Some(Bucket { count, .. }) = buckets.first().copied().filter(|_| self.node.size > 0) else {
            return Self::empty();
        };
        let size = self.node.size;
        if matches!(self.node.kind, Kind::Block) && a == size as isize && b == a {
            let block = |Bucket { a, b, count }| Block { a, b, size: count * size };
            return Self::blocks(buckets.into_iter().map(block).collect()).moved(self.a, self.b);
        }
        let next = b.wrapping_mul(count as isize);
        let even = |(i, bucket): (usize, &Bucket)| bucket.count == count && bucket.b == i as isize * next;
        if buckets.iter().enumerate().all(even) {
            let places: Vec<_> = buckets.iter().map(|bucket| bucket.a).collect();
            return self.repeated(count, a, b).listed(&places, next);
        }
        let size = size * buckets.iter().map(|bucket| bucket.count).sum::<usize>();
        let (at_a, at_b, child) = (self.a, self.b, Box::new(self.node));
        let (a, b) = (Places::Every(a), Places::Every(b));
        Node::new(size, Kind::Buckets { a, b, buckets: buckets.into(), child }).at(at_a, at_b)
    }

    /// Blocks one after the other.
    pub fn blocks(mut blocks: Vec<Block>) -> Self {
        blocks.retain(|block| block.size > 0);
        blocks.dedup_by(|next, block| {
            let continued = block.is_continued_by(next);
            if continued {
                block.size += next.size;
            }
            continued
        });
        let Some(Block { a, b, size }) = blocks.first().copied() else { return Self::empty() };
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

    /// Parts one after the other.
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

/// The same parts, neighbouring blocks as one node: the fields of a struct.
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

/// Appends what blocks make together.
fn flush(blocks: &mut Vec<Block>, parts: &mut Vec<Placed>) {
    let part = Placed::blocks(std::mem::take(blocks));
    if part.node.size > 0 {
        parts.push(part);
    }
}

/// Appends a part, or those that it is made of.
fn push_all(parts: &mut Vec<Placed>, part: Placed) {
    /// Turns of a loop over a few fields that are unrolled into fields.
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

/// Appends a part, joined to the last one where both are one block.
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

/// How contiguous blocks lie.
#[cfg(feature = "mpi")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// At equal distances.
    Strided,
    /// At equal distances in loops around loops.
    Nested,
    /// Anywhere.
    Listed,
}

impl Node {
    /// How its blocks lie, the least regular ones.
    #[cfg(feature = "mpi")]
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

    /// Contiguous blocks, each as often as it comes.
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

    /// Whether it is a block or a few fields.
    fn is_small(&self) -> bool {
        match &self.kind {
            Kind::Block => self.size <= Group::LONGEST,
            Kind::Blocks(blocks) => blocks.len() <= 4 && blocks.iter().all(|block| block.size <= 8),
            _ => false,
        }
    }

    /// Whether copies that lie so are one block: contiguous ones, side by side.
    pub fn is_gapless(&self, places: &Places) -> bool {
        matches!((&self.kind, places), (Kind::Block, Places::Every(stride)) if *stride == self.size as isize)
    }

    pub fn new(size: usize, kind: Kind) -> Self {
        Self { size, kind, how: How::default() }
    }

    pub fn at(self, a: isize, b: isize) -> Placed {
        Placed { a, b, node: self }
    }

    pub fn repeat(count: usize, a: Places, b: Places, child: Box<Self>) -> Self {
        Self::new(count * child.size, Kind::Repeat { count, a, b, child })
    }
}

/// Some bytes of something: from the first one to before the last one.
pub(crate) type Bytes = std::ops::Range<usize>;

/// Those items that have some of these bytes, and which of their own. The items lie one after the other, each
/// where `extent` says: its beginning and its size.
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

/// Some bytes of a loop: the end of a turn, whole turns, and the beginning of a turn, each with its number
/// and its bytes.
pub(crate) struct Turns {
    pub head: Option<(usize, Bytes)>,
    pub whole: std::ops::Range<usize>,
    pub tail: Option<(usize, Bytes)>,
}

impl Turns {
    /// Of turns that have `size` bytes each.
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
    /// Of children of `size` bytes.
    pub fn packed(&self, size: usize) -> (usize, usize) {
        (self.b as usize, self.count * size)
    }
}

impl Placed {
    /// The part as a block, if it is one.
    pub fn as_block(&self) -> Option<Block> {
        let Self { a, b, node: Node { size, kind, .. } } = self;
        matches!(kind, Kind::Block).then_some(Block { a: *a, b: *b, size: *size })
    }

    pub fn packed(&self) -> (usize, usize) {
        (self.b as usize, self.node.size)
    }
}
