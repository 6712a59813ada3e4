//! How a type tells what it is made of: once to a visitor, at run time, and once in constants.
//!
//! `visit` is a straight list of fields. Each use of it is a visitor: packing, unpacking and checking are the same walk with another
//! visitor, inlined into straight-line code. Constants hold what is asked while the compiler runs, and what describes the layout when
//! the program does. The derive writes both; [`fields!`] does it for the types here.

use std::{slice::from_ref, sync::Arc};

use dtype_core::{BaseType, TypeTree, constant::RunBuffer};

use crate::{MpiDatatype, lazy::LazyDatatype, pack::pack_into};

/// Receives the parts of a type, in the order in which they travel. Offsets are in bytes from the value's start.
pub trait Visitor {
    /// The type travels as this base type.
    fn leaf<T: MpiDatatype>(&mut self, base: BaseType);
    /// The type has a field.
    fn field<F: MpiDatatype>(&mut self, offset: usize);
    /// The type is an array: `count` values, one after the other from its start.
    fn elements<F: MpiDatatype>(&mut self, count: usize);
}

/// What is known of a type while constants are evaluated.
#[derive(Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // each is a question of its own
pub struct Facts {
    /// Bytes of the type's data: the sum of its base types' sizes.
    pub packed_size: usize,
    /// Bytes that MPI carries of it: more, if something in it travels as bytes and has padding.
    pub wire_size: usize,
    /// Whether the packed bytes are the bytes in memory: no padding, and the order of travel is that in memory.
    pub dense: bool,
    /// Whether every pattern of the packed bytes is a value.
    pub any_pattern: bool,
    /// Whether the layout is the same in every program: no part of it is left to the compiler.
    pub fixed: bool,
    /// Whether every field travels.
    pub complete: bool,
    /// Whether MPI may write values itself: every pattern is one, but for `bool`, or somebody vouches for what comes.
    pub receivable: bool,
    /// The base type as which the type travels, if it is a single one.
    pub base: Option<BaseType>,
}

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

/// A field that travels: its offset in bytes, and of its type, the facts and the layout.
#[derive(Clone, Copy)]
pub struct Field {
    offset: usize,
    facts: &'static Facts,
    lazy: fn() -> &'static LazyDatatype,
}

impl Field {
    /// One of a type, at the start.
    pub const fn of<F: MpiDatatype>() -> Self {
        Self { offset: 0, facts: &F::FACTS, lazy: F::lazy }
    }

    /// The same so many bytes from the start.
    #[must_use]
    pub const fn at(self, offset: usize) -> Self {
        Self { offset, ..self }
    }
}

impl Fields {
    /// Which field travels as number `i`.
    const fn nth(&self, i: usize) -> usize {
        if self.order.is_empty() { i } else { self.order[i] }
    }

    /// Whether fields travel in another order than declared, and are so many that a loop over them is slower than a plan.
    pub(crate) const fn are_many_in_memory_order(&self) -> bool {
        const FEW: usize = 16;
        self.order.len() > FEW
    }
}

/// The numbers of fields in the order in which they lie in memory; of fields without size at one place, the first declared is the
/// first.
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

    /// The facts of a struct or tuple.
    pub const fn of_fields<T: MpiDatatype>() -> Self {
        let fields = &T::FIELDS;
        let (mut facts, mut i) = (Self { fixed: fields.fixed, complete: fields.complete, ..Self::EMPTY }, 0);
        while i < fields.list.len() {
            facts = facts.field(&fields.list[fields.nth(i)]);
            i += 1;
        }
        Self {
            dense: facts.dense && facts.packed_size == size_of::<T>(),
            wire_size: if T::BYTES { size_of::<T>() } else { facts.wire_size },
            receivable: facts.receivable || T::VOUCHED,
            ..facts
        }
    }

    /// The facts of an enum that travels as an integer.
    ///
    /// # Panics
    /// Where constants are evaluated, if it is larger: the derive refuses what would make it so.
    pub const fn of_enum<T: MpiDatatype, I: MpiDatatype>() -> Self {
        assert!(size_of::<T>() == size_of::<I>(), "an enum is as large as its integer");
        Self { any_pattern: false, receivable: T::VOUCHED, ..I::FACTS }
    }

    /// Adds a field.
    const fn field(self, Field { offset, facts, .. }: &Field) -> Self {
        Self {
            dense: self.dense && facts.dense && *offset == self.packed_size,
            packed_size: self.packed_size + facts.packed_size,
            wire_size: self.wire_size + facts.wire_size,
            any_pattern: self.any_pattern && facts.any_pattern,
            fixed: self.fixed && facts.fixed,
            complete: self.complete && facts.complete,
            receivable: self.receivable && facts.receivable,
            base: None,
        }
    }

    /// Adds `count` elements of type `F`, the only parts of an array.
    pub(crate) const fn elements<F: MpiDatatype>(count: usize) -> Self {
        let Self { packed_size, wire_size, .. } = F::FACTS;
        Self { packed_size: packed_size * count, wire_size: wire_size * count, base: None, ..F::FACTS }
    }

    /// Whether MPI carries padding in it.
    pub const fn has_blocks(&self) -> bool {
        self.wire_size != self.packed_size
    }
}

