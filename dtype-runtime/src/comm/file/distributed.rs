//! Calls of distributed arrays: the parts of each rank, as runs of adjacent bytes of the file.

use super::{
    collected,
    handle::{File, Seen},
    memory::Packed,
    rows::Rows,
};
use crate::{
    Error, MpiDatatype, Result, View, ViewMut,
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
    /// (`MPI_File_write_at`). If a rank has many runs shorter than 4 KiB, the ranks exchange bytes, and each
    /// writes long pieces of the file. The file gets the global array from this place on, in row-major order,
    /// whatever the order of the local arrays is. All ranks must make this call.
    ///
    /// # Errors
    /// The errors of [`File::write_at_all`]; `Argument` if the array has other sizes than the part, or if
    /// this rank has several parts.
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
        self.file.each_part(mpi, self.offset, parts, |file, how, rows, part| {
            let view = part.map(|(local, place)| View::new(*place, &local.here));
            let own = view.as_ref().map_or(Ok(Packed::nothing()), |view| file.outgoing(view));
            match how {
                How::Alone => file.write_runs(mpi, rows.runs(), &own?),
                How::Together => collected::write(file, mpi, rows, own),
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
        self.file.each_part(mpi, self.offset, parts, |file, how, rows, part| {
            let mut into = part.map(|(local, place)| ViewMut::new(*place, &local.here));
            match (how, &mut into) {
                (How::Alone, Some(into)) => file.read_runs(mpi, rows.runs(), into),
                (How::Alone, None) => Ok(()),
                (How::Together, into) => collected::read(file, mpi, rows, into.as_mut()),
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
    /// runs, all ranks transfer together: ranks with fewer parts make calls without one.
    fn each_part<T: MpiDatatype, const D: usize>(
        &mut self,
        mpi: &Usable,
        offset: u64,
        parts: Result<Vec<Placed<T, D>>>,
        mut transfer: impl FnMut(Seen<'_>, How, &Rows, Option<&Placed<T, D>>) -> Result,
    ) -> Result {
        let own = self.bytes().and_then(|file| {
            let size = T::FACTS.wire_size;
            file.file.place(offset, 0)?;
            let placed = parts?.into_iter().map(|part| {
                let all = part.0.part.gsizes.into_iter().fold(size, usize::saturating_mul);
                file.file.place(offset, all)?;
                Ok((Rows::of(&part.0.part, size, offset)?, part))
            });
            let placed = placed.collect::<Result<Vec<_>>>()?;
            let are_short = placed.iter().any(|(rows, _)| rows.are_short());
            let numbers = [placed.len() as u64, are_short.into()];
            Ok(((file, placed), numbers))
        });
        let ((file, placed), [[_, rounds], [_, are_short]]) = self.agreed_on(mpi, own)?;
        let mut transferred = Ok(());
        if are_short == 0 {
            for (rows, part) in &placed {
                transferred = transferred.and(transfer(file, How::Alone, rows, Some(part)));
            }
            return self.agreed(mpi, transferred);
        }
        // All ranks make all rounds.
        let nothing = Rows::default();
        for round in 0..rounds as usize {
            let (rows, part) = placed.get(round).map_or((&nothing, None), |(rows, part)| (rows, Some(part)));
            transferred = transferred.and(transfer(file, How::Together, rows, part));
        }
        self.agreed(mpi, transferred)
    }
}

/// The way of a transfer.
#[derive(Clone, Copy)]
enum How {
    /// Each rank transfers its runs by itself.
    Alone,
    /// All ranks make the call, and exchange bytes.
    Together,
}
