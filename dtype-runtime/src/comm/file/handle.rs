//! The open file: MPI's handle, the view that the file has, and the agreement of all ranks on an error. Other
//! files of this folder get the handle only from a [`Seen`], so that no transfer forgets to check the view.

use std::{
    cell::{Cell, RefCell},
    marker::PhantomData,
    mem,
    os::raw::c_int,
    path::{Path, PathBuf},
    rc::{Rc, Weak},
    sync::Arc,
};

use ::mpi::{
    ffi::{self, MPI_Comm, MPI_Datatype, MPI_File, MPI_Offset},
    raw::AsRaw,
};

use super::{
    errors::{byte, of_file, quietly, refused},
    storage::{Access, largest_size},
};
use crate::mpi::{Usable, ready};
use crate::{
    Error, Result,
    layout::LayoutDatatype,
    mpi::SUCCESS,
    transfer::{agreement::least_and_greatest, attach::Companion, request::Request},
};

/// A file that is open on all ranks of a communicator.
///
/// These calls are collective, so all ranks must make them: those whose names end in `_all` or `_ordered`,
/// those of distributed arrays (`write`, `read` and those of `at(offset)`), `append`, `view`,
/// `set_size`, `sync` and `close`. An error of one rank is then an error of all ranks, and none waits. The
/// others are calls of one rank.
///
/// Offsets are bytes from the start of the file. Bytes that no rank has written have any value. A call that
/// reaches beyond the largest size that the file system gives to a file (16 TiB on ext4, for example) is an
/// error, without a call of MPI.
///
/// ```no_run
/// use dtype_runtime::{Result, run};
///
/// fn main() {
///     run(|world| -> Result {
///         // Each rank has some rows of a matrix. The file has the whole matrix, in row-major order.
///         let rows = world.blocks([100, 80], [world.size(), 1]);
///         let own = rows.vec(0.5f64);
///         let mut file = world.create("matrix.bin")?;
///         file.write(&rows, &own)?;
///         assert_eq!(file.size()?, 100 * 80 * 8);
///         file.close()
///     });
/// }
/// ```
pub struct File {
    handle: MPI_File,
    pub(super) path: PathBuf,
    home: Home,
    access: Access,
    /// The largest size in bytes that the file system gives to a file.
    largest: u64,
    /// `true` if the file has another view than its bytes.
    has_view: bool,
    /// The offset of the next call in the order of the ranks.
    pub(super) ordered: u64,
    /// The immediate transfers. The file keeps them, so that they end before it even if the program forgets
    /// them.
    pub(super) pending: Rc<Pending>,
    thread: PhantomData<*mut ()>,
}

/// The ranks of a file.
pub(super) struct Home {
    pub companion: Arc<Companion>,
    /// The first of [`TAGS`] tags of the companion, which no other call uses.
    pub tag: c_int,
    /// The number of ranks.
    pub ranks: usize,
    /// `true` if messages of these tags may be left over, after an error of MPI.
    pub is_broken: Cell<bool>,
}

impl Home {
    pub fn new(companion: Arc<Companion>, tag: c_int, ranks: usize) -> Self {
        Self { companion, tag, ranks, is_broken: Cell::new(false) }
    }
}

/// The number of tags of a file.
pub(super) const TAGS: u32 = 2;

/// The requests of the immediate transfers of a file.
pub(super) type Pending = RefCell<Vec<Option<Request>>>;

thread_local! {
    /// The immediate transfers of all files that this thread has opened.
    static ALL_PENDING: RefCell<Vec<Weak<Pending>>> = const { RefCell::new(Vec::new()) };
}

/// Waits for the immediate transfers of all files of this thread; their guards keep the outcomes. MPI demands
/// it for the file of a call of all ranks (MPI 4.1 section 14.4.5, for example). In Open MPI, the call fails
/// if a transfer of any file is under way on this rank, and the other ranks wait for ever.
fn settle(mpi: &Usable) {
    ALL_PENDING.with_borrow(|all| {
        for pending in all.iter().filter_map(Weak::upgrade) {
            for request in pending.borrow_mut().iter_mut().flatten() {
                let _ = request.advance(mpi, true);
            }
        }
    });
}

impl File {
    /// Returns a file that all ranks of the companion have opened.
    pub(super) fn new(handle: MPI_File, path: &Path, home: Home, access: Access) -> Self {
        let pending = Rc::new(Pending::default());
        ALL_PENDING.with_borrow_mut(|all| {
            all.retain(|pending| pending.strong_count() > 0);
            all.push(Rc::downgrade(&pending));
        });
        Self {
            handle,
            path: path.to_owned(),
            home,
            access,
            largest: largest_size(path),
            has_view: false,
            ordered: 0,
            pending,
            thread: PhantomData,
        }
    }

    /// Makes errors of later calls values (`MPI_ERRORS_RETURN`).
    pub(super) fn return_errors(&self, mpi: &Usable) -> Result {
        // SAFETY: the file is open.
        self.call(mpi, "MPI_File_set_errhandler", |file| unsafe {
            mpi.MPI_File_set_errhandler(file, ffi::RSMPI_ERRORS_RETURN)
        })
    }