/// A type that is an integer with fewer values.
pub fn visit_integer<T: MpiDatatype, I: MpiDatatype>(visitor: &mut impl Visitor) {
    if let Some(base) = I::FACTS.base {
        visitor.leaf::<T>(base);
    }
}

/// Whether packed bytes are those of one of these integers.
pub fn is_one_of<I: MpiDatatype>(packed: &[u8], integers: &[I]) -> bool {
    let mut bytes = [0; 8];
    integers.iter().any(|integer| {
        pack_into(from_ref(integer), &mut bytes).is_ok_and(|length| bytes[..length] == *packed)
    })
}

/// The runs of a struct or tuple of these fields, whose types have those runs.
pub const fn runs_of_fields(fields: &Fields, runs: &[&RunBuffer]) -> RunBuffer {
    let (mut all, mut i) = (RunBuffer::new(), 0);
    while i < runs.len() {
        let field = fields.nth(i);
        all.append(runs[field], fields.list[field].offset as i64);
        i += 1;
    }
    all
}

/// Whether a type is laid out as a macro took it to be: the offsets of its travelling fields, in declared order, and its
/// size.
pub const fn lies_as<T: MpiDatatype>(offsets: &[usize], size: usize) -> bool {
    let (mut lies, mut i) = (size_of::<T>() == size && T::FIELDS.list.len() == offsets.len(), 0);
    while lies && i < offsets.len() {
        lies = T::FIELDS.list[i].offset == offsets[i];
        i += 1;
    }
    lies
}

/// The runs of a type that travels as the bytes it takes in memory.
///
/// # Panics
/// Where constants are evaluated: the compiler refuses a type of which this cannot be said.
pub const fn runs_of_bytes<T: MpiDatatype>() -> RunBuffer {
    must_be_fixed::<T>();
    RunBuffer::of_base(BaseType::Byte).repeated(size_of::<T>() as u64, 1)
}

/// Asserts that a type may be part of one that travels as bytes.
///
/// # Panics
/// Where constants are evaluated: the compiler refuses any other type.
pub const fn must_be_fixed<T: MpiDatatype>() {
    assert!(
        T::FACTS.complete && T::FACTS.fixed,
        "what travels with `#[mpi(wire = \"bytes\")]` must have a layout that is the same in every program, and no skipped \
         fields: put `#[repr(C)]` on the type of this field and on the structs in it, and replace tuples by such structs"
    );
}

/// The members of `MpiDatatype` that list the fields of a type here, each list the same.
macro_rules! fields {
    ($offset_of:ident, [$($field:tt: $type:ty),*]) => {
        const LIST: &'static [$crate::fields::Field] =
            &[$(<$type>::FIELD.at(memoffset::$offset_of!(Self, $field))),*];

        const FIELD_RUNS: &'static [&'static dtype_core::constant::RunBuffer] = &[$(&<$type>::RUNS),*];

        #[inline(always)]
        fn visit(_visitor: &mut impl $crate::fields::Visitor) {
            $(<$type>::visit_field(_visitor, memoffset::$offset_of!(Self, $field));)*
        }
    };
}
pub(crate) use fields;

/// A layout as it is written down, not yet solved.
pub enum Description {
    /// A type that travels as a base type.
    Leaf(BaseType),
    /// A type that travels as so many bytes.
    Bytes(usize),
    /// An array: the layout of its elements, their number and their distance in bytes.
    Elements(fn() -> &'static LazyDatatype, usize, usize),
    /// A struct or tuple.
    Fields(&'static Fields),
    /// What is no type, listed by a function.
    Listed(fn() -> TypeTree),
    /// What is known at run time only.
    Given(Arc<TypeTree>),
}

impl Description {
    /// The type tree: of a struct, a strc of the trees of its fields, nothing simplified but them.
    pub(crate) fn tree(&self) -> TypeTree {
        let solved = |lazy: fn() -> &'static LazyDatatype| lazy().solution().tree.clone();
        match self {
            Self::Leaf(base) => TypeTree::Leaf(*base),
            Self::Bytes(size) => TypeTree::vector(*size as u64, 1, TypeTree::Leaf(BaseType::Byte)),
            Self::Elements(element, count, stride) => match solved(*element) {
                // Elements without data may be more than fit a count.
                TypeTree::Struct { children, .. } if children.is_empty() => TypeTree::structure([], []),
                element => TypeTree::vector(*count as u64, *stride as i64, element),
            },
            Self::Fields(fields) => {
                let order = || (0..fields.list.len()).map(|i| &fields.list[fields.nth(i)]);
                let displacements = order().map(|field| field.offset as i64);
                let children = order().map(|field| solved(field.lazy));
                TypeTree::structure(displacements.collect::<Vec<_>>(), children.collect::<Vec<_>>())
            }
            Self::Listed(list) => list(),
            Self::Given(tree) => TypeTree::clone(tree),
        }
    }
}
