//! The profile of each datatype: its engine, and counts of its messages. Messages are counted if a report is
//! wanted, and the report is written at the end.
//!
//! With `DTYPE_REPORT=FILE`, each rank writes a table, `FILE.RANK`, and a file for the command `dtype
//! report`, `FILE.RANK.json`.

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

use dtype_core::{Limits, NodeCosts, TypeTree};
use dtype_engine::{Data, PackBuffer};
use dtype_mpi::{Decoded, constructors};
use dtype_report::{FirstUse, Layout, Report, Samples, SortBy, Usage};
use mpi::{datatype::DatatypeRef, raw::FromRaw};

use crate::{
    call::{SUCCESS, usable},
    call_site,
    doubts::DIFFERS,
    engine::Engine,
    lock::lock,
    mode,
    native::{self, MPI_Datatype},
    say::say,
    verify::Verified,
};

/// The counts of one datatype.
#[derive(Default)]
struct Counts {
    messages: AtomicU64,
    bytes: AtomicU64,
    packed: AtomicU64,
    packable: AtomicU64,
    worth: AtomicU64,
    nanoseconds: AtomicU64,
    /// The nanoseconds of each [`Phase`].
    spent: [AtomicU64; Phase::ALL],
    /// The packed bytes of the first message.
    first_bytes: AtomicU64,
    /// The number of messages that were forwarded unchanged, for each reason in [`Stays`].
    stay: [AtomicU64; Stays::TEXTS.len()],
    /// The number of messages that could be timed in both ways: by the plan and by the library.
    comparable: AtomicU64,
}

/// A step that is done once for each datatype, and is timed.
#[derive(Clone, Copy)]
pub(crate) enum Phase {
    /// Inspecting the datatype in `MPI_Type_commit`.
    Commit,
    /// Decoding the datatype, and making its plan.
    Planning,
    /// Packing or unpacking the first message of the datatype.
    FirstMessage,
}

impl Phase {
    const ALL: usize = 3;
}

/// A reason why a message is forwarded unchanged.
#[derive(Clone, Copy)]
pub(crate) enum Stays {
    /// Messages of this layout are not packed. [`Engine::reason`], or the error of [`Profile::engine`], says
    /// why.
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
    /// The reasons as a report shows them, in the order of the variants.
    const TEXTS: [&str; 9] = [
        "its layout",
        "too small to gain from packing",
        "more than 2 GiB",
        "the library is equally fast at this size",
        "a rank may run without this library (DTYPE_PEERS=all declares that all ranks have it)",
        "excluded by DTYPE_DENY or DTYPE_ALLOW",
        "another tool completes the call",
        "its buffer is at address 0",
        "the origin and target datatypes have different sizes",
    ];
}

fn add(count: &AtomicU64, number: u64) -> u64 {
    count.fetch_add(number, Ordering::Relaxed) + number
}

/// Returns the file of the report, if one is wanted.
fn file() -> Option<&'static OsString> {
    static FILE: OnceLock<Option<OsString>> = OnceLock::new();
    FILE.get_or_init(|| env::var_os("DTYPE_REPORT").filter(|file| !file.is_empty())).as_ref()
}

/// Returns `true` if messages are counted, because a report is wanted.
#[inline]
pub(crate) fn is_counting() -> bool {
    file().is_some()
}

/// Returns `true` if datatypes are described at their commit, for a report or for the differences of a
/// verification.
#[inline]
pub(crate) fn is_describing() -> bool {
    is_counting() || mode::verify().is_some()
}

/// The profiles of datatypes that are live.
static DATATYPES: Mutex<Vec<Weak<Profile>>> = Mutex::new(Vec::new());
/// The rows of datatypes that are not live any more.
static REPORT: Mutex<Option<Report>> = Mutex::new(None);

/// The description of a datatype in a report, made when the datatype is committed.
struct Described {
    built: String,
    place: String,
    decoded: Option<Decoded>,
}

/// The result of planning: the engine, or the reason why all messages are forwarded.
type Outcome = Result<Box<Engine>, String>;

/// The profile of a datatype: its engine, and its counts if a report is wanted.
pub(crate) struct Profile {
    /// The packed size of one element in bytes.
    pub size: usize,
    /// The engine, or the reason why there is none. Unset until a message is large enough to need the engine.
    engine: OnceLock<Outcome>,
    /// The counts and the description, for a report or a verification.
    record: Option<Box<Record>>,
}

