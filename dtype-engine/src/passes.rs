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
        Some(Self { groups: Group::of(&pieces), blocks: long.into() })
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

    /// Distributes pieces over groups of nearly equal size.
    fn of(pieces: &[Span]) -> Box<[Self]> {
        let groups = pieces.len().div_ceil(4);
        let group = |i: usize| {
            let some = &pieces[i * pieces.len() / groups..(i + 1) * pieces.len() / groups];
            let mut a = [0; 4];
            let mut b = [0; 4];
            let mut sizes = [0; 4];
            for (i, piece) in some.iter().enumerate() {
                (a[i], b[i], sizes[i]) = (piece.a, piece.b, piece.size);
            }
            Self { a, b, kernel: group_kernel(&sizes[..some.len()]) }
        };
        (0..groups).map(group).collect()
    }
}
