//! Plans: layouts compiled for packing, at run time.

use std::{
    fmt,
    ops::Range,
    sync::{Arc, OnceLock},
};

use dtype_core::{BaseType, TypeTree};

use super::{
    blocks::{Count, visit_turns},
    node::{Bucket, Order, Placed, Places},
    run::{run_copies, run_turns},
    sides::{CHUNK, Direction, Sides},
    signature::Signature,
};
use crate::Error;

/// A layout compiled for packing: a type tree turned into loops over contiguous blocks. Clones of a plan
/// share these loops.
///
/// [`Data`](crate::Data) and [`DataMut`](crate::DataMut) join a plan to memory, and offer all
/// operations. Making a plan reads each node and each displacement of the tree once.
///
/// ```
/// use dtype_runtime::{pack::{Data, Plan}, tree::{BaseType, TypeTree}};
///
/// // The second of every three bytes, four times.
/// let plan = Plan::new(&TypeTree::vector(4, 3, TypeTree::Leaf(BaseType::U8)))?;
/// let memory: Vec<u8> = (0..12).collect();
/// assert_eq!(Data::new(&plan, 1, &memory, 1)?.pack(), [1, 4, 7, 10]);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
#[derive(Clone)]
pub struct Plan(Arc<Compiled>);

pub(crate) struct Compiled {
    /// The loops of one copy. Side `a` is memory, relative to displacement 0; side `b` is the packed bytes.
    pub part: Placed,
    pub signature: Signature,
    /// The distance from one copy to the next, in bytes.
    pub extent: Places,
    /// The least displacement of a byte, and one past the greatest; `None` if there are no bytes.
    pub bounds: Option<(isize, isize)>,
    /// One copy, with its strategy.
    one: OnceLock<Placed>,
    /// The number of copies at the first request, and these copies as one part, with its strategy.
    copies: OnceLock<(usize, Placed)>,
    /// The spacing, computed at the first request.
    pub spacing: OnceLock<Option<Spacing>>,
}

impl Compiled {
    /// Returns one copy with its strategy, which is decided at the first call.
    fn one(&self) -> &Placed {
        self.one.get_or_init(|| prepared(self.part.clone()))
    }

    /// Returns a part, and how often it has to be run. If a copy is small, the part can comprise all copies,
    /// so that blocks which touch across copies are merged.
    #[inline]
    fn copies(&self, count: usize) -> (&Placed, usize) {
        if count == 1 || self.part.node.size >= CHUNK {
            return (self.one(), count);
        }
        let (found, part) = self.copies.get_or_init(|| {
            let size = self.part.node.size as isize;
            (count, prepared(self.part.clone().repeated(count, self.extent.nth(1), size)))
        });
        if *found == count { (part, 1) } else { (self.one(), count) }
    }
}

fn prepared(mut part: Placed) -> Placed {
    part.node.prepare();
    part
}

impl Plan {
    /// Compiles a tree. The extent of the plan (the distance between copies) is the extent of the tree's MPI
    /// datatype.
    ///
    /// # Errors
    /// [`Error::Tree`] if the tree is invalid, or if its size or one of its bounds overflows.
    pub fn new(tree: &TypeTree) -> Result<Self, Error> {
        let measure = tree.measure()?;
        let extent = measure.extent();
        for bytes in [extent, measure.lower_bound, measure.upper_bound, measure.size as i64] {
            isize::try_from(bytes).map_err(|_| dtype_core::Error::Overflow { node: tree.kind() })?;
        }
        Ok(Self::of_layer(Layer::of_tree(tree), extent as isize))
    }

    /// Returns the plan with another extent, in bytes.
    #[must_use]
    pub fn resized(&self, extent: isize) -> Self {
        Self::of_layer(self.layer(), extent)
    }

    /// Returns the plan of a layer, with an extent of `extent` bytes.
    pub fn of_layer(Layer { part, signature, bounds }: Layer, extent: isize) -> Self {
        Self(Arc::new(Compiled {
            part,
            signature,
            extent: Places::Every(extent),
            bounds,
            one: OnceLock::new(),
            copies: OnceLock::new(),
            spacing: OnceLock::new(),
        }))
    }

