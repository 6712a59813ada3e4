//! `cargo xtask bench guidelines`, or alone under `mpiexec -n 2`: what an MPI library does badly with
//! datatypes, and what things cost there. The report is of all libraries that have been measured into the
//! same folder.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use dtype_benches::guidelines::{
    calibrate::Calibration,
    groups,
    progress::{Progress, Shown},
    report,
    results::{Machine, Results, write},
    run::{Budget, Runner, Shared, agreed, described, lock},
};
use mpi::traits::*;

/// Checks what users may expect of an MPI library's datatypes, finds out what things cost there, and writes a
/// report: `guidelines.html`, and the numbers beside it.
#[derive(Parser)]
struct Arguments {
    /// Fewer sizes: about 40 seconds instead of five minutes.
    #[arg(long)]
    quick: bool,
    /// The folder of the report. What is there of other libraries is on the page, too.
    #[arg(long, value_name = "FOLDER", default_value = "guidelines")]
    report: PathBuf,
    /// An earlier report, or a file of its results, to compare with. A new run keeps that before it as
    /// `earlier-LIBRARY-DATE.json`.
    #[arg(long, value_name = "FOLDER")]
    baseline: Option<PathBuf>,
    /// How long is measured, in seconds. Everything is measured twice at least, which takes half a minute,
    /// with
    /// `--quick` a quarter of one.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32))]
    seconds: Option<u32>,
    /// What is shown meanwhile.
    #[arg(long, value_enum, default_value_t)]
    progress: Shown,
    /// Adds passes to what is in the report of this library, so that several starts of the program, and times
    /// of the day, are in it. What things cost is not measured again.
    #[arg(long)]
    more: bool,
    /// Measures nothing, and writes the page anew.
    #[arg(long)]
    page: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    // What is missing is better told before than after.
    let baseline = arguments.baseline.as_deref().map(Results::load).transpose()?.unwrap_or_default();
    if arguments.page {
        return page(&arguments.report, &baseline);
    }
    let universe = mpi::initialize().context("MPI cannot be initialized")?;
    let world = universe.world();
    ensure!(
        world.size() >= 2,
        "a message takes two ranks: mpiexec -n 2 {}",
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
    // Whoever interrupts gets what there is, and the ranks end with the first one.
    ctrlc::set_handler({
        let (shared, report, baseline) = (Arc::clone(&shared), report.clone(), baseline.clone());
        move || {
            if is_first {
                let mut results = lock(&shared);
                results.seconds = seconds_before + started.elapsed().as_secs_f64();
                let saved = results.save(&report).and_then(|()| report::write(&report, &baseline));
                match saved {
                    Ok(page) => eprintln!("\nInterrupted: {} is about what was measured.", page.display()),
                    Err(error) => eprintln!("\nInterrupted, and no report: {error:#}"),
                }
            } else {
                // Rank 0 ends all, if it was interrupted, too.
                thread::sleep(Duration::from_secs(10));
            }
            process::exit(130);
        }
    })?;

    let all = if arguments.quick { 36.0 } else { 280.0 };
    let all = Duration::from_secs_f64(arguments.seconds.map_or(all, f64::from));
    // Calibration takes its share, the rest goes to the layouts.
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
        // Who kills it gets this.
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
            progress.show(share_of_layouts + (1.0 - share_of_layouts) * share, "what things cost");
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

/// Prepares the folder of the report; with `--more`, gives what is there of this library.
fn begin(mut fresh: Results, arguments: &Arguments, groups: &[groups::Group]) -> Result<Results> {
    let Arguments { report, baseline, .. } = arguments;
    fs::create_dir_all(report)
        .with_context(|| format!("{}: the folder of the report cannot be made", report.display()))?;
    let place = |path: &Path| path.canonicalize().with_context(|| path.display().to_string());
    let is_kept = match baseline {
        Some(baseline) => place(baseline)? != place(report)?,
        None => true,
    };
    ensure!(is_kept, "{}: a report does not go into the folder of its baseline", report.display());
    fresh.layouts = described(groups);
    if arguments.more {
        return fresh.before(report);
    }
    // Whoever interrupts a run must not lose another.
    fresh.keep_earlier(report)?;
    Ok(fresh)
}

/// Writes the page, and says in a few lines what is on it.
fn page(report: &Path, baseline: &[Results]) -> Result<()> {
    let page = report::write(report, baseline)?;
    let mut text = String::new();
    for results in Results::load(report)? {
        text += &report::summary(&results);
    }
    writeln!(io::stdout(), "{text}The report: {}", page.display()).context("standard output")
}

/// What a run begins with.
fn results(arguments: &Arguments, ranks: usize) -> Results {
    let version = mpi::environment::library_version().unwrap_or_default();
    let line = |start: &str| version.lines().find_map(|line| line.trim().strip_prefix(start));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (library, version) = match (line("MPICH Version:"), line("Open MPI v")) {
        (Some(number), _) => (format!("mpich-{}", number.trim()), format!("MPICH {}", number.trim())),
        (None, Some(rest)) => {
            let number = rest.split([',', ' ']).next().unwrap_or_default();
            (format!("openmpi-{number}"), format!("Open MPI {number}"))
        }
        // Another library: the first words of what it says of itself.
        (None, None) => {
            let said = if version.trim().is_empty() { "unknown library" } else { &version };
            let words: Vec<_> = said.split_whitespace().take(4).collect();
            let name = words.join("-").to_lowercase();
            let name = name.chars().filter(|c| c.is_ascii_alphanumeric() || ".-".contains(*c)).collect();
            (name, words.join(" "))
        }
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

/// How this was started, without the folders of this machine.
fn command() -> String {
    let mut words = std::env::args();
    let program = words.next().map(PathBuf::from);
    let program = program.as_deref().and_then(|path| path.file_name()).unwrap_or_default().to_owned();
    std::iter::once(program.to_string_lossy().into_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// `cost-LIBRARY.json` for packing, `cost-LIBRARY-ping-pong.json` for messages.
fn cost_files(folder: &Path, library: &str, found: &Calibration) -> Result<()> {
    let best = found.best();
    for (prices, suffix) in [(best.pack, ""), (best.ping_pong, "-ping-pong")] {
        let text = serde_json::to_string(&prices.costs())? + "\n";
        let file = folder.join(format!("cost-{library}{suffix}.json"));
        write(&file, &text)?;
    }
    Ok(())
}
