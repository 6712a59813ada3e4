//! The policy: which messages are packed, by their layout and size (docs/preload.md, "Policy").

use dtype_core::{BaseType, TypeTree};
use dtype_engine::Plan;
use dtype_mpi::{IntelMpi, Library, Mpich, OpenMpi, StandardAbi, all_libraries, running};

use crate::recorded::{self, Arrangement, Sizes};

/// The least packed size in bytes of messages that are packed. The datatypes of smaller messages are not
/// examined.
pub(crate) const LEAST: usize = 512;

/// A policy: the messages that are packed, by their packed size in bytes. A size is admitted if it lies in
/// one of the ranges, from the first number up to, but not including, the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy([(usize, usize); recorded::RANGES]);

impl Policy {
    /// The policy that packs no messages.
    pub const NONE: Self = Self([NOTHING; recorded::RANGES]);

    /// Returns the policy that packs the messages of the sizes in any of some ranges, at most
    /// [`recorded::RANGES`].
    fn of(ranges: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut policy = Self::NONE;
        let wanted = ranges.into_iter().filter(|(from, to)| from < to);
        policy.0.iter_mut().zip(wanted).for_each(|(place, range)| *place = range);
        policy
    }

    /// Returns the policy that packs all messages of `least` packed bytes or more.
    pub const fn from(least: usize) -> Self {
        let mut policy = Self::NONE;
        policy.0[0] = (least, usize::MAX);
        policy
    }

    /// Returns `true` if messages of more than `bytes` packed bytes are packed, but none of `bytes` or fewer.
    pub fn is_above(&self, bytes: usize) -> bool {
        let mut ranges = self.0.iter().filter(|(from, to)| from < to).peekable();
        ranges.peek().is_some() && ranges.all(|(from, _)| bytes < *from)
    }

    /// Returns `true` if a message of this packed size in bytes is packed.
    #[inline]
    pub fn takes(&self, bytes: usize) -> bool {
        self.0.iter().any(|(from, to)| (*from..*to).contains(&bytes))
    }
}

const NOTHING: (usize, usize) = (0, 0);

impl Policy {
    /// Returns the policy for messages that are sent as the same base types without gaps. The sender and the
    /// receiver need not agree.
    ///
    /// # Errors
    /// The reason why no messages are packed.
    pub fn of_layout(tree: &TypeTree, plan: &Plan) -> Result<Self, String> {
        let block = mean_block(plan);
        let arrangement = arrangement(tree, plan);
        let policy = if block <= recorded::LONGEST {
            let touched = plan.spacing().map_or(1.0, |spacing| spacing.touched);
            // A single element of one block has no gaps.
            let gapless = if plan.blocks() == 1 { plan.packed_size() } else { 0 };
            let (sizes, longer) = recorded::sizes(arrangement, block);
            let range = |sizes: &Sizes| (sizes.start.max(gapless + 1), sizes.end_for(longer, touched));
            Self::of(sizes.iter().map(range))
        } else {
            let read = running().packing.sizes_read(block as u64);
            Self::of([(read.start as usize, read.end as usize)])
        };
        if policy != Self::NONE {
            return Ok(policy);
        }
        let is_one_block = is_block(tree) && block >= plan.packed_size().min(LONG);
        let blocks = match arrangement {
            _ if is_one_block => "one block",
            _ if block > recorded::LONGEST => "long blocks",
            Arrangement::Columns | Arrangement::SmallColumns => "blocks at equal distances",
            Arrangement::Lists | Arrangement::SmallLists | Arrangement::ListsOfLengths => "a list of blocks",
            Arrangement::Structs => "structs",
        };
        Err(format!("{blocks}, which the library copies equally fast"))
    }

    /// Returns the policy for collective calls, from that for messages of the same layout.
    pub fn in_collectives(self, plan: &Plan) -> Self {
        limits().in_collectives(self, plan)
    }

    /// Returns the policy for `MPI_Pack` and `MPI_Unpack`, which only copy. A plan takes 20 to 40 ns to
    /// begin, and then copies each block faster than the library.
    pub fn of_packing(tree: &TypeTree, plan: &Plan) -> Self {
        limits().of_packing(tree, plan)
    }

