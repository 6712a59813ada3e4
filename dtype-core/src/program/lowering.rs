//! Lowering: the constructor program of a type tree.

use alloc::{collections::BTreeMap, vec, vec::Vec};

use super::{
    OldType, Packing, Program, Step,
    packing::{Block, Buckets},
};
use crate::{BaseType, Bounds, Error, TypeTree, data::Counts};

impl Program {
    /// Returns the shortest program found for `tree`. The program preserves the type map. A vec of adjacent
    /// copies becomes a block length of its parent. An idxbuc becomes an hindexed over a child that is
    /// resized to the bucket stride. A strc of equal children becomes an hindexed. Neighbours in a list that
    /// adjoin become one block. Equal calls are made once.
    ///
    /// If `bounds` are given, the datatype has them: a final resize sets them, unless every MPI library must
    /// compute the same bounds. Without `bounds`, the library computes them.
    ///
    /// # Errors
    /// The errors of [`TypeTree::measure`].
    pub fn lower(tree: &TypeTree, bounds: Option<Bounds>) -> Result<Self, Error> {
        Self::lower_within(tree, bounds, u64::MAX)
    }

    /// Like [`lower`](Self::lower), for an MPI library whose counts must not exceed `limit`, which is at
    /// least 2. Longer lists and larger counts are split.
    ///
    /// # Errors
    /// The errors of [`TypeTree::measure`].
    pub fn lower_within(tree: &TypeTree, bounds: Option<Bounds>, limit: u64) -> Result<Self, Error> {
        Self::lower_for(tree, bounds, limit, Packing::default())
    }

    /// Like [`lower_within`](Self::lower_within), with the calls whose datatype is the fastest on a library
    /// that packs in this way.
    ///
    /// ```
    /// use dtype_core::{BaseType, Packing, Program, TypeTree};
    /// let column = TypeTree::vector(4096, 80, TypeTree::Leaf(BaseType::F64));
    /// let program = Program::lower_for(&column, None, i32::MAX as u64, Packing::MPICH)?;
    /// assert_eq!(
    ///     program.to_string(),
    ///     "t0 = MPI_Type_create_resized(MPI_DOUBLE, 0, 80)\n\
    ///      t1 = MPI_Type_contiguous(4096, t0)\n\
    ///      MPI_Type_commit(t1)\n"
    /// );
    /// # Ok::<(), dtype_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`TypeTree::measure`].
    pub fn lower_for(
        tree: &TypeTree,
        bounds: Option<Bounds>,
        limit: u64,
        packing: Packing,
    ) -> Result<Self, Error> {
        let packing = packing.for_size(tree.measure()?.size);
        let lowering =
            Lowering { steps: Vec::new(), known: BTreeMap::new(), limit, packing, members: BTreeMap::new() };
        Ok(lowering.program(tree, bounds))
    }
}

/// A datatype under construction, with the bounds that a library will give it.
#[derive(Clone, Copy)]
pub(super) struct Built {
    oldtype: OldType,
    lower_bound: i64,
    upper_bound: i64,
    /// The size of the data in bytes.
    size: u64,
    /// The largest extent of a base type in the datatype. If it does not divide the span, libraries round up
    /// the upper bound for some constructors to an alignment, but not for others. Then the extent is unknown.
    granularity: i64,
    /// The upper bound in a library that rounds after each part that it adds, within the parts as well.
    rounded: i64,
    /// The lower and upper bound of the resized parts, if there are any. Only these count in a library that
    /// follows MPI 4.1 section 5.1.7, as Open MPI does and MPICH does not.
    marked: Option<(i64, i64)>,
}

impl Built {
    /// Returns the datatype with `rounded` rounded up once more.
    fn round(self) -> Self {
        let span = self.rounded.wrapping_sub(self.lower_bound);
        let beyond = span.checked_rem_euclid(self.granularity).filter(|beyond| *beyond > 0);
        Self {
            rounded: beyond
                .map_or(self.rounded, |beyond| self.rounded.wrapping_add(self.granularity - beyond)),
            ..self
        }
    }

