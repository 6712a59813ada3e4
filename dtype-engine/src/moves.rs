//! Moves: lists of blocks, each list with blocks of one size. So a loop over a list needs no branch for the
//! size of a block.

use super::{
    kernels::{Any, Exact, Tail, Width, fetch, with_width},
    records::Records,
    sides::{CHUNK, Direction, Sides, Span},
};

/// The blocks of a node, listed.
#[derive(Clone, Debug)]
pub(crate) enum Moves {
    Blocks(Lists),
    Records(Box<Records>),
}

/// The blocks of a node: the short blocks in lists, each of one size, and the longer blocks.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    short: Box<[Listed]>,
    long: Box<[Span]>,
    /// `true` if the blocks are far from one another, and all iterations together touch more memory than is
    /// near.
    is_far: bool,
}

/// A list of blocks of one size.
#[derive(Clone, Debug)]
struct Listed {
    size: usize,
    places: Offsets,
}

/// The offsets of listed blocks, in bytes.
#[derive(Clone, Debug)]
enum Offsets {
    /// Offsets on side `a`, and the offset of the first block on side `b`, where the blocks follow one
    /// another.
    Packed(Box<[i32]>, i32),
    /// Offsets on sides `a` and `b`.
    Both(Box<[(i32, i32)]>),
}

impl Offsets {
    fn of(width: usize, places: &[(i32, i32)]) -> Self {
        let follows = |pair: &[(i32, i32)]| pair[1].1.checked_sub(pair[0].1) == Some(width as i32);
        match places {
            [(_, first), ..] if places.windows(2).all(follows) => {
                Self::Packed(places.iter().map(|(a, _)| *a).collect(), *first)
            }
            _ => Self::Both(places.into()),
        }
    }

    /// Returns the number of blocks.
    fn count(&self) -> usize {
        match self {
            Self::Packed(places, _) => places.len(),
            Self::Both(places) => places.len(),
        }
    }
}

impl Listed {
    /// Copies the blocks by a kernel in each of `turns`, and fetches the memory of later ones meanwhile.
    ///
    /// # Safety
    /// The conditions of the kernel.
    #[inline(never)]
    unsafe fn run_ahead(&self, turns: &[Sides], kernel: unsafe fn(&Self, &[Sides])) {
        let ahead = (Moves::AHEAD / self.places.count().max(1)).max(1);
        if turns.len() <= ahead {
            // SAFETY: the caller guarantees the conditions for all of `turns`.
            return unsafe { kernel(self, turns) };
        }
        for (i, turn) in turns.iter().enumerate() {
            if let Some(Sides { a, .. }) = turns.get(i + ahead) {
                let fetch = |at: &i32| fetch(a.wrapping_offset(*at as isize));
                match &self.places {
                    Offsets::Packed(places, _) => places.iter().for_each(fetch),
                    Offsets::Both(places) => places.iter().for_each(|(at, _)| fetch(at)),
                }
            }
            // SAFETY: the caller guarantees the conditions for each of `turns`.
            unsafe { kernel(self, std::slice::from_ref(turn)) };
        }
    }
}

impl Moves {
    /// The largest number of blocks that a node with moves may have.
    pub const MOST: usize = 1 << 18;
    /// The largest number of blocks that a node with moves may have if its own loops are efficient.
    pub const FEW: usize = 1024;
    /// The limit for the cache lines that the blocks of a node with moves touch, in bytes. Memory that is not
    /// in the cache is best read in order, and moves are not in order.
    pub const NEAR: usize = 4 << 20;
    /// The size in bytes of a group of blocks whose lists are run one after the other. Such a group stays in
    /// the first-level cache.
    const TOGETHER: usize = CHUNK;
    /// The size in bytes of the longest block that is listed. Longer blocks are copied one by one.
    pub const LONGEST: usize = 128;
    /// The size in bytes of memory that is near. If all iterations touch more, memory is fetched ahead: a
    /// processor foresees where an instruction of a loop by hand reads next, but here one instruction reads
    /// at all places of a list.
    const FETCHED: usize = 2 << 20;
    /// The least number of blocks for which a call for each iteration is worth it.
    const WORTH_FETCHING: usize = 16;
    /// The number of blocks by which memory is fetched ahead.
    const AHEAD: usize = 128;
}

impl Lists {
    /// Lists `blocks`, which are copied in each of `runs` iterations, and touch `lines` bytes of cache
    /// lines in each. Returns `None` if an offset does not fit into 32 bits.
    pub fn of(blocks: &[Span], runs: usize, lines: usize) -> Option<Self> {
        let (mut lists, mut long) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        let together = |_: &Span, next: &Span| {
            bytes += next.size;
            let fits = bytes <= Moves::TOGETHER;
            if !fits {
                bytes = 0;
            }
            fits
        };
        for some in blocks.chunk_by(together) {
            let (some, longer): (Vec<_>, Vec<_>) =
                some.iter().partition(|block| block.size <= Moves::LONGEST);
            long.extend(longer);
            add_lists(&some, runs, &mut lists)?;
        }
        let size: usize = blocks.iter().map(|block| block.size).sum();
        let is_far = blocks.len() >= Moves::WORTH_FETCHING
            && lines > 2 * size
            && lines.saturating_mul(runs) > Moves::FETCHED;
        Some(Self { short: lists.into(), long: long.into(), is_far })
    }

