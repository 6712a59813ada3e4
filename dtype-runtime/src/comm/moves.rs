//! Pieces of local arrays that move between ranks, again and again: what halo exchanges and redistributions
//! have in common.
//!
//! Pieces are packed into the buffers of persistent requests, one message for each rank, and unpacked when
//! all have arrived. So MPI never uses memory of the program, and a guard may be forgotten.

use std::{ops::Range, sync::Arc};

use crate::{
    DynamicLayout, Error, MpiDatatype, Result, View, ViewMut,
    layout::source::Place,
    mpi::{Usable, without_communicator},
    transfer::{
        address::Address,
        attach::Companion,
        blocks::wire_size,
        exchange::{self, Exchange, Planned},
        places::{check, copy, pack, unpack},
    },
};

/// A piece of a local array.
pub(super) struct Piece<T, const D: usize> {
    /// The number of the array; `None` for a piece of each array.
    pub array: Option<usize>,
    pub layout: DynamicLayout<T, D>,
}

impl<T, const D: usize> Piece<T, D> {
    /// Returns the places of the arrays that have the piece.
    fn places<'p>(&self, all: &'p [Place]) -> &'p [Place] {
        self.array.map_or(all, |array| &all[array..=array])
    }
}

/// A message to a rank or from it.
pub(super) struct Message<T, const D: usize> {
    pub peer: Address,
    pub pieces: Vec<Piece<T, D>>,
}

impl<T: MpiDatatype, const D: usize> Message<T, D> {
    /// Returns each piece of one array, with its place.
    fn at(&self, places: &[Place]) -> impl Iterator<Item = (Address, Place, &DynamicLayout<T, D>)> {
        self.pieces.iter().map(|piece| (self.peer, piece.places(places)[0], &piece.layout))
    }

    /// Calls `visit` with the layout of each piece, the places of its arrays, and the range of its packed
    /// bytes.
    fn each(
        &self,
        places: &[Place],
        arrays: usize,
        mut visit: impl FnMut(&DynamicLayout<T, D>, &[Place], Range<usize>) -> Result,
    ) -> Result {
        let mut start = 0;
        for piece in &self.pieces {
            let end = start + wire_size(&piece.layout)? * arrays;
            visit(&piece.layout, piece.places(places), start..end)?;
            start = end;
        }
        Ok(())
    }

    /// Returns the message for so many global arrays.
    fn planned(&self, arrays: usize) -> Result<Planned> {
        let mut size = 0usize;
        for Piece { layout, .. } in &self.pieces {
            size = size.saturating_add(wire_size(layout)?.saturating_mul(arrays));
        }
        Ok(Planned { peer: self.peer, size })
    }
}

/// The messages of this rank, and the copies within it.
pub(super) struct Moves<T, const D: usize> {
    pub sends: Vec<Message<T, D>>,
    pub receives: Vec<Message<T, D>>,
    /// Pieces that are copied, and those that they are copied to.
    pub copies: Vec<[Piece<T, D>; 2]>,
    companion: Arc<Companion>,
    /// The requests and buffers, and the number of global arrays for which they are made.
    prepared: Option<(usize, Exchange)>,
}

impl<T: MpiDatatype, const D: usize> Moves<T, D> {
    /// Returns no messages on a companion.
    pub fn on(companion: Arc<Companion>) -> Self {
        Self { sends: Vec::new(), receives: Vec::new(), copies: Vec::new(), companion, prepared: None }
    }

    /// Tells the other ranks of an error of this one, and returns it.
    pub fn refuse(&mut self, mpi: &Usable, error: Error) -> Error {
        // Messages that were forgotten arrive first.
        self.prepared = None;
        Exchange::refuse(mpi, Arc::clone(&self.companion), self.planned(1), error)
    }

