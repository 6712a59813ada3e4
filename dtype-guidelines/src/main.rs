//! The program `guidelines`, for `cargo xtask bench guidelines` or alone under `mpiexec -n 2`.
//!
//! It finds out which datatypes an MPI library handles badly, and fits a cost model to the library. The
//! report covers all libraries that were measured into the same folder.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use dtype_guidelines::{
    calibrate::Calibration,
    groups,
    progress::{Progress, Shown},
    report,
    results::{Machine, Results, write},
    run::{Budget, Runner, Shared, agreed, described, lock},
};
use dtype_mpi::Running;
use mpi::traits::*;

/// Checks what users may expect of an MPI library's datatypes, fits a cost model, and writes a report:
/// `guidelines.html`, with the numbers beside it.
#[derive(Parser)]
struct Arguments {
    /// Measure fewer sizes: about 40 seconds instead of five minutes.
    #[arg(long)]
    quick: bool,
    /// The folder of the report. The page also shows the results of other libraries in this folder.
    #[arg(long, value_name = "FOLDER", default_value = "guidelines")]
    report: PathBuf,
    /// An earlier report, or a file of its results, to compare with. A new run keeps the previous results as
    /// `earlier-LIBRARY-DATE.json`.
    #[arg(long, value_name = "FOLDER")]
    baseline: Option<PathBuf>,
    /// The time to measure, in seconds. Everything is measured at least twice, which takes half a minute, or
    /// a quarter of a minute with `--quick`.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32))]
    seconds: Option<u32>,
    /// The form in which progress is shown.
    #[arg(long, value_enum, default_value_t)]
    progress: Shown,
    /// Add passes to the report's results of this library, so that they cover several starts of the program
    /// and times of the day. The costs are not measured again.
    #[arg(long)]
    more: bool,
    /// Measure nothing; only write the page again.
    #[arg(long)]
    page: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    // A missing baseline is reported before the measurement, not after it.
    let baseline = arguments.baseline.as_deref().map(Results::load).transpose()?.unwrap_or_default();
    if arguments.page {
        return page(&arguments.report, &baseline);
    }
    let universe = mpi::initialize().context("MPI cannot be initialized")?;
    let world = universe.world();
    ensure!(
        world.size() >= 2,
        "a message needs two ranks: mpiexec -n 2 {}",
        std::env::args().next().unwrap_or_default()
    );
    let is_first = world.rank() == 0;
    let started = Instant::now();
    let groups = groups::all(arguments.quick);
    let fresh = results(&arguments, world.size() as usize);
    let begun = if is_first { begin(fresh, &arguments, &groups) } else { Ok(fresh) };
    if !agreed(&world, begun.is_ok()) {
        return begun.map(drop);
    }
    let begun = begun?;
    let (passes_before, seconds_before) = (begun.passes, begun.seconds);
    let shared: Shared = Arc::new(Mutex::new(begun));
    let report = arguments.report;
    // Ctrl-C writes a report of the results so far. The other ranks wait for rank 0.
    ctrlc::set_handler({
        let (shared, report, baseline) = (Arc::clone(&shared), report.clone(), arguments.baseline);
        move || {
            if is_first {
                let mut results = lock(&shared);
                results.seconds = seconds_before + started.elapsed().as_secs_f64();
                let saved =
                    results.save(&report).and_then(|()| write_page_apart(&report, baseline.as_deref()));
                if let Err(error) = saved {
                    eprintln!("\nInterrupted, and the report was not written: {error:#}");
                }
            } else {
                // If rank 0 was interrupted too, its exit ends all ranks.
                thread::sleep(Duration::from_secs(10));
            }
            process::exit(130);
        }
    })?;

    let all = if arguments.quick { 36.0 } else { 280.0 };
    let all = Duration::from_secs_f64(arguments.seconds.map_or(all, f64::from));
    // The calibration takes its share of the time; the layouts get the rest.
    let share_of_layouts = if arguments.more { 1.0 } else { 0.65 };
    let mut progress = Progress::new(if is_first { arguments.progress } else { Shown::Nothing });
    let mut runner = Runner::new(&world, 1 + passes_before as u64);
    let mut saved = Instant::now();
    let budget = Budget { time: all.mul_f64(share_of_layouts), least: 2 };
    runner.run(&groups, budget, &shared, &mut |passes, share, name| {
        progress.show(share_of_layouts * share, &format!("pass {}: {name}", passes + 1));
        let mut results = lock(&shared);
        results.passes = passes_before + passes;
        results.seconds = seconds_before + started.elapsed().as_secs_f64();
        // If the process is killed, these results remain.
        if is_first && saved.elapsed() > Duration::from_secs(10) {
            saved = Instant::now();
            if let Err(error) = results.save(&report) {
                eprintln!("{error:#}");
            }
        }
    });
    let mut found = None;
    if !arguments.more {
        found = runner.calibrate(all.mul_f64(1.0 - share_of_layouts), &mut |share| {
            progress.show(share_of_layouts + (1.0 - share_of_layouts) * share, "fitting costs");
        });
    }
    progress.finish();
    if !is_first {
        return Ok(());
    }
    {
        let mut results = lock(&shared);
        results.partial = false;
        results.seconds = seconds_before + started.elapsed().as_secs_f64();
        if let Some(found) = found {
            cost_files(&report, &results.library, &found)?;
            results.calibration = Some(found);
        }
        results.save(&report)?;
    }
    page(&report, &baseline)
}

