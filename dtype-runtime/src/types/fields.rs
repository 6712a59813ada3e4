//! The fields of structs and tuples, in constants.

use dtype_core::{TypeTree, constant::RunBuffer};

use super::{entry::LazyDatatype, facts::Facts};

/// The fields of a struct or tuple, in a constant.
#[derive(Clone, Copy)]
pub struct Fields {
    /// The fields that are sent, in declared order.
    pub list: &'static [Field],
    /// The packing order, as indices into the list; empty for the declared order.
    pub order: &'static [usize],
    /// `true` if the compiler does not choose the offsets.
    pub fixed: bool,
    /// `true` if all fields of the struct or tuple are in the list.
    pub complete: bool,
}

/// A field that is sent: its offset in bytes, and the facts, the runs and the layout of its type.
#[derive(Clone, Copy)]
pub struct Field {
    offset: usize,
    /// The name, or the number in a tuple.
    #[cfg_attr(not(feature = "picture"), allow(dead_code))]
    name: &'static str,
    facts: &'static Facts,
    runs: &'static RunBuffer,
    lazy: fn() -> &'static LazyDatatype,
}

impl Field {
    /// Creates a field at offset 0.
    pub const fn new(
        facts: &'static Facts,
        runs: &'static RunBuffer,
        lazy: fn() -> &'static LazyDatatype,
    ) -> Self {
        Self { offset: 0, name: "", facts, runs, lazy }
    }

    /// Returns the offset in bytes from the start of the struct or tuple.
    pub const fn offset(&self) -> usize {
        self.offset
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
        (self.lazy)().solution().tree.measure().map_or(0, |measure| measure.upper_bound.max(0) as u64)
    }
}

impl Fields {
    /// Returns the index of the field at position `i` of the packing order.
    const fn nth(&self, i: usize) -> usize {
        if self.order.is_empty() { i } else { self.order[i] }
    }

    /// Returns the facts of all fields together.
    pub const fn facts(&self) -> Facts {
        let (mut facts, mut i) = (Facts { fixed: self.fixed, complete: self.complete, ..Facts::EMPTY }, 0);
        while i < self.list.len() {
            let Field { offset, facts: more, .. } = &self.list[self.nth(i)];
            facts = facts.with_field(*offset, more);
            i += 1;
        }
        facts
    }

    /// Returns `true` if the fields are at these offsets, in declared order.
    pub const fn lie_at(&self, offsets: &[usize]) -> bool {
        let (mut lie, mut i) = (self.list.len() == offsets.len(), 0);
        while lie && i < offsets.len() {
            lie = self.list[i].offset == offsets[i];
            i += 1;
        }
        lie
    }

    /// Returns the runs of all fields.
    pub const fn runs(&self) -> RunBuffer {
        let (mut all, mut i) = (RunBuffer::new(), 0);
        while i < self.list.len() {
            let Field { offset, runs, .. } = &self.list[self.nth(i)];
            all.append(runs, *offset as i64);
            i += 1;
        }
        all
    }

    /// Returns a strc of the types of the fields at their offsets, in packing order.
    pub(crate) fn tree(&self) -> TypeTree {
        let order = || (0..self.list.len()).map(|i| &self.list[self.nth(i)]);
        let displacements = order().map(|field| field.offset as i64);
        let children = order().map(|field| (field.lazy)().solution().tree.clone());
        TypeTree::structure(displacements.collect::<Vec<_>>(), children.collect::<Vec<_>>())
    }

    /// Returns `true` if the fields have a packing order of their own and there are more than 16 of them. A
    /// loop over so many fields is slower than a plan.
    pub(crate) const fn are_many_in_memory_order(&self) -> bool {
        const FEW: usize = 16;
        self.order.len() > FEW
    }
}