    /// Returns a block of a number of copies, one behind the other.
    fn times(&self, copies: u64) -> Block {
        let bytes = self.size.saturating_mul(copies);
        let elements = self.span().map_or(0, |_| bytes / self.granularity.unsigned_abs().max(1));
        Block { bytes, elements }
    }

    /// Returns the extent of a datatype without gaps.
    fn span(&self) -> Option<i64> {
        let span = self.upper_bound.checked_sub(self.lower_bound)?;
        (u64::try_from(span) == Ok(self.size)).then_some(span)
    }

    /// Returns the extent, if all libraries agree on both bounds. Returns `None` if the span overflows, which
    /// only a resize can cause.
    fn extent(&self) -> Option<i64> {
        let span = self.upper_bound.checked_sub(self.lower_bound)?;
        let is_marked = self.marked.is_none_or(|marked| marked == (self.lower_bound, self.upper_bound));
        (is_marked && self.round().rounded == self.upper_bound).then_some(span)
    }
}

/// The members of a tree that is written out as one struct: their number, and the bounds of their
/// displacements.
#[derive(Clone, Copy)]
pub(super) struct Members {
    pub count: u64,
    first: i64,
    last: i64,
}

impl Members {
    /// A member at displacement 0.
    pub const ONE: Self = Self { count: 1, first: 0, last: 0 };

    /// Returns the members of copies at all of these displacements. Returns `None` if one overflows.
    pub fn at(self, copies: u64, places: impl IntoIterator<Item = Option<i64>>) -> Option<Self> {
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        for place in places {
            first = first.min(self.first.checked_add(place?)?);
            last = last.max(self.last.checked_add(place?)?);
        }
        Some(Self { count: self.count.checked_mul(copies)?, first, last })
    }

    /// Returns the members of `count` copies.
    pub fn in_vector(self, count: u64, stride: i64) -> Option<Self> {
        self.at(count, [Some(0), stride.checked_mul(i64::try_from(count).ok()? - 1)])
    }

    pub fn then(self, next: Self) -> Self {
        let count = self.count.saturating_add(next.count);
        Self { count, first: self.first.min(next.first), last: self.last.max(next.last) }
    }
}

pub(super) struct Lowering {
    steps: Vec<Step>,
    /// The step of each call so far. Equal calls are made once, since a handle can be used many times.
    known: BTreeMap<Step, usize>,
    /// The largest count that the library takes.
    pub(super) limit: u64,
    pub(super) packing: Packing,
    /// The members of each part of the tree, by its address: see `members_in_all`.
    pub(super) members: BTreeMap<*const TypeTree, Option<Members>>,
}

impl Lowering {
    /// Returns the program of a measured tree. Its empty parts are left out: libraries differ in how empty
    /// parts count for the bounds, and MPICH divides by the size of some.
    fn program(self, tree: &TypeTree, bounds: Option<Bounds>) -> Program {
        if !tree.has_empty_part() {
            return self.run(tree, bounds);
        }
        match tree.without_empty_parts() {
            Some(tree) => self.run(&tree, bounds),
            None => self.nothing(bounds),
        }
    }

    /// Returns the program of a datatype without data.
    fn nothing(mut self, bounds: Option<Bounds>) -> Program {
        let oldtype = self.push(Step::Contiguous { count: 0, oldtype: OldType::Base(BaseType::Byte) });
        let built = Built { oldtype, ..EMPTY };
        let built = bounds.map_or(built, |own| self.resize(built, own.lower_bound, own.extent));
        Program { steps: self.steps, result: built.oldtype }
    }

