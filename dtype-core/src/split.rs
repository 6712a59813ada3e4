//! The splitting of large counts, for MPI libraries whose counts are C's `int`.

use alloc::vec::Vec;

use crate::TypeTree;

impl TypeTree {
    /// Returns a tree for the same type map in which no count, no bucket and no list length exceeds `limit`,
    /// which is at least 2. Larger counts and longer lists become several nodes. The tree must have passed
    /// [`measure`](Self::measure). The new tree fails `measure` if the copies of a bucket, before they are
    /// displaced, exceed the range of `i64`.
    ///
    /// ```
    /// use dtype_core::{BaseType, TypeTree};
    /// let tree = TypeTree::vector(7, 8, TypeTree::Leaf(BaseType::F64));
    /// let split = tree.split(3);
    /// assert_eq!(split.flatten()?, tree.flatten()?);
    /// assert_eq!(
    ///     split.to_string(),
    ///     "strc 2\n├─ @ 0: vec 2, stride 24\n│  └─ vec 3, stride 8\n│     └─ f64\n└─ @ 48: f64\n"
    /// );
    /// # Ok::<(), dtype_core::Error>(())
    /// ```
    #[must_use]
    pub fn split(&self, limit: u64) -> Self {
        let limit = limit.max(2);
        match self {
            Self::Leaf(_) => self.clone(),
            Self::Vector { count, stride, child } => copies(*count, *stride, &child.split(limit), limit),
            Self::Index { displacements, child } => {
                let child = child.split(limit);
                let parts = |some: &[i64]| Self::index(some, child.clone());
                in_turn(displacements.chunks(chunk(limit)).map(parts).collect(), limit)
            }
            Self::IndexBucket { stride, buckets, displacements, child } => {
                let child = child.split(limit);
                if buckets.iter().all(|count| *count <= limit) {
                    let pairs = buckets.chunks(chunk(limit)).zip(displacements.chunks(chunk(limit)));
                    let parts = |(counts, places): (&[u64], &[i64])| {
                        Self::index_bucket(*stride, counts, places, child.clone())
                    };
                    return in_turn(pairs.map(parts).collect(), limit);
                }
                let buckets = buckets.iter().map(|count| copies(*count, *stride, &child, limit));
                structure(displacements, buckets.collect(), limit)
            }
            Self::Struct { displacements, children } => {
                structure(displacements, children.iter().map(|child| child.split(limit)).collect(), limit)
            }
        }
    }
}

/// Returns `limit` as the length of a list.
fn chunk(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Returns `count` copies as nested vecs, with a strc for the remainder.
fn copies(count: u64, stride: i64, child: &TypeTree, limit: u64) -> TypeTree {
    if count <= limit {
        return TypeTree::vector(count, stride, child.clone());
    }
    let (whole, rest) = (count / limit, count % limit);
    let long = stride.wrapping_mul(limit as i64);
    let whole_copies = copies(whole, long, &TypeTree::vector(limit, stride, child.clone()), limit);
    if rest == 0 {
        return whole_copies;
    }
    let last = long.wrapping_mul(whole as i64);
    let rest = if rest == 1 { child.clone() } else { TypeTree::vector(rest, stride, child.clone()) };
    TypeTree::structure([0, last], [whole_copies, rest])
}

/// Returns children at their displacements, as nested strcs if there are more than `limit`.
fn structure(displacements: &[i64], children: Vec<TypeTree>, limit: u64) -> TypeTree {
    if children.len() as u64 <= limit {
        return TypeTree::structure(displacements, children);
    }
    let parts = displacements.chunks(chunk(limit)).zip(children.chunks(chunk(limit)));
    in_turn(parts.map(|(places, children)| TypeTree::structure(places, children)).collect(), limit)
}

/// Returns the parts one after the other, all at displacement 0.
fn in_turn(mut parts: Vec<TypeTree>, limit: u64) -> TypeTree {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    structure(&alloc::vec![0; parts.len()], parts, limit)
}
