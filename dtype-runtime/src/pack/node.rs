//! What a plan is made of: loops over contiguous blocks, between two sides.
//!
//! A [`Node`] says which bytes of one side belong to which bytes of the other. For packing, side `a` is memory and side `b` the
//! packed bytes; for transpacking both are memory. Nodes are made by the functions here only, which keep them simple: blocks that
//! continue one another are one block, loops that do are one loop, and what is empty vanishes. Nothing here touches memory.

/// A part of a plan. All offsets are in bytes, from where the parent places it.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Bytes of data.
    pub size: usize,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// `size` bytes, contiguous on both sides.
    Block,
    /// The child again and again.
    Repeat { count: usize, a: Places, b: Places, child: Box<Node> },
    /// Blocks of different sizes.
    Blocks(Box<[Block]>),
    /// The child several times at each of several places, at the same distance everywhere.
    Buckets { a: Places, b: Places, buckets: Box<[Bucket]>, child: Box<Node> },
    /// Different things.
    Sequence(Box<[Part]>),
}

/// Where copies lie.
#[derive(Clone, Debug)]
pub(super) enum Places {
    /// So many bytes apart, the first at 0.
    Every(isize),
    /// At these offsets.
    At(Box<[isize]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub a: isize,
    pub b: isize,
    pub size: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    pub a: isize,
    pub b: isize,
    pub count: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Part {
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

impl Part {
    /// Nothing.
    pub fn empty() -> Self {
        Self::block(0)
    }

    /// So many bytes, at 0 on both sides.
    pub fn block(size: usize) -> Self {
        Node { size, kind: Kind::Block }.at(0, 0)
    }

    pub fn moved(self, a: isize, b: isize) -> Self {
        Self { a: self.a.wrapping_add(a), b: self.b.wrapping_add(b), ..self }
    }

    /// This `count` times, so far apart on each side.
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
            Kind::Block if a == node.size as isize && b == a => Node { size, kind: Kind::Block },
            Kind::Repeat { count: inner, a: Places::Every(inner_a), b: Places::Every(inner_b), child }
                if a == inner_a.wrapping_mul(inner as isize)
                    && b == inner_b.wrapping_mul(inner as isize) =>
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
            let joined = a.windows(2).any(|pair| pair[1].wrapping_sub(pair[0]) == b);
            if joined {
                let blocks = a.iter().enumerate().map(|(i, a)| Block { a: *a, b: i as isize * b, size });
                return Self::blocks(blocks.collect()).moved(at_a, at_b);
            }
        }
        let places = a.iter().map(|a| a.wrapping_add(at_a)).collect();
        Node::repeat(a.len(), Places::At(places), Places::Every(b), Box::new(node)).at(0, at_b)
    }

    /// So many of this in each bucket, `a` and `b` bytes apart within it.
    pub fn bucketed(self, a: isize, b: isize, mut buckets: Vec<Bucket>) -> Self {
        buckets.retain(|bucket| bucket.count > 0);
        let Some(Bucket { count, .. }) = buckets.first().copied().filter(|_| self.node.size > 0) else {
            return Self::empty();
        };
        let size = self.node.size;
        if matches!(self.node.kind, Kind::Block) && a == size as isize && b == a {
            let block = |bucket: &Bucket| Block { a: bucket.a, b: bucket.b, size: bucket.count * size };
            return Self::blocks(buckets.iter().map(block).collect()).moved(self.a, self.b);
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
        Node { size, kind: Kind::Buckets { a, b, buckets: buckets.into(), child } }.at(at_a, at_b)
    }

    /// Blocks one after the other.
    pub fn blocks(mut blocks: Vec<Block>) -> Self {
        blocks.retain(|block| block.size > 0);
        blocks.dedup_by(|next, block| {
            let end = block.size as isize;
            let continued = next.a == block.a.wrapping_add(end) && next.b == block.b.wrapping_add(end);
            if continued {
                block.size += next.size;
            }
            continued
        });
        let Some(Block { a, b, size }) = blocks.first().copied() else { return Self::empty() };
        let stride = blocks.get(1).map_or(0, |second| second.b.wrapping_sub(b));
        let even = blocks
            .iter()
            .enumerate()
            .all(|(i, block)| block.size == size && block.b.wrapping_sub(b) == i as isize * stride);
        if even {
            let places: Vec<_> = blocks.iter().map(|block| block.a.wrapping_sub(a)).collect();
            return Self::block(size).listed(&places, stride).moved(a, b);
        }
        let size = blocks.iter().map(|block| block.size).sum();
        Node { size, kind: Kind::Blocks(blocks.into()) }.at(0, 0)
    }

    /// Parts one after the other.
    pub fn sequence(parts: Vec<Self>) -> Self {
        let mut all: Vec<Self> = Vec::with_capacity(parts.len());
        for part in parts {
            match part.node.kind {
                Kind::Sequence(inner) => {
                    inner.into_iter().for_each(|inner| push(&mut all, inner.moved(part.a, part.b)));
                }
                _ => push(&mut all, part),
            }
        }
        if all.len() < 2 {
            return all.pop().unwrap_or_else(Self::empty);
        }
        let block = |part: &Self| {
            let Self { a, b, node: Node { size, kind } } = part;
            matches!(kind, Kind::Block).then_some(Block { a: *a, b: *b, size: *size })
        };
        if let Some(blocks) = all.iter().map(block).collect() {
            return Self::blocks(blocks);
        }
        let size = all.iter().map(|part| part.node.size).sum();
        Node { size, kind: Kind::Sequence(all.into()) }.at(0, 0)
    }
}

/// Appends a part, joined to the last one where both are one block.
fn push(parts: &mut Vec<Part>, next: Part) {
    if next.node.size == 0 {
        return;
    }
    if let (Some(last), Kind::Block) = (parts.last_mut(), &next.node.kind)
        && matches!(last.node.kind, Kind::Block)
    {
        let end = last.node.size as isize;
        if next.a == last.a.wrapping_add(end) && next.b == last.b.wrapping_add(end) {
            last.node.size += next.node.size;
            return;
        }
    }
    parts.push(next);
}

impl Node {
    /// Whether copies that lie so are one block: contiguous ones, side by side.
    pub fn is_gapless(&self, places: &Places) -> bool {
        matches!((&self.kind, places), (Kind::Block, Places::Every(stride)) if *stride == self.size as isize)
    }

    pub fn at(self, a: isize, b: isize) -> Part {
        Part { a, b, node: self }
    }

    pub fn repeat(count: usize, a: Places, b: Places, child: Box<Self>) -> Self {
        Self { size: count * child.size, kind: Kind::Repeat { count, a, b, child } }
    }
}

/// Some bytes of something: from the first one to before the last one.
pub(super) type Bytes = std::ops::Range<usize>;

/// Those items that have some of these bytes, and which of their own. The items lie one after the other, each where `extent` says: its
/// beginning and its size.
pub(super) fn overlapping<T>(
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

/// Some bytes of a loop: the end of a turn, whole turns, and the beginning of a turn, each with its number and its bytes.
pub(super) struct Turns {
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

impl Block {
    pub fn packed(&self) -> (usize, usize) {
        (self.b as usize, self.size)
    }
}

impl Bucket {
    /// Of children of so many bytes.
    pub fn packed(&self, size: usize) -> (usize, usize) {
        (self.b as usize, self.count * size)
    }
}

impl Part {
    pub fn packed(&self) -> (usize, usize) {
        (self.b as usize, self.node.size)
    }
}
