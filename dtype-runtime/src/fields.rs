//! How a type tells what it is made of: once to a visitor, at run time, and once in constants.
//!
//! [`fields!`](crate::fields) writes both. `visit` is a straight list of fields. Each use of it is a visitor: describing the layout, packing,
//! unpacking and checking are the same walk with another visitor, inlined into straight-line code.

use dtype_core::{BaseType, TypeTree};

use crate::MpiDatatype;

/// Receives the parts of a type, in the order in which they travel. Offsets are in bytes from the value's start.
pub trait Visitor {
    /// The type is this base type.
    fn leaf(&mut self, base: BaseType);
    /// The type has a field.
    fn field<F: MpiDatatype>(&mut self, offset: usize);
    /// The type is an array: `count` values, one after the other from its start.
    fn elements<F: MpiDatatype>(&mut self, count: usize);
}

/// What is known of a type while constants are evaluated.
#[derive(Clone, Copy)]
pub struct Facts {
    /// Bytes of the type's data: the sum of its base types' sizes.
    pub packed_size: usize,
    /// Whether the packed bytes are the bytes in memory: no padding, and the order of travel is that in memory.
    pub dense: bool,
    /// Whether every pattern of the packed bytes is a value.
    pub any_pattern: bool,
    /// The base type, if the type is one.
    pub base: Option<BaseType>,
}

impl Facts {
    /// The facts of a base type.
    pub const fn of_base(base: BaseType) -> Self {
        let any_pattern = !matches!(base, BaseType::Bool);
        Self { packed_size: base.size() as usize, dense: true, any_pattern, base: Some(base) }
    }

    /// The facts of a type without fields; the start for others.
    pub const fn empty() -> Self {
        Self { packed_size: 0, dense: true, any_pattern: true, base: None }
    }

    /// Adds a field with these facts at `offset` bytes.
    #[must_use]
    pub const fn field(self, field: &Self, offset: usize) -> Self {
        Self {
            dense: self.dense && field.dense && offset == self.packed_size,
            packed_size: self.packed_size + field.packed_size,
            any_pattern: self.any_pattern && field.any_pattern,
            base: None,
        }
    }

    /// Adds `count` elements of type `F`, the only parts of an array.
    pub(crate) const fn elements<F: MpiDatatype>(count: usize) -> Self {
        Self { packed_size: F::FACTS.packed_size * count, base: None, ..F::FACTS }
    }

    /// Closes the list of the fields of `T`.
    #[must_use]
    pub const fn of<T>(self) -> Self {
        Self { dense: self.dense && self.packed_size == size_of::<T>(), ..self }
    }
}

/// The members of `MpiDatatype` that list the fields of a type, each list the same: `{offset macro}: {field}: {type}, …`.
///
/// Each use of a type has the same form, so that the compiler says only once that it lacks the trait.
#[doc(hidden)]
#[macro_export]
macro_rules! fields {
    ($offset_of:ident: $($field:tt: $type:ty),* $(,)?) => {
        const FACTS: $crate::__private::Facts = $crate::__private::Facts::empty()
            $(.field(
                &<$type as $crate::__private::MpiDatatype>::FACTS,
                $crate::__private::memoffset::$offset_of!(Self, $field),
            ))*
            .of::<Self>();

        const RUNS: $crate::__private::RunBuffer = $crate::__private::RunBuffer::new()
            $(.with(
                &<$type as $crate::__private::MpiDatatype>::RUNS,
                $crate::__private::memoffset::$offset_of!(Self, $field) as i64,
            ))*;

        #[inline(always)]
        fn visit<V: $crate::__private::Visitor>(visitor: &mut V) {
            let _ = &visitor;
            $(<$type as $crate::__private::MpiDatatype>::visit_field(
                visitor,
                $crate::__private::memoffset::$offset_of!(Self, $field),
            );)*
        }
    };
}

/// Lists the fields of `T` as a type tree: a strc of the trees of its fields, nothing simplified but them.
pub(crate) fn describe<T: MpiDatatype>() -> TypeTree {
    let mut describe = Describe { tree: None, displacements: Vec::new(), children: Vec::new() };
    T::visit(&mut describe);
    describe.tree.unwrap_or_else(|| TypeTree::structure(describe.displacements, describe.children))
}

struct Describe {
    /// The whole type, if it is a base type or an array.
    tree: Option<TypeTree>,
    displacements: Vec<i64>,
    children: Vec<TypeTree>,
}

impl Visitor for Describe {
    fn leaf(&mut self, base: BaseType) {
        self.tree = Some(TypeTree::Leaf(base));
    }

    fn field<F: MpiDatatype>(&mut self, offset: usize) {
        self.displacements.push(offset as i64);
        self.children.push(F::type_tree().clone());
    }

    fn elements<F: MpiDatatype>(&mut self, count: usize) {
        // Elements without data may be more than fit a count.
        if F::FACTS.packed_size > 0 {
            let stride = size_of::<F>() as i64;
            self.tree = Some(TypeTree::vector(count as u64, stride, F::type_tree().clone()));
        }
    }
}