    /// Returns the size of the file in bytes (`MPI_File_get_size`).
    ///
    /// # Errors
    /// `File` if the call fails.
    pub fn size(&self) -> Result<u64> {
        let mpi = &ready()?;
        let mut size: MPI_Offset = 0;
        // SAFETY: the file is open; there is room for a number.
        self.call(mpi, "MPI_File_get_size", |file| unsafe { mpi.MPI_File_get_size(file, &raw mut size) })?;
        Ok(u64::try_from(size).unwrap_or(0))
    }

    /// Sets the size of the file in bytes (`MPI_File_set_size`), after immediate transfers. All ranks must
    /// make this call, with the same size.
    ///
    /// # Errors
    /// `File`, on all ranks, if the ranks have different sizes, if the file system has no files of
    /// this size, or if the call fails.
    pub fn set_size(&self, size: u64) -> Result {
        let mpi = &ready()?;
        let size = self.same(mpi, self.place(size, 0), size, "size")?;
        // SAFETY: the file is open.
        let set =
            self.call_all(mpi, "MPI_File_set_size", |file| unsafe { mpi.MPI_File_set_size(file, size) });
        self.agreed(mpi, set)
    }

    /// Writes everything to the storage, also immediate transfers, and makes it visible to other ranks
    /// (`MPI_File_sync`). All ranks must make this call.
    ///
    /// # Errors
    /// `File`, on all ranks, if the call fails.
    pub fn sync(&self) -> Result {
        let mpi = &ready()?;
        // SAFETY: the file is open.
        let written = self.call_all(mpi, "MPI_File_sync", |file| unsafe { mpi.MPI_File_sync(file) });
        self.agreed(mpi, written)
    }

    /// Closes the file (`MPI_File_close`). All ranks must make this call, or drop the file.
    ///
    /// # Errors
    /// `File`, on all ranks, if the call fails.
    pub fn close(mut self) -> Result {
        let mpi = &ready()?;
        let code = self.end(mpi);
        let closed = of_file(mpi, &self.path, "MPI_File_close", code);
        self.agreed(mpi, closed)
    }

    /// Makes a call on the file that transfers no bytes.
    fn call(&self, mpi: &Usable, name: &'static str, call: impl FnOnce(MPI_File) -> c_int) -> Result {
        of_file(mpi, &self.path, name, quietly(mpi, || call(self.handle)))
    }

    /// Makes a call of all ranks that transfers no bytes.
    fn call_all(&self, mpi: &Usable, name: &'static str, call: impl FnOnce(MPI_File) -> c_int) -> Result {
        settle(mpi);
        self.call(mpi, name, call)
    }

    /// Closes the file, and returns the code.
    fn end(&mut self, mpi: &Usable) -> c_int {
        // SAFETY: a constant of the library.
        let null = unsafe { ffi::RSMPI_FILE_NULL };
        let mut file = mem::replace(&mut self.handle, null);
        if file == null {
            return SUCCESS;
        }
        // Dropping requests waits for them.
        self.pending.borrow_mut().clear();
        // SAFETY: the file is open, and is closed once.
        quietly(mpi, || unsafe { mpi.MPI_File_close(&raw mut file) })
    }

    /// Returns an offset for MPI, if the file system can have `size` bytes of a file there.
    pub(super) fn place(&self, offset: u64, size: usize) -> Result<MPI_Offset> {
        let (end, largest) = (offset.saturating_add(size as u64), self.largest);
        if end > largest {
            let reason =
                format!("the call reaches to byte {end}, but a file there has at most {largest} bytes");
            return Err(self.refused(reason));
        }
        Ok(offset as MPI_Offset)
    }

    /// Returns an error with the path of the file.
    pub(super) fn refused(&self, reason: impl Into<String>) -> Error {
        refused(&self.path, reason)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let Ok(mpi) = &ready() else { return };
        self.end(mpi);
    }
}

/// The agreement of all ranks in a collective call.
impl File {
    /// Returns the communicator of the agreement.
    pub(super) fn communicator(&self) -> MPI_Comm {
        self.home.companion.communicator
    }

    /// Returns the ranks of the file.
    pub(super) fn home(&self) -> &Home {
        &self.home
    }

    /// Returns what this rank has prepared for a call of all ranks, or its result, if all ranks have theirs;
    /// otherwise an error on all ranks. All ranks must make this call.
    pub(super) fn agreed<T>(&self, mpi: &Usable, own: Result<T>) -> Result<T> {
        self.agreed_on(mpi, own.map(|own| (own, [0; 2]))).map(|(own, _)| own)
    }

    /// Like [`agreed`](Self::agreed), with the least and the greatest of all ranks of each of two numbers.
    pub(super) fn agreed_on<T>(
        &self,
        mpi: &Usable,
        own: Result<(T, [u64; 2])>,
    ) -> Result<(T, [[u64; 2]; 2])> {
        agreed_on(mpi, self.communicator(), &self.path, own)
    }

