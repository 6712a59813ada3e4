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

        /// Returns the number of selected values: see [`Layout::count`].
        pub fn count(&self) -> usize {
            Layout::count(self)
        }

        /// Returns the packed size of the selection in bytes.
        pub fn packed_size(&self) -> usize {
            Layout::packed_size(self)
        }

        /// Returns the number of bytes from the array's first element to the first selected value: see
        /// [`Layout::offset`].
        pub fn offset(&self) -> usize {
            Layout::offset(self)
        }

        /// Returns the least-cost type tree: see [`Layout::tree`].
        pub fn tree(&self) -> &TypeTree {
            Layout::tree(self)
        }

        /// Returns the type map, in runs: see [`Layout::type_map`].
        ///
        /// # Errors
        /// `Argument` if there are too many runs to list.
        pub fn type_map(&self) -> Result<dtype_core::Runs, $crate::Error> {
            Layout::type_map(self)
        }

        /// Returns the cost of the tree: the number of words that describe it
        /// ([`NodeCosts`](crate::tree::NodeCosts)).
        pub fn cost(&self) -> u64 {
            Layout::cost(self)
        }

        /// Returns the status of the cost: proven to be the least, or an upper bound.
        pub fn optimality(&self) -> Optimality {
            Layout::optimality(self)
        }

        /// Returns the constructor calls that build the MPI datatype.
        pub fn constructor_calls(&self) -> &Program {
            Layout::constructor_calls(self)
        }

        /// Returns the stage at which the layout was solved: macro, constant evaluation or run time.
        pub fn layout_origin(&self) -> LayoutOrigin {
            Layout::layout_origin(self)
        }

        /// Returns a description of the layout: see [`Layout::explain`].
        pub fn explain(&self) -> String {
            Layout::explain(self)
        }

        /// Returns a picture of the layout: see [`Layout::draw`].
        ///
        /// # Errors
        /// `Argument` if a displacement overflows.
        #[cfg(feature = "picture")]
        pub fn draw(&self) -> Result<dtype_core::picture::Picture, $crate::Error> {
            Layout::draw(self)
        }

        /// Returns the committed MPI datatype: see [`Layout::datatype`].
        ///
        /// # Errors
        /// An error before `MPI_Init` and after `MPI_Finalize`, and if an MPI call fails.
        #[cfg(feature = "mpi")]
        pub fn datatype(&self) -> Result<$crate::layout::LayoutDatatype, Error> {
            Layout::datatype(self)
        }

        /// Returns the committed MPI datatype of the part within its array: see [`Layout::array_datatype`].
        ///
        /// # Errors
        /// An error before `MPI_Init` and after `MPI_Finalize`, and if an MPI call fails.
        #[cfg(feature = "mpi")]
        pub fn array_datatype(&self) -> Result<$crate::layout::LayoutDatatype, Error> {
            Layout::array_datatype(self)
        }
    };
}
pub(super) use own_methods;
