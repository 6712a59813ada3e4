//! Whether all ranks have preloaded this library.
//!
//! Where a library does not take a struct without gaps for one block, packed bytes of it travel as
//! `MPI_PACKED`, and MPICH 4 cannot receive that into the struct. So all ranks have to know that all do the
//! same, without a call that a rank which does not take part would wait for: before `MPI_Init` each rank
//! takes a name, an abstract address of a socket, and `MPI_Init` returns when all are in it. If then all
//! names are taken, all ranks are here. On several nodes the user has to say so. A rank that receives some
//! messages otherwise takes none, and ranks of which the user wants different calls have different names.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    os::{
        linux::net::SocketAddrExt,
        raw::c_int,
        unix::net::{SocketAddr, UnixDatagram},
    },
    process,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use mpi::ffi::{self, MPI_Comm, MPI_Group};

use crate::{
    lock::lock,
    mode,
    table::{self, Role},
    tools::{self, Callers},
};

/// The name that this rank has taken, from `MPI_Init` to `MPI_Finalize`.
static NAME: Mutex<Option<(Job, UnixDatagram)>> = Mutex::new(None);

/// Set before `MPI_Init` if this rank receives all messages by calls that are intercepted. The others go by
/// the name that it then takes.
static RECEIVES_ALL: AtomicBool = AtomicBool::new(false);

/// What was found after `MPI_Init`.
static ALL: OnceLock<bool> = OnceLock::new();

/// Whether there are communicators with processes of another `MPI_COMM_WORLD`.
static MERGED: AtomicBool = AtomicBool::new(false);

/// What the ranks of a job on this node have in common.
struct Job {
    token: String,
    rank: c_int,
}

impl Job {
    /// As the launcher tells it.
    fn find(callers: &Callers) -> Option<Self> {
        if env::var_os("PMI_SPAWNED").is_some_and(|spawned| spawned != "0") {
            return None;
        }
        let rank = mode::launched_rank()?;
        let token = match (env::var("SLURM_JOB_ID"), env::var("SLURM_STEP_ID")) {
            (Ok(job), Ok(step)) => format!("slurm-{job}-{step}"),
            _ => launcher()?,
        };
        let token = format!("{token}-{:x}", calls(callers));
        Some(Self { token, rank })
    }

    fn address(&self, rank: c_int) -> Option<SocketAddr> {
        SocketAddr::from_abstract_name(format!("dtype-mpi/{}/{rank}", self.token)).ok()
    }
}

/// The process that has started the ranks of this node: its number and when it began.
fn launcher() -> Option<String> {
    const LAUNCHERS: [&str; 4] = ["hydra_", "mpiexec", "orted", "prte"];
    let mut process = process::id();
    // Scripts and tools may stand between.
    for _ in 0..16 {
        let status = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name of the program is in parentheses, and may have any letters.
        let (name, rest) = status.split_once('(')?.1.rsplit_once(')')?;
        let mut numbers = rest.split_whitespace();
        let (parent, began) = (numbers.nth(1)?.parse().ok()?, numbers.nth(17)?);
        if LAUNCHERS.iter().any(|launcher| name.starts_with(launcher)) {
            return Some(format!("{process}-{began}"));
        }
        process = parent;
    }
    None
}

/// Returns `true` if all messages that come are received by calls that are intercepted, as far as the program
/// and its libraries import any.
fn receives_all(callers: &Callers) -> bool {
    let receiving = table::names(Role::Receives).filter(|name| !name.starts_with("MPIX_"));
    let packs = |name: &str| mode::packs(name) && tools::complete_here(name);
    let come_here = || callers.past_us(Role::Receives).is_empty() && callers.unknown().is_empty();
    receiving.into_iter().all(packs) && (mode::all_peers() || come_here())
}

/// Returns a number that is the same on ranks on which the same calls go packed: those that the user wants,
/// and collective calls that come here.
fn calls(callers: &Callers) -> u64 {
    let mut hasher = DefaultHasher::new();
    (mode::lists(), callers.past_us(Role::Collective)).hash(&mut hasher);
    hasher.finish()
}