/// The counts and the description of a datatype.
#[derive(Default)]
struct Record {
    counts: Counts,
    samples: Mutex<Samples>,
    described: OnceLock<Described>,
}

impl Profile {
    /// Creates the profile of a datatype with this packed size in bytes.
    pub fn new(size: usize) -> Arc<Self> {
        let record = is_describing().then(Box::default);
        Arc::new(Self { size, engine: OnceLock::new(), record })
    }

    /// Creates the profile of a planned datatype. Planning took `nanoseconds`.
    pub fn of(engine: Box<Engine>, nanoseconds: u64) -> Arc<Self> {
        let profile = Self::new(engine.size());
        let _ = profile.engine.set(Ok(engine));
        profile.spent(Phase::Planning, nanoseconds);
        profile
    }

    /// Returns the result of planning, or `None` if the datatype has not been planned.
    #[inline]
    pub fn engine(&self) -> Option<&Outcome> {
        self.engine.get()
    }

    /// Plans the datatype, if this has not been done.
    pub fn plan(&self, datatype: MPI_Datatype) -> &Outcome {
        self.engine.get_or_init(|| {
            let (engine, took) = timed(|| Engine::of(datatype));
            self.spent(Phase::Planning, took);
            let reason = engine.as_ref().err().map(String::as_str);
            if let (Some(DIFFERS), Some(verified)) = (reason, self.verified()) {
                verified.is_forwarded(DIFFERS);
            }
            engine
        })
    }

    /// Returns the packed size of `count` elements in bytes, or `None` if it exceeds an `int`. Such messages
    /// are forwarded unchanged.
    #[inline]
    pub fn bytes(&self, count: usize) -> Option<usize> {
        self.size.checked_mul(count).filter(|bytes| i32::try_from(*bytes).is_ok())
    }

    /// Describes the datatype, if [`is_describing`].
    ///
    /// # Safety
    /// Promises 1 and 2 for the datatype.
    pub unsafe fn describe(self: &Arc<Self>, datatype: MPI_Datatype) {
        let Some(record) = &self.record else { return };
        // SAFETY: promises 1 and 2 for the datatype.
        let datatype = unsafe { DatatypeRef::from_raw(datatype.into()) };
        let built = constructors(&datatype).unwrap_or_else(|error| error.to_string());
        let described =
            Described { built, place: call_site::of_caller(), decoded: Decoded::of(&datatype).ok() };
        let _ = record.described.set(described);
        let mut datatypes = lock(&DATATYPES);
        if datatypes.len() == datatypes.capacity() {
            datatypes.retain(|datatype| datatype.strong_count() > 0);
            // Dropped datatypes are removed again when the list is twice as long.
            let alive = datatypes.len();
            datatypes.reserve(alive + 1);
        }
        datatypes.push(Arc::downgrade(self));
    }

