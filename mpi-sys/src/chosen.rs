//! The MPI library that the program runs with. It is chosen when the program starts, or by a tool at the
//! first call.

use std::sync::{
    atomic::{AtomicU8, Ordering},
    OnceLock,
};

use crate::{
    choice,
    library::{Family, Library},
};

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
        let library = choice::choose();
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
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
extern "C" fn begin() {
    if !choice::is_tool() {
        let _ = chosen();
    }
}

/// A note in the file of a program (ELF-64, "Note Section") that it takes its MPI library when it starts.
/// Tools that look at the file would find no library there.
#[repr(C)]
struct Mark {
    name_length: u32,
    length: u32,
    kind: u32,
    name: [u8; 8],
}

#[used]
#[cfg(all(target_os = "linux", not(miri)))]
#[link_section = ".note.mpi-sys"]
static MARK: Mark = Mark { name_length: 8, length: 0, kind: 1, name: *b"mpi-sys\0" };

#[used]
#[cfg(all(target_os = "linux", not(miri)))]
#[link_section = ".init_array"]
static BEGIN: extern "C" fn() = begin;
