//! What was done with datatypes: counted where a report is wanted, and written at the end.
//!
//! `DTYPE_REPORT=FILE` has each rank write `FILE.RANK`, a table, and `FILE.RANK.json`, which `dtype report`
//! reads.

use std::{
    cell::RefCell,
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
    usage::{Layout, Report, Samples, Usage},
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
    worth: AtomicU64,
    nanoseconds: AtomicU64,
    /// Messages that could be looked at in both ways.
    comparable: AtomicU64,
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

/// What a report says of a datatype, found out when it is committed.
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
    described: Option<Described>,
}

impl Counted {
    /// What is committed now.
    ///
    /// # Safety
    /// MPI is usable, and the datatype live.
    pub unsafe fn new(datatype: MPI_Datatype, size: usize) -> Arc<Self> {
        let described = is_counting().then(|| {
            // SAFETY: the caller's condition.
            let datatype = unsafe { DatatypeRef::from_raw(datatype) };
            let built = constructors(&datatype).unwrap_or_else(|error| error.to_string());
            Described { built, place: place::of_caller(), decoded: Decoded::of(&datatype).ok() }
        });
        let (counts, samples) = (Counts::default(), Mutex::default());
        let counted = Arc::new(Self { size, engine: OnceLock::new(), counts, samples, described });
        if is_counting() {
            let mut datatypes = lock(&DATATYPES);
            if datatypes.len() == datatypes.capacity() {
                datatypes.retain(|datatype| datatype.strong_count() > 0);
                // The next time is when there are twice as many.
                let alive = datatypes.len();
                datatypes.reserve(alive + 1);
            }
            datatypes.push(Arc::downgrade(&counted));
        }
        counted
    }

    /// One that nothing is counted of.
    pub fn unseen(size: usize) -> Arc<Self> {
        let (counts, samples) = (Counts::default(), Mutex::default());
        Arc::new(Self { size, engine: OnceLock::new(), counts, samples, described: None })
    }

    /// Messages of so many in all have been named, whatever becomes of them.
    pub fn note(self: &Arc<Self>, messages: usize, count: usize) {
        Noted { counted: Arc::clone(self), messages, count, worth: 0 }.note();
    }

    /// Packs or unpacks so many bytes of a message, with a clock.
    pub fn timed<R>(&self, bytes: usize, run: impl FnOnce() -> R) -> R {
        let (result, took) = timed(run);
        add(&self.counts.packed, 1);
        add(&self.counts.worth, bytes as u64);
        add(&self.counts.nanoseconds, took);
        result
    }

    /// A message of so many is large enough. One that would go packed is counted, if that is all that is
    /// wanted.
    pub fn note_worth(self: &Arc<Self>, count: usize, goes: bool) {
        if !mode::is_on() && goes {
            Noted { counted: Arc::clone(self), messages: 0, count: 0, worth: count }.note();
        }
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
        let Some(Described { built, place, decoded }) = self.described.as_ref().filter(|_| messages > 0)
        else {
            return;
        };
        let layout = decoded.as_ref().map(|decoded| Layout {
            tree: decoded.tree().clone(),
            bounds: decoded.bounds(),
            least: None,
        });
        let reason = match self.engine.get() {
            Some(Ok(_)) => None,
            Some(Err(reason)) => Some(reason.clone()),
            None => Some("its messages are small".to_owned()),
        };
        let usage = Usage {
            built: built.clone(),
            place: place.clone(),
            layout,
            size: self.size as u64,
            messages,
            bytes: count(&self.counts.bytes),
            packed: count(&self.counts.packed),
            worth: count(&self.counts.worth),
            seconds: count(&self.counts.nanoseconds) as f64 * 1e-9,
            samples: std::mem::take(&mut *lock(&self.samples)),
            reason,
        };
        let mut report = lock(&REPORT);
        let report = report.get_or_insert_default();
        if report.datatypes.len() < MOST {
            report.add_usage(usage);
        } else {
            let (built, place) = ("others".to_owned(), "many places".to_owned());
            report.add_usage(Usage { built, place, layout: None, size: 0, reason: None, ..usage });
        }
    }
}

/// What a call names: so many messages with so many of a datatype in all, of which so many are worth packing.
struct Noted {
    counted: Arc<Counted>,
    messages: usize,
    count: usize,
    worth: usize,
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
        add(&counts.messages, self.messages as u64);
        add(&counts.bytes, size.saturating_mul(self.count) as u64);
        add(&counts.worth, size.saturating_mul(self.worth) as u64);
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

/// As many datatypes have a line of their own.
const MOST: usize = 1000;

impl Drop for Counted {
    fn drop(&mut self) {
        self.tell();
    }
}

/// Runs something, and gives the nanoseconds that it took.
fn timed<R>(run: impl FnOnce() -> R) -> (R, u64) {
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
    report.sort();
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
