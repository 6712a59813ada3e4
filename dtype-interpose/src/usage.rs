//! What was done with datatypes: counted where a report is wanted, and written at the end.
//!
//! `DTYPE_REPORT=FILE` has each rank write `FILE.RANK`, a table, and `FILE.RANK.json`, which `dtype report`
//! reads.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString, c_int, c_void},
    fs::{self, OpenOptions},
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use dtype_core::{
    Limits, NodeCosts, TypeTree,
    usage::{FirstUse, Layout, Report, Samples, SortBy, Usage},
};
use dtype_runtime::{
    decode::{Decoded, constructors},
    pack::{Data, PackBuffer},
};
use mpi::{
    datatype::DatatypeRef,
    ffi::{self, MPI_Datatype},
    raw::FromRaw,
};

use crate::{engine::Engine, lock::lock, mode, place};

/// Counts of one datatype.
#[derive(Default)]
struct Counts {
    messages: AtomicU64,
    bytes: AtomicU64,
    packed: AtomicU64,
    packable: AtomicU64,
    worth: AtomicU64,
    nanoseconds: AtomicU64,
    /// Nanoseconds of each [`Phase`].
    spent: [AtomicU64; Phase::ALL],
    /// Packed bytes of the first message.
    first_bytes: AtomicU64,
    /// Messages that stay as they are, for each reason in [`Stays`].
    stay: [AtomicU64; Stays::TEXTS.len()],
    /// Messages that could be looked at in both ways.
    comparable: AtomicU64,
}

/// A step that is done once a datatype, and takes time.
#[derive(Clone, Copy)]
pub(crate) enum Phase {
    /// Looking at it in `MPI_Type_commit`.
    Commit,
    /// Taking it apart and making its plan.
    Planning,
    /// Packing or unpacking its first message.
    FirstMessage,
}

impl Phase {
    const ALL: usize = 3;
}

/// Why a message stays as it is.
#[derive(Clone, Copy)]
pub(crate) enum Stays {
    /// The datatype has no engine, which says why.
    Layout,
    Small,
    Large,
    Size,
    Peers,
    Denied,
    Tool,
    Address,
    Target,
}

impl Stays {
    /// The reasons as a report tells them, in the order of the variants.
    const TEXTS: [&str; 9] = [
        "its layout",
        "too small to gain",
        "more than 2 GiB",
        "the library is as fast at this size",
        "a rank is not known to have this library (DTYPE_PEERS=all says that all have)",
        "DTYPE_DENY or DTYPE_ALLOW has it so",
        "another tool completes the call",
        "its buffer is at address 0",
        "the target's datatype is of another size",
    ];
}

fn add(count: &AtomicU64, number: u64) -> u64 {
    count.fetch_add(number, Ordering::Relaxed) + number
}

/// Where the report goes, if one is wanted.
fn file() -> Option<&'static OsString> {
    static FILE: OnceLock<Option<OsString>> = OnceLock::new();
    FILE.get_or_init(|| env::var_os("DTYPE_REPORT").filter(|file| !file.is_empty())).as_ref()
}

/// Whether things are counted.
#[inline]
pub(crate) fn is_counting() -> bool {
    file().is_some()
}

/// The datatypes that are alive, and what was done with those that are not.
static DATATYPES: Mutex<Vec<Weak<Counted>>> = Mutex::new(Vec::new());
static REPORT: Mutex<Option<Report>> = Mutex::new(None);

/// The description of a datatype in a report, found out when the datatype is committed.
struct Described {
    built: String,
    place: String,
    decoded: Option<Decoded>,
}

/// A datatype with what it turned out to be, and counts where these are wanted.
pub(crate) struct Counted {
    /// Packed bytes of one.
    pub size: usize,
    /// How it is packed, or why not; nothing where no message was large enough to ask.
    pub engine: OnceLock<Result<Engine, String>>,
    counts: Counts,
    samples: Mutex<Samples>,
    described: OnceLock<Described>,
}

impl Counted {
    /// A datatype that is committed now.
    pub fn new(size: usize) -> Arc<Self> {
        let (counts, samples) = (Counts::default(), Mutex::default());
        Arc::new(Self { size, engine: OnceLock::new(), counts, samples, described: OnceLock::new() })
    }