    fn run(mut self, tree: &TypeTree, bounds: Option<Bounds>) -> Program {
        let split = (self.limit < u64::MAX).then(|| tree.split(self.limit));
        let mut built = self.lower(split.as_ref().unwrap_or(tree));
        if self.packing.reads_from.is_some()
            && let Some(Counts { blocks, bytes, .. }) = Counts::of(tree)
            && blocks > 1
            && self.packing.sizes_read(bytes.div_ceil(blocks)).contains(&bytes)
        {
            built = self.described_at_length(built);
        }
        if let Some(Bounds { lower_bound, extent }) = bounds
            && (built.lower_bound != lower_bound || built.extent() != Some(extent))
        {
            built = self.resize(built, lower_bound, extent);
        }
        Program { steps: self.steps, result: built.oldtype }
    }

    fn push(&mut self, step: Step) -> OldType {
        let next = self.steps.len();
        let index = *self.known.entry(step.clone()).or_insert(next);
        if index == next {
            self.steps.push(step);
        }
        OldType::Step(index)
    }

    fn resize(&mut self, built: Built, lower_bound: i64, extent: i64) -> Built {
        let oldtype = self.push(Step::Resized { lower_bound, extent, oldtype: built.oldtype });
        let upper_bound = lower_bound.saturating_add(extent);
        let marked = Some((lower_bound, upper_bound));
        Built { oldtype, lower_bound, upper_bound, rounded: upper_bound, marked, ..built }
    }

    /// Adds empty members to a datatype, so that its description is too long to be sent ahead of a message.
    fn described_at_length(&mut self, built: Built) -> Built {
        // MPICH 5.0.2 sends less than 2 KiB ahead, and the shortest description takes some 130 bytes.
        const MEMBERS: usize = 16;
        if self.limit < MEMBERS as u64 {
            return built;
        }
        let mut blocklengths = vec![0; MEMBERS];
        blocklengths[0] = 1;
        let displacements = vec![0; MEMBERS];
        let oldtype =
            self.push(Step::Struct { blocklengths, displacements, oldtypes: vec![built.oldtype; MEMBERS] });
        spread(oldtype, built, [(0, 1, 0)])
    }

    fn lower(&mut self, tree: &TypeTree) -> Built {
        let (built, count) = self.block(tree);
        if count == 1 { built } else { self.contiguous(built, count) }
    }

    fn contiguous(&mut self, block: Built, count: u64) -> Built {
        let oldtype = self.push(Step::Contiguous { count, oldtype: block.oldtype });
        spread(oldtype, block, [(0, count, block.extent().unwrap_or(0))])
    }

    /// Lowers a tree to a datatype and a block length: that many copies, each one extent after the one
    /// before. If the extent is not known for all libraries, the block length is 1.
    pub(super) fn block(&mut self, tree: &TypeTree) -> (Built, u64) {
        if let Some(built) = self.written_out(tree) {
            return (built, 1);
        }
        let built = match tree {
            TypeTree::Leaf(base) => {
                let extent = base.extent() as i64;
                let oldtype = OldType::Base(*base);
                Built {
                    oldtype,
                    lower_bound: 0,
                    upper_bound: extent,
                    size: base.size(),
                    granularity: extent,
                    rounded: extent,
                    marked: None,
                }
            }
            TypeTree::Vector { count, stride, child } => {
                let (block, blocklength) = self.block(child);
                let extent = block.extent();
                if extent.and_then(|extent| extent.checked_mul(blocklength as i64)) == Some(*stride) {
                    return match count.checked_mul(blocklength).filter(|count| *count <= self.limit) {
                        Some(count) => (block, count),
                        // Open MPI multiplies the count and the block length of such an hvector as ints.
                        None => (self.contiguous(block, blocklength), *count),
                    };
                }
                self.hvector(block, blocklength, *count, *stride)
            }
            TypeTree::Index { displacements, child } => {
                let (block, blocklength) = self.block(child);
                self.hindexed_block(block, blocklength, displacements)
            }
            TypeTree::IndexBucket { stride, buckets, displacements, child } => {
                self.buckets(*stride, buckets, displacements, child)
            }
            TypeTree::Struct { displacements, children } => {
                let blocks: Vec<_> = children.iter().map(|child| self.block(child)).collect();
                self.structure(displacements, &blocks)
            }
        };
        (built, 1)
    }

