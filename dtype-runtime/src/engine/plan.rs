//! Plans: layouts compiled for packing, while the program runs.

use std::{
    fmt,
    ops::Range,
    sync::{Arc, OnceLock},
};

use dtype_core::{BaseType, TypeTree};

#[cfg(feature = "mpi")]
use super::{
    blocks::{Count, visit_turns},
    node::Order,
};
use super::{
    node::{Bucket, Placed, Places},
    run::{run_copies, run_turns},
    sides::{CHUNK, Direction, Sides},
    signature::Signature,
};
use crate::Error;

/// A layout compiled for packing: a type tree turned into loops over contiguous blocks, once. Copies share
/// it.
///
/// [`Data`](crate::pack::Data) and [`DataMut`](crate::pack::DataMut) join a plan to memory; everything that
/// can be done with a layout is done with those. Making a plan reads each node and each displacement of the
/// tree once.
///
/// ```
/// use dtype_runtime::{
///     dtype_core::{BaseType, TypeTree},
///     pack::{Data, Plan},
/// };
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
    /// Side `a` is memory, relative to displacement 0; side `b` is the packed bytes.
    pub part: Placed,
    pub signature: Signature,
    /// Bytes from one copy to the next.
    pub extent: Places,
    /// The least displacement of a byte, and one past the greatest; nothing where there is none.
    pub bounds: Option<(isize, isize)>,
    /// One copy as it is run.
    one: OnceLock<Placed>,
    /// Several copies as one part, as it is run, and how many: as many as were first asked for.
    copies: OnceLock<(usize, Placed)>,
    /// Found when it is asked for.
    #[cfg(feature = "mpi")]
    pub spacing: OnceLock<Option<Spacing>>,
}

impl Compiled {
    /// One copy as it is run, which is decided at first use.
    fn one(&self) -> &Placed {
        self.one.get_or_init(|| prepared(self.part.clone()))
    }

    /// Several copies as they are run: a part, and how often it comes. Where a copy is small the part is all
    /// of them, so that what touches in two copies is one block.
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
    /// The plan of a tree. Its extent, of which several copies are apart, is the one that MPI gives it.
    ///
    /// # Errors
    /// [`Error::Tree`] for an invalid tree, or one whose bytes cannot be counted.
    pub fn new(tree: &TypeTree) -> Result<Self, Error> {
        let measure = tree.measure()?;
        let fits = |bytes: i64| {
            isize::try_from(bytes).map_err(|_| dtype_core::Error::Overflow { node: tree.kind() })
        };
        let extent = fits(measure.extent())?;
        [measure.lower_bound, measure.upper_bound, measure.size as i64]
            .map(fits)
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self::of_layer(Layer::of_tree(tree), extent))
    }

    /// The plan with another extent, in bytes.
    #[must_use]
    pub fn resized(&self, extent: isize) -> Self {
        Self::of_layer(self.layer(), extent)
    }

    /// The plan of a layer, copies of which are `extent` bytes apart.
    pub(crate) fn of_layer(Layer { part, signature, bounds }: Layer, extent: isize) -> Self {
        Self(Arc::new(Compiled {
            part,
            signature,
            extent: Places::Every(extent),
            bounds,
            one: OnceLock::new(),
            copies: OnceLock::new(),
            #[cfg(feature = "mpi")]
            spacing: OnceLock::new(),
        }))
    }

    /// Bytes of one copy, packed.
    #[inline]
    pub fn packed_size(&self) -> usize {
        self.0.signature.size
    }

    /// Bytes from one copy to the next.
    #[inline]
    pub fn extent(&self) -> isize {
        self.0.extent.nth(1)
    }

    /// The number of contiguous blocks of one copy. Blocks that touch only where a part is repeated count as
    /// two.
    ///
    /// ```
    /// use dtype_runtime::{
    ///     dtype_core::{BaseType, TypeTree},
    ///     pack::Plan,
    /// };
    ///
    /// let column = TypeTree::vector(4, 24, TypeTree::Leaf(BaseType::F64));
    /// assert_eq!(Plan::new(&column)?.blocks(), 4);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    pub fn blocks(&self) -> usize {
        self.0.part.node.block_count()
    }

    /// A number for the base types of these packed bytes of the plan, again and again; the same for the same
    /// types in the same order.
    #[cfg(feature = "mpi")]
    pub(crate) fn fingerprint(&self, bytes: Range<usize>) -> u64 {
        self.0.signature.fingerprint(bytes)
    }

    /// The base types of the first `bytes` packed bytes of copies of the plan, as text: `3 × {f64, u32}`.
    #[cfg(feature = "mpi")]
    pub(crate) fn signature_text(&self, bytes: usize) -> String {
        let signature = &self.0.signature;
        let copies = bytes.checked_div(signature.size).unwrap_or(0);
        if copies == 0 { "nothing".to_owned() } else { signature.clone().repeated(copies).to_string() }
    }

    /// What one copy is, to be part of another plan.
    pub(crate) fn layer(&self) -> Layer {
        let Compiled { part, signature, bounds, .. } = &*self.0;
        Layer { part: part.clone(), signature: signature.clone(), bounds: *bounds }
    }

    /// Whether both are copies of one plan.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    #[inline]
    pub(crate) fn compiled(&self) -> &Compiled {
        &self.0
    }

    /// Copies some of the packed bytes of `count` copies between memory, where displacement 0 of the first
    /// one is `origin`, and where they are packed.
    ///
    /// # Safety
    /// 1 to 3 of [`Direction::copy`](super::sides::Direction::copy), for the bytes that these are in memory
    /// and from `packed` on; 4. they are some of the packed bytes of the copies.
    pub(crate) unsafe fn copy<D: Direction>(
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
        // SAFETY: 1 to 3 are those of the caller, for the same bytes; by 4 they are bytes of the turns.
        unsafe { run_turns::<D>(&part.node, (count, &compiled.extent), bytes, sides) };
    }

    /// Copies all packed bytes of `count` copies.
    ///
    /// # Safety
    /// 1 to 3 of [`Direction::copy`](super::sides::Direction::copy), for all of them, and as many bytes from
    /// `packed` on.
    #[inline]
    pub(crate) unsafe fn copy_all<D: Direction>(&self, count: usize, origin: *mut u8, packed: *mut u8) {
        // There may be any number of copies of nothing.
        if count == 0 || self.packed_size() == 0 {
            return;
        }
        let compiled = self.compiled();
        let (part, copies) = compiled.copies(count);
        let sides = Sides { a: origin.wrapping_offset(part.a), b: packed };
        // SAFETY: 1 to 3 are those of the caller, for the same bytes.
        unsafe { run_copies::<D>(&part.node, (copies, &compiled.extent), sides) };
    }

    /// Where `count` copies begin, in bytes from displacement 0 of the first one, if they are one contiguous
    /// block.
    #[cfg(feature = "mpi")]
    pub(crate) fn contiguous(&self, count: usize) -> Option<isize> {
        let block = self.compiled().part.as_block()?;
        let one_after_the_other = count <= 1 || self.extent() == block.size as isize;
        (one_after_the_other && block.size > 0).then_some(block.a)
    }

    /// The contiguous blocks, as far as the first ones tell of all, if all values are of one base type.
    #[cfg(feature = "mpi")]
    pub(crate) fn spacing(&self) -> Option<Spacing> {
        /// Blocks are looked at within the first packed bytes of one copy, up to this number.
        const SOME: usize = 64 << 10;
        let compiled = self.compiled();
        *compiled.spacing.get_or_init(|| {
            let some = self.packed_size().min(SOME);
            let mut count = Count::default();
            visit_turns(&compiled.part.node, &compiled.extent, 0..some, compiled.part.a, &mut count);
            let mean_block = some.checked_div(count.blocks)?;
            let order = compiled.part.node.order();
            compiled.signature.is_of_one_type().then_some(Spacing { mean_block, order })
        })
    }
}

