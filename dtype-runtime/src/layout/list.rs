//! Lists of indices.
//!
//! A program makes the layout of the same list again at every time step. So a long list that is in use is
//! found by its indices as they were given, before anything is worked out of them: one pass to hash them, and
//! one to compare them.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    hash::BuildHasher,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use foldhash::fast::FixedState;

use super::pieces::Integer;

/// Indices of a dimension.
pub struct List {
    indices: Vec<usize>,
    /// All indices are less.
    limit: usize,
    /// A long list as it was given: a `Vec` of its integers.
    given: Option<Box<dyn Any + Send + Sync>>,
}

/// The long lists in use, by the hash of their integers.
static LONG: Mutex<HashMap<u64, Weak<List>, FixedState>> = Mutex::new(HashMap::with_hasher(STATE));
const STATE: FixedState = FixedState::with_seed(0);

impl List {
    /// A list of as many indices is long.
    pub const FROM: usize = 1024;

    /// The list of these indices.
    ///
    /// # Errors
    /// The first of them that is not less than `length`.
    pub fn of<I: Integer>(given: &[I], length: usize) -> Result<Arc<Self>, usize> {
        if given.len() < Self::FROM {
            return Self::new(given, length).map(Arc::new);
        }
        let hash = STATE.hash_one((TypeId::of::<I>(), given));
        // No call that can panic leaves the map half-changed, so a poisoned lock is as good as any.
        let lists = || LONG.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lists().get(&hash).and_then(Weak::upgrade);
        if let Some(known) = known.filter(|known| known.limit <= length && known.was_given(given)) {
            return Ok(known);
        }
        let list = Arc::new(Self { given: Some(Box::new(given.to_vec())), ..Self::new(given, length)? });
        let mut lists = lists();
        // Those that are gone make place when the map is full, and it has place for as many again then: so
        // all are looked through once in a long while.
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
        // Without a branch for each: that is twice as fast.
        let index = |index: &I| {
            let index = index.wide();
            fits &= (index as u128) < length as u128;
            limit = limit.max((index as usize).wrapping_add(1));
            index as usize
        };
        let indices = given.iter().map(index).collect();
        if fits {
            return Ok(Self { indices, limit, given: None });
        }
        let is_within = |index: &I| usize::try_from(index.wide()).is_ok_and(|index| index < length);
        Err(given.iter().position(|index| !is_within(index)).unwrap_or_default())
    }

    fn was_given<I: Integer>(&self, indices: &[I]) -> bool {
        let given = self.given.as_deref().and_then(|given| given.downcast_ref::<Vec<I>>());
        given.is_some_and(|given| given == indices)
    }

    /// The indices, in order.
    #[inline(always)]
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }

    /// What all indices are less than: the least such number.
    pub fn limit(&self) -> usize {
        self.limit
    }
}

/// Long ones are the same only if they were given as the same integers: then they are one.
impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
            || self.given.is_none() && other.given.is_none() && self.indices == other.indices
    }
}