    pub(super) fn hvector(&mut self, block: Built, blocklength: u64, count: u64, stride: i64) -> Built {
        if stride == -1 && count > 1 {
            return self.backwards(block, blocklength, count);
        }
        if let Some(spaced) = self.spaced(block, blocklength, count, stride) {
            return spaced;
        }
        let bytes = block.size.saturating_mul(blocklength);
        if blocklength > 1 && self.packing.contiguous_from.is_some_and(|least| bytes >= least) {
            let block = self.contiguous(block, blocklength);
            return self.hvector(block, 1, count, stride);
        }
        let oldtype = self.push(Step::Hvector { count, blocklength, stride, oldtype: block.oldtype });
        let last = (count as i64 - 1).wrapping_mul(stride);
        let (copies, extent) = (if count == 0 { 0 } else { blocklength }, block.extent().unwrap_or(0));
        let bounds = spread(oldtype, block, [0, last].map(|at| (at, copies, extent)));
        Built { size: block.size.saturating_mul(count).saturating_mul(blocklength), ..bounds }
    }

    /// Builds an hvector of stride −1. Open MPI 4.1.4 misreads that stride, so the copies are built in pairs.
    fn backwards(&mut self, block: Built, blocklength: u64, count: u64) -> Built {
        if count < 4 {
            return self.hindexed_block(block, blocklength, &[0, -1, -2][..count as usize]);
        }
        let pair = self.hindexed_block(block, blocklength, &[0, -1]);
        let pairs = self.hvector(pair, 1, count / 2, -2);
        match count % 2 {
            0 => pairs,
            _ => self.structure(&[0, 1 - count as i64], &[(pairs, 1), (block, blocklength)]),
        }
    }

    fn hindexed_block(&mut self, block: Built, blocklength: u64, displacements: &[i64]) -> Built {
        let Some((block, lengths, firsts)) = self.joined(block, blocklength, displacements) else {
            return self.equal_blocks(block, blocklength, displacements);
        };
        if lengths.iter().all(|length| *length == lengths[0]) {
            return self.equal_blocks(block, lengths[0], &firsts);
        }
        self.hindexed(block, lengths, &firsts)
    }

    /// Joins the copies in a list that adjoin their neighbours. Returns the datatype of a copy, the lengths
    /// of the blocks, and where they begin. Returns `None` if none adjoin, if too few do, or if the library
    /// may not join so many copies.
    fn joined(
        &mut self,
        block: Built,
        blocklength: u64,
        displacements: &[i64],
    ) -> Option<(Built, Vec<u64>, Vec<i64>)> {
        if displacements.is_empty() || self.packing.buckets == Buckets::Misread {
            return None;
        }
        let copies = blocklength.checked_mul(displacements.len() as u64)?;
        let extent = self.extent_in_list(block, blocklength)?;
        let bytes = extent.checked_mul(blocklength as i64).filter(|bytes| *bytes > 0)?;
        let blocks = displacements.chunk_by(|a, b| a.checked_add(bytes) == Some(*b));
        let (lengths, firsts): (Vec<_>, Vec<_>) =
            blocks.map(|block| (block.len() as u64 * blocklength, block[0])).unzip();
        // A list of lengths is as long again. But adjoining structs without gaps are one block of memory.
        let is_equal = lengths.iter().all(|length| *length == lengths[0]);
        let is_memory = matches!(block.oldtype, OldType::Step(_)) && block.span() == Some(extent);
        let most = if is_equal || is_memory { displacements.len() - 1 } else { displacements.len() / 2 };
        if lengths.len() > most || copies > self.limit {
            return None;
        }
        let is_natural = block.extent() == Some(extent);
        let block = if is_natural { block } else { self.resize(block, block.lower_bound, extent) };
        Some((block, lengths, firsts))
    }