    /// Looks at what a report says of the datatype, if one is wanted.
    ///
    /// # Safety
    /// MPI is usable, and the datatype live.
    pub unsafe fn describe(self: &Arc<Self>, datatype: MPI_Datatype) {
        if !is_counting() {
            return;
        }
        // SAFETY: the caller's condition.
        let datatype = unsafe { DatatypeRef::from_raw(datatype) };
        let built = constructors(&datatype).unwrap_or_else(|error| error.to_string());
        let described = Described { built, place: place::of_caller(), decoded: Decoded::of(&datatype).ok() };
        let _ = self.described.set(described);
        let mut datatypes = lock(&DATATYPES);
        if datatypes.len() == datatypes.capacity() {
            datatypes.retain(|datatype| datatype.strong_count() > 0);
            // The next time is when there are twice as many.
            let alive = datatypes.len();
            datatypes.reserve(alive + 1);
        }
        datatypes.push(Arc::downgrade(self));
    }

    /// Counts messages with so many of the datatype in all, whatever becomes of them.
    pub fn note(self: &Arc<Self>, messages: usize, count: usize) {
        self.noted(What::Named, messages, count);
    }

    /// Counts messages that would go packed, were messages not only counted.
    pub fn note_packable(self: &Arc<Self>, messages: usize, count: usize) {
        self.noted(What::Packable, messages, count);
    }

    /// Counts messages that stay as they are.
    #[cold]
    pub fn note_stay(self: &Arc<Self>, why: Stays, messages: usize) {
        self.noted(What::Stays(why), messages, 0);
    }

    fn noted(self: &Arc<Self>, what: What, messages: usize, count: usize) {
        if is_counting() {
            Noted { counted: Arc::clone(self), what, messages, count }.note();
        }
    }

    /// Counts the time of what is done once for this datatype.
    pub fn spent(&self, phase: Phase, nanoseconds: u64) {
        add(&self.counts.spent[phase as usize], nanoseconds);
    }

    /// Packs or unpacks messages of so many bytes, with a clock.
    pub fn timed<R>(&self, messages: usize, bytes: usize, run: impl FnOnce() -> R) -> R {
        let (result, took) = timed(run);
        if add(&self.counts.packed, messages as u64) == messages as u64 {
            self.spent(Phase::FirstMessage, took);
            add(&self.counts.first_bytes, bytes as u64);
        }
        add(&self.counts.worth, bytes as u64);
        add(&self.counts.nanoseconds, took);
        result
    }

    /// How long a message takes in both ways is looked at now and then, in memory of ours.
    ///
    /// # Safety
    /// MPI is usable, and what is named is there.
    pub unsafe fn compare(
        &self,
        engine: &Engine,
        datatype: MPI_Datatype,
        origin: *const c_void,
        count: usize,
    ) {
        /// Larger ones would take long, and memory.
        const MOST: usize = 64 << 20;
        let bytes = self.size.saturating_mul(count);
        // The first, the second, the fourth, the eighth …
        if !add(&self.counts.comparable, 1).is_power_of_two() || bytes > MOST {
            return;
        }
        let (Ok(mut room), Ok(length)) = (PackBuffer::with_room(bytes), c_int::try_from(bytes)) else {
            return;
        };
        // SAFETY: the caller's condition.
        let data = unsafe { Data::from_raw_parts(engine.plan(), count, origin.cast()) };
        let by_plan = |room: &mut [u8]| timed(|| drop(data.pack_into(room))).1;
        let by_library = |room: &mut [u8]| {
            let (mut position, packed) = (0, room.as_mut_ptr().cast());
            // SAFETY: the caller's condition; there is room for all packed bytes, whose number is an integer.
            timed(|| unsafe {
                let (count, own) = (count as c_int, ffi::RSMPI_COMM_SELF);
                ffi::PMPI_Pack(origin, count, datatype, packed, length, &raw mut position, own)
            })
            .1
        };
        // This brings it into the cache.
        by_plan(&mut room[..bytes]);
        let rounds = [(); 3].map(|()| (by_plan(&mut room[..bytes]), by_library(&mut room[..bytes])));
        let plan = rounds.iter().map(|(plan, _)| *plan).min().unwrap_or(0);
        let library = rounds.iter().map(|(_, library)| *library).min().unwrap_or(0);
        let mut samples = lock(&self.samples);
        samples.bytes += bytes as u64;
        samples.plan += plan as f64 * 1e-9;
        samples.library += library as f64 * 1e-9;
    }