    /// Like [`agreed`](Self::agreed), for a number that must be the same on all ranks.
    pub(super) fn same<T>(&self, mpi: &Usable, own: Result<T>, number: u64, name: &str) -> Result<T> {
        let (own, [[least, greatest], _]) = self.agreed_on(mpi, own.map(|own| (own, [number, 0])))?;
        if least != greatest {
            let reason = format!("the ranks give it different values of the {name}: {least} and {greatest}");
            return Err(self.refused(reason));
        }
        Ok(own)
    }
}

/// Returns what this rank has prepared, and the least and the greatest of all ranks, of each of two numbers
/// below 2⁶³. If a rank has an error instead, all ranks return one.
pub(super) fn agreed_on<T>(
    mpi: &Usable,
    communicator: MPI_Comm,
    path: &Path,
    own: Result<(T, [u64; 2])>,
) -> Result<(T, [[u64; 2]; 2])> {
    let failed = u64::from(own.is_err());
    let [first, second] = own.as_ref().map_or([0; 2], |(_, numbers)| *numbers);
    let [first, second, [_, failed]] = least_and_greatest(mpi, communicator, [first, second, failed])?;
    match own {
        Ok(_) if failed > 0 => Err(refused(path, "another rank has an error in this call")),
        Ok((own, _)) => Ok((own, [first, second])),
        Err(error) => Err(error),
    }
}

/// A file whose view is the one that the caller expects. Only [`File::bytes`] and [`Viewed::bytes`] return
/// it. All transfers need it, because it has MPI's handle.
#[derive(Clone, Copy)]
pub(super) struct Seen<'f> {
    pub file: &'f File,
    handle: MPI_File,
}

impl File {
    /// Returns the file for transfers at offsets in bytes, if it has the view of all bytes. To set that view
    /// here would be a call of all ranks.
    pub(super) fn bytes(&self) -> Result<Seen<'_>> {
        if self.has_view {
            return Err(self
                .refused("a view of it was forgotten, or could not be ended: drop each view on all ranks"));
        }
        Ok(Seen { file: self, handle: self.handle })
    }
}

impl Seen<'_> {
    /// Returns MPI's handle, for a transfer.
    pub fn handle(self) -> MPI_File {
        self.handle
    }

    /// Checks that the file was opened for reading.
    pub fn reads(self) -> Result {
        if self.file.access.reads {
            return Ok(());
        }
        Err(self.file.refused("it was opened for writing only"))
    }

    /// Checks that the file was opened for writing.
    pub fn writes(self) -> Result {
        if self.file.access.writes {
            return Ok(());
        }
        Err(self.file.refused("it was opened for reading only"))
    }

    /// Checks that the file has so many bytes of the view behind an offset. MPICH reads what is behind the
    /// end of a file without an error in views.
    pub fn holds(self, mpi: &Usable, offset: u64, size: usize) -> Result {
        if size == 0 {
            return Ok(());
        }
        let (last, mut at) = (self.file.place(offset.saturating_add(size as u64 - 1), 1)?, 0);
        self.file.call(mpi, "MPI_File_get_byte_offset", |file| {
            // SAFETY: the file is open; there is room for a number.
            unsafe { mpi.MPI_File_get_byte_offset(file, last, &raw mut at) }
        })?;
        let found = self.file.size()?;
        if u64::try_from(at).is_ok_and(|at| at < found) {
            return Ok(());
        }
        Err(self.file.refused(format!("it has {found} bytes, but the values reach to byte {at}")))
    }
}

/// A file with a view of some of its bytes, which ends when this value is dropped, on all ranks.
pub(super) struct Viewed<'f> {
    pub file: &'f mut File,
}

impl Viewed<'_> {
    /// Sets the view (`MPI_File_set_view`). All ranks must make this call.
    pub fn set(&mut self, mpi: &Usable, offset: MPI_Offset, part: &LayoutDatatype) -> Result {
        self.file.has_view = true;
        let set = self.set_view(mpi, offset, part.as_raw());
        self.file.agreed(mpi, set)
    }

    /// Returns the file for transfers at offsets in bytes of the view.
    pub fn bytes(&self) -> Seen<'_> {
        Seen { file: self.file, handle: self.file.handle }
    }

    fn set_bytes(&mut self, mpi: &Usable) -> Result {
        self.set_view(mpi, 0, byte())?;
        self.file.has_view = false;
        Ok(())
    }

    fn set_view(&self, mpi: &Usable, offset: MPI_Offset, part: MPI_Datatype) -> Result {
        self.file.call_all(mpi, "MPI_File_set_view", |file| {
            let native = c"native".as_ptr();
            // SAFETY: the file is open, and the datatype committed.
            unsafe { mpi.MPI_File_set_view(file, offset, byte(), part, native, ffi::RSMPI_INFO_NULL) }
        })
    }
}

impl Drop for Viewed<'_> {
    fn drop(&mut self) {
        let Ok(mpi) = &ready() else { return };
        let _ = self.set_bytes(mpi);
    }
}

debug!([] File, |file| path: file.path);