    /// Returns the extent of a block of `length` copies in a list. Copies of a datatype without gaps adjoin
    /// if it is resized.
    fn extent_in_list(&self, block: Built, length: u64) -> Option<i64> {
        let may_resize = length == 1 && self.packing.buckets != Buckets::Misread;
        block.extent().or_else(|| block.span().filter(|_| may_resize))
    }

    fn equal_blocks(&mut self, block: Built, blocklength: u64, displacements: &[i64]) -> Built {
        let in_parts = self.list_in_parts(block, blocklength, displacements);
        in_parts.unwrap_or_else(|| self.listed(block, blocklength, displacements))
    }

    fn hindexed(&mut self, block: Built, blocklengths: Vec<u64>, displacements: &[i64]) -> Built {
        let in_parts = self.lengths_in_parts(block, &blocklengths, displacements);
        in_parts.unwrap_or_else(|| self.listed_lengths(block, blocklengths, displacements))
    }

    /// Lowers an hvector to copies of a block that is resized to the stride, if these are faster.
    fn spaced(&mut self, block: Built, length: u64, count: u64, stride: i64) -> Option<Built> {
        if stride <= 0 || !self.packing.walks_over(block.times(length), count) {
            return None;
        }
        let block = if length == 1 { block } else { self.contiguous(block, length) };
        let spaced = self.resize(block, block.lower_bound, stride);
        Some(self.contiguous(spaced, count))
    }

    /// Lowers a list of blocks of equal length to a struct of shorter lists, if these are faster.
    fn list_in_parts(&mut self, block: Built, length: u64, displacements: &[i64]) -> Option<Built> {
        let part = self.packing.part_of_list(block.times(length), displacements.len() as u64)?;
        Some(self.in_parts(part, displacements, |of, _, part| of.listed(block, length, part)))
    }

    /// Lowers a list of blocks of different lengths to a struct of shorter lists, if these are faster.
    fn lengths_in_parts(&mut self, block: Built, lengths: &[u64], displacements: &[i64]) -> Option<Built> {
        let copies = lengths.iter().copied().fold(0, u64::saturating_add);
        let part = self.packing.part_of_lengths(block.times(copies), displacements.len() as u64)?;
        Some(self.in_parts(part, displacements, |of, first, part| {
            of.listed_lengths(block, lengths[first..first + part.len()].to_vec(), part)
        }))
    }

    /// Lowers a list to a struct of lists of `part` blocks each. `lower` gets the number of the first block
    /// of each list, and the displacements relative to that block.
    fn in_parts(
        &mut self,
        part: usize,
        displacements: &[i64],
        lower: impl Fn(&mut Self, usize, &[i64]) -> Built,
    ) -> Built {
        let parts = displacements.chunks(part).enumerate().map(|(i, of_part)| {
            let relative: Vec<_> = of_part.iter().map(|at| at.wrapping_sub(of_part[0])).collect();
            (lower(self, i * part, &relative), 1)
        });
        let parts: Vec<_> = parts.collect();
        let firsts: Vec<_> = displacements.chunks(part).map(|part| part[0]).collect();
        self.structure(&firsts, &parts)
    }

    /// Lowers buckets of copies that do not adjoin to other calls, if these are faster: to a list of all
    /// copies, if it is not much longer, or else to an hvector for each bucket.
    fn without_buckets(
        &mut self,
        stride: i64,
        buckets: &[u64],
        displacements: &[i64],
        (block, length): (Built, u64),
    ) -> Option<Built> {
        let extent = self.extent_in_list(block, length);
        if extent.and_then(|extent| extent.checked_mul(length as i64)) == Some(stride) || stride <= 0 {
            return None;
        }
        let longest = match self.packing {
            Packing { buckets: Buckets::Slow | Buckets::Misread, .. } => 8,
            Packing { fragment: Some(_), .. } => 4,
            Packing { .. } => return None,
        };
        let copies = buckets.iter().fold(0u64, |all, count| all.saturating_add(*count));
        let is_short = copies / longest <= buckets.len() as u64 && copies <= self.limit;
        if is_short {
            let each = buckets.iter().zip(displacements).flat_map(|(count, first)| {
                (0..*count).map(move |i| first.wrapping_add(stride.wrapping_mul(i as i64)))
            });
            let all: Vec<_> = each.collect();
            return Some(self.hindexed_block(block, length, &all));
        }
        if self.packing.buckets == Buckets::Usual {
            return None;
        }
        let hvectors: Vec<_> =
            buckets.iter().map(|count| (self.hvector(block, length, *count, stride), 1)).collect();
        Some(self.structure(displacements, &hvectors))
    }

