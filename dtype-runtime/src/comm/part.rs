//! Distributed arrays: the part of each rank, halos, redistributions, files and windows.

use ::mpi::topology::CartesianCommunicator;

use super::{Comm, Handle, Redistribution};
use crate::{
    Error, MpiDatatype,
    layout::{ArrayLike, ArrayLikeMut, Dimensions, Distributed, Part, shapes::refused},
    mpi::ready,
    transfer::members::intracommunicator,
};

impl<C: Handle> Comm<C> {
    /// Returns the part of this rank if a global array is divided into blocks: `array` has the lengths of its
    /// dimensions, and `grid` the numbers of ranks along them. See [`Part`] for the rule of division.
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
        Part::of(self.rank(), array, grid)
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
    ) -> Result<Comm<CartesianCommunicator>, Error> {
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
    /// Each element must be in exactly one part of the source, if it is in a part of the destination. To move
    /// arrays many times, keep a [`Redistribution`].
    ///
    /// # Errors
    /// The errors of [`Redistribution::new`] and [`Redistribution::run`].
    pub fn redistribute<T, const D: usize, A, B, S, R>(
        &self,
        from: &A,
        source: &S,
        to: &B,
        destination: &mut R,
    ) -> Result<(), Error>
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
