//! The search for calls that bypass this library, in other tools and in the program itself.
//!
//! A tool that precedes this library in the program's lookup order may call `PMPI_Wait` and the like. So may
//! the program, and it may call a function that is not intercepted. Such a call does not unpack a message
//! that an intercepted call has staged. So a call is packed only if all later calls for its message are
//! intercepted: the functions of a [`Role`], as far as any loaded object imports them.

use std::{
    collections::HashSet,
    ffi::{CStr, CString},
    os::raw::c_void,
    sync::LazyLock,
};

use crate::{
    imports::{Import, Objects},
    native,
    table::{self, Role},
};

/// Returns `true` if all calls of the roles that complete messages are intercepted, as far as any loaded
/// object makes them.
pub(crate) fn complete_here(completed_by: &[Role]) -> bool {
    static REQUESTS: LazyLock<bool> =
        LazyLock::new(|| Callers::now().past_us(Role::CompletesRequests).is_empty());
    static WINDOWS: LazyLock<bool> =
        LazyLock::new(|| Callers::now().past_us(Role::CompletesMoves).is_empty());
    completed_by.iter().all(|role| match role {
        Role::CompletesRequests => *REQUESTS,
        Role::CompletesMoves => *WINDOWS,
        role => Callers::now().past_us(*role).is_empty(),
    })
}

/// The objects that call functions of MPI. Objects that are loaded later are not seen.
pub(crate) struct Callers {
    objects: Objects,
    /// The numbers of this library (`own`) and of the MPI library (`library`).
    own: Option<usize>,
    library: Option<usize>,
}

impl Callers {
    /// Reads the imports of all objects that are loaded now.
    pub fn now() -> Self {
        let objects = Objects::now();
        let own = objects.of(Self::now as *const c_void);
        let library = objects.of(native::first(c"PMPI_Init"));
        Self { objects, own, library }
    }

    /// Returns the functions of a role for which some object bypasses this library.
    pub fn past_us(&self, role: Role) -> Vec<CString> {
        let both = table::functions(role).flat_map(|of| [of.name.to_owned(), format!("{}_c", of.name)]);
        both.filter_map(|name| CString::new(name).ok()).filter(|name| self.goes_past_us(name)).collect()
    }

    /// Returns the functions of the MPI library that some object imports and the table does not have. Such a
    /// function may receive messages.
    pub fn unknown(&self) -> Vec<&CStr> {
        let known: HashSet<_> = table::FUNCTIONS.iter().map(|function| function.name).collect();
        // The names of constants are in upper case.
        let is_function = |name: &str| name.contains(|letter: char| letter.is_ascii_lowercase());
        let is_unknown = |import: &&Import| {
            let name = import.name.to_str().unwrap_or_default();
            let name = name.strip_prefix('P').unwrap_or(name);
            let is_named_so = name.starts_with("MPI_") || name.starts_with("MPIX_");
            is_named_so
                && is_function(name)
                && !known.contains(name.trim_end_matches("_c"))
                && self.objects.of(native::first(&import.name)) == self.library
        };
        self.objects.imports.iter().filter(is_unknown).map(|import| import.name.as_c_str()).collect()
    }

    /// Returns `true` if some object calls a function without passing through this library.
    fn goes_past_us(&self, name: &CStr) -> bool {
        let first = native::first(name);
        let found = self.objects.of(first);
        let by_name = match found {
            _ if first.is_null() || found == self.own => false,
            // The first definition is the MPI library's: the function is not intercepted.
            _ if found == self.library => self.objects.imports.iter().any(|import| *import.name == *name),
            // The first definition is another tool's.
            _ => true,
        };
        let second = [b"P", name.to_bytes()].concat();
        let goes_behind = |import: &Import| {
            import.name.to_bytes() == second && Some(import.object) != self.own && !self.defines(import, name)
        };
        by_name || self.objects.imports.iter().any(goes_behind)
    }

    /// Returns `true` if the importing object itself defines a function of this name, as tools do.
    fn defines(&self, import: &Import, name: &CStr) -> bool {
        if import.file.is_empty() {
            return false;
        }
        // SAFETY: both strings end in a zero. `RTLD_NOLOAD` loads nothing, and `dlclose` releases only the
        // reference that `dlopen` has taken.
        unsafe {
            let object = libc::dlopen(import.file.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
            if object.is_null() {
                return false;
            }
            let found = libc::dlsym(object, name.as_ptr());
            libc::dlclose(object);
            !found.is_null() && self.objects.of(found) == Some(import.object)
        }
    }
}
