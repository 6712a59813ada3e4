//! The loaded objects (the program and its libraries), and the functions of MPI that they import, read from
//! their relocations in memory.

use std::{
    ffi::{CStr, CString, OsStr},
    ops::Range,
    os::{
        raw::{c_int, c_void},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use dtype_mpi::running;

/// A function of MPI that a loaded object imports.
pub(crate) struct Import {
    /// The number of the importing object.
    pub object: usize,
    /// The file of the importing object; empty for the program itself.
    pub file: CString,
    /// The name of the function, such as `MPI_Recv` or `PMPI_Recv`.
    pub name: CString,
}

/// The objects that are loaded when the value is made.
#[derive(Default)]
pub(crate) struct Objects {
    count: usize,
    /// The addresses of each segment, with the number of its object.
    segments: Vec<(Range<usize>, usize)>,
    /// The functions of MPI that the objects import, except those of the MPI library itself.
    pub imports: Vec<Import>,
    /// The beginnings of the names of the files of the MPI library.
    of_mpi: &'static [&'static str],
}

impl Objects {
    /// Reads the objects that are loaded now.
    pub fn now() -> Self {
        // The library is not asked while the loader is locked.
        let mut found = Self { of_mpi: running().files, ..Self::default() };
        // SAFETY: `visit` has the type of the callback. The loader passes it the pointer to `found`, which
        // lives until `dl_iterate_phdr` returns.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut found).cast()) };
        found
    }

    /// Returns the number of the object that contains an address, or `None` if no object contains it.
    pub fn of(&self, address: *const c_void) -> Option<usize> {
        let found = self.segments.iter().find(|(segment, _)| segment.contains(&(address as usize)));
        found.map(|(_, object)| *object)
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

/// Adds one object to a list.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, list: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid `info`, and the pointer to the list of `now`.
    let (info, list) = unsafe { (&*info, &mut *list.cast::<Objects>()) };
    let object = list.count;
    list.count += 1;
    let number = |value: u64| usize::try_from(value).unwrap_or(0);
    // SAFETY: `dlpi_phdr` points to `dlpi_phnum` headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    // SAFETY: a name that is not null ends in a zero.
    let name = (!info.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(info.dlpi_name) });
    let file = name.unwrap_or_default();
    let base = number(info.dlpi_addr);
    for header in headers {
        let start = base.wrapping_add(number(header.p_vaddr));
        match header.p_type {
            libc::PT_LOAD => {
                list.segments.push((start..start.saturating_add(number(header.p_memsz)), object));
            }
            libc::PT_DYNAMIC if !is_part_of_mpi(file, list.of_mpi) => {
                let section = start as *const [u64; 2];
                // SAFETY: condition 1 of `read` and of `undefined`: `section` is the dynamic section of an
                // object that the loader has loaded.
                unsafe {
                    Dynamic::read(section, base).undefined(|name| {
                        let is_of_mpi = |front: &[u8]| name.to_bytes().starts_with(front);
                        if is_of_mpi(b"MPI") || is_of_mpi(b"PMPI") {
                            list.imports.push(Import {
                                object,
                                file: file.to_owned(),
                                name: name.to_owned(),
                            });
                        }
                    });
                }
            }
            _ => {}
        }
    }
    0
}

/// Returns `true` if a file is the MPI library itself, or one of its plugins or bindings.
fn is_part_of_mpi(file: &CStr, of_mpi: &[&str]) -> bool {
    let name = Path::new(OsStr::from_bytes(file.to_bytes())).file_name().unwrap_or_default();
    of_mpi.iter().any(|front| name.as_bytes().starts_with(front.as_bytes()))
}
