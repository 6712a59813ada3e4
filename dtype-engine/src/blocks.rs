//! The contiguous blocks of a layout, which can be counted, listed, and visited by the caller's code.

use super::{
    node::{self, Bytes, Kind, Node, Placed, Turns, overlapping},
    sides,
};

/// A contiguous block of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// The displacement of the first byte, in bytes.
    pub offset: isize,
    /// The size in bytes.
    pub size: usize,
}

/// A visitor of the contiguous blocks of a layout, for operations that take the blocks in the same order as
/// packing (like MPITypes's leaf functions).
///
/// Blocks arrive in the order of the packed bytes. If blocks are regular, one call passes many of them. All
/// methods except `contiguous` have default bodies, which call `contiguous` for each block.
/// [`Data::visit`](crate::Data::visit) calls the methods.
///
/// ```
/// use dtype_runtime::pack::{Data, LeafVisitor};
///
/// /// Adds up all bytes of a layout.
/// struct Sum<'m>(&'m [u8], u64);
///
/// impl LeafVisitor for Sum<'_> {
///     fn contiguous(&mut self, offset: isize, size: usize) {
///         let block = &self.0[offset as usize..][..size];
///         self.1 += block.iter().map(|byte| u64::from(*byte)).sum::<u64>();
///     }
/// }
/// # use dtype_runtime::{pack::Plan, tree::{BaseType, TypeTree}};
/// let memory = [1, 9, 2, 9, 3, 9];
/// let every_other = Plan::new(&TypeTree::vector(3, 2, TypeTree::Leaf(BaseType::U8)))?;
/// let data = Data::new(&every_other, 1, &memory, 0)?;
/// let mut sum = Sum(&memory, 0);
/// data.visit(0..data.packed_size(), &mut sum)?;
/// assert_eq!(sum.1, 6);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
pub trait LeafVisitor {
    /// Visits one block of `size` bytes. `offset` is in bytes, relative to displacement 0.
    fn contiguous(&mut self, offset: isize, size: usize);

    /// Visits `count` blocks of `size` bytes each, `stride` bytes apart.
    fn vector(&mut self, offset: isize, count: usize, size: usize, stride: isize) {
        let place = |i: usize| offset.wrapping_add((i as isize).wrapping_mul(stride));
        (0..count).for_each(|i| self.contiguous(place(i), size));
    }

    /// Visits blocks of `size` bytes each, at these displacements in bytes relative to `offset`.
    fn indexed_block(&mut self, offset: isize, displacements: &[isize], size: usize) {
        for at in displacements {
            self.contiguous(offset.wrapping_add(*at), size);
        }
    }

    /// Visits blocks of different sizes.
    fn indexed(&mut self, blocks: impl ExactSizeIterator<Item = Block>) {
        blocks.for_each(|Block { offset, size }| self.contiguous(offset, size));
    }
}

/// Visits a range of bytes of a node at offset `at`.
pub(crate) fn visit(node: &Node, bytes: Bytes, at: isize, visitor: &mut impl LeafVisitor) {
    let whole = bytes == (0..node.size);
    match &node.kind {
        Kind::Block if bytes.is_empty() => {}
        Kind::Block => visitor.contiguous(at.wrapping_add(bytes.start as isize), bytes.len()),
        Kind::Repeat { a, child, .. } => visit_turns(child, a, bytes, at, visitor),
        Kind::Blocks(blocks) if whole => {
            visitor.indexed(blocks.iter().map(|block| block_at(block, at)));
        }
        Kind::Blocks(blocks) => {
            for (block, bytes) in overlapping(blocks, sides::Span::packed, bytes) {
                visitor
                    .contiguous(block_at(block, at).offset.wrapping_add(bytes.start as isize), bytes.len());
            }
        }
        Kind::Buckets { a, buckets, child, .. } => {
            for (bucket, bytes) in overlapping(buckets, |bucket| bucket.packed(child.size), bytes) {
                visit_turns(child, a, bytes, at.wrapping_add(bucket.a), visitor);
            }
        }
        Kind::Sequence(parts) => {
            for (part, bytes) in overlapping(parts, Placed::packed, bytes) {
                visit(&part.node, bytes, at.wrapping_add(part.a), visitor);
            }
        }
    }
}

