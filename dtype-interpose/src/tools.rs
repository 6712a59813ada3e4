//! Other tools in the program, and the program itself: whether calls come to this library.
//!
//! A tool that stands before this library may go past it, to `PMPI_Wait` and its like; so may a program that
//! calls those itself, or one that calls a function which is not intercepted. Then nobody would unpack the
//! messages of calls that were intercepted. So these go packed only if all calls that have to follow come
//! here: the functions of a [`Role`], as far as any loaded object imports them.

use std::{
    ffi::{CStr, CString},
    os::raw::c_void,
    path::Path,
    sync::LazyLock,
};

use crate::{
    imports::{Import, object_of, of_mpi},
    table::{self, Role},
};

/// Returns `true` if the calls that complete this one come here.
pub(crate) fn complete_here(call: &str) -> bool {
    static REQUESTS: LazyLock<bool> =
        LazyLock::new(|| Callers::now().past_us(Role::CompletesRequests).is_empty());
    static WINDOWS: LazyLock<bool> =
        LazyLock::new(|| Callers::now().past_us(Role::CompletesMoves).is_empty());
    let name = call.trim_end_matches("_c");
    match name {
        "MPI_Put" | "MPI_Get" => *WINDOWS,
        _ if name.starts_with("MPI_I") || name.ends_with("_init") => *REQUESTS,
        _ => true,
    }
}

/// The objects that are loaded now, as far as they import functions of MPI. What is loaded later is not seen.
pub(crate) struct Callers {
    imports: Vec<Import>,
    /// The addresses at which this library and the MPI library begin.
    own: *mut c_void,
    library: *mut c_void,
}

impl Callers {
    /// Reads the imports of all loaded objects.
    pub fn now() -> Self {
        let (own, library) = (object_of(Self::now as *const c_void), object_of(first_of(c"PMPI_Init")));
        let imports = of_mpi().into_iter().filter(|import| !is_part_of_mpi(import)).collect();
        Self { imports, own, library }
    }

    /// Returns the functions of a role that some object calls past this library.
    pub fn past_us(&self, role: Role) -> Vec<CString> {
        let both = table::names(role).flat_map(|name| [name.to_owned(), format!("{name}_c")]);
        both.filter_map(|name| CString::new(name).ok()).filter(|name| self.goes_past_us(name)).collect()
    }

    /// Returns the functions of the MPI library that some object imports and that are not in the table:
    /// nobody knows what they receive.
    pub fn unknown(&self) -> Vec<&CStr> {
        let roles = table::roles();
        // Constants are in upper case.
        let is_function = |name: &str| name.contains(|letter: char| letter.is_ascii_lowercase());
        let is_unknown = |import: &&Import| {
            let name = import.name.to_str().unwrap_or_default();
            let name = name.strip_prefix('P').unwrap_or(name);
            let is_named_so = name.starts_with("MPI_") || name.starts_with("MPIX_");
            is_named_so
                && is_function(name)
                && !roles.contains_key(name.trim_end_matches("_c"))
                && object_of(first_of(&import.name)) == self.library
        };
        self.imports.iter().filter(is_unknown).map(|import| import.name.as_c_str()).collect()
    }

    /// Returns `true` if some object calls a function, and the call does not come here.
    fn goes_past_us(&self, name: &CStr) -> bool {
        let first = first_of(name);
        let found = object_of(first);
        let by_name = match found {
            _ if first.is_null() || found == self.own => false,
            // The library's own function: it is not intercepted here.
            _ if found == self.library => self.imports.iter().any(|import| *import.name == *name),
            // Another tool's.
            _ => true,
        };
        let second = [b"P", name.to_bytes()].concat();
        let goes_behind = |import: &Import| {
            import.name.to_bytes() == second && import.object != self.own && !defines(import, name)
        };
        by_name || self.imports.iter().any(goes_behind)
    }
}

/// Returns the address of the first function of a name, in the order in which programs look for it.
fn first_of(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends in a zero.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Returns `true` if an import is that of the MPI library itself, or of one of its plugins and bindings.
fn is_part_of_mpi(import: &Import) -> bool {
    let file = import.file.to_string_lossy();
    let name = Path::new(&*file).file_name().unwrap_or_default().to_string_lossy();
    ["libmpi", "mca_", "libmca_"].iter().any(|front| name.starts_with(front))
}

/// Returns `true` if the object of an import has a function of this name itself, as tools have.
fn defines(import: &Import, name: &CStr) -> bool {
    if import.file.is_empty() {
        return false;
    }
    // SAFETY: both end in a zero. What is not loaded is not loaded by this, and what is stays loaded.
    unsafe {
        let object = libc::dlopen(import.file.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
        if object.is_null() {
            return false;
        }
        let found = libc::dlsym(object, name.as_ptr());
        libc::dlclose(object);
        !found.is_null() && object_of(found) == import.object
    }
}
