//! Starting programs under `mpiexec`.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The environment variable that names the `mpiexec` to use; `mpiexec` on the path otherwise.
pub const MPIEXEC: &str = "DTYPE_MPIEXEC";

/// What makes Open MPI run as root and with more ranks than cores. Other libraries do so by themselves and
/// ignore these variables; all libraries hand them on to the ranks.
const PERMISSIONS: [(&str, &str); 6] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    // Containers often forbid reading another process's memory; without this Open MPI warns about it.
    ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
];

/// The `mpiexec` to use, as the environment says.
pub fn mpiexec() -> OsString {
    env::var_os(MPIEXEC).unwrap_or_else(|| "mpiexec".into())
}

/// `mpiexec -n ranks program`, ready for arguments: runs as root and with more ranks than cores.
pub fn on_ranks(mpiexec: impl AsRef<OsStr>, ranks: usize, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(mpiexec);
    command.arg("-n").arg(ranks.to_string()).arg(program).envs(PERMISSIONS);
    command
}

/// Where mpi4py and numpy are, as `cargo xtask test` says it to tests.
///
/// # Errors
/// Where nobody has said it.
pub fn mpi4py() -> io::Result<OsString> {
    env::var_os(MPI4PY).ok_or_else(|| io::Error::other("DTYPE_MPI4PY: where mpi4py is"))
}

/// The environment variable of [`mpi4py`].
pub const MPI4PY: &str = "DTYPE_MPI4PY";

/// The environment in which Python finds mpi4py, which is in a folder of its own, and mpi4py the MPI library
/// of this compiler wrapper. Files that it needs for that go to `folder`.
///
/// # Errors
/// Where the compiler cannot be asked, or a file not be made.
pub fn python(mpicc: &str, mpi4py: OsString, folder: &Path) -> io::Result<Vec<(&'static str, OsString)>> {
    // Only Open MPI's compiler says its version so.
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

/// A library under a name that `LD_PRELOAD` can have: that ends at spaces and colons, and so a link stands
/// for a path with one, in the folder for temporary files.
///
/// # Errors
/// Where it cannot be made.
pub fn preloaded(library: &Path) -> io::Result<PathBuf> {
    let ends = |path: &Path| path.to_string_lossy().contains([' ', ':']);
    if !ends(library) {
        return Ok(library.to_owned());
    }
    let mut hasher = DefaultHasher::new();
    library.hash(&mut hasher);
    let folder = env::temp_dir().join(format!("dtype-{:016x}", hasher.finish()));
    fs::create_dir_all(&folder)?;
    let link = folder.join(library.file_name().unwrap_or_default());
    if ends(&link) {
        return Err(io::Error::other("LD_PRELOAD ends at spaces and colons, and TMPDIR has one as well"));
    }
    let is_there = fs::read_link(&link).is_ok_and(|target| target == library);
    if !is_there {
        std::os::unix::fs::symlink(library, &link)?;
    }
    Ok(link)
}

/// What a finished program left behind.
#[derive(Debug)]
pub struct Finished {
    /// How it ended; none if it ran out of time and was stopped.
    pub status: Option<ExitStatus>,
    /// Its standard output and standard error.
    pub output: String,
}

/// Runs a command to its end, or for `limit` at most: a rank that waits for a message that never comes must
/// not hang the tests.
///
/// # Errors
/// Where the command cannot be started.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Finished> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let read = |pipe: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                // What could be read before an error is what there is to show.
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