    /// Returns the packed size of one copy, in bytes.
    #[inline]
    pub fn packed_size(&self) -> usize {
        self.0.signature.size
    }

    /// Returns the packed size of `count` copies, in bytes.
    ///
    /// # Errors
    /// [`Error::Tree`] if it exceeds `isize::MAX`.
    pub(crate) fn checked_size(&self, count: usize) -> Result<usize, Error> {
        let size = self.packed_size().checked_mul(count).filter(|size| isize::try_from(*size).is_ok());
        Ok(size.ok_or(dtype_core::Error::Overflow { node: "layout" })?)
    }

    /// Returns the distance from one copy to the next, in bytes.
    #[inline]
    pub fn extent(&self) -> isize {
        self.0.extent.nth(1)
    }

    /// Returns the number of contiguous blocks in one copy. If a part is repeated, blocks that touch only
    /// across two repetitions count as two.
    ///
    /// ```
    /// use dtype_runtime::{
    ///     pack::Plan,
    ///     tree::{BaseType, TypeTree},
    /// };
    ///
    /// let column = TypeTree::vector(4, 24, TypeTree::Leaf(BaseType::F64));
    /// assert_eq!(Plan::new(&column)?.blocks(), 4);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    pub fn blocks(&self) -> usize {
        self.0.part.node.block_count()
    }

    /// Returns a hash of the base types of a range of packed bytes. The range may span any number of copies.
    /// Equal sequences of base types have equal hashes.
    pub fn fingerprint(&self, bytes: Range<usize>) -> u64 {
        self.0.signature.fingerprint(bytes)
    }

    /// Checks that the first `bytes` packed bytes of copies of both plans have the same base types.
    ///
    /// # Errors
    /// [`Error::Signature`].
    pub fn same_signature(&self, to: &Self, bytes: usize) -> Result<(), Error> {
        match self.0.signature.difference(&to.0.signature, bytes) {
            Some((byte, from, to)) => Err(Error::Signature { byte, from, to }),
            None => Ok(()),
        }
    }

    /// Returns the base type of all values, if they have the same one.
    pub fn one_type(&self) -> Option<BaseType> {
        self.0.signature.one_type()
    }

    /// Returns the base types of the whole copies in the first `bytes` packed bytes, as text:
    /// `3 × {f64, u32}`.
    pub fn signature_text(&self, bytes: usize) -> String {
        let signature = &self.0.signature;
        let copies = bytes.checked_div(signature.size).unwrap_or(0);
        if copies == 0 { "nothing".to_owned() } else { signature.clone().repeated(copies).to_string() }
    }

    /// Returns one copy as a layer, which can be a part of another plan.
    pub fn layer(&self) -> Layer {
        let Compiled { part, signature, bounds, .. } = &*self.0;
        Layer { part: part.clone(), signature: signature.clone(), bounds: *bounds }
    }

    /// Returns `true` if both are clones of one plan.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    #[inline]
    pub(crate) fn compiled(&self) -> &Compiled {
        &self.0
    }

    /// Copies a range of the packed bytes of `count` copies between memory and a packed buffer. `origin` is
    /// displacement 0 of the first copy, and `packed` is the address of the first byte of the range.
    ///
    /// # Safety
    /// Conditions 1 to 3 of [`Direction::copy`](super::sides::Direction::copy) hold for the bytes of the
    /// range, in memory and from `packed` on; 4. `bytes` is a range of the packed bytes of the copies.
    pub unsafe fn copy<D: Direction>(
        &self,
        count: usize,
        origin: *mut u8,
        bytes: Range<usize>,
        packed: *mut u8,
    ) {
        if bytes.is_empty() {
            return;
        }
        let compiled = self.compiled();
        let part = compiled.one();
        let sides = Sides { a: origin.wrapping_offset(part.a), b: packed.wrapping_sub(bytes.start) };
        // SAFETY: the caller guarantees 1 to 3 for the same bytes; by 4, they are bytes of the iterations.
        unsafe { run_turns::<D>(&part.node, (count, &compiled.extent), bytes, sides) };
    }

    /// Copies all packed bytes of `count` copies between memory and a packed buffer.
    ///
    /// # Safety
    /// Conditions 1 to 3 of [`Direction::copy`](super::sides::Direction::copy) hold for all bytes of the
    /// copies, and for as many bytes from `packed` on.
    #[inline]
    pub unsafe fn copy_all<D: Direction>(&self, count: usize, origin: *mut u8, packed: *mut u8) {
        // A layout without bytes may have any number of copies.
        if count == 0 || self.packed_size() == 0 {
            return;
        }
        let compiled = self.compiled();
        let (part, copies) = compiled.copies(count);
        let sides = Sides { a: origin.wrapping_offset(part.a), b: packed };
        // SAFETY: the caller guarantees 1 to 3 for the same bytes.
        unsafe { run_copies::<D>(&part.node, (copies, &compiled.extent), sides) };
    }

    /// Returns the offset of `count` copies, in bytes from displacement 0 of the first one, if the copies
    /// form one contiguous block.
    pub fn contiguous(&self, count: usize) -> Option<isize> {
        let block = self.compiled().part.as_block()?;
        let one_after_the_other = count <= 1 || self.extent() == block.size as isize;
        (one_after_the_other && block.size > 0).then_some(block.a)
    }

    /// Returns the spacing of the contiguous blocks, as estimated from some of them; `None` if there are no
    /// blocks.
    pub fn spacing(&self) -> Option<Spacing> {
        /// The number of parts of the packed bytes in which blocks are counted, at equal distances.
        /// Few bytes are one part.
        const PARTS: usize = 4;
        /// The largest size in bytes of a part.
        const PART: usize = 16 << 10;
        let compiled = self.compiled();
        *compiled.spacing.get_or_init(|| {
            let size = self.packed_size();
            let is_mixed = compiled.signature.one_type().is_none();
            let (parts, part) = if size <= PARTS * PART { (1, size) } else { (PARTS, PART) };
            let (mut blocks, mut runs) = (0, 0);
            let mut touched = 0;
            for i in 0..parts {
                let start = (size - part) / (PARTS - 1) * i;
                let bytes = start..start + part;
                let mut count = Count::default();
                visit_turns(
                    &compiled.part.node,
                    &compiled.extent,
                    bytes.clone(),
                    compiled.part.a,
                    &mut count,
                );
                if is_mixed {
                    compiled.signature.for_each_run(bytes, &mut |_, _| runs += 1);
                }
                blocks += count.blocks;
                touched += count.touched;
            }
            let seen = parts * part;
            let mean_block = if blocks > 0 { seen as f64 / blocks as f64 } else { return None };
            let mean_run = is_mixed.then(|| seen as f64 / runs.max(1) as f64);
            let span = compiled.bounds.map_or(0, |(first, end)| end.abs_diff(first));
            let memory = self.extent().unsigned_abs().max(span) as f64 * (seen as f64 / size as f64);
            let touched = (touched as f64).min(memory).max(seen as f64) / seen as f64;
            let order = compiled.part.node.order();
            Some(Spacing { mean_block, mean_run, touched, order })
        })
    }
}