/// Takes this rank's name, before `MPI_Init`.
pub(crate) fn arrive() {
    // Open MPI takes packed bytes for the same base types: no rank need be a peer.
    if mode::no_peers() || cfg!(open_mpi) {
        return;
    }
    let callers = Callers::now();
    let receives_all = receives_all(&callers);
    RECEIVES_ALL.store(receives_all, Ordering::Relaxed);
    if mode::all_peers() || !receives_all {
        return;
    }
    let taken = Job::find(&callers).and_then(|job| {
        let socket = UnixDatagram::bind_addr(&job.address(job.rank)?).ok()?;
        Some((job, socket))
    });
    *lock(&NAME) = taken;
}

/// Looks whether all names are taken, after `MPI_Init`.
pub(crate) fn look() {
    let (mut rank, mut size) = (0, 0);
    // SAFETY: MPI has been initialized; there is room for a number each.
    unsafe {
        ffi::MPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &raw mut rank);
        ffi::MPI_Comm_size(ffi::RSMPI_COMM_WORLD, &raw mut size);
    }
    let name = lock(&NAME);
    let all_are_here = || {
        let Some((job, _)) = name.as_ref().filter(|(job, _)| job.rank == rank) else { return false };
        let Ok(socket) = UnixDatagram::unbound() else { return false };
        (0..size).all(|rank| job.address(rank).is_some_and(|address| socket.connect_addr(&address).is_ok()))
    };
    let receives_all = RECEIVES_ALL.load(Ordering::Relaxed);
    let _ = ALL.set(receives_all && (mode::all_peers() || size == 1 || all_are_here()));
}

/// Gives the name back, before `MPI_Finalize`.
pub(crate) fn leave() {
    lock(&NAME).take();
}

/// Remembers that there is a communicator with processes that are not of this job.
pub(crate) fn has_merged() {
    MERGED.store(true, Ordering::Relaxed);
}

/// Returns `true` if all ranks of the job have preloaded this library.
pub(crate) fn are_all_here() -> bool {
    ALL.get().copied().unwrap_or(false)
}

/// Whether all processes of a communicator have preloaded this library.
pub(crate) fn all(communicator: MPI_Comm) -> bool {
    if !are_all_here() {
        return false;
    }
    let mut between_groups = 0;
    // SAFETY: the communicator is one that the program uses; there is room for a flag.
    unsafe { ffi::MPI_Comm_test_inter(communicator, &raw mut between_groups) };
    between_groups == 0 && (!MERGED.load(Ordering::Relaxed) || is_of_world(communicator))
}

/// Whether all processes of a communicator are of `MPI_COMM_WORLD`.
fn is_of_world(communicator: MPI_Comm) -> bool {
    struct Group(MPI_Group);
    impl Drop for Group {
        fn drop(&mut self) {
            // SAFETY: it was given out for this.
            unsafe { ffi::MPI_Group_free(&raw mut self.0) };
        }
    }
    let group = |communicator| {
        // SAFETY: a constant, and a live communicator.
        unsafe {
            let mut group = Group(ffi::RSMPI_GROUP_NULL);
            ffi::MPI_Comm_group(communicator, &raw mut group.0);
            group
        }
    };
    // SAFETY: a constant of the library.
    let (of_it, of_world) = (group(communicator), group(unsafe { ffi::RSMPI_COMM_WORLD }));
    let mut size = 0;
    // SAFETY: live groups, and as many numbers as are asked for.
    unsafe {
        ffi::MPI_Group_size(of_it.0, &raw mut size);
        let ranks: Vec<c_int> = (0..size).collect();
        let mut there = vec![0; ranks.len()];
        ffi::MPI_Group_translate_ranks(of_it.0, size, ranks.as_ptr(), of_world.0, there.as_mut_ptr());
        there.iter().all(|rank| *rank != ffi::RSMPI_UNDEFINED)
    }
}