    /// Returns the datatype for a comparison with the MPI library, if messages are verified.
    pub fn verified(&self) -> Option<Verified<'_>> {
        mode::verify()?;
        let original = self.engine.get().and_then(|engine| engine.as_ref().ok()?.original());
        let (built, place) = match self.record.as_ref().and_then(|record| record.described.get()) {
            Some(Described { built, place, .. }) => (built.as_str(), place.as_str()),
            None => ("a datatype", "an unknown place"),
        };
        Some(Verified { original, built, place })
    }

    /// Counts messages with `count` elements in all, whether or not they are packed.
    pub fn note(self: &Arc<Self>, messages: usize, count: usize) {
        self.noted(What::Named, messages, count);
    }

    /// Counts messages that would be packed if the mode were `on`.
    pub fn note_packable(self: &Arc<Self>, messages: usize, count: usize) {
        self.noted(What::Packable, messages, count);
    }

    /// Counts messages that are forwarded unchanged.
    #[cold]
    pub fn note_stay(self: &Arc<Self>, why: Stays, messages: usize) {
        self.noted(What::Stays(why), messages, 0);
    }

    fn noted(self: &Arc<Self>, what: What, messages: usize, count: usize) {
        if is_counting() {
            Noted { counted: Arc::clone(self), what, messages, count }.note();
        }
    }

    /// Adds the time of a step.
    pub fn spent(&self, phase: Phase, nanoseconds: u64) {
        if let Some(Record { counts, .. }) = self.record.as_deref() {
            add(&counts.spent[phase as usize], nanoseconds);
        }
    }

    /// Times the packing or unpacking of messages that have `bytes` bytes in all. With no messages, only the
    /// time is added.
    pub fn timed<R>(&self, messages: usize, bytes: usize, run: impl FnOnce() -> R) -> R {
        let (result, took) = timed(run);
        let Some(Record { counts, .. }) = self.record.as_deref() else { return result };
        if add(&counts.packed, messages as u64) == messages as u64 {
            self.spent(Phase::FirstMessage, took);
            add(&counts.first_bytes, bytes as u64);
        }
        add(&counts.worth, bytes as u64);
        add(&counts.nanoseconds, took);
        result
    }

    /// Times some messages in both ways, by the plan and by `MPI_Pack`, with a temporary buffer.
    ///
    /// # Safety
    /// Promises 1 and 2 for the datatype, and promise 3 for `count` elements at `origin`.
    pub unsafe fn compare(
        &self,
        engine: &Engine,
        datatype: MPI_Datatype,
        origin: *const c_void,
        count: usize,
    ) {
        /// The greatest packed size in bytes: larger messages would take much time and memory.
        const MOST: usize = 64 << 20;
        let bytes = self.size.saturating_mul(count);
        let Some(Record { counts, samples, .. }) = self.record.as_deref() else { return };
        // The first, second, fourth, eighth … message is timed.
        if !add(&counts.comparable, 1).is_power_of_two() || bytes > MOST {
            return;
        }
        let (Ok(mut room), Ok(length)) = (PackBuffer::with_room(bytes), c_int::try_from(bytes)) else {
            return;
        };
        // SAFETY: promise 3 for the elements.
        let data = unsafe { Data::from_raw_parts(engine.plan(), count, origin.cast()) };
        let by_plan = |room: &mut [u8]| timed(|| drop(data.pack_into(room))).1;
        let mut succeed = true;
        let mut by_library = |room: &mut [u8]| {
            let (mut position, packed) = (0, room.as_mut_ptr().cast());
            let (code, took) = timed(|| {
                // SAFETY: promises 1 and 2 for the datatype, and promise 3 for the elements; there is room
                // for all packed bytes, whose number is an integer.
                unsafe {
                    let (count, own) = (count as c_int, native::MPI_COMM_SELF());
                    native::PMPI_Pack(origin, count, datatype, packed, length, &raw mut position, own)
                }
            });
            succeed &= code == SUCCESS;
            took
        };
        // This call brings the data into the cache.
        by_plan(&mut room[..bytes]);
        let rounds = || [(); 3].map(|()| (by_plan(&mut room[..bytes]), by_library(&mut room[..bytes])));
        // MPICH refuses the address 0 (`MPI_BOTTOM`), and a datatype that the program has not committed.
        // SAFETY: promise 1.
        let rounds = dtype_mpi::without_communicator(&unsafe { usable() }, rounds);
        if !succeed {
            return;
        }
        let plan = rounds.iter().map(|(plan, _)| *plan).min().unwrap_or(0);
        let library = rounds.iter().map(|(_, library)| *library).min().unwrap_or(0);
        let mut samples = lock(samples);
        samples.bytes += bytes as u64;
        samples.plan += plan as f64 * 1e-9;
        samples.library += library as f64 * 1e-9;
    }

    /// Adds the counts to the report.
    fn tell(&self) {
        let Some(Record { counts, samples, described }) = self.record.as_deref() else { return };
        let count = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        let messages = count(&counts.messages);
        let Some(Described { built, place, decoded }) = described.get().filter(|_| messages > 0) else {
            return;
        };
        let layout = decoded.as_ref().map(|decoded| Layout {
            tree: decoded.tree.clone(),
            bounds: decoded.bounds,
            least: None,
        });
        let mut reasons = BTreeMap::new();
        for (messages, text) in counts.stay.iter().map(count).zip(Stays::TEXTS) {
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
        let [commit, planning, message] = [0, 1, 2].map(|phase| seconds(&counts.spent[phase]));
        let worth = count(&counts.worth);
        let samples = std::mem::take(&mut *lock(samples));
        let usage = Usage {
            built: built.clone(),
            place: place.clone(),
            layout,
            sizes: [self.size as u64; 2],
            committed: 1,
            messages,
            bytes: count(&counts.bytes),
            packed: count(&counts.packed),
            packable: count(&counts.packable),
            worth,
            seconds: seconds(&counts.nanoseconds),
            first_use: FirstUse { commit, planning, message, bytes: count(&counts.first_bytes) },
            // The samples of each datatype weigh as much as its messages do in the row.
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

/// The count that messages add to.
#[derive(Clone, Copy)]
enum What {
    /// All messages, packed or not.
    Named,
    /// Messages that would be packed if the mode were `on`.
    Packable,
    /// Messages that are forwarded unchanged.
    Stays(Stays),
}

/// Messages of a call, with `count` elements of a datatype in all.
struct Noted {
    counted: Arc<Profile>,
    what: What,
    messages: usize,
    count: usize,
}

impl Noted {
    /// Counts the messages now, or at each start if this thread initializes a persistent operation.
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
        let Profile { size, record, .. } = &*self.counted;
        let Some(Record { counts, .. }) = record.as_deref() else { return };
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

/// The messages of a persistent operation.
#[derive(Default)]
pub(crate) struct Prepared(Vec<Noted>);

thread_local! {
    /// The messages of the persistent operation that this thread initializes.
    static PREPARED: RefCell<Option<Prepared>> = const { RefCell::new(None) };
}

/// Runs the initialization of a persistent operation, and also returns its messages, which count at each
/// start.
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

    /// Counts the messages of one start.
    pub fn count(&self) {
        self.0.iter().for_each(Noted::count);
    }
}

/// The greatest number of pairs of constructors and call site that have a row each. All others share a row.
const MOST: usize = 1000;

impl Drop for Profile {
    fn drop(&mut self) {
        self.tell();
    }
}

/// Runs a function, and returns the nanoseconds that it took: 0 if nothing is counted.
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
    // SAFETY: promise 1, as `MPI_Finalize` has not been forwarded yet; there is room for a number each.
    unsafe {
        native::MPI_Comm_rank(native::MPI_COMM_WORLD(), &raw mut rank);
        native::MPI_Comm_size(native::MPI_COMM_WORLD(), &raw mut size);
    }
    (report.ranks, report.of, report.packs) = (1, u64::try_from(size).unwrap_or(0), mode::is_on());
    report.sort(SortBy::Time);
    for layout in report.datatypes.iter_mut().filter_map(|usage| usage.layout.as_mut()) {
        // The command `dtype report` solves larger layouts.
        if items(&layout.tree) <= 2000 {
            let _ = layout.solve(&NodeCosts::default(), &Limits::EXPANSION);
        }
    }
    let json = serde_json::to_string(&report).unwrap_or_else(|error| error.to_string());
    if let Err(error) = write(file, rank, &report.to_string(), &(json + "\n")) {
        // If rank 0 cannot write either, it alone prints the error, for the whole job.
        let is_own = || OpenOptions::new().append(true).create(true).open(of_rank(file, 0)).is_ok();
        if rank == 0 || is_own() {
            say(format_args!("DTYPE_REPORT: {}: {error}", of_rank(file, rank).display()));
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

/// Returns the name and the version of the MPI library: the front of its version string.
fn library() -> String {
    let version = mpi::environment::library_version().unwrap_or_default();
    let front = version.split([',', '\n']).next().unwrap_or_default();
    front.split_whitespace().filter(|word| *word != "Version:").collect::<Vec<_>>().join(" ")
}

/// Returns the number of nodes of a tree. A list counts once for each of its displacements.
fn items(tree: &TypeTree) -> usize {
    let here = match tree {
        TypeTree::Index { displacements, .. } | TypeTree::IndexBucket { displacements, .. } => {
            displacements.len()
        }
        TypeTree::Leaf(_) | TypeTree::Vector { .. } | TypeTree::Struct { .. } => 1,
    };
    here + tree.children().iter().map(items).sum::<usize>()
}
