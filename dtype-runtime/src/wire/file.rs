//! Files that all ranks read and write together (MPI 4.1 chapter 14).
//!
//! A file holds packed bytes: the values one after another, without padding, in the machine's byte order. So
//! a file is as long as its values, and another program reads it without knowing MPI.

use std::{
    ffi::CString,
    fmt,
    marker::PhantomData,
    mem,
    ops::Range,
    os::raw::{c_int, c_void},
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
    collective::greatest,
    file_view::Selection,
    members::{Members, intracommunicator, members},
    request::{Request, no_status, size_of},
    sendable::{Span, pack_with_room, sealed::Read},
};
use crate::{
    Error, Layout, MpiDatatype, View, ViewMut,
    layout::{
        ArrayLike, ArrayLikeMut, Dimensions, Distributed, LayoutDatatype, WholeElements, distributed::Local,
        source::Place,
    },
    mpi::{SUCCESS, checked, class_of, ready, true_code, without_communicator},
    pack::PackBuffer,
};

/// The largest number of bytes in one call: a library counts them by `int`.
const MOST: usize = 1 << 30;

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
    /// `true` if the file has another view than its bytes.
    has_view: bool,
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
    /// [`Error::File`] if the file cannot be opened, or if the path or a hint contains a zero byte.
    pub fn open<C: Communicator + ?Sized>(
        &self,
        communicator: &C,
        path: impl AsRef<Path>,
    ) -> Result<File, Error> {
        let Members { communicator: raw, .. } = members(communicator)?;
        intracommunicator(raw)?;
        let (companion, _) = companion(raw, 1)?;
        let path = path.as_ref();
        let mode = match (self.read, self.write) {
            (true, true) => ffi::MPI_MODE_RDWR,
            (false, true) => ffi::MPI_MODE_WRONLY,
            _ => ffi::MPI_MODE_RDONLY,
        };
        let mode = mode
            | match self.create {
                Creation::Never => 0,
                Creation::IfMissing => ffi::MPI_MODE_CREATE,
                Creation::Always => ffi::MPI_MODE_CREATE | ffi::MPI_MODE_EXCL,
            };
        let name = path.to_str().and_then(|path| CString::new(path).ok());
        let name = name.ok_or_else(|| refused(path, "its path is not text, or contains a zero byte"));
        let name = name.and_then(|name| Ok((name, Info::of(path, &self.hints)?)));
        let all_are_right = agreed(companion.communicator, path, name.as_ref().map(|_| 0));
        let ((name, info), _) = (name?, all_are_right?);
        // SAFETY: a constant of the library.
        let mut file = unsafe { ffi::RSMPI_FILE_NULL };
        let code = quietly(|| {
            // SAFETY: the communicator is live, and the name a string of C; there is room for a handle.
            unsafe {
                ffi::MPI_File_open(
                    companion.communicator,
                    name.as_ptr(),
                    mode as c_int,
                    info.0,
                    &raw mut file,
                )
            }
        });
        of_file(path, "MPI_File_open", code)?;
        let (path, thread) = (path.to_owned(), PhantomData);
        let file = File { handle: file, path, companion, has_view: false, thread };
        // SAFETY: the file is open.
        file.call("MPI_File_set_errhandler", |file| unsafe {
            ffi::MPI_File_set_errhandler(file, ffi::RSMPI_ERRORS_RETURN)
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
        let mut size: MPI_Offset = 0;
        // SAFETY: the file is open; there is room for a number.
        self.call("MPI_File_get_size", |file| unsafe { ffi::MPI_File_get_size(file, &raw mut size) })?;
        Ok(u64::try_from(size).unwrap_or(0))
    }

    /// Sets the size of the file in bytes (`MPI_File_set_size`). All ranks must make this call.
    ///
    /// # Errors
    /// [`Error::File`] if the call fails.
    pub fn set_size(&self, size: u64) -> Result<(), Error> {
        let size = self.offset(size)?;
        // SAFETY: the file is open.
        self.call("MPI_File_set_size", |file| unsafe { ffi::MPI_File_set_size(file, size) })
    }

    /// Writes everything to the storage, and makes it visible to other ranks (`MPI_File_sync`). All ranks
    /// must make this call.
    ///
    /// # Errors
    /// [`Error::File`] if the call fails.
    pub fn sync(&self) -> Result<(), Error> {
        // SAFETY: the file is open.
        self.call("MPI_File_sync", |file| unsafe { ffi::MPI_File_sync(file) })
    }

    /// Closes the file (`MPI_File_close`). All ranks must make this call, or drop the file.
    ///
    /// # Errors
    /// [`Error::File`] if the call fails.
    pub fn close(mut self) -> Result<(), Error> {
        let code = self.end()?;
        of_file(&self.path, "MPI_File_close", code)
    }

    /// Writes packed values at an offset (`MPI_File_write_at`).
    ///
    /// # Errors
    /// [`Error::File`] if the call fails, or writes fewer bytes.
    pub fn write_at<M: Sendable + ?Sized>(&mut self, offset: u64, message: &M) -> Result<(), Error> {
        self.has_no_view()?;
        self.write(Ranks::This, offset, Packed::of(message))
    }

    /// Writes packed values at an offset of each rank, together with the other ranks
    /// (`MPI_File_write_at_all`).
    ///
    /// # Errors
    /// The errors of [`write_at`](Self::write_at); [`Error::File`] if another rank has an error.
    pub fn write_at_all<M: Sendable + ?Sized>(&mut self, offset: u64, message: &M) -> Result<(), Error> {
        self.has_no_view()?;
        self.write(Ranks::All, offset, Packed::of(message))
    }

    /// Reads values at an offset (`MPI_File_read_at`).
    ///
    /// # Errors
    /// [`Error::File`] if the call fails, or if the file ends before; [`Error::InvalidValue`]. After an
    /// error, nothing has been written to the values.
    pub fn read_at<M: Receivable + ?Sized>(&mut self, offset: u64, into: &mut M) -> Result<(), Error> {
        self.has_no_view()?;
        self.read(Ranks::This, offset, Ok(into))
    }

    /// Reads values at an offset of each rank, together with the other ranks (`MPI_File_read_at_all`).
    ///
    /// # Errors
    /// The errors of [`read_at`](Self::read_at); [`Error::File`] if another rank has an error.
    pub fn read_at_all<M: Receivable + ?Sized>(&mut self, offset: u64, into: &mut M) -> Result<(), Error> {
        self.has_no_view()?;
        self.read(Ranks::All, offset, Ok(into))
    }

    /// Writes packed values behind those of all lower ranks, at the end of what was written so before
    /// (`MPI_File_write_ordered`). All ranks must make this call, each with less than 2 GiB.
    ///
    /// # Errors
    /// The errors of [`write_at`](Self::write_at).
    pub fn write_ordered<M: Sendable + ?Sized>(&mut self, message: &M) -> Result<(), Error> {
        self.has_no_view()?;
        let own = Packed::of(message)?;
        let (place, count) = own.part(0..self.few("MPI_File_write_ordered", own.size)?);
        let mut status = no_status();
        self.call("MPI_File_write_ordered", |file| {
            // SAFETY: the bytes are those of the message, which is borrowed, or of a buffer.
            unsafe { ffi::MPI_File_write_ordered(file, place.cast(), count, byte(), &raw mut status) }
        })?;
        self.complete(own.size, size_of(&status))
    }

    /// Reads values behind those of all lower ranks, from the end of what was read or written so before
    /// (`MPI_File_read_ordered`). All ranks must make this call, each with less than 2 GiB.
    ///
    /// # Errors
    /// The errors of [`read_at`](Self::read_at).
    pub fn read_ordered<M: Receivable + ?Sized>(&mut self, into: &mut M) -> Result<(), Error> {
        self.has_no_view()?;
        let size = self.few("MPI_File_read_ordered", into.packed_size())?;
        let mut packed = PackBuffer::with_room(size)?;
        let (place, mut status) = (packed.as_mut_ptr(), no_status());
        self.call("MPI_File_read_ordered", |file| {
            // SAFETY: the buffer has room for the bytes.
            unsafe { ffi::MPI_File_read_ordered(file, place.cast(), size as c_int, byte(), &raw mut status) }
        })?;
        self.complete(size, size_of(&status))?;
        into.unpack(&packed[..size])
    }

    /// Moves the place of [`write_ordered`](Self::write_ordered) and [`read_ordered`](Self::read_ordered) to
    /// an offset (`MPI_File_seek_shared`). All ranks must make this call.
    ///
    /// # Errors
    /// [`Error::File`] if the call fails.
    pub fn seek_ordered(&mut self, offset: u64) -> Result<(), Error> {
        self.has_no_view()?;
        let offset = self.offset(offset)?;
        self.call("MPI_File_seek_shared", |file| {
            // SAFETY: the file is open.
            unsafe { ffi::MPI_File_seek_shared(file, offset, ffi::MPI_SEEK_SET as c_int) }
        })
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
        self.has_no_view()?;
        let (size, offset) = (self.few("MPI_File_iwrite_at", message.packed_size())?, self.offset(offset)?);
        let request = Request::of_file(pack_with_room(message, size)?, |place, request| {
            let (place, count) = (place.cast_const().cast(), size as c_int);
            self.call("MPI_File_iwrite_at", |file| {
                // SAFETY: the bytes are in a buffer that the request keeps.
                unsafe { ffi::MPI_File_iwrite_at(file, offset, place, count, byte(), request) }
            })
        })?;
        Ok(PendingWrite { file: self, request, size })
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
        self.has_no_view()?;
        let (size, offset) = (self.few("MPI_File_iread_at", into.packed_size())?, self.offset(offset)?);
        let request = Request::of_file(PackBuffer::with_room(size)?, |place, request| {
            let (place, count) = (place.cast(), size as c_int);
            self.call("MPI_File_iread_at", |file| {
                // SAFETY: the buffer has room for the bytes, and the request keeps it.
                unsafe { ffi::MPI_File_iread_at(file, offset, place, count, byte(), request) }
            })
        })?;
        Ok(PendingRead { file: self, request, size, into })
    }

    /// Writes this rank's parts of a distributed array (`MPI_File_set_view`, `MPI_File_write_at_all`). The
    /// file gets the global array from the offset on, in row-major order, whatever the order of the local
    /// arrays is. All ranks must make this call.
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
        let locals = Local::<T, D>::all(own);
        let has_part = locals.as_ref().map_or(true, |locals| !locals.is_empty());
        self.write_parts(offset, locals, &[array][usize::from(!has_part)..])
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
        self.write_parts(offset, Local::all(own), arrays)
    }

    fn write_parts<T, const D: usize, S>(
        &mut self,
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
        self.each_part(offset, placed, |file, part| {
            let view = part.map(|(local, place)| View::new(*place, &local.here));
            file.write(Ranks::All, 0, view.as_ref().map_or(Ok(Packed::nothing()), Packed::of))
        })
    }

    /// Reads this rank's parts of a distributed array (`MPI_File_set_view`, `MPI_File_read_at_all`), from a
    /// file with the global array in row-major order. All ranks must make this call. Their number and
    /// distribution may differ from those that wrote the file.
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
        let locals = Local::<T, D>::all(own);
        let has_part = locals.as_ref().map_or(true, |locals| !locals.is_empty());
        self.read_parts(offset, locals, &mut [array][usize::from(!has_part)..])
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
        self.read_parts(offset, Local::all(own), arrays)
    }

    fn read_parts<T, const D: usize, R>(
        &mut self,
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
        self.each_part(offset, placed, |file, part| match part {
            Some((local, place)) => file.read(Ranks::All, 0, Ok(&mut ViewMut::new(*place, &local.here))),
            None => file.read::<[u8]>(Ranks::All, 0, Ok(&mut [])),
        })
    }

    /// Calls `transfer` with each part of this rank, in its view of the file. Ranks with fewer parts make the
    /// calls without one. If a rank has an error in its parts, all ranks return one.
    fn each_part<T: MpiDatatype, const D: usize>(
        &mut self,
        offset: u64,
        parts: Result<Vec<(Local<T, D>, Place)>, Error>,
        mut transfer: impl FnMut(&mut Self, Option<&(Local<T, D>, Place)>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let offset = self.offset(offset);
        let views = parts.and_then(|parts| {
            let views = parts.iter().map(|(local, _)| Selection::of(&local.there)?.datatype());
            Ok((views.collect::<Result<Vec<_>, _>>()?, parts, Selection::nothing::<T>().datatype()?, offset?))
        });
        let own = views.as_ref().map(|(views, ..)| views.len() as u64);
        let rounds = agreed(self.companion.communicator, &self.path, own);
        let (views, parts, nothing, offset) = views?;
        let mut transferred = Ok(());
        // All ranks make all rounds.
        for round in 0..rounds? as usize {
            self.set_view(offset, views.get(round).unwrap_or(&nothing))?;
            transferred = transferred.and(transfer(self, parts.get(round)));
        }
        self.end_view()?;
        transferred
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
    /// [`Error::Ascending`] if the layout does not ascend; [`Error::File`] if the call fails.
    pub fn view<L>(&mut self, offset: u64, layout: &L) -> Result<FileView<'_, L::Element>, Error>
    where
        L: Layout<Selects: WholeElements>,
    {
        let selection = Selection::of(layout).and_then(|selection| Ok((selection, self.offset(offset)?)));
        // All ranks make the call: one with an error sees nothing.
        let (selection, offset, failed) = match selection {
            Ok((selection, offset)) => (selection, offset, None),
            Err(error) => (Selection::nothing::<L::Element>(), 0, Some(error)),
        };
        let is_empty = selection.is_empty();
        self.set_view(offset, &selection.datatype()?)?;
        let view = FileView { file: self, is_empty, elements: PhantomData };
        failed.map_or(Ok(view), Err)
    }

    /// Sets the view. All ranks must make this call.
    fn set_view(&mut self, offset: MPI_Offset, part: &LayoutDatatype) -> Result<(), Error> {
        self.has_view = true;
        self.call("MPI_File_set_view", |file| {
            let (part, native) = (part.as_raw(), c"native".as_ptr());
            // SAFETY: the file is open, and the datatype committed.
            unsafe { ffi::MPI_File_set_view(file, offset, byte(), part, native, ffi::RSMPI_INFO_NULL) }
        })
    }

    /// Sets the view of all bytes. All ranks must make this call.
    fn end_view(&mut self) -> Result<(), Error> {
        self.call("MPI_File_set_view", |file| {
            let native = c"native".as_ptr();
            // SAFETY: the file is open.
            unsafe { ffi::MPI_File_set_view(file, 0, byte(), byte(), native, ffi::RSMPI_INFO_NULL) }
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

    /// Writes at an offset in bytes of the view.
    fn write(&self, ranks: Ranks, offset: u64, own: Result<Packed<'_>, Error>) -> Result<(), Error> {
        let (name, call): (_, WriteAt) = match ranks {
            Ranks::This => ("MPI_File_write_at", ffi::MPI_File_write_at),
            Ranks::All => ("MPI_File_write_at_all", ffi::MPI_File_write_at_all),
        };
        let own = own.and_then(|own| self.within(offset, own.size).map(|()| own));
        let rounds = self.parts(ranks, own.as_ref().map(|own| own.size));
        let own = own?;
        self.rounds(name, offset, own.size, rounds?, |file, at, bytes, status| {
            let (place, count) = own.part(bytes);
            // SAFETY: the bytes are those of the message, which is borrowed, or of a buffer.
            unsafe { call(file, at, place.cast(), count, byte(), status) }
        })
    }

    /// Reads at an offset in bytes of the view.
    fn read<M: Receivable + ?Sized>(
        &self,
        ranks: Ranks,
        offset: u64,
        into: Result<&mut M, Error>,
    ) -> Result<(), Error> {
        let (name, call): (_, ReadAt) = match ranks {
            Ranks::This => ("MPI_File_read_at", ffi::MPI_File_read_at),
            Ranks::All => ("MPI_File_read_at_all", ffi::MPI_File_read_at_all),
        };
        let room = into.and_then(|into| {
            let size = into.packed_size();
            self.within(offset, size)?;
            Ok((PackBuffer::with_room(size)?, into, size))
        });
        let rounds = self.parts(ranks, room.as_ref().map(|(.., size)| *size));
        let (mut packed, into, size) = room?;
        let place = packed.as_mut_ptr();
        self.rounds(name, offset, size, rounds?, |file, at, bytes, status| {
            let (place, count) = (place.wrapping_add(bytes.start), bytes.len() as c_int);
            // SAFETY: the buffer has room for the bytes.
            unsafe { call(file, at, place.cast(), count, byte(), status) }
        })?;
        into.unpack(&packed[..size])
    }

    /// Returns the number of calls for so many bytes: in a call of all ranks, that of the rank with the most.
    fn parts(&self, ranks: Ranks, size: Result<usize, &Error>) -> Result<u64, Error> {
        let own = size.map(|size| size.div_ceil(MOST) as u64);
        match ranks {
            Ranks::This => Ok(own.unwrap_or(0)),
            Ranks::All => agreed(self.companion.communicator, &self.path, own),
        }
    }

    /// Checks that a file can have so many bytes behind an offset.
    fn within(&self, offset: u64, size: usize) -> Result<(), Error> {
        self.offset(offset.saturating_add(size as u64)).map(|_| ())
    }

    /// Makes a call for each part of `size` bytes from an offset on, and checks that all bytes were
    /// transferred.
    fn rounds(
        &self,
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
                Ok(()) => done += size_of(&status),
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        failed?;
        self.complete(size, done)
    }

    /// Makes a call on the file, and adds its path to an error.
    fn call(&self, name: &'static str, call: impl FnOnce(MPI_File) -> c_int) -> Result<(), Error> {
        ready()?;
        of_file(&self.path, name, quietly(|| call(self.handle)))
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
        MPI_Offset::try_from(offset)
            .map_err(|_| refused(&self.path, format!("no file has an offset of {offset}")))
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
        ready()?;
        // SAFETY: a constant of the library.
        let null = unsafe { ffi::RSMPI_FILE_NULL };
        let mut file = mem::replace(&mut self.handle, null);
        if file == null {
            return Ok(SUCCESS);
        }
        // SAFETY: the file is open, and is closed once.
        Ok(quietly(|| unsafe { ffi::MPI_File_close(&raw mut file) }))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The ranks that make a call.
#[derive(Clone, Copy)]
enum Ranks {
    This,
    All,
}

/// The signature of `MPI_File_write_at` and `MPI_File_write_at_all`.
type WriteAt =
    unsafe extern "C" fn(MPI_File, MPI_Offset, *const c_void, c_int, MPI_Datatype, *mut MPI_Status) -> c_int;

/// The signature of `MPI_File_read_at` and `MPI_File_read_at_all`.
type ReadAt =
    unsafe extern "C" fn(MPI_File, MPI_Offset, *mut c_void, c_int, MPI_Datatype, *mut MPI_Status) -> c_int;

/// A view of a file: see [`File::view`]. Positions are elements of the view. All ranks must drop it: then the
/// file has the view of all bytes again.
pub struct FileView<'f, T> {
    file: &'f mut File,
    /// `true` if the view has no elements.
    is_empty: bool,
    elements: PhantomData<T>,
}

impl<T: MpiDatatype> FileView<'_, T> {
    /// Writes values at a position, together with the other ranks (`MPI_File_write_at_all`).
    ///
    /// # Errors
    /// [`Error::Signature`] if the values have other types than the elements; [`Error::File`] if the view has
    /// no elements but there are values, if the call fails, or writes fewer bytes.
    pub fn write_at_all<M: Sendable + ?Sized>(&mut self, position: u64, message: &M) -> Result<(), Error> {
        let own = self.checked(message).and_then(|()| Packed::of(message));
        self.file.write(Ranks::All, Self::bytes_before(position), own)
    }

    /// Writes values at a position (`MPI_File_write_at`).
    ///
    /// # Errors
    /// The errors of [`write_at_all`](Self::write_at_all).
    pub fn write_at<M: Sendable + ?Sized>(&mut self, position: u64, message: &M) -> Result<(), Error> {
        let own = self.checked(message).and_then(|()| Packed::of(message));
        self.file.write(Ranks::This, Self::bytes_before(position), own)
    }

    /// Reads values at a position, together with the other ranks (`MPI_File_read_at_all`).
    ///
    /// # Errors
    /// The errors of [`write_at_all`](Self::write_at_all); [`Error::File`] if the file ends before;
    /// [`Error::InvalidValue`]. After an error, nothing has been written to the values.
    pub fn read_at_all<M: Receivable + ?Sized>(&mut self, position: u64, into: &mut M) -> Result<(), Error> {
        let into = self.checked(into).map(|()| into);
        self.file.read(Ranks::All, Self::bytes_before(position), into)
    }

    /// Reads values at a position (`MPI_File_read_at`).
    ///
    /// # Errors
    /// The errors of [`read_at_all`](Self::read_at_all).
    pub fn read_at<M: Receivable + ?Sized>(&mut self, position: u64, into: &mut M) -> Result<(), Error> {
        let into = self.checked(into).map(|()| into);
        self.file.read(Ranks::This, Self::bytes_before(position), into)
    }

    /// Returns the offset of a position, in bytes of the view.
    fn bytes_before(position: u64) -> u64 {
        position.saturating_mul(T::FACTS.wire_size as u64)
    }

    /// Checks that values have the types of the elements.
    fn checked<M: Sendable + ?Sized>(&self, message: &M) -> Result<(), Error> {
        let size = message.packed_size();
        if self.is_empty && size > 0 {
            return Err(refused(&self.file.path, "the view of this rank selects no elements"));
        }
        let element: &[T] = &[];
        message.plan().same_signature(&element.plan(), size)
    }
}

impl<T> Drop for FileView<'_, T> {
    fn drop(&mut self) {
        let _ = self.file.end_view();
    }
}

/// A write under way. Dropping it waits.
#[must_use = "dropping it waits for the write"]
pub struct PendingWrite<'f> {
    file: &'f File,
    request: Request,
    size: usize,
}

impl PendingWrite<'_> {
    /// Returns `true` if the write is complete (`MPI_Test`).
    pub fn is_done(&mut self) -> bool {
        self.request.is_over()
    }

    /// Waits for the write.
    ///
    /// # Errors
    /// The errors of [`File::write_at`].
    pub fn finish(mut self) -> Result<(), Error> {
        finish(self.file, &mut self.request, "MPI_File_iwrite_at", self.size)
    }
}

/// A read under way. Dropping it waits, and leaves the destination unchanged.
#[must_use = "the values have not been read before `finish`"]
pub struct PendingRead<'a, M: ?Sized> {
    file: &'a File,
    request: Request,
    size: usize,
    into: &'a mut M,
}

