//! Strategies: decide how a node is run, once, before the first run.
//!
//! A node of small blocks can be copied in three ways:
//! - by its own loops, each with a kernel;
//! - in *passes*: block by block, each in all iterations of the loop around the node, so that these
//!   iterations share the cost of a kernel call;
//! - as *moves*: iteration by iteration, from a list of all blocks. No short block needs a call, but the
//!   offsets of each block are read from memory.
//!
//! The fastest way depends on the blocks and on the number of iterations. It is estimated here.

use super::{
    moves::Moves,
    node::{Bucket, Kind, Node, Placed, Places},
    passes::{Group, Passes},
    sides::{CHUNK, Span, TURNS},
};

/// Returns the blocks of a node, with adjacent blocks merged; `None` if there are more than `most`.
fn blocks(node: &Node, most: usize) -> Option<Vec<Span>> {
    let mut all = Vec::new();
    collect(node, (0, 0), most, &mut all)?;
    Some(all)
}

fn collect(node: &Node, at: (isize, isize), most: usize, all: &mut Vec<Span>) -> Option<()> {
    let add = |all: &mut Vec<Span>, a: isize, b: isize, size: usize| {
        let block = Span { a: at.0.wrapping_add(a), b: at.1.wrapping_add(b), size };
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

/// Returns the size in bytes of the cache lines that blocks touch on side `a`.
fn lines(blocks: &[Span]) -> usize {
    let (mut lines, mut last) = (0usize, None);
    let line = |at: isize| at.div_euclid(LINE as isize);
    for block in blocks {
        // The offsets of a layout may have wrapped around. Then the result is arbitrary, but only the speed
        // depends on it.
        let (first, end) = (line(block.a), line(block.a.wrapping_add(block.size as isize - 1)));
        lines = lines.saturating_add(end.abs_diff(first) + usize::from(last != Some(first)));
        last = Some(end);
    }
    lines.saturating_mul(LINE)
}

/// The size of a cache line in bytes.
const LINE: usize = 64;

/// An estimated time, in tenths of a nanosecond.
type Time = f32;

/// The time that running a node takes.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    /// The time for each chunk of iterations.
    chunk: Time,
    /// The time for each iteration.
    turn: Time,
}

impl Times {
    const CALL: Time = 60.0;

    /// Returns the times of a block that a kernel copies.
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

    /// Returns the times of one of several blocks, each of which is copied in all iterations before the next
    /// block. Its writes leave gaps for the other blocks.
    fn of_pass(block: &Span) -> Self {
        Self::of_block(block.size).and(Self { chunk: 0.0, turn: 3.0 + block.size as Time / 8.0 })
    }

    /// Returns the times of blocks in passes; `None` if there are too many. `lines` is the size in bytes of
    /// the cache lines that the blocks touch.
    fn of_passes(blocks: &[Span], lines: usize) -> Option<Self> {
        if blocks.len() > Passes::MOST {
            return None;
        }
        let short = |block: &&Span| block.size <= Group::LONGEST;
        let pieces = blocks.iter().filter(short).map(|block| block.pieces().count()).sum::<usize>();
        // The more cache lines an iteration spans, the more cache lines each group visits.
        let more_lines = (lines / LINE).saturating_sub(2) as Time;
        let group = Self { chunk: 50.0, turn: 10.0 + 3.0 * more_lines };
        let groups = (0..pieces.div_ceil(4)).map(|_| group);
        let long = blocks.iter().filter(|block| !short(block)).map(Self::of_pass);
        Some(groups.chain(long).fold(Self::default(), Self::and))
    }

    /// Returns the times of blocks as moves.
    fn of_moves(blocks: &[Span]) -> Self {
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

    /// Returns the additional time that moves take for blocks that are copied as two numbers.
    fn of_overlaps(blocks: &[Span]) -> Time {
        let is_two = |block: &&Span| block.size < 16 && !block.size.is_power_of_two();
        2.5 * blocks.iter().filter(is_two).count() as Time
    }

    /// Returns the time of `count` iterations in passes, if there is no other loop around them.
    fn innermost(self, count: usize) -> Time {
        250.0 + self.chunk + self.turn * count as Time
    }

    /// Returns the times of `count` iterations of `size` bytes each, within another loop of many iterations.
    fn repeated(self, count: usize, size: usize) -> Self {
        if count >= TURNS || count * size >= CHUNK {
            return Self { chunk: 30.0, turn: 30.0 + self.chunk + self.turn * count as Time };
        }
        Self { chunk: 30.0 + self.chunk * count as Time, turn: self.turn * count as Time }
    }

    fn and(self, other: Self) -> Self {
        Self { chunk: self.chunk + other.chunk, turn: self.turn + other.turn }
    }

    /// Returns the time of one iteration in a full chunk.
    fn of_turn(self, size: usize) -> Time {
        self.chunk / (CHUNK / size.max(1)).clamp(1, TURNS) as Time + self.turn
    }
}

impl Node {
    /// Decides the strategies of this node and of all nodes within.
    pub fn prepare(&mut self) {
        self.decide();
        self.build();
    }

    /// Decides which way is the fastest, and returns its times.
    fn decide(&mut self) -> Times {
        if let Some(mut instead) = self.rotated() {
            let times = instead.node.decide();
            self.strategy.instead = Some(Box::new(instead));
            return times;
        }
        // The time in passes of an array of structs that is in no other loop.
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
                if child.strategy.in_passes && !is_list {
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
        self.strategy.most = most;
        let Some(blocks) = blocks(self, most) else { return times };
        self.strategy.lines = lines(&blocks);
        let size = self.size.max(self.strategy.lines / 3);
        if let Some(by_passes) = Times::of_passes(&blocks, self.strategy.lines)
            && by_passes.of_turn(size) < times.of_turn(size)
        {
            times = by_passes;
            self.strategy.in_passes = true;
        }
        if blocks.len() > Passes::MOST && self.strategy.lines > Moves::NEAR {
            return times;
        }
        let by_moves = Times::of_moves(&blocks);
        let once = by_moves.chunk + by_moves.turn + Times::of_overlaps(&blocks);
        if by_itself.is_some_and(|time| time < once) {
            return times;
        }
        if by_moves.of_turn(size) <= times.of_turn(size) {
            (self.strategy.in_passes, self.strategy.turns_of_moves) = (false, usize::MAX);
            return by_moves;
        }
        let turns = ((times.chunk - by_moves.chunk) / (by_moves.turn - times.turn).max(0.1)) as usize;
        self.strategy.turns_of_moves = turns.max(usize::from(blocks.len() <= Passes::MOST));
        times
    }

    /// Builds the lists of blocks that `decide` has chosen.
    fn build(&mut self) {
        if let Some(instead) = &mut self.strategy.instead {
            return instead.node.build();
        }
        if self.strategy.turns_of_moves > 0
            && let Some(blocks) = blocks(self, self.strategy.most)
        {
            self.strategy.moves = Moves::of(&blocks);
            if self.strategy.in_passes {
                self.strategy.passes = Passes::of(&blocks);
            }
        }
        if self.strategy.turns_of_moves == usize::MAX && self.strategy.moves.is_some() {
            return;
        }
        match &mut self.kind {
            Kind::Block | Kind::Blocks(_) => {}
            Kind::Repeat { child, .. } | Kind::Buckets { child, .. } => child.build(),
            Kind::Sequence(parts) => parts.iter_mut().for_each(|part| part.node.build()),
        }
    }

    /// Returns this loop over blocks with the last block of an iteration merged with the first block of the
    /// next. Returns `None` if the node has another form, if the two blocks are not adjacent, or if the
    /// merged loop does not need fewer loads and stores.
    fn rotated(&self) -> Option<Placed> {
        let Kind::Repeat { count: count @ 4.., a: Places::Every(a), b: Places::Every(b), child } = &self.kind
        else {
            return None;
        };
        let Kind::Blocks(blocks) = &child.kind else { return None };
        let [first, rest @ ..] = &blocks[..] else { return None };
        let last = rest.last()?;
        let next = Span { a: first.a.wrapping_add(*a), b: first.b.wrapping_add(*b), ..*first };
        if !last.is_continued_by(&next) {
            return None;
        }
        let mut turn = rest.to_vec();
        turn.last_mut()?.size += first.size;
        let parts = |blocks: &[Span]| blocks.iter().map(Span::parts).sum::<usize>();
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