    /// Copies all blocks in each of `turns`, the iterations of a loop.
    ///
    /// # Safety
    /// Conditions 1 to 3 of [`Direction::copy`] hold for all blocks that the moves are made of, in each
    /// iteration.
    #[inline]
    pub unsafe fn run<D: Direction>(&self, turns: &[Sides]) {
        for list in &self.short {
            macro_rules! moves {
                ($width:ty) => {
                    // SAFETY: 1 to 3 hold for each move, since it lies within a block.
                    unsafe {
                        if self.is_far {
                            list.run_ahead(turns, moves::<D, $width>);
                        } else {
                            moves::<D, $width>(list, turns);
                        }
                    }
                };
            }
            with_width!(list.size, moves);
        }
        for Span { a, b, size } in &self.long {
            for sides in turns {
                let place = sides.at(*a, *b);
                // SAFETY: 1 to 3 hold for one of the blocks.
                unsafe { D::copy(place.a, place.b, *size) };
            }
        }
    }
}

/// Returns the number of blocks of each size. Sizes beyond the longest listed one count as one more byte.
pub(crate) fn sizes(blocks: &[Span]) -> [usize; Moves::LONGEST + 2] {
    let mut sizes = [0; Moves::LONGEST + 2];
    for block in blocks {
        sizes[block.size.min(Moves::LONGEST + 1)] += 1;
    }
    sizes
}

/// Adds the lists of some blocks, which are copied in each of `runs` iterations. A size gets a list if
/// several blocks have it, or if there are few sizes and many iterations. Other blocks are cut into parts of
/// 1, 2, 4, 8, 16 or 32 bytes, the last of which may overlap the one before. Returns `None` if an offset does
/// not fit into 32 bits.
fn add_lists(blocks: &[Span], runs: usize, lists: &mut Vec<Listed>) -> Option<()> {
    /// The least number of blocks of one size for which that size gets a list.
    const SEVERAL: usize = 6;
    /// The largest number of sizes each of which gets a list in [`MANY`] iterations.
    const FEW: usize = 4;
    /// The least number of iterations that make up for the calls of [`FEW`] lists.
    const MANY: usize = 8;
    let sizes = sizes(blocks);
    let each_size = runs >= MANY && sizes.iter().filter(|count| **count > 0).count() <= FEW;
    // If nearly all blocks have one size, blocks of a small multiple of this size are cut into blocks of this
    // size.
    let most = (1..sizes.len()).max_by_key(|size| sizes[*size])?;
    let takes_all = |block: &Span| block.size % most == 0 && block.size <= 4 * most;
    let by_one_size = 4 * sizes[most] >= 3 * blocks.len() && most.is_power_of_two();
    let mut widths: Vec<(usize, Vec<(i32, i32)>)> = Vec::new();
    for block in blocks {
        let width = match block.size {
            _ if by_one_size && takes_all(block) => most,
            size if each_size || sizes[size] >= SEVERAL => size,
            size => 1 << size.ilog2().min(5),
        };
        let list = widths.iter().position(|(listed, _)| *listed == width).unwrap_or_else(|| {
            widths.push((width, Vec::with_capacity(sizes[width])));
            widths.len() - 1
        });
        let places = &mut widths[list].1;
        for i in 0..block.size.div_ceil(width) {
            let at = (i * width).min(block.size - width) as isize;
            places.push((i32::try_from(block.a + at).ok()?, i32::try_from(block.b + at).ok()?));
        }
    }
    let listed = |(size, places): (usize, Vec<_>)| Listed { size, places: Offsets::of(size, &places) };
    lists.extend(widths.into_iter().map(listed));
    Some(())
}

/// Copies the blocks of a list in each of `turns`.
///
/// # Safety
/// Conditions 1 to 3 of [`Direction::copy`] hold for a block at each of the offsets, in each iteration.
unsafe fn moves<D: Direction, W: Width>(Listed { size, places }: &Listed, turns: &[Sides]) {
    let size = W::SIZE.unwrap_or(*size);
    let copy = |a: *mut u8, b: *mut u8| {
        let (from, to) = D::sides(a, b);
        // SAFETY: 1 to 3 hold for one of the blocks.
        unsafe { W::copy(size, from, to) };
    };
    match places {
        Offsets::Packed(places, first) => {
            let (fours, rest) = places.as_chunks::<4>();
            for Sides { a, b } in turns {
                let at = |place: &i32| a.wrapping_offset(*place as isize);
                let mut b = b.wrapping_offset(*first as isize);
                for [first, second, third, fourth] in fours {
                    copy(at(first), b);
                    copy(at(second), b.wrapping_add(size));
                    copy(at(third), b.wrapping_add(2 * size));
                    copy(at(fourth), b.wrapping_add(3 * size));
                    b = b.wrapping_add(4 * size);
                }
                for place in rest {
                    copy(at(place), b);
                    b = b.wrapping_add(size);
                }
            }
        }
        Offsets::Both(places) => {
            let (fours, rest) = places.as_chunks::<4>();
            for Sides { a, b } in turns {
                let one = |(at_a, at_b): &(i32, i32)| {
                    copy(a.wrapping_offset(*at_a as isize), b.wrapping_offset(*at_b as isize));
                };
                // Copies four blocks at a time, because their addresses do not depend on one another.
                for four in fours {
                    four.iter().for_each(one);
                }
                rest.iter().for_each(one);
            }
        }
    }
}
