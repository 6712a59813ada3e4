//! The value types of plain types that are made of others: arrays and tuples.

use dtype_core::TypeTree;
use dtype_engine::{Error as PackError, Layer};

use super::{
    MpiMessage, Plain,
    plain::{NOTHING, entry_of, plan_of},
};
use crate::types::{Copying, Facts, ValueType, fields::elements};

/// Returns the value type of `T`, or one without bytes if values of `T` are not plain.
const fn or_nothing<T: MpiMessage>() -> &'static ValueType {
    match T::PLAIN {
        Some(plain) => plain.of,
        None => &NOTHING,
    }
}

/// Returns the value type of arrays of plain values.
pub(super) const fn of_array<T: MpiMessage, const N: usize>() -> Option<Plain<[T; N]>> {
    let of = const {
        let element = or_nothing::<T>();
        &ValueType {
            name: std::any::type_name::<[T; N]>,
            size: size_of::<[T; N]>(),
            align: align_of::<T>(),
            facts: element.facts.elements(N),
            is_bytes: element.is_bytes,
            lazy: || entry_of::<[T; N]>(tree_of_array::<T, N>),
            plan: || plan_of::<[T; N]>(tree_of_array::<T, N>, layer_of_array::<T, N>),
            copying: Copying {
                // SAFETY: an array is `N` values.
                pack: |memory, count, packed| unsafe {
                    (const { or_nothing::<T>() }.copying.pack)(memory, count.saturating_mul(N), packed);
                },
                // SAFETY: an array is `N` values.
                unpack: |memory, count, packed| unsafe {
                    (const { or_nothing::<T>() }.copying.unpack)(memory, count.saturating_mul(N), packed);
                },
                check: element.copying.check,
            },
        }
    };
    // SAFETY: 1, since the arrays are `N` times as many values.
    if T::PLAIN.is_some() { Some(unsafe { Plain::new(of) }) } else { None }
}

fn tree_of_array<T: MpiMessage, const N: usize>() -> TypeTree {
    let element = const { or_nothing::<T>() };
    elements((element.lazy)().solution().tree.clone(), N, element.size)
}

fn layer_of_array<T: MpiMessage, const N: usize>() -> Layer {
    let element = const { or_nothing::<T>() };
    (element.plan)().layer().repeated(N, element.size as isize)
}

/// A tuple.
///
/// # Safety
/// 1. `PARTS` has the offset and the value type of each element, in order. An element that is not plain has
///    a value type without bytes.
pub(super) unsafe trait Tuple: Sized {
    const PARTS: &'static [(usize, &'static ValueType)];
    /// `true` if all elements are plain.
    const IS_PLAIN: bool;
}

/// Returns the value type of a tuple of plain values.
pub(super) const fn of_tuple<T: Tuple>() -> Option<Plain<T>> {
    let of = const {
        &ValueType {
            name: std::any::type_name::<T>,
            size: size_of::<T>(),
            align: align_of::<T>(),
            facts: facts_of_tuple::<T>(),
            is_bytes: false,
            lazy: || entry_of::<T>(tree_of_tuple::<T>),
            plan: || plan_of::<T>(tree_of_tuple::<T>, layer_of_tuple::<T>),
            copying: Copying {
                pack: copy_tuples::<T, false>,
                unpack: copy_tuples::<T, true>,
                check: check_tuples::<T>,
            },
        }
    };
    // SAFETY: 1, since the tuple consists of its elements.
    if T::IS_PLAIN { Some(unsafe { Plain::new(of) }) } else { None }
}

const fn facts_of_tuple<T: Tuple>() -> Facts {
    let mut facts = Facts { fixed: T::PARTS.is_empty(), ..Facts::EMPTY };
    let mut i = 0;
    while i < T::PARTS.len() {
        let (offset, of) = T::PARTS[i];
        facts = facts.with_field(offset, &of.facts);
        i += 1;
    }
    Facts { dense: facts.dense && facts.packed_size == size_of::<T>(), ..facts }
}

fn tree_of_tuple<T: Tuple>() -> TypeTree {
    let displacements: Vec<_> = T::PARTS.iter().map(|(offset, _)| *offset as i64).collect();
    let children: Vec<_> = T::PARTS.iter().map(|(_, of)| (of.lazy)().solution().tree.clone()).collect();
    TypeTree::structure(displacements, children)
}

fn layer_of_tuple<T: Tuple>() -> Layer {
    Layer::sequence(T::PARTS.iter().map(|(offset, of)| (*offset as isize, (of.plan)().layer())))
}

