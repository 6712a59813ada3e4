//! The nodes of a tree in the order in which they are drawn, and the part of a large tree to zoom in on.

use alloc::{format, string::String, vec, vec::Vec};

use crate::{Error, Measure, TypeTree};

/// A tree's nodes, each before its children.
pub(super) struct Nodes<'a> {
    all: Vec<Node<'a>>,
}

pub(super) struct Node<'a> {
    pub(super) tree: &'a TypeTree,
    pub(super) measure: Measure,
    parent: Option<usize>,
    /// The numbers of its children.
    pub(super) children: Vec<usize>,
}

impl<'a> Nodes<'a> {
    pub(super) fn of(tree: &'a TypeTree) -> Result<Self, Error> {
        tree.measure()?;
        let mut nodes = Self { all: Vec::new() };
        nodes.push(tree, None)?;
        Ok(nodes)
    }

    fn push(&mut self, tree: &'a TypeTree, parent: Option<usize>) -> Result<usize, Error> {
        let number = self.all.len();
        self.all.push(Node { tree, measure: tree.measure()?, parent, children: Vec::new() });
        for child in tree.children() {
            let child = self.push(child, Some(number))?;
            self.all[number].children.push(child);
        }
        Ok(number)
    }

    pub(super) fn node(&self, number: usize) -> &Node<'a> {
        &self.all[number]
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'a TypeTree> {
        self.all.iter().map(|node| node.tree)
    }

    /// Returns a node and all its ancestors.
    pub(super) fn above(&self, number: usize) -> Vec<usize> {
        let mut all = vec![number];
        while let Some(parent) = all.last().and_then(|last| self.all[*last].parent) {
            all.push(parent);
        }
        all
    }

    /// Returns the distance between copies of the outermost vec in bytes, if there is one.
    pub(super) fn period(&self) -> Option<i64> {
        let mut trees = self.iter().skip_while(|tree| match tree {
            TypeTree::Index { displacements, .. } => displacements.len() == 1,
            _ => false,
        });
        match trees.next()? {
            TypeTree::Vector { stride, .. } => Some(stride.saturating_abs()).filter(|stride| *stride > 0),
            _ => None,
        }
    }

    /// Returns a window of at most `most` bytes at the beginning of the repeated part, and notes on the
    /// repetition from the outside in.
    pub(super) fn zoomed(&self, most: i64) -> ((i64, i64), Vec<String>) {
        let (mut number, mut at, mut said) = (0, 0i64, Vec::new());
        loop {
            let node = &self.all[number];
            let window = |measure: &Measure, at: i64, length: i64| {
                let from = at.saturating_add(measure.lower_bound);
                (from, from.saturating_add(length))
            };
            let length = node.measure.true_extent();
            let Some(child) = node.children.first().copied().filter(|_| length > most) else {
                return (window(&node.measure, at, length.min(most)), said);
            };
            let measure = &self.all[child].measure;
            // The number of bytes to show of several children, if these are small enough.
            let of_copies = |stride: i64| {
                let copies = if stride > 0 { (most / stride).min((most / 2 / stride).max(2)) } else { 0 };
                (copies > 1 && measure.true_extent() <= stride).then(|| copies * stride)
            };
            let of_parts =
                |count: usize| (count > 1 && measure.true_extent() <= most / 8).then_some(most / 4);
            let (first, several) = match node.tree {
                TypeTree::Leaf(_) => (None, None),
                TypeTree::Vector { count, stride, .. } => {
                    said.push(format!("{count} copies, {stride} bytes apart"));
                    (None, of_copies(*stride))
                }
                TypeTree::Index { displacements, .. } => {
                    // A single displacement only moves the child.
                    if displacements.len() > 1 {
                        said.push(format!("{} copies at irregular places", displacements.len()));
                    }
                    (displacements.first(), of_parts(displacements.len()))
                }
                TypeTree::IndexBucket { displacements, buckets, stride, .. } => {
                    let copies = buckets.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
                    said.push(format!("{copies} copies in {} buckets, {stride} bytes apart", buckets.len()));
                    (displacements.first(), of_copies(*stride))
                }
                TypeTree::Struct { displacements, .. } => {
                    let parts = of_parts(displacements.len());
                    let beginning = if parts.is_none() { "the first of " } else { "" };
                    said.push(format!("{beginning}{} parts", displacements.len()));
                    (displacements.first(), parts)
                }
            };
            at = at.saturating_add(first.copied().unwrap_or(0));
            if let Some(length) = several {
                return (window(measure, at, length), said);
            }
            number = child;
        }
    }
}
