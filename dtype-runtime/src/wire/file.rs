//! Files that all ranks read and write together (MPI 4.1 chapter 14).
//!
//! A file holds packed bytes: the values one after another, without padding, in the machine's byte order. So
//! a file is as long as its values, and another program reads it without knowing MPI.

use std::{
    cell::RefCell,
    ffi::CString,
    fmt,
    marker::PhantomData,
    mem,
    ops::Range,
    os::raw::c_int,
    path::{Path, PathBuf},
    ptr::NonNull,
    sync::Arc,
};

use ::mpi::{
    ffi::{self, MPI_Comm, MPI_Datatype, MPI_File, MPI_Info, MPI_Offset, MPI_Status},
    raw::AsRaw,
    topology::Communicator,
};

use super::{
    Receivable, Sendable,
    attach::{Companion, companion},
    collective::{least_and_greatest, sums},
    file_view::{MOST, Run, Selection},
    members::{Members, intracommunicator, members},
    request::{Request, no_status, size_of},
    sendable::{
        Span, pack_with_room,
        sealed::{Read, Write},
    },
};
use crate::{
    Error, Layout, MpiDatatype, View, ViewMut,
    engine::Plan,
    layout::{
        ArrayLike, ArrayLikeMut, Dimensions, Distributed, LayoutDatatype, WholeElements, distributed::Local,
        source::Place,
    },
    mpi::{
        Current, Library as _, SUCCESS, Usable, checked, class_of, ready, true_code, without_communicator,
    },
    pack::PackBuffer,
};

/// A file that is open on all ranks of a communicator.
///
/// Calls whose names end in `_all`, and those of distributed arrays and views, are collective: all ranks must
/// make them. The others are calls of one rank. Offsets are bytes from the start of the file.
///
/// ```no_run
/// use dtype_runtime::{layout::Darray, wire::File};
/// use mpi::traits::*;
///
/// let universe = mpi::initialize().unwrap();
/// let world = universe.world();
/// let (rank, ranks) = (world.rank() as usize, world.size() as usize);
/// // Each rank has some rows of a matrix. The file has the whole matrix, in row-major order.
/// let rows = Darray::blocks(rank, [100, 80], [ranks, 1]);
/// let own = vec![0.5f64; rows.local_sizes()?.iter().product()];
/// let mut file = File::create(&world, "matrix.bin")?;
/// file.write_distributed(0, &rows, &own)?;
/// assert_eq!(file.size()?, 100 * 80 * 8);
/// file.close()?;
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
pub struct File {
    handle: MPI_File,
    path: PathBuf,
    companion: Arc<Companion>,
    may_read: bool,
    may_write: bool,
    /// `true` if the file has another view than its bytes.
    has_view: bool,
    /// The offset of the next call in the order of the ranks.
    ordered: u64,
    /// The immediate transfers. The file keeps them, so that they end before it even if the program forgets
    /// them.
    pending: RefCell<Vec<Option<Request>>>,
    thread: PhantomData<*mut ()>,
}

/// The ways to open a file, and hints to the library.
///
/// ```no_run
/// use dtype_runtime::wire::FileOptions;
/// use mpi::traits::*;
///
/// let universe = mpi::initialize().unwrap();
/// let world = universe.world();
/// let options = FileOptions::new().read(true).write(true).create(true).hint("cb_nodes", "2");
/// let mut file = options.open(&world, "checkpoint.bin")?;
/// file.write_at(8 * world.rank() as u64, &1.5f64)?;
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct FileOptions {
    read: bool,
    write: bool,
    create: Creation,
    truncate: bool,
    hints: Vec<(String, String)>,
}

/// The treatment of a file that does not exist.
#[derive(Clone, Copy, Debug, Default)]
enum Creation {
    #[default]
    Never,
    IfMissing,
    /// The file must not exist.
    Always,
}

impl FileOptions {
    /// Returns options that permit nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Permits reading.
    #[must_use]
    pub fn read(self, read: bool) -> Self {
        Self { read, ..self }
    }

    /// Permits writing.
    #[must_use]
    pub fn write(self, write: bool) -> Self {
        Self { write, ..self }
    }

    /// Creates the file if there is none (`MPI_MODE_CREATE`).
    #[must_use]
    pub fn create(self, create: bool) -> Self {
        let create = if create { Creation::IfMissing } else { Creation::Never };
        Self { create, ..self }
    }

    /// Creates the file, which must not exist (`MPI_MODE_EXCL`).
    #[must_use]
    pub fn create_new(self, create_new: bool) -> Self {
        let create = if create_new { Creation::Always } else { Creation::Never };
        Self { create, ..self }
    }

    /// Sets the size of the file to 0 after it is opened.
    #[must_use]
    pub fn truncate(self, truncate: bool) -> Self {
        Self { truncate, ..self }
    }

    /// Gives a hint to the library, such as `striping_factor` or `cb_nodes` (MPI 4.1 section 14.2.8).
    /// Libraries ignore hints that they do not know.
    #[must_use]
    pub fn hint(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.hints.push((key.into(), value.into()));
        self
    }

