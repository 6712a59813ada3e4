//! Doubts about the MPI library: some libraries pack some datatypes otherwise than the standard says. A
//! message of such a datatype must have the same bytes whether or not it is packed by a plan, so it never is.
//! Two elements of each doubtful datatype show, before its plan is used.

use std::os::raw::c_int;

use dtype_core::{BaseType, TypeTree};
use dtype_engine::{Data, DataMut, PackBuffer, Plan};
use dtype_mpi::{Contents, Doubt, Family, running};
use mpi::{datatype::DatatypeRef, raw::FromRaw};

use crate::{
    native::MPI_Datatype,
    policy::base_that,
    verify::{Original, pack},
};

/// The reason why messages are forwarded if the MPI library packs elements otherwise than the plan.
pub(crate) const DIFFERS: &str = "the MPI library packs it otherwise than the standard says";
/// The reason why messages are forwarded if no elements could be compared.
const IS_UNKNOWN: &str = "too large to find out if the MPI library packs it as the standard says";

/// Returns the reason not to use a plan, or `None` if the MPI library packs the datatype as the plan does.
///
/// # Safety
/// Promises 1 and 2 for the datatype, whose tree and plan these are.
pub(crate) unsafe fn refusal(datatype: MPI_Datatype, tree: &TypeTree, plan: &Plan) -> Option<&'static str> {
    let is_in_doubt = |doubt: &Doubt| match doubt {
        Doubt::Reversed => has(tree, is_reversed),
        Doubt::Empty => has(tree, is_empty),
        Doubt::Interleaved => has(tree, is_interleaved),
        Doubt::Complex => base_that(tree, is_complex).is_some(),
        // SAFETY: promises 1 and 2, by the caller's condition.
        Doubt::Darray => Contents::of(&unsafe { DatatypeRef::from_raw(datatype.into()) })
            .map_or(true, |contents| contents.has_darrays()),
        Doubt::Any => true,
    };
    if !running().doubts.iter().any(is_in_doubt) {
        return None;
    }
    // SAFETY: promises 1 and 2, by the caller's condition.
    match unsafe { is_equal(datatype, tree, plan) } {
        Some(true) => None,
        Some(false) => Some(DIFFERS),
        None => Some(IS_UNKNOWN),
    }
}

/// Returns `true` if a tree is or contains a wanted one.
fn has(tree: &TypeTree, is_wanted: fn(&TypeTree) -> bool) -> bool {
    is_wanted(tree) || tree.children().iter().any(|child| has(child, is_wanted))
}

/// Returns `true` if copies have a stride of −1 byte.
fn is_reversed(tree: &TypeTree) -> bool {
    matches!(tree, TypeTree::Vector { stride: -1, .. } | TypeTree::IndexBucket { stride: -1, .. })
}

/// Returns `true` if a tree has no data, or a list has empty buckets.
fn is_empty(tree: &TypeTree) -> bool {
    let has_empty = matches!(tree, TypeTree::IndexBucket { buckets, .. } if buckets.contains(&0));
    has_empty || tree.measure().is_ok_and(|measure| measure.entries == 0)
}

/// Returns `true` if copies of a part reach into one another, whether or not they share bytes.
fn is_interleaved(tree: &TypeTree) -> bool {
    let reaches = |child: &TypeTree, strides: &[i64]| {
        let span = child.measure().map_or(i64::MAX, |measure| measure.true_extent());
        strides.iter().any(|stride| stride.unsigned_abs() < span.unsigned_abs())
    };
    let gaps = |displacements: &[i64]| {
        let mut sorted = displacements.to_vec();
        sorted.sort_unstable();
        sorted.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect::<Vec<_>>()
    };
    match tree {
        TypeTree::Vector { count: 0 | 1, .. } | TypeTree::Leaf(_) | TypeTree::Struct { .. } => false,
        TypeTree::Vector { stride, child, .. } => reaches(child, &[*stride]),
        TypeTree::Index { displacements, child } => reaches(child, &gaps(displacements)),
        TypeTree::IndexBucket { stride, displacements, child, .. } => {
            reaches(child, &[*stride]) || reaches(child, &gaps(displacements))
        }
    }
}

fn is_complex(base: BaseType) -> bool {
    use BaseType as Of;
    matches!(
        base,
        Of::C32
            | Of::C64
            | Of::CComplex
            | Of::CLongDoubleComplex
            | Of::CxxFloatComplex
            | Of::CxxDoubleComplex
            | Of::CxxLongDoubleComplex
            | Of::Complex
            | Of::DoubleComplex
            | Of::Complex4
            | Of::Complex8
            | Of::Complex16
            | Of::Complex32
    )
}

