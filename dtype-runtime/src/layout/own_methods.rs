//! The methods of [`Layout`](super::Layout) as inherent methods of each layout.

/// Defines the methods of [`Layout`](super::Layout) as inherent methods of a type, so that programs need not
/// import the trait.
macro_rules! own_methods {
    ($element:ty, $shape:ty, $coverage:ty) => {
        /// Returns a read-only view of the part of `source`: see [`Layout::of`].
        ///
        /// # Errors
        /// `Argument` if the source has another shape and its type permits that.
        pub fn of<'a, A>(&self, source: &'a A) -> Outcome<A::Mismatch, View<'a, Self>>
        where
            A: ArrayLike<$element, $shape> + ?Sized,
        {
            Layout::of(self, source)
        }

        /// Returns a mutable view of the part of `source`: see [`Layout::of_mut`].
        ///
        /// # Errors
        /// `Argument` if the source has another shape and its type permits that, or if a dynamic layout
        /// selects a byte twice.
        pub fn of_mut<'a, A>(&self, source: &'a mut A) -> Outcome<A::Mismatch, ViewMut<'a, Self>>
        where
            A: ArrayLikeMut<$element, $shape> + ?Sized,
            $coverage: Disjoint<A::Mismatch, Self>,
        {
            Layout::of_mut(self, source)
        }

        own_methods! {
            /// Returns the number of selected values: see [`Layout::count`].
            count: usize,
            /// Returns the packed size of the selection in bytes.
            packed_size: usize,
            /// Returns the number of bytes from the array's first element to the first selected value: see
            /// [`Layout::offset`].
            offset: usize,
            /// Returns the least-cost type tree: see [`Layout::tree`].
            tree: &TypeTree,
            /// Returns the type map, in runs: see [`Layout::type_map`].
            ///
            /// # Errors
            /// `Argument` if there are too many runs to list.
            type_map: Result<dtype_core::Runs, $crate::Error>,
            /// Returns the cost of the tree: the number of words that describe it
            /// ([`NodeCosts`](crate::tree::NodeCosts)).
            cost: u64,
            /// Returns the status of the cost: proven to be the least, or an upper bound.
            optimality: Optimality,
            /// Returns the constructor calls that build the MPI datatype.
            constructor_calls: &Program,
            /// Returns the stage at which the layout was solved: macro, constant evaluation or run time.
            layout_origin: LayoutOrigin,
            /// Returns a description of the layout: see [`Layout::explain`].
            explain: String,
            /// Returns a picture of the layout: see [`Layout::draw`].
            ///
            /// # Errors
            /// `Argument` if a displacement overflows.
            #[cfg(feature = "picture")]
            draw: Result<dtype_core::picture::Picture, $crate::Error>,
            /// Returns the committed MPI datatype: see [`Layout::datatype`].
            ///
            /// # Errors
            /// An error before `MPI_Init` and after `MPI_Finalize`, and if an MPI call fails.
            #[cfg(feature = "mpi")]
            datatype: Result<$crate::layout::LayoutDatatype, Error>,
            /// Returns the committed MPI datatype of the part within its array: see
            /// [`Layout::array_datatype`].
            ///
            /// # Errors
            /// An error before `MPI_Init` and after `MPI_Finalize`, and if an MPI call fails.
            #[cfg(feature = "mpi")]
            array_datatype: Result<$crate::layout::LayoutDatatype, Error>,
        }
    };
    ($($(#[$attribute:meta])* $method:ident: $result:ty,)*) => {$(
        $(#[$attribute])*
        pub fn $method(&self) -> $result {
            Layout::$method(self)
        }
    )*};
}
pub(super) use own_methods;
