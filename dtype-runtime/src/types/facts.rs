//! Facts about types that are known during constant evaluation.

use dtype_core::BaseType;

/// Facts about a type that are known during constant evaluation.
#[derive(Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // independent facts
pub struct Facts {
    /// The packed size in bytes: the sum of the sizes of the base types.
    pub packed_size: usize,
    /// The number of bytes that MPI transfers: more than `packed_size` if a part with padding is transferred
    /// as bytes.
    pub wire_size: usize,
    /// `true` if the packed bytes are the bytes in memory: no padding and no reordering.
    pub dense: bool,
    /// `true` if every pattern of the packed bytes is a valid value.
    pub any_pattern: bool,
    /// `true` if the layout is the same in every program: the compiler chooses no part of it.
    pub fixed: bool,
    /// `true` if every field is sent.
    pub complete: bool,
    /// `true` if MPI may write values itself: every pattern is valid, apart from `bool`, or the user vouches
    /// for the bytes that arrive.
    pub receivable: bool,
    /// The base type that the type is transferred as, if it is a single one.
    pub base: Option<BaseType>,
}

impl Facts {
    /// Returns the facts of a type that is transferred as a base type.
    pub const fn of_base(base: BaseType, any_pattern: bool) -> Self {
        let size = base.size() as usize;
        let receivable = any_pattern || matches!(base, BaseType::Bool);
        Self { packed_size: size, wire_size: size, any_pattern, receivable, base: Some(base), ..Self::EMPTY }
    }

    /// The facts of a type without fields. The facts of other types are built from them.
    pub const EMPTY: Self = Self {
        packed_size: 0,
        wire_size: 0,
        dense: true,
        any_pattern: true,
        fixed: true,
        complete: true,
        receivable: true,
        base: None,
    };

    /// Adds a field at `offset` bytes from the start.
    #[must_use]
    pub const fn with_field(self, offset: usize, facts: &Self) -> Self {
        Self {
            dense: self.dense && facts.dense && offset == self.packed_size,
            packed_size: self.packed_size + facts.packed_size,
            wire_size: self.wire_size + facts.wire_size,
            any_pattern: self.any_pattern && facts.any_pattern,
            fixed: self.fixed && facts.fixed,
            complete: self.complete && facts.complete,
            receivable: self.receivable && facts.receivable,
            base: None,
        }
    }

    /// Returns the facts of an array of `count` elements with these facts.
    #[must_use]
    pub const fn elements(self, count: usize) -> Self {
        let Self { packed_size, wire_size, .. } = self;
        Self { packed_size: packed_size * count, wire_size: wire_size * count, base: None, ..self }
    }

    /// Returns `true` if MPI transfers padding within the type.
    pub const fn has_blocks(&self) -> bool {
        self.wire_size != self.packed_size
    }
}
