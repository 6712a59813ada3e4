//! Distributed arrays: the part of each rank, halos, redistributions, files and windows.

use ::mpi::topology::CartesianCommunicator;

use super::{Comm, Handle, Preparing, Redistribution};
use crate::{
    Error, MpiDatatype, Result,
    layout::{ArrayLike, ArrayLikeMut, Dimensions, Distributed, Part, shapes::refused},
    mpi::ready,
    transfer::members::intracommunicator,
};

impl<C: Handle> Comm<C> {
    /// Returns the part of this rank if a global array is divided into blocks: `array` has the lengths of its
    /// dimensions, and `grid` the numbers of ranks along them. See [`Part`] for the rule of division. A grid
    /// of more places than there are ranks is an error of the calls that take the part.
    ///
    /// ```no_run
    /// use dtype_runtime::{Result, run};
    ///
    /// fn main() {
    ///     run(|world| -> Result {
    ///         // A cube of 64³ in slabs, and in pencils along its first dimension: a transpose.
    ///         let slabs = world.blocks([64, 64, 64], [world.size(), 1, 1]);
    ///         let pencils = world.blocks([64, 64, 64], [1, 1, world.size()]).column_major();
    ///         let slab = slabs.vec(0.5);
    ///         let mut pencil = pencils.vec(0.0);
    ///         world.redistribute(&slabs, &slab, &pencils, &mut pencil)?;
    ///         world.create("cube")?.write(&pencils, &pencil)
    ///     });
    /// }
    /// ```
    pub fn blocks<const D: usize>(&self, array: [usize; D], grid: [usize; D]) -> Part<D> {
        Part::of(self.rank(), array, grid).among(self.size())
    }

    /// Creates a communicator with the same ranks that form a Cartesian grid (`MPI_Cart_create`): `lengths`
    /// are the numbers of ranks along its dimensions. In a periodic dimension, the first rank and the last
    /// one are neighbours. All ranks must make this call.
    ///
    /// # Errors
    /// `Argument` if the grid has not as many places as there are ranks; `Unsupported` on an
    /// intercommunicator; an error before `MPI_Init`, after `MPI_Finalize`, and on a thread that may not call
    /// MPI.
    #[doc(alias = "create_cartesian_communicator")]
    pub fn cartesian<const D: usize>(
        &self,
        lengths: [usize; D],
        periodic: [bool; D],
    ) -> Result<Comm<CartesianCommunicator>> {
        intracommunicator(&ready()?, self.channel().communicator)?;
        let places = lengths.iter().fold(1usize, |places, length| places.saturating_mul(*length));
        if places != self.size() {
            let requirement = format!("{}, the number of ranks", self.size());
            return Err(refused("a Cartesian grid", "the number of places", places as i128, requirement));
        }
        let lengths = lengths.map(|length| length as i32);
        let made = self.handle().create_cartesian_communicator(&lengths, &periodic, false);
        made.map(Comm::from)
            .ok_or_else(|| refused("a Cartesian grid", "the communicator", 0, "an intracommunicator"))
    }

    /// Moves the elements of a global array from the parts that the ranks have to other parts: to another
    /// distribution, or to its transpose. All ranks must make this call.
    ///
    /// A rank has one part, several, or none:
    ///
    /// | type | parts |
    /// |---|---|
    /// | [`Part`] | the elements of one rank of a grid, in an array that may have ghost cells |
    /// | [`Darray`](crate::layout::Darray) | the same as MPI describes them, without ghost cells |
    /// | [`Subarray`](crate::layout::Subarray) | a box, in an array of its size |
    /// | [`Placed`](crate::layout::Placed) | a box within a larger local array |
    /// | a slice, array or `Vec` of these | several parts, each in an array of its own |
    ///
    /// Each element must be in exactly one part of the source, if it is in a part of the destination. To move
    /// arrays many times, keep what `world.prepare().redistribute(&from, &to)?` returns.
    ///
    /// # Errors
    /// The errors of [`Preparing::redistribute`] and [`Redistribution::run`].
    pub fn redistribute<T, const D: usize, A, B, S, R>(
        &self,
        from: &A,
        source: &S,
        to: &B,
        destination: &mut R,
    ) -> Result
    where
        T: MpiDatatype,
        A: Distributed<D> + ?Sized,
        B: Distributed<D> + ?Sized,
        S: ArrayLike<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
        R: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        Redistribution::<T, D>::new(self, from, to)?.run(source, destination)
    }
}

impl<C: Handle> Preparing<&Comm<C>> {
    /// Plans a redistribution from the parts that this rank has to the parts that it will have, as
    /// [`Comm::redistribute`] takes them. All ranks must make this call.
    ///
    /// # Errors
    /// `Argument`, on all ranks, if the parts are not those of arrays of equal sizes, if an element of the
    /// destination is in no part of the source, or in several, or if a part is not within the array;
    /// `Unsupported` on an intercommunicator; an error if an MPI call fails.
    pub fn redistribute<T, const D: usize, A, B>(self, from: &A, to: &B) -> Result<Redistribution<T, D>>
    where
        T: MpiDatatype,
        A: Distributed<D> + ?Sized,
        B: Distributed<D> + ?Sized,
    {
        Redistribution::new(self.0, from, to)
    }
}