    /// Pushes an hindexed_block.
    fn listed(&mut self, block: Built, blocklength: u64, displacements: &[i64]) -> Built {
        let stride = block.extent().unwrap_or(0);
        let copies = displacements.iter().map(|at| (*at, blocklength, stride));
        let bounds = spread(block.oldtype, block, copies);
        let (oldtype, displacements) = (block.oldtype, displacements.to_vec());
        let copies = blocklength.saturating_mul(displacements.len() as u64);
        let oldtype = if self.is_faster_as_struct(oldtype, displacements.len(), copies) {
            let blocklengths = vec![blocklength; displacements.len()];
            let oldtypes = vec![oldtype; displacements.len()];
            self.push(Step::Struct { blocklengths, displacements, oldtypes })
        } else {
            self.push(Step::HindexedBlock { blocklength, displacements, oldtype })
        };
        Built { oldtype, ..bounds }
    }

    /// Pushes an hindexed.
    fn listed_lengths(&mut self, block: Built, blocklengths: Vec<u64>, displacements: &[i64]) -> Built {
        let stride = block.extent().unwrap_or(0);
        let copies = displacements.iter().zip(&blocklengths).map(|(at, count)| (*at, *count, stride));
        let bounds = spread(block.oldtype, block, copies);
        let (oldtype, displacements) = (block.oldtype, displacements.to_vec());
        let copies = blocklengths.iter().copied().fold(0, u64::saturating_add);
        let oldtype = if self.is_faster_as_struct(oldtype, displacements.len(), copies) {
            let oldtypes = vec![oldtype; displacements.len()];
            self.push(Step::Struct { blocklengths, displacements, oldtypes })
        } else {
            self.push(Step::Hindexed { blocklengths, displacements, oldtype })
        };
        Built { oldtype, ..bounds }
    }

    /// Returns `true` if a list of `count` blocks, which have `copies` copies of a datatype in all, is faster
    /// as a struct.
    fn is_faster_as_struct(&self, oldtype: OldType, count: usize, copies: u64) -> bool {
        /// The largest number of members, which take some 20 bytes each.
        const MOST: usize = 1 << 16;
        let may_join = copies <= self.limit;
        self.packing.avoids_lists && may_join && (2..=MOST).contains(&count) && !self.is_strided(oldtype)
    }

    /// Returns `true` if a datatype is built of a base type by contiguous datatypes and hvectors only.
    fn is_strided(&self, oldtype: OldType) -> bool {
        match oldtype {
            OldType::Base(_) => true,
            OldType::Step(index) => match &self.steps[index] {
                Step::Contiguous { oldtype, .. } | Step::Hvector { oldtype, .. } => self.is_strided(*oldtype),
                _ => false,
            },
        }
    }

    fn buckets(&mut self, stride: i64, buckets: &[u64], displacements: &[i64], child: &TypeTree) -> Built {
        let (block, length) = self.block(child);
        if let Some(built) = self.without_buckets(stride, buckets, displacements, (block, length)) {
            return built;
        }
        let mut built = if length == 1 { block } else { self.contiguous(block, length) };
        if stride <= 0 {
            // Libraries differ for an extent of zero or less, so each bucket becomes an hvector.
            let hvectors: Vec<_> =
                buckets.iter().map(|count| (self.hvector(built, 1, *count, stride), 1)).collect();
            return self.structure(displacements, &hvectors);
        }
        if built.extent() != Some(stride) {
            built = self.resize(built, built.lower_bound, stride);
        }
        self.hindexed(built, buckets.to_vec(), displacements)
    }

