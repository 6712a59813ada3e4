//! Lists of indices, one by one or in closed form.
//!
//! Many programs create the layout of the same list at every time step. So a long list that is still in use
//! is looked up by its integers as they were given, before they are processed. The look-up takes one pass to
//! hash the integers and one to compare them.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    hash::BuildHasher,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use dtype_core::TypeTree;
use dtype_engine::Layer;
use foldhash::fast::FixedState;

use super::{indices::Indices, integer::Integer};

/// A list of indices of a dimension.
pub struct List {
    entries: Entries,
    /// The least number that is greater than every index.
    limit: usize,
    /// The integers of a long list as they were given, in a `Vec` of their own type.
    given: Option<Box<dyn Any + Send + Sync>>,
}

/// The indices of a list.
#[derive(PartialEq)]
enum Entries {
    /// One by one, in any order.
    Each(Vec<usize>),
    Ascending(Indices),
}

/// The long lists in use, by the hash of their given integers.
static LONG: Mutex<HashMap<u64, Weak<List>, FixedState>> = Mutex::new(HashMap::with_hasher(STATE));
const STATE: FixedState = FixedState::with_seed(0);

impl List {
    /// The least number of indices of a long list.
    pub const FROM: usize = 1024;

    /// Returns the list of these indices.
    ///
    /// # Errors
    /// The position of the first index that is negative or not less than `length`.
    pub fn of<I: Integer>(given: &[I], length: usize) -> Result<Arc<Self>, usize> {
        if given.len() < Self::FROM {
            return Self::new(given, length).map(Arc::new);
        }
        let hash = STATE.hash_one((TypeId::of::<I>(), given));
        // No call that can panic leaves the map inconsistent, so a poisoned lock can be used.
        let lists = || LONG.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lists().get(&hash).and_then(Weak::upgrade);
        if let Some(known) = known.filter(|known| known.limit <= length && known.was_given(given)) {
            return Ok(known);
        }
        let list = Arc::new(Self { given: Some(Box::new(given.to_vec())), ..Self::new(given, length)? });
        let mut lists = lists();
        // When the map is full, entries of dropped lists are removed, and the capacity becomes at least twice
        // the number of lists in use. So the whole map is searched rarely.
        if lists.len() == lists.capacity() {
            lists.retain(|_, list| list.strong_count() > 0);
            let in_use = lists.len();
            lists.reserve(in_use);
        }
        lists.insert(hash, Arc::downgrade(&list));
        Ok(list)
    }

    fn new<I: Integer>(given: &[I], length: usize) -> Result<Self, usize> {
        let (mut limit, mut fits) = (0, true);
        // A pass without branches is twice as fast as a branch for each index.
        let index = |index: &I| {
            let index = index.wide();
            fits &= (index as u128) < length as u128;
            limit = limit.max((index as usize).wrapping_add(1));
            index as usize
        };
        let indices = given.iter().map(index).collect();
        if fits {
            return Ok(Self { entries: Entries::Each(indices), limit, given: None });
        }
        let is_within = |index: &I| usize::try_from(index.wide()).is_ok_and(|index| index < length);
        Err(given.iter().position(|index| !is_within(index)).unwrap_or_default())
    }

    fn was_given<I: Integer>(&self, indices: &[I]) -> bool {
        let given = self.given.as_deref().and_then(|given| given.downcast_ref::<Vec<I>>());
        given.is_some_and(|given| given == indices)
    }

    /// Returns the number of indices.
    pub fn count(&self) -> usize {
        match &self.entries {
            Entries::Each(indices) => indices.len(),
            Entries::Ascending(indices) => indices.count(),
        }
    }

    /// Returns the index at a position, which is less than [`count`](Self::count).
    #[inline(always)]
    pub fn at(&self, position: usize) -> usize {
        match &self.entries {
            Entries::Each(indices) => indices[position],
            Entries::Ascending(indices) => indices.at(position),
        }
    }

    /// Returns the first index; 0 if the list is empty.
    #[inline(always)]
    pub fn first(&self) -> usize {
        match &self.entries {
            Entries::Each(indices) => indices.first().copied().unwrap_or_default(),
            Entries::Ascending(indices) => indices.first(),
        }
    }

    /// Returns the number of indices that memory holds one by one.
    pub fn held(&self) -> usize {
        if self.ascends() { 0 } else { self.count() }
    }

    /// Returns `true` if the indices are known to ascend.
    pub fn ascends(&self) -> bool {
        matches!(self.entries, Entries::Ascending(_))
    }

    /// Returns the number of times that the list has an index.
    pub fn times(&self, index: usize) -> usize {
        match &self.entries {
            Entries::Each(indices) => indices.iter().filter(|listed| **listed == index).count(),
            Entries::Ascending(indices) => usize::from(indices.contains(index)),
        }
    }

    /// Returns the tree of a node at each index, relative to the first one. Indices are `stride` bytes apart.
    pub fn tree(&self, stride: isize, node: TypeTree) -> TypeTree {
        match &self.entries {
            Entries::Each(indices) => TypeTree::index(self.places(indices, stride).collect::<Vec<_>>(), node),
            Entries::Ascending(indices) => indices.nested(
                &node,
                |node, count, step| match count {
                    1 => node,
                    _ => TypeTree::vector(count as u64, step as i64 * stride as i64, node),
                },
                |nodes| {
                    let nodes = nodes.into_iter().map(|(at, node)| (at as i64 * stride as i64, node));
                    let (places, nodes): (Vec<_>, Vec<_>) = nodes.unzip();
                    match <[TypeTree; 1]>::try_from(nodes) {
                        Ok([only]) => only,
                        Err(nodes) => TypeTree::structure(places, nodes),
                    }
                },
            ),
        }
    }

    /// Returns the layer of another one at each index, relative to the first one. Indices are `stride` bytes
    /// apart.
    pub fn layer(&self, stride: isize, layer: Layer) -> Layer {
        match &self.entries {
            Entries::Each(indices) => {
                let places = self.places(indices, stride).map(|place| place as isize);
                layer.listed(&places.collect::<Vec<_>>())
            }
            Entries::Ascending(indices) => indices.nested(
                &layer,
                |layer, count, step| match count {
                    1 => layer,
                    _ => layer.repeated(count, step as isize * stride),
                },
                |layers| Layer::sequence(layers.into_iter().map(|(at, layer)| (at as isize * stride, layer))),
            ),
        }
    }

    /// Returns the bytes from the first index to each.
    fn places(&self, indices: &[usize], stride: isize) -> impl Iterator<Item = i64> {
        let first = self.first() as isize;
        indices.iter().map(move |index| ((*index as isize - first) * stride) as i64)
    }

    /// Returns the least number that is greater than every index.
    pub fn limit(&self) -> usize {
        self.limit
    }
}

/// Compares short lists by their indices, and long lists by their addresses: [`List::of`] returns one list
/// for equal integers of one type.
impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
            || self.given.is_none() && other.given.is_none() && self.entries == other.entries
    }
}

impl From<Indices> for List {
    fn from(indices: Indices) -> Self {
        Self { limit: indices.limit(), entries: Entries::Ascending(indices), given: None }
    }
}
