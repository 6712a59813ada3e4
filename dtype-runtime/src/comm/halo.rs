//! Halo exchanges: the ghost cells of an array receive the cells of the neighbours.
//!
//! MPI never uses memory of the program. That makes it sound to lend parts of the array while messages are
//! under way, and to forget the guard. A blocking exchange may go directly from the array and into it, where
//! that was measured to be faster.

use std::{marker::PhantomData, os::raw::c_int, sync::Arc};

use ::mpi::{
    ffi::MPI_Comm,
    raw::AsRaw,
    topology::{CartesianCommunicator, Communicator},
};

use super::{
    Cartesian, Comm,
    moves::{Message, Moves, Piece},
};
use crate::{
    DynamicLayout, Error, Layout, MpiDatatype, Result, View,
    layout::{
        ArrayLikeMut, Cells, Dimensions, Halo, HaloPart, halo::number_of, shapes::refused, source::Place,
    },
    mpi::{Usable, called, ready},
    transfer::{
        address::Address,
        agreement::together,
        attach::{Companion, companion},
        frame::checks,
        making::is_faster_typed,
        sendable::sealed::Read,
    },
};

impl<C: Cartesian> Comm<C> {
    /// Prepares exchanges of the ghost cells of local arrays: of those of a [`Part`](crate::Part), or of any
    /// [`Halo`]. Dimension `k` of the grid divides dimension `k` of the array. A periodic dimension has
    /// neighbours across the ends; ghost cells without a neighbour stay as they are. All ranks must make this
    /// call, and in the same order if they prepare several exchanges. The first call on a communicator
    /// creates another one for these messages, so they never meet those of the program.
    ///
    /// ```no_run
    /// use dtype_runtime::{Result, run};
    ///
    /// fn main() {
    ///     run(|world| -> Result {
    ///         let line = world.cartesian([world.size()], [false])?;
    ///         let part = line.blocks([1000], [line.size()]).ghosts(1);
    ///         let (mut old, mut new) = (part.vec(0.5), part.vec(0.5));
    ///         let mut halo = line.halo(&part)?;
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
    /// `Argument` if the communicator has another number of dimensions, or if a dimension of the array is too
    /// short for the widths; `Memory` if there is no memory for the buffers; `Elsewhere` if another rank has
    /// an error; an error if an MPI call fails.
    pub fn halo<T: MpiDatatype, const D: usize>(
        &self,
        halo: impl Into<Halo<D>>,
    ) -> Result<HaloExchange<T, D>> {
        let mpi = &ready()?;
        let communicator = (**self).grid();
        let halo = halo.into();
        let raw = communicator.as_raw();
        // If an error of this rank came before, the tags of the ranks would differ from then on.
        let (companion, tags) = companion(mpi, raw, 3u32.saturating_pow(D as u32))?;
        let (all, made) = (companion.communicator, halo.exchange_of(mpi, communicator, companion, tags));
        together(mpi, all, made)
    }
}

impl<const D: usize> Halo<D> {
    /// Makes the exchange of this rank.
    fn exchange_of<T: MpiDatatype>(
        &self,
        mpi: &Usable,
        communicator: &CartesianCommunicator,
        companion: Arc<Companion>,
        tags: c_int,
    ) -> Result<HaloExchange<T, D>> {
        let grid = Grid::<D>::of(communicator)?;
        let parts = self.parts::<T>()?;
        let all = companion.communicator;
        let at = |rank, direction| Address { communicator: all, rank, tag: tags + number_of(direction) };
        let piece = |layout| Piece { array: None, layout };
        let message = |layout, peer| Message { peer, pieces: vec![piece(layout)] };
        let mut moves = Moves::on(companion);
        for HaloPart { direction, send, receive } in parts {
            let Some(rank) = grid.neighbour(mpi, direction)? else { continue };
            // A message is named by the direction in which it is sent.
            let back = direction.map(|step| -step);
            if rank == grid.rank {
                let opposite = self.part(back)?;
                moves.copies.push([send, opposite.receive].map(piece));
                continue;
            }
            if send.count() > 0 {
                moves.sends.push(message(send, at(rank, direction)));
            }
            if receive.count() > 0 {
                moves.receives.push(message(receive, at(rank, back)));
            }
        }
        let own = self.part([0; D])?.send;
        Ok(HaloExchange { halo: *self, own, moves })
    }
}

/// The place of a rank in a Cartesian communicator (MPI 4.1 section 8.5).
struct Grid<const D: usize> {
    communicator: MPI_Comm,
    rank: i32,
    lengths: [i32; D],
    periodic: [bool; D],
    coordinates: [i32; D],
}

impl<const D: usize> Grid<D> {
    fn of(communicator: &CartesianCommunicator) -> Result<Self> {
        let dimensions = communicator.num_dimensions();
        if usize::try_from(dimensions).ok() != Some(D) {
            let requirement = format!("{D}, the number of dimensions of the array");
            return Err(refused("Halo", "the communicator's number of dimensions", dimensions, requirement));
        }
        let mut lengths = [0; D];
        let mut periodic = [false; D];
        let mut coordinates = [0; D];
        communicator.get_layout_into(&mut lengths, &mut periodic, &mut coordinates);
        let (rank, communicator) = (communicator.rank(), communicator.as_raw());
        Ok(Self { communicator, rank, lengths, periodic, coordinates })
    }

