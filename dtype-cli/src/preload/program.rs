//! The files of MPI that a program loads.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use object::{Object, ObjectSymbol};

use super::rust;

/// The files that a program loads.
#[derive(Clone, Default)]
pub(crate) struct Loaded {
    /// The files of MPI. The main one is the first. The list is empty if the program is not linked with MPI.
    pub(crate) mpi: Vec<PathBuf>,
    /// `true` if mpi4py loads MPI in an interpreter of Python.
    pub(crate) by_python: bool,
    /// The library of AddressSanitizer, which must be preloaded before all others.
    pub(crate) sanitizer: Option<PathBuf>,
}

impl Loaded {
    /// Returns the files that a program loads if these variables are set, and this launcher starts it.
    ///
    /// # Errors
    /// If the program cannot be read, the MPI library is linked statically or is not found, or an interpreter
    /// of Python has no mpi4py.
    pub(crate) fn by(
        program: &Path,
        variables: &[(OsString, OsString)],
        launcher: Option<&Path>,
    ) -> Result<Self> {
        if let Some(python) = python(program)? {
            return of_python(&python, variables);
        }
        let bytes = fs::read(program).context("it cannot be read")?;
        let Ok(object) = object::File::parse(&*bytes) else { return Ok(Self::default()) };
        let is_dynamic = object.dynamic_symbols().next().is_some();
        let files = if is_dynamic { linked_with(program, variables)? } else { Vec::new() };
        let sanitizer = files.iter().find(|file| name_of(file).starts_with("libasan.so")).cloned();
        // The program may be an MPI library, of several files.
        let mut mpi = of_mpi([program.to_owned()].into_iter().chain(files));
        if mpi.is_empty() && rust::takes_what_is_there(&object) {
            let library = rust::library(variables, launcher);
            mpi.push(
                library.context("the MPI library of its launcher was not found: name it in MPI_LIBRARY")?,
            );
        }
        if mpi.is_empty() {
            let is_static =
                object.symbols().any(|symbol| symbol.name() == Ok("MPI_Init") && symbol.is_definition());
            ensure!(
                !is_static,
                "it contains MPI (it is linked statically), so nothing can be preloaded: link it with the \
                 shared library of MPI"
            );
        }
        Ok(Self { mpi, by_python: false, sanitizer })
    }
}

/// Returns `true` if a file is an interpreter of Python, by its name: `python3.11`, `python3-dbg`. Names of
/// other programs may begin with the same word.
pub(super) fn is_python(program: &Path) -> bool {
    let name = name_of(program);
    let version = name.strip_prefix("python").map(|rest| rest.strip_suffix("-dbg").unwrap_or(rest));
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Returns the interpreter if a file is one of Python, or a script for one.
fn python(program: &Path) -> Result<Option<PathBuf>> {
    if is_python(program) {
        return Ok(Some(program.to_owned()));
    }
    let mut front = [0; 256];
    let length =
        File::open(program).and_then(|mut file| file.read(&mut front)).context("it cannot be read")?;
    let front = String::from_utf8_lossy(&front[..length]).into_owned();
    let Some(line) = front.strip_prefix("#!").and_then(|front| front.lines().next()) else { return Ok(None) };
    let words = line.split_whitespace().map(Path::new);
    let Some(word) = words.into_iter().find(|word| is_python(word)) else { return Ok(None) };
    // `env` searches the path.
    let found = on_path(word.as_os_str()).into_iter().find(|file| file.exists());
    Ok(Some(found.unwrap_or_else(|| word.to_owned())))
}

/// Returns the paths that a name may have on the `PATH`.
pub(super) fn on_path(name: &OsStr) -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|folder| folder.join(name)).collect()
}

/// Returns the files that mpi4py loads in an interpreter of Python.
fn of_python(python: &Path, variables: &[(OsString, OsString)]) -> Result<Loaded> {
    /// Imports mpi4py without initializing MPI, and prints the loaded files.
    const SCRIPT: &str = "
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
for line in open('/proc/self/maps'):
    if '/' in line:
        print(line[line.index('/'):].rstrip())
";
    let mut import = Command::new(python);
    import.args(["-c", SCRIPT]).envs(variables.iter().cloned());
    let output = import.output().context("it cannot be started")?;
    if !output.status.success() {
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        let reason = printed.lines().next_back().unwrap_or("it fails").to_owned();
        bail!("this Python cannot import mpi4py: {reason}");
    }
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(Loaded { mpi: of_mpi(printed.lines().map(PathBuf::from)), by_python: true, sanitizer: None })
}

/// Returns the files that the dynamic linker loads with a program.
fn linked_with(program: &Path, variables: &[(OsString, OsString)]) -> Result<Vec<PathBuf>> {
    let mut ldd = Command::new("ldd");
    ldd.arg(program).envs(variables.iter().filter(|(name, _)| name != "LD_PRELOAD").cloned());
    let output = ldd.output().context("ldd cannot be started")?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    linked(&printed)
}