    /// Returns the policy for one-sided calls, for a target datatype that is contiguous or not. Libraries
    /// copy directly between the origin's buffer and the target's. If both buffers have gaps, most libraries
    /// go through both datatypes at the same time, block by block. Otherwise they copy as in `MPI_Pack`.
    pub fn of_window(tree: &TypeTree, plan: &Plan, is_contiguous: bool) -> Self {
        limits().of_window(tree, plan, is_contiguous)
    }

    /// Returns the policy for messages that peers send as `MPI_PACKED`. The sender and the receiver must
    /// decide alike, whatever gaps their datatypes have, so the decision depends on the type signature only.
    /// `MPI_PACKED` also receives unpacked messages, so the limit is higher if `is_received`.
    ///
    /// # Errors
    /// The reason why no messages are packed.
    pub fn of_signature(tree: &TypeTree, is_received: bool) -> Result<Self, String> {
        let most = if is_received { RECEIVED } else { 80 };
        if mean_run(tree) > most {
            return Err("runs of one type, which the library copies equally fast".to_owned());
        }
        Ok(Self::from(LEAST))
    }
}

/// Returns the limits of the MPI library that runs.
fn limits() -> &'static dyn Limits {
    macro_rules! limits {
        ($($library:ident)*) => { [$(($library::NAME, &$library as &dyn Limits)),*] };
    }
    let all: [(&str, &dyn Limits); 4] = all_libraries!(limits!);
    let own = all.into_iter().find(|(name, _)| *name == running().name);
    own.map_or(&StandardAbi, |(_, limits)| limits)
}

/// The longest mean run of one base type, in bytes, for which peers receive `MPI_PACKED`.
const RECEIVED: u64 = 160;

/// Returns `true` if a layout has far longer runs of one base type than blocks, as chosen items of several
/// arrays have, and no message of it is cut within a value. Without gaps they are a few long blocks, which
/// every library copies quickly. Such a signature is never sent as `MPI_PACKED`, so it does not matter if the
/// other side has another layout of it.
pub(crate) fn has_long_runs(tree: &TypeTree, plan: &Plan) -> bool {
    /// The number of blocks in a run from which on a run is far longer.
    const BLOCKS: u64 = 8;
    let run = mean_run(tree);
    run > RECEIVED
        && run / BLOCKS >= mean_block(plan) as u64
        && tree.gapless().is_ok_and(|dense| is_cut_between_values(&dense))
}

/// Returns `true` if each value of packed bytes lies at a multiple of its size, in all elements of a message.
/// MPICH cuts a message without gaps at multiples of 8 bytes, and MPICH 4.0 cannot receive a value that is
/// cut in two into a struct.
fn is_cut_between_values(dense: &TypeTree) -> bool {
    let sound = |child: &TypeTree, places: &[i64]| {
        let alignment = child.measure().map_or(0, |measure| measure.alignment as i64);
        is_cut_between_values(child) && places.iter().all(|place| place.checked_rem(alignment) == Some(0))
    };
    match dense {
        TypeTree::Leaf(base) => base.size() == base.alignment() && base.size() <= 8,
        TypeTree::Vector { stride, child, .. } => sound(child, &[*stride]),
        TypeTree::Index { displacements, child } => sound(child, displacements),
        TypeTree::IndexBucket { stride, displacements, child, .. } => {
            sound(child, &[*stride]) && sound(child, displacements)
        }
        TypeTree::Struct { displacements, children } => {
            let ends = dense.measure().is_ok_and(|measure| measure.size % measure.alignment == 0);
            ends && children.iter().zip(displacements).all(|(child, place)| sound(child, &[*place]))
        }
    }
}

/// Returns the mean length of a run of one base type, in bytes.
fn mean_run(tree: &TypeTree) -> u64 {
    let bytes = tree.measure().map_or(0, |measure| measure.size);
    bytes.checked_div(stretches(tree).map_or(1, Stretches::in_a_circle)).unwrap_or(0)
}

/// The measured limits of a library.
trait Limits {
    /// Implements [`Policy::in_collectives`] for the library.
    fn in_collectives(&self, policy: Policy, _: &Plan) -> Policy {
        policy
    }
    /// Implements [`Policy::of_packing`] for the library.
    fn of_packing(&self, tree: &TypeTree, plan: &Plan) -> Policy;
    /// Implements [`Policy::of_window`] for the library.
    fn of_window(&self, tree: &TypeTree, plan: &Plan, is_contiguous: bool) -> Policy;
}

