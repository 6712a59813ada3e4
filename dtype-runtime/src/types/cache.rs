//! A cache of layouts that are computed at run time.
//!
//! A program often makes the same layout again at every time step, and all columns of a matrix have the same
//! layout. The cache therefore finds an entry by its unsolved type tree, its bounds, its costs and its
//! purpose. It evicts the least recently used entries. A layout or a datatype in use keeps its entry alive.

use std::{
    collections::hash_map::Entry,
    sync::{Arc, Mutex, PoisonError},
};

use dtype_core::TypeTree;
use foldhash::HashMap;

use super::entry::{LazyDatatype, Wanted};

/// The largest number of layouts in the cache.
const MOST_ENTRIES: usize = 256;

/// The largest number of nodes and displacements of all trees in the cache: 32 MiB of them.
const MOST_NUMBERS: usize = 1 << 22;

/// The statistics and the size of the layout cache: see [`layout_cache`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayoutCache {
    /// The number of lookups that found their layout, also in the cache of layouts with long lists.
    pub hits: u64,
    /// The number of lookups after which the layout had to be computed.
    pub misses: u64,
    /// The number of layouts in the cache, at most 256.
    pub entries: usize,
    /// The number of nodes and displacements of all trees in the cache, at most 4,194,304. A layout with more
    /// is not cached.
    pub numbers: usize,
}

/// Returns the statistics of this process's cache of layouts that are known only at run time. A second cache
/// holds layouts whose lists have 1,024 indices and more in all: at most 64 layouts, with 4,194,304 indices
/// in all. A layout in the second cache also keeps its plan.
///
/// ```
/// use dtype_runtime::{layout, layout::layout_cache};
///
/// let n = 7;
/// for j in 0..n {
///     layout!(f32[n][n] => [.., j])?.cost(); // all columns are one layout
/// }
/// let cache = layout_cache();
/// assert_eq!((cache.misses, cache.hits), (1, 6));
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
pub fn layout_cache() -> LayoutCache {
    let cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    let entries = cache.remembered.as_ref().map_or(0, HashMap::len);
    LayoutCache { hits: cache.hits, misses: cache.clock - cache.hits, entries, numbers: cache.numbers }
}

static CACHE: Mutex<Cache> = Mutex::new(Cache { remembered: None, numbers: 0, clock: 0, hits: 0 });

struct Cache {
    remembered: Option<HashMap<Wanted, Remembered>>,
    numbers: usize,
    /// The number of lookups so far.
    clock: u64,
    hits: u64,
}

struct Remembered {
    entry: Arc<LazyDatatype>,
    numbers: usize,
    /// The value of `clock` at the last lookup of this layout.
    used: u64,
}

/// Returns the entry of a layout from the cache, or a new one.
pub(crate) fn cached(wanted: Wanted) -> Arc<LazyDatatype> {
    let numbers = numbers(&wanted.tree);
    // No call that can panic leaves the cache half-changed, so a poisoned lock is ignored.
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    cache.clock += 1;
    let now = cache.clock;
    match cache.remembered.get_or_insert_default().entry(wanted) {
        Entry::Occupied(mut found) => {
            found.get_mut().used = now;
            let entry = Arc::clone(&found.get().entry);
            cache.hits += 1;
            entry
        }
        Entry::Vacant(place) => {
            let entry = Arc::new(LazyDatatype::of_wanted(place.key().clone()));
            if numbers <= MOST_NUMBERS {
                place.insert(Remembered { entry: Arc::clone(&entry), numbers, used: now });
                cache.numbers += numbers;
                cache.forget();
            }
            entry
        }
    }
}

/// Counts a layout that was found in the cache of layouts with long lists.
pub(crate) fn note_hit() {
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    cache.clock += 1;
    cache.hits += 1;
}

impl Cache {
    /// Evicts the least recently used entries until the cache is within its limits.
    fn forget(&mut self) {
        let remembered = self.remembered.get_or_insert_default();
        while remembered.len() > MOST_ENTRIES || self.numbers > MOST_NUMBERS {
            let Some(oldest) =
                remembered.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone())
            else {
                return;
            };
            if let Some(forgotten) = remembered.remove(&oldest) {
                self.numbers -= forgotten.numbers;
            }
        }
    }
}

/// Returns the number of nodes and displacements of a tree.
fn numbers(tree: &TypeTree) -> usize {
    let own = match tree {
        TypeTree::Leaf(_) | TypeTree::Vector { .. } => 1,
        TypeTree::Index { displacements, .. } | TypeTree::Struct { displacements, .. } => displacements.len(),
        TypeTree::IndexBucket { displacements, buckets, .. } => displacements.len() + buckets.len(),
    };
    own + tree.children().iter().map(numbers).sum::<usize>()
}
