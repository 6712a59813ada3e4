//! The command `report`: what a program did with its datatypes, as the preloaded library has reported it.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use dtype_core::{normalize, usage::Report};

use crate::{
    draw::Color,
    models::Models,
    outcome::{MapFormat, json},
    output::pictures::{Drawn, compared, picture},
};

/// As many layouts are drawn.
const MOST_PICTURES: usize = 20;

/// The sum of all ranks, as a table with pictures or as JSON with least-cost trees.
pub(crate) fn report(format: MapFormat, color: Color, models: &Models, file: &Path) -> Result<String> {
    let mut report = read(file)?;
    report.sort();
    let costs = models.wanted();
    let mut pictures = String::new();
    for (i, usage) in report.datatypes.iter_mut().enumerate() {
        let Some(layout) = &mut usage.layout else { continue };
        let least = normalize(&layout.tree, costs)?;
        if i < MOST_PICTURES {
            let title = format!("{}, committed in {}", usage.built, usage.place);
            let trees = compared(&layout.tree, &least, costs);
            let trees = trees.iter().map(|(heading, tree)| (heading.as_str(), *tree)).collect();
            let drawn = Drawn { title: &title, bounds: layout.bounds, trees, costs, record: None };
            write!(pictures, "\n{}", picture(&drawn)?.text(color.is_on()))?;
        }
        layout.least = Some((least.tree, least.optimality));
    }
    Ok(match format {
        MapFormat::Json => json(&report)?,
        MapFormat::Text => report.table() + &pictures,
    })
}

/// The report of one rank, or those of all ranks together.
fn read(file: &Path) -> Result<Report> {
    let parsed = |path: &Path| -> Result<Report> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text)
            .with_context(|| format!("{}: this is no report of a rank", path.display()))
    };
    if file.extension().is_some_and(|extension| extension == "json") {
        return parsed(file);
    }
    let mut sum: Option<Report> = None;
    for (rank, path) in of_ranks(file)? {
        match &mut sum {
            None => sum = Some(parsed(&path)?),
            // What is beyond is left from a larger job.
            Some(sum) if rank >= sum.of => break,
            Some(sum) => sum.add(&parsed(&path)?),
        }
    }
    sum.with_context(|| {
        let file = file.display();
        format!(
            "{file}.0.json is not there: run the program with DTYPE_REPORT={file} and the preloaded library"
        )
    })
}

/// The files of ranks that are there, in their order.
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