/// Packs tuples, or unpacks them.
///
/// # Safety
/// Conditions 1 to 3 of [`Copying::pack`], or of [`Copying::unpack`].
unsafe fn copy_tuples<T: Tuple, const IS_UNPACKED: bool>(
    mut memory: *mut u8,
    count: usize,
    mut packed: *mut u8,
) {
    let facts = const { facts_of_tuple::<T>() };
    if facts.dense {
        let (from, to) = if IS_UNPACKED { (packed, memory) } else { (memory, packed) };
        // SAFETY: both sides have the bytes of `count` tuples without padding, and do not overlap.
        return unsafe { to.copy_from_nonoverlapping(from, facts.packed_size * count) };
    }
    for _ in 0..count {
        for (offset, of) in T::PARTS {
            let copy = if IS_UNPACKED { of.copying.unpack } else { of.copying.pack };
            // SAFETY: the element lies at its offset, and its packed bytes follow those of the elements
            // before it.
            unsafe {
                copy(memory.add(*offset), 1, packed);
                packed = packed.add(of.facts.packed_size);
            }
        }
        memory = memory.wrapping_add(size_of::<T>());
    }
}

/// Checks a part of the packed bytes of tuples: see [`Copying::check`].
fn check_tuples<T: Tuple>(packed: &[u8], start: usize) -> Result<(), PackError> {
    let facts = const { facts_of_tuple::<T>() };
    if facts.any_pattern || facts.packed_size == 0 || packed.is_empty() {
        return Ok(());
    }
    let end = start + packed.len();
    let mut at = start / facts.packed_size * facts.packed_size;
    while at < end {
        for (_, of) in T::PARTS {
            let behind = at + of.facts.packed_size;
            let (first, last) = (at.max(start), behind.min(end));
            if first < last {
                let checked = (of.copying.check)(&packed[first - start..last - start], first - at);
                checked.map_err(|error| error.behind(at))?;
            }
            at = behind;
        }
    }
    Ok(())
}

macro_rules! tuples {
    ($($name:ident $index:tt)*) => {
        // SAFETY: 1, by the compiler's own offsets.
        unsafe impl<$($name: MpiMessage),*> Tuple for ($($name,)*) {
            const PARTS: &'static [(usize, &'static ValueType)] =
                &[$((memoffset::offset_of_tuple!(Self, $index), or_nothing::<$name>())),*];
            const IS_PLAIN: bool = true $(&& $name::PLAIN.is_some())*;
        }
    };
}

for_each_tuple!(tuples);

#[cfg(test)]
mod tests {
    use super::{MpiMessage, ValueType};
    use crate::MpiDatatype;

    /// The plain type is that of the type's own `MpiDatatype`.
    fn same<T: MpiDatatype + MpiMessage>(value: &T) {
        let (own, plain) = (ValueType::of::<T>(), T::PLAIN.unwrap().of);
        let numbers = |of: &ValueType| {
            let facts = of.facts;
            let sizes = [of.size, of.align, facts.packed_size, facts.wire_size, of.slice_align()];
            let kinds =
                [facts.dense, facts.any_pattern, facts.fixed, facts.complete, facts.receivable, of.is_bytes];
            (sizes, kinds)
        };
        assert_eq!(numbers(own), numbers(plain), "{}", (own.name)());
        let tree = |of: &ValueType| (of.lazy)().solution().tree.clone();
        assert_eq!(tree(own), tree(plain), "{}", (own.name)());
        let [one, other] = [own, plain].map(|of| (of.plan)());
        assert_eq!((one.packed_size(), one.extent()), (other.packed_size(), other.extent()));
        let packed = |of: &ValueType| {
            let mut packed = vec![0; of.packed_size(1)];
            // SAFETY: 1, by the value; 2, since there is room; 3.
            unsafe { (of.copying.pack)((&raw const *value).cast_mut().cast(), 1, packed.as_mut_ptr()) };
            packed
        };
        assert_eq!(packed(own), packed(plain), "{}", (own.name)());
        // Any byte may be the invalid one, and any part of the bytes may be the part that has arrived.
        let bytes = packed(own);
        for invalid in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[invalid] = 0xFF;
            for start in 0..bytes.len() {
                for end in start..=bytes.len() {
                    let [one, other] = [own, plain].map(|of| (of.copying.check)(&bytes[start..end], start));
                    assert_eq!(one.is_err(), other.is_err(), "{} {invalid} {start}..{end}", (own.name)());
                }
            }
        }
    }

    #[test]
    fn arrays_and_tuples_have_one_description() {
        same(&());
        same(&(1u8, 0.5f64));
        same(&(1u8, (0.5f64, 'a'), 2u16));
        same(&((1u8, 2u64), [(true, 0.5f32); 3]));
        same(&[(1u8, 'a', [false; 2]); 2]);
        same(&(1u32, 2u32));
        same(&[[(1u8, 2u8); 3]; 2]);
        same(&[('a', 1u64); 0]);
        same(&([0.5f64; 0], 1u8, ()));
        same(&(1i64, [1u8; 3], 'z'));
    }
}
