//! The preloaded libraries: one file for each MPI library whose handles differ.

use std::{
    collections::HashSet,
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

/// A preloaded library, and the MPI libraries that it serves.
struct Preloaded {
    /// The name of the file is `libdtype_mpi-NAME.so`.
    name: &'static str,
    family: Family,
    /// The MPI libraries that it serves, for messages.
    serves: &'static str,
    /// A function that the MPI library must define.
    defines: &'static str,
    /// The value of `cargo xtask interpose --mpi`, which builds it.
    built_by: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    OpenMpi,
    Mpich,
    Abi,
}

/// All preloaded libraries. The first one that serves an MPI library is chosen.
const ALL: [Preloaded; 5] = [
    Preloaded {
        name: "openmpi-5",
        family: Family::OpenMpi,
        serves: "Open MPI 5",
        defines: "MPI_Session_init",
        built_by: "newest",
    },
    Preloaded {
        name: "openmpi-4",
        family: Family::OpenMpi,
        serves: "Open MPI 4",
        defines: "MPI_Init",
        built_by: "openmpi",
    },
    // MPI 4.1. MPICH 4.0 defines the persistent collective calls, but they do not work there.
    Preloaded {
        name: "mpich-5",
        family: Family::Mpich,
        serves: "MPICH 4.1 and newer, Intel MPI 2021.19",
        defines: "MPI_Request_get_status_any",
        built_by: "newest",
    },
    Preloaded {
        name: "mpich-4",
        family: Family::Mpich,
        serves: "MPICH 4.0 and libraries with its ABI, such as Intel MPI",
        defines: "MPI_Init",
        built_by: "mpich",
    },
    Preloaded {
        name: "abi",
        family: Family::Abi,
        serves: "libraries with the ABI of MPI 5, such as `libmpi_abi.so.1` of MPICH and Intel MPI",
        defines: "MPI_Init",
        built_by: "abi",
    },
];

/// The preloaded library for an MPI library.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) file: PathBuf,
    /// The sentence to print if the one that fits best is not there.
    pub(crate) note: Option<String>,
}

/// Returns the preloaded library for an MPI library. `mpi` has the files of that library which a program
/// loads; the first one is the main one.
///
/// # Errors
/// If the MPI library is not a supported one, is too old, or its preloaded library is not in the folder.
pub(crate) fn for_mpi(mpi: &[PathBuf], folder: &Path) -> Result<Chosen> {
    let main = mpi.first().context("no file of MPI is loaded")?;
    let mut defined = HashSet::new();
    for file in mpi {
        defined.extend(symbols(file, |symbol| symbol.is_definition())?);
    }
    let family = family(main, &defined)?;
    let serves = |of: &&Preloaded| of.family == family && defined.contains(of.defines);
    let best = ALL.iter().find(serves);
    let best = best.with_context(|| format!("{} does not define MPI_Init", main.display()))?;
    let file_of = |of: &Preloaded| folder.join(format!("libdtype_mpi-{}.so", of.name));
    // The library for an older MPICH intercepts fewer functions, but those that both have are the same.
    let others = ALL.iter().filter(|of| family == Family::Mpich && serves(of));
    let chosen = [best].into_iter().chain(others).find(|of| file_of(of).exists());
    let Some(chosen) = chosen else {
        bail!(
            "{} (for {}) is not there: `--libraries FOLDER` names the folder of the preloaded libraries. The \
             Python package `dtype-mpi` has them; in a checkout, `cargo xtask interpose --mpi {}` builds \
             this one",
            file_of(best).display(),
            best.serves,
            best.built_by
        );
    };
    let file = file_of(chosen);
    let note = (chosen.name != best.name).then(|| {
        format!(
            "{} is not there, so {} is preloaded: it leaves alone the functions that only newer versions \
             have",
            file_of(best).display(),
            file_of(chosen).file_name().unwrap_or_default().display()
        )
    });
    let needed = symbols(&file, |symbol| symbol.is_undefined() && !symbol.is_weak())?;
    let missing = needed.into_iter().find(|name| is_of_mpi(name) && !defined.contains(name));
    if let Some(name) = missing {
        bail!(
            "{} has an older ABI than the preloaded library, which needs {name}: a newer version of that MPI \
             library has it",
            main.display()
        );
    }
    Ok(Chosen { file, note })
}

/// Returns the family of an MPI library.
fn family(main: &Path, defined: &HashSet<String>) -> Result<Family> {
    let name = soname(main)?;
    if name.starts_with(ABI) {
        return Ok(Family::Abi);
    }
    if defined.contains(OPEN_MPI) {
        return Ok(Family::OpenMpi);
    }
    ensure!(
        name.contains(MPICH),
        "{} (`{name}`) is neither Open MPI, nor has it the ABI of MPICH (`libmpi.so.12`, as Intel MPI has) \
         or \
         of MPI 5 (`{ABI}`)",
        main.display()
    );
    Ok(Family::Mpich)
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

/// Returns the names of dynamic symbols of a file, without versions.
fn symbols(path: &Path, is_wanted: impl Fn(&object::Symbol<'_, '_>) -> bool) -> Result<Vec<String>> {
    let name = || path.display().to_string();
    let bytes = fs::read(path).with_context(name)?;
    let object = File::parse(&*bytes).with_context(name)?;
    let wanted = object.dynamic_symbols().filter(|symbol| is_wanted(symbol));
    Ok(wanted.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect())
}

/// Returns `true` if an MPI library defines this symbol, by its name.
fn is_of_mpi(name: &str) -> bool {
    ["MPI_", "PMPI_", "MPIX_", "MPIR_", "ompi_"].iter().any(|front| name.starts_with(front))
}