/// Writes the page of an interrupted run by another process, in a group of its own: an interrupted `mpiexec`
/// kills the ranks and their groups, Open MPI's after a second, when a long page is not yet written.
fn write_page_apart(report: &Path, baseline: Option<&Path>) -> Result<()> {
    let mut writer = Command::new(std::env::current_exe()?);
    writer.arg("--page").arg("--report").arg(report);
    if let Some(baseline) = baseline {
        writer.arg("--baseline").arg(baseline);
    }
    let mut writer = writer.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    eprintln!("\nInterrupted: a page of the results so far is written to {}.", report.display());
    ensure!(writer.wait()?.success(), "the page cannot be written");
    Ok(())
}

/// Prepares the folder of the report and returns the results to start with. With `--more`, these are the
/// earlier results of this library.
fn begin(mut fresh: Results, arguments: &Arguments, groups: &[groups::Group]) -> Result<Results> {
    let Arguments { report, baseline, .. } = arguments;
    fs::create_dir_all(report)
        .with_context(|| format!("{}: the folder of the report cannot be created", report.display()))?;
    let place = |path: &Path| path.canonicalize().with_context(|| path.display().to_string());
    let is_kept = match baseline {
        Some(baseline) => place(baseline)? != place(report)?,
        None => true,
    };
    ensure!(is_kept, "{}: the folders of the report and of its baseline must differ", report.display());
    fresh.layouts = described(groups);
    if arguments.more {
        return fresh.before(report);
    }
    // The new results must not replace the earlier ones, even if this run is interrupted.
    fresh.keep_earlier(report)?;
    Ok(fresh)
}

/// Writes the page, and prints a summary of it.
fn page(report: &Path, baseline: &[Results]) -> Result<()> {
    let page = report::write(report, baseline)?;
    let mut text = String::new();
    for results in Results::load(report)? {
        text += &report::summary(&results);
    }
    writeln!(io::stdout(), "{text}The report: {}", page.display()).context("standard output")
}

/// Returns the results at the start of a run, without times.
fn results(arguments: &Arguments, ranks: usize) -> Results {
    let version = mpi::environment::library_version().unwrap_or_default();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (library, version) = if let Some((library, number)) = Running::recognized(&version) {
        (format!("{}-{number}", library.name), format!("{} {number}", library.title))
    } else {
        // For another library, the first words of its version string.
        let said = if version.trim().is_empty() { "unknown library" } else { &version };
        let words: Vec<_> = said.split_whitespace().take(4).collect();
        let name = words.join("-").to_lowercase();
        let name = name.chars().filter(|c| c.is_ascii_alphanumeric() || ".-".contains(*c)).collect();
        (name, words.join(" "))
    };
    Results {
        library,
        version,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        machine: Machine::this(),
        command: command(),
        date: report::date(now.as_secs()),
        ranks,
        quick: arguments.quick,
        seconds: 0.0,
        passes: 0,
        partial: true,
        layouts: Vec::new(),
        calibration: None,
    }
}

/// Returns the command line of this program, without the folder of the executable.
fn command() -> String {
    let mut words = std::env::args();
    let program = words.next().map(PathBuf::from);
    let program = program.as_deref().and_then(|path| path.file_name()).unwrap_or_default().to_owned();
    std::iter::once(program.to_string_lossy().into_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Writes `cost-LIBRARY.json` for packing and `cost-LIBRARY-ping-pong.json` for messages.
fn cost_files(folder: &Path, library: &str, found: &Calibration) -> Result<()> {
    let best = found.best();
    for (prices, suffix) in [(best.pack, ""), (best.ping_pong, "-ping-pong")] {
        let text = serde_json::to_string(&prices.costs())? + "\n";
        let file = folder.join(format!("cost-{library}{suffix}.json"));
        write(&file, &text)?;
    }
    Ok(())
}
