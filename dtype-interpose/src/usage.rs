//! What was done with datatypes: counted where a report is wanted, and written at the end.
//!
//! `DTYPE_REPORT=FILE` has each rank write `FILE.RANK`: a line for each layout that was sent or received,
//! those of most bytes first, with how many messages went packed, how long that took, and why others did not.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fmt::Write as _,
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use mpi::ffi;

use crate::{engine::Engine, lock::lock};

/// Counts of one datatype.
#[derive(Default)]
pub(crate) struct Usage {
    messages: AtomicU64,
    bytes: AtomicU64,
    packed: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Usage {
    /// A message of this many packed bytes has been named, whatever becomes of it.
    pub fn note(&self, bytes: usize) {
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Packs or unpacks, with a clock.
    pub fn timed<R>(&self, run: impl FnOnce() -> R) -> R {
        let began = Instant::now();
        let result = run();
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.packed.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(took, Ordering::Relaxed);
        result
    }

    fn counts(&self) -> [u64; 4] {
        [&self.messages, &self.bytes, &self.packed, &self.nanoseconds]
            .map(|count| count.load(Ordering::Relaxed))
    }
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

/// What is written of a datatype.
#[derive(Default)]
struct Line {
    counts: [u64; 4],
    /// Why its messages stay as they are, if they do.
    reason: String,
}

/// The datatypes that are alive, and what was done with those that are not, by their layouts.
static DATATYPES: Mutex<Vec<Weak<Counted>>> = Mutex::new(Vec::new());
static LINES: Mutex<BTreeMap<String, Line>> = Mutex::new(BTreeMap::new());

/// Counts with what the datatype turned out to be.
pub(crate) struct Counted {
    pub usage: Usage,
    /// Packed bytes of one.
    pub size: usize,
    /// How it is packed, or why not; nothing where no message was large enough to ask.
    pub engine: OnceLock<Result<Engine, String>>,
}

impl Counted {
    pub fn new(size: usize) -> Arc<Self> {
        let counted = Arc::new(Self { usage: Usage::default(), size, engine: OnceLock::new() });
        if is_counting() {
            let mut datatypes = lock(&DATATYPES);
            datatypes.retain(|datatype| datatype.strong_count() > 0);
            datatypes.push(Arc::downgrade(&counted));
        }
        counted
    }

    /// Adds its counts to the lines of the report.
    fn tell(&self) {
        let counts = self.usage.counts();
        if counts[0] == 0 {
            return;
        }
        let (layout, reason) = match self.engine.get() {
            Some(Ok(engine)) => (engine.tree().to_string(), String::new()),
            Some(Err(reason)) => (format!("{} bytes", self.size), reason.clone()),
            None => (format!("{} bytes", self.size), "its messages are small".to_owned()),
        };
        // Of a large tree, what it begins with.
        let mut layout: Vec<_> =
            layout.lines().map(|line| line.chars().take(100).collect::<String>()).collect();
        layout.truncate(12);
        let mut lines = lock(&LINES);
        let line = lines.entry(layout.join("\n      ")).or_default();
        line.counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        line.reason = reason;
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if is_counting() {
            self.tell();
        }
    }
}

/// Writes the report, before `MPI_Finalize`.
pub(crate) fn end() {
    let Some(file) = file() else { return };
    let datatypes = std::mem::take(&mut *lock(&DATATYPES));
    datatypes.iter().filter_map(Weak::upgrade).for_each(|counted| counted.tell());
    let lines = std::mem::take(&mut *lock(&LINES));
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by_key(|(_, line)| std::cmp::Reverse(line.counts[1]));
    let mut text = String::from("  messages   packed       bytes  packing ms  layout\n");
    let mut all = [0; 4];
    for (layout, Line { counts, reason }) in &lines {
        let [messages, bytes, packed, nanoseconds] = *counts;
        all.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        let took = nanoseconds as f64 / 1e6;
        let _ = writeln!(text, "{messages:10} {packed:8} {bytes:11} {took:11.3}  {layout}");
        if !reason.is_empty() {
            let _ = writeln!(text, "      not packed: {reason}");
        }
    }
    let [messages, bytes, packed, nanoseconds] = all;
    let took = nanoseconds as f64 / 1e6;
    let _ = writeln!(text, "{messages:10} {packed:8} {bytes:11} {took:11.3}  in all");
    let mut rank = 0;
    // SAFETY: MPI has not been finalized; there is room for a number.
    unsafe { ffi::MPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &raw mut rank) };
    let mut path = file.clone();
    path.push(format!(".{rank}"));
    if let Err(error) = fs::write(&path, text) {
        eprintln!("dtype: {}: {error}", PathBuf::from(path).display());
    }
}
