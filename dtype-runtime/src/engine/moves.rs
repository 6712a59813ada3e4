//! Moves: blocks as lists, by their size, so that nothing is decided at any of them.

use super::{
    kernels::{Any, Exact, Lines, Width, with_width},
    sides::{Block, CHUNK, Direction, Sides},
};

/// Blocks listed by their size; and longer ones.
#[derive(Clone, Debug)]
pub(crate) struct Moves {
    lists: Box<[Listed]>,
    long: Box<[Block]>,
}

/// Blocks of one size.
#[derive(Clone, Debug)]
struct Listed {
    size: usize,
    places: Offsets,
}

/// Where moves lead, in bytes.
#[derive(Clone, Debug)]
enum Offsets {
    /// From these to one after the other on side `b`, from the number on.
    Packed(Box<[i32]>, i32),
    /// Offsets on both sides.
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
}

impl Moves {
    /// The most blocks of one node.
    pub const MOST: usize = 1 << 18;
    /// The most of one that has loops for them.
    pub const FEW: usize = 1024;
    /// The most bytes of the lines of the cache that they lie in. What is not near is best fetched in order,
    /// which moves do not follow.
    pub const NEAR: usize = 4 << 20;
    /// Bytes of the blocks whose lists are gone through together: they stay in the first-level cache.
    const TOGETHER: usize = CHUNK;
    /// Blocks that are longer are copied by themselves.
    pub const LONGEST: usize = 128;

    /// These blocks; nothing where an offset is too large for a list.
    pub fn of(blocks: &[Block]) -> Option<Self> {
        let (mut lists, mut long) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        let together = |_: &Block, next: &Block| {
            bytes += next.size;
            let fits = bytes <= Self::TOGETHER;
            if !fits {
                bytes = 0;
            }
            fits
        };
        for some in blocks.chunk_by(together) {
            let (some, longer): (Vec<_>, Vec<_>) = some.iter().partition(|block| block.size <= Self::LONGEST);
            long.extend(longer);
            add_lists(&some, &mut lists)?;
        }
        Some(Self { lists: lists.into(), long: long.into() })
    }

    /// Copies them all, at several turns of a loop.
    ///
    /// # Safety
    /// 1 to 3 of [`Direction::copy`], for all blocks of the node that they are made of, at each turn.
    #[inline]
    pub unsafe fn run<D: Direction>(&self, turns: &[Sides]) {
        for list in &self.lists {
            // SAFETY: 1 to 3 hold for each of the moves, which lie within the blocks.
            unsafe { move_all::<D>(list, turns) };
        }
        for Block { a, b, size } in &self.long {
            for sides in turns {
                let place = sides.at(*a, *b);
                // SAFETY: 1 to 3 hold for one of the blocks.
                unsafe { D::copy(place.a, place.b, *size) };
            }
        }
    }
}

/// Adds the lists of some blocks: by their size where several have the same; others in parts of 1, 2, 4, 8,
/// 16 or 32 bytes, the last of which overlaps the one before. Nothing where an offset is too large.
fn add_lists(blocks: &[Block], lists: &mut Vec<Listed>) -> Option<()> {
    /// As many blocks are worth a list of their own.
    const SEVERAL: usize = 6;
    let mut sizes = [0; Moves::LONGEST + 1];
    for block in blocks {
        sizes[block.size] += 1;
    }
    // Where nearly all are of one size, the others may be several of those.
    let most = (1..sizes.len()).max_by_key(|size| sizes[*size])?;
    let takes_all = |block: &Block| block.size % most == 0 && block.size <= 4 * most;
    let by_one_size = 4 * sizes[most] >= 3 * blocks.len() && most.is_power_of_two();
    let mut widths: Vec<(usize, Vec<(i32, i32)>)> = Vec::new();
    for block in blocks {
        let width = match block.size {
            _ if by_one_size && takes_all(block) => most,
            size if sizes[size] >= SEVERAL => size,
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

/// # Safety
/// 1 to 3 of [`Direction::copy`], for a block at each of the places, at each turn.
#[inline(always)]
unsafe fn move_all<D: Direction>(list: &Listed, turns: &[Sides]) {
    macro_rules! moves {
        ($width:ty) => {
            // SAFETY: 1 to 3 are those of the caller, for the same blocks.
            unsafe { moves::<D, $width>(list, turns) }
        };
    }
    with_width!(list.size, moves);
}

/// # Safety
/// 1 to 3 of [`Direction::copy`], for a block at each of the places, at each turn.
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
                // Four at a time: the places of all of them are known at once.
                for four in fours {
                    four.iter().for_each(one);
                }
                rest.iter().for_each(one);
            }
        }
    }
}