    /// Opens a file (`MPI_File_open`). All ranks must make this call, with the same path and options.
    ///
    /// # Errors
    /// [`Error::File`], on all ranks, if the file cannot be opened, if the path or a hint contains a zero
    /// byte, if the path is too long for the MPI library, or if the ranks have different options.
    pub fn open<C: Communicator + ?Sized>(
        &self,
        communicator: &C,
        path: impl AsRef<Path>,
    ) -> Result<File, Error> {
        let mpi = &ready()?;
        let Members { communicator: raw, .. } = members(mpi, communicator)?;
        intracommunicator(mpi, raw)?;
        let (companion, _) = companion(mpi, raw, 1)?;
        let path = path.as_ref();
        let (may_read, may_write) = (self.read || !self.write, self.write);
        let mode = match (may_read, may_write) {
            (true, true) => ffi::MPI_MODE_RDWR,
            (false, _) => ffi::MPI_MODE_WRONLY,
            (true, false) => ffi::MPI_MODE_RDONLY,
        };
        let mode = mode
            | match self.create {
                Creation::Never => 0,
                Creation::IfMissing => ffi::MPI_MODE_CREATE,
                Creation::Always => ffi::MPI_MODE_CREATE | ffi::MPI_MODE_EXCL,
            };
        let name = path.to_str().and_then(|path| CString::new(path).ok());
        let name = name.ok_or_else(|| refused(path, "its path is not text, or contains a zero byte"));
        let name = name.and_then(|name| match Current::LONGEST_PATH {
            Some(most) if name.as_bytes().len() > most => {
                Err(refused(path, format!("the MPI library takes no path of more than {most} bytes")))
            }
            _ => Ok(name),
        });
        let name = name.and_then(|name| Ok((name, Info::of(mpi, path, &self.hints)?)));
        let ways = 2 * u64::from(mode) + u64::from(self.truncate);
        let all = agreed(mpi, companion.communicator, path, name.as_ref().map(|_| [ways, 0]));
        let ((name, info), [[least, greatest], _]) = (name?, all?);
        if least != greatest {
            return Err(refused(path, "the ranks open it with different options"));
        }
        // SAFETY: a constant of the library.
        let mut file = unsafe { ffi::RSMPI_FILE_NULL };
        let code = quietly(mpi, || {
            // SAFETY: the communicator is live, and the name a string of C; there is room for a handle.
            unsafe {
                mpi.MPI_File_open(companion.communicator, name.as_ptr(), mode as c_int, info.0, &raw mut file)
            }
        });
        of_file(mpi, path, "MPI_File_open", code)?;
        let (path, thread) = (path.to_owned(), PhantomData);
        let file = File {
            handle: file,
            path,
            companion,
            may_read,
            may_write,
            has_view: false,
            ordered: 0,
            pending: RefCell::default(),
            thread,
        };
        // SAFETY: the file is open.
        file.call("MPI_File_set_errhandler", |file| unsafe {
            mpi.MPI_File_set_errhandler(file, ffi::RSMPI_ERRORS_RETURN)
        })?;
        if self.truncate {
            file.set_size(0)?;
        }
        Ok(file)
    }
}

impl File {
    /// Opens a file for reading. All ranks must make this call.
    ///
    /// # Errors
    /// The errors of [`FileOptions::open`].
    pub fn open<C: Communicator + ?Sized>(communicator: &C, path: impl AsRef<Path>) -> Result<Self, Error> {
        FileOptions::new().read(true).open(communicator, path)
    }

    /// Opens a file for reading and writing, and creates it or sets its size to 0. All ranks must make this
    /// call.
    ///
    /// # Errors
    /// The errors of [`FileOptions::open`].
    pub fn create<C: Communicator + ?Sized>(communicator: &C, path: impl AsRef<Path>) -> Result<Self, Error> {
        FileOptions::new().read(true).write(true).create(true).truncate(true).open(communicator, path)
    }

    /// Returns the size of the file in bytes (`MPI_File_get_size`).
    ///
    /// # Errors
    /// [`Error::File`] if the call fails.
    pub fn size(&self) -> Result<u64, Error> {
        let mpi = &ready()?;
        let mut size: MPI_Offset = 0;
        // SAFETY: the file is open; there is room for a number.
        self.call("MPI_File_get_size", |file| unsafe { mpi.MPI_File_get_size(file, &raw mut size) })?;
        Ok(u64::try_from(size).unwrap_or(0))
    }

    /// Sets the size of the file in bytes (`MPI_File_set_size`). All ranks must make this call.
    ///
    /// # Errors
    /// [`Error::File`] if the call fails.
    pub fn set_size(&self, size: u64) -> Result<(), Error> {
        let mpi = &ready()?;
        let size = self.offset(size)?;
        // SAFETY: the file is open.
        self.call("MPI_File_set_size", |file| unsafe { mpi.MPI_File_set_size(file, size) })
    }

    /// Writes everything to the storage, and makes it visible to other ranks (`MPI_File_sync`). All ranks
    /// must make this call.
    ///
    /// # Errors
    /// [`Error::File`] if the call fails.
    pub fn sync(&self) -> Result<(), Error> {
        let mpi = &ready()?;
        // SAFETY: the file is open.
        self.call("MPI_File_sync", |file| unsafe { mpi.MPI_File_sync(file) })
    }

    /// Closes the file (`MPI_File_close`). All ranks must make this call, or drop the file.
    ///
    /// # Errors
    /// [`Error::File`] if the call fails.
    pub fn close(mut self) -> Result<(), Error> {
        let mpi = &ready()?;
        let code = self.end()?;
        of_file(mpi, &self.path, "MPI_File_close", code)
    }

    /// Writes packed values at an offset (`MPI_File_write_at`).
    ///
    /// # Errors
    /// [`Error::File`] if the call fails, or writes fewer bytes.
    pub fn write_at<M: Sendable + ?Sized>(&mut self, offset: u64, message: &M) -> Result<(), Error> {
        let mpi = &ready()?;
        self.has_no_view()?;
        self.write(mpi, offset, &self.outgoing(message)?)
    }

