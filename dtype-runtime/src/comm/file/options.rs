//! Opening of files: options, hints, and the calls that open a file on all ranks.

use std::{
    ffi::CString,
    hash::{DefaultHasher, Hash, Hasher},
    os::raw::c_int,
    path::Path,
};

use ::mpi::ffi::{self, MPI_Comm, MPI_File, MPI_Info};

use super::{
    super::{Comm, Handle},
    errors::{of_file, quietly, refused},
    handle::{File, Home, TAGS, agreed_on},
    storage::{Access, can_open},
};
use crate::{
    Result,
    mpi::{Usable, called, constants, ready, running},
    transfer::{
        attach::companion,
        members::{Members, intracommunicator},
    },
};

/// The ways to open a file, and hints to the library.
///
/// ```no_run
/// use dtype_runtime::{Result, comm::FileOptions, run};
///
/// fn main() {
///     run(|world| -> Result {
///         let options = FileOptions::new().read(true).write(true).create(true).hint("cb_nodes", "2");
///         let mut file = options.open(world, "checkpoint.bin")?;
///         file.write_at(8 * world.rank() as u64, &1.5f64)
///     });
/// }
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
    /// Libraries ignore hints that they do not know. A size of a buffer (`cb_buffer_size`) must be a
    /// number above 0.
    #[must_use]
    pub fn hint(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.hints.push((key.into(), value.into()));
        self
    }

    /// Opens a file (`MPI_File_open`). All ranks must make this call, with the same path and options.
    ///
    /// # Errors
    /// `Unsupported` on an intercommunicator. `File`, on all ranks, if a rank cannot open the file, if the
    /// path or a hint contains a zero byte, if a hint is no size, if the path is too long for the MPI
    /// library, or if the ranks have different paths or options.
    pub fn open<C: Handle>(&self, communicator: &Comm<C>, path: impl AsRef<Path>) -> Result<File> {
        let mpi = &ready()?;
        let Members { communicator: raw, ranks: size, .. } = communicator.members(mpi);
        intracommunicator(mpi, raw)?;
        let (companion, tag) = companion(mpi, raw, TAGS)?;
        let (path, access) = (path.as_ref(), self.access());
        let ranks = Ranks { communicator: companion.communicator, path };
        let mut own = ranks.compared(mpi, self.arguments(mpi, path), self.truncate)?;
        if own.mode & creation() != 0 {
            ranks.create(mpi, &own)?;
            own.mode &= !creation();
        }
        ranks.check_able(mpi, access)?;
        let opened = ranks.agreed(mpi, own.open_on(mpi, ranks.communicator, path))?;
        let file = File::new(opened, path, Home::new(companion, tag, size), access);
        file.return_errors(mpi)?;
        if self.truncate {
            file.set_size(0)?;
        }
        Ok(file)
    }

    fn access(&self) -> Access {
        Access { reads: self.read || !self.write, writes: self.write }
    }

    /// Returns the arguments of `MPI_File_open`.
    fn arguments(&self, mpi: &Usable, path: &Path) -> Result<Arguments> {
        let mode = match self.access() {
            Access { reads: true, writes: true } => constants::MPI_MODE_RDWR(),
            Access { reads: false, .. } => constants::MPI_MODE_WRONLY(),
            Access { writes: false, .. } => constants::MPI_MODE_RDONLY(),
        };
        let creation = match self.create {
            Creation::Never => 0,
            Creation::IfMissing => constants::MPI_MODE_CREATE(),
            Creation::Always => creation(),
        };
        let name = path.to_str().and_then(|path| CString::new(path).ok());
        let name = name.ok_or_else(|| refused(path, "its path is not text, or contains a zero byte"))?;
        match running().longest_path {
            Some(most) if name.as_bytes().len() > most => {
                Err(refused(path, format!("the MPI library takes no path of more than {most} bytes")))
            }
            _ => Ok(Arguments { name, mode: mode | creation, info: Info::of(mpi, path, &self.hints)? }),
        }
    }
}

/// Returns the modes that create a file which must not exist.
fn creation() -> c_int {
    constants::MPI_MODE_CREATE() | constants::MPI_MODE_EXCL()
}

/// The arguments of `MPI_File_open`.
struct Arguments {
    name: CString,
    mode: c_int,
    info: Info,
}

impl Arguments {
    /// Opens the file. All ranks of the communicator must make this call.
    fn open_on(&self, mpi: &Usable, communicator: MPI_Comm, path: &Path) -> Result<MPI_File> {
        // SAFETY: a constant of the library.
        let mut file = unsafe { ffi::RSMPI_FILE_NULL };
        let code = quietly(mpi, || {
            let (name, mode) = (self.name.as_ptr(), self.mode);
            // SAFETY: the communicator is live, and the name a string of C; there is room for a handle.
            unsafe { mpi.MPI_File_open(communicator, name, mode, self.info.0, &raw mut file) }
        });
        of_file(mpi, path, "MPI_File_open", code).map(|()| file)
    }
}

