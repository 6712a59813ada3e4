//! Strategies: decide how a node is run, once, before the first run.
//!
//! A node of small blocks can be copied in three ways:
//! - by its own loops, each with a kernel;
//! - in *passes*: block by block, each in all iterations of the loop around the node, so that these
//!   iterations share the cost of a kernel call;
//! - as *moves*: iteration by iteration, from a list of all blocks, or of all records if the node repeats
//!   one. No short block needs a call, but the offsets of each block are read from memory.
//!
//! The fastest way depends on the blocks and on the number of iterations. It is estimated here.

use super::{
    moves::{Lists, Moves, sizes},
    node::{Bucket, Kind, Node, Placed, Places, Visit},
    passes::{Group, Passes, groups},
    records::{Record, Records},
    sides::{CHUNK, Span, TURNS},
};

/// Returns the blocks of a node, with adjacent blocks merged; `None` if there are more than `most`.
fn blocks(node: &Node, most: usize) -> Option<Vec<Span>> {
    let mut all: Vec<Span> = Vec::new();
    let mut add = |(a, b): (isize, isize), block: &Span| {
        let block = Span { a: a.wrapping_add(block.a), b: b.wrapping_add(block.b), ..*block };
        match all.last_mut() {
            Some(last) if last.is_continued_by(&block) => last.size += block.size,
            _ => all.push(block),
        }
        all.len() <= most
    };
    node.visit((0, 0), &mut |node, at| {
        let is_whole = match &node.kind {
            Kind::Block => add(at, &Span { a: 0, b: 0, size: node.size }),
            Kind::Blocks(own) => own.iter().all(|block| add(at, block)),
            _ => return Visit::Within,
        };
        if is_whole { Visit::Beyond } else { Visit::Stop }
    })?;
    Some(all)
}