impl<M: Receivable + ?Sized> PendingRead<'_, M> {
    /// Waits for the read, and unpacks the values.
    ///
    /// # Errors
    /// The errors of [`File::read_at`].
    pub fn finish(mut self) -> Result<(), Error> {
        finish(self.file, &mut self.request, "MPI_File_iread_at", self.size)?;
        self.into.unpack(&self.request.buffer()[..self.size])
    }
}

fn finish(file: &File, request: &mut Request, name: &'static str, size: usize) -> Result<(), Error> {
    match request.advance(true)? {
        Some(Ok(status)) => file.complete(size, size_of(&status)),
        Some(Err(code)) => of_file(&file.path, name, code),
        None => Ok(()),
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
    fn of(path: &Path, hints: &[(String, String)]) -> Result<Self, Error> {
        // SAFETY: a constant of the library.
        let mut info = Self(unsafe { ffi::RSMPI_INFO_NULL });
        if hints.is_empty() {
            return Ok(info);
        }
        // SAFETY: there is room for a handle.
        of_file(path, "MPI_Info_create", quietly(|| unsafe { ffi::MPI_Info_create(&raw mut info.0) }))?;
        for (key, value) in hints {
            let text = |text: &str| {
                CString::new(text)
                    .map_err(|_| refused(path, format!("the hint {key:?} contains a zero byte")))
            };
            let (key, value) = (text(key)?, text(value)?);
            // SAFETY: the object is live, and both are strings of C.
            let code = quietly(|| unsafe { ffi::MPI_Info_set(info.0, key.as_ptr(), value.as_ptr()) });
            of_file(path, "MPI_Info_set", code)?;
        }
        Ok(info)
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: a constant of the library.
        if self.0 != unsafe { ffi::RSMPI_INFO_NULL } {
            // SAFETY: the object was made here, and is freed once.
            quietly(|| unsafe { ffi::MPI_Info_free(&raw mut self.0) });
        }
    }
}

/// Returns `MPI_BYTE`'s equal: the datatype of one byte.
fn byte() -> MPI_Datatype {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_UINT8_T }
}

