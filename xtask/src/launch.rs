//! Starting programs under `mpiexec`.

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, Read},
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
