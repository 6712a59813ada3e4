//! Programs in Rust that take their MPI library when they start, by the crate `mpi-sys` of this project. They
//! are linked with none.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use object::{File, Object};

/// The section by which such a program is known.
const MARK: &str = ".note.mpi-sys";

/// The beginnings of the names of launchers, and the names of their libraries.
const LAUNCHERS: [(&[&str], &[&str]); 2] = [
    (
        &["orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi"],
        &["libmpi.so.40", "libmpi.so.80", "libmpi.so.20"],
    ),
    (
        &["hydra", "mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich"],
        &["libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1"],
    ),
];

/// The names that launchers of any library may have.
const OF_ANY: [&str; 2] = ["mpiexec", "mpirun"];

/// Returns `true` if a program takes its MPI library when it starts.
pub(super) fn takes_what_is_there(program: &File<'_>) -> bool {
    program.section_by_name(MARK).is_some()
}

/// Returns the library that such a program takes with these variables and this launcher, whose path has no
/// links: the file of `MPI_LIBRARY`, or that of the launcher's own folders.
pub(super) fn library(variables: &[(OsString, OsString)], launcher: Option<&Path>) -> Option<PathBuf> {
    let set = variables.iter().rev().find(|(name, _)| name == "MPI_LIBRARY").map(|(_, value)| value.clone());
    if let Some(file) = set.or_else(|| env::var_os("MPI_LIBRARY")).filter(|file| !file.is_empty()) {
        return Some(file.into());
    }
    let launcher = launcher?;
    let name = name_of(launcher)?;
    let prefix = launcher.parent()?.parent()?;
    let triple = format!("lib/{}-linux-gnu", env::consts::ARCH);
    let folders = ["lib", "lib64", &triple, "lib/release"];
    let of_it = LAUNCHERS.iter().filter(|(launchers, _)| is_one(name, launchers));
    let names = of_it.flat_map(|(_, names)| *names);
    let mut files = names.flat_map(|name| folders.map(|folder| prefix.join(folder).join(name)));
    files.find(|file| file.exists())
}

/// Returns the first launcher among these files, of which some may not exist.
pub(super) fn launcher(mut files: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    files.find_map(|file| {
        let file = fs::canonicalize(file).ok()?;
        let name = name_of(&file)?;
        LAUNCHERS.iter().any(|(launchers, _)| is_one(name, launchers)).then_some(file)
    })
}

fn name_of(file: &Path) -> Option<&str> {
    file.file_name()?.to_str()
}

/// Returns `true` if a launcher of this name may be one of these.
fn is_one(name: &str, launchers: &[&str]) -> bool {
    OF_ANY.contains(&name) || launchers.iter().any(|own| name.starts_with(own))
}
