//! How a node is run: what is decided once, when a plan is first used.
//!
//! A node of small blocks can be copied in three ways. As its loops say, each by a kernel. In *passes*: block
//! by block, each at all turns of the loop around the node, so that what a call of a kernel takes is shared
//! by the turns. Or as *moves*: turn by turn, from a list of all of them, so that nothing is called at all,
//! but where each one leads is read from memory. Which is the fastest depends on the blocks and on the number
//! of turns, and is estimated here.

use super::{
    kernels::{GroupKernel, group_kernel},
    moves::Moves,
    node::{Bucket, Kind, Node, Placed, Places},
    sides::{Block, CHUNK, TURNS},
};

/// What is decided of a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct How {
    /// Another part with the same blocks, which is run instead.
    pub instead: Option<Box<Placed>>,
    /// Bytes of the lines of the cache that it lies in, as far as it is small.
    pub lines: usize,
    /// The most blocks that are listed of it.
    most: usize,
    /// Whether passes are faster than its loops.
    in_passes: bool,
    /// Its blocks, to be copied one after the other at all turns; nothing where that is not the fastest.
    pub passes: Option<Passes>,
    /// Its blocks as moves.
    pub moves: Option<Moves>,
    /// Up to how many turns the moves are the fastest.
    pub turns_of_moves: usize,
}

impl How {
    /// The moves, if they are the fastest at this number of turns; turns that are listed on both sides cannot
    /// be run in passes.
    #[inline(always)]
    pub fn moves(&self, turns: usize, both_listed: bool) -> Option<&Moves> {
        self.moves.as_ref().filter(|_| turns <= self.turns_of_moves || both_listed)
    }
}

/// Blocks as they are copied at all turns of a loop.
#[derive(Clone, Debug)]
pub(crate) struct Passes {
    /// The short ones, in pieces.
    pub groups: Box<[Group]>,
    /// The others.
    pub blocks: Box<[Block]>,
}

/// It follows from the node.
impl PartialEq for How {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Up to four pieces of blocks, each of 1, 2, 4 or 8 bytes, that are copied together: where they are on each
/// side, and by what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub a: [isize; 4],
    pub b: [isize; 4],
    pub kernel: GroupKernel,
}

impl Group {
    /// Blocks that are longer are copied by themselves.
    pub const LONGEST: usize = 32;

    /// Pieces, in groups that are about as large.
    fn of(pieces: &[Block]) -> Box<[Self]> {
        let groups = pieces.len().div_ceil(4);
        let group = |i: usize| {
            let some = &pieces[i * pieces.len() / groups..(i + 1) * pieces.len() / groups];
            let (mut a, mut b, mut sizes) = ([0; 4], [0; 4], [0; 4]);
            for (i, piece) in some.iter().enumerate() {
                (a[i], b[i], sizes[i]) = (piece.a, piece.b, piece.size);
            }
            Self { a, b, kernel: group_kernel(&sizes[..some.len()]) }
        };
        (0..groups).map(group).collect()
    }
}

impl Passes {
    /// The most blocks.
    pub const MOST: usize = 32;

    fn of(blocks: &[Block]) -> Option<Self> {
        if blocks.len() > Self::MOST {
            return None;
        }
        let (short, long): (Vec<_>, Vec<_>) = blocks.iter().partition(|block| block.size <= Group::LONGEST);
        let pieces: Vec<_> = short.iter().flat_map(Block::pieces).collect();
        Some(Self { groups: Group::of(&pieces), blocks: long.into() })
    }
}

/// The blocks of a node, joined where they continue one another; nothing where they are more than this.
fn blocks(node: &Node, most: usize) -> Option<Vec<Block>> {
    let mut all = Vec::new();
    collect(node, (0, 0), most, &mut all)?;
    Some(all)
}

fn collect(node: &Node, at: (isize, isize), most: usize, all: &mut Vec<Block>) -> Option<()> {
    let add = |all: &mut Vec<Block>, a: isize, b: isize, size: usize| {
        let block = Block { a: at.0.wrapping_add(a), b: at.1.wrapping_add(b), size };
        match all.last_mut() {
            Some(last) if last.is_continued_by(&block) => last.size += size,
            _ => all.push(block),
        }
        (all.len() <= most).then_some(())
    };
    let from = |a: isize, b: isize| (at.0.wrapping_add(a), at.1.wrapping_add(b));
    match &node.kind {
        Kind::Block => add(all, 0, 0, node.size),
        Kind::Blocks(own) => own.iter().try_for_each(|block| add(all, block.a, block.b, block.size)),
        Kind::Repeat { count, a, b, child } => {
            (0..*count).try_for_each(|i| collect(child, from(a.nth(i), b.nth(i)), most, all))
        }
        Kind::Buckets { a, b, buckets, child } => buckets.iter().try_for_each(|bucket| {
            let place = |i| from(bucket.a.wrapping_add(a.nth(i)), bucket.b.wrapping_add(b.nth(i)));
            (0..bucket.count).try_for_each(|i| collect(child, place(i), most, all))
        }),
        Kind::Sequence(parts) => {
            parts.iter().try_for_each(|part| collect(&part.node, from(part.a, part.b), most, all))
        }
    }
}