/// How the contiguous blocks of a layout lie.
#[cfg(feature = "mpi")]
#[derive(Clone, Copy, Debug)]
pub struct Spacing {
    /// Bytes of one, on the average.
    pub mean_block: usize,
    /// How they lie.
    pub order: Order,
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("packed_size", &self.packed_size())
            .field("extent", &self.extent())
            .finish_non_exhaustive()
    }
}

/// What plans are put together from: what is where in memory, and what it is.
#[derive(Clone)]
pub(crate) struct Layer {
    part: Placed,
    signature: Signature,
    /// As in [`Compiled`].
    bounds: Option<(isize, isize)>,
}

impl Layer {
    pub fn leaf(base: BaseType) -> Self {
        if let Some(parts) = base.pair() {
            return Self::sequence(parts.map(|(at, base)| (at as isize, Self::leaf(base))));
        }
        let signature = Signature::run(base, 1);
        Self { part: Placed::block(signature.size), bounds: Some((0, signature.size as isize)), signature }
    }

    /// This `count` times, `stride` bytes apart.
    #[must_use]
    pub fn repeated(self, count: usize, stride: isize) -> Self {
        let size = self.signature.size as isize;
        // Without bytes, places may be anywhere.
        let places = || [0, (count as isize - 1) * stride];
        let bounds = self.bounds.filter(|_| count > 0).and_then(|bounds| moved(bounds, places()));
        Self {
            part: self.part.repeated(count, stride, size),
            signature: self.signature.repeated(count),
            bounds,
        }
    }

    /// This at each of these places.
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

    /// At each of these places `count` of this, `stride` bytes apart.
    fn bucketed(self, stride: isize, places: impl Iterator<Item = (isize, usize)>) -> Self {
        let (size, mut all, mut ends) = (self.signature.size, 0usize, None);
        let buckets = places.map(|(a, count)| {
            let b = size.wrapping_mul(all) as isize;
            all = all.wrapping_add(count);
            if self.bounds.is_some() && count > 0 {
                let last = a + (count as isize - 1) * stride;
                let (least, greatest) = ends.unwrap_or((a, a));
                ends = Some((a.min(last).min(least), a.max(last).max(greatest)));
            }
            Bucket { a, b, count }
        });
        let buckets = buckets.collect();
        let bounds = self.bounds.zip(ends).map(|((first, end), (least, last))| (least + first, last + end));
        let part = self.part.bucketed(stride, size as isize, buckets);
        Self { part, signature: self.signature.repeated(all), bounds }
    }

    /// Each of these at its place, one after the other.
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

    /// What a tree describes.
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

/// The bounds of what lies at each of these places; nothing if there are no places.
fn moved((first, end): (isize, isize), places: impl IntoIterator<Item = isize>) -> Option<(isize, isize)> {
    let mut places = places.into_iter();
    let at = places.next()?;
    let (least, greatest) = places.fold((at, at), |(least, greatest), at| (least.min(at), greatest.max(at)));
    Some((least + first, greatest + end))
}
