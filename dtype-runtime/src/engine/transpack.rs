//! Transpacking: from one layout straight into another.

use super::{
    node::{Bucket, Bytes, Kind, Node, Placed, Places, Turns, overlapping},
    plan::Plan,
    run::run,
    sides::{Block, Packing, Sides},
};
use dtype_core::gcd;

use crate::Error;

/// Copies from one layout into another with the same base types, without packed bytes in between. It is
/// worked out once, for two plans and their numbers of copies.
///
/// Both plans are walked together: loops whose turns have as many bytes become one loop over two memories,
/// and what is left is cut where either side has a border.
#[derive(Clone, Debug)]
pub struct Transpack {
    from: (Plan, usize),
    to: (Plan, usize),
    part: Placed,
}

impl Transpack {
    /// Prepares copying from some copies of one plan to some of another.
    ///
    /// # Errors
    /// [`Error::Length`] where one of both has more bytes, and [`Error::Signature`] where a value is of
    /// another base type.
    pub fn new(from: &Plan, copies: usize, to: &Plan, to_copies: usize) -> Result<Self, Error> {
        let (a, b) = (from.compiled(), to.compiled());
        let size =
            |one: usize, copies: usize| one.checked_mul(copies).filter(|all| isize::try_from(*all).is_ok());
        let (Some(found), Some(expected)) =
            (size(a.signature.size, copies), size(b.signature.size, to_copies))
        else {
            return Err(dtype_core::Error::Overflow { node: "layout" }.into());
        };
        Error::unless_exactly("the destination", expected, found)?;
        if let Some((byte, from, to)) = a.signature.difference(&b.signature, found) {
            return Err(Error::Signature { byte, from, to });
        }
        let side =
            |part: &Placed, copies, extent| part.clone().repeated(copies, extent, part.node.size as isize);
        let mut part = joined(&side(&a.part, copies, from.extent()), &side(&b.part, to_copies, to.extent()));
        part.node.prepare();
        Ok(Self { from: (from.clone(), copies), to: (to.clone(), to_copies), part })
    }

    /// Whether it was made for these plans and counts.
    pub(crate) fn is_for(&self, from: (&Plan, usize), to: (&Plan, usize)) -> bool {
        let same = |made: &(Plan, usize), (plan, count): (&Plan, usize)| made.0.is(plan) && made.1 == count;
        same(&self.from, from) && same(&self.to, to)
    }

    /// Copies.
    ///
    /// # Safety
    /// 1 to 3 of [`Direction::copy`](super::sides::Direction::copy), for the blocks of the two plans, whose
    /// displacement 0 is at `sides`.
    pub(crate) unsafe fn run(&self, sides: Sides) {
        let sides = sides.at(self.part.a, self.part.b);
        // SAFETY: 1 to 3 are those of the caller: the node joins the blocks of the two plans.
        unsafe { run::<Packing>(&self.part.node, sides) };
    }
}

/// What leads from one part to another with as many bytes. Of each the side `b` is packed; that of both
/// together is the memory of `to`.
fn joined(from: &Placed, to: &Placed) -> Placed {
    join(&from.node, &to.node).moved(from.a, to.a)
}

fn join(from: &Node, to: &Node) -> Placed {
    match (&from.kind, &to.kind) {
        // One of both memories is as contiguous as packed bytes are.
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

/// One loop over two memories.
fn join_loops(from: (usize, &Places, &Node), to: (usize, &Places, &Node)) -> Option<Placed> {
    let ((count, a, child), (to_count, b, to_child)) = (from, to);
    if count == to_count {
        let Placed { a: at_a, b: at_b, node } = join(child, to_child);
        return Some(match (a, b) {
            (Places::Every(a), Places::Every(b)) => node.at(at_a, at_b).repeated(count, *a, *b),
            _ => Node::repeat(count, a.clone(), b.clone(), Box::new(node)).at(at_a, at_b),
        });
    }
    // As many turns of each as have the same bytes: a turn of the loop over both.
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

/// Each part of `from` with what belongs to it of `to`.
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
        Kind::Blocks(blocks) => blocks.iter().for_each(|Block { a, size, .. }| {
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
    // The turns of one begin within those of the other. Again and again both are at the same bytes of a turn.
    let common = (size / gcd(size, to_size)).saturating_mul(to_size);
    let again = part.size / common;
    if let (Places::Every(a), Places::Every(b), 2..) = (a, b, again) {
        let (turns, to_turns) = ((common / size) as isize, (common / to_size) as isize);
        let all = join_bytes(0..common).repeated(again, a.wrapping_mul(turns), b.wrapping_mul(to_turns));
        return Placed::sequence(vec![all, join_bytes(again * common..part.size)]);
    }
    // Cut where the larger turns begin.
    let first = if size < to_size { to_size - start % to_size } else { size };
    let cuts = (first..part.size).step_by(size.max(to_size));
    let ends = cuts.clone().chain([part.size]);
    Placed::sequence(
        [0].into_iter().chain(cuts).zip(ends).map(|(begin, end)| join_bytes(begin..end)).collect(),
    )
}

/// The same with both memories exchanged.
fn flipped(from: &Node, to: &Node) -> Placed {
    let Placed { a, b, node } = cut_at(from, to);
    swapped(&node).at(b, a)
}

/// A node with its sides exchanged.
fn swapped(node: &Node) -> Node {
    let kind = match &node.kind {
        Kind::Block => Kind::Block,
        Kind::Repeat { count, a, b, child } => {
            Kind::Repeat { count: *count, a: b.clone(), b: a.clone(), child: Box::new(swapped(child)) }
        }
        Kind::Blocks(blocks) => {
            let swap = |block: &Block| Block { a: block.b, b: block.a, ..*block };
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

/// Some bytes of a node whose side `b` is packed, which begins with them.
fn slice(node: &Node, bytes: Bytes) -> Placed {
    if bytes == (0..node.size) {
        return node.clone().at(0, 0);
    }
    let start = bytes.start;
    match &node.kind {
        Kind::Block => Placed::block(bytes.len()).moved(start as isize, 0),
        Kind::Repeat { a, child, .. } => slice_turns(child, a, &bytes),
        Kind::Blocks(blocks) => Placed::blocks(
            overlapping(blocks, Block::packed, bytes)
                .map(|(block, bytes)| {
                    let at = bytes.start as isize;
                    Block { a: block.a.wrapping_add(at), b: block.b + at - start as isize, size: bytes.len() }
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

/// Some bytes of a loop.
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

/// Parts that follow one another on side `b`, each of which begins there with its first byte.
fn in_a_row(parts: impl Iterator<Item = Placed>) -> Placed {
    let mut size = 0;
    let placed = parts.map(|part| {
        let at = size;
        size += part.node.size as isize;
        part.moved(0, at)
    });
    Placed::sequence(placed.collect())
}
