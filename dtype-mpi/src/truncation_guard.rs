//! The truncation guard: a gap before the last value of a receive buffer, for libraries with
//! [`WRITES_PAST_BUFFER`](crate::Library::WRITES_PAST_BUFFER).
//!
//! If one process reads the memory of the other, Open MPI writes a message that is too long past the end of
//! the buffer, unless the datatype of the receive has a gap. With a gap, it writes no more than fits.

use dtype_core::TypeTree;

/// Returns a copy of a gapless tree in which the last leaf lies `gap` bytes further on.
pub fn with_gap(tree: &TypeTree, gap: i64) -> TypeTree {
    match tree {
        TypeTree::Vector { count, stride, child } if *count > 0 => {
            let before = TypeTree::vector(count - 1, *stride, (**child).clone());
            TypeTree::structure([0, (*count as i64 - 1) * stride], [before, with_gap(child, gap)])
        }
        TypeTree::Struct { displacements, children } => {
            let mut children = children.clone();
            let last = children.pop().map(|last| with_gap(&last, gap));
            children.extend(last);
            TypeTree::structure(displacements.clone(), children)
        }
        tree => TypeTree::structure([gap], [tree.clone()]),
    }
}

#[cfg(test)]
mod tests {
    use dtype_core::{BaseType, TypeTree};

    use super::with_gap;

    #[test]
    fn the_last_value_lies_behind_the_gap() {
        let bytes = TypeTree::vector(5, 1, TypeTree::Leaf(BaseType::Byte));
        let pair = TypeTree::structure([0, 4], [TypeTree::Leaf(BaseType::F32), bytes]);
        let list = TypeTree::vector(2, 9, pair);
        let (before, after) = (list.flatten().unwrap(), with_gap(&list, 16).flatten().unwrap());
        let places = |map: &dtype_core::TypeMap| map.entries().collect::<Vec<_>>();
        let (mut expected, found) = (places(&before), places(&after));
        expected.last_mut().unwrap().1 += 16;
        assert_eq!(found, expected);
    }
}
