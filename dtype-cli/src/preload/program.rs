//! The programs in a command, and the MPI library that each of them loads.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::Read,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use object::{Object, ObjectSymbol};

/// A program in a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The index of its word.
    pub(crate) at: usize,
    /// The path of its file.
    pub(crate) file: PathBuf,
    /// The files of MPI that it loads. The main one is the first.
    pub(crate) mpi: Vec<PathBuf>,
}

/// Returns the programs of a command that use MPI: the first one, and the first one after each `:`, which
/// separates programs in launchers' commands.
///
/// # Errors
/// If the command has no such program, or its MPI library cannot be found out.
pub(crate) fn programs(command: &[OsString]) -> Result<Vec<Program>> {
    let (mut found, mut others) = (Vec::new(), Vec::new());
    let mut is_found = false;
    for (at, word) in command.iter().enumerate() {
        if word == ":" {
            is_found = false;
        }
        let Some(file) = (if is_found { None } else { program_at(command, at) }) else { continue };
        let mpi = mpi_of(&file).with_context(|| word.display().to_string())?;
        if mpi.is_empty() {
            others.push(word.display().to_string());
        } else {
            is_found = true;
            found.push(Program { at, file, mpi });
        }
    }
    if found.is_empty()
        && let Some(word) = command.iter().find(|word| is_missing(word))
    {
        bail!("there is no file {}", word.display());
    }
    ensure!(
        !found.is_empty(),
        "no program of this command is linked with an MPI library{}. If a script starts the program, \
         `--program FILE` names the program, or the MPI library itself",
        if others.is_empty() { String::new() } else { format!(": not {}", others.join(", ")) }
    );
    Ok(found)
}

/// Returns `true` if a word looks like the path of a program or a script, but no such file exists.
fn is_missing(word: &OsStr) -> bool {
    let (path, bytes) = (Path::new(word), word.as_encoded_bytes());
    let is_path = [&b"/"[..], b"./", b"../"].iter().any(|start| bytes.starts_with(start));
    (is_path || bytes.ends_with(b".py")) && !path.exists()
}

/// Returns the first program of a command that is not the launcher.
pub(crate) fn first(command: &[OsString]) -> Option<(usize, PathBuf)> {
    let mut programs = (0..command.len()).filter_map(|at| Some((at, program_at(command, at)?)));
    let launcher = programs.next()?;
    Some(programs.next().unwrap_or(launcher))
}

/// Returns the file that a word of a command names as a program. After `-c`, a shell has a script of one
/// word.
fn program_at(command: &[OsString], at: usize) -> Option<PathBuf> {
    if at > 0 && command[at - 1] == "-c" { None } else { resolved(&command[at]) }
}

/// Returns the path of an executable file: as it is given, on the `PATH`, or in the current folder, where
/// launchers search, too.
fn resolved(word: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let given = Path::new(word);
    if given.components().count() > 1 || word.as_encoded_bytes().starts_with(b".") {
        return Some(given.to_owned()).filter(is_program);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join(given));
    on_path.chain([Path::new(".").join(given)]).find(is_program)
}

/// Returns the files of MPI that a program loads, the main one first. The list is empty if the program is not
/// linked with MPI.
///
/// # Errors
/// If the MPI library is linked statically or is not found, or an interpreter of Python has no mpi4py.
pub(crate) fn mpi_of(program: &Path) -> Result<Vec<PathBuf>> {
    if let Some(python) = python(program)? {
        return of_python(&python);
    }
    let bytes = fs::read(program).context("it cannot be read")?;
    let Ok(object) = object::File::parse(&*bytes) else { return Ok(Vec::new()) };
    let is_dynamic = object.dynamic_symbols().next().is_some();
    // The program may be an MPI library, of several files.
    let files = if is_dynamic { loaded(program)? } else { Vec::new() };
    let loaded = of_mpi([program.to_owned()].into_iter().chain(files));
    if loaded.is_empty() {
        let is_static =
            object.symbols().any(|symbol| symbol.name() == Ok("MPI_Init") && symbol.is_definition());
        ensure!(
            !is_static,
            "it contains MPI (it is linked statically), so nothing can be preloaded: link it with \
             `libdtype_mpi.a` before the MPI library"
        );
    }
    Ok(loaded)
}

/// Returns `true` if a file is an interpreter of Python, by its name: `python3.11`, `python3-dbg`. Names of
/// other programs may begin with the same word.
fn is_python(program: &Path) -> bool {
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
    let interpreter = words.map(|word| resolved(word.as_os_str()).unwrap_or_else(|| word.to_owned()));
    Ok(interpreter.into_iter().find(|word| is_python(word)))
}

/// Returns the files of MPI that mpi4py loads in an interpreter of Python.
fn of_python(python: &Path) -> Result<Vec<PathBuf>> {
    /// Imports mpi4py without initializing MPI, and prints the loaded files.
    const SCRIPT: &str = "
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
for line in open('/proc/self/maps'):
    if '/' in line:
        print(line[line.index('/'):].rstrip())
";
    let output = Command::new(python).args(["-c", SCRIPT]).output().context("it cannot be started")?;
    if !output.status.success() {
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        let reason = printed.lines().next_back().unwrap_or("it fails").to_owned();
        bail!("this Python cannot import mpi4py: {reason}");
    }
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(of_mpi(printed.lines().map(PathBuf::from)))
}

/// Returns the files that the dynamic linker loads with a program.
fn loaded(program: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("ldd").arg(program).output().context("ldd cannot be started")?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    linked(&printed)
}

/// Reads the files from the output of `ldd`.
fn linked(printed: &str) -> Result<Vec<PathBuf>> {
    let lines = printed.lines().filter_map(|line| line.trim().split_once(" => "));
    let mut files = Vec::new();
    for (name, file) in lines {
        ensure!(
            !(file.starts_with("not found") && is_main(Path::new(name))),
            "{name}, which it is linked with, is not found: LD_LIBRARY_PATH must contain its folder"
        );
        files.push(PathBuf::from(file.rsplit_once(" (0x").map_or(file, |(file, _)| file)));
    }
    Ok(files)
}

/// Returns the files of MPI among others, each once, the main one first.
fn of_mpi(files: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for file in files {
        let is_part = name_of(&file).starts_with("libmpi") || name_of(&file).starts_with("libpmpi");
        if is_part && !found.contains(&file) {
            found.push(file);
        }
    }
    let Some(main) = found.iter().position(|file| is_main(file)) else { return Vec::new() };
    found.swap(0, main);
    found
}

/// Returns `true` if a file is the library of MPI's C functions, by its name: `libmpi.so.40`,
/// `libmpich.so.12`, `libmpi_abi.so.1`, `libmpi_cray.so.12`. The other `libmpi…` are bindings of other
/// languages.
fn is_main(file: &Path) -> bool {
    const BINDINGS: [&str; 7] =
        ["mpifort", "mpichf", "mpi_mpifh", "mpi_usempi", "mpicxx", "mpichcxx", "mpi_cxx"];
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
        let other = linked("\tlibc.so.6 => /lib/libc.so.6 (0x00007f)\n").unwrap();
        assert!(of_mpi(other.into_iter()).is_empty());
    }
}
