//! The functions with large counts that constructors and their arguments need (MPI 4.1 section 5.1.2). A
//! library may lack them, so they are looked up by their names.

use std::{
    mem,
    os::raw::{c_int, c_void},
    sync::OnceLock,
};

use ::mpi::ffi::{MPI_Count, MPI_Datatype};

use crate::{Family, constants::symbol};

macro_rules! functions {
    ($($field:ident, $name:literal: ($($type:ty),*);)*) => {
        /// The functions. Handles are those of rsmpi; see [`narrow`] for lists of them.
        pub(crate) struct LargeCounts {
            $(pub $field: unsafe extern "C" fn($($type),*) -> c_int,)*
        }

        impl LargeCounts {
            /// Looks the functions up. Returns `None` if the library lacks one.
            fn found() -> Option<Self> {
                Some(Self {
                    $($field: {
                        // The names of the profiling interface: nobody stands before them.
                        let address = symbol(concat!("PMPI_", $name, "_c"))?;
                        // SAFETY: the function of this name has these arguments in the standard. A handle
                        // that is wider than the library's has zeros in front.
                        unsafe {
                            mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(address)
                        }
                    },)*
                })
            }
        }
    };
}

functions! {
    contiguous, "Type_contiguous": (MPI_Count, MPI_Datatype, *mut MPI_Datatype);
    hvector, "Type_create_hvector": (MPI_Count, MPI_Count, MPI_Count, MPI_Datatype, *mut MPI_Datatype);
    hindexed_block, "Type_create_hindexed_block":
        (MPI_Count, MPI_Count, *const MPI_Count, MPI_Datatype, *mut MPI_Datatype);
    hindexed, "Type_create_hindexed":
        (MPI_Count, *const MPI_Count, *const MPI_Count, MPI_Datatype, *mut MPI_Datatype);
    structure, "Type_create_struct":
        (MPI_Count, *const MPI_Count, *const MPI_Count, *const MPI_Datatype, *mut MPI_Datatype);
    envelope, "Type_get_envelope":
        (MPI_Datatype, *mut MPI_Count, *mut MPI_Count, *mut MPI_Count, *mut MPI_Count, *mut c_int);
    contents, "Type_get_contents":
        (
            MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, *mut c_int, *mut MPI_Count,
            *mut MPI_Count, *mut MPI_Datatype
        );
}

/// Returns the functions with large counts, or `None` if the library lacks them.
#[inline]
pub(crate) fn large_counts() -> Option<&'static LargeCounts> {
    static FOUND: OnceLock<Option<LargeCounts>> = OnceLock::new();
    FOUND.get_or_init(LargeCounts::found).as_ref()
}

/// Returns `true` if the library has constructors with large counts.
pub(crate) fn has_large_counts() -> bool {
    large_counts().is_some()
}

/// Returns `true` if the library's handles are narrower than those of rsmpi.
fn is_narrow() -> bool {
    size_of::<MPI_Datatype>() > size_of::<u32>() && Family::running() == Family::Mpich
}

/// Makes the handles of a list as wide as those of the library, in place.
pub(crate) fn narrow(handles: &mut [MPI_Datatype]) {
    if is_narrow() {
        let first = handles.as_mut_ptr();
        for i in 0..handles.len() {
            // SAFETY: the list has `i + 1` handles and more; the narrow ones end before the next wide one.
            unsafe { first.cast::<u32>().add(i).write(first.add(i).cast::<u32>().read()) };
        }
    }
}

/// Makes the handles of a list as wide as those of rsmpi, in place, after the library has written them.
///
/// # Safety
/// 1. There are `count` narrow handles, in memory for as many wide ones.
pub(crate) unsafe fn widen(first: *mut MPI_Datatype, count: usize) {
    if is_narrow() {
        for i in (0..count).rev() {
            // SAFETY: 1; the handles before the last wide one are still narrow.
            unsafe {
                let handle = first.cast::<u32>().add(i).read();
                first.add(i).cast::<usize>().write(handle as usize);
            }
        }
    }
}
