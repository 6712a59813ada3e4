//! Starting programs under `mpiexec`.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::{Condvar, LazyLock, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The environment variable that names the `mpiexec` to use. If it is not set, `mpiexec` on the path is used.
pub const MPIEXEC: &str = "DTYPE_MPIEXEC";

/// The environment variables by which Open MPI runs as root and with more ranks than cores. Other libraries
/// need no variables for this. All libraries pass the variables on to the ranks.
const PERMISSIONS: [(&str, &str); 6] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    // Containers often forbid reading another process's memory; without this setting, Open MPI prints a
    // warning.
    ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
];

/// Returns the `mpiexec` to use, as the environment says.
pub fn mpiexec() -> OsString {
    env::var_os(MPIEXEC).unwrap_or_else(|| "mpiexec".into())
}

/// The environment variable that names a library to preload, by which ranks of MPICH leave their core to
/// others while they wait. Open MPI has a setting for this. Without it, three ranks on two cores take up to
/// ten times as long.
pub const YIELD: &str = "DTYPE_YIELD";

/// Returns the command `mpiexec -n ranks program`, ready for arguments. It runs as root and with more ranks
/// than cores.
pub fn on_ranks(mpiexec: impl AsRef<OsStr>, ranks: usize, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(mpiexec);
    command.arg("-n").arg(ranks.to_string()).arg(program).envs(PERMISSIONS);
    // Open MPI loads UCX for itself alone, where the preloaded library would not find it.
    if let Some(library) = env::var_os(YIELD).filter(|_| matches!(library(), "mpich" | "abi")) {
        command.env("LD_PRELOAD", library);
    }
    command
}

/// Runs `cargo build` for a package. In a run of `cargo xtask test` the features are those of the step, so
/// what it has compiled is not compiled once more.
///
/// # Errors
/// If cargo could not be started, or failed: what it printed.
pub fn build(package: &str, options: &[&str]) -> io::Result<()> {
    let selection = env::var(SELECTION).unwrap_or_else(|_| format!("--package={package}"));
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet"]).args(selection.split_whitespace()).args(options);
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output()?;
    if output.status.success() {
        Ok(())
    } else {
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr)))
    }
}

/// Returns the options of cargo by which the preloaded library is built for a binary interface of MPI.
pub fn for_abi(abi: &str) -> Vec<String> {
    // Without a feature, it is for Open MPI.
    let feature = Some(abi).filter(|abi| *abi != "openmpi");
    feature.map(|abi| format!("--features=dtype-interpose/{abi}")).into_iter().collect()
}

/// Returns the compiler of the MPI library for programs in C.
pub fn mpicc() -> String {
    env::var("MPICC").unwrap_or_else(|_| "mpicc".into())
}

/// Returns the folder in a temporary one for what is made for the MPI library of this compiler, and makes it.
///
/// # Errors
/// If it cannot be made.
pub fn folder(temporary: &str) -> io::Result<PathBuf> {
    let folder = Path::new(temporary).join(mpicc().replace('/', "-"));
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The environment variable that names the MPI library: `openmpi`, `mpich`, `intel`, or `abi`.
pub const LIBRARY: &str = "DTYPE_MPI";

/// Returns the name of the MPI library. If the environment does not name it, the launcher is asked.
fn library() -> &'static str {
    static NAME: LazyLock<String> = LazyLock::new(|| {
        if let Ok(name) = env::var(LIBRARY) {
            return name;
        }
        let output = Command::new(mpiexec()).arg("--version").output();
        let answer = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let answer = answer.unwrap_or_default();
        let signs = [("HYDRA", "mpich"), ("Intel(R) MPI", "intel")];
        let found = signs.into_iter().find(|(sign, _)| answer.contains(sign));
        found.map_or("openmpi", |(_, name)| name).to_owned()
    });
    &NAME
}

/// Returns the binary interface of the MPI library, as the preloaded library for it is named.
pub fn abi() -> &'static str {
    abi_of(library())
}

