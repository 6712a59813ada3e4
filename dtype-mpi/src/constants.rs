//! The constants of MPI whose values differ between libraries, as those of the library that runs. They come
//! from `constants.txt`, the table of `mpi-sys`, because not every crate `mpi-sys` has all of them.

use std::{
    collections::HashMap,
    ffi::CString,
    os::raw::{c_int, c_void},
    sync::OnceLock,
};

use ::mpi::ffi::{self, MPI_Datatype};
use dtype_core::BaseType;

use crate::{Family, number::handle, running};

macro_rules! numbers {
    ($($name:ident)*) => {
        /// The numbers that are used.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "the names of MPI")]
        enum Number { $($name),* }

        /// Their names.
        const NUMBERS: &[&str] = &[$(stringify!($name)),*];

        $(
            #[doc = concat!("Returns `", stringify!($name), "`; `c_int::MIN` if the library lacks it.")]
            #[allow(non_snake_case, reason = "the names of MPI are what readers know")]
            #[inline]
            pub fn $name() -> c_int {
                values().numbers[Number::$name as usize]
            }
        )*
    };
}

numbers! {
    MPI_COMBINER_CONTIGUOUS MPI_COMBINER_DARRAY MPI_COMBINER_DUP MPI_COMBINER_F90_COMPLEX
    MPI_COMBINER_F90_INTEGER MPI_COMBINER_F90_REAL MPI_COMBINER_HINDEXED MPI_COMBINER_HINDEXED_BLOCK
    MPI_COMBINER_HVECTOR MPI_COMBINER_INDEXED MPI_COMBINER_INDEXED_BLOCK MPI_COMBINER_NAMED
    MPI_COMBINER_RESIZED MPI_COMBINER_STRUCT MPI_COMBINER_SUBARRAY MPI_COMBINER_VALUE_INDEX
    MPI_COMBINER_VECTOR
    MPI_DISTRIBUTE_BLOCK MPI_DISTRIBUTE_CYCLIC MPI_DISTRIBUTE_DFLT_DARG MPI_DISTRIBUTE_NONE
    MPI_ERR_IN_STATUS MPI_ERR_PENDING MPI_ERR_TRUNCATE
    MPI_LOCK_EXCLUSIVE MPI_LOCK_SHARED
    MPI_MODE_CREATE MPI_MODE_EXCL MPI_MODE_NOCHECK MPI_MODE_RDONLY MPI_MODE_RDWR MPI_MODE_WRONLY
    MPI_ORDER_C MPI_ORDER_FORTRAN
    MPI_ROOT
    MPI_TAG_UB
}

/// Returns `MPI_IN_PLACE`.
#[allow(non_snake_case, reason = "the name of MPI")]
#[inline]
pub fn MPI_IN_PLACE() -> *mut c_void {
    values().in_place as *mut c_void
}

/// Returns `MPI_ERRORS_ABORT`, or `None` if the library lacks it.
pub(crate) fn errors_abort() -> Option<ffi::MPI_Errhandler> {
    // SAFETY: the value is a handle of the library.
    values().errors_abort.map(|value| unsafe { handle(value) })
}

/// Returns the predefined handle of a base type, or `None` if the library lacks the type. Open MPI has
/// handles for some types that it was built without; their size is 0.
#[inline]
pub fn predefined(base: BaseType) -> Option<MPI_Datatype> {
    // SAFETY: the value is a handle of the library.
    values().datatypes[base as usize].map(|value| unsafe { handle(value) })
}

/// The values of the constants in the library that runs.
struct Values {
    numbers: Vec<c_int>,
    in_place: isize,
    errors_abort: Option<usize>,
    /// The handles of the base types, in their order.
    datatypes: Vec<Option<usize>>,
}

#[inline]
fn values() -> &'static Values {
    static VALUES: OnceLock<Values> = OnceLock::new();
    VALUES.get_or_init(|| {
        let table = table();
        let of = |name: &str| table.get(name).and_then(|cells| value(cells));
        let numbers = NUMBERS.iter().map(|name| of(name).map_or(c_int::MIN, |value| value as c_int));
        let handle = |name| of(name).map(|value| value as usize);
        Values {
            numbers: numbers.collect(),
            in_place: of("MPI_IN_PLACE").unwrap_or(0) as isize,
            errors_abort: handle("MPI_ERRORS_ABORT"),
            datatypes: BaseType::all().map(|base| handle(base.mpi_name())).collect(),
        }
    })
}

/// Returns the constants of the table, each with the text of its values.
fn table() -> HashMap<&'static str, &'static str> {
    let rows = include_str!("../constants.txt").lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|row| {
        let (name, cells) = row.split_once(": ")?;
        Some((name, cells.split_once(" = ")?.1))
    })
    .collect()
}

/// Returns the value of a constant in the library that runs: a number, or the address of a symbol.
fn value(cells: &str) -> Option<i64> {
    let names: &[&str] = match Family::running() {
        Family::Abi => &["abi"],
        Family::OpenMpi => &["openmpi"],
        Family::Mpich => running().columns,
    };
    let (_, text) =
        cells.split(", ").filter_map(|cell| cell.split_once(' ')).find(|(of, _)| names.contains(of))?;
    let number = match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    number.or_else(|| symbol(text).map(|address| address as i64))
}

/// Returns the address of a symbol of this process, or `None` if there is none.
pub(crate) fn symbol(name: &str) -> Option<*mut c_void> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name ends in a zero byte.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

#[cfg(test)]
mod tests {
    use dtype_core::BaseType;

    use super::{NUMBERS, table};

    #[test]
    fn the_table_has_what_is_used() {
        let table = table();
        for base in BaseType::all() {
            assert!(table.contains_key(base.mpi_name()), "{}", base.mpi_name());
        }
        for name in NUMBERS.iter().chain(&["MPI_IN_PLACE", "MPI_ERRORS_ABORT"]) {
            assert!(table.contains_key(name), "{name}");
        }
    }
}
