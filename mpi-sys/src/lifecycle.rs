//! The beginning of MPI, after which a program knows if its launcher and its library belong together.

use std::{
    env,
    os::raw::{c_char, c_int},
    process,
};

use crate::{chosen, native_MPI_Init, native_MPI_Init_thread, MPI_Comm_size, MPI_COMM_WORLD, MPI_SUCCESS};

/// The variables in which launchers tell the number of ranks.
const SIZES: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MPI_LOCALNRANKS"];

/// Calls `MPI_Init` of the MPI library. Ends the program if the launcher belongs to another library.
///
/// # Safety
/// See the MPI standard.
pub unsafe extern "C" fn MPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int {
    checked(native_MPI_Init(argc, argv))
}

/// Calls `MPI_Init_thread` of the MPI library. Ends the program if the launcher belongs to another library.
///
/// # Safety
/// See the MPI standard.
pub unsafe extern "C" fn MPI_Init_thread(
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
    required: c_int,
    provided: *mut c_int,
) -> c_int {
    checked(native_MPI_Init_thread(argc, argv, required, provided))
}

/// Checks that the world has as many ranks as the launcher says.
unsafe fn checked(code: c_int) -> c_int {
    let mut size = 0;
    if code != MPI_SUCCESS || MPI_Comm_size(MPI_COMM_WORLD, &mut size) != MPI_SUCCESS || size != 1 {
        return code;
    }
    let said = |name: &'static str| Some((name, env::var(name).ok()?.parse::<u32>().ok()?));
    let told: Vec<_> = SIZES.into_iter().filter_map(said).collect();
    // A job within a job also has the variables of the outer one.
    let is_alone = told.iter().all(|(_, ranks)| *ranks > 1);
    if let (true, Some((name, ranks)), Ok(library)) = (is_alone, told.first(), chosen::chosen()) {
        eprintln!(
            "mpi-sys: the launcher has started {ranks} ranks ({name}), but each is alone: the launcher \
             belongs to another MPI library than {library}. Start the program with the `mpiexec` of this \
             library, or name the launcher's library in MPI_LIBRARY."
        );
        process::exit(1);
    }
    code
}
