//! Transpacking: copies directly from one layout into another.

use super::{
    node::{Bucket, Bytes, Kind, Node, Placed, Places, Turns, overlapping},
    plan::Plan,
    run::run,
    sides::{Packing, Sides, Span},
};
use dtype_core::gcd;

use crate::Error;

/// A copy from one layout into another with the same base types, without packed bytes in between. It is
/// prepared once for two plans and their numbers of copies.
///
/// Both plans are walked together. Loops whose iterations have equally many bytes become one loop over two
/// memories. All other parts are cut where a part of either side begins.
#[derive(Clone, Debug)]
pub struct Transpack {
    from: (Plan, usize),
    to: (Plan, usize),
    part: Placed,
}

impl Transpack {
    /// Prepares the transfer from `copies` copies of one plan to `to_copies` copies of another.
    ///
    /// # Errors
    /// [`Error::Length`] if the sides have different numbers of bytes, [`Error::Signature`] if a value has
    /// another base type, and [`Error::Tree`] if a number of bytes overflows.
    pub fn new(from: &Plan, copies: usize, to: &Plan, to_copies: usize) -> Result<Self, Error> {
        let found = from.checked_size(copies)?;
        Error::unless_exactly("the destination", to.checked_size(to_copies)?, found)?;
        from.same_signature(to, found)?;
        let side = |plan: &Plan, copies: usize| {
            plan.compiled().part.clone().repeated(copies, plan.extent(), plan.packed_size() as isize)
        };
        let mut part = joined(&side(from, copies), &side(to, to_copies));
        part.node.prepare();
        Ok(Self { from: (from.clone(), copies), to: (to.clone(), to_copies), part })
    }

    /// Returns `true` if the copy was prepared for these plans and counts.
    pub(crate) fn is_for(&self, from: (&Plan, usize), to: (&Plan, usize)) -> bool {
        let same = |made: &(Plan, usize), (plan, count): (&Plan, usize)| made.0.is(plan) && made.1 == count;
        same(&self.from, from) && same(&self.to, to)
    }

    /// Copies all blocks.
    ///
    /// # Safety
    /// Conditions 1 to 3 of [`Direction::copy`](super::sides::Direction::copy) hold for the blocks of the two
    /// plans. `sides` has the address of displacement 0 of each plan.
    pub(crate) unsafe fn run(&self, sides: Sides) {
        let sides = sides.at(self.part.a, self.part.b);
        // SAFETY: the caller guarantees 1 to 3: the node joins the blocks of the two plans.
        unsafe { run::<Packing>(&self.part.node, sides) };
    }
}

/// Returns the copy from one part to another of the same size. Side `b` of both parts is packed; side `b` of
/// the result is the memory of `to`.
fn joined(from: &Placed, to: &Placed) -> Placed {
    join(&from.node, &to.node).moved(from.a, to.a)
}

fn join(from: &Node, to: &Node) -> Placed {
    match (&from.kind, &to.kind) {
        // One of the two memories is contiguous, as packed bytes are.
        (_, Kind::Block) => from.clone().at(0, 0),
        (Kind::Block, _) => swapped(to).at(0, 0),
        (
            Kind::Repeat { count, a, child, .. },
            Kind::Repeat { count: to_count, a: b, child: to_child, .. },
        ) => join_loops((*count, a, child), (*to_count, b, to_child)).unwrap_or_else(|| {
            if child.size >= to_child.size { cut_at(from, to) } else { flipped(to, from) }
        }),
        (Kind::Repeat { .. }, _) => flipped(to, from),
        _ => cut_at(from, to),
    }
}

/// Returns one loop over two memories, if two loops can be joined.
fn join_loops(from: (usize, &Places, &Node), to: (usize, &Places, &Node)) -> Option<Placed> {
    let ((count, a, child), (to_count, b, to_child)) = (from, to);
    if count == to_count {
        let Placed { a: at_a, b: at_b, node } = join(child, to_child);
        return Some(match (a, b) {
            (Places::Every(a), Places::Every(b)) => node.at(at_a, at_b).repeated(count, *a, *b),
            _ => Node::repeat(count, a.clone(), b.clone(), Box::new(node)).at(at_a, at_b),
        });
    }
    // An iteration of the joined loop: the fewest iterations of each loop that have equally many bytes.
    let (Places::Every(a), Places::Every(b)) = (a, b) else { return None };
    let common = child.size / gcd(child.size, to_child.size) * to_child.size;
    let (turns, to_turns) = (common / child.size, common / to_child.size);
    if turns == count {
        return None;
    }
    let some = |child: &Node, turns: usize, stride: isize| {
        child.clone().at(0, 0).repeated(turns, stride, child.size as isize)
    };
    let turn = joined(&some(child, turns, *a), &some(to_child, to_turns, *b));
    Some(turn.repeated(count / turns, a * turns as isize, b * to_turns as isize))
}

/// Joins each part of `from` with the bytes of `to` that belong to it.
fn cut_at(from: &Node, to: &Node) -> Placed {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut add = |a: isize, node: &Node| {
        parts.push(join_part(node, to, start).moved(a, 0));
        start += node.size;
    };
    match &from.kind {
        Kind::Block => add(0, from),
        Kind::Repeat { count, a, child, .. } => (0..*count).for_each(|i| add(a.nth(i), child)),
        Kind::Blocks(blocks) => blocks.iter().for_each(|Span { a, size, .. }| {
            add(*a, &Placed::block(*size).node);
        }),
        Kind::Buckets { a, buckets, child, .. } => buckets.iter().for_each(|bucket| {
            let turns = slice_turns(child, a, &(0..bucket.count * child.size));
            add(bucket.a.wrapping_add(turns.a), &turns.node);
        }),
        Kind::Sequence(all) => all.iter().for_each(|part| add(part.a, &part.node)),
    }
    Placed::sequence(parts)
}

