//! Where in a program a call was made: for reports.

use std::{
    ffi::{CStr, c_void},
    path::Path,
    sync::Mutex,
};

use foldhash::HashMap;

use crate::lock::lock;

/// The function that has called MPI, with its file and line if the program has debug information, or with its
/// place in the program or library.
pub(crate) fn of_caller() -> String {
    /// What has been found out about addresses.
    static KNOWN: Mutex<Option<HashMap<usize, String>>> = Mutex::new(None);
    let mut caller = None;
    backtrace::trace(|frame| {
        let ip = frame.ip() as usize;
        caller = Module::of(ip).filter(|module| !module.is_of_mpi(ip)).map(|module| (ip, module));
        caller.is_none()
    });
    let Some((ip, module)) = caller else { return "an unknown place".to_owned() };
    let mut known = lock(&KNOWN);
    known.get_or_insert_default().entry(ip).or_insert_with(|| described(ip, &module)).clone()
}

/// A program or library in memory.
struct Module {
    name: String,
    base: usize,
}

impl Module {
    /// The one with this address.
    fn of(address: usize) -> Option<Self> {
        // SAFETY: what it sets is pointers.
        let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: any address may be asked for; there is room for the answer.
        if unsafe { libc::dladdr(address as *const c_void, &raw mut found) } == 0 || found.dli_fname.is_null()
        {
            return None;
        }
        // SAFETY: it is a name that ends in a zero, of what is loaded.
        let path = unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy();
        let name =
            Path::new(&*path).file_name().map_or(path.to_string(), |name| name.to_string_lossy().into());
        Some(Self { name, base: found.dli_fbase as usize })
    }

    /// Whether it is this library or a part of an MPI library, or, of a program that is linked with this
    /// library, whether this is what the address is in.
    fn is_of_mpi(&self, ip: usize) -> bool {
        let libraries = ["libmpi", "libpmpi", "libopen-", "libdtype_mpi"];
        if libraries.iter().any(|name| self.name.starts_with(name)) {
            return true;
        }
        let own = Self::of(of_caller as fn() -> String as usize);
        own.is_some_and(|own| own.base == self.base) && is_own(ip)
    }
}

/// Whether an address that a call returns to is in a function of this library.
fn is_own(ip: usize) -> bool {
    let mut is_own = false;
    backtrace::resolve((ip - 1) as *mut c_void, |symbol| {
        let name = symbol.name().map(|name| name.to_string()).unwrap_or_default();
        let begins = ["MPI_", "mpi_", "backtrace::", "core::", "std::", "alloc::"];
        is_own |= name.contains("dtype_mpi") || begins.iter().any(|front| name.starts_with(front));
    });
    is_own
}

/// What is known of an address that a call returns to.
fn described(ip: usize, module: &Module) -> String {
    let (mut name, mut line) = (None, None);
    // The call is before that.
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