/// Open MPI copies block by block, in 4 to 10 ns each, on both sides at the same time. Version 5 has fast
/// loops for blocks at equal distances.
impl Limits for OpenMpi {
    /// Returns the policy for short blocks, and none for longer ones, which gain little. In collective calls,
    /// packed bytes are contiguous on both sides, without a truncation guard. From 4 KiB on, the library
    /// copies such bytes directly between the processes, which takes 1 to 2 µs to begin.
    fn in_collectives(&self, policy: Policy, plan: &Plan) -> Policy {
        if mean_block(plan) <= 64 { policy } else { Policy::NONE }
    }

    /// Returns the policy for packing: none for long blocks, which the library copies as fast as a plan.
    fn of_packing(&self, tree: &TypeTree, plan: &Plan) -> Policy {
        match mean_block(plan) {
            // Single numbers.
            0..=8 if has_fast_loops(tree) => Policy::NONE,
            block @ 0..=64 => Policy::from(LEAST.max(32 * block)),
            block @ 65..=256 => Policy::from(100 * block),
            _ => Policy::NONE,
        }
    }

    fn of_window(&self, tree: &TypeTree, plan: &Plan, is_contiguous: bool) -> Policy {
        let goes = if running().version >= (5, 0) {
            base_of(tree).is_some() != is_contiguous
        } else {
            is_contiguous
        };
        of_short_blocks(plan, 1 << 10, goes)
    }
}

/// Returns `true` if Open MPI has fast loops for the layout.
fn has_fast_loops(tree: &TypeTree) -> bool {
    running().version >= (5, 0) && is_in_loops(tree)
}

/// MPICH has fast loops for whole elements. A message of more than 8 KiB is sent in parts, and an element
/// that is cut is copied block by block, slowly. A shorter message takes longer with gaps than without. A
/// contiguous message has no gaps, and neither has a single element of one block. From version 4.3 on, the
/// receiver reads few blocks one at a time from the sender's memory, in some 250 ns each.
impl Limits for Mpich {
    /// Returns the policy for packing: all blocks below [`LONG`] bytes, which the library copies slowly.
    fn of_packing(&self, _: &TypeTree, plan: &Plan) -> Policy {
        if mean_block(plan) < LONG { Policy::from(LEAST) } else { Policy::NONE }
    }

    fn of_window(&self, tree: &TypeTree, plan: &Plan, is_contiguous: bool) -> Policy {
        let goes = running().version >= (4, 1) && base_of(tree).is_some() && !is_contiguous;
        of_short_blocks(plan, 16 << 10, goes)
    }
}

/// Intel MPI copies block by block in messages of all sizes, so packing pays from the shortest messages on.
/// It does not pay for contiguous messages and for long blocks in messages beyond the cache.
impl Limits for IntelMpi {
    fn of_packing(&self, tree: &TypeTree, plan: &Plan) -> Policy {
        Mpich.of_packing(tree, plan)
    }

    /// One-sided calls were not measured.
    fn of_window(&self, _: &TypeTree, _: &Plan, _: bool) -> Policy {
        Policy::NONE
    }
}

/// The libraries with this ABI that were measured behave as MPICH does.
impl Limits for StandardAbi {
    fn of_packing(&self, tree: &TypeTree, plan: &Plan) -> Policy {
        Mpich.of_packing(tree, plan)
    }

    fn of_window(&self, tree: &TypeTree, plan: &Plan, is_contiguous: bool) -> Policy {
        of_short_blocks(plan, 16 << 10, base_of(tree).is_some() && !is_contiguous)
    }
}

/// Returns the policy that packs messages of `least` packed bytes or more, if `goes` and blocks have at most
/// 64 bytes on average. Otherwise returns [`Policy::NONE`].
fn of_short_blocks(plan: &Plan, least: usize, goes: bool) -> Policy {
    if goes && mean_block(plan) <= 64 { Policy::from(least) } else { Policy::NONE }
}

/// The length in bytes from which a block is long for every library.
const LONG: usize = 64 << 10;

/// Returns the mean length of a contiguous block in bytes. If the elements of a message form one block,
/// returns at least `LONG`.
fn mean_block(plan: &Plan) -> usize {
    match (plan.packed_size(), plan.blocks()) {
        (size, 1) if plan.extent() == size as isize => size.max(LONG),
        (size, blocks) => size.checked_div(blocks).unwrap_or(usize::MAX),
    }
}