/// Joins a part with the bytes of `to` from `start` on.
fn join_part(part: &Node, to: &Node, start: usize) -> Placed {
    let join_bytes = |bytes: Bytes| {
        joined(&slice(part, bytes.clone()), &slice(to, start + bytes.start..start + bytes.end))
    };
    let (Kind::Repeat { a, child, .. }, Kind::Repeat { a: b, child: to_child, .. }) = (&part.kind, &to.kind)
    else {
        return join_bytes(0..part.size);
    };
    let (size, to_size) = (child.size, to_child.size);
    if start % to_size == 0 && part.size % to_size == 0 {
        return join_bytes(0..part.size);
    }
    // The iterations of one loop begin within iterations of the other. After each `common` bytes, both loops
    // are again at the same byte of an iteration.
    let common = (size / gcd(size, to_size)).saturating_mul(to_size);
    let again = part.size / common;
    if let (Places::Every(a), Places::Every(b), 2..) = (a, b, again) {
        let (turns, to_turns) = ((common / size) as isize, (common / to_size) as isize);
        let all = join_bytes(0..common).repeated(again, a.wrapping_mul(turns), b.wrapping_mul(to_turns));
        return Placed::sequence(vec![all, join_bytes(again * common..part.size)]);
    }
    // Cuts where the larger iterations begin.
    let first = if size < to_size { to_size - start % to_size } else { size };
    let cuts = (first..part.size).step_by(size.max(to_size));
    let ends = cuts.clone().chain([part.size]);
    Placed::sequence(
        [0].into_iter().chain(cuts).zip(ends).map(|(begin, end)| join_bytes(begin..end)).collect(),
    )
}

/// Joins like [`cut_at`], and exchanges the sides of the result.
fn flipped(from: &Node, to: &Node) -> Placed {
    let Placed { a, b, node } = cut_at(from, to);
    swapped(&node).at(b, a)
}

/// Returns a node with its sides exchanged.
fn swapped(node: &Node) -> Node {
    let kind = match &node.kind {
        Kind::Block => Kind::Block,
        Kind::Repeat { count, a, b, child } => {
            Kind::Repeat { count: *count, a: b.clone(), b: a.clone(), child: Box::new(swapped(child)) }
        }
        Kind::Blocks(blocks) => {
            let swap = |block: &Span| Span { a: block.b, b: block.a, ..*block };
            Kind::Blocks(blocks.iter().map(swap).collect())
        }
        Kind::Buckets { a, b, buckets, child } => Kind::Buckets {
            a: b.clone(),
            b: a.clone(),
            buckets: buckets.iter().map(|bucket| Bucket { a: bucket.b, b: bucket.a, ..*bucket }).collect(),
            child: Box::new(swapped(child)),
        },
        Kind::Sequence(parts) => {
            Kind::Sequence(parts.iter().map(|part| swapped(&part.node).at(part.b, part.a)).collect())
        }
    };
    Node::new(node.size, kind)
}

/// Returns a range of bytes of a node whose side `b` is packed. On side `b`, the result begins at 0.
fn slice(node: &Node, bytes: Bytes) -> Placed {
    if bytes == (0..node.size) {
        return node.clone().at(0, 0);
    }
    let start = bytes.start;
    match &node.kind {
        Kind::Block => Placed::block(bytes.len()).moved(start as isize, 0),
        Kind::Repeat { a, child, .. } => slice_turns(child, a, &bytes),
        Kind::Blocks(blocks) => Placed::blocks(
            overlapping(blocks, Span::packed, bytes)
                .map(|(block, bytes)| {
                    let at = bytes.start as isize;
                    Span { a: block.a.wrapping_add(at), b: block.b + at - start as isize, size: bytes.len() }
                })
                .collect(),
        ),
        Kind::Buckets { a, buckets, child, .. } => in_a_row(
            overlapping(buckets, |bucket| bucket.packed(child.size), bytes)
                .map(|(bucket, bytes)| slice_turns(child, a, &bytes).moved(bucket.a, 0)),
        ),
        Kind::Sequence(parts) => in_a_row(
            overlapping(parts, Placed::packed, bytes)
                .map(|(part, bytes)| slice(&part.node, bytes).moved(part.a, 0)),
        ),
    }
}

/// Returns a range of bytes of a loop. On side `b`, the result begins at 0.
fn slice_turns(child: &Node, places: &Places, bytes: &Bytes) -> Placed {
    let Turns { head, whole, tail } = Turns::of(child.size, bytes);
    let some = |(i, bytes): (usize, Bytes)| slice(child, bytes).moved(places.nth(i), 0);
    let (all, size) = (child.clone().at(0, 0), child.size as isize);
    let middle = match places {
        Places::Every(stride) => all.repeated(whole.len(), *stride, size).moved(places.nth(whole.start), 0),
        Places::At(offsets) => all.listed(&offsets[whole], size),
    };
    in_a_row(head.map(some).into_iter().chain([middle]).chain(tail.map(some)))
}

/// Returns the parts as one part, in which they follow one another on side `b`. Each given part begins at
/// offset 0 of side `b`.
fn in_a_row(parts: impl Iterator<Item = Placed>) -> Placed {
    let mut size = 0;
    let placed = parts.map(|part| {
        let at = size;
        size += part.node.size as isize;
        part.moved(0, at)
    });
    Placed::sequence(placed.collect())
}