/// Returns the binary interface of an MPI library of this name, as [`abi`].
pub fn abi_of(library: &str) -> &'static str {
    match library {
        "openmpi" => "openmpi",
        "abi" => "abi",
        _ => "mpich",
    }
}

/// The environment variable that has the packages and features of a step, as options of cargo.
pub const SELECTION: &str = "DTYPE_SELECTION";

/// The environment variable that is `1` if tests take a sample of their cases.
pub const BRIEF: &str = "DTYPE_BRIEF";

/// Returns `true` if tests take a sample of their cases.
pub fn is_brief() -> bool {
    env::var_os(BRIEF).is_some_and(|value| value == "1")
}

/// Returns all cases. In a brief run, returns one case: the last on Open MPI, and the one before the last on
/// MPICH.
pub fn sample<T>(cases: &[T]) -> &[T] {
    if !is_brief() || cases.is_empty() {
        return cases;
    }
    let i = cases.len().saturating_sub(1 + usize::from(is_mpich()));
    &cases[i..=i]
}

/// Returns `false` if gfortran cannot read the modules `mpi` and `mpi_f08`: those in Intel's wheel are for
/// another compiler. Such a library has `mpif.h` only.
pub fn has_fortran_modules() -> bool {
    env::var_os("I_MPI_ROOT").is_none()
}

/// Returns all numbers of ranks, which ascend, if `DTYPE_LONG` is set. Otherwise returns those up to 2 on
/// MPICH, whose ranks keep their cores busy while they wait, and those from 3 on with Open MPI. In a brief
/// run, returns the last one of these. If there is none, returns the number that is nearest.
pub fn numbers_of_ranks(all: &[usize]) -> &[usize] {
    if env::var_os("DTYPE_LONG").is_some() || all.is_empty() {
        return all;
    }
    let few = all.partition_point(|ranks| *ranks <= 2);
    let chosen = if is_mpich() { &all[..few.max(1)] } else { &all[few.min(all.len() - 1)..] };
    if is_brief() { &chosen[chosen.len() - 1..] } else { chosen }
}

/// Returns `true` if the library is MPICH, or descends from it: its ranks keep their cores busy while they
/// wait.
pub fn is_mpich() -> bool {
    library() != "openmpi"
}

/// Returns the folder of mpi4py and numpy, which `cargo xtask test` passes to the tests.
///
/// # Errors
/// If the environment variable is not set.
pub fn mpi4py() -> io::Result<OsString> {
    env::var_os(MPI4PY).ok_or_else(|| io::Error::other("DTYPE_MPI4PY: where mpi4py is"))
}

/// The environment variable of [`mpi4py`].
pub const MPI4PY: &str = "DTYPE_MPI4PY";

/// Returns the environment in which Python finds mpi4py, and mpi4py finds the MPI library of this compiler
/// wrapper. A link that MPICH needs for this is made in `folder`.
///
/// # Errors
/// If the compiler wrapper does not run, or the link cannot be made.
pub fn python(mpicc: &str, mpi4py: OsString, folder: &Path) -> io::Result<Vec<(&'static str, OsString)>> {
    // Only the compiler wrapper of Open MPI accepts this option.
    if Command::new(mpicc).arg("--showme:version").output()?.status.success() {
        return Ok(vec![("PYTHONPATH", mpi4py), ("MPI4PY_MPIABI", "openmpi".into())]);
    }
    // Debian has MPICH under another name than mpi4py looks for.
    let link = String::from_utf8_lossy(&Command::new(mpicc).arg("-show").output()?.stdout).into_owned();
    let folders: Vec<_> = link.split_whitespace().filter_map(|word| word.strip_prefix("-L")).collect();
    let debian = folders.iter().map(|folder| Path::new(folder).join("libmpich.so.12"));
    let name = folder.join("libmpi.so.12");
    if let Some(debian) = debian.into_iter().find(|path| path.exists() && !name.exists()) {
        std::os::unix::fs::symlink(debian, name)?;
    }
    let known = env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let path = format!("{}:{}:{known}", folder.display(), folders.join(":"));
    Ok(vec![("PYTHONPATH", mpi4py), ("MPI4PY_MPIABI", "mpich".into()), ("LD_LIBRARY_PATH", path.into())])
}

