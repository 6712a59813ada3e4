//! Reductions with functions of the program (MPI 4.1 sections 6.9 to 6.12).

use super::{Comm, Handle};
use crate::{
    Error, MpiDatatype, Result,
    message::unsendable,
    mpi::ready,
    transfer::{
        members::Rooted,
        reduce::{Kind, reduce},
    },
};

/// The operand of a reduction: a value of a type with [`MpiDatatype`], or a slice or `Vec` of such values,
/// position by position.
///
/// Only this crate implements the trait.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` cannot be reduced",
    label = "not a value or slice that can be reduced",
    note = "a reduction takes a value of a type that implements `MpiDatatype`, `Clone`, `Send` and `Sync`, \
            or a slice or `Vec` of such values"
)]
pub trait Operand {
    /// The type that the function of a reduction combines.
    type Element: MpiDatatype + Clone + Send + Sync;
    /// The type of the result.
    type Output;

    /// Returns the values.
    #[doc(hidden)]
    fn elements(&self) -> &[Self::Element];

    /// Returns the result that consists of these values, as many as there are elements.
    #[doc(hidden)]
    fn output(values: Vec<Self::Element>) -> Option<Self::Output>;
}

impl<T: MpiDatatype + Clone + Send + Sync> Operand for T {
    type Element = T;
    type Output = T;

    fn elements(&self) -> &[T] {
        std::slice::from_ref(self)
    }

    fn output(mut values: Vec<T>) -> Option<T> {
        values.pop()
    }
}

impl<T: MpiDatatype + Clone + Send + Sync> Operand for [T] {
    type Element = T;
    type Output = Vec<T>;

    fn elements(&self) -> &[T] {
        self
    }

    fn output(values: Vec<T>) -> Option<Vec<T>> {
        Some(values)
    }
}

impl<T: MpiDatatype + Clone + Send + Sync> Operand for Vec<T> {
    type Element = T;
    type Output = Self;

    fn elements(&self) -> &[T] {
        self
    }

    fn output(values: Vec<T>) -> Option<Self> {
        Some(values)
    }
}

/// Reductions.
///
/// The function combines two values. It must be associative, and need not be commutative: values are combined
/// in the order of the ranks. All ranks must have equally many values, and functions that do the same.
///
/// The MPI library chooses the brackets, such as `(a + b) + (c + d)`. The choice may depend on the number of
/// ranks, and on the number and size of the values. So sums of floating-point numbers may differ in their
/// last bits between libraries and between numbers of ranks. In one call, all ranks get the same bits
/// (MPI 4.1 section 6.9.6). MPI recommends, but does not require, that the same call with the same values
/// gives the same bits in every run (section 6.9.1). To depend on no library, let each rank combine the
/// values of [`all_gather`](Self::all_gather).
///
/// ```no_run
/// use dtype_runtime::{MpiDatatype, Result, run};
///
/// #[derive(MpiDatatype, Clone, Copy)]
/// struct Best { error: f64, rank: usize }
///
/// fn main() {
///     run(|world| -> Result {
///         let own = Best { error: 1.0 / (1.0 + world.rank() as f64), rank: world.rank() };
///         let best = world.all_reduce(&own, |a, b| if b.error < a.error { *b } else { *a })?;
///         println!("the best one is of rank {}", best.rank);
///         Ok(())
///     });
/// }
/// ```
impl<C: Handle> Comm<C> {
    /// Combines the values of all ranks, and returns the result at the root (`MPI_Reduce`). Other ranks get
    /// `None`.
    ///
    /// # Errors
    /// `Argument` if there is no such root; otherwise those of [`all_reduce`](Self::all_reduce).
    #[doc(alias = "reduce_with")]
    pub fn reduce<M, F>(&self, root: usize, values: &M, combine: F) -> Result<Option<M::Output>>
    where
        M: Operand + ?Sized,
        F: Fn(&M::Element, &M::Element) -> M::Element + Sync,
    {
        self.reduced(self.to(root)?, values, combine)
    }

    /// Combines the values of all ranks, position by position, into memory of the root (`MPI_Reduce`). The
    /// root passes `Some(into)`, and the other ranks pass `None`.
    ///
    /// # Errors
    /// `Argument` if there is no such root; otherwise those of [`all_reduce_into`](Self::all_reduce_into).
    #[doc(alias = "reduce_into_with")]
    pub fn reduce_into<T, F>(&self, root: usize, values: &[T], into: Option<&mut [T]>, combine: F) -> Result
    where
        T: MpiDatatype + Clone + Send + Sync,
        F: Fn(&T, &T) -> T + Sync,
    {
        let kind = self.to(root)?;
        if let Some(into) = into {
            return self.reduced_into(kind, values, into, combine);
        }
        self.reduced_into(kind, values, &mut values.to_vec(), combine)?;
        if root == self.rank() { Err(unsendable("the root must pass `Some(place)`")) } else { Ok(()) }
    }

