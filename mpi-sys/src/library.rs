//! The choice of the MPI library, when the program starts.

use std::{
    env,
    ffi::{CStr, CString},
    fmt, fs,
    os::raw::{c_char, c_int, c_ulong, c_void},
    path::{Path, PathBuf},
    ptr::{self, NonNull},
    sync::{
        atomic::{AtomicU8, Ordering},
        OnceLock,
    },
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

static FAMILY: AtomicU8 = AtomicU8::new(0);
static CHOSEN: OnceLock<Result<Library, String>> = OnceLock::new();

/// Returns the binary interface of the library.
#[inline(always)]
pub(crate) fn family() -> Family {
    match FAMILY.load(Ordering::Relaxed) {
        0 => Family::Abi,
        1 => Family::Mpich,
        _ => Family::OpenMpi,
    }
}

/// Returns the library, or why there is none.
pub(crate) fn chosen() -> &'static Result<Library, String> {
    CHOSEN.get_or_init(|| {
        let library = choose();
        if let Ok(library) = &library {
            FAMILY.store(library.family as u8, Ordering::Relaxed);
            // SAFETY: nobody reads the constants yet: the program has not begun, or this is the first call of
            // a tool.
            unsafe { crate::set(library) };
        }
        library
    })
}

/// Chooses the library before `main`, because constants are statics. A tool that is preloaded has the
/// functions of MPI itself. It begins before the program has loaded its library, and is not called before.
extern "C" fn begin() {
    if !is_tool() {
        let _ = chosen();
    }
}

/// Returns `true` if the object that this crate is part of has functions of MPI for programs to call.
fn is_tool() -> bool {
    let object_of = |address| Some(file_of(address)?.base);
    let own = NonNull::new(begin as *mut c_void).and_then(file_of);
    own.is_some_and(|own| {
        // SAFETY: the path of a loaded file ends with a zero; nothing is loaded.
        let handle = Handle(unsafe { dlopen(own.path, LAZY | NO_LOAD) });
        !handle.0.is_null() && symbol(handle, "MPI_Init\0").and_then(object_of) == Some(own.base)
    })
}

#[used]
#[cfg(all(target_os = "linux", not(miri)))]
#[link_section = ".init_array"]
static BEGIN: extern "C" fn() = begin;

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
struct Handle(*mut c_void);

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
    fn dlopen(path: *const c_char, mode: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
    fn dladdr(address: *const c_void, info: *mut Info) -> c_int;
    fn getauxval(kind: c_ulong) -> c_ulong;
    fn secure_getenv(name: *const c_char) -> *const c_char;
}

/// The answer of `dladdr`.
#[repr(C)]
struct Info {
    path: *const c_char,
    base: *mut c_void,
    name: *const c_char,
    address: *mut c_void,
}