/// Returns the arrangement of the blocks, on which the recorded policies depend.
fn arrangement(tree: &TypeTree, plan: &Plan) -> Arrangement {
    /// The largest size in bytes of a message that no MPICH cuts. (MPICH 4.0.2 cuts those above 8,224 bytes.)
    const UNCUT: usize = 8160;
    if base_of(tree).is_none() && !has_long_runs(tree, plan) {
        return Arrangement::Structs;
    }
    let is_small = plan.packed_size() <= UNCUT || !is_cut_in_blocks(tree);
    match (is_in_loops(tree), is_small) {
        (true, true) => Arrangement::SmallColumns,
        (true, false) => Arrangement::Columns,
        (false, true) => Arrangement::SmallLists,
        (false, false) if has_lengths(tree) => Arrangement::ListsOfLengths,
        (false, false) => Arrangement::Lists,
    }
}

/// Returns `true` if a cut at 8 KiB falls within a loop over blocks, and not between smaller elements.
fn is_cut_in_blocks(tree: &TypeTree) -> bool {
    /// The largest size in bytes of a small element. Cuts at 8 KiB fall within few small elements.
    const SMALL: u64 = 4 << 10;
    let is_large = |child: &TypeTree| child.measure().is_ok_and(|measure| measure.size > SMALL);
    tree.children().iter().any(|child| is_block(child) || is_large(child) && is_cut_in_blocks(child))
}

/// Returns `true` if most bytes are in loops over blocks at equal distances, at any depth of the tree.
fn is_in_loops(tree: &TypeTree) -> bool {
    let size = tree.measure().map_or(0, |measure| measure.size);
    in_loops(tree) > size / 2
}

/// Returns the number of bytes in loops over blocks at equal distances.
fn in_loops(tree: &TypeTree) -> u64 {
    match tree {
        _ if is_block(tree) => 0,
        TypeTree::Vector { child, .. } if is_block(child) => tree.measure().map_or(0, |measure| measure.size),
        tree => tree.children().iter().map(in_loops).sum::<u64>().saturating_mul(copies(tree)),
    }
}

/// Returns the number of copies of each child.
fn copies(tree: &TypeTree) -> u64 {
    match tree {
        TypeTree::Vector { count, .. } => *count,
        TypeTree::Index { displacements, .. } => displacements.len() as u64,
        TypeTree::IndexBucket { buckets, .. } => {
            buckets.iter().fold(0, |sum, count| count.saturating_add(sum))
        }
        TypeTree::Leaf(_) | TypeTree::Struct { .. } => 1,
    }
}

/// Returns `true` if the bytes of a tree are contiguous: a block, or a part of one.
fn is_block(tree: &TypeTree) -> bool {
    tree.measure().is_ok_and(|measure| measure.upper_bound - measure.lower_bound == measure.size as i64)
}

/// Returns `true` if a list in the tree has blocks of different lengths.
fn has_lengths(tree: &TypeTree) -> bool {
    let here = match tree {
        TypeTree::IndexBucket { buckets, .. } => buckets.windows(2).any(|pair| pair[0] != pair[1]),
        TypeTree::Leaf(_) | TypeTree::Vector { .. } | TypeTree::Index { .. } | TypeTree::Struct { .. } => {
            false
        }
    };
    here || tree.children().iter().any(has_lengths)
}

/// Returns the base type of a tree, if it has only one.
pub(crate) fn base_of(tree: &TypeTree) -> Option<BaseType> {
    stretches(tree).filter(|found| found.count == 1).map(|found| found.first)
}

/// Returns a wanted base type of a tree, or `None` if it has none.
pub(crate) fn base_that(tree: &TypeTree, is_wanted: fn(BaseType) -> bool) -> Option<BaseType> {
    match tree {
        TypeTree::Leaf(base) => Some(*base).filter(|base| is_wanted(*base)),
        _ => tree.children().iter().find_map(|child| base_that(child, is_wanted)),
    }
}

/// Returns `true` if the library cannot receive a value of this base type that is cut in two. Libraries take
/// a pair for two values.
pub(crate) fn must_be_whole(base: BaseType) -> bool {
    base.pair().is_none() && running().largest_cut.is_some_and(|most| base.size() > most)
}

/// The runs of equal base types in a type signature.
#[derive(Clone, Copy)]
struct Stretches {
    first: BaseType,
    last: BaseType,
    /// The number of runs.
    count: u64,
}