/// The spacing of the contiguous blocks of a layout.
#[derive(Clone, Copy, Debug)]
pub struct Spacing {
    /// The mean size of a block in bytes.
    pub mean_block: f64,
    /// The mean size in bytes of a run of equal base types; `None` if all values have one base type.
    pub mean_run: Option<f64>,
    /// The bytes of memory that pass through the caches for each byte of a block: at least 1.
    pub touched: f64,
    /// The arrangement of the blocks.
    pub order: Order,
}

impl Spacing {
    /// Returns `true` if the values have different base types.
    #[inline]
    pub fn is_mixed(&self) -> bool {
        self.mean_run.is_some()
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("packed_size", &self.packed_size())
            .field("extent", &self.extent())
            .finish_non_exhaustive()
    }
}

/// A building block of plans: the loops over memory, and the types of the values.
#[derive(Clone)]
pub struct Layer {
    part: Placed,
    signature: Signature,
    /// The bounds, as in [`Compiled`].
    bounds: Option<(isize, isize)>,
}

impl Layer {
    /// Returns the layer of a base type. A pair type has two parts.
    pub fn leaf(base: BaseType) -> Self {
        if let Some(parts) = base.pair() {
            return Self::sequence(parts.map(|(at, base)| (at as isize, Self::leaf(base))));
        }
        let signature = Signature::run(base, 1);
        Self { part: Placed::block(signature.size), bounds: Some((0, signature.size as isize)), signature }
    }

