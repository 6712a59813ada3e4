//! MPI libraries in the process.

use std::{
    ffi::CStr,
    fmt, mem,
    os::raw::{c_char, c_int, c_void},
    ptr::{self, NonNull},
};

/// The binary interfaces of MPI libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Family {
    /// The standard's ABI (MPI 5.0 chapter 20).
    Abi = 0,
    /// MPICH and libraries with its ABI.
    Mpich = 1,
    OpenMpi = 2,
}

/// An MPI library in the process.
pub(crate) struct Library {
    /// The handle of `dlopen`; null for the symbols of the whole process.
    handle: Handle,
    pub(crate) family: Family,
    /// Its version, as it says itself, in one line.
    pub(crate) version: String,
    /// The file.
    pub(crate) path: String,
    /// Why it was chosen.
    why: String,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Handle(pub *mut c_void);

// SAFETY: the functions of the dynamic linker may be called from any thread.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// A value of a constant in a library.
pub(crate) enum Value {
    /// The library lacks the constant.
    None,
    Number(i64),
    /// The address of a symbol.
    Symbol(&'static str),
    /// The number that is stored at a symbol.
    At(&'static str),
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.version, self.path, self.why)
    }
}

extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dladdr(address: *const c_void, info: *mut Info) -> c_int;
}

/// The answer of `dladdr`.
#[repr(C)]
pub(crate) struct Info {
    pub(crate) path: *const c_char,
    pub(crate) base: *mut c_void,
    name: *const c_char,
    address: *mut c_void,
}

impl Library {
    /// Returns the address of a symbol; the name has a zero behind it. Tools that are preloaded come first.
    pub(crate) fn symbol(&self, name: &str) -> Option<NonNull<c_void>> {
        symbol(self.handle, name)
    }

    /// Returns the value of a constant, of five: those of MPICH, of MPICH from version 5.0 on, of Intel MPI
    /// from version 2021.19 on, of Open MPI, and of the ABI.
    pub(crate) fn value(&self, [mpich, mpich5, intel, openmpi, abi]: [Value; 5]) -> Option<i64> {
        let value = match self.family {
            Family::Abi => abi,
            Family::OpenMpi => openmpi,
            Family::Mpich if self.is_from("MPICH Version:", (5, 0)) => mpich5,
            Family::Mpich if self.is_from("Intel(R) MPI Library", (2021, 19)) => intel,
            Family::Mpich => mpich,
        };
        match value {
            Value::None => None,
            Value::Number(number) => Some(number),
            Value::Symbol(name) => self.symbol(name).map(|address| address.as_ptr() as i64),
            // SAFETY: the symbol is a pointer.
            Value::At(name) => {
                self.symbol(name).map(|address| unsafe { address.cast::<i64>().as_ptr().read() })
            }
        }
    }

    /// Returns `true` if the library is this one, of this version or a newer one.
    fn is_from(&self, name: &str, least: (u32, u32)) -> bool {
        let Some(version) = self.version.strip_prefix(name) else { return false };
        let mut numbers = version.trim_start().split(['.', ' ']).map(|number| number.parse::<u32>().ok());
        let mut next = || numbers.next().flatten().unwrap_or(0);
        (next(), next()) >= least
    }

    /// Returns a description of a library whose symbols a handle has, or `None` if no known MPI library has
    /// them.
    pub(crate) fn of(handle: Handle, why: &str) -> Option<Self> {
        let version_of = symbol(handle, "MPI_Get_library_version\0")?;
        let abi = symbol(handle, "MPI_Abi_get_version\0").map_or(0, |address| {
            let (mut major, mut minor) = (0, 0);
            // SAFETY: the function has this signature in the standard, and may be called before `MPI_Init`.
            unsafe {
                let call: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int =
                    mem::transmute(address.as_ptr());
                call(&mut major, &mut minor);
            }
            major
        });
        let has = |name| symbol(handle, name).is_some();
        let family = if abi >= 1 {
            Family::Abi
        } else if has("ompi_mpi_comm_world\0") {
            Family::OpenMpi
        } else if has("MPIR_Dup_fn\0") {
            Family::Mpich
        } else {
            return None;
        };
        let (mut text, mut length) = ([0 as c_char; 8192], 0);
        // SAFETY: as above; there is room for the longest text of any library.
        let version = unsafe {
            let call: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int =
                mem::transmute(version_of.as_ptr());
            call(text.as_mut_ptr(), &mut length);
            CStr::from_ptr(text.as_ptr()).to_string_lossy()
        };
        let version = version.lines().next().unwrap_or_default().replace('\t', " ");
        // Tools that are preloaded have the other functions, too.
        let path = path_of(version_of);
        Some(Self { handle, family, version, path, why: why.to_owned() })
    }
}

pub(crate) fn symbol(handle: Handle, name: &str) -> Option<NonNull<c_void>> {
    let name = CStr::from_bytes_with_nul(name.as_bytes()).ok()?;
    // SAFETY: the handle is null, or one of `dlopen`.
    NonNull::new(unsafe { dlsym(handle.0, name.as_ptr()) })
}

/// Returns the loaded file that contains an address.
pub(crate) fn file_of(address: NonNull<c_void>) -> Option<Info> {
    let mut info =
        Info { path: ptr::null(), base: ptr::null_mut(), name: ptr::null(), address: ptr::null_mut() };
    // SAFETY: there is room for what is told.
    let is_known = unsafe { dladdr(address.as_ptr(), &mut info) } != 0 && !info.path.is_null();
    is_known.then_some(info)
}

fn path_of(address: NonNull<c_void>) -> String {
    file_of(address).map_or_else(
        || "a file without a name".to_owned(),
        // SAFETY: a path ends with a zero.
        |info| unsafe { CStr::from_ptr(info.path).to_string_lossy().into_owned() },
    )
}