/// Bytes of the lines of the cache that blocks lie in on side `a`.
fn lines(blocks: &[Block]) -> usize {
    let (mut lines, mut last) = (0usize, None);
    let line = |at: isize| at.div_euclid(LINE as isize);
    for block in blocks {
        // Where the block is from where this one is put may be beyond all memory: then this says anything.
        let (first, end) = (line(block.a), line(block.a.wrapping_add(block.size as isize - 1)));
        lines = lines.saturating_add(end.abs_diff(first) + usize::from(last != Some(first)));
        last = Some(end);
    }
    lines.saturating_mul(LINE)
}

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Tenths of a nanosecond: an estimate.
type Time = f32;

/// What running a node takes.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    /// For each chunk of turns.
    chunk: Time,
    /// For each turn.
    turn: Time,
}

impl Times {
    const CALL: Time = 60.0;

    /// Of a block that a kernel copies.
    fn of_block(size: usize) -> Self {
        let turn = match size {
            0..=8 => 2.5,
            9..=16 => 3.0,
            17..=32 => 4.5,
            33..=128 => 2.5 + size as Time / 10.0,
            _ => 30.0 + size as Time / 20.0,
        };
        Self { chunk: Self::CALL, turn }
    }

    /// Of a block among others: what is written is not written in order.
    fn of_pass(block: &Block) -> Self {
        Self::of_block(block.size).and(Self { chunk: 0.0, turn: 3.0 + block.size as Time / 8.0 })
    }

    /// Of blocks in passes; `lines` are the bytes of the lines of the cache that they lie in.
    fn of_passes(blocks: &[Block], lines: usize) -> Option<Self> {
        if blocks.len() > Passes::MOST {
            return None;
        }
        let short = |block: &&Block| block.size <= Group::LONGEST;
        let pieces = blocks.iter().filter(short).map(|block| block.pieces().count()).sum::<usize>();
        // The more lines of the cache a turn is in, the more each group comes by.
        let more_lines = (lines / LINE).saturating_sub(2) as Time;
        let group = Self { chunk: 50.0, turn: 10.0 + 3.0 * more_lines };
        let groups = (0..pieces.div_ceil(4)).map(|_| group);
        let long = blocks.iter().filter(|block| !short(block)).map(Self::of_pass);
        Some(groups.chain(long).fold(Self::default(), Self::and))
    }

    /// Of blocks as moves.
    fn of_moves(blocks: &[Block]) -> Self {
        let mut sizes = [false; Moves::LONGEST + 1];
        let mut times = Self { chunk: 20.0, turn: 0.0 };
        for block in blocks {
            let mut time = 1.0 + Self::of_block(block.size).turn;
            if block.size > Moves::LONGEST {
                time += 10.0;
            } else if !std::mem::replace(&mut sizes[block.size], true) {
                times.chunk += 30.0;
                time += 10.0;
            }
            times.turn += time;
        }
        times
    }

    /// Returns the time that moves take in addition for blocks that are copied as two overlapping numbers.
    fn of_overlaps(blocks: &[Block]) -> Time {
        let is_two = |block: &&Block| block.size < 16 && !block.size.is_power_of_two();
        2.5 * blocks.iter().filter(is_two).count() as Time
    }

    /// Returns the time of `count` turns in passes, if there is no other loop around them.
    fn innermost(self, count: usize) -> Time {
        250.0 + self.chunk + self.turn * count as Time
    }

    /// Of several turns, within another loop of many.
    fn repeated(self, count: usize, size: usize) -> Self {
        if count >= TURNS || count * size >= CHUNK {
            return Self { chunk: 30.0, turn: 30.0 + self.chunk + self.turn * count as Time };
        }
        Self { chunk: 30.0 + self.chunk * count as Time, turn: self.turn * count as Time }
    }

    fn and(self, other: Self) -> Self {
        Self { chunk: self.chunk + other.chunk, turn: self.turn + other.turn }
    }

    /// Of one turn among as many as there are in a chunk.
    fn of_turn(self, size: usize) -> Time {
        self.chunk / (CHUNK / size.max(1)).clamp(1, TURNS) as Time + self.turn
    }
}

impl Node {
    /// Decides how this is run, and all that is within.
    pub fn prepare(&mut self) {
        self.decide();
        self.build();
    }

