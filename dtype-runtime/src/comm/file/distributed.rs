//! Calls of distributed arrays: the parts of each rank, as runs of adjacent bytes or in views.

use super::{
    handle::{File, Seen, Viewed},
    memory::Packed,
    selection::{Run, Selection},
};
use crate::{
    Error, Layout, MpiDatatype, Result, View, ViewMut,
    layout::{
        ArrayLike, ArrayLikeMut, Dimensions, Distributed, distributed::Local, region::Region, source::Place,
    },
    mpi::{Usable, ready},
};

/// A part of this rank, and its place in memory.
type Placed<T, const D: usize> = (Local<T, D>, Place);

/// A place in a file, in bytes from its beginning: what [`File::at`] returns.
#[derive(Debug)]
pub struct FileAt<'f> {
    file: &'f mut File,
    offset: u64,
}

impl File {
    /// Returns the place in the file at which a distributed array begins, in bytes.
    pub fn at(&mut self, offset: u64) -> FileAt<'_> {
        FileAt { file: self, offset }
    }

    /// Writes this rank's part of a distributed array to the beginning of the file, which gets the global
    /// array in row-major order. All ranks must make this call. See [`FileAt::write`].
    ///
    /// # Errors
    /// The errors of [`FileAt::write`].
    pub fn write<T, const D: usize, P, S>(&mut self, own: &P, array: &S) -> Result
    where
        T: MpiDatatype,
        P: Distributed<D> + ?Sized,
        S: ArrayLike<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        self.at(0).write(own, array)
    }

    /// Reads this rank's part of a distributed array from the beginning of the file. All ranks must make this
    /// call; their number and distribution may differ from those that wrote the file. See [`FileAt::read`].
    ///
    /// # Errors
    /// The errors of [`FileAt::read`].
    pub fn read<T, const D: usize, P, R>(&mut self, own: &P, array: &mut R) -> Result
    where
        T: MpiDatatype,
        P: Distributed<D> + ?Sized,
        R: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        self.at(0).read(own, array)
    }
}

impl FileAt<'_> {
    /// Writes this rank's part of a distributed array, of any type that
    /// [`redistribute`](crate::Comm::redistribute) takes: each run of adjacent bytes by itself
    /// (`MPI_File_write_at`), or many short ones in a view (`MPI_File_write_at_all`). The file gets the
    /// global array from this place on, in row-major order, whatever the order of the local arrays is. All
    /// ranks must make this call.
    ///
    /// # Errors
    /// The errors of [`File::write_at_all`]; `Argument` if the array has other sizes than the part, if this
    /// rank has several parts, or if a part has more than 2²⁷ short runs.
    pub fn write<T, const D: usize, P, S>(self, own: &P, array: &S) -> Result
    where
        T: MpiDatatype,
        P: Distributed<D> + ?Sized,
        S: ArrayLike<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        let has_no_part = own.parts().is_ok_and(|parts| parts.is_empty());
        self.write_all(own, &[array][usize::from(has_no_part)..])
    }

    /// Like [`write`](Self::write), for ranks with several parts: one array for each.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write).
    pub fn write_all<T, const D: usize, P, S>(self, own: &P, arrays: &[&S]) -> Result
    where
        T: MpiDatatype,
        P: Distributed<D> + ?Sized,
        S: ArrayLike<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        let mpi = &ready()?;
        let place = |i: usize, region: &Region<'_>| arrays[i].place(region);
        let parts = placed(Local::<T, D>::all(own), arrays.len(), place);
        self.file.each_part(mpi, self.offset, parts, |file, runs, part| {
            let view = part.map(|(local, place)| View::new(*place, &local.here));
            let own = view.as_ref().map_or(Ok(Packed::nothing()), |view| file.outgoing(view));
            match runs {
                Some(runs) => file.write_runs(mpi, runs, &own?),
                None => file.write_all(mpi, own.map(|own| (0, own))),
            }
        })
    }

    /// Reads this rank's part of a distributed array, as [`write`](Self::write)
    /// writes them, from a file with the global array in row-major order. All ranks must make this call.
    /// Their number and distribution may differ from those that wrote the file.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write) and [`File::read_at`]. With several parts, earlier ones may have
    /// been written.
    pub fn read<T, const D: usize, P, R>(self, own: &P, array: &mut R) -> Result
    where
        T: MpiDatatype,
        P: Distributed<D> + ?Sized,
        R: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        let has_no_part = own.parts().is_ok_and(|parts| parts.is_empty());
        self.read_all(own, &mut [array][usize::from(has_no_part)..])
    }

    /// Like [`read`](Self::read), for ranks with several parts: one array for each.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub fn read_all<T, const D: usize, P, R>(self, own: &P, arrays: &mut [&mut R]) -> Result
    where
        T: MpiDatatype,
        P: Distributed<D> + ?Sized,
        R: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        let mpi = &ready()?;
        let count = arrays.len();
        let place = |i: usize, region: &Region<'_>| arrays[i].place_mut(region);
        let parts = placed(Local::<T, D>::all(own), count, place);
        self.file.each_part(mpi, self.offset, parts, |file, runs, part| {
            let into = part.map(|(local, place)| ViewMut::new(*place, &local.here));
            match (runs, into) {
                (Some(runs), Some(mut into)) => file.read_runs(mpi, runs, &mut into),
                (Some(_), None) => Ok(()),
                (None, Some(into)) => file.read_all(mpi, Ok((0, into))),
                (None, None) => file.read_all(mpi, Ok((0, [0u8; 0]))),
            }
        })
    }
}

/// Returns the parts with the places of their arrays.
fn placed<T: MpiDatatype, const D: usize, M: Into<Error>>(
    locals: Result<Vec<Local<T, D>>>,
    arrays: usize,
    place: impl FnMut(usize, &Region<'_>) -> Result<Place, M>,
) -> Result<Vec<Placed<T, D>>> {
    let locals = locals?;
    let places = Local::places(&locals, arrays, place)?;
    Ok(locals.into_iter().zip(places).collect())
}

impl File {
    /// Calls `transfer` with each part of this rank and with its runs in the file. If a rank has many short
    /// runs, all ranks transfer in views instead: there are no runs then, and ranks with fewer parts make
    /// calls without one.
    fn each_part<T: MpiDatatype, const D: usize>(
        &mut self,
        mpi: &Usable,
        offset: u64,
        parts: Result<Vec<Placed<T, D>>>,
        mut transfer: impl FnMut(Seen<'_>, Option<Vec<Run>>, Option<&Placed<T, D>>) -> Result,
    ) -> Result {
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
        let mut viewed = Viewed { file: self };
        // All ranks make all rounds.
        for round in 0..rounds as usize {
            viewed.set(mpi, at, views.get(round).unwrap_or(&nothing))?;
            transferred = transferred.and(transfer(viewed.bytes(), None, parts.get(round)));
        }
        let ended = viewed.end(mpi);
        self.agreed(mpi, transferred.and(ended))
    }
}
