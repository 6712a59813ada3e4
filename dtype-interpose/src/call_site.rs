//! The call site of an MPI call in the program, for reports.

use std::{
    ffi::{CStr, c_void},
    path::Path,
    sync::Mutex,
};

use dtype_mpi::running;
use foldhash::HashMap;

use crate::{lock::lock, python};

/// Returns the function that called MPI, with its file and line if the program has debug information.
/// Otherwise returns the function with its offset in the program or library. For an extension of Python,
/// returns the line of Python that called it.
pub(crate) fn of_caller() -> String {
    /// The descriptions found so far, by address.
    static KNOWN: Mutex<Option<HashMap<usize, String>>> = Mutex::new(None);
    let mut caller = None;
    backtrace::trace(|frame| {
        let ip = frame.ip() as usize;
        caller = Module::of(ip).filter(|module| !module.is_of_mpi(ip)).map(|module| (ip, module));
        caller.is_none()
    });
    let Some((ip, module)) = caller else { return "an unknown place".to_owned() };
    if python::is_extension(&module.name)
        && let Some(place) = python::place()
    {
        return place;
    }
    let mut known = lock(&KNOWN);
    known.get_or_insert_default().entry(ip).or_insert_with(|| described(ip, &module)).clone()
}

/// A loaded program or library.
struct Module {
    name: String,
    base: usize,
}

impl Module {
    /// Returns the module that contains an address.
    fn of(address: usize) -> Option<Self> {
        // SAFETY: the struct consists of pointers, which may be null.
        let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: `dladdr` accepts any address; `found` has room for the answer.
        if unsafe { libc::dladdr(address as *const c_void, &raw mut found) } == 0 || found.dli_fname.is_null()
        {
            return None;
        }
        // SAFETY: the pointer is not null; it is the name of a loaded module, which ends in a zero byte.
        let path = unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy();
        let name =
            Path::new(&*path).file_name().map_or(path.to_string(), |name| name.to_string_lossy().into());
        Some(Self { name, base: found.dli_fbase as usize })
    }

    /// Returns `true` if the module is this library or a part of an MPI library. If the program is linked
    /// with this library, returns `true` if `ip` is in a function of this library.
    fn is_of_mpi(&self, ip: usize) -> bool {
        let is_named = |front: &&str| self.name.starts_with(*front);
        if running().files.iter().any(is_named) || is_named(&"libdtype_mpi") {
            return true;
        }
        let own = Self::of(of_caller as fn() -> String as usize);
        own.is_some_and(|own| own.base == self.base) && is_own(ip)
    }
}

/// Returns `true` if a return address is in a function of this library, judged by the function's name.
fn is_own(ip: usize) -> bool {
    let mut is_own = false;
    backtrace::resolve((ip - 1) as *mut c_void, |symbol| {
        let name = symbol.name().map(|name| name.to_string()).unwrap_or_default();
        let begins = ["MPI_", "mpi_", "backtrace::", "core::", "std::", "alloc::"];
        is_own |= name.contains("dtype_mpi") || begins.iter().any(|front| name.starts_with(front));
    });
    is_own
}

/// Describes a return address: the function, and its file and line or its offset in the module.
fn described(ip: usize, module: &Module) -> String {
    let (mut name, mut line) = (None, None);
    // The call instruction ends before the return address.
    backtrace::resolve((ip - 1) as *mut c_void, |symbol| {
        let file =
            symbol.filename().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        name = name.take().or_else(|| symbol.name().map(|name| name.to_string()));
        line = line.take().or(file.zip(symbol.lineno()));
    });
    let place = match line {
        Some((file, line)) => format!("{file}:{line}"),
        None => format!("{}+{:#x}", module.name, ip - module.base),
    };
    name.map_or(place.clone(), |name| format!("{name} ({place})"))
}
