//! The functions that the MPI library lacks. Programs ask for functions of newer versions of the standard by
//! their names, as mpi4py does, and must not find those of this library alone. The dynamic linker shows what
//! an object defines, so the definitions of this library are taken back before the program begins.

use std::{
    ffi::CStr,
    mem::{self, MaybeUninit},
    os::raw::{c_int, c_void},
    ptr,
};

use crate::{
    exports::NEWER,
    native,
    table::{self, Role},
};

/// Takes back the functions from MPI 4 on that nobody defines behind this library. An interpreter of Python
/// loads MPI later. Then Open MPI is taken to lack them all, and other libraries are taken to have them.
extern "C" fn begin() {
    let is_known = !native::behind(c"MPI_Init").is_null();
    if !is_known && !cfg!(abi = "openmpi") {
        return;
    }
    // A request that completes past this library would not be unpacked.
    let completes = |name: &CStr| {
        table::functions(Role::CompletesRequests).any(|of| of.name.as_bytes() == name.to_bytes())
    };
    let lacking =
        NEWER.iter().filter(|name| native::behind(name).is_null() && (is_known || !completes(name)));
    let Some((own, _)) = object_of(begin as *const c_void) else { return };
    for symbol in lacking.filter_map(|name| symbol_in(own.dli_fbase, name)) {
        // SAFETY: the symbol is in the table of this library.
        unsafe { take_back(symbol) };
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

/// Returns the entry of a function in the table of symbols of the object that is loaded at `base`. Returns
/// `None` if another object is asked first, or if the object has no such entry, as a program that this
/// library is linked into.
fn symbol_in(base: *mut c_void, name: &CStr) -> Option<*mut libc::Elf64_Sym> {
    let (found, symbol) = object_of(native::first(name))?;
    // SAFETY: a name that is not null ends in a zero byte.
    let is_named = || !found.dli_sname.is_null() && unsafe { CStr::from_ptr(found.dli_sname) } == name;
    (found.dli_fbase == base && !symbol.is_null() && is_named()).then_some(symbol)
}

/// Returns the object that contains an address, and the entry of the symbol at this address, or null.
fn object_of(address: *const c_void) -> Option<(libc::Dl_info, *mut libc::Elf64_Sym)> {
    /// The request for the entry of the symbol (dladdr(3)).
    const ENTRY: c_int = 1;
    let (mut info, mut symbol) = (MaybeUninit::<libc::Dl_info>::zeroed(), ptr::null_mut());
    // SAFETY: there is room for what is told.
    let is_known = unsafe { dladdr1(address, info.as_mut_ptr(), &raw mut symbol, ENTRY) } != 0;
    // SAFETY: zeros are valid.
    is_known.then(|| (unsafe { info.assume_init() }, symbol))
}

unsafe extern "C" {
    fn dladdr1(
        address: *const c_void,
        info: *mut libc::Dl_info,
        entry: *mut *mut libc::Elf64_Sym,
        request: c_int,
    ) -> c_int;
}

/// Makes an entry one of a symbol without a value, which the dynamic linker passes over. The entry stays as
/// it is if its page cannot be written to.
///
/// # Safety
/// 1. The entry belongs to the table of symbols of a loaded object, which only the dynamic linker reads.
unsafe fn take_back(entry: *mut libc::Elf64_Sym) {
    // SAFETY: by condition 1, the pages are mapped, and readable; nobody else writes to them before the
    // program begins.
    unsafe {
        let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(4096);
        let first = entry as usize / page * page;
        let length = entry as usize + mem::size_of::<libc::Elf64_Sym>() - first;
        let Some(protection) = protection(entry as usize) else { return };
        let pages = ptr::with_exposed_provenance_mut(first);
        if libc::mprotect(pages, length, protection | libc::PROT_WRITE) == 0 {
            (*entry).st_value = 0;
            libc::mprotect(pages, length, protection);
        }
    }
}

/// Returns how the segment that contains an address is protected.
fn protection(address: usize) -> Option<c_int> {
    /// The address that is searched for, and the protection of its segment.
    type Search = (usize, Option<c_int>);
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid `info` with its headers, and the pointer to the search below.
        let (info, (address, found)) = unsafe { (&*info, &mut *search.cast::<Search>()) };
        // SAFETY: as above.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let contains = |header: &&libc::Elf64_Phdr| {
            let offset = (*address as u64).wrapping_sub(info.dlpi_addr.wrapping_add(header.p_vaddr));
            header.p_type == libc::PT_LOAD && offset < header.p_memsz
        };
        let Some(header) = headers.iter().find(contains) else { return 0 };
        let pairs =
            [(libc::PF_R, libc::PROT_READ), (libc::PF_W, libc::PROT_WRITE), (libc::PF_X, libc::PROT_EXEC)];
        let all = pairs.into_iter().filter(|(flag, _)| header.p_flags & flag != 0);
        *found = Some(all.fold(0, |all, (_, protection)| all | protection));
        1
    }
    let mut search: Search = (address, None);
    // SAFETY: `visit` has the type of the callback, and `search` lives until `dl_iterate_phdr` returns.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.1
}
