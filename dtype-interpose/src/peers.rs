//! The search for peers: ranks that have preloaded this library.
//!
//! If the MPI library does not treat a dense struct as one block, packed structs are sent as `MPI_PACKED`,
//! and MPICH 4 cannot receive 8 KiB or more of `MPI_PACKED` into structs. So a rank may send packed structs
//! only if all ranks are peers. A collective call cannot check this, since a rank without this library would
//! not take part in it. Instead, each rank binds a name before `MPI_Init`: the abstract address of a socket.
//! `MPI_Init` returns when all ranks have called it. If all names are bound then, all ranks are peers. On
//! several nodes, the user declares that by `DTYPE_PEERS=all`. `dtype run` knows that all ranks run the same
//! program with this library, and says so by `DTYPE_PEERS=same`: then each rank decides for all. A rank that
//! receives some messages by calls that do not unpack them binds no name. Ranks that do not pack the same
//! calls bind names with different tokens.

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

use dtype_mpi::{LAUNCHERS, running};

use crate::{
    lock::lock,
    mode,
    native::{self, MPI_Comm, MPI_Group},
    table::{self, Function, Role},
    tools::{self, Callers},
};

/// The job and the bound socket of this rank, from `MPI_Init` to `MPI_Finalize`.
static NAME: Mutex<Option<(Job, UnixDatagram)>> = Mutex::new(None);

/// `true` if this rank receives all messages by intercepted calls that may unpack them. Set before
/// `MPI_Init`. Other ranks infer it from the name, which a rank binds only if this is `true`.
static RECEIVES_ALL: AtomicBool = AtomicBool::new(false);

/// The result of the search, set after `MPI_Init`: `true` if all ranks are peers.
static ALL: OnceLock<bool> = OnceLock::new();

/// `true` if a communicator may have processes of another `MPI_COMM_WORLD`.
static MERGED: AtomicBool = AtomicBool::new(false);

/// The job of this rank: a token that its ranks on this node share, and the number of this rank.
struct Job {
    token: String,
    rank: c_int,
}