/// Reads the files from the output of `ldd`, in the order of their loading. A file that is linked by its path
/// has no ` => `.
fn linked(printed: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for line in printed.lines() {
        let (name, file) = line.trim().split_once(" => ").unwrap_or((line.trim(), line.trim()));
        ensure!(
            !(file.starts_with("not found") && is_main(Path::new(name))),
            "{name}, which it is linked with, is not found: LD_LIBRARY_PATH must contain its folder"
        );
        files.push(PathBuf::from(file.rsplit_once(" (0x").map_or(file, |(file, _)| file)));
    }
    Ok(files)
}

/// Returns the files of MPI among others, each once, the main one first. If there are several main ones, the
/// first defines the functions that the program calls.
fn of_mpi(files: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for file in files {
        let is_part = name_of(&file).starts_with("libmpi") || name_of(&file).starts_with("libpmpi");
        if is_part && !found.contains(&file) {
            found.push(file);
        }
    }
    let Some(main) = found.iter().find(|file| is_main(file)).cloned() else { return Vec::new() };
    let parts = found.into_iter().filter(|file| !is_main(file));
    [main].into_iter().chain(parts).collect()
}

/// Returns `true` if a file is the library of MPI's C functions, by its name: `libmpi.so.40`,
/// `libmpich.so.12`, `libmpi_abi.so.1`, `libmpi_cray.so.12`. The other `libmpi…` are bindings of other
/// languages.
fn is_main(file: &Path) -> bool {
    // The last two are Intel MPI's: a binding with integers of 64 bits, and a part for shared memory.
    const BINDINGS: [&str; 9] = [
        "mpifort",
        "mpichf",
        "mpi_mpifh",
        "mpi_usempi",
        "mpicxx",
        "mpichcxx",
        "mpi_cxx",
        "mpi_ilp64",
        "mpi_shm",
    ];
    let name = name_of(file);
    let Some((stem, _)) = name.split_once(".so") else { return false };
    let Some(stem) = stem.strip_prefix("lib") else { return false };
    (stem == "mpi" || stem == "mpich" || stem.starts_with("mpi_"))
        && !BINDINGS.iter().any(|binding| stem.starts_with(binding))
}

fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{is_main, is_python, linked, of_mpi};

    #[test]
    fn a_program_that_is_named_after_python_is_not_taken_for_it() {
        for name in ["python", "python3", "/usr/bin/python3.11", "python3-dbg"] {
            assert!(is_python(Path::new(name)), "{name}");
        }
        for name in ["python_solver", "pythons", "python3-config", "ipython", "python.sh"] {
            assert!(!is_python(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn the_library_of_the_c_functions_is_known_by_its_name() {
        for name in ["libmpi.so.40", "libmpich.so.12", "libmpi_abi.so.1", "libmpi_gnu_123.so.12", "libmpi.so"]
        {
            assert!(is_main(Path::new(name)), "{name}");
        }
        for name in [
            "libmpifort.so.12",
            "libmpichfort.so.12",
            "libmpi_mpifh.so.40",
            "libmpi_usempif08.so.40",
            "libmpicxx.so.12",
            "libmpichcxx.so.12",
            "libmpi_cxx.so.40",
            "libmpi_ilp64.so.4",
            "libmpi_shm_heap_proxy.so",
            "libmpfr.so.6",
            "libpmpi.so.12",
        ] {
            assert!(!is_main(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn the_main_library_comes_first_and_a_missing_one_is_named() {
        let printed = "\tlinux-vdso.so.1 (0x00007ffd)\n\
            \tlibmpi_mpifh.so.40 => /opt/my mpi/lib/libmpi_mpifh.so.40 (0x00007f)\n\
            \tlibmpi.so.40 => /opt/my mpi/lib/libmpi.so.40 (0x00007f)\n\
            \tlibc.so.6 => /lib/libc.so.6 (0x00007f)\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let paths = ["/opt/my mpi/lib/libmpi.so.40", "/opt/my mpi/lib/libmpi_mpifh.so.40"].map(PathBuf::from);
        assert_eq!(of_mpi(linked(printed).unwrap().into_iter()), paths);
        let error = linked("\tlibmpi.so.40 => not found\n").unwrap_err().to_string();
        assert!(error.contains("libmpi.so.40") && error.contains("LD_LIBRARY_PATH"), "{error}");
        let twice =
            "\t/opt/one/lib/libmpi.so.40 (0x00007f)\n\tlibmpich.so.12 => /lib/libmpich.so.12 (0x00007f)\n";
        assert_eq!(of_mpi(linked(twice).unwrap().into_iter()), [PathBuf::from("/opt/one/lib/libmpi.so.40")]);
        let other = linked("\tlibc.so.6 => /lib/libc.so.6 (0x00007f)\n").unwrap();
        assert!(of_mpi(other.into_iter()).is_empty());
    }
}
