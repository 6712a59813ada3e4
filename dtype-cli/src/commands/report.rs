//! The command `report`: the use that a program made of its datatypes, as the preloaded library reported it.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use dtype_core::normalize;
use dtype_report::{MOST_ROWS, Report, SortBy};

use super::Color;
use crate::{
    models::{Costs, Models},
    outcome::{MapFormat, Outcome, json},
    output::pictures::{Drawn, compared, picture},
};

#[derive(Args)]
pub(crate) struct Arguments {
    /// The format of the answer. JSON contains all rows.
    #[arg(long, value_enum, default_value = "text")]
    format: MapFormat,
    /// The order of the rows.
    #[arg(long, value_enum, default_value_t)]
    sort: Sort,
    /// Show all rows, not only the first 20.
    #[arg(long)]
    all: bool,
    /// Use colours in pictures: `auto` uses them if the output is a terminal and NO_COLOR is not set.
    #[arg(long, value_enum, default_value_t)]
    color: Color,
    #[command(flatten)]
    costs: Costs,
    /// The FILE of DTYPE_REPORT, or the report file of one rank.
    file: PathBuf,
}

/// The order of the rows.
#[derive(Clone, Copy, Default, ValueEnum)]
enum Sort {
    /// Most time won or lost first
    #[default]
    Time,
    /// Most time of first use first: commits, plans and first messages
    FirstUse,
    /// Most bytes first
    Bytes,
    /// Most messages first
    Messages,
}

impl From<Sort> for SortBy {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Time => Self::Time,
            Sort::FirstUse => Self::FirstUse,
            Sort::Bytes => Self::Bytes,
            Sort::Messages => Self::Messages,
        }
    }
}

impl Arguments {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<Outcome> {
        let Self { format, sort, all, color, costs, file } = self;
        Ok(report(format, (sort, all), color, &costs.models()?, &file)?.into())
    }
}

/// Returns the sum of all ranks, as a table or as JSON. The table has some or all rows, with a picture for
/// each. The JSON has all rows, with least-cost trees.
fn report(
    format: MapFormat,
    (sort, has_all): (Sort, bool),
    color: Color,
    models: &Models,
    file: &Path,
) -> Result<String> {
    let mut report = read(file)?;
    report.sort(sort.into());
    let rows = if has_all { usize::MAX } else { MOST_ROWS };
    let solved = if matches!(format, MapFormat::Json) { usize::MAX } else { rows };
    let costs = models.wanted();
    let mut pictures = String::new();
    for usage in report.datatypes.iter_mut().take(solved) {
        let Some(layout) = &mut usage.layout else { continue };
        let least = normalize(&layout.tree, costs)?;
        if matches!(format, MapFormat::Text) {
            let largest = if usage.sizes[0] == usage.sizes[1] { "" } else { ", the largest" };
            let title = format!("{}, committed in {}{largest}", usage.built, usage.place);
            let trees = compared(&layout.tree, &least, costs);
            let trees = trees.iter().map(|(heading, tree)| (heading.as_str(), *tree)).collect();
            let drawn = Drawn { title: &title, bounds: layout.bounds, trees, costs, record: None };
            write!(pictures, "\n{}", picture(&drawn)?.text(color.is_on()))?;
        }
        layout.least = Some((least.tree, least.optimality));
    }
    Ok(match format {
        MapFormat::Json => json(&report)?,
        MapFormat::Text => report.table(rows) + &pictures,
    })
}

/// Reads the report of one rank.
fn parsed(path: &Path) -> Result<Report> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| format!("{}: this is not a report of a rank", path.display()))
}

/// Reads the report of one rank, or the reports of all ranks together.
fn read(file: &Path) -> Result<Report> {
    if file.extension().is_some_and(|extension| extension == "json") {
        return parsed(file);
    }
    // `FILE.RANK` is the same report as a table.
    let is_rank = |extension: &OsStr| extension.to_str().is_some_and(|rank| rank.parse::<u64>().is_ok());
    let of_rank = file.with_added_extension("json");
    if file.extension().is_some_and(is_rank) && of_rank.exists() {
        return parsed(&of_rank);
    }
    let mut sum: Option<Report> = None;
    for (rank, path) in of_ranks(file)? {
        match &mut sum {
            None => sum = Some(parsed(&path)?),
            // Files of higher ranks are left over from a larger job.
            Some(sum) if rank >= sum.of => break,
            Some(sum) => sum.add(&parsed(&path)?),
        }
    }
    sum.with_context(|| {
        let file = file.display();
        format!(
            "{file}.0.json does not exist: `dtype run --report {file} mpiexec …` writes it, or the \
             preloaded library with DTYPE_REPORT={file}"
        )
    })
}

/// Removes the reports of an earlier run, which might be taken for those of a run that writes none. Other
/// files with such names are the user's own.
pub(super) fn remove(file: &Path) -> Result<()> {
    for path in of_ranks(file)?.into_values().filter(|path| parsed(path).is_ok()) {
        for path in [path.with_extension(""), path] {
            let removed = fs::remove_file(&path)
                .or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) });
            removed.with_context(|| format!("{}: the report of an earlier run", path.display()))?;
        }
    }
    Ok(())
}

/// Returns the report files that exist, by rank.
fn of_ranks(file: &Path) -> Result<BTreeMap<u64, PathBuf>> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let of_rank = |path: PathBuf| {
        let rest = path.file_name()?.to_str()?.strip_prefix(&name)?;
        let rank = rest.strip_prefix('.')?.strip_suffix(".json")?.parse().ok()?;
        Some((rank, path))
    };
    Ok(entries.flatten().filter_map(|entry| of_rank(entry.path())).collect())
}
