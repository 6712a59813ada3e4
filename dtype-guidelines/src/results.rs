//! The results of one library, and the file that holds them. A report is made from such files.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::{
    calibrate::Calibration,
    groups::{Benchmark, Expected},
    statistics::Samples,
};

/// An operation with a datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// The constructor calls.
    Construct,
    /// `MPI_Type_commit`.
    Commit,
    /// `MPI_Pack`, or another way to pack.
    Pack,
    /// `MPI_Unpack`, or another way to unpack.
    Unpack,
    /// Half a ping-pong between ranks 0 and 1.
    PingPong,
    /// Half a ping-pong of packed bytes, with packing before and unpacking after.
    PackedPingPong,
    /// `MPI_Bcast`, with each rank as the root in turn.
    Broadcast,
    /// `MPI_Bcast` of packed bytes, with packing before and unpacking after.
    PackedBroadcast,
    /// `MPI_Allgather`.
    AllGather,
    /// `MPI_Allgather` of packed bytes, with packing before and unpacking after.
    PackedAllGather,
}

impl Operation {
    /// All operations, in order.
    pub const ALL: [Self; 10] = [
        Self::Construct,
        Self::Commit,
        Self::Pack,
        Self::Unpack,
        Self::PingPong,
        Self::PackedPingPong,
        Self::Broadcast,
        Self::PackedBroadcast,
        Self::AllGather,
        Self::PackedAllGather,
    ];

    /// Returns the name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::Construct => "construct",
            Self::Commit => "commit",
            Self::Pack => "pack",
            Self::Unpack => "unpack",
            Self::PingPong => "ping-pong",
            Self::PackedPingPong => "packed, ping-pong",
            Self::Broadcast => "broadcast",
            Self::PackedBroadcast => "packed, broadcast",
            Self::AllGather => "all-gather",
            Self::PackedAllGather => "packed, all-gather",
        }
    }

    /// Returns the operation with packing by the user, if this one communicates a datatype.
    pub fn packed(self) -> Option<Self> {
        match self {
            Self::PingPong => Some(Self::PackedPingPong),
            Self::Broadcast => Some(Self::PackedBroadcast),
            Self::AllGather => Some(Self::PackedAllGather),
            _ => None,
        }
    }
}

/// The origin of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The library, with a datatype that a user may write.
    Datatype,
    /// A loop by hand.
    ByHand,
    /// This project.
    Ours,
}

/// A way to handle a layout, with its times.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// The name.
    pub name: String,
    /// The origin.
    pub kind: Kind,
    /// The count and the constructor calls of a datatype, or a description of another way.
    pub calls: String,
    /// The storage cost of the type tree, if the way has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
    /// The times of each operation.
    pub times: BTreeMap<Operation, Samples>,
    /// The reason for missing times: the way packs or unpacks wrong bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
}

/// The results for a layout.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Layout {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// The name of the layout, without its size.
    pub series: String,
    /// The size, as the name ends with it.
    pub size: String,
    /// The packed size in bytes.
    pub bytes: u64,
    /// The ways, with their times.
    pub ways: Vec<Measured>,
    /// The expectations of the ways, by name.
    pub expected: Vec<Expected<String>>,
    /// A picture of the layout, as SVG.
    pub picture: String,
}

impl Layout {
    /// Returns the layout with its size.
    pub fn name(&self) -> String {
        format!("{}: {}", self.series, self.size)
    }

    /// Returns a way by its name.
    pub fn way(&self, name: &str) -> Option<&Measured> {
        self.ways.iter().find(|way| way.name == name)
    }
}

/// The machine of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The name of the processor.
    pub processor: String,
    /// The number of processors, including those that a launcher withholds from this process.
    pub cores: usize,
    /// The memory in GiB.
    pub memory: u64,
    /// The name and the version of the operating system.
    pub system: String,
}

impl Machine {
    /// Describes this machine. An unknown name is "unknown", and an unknown number is 0.
    pub fn this() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let unknown = || "unknown".to_owned();
        let kibibytes = field(&read("/proc/meminfo"), "MemTotal")
            .and_then(|text| text.trim_end_matches(" kB").parse::<u64>().ok());
        let release = read("/proc/sys/kernel/osrelease");
        Self {
            processor: field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(unknown),
            cores: read("/proc/cpuinfo").lines().filter(|line| line.starts_with("processor")).count(),
            memory: kibibytes.map_or(0, |size| size.div_ceil(1 << 20)),
            system: format!("{} {}", std::env::consts::OS, release.trim()),
        }
    }
}

/// All results of a library.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// The library in one word: `openmpi-4.1.4`.
    pub library: String,
    /// The name and the version of the library, for people.
    pub version: String,
    /// The version of this program.
    pub program: String,
    /// The machine.
    pub machine: Machine,
    /// The command line.
    pub command: String,
    /// The time of the start, in universal time.
    pub date: String,
    /// The number of ranks.
    pub ranks: usize,
    /// `true` if fewer sizes were measured.
    pub quick: bool,
    /// The duration of the measurement, in seconds.
    pub seconds: f64,
    /// The number of times that all layouts were measured.
    pub passes: usize,
    /// `true` if the run was stopped before its end.
    pub partial: bool,
    /// The results for the layouts.
    pub layouts: Vec<Layout>,
    /// The fitted cost models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

