//! The promotions that MPI libraries make (thesis chapter 3): coalescing of adjacent entries, then struct →
//! indexed → indexed block → vector → contiguous, greedily at the root.

use dtype_core::{BaseType, TypeMap, TypeTree};

/// Returns the tree that results from the promotions.
pub fn promote(map: &TypeMap) -> TypeTree {
    let blocks = coalesce(map);
    let displacements: Vec<i64> = blocks.iter().map(|block| block.0).collect();
    let contiguous = |base: BaseType, count: u64| match count {
        1 => TypeTree::Leaf(base),
        _ => TypeTree::vector(count, base.size() as i64, TypeTree::Leaf(base)),
    };
    let (_, base, length) = blocks[0];
    if blocks.iter().any(|block| block.1 != base) {
        let children: Vec<_> = blocks.iter().map(|(_, base, count)| contiguous(*base, *count)).collect();
        return TypeTree::structure(displacements, children);
    }
    if blocks.iter().any(|block| block.2 != length) {
        let lengths: Vec<u64> = blocks.iter().map(|block| block.2).collect();
        return TypeTree::index_bucket(base.size() as i64, lengths, displacements, TypeTree::Leaf(base));
    }
    let block = contiguous(base, length);
    let strides = displacements.windows(2).map(|pair| pair[1] - pair[0]);
    match strides.clone().next() {
        None if displacements[0] == 0 => block,
        Some(stride) if displacements[0] == 0 && strides.clone().all(|s| s == stride) => {
            TypeTree::vector(displacements.len() as u64, stride, block)
        }
        _ => TypeTree::index(displacements, block),
    }
}

/// Coalesces adjacent entries of one type into blocks: displacement, type and length.
fn coalesce(map: &TypeMap) -> Vec<(i64, BaseType, u64)> {
    let mut blocks: Vec<(i64, BaseType, u64)> = Vec::new();
    for (base, at) in map.entries() {
        match blocks.last_mut() {
            Some((start, last, count)) if *last == base && *start + (*count * base.size()) as i64 == at => {
                *count += 1;
            }
            _ => blocks.push((at, base, 1)),
        }
    }
    blocks
}