/// Returns the record of which a node consists, and the offsets of its copies on side `a`, relative to the
/// node. Returns `None` if the node has other parts too, or more than `most` records, or if the records do
/// not follow one another on side `b`.
fn records(node: &Node, most: usize) -> Option<(Record, Vec<isize>)> {
    let (mut found, mut places) = (None, Vec::new());
    node.visit((0, 0), &mut |node, (a, b)| {
        let record = match &node.kind {
            Kind::Block => None,
            Kind::Blocks(blocks) => Record::of(blocks.iter().copied()),
            Kind::Repeat { count, a, b, child } if child.is_block() => {
                Record::of((0..*count).map(|i| Span { a: a.nth(i), b: b.nth(i), size: child.size }))
            }
            _ => return Visit::Within,
        };
        let follows = |record: &Record| b == places.len() as isize * record.size();
        let Some(record) = record.filter(follows).filter(|_| places.len() < most) else { return Visit::Stop };
        if found.is_some_and(|found| found != record) {
            return Visit::Stop;
        }
        found = Some(record);
        places.push(a);
        Visit::Beyond
    })?;
    found.filter(|_| places.len() > 1).map(|record| (record, places))
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

/// Returns a number of bytes in cache lines.
fn in_lines(bytes: usize) -> Time {
    bytes as Time / LINE as Time
}

/// Returns the expected number of cache lines that some pieces touch on side `a`, one piece after the other.
fn visits(pieces: &[Span]) -> Time {
    let apart = |pair: &[Span]| pair[1].a.abs_diff(pair[0].a).min(LINE) as Time / LINE as Time;
    1.0 + pieces.windows(2).map(apart).sum::<Time>()
}

/// The size of a cache line in bytes.
const LINE: usize = 64;

/// The size in bytes of memory that stays in the first-level cache.
const NEAREST: usize = 48 << 10;

/// Returns `true` if blocks touch so many cache lines, `lines` bytes of them, that they are best copied in
/// order.
fn is_far(blocks: &[Span], lines: usize) -> bool {
    // Long blocks of many sizes would be cut.
    let are_cut = || {
        let size: usize = blocks.iter().map(|block| block.size).sum();
        size > LINE * blocks.len() && sizes(blocks).into_iter().max() < Some(blocks.len() / 4)
    };
    lines > Moves::NEAR || lines > Moves::NEAR / 4 && are_cut()
}

/// The loops around a node.
#[derive(Clone, Copy)]
struct Outer {
    /// The number of iterations of all of them together.
    runs: usize,
    /// `true` if the innermost one is a list.
    is_list: bool,
}

impl Outer {
    /// Returns the loops around the child of a loop of `count` iterations.
    fn with(self, count: usize, is_list: bool) -> Self {
        Self { runs: self.runs.saturating_mul(count), is_list }
    }
}

/// An estimated time, in tenths of a nanosecond.
type Time = f32;

/// The estimate of a node's own loops.
struct Own {
    /// Their times.
    times: Times,
    /// The largest number of blocks for which other ways are tried.
    most: usize,
    /// The time in passes of an array of structs that is in no other loop.
    by_itself: Option<Time>,
}

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
    /// The time in which a cache line is fetched again that another pass or list has used. It is the mean of
    /// packing, which waits for no line, and of unpacking, whose writes wait for one another.
    const VISIT: Time = 10.0;

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
    /// the cache lines that the blocks touch, and `visit` the time in which one is fetched again.
    fn of_passes(blocks: &[Span], lines: usize, visit: Time) -> Option<Self> {
        if blocks.len() > Passes::MOST {
            return None;
        }
        let short = |block: &&Span| block.size <= Group::LONGEST;
        let pieces: Vec<_> = blocks.iter().filter(short).flat_map(Span::pieces).collect();
        let visits: Time = groups(&pieces).map(visits).sum();
        let again = Self { chunk: 0.0, turn: visit * (visits - in_lines(lines)).max(0.0) };
        // The more cache lines an iteration spans, the more cache lines each group visits.
        let more_lines = (in_lines(lines) - 2.0).max(0.0);
        let group =
            |pieces: &[Span]| Self { chunk: 50.0, turn: 4.0 + 1.5 * pieces.len() as Time + 3.0 * more_lines };
        let long = blocks.iter().filter(|block| !short(block)).map(Self::of_pass);
        Some(groups(&pieces).map(group).chain(long).fold(again, Self::and))
    }

    /// Returns the times of blocks as lists of moves. `lines` and `visit` are those of
    /// [`of_passes`](Self::of_passes).
    fn of_lists(blocks: &[Span], lines: usize, visit: Time) -> Self {
        let sizes = sizes(blocks);
        // A list visits lines that another one has visited, unless nearly all blocks are in one list.
        let is_one = sizes.iter().any(|count| 4 * count >= 3 * blocks.len());
        let visits = sizes.iter().map(|count| (*count as Time).min(in_lines(lines))).sum::<Time>();
        let again = if is_one { 0.0 } else { (visits - in_lines(lines)).max(0.0) };
        let mut times = Self { chunk: 20.0, turn: visit * again };
        for (size, count) in sizes.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            times.turn += 10.0;
            if size <= Moves::LONGEST {
                times.chunk += 30.0;
                times.turn += count as Time * (1.0 + Self::of_block(size).turn);
            }
        }
        let long = blocks.iter().filter(|block| block.size > Moves::LONGEST);
        times.turn += long.map(|block| 11.0 + Self::of_block(block.size).turn).sum::<Time>();
        times
    }

    /// Returns the times of `count` records as moves.
    fn of_records(record: &Record, count: usize) -> Self {
        let pieces = record.pieces().count() as Time;
        Self { chunk: Self::CALL, turn: 20.0 + count as Time * (2.0 + 2.0 * pieces) }
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
        self.decide(Outer { runs: 1, is_list: false });
        self.build();
    }

    /// Decides which way is the fastest, and returns its times.
    fn decide(&mut self, outer: Outer) -> Times {
        self.strategy.runs = outer.runs;
        if let Some(mut instead) = self.rotated() {
            let times = instead.node.decide(outer);
            self.strategy.instead = Some(Box::new(instead));
            return times;
        }
        let Own { mut times, most, by_itself } = self.decide_own(outer);
        self.strategy.most = most;
        let Some(blocks) = blocks(self, most) else { return times };
        let lines = lines(&blocks);
        self.strategy.lines = lines;
        let size = self.size.max(lines / 3);
        let visit = if outer.runs.saturating_mul(lines) > NEAREST { Times::VISIT } else { 0.0 };
        times.turn += visit * (self.visits() - in_lines(lines)).max(0.0);
        if let Some(by_passes) = Times::of_passes(&blocks, lines, visit)
            && by_passes.of_turn(size) < times.of_turn(size)
        {
            times = by_passes;
            self.strategy.in_passes = true;
        }
        if blocks.len() > Passes::MOST && is_far(&blocks, lines) {
            return times;
        }
        let mut by_moves = Times::of_lists(&blocks, lines, visit);
        let overlaps = Times::of_overlaps(&blocks);
        if let Some((record, places)) = records(self, most) {
            let by_records = Times::of_records(&record, places.len());
            // The lists are preferred only if they are clearly faster: their writes are out of order.
            let ahead = 1.1 * (by_moves.of_turn(size) + 0.4 * overlaps);
            self.strategy.in_records = by_records.of_turn(size) < ahead;
            if self.strategy.in_records {
                by_moves = by_records;
            }
        }
        let once = by_moves.chunk + by_moves.turn + overlaps;
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

    /// Decides the strategies of the nodes within, and returns the times of this node's own loops.
    fn decide_own(&mut self, outer: Outer) -> Own {
        let mut by_itself = None;
        let (times, most) = match &mut self.kind {
            Kind::Block => (Times::of_block(self.size), 0),
            Kind::Repeat { count, a: Places::Every(_), b: Places::Every(_), child } if child.is_block() => {
                let block = Times::of_block(child.size);
                // If the loop around is a list, each of its iterations is a call.
                let begin = if outer.is_list { Times::CALL } else { 15.0 };
                (Times { turn: begin + *count as Time * block.turn, ..block }, Moves::FEW)
            }
            Kind::Repeat { count, child, .. } if child.is_block() => {
                let Times { chunk, turn } = Times::of_block(child.size);
                (Times { chunk: 10.0, turn: chunk + *count as Time * (1.0 + turn) }, Moves::FEW)
            }
            Kind::Repeat { count, a, child, .. } => {
                let (size, is_list) = (child.size, matches!(a, Places::At(_)));
                let most = if is_list { Moves::MOST } else { Moves::FEW };
                let times = child.decide(outer.with(*count, is_list));
                if child.strategy.in_passes && !is_list {
                    by_itself = Some(times.innermost(*count));
                }
                (times.repeated(*count, size), most)
            }
            Kind::Blocks(blocks) => {
                (blocks.iter().map(Times::of_pass).fold(Times::default(), Times::and), Moves::MOST)
            }
            Kind::Buckets { buckets, child, .. } => {
                let (size, count) = (child.size, buckets.iter().map(|bucket| bucket.count).sum());
                let within = child.decide(outer.with(count, outer.is_list));
                let bucket = |bucket: &Bucket| within.repeated(bucket.count, size);
                (buckets.iter().map(bucket).fold(Times::default(), Times::and), Moves::MOST)
            }
            Kind::Sequence(parts) => {
                let parts = parts.iter_mut().map(|part| part.node.decide(outer));
                (parts.fold(Times::default(), Times::and), Moves::FEW)
            }
        };
        Own { times, most, by_itself }
    }

    /// Returns the number of cache lines that the node's own loops visit, each part of the node in all
    /// iterations of the loop around before the next part.
    fn visits(&self) -> Time {
        let within = |node: &Self, count: usize| count as Time * in_lines(node.strategy.lines.max(node.size));
        match &self.kind {
            Kind::Repeat { count, child, .. } if !child.is_block() => within(child, *count),
            Kind::Buckets { buckets, child, .. } => {
                within(child, buckets.iter().map(|bucket| bucket.count).sum())
            }
            Kind::Sequence(parts) => parts.iter().map(|part| within(&part.node, 1)).sum(),
            Kind::Blocks(blocks) => blocks.iter().map(|block| 1.0 + in_lines(block.size)).sum(),
            Kind::Block | Kind::Repeat { .. } => 0.0,
        }
    }

    /// Builds the lists of blocks that `decide` has chosen.
    fn build(&mut self) {
        if let Some(instead) = &mut self.strategy.instead {
            return instead.node.build();
        }
        if self.strategy.turns_of_moves > 0
            && let Some(blocks) = blocks(self, self.strategy.most)
        {
            let found = self.strategy.in_records.then(|| records(self, self.strategy.most)).flatten();
            self.strategy.moves = match found {
                Some((record, places)) => Some(Moves::Records(Box::new(Records::of(&record, places)))),
                None => Lists::of(&blocks, self.strategy.runs, self.strategy.lines).map(Moves::Blocks),
            };
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