    /// Adds its counts to the report.
    fn tell(&self) {
        let count = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        let messages = count(&self.counts.messages);
        let Some(Described { built, place, decoded }) = self.described.get().filter(|_| messages > 0) else {
            return;
        };
        let layout = decoded.as_ref().map(|decoded| Layout {
            tree: decoded.tree().clone(),
            bounds: decoded.bounds(),
            least: None,
        });
        let mut reasons = BTreeMap::new();
        for (messages, text) in self.counts.stay.iter().map(count).zip(Stays::TEXTS) {
            let of_layout = self.engine.get().and_then(|engine| match engine {
                Ok(engine) => engine.reason(),
                Err(reason) => Some(reason),
            });
            let of_layout = of_layout.filter(|_| text == Stays::TEXTS[Stays::Layout as usize]);
            if messages > 0 {
                reasons.insert(of_layout.cloned().unwrap_or_else(|| text.to_owned()), messages);
            }
        }
        let seconds = |nanoseconds: &AtomicU64| count(nanoseconds) as f64 * 1e-9;
        let [commit, planning, message] = [0, 1, 2].map(|phase| seconds(&self.counts.spent[phase]));
        let worth = count(&self.counts.worth);
        let samples = std::mem::take(&mut *lock(&self.samples));
        let usage = Usage {
            built: built.clone(),
            place: place.clone(),
            layout,
            sizes: [self.size as u64; 2],
            committed: 1,
            messages,
            bytes: count(&self.counts.bytes),
            packed: count(&self.counts.packed),
            packable: count(&self.counts.packable),
            worth,
            seconds: seconds(&self.counts.nanoseconds),
            first_use: FirstUse { commit, planning, message, bytes: count(&self.counts.first_bytes) },
            // Each datatype has the weight of its messages in its row.
            samples: if worth > 0 { samples.scaled_to(worth) } else { samples },
            reasons,
        };
        let mut report = lock(&REPORT);
        let report = report.get_or_insert_default();
        if report.datatypes.len() < MOST || report.datatypes.iter().any(|other| other.is_like(&usage)) {
            report.add_usage(usage);
        } else {
            let (built, place) = ("others".to_owned(), "many places".to_owned());
            report.add_usage(Usage { built, place, layout: None, ..usage });
        }
    }
}

/// An item that is counted of a call.
#[derive(Clone, Copy)]
enum What {
    /// Messages that it names.
    Named,
    /// Messages that would go packed, were messages not only counted.
    Packable,
    /// Messages that stay as they are.
    Stays(Stays),
}

/// Messages of a call with so many of a datatype in all.
struct Noted {
    counted: Arc<Counted>,
    what: What,
    messages: usize,
    count: usize,
}

impl Noted {
    /// Counts it now, or with each start of the call that a thread prepares.
    fn note(self) {
        let mut now = Some(self);
        let _ = PREPARED.try_with(|prepared| {
            if let Some(Prepared(list)) = &mut *prepared.borrow_mut() {
                list.extend(now.take());
            }
        });
        now.iter().for_each(Self::count);
    }

    fn count(&self) {
        let Counted { size, counts, .. } = &*self.counted;
        let (messages, bytes) = (self.messages as u64, size.saturating_mul(self.count) as u64);
        match self.what {
            What::Named => {
                add(&counts.messages, messages);
                add(&counts.bytes, bytes);
            }
            What::Packable => {
                add(&counts.packable, messages);
                add(&counts.worth, bytes);
            }
            What::Stays(why) => drop(add(&counts.stay[why as usize], messages)),
        }
    }
}

/// What a call names that is prepared to be made again and again.
#[derive(Default)]
pub(crate) struct Prepared(Vec<Noted>);