    /// Decides which way is the fastest, and says how long that takes.
    fn decide(&mut self) -> Times {
        if let Some(mut instead) = self.rotated() {
            let times = instead.node.decide();
            self.how.instead = Some(Box::new(instead));
            return times;
        }
        // An array of structs that is in no other loop.
        let mut by_itself = None;
        let (mut times, most) = match &mut self.kind {
            Kind::Block => return Times::of_block(self.size),
            Kind::Repeat { count, a: Places::Every(_), b: Places::Every(_), child } if child.is_block() => {
                let block = Times::of_block(child.size);
                (Times { turn: 15.0 + *count as Time * block.turn, ..block }, Moves::FEW)
            }
            Kind::Repeat { count, child, .. } if child.is_block() => {
                let Times { chunk, turn } = Times::of_block(child.size);
                (Times { chunk: 10.0, turn: chunk + *count as Time * (1.0 + turn) }, Moves::FEW)
            }
            Kind::Repeat { count, a, child, .. } => {
                let (size, is_list) = (child.size, matches!(a, Places::At(_)));
                let most = if is_list { Moves::MOST } else { Moves::FEW };
                let times = child.decide();
                if child.how.in_passes && !is_list {
                    by_itself = Some(times.innermost(*count));
                }
                (times.repeated(*count, size), most)
            }
            Kind::Blocks(blocks) => {
                (blocks.iter().map(Times::of_pass).fold(Times::default(), Times::and), Moves::MOST)
            }
            Kind::Buckets { buckets, child, .. } => {
                let (size, within) = (child.size, child.decide());
                let bucket = |bucket: &Bucket| within.repeated(bucket.count, size);
                (buckets.iter().map(bucket).fold(Times::default(), Times::and), Moves::MOST)
            }
            Kind::Sequence(parts) => {
                let parts = parts.iter_mut().map(|part| part.node.decide());
                (parts.fold(Times::default(), Times::and), Moves::FEW)
            }
        };
        self.how.most = most;
        let Some(blocks) = blocks(self, most) else { return times };
        self.how.lines = lines(&blocks);
        let size = self.size.max(self.how.lines / 3);
        if let Some(by_passes) = Times::of_passes(&blocks, self.how.lines)
            && by_passes.of_turn(size) < times.of_turn(size)
        {
            times = by_passes;
            self.how.in_passes = true;
        }
        if blocks.len() > Passes::MOST && self.how.lines > Moves::NEAR {
            return times;
        }
        let by_moves = Times::of_moves(&blocks);
        let once = by_moves.chunk + by_moves.turn + Times::of_overlaps(&blocks);
        if by_itself.is_some_and(|time| time < once) {
            return times;
        }
        if by_moves.of_turn(size) <= times.of_turn(size) {
            (self.how.in_passes, self.how.turns_of_moves) = (false, usize::MAX);
            return by_moves;
        }
        let turns = ((times.chunk - by_moves.chunk) / (by_moves.turn - times.turn).max(0.1)) as usize;
        self.how.turns_of_moves = turns.max(usize::from(blocks.len() <= Passes::MOST));
        times
    }

    /// Lists what has been decided to be listed.
    fn build(&mut self) {
        if let Some(instead) = &mut self.how.instead {
            return instead.node.build();
        }
        if self.how.turns_of_moves > 0
            && let Some(blocks) = blocks(self, self.how.most)
        {
            self.how.moves = Moves::of(&blocks);
            if self.how.in_passes {
                self.how.passes = Passes::of(&blocks);
            }
        }
        if self.how.turns_of_moves == usize::MAX && self.how.moves.is_some() {
            return;
        }
        match &mut self.kind {
            Kind::Block | Kind::Blocks(_) => {}
            Kind::Repeat { child, .. } | Kind::Buckets { child, .. } => child.build(),
            Kind::Sequence(parts) => parts.iter_mut().for_each(|part| part.node.build()),
        }
    }

    /// Of a loop around blocks, the last of which touches the first of the next turn: the same with those two
    /// as one block.
    fn rotated(&self) -> Option<Placed> {
        let Kind::Repeat { count: count @ 4.., a: Places::Every(a), b: Places::Every(b), child } = &self.kind
        else {
            return None;
        };
        let Kind::Blocks(blocks) = &child.kind else { return None };
        let [first, rest @ ..] = &blocks[..] else { return None };
        let last = rest.last()?;
        let next = Block { a: first.a.wrapping_add(*a), b: first.b.wrapping_add(*b), ..*first };
        if !last.is_continued_by(&next) {
            return None;
        }
        let mut turn = rest.to_vec();
        turn.last_mut()?.size += first.size;
        let parts = |blocks: &[Block]| blocks.iter().map(Block::parts).sum::<usize>();
        if parts(&turn) >= parts(blocks) {
            return None;
        }
        let turns = *count as isize - 1;
        Some(Placed::sequence(vec![
            Placed::block(first.size).moved(first.a, first.b),
            Placed::blocks(turn).repeated(*count - 1, *a, *b),
            Placed::blocks(rest.to_vec()).moved(turns.wrapping_mul(*a), turns.wrapping_mul(*b)),
        ]))
    }
}