    /// Combines the values of all ranks, and returns the result on each (`MPI_Allreduce`). Only plain values
    /// are reduced: to combine owned ones, [`all_gather`](Comm::all_gather) them.
    ///
    /// # Errors
    /// `Elsewhere` if the function has panicked on another rank, or if another rank has an error; this error
    /// or `Value` if a rank sends an invalid value; `Unsupported` on an intercommunicator; an error if an MPI
    /// call fails. A panic of the function on this rank continues after the call.
    #[doc(alias = "all_reduce_with")]
    pub fn all_reduce<M, F>(&self, values: &M, combine: F) -> Result<M::Output>
    where
        M: Operand + ?Sized,
        F: Fn(&M::Element, &M::Element) -> M::Element + Sync,
    {
        self.reduced(Kind::All, values, combine)?.ok_or(NO_RESULT)
    }

    /// Combines the values of all ranks, position by position, into memory that is there (`MPI_Allreduce`).
    ///
    /// # Errors
    /// `Size` if `into` has another length than `values`; otherwise those of
    /// [`all_reduce`](Self::all_reduce). After an error, nothing has been written.
    #[doc(alias = "all_reduce_into_with")]
    pub fn all_reduce_into<T, F>(&self, values: &[T], into: &mut [T], combine: F) -> Result
    where
        T: MpiDatatype + Clone + Send + Sync,
        F: Fn(&T, &T) -> T + Sync,
    {
        self.reduced_into(Kind::All, values, into, combine)
    }

    /// Combines the values of this rank and all lower ones (`MPI_Scan`).
    ///
    /// # Errors
    /// The errors of [`all_reduce`](Self::all_reduce).
    #[doc(alias = "scan_with")]
    #[doc(alias = "inclusive_scan")]
    pub fn scan<M, F>(&self, values: &M, combine: F) -> Result<M::Output>
    where
        M: Operand + ?Sized,
        F: Fn(&M::Element, &M::Element) -> M::Element + Sync,
    {
        self.reduced(Kind::Scan, values, combine)?.ok_or(NO_RESULT)
    }

    /// Combines the values of this rank and all lower ones, position by position, into memory that is there
    /// (`MPI_Scan`).
    ///
    /// # Errors
    /// The errors of [`all_reduce_into`](Self::all_reduce_into).
    #[doc(alias = "scan_into_with")]
    pub fn scan_into<T, F>(&self, values: &[T], into: &mut [T], combine: F) -> Result
    where
        T: MpiDatatype + Clone + Send + Sync,
        F: Fn(&T, &T) -> T + Sync,
    {
        self.reduced_into(Kind::Scan, values, into, combine)
    }

    /// Combines the values of all lower ranks (`MPI_Exscan`). Rank 0 gets `None`.
    ///
    /// # Errors
    /// The errors of [`all_reduce`](Self::all_reduce).
    #[doc(alias = "exscan")]
    #[doc(alias = "exscan_with")]
    #[doc(alias = "exclusive_scan")]
    #[doc(alias = "exclusive_scan_with")]
    pub fn scan_before<M, F>(&self, values: &M, combine: F) -> Result<Option<M::Output>>
    where
        M: Operand + ?Sized,
        F: Fn(&M::Element, &M::Element) -> M::Element + Sync,
    {
        let kind = if self.rank() == 0 { Kind::ExclusiveOfNone } else { Kind::Exclusive };
        self.reduced(kind, values, combine)
    }

    /// Returns the kind of a reduction to a root.
    fn to(&self, root: usize) -> Result<Kind> {
        let mpi = &ready()?;
        let Rooted { rank, is_here, .. } = Rooted::at(self.members(mpi), root, self.rank())?;
        Ok(Kind::To { rank, is_here })
    }

    fn reduced<M, F>(&self, kind: Kind, values: &M, combine: F) -> Result<Option<M::Output>>
    where
        M: Operand + ?Sized,
        F: Fn(&M::Element, &M::Element) -> M::Element + Sync,
    {
        let mpi = &ready()?;
        let values = values.elements();
        let mut results = values.to_vec();
        let has_result = reduce(self.members(mpi), kind, values, &mut results, &combine)?;
        Ok(if has_result { M::output(results) } else { None })
    }

    fn reduced_into<T, F>(&self, kind: Kind, values: &[T], into: &mut [T], combine: F) -> Result
    where
        T: MpiDatatype + Clone + Send + Sync,
        F: Fn(&T, &T) -> T + Sync,
    {
        let mpi = &ready()?;
        reduce(self.members(mpi), kind, values, into, &combine).map(|_| ())
    }
}

const NO_RESULT: Error = Error::Reduction { reason: "this rank has no result" };
