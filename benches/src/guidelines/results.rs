//! What was measured on one library: the file that a report is made of.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::{
    calibrate::Calibration,
    groups::{Benchmark, Expected},
};

/// What is done with a datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// The constructor calls.
    Construct,
    /// `MPI_Type_commit`.
    Commit,
    /// `MPI_Pack`, or what stands for it.
    Pack,
    /// `MPI_Unpack`, or what stands for it.
    Unpack,
    /// Half of a message there and back, between ranks 0 and 1.
    PingPong,
    /// The same packed first and unpacked after.
    PackedPingPong,
    /// `MPI_Bcast`, each rank being the root in turn.
    Broadcast,
    /// The same packed first and unpacked after.
    PackedBroadcast,
    /// `MPI_Allgather`.
    AllGather,
    /// The same packed first and unpacked after.
    PackedAllGather,
}

impl Operation {
    /// All, in order.
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

    /// What it is called in tables.
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

    /// The same with packing by the user, of what communicates.
    pub fn packed(self) -> Option<Self> {
        match self {
            Self::PingPong => Some(Self::PackedPingPong),
            Self::Broadcast => Some(Self::PackedBroadcast),
            Self::AllGather => Some(Self::PackedAllGather),
            _ => None,
        }
    }
}

/// Times in microseconds, by pass: passes are minutes apart, in other memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples(pub Vec<Vec<f64>>);

/// Who does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The library, with a datatype that a user may write.
    Datatype,
    /// A loop by hand.
    ByHand,
    /// Ours.
    Ours,
}

/// One way to handle a layout.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// What it is called.
    pub name: String,
    /// Who does it.
    pub kind: Kind,
    /// How many datatypes, by which calls; or what else it is.
    pub calls: String,
    /// The cost in storage of the tree as it was described, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
    /// What it takes.
    pub times: BTreeMap<Operation, Samples>,
    /// Why it was not measured: the library does something else than it should.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
}

/// What was measured of a layout.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Layout {
    /// Which benchmark it is of.
    pub benchmark: Benchmark,
    /// What it is, without its size.
    pub series: String,
    /// Its size.
    pub size: String,
    /// Packed bytes.
    pub bytes: u64,
    /// In all ways.
    pub ways: Vec<Measured>,
    /// What is expected of these, by name.
    pub expected: Vec<Expected<String>>,
    /// A drawing of it.
    pub picture: String,
}

impl Layout {
    /// The layout with its size.
    pub fn name(&self) -> String {
        format!("{}: {}", self.series, self.size)
    }

    /// A way by its name.
    pub fn way(&self, name: &str) -> Option<&Measured> {
        self.ways.iter().find(|way| way.name == name)
    }
}

/// On what was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's own name.
    pub processor: String,
    /// Processors, those included that a launcher keeps from this process.
    pub cores: usize,
    /// In GiB.
    pub memory: u64,
    /// The operating system's name and version.
    pub system: String,
}

impl Machine {
    /// This one, as far as it tells.
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

/// All that was measured on a library.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// The library in one word: `openmpi-4.1.4`.
    pub library: String,
    /// What the library says of itself, the first line.
    pub version: String,
    /// The version of this program.
    pub program: String,
    /// On what.
    pub machine: Machine,
    /// How it was started.
    pub command: String,
    /// When it was started, in universal time.
    pub date: String,
    /// How many ranks there were.
    pub ranks: usize,
    /// Whether fewer sizes were measured.
    pub quick: bool,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// How often all layouts were measured.
    pub passes: usize,
    /// Whether it was stopped before its end.
    pub partial: bool,
    /// The layouts.
    pub layouts: Vec<Layout>,
    /// What things cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

impl Results {
    /// The library without its version.
    pub fn vendor(&self) -> &str {
        self.library.split('-').next().unwrap_or_default()
    }

    /// The file of a library in a folder.
    fn file(folder: &Path, library: &str) -> PathBuf {
        folder.join(format!("results-{library}.json"))
    }

    /// Writes the file of this library into a folder. What was there is replaced at once, so that there is
    /// always a whole file.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn save(&self, folder: &Path) -> Result<()> {
        write(&Self::file(folder, &self.library), &serde_json::to_string(self)?)
    }

    /// What is in a folder of the library that these are of, to be added to: so far these have no times.
    ///
    /// # Errors
    /// Where there is nothing, or it was measured otherwise.
    pub fn before(&self, folder: &Path) -> Result<Self> {
        let file = Self::file(folder, &self.library);
        let read = Self::load(&file).context("there is nothing that more could be added to")?;
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
            bail!("{}: nothing can be added to what was measured with {what}", file.display());
        }
        Ok(before)
    }

    /// All results in a folder, or in a file, by library.
    ///
    /// # Errors
    /// Where there are none, and where one cannot be read.
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
            checked.with_context(|| format!("{}: no results of this program", file.display()))
        };
        files.iter().map(read).collect()
    }

    /// Whether all is there that a report relies on.
    fn check(&self) -> Result<()> {
        /// A day, in microseconds.
        const LONGEST: f64 = 8.64e10;
        for layout in &self.layouts {
            for way in &layout.ways {
                let passes = way.times.values().flat_map(|samples| &samples.0);
                let is_time = |time: &f64| *time > 0.0 && *time < LONGEST;
                let are_times = |pass: &Vec<f64>| !pass.is_empty() && pass.iter().all(is_time);
                let is_right = way.times.values().all(|samples| !samples.0.is_empty());
                let what = || format!("{}, {}: something is no time", layout.name(), way.name);
                ensure!(is_right && passes.into_iter().all(are_times), what());
            }
        }
        let is_whole = self.calibration.as_ref().is_none_or(Calibration::is_whole);
        ensure!(is_whole, "the calibration lacks a model");
        Ok(())
    }

    /// Keeps what is in a folder of the library that these are of, under another name, which says when that
    /// was measured.
    ///
    /// # Errors
    /// Where it cannot be renamed.
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

/// Writes a file, which is there as a whole or not at all.
///
/// # Errors
/// Where it cannot be written.
pub fn write(file: &Path, text: &str) -> Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let new = folder.join(format!(".{name}-{}", std::process::id()));
    let written = fs::write(&new, text).and_then(|()| fs::rename(&new, file));
    if written.is_err() {
        // It may not even be there.
        let _ = fs::remove_file(&new);
    }
    written.with_context(|| format!("{} cannot be written", file.display()))
}
