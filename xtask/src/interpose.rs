//! `cargo xtask interpose`: builds the library that programs preload, for each MPI library, and says how.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{
    Libraries,
    mpi::{self, Library},
};

pub(crate) fn run(choice: Libraries) -> Result<()> {
    let sh = Shell::new()?;
    for library in mpi::set_up(&sh, choice)? {
        let preloaded = build(&sh, &library)?;
        let path =
            library.lib().map_or_else(String::new, |lib| format!("LD_LIBRARY_PATH={} ", lib.display()));
        println!("{}:\n  {}", library.version, preloaded.display());
        let (mpiexec, preload) = (&library.mpiexec, format!("LD_PRELOAD={}", preloaded.display()));
        println!("  {path}{mpiexec} -n 2 env {preload} ./program");
    }
    println!("\nIt changes nothing but time. DTYPE_REPORT=FILE has it say what it did.");
    Ok(())
}

/// Builds it for one library, and gives a path to preload it by.
pub(crate) fn build(sh: &Shell, library: &Library) -> Result<std::path::PathBuf> {
    let _environment = library.enter(sh);
    cmd!(sh, "cargo build --quiet --release --package dtype-interpose").quiet().run()?;
    Ok(xtask::launch::preloaded(&library.target(sh).join("release/libdtype_mpi.so"))?)
}