/// Makes a call whose errors have no communicator, and returns its error.
fn quietly(call: impl FnOnce() -> c_int) -> c_int {
    without_communicator(|| true_code(call()))
}

/// Returns the error of a call on a file, with its path. MPICH passes codes of one rank to the others, where
/// `MPI_Error_string` does not know them. All ranks know the class.
fn of_file(path: &Path, name: &'static str, code: c_int) -> Result<(), Error> {
    checked(name, class_of(true_code(code))).map_err(|error| refused(path, Error::from(error).to_string()))
}

/// Returns the greatest of the numbers of all ranks. If a rank has an error instead, all ranks return one.
fn agreed(communicator: MPI_Comm, path: &Path, own: Result<u64, &Error>) -> Result<u64, Error> {
    /// The number of a rank with an error. MPICH 4.0 compares larger numbers as if they were negative.
    const FAILED: u64 = i64::MAX as u64;
    match greatest(communicator, own.unwrap_or(FAILED))? {
        FAILED => Err(refused(path, "another rank has an error, so no rank transfers anything")),
        greatest => Ok(greatest),
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
        f.debug_struct("PendingWrite").field("size", &self.size).finish_non_exhaustive()
    }
}

impl<M: ?Sized> fmt::Debug for PendingRead<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingRead").field("size", &self.size).finish_non_exhaustive()
    }
}
