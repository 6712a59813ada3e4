//! What is known of a type while constants are evaluated.

use dtype_core::BaseType;

/// What is known of a type while constants are evaluated.
#[derive(Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // each is a question of its own
pub struct Facts {
    /// Bytes of the type's data: the sum of its base types' sizes.
    pub packed_size: usize,
    /// Bytes that MPI carries of it: more, if something in it travels as bytes and has padding.
    pub wire_size: usize,
    /// Whether the packed bytes are the bytes in memory: no padding, and the order of travel is that in
    /// memory.
    pub dense: bool,
    /// Whether every pattern of the packed bytes is a value.
    pub any_pattern: bool,
    /// Whether the layout is the same in every program: no part of it is left to the compiler.
    pub fixed: bool,
    /// Whether every field travels.
    pub complete: bool,
    /// Whether MPI may write values itself: every pattern is one, but for `bool`, or somebody vouches for
    /// what comes.
    pub receivable: bool,
    /// The base type as which the type travels, if it is a single one.
    pub base: Option<BaseType>,
}

impl Facts {
    /// The facts of a type that travels as a base type.
    pub const fn of_base(base: BaseType, any_pattern: bool) -> Self {
        let size = base.size() as usize;
        let receivable = any_pattern || matches!(base, BaseType::Bool);
        Self { packed_size: size, wire_size: size, any_pattern, receivable, base: Some(base), ..Self::EMPTY }
    }

    /// The facts of a type without fields; the start for others.
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

    /// Adds a field, `offset` bytes from the start.
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

    /// Those of an array of `count` elements with these.
    #[must_use]
    pub const fn elements(self, count: usize) -> Self {
        let Self { packed_size, wire_size, .. } = self;
        Self { packed_size: packed_size * count, wire_size: wire_size * count, base: None, ..self }
    }

    /// Whether MPI carries padding in it.
    pub const fn has_blocks(&self) -> bool {
        self.wire_size != self.packed_size
    }
}