/// The number of elements that are compared: some faults show between elements.
const ELEMENTS: usize = 2;

/// Returns `true` if the MPI library and the plan pack elements alike, or `None` if they could not be packed
/// in both ways. The elements are in memory of this library, in which all bytes beside them are zero.
///
/// # Safety
/// Promises 1 and 2 for the datatype.
unsafe fn is_equal(datatype: MPI_Datatype, tree: &TypeTree, plan: &Plan) -> Option<bool> {
    /// The largest number of bytes that the elements may span.
    const MOST: i64 = 1 << 30;
    // SAFETY: promises 1 and 2 for the datatype.
    let original = unsafe { Original::keep(datatype, tree) }?;
    let measure = tree.measure().ok()?;
    let last = i64::try_from(plan.extent()).ok()?.checked_mul(ELEMENTS as i64 - 1)?;
    let by_library = original.bounds(ELEMENTS)?;
    let first = measure.lower_bound.checked_add(last.min(0))?.min(by_library.start);
    let end = measure.upper_bound.checked_add(last.max(0))?.max(by_library.end);
    let span = end.checked_sub(first).filter(|span| *span <= MOST)?;
    let size = plan.packed_size().checked_mul(ELEMENTS)?;
    // Intel MPI also reads bytes that belong to no element: as many again lie before and behind.
    let mut memory = PackBuffer::zeros(usize::try_from(span.checked_mul(3)?).ok()?).ok()?;
    let mut buffers = [PackBuffer::zeros(size).ok()?, PackBuffer::zeros(size).ok()?];
    let [own, library] = buffers.each_mut().map(|buffer| &mut buffer[..]);
    // Adjacent bytes differ, and none is zero.
    own.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i.wrapping_mul(0x9E37_79B1) >> 16) as u8 | 1);
    let origin = memory.as_mut_ptr().wrapping_offset(isize::try_from(span - first).ok()?);
    // SAFETY: `memory` has all bytes of the elements by their tree and by the MPI library, and nobody else
    // uses them. Promise 1, and the handle is live.
    let is_packed = unsafe {
        DataMut::from_raw_parts(plan, ELEMENTS, origin).unpack_range(0, own).ok()?;
        // Where parts overlap, the last one stays.
        Data::from_raw_parts(plan, ELEMENTS, origin).pack_into(own).ok()?;
        // Faults of Open MPI and its kin do not show within another datatype. Of darrays, Intel MPI would
        // read bytes that belong to no element.
        let shows_alone = Family::running() == Family::OpenMpi;
        let count = ELEMENTS as c_int;
        shows_alone && pack(datatype, origin, count, library) || original.pack(origin, count, library)
    };
    original.copy_padding(own, library, ELEMENTS);
    is_packed.then_some(own == library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubtful_trees_are_recognized() {
        let leaf = || TypeTree::Leaf(BaseType::F64);
        let (row, column) = (TypeTree::vector(3, 8, leaf()), TypeTree::vector(3, 80, leaf()));
        let apart = TypeTree::index([0, 400], column.clone());
        let interleaved = [
            TypeTree::vector(2, 8, column.clone()),
            TypeTree::vector(2, 4, leaf()),
            TypeTree::index([240, 8, 0], column.clone()),
            TypeTree::structure([0, 800], [leaf(), TypeTree::vector(2, -8, column.clone())]),
        ];
        assert!(interleaved.iter().all(|tree| has(tree, is_interleaved)));
        let vector = |stride| TypeTree::vector(2, stride, row.clone());
        let others = [row.clone(), column, apart, vector(24), vector(-24), TypeTree::vector(1, 0, leaf())];
        assert!(!others.iter().any(|tree| has(tree, is_interleaved)));
        let backwards = TypeTree::vector(9, -1, TypeTree::Leaf(BaseType::I8));
        assert!(has(&TypeTree::vector(2, 99, backwards), is_reversed) && !has(&row, is_reversed));
        let empty = TypeTree::structure([0, 40], [leaf(), TypeTree::vector(0, 8, leaf())]);
        assert!(has(&empty, is_empty) && !has(&row, is_empty));
        assert!(has(&TypeTree::index_bucket(8, [0, 2], [0, 80], leaf()), is_empty));
    }
}