/// The ranks that open a file together.
#[derive(Clone, Copy)]
struct Ranks<'p> {
    communicator: MPI_Comm,
    path: &'p Path,
}

impl Ranks<'_> {
    fn agreed<T>(self, mpi: &Usable, own: Result<T>) -> Result<T> {
        agreed_on(mpi, self.communicator, self.path, own.map(|own| (own, [0; 2]))).map(|(own, _)| own)
    }

    /// Returns the arguments of this rank, if all ranks have the same path and options.
    fn compared(self, mpi: &Usable, own: Result<Arguments>, truncates: bool) -> Result<Arguments> {
        let mut hasher = DefaultHasher::new();
        self.path.hash(&mut hasher);
        let own = own.map(|own| {
            let options = 2 * u64::from(own.mode.unsigned_abs()) + u64::from(truncates);
            (own, [options, hasher.finish() >> 1])
        });
        let (own, [options, paths]) = agreed_on(mpi, self.communicator, self.path, own)?;
        for (what, [least, greatest]) in [("options", options), ("paths", paths)] {
            if least != greatest {
                return Err(refused(self.path, format!("the ranks open it with different {what}")));
            }
        }
        Ok(own)
    }

    /// Checks that either all ranks can open the file as it is, or none. In Open MPI, `MPI_File_open` waits
    /// for ever if the first rank can, and another one cannot.
    fn check_able(self, mpi: &Usable, access: Access) -> Result {
        let own = u64::from(can_open(self.path, access));
        let ((), [[least, greatest], _]) = agreed_on(mpi, self.communicator, self.path, Ok(((), [own, 0])))?;
        if least == greatest {
            return Ok(());
        }
        Err(refused(self.path, "some ranks cannot open it: is it on a disk of their own?"))
    }

    /// Lets the first rank create the file, by MPI, since hints may matter when a file is created. No other
    /// rank looks for the file before: its system may remember for a while that there is none.
    fn create(self, mpi: &Usable, own: &Arguments) -> Result {
        let (all, mut rank) = (self.communicator, 0);
        called(mpi, "MPI_Comm_rank", all, || {
            // SAFETY: the communicator is live; there is room for a number.
            unsafe { mpi.MPI_Comm_rank(all, &raw mut rank) }
        })?;
        // SAFETY: constants of the library.
        let (mut alone, other) = unsafe { (ffi::RSMPI_COMM_NULL, ffi::RSMPI_UNDEFINED) };
        called(mpi, "MPI_Comm_split", all, || {
            // SAFETY: all ranks make this call; there is room for a handle.
            unsafe { mpi.MPI_Comm_split(all, if rank == 0 { 0 } else { other }, 0, &raw mut alone) }
        })?;
        if rank != 0 {
            return self.agreed(mpi, Ok(()));
        }
        let created = own.open_on(mpi, alone, self.path).and_then(|mut file| {
            // SAFETY: the file is open, and is closed once.
            let code = quietly(mpi, || unsafe { mpi.MPI_File_close(&raw mut file) });
            of_file(mpi, self.path, "MPI_File_close", code)
        });
        // SAFETY: the communicator was made here, and is freed once.
        quietly(mpi, || unsafe { mpi.MPI_Comm_free(&raw mut alone) });
        self.agreed(mpi, created)
    }
}

impl<C: Handle> Comm<C> {
    /// Opens a file for reading and writing, and creates it or sets its size to 0 (`MPI_File_open`). All
    /// ranks must make this call. [`FileOptions`] has other ways.
    ///
    /// # Errors
    /// The errors of [`FileOptions::open`].
    pub fn create(&self, path: impl AsRef<Path>) -> Result<File> {
        FileOptions::new().read(true).write(true).create(true).truncate(true).open(self, path)
    }

    /// Opens a file for reading (`MPI_File_open`). All ranks must make this call.
    ///
    /// # Errors
    /// The errors of [`FileOptions::open`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<File> {
        FileOptions::new().read(true).open(self, path)
    }
}

/// Hints to the library.
struct Info(MPI_Info);

impl Info {
    fn of(mpi: &Usable, path: &Path, hints: &[(String, String)]) -> Result<Self> {
        // SAFETY: a constant of the library.
        let mut info = Self(unsafe { ffi::RSMPI_INFO_NULL });
        if hints.is_empty() {
            return Ok(info);
        }
        // SAFETY: there is room for a handle.
        let code = quietly(mpi, || unsafe { mpi.MPI_Info_create(&raw mut info.0) });
        of_file(mpi, path, "MPI_Info_create", code)?;
        for (key, value) in hints {
            // MPICH 4.0 divides by the size that it reads, which is 0 for any other text.
            if key.ends_with("_buffer_size") && !value.trim().parse().is_ok_and(|size: u64| size > 0) {
                let reason =
                    format!("the hint {key:?} is {value:?}: leave it out, or write a number above 0");
                return Err(refused(path, reason));
            }
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