    pub(super) fn structure(&mut self, displacements: &[i64], blocks: &[(Built, u64)]) -> Built {
        if let [(first, length), rest @ ..] = blocks
            && rest.iter().all(|(block, _)| block.oldtype == first.oldtype)
        {
            if rest.iter().all(|(_, other)| other == length) {
                return self.hindexed_block(*first, *length, displacements);
            }
            return self.hindexed(*first, blocks.iter().map(|(_, length)| *length).collect(), displacements);
        }
        let blocks = self.not_joined(blocks);
        let spans = blocks.iter().zip(displacements).map(|((block, length), at)| {
            spread(block.oldtype, *block, [(*at, *length, block.extent().unwrap_or(0))])
        });
        let bounds = spans.reduce(join).unwrap_or(EMPTY);
        let oldtype = self.push(Step::Struct {
            blocklengths: blocks.iter().map(|(_, length)| *length).collect(),
            displacements: displacements.to_vec(),
            oldtypes: blocks.iter().map(|(block, _)| block.oldtype).collect(),
        });
        Built { oldtype, ..bounds }
    }

    /// Returns the blocks of a struct, changed so that equal neighbours together have no more copies than the
    /// limit. Open MPI 4.1 joins adjacent blocks of a datatype and adds up their lengths as ints.
    fn not_joined(&mut self, blocks: &[(Built, u64)]) -> Vec<(Built, u64)> {
        let (mut before, mut copies) = (None, 0u64);
        let apart = blocks.iter().map(|&(mut block, mut length)| {
            copies = if before == Some(block.oldtype) { copies.saturating_add(length) } else { length };
            if copies > self.limit {
                (block, length, copies) = (self.contiguous(block, length), 1, 1);
            }
            before = Some(block.oldtype);
            (block, length)
        });
        apart.collect()
    }
}

/// The bounds of a datatype without data; its `oldtype` is a placeholder.
const EMPTY: Built = Built {
    oldtype: OldType::Base(BaseType::Byte),
    lower_bound: 0,
    upper_bound: 0,
    size: 0,
    granularity: 1,
    rounded: 0,
    marked: None,
};

/// Returns the bounds of copies of `block`. Each item of `copies` is a displacement, a number of copies, and
/// the stride between them.
fn spread(oldtype: OldType, block: Built, copies: impl IntoIterator<Item = (i64, u64, i64)>) -> Built {
    let spans = copies.into_iter().filter(|(_, count, _)| *count > 0).map(|(at, count, stride)| {
        let last = (count as i64 - 1).wrapping_mul(stride);
        let lower = |bound: i64| at.wrapping_add(bound).wrapping_add(last.min(0));
        let upper = |bound: i64| at.wrapping_add(bound).wrapping_add(last.max(0));
        Built {
            oldtype,
            lower_bound: lower(block.lower_bound),
            upper_bound: upper(block.upper_bound),
            size: block.size.saturating_mul(count),
            granularity: block.granularity,
            rounded: upper(block.round().rounded),
            marked: block.marked.map(|(first, last)| (lower(first), upper(last))),
        }
    });
    spans.reduce(join).unwrap_or(Built { oldtype, ..EMPTY })
}

/// Returns the bounds of both, as a library computes them after it has added the second.
fn join(a: Built, b: Built) -> Built {
    let both = |a: (i64, i64), b: (i64, i64)| (a.0.min(b.0), a.1.max(b.1));
    let joined = Built {
        oldtype: a.oldtype,
        lower_bound: a.lower_bound.min(b.lower_bound),
        upper_bound: a.upper_bound.max(b.upper_bound),
        size: a.size.saturating_add(b.size),
        granularity: a.granularity.max(b.granularity),
        rounded: a.rounded.max(b.rounded),
        marked: match (a.marked, b.marked) {
            (Some(a), Some(b)) => Some(both(a, b)),
            (a, b) => a.or(b),
        },
    };
    joined.round()
}
