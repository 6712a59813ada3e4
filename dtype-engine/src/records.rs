//! Records: a few pieces of memory, at each of many places.

use super::{passes::Group, sides::Span};

/// The blocks of a record: so few that one [`Group`] copies them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Record {
    blocks: [Span; Group::MOST],
    count: usize,
}

impl Record {
    /// Joins blocks. Returns `None` if a group cannot copy them.
    pub fn of(mut blocks: impl Iterator<Item = Span>) -> Option<Self> {
        let mut record = Self { blocks: [Span { a: 0, b: 0, size: 0 }; Group::MOST], count: 0 };
        blocks.try_for_each(|block| record.add(block))?;
        (record.pieces().count() <= Group::MOST).then_some(record)
    }

    /// Adds a block. Returns `None` if it is one too many, or too long.
    fn add(&mut self, block: Span) -> Option<()> {
        let last = self.blocks[..self.count].last_mut();
        let size = if let Some(last) = last.filter(|last| last.is_continued_by(&block)) {
            last.size += block.size;
            last.size
        } else {
            *self.blocks.get_mut(self.count)? = block;
            self.count += 1;
            block.size
        };
        (size <= Group::LONGEST).then_some(())
    }

    /// Returns the pieces of the blocks.
    pub fn pieces(&self) -> impl Iterator<Item = Span> {
        self.blocks[..self.count].iter().flat_map(Span::pieces)
    }

    /// Returns the number of data bytes.
    pub fn size(&self) -> isize {
        self.blocks.iter().map(|block| block.size as isize).sum()
    }
}

/// A record at each of many places.
#[derive(Clone, Debug)]
pub(crate) struct Records {
    /// The pieces of a record: of two neighbours if these are equally far apart and a group can copy both.
    pub group: Group,
    /// The offsets of the records on side `a`.
    pub a: Box<[isize]>,
    /// The distance between records on side `b`.
    pub step: isize,
}

impl Records {
    /// Prepares copies of a record at the offsets `a`.
    pub fn of(record: &Record, mut a: Vec<isize>) -> Self {
        let mut pieces: Vec<_> = record.pieces().collect();
        let mut step = record.size();
        if 2 * pieces.len() <= Group::MOST
            && let [first, second, ..] = a[..]
            && let apart = second.wrapping_sub(first)
            && a.len() % 2 == 0
            && a.chunks(2).all(|pair| pair[1].wrapping_sub(pair[0]) == apart)
        {
            let next = |piece: &Span| Span {
                a: piece.a.wrapping_add(apart),
                b: piece.b.wrapping_add(step),
                ..*piece
            };
            pieces.extend(pieces.iter().map(next).collect::<Vec<_>>());
            step *= 2;
            a = a.into_iter().step_by(2).collect();
        }
        Self { group: Group::of(&pieces), a: a.into(), step }
    }
}