    /// Writes packed values at an offset of each rank, together with the other ranks. Each rank makes its own
    /// call (`MPI_File_write_at`).
    ///
    /// # Errors
    /// The errors of [`write_at`](Self::write_at); [`Error::File`] if another rank has an error.
    pub fn write_at_all<M: Sendable + ?Sized>(&mut self, offset: u64, message: &M) -> Result<(), Error> {
        let mpi = &ready()?;
        let written = self.write_at(offset, message);
        self.all_together(mpi, written)
    }

    /// Reads values at an offset (`MPI_File_read_at`).
    ///
    /// # Errors
    /// [`Error::File`] if the call fails, or if the file ends before; [`Error::InvalidValue`], which leaves
    /// all values unchanged. After another error, some values may have been read.
    pub fn read_at<M: Receivable + ?Sized>(&mut self, offset: u64, into: &mut M) -> Result<(), Error> {
        let mpi = &ready()?;
        self.has_no_view()?;
        self.read(mpi, offset, into)
    }

    /// Reads values at an offset of each rank, together with the other ranks. Each rank makes its own call
    /// (`MPI_File_read_at`).
    ///
    /// # Errors
    /// The errors of [`read_at`](Self::read_at); [`Error::File`] if another rank has an error.
    pub fn read_at_all<M: Receivable + ?Sized>(&mut self, offset: u64, into: &mut M) -> Result<(), Error> {
        let mpi = &ready()?;
        let read = self.read_at(offset, into);
        self.all_together(mpi, read)
    }

    /// Writes packed values behind those of all lower ranks, at the end of what was written so before. All
    /// ranks must make this call, as that of `MPI_File_write_ordered`.
    ///
    /// # Errors
    /// The errors of [`write_at_all`](Self::write_at_all). The values of other ranks may have been written.
    pub fn write_ordered<M: Sendable + ?Sized>(&mut self, message: &M) -> Result<(), Error> {
        let mpi = &ready()?;
        let own = self.has_no_view().and_then(|()| self.outgoing(message));
        let offset = self.take_turn(mpi, own.as_ref().map_or(0, |own| own.size))?;
        let written = own.and_then(|own| self.write(mpi, offset, &own));
        self.all_together(mpi, written)
    }

    /// Reads values behind those of all lower ranks, at the end of what was read or written so before. All
    /// ranks must make this call, as that of `MPI_File_read_ordered`.
    ///
    /// # Errors
    /// The errors of [`read_at_all`](Self::read_at_all).
    pub fn read_ordered<M: Receivable + ?Sized>(&mut self, into: &mut M) -> Result<(), Error> {
        let mpi = &ready()?;
        let offset = self.take_turn(mpi, into.packed_size())?;
        let read = self.has_no_view().and_then(|()| self.read(mpi, offset, into));
        self.all_together(mpi, read)
    }

    /// Sets the offset of the next call in the order of the ranks, as `MPI_File_seek_shared` does. All ranks
    /// must make this call, with the same offset.
    ///
    /// # Errors
    /// [`Error::File`] if no file has such an offset.
    pub fn seek_ordered(&mut self, offset: u64) -> Result<(), Error> {
        self.offset(offset)?;
        self.ordered = offset;
        Ok(())
    }