fn block_at(block: &sides::Span, at: isize) -> Block {
    Block { offset: at.wrapping_add(block.a), size: block.size }
}

/// Visits a range of bytes of a loop.
pub(crate) fn visit_turns(
    child: &Node,
    places: &node::Places,
    bytes: Bytes,
    at: isize,
    visitor: &mut impl LeafVisitor,
) {
    if bytes.is_empty() {
        return;
    }
    if child.is_gapless(places) {
        return visitor.contiguous(at.wrapping_add(bytes.start as isize), bytes.len());
    }
    let turn = |i: usize| at.wrapping_add(places.nth(i));
    let Turns { head, whole, tail } = Turns::of(child.size, &bytes);
    if let Some((i, bytes)) = head {
        visit(child, bytes, turn(i), visitor);
    }
    match (&child.kind, places) {
        _ if whole.len() < 2 => whole.for_each(|i| visit(child, 0..child.size, turn(i), visitor)),
        (Kind::Block, node::Places::Every(stride)) => {
            visitor.vector(turn(whole.start), whole.len(), child.size, *stride);
        }
        (Kind::Block, node::Places::At(offsets)) => visitor.indexed_block(at, &offsets[whole], child.size),
        _ => whole.for_each(|i| visit(child, 0..child.size, turn(i), visitor)),
    }
    if let Some((i, bytes)) = tail {
        visit(child, bytes, turn(i), visitor);
    }
}

/// A visitor that merges adjacent blocks, and calls a function for each merged block.
pub(crate) struct Joined<F> {
    last: Option<Block>,
    each: F,
}

impl<F: FnMut(Block)> Joined<F> {
    pub fn new(each: F) -> Self {
        Self { last: None, each }
    }

    pub fn finish(mut self) {
        self.last.take().into_iter().for_each(&mut self.each);
    }
}

impl<F: FnMut(Block)> LeafVisitor for Joined<F> {
    fn contiguous(&mut self, offset: isize, size: usize) {
        match &mut self.last {
            Some(last) if last.offset.wrapping_add(last.size as isize) == offset => last.size += size,
            last => last.replace(Block { offset, size }).into_iter().for_each(&mut self.each),
        }
    }
}

/// A visitor that counts blocks. Adjacent blocks count as one.
#[derive(Default)]
pub(crate) struct Count {
    pub blocks: usize,
    /// The bytes of memory that pass through the caches: for each block its cache lines, but no more than the
    /// distance from the block before.
    pub touched: usize,
    /// The place and the end of the last block.
    last: Option<(isize, isize)>,
}

impl Count {
    /// Returns the bytes that pass through the caches for a block of `size` bytes at this distance from the
    /// block before.
    fn touched_by(size: usize, distance: usize) -> usize {
        const LINE: usize = 64;
        size.max(distance.min(size.div_ceil(LINE) * LINE))
    }
}

impl LeafVisitor for Count {
    fn contiguous(&mut self, offset: isize, size: usize) {
        let distance = self.last.map_or(usize::MAX, |(before, _)| offset.abs_diff(before));
        self.blocks += usize::from(self.last.is_none_or(|(_, end)| end != offset));
        self.touched += Self::touched_by(size, distance);
        self.last = Some((offset, offset.wrapping_add(size as isize)));
    }

    /// Counts `count` blocks: in a plan, the blocks of a vector are never adjacent, since nodes merge them.
    fn vector(&mut self, offset: isize, count: usize, size: usize, stride: isize) {
        self.contiguous(offset, size);
        self.blocks += count - 1;
        self.touched += (count - 1) * Self::touched_by(size, stride.unsigned_abs());
        let last = (count - 1) as isize * stride;
        self.last = self.last.map(|(at, end)| (at.wrapping_add(last), end.wrapping_add(last)));
    }
}
