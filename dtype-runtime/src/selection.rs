//! Selections: which elements of an array a static layout names.

use dtype_core::TypeTree;

use crate::{MpiDatatype, lazy::LazyDatatype};

/// One dimension of a selection, in elements of the whole array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// How many are selected, at least one.
    pub count: usize,
    /// Elements from one to the next.
    pub stride: usize,
}

/// What a [`StaticLayout`](crate::StaticLayout) selects: the elements `START + Σ iₖ·strideₖ` of an array, iₖ below
/// countₖ, the last dimension running fastest.
///
/// Types that implement it come from [`layout!`](crate::layout); it is public so that functions can take any of them:
///
/// ```
/// use dtype_runtime::{Selection, StaticLayout, layout};
///
/// fn bytes<S: Selection>(layout: StaticLayout<S>, source: &S::Source) -> Vec<u8> {
///     layout.of(source).pack()
/// }
/// assert_eq!(bytes(layout!(u8[4] => [1..;2]), &[1, 2, 3, 4]), [2, 4]);
/// ```
///
/// # Safety
/// Implemented by `layout!` only. `Source` is an array, of arrays, of `Element`; `lazy` is always the same entry,
/// and an expansion in it describes this selection, moved to begin at 0.
/// That the selection lies within the source, each element once, is checked when a layout is made of it.
pub unsafe trait Selection: Copy + 'static {
    /// The elements.
    type Element: MpiDatatype;
    /// The array of arrays they are selected from.
    type Source: 'static;
    #[doc(hidden)]
    const START: usize;
    #[doc(hidden)]
    const DIMENSIONS: &'static [Dimension];

    #[doc(hidden)]
    fn lazy() -> &'static LazyDatatype;

    /// Number of elements selected.
    const COUNT: usize = {
        let (mut count, mut k) = (1, 0);
        while k < Self::DIMENSIONS.len() {
            count *= Self::DIMENSIONS[k].count;
            k += 1;
        }
        count
    };

    // Fails to compile unless all elements lie within the source and none is selected twice.
    #[doc(hidden)]
    const VALID: () = {
        let elements = match size_of::<Self::Element>() {
            0 => usize::MAX,
            size => size_of::<Self::Source>() / size,
        };
        // From the innermost dimension: what the dimensions so far span must fit the next stride.
        let (mut span, mut k) = (1, Self::DIMENSIONS.len());
        while k > 0 {
            k -= 1;
            let Dimension { count, stride } = Self::DIMENSIONS[k];
            assert!(count > 0 && (count == 1 || stride >= span), "a layout selects an element twice");
            span += (count - 1) * stride;
        }
        assert!(Self::START + span <= elements, "a layout reaches beyond its source");
    };

    // The selection as a type tree over the tree of the element, moved to begin at 0.
    #[doc(hidden)]
    fn describe() -> TypeTree {
        let size = size_of::<Self::Element>() as i64;
        let element = Self::Element::type_tree().clone();
        Self::DIMENSIONS.iter().rev().fold(element, |tree, dimension| {
            TypeTree::vector(dimension.count as u64, dimension.stride as i64 * size, tree)
        })
    }
}
