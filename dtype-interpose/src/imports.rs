//! The functions of MPI that the program and its libraries import, read from their relocations in memory.

use std::{
    ffi::{CStr, CString},
    mem::MaybeUninit,
    os::raw::{c_int, c_void},
    ptr,
};

/// A function of MPI that a loaded object imports.
pub(crate) struct Import {
    /// The start address of the importing object, as [`object_of`] returns it.
    pub object: *mut c_void,
    /// The file of the importing object; empty for the program itself.
    pub file: CString,
    /// The name of the function, such as `MPI_Recv` or `PMPI_Recv`.
    pub name: CString,
}

/// Returns the functions of MPI that the currently loaded objects import.
pub(crate) fn of_mpi() -> Vec<Import> {
    let mut found = Vec::new();
    // SAFETY: `visit` has the type of the callback. The loader passes it the pointer to `found`, which lives
    // until `dl_iterate_phdr` returns.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut found).cast()) };
    found
}

/// Returns the start address of the object (a library, or the program) that contains an address. Returns null
/// if no object contains it.
pub(crate) fn object_of(address: *const c_void) -> *mut c_void {
    let mut found = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: `found` has room for the answer, which is set if the result is not 0.
    unsafe {
        if libc::dladdr(address, found.as_mut_ptr()) == 0 {
            return ptr::null_mut();
        }
        found.assume_init().dli_fbase
    }
}

/// The entries of a dynamic section that this module uses (ELF-64, chapter 6).
#[derive(Default)]
struct Dynamic {
    strings: usize,
    symbols: usize,
    /// The address and the size in bytes of each table of relocations: that of data, and that of calls.
    relocations: [(usize, usize); 2],
}

const END: u64 = 0;
const CALLS_SIZE: u64 = 2;
const STRINGS: u64 = 5;
const SYMBOLS: u64 = 6;
const DATA: u64 = 7;
const DATA_SIZE: u64 = 8;
const CALLS: u64 = 23;

impl Dynamic {
    /// Reads the dynamic section of an object that is loaded at `base`.
    ///
    /// # Safety
    /// 1. `entry` points to the dynamic section of a loaded object. The section ends with an entry of tag 0.
    unsafe fn read(mut entry: *const [u64; 2], base: usize) -> Self {
        // Loaders replace offsets in the section by addresses, except in the section of the kernel's own
        // object (the vDSO).
        let address = |value: u64| {
            let value = usize::try_from(value).unwrap_or(0);
            if value < base { value.wrapping_add(base) } else { value }
        };
        let mut found = Self::default();
        loop {
            // SAFETY: by condition 1, `entry` points to an entry.
            let [tag, value] = unsafe { *entry };
            match tag {
                END => return found,
                STRINGS => found.strings = address(value),
                SYMBOLS => found.symbols = address(value),
                DATA => found.relocations[0].0 = address(value),
                DATA_SIZE => found.relocations[0].1 = usize::try_from(value).unwrap_or(0),
                CALLS => found.relocations[1].0 = address(value),
                CALLS_SIZE => found.relocations[1].1 = usize::try_from(value).unwrap_or(0),
                _ => {}
            }
            // SAFETY: by condition 1, another entry follows an entry whose tag is not 0.
            entry = unsafe { entry.add(1) };
        }
    }

    /// Calls `each` with the name of every undefined symbol that a relocation refers to.
    ///
    /// # Safety
    /// 1. The tables are those of a loaded object.
    unsafe fn undefined(&self, mut each: impl FnMut(&CStr)) {
        /// `Elf64_Rela`.
        #[repr(C)]
        struct Relocation {
            offset: u64,
            info: u64,
            addend: i64,
        }
        let Self { strings, symbols, relocations } = *self;
        if strings == 0 || symbols == 0 {
            return;
        }
        for (place, bytes) in relocations.into_iter().filter(|(place, _)| *place != 0) {
            let count = bytes / size_of::<Relocation>();
            let mut last = 0;
            for i in 0..count {
                let relocation = place as *const Relocation;
                // SAFETY: by condition 1, the table has `count` entries, and `i` is less.
                let symbol = unsafe { (*relocation.add(i)).info >> 32 } as usize;
                if symbol == 0 || symbol == last {
                    continue;
                }
                last = symbol;
                // SAFETY: by condition 1, the index in a relocation is that of an entry in the symbol table,
                // and `st_name` is the offset of a string in the string table.
                unsafe {
                    let symbol = (symbols as *const libc::Elf64_Sym).add(symbol);
                    if (*symbol).st_shndx == 0 {
                        each(CStr::from_ptr((strings as *const i8).add((*symbol).st_name as usize).cast()));
                    }
                }
            }
        }
    }
}

/// Adds the imports of one object to a list.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, list: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid `info`, and the pointer to the list of `of_mpi`.
    let (info, list) = unsafe { (&*info, &mut *list.cast::<Vec<Import>>()) };
    let base = usize::try_from(info.dlpi_addr).unwrap_or(0);
    // SAFETY: `dlpi_phdr` points to `dlpi_phnum` headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    for header in headers.iter().filter(|header| header.p_type == libc::PT_DYNAMIC) {
        let section = base.wrapping_add(usize::try_from(header.p_vaddr).unwrap_or(0)) as *const c_void;
        let file = if info.dlpi_name.is_null() {
            CString::default()
        } else {
            // SAFETY: the name ends in a zero.
            unsafe { CStr::from_ptr(info.dlpi_name) }.to_owned()
        };
        // SAFETY: condition 1 of `read` and of `undefined`: `section` is the dynamic section of an object
        // that the loader has loaded.
        unsafe {
            Dynamic::read(section.cast(), base).undefined(|name| {
                let is_of_mpi = |front: &[u8]| name.to_bytes().starts_with(front);
                if is_of_mpi(b"MPI") || is_of_mpi(b"PMPI") {
                    let (object, file, name) = (object_of(section), file.clone(), name.to_owned());
                    list.push(Import { object, file, name });
                }
            });
        }
    }
    0
}
