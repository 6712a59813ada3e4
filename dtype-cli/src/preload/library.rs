//! The preloaded libraries: one file for each binary interface of MPI.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use object::{
    File, Object, ObjectSymbol, elf,
    read::elf::{ElfFile, FileHeader},
};

/// The name by which programs load a library of the ABI of MPI 5 (MPI 5.0 section 20.2), without its number.
const ABI: &str = "libmpi_abi.so";

/// A symbol that only Open MPI defines.
const OPEN_MPI: &str = "ompi_mpi_comm_world";

/// The number that ends the names of libraries with MPICH's ABI: `libmpi.so.12`. Intel MPI, MVAPICH and Cray
/// MPICH have it, too.
const MPICH: &str = ".so.12";

/// Returns the preloaded library for an MPI library. `mpi` has the files of that library which a program
/// loads; the first one is the main one.
///
/// # Errors
/// If the MPI library is not a supported one, or its preloaded library is not in the folder.
pub(crate) fn for_mpi(mpi: &[PathBuf], folder: &Path) -> Result<PathBuf> {
    let main = mpi.first().context("no file of MPI is loaded")?;
    let file = folder.join(format!("libdtype_mpi-{}.so", abi(main, mpi)?));
    if !file.exists() {
        bail!(
            "{} is not there: `--libraries FOLDER` names the folder of the preloaded libraries. The Python \
             package `dtype-mpi` has them; in a checkout, `cargo xtask interpose` builds them",
            file.display()
        );
    }
    Ok(file)
}

/// Returns the binary interface of an MPI library, as its preloaded library is named.
fn abi(main: &Path, all: &[PathBuf]) -> Result<&'static str> {
    let name = soname(main)?;
    if name.starts_with(ABI) {
        return Ok("abi");
    }
    for file in all {
        if defines(file, OPEN_MPI)? {
            return Ok("openmpi");
        }
    }
    ensure!(
        name.contains(MPICH),
        "{} (`{name}`) is neither Open MPI, nor has it the ABI of MPICH (`libmpi.so.12`, as Intel MPI has) \
         or of MPI 5 (`{ABI}`)",
        main.display()
    );
    Ok("mpich")
}

/// Returns the name by which programs load a library, its `SONAME`, or else that of its file. Copies of a
/// library may have other names: Intel MPI's `libmpi.so` is a copy of `libmpi.so.12`.
fn soname(path: &Path) -> Result<String> {
    let name = || path.display().to_string();
    let bytes = fs::read(path).with_context(name)?;
    let own = match File::parse(&*bytes).with_context(name)? {
        File::Elf32(file) => own_name(&file),
        File::Elf64(file) => own_name(&file),
        _ => None,
    };
    Ok(own.unwrap_or_else(|| path.file_name().unwrap_or_default().to_string_lossy().into_owned()))
}

fn own_name<E: FileHeader>(file: &ElfFile<'_, E>) -> Option<String> {
    let table = file.elf_dynamic_table().ok()?;
    let own = table.iter().find(|entry| entry.tag == elf::DT_SONAME)?;
    Some(String::from_utf8_lossy(table.string(own).ok()?).into_owned())
}

/// Returns `true` if a file defines a dynamic symbol.
fn defines(path: &Path, symbol: &str) -> Result<bool> {
    let name = || path.display().to_string();
    let bytes = fs::read(path).with_context(name)?;
    let object = File::parse(&*bytes).with_context(name)?;
    Ok(object.dynamic_symbols().any(|of| of.is_definition() && of.name() == Ok(symbol)))
}
