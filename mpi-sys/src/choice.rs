//! The choice of the MPI library in a process, on Linux.

use std::{
    env,
    ffi::{CStr, CString},
    fs,
    os::raw::{c_char, c_int, c_ulong, c_void},
    path::{Path, PathBuf},
    ptr::{self, NonNull},
};

use crate::library::{file_of, symbol, Handle, Library};

extern "C" {
    fn dlopen(path: *const c_char, mode: c_int) -> *mut c_void;
    fn dlerror() -> *const c_char;
    fn getauxval(kind: c_ulong) -> c_ulong;
    fn secure_getenv(name: *const c_char) -> *const c_char;
}

const LAZY: c_int = 1;
const NO_LOAD: c_int = 4;
const GLOBAL: c_int = 0x100;

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

/// Returns `true` if the object that this crate is part of has functions of MPI for programs to call.
pub(crate) fn is_tool() -> bool {
    let object_of = |address| Some(file_of(address)?.base);
    let own = NonNull::new(is_tool as *mut c_void).and_then(file_of);
    own.is_some_and(|own| {
        // SAFETY: the path of a loaded file ends with a zero; nothing is loaded.
        let handle = Handle(unsafe { dlopen(own.path, LAZY | NO_LOAD) });
        !handle.0.is_null() && symbol(handle, "MPI_Init\0").and_then(object_of) == Some(own.base)
    })
}

/// Chooses the library.
pub(crate) fn choose() -> Result<Library, String> {
    if cfg!(target_feature = "crt-static") {
        return Err("the program is linked statically, so it can load no MPI library: build it without \
                    `crt-static`, for a target with a dynamic libc"
            .to_owned());
    }
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
        let is_one_of = |own: &[&str]| own.iter().any(|own| name.starts_with(own));
        let names = if is_one_of(&OPEN_MPI_LAUNCHERS) {
            OPEN_MPI.to_owned()
        } else if is_one_of(&MPICH_LAUNCHERS) {
            [MPICH, ABI].concat()
        } else {
            // The name does not tell. Only one of them is beside the launcher.
            [OPEN_MPI, MPICH, ABI].concat()
        };
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

/// The beginnings of the names of MPICH's launchers and those of its kin.
const MPICH_LAUNCHERS: [&str; 4] = ["hydra", "mpiexec.hydra", "pmi_proxy", "mpiexec.mpich"];

/// The programs that start ranks.
const LAUNCHERS: [&str; 13] = [
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
    "mpirun",
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
