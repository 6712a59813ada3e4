//! Calls of distributed arrays: the parts of each rank, as runs of adjacent bytes or in views.

use super::{
    handle::{File, Seen},
    memory::Packed,
    selection::{Run, Selection},
};
use crate::{
    Error, Layout, MpiDatatype, View, ViewMut,
    layout::{ArrayLike, ArrayLikeMut, Dimensions, Distributed, distributed::Local, source::Place},
    mpi::{Usable, ready},
};

/// A part of this rank, and its place in memory.
type Placed<T, const D: usize> = (Local<T, D>, Place);

impl File {
    /// Writes this rank's part of a distributed array to the beginning of the file, which gets the global
    /// array in row-major order. All ranks must make this call. See
    /// [`write_distributed`](Self::write_distributed).
    ///
    /// # Errors
    /// The errors of [`write_distributed`](Self::write_distributed).
    pub fn write<T, const D: usize, P, S>(&mut self, own: &P, array: &S) -> Result<(), Error>
    where
        T: MpiDatatype,
        P: Distributed<D> + ?Sized,
        S: ArrayLike<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        self.write_distributed(0, own, array)
    }

    /// Reads this rank's part of a distributed array from the beginning of the file, which has the global
    /// array in row-major order. All ranks must make this call. Their number and distribution may differ from
    /// those that wrote the file.
    ///
    /// # Errors
    /// The errors of [`read_distributed`](Self::read_distributed).
    pub fn read<T, const D: usize, P, R>(&mut self, own: &P, array: &mut R) -> Result<(), Error>
    where
        T: MpiDatatype,
        P: Distributed<D> + ?Sized,
        R: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        self.read_distributed(0, own, array)
    }

    /// Writes this rank's parts of a distributed array: each run of adjacent bytes by itself
    /// (`MPI_File_write_at`), or many short ones in a view (`MPI_File_write_at_all`). The file gets the
    /// global array from the offset on, in row-major order, whatever the order of the local arrays is. All
    /// ranks must make this call.
    ///
    /// # Errors
    /// The errors of [`write_at_all`](Self::write_at_all); `Argument` if the array has other sizes than the
    /// part, if this rank has several parts, or if a part has more than 2²⁷ short runs.
    pub fn write_distributed<T, const D: usize, P, S>(
        &mut self,
        offset: u64,
        own: &P,
        array: &S,
    ) -> Result<(), Error>
    where
        T: MpiDatatype,
        P: Distributed<D> + ?Sized,
        S: ArrayLike<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        let mpi = &ready()?;
        let locals = Local::<T, D>::all(own);
        let has_part = locals.as_ref().map_or(true, |locals| !locals.is_empty());
        self.write_parts(mpi, offset, locals, &[array][usize::from(!has_part)..])
    }

    /// Like [`write_distributed`](Self::write_distributed), for ranks with several parts: one array for each.
    ///
    /// # Errors
    /// The errors of [`write_distributed`](Self::write_distributed).
    pub fn write_distributed_all<T, const D: usize, P, S>(
        &mut self,
        offset: u64,
        own: &P,
        arrays: &[&S],
    ) -> Result<(), Error>
    where
        T: MpiDatatype,
        P: Distributed<D> + ?Sized,
        S: ArrayLike<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        let mpi = &ready()?;
        self.write_parts(mpi, offset, Local::all(own), arrays)
    }

    fn write_parts<T, const D: usize, S>(
        &mut self,
        mpi: &Usable,
        offset: u64,
        locals: Result<Vec<Local<T, D>>, Error>,
        arrays: &[&S],
    ) -> Result<(), Error>
    where
        T: MpiDatatype,
        S: ArrayLike<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        let placed = locals.and_then(|locals| {
            let places = Local::places(&locals, arrays.len(), |i, region| arrays[i].place(region))?;
            Ok(locals.into_iter().zip(places).collect::<Vec<_>>())
        });
        self.each_part(mpi, offset, placed, |file, runs, part| {
            let view = part.map(|(local, place)| View::new(*place, &local.here));
            let own = view.as_ref().map_or(Ok(Packed::nothing()), |view| file.outgoing(view));
            match runs {
                Some(runs) => file.write_runs(mpi, runs, &own?),
                None => file.write_all(mpi, own.map(|own| (0, own))),
            }
        })
    }

    /// Reads this rank's parts of a distributed array, as [`write_distributed`](Self::write_distributed)
    /// writes them, from a file with the global array in row-major order. All ranks must make this call.
    /// Their number and distribution may differ from those that wrote the file.
    ///
    /// # Errors
    /// The errors of [`write_distributed`](Self::write_distributed) and [`read_at`](Self::read_at). With
    /// several parts, earlier ones may have been written.
    pub fn read_distributed<T, const D: usize, P, R>(
        &mut self,
        offset: u64,
        own: &P,
        array: &mut R,
    ) -> Result<(), Error>
    where
        T: MpiDatatype,
        P: Distributed<D> + ?Sized,
        R: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        let mpi = &ready()?;
        let locals = Local::<T, D>::all(own);
        let has_part = locals.as_ref().map_or(true, |locals| !locals.is_empty());
        self.read_parts(mpi, offset, locals, &mut [array][usize::from(!has_part)..])
    }

    /// Like [`read_distributed`](Self::read_distributed), for ranks with several parts: one array for each.
    ///
    /// # Errors
    /// The errors of [`read_distributed`](Self::read_distributed).
    pub fn read_distributed_all<T, const D: usize, P, R>(
        &mut self,
        offset: u64,
        own: &P,
        arrays: &mut [&mut R],
    ) -> Result<(), Error>
    where
        T: MpiDatatype,
        P: Distributed<D> + ?Sized,
        R: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        let mpi = &ready()?;
        self.read_parts(mpi, offset, Local::all(own), arrays)
    }

    fn read_parts<T, const D: usize, R>(
        &mut self,
        mpi: &Usable,
        offset: u64,
        locals: Result<Vec<Local<T, D>>, Error>,
        arrays: &mut [&mut R],
    ) -> Result<(), Error>
    where
        T: MpiDatatype,
        R: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        let placed = locals.and_then(|locals| {
            let places = Local::places(&locals, arrays.len(), |i, region| arrays[i].place_mut(region))?;
            Ok(locals.into_iter().zip(places).collect::<Vec<_>>())
        });
        self.each_part(mpi, offset, placed, |file, runs, part| {
            let into = part.map(|(local, place)| ViewMut::new(*place, &local.here));
            match (runs, into) {
                (Some(runs), Some(mut into)) => file.read_runs(mpi, runs, &mut into),
                (Some(_), None) => Ok(()),
                (None, Some(into)) => file.read_all(mpi, Ok((0, into))),
                (None, None) => file.read_all(mpi, Ok((0, [0u8; 0]))),
            }
        })
    }

    /// Calls `transfer` with each part of this rank and with its runs in the file. If a rank has many short
    /// runs, all ranks transfer in views instead: there are no runs then, and ranks with fewer parts make
    /// calls without one.
    fn each_part<T: MpiDatatype, const D: usize>(
        &mut self,
        mpi: &Usable,
        offset: u64,
        parts: Result<Vec<Placed<T, D>>, Error>,
        mut transfer: impl FnMut(Seen<'_>, Option<Vec<Run>>, Option<&Placed<T, D>>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let own = self.bytes().and_then(|file| {
            let parts = parts?;
            let sizes = parts.iter().map(|(local, _)| local.there.region().array_elements());
            file.file.place(offset, sizes.max().unwrap_or(0).saturating_mul(T::FACTS.wire_size))?;
            let is_short = parts.iter().any(|(local, _)| Run::are_short(&local.there));
            let numbers = [parts.len() as u64, is_short.into()];
            Ok((parts, numbers))
        });
        let (parts, [[_, rounds], [_, are_short]]) = self.agreed_on(mpi, own)?;
        let mut transferred = Ok(());
        if are_short == 0 {
            for part in &parts {
                let runs = Run::all(&part.0.there, offset);
                transferred =
                    transferred.and(self.bytes().and_then(|file| transfer(file, Some(runs), Some(part))));
            }
            return self.agreed(mpi, transferred);
        }
        let selections = parts.iter().map(|(local, _)| Selection::of(&local.there)?.datatype());
        let views = selections.collect::<Result<Vec<_>, _>>();
        let views = views
            .and_then(|views| Ok((views, Selection::nothing::<T>().datatype()?, self.place(offset, 0)?)));
        let (views, nothing, at) = self.agreed(mpi, views)?;
        let mut viewed = self.viewed();
        // All ranks make all rounds.
        for round in 0..rounds as usize {
            viewed.set(mpi, at, views.get(round).unwrap_or(&nothing))?;
            transferred = transferred.and(transfer(viewed.bytes(), None, parts.get(round)));
        }
        let ended = viewed.end(mpi);
        self.agreed(mpi, transferred.and(ended))
    }
}