const LAZY: c_int = 1;
const NO_LOAD: c_int = 4;
const GLOBAL: c_int = 0x100;

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
    fn of(handle: Handle, why: &str) -> Option<Self> {
        let version_of = symbol(handle, "MPI_Get_library_version\0")?;
        let abi = symbol(handle, "MPI_Abi_get_version\0").map_or(0, |address| {
            let (mut major, mut minor) = (0, 0);
            // SAFETY: the function has this signature in the standard, and may be called before `MPI_Init`.
            unsafe {
                let call: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int =
                    std::mem::transmute(address.as_ptr());
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
                std::mem::transmute(version_of.as_ptr());
            call(text.as_mut_ptr(), &mut length);
            CStr::from_ptr(text.as_ptr()).to_string_lossy()
        };
        let version = version.lines().next().unwrap_or_default().replace('\t', " ");
        // Tools that are preloaded have the other functions, too.
        let path = path_of(version_of);
        Some(Self { handle, family, version, path, why: why.to_owned() })
    }
}

fn symbol(handle: Handle, name: &str) -> Option<NonNull<c_void>> {
    let name = CStr::from_bytes_with_nul(name.as_bytes()).ok()?;
    // SAFETY: the handle is null, or one of `dlopen`.
    NonNull::new(unsafe { dlsym(handle.0, name.as_ptr()) })
}

/// Returns the loaded file that contains an address.
fn file_of(address: NonNull<c_void>) -> Option<Info> {
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

/// Opens a library.
fn open(path: &str, mode: c_int) -> Result<Handle, String> {
    let path = CString::new(path).map_err(|_| format!("{path:?} has a zero byte"))?;
    // SAFETY: the path ends with a zero. The initializers of MPI libraries may run at any time.
    let handle = unsafe { dlopen(path.as_ptr(), mode) };
    if handle.is_null() {
        // SAFETY: the text is valid until the next call of the dynamic linker in this thread.
        return Err(unsafe {
            let text = dlerror();
            if text.is_null() {
                "no reason is known".to_owned()
            } else {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            }
        });
    }
    Ok(Handle(handle))
}

/// The names of MPI libraries of the families.
const OPEN_MPI: &[&str] = &["libmpi.so.40", "libmpi.so.80", "libmpi.so.20"];
const MPICH: &[&str] = &["libmpi.so.12", "libmpich.so.12"];
const ABI: &[&str] = &["libmpi_abi.so.1", "libmpi_abi.so.0"];
const OTHERS: &[&str] = &["libmpi.so", "libmpich.so"];

/// Returns a variable of the environment. A program with other rights than its user has none.
fn variable(name: &str) -> Option<String> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name ends with a zero, as the value does.
    unsafe {
        let value = secure_getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_string_lossy().into_owned())
    }
}

/// Chooses the library.
fn choose() -> Result<Library, String> {
    if let Some(library) = loaded() {
        return Ok(library);
    }
    if is_tool() {
        return Err("the program has loaded no MPI library that is known".to_owned());
    }
    if let Some(path) = variable("MPI_LIBRARY").filter(|path| !path.is_empty()) {
        let opened = load(&path, "by MPI_LIBRARY");
        return opened.map_err(|error| format!("MPI_LIBRARY names no MPI library: {error}"));
    }
    let mut tried = Vec::new();
    for (path, why) in candidates() {
        match load(&path, &why) {
            Ok(library) => return Ok(library),
            Err(error) => tried.push(error),
        }
    }
    tried.dedup();
    Err(format!(
        "no MPI library was found. Install one (`apt install openmpi-bin`, or `pip install mpich`), or name \
         its file in MPI_LIBRARY. Tried: {}",
        tried.join("; ")
    ))
}

/// Returns the library that is in the process already: linked, preloaded, or loaded by Python or Julia.
fn loaded() -> Option<Library> {
    if let Some(library) = Library::of(Handle(ptr::null_mut()), "which the program has loaded") {
        return Some(library);
    }
    let why = "which the process has loaded";
    let mut names = OPEN_MPI.iter().chain(MPICH).chain(ABI).chain(OTHERS);
    names.find_map(|name| {
        let handle = open(name, LAZY | NO_LOAD).ok()?;
        Library::of(handle, why)?;
        // From now on, its functions are found by their names, behind those of preloaded tools.
        open(name, LAZY | NO_LOAD | GLOBAL).ok()?;
        Library::of(Handle(ptr::null_mut()), why)
    })
}

/// Loads a library, for all of the process: tools for profiling look up functions behind their own.
fn load(path: &str, why: &str) -> Result<Library, String> {
    let handle = open(path, LAZY).map_err(|error| format!("{error} ({why})"))?;
    if Library::of(handle, why).is_none() {
        return Err(format!("{path} ({why}) is no MPI library that is known"));
    }
    open(path, LAZY | GLOBAL)?;
    // Functions of preloaded tools come first.
    Library::of(Handle(ptr::null_mut()), why).ok_or_else(|| format!("{path} ({why}) has lost its functions"))
}

/// Returns `true` if the program has other rights than its user.
fn is_privileged() -> bool {
    const AT_SECURE: c_ulong = 23;
    // SAFETY: reads what the system has told the process.
    unsafe { getauxval(AT_SECURE) != 0 }
}

