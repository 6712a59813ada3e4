//! Passes: a block is copied in all iterations of the surrounding loop before the next block is copied.

use super::{
    kernels::{GroupKernel, group_kernel},
    sides::Span,
};

/// The blocks of a node, prepared for passes.
#[derive(Clone, Debug)]
pub(crate) struct Passes {
    /// The short blocks, cut into pieces.
    pub groups: Box<[Group]>,
    /// The longer blocks.
    pub blocks: Box<[Span]>,
}

impl Passes {
    /// The largest number of blocks of a node with passes.
    pub const MOST: usize = 32;

    pub fn of(blocks: &[Span]) -> Option<Self> {
        if blocks.len() > Self::MOST {
            return None;
        }
        let (short, long): (Vec<_>, Vec<_>) = blocks.iter().partition(|block| block.size <= Group::LONGEST);
        let pieces: Vec<_> = short.iter().flat_map(Span::pieces).collect();
        Some(Self { groups: groups(&pieces).map(Group::of).collect(), blocks: long.into() })
    }
}

/// Up to four pieces of blocks, which are copied together. A piece has 1, 2, 4 or 8 bytes. The fields are the
/// offsets of the pieces on each side, and the code that copies them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub a: [isize; 4],
    pub b: [isize; 4],
    pub kernel: GroupKernel,
}

impl Group {
    /// The size in bytes of the longest block that is cut into pieces. Longer blocks are copied one by one.
    pub const LONGEST: usize = 32;

    /// The largest number of pieces.
    pub const MOST: usize = 4;

    /// Prepares at most [`MOST`](Self::MOST) pieces.
    pub fn of(pieces: &[Span]) -> Self {
        let mut a = [0; Self::MOST];
        let mut b = [0; Self::MOST];
        let mut sizes = [0; Self::MOST];
        for (i, piece) in pieces.iter().enumerate() {
            (a[i], b[i], sizes[i]) = (piece.a, piece.b, piece.size);
        }
        Self { a, b, kernel: group_kernel(&sizes[..pieces.len()]) }
    }
}

/// Distributes pieces over groups of nearly equal size.
pub(crate) fn groups(pieces: &[Span]) -> impl Iterator<Item = &[Span]> {
    let count = pieces.len().div_ceil(Group::MOST);
    (0..count).map(move |i| &pieces[i * pieces.len() / count..(i + 1) * pieces.len() / count])
}