impl Results {
    /// Returns the name of the library without its version.
    pub fn vendor(&self) -> &str {
        self.library.split('-').next().unwrap_or_default()
    }

    /// Returns the path of a library's file in a folder.
    fn file(folder: &Path, library: &str) -> PathBuf {
        folder.join(format!("results-{library}.json"))
    }

    /// Writes the file of this library into a folder. It replaces an existing file atomically.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<()> {
        write(&Self::file(folder, &self.library), &serde_json::to_string(self)?)
    }

    /// Returns the earlier results of this library in a folder, so that passes can be added to them. `self`
    /// describes the present run, without times.
    ///
    /// # Errors
    /// If there are no earlier results, or they differ in a version, the machine, the ranks, `--quick` or the
    /// layouts.
    pub fn before(&self, folder: &Path) -> Result<Self> {
        let file = Self::file(folder, &self.library);
        let read = Self::load(&file).context("there are no earlier results to add to")?;
        let before = read.into_iter().next().context("a file holds one")?;
        let names = |of: &Self| {
            let names = |layout: &Layout| {
                let ways = layout.ways.iter().map(|way| way.name.clone()).collect::<Vec<_>>();
                (layout.benchmark, layout.name(), ways)
            };
            of.layouts.iter().map(names).collect::<Vec<_>>()
        };
        let differs = [
            ("another version of the library", before.version != self.version),
            ("another version of this program", before.program != self.program),
            ("another machine", before.machine != self.machine),
            ("another number of ranks", before.ranks != self.ranks),
            ("the other choice of `--quick`", before.quick != self.quick),
            ("other layouts", names(&before) != names(self)),
        ];
        if let Some((what, _)) = differs.into_iter().find(|(_, differs)| *differs) {
            bail!("{}: cannot add to results that were measured with {what}", file.display());
        }
        Ok(before)
    }

    /// Reads all results in a folder or in a file, sorted by library.
    ///
    /// # Errors
    /// If there are no results, or a file cannot be read.
    pub fn load(path: &Path) -> Result<Vec<Self>> {
        let mut files = vec![path.to_owned()];
        if path.is_dir() {
            files = fs::read_dir(path)
                .with_context(|| path.display().to_string())?
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|file| {
                    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    name.starts_with("results-") && file.extension().is_some_and(|is| is == "json")
                })
                .collect();
            files.sort();
        }
        ensure!(!files.is_empty(), "{}: there is no file results-LIBRARY.json", path.display());
        let read = |file: &PathBuf| {
            let text = fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
            let read = serde_json::from_slice(&text).map_err(anyhow::Error::from);
            let checked = read.and_then(|read: Self| read.check().map(|()| read));
            checked.with_context(|| format!("{}: not results of this program", file.display()))
        };
        files.iter().map(read).collect()
    }

    /// Checks that the results have everything that a report relies on.
    fn check(&self) -> Result<()> {
        /// A day, in microseconds.
        const LONGEST: f64 = 8.64e10;
        for layout in &self.layouts {
            for way in &layout.ways {
                let passes = way.times.values().flat_map(|samples| &samples.0);
                let is_time = |time: &f64| *time > 0.0 && *time < LONGEST;
                let are_times = |pass: &Vec<f64>| !pass.is_empty() && pass.iter().all(is_time);
                let is_right = way.times.values().all(|samples| !samples.0.is_empty());
                let what = || format!("{}, {}: a value is not a time", layout.name(), way.name);
                ensure!(is_right && passes.into_iter().all(are_times), what());
            }
        }
        let is_whole = self.calibration.as_ref().is_none_or(Calibration::is_whole);
        ensure!(is_whole, "the calibration lacks a model");
        Ok(())
    }

    /// Renames the earlier results of this library in a folder, if there are any. The new name contains their
    /// date.
    ///
    /// # Errors
    /// If the file cannot be renamed.
    pub fn keep_earlier(&self, folder: &Path) -> Result<()> {
        let file = Self::file(folder, &self.library);
        if let Some(earlier) = Self::load(&file).ok().and_then(|all| all.into_iter().next()) {
            let date = earlier.date.replace([' ', ':'], "-");
            let date = date.chars().filter(|c| c.is_ascii_digit() || *c == '-').collect::<String>();
            let kept = folder.join(format!("earlier-{}-{date}.json", self.library));
            fs::rename(&file, &kept).with_context(|| kept.display().to_string())?;
        }
        Ok(())
    }
}

/// Writes a file atomically: it is complete or absent.
///
/// # Errors
/// If the file cannot be written.
pub fn write(file: &Path, text: &str) -> Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let new = folder.join(format!(".{name}-{}", std::process::id()));
    let written = fs::write(&new, text).and_then(|()| fs::rename(&new, file));
    if written.is_err() {
        // The temporary file may not exist, so the result is ignored.
        let _ = fs::remove_file(&new);
    }
    written.with_context(|| format!("{} cannot be written", file.display()))
}
