//! The fields of structs and tuples, in constants.

use dtype_core::{TypeTree, constant::RunBuffer};

use super::facts::Facts;

/// A field that is sent: its offset in bytes, and the facts, the runs and the tree of its type.
#[derive(Clone, Copy)]
pub struct Field {
    offset: usize,
    /// The name, or the number in a tuple.
    #[cfg_attr(not(feature = "picture"), allow(dead_code))]
    name: &'static str,
    facts: &'static Facts,
    runs: &'static RunBuffer,
    tree: fn() -> TypeTree,
}

impl Field {
    /// Creates a field at offset 0.
    pub const fn new(facts: &'static Facts, runs: &'static RunBuffer, tree: fn() -> TypeTree) -> Self {
        Self { offset: 0, name: "", facts, runs, tree }
    }

    /// Returns the offset in bytes from the start of the struct or tuple.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the tree of the type.
    pub(super) fn tree(&self) -> TypeTree {
        (self.tree)()
    }

    /// Returns the field with this name, `offset` bytes from the start.
    #[must_use]
    pub const fn at(self, offset: usize, name: &'static str) -> Self {
        Self { offset, name, ..self }
    }

    /// Returns the name of the field.
    #[cfg(feature = "picture")]
    pub(super) const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the number of bytes from the start of the field to the end of the last byte that is sent.
    #[cfg(feature = "picture")]
    pub(super) fn size(&self) -> u64 {
        self.tree().measure().map_or(0, |measure| measure.upper_bound.max(0) as u64)
    }
}

/// Returns the field at position `i` of the packing order, which is empty for the declared order.
const fn nth<'a>(list: &'a [Field], order: &[usize], i: usize) -> &'a Field {
    &list[if order.is_empty() { i } else { order[i] }]
}

/// Adds the facts of all fields to `facts`.
pub(super) const fn facts(list: &[Field], order: &[usize], mut facts: Facts) -> Facts {
    let mut i = 0;
    while i < list.len() {
        let Field { offset, facts: more, .. } = nth(list, order, i);
        facts = facts.with_field(*offset, more);
        i += 1;
    }
    facts
}

/// Returns the runs of all fields.
pub(super) const fn runs(list: &[Field], order: &[usize]) -> RunBuffer {
    let (mut all, mut i) = (RunBuffer::new(), 0);
    while i < list.len() {
        let Field { offset, runs, .. } = nth(list, order, i);
        all.append(runs, *offset as i64);
        i += 1;
    }
    all
}

/// Returns the tree of `count` elements, `stride` bytes apart.
pub(crate) fn elements(element: TypeTree, count: usize, stride: usize) -> TypeTree {
    match element {
        // The number of elements without data may not fit a count.
        _ if count == 0 => TypeTree::structure([], []),
        TypeTree::Struct { children, .. } if children.is_empty() => TypeTree::structure([], []),
        element => TypeTree::vector(count as u64, stride as i64, element),
    }
}

/// Returns a strc of the types of the fields at their offsets, in packing order.
pub(super) fn tree(list: &[Field], order: &[usize]) -> TypeTree {
    let fields = || (0..list.len()).map(|i| nth(list, order, i));
    let displacements = fields().map(|field| field.offset as i64);
    let children = fields().map(Field::tree);
    TypeTree::structure(displacements.collect::<Vec<_>>(), children.collect::<Vec<_>>())
}
