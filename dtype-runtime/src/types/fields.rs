//! What a struct or tuple is made of, in constants.

use dtype_core::{TypeTree, constant::RunBuffer};

use super::{entry::LazyDatatype, facts::Facts};

/// What a struct or tuple is made of, in a constant.
#[derive(Clone, Copy)]
pub struct Fields {
    /// Those that travel, in declared order.
    pub list: &'static [Field],
    /// In which order they travel, by their numbers in the list; as declared if this is empty.
    pub order: &'static [usize],
    /// Whether the compiler has no say in where they lie.
    pub fixed: bool,
    /// Whether there are no others.
    pub complete: bool,
}

/// A field that travels: its offset in bytes, and of its type, the facts, the runs and the layout.
#[derive(Clone, Copy)]
pub struct Field {
    offset: usize,
    /// Its name, or number.
    #[cfg_attr(not(feature = "picture"), allow(dead_code))]
    name: &'static str,
    facts: &'static Facts,
    runs: &'static RunBuffer,
    lazy: fn() -> &'static LazyDatatype,
}

impl Field {
    /// One at the start.
    pub const fn new(
        facts: &'static Facts,
        runs: &'static RunBuffer,
        lazy: fn() -> &'static LazyDatatype,
    ) -> Self {
        Self { offset: 0, name: "", facts, runs, lazy }
    }

    /// Bytes from the start.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The same field under its name, `offset` bytes from the start.
    #[must_use]
    pub const fn at(self, offset: usize, name: &'static str) -> Self {
        Self { offset, name, ..self }
    }

    /// What it is called.
    #[cfg(feature = "picture")]
    pub(super) const fn name(&self) -> &'static str {
        self.name
    }

    /// Bytes up to its last one that travels.
    #[cfg(feature = "picture")]
    pub(super) fn size(&self) -> u64 {
        (self.lazy)().solution().tree.measure().map_or(0, |measure| measure.upper_bound.max(0) as u64)
    }
}

impl Fields {
    /// Which field travels as number `i`.
    const fn nth(&self, i: usize) -> usize {
        if self.order.is_empty() { i } else { self.order[i] }
    }

    /// What is known of all of them together.
    pub const fn facts(&self) -> Facts {
        let (mut facts, mut i) = (Facts { fixed: self.fixed, complete: self.complete, ..Facts::EMPTY }, 0);
        while i < self.list.len() {
            let Field { offset, facts: more, .. } = &self.list[self.nth(i)];
            facts = facts.with_field(*offset, more);
            i += 1;
        }
        facts
    }

    /// Whether they are at these offsets, in declared order.
    pub const fn lie_at(&self, offsets: &[usize]) -> bool {
        let (mut lie, mut i) = (self.list.len() == offsets.len(), 0);
        while lie && i < offsets.len() {
            lie = self.list[i].offset == offsets[i];
            i += 1;
        }
        lie
    }

    /// The runs of all of them.
    pub const fn runs(&self) -> RunBuffer {
        let (mut all, mut i) = (RunBuffer::new(), 0);
        while i < self.list.len() {
            let Field { offset, runs, .. } = &self.list[self.nth(i)];
            all.append(runs, *offset as i64);
            i += 1;
        }
        all
    }

    /// Their types at their places, in the order of travel.
    pub(crate) fn tree(&self) -> TypeTree {
        let order = || (0..self.list.len()).map(|i| &self.list[self.nth(i)]);
        let displacements = order().map(|field| field.offset as i64);
        let children = order().map(|field| (field.lazy)().solution().tree.clone());
        TypeTree::structure(displacements.collect::<Vec<_>>(), children.collect::<Vec<_>>())
    }

    /// Whether fields travel in another order than declared, and are too many for a loop over them; it is
    /// slower than a plan.
    pub(crate) const fn are_many_in_memory_order(&self) -> bool {
        const FEW: usize = 16;
        self.order.len() > FEW
    }
}

/// The numbers of fields in the order in which they lie in memory; of fields without size at one place, the
/// first declared is the first.
pub const fn in_memory<const N: usize>(list: &[Field]) -> [usize; N] {
    let (mut order, mut i) = ([0; N], 0);
    while i < N {
        let mut place = i;
        while place > 0 && list[order[place - 1]].offset > list[i].offset {
            order[place] = order[place - 1];
            place -= 1;
        }
        order[place] = i;
        i += 1;
    }
    order
}