    /// Returns `count` copies, `stride` bytes apart.
    #[must_use]
    pub fn repeated(self, count: usize, stride: isize) -> Self {
        let size = self.signature.size as isize;
        // Computed only if there are bytes: without bytes, any count and stride are allowed, and their
        // product may overflow.
        let places = || [0, (count as isize - 1) * stride];
        let bounds = self.bounds.filter(|_| count > 0).and_then(|bounds| moved(bounds, places()));
        Self {
            part: self.part.repeated(count, stride, size),
            signature: self.signature.repeated(count),
            bounds,
        }
    }

    /// Returns a copy at each of these displacements.
    #[must_use]
    pub fn listed(self, places: &[isize]) -> Self {
        let size = self.signature.size as isize;
        let bounds = self.bounds.and_then(|bounds| moved(bounds, places.iter().copied()));
        Self {
            part: self.part.listed(places, size),
            signature: self.signature.repeated(places.len()),
            bounds,
        }
    }

    /// Returns several copies at each displacement, `stride` bytes apart. `places` yields pairs of a
    /// displacement and a number of copies.
    fn bucketed(self, stride: isize, places: impl Iterator<Item = (isize, usize)>) -> Self {
        let size = self.signature.size;
        let mut all = 0usize;
        let buckets = places.map(|(a, count)| {
            let b = size.wrapping_mul(all) as isize;
            all = all.wrapping_add(count);
            Bucket { a, b, count }
        });
        let buckets: Vec<_> = buckets.collect();
        let some = buckets.iter().filter(|bucket| bucket.count > 0);
        let ends = some.flat_map(|bucket| [bucket.a, bucket.a + (bucket.count as isize - 1) * stride]);
        let bounds = self.bounds.and_then(|bounds| moved(bounds, ends));
        let part = self.part.bucketed(stride, size as isize, buckets);
        Self { part, signature: self.signature.repeated(all), bounds }
    }

    /// Returns the layers, each at its displacement, one after the other.
    pub fn sequence(layers: impl IntoIterator<Item = (isize, Self)>) -> Self {
        let layers = layers.into_iter();
        let count = layers.size_hint().0;
        let (mut parts, mut signatures) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (mut size, mut all) = (0, None);
        for (at, Self { part, signature, bounds }) in layers {
            parts.push(part.moved(at, size));
            size += signature.size as isize;
            signatures.push(signature);
            if let Some((first, end)) = bounds {
                let (least, greatest) = all.unwrap_or((isize::MAX, isize::MIN));
                all = Some((least.min(at + first), greatest.max(at + end)));
            }
        }
        Self { part: Placed::sequence(parts), signature: Signature::sequence(signatures), bounds: all }
    }

    /// Returns the layer that a tree describes.
    fn of_tree(tree: &TypeTree) -> Self {
        let places = |displacements: &[i64]| displacements.iter().map(|at| *at as isize).collect::<Vec<_>>();
        match tree {
            TypeTree::Leaf(base) => Self::leaf(*base),
            TypeTree::Vector { count, stride, child } => {
                Self::of_tree(child).repeated(*count as usize, *stride as isize)
            }
            TypeTree::Index { displacements, child } => Self::of_tree(child).listed(&places(displacements)),
            TypeTree::IndexBucket { stride, buckets, displacements, child } => {
                let places =
                    displacements.iter().zip(buckets).map(|(at, count)| (*at as isize, *count as usize));
                Self::of_tree(child).bucketed(*stride as isize, places)
            }
            TypeTree::Struct { displacements, children } => {
                Self::sequence(places(displacements).into_iter().zip(children.iter().map(Self::of_tree)))
            }
        }
    }
}

/// Returns the bounds of copies at these displacements; `None` if there are no displacements.
fn moved((first, end): (isize, isize), places: impl IntoIterator<Item = isize>) -> Option<(isize, isize)> {
    let mut places = places.into_iter();
    let at = places.next()?;
    let (least, greatest) = places.fold((at, at), |(least, greatest), at| (least.min(at), greatest.max(at)));
    Some((least + first, greatest + end))
}