impl Stretches {
    fn then(self, next: Self) -> Self {
        let joined = u64::from(self.last == next.first);
        Self { first: self.first, last: next.last, count: self.count + next.count - joined }
    }

    /// Returns the runs of `times` copies, one after the other.
    fn repeated(self, times: u64) -> Self {
        let joined = u64::from(self.last == self.first);
        let count = (self.count - joined).saturating_mul(times).saturating_add(joined);
        Self { count, ..self }
    }

    /// Returns the number of runs in each copy, if many copies follow one another. The mean length of a run
    /// then does not depend on how a message is divided into copies.
    fn in_a_circle(self) -> u64 {
        if self.count > 1 { self.count - u64::from(self.last == self.first) } else { self.count }
    }
}

/// Returns the runs of a tree, or `None` if the tree is empty.
fn stretches(tree: &TypeTree) -> Option<Stretches> {
    if let TypeTree::Leaf(base) = tree {
        return match base.pair() {
            Some([(_, value), (_, index)]) if value != index => {
                Some(Stretches { first: value, last: index, count: 2 })
            }
            _ => Some(Stretches { first: *base, last: *base, count: 1 }),
        };
    }
    let times = copies(tree);
    let parts = tree.children().iter().filter_map(stretches);
    parts.reduce(Stretches::then).filter(|_| times > 0).map(|found| found.repeated(times))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(base: BaseType) -> TypeTree {
        TypeTree::Leaf(base)
    }

    /// Checks that both sides pack a message or neither does, however it is divided into elements.
    #[test]
    fn the_policy_of_a_signature_does_not_depend_on_how_it_is_divided() {
        let (int, double) = (|| leaf(BaseType::I32), || leaf(BaseType::F64));
        for length in 1..60 {
            let row = || TypeTree::vector(length, 24, double());
            let one = TypeTree::structure([0, 8, 2000], [int(), row(), int()]);
            let many = TypeTree::index([0, 4000, 9000, 16000], one.clone());
            let nested = TypeTree::vector(5, 10_000, many.clone());
            let policy = |tree: &TypeTree| Policy::of_signature(tree, false);
            assert_eq!(policy(&one).is_ok(), policy(&many).is_ok(), "{length}");
            assert_eq!(policy(&one).is_ok(), policy(&nested).is_ok(), "{length}");
            assert_eq!(policy(&one).is_ok(), policy(&one.gapless().unwrap()).is_ok(), "{length}");
            // A signature that is sent packed is received packed.
            assert!(policy(&one).is_err() || Policy::of_signature(&one, true).is_ok());
        }
    }

    #[test]
    fn what_is_cut_between_small_elements_is_not_cut_in_blocks() {
        let column = |count| TypeTree::vector(count, 24, leaf(BaseType::F64));
        assert!(
            is_cut_in_blocks(&column(5000)) && is_cut_in_blocks(&TypeTree::vector(10, 1 << 20, column(5000)))
        );
        assert!(!is_cut_in_blocks(&TypeTree::vector(500, 2400, column(50))));
    }

    #[test]
    fn loops_over_blocks_are_told_from_lists_of_them() {
        let block = |length| TypeTree::vector(length, 8, leaf(BaseType::F64));
        let column = |length| TypeTree::vector(100, 80, block(length));
        let list = |child| TypeTree::index([0, 16_000, 24_000], child);
        assert!([column(1), column(3), list(column(3))].iter().all(is_in_loops));
        assert!(![block(3), list(leaf(BaseType::F64)), list(block(3))].iter().any(is_in_loops));
        let parts = |child| TypeTree::structure([0, 16_000], [column(2), child]);
        assert!(is_in_loops(&parts(leaf(BaseType::F64))) && !is_in_loops(&parts(list(block(999)))));
    }

    #[test]
    fn open_mpi_gets_longer_blocks_of_collective_calls_as_they_are() {
        let policy = Policy::from(LEAST);
        for (length, is_short) in [(1, true), (8, true), (9, false), (64, false)] {
            let block = TypeTree::vector(length, 8, leaf(BaseType::F64));
            let plan = Plan::new(&TypeTree::vector(100, 1 << 10, block)).unwrap();
            let expected = if is_short { policy } else { Policy::NONE };
            assert_eq!(OpenMpi.in_collectives(policy, &plan), expected, "{length}");
            assert_eq!(Mpich.in_collectives(policy, &plan), policy);
        }
    }

    #[test]
    fn copies_that_touch_are_one_block() {
        let plan = |tree: &TypeTree| Plan::new(tree).unwrap();
        let pair = TypeTree::vector(2, 8, leaf(BaseType::F64));
        assert_eq!(mean_block(&plan(&pair)), 64 << 10);
        assert_eq!(mean_block(&plan(&pair).resized(24)), 16);
        assert_eq!(mean_block(&plan(&TypeTree::vector(1 << 20, 24, pair))), 16);
    }

    #[test]
    fn a_signature_of_one_base_type_is_seen() {
        let rows = |base| TypeTree::index_bucket(16, [1, 3], [0, 100], leaf(base));
        assert_eq!(base_of(&rows(BaseType::F32)), Some(BaseType::F32));
        let two = TypeTree::structure([0, 999], [rows(BaseType::F32), leaf(BaseType::F32)]);
        assert_eq!(base_of(&two), Some(BaseType::F32));
        let mixed = TypeTree::structure([0, 999], [rows(BaseType::F32), leaf(BaseType::I32)]);
        assert_eq!(base_of(&mixed), None);
        assert_eq!(base_of(&TypeTree::vector(0, 8, leaf(BaseType::I8))), None);
        assert_eq!(base_of(&TypeTree::Leaf(BaseType::DoubleInt)), None);
    }

    /// Checks that a message of them is no `MPI_PACKED`, which not every receiver of the signature expects.
    #[test]
    fn chosen_items_of_arrays_have_long_runs() {
        let chosen = |count: i64, base| {
            let places: Vec<_> = (0..count).map(|i| 24 * i + i % 2 * 8).collect();
            TypeTree::index(places, leaf(base))
        };
        let plan = |tree: &TypeTree| Plan::new(tree).unwrap();
        for (count, is_long) in [(10, false), (100, true), (10_000, true)] {
            let items = [chosen(count, BaseType::F64), chosen(count, BaseType::I32)];
            let tree = TypeTree::structure([0, 24 * count + 8], items);
            assert_eq!(has_long_runs(&tree, &plan(&tree)), is_long, "{count}");
            assert!(!is_long || Policy::of_signature(&tree, true).is_err(), "{count}");
        }
        // The integers end at half of a double: the next element's doubles are cut.
        let items = [chosen(100, BaseType::F64), chosen(101, BaseType::I32)];
        let odd = TypeTree::structure([0, 2500], items);
        assert!(!has_long_runs(&odd, &plan(&odd)));
        let rows = TypeTree::vector(100, 8, leaf(BaseType::F64));
        let blocks = TypeTree::structure([0, 900], [rows, leaf(BaseType::I32)]);
        assert!(!has_long_runs(&blocks, &plan(&blocks)));
    }

    /// Checks that no layout is out of range of the recorded ones: single bytes, blocks of half a page, and
    /// distances up to the limits of memory.
    #[test]
    fn layouts_beyond_the_recorded_ones_have_a_policy() {
        for base in [BaseType::I8, BaseType::F64] {
            for length in [1, 9, 40, 1 << 20] {
                for stride in [0, 8, 4096, 1 << 40, -(1 << 40), i64::from(i32::MAX)] {
                    for count in [1, 2, 3000] {
                        let block = TypeTree::vector(length, base.size() as i64, leaf(base));
                        let tree = TypeTree::vector(count, stride, block);
                        let Ok(plan) = Plan::new(&tree) else { continue };
                        if let Ok(policy) = Policy::of_layout(&tree, &plan) {
                            assert!(policy != Policy::NONE && !policy.takes(LEAST - 1), "{tree:?}");
                            assert!(policy.0.iter().all(|(from, to)| from <= to), "{tree:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn few_and_many_bytes_have_limits_of_their_own() {
        let policy = Policy::of([(512, 1025), (7, 7), (9000, usize::MAX)]);
        let taken = |bytes: &usize| policy.takes(*bytes);
        assert_eq!([511, 512, 1024, 1025, 8999, 9000].iter().filter(|bytes| taken(bytes)).count(), 3);
        assert!(!Policy::NONE.takes(0) && !Policy::NONE.takes(usize::MAX));
        assert_eq!(
            [511, 512, 1025, 8999, 9000].map(|bytes| policy.is_above(bytes)),
            [true, false, false, false, false]
        );
        assert!(!Policy::NONE.is_above(0) && Policy::of([(9, 10)]).is_above(8));
    }
}