impl Job {
    /// Returns the job as the launcher describes it. Returns `None` if the launcher is unknown or the process
    /// was spawned.
    fn find(callers: &Callers) -> Option<Self> {
        if is_spawned() {
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

/// Returns `true` if a program has started this process (`MPI_Comm_spawn`), and not a launcher.
fn is_spawned() -> bool {
    env::var_os("PMI_SPAWNED").is_some_and(|spawned| spawned != "0")
}

/// Returns a name for the process that has started the ranks of this node: its number and its start time.
fn launcher() -> Option<String> {
    let mut process = process::id();
    // Scripts and tools may stand between the launcher and this process.
    for _ in 0..16 {
        let status = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name of the program is in parentheses, and may contain any characters.
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

/// Returns `true` if this rank receives all messages by intercepted calls that may unpack them, as far as the
/// imports of the program and its libraries tell.
fn receives_all(callers: &Callers) -> bool {
    let mut receiving = table::functions(Role::Receives).filter(|function| function.is_intercepted);
    let packs = |of: &Function| mode::packs(of.name) && tools::complete_here(of.completed_by);
    let come_here = || callers.past_us(Role::Receives).is_empty() && callers.unknown().is_empty();
    receiving.all(packs) && (mode::all_peers() || come_here())
}

/// Returns a hash that is equal on ranks that pack the same calls. It covers the user's lists, and the
/// collective calls that bypass this library.
fn calls(callers: &Callers) -> u64 {
    let mut hasher = DefaultHasher::new();
    (mode::lists(), callers.past_us(Role::Collective)).hash(&mut hasher);
    hasher.finish()
}

/// Binds the name of this rank, before `MPI_Init`.
pub(crate) fn arrive() {
    // If the library treats a dense struct as one block, packed buffers are sent as their base types, which
    // any rank can receive.
    if mode::no_peers() || running().joins_structs {
        return;
    }
    let callers = Callers::now();
    let receives_all = receives_all(&callers);
    RECEIVES_ALL.store(receives_all, Ordering::Relaxed);
    if mode::all_peers() || mode::same_peers() || !receives_all {
        return;
    }
    let taken = Job::find(&callers).and_then(|job| {
        let socket = UnixDatagram::bind_addr(&job.address(job.rank)?).ok()?;
        Some((job, socket))
    });
    *lock(&NAME) = taken;
}

/// Checks whether all names are bound, after `MPI_Init`.
pub(crate) fn look() {
    let (mut rank, mut size) = (0, 0);
    // SAFETY: promise 1, since `MPI_Init` has succeeded. Both pointers have room for an integer.
    unsafe {
        native::MPI_Comm_rank(native::MPI_COMM_WORLD(), &raw mut rank);
        native::MPI_Comm_size(native::MPI_COMM_WORLD(), &raw mut size);
    }
    let name = lock(&NAME);
    let all_are_here = || {
        let Some((job, _)) = name.as_ref().filter(|(job, _)| job.rank == rank) else { return false };
        let Ok(socket) = UnixDatagram::unbound() else { return false };
        (0..size).all(|rank| job.address(rank).is_some_and(|address| socket.connect_addr(&address).is_ok()))
    };
    let receives_all = RECEIVES_ALL.load(Ordering::Relaxed);
    let are_same = mode::same_peers() && !is_spawned();
    let _ = ALL.set(receives_all && (mode::all_peers() || are_same || size == 1 || all_are_here()));
}

/// Releases the name, before `MPI_Finalize`.
pub(crate) fn leave() {
    lock(&NAME).take();
}

/// Notes that a communicator may have processes of another job.
pub(crate) fn has_merged() {
    MERGED.store(true, Ordering::Relaxed);
}

/// Returns `true` if all ranks of the job are peers.
pub(crate) fn are_all_here() -> bool {
    ALL.get().copied().unwrap_or(false)
}

/// Returns `true` if all processes of a communicator are known to be peers. Returns `false` for an
/// intercommunicator.
pub(crate) fn all(communicator: MPI_Comm) -> bool {
    if !are_all_here() {
        return false;
    }
    let mut between_groups = 0;
    // SAFETY: promises 1 and 2 for the communicator, which the program uses in its call. There is room for
    // the flag.
    unsafe { native::MPI_Comm_test_inter(communicator, &raw mut between_groups) };
    between_groups == 0 && (!MERGED.load(Ordering::Relaxed) || is_of_world(communicator))
}

/// Returns `true` if all processes of a communicator belong to `MPI_COMM_WORLD`.
fn is_of_world(communicator: MPI_Comm) -> bool {
    struct Group(MPI_Group);
    impl Drop for Group {
        fn drop(&mut self) {
            // SAFETY: promise 1. `MPI_Comm_group` has created the handle, which only this value owns.
            unsafe { native::MPI_Group_free(&raw mut self.0) };
        }
    }
    let group = |communicator| {
        // SAFETY: promises 1 and 2 for the communicator; a constant of the library; there is room for the
        // handle.
        unsafe {
            let mut group = Group(native::MPI_GROUP_NULL());
            native::MPI_Comm_group(communicator, &raw mut group.0);
            group
        }
    };
    let (of_it, of_world) = (group(communicator), group(native::MPI_COMM_WORLD()));
    let mut size = 0;
    // SAFETY: promise 1. Both groups are live, and both lists have `size` items.
    unsafe {
        native::MPI_Group_size(of_it.0, &raw mut size);
        let ranks: Vec<c_int> = (0..size).collect();
        let mut there = vec![0; ranks.len()];
        native::MPI_Group_translate_ranks(of_it.0, size, ranks.as_ptr(), of_world.0, there.as_mut_ptr());
        there.iter().all(|rank| *rank != native::MPI_UNDEFINED())
    }
}