    /// Returns the rank of the neighbour in a direction, or `None` if there is none.
    fn neighbour(&self, mpi: &Usable, direction: [i32; D]) -> Result<Option<i32>> {
        let mut there = self.coordinates;
        for (k, at) in there.iter_mut().enumerate() {
            let beyond = *at + direction[k];
            *at = beyond.rem_euclid(self.lengths[k]);
            if *at != beyond && !self.periodic[k] {
                return Ok(None);
            }
        }
        // rsmpi's call refuses the coordinate 0 of a dimension that is not periodic.
        let (mut rank, communicator) = (0, self.communicator);
        called(mpi, "MPI_Cart_rank", communicator, || {
            // SAFETY: the coordinates lie within the grid; there is room for a number.
            unsafe { mpi.MPI_Cart_rank(communicator, there.as_ptr(), &raw mut rank) }
        })?;
        Ok(Some(rank))
    }
}

/// Halo exchanges on a communicator, prepared once by [`Comm::halo`]. Neighbours, layouts, buffers and
/// persistent requests (MPI 4.1 section 3.9) are kept. Each exchange may be of another array.
///
/// ```no_run
/// use dtype_runtime::{Halo, Result, run};
///
/// fn main() {
///     run(|world| -> Result {
///         let line = world.cartesian([world.size()], [false])?;
///         let (mut old, mut new) = (vec![0.5; 102], vec![0.5; 102]);
///         let mut halo = line.halo::<f64, 1>(Halo::new([102], 1))?;
///         for _ in 0..10 {
///             let mut pending = halo.start(&mut old)?;
///             let cells = pending.cells(); // while messages are under way
///             for i in cells.interior()[0].clone() {
///                 new[i] = 0.25 * (cells[[i - 1]] + 2.0 * cells[[i]] + cells[[i + 1]]);
///             }
///             pending.finish()?;
///             for i in [1, 100] {
///                 new[i] = 0.25 * (old[i - 1] + 2.0 * old[i] + old[i + 1]);
///             }
///             std::mem::swap(&mut old, &mut new);
///         }
///         Ok(())
///     });
/// }
/// ```
pub struct HaloExchange<T, const D: usize> {
    halo: Halo<D>,
    /// The own cells. Their array has the shape of all arrays.
    own: DynamicLayout<T, D>,
    moves: Moves<T, D>,
}

impl<T: MpiDatatype, const D: usize> HaloExchange<T, D> {
    /// Fills the ghost cells of an array with the cells of the neighbours. All ranks must call this.
    ///
    /// # Errors
    /// `Argument` if the array has other sizes than the halo; `Size` if a neighbour sends another number of
    /// cells, or has an error; `Value` if it sends invalid values; an error if an MPI call fails. After an
    /// error, some ghost cells may have been written.
    pub fn exchange<S>(&mut self, array: &mut S) -> Result
    where
        S: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        let mpi = &ready()?;
        let place = self.place(array).map_err(|error| self.moves.refuse(mpi, error))?;
        if self.is_faster_directly(place) {
            // SAFETY: 1, since the array is borrowed mutably; 2, since own cells are copied to ghost cells.
            return unsafe { self.moves.directly(mpi, &[place], &[place]) };
        }
        self.start_at(mpi, &[place])?;
        // SAFETY: 1, as above.
        unsafe { self.finish_at(mpi, &[place]) }
    }

    /// Fills the ghost cells of several arrays, with one message for each neighbour. All ranks must pass
    /// equally many arrays.
    ///
    /// # Errors
    /// The errors of [`exchange`](Self::exchange). After an error, no ghost cell has been written.
    pub fn exchange_all<S>(&mut self, arrays: &mut [&mut S]) -> Result
    where
        S: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        self.start_all(arrays)?.finish()
    }

    /// Starts to fill the ghost cells of an array. The guard lends the own cells to the program until
    /// [`finish`](PendingHalo::finish): all of them for reading, and those for writing that no neighbour
    /// needs. Ghost cells are not lent. The neighbours receive the cells as they are now.
    ///
    /// A program may drop or forget the guard. The ghost cells then stay as they are. The next exchange first
    /// waits for the messages of this one, and so does dropping the exchange.
    ///
    /// # Errors
    /// `Argument` if the array has other sizes than the halo; an error if an MPI call fails.
    pub fn start<'a, S>(&'a mut self, array: &'a mut S) -> Result<PendingHalo<'a, T, D>>
    where
        S: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        let places = self.place(array).map(|place| vec![place]);
        self.started(places)
    }

    /// Like [`start`](Self::start), for several arrays, with one message for each neighbour.
    ///
    /// # Errors
    /// The errors of [`start`](Self::start).
    pub fn start_all<'a, S>(&'a mut self, arrays: &'a mut [&mut S]) -> Result<PendingHalo<'a, T, D>>
    where
        S: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        let places = arrays.iter_mut().map(|array| self.place(*array)).collect();
        self.started(places)
    }

    fn started(&mut self, places: Result<Vec<Place>>) -> Result<PendingHalo<'_, T, D>> {
        let mpi = &ready()?;
        let places = places.map_err(|error| self.moves.refuse(mpi, error))?;
        self.start_at(mpi, &places)?;
        Ok(PendingHalo { exchange: self, places, arrays: PhantomData })
    }

    /// Returns the halo.
    pub fn halo(&self) -> &Halo<D> {
        &self.halo
    }

    fn place<S>(&self, array: &mut S) -> Result<Place>
    where
        S: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        array.place_mut(&self.own.region()).map_err(Into::into)
    }

    /// Sends the cells of arrays to the neighbours.
    fn start_at(&mut self, mpi: &Usable, places: &[Place]) -> Result {
        let arrays = places.iter().fold(0usize, |arrays, place| arrays.saturating_add(place.copies));
        self.moves.start(mpi, arrays, places)
    }

    /// Waits for the cells of the neighbours, and writes them to the ghost cells.
    ///
    /// # Safety
    /// 1. The arrays at the places are borrowed mutably.
    unsafe fn finish_at(&mut self, mpi: &Usable, places: &[Place]) -> Result {
        // SAFETY: 1; and 2, since own cells are copied to ghost cells.
        unsafe {
            self.moves.finish(mpi, places)?;
            self.moves.copy(places, places)
        }
    }

    /// Returns `true` if most bytes of an array are faster from and into it than packed.
    fn is_faster_directly(&self, place: Place) -> bool {
        let mut bytes = [0usize; 2];
        let messages = self.moves.sends.iter().chain(&self.moves.receives);
        for Piece { layout, .. } in messages.flat_map(|message| &message.pieces) {
            let view = View::new(place, layout);
            let of = &mut bytes[usize::from(is_faster_typed(&view))];
            *of = of.saturating_add(Read::packed_size(&view));
        }
        bytes[1] > bytes[0] && !checks()
    }
}