/// Returns a path of a file or folder without spaces and colons, by which `LD_PRELOAD` separates paths, and
/// compilers of MPI libraries their options. A path that has one gets a link in the folder for temporary
/// files.
///
/// # Errors
/// If the link cannot be made.
pub fn without_spaces(path: &Path) -> io::Result<PathBuf> {
    let ends = |path: &Path| path.to_string_lossy().contains([' ', ':']);
    if !ends(path) {
        return Ok(path.to_owned());
    }
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    let folder = env::temp_dir().join(format!("dtype-{:016x}", hasher.finish()));
    fs::create_dir_all(&folder)?;
    let link = folder.join(path.file_name().unwrap_or_default());
    if ends(&link) {
        return Err(io::Error::other("this path has a space or a colon, and TMPDIR has one as well"));
    }
    let is_there = || fs::read_link(&link).is_ok_and(|target| target == path);
    if !is_there() {
        // Another process may make the same link at the same time.
        let made = std::os::unix::fs::symlink(path, &link);
        made.or_else(|error| if is_there() { Ok(()) } else { Err(error) })?;
    }
    Ok(link)
}

/// The outcome of a program.
#[derive(Debug)]
pub struct Finished {
    /// The exit status; `None` if the program ran out of time and was stopped.
    pub status: Option<ExitStatus>,
    /// The standard output, followed by the standard error.
    pub output: String,
}

/// The cores that launched ranks share. Too many ranks at a time slow each other down until they seem to
/// hang.
struct Cores {
    all: usize,
    free: Mutex<usize>,
    given_back: Condvar,
}

static CORES: LazyLock<Cores> = LazyLock::new(|| {
    let all = thread::available_parallelism().map_or(1, usize::from);
    Cores { all, free: Mutex::new(all), given_back: Condvar::new() }
});

/// A number of cores that a launch reserves until the permit is dropped.
struct Permit(usize);

impl Permit {
    /// Waits for a core for each rank, or for all cores if there are fewer.
    fn of(ranks: usize) -> Self {
        let wanted = ranks.min(CORES.all);
        let free = CORES.free.lock().unwrap_or_else(PoisonError::into_inner);
        let free = CORES.given_back.wait_while(free, |free| *free < wanted);
        *free.unwrap_or_else(PoisonError::into_inner) -= wanted;
        Self(wanted)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *CORES.free.lock().unwrap_or_else(PoisonError::into_inner) += self.0;
        CORES.given_back.notify_all();
    }
}

/// Returns the number of ranks that a command of [`on_ranks`] starts, or 1 for any other command.
fn ranks_of(command: &Command) -> usize {
    let mut arguments = command.get_args().skip_while(|argument| *argument != "-n").skip(1);
    arguments.next().and_then(|number| number.to_str()?.parse().ok()).unwrap_or(1)
}

/// Runs a command to its end, or for `limit` at most: a rank that waits for a message that never comes must
/// not hang the tests. First waits until enough cores are free for its ranks.
///
/// # Errors
/// If the command cannot be started.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Finished> {
    let _permit = Permit::of(ranks_of(command));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let read = |pipe: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                // After an error, the bytes read so far are shown.
                let _ = pipe.read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let output = read(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let errors = read(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let started = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if started.elapsed() > limit => {
                child.kill()?;
                child.wait()?;
                break None;
            }
            None => thread::sleep(Duration::from_millis(10)),
        }
    };
    let text = |reader: thread::JoinHandle<String>| reader.join().unwrap_or_default();
    Ok(Finished { status, output: text(output) + &text(errors) })
}