    /// Starts to write packed values at an offset, and returns without waiting (`MPI_File_iwrite_at`). The
    /// values are free again at once. They have less than 2 GiB.
    ///
    /// # Errors
    /// The errors of [`write_at`](Self::write_at).
    pub fn start_write_at<M: Sendable + ?Sized>(
        &self,
        offset: u64,
        message: &M,
    ) -> Result<PendingWrite<'_>, Error> {
        let mpi = &ready()?;
        self.has_no_view().and_then(|()| self.writes())?;
        let (size, offset) = (self.few("MPI_File_iwrite_at", message.packed_size())?, self.offset(offset)?);
        let request = Request::of_file(pack_with_room(message, size)?, |place, request| {
            let (place, count) = (place.cast_const().cast(), size as c_int);
            self.call("MPI_File_iwrite_at", |file| {
                // SAFETY: the bytes are in a buffer that the request keeps.
                unsafe { mpi.MPI_File_iwrite_at(file, offset, place, count, byte(), request) }
            })
        })?;
        Ok(PendingWrite { transfer: Transfer::new(self, request, size) })
    }

    /// Starts to read values at an offset, and returns without waiting (`MPI_File_iread_at`). The destination
    /// is borrowed until [`finish`](PendingRead::finish), and has less than 2 GiB.
    ///
    /// # Errors
    /// The errors of [`read_at`](Self::read_at).
    pub fn start_read_at<'a, M: Receivable + ?Sized>(
        &'a self,
        offset: u64,
        into: &'a mut M,
    ) -> Result<PendingRead<'a, M>, Error> {
        let mpi = &ready()?;
        self.has_no_view().and_then(|()| self.reads())?;
        // Open MPI waits for ever for what is behind the end.
        self.holds(mpi, offset, into.packed_size())?;
        let (size, offset) = (self.few("MPI_File_iread_at", into.packed_size())?, self.offset(offset)?);
        let request = Request::of_file(PackBuffer::with_room(size)?, |place, request| {
            let (place, count) = (place.cast(), size as c_int);
            self.call("MPI_File_iread_at", |file| {
                // SAFETY: the buffer has room for the bytes, and the request keeps it.
                unsafe { mpi.MPI_File_iread_at(file, offset, place, count, byte(), request) }
            })
        })?;
        Ok(PendingRead { transfer: Transfer::new(self, request, size), into })
    }

    /// Writes this rank's parts of a distributed array: each run of adjacent bytes by itself
    /// (`MPI_File_write_at`), or many short ones in a view (`MPI_File_write_at_all`). The file gets the
    /// global array from the offset on, in row-major order, whatever the order of the local arrays is. All
    /// ranks must make this call.
    ///
    /// # Errors
    /// The errors of [`write_at`](Self::write_at); [`Error::Shape`] if the array has other sizes than the
    /// part; [`Error::Parameter`] if this rank does not have exactly one part, and the array elements.
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
                None => file.write_view(mpi, own.map(|own| (0, own))),
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
                (None, Some(mut into)) => file.read_view(mpi, Ok(0), &mut into),
                (None, None) => file.read_view::<[u8]>(mpi, Ok(0), &mut []),
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
        parts: Result<Vec<(Local<T, D>, Place)>, Error>,
        mut transfer: impl FnMut(&Self, Option<Vec<Run>>, Option<&(Local<T, D>, Place)>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let parts = parts.and_then(|parts| {
            let sizes = parts.iter().map(|(local, _)| local.there.region().array_elements());
            let bytes = sizes.max().unwrap_or(0).saturating_mul(T::FACTS.wire_size);
            self.within(offset, bytes)?;
            Ok((parts, self.offset(offset)?))
        });
        let own = parts.as_ref().map(|(parts, _)| {
            let is_short = parts.iter().any(|(local, _)| Run::are_short(&local.there));
            [parts.len() as u64, is_short.into()]
        });
        let all = agreed(mpi, self.companion.communicator, &self.path, own);
        let ((parts, at), [[_, rounds], [_, are_short]]) = (parts?, all?);
        let mut transferred = Ok(());
        if are_short == 0 {
            for part in &parts {
                transferred =
                    transferred.and(transfer(self, Some(Run::all(&part.0.there, offset)), Some(part)));
            }
            return self.all_together(mpi, transferred);
        }
        let selections = parts.iter().map(|(local, _)| Selection::of(&local.there)?.datatype());
        let views = selections.collect::<Result<Vec<_>, _>>();
        let views = views.and_then(|views| Ok((views, Selection::nothing::<T>().datatype()?)));
        let all = agreed(mpi, self.companion.communicator, &self.path, views.as_ref().map(|_| [0; 2]));
        let ((views, nothing), _) = (views?, all?);
        // All ranks make all rounds.
        for round in 0..rounds as usize {
            self.set_view(mpi, at, views.get(round).unwrap_or(&nothing))?;
            transferred = transferred.and(transfer(self, None, parts.get(round)));
        }
        self.end_view(mpi)?;
        self.all_together(mpi, transferred)
    }

    /// Returns a view of the file: the elements that a layout selects in an array from the offset on, in the
    /// next array behind it, and so on without end (`MPI_File_set_view`). All ranks must make this call, each
    /// with a layout of its own. The layout must select elements in ascending order.
    ///
    /// ```no_run
    /// use dtype_runtime::{layout, wire::File};
    /// use mpi::traits::*;
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let world = universe.world();
    /// let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    /// // Numbers go to the ranks in turn: one to each.
    /// let mut file = File::create(&world, "numbers.bin")?;
    /// let mut view = file.view(0, &layout!(u64[ranks] => [rank])?)?;
    /// view.write_at_all(0, &[rank as u64; 100])?;
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Ascending`] if the layout does not ascend; [`Error::File`] if the call fails, or if another
    /// rank has an error.
    pub fn view<L>(&mut self, offset: u64, layout: &L) -> Result<FileView<'_, L::Element>, Error>
    where
        L: Layout<Selects: WholeElements>,
    {
        let mpi = &ready()?;
        let own = Selection::of(layout).and_then(|selection| {
            let (tile, size) = (selection.extent(), layout.count() as u64);
            Ok((Tiles { offset, tile, elements: size }, selection.datatype()?, self.offset(offset)?))
        });
        let all = agreed(mpi, self.companion.communicator, &self.path, own.as_ref().map(|_| [0; 2]));
        let ((tiles, datatype, at), _) = (own?, all?);
        self.set_view(mpi, at, &datatype)?;
        Ok(FileView { file: self, tiles, elements: PhantomData })
    }

    /// Sets the view. All ranks must make this call.
    fn set_view(&mut self, mpi: &Usable, offset: MPI_Offset, part: &LayoutDatatype) -> Result<(), Error> {
        self.has_view = true;
        self.call("MPI_File_set_view", |file| {
            let (part, native) = (part.as_raw(), c"native".as_ptr());
            // SAFETY: the file is open, and the datatype committed.
            unsafe { mpi.MPI_File_set_view(file, offset, byte(), part, native, ffi::RSMPI_INFO_NULL) }
        })
    }

    /// Sets the view of all bytes. All ranks must make this call.
    fn end_view(&mut self, mpi: &Usable) -> Result<(), Error> {
        self.call("MPI_File_set_view", |file| {
            let native = c"native".as_ptr();
            // SAFETY: the file is open.
            unsafe { mpi.MPI_File_set_view(file, 0, byte(), byte(), native, ffi::RSMPI_INFO_NULL) }
        })?;
        self.has_view = false;
        Ok(())
    }

    /// Checks that the file has the view of all bytes. To set it here would be a call of all ranks.
    fn has_no_view(&self) -> Result<(), Error> {
        if !self.has_view {
            return Ok(());
        }
        Err(refused(
            &self.path,
            "a view of it was forgotten, or could not be ended: drop each view on all ranks",
        ))
    }

    /// Returns the result of a call of all ranks: an error if another rank has one.
    fn all_together(&self, mpi: &Usable, own: Result<(), Error>) -> Result<(), Error> {
        let all = agreed(mpi, self.companion.communicator, &self.path, own.as_ref().map(|()| [0; 2]));
        own.and(all.map(|_| ()))
    }

    /// Returns the offset of this rank's bytes in a call in the order of the ranks.
    fn take_turn(&mut self, mpi: &Usable, size: usize) -> Result<u64, Error> {
        let [before, all] = sums(mpi, self.companion.communicator, size as u64)?;
        let offset = self.ordered.saturating_add(before);
        self.ordered = self.ordered.saturating_add(all);
        Ok(offset)
    }

    fn writes(&self) -> Result<(), Error> {
        if self.may_write { Ok(()) } else { Err(refused(&self.path, "it was opened for reading only")) }
    }

    fn reads(&self) -> Result<(), Error> {
        if self.may_read { Ok(()) } else { Err(refused(&self.path, "it was opened for writing only")) }
    }

    /// Returns the packed bytes of a message.
    fn outgoing<'m, M: Read + ?Sized>(&self, message: &'m M) -> Result<Packed<'m>, Error> {
        self.writes()?;
        Packed::of(message)
    }

    /// Writes bytes from an offset on.
    fn write(&self, mpi: &Usable, offset: u64, own: &Packed<'_>) -> Result<(), Error> {
        self.write_runs(mpi, [Run { at: offset, bytes: 0..own.size }], own)
    }

    fn write_runs(
        &self,
        mpi: &Usable,
        runs: impl IntoIterator<Item = Run>,
        own: &Packed<'_>,
    ) -> Result<(), Error> {
        self.transfer("MPI_File_write_at", runs, |file, at, bytes, status| {
            let (place, count) = own.part(bytes);
            // SAFETY: the bytes are those of the message, which is borrowed, or of a buffer.
            unsafe { mpi.MPI_File_write_at(file, at, place.cast(), count, byte(), status) }
        })
    }

    /// Reads values from an offset on.
    fn read<M: Receivable + ?Sized>(&self, mpi: &Usable, offset: u64, into: &mut M) -> Result<(), Error> {
        self.read_runs(mpi, [Run { at: offset, bytes: 0..into.packed_size() }], into)
    }

    fn read_runs<M: Receivable + ?Sized>(
        &self,
        mpi: &Usable,
        runs: impl IntoIterator<Item = Run>,
        into: &mut M,
    ) -> Result<(), Error> {
        self.reads()?;
        let mut room = Room::of(into)?;
        self.fill(mpi, runs, &mut room)?;
        room.unpack(into)
    }

    fn fill(&self, mpi: &Usable, runs: impl IntoIterator<Item = Run>, room: &mut Room) -> Result<(), Error> {
        self.transfer("MPI_File_read_at", runs, |file, at, bytes, status| {
            let (place, count) = room.part(bytes);
            // SAFETY: the room has the bytes.
            unsafe { mpi.MPI_File_read_at(file, at, place.cast(), count, byte(), status) }
        })
    }

    /// Writes bytes from an offset in bytes of the view on. All ranks must make this call.
    fn write_view(&self, mpi: &Usable, own: Result<(u64, Packed<'_>), Error>) -> Result<(), Error> {
        if Current::HIDES_FILE_ERRORS {
            let (offset, own) = own?;
            return self.write(mpi, offset, &own);
        }
        let own = own.and_then(|own| self.within(own.0, own.1.size).map(|()| own));
        let rounds = self.rounds(mpi, own.as_ref().map(|(_, own)| own.size));
        let (offset, own) = own?;
        self.transfer_all(
            mpi,
            "MPI_File_write_at_all",
            offset,
            own.size,
            rounds?,
            |file, at, bytes, status| {
                let (place, count) = own.part(bytes);
                // SAFETY: the bytes are those of the message, which is borrowed, or of a buffer.
                unsafe { mpi.MPI_File_write_at_all(file, at, place.cast(), count, byte(), status) }
            },
        )
    }

    /// Reads values from an offset in bytes of the view on. All ranks must make this call.
    fn read_view<M: Receivable + ?Sized>(
        &self,
        mpi: &Usable,
        offset: Result<u64, Error>,
        into: &mut M,
    ) -> Result<(), Error> {
        let room = offset.and_then(|offset| {
            self.reads()?;
            self.holds(mpi, offset, into.packed_size())?;
            Ok((offset, Room::of(into)?))
        });
        if Current::HIDES_FILE_ERRORS {
            let (offset, mut room) = room?;
            self.fill(mpi, [Run { at: offset, bytes: 0..room.size }], &mut room)?;
            return room.unpack(into);
        }
        let rounds = self.rounds(mpi, room.as_ref().map(|(_, room)| room.size));
        let (offset, mut room) = room?;
        self.transfer_all(
            mpi,
            "MPI_File_read_at_all",
            offset,
            room.size,
            rounds?,
            |file, at, bytes, status| {
                let (place, count) = room.part(bytes);
                // SAFETY: the room has the bytes.
                unsafe { mpi.MPI_File_read_at_all(file, at, place.cast(), count, byte(), status) }
            },
        )?;
        room.unpack(into)
    }

    /// Checks that the file has so many bytes of the view behind an offset. MPICH reads what is behind the
    /// end of a file without an error in views.
    fn holds(&self, mpi: &Usable, offset: u64, size: usize) -> Result<(), Error> {
        if size == 0 {
            return Ok(());
        }
        let (last, mut at) = (self.offset(offset.saturating_add(size as u64 - 1))?, 0);
        self.call("MPI_File_get_byte_offset", |file| {
            // SAFETY: the file is open; there is room for a number.
            unsafe { mpi.MPI_File_get_byte_offset(file, last, &raw mut at) }
        })?;
        let found = self.size()?;
        if u64::try_from(at).is_ok_and(|at| at < found) {
            return Ok(());
        }
        Err(refused(&self.path, format!("it has {found} bytes, but the values reach to byte {at}")))
    }

    /// Returns the number of calls for the bytes of the rank with the most.
    fn rounds(&self, mpi: &Usable, size: Result<usize, &Error>) -> Result<u64, Error> {
        let own = size.map(|size| [size.div_ceil(MOST) as u64, 0]);
        agreed(mpi, self.companion.communicator, &self.path, own).map(|[[_, rounds], _]| rounds)
    }

    /// Checks that a file can have so many bytes behind an offset.
    fn within(&self, offset: u64, size: usize) -> Result<(), Error> {
        self.offset(offset.saturating_add(size as u64)).map(|_| ())
    }

    /// Makes a call for each run, or several for a very long one, and checks that all bytes were transferred.
    fn transfer(
        &self,
        name: &'static str,
        runs: impl IntoIterator<Item = Run>,
        mut call: impl FnMut(MPI_File, MPI_Offset, Range<usize>, *mut MPI_Status) -> c_int,
    ) -> Result<(), Error> {
        let mpi = &ready()?;
        without_communicator(mpi, || {
            runs.into_iter().flat_map(Run::parts).try_for_each(|Run { at, bytes }| {
                self.within(at, bytes.len())?;
                let (at, size, mut status) = (self.offset(at)?, bytes.len(), no_status());
                of_file(mpi, &self.path, name, call(self.handle, at, bytes, &raw mut status))?;
                self.complete(size, size_of(mpi, &status))
            })
        })
    }

    /// Makes so many calls of all ranks for `size` bytes from an offset on, and checks that all bytes were
    /// transferred.
    fn transfer_all(
        &self,
        mpi: &Usable,
        name: &'static str,
        offset: u64,
        size: usize,
        rounds: u64,
        mut call: impl FnMut(MPI_File, MPI_Offset, Range<usize>, *mut MPI_Status) -> c_int,
    ) -> Result<(), Error> {
        let (mut done, mut failed) = (0, Ok(()));
        for round in 0..rounds {
            let start = size.min(usize::try_from(round).unwrap_or(usize::MAX).saturating_mul(MOST));
            let bytes = start..size.min(start.saturating_add(MOST));
            let (at, mut status) = (self.offset(offset.saturating_add(start as u64))?, no_status());
            let called = self.call(name, |file| call(file, at, bytes, &raw mut status));
            // All ranks make all calls.
            match called {
                Ok(()) => done += size_of(mpi, &status),
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        failed?;
        self.complete(size, done)
    }

    /// Makes a call on the file, and adds its path to an error.
    fn call(&self, name: &'static str, call: impl FnOnce(MPI_File) -> c_int) -> Result<(), Error> {
        let mpi = &ready()?;
        of_file(mpi, &self.path, name, quietly(mpi, || call(self.handle)))
    }

    /// Checks that all bytes were transferred.
    fn complete(&self, expected: usize, found: usize) -> Result<(), Error> {
        if found == expected {
            return Ok(());
        }
        Err(refused(
            &self.path,
            format!(
                "{found} of {expected} bytes were transferred: the file ends before, or the storage is full"
            ),
        ))
    }

    fn offset(&self, offset: u64) -> Result<MPI_Offset, Error> {
        /// A greater offset than those of any file. Libraries wait for ever at some greater ones.
        const BEYOND: u64 = 1 << 60;
        if offset >= BEYOND {
            return Err(refused(&self.path, format!("no file has an offset of {offset}")));
        }
        Ok(offset as MPI_Offset)
    }

    /// Returns a number of bytes that fits a single call.
    fn few(&self, name: &str, size: usize) -> Result<usize, Error> {
        if c_int::try_from(size).is_ok() {
            return Ok(size);
        }
        Err(refused(
            &self.path,
            format!("{name} transfers less than 2 GiB, but the values have {size} bytes"),
        ))
    }

    /// Closes the file, and returns the code.
    fn end(&mut self) -> Result<c_int, Error> {
        let mpi = &ready()?;
        // SAFETY: a constant of the library.
        let null = unsafe { ffi::RSMPI_FILE_NULL };
        let mut file = mem::replace(&mut self.handle, null);
        if file == null {
            return Ok(SUCCESS);
        }
        // Dropping requests waits for them.
        self.pending.get_mut().clear();
        // SAFETY: the file is open, and is closed once.
        Ok(quietly(mpi, || unsafe { mpi.MPI_File_close(&raw mut file) }))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// A view of a file: see [`File::view`]. Positions are elements of the view. All ranks must drop it: then the
/// file has the view of all bytes again.
pub struct FileView<'f, T> {
    file: &'f mut File,
    tiles: Tiles,
    elements: PhantomData<T>,
}

/// The arrays of a view, one behind the other.
struct Tiles {
    /// The offset of the first array in the file.
    offset: u64,
    /// The number of bytes of an array.
    tile: u64,
    /// The number of elements of an array that are in the view.
    elements: u64,
}

impl<T: MpiDatatype> FileView<'_, T> {
    /// Writes values at a position, together with the other ranks (`MPI_File_write_at_all`).
    ///
    /// # Errors
    /// [`Error::Signature`] if the values have other types than the elements; [`Error::File`] if the view has
    /// no elements but there are values, if the call fails, or writes fewer bytes.
    pub fn write_at_all<M: Sendable + ?Sized>(&mut self, position: u64, message: &M) -> Result<(), Error> {
        let mpi = &ready()?;
        let own = self.place(position, message);
        let own = own.and_then(|offset| Ok((offset, self.file.outgoing(message)?)));
        let written = self.file.write_view(mpi, own);
        self.file.all_together(mpi, written)
    }

    /// Writes values at a position (`MPI_File_write_at`).
    ///
    /// # Errors
    /// The errors of [`write_at_all`](Self::write_at_all).
    pub fn write_at<M: Sendable + ?Sized>(&mut self, position: u64, message: &M) -> Result<(), Error> {
        let mpi = &ready()?;
        let offset = self.place(position, message)?;
        self.file.write(mpi, offset, &self.file.outgoing(message)?)
    }

    /// Reads values at a position, together with the other ranks (`MPI_File_read_at_all`).
    ///
    /// # Errors
    /// The errors of [`write_at_all`](Self::write_at_all); [`Error::File`] if the file ends before;
    /// [`Error::InvalidValue`], which leaves all values unchanged. After another error, some values may have
    /// been read.
    pub fn read_at_all<M: Receivable + ?Sized>(&mut self, position: u64, into: &mut M) -> Result<(), Error> {
        let mpi = &ready()?;
        let read = self.file.read_view(mpi, self.place(position, into), into);
        self.file.all_together(mpi, read)
    }

    /// Reads values at a position (`MPI_File_read_at`).
    ///
    /// # Errors
    /// The errors of [`read_at_all`](Self::read_at_all).
    pub fn read_at<M: Receivable + ?Sized>(&mut self, position: u64, into: &mut M) -> Result<(), Error> {
        let mpi = &ready()?;
        let offset = self.place(position, into)?;
        self.file.holds(mpi, offset, into.packed_size())?;
        self.file.read(mpi, offset, into)
    }

    /// Returns the offset of a position in bytes of the view, and checks that values fit there.
    fn place<M: Read + ?Sized>(&self, position: u64, message: &M) -> Result<u64, Error> {
        message.plan().same_signature(&Plan::of::<T>(), message.packed_size())?;
        let (size, element) = (message.packed_size() as u64, T::FACTS.wire_size.max(1) as u64);
        let Tiles { offset, tile, elements } = self.tiles;
        if size > 0 && elements == 0 {
            return Err(refused(&self.file.path, "this rank sees nothing in the view"));
        }
        // The arrays up to the last element.
        let tiles = position.saturating_add(size / element).div_ceil(elements.max(1));
        let end = tiles.checked_mul(tile).and_then(|bytes| bytes.checked_add(offset));
        self.file.offset(end.unwrap_or(u64::MAX))?;
        self.file.offset(position.saturating_mul(element).saturating_add(size))?;
        Ok(position * element)
    }
}

impl<T> Drop for FileView<'_, T> {
    fn drop(&mut self) {
        let Ok(mpi) = &ready() else { return };
        let _ = self.file.end_view(mpi);
    }
}

/// An immediate transfer of a file, which keeps the request. Dropping it waits.
struct Transfer<'f> {
    file: &'f File,
    /// The number of the request.
    number: usize,
    size: usize,
}

impl<'f> Transfer<'f> {
    fn new(file: &'f File, request: Request, size: usize) -> Self {
        let mut pending = file.pending.borrow_mut();
        let number = pending.iter().position(Option::is_none).unwrap_or(pending.len());
        if number == pending.len() {
            pending.push(None);
        }
        pending[number] = Some(request);
        Self { file, number, size }
    }

    fn is_done(&mut self) -> bool {
        let pending = &mut self.file.pending.borrow_mut()[self.number];
        pending.as_mut().is_none_or(|request| !matches!(request.advance(false), Ok(None)))
    }

    /// Waits for the transfer, and returns the request with its buffer.
    fn finish(self, mpi: &Usable, name: &'static str) -> Result<Option<Request>, Error> {
        let Some(mut request) = self.file.pending.borrow_mut()[self.number].take() else { return Ok(None) };
        match request.advance(true)? {
            Some(Ok(status)) => self.file.complete(self.size, size_of(mpi, &status))?,
            Some(Err(code)) => of_file(mpi, &self.file.path, name, code)?,
            None => {}
        }
        Ok(Some(request))
    }
}

impl Drop for Transfer<'_> {
    fn drop(&mut self) {
        let request = self.file.pending.borrow_mut()[self.number].take();
        drop(request);
    }
}

/// A write under way. Dropping it waits.
#[must_use = "dropping it waits for the write"]
pub struct PendingWrite<'f> {
    transfer: Transfer<'f>,
}

impl PendingWrite<'_> {
    /// Returns `true` if the write is complete, or has failed.
    pub fn is_done(&mut self) -> bool {
        self.transfer.is_done()
    }

    /// Waits for the write.
    ///
    /// # Errors
    /// The errors of [`File::write_at`].
    pub fn finish(self) -> Result<(), Error> {
        let mpi = &ready()?;
        self.transfer.finish(mpi, "MPI_File_iwrite_at").map(|_| ())
    }
}

/// A read under way. Dropping it waits, and leaves the destination unchanged.
#[must_use = "the values have not been read before `finish`"]
pub struct PendingRead<'a, M: ?Sized> {
    transfer: Transfer<'a>,
    into: &'a mut M,
}

impl<M: Receivable + ?Sized> PendingRead<'_, M> {
    /// Waits for the read, and unpacks the values.
    ///
    /// # Errors
    /// The errors of [`File::read_at`].
    pub fn finish(self) -> Result<(), Error> {
        let mpi = &ready()?;
        let size = self.transfer.size;
        match self.transfer.finish(mpi, "MPI_File_iread_at")? {
            Some(request) => self.into.unpack(&request.buffer()[..size]),
            None => Ok(()),
        }
    }
}

/// The packed bytes of a message: its memory, if that consists of them, or a copy.
enum Bytes<'m> {
    Memory(*const u8, PhantomData<&'m ()>),
    Copy(PackBuffer),
}

/// A message to write.
struct Packed<'m> {
    bytes: Bytes<'m>,
    /// The number of bytes.
    size: usize,
}

impl<'m> Packed<'m> {
    fn of<M: Read + ?Sized>(message: &'m M) -> Result<Self, Error> {
        let size = message.packed_size();
        let bytes = match message.span() {
            Some(Span { place, .. }) => Bytes::Memory(place, PhantomData),
            None => Bytes::Copy(pack_with_room(message, size)?),
        };
        Ok(Self { bytes, size })
    }

    fn nothing() -> Self {
        Self { bytes: Bytes::Memory(NonNull::dangling().as_ptr(), PhantomData), size: 0 }
    }

    /// Returns the address and the number of some of the bytes.
    fn part(&self, bytes: Range<usize>) -> (*const u8, c_int) {
        let first = match &self.bytes {
            Bytes::Memory(place, _) => *place,
            Bytes::Copy(packed) => packed.as_ptr(),
        };
        (first.wrapping_add(bytes.start), bytes.len() as c_int)
    }
}

/// Hints to the library.
struct Info(MPI_Info);

impl Info {
    fn of(mpi: &Usable, path: &Path, hints: &[(String, String)]) -> Result<Self, Error> {
        // SAFETY: a constant of the library.
        let mut info = Self(unsafe { ffi::RSMPI_INFO_NULL });
        if hints.is_empty() {
            return Ok(info);
        }
        // SAFETY: there is room for a handle.
        of_file(
            mpi,
            path,
            "MPI_Info_create",
            quietly(mpi, || unsafe { mpi.MPI_Info_create(&raw mut info.0) }),
        )?;
        for (key, value) in hints {
            let text = |text: &str| {
                CString::new(text)
                    .map_err(|_| refused(path, format!("the hint {key:?} contains a zero byte")))
            };
            let (key, value) = (text(key)?, text(value)?);
            // SAFETY: the object is live, and both are strings of C.
            let code = quietly(mpi, || unsafe { mpi.MPI_Info_set(info.0, key.as_ptr(), value.as_ptr()) });
            of_file(mpi, path, "MPI_Info_set", code)?;
        }
        Ok(info)
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        let Ok(mpi) = &ready() else { return };
        // SAFETY: a constant of the library.
        if self.0 != unsafe { ffi::RSMPI_INFO_NULL } {
            // SAFETY: the object was made here, and is freed once.
            quietly(mpi, || unsafe { mpi.MPI_Info_free(&raw mut self.0) });
        }
    }
}

/// Returns `MPI_BYTE`'s equal: the datatype of one byte.
fn byte() -> MPI_Datatype {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_UINT8_T }
}

/// The memory of values that are read, if it consists of their packed bytes and may hold any; or a buffer.
enum Memory {
    Own(*mut u8),
    Buffer(PackBuffer),
}

/// Room for bytes that are read.
struct Room {
    memory: Memory,
    /// The number of bytes.
    size: usize,
}

impl Room {
    /// Returns room for the packed bytes of values. They must be borrowed mutably while it is used.
    fn of<M: Write + ?Sized>(into: &mut M) -> Result<Self, Error> {
        let size = into.packed_size();
        let own = if into.any_pattern() { into.span_mut() } else { None };
        let memory = match own {
            Some(Span { place, .. }) => Memory::Own(place),
            None => Memory::Buffer(PackBuffer::with_room(size)?),
        };
        Ok(Self { memory, size })
    }

    /// Returns the address and the number of some of the bytes.
    fn part(&mut self, bytes: Range<usize>) -> (*mut u8, c_int) {
        let first = match &mut self.memory {
            Memory::Own(place) => *place,
            Memory::Buffer(buffer) => buffer.as_mut_ptr(),
        };
        (first.wrapping_add(bytes.start), bytes.len() as c_int)
    }

    /// Unpacks the bytes, unless they are where they should be.
    fn unpack<M: Write + ?Sized>(self, into: &mut M) -> Result<(), Error> {
        match self.memory {
            Memory::Own(_) => Ok(()),
            Memory::Buffer(packed) => into.unpack(&packed[..self.size]),
        }
    }
}

/// Makes a call whose errors have no communicator, and returns its error.
fn quietly(mpi: &Usable, call: impl FnOnce() -> c_int) -> c_int {
    without_communicator(mpi, || true_code(call()))
}

/// Returns the error of a call on a file, with its path. MPICH passes codes of one rank to the others, where
/// `MPI_Error_string` does not know them. All ranks know the class.
fn of_file(mpi: &Usable, path: &Path, name: &'static str, code: c_int) -> Result<(), Error> {
    checked(mpi, name, class_of(mpi, true_code(code)))
        .map_err(|error| refused(path, Error::from(error).to_string()))
}

/// Returns the least and the greatest of all ranks, of each of two numbers. If a rank has an error instead,
/// all ranks return one.
fn agreed(
    mpi: &Usable,
    communicator: MPI_Comm,
    path: &Path,
    own: Result<[u64; 2], &Error>,
) -> Result<[[u64; 2]; 2], Error> {
    let failed = u64::from(own.is_err());
    let [first, second] = own.unwrap_or_default();
    let [first, second, [_, failed]] = least_and_greatest(mpi, communicator, [first, second, failed])?;
    if failed > 0 {
        Err(refused(path, "another rank has an error in this call"))
    } else {
        Ok([first, second])
    }
}

fn refused(path: &Path, reason: impl Into<String>) -> Error {
    Error::File { path: path.display().to_string(), reason: reason.into() }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for FileView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileView").field("file", &self.file).finish_non_exhaustive()
    }
}

impl fmt::Debug for PendingWrite<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingWrite").field("size", &self.transfer.size).finish_non_exhaustive()
    }
}

impl<M: ?Sized> fmt::Debug for PendingRead<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingRead").field("size", &self.transfer.size).finish_non_exhaustive()
    }
}