/// Returns the libraries to try, each a file or a name, with the reason. The library must belong to the
/// launcher, or each rank is alone.
fn candidates() -> Vec<(String, String)> {
    let mut all = Vec::new();
    let said = |names: &[&str]| names.iter().any(|name| env::var_os(name).is_some());
    let is_started = said(&["OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"]);
    // A program with other rights than its user takes nothing from folders that the user names.
    let found = || launcher().or_else(|| if is_started { None } else { mpiexec() });
    let launcher = if is_privileged() { None } else { found() };
    if let Some((program, name)) = launcher {
        let why = format!("the library of the launcher {}", program.display());
        let of_open_mpi = OPEN_MPI_LAUNCHERS.iter().any(|own| name.starts_with(own));
        let names = if of_open_mpi { [OPEN_MPI, &[]] } else { [MPICH, ABI] }.concat();
        all.extend(beside(&program, &names).into_iter().map(|file| (file, why.clone())));
        all.extend(names.iter().map(|name| ((*name).to_owned(), why.clone())));
    }
    let of_mpich = said(&["PMI_RANK"]) && !said(&["OMPI_COMM_WORLD_SIZE", "PMIX_RANK"]);
    let families = if of_mpich { [MPICH, OPEN_MPI, ABI, OTHERS] } else { [OPEN_MPI, MPICH, ABI, OTHERS] };
    let named = |name: &&str| ((*name).to_owned(), "which the dynamic linker finds".to_owned());
    all.extend(families.concat().iter().map(named));
    all
}

/// Returns the files of libraries in the folders beside a launcher.
fn beside(launcher: &Path, names: &[&str]) -> Vec<String> {
    let Some(prefix) = launcher.parent().and_then(Path::parent) else { return Vec::new() };
    let triple = concat!("lib/", env!("MPI_SYS_TRIPLE"));
    let folders = ["lib", "lib64", triple, "lib/release"].map(|folder| prefix.join(folder));
    let files = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    files.filter(|file| file.exists()).filter_map(|file| file.to_str().map(str::to_owned)).collect()
}

/// The beginnings of the names of Open MPI's launchers.
const OPEN_MPI_LAUNCHERS: [&str; 5] = ["orterun", "orted", "prte", "mpirun.openmpi", "mpiexec.openmpi"];

/// The programs that start ranks.
const LAUNCHERS: [&str; 12] = [
    "orterun",
    "orted",
    "prterun",
    "prted",
    "prte",
    "hydra_pmi_proxy",
    "hydra_bstrap_proxy",
    "mpiexec.hydra",
    "pmi_proxy",
    "mpiexec.mpich",
    "mpiexec.openmpi",
    "mpiexec",
];

/// Returns the launcher among the ancestors of this process, the nearest one, and its name.
fn launcher() -> Option<(PathBuf, String)> {
    let mut process = parent("self")?;
    for _ in 0..64 {
        let program = fs::read_link(format!("/proc/{process}/exe")).ok();
        let name = program.as_ref().and_then(|program| program.file_name()?.to_str().map(str::to_owned));
        if let (Some(program), Some(name)) = (program, name) {
            if LAUNCHERS.contains(&&*name) {
                return Some((program, name));
            }
        }
        process = parent(&process)?;
        if process == "0" {
            return None;
        }
    }
    None
}

/// Returns the parent of a process.
fn parent(process: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in brackets, may have spaces and brackets.
    text.rsplit_once(") ")?.1.split(' ').nth(1).map(str::to_owned)
}

/// Returns the program `mpiexec` that a shell would start, and its name.
fn mpiexec() -> Option<(PathBuf, String)> {
    let path = variable("PATH")?;
    let found = path.split(':').map(|folder| Path::new(folder).join("mpiexec")).find(|file| file.exists())?;
    let program = fs::canonicalize(found).ok()?;
    let name = program.file_name()?.to_str()?.to_owned();
    Some((program, name))
}