/// A halo exchange under way. It lends the cells that are not under way.
#[must_use = "the ghost cells are not filled before `finish`"]
pub struct PendingHalo<'a, T: MpiDatatype, const D: usize> {
    exchange: &'a mut HaloExchange<T, D>,
    places: Vec<Place>,
    arrays: PhantomData<&'a mut [T]>,
}

impl<T: MpiDatatype, const D: usize> PendingHalo<'_, T, D> {
    /// Returns the cells of the array, or of the first one.
    ///
    /// # Panics
    /// If the exchange has no arrays.
    pub fn cells(&mut self) -> Cells<'_, T, D> {
        self.cells_of(0).expect("there is an array")
    }

    /// Returns the cells of the `i`-th array, or `None` if there are no more arrays.
    pub fn cells_of(&mut self, i: usize) -> Option<Cells<'_, T, D>> {
        self.all().nth(i)
    }

    /// Returns the cells of all arrays, for fields that depend on each other.
    pub fn cells_of_all(&mut self) -> Vec<Cells<'_, T, D>> {
        self.all().collect()
    }

    fn all(&mut self) -> impl Iterator<Item = Cells<'_, T, D>> {
        let HaloExchange { halo, own, .. } = self.exchange;
        let region = own.region();
        let array = (region.contiguous(), region.array_elements() * size_of::<T>());
        let arrays = self.places.iter().flat_map(|place| (0..place.copies).map(move |i| (*place, i)));
        // SAFETY: 1, by `place_mut` with the region of the halo; 2, since the guard borrows the arrays
        // mutably, and lends each once at a time. MPI does not use them.
        arrays.map(move |(place, i)| unsafe { Cells::new(halo, place, i, array) })
    }

    /// Returns `true` if all messages have arrived (`MPI_Testall`). Most libraries make progress only during
    /// calls, so long computations should call this now and then.
    ///
    /// # Errors
    /// If an MPI call fails.
    pub fn is_done(&mut self) -> Result<bool> {
        let mpi = &ready()?;
        self.exchange.moves.is_done(mpi)
    }

    /// Waits for the cells of the neighbours, and writes them to the ghost cells.
    ///
    /// # Errors
    /// The errors of [`HaloExchange::exchange`]. After an error, no ghost cell has been written.
    pub fn finish(self) -> Result {
        let mpi = &ready()?;
        // SAFETY: 1, since the guard borrows the arrays mutably.
        unsafe { self.exchange.finish_at(mpi, &self.places) }
    }
}

debug!([T: MpiDatatype, const D: usize] HaloExchange<T, D>, |exchange| halo: exchange.halo);
debug!([T: MpiDatatype, const D: usize] PendingHalo<'_, T, D>, |pending| arrays: pending.places.len());