    /// Sends the pieces of so many global arrays to other ranks.
    pub fn start(&mut self, mpi: &Usable, arrays: usize, from: &[Place]) -> Result {
        if !matches!(&self.prepared, Some((of, exchange)) if *of == arrays && exchange.is_whole()) {
            self.prepare(mpi, arrays).map_err(|error| self.refuse(mpi, error))?;
        }
        let Self { sends, prepared: Some((_, exchange)), .. } = self else { return Ok(()) };
        exchange.start(mpi, |i, packed| {
            sends[i].each(from, arrays, |layout, places, bytes| pack(layout, places, &mut packed[bytes]))
        })
    }

    /// Returns `true` if all pieces of other ranks have arrived.
    pub fn is_done(&mut self, mpi: &Usable) -> Result<bool> {
        self.prepared.as_mut().map_or(Ok(true), |(_, exchange)| exchange.is_done(mpi))
    }

    /// Waits for the pieces of other ranks, and writes them.
    ///
    /// # Safety
    /// 1. The arrays at the places are borrowed mutably.
    pub unsafe fn finish(&mut self, mpi: &Usable, to: &[Place]) -> Result {
        let Self { receives, prepared: Some((arrays, exchange)), .. } = self else { return Ok(()) };
        exchange.finish(
            mpi,
            T::FACTS.wire_size,
            |i, packed| {
                receives[i].each(to, *arrays, |layout, places, bytes| check(layout, places, &packed[bytes]))
            },
            |i, packed| {
                receives[i].each(to, *arrays, |layout, places, bytes| {
                    // SAFETY: 1.
                    unsafe { unpack(layout, places, &packed[bytes]) }
                })
            },
        )
    }

    /// Moves the pieces of one global array from it and into it, each on the wire that was measured to be the
    /// fastest. Each message has one piece. Its bytes are those that [`start`](Self::start) sends.
    ///
    /// # Safety
    /// 1. The arrays at the places `to` are borrowed mutably.
    /// 2. The arrays at the places `from` are borrowed. What is copied has no element in common with what it
    ///    is copied to.
    pub unsafe fn directly(&mut self, mpi: &Usable, from: &[Place], to: &[Place]) -> Result {
        // Messages that were forgotten arrive first.
        if let Some((_, exchange)) = &mut self.prepared {
            exchange.settle(mpi)?;
        }
        let sends = self.sends.iter().flat_map(|message| message.at(from));
        let sends = sends.map(|(to, place, layout)| (to, View::new(place, layout)));
        let receives = self.receives.iter().flat_map(|message| message.at(to));
        let receives = receives.map(|(from, place, layout)| (from, ViewMut::new(place, layout)));
        // SAFETY: 1 and 2.
        let copy = || unsafe { self.copy(from, to) };
        // Handlers are replaced once for all calls of MPI.
        without_communicator(mpi, || exchange::directly(mpi, sends, receives, copy))
    }

    /// Copies the pieces that stay on this rank.
    ///
    /// # Safety
    /// 1. The arrays at the places `to` are borrowed mutably.
    /// 2. The arrays at the places `from` are borrowed. What is copied has no element in common with what it
    ///    is copied to.
    pub unsafe fn copy(&self, from: &[Place], to: &[Place]) -> Result {
        self.copies.iter().try_for_each(|[source, destination]| {
            let from = (&source.layout, source.places(from));
            let to = (&destination.layout, destination.places(to));
            // SAFETY: 1 and 2.
            unsafe { copy(from, to) }
        })
    }

    /// Returns the messages for so many global arrays.
    fn planned(&self, arrays: usize) -> Result<[Vec<Planned>; 2]> {
        let all = |messages: &[Message<T, D>]| {
            messages.iter().map(|one| one.planned(arrays)).collect::<Result<Vec<_>, _>>()
        };
        Ok([all(&self.sends)?, all(&self.receives)?])
    }

    /// Makes requests and buffers for so many global arrays.
    fn prepare(&mut self, mpi: &Usable, arrays: usize) -> Result {
        // Messages that were forgotten arrive first.
        self.prepared = None;
        let [sends, receives] = self.planned(arrays)?;
        let exchange = Exchange::new(mpi, Arc::clone(&self.companion), &sends, &receives)?;
        self.prepared = Some((arrays, exchange));
        Ok(())
    }
}
