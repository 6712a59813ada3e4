//! Other tools in the program: whether calls come here first.
//!
//! A tool that stands before this library may go past it, to `PMPI_Wait` and its like. Then nobody would
//! unpack what `MPI_Irecv` has begun here. So calls go packed only where those that complete them are ours
//! too, as far as programs find them by their names in C.

use std::{ffi::CStr, mem::MaybeUninit, os::raw::c_void, ptr, sync::LazyLock};

/// What begins, completes and frees requests.
const OF_REQUESTS: [&CStr; 12] = [
    c"MPI_Start",
    c"MPI_Startall",
    c"MPI_Wait",
    c"MPI_Waitall",
    c"MPI_Waitany",
    c"MPI_Waitsome",
    c"MPI_Test",
    c"MPI_Testall",
    c"MPI_Testany",
    c"MPI_Testsome",
    c"MPI_Request_get_status",
    c"MPI_Request_free",
];

/// What completes puts and gets.
const OF_WINDOWS: [&CStr; 9] = [
    c"MPI_Win_fence",
    c"MPI_Win_complete",
    c"MPI_Win_unlock",
    c"MPI_Win_unlock_all",
    c"MPI_Win_flush",
    c"MPI_Win_flush_all",
    c"MPI_Win_flush_local",
    c"MPI_Win_flush_local_all",
    c"MPI_Win_free",
];

/// What receives messages.
pub(crate) const RECEIVING: [&CStr; 7] = [
    c"MPI_Recv",
    c"MPI_Irecv",
    c"MPI_Recv_init",
    c"MPI_Mrecv",
    c"MPI_Imrecv",
    c"MPI_Sendrecv",
    c"MPI_Sendrecv_replace",
];

/// Whether what completes a call comes here.
pub(crate) fn complete_here(call: &str) -> bool {
    static FOUND: LazyLock<[bool; 2]> = LazyLock::new(|| [come_here(&OF_REQUESTS), come_here(&OF_WINDOWS)]);
    let [requests, windows] = *FOUND;
    let name = call.trim_end_matches("_c");
    match name {
        "MPI_Put" | "MPI_Get" => windows,
        _ if name.starts_with("MPI_I") || name.ends_with("_init") => requests,
        _ => true,
    }
}

/// Whether all of some calls come here first, or their names are not found at all.
pub(crate) fn come_here(names: &[&CStr]) -> bool {
    let own = library_of(come_here as *const c_void);
    names.iter().all(|name| {
        // SAFETY: the name ends in a zero.
        let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        first.is_null() || library_of(first) == own
    })
}

/// Where the library begins, or the program, that has an address.
fn library_of(address: *const c_void) -> *mut c_void {
    let mut found = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: there is room for what is found, and it is set where the answer is not 0.
    unsafe {
        if libc::dladdr(address, found.as_mut_ptr()) == 0 {
            return ptr::null_mut();
        }
        found.assume_init().dli_fbase
    }
}