thread_local! {
    /// Of the call that a thread prepares.
    static PREPARED: RefCell<Option<Prepared>> = const { RefCell::new(None) };
}

/// Prepares a call, and gives what it names, which counts each time that it is started.
pub(crate) fn prepared<R>(prepare: impl FnOnce() -> R) -> (R, Prepared) {
    if !is_counting() {
        return (prepare(), Prepared::default());
    }
    let _ = PREPARED.try_with(|prepared| prepared.replace(Some(Prepared::default())));
    let result = prepare();
    (result, PREPARED.try_with(RefCell::take).ok().flatten().unwrap_or_default())
}

impl Prepared {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The call is started.
    pub fn count(&self) {
        self.0.iter().for_each(Noted::count);
    }
}

/// The most constructors and places that have a row of their own.
const MOST: usize = 1000;

impl Drop for Counted {
    fn drop(&mut self) {
        self.tell();
    }
}

/// Runs something, and returns the nanoseconds that it took: 0 if nothing is counted.
pub(crate) fn timed<R>(run: impl FnOnce() -> R) -> (R, u64) {
    if !is_counting() {
        return (run(), 0);
    }
    let began = Instant::now();
    let result = run();
    (result, u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// Writes the report, before `MPI_Finalize`.
pub(crate) fn end() {
    let Some(file) = file() else { return };
    let datatypes = std::mem::take(&mut *lock(&DATATYPES));
    datatypes.iter().filter_map(Weak::upgrade).for_each(|counted| counted.tell());
    let mut report = lock(&REPORT).take().unwrap_or_default();
    report.library = library();
    let (mut rank, mut size) = (0, 0);
    // SAFETY: MPI has not been finalized; there is room for a number each.
    unsafe {
        ffi::MPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &raw mut rank);
        ffi::MPI_Comm_size(ffi::RSMPI_COMM_WORLD, &raw mut size);
    }
    (report.ranks, report.of, report.packs) = (1, u64::try_from(size).unwrap_or(0), mode::is_on());
    report.sort(SortBy::Time);
    for layout in report.datatypes.iter_mut().filter_map(|usage| usage.layout.as_mut()) {
        // The others `dtype report` looks for.
        if items(&layout.tree) <= 2000 {
            let _ = layout.solve(&NodeCosts::default(), &Limits::EXPANSION);
        }
    }
    let json = serde_json::to_string(&report).unwrap_or_else(|error| error.to_string());
    if let Err(error) = write(file, rank, &report.to_string(), &(json + "\n")) {
        // All ranks fail alike where rank 0 does, and it says so for the job.
        let is_own = || OpenOptions::new().append(true).create(true).open(of_rank(file, 0)).is_ok();
        if rank == 0 || is_own() {
            eprintln!("dtype: DTYPE_REPORT: {}: {error}", of_rank(file, rank).display());
        }
    }
}

/// Returns the path of a rank's report as a table.
fn of_rank(file: &OsStr, rank: c_int) -> PathBuf {
    let mut path = file.to_owned();
    path.push(format!(".{rank}"));
    PathBuf::from(path)
}

/// Writes a rank's report as a table and as JSON.
fn write(file: &OsStr, rank: c_int, table: &str, json: &str) -> io::Result<()> {
    let path = of_rank(file, rank);
    fs::write(&path, table)?;
    let mut path = path.into_os_string();
    path.push(".json");
    fs::write(path, json)
}

/// The MPI library and its version: the front of what it says.
fn library() -> String {
    let version = mpi::environment::library_version().unwrap_or_default();
    let front = version.split([',', '\n']).next().unwrap_or_default();
    front.split_whitespace().filter(|word| *word != "Version:").collect::<Vec<_>>().join(" ")
}

/// Nodes of a tree, and items of their lists.
fn items(tree: &TypeTree) -> usize {
    let here = match tree {
        TypeTree::Index { displacements, .. } | TypeTree::IndexBucket { displacements, .. } => {
            displacements.len()
        }
        _ => 1,
    };
    here + tree.children().iter().map(items).sum::<usize>()
}
