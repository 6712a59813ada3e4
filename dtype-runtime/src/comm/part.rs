//! Distributed arrays: the part of each rank, halos, redistributions, files and windows.

use std::path::Path;

use ::mpi::topology::{CartesianCommunicator, Communicator};

use super::{Cartesian, Comm, Handle};
use crate::{
    Error, MpiDatatype,
    layout::{ArrayLike, ArrayLikeMut, Dimensions, Distributed, Halo, Part, shapes::refused},
    mpi::ready,
    types::AnyPattern,
    wire::{File, HaloExchange, Redistribution, Window, members::intracommunicator, window},
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
    /// [`Error::Parameter`] if the grid has not as many places as there are ranks; [`Error::Wire`] on an
    /// intercommunicator; an error before `MPI_Init`, after `MPI_Finalize`, and on a thread that may not call
    /// MPI.
    #[doc(alias = "create_cartesian_communicator")]
    pub fn cartesian<const D: usize>(
        &self,
        lengths: [usize; D],
        periodic: [bool; D],
    ) -> Result<Comm<CartesianCommunicator>, Error> {
        intracommunicator(&ready()?, self.raw_communicator().as_raw())?;
        let places = lengths.iter().fold(1usize, |places, length| places.saturating_mul(*length));
        if places != self.size() {
            let requirement = format!("{}, the number of ranks", self.size());
            return Err(refused("a Cartesian grid", "the number of places", places as i128, requirement));
        }
        let lengths = lengths.map(|length| length as i32);
        let made = self.raw_communicator().create_cartesian_communicator(&lengths, &periodic, false);
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
        Redistribution::<T, D>::new(self.raw_communicator(), from, to)?.run(source, destination)
    }

    /// Creates a file, or empties it, and opens it for all ranks (`MPI_File_open`). All ranks must make this
    /// call.
    ///
    /// # Errors
    /// The errors of [`FileOptions::open`](crate::wire::FileOptions::open).
    pub fn create(&self, path: impl AsRef<Path>) -> Result<File, Error> {
        File::create(self.raw_communicator(), path)
    }

    /// Opens a file for reading, for all ranks (`MPI_File_open`). All ranks must make this call.
    ///
    /// # Errors
    /// The errors of [`FileOptions::open`](crate::wire::FileOptions::open).
    pub fn open(&self, path: impl AsRef<Path>) -> Result<File, Error> {
        File::open(self.raw_communicator(), path)
    }

    /// Lets all ranks read and write values of this one (`MPI_Win_create`), while a function runs. All ranks
    /// must make this call. See [`Window`] for what the function may do.
    ///
    /// # Errors
    /// The error of the function; otherwise those of opening the window.
    pub fn window<T, R>(
        &self,
        values: &mut [T],
        body: impl FnOnce(&mut Window<'_, T>) -> Result<R, Error>,
    ) -> Result<R, Error>
    where
        T: MpiDatatype + AnyPattern,
    {
        window(self.raw_communicator(), values, body)?
    }

    fn raw_communicator(&self) -> &dyn Communicator {
        self.handle()
    }
}

/// Calls of communicators with a Cartesian grid.
impl<C: Cartesian> Comm<C> {
    /// Prepares exchanges of the ghost cells of local arrays: of those of a [`Part`], or of any [`Halo`]. All
    /// ranks must make this call.
    ///
    /// ```no_run
    /// use dtype_runtime::{Result, run};
    ///
    /// fn main() {
    ///     run(|world| -> Result {
    ///         let line = world.cartesian([world.size()], [false])?;
    ///         let part = line.blocks([1000], [line.size()]).ghosts(1);
    ///         let (mut old, mut new) = (part.vec(0.5), part.vec(0.5));
    ///         let mut halo = line.halo::<f64, 1>(&part)?;
    ///         for _ in 0..10 {
    ///             halo.exchange(&mut old)?;
    ///             for i in part.own()[0].clone() {
    ///                 new[i] = 0.25 * (old[i - 1] + 2.0 * old[i] + old[i + 1]);
    ///             }
    ///             std::mem::swap(&mut old, &mut new);
    ///         }
    ///         Ok(())
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// The errors of [`Halo::on`].
    pub fn halo<T: MpiDatatype, const D: usize>(
        &self,
        halo: impl Into<Halo<D>>,
    ) -> Result<HaloExchange<T, D>, Error> {
        halo.into().on((**self).grid())
    }
}
