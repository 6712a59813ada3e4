//! `cargo xtask test`: the checks, as named steps, those that fail quickly first.
//!
//! The steps share a few selections of packages. Cargo unifies the features of the packages that it builds
//! together, and would compile the same crates again for a slightly different selection.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use xshell::{Shell, cmd};

use crate::{Libraries, any_mpi, changed, docs, house, mpi, nodes::Nodes, uncalled};

/// The extent of a run. Each includes the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Extent {
    /// A newcomer's run: only a sample of the slow tests.
    Brief,
    /// CI's run: everything but sweeps. Each library has some numbers of ranks.
    Full,
    /// Sweeps, Miri and the newest MPI libraries, too.
    Long,
}

/// The choice of the steps to run.
pub(crate) struct Choice {
    pub(crate) libraries: Libraries,
    pub(crate) extent: Extent,
    /// The names of the steps to run. If empty, all steps are run.
    pub(crate) only: Vec<String>,
    /// `true` to run only the steps for what has changed.
    pub(crate) changed: bool,
    /// `true` to list the steps instead of running them.
    pub(crate) list: bool,
}

/// The work of a step. It counts the tests that it runs.
type Work<'a> = Box<dyn Fn(&Shell, &mut Count) -> Result<()> + 'a>;

/// A check that can be run by itself.
struct Step<'a> {
    name: String,
    /// The measured seconds that the step takes on two slow cores from a fresh clone.
    seconds: u64,
    run: Work<'a>,
}

impl<'a> Step<'a> {
    fn new(
        name: impl Into<String>,
        seconds: u64,
        run: impl Fn(&Shell, &mut Count) -> Result<()> + 'a,
    ) -> Self {
        Self { name: name.into(), seconds, run: Box::new(run) }
    }

    /// Returns `true` if `name` is the step's name, or the part of its name before `@`.
    fn is(&self, name: &str) -> bool {
        self.name == name || self.name.split('@').next() == Some(name)
    }
}

/// Runs the chosen steps, and shows their times.
pub(crate) fn run(choice: &Choice) -> Result<()> {
    let sh = Shell::new()?;
    let started = Instant::now();
    let libraries = mpi::set_up(&sh, choice.libraries)?;
    let mut steps = steps(&libraries, choice.extent);
    if choice.changed {
        let wanted = changed::steps(&sh)?;
        steps.retain(|step| wanted.iter().any(|name| step.is(name)));
    }
    if !choice.only.is_empty() {
        if let Some(name) = choice.only.iter().find(|name| !steps.iter().any(|step| step.is(name))) {
            let all: Vec<_> = steps.iter().map(|step| &*step.name).collect();
            bail!("there is no step `{name}`; the steps of this run are {}", all.join(", "));
        }
        steps.retain(|step| choice.only.iter().any(|name| step.is(name)));
    }
    let minutes = |seconds: u64| seconds.div_ceil(60);
    let total: u64 = steps.iter().map(|step| step.seconds).sum();
    if choice.list {
        for step in &steps {
            println!("{:32} {:>4} s", step.name, step.seconds);
        }
        println!("{:32} {:>4} s, on two slow cores from a fresh clone", "all", total);
        return Ok(());
    }
    println!(
        "{} steps, about {} minutes on two slow cores from a fresh clone. MPI took {} s to find or install.",
        steps.len(),
        minutes(total),
        started.elapsed().as_secs()
    );
    let is_brief = choice.extent == Extent::Brief;
    if is_brief {
        println!("Of long tests, only a sample is run; `--ci` runs everything.");
    }
    let mut count = Count::default();
    let (mut rows, mut left) = (Vec::new(), total);
    // A first compilation is faster without incremental files, which only speed up the next compilation.
    let is_fresh = !sh.path_exists("target/debug/incremental");
    let _incremental = is_fresh.then(|| sh.push_env("CARGO_INCREMENTAL", "0"));
    let _yield = sh.push_env(xtask::launch::YIELD, mpi::yielding(&sh)?);
    // The user's environment must not shorten a run of all cases.
    let _brief = sh.push_env(xtask::launch::BRIEF, if is_brief { "1" } else { "0" });
    let _cases = is_brief.then(|| sh.push_env("PROPTEST_CASES", "32"));
    for (i, step) in steps.iter().enumerate() {
        println!("\n── {} of {}: {} (about {} min left)", i + 1, steps.len(), step.name, minutes(left));
        let (before, started, busy) = (count.clone(), Instant::now(), busy());
        let result = (step.run)(&sh, &mut count);
        rows.push(Row {
            name: &step.name,
            taken: started.elapsed(),
            busy: self::busy().saturating_sub(busy),
            passed: count.passed - before.passed,
            failed: count.failed - before.failed,
        });
        if let Err(error) = result {
            table(&rows);
            return Err(
                error.context(format!("step `{0}`; `cargo xtask test --only {0}` runs it alone", step.name))
            );
        }
        left -= step.seconds;
    }
    table(&rows);
    println!("\n{} passed, {} failed, {} skipped", count.passed, count.failed, count.ignored);
    ensure!(count.failed == 0, "some tests failed");
    Ok(())
}

/// The time and the tests of a step.
struct Row<'a> {
    name: &'a str,
    taken: Duration,
    /// The time of all cores.
    busy: Duration,
    passed: u64,
    failed: u64,
}

/// Prints the steps, their times and the cores that they kept busy.
fn table(rows: &[Row<'_>]) {
    println!("\n{:32} {:>7} {:>7} {:>7} {:>7}", "step", "seconds", "cores", "passed", "failed");
    let line = |name: &str, taken: Duration, busy: Duration| {
        let (taken, busy) = (taken.as_secs_f64(), busy.as_secs_f64());
        format!("{name:32} {taken:>7.0} {:>7.1}", busy / taken.max(0.001))
    };
    for Row { name, taken, busy, passed, failed } in rows {
        println!("{} {passed:>7} {failed:>7}", line(name, *taken, *busy));
    }
    let sum = |time: fn(&Row<'_>) -> Duration| rows.iter().map(time).sum();
    println!("{}", line("all", sum(|row| row.taken), sum(|row| row.busy)));
}

/// Returns the time that this process and its children have kept cores busy, or zero if it is unknown.
fn busy() -> Duration {
    // Behind the name, which is in parentheses, the fields from the twelfth on are the times of the process
    // in user code and in the system, and the same of its children, in hundredths of a second.
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let times = fields.skip(11).take(4).filter_map(|field| field.parse::<u64>().ok());
    Duration::from_millis(10 * times.sum::<u64>())
}

/// Packages that need no MPI, with the features that need none.
const WITHOUT_MPI: &[&str] = &[
    "--package=dtype-core",
    "--package=dtype-derive",
    "--package=dtype-engine",
    "--package=dtype-runtime",
    "--package=dtype-report",
    "--package=dtype-cli",
    "--package=dtype-compile-fail",
    "--package=dtype-edition-*",
    "--package=xtask",
    "--no-default-features",
    "--features=dtype-core/picture,dtype-core/serde,dtype-runtime/picture,dtype-runtime/half",
    "--features=dtype-runtime/marshal,dtype-runtime/nalgebra,dtype-runtime/ndarray,dtype-runtime/serde",
    "--features=dtype-runtime/num-complex,dtype-runtime/nalgebra-0_34",
];

/// Packages that are tested with optimization.
const OPTIMIZED: &[&str] = &[
    "--release",
    "--package=dtype-core",
    "--package=dtype-runtime",
    "--package=dtype-benches",
    "--package=dtype-guidelines",
    "--no-default-features",
];

/// The tests of [`OPTIMIZED`] that search much, and those that copy much.
const SEARCH: [&str; 2] = ["--test=exhaustive", "--test=runs"];
const COPY: [&str; 2] = ["--test=engine", "--test=pack"];

/// The packages of [`OPTIMIZED`] of which all tests are run with optimization. They depend on the other
/// packages of [`OPTIMIZED`], so the features are equal, too.
const MEASURING: &[&str] =
    &["--release", "--package=dtype-benches", "--package=dtype-guidelines", "--no-default-features"];

/// The program `guidelines` and the benchmarks: a run of the program, and the unit tests of both.
const GUIDELINES: &[&str] = &[
    "--package=dtype-guidelines",
    "--package=dtype-benches",
    "--features=dtype-guidelines/mpi,dtype-benches/mpi",
    "--lib",
    "--test=guidelines",
    "--",
];

/// Packages that are tested with each MPI library.
const WITH_MPI: &[&str] = &[
    "--package=dtype-mpi",
    "--package=dtype-runtime",
    "--package=dtype-tests",
    "--package=dtype-compile-fail",
    "--package=dtype-examples",
    "--package=dtype-example-extension",
    "--package=dtype-cli",
    "--package=dtype-interpose",
    "--features=dtype-cli/mpi,dtype-runtime/marshal,dtype-runtime/serde",
];

/// The packages of both, with all of their features: those of a brief run, which compiles them once.
const ALL: &[&str] = &[
    "--package=dtype-core",
    "--package=dtype-derive",
    "--package=dtype-engine",
    "--package=dtype-runtime",
    "--package=dtype-report",
    "--package=dtype-cli",
    "--package=dtype-edition-*",
    "--package=xtask",
    "--package=dtype-mpi",
    "--package=dtype-tests",
    "--package=dtype-examples",
    "--package=dtype-example-extension",
    "--package=dtype-interpose",
    "--features=dtype-core/picture,dtype-core/serde,dtype-cli/compilers,dtype-cli/mpi",
    "--features=dtype-runtime/picture,dtype-runtime/half,dtype-runtime/marshal,dtype-runtime/nalgebra",
    "--features=dtype-runtime/ndarray,dtype-runtime/serde,dtype-runtime/num-complex",
    "--features=dtype-runtime/nalgebra-0_34",
];

/// The tests of [`ALL`] that need no ranks. A test checks that no file is missing.
const WITHOUT_RANKS: [&str; 22] = [
    "--lib",
    "--bin=dtype",
    "--bin=xtask",
    "--test=command",
    "--test=constant",
    "--test=elements",
    "--test=engine",
    "--test=exhaustive",
    "--test=formats",
    "--test=inputs",
    "--test=laws",
    "--test=layout",
    "--test=limits",
    "--test=marshal",
    "--test=message",
    "--test=pack",
    "--test=papers",
    "--test=picture",
    "--test=runs",
    "--test=sources",
    "--test=types",
    "--test=written",
];

/// The cases that must not compile. trybuild compiles what they need for itself.
const REFUSED: &[&str] = &["--package=dtype-compile-fail", "--no-default-features"];

/// Tests without MPI that a brief run leaves out: large pictures, and many random layouts.
const SLOW_WITHOUT_MPI: &[&str] = &[
    "--",
    "--skip=strange_layouts_and_names_are_drawn",
    "--skip=nothing_overflows_at_the_limits_of_all_ranges",
];

/// The scenarios of a brief run: all but those with messages or datatypes of gibibytes, which copy for
/// minutes, and the sweeps over collective calls, wires and the checked mode.
const BRIEF_SCENARIOS: &[&str] = &[
    "--test=ranks",
    "--",
    "--skip=three_gibibytes_of_structs_travel_on_every_wire",
    "--skip=more_values_than_an_mpi_count_travel",
    "--skip=more_bytes_than_an_unsigned_int_counts_travel",
    "--skip=mpi_agrees_about_datatypes_whose_counts_fit_no_int",
    "--skip=checked_messages_say_what_they_hold",
    "--skip=collectives_cost_what_is_said_of_them",
    "--skip=collectives_take_nothing_from_and_for_any_ranks",
];

/// The scenarios of a run of CI: all but those that fill gigabytes of memory, which take minutes. A long run
/// has them.
const SMALL_SCENARIOS: &[&str] = &[
    "--test=ranks",
    "--",
    "--skip=three_gibibytes_of_structs_travel_on_every_wire",
    "--skip=more_values_than_an_mpi_count_travel",
];

/// The programs that a brief run leaves out, and CI's run on the first library: each compiles more programs,
/// or starts one many times.
const LONG_PROGRAMS: &[&str] = &[
    "--skip=of_the_old_module",
    "--skip=rust_programs_pack_what_was_described",
    "--skip=a_program_that_links_the_archive_goes_packed",
    "--skip=a_report_counts_each_message",
    "--skip=a_report_reads_nothing_that_is_not_sent",
    "--skip=a_report_that_only_another_rank_cannot_write_is_one_line_too",
    "--skip=collective_calls_of_three_ranks_are_the_same",
    "--skip=fortran_programs_pack_what_was_described",
    "--skip=other_tools_stand_before_and_behind",
    "--skip=programs_that_go_past_us_receive_the_same",
    "--skip=the_example_in_c_goes_packed_unless_it_must_not",
];

/// Builds the documentation of all crates, and of the runtime with fewer features: links must not lead to
/// what needs another feature.
fn documented(sh: &Shell, library: &mpi::Library) -> Result<()> {
    let _environment = library.enter(sh)?;
    let _flags = sh.push_env("RUSTDOCFLAGS", "--deny warnings");
    for features in ["", "mpi", "picture"] {
        let alone = ["--no-default-features", "--features", features];
        cmd!(sh, "cargo doc --quiet --package dtype-runtime {alone...} --no-deps").quiet().run()?;
    }
    // Last, because the step `uncalled` reads these pages.
    let features = ["--features", "dtype-runtime/picture,dtype-runtime/serde"];
    Ok(cmd!(sh, "cargo doc --quiet --workspace {features...} --no-deps").quiet().run()?)
}

/// Returns the steps of a run, those that fail quickly first.
fn steps(libraries: &[mpi::Library], extent: Extent) -> Vec<Step<'_>> {
    let full = extent >= Extent::Full;
    let mut steps = vec![
        Step::new("format", 2, |sh, _| Ok(cmd!(sh, "cargo fmt --all --check").quiet().run()?)),
        Step::new("house", 3, |sh, _| house::check(&sh.current_dir())),
    ];
    if full {
        steps.push(Step::new("lint", 170, |sh, _| {
            let _environment = libraries[0].enter(sh)?;
            let features = "dtype-benches/codecs,dtype-benches/mpi,dtype-runtime/picture,dtype-runtime/serde";
            let features = ["--features", features];
            let command = cmd!(sh, "cargo clippy --quiet --workspace {features...} --all-targets");
            command.args(["--", "--deny", "warnings"]).quiet().run()?;
            for abi in ["mpich", "abi"] {
                let command = cmd!(sh, "cargo clippy --quiet --package dtype-interpose --features {abi}");
                command.args(["--", "--deny", "warnings"]).quiet().run()?;
            }
            Ok(())
        }));
        steps.push(Step::new("rustdoc", 50, |sh, _| documented(sh, &libraries[0])));
        steps.push(Step::new("packages", 6, |sh, _| packaged(sh)));
        steps.push(Step::new("licences", 5, licences));
    }
    steps.push(Step::new("without-mpi", if full { 310 } else { 250 }, move |sh, count| {
        if full {
            return count.cargo_test(sh, WITHOUT_MPI);
        }
        let _environment = libraries[0].enter(sh)?;
        count.cargo_test(sh, &[ALL, &WITHOUT_RANKS, SLOW_WITHOUT_MPI].concat())?;
        count.cargo_test(sh, REFUSED)
    }));
    steps.push(Step::new("structs", 15, move |sh, count| {
        structs(sh, if full { WITHOUT_MPI } else { ALL }, count)
    }));
    steps.push(Step::new("optimized", if full { 230 } else { 35 }, move |sh, count| {
        let cases = match extent {
            Extent::Brief => "200",
            Extent::Full => "500",
            Extent::Long => "2000",
        };
        let _cases = sh.push_env("PROPTEST_CASES", cases);
        if !full {
            return count.cargo_test(sh, &[&["--release", "--package=dtype-core"], &SEARCH[..]].concat());
        }
        // The features must be equal in both: cargo would compile packages of other features once more.
        let browser = browser(sh);
        count.cargo_test(sh, &[OPTIMIZED, &SEARCH, &COPY, browser].concat())?;
        count.cargo_test(sh, &[MEASURING, &["--test=*"], browser].concat())
    }));
    if full {
        steps.push(Step::new("valgrind", 25, valgrind));
        steps.push(Step::new("sanitizer", 60, sanitizer));
        steps.push(Step::new("any-mpi", 35, move |sh, _| {
            any_mpi::check(sh, libraries, extent == Extent::Long)
        }));
    }
    for (i, library) in libraries.iter().enumerate() {
        steps.extend(steps_with(i, library, extent));
    }
    if extent == Extent::Long {
        steps.extend(long_steps(libraries));
    }
    steps
}

/// Returns the names of all steps, without the libraries.
#[cfg(test)]
pub(crate) fn names() -> Vec<String> {
    let libraries = [mpi::Library::unnamed()];
    let all = steps(&libraries, Extent::Long).into_iter();
    all.map(|step| step.name.split('@').next().unwrap_or_default().to_owned()).collect()
}

/// Returns the steps with an MPI library, the i-th one.
fn steps_with(i: usize, library: &mpi::Library, extent: Extent) -> Vec<Step<'_>> {
    let full = extent >= Extent::Full;
    let mut steps = Vec::new();
    let packages = if full { WITH_MPI } else { ALL };
    let with_library = |name: &str, seconds, arguments: &'static [&'static str]| {
        Step::new(format!("{name}@{}", library.label()), seconds, move |sh: &Shell, count: &mut Count| {
            let _environment = library.enter(sh)?;
            count.cargo_test(sh, &[packages, arguments].concat())
        })
    };
    // The compiler's messages do not depend on the library.
    if full && i == 0 {
        steps.push(with_library("messages", 30, &["--test=compile_fail"]));
    }
    // A brief run has only the scenarios for the second library, and the unit tests among those without MPI.
    if full {
        steps.push(with_library("units", if i == 0 { 35 } else { 5 }, &["--lib"]));
    }
    if full || i == 0 {
        steps.push(with_library("doctests", 10, &["--doc"]));
    }
    let scenarios = match extent {
        Extent::Brief => BRIEF_SCENARIOS,
        Extent::Full => SMALL_SCENARIOS,
        Extent::Long => &["--test=ranks"],
    };
    let seconds = match (full, i) {
        (true, 0) => 400,
        (true, _) => 220,
        (false, 0) => 190,
        (false, _) => 65,
    };
    steps.push(with_library("ranks", seconds, scenarios));
    if full && i == 0 {
        steps.push(Step::new("uncalled", 15, |sh, _| all_are_called(sh, library)));
    }
    if full {
        steps.push(Step::new(format!("examples@{}", library.label()), 75, move |sh, count| {
            let _environment = library.enter(sh)?;
            let numpy = mpi::mpi4py(sh);
            let _folder = numpy.map(|folder| sh.push_env(xtask::launch::MPI4PY, folder));
            let _selection = sh.push_env(xtask::launch::SELECTION, WITH_MPI.join(" "));
            count.cargo_test(sh, &[WITH_MPI, &["--test=examples"]].concat())
        }));
    }
    if full || i == 0 {
        // In a run of CI, the second library has all: MPICH, where more can go wrong.
        let has_all = extent == Extent::Long || full && i > 0;
        let seconds = if has_all { 420 } else { 130 };
        steps.push(Step::new(format!("programs@{}", library.label()), seconds, move |sh, count| {
            let _environment = library.enter(sh)?;
            programs(sh, packages, has_all, count)
        }));
    }
    if full {
        // The complete measurement takes two minutes, so in a run of CI, only the first library has it.
        let brief: &[&str] = if i == 0 || extent == Extent::Long { &[] } else { &["--skip=everything"] };
        let seconds = if brief.is_empty() { 140 } else { 80 };
        steps.push(Step::new(format!("guidelines@{}", library.label()), seconds, move |sh, count| {
            let _environment = library.enter(sh)?;
            count.cargo_test(sh, &[GUIDELINES, brief].concat())
        }));
    }
    steps
}

/// Runs the tests with the `mpi-sys` of the registry, for which each MPI library needs a build of its own,
/// and libclang. The preloaded library is left out: it needs the `mpi-sys` of this repository.
fn stock(sh: &Shell, library: &mpi::Library, count: &mut Count) -> Result<()> {
    if mpi::install(sh, &["libclang-dev"]).is_err() {
        println!("not run: the `mpi-sys` of the registry needs libclang, which could not be installed");
        return Ok(());
    }
    let manifest = any_mpi::with_stock_crate(sh)?.display().to_string();
    let _environment = library.enter(sh)?;
    let target = sh.current_dir().join("target/stock").join(library.label());
    let _target = sh.push_env("CARGO_TARGET_DIR", target);
    let packages: Vec<_> =
        WITH_MPI.iter().filter(|option| !option.ends_with("dtype-interpose")).copied().collect();
    let here = ["--manifest-path", &manifest];
    count.cargo_test(sh, &[&here, &packages[..], &["--lib"]].concat())?;
    count.cargo_test(sh, &[&here, &packages[..], SMALL_SCENARIOS].concat())
}

/// Checks that each public function is called by programs that the steps before have built. The step
/// `rustdoc` has written the pages that name the functions.
fn all_are_called(sh: &Shell, library: &mpi::Library) -> Result<()> {
    let mut programs = uncalled::programs(sh, WITHOUT_MPI)?;
    let _environment = library.enter(sh)?;
    programs.extend(uncalled::programs(sh, &[WITH_MPI, &["--test=ranks"]].concat())?);
    uncalled::check(sh, &sh.current_dir().join("target/doc/dtype_runtime"), &programs)
}

/// Returns the further steps of a long run: Miri, sweeps with all their cases, and the newest libraries.
fn long_steps(libraries: &[mpi::Library]) -> Vec<Step<'_>> {
    let mut steps = vec![
        Step::new("miri", 3600, interpreted),
        Step::new("limits", 900, |sh, count| {
            let _long = sh.push_env("DTYPE_LONG", "1");
            let _optimized = sh.push_env("CARGO_PROFILE_TEST_OPT_LEVEL", "2");
            count.cargo_test(sh, &[WITHOUT_MPI, &["--test=limits"]].concat())
        }),
    ];
    steps.push(Step::new("book", 150, |sh, _| docs::book(sh).map(drop)));
    for library in libraries {
        steps.push(Step::new(format!("stock@{}", library.label()), 600, |sh, count| {
            stock(sh, library, count)
        }));
        steps.push(Step::new(format!("nodes@{}", library.label()), 900, |sh, count| {
            on_two_nodes(sh, library, count)
        }));
        steps.push(Step::new(format!("sweeps@{}", library.label()), 3600, |sh, count| {
            sweep(sh, library, count)
        }));
    }
    steps.push(Step::new("newest", 7200, |sh, count| {
        let newest = mpi::newest(sh);
        for library in &newest {
            sweep(sh, library, count)?;
        }
        for library in newest.iter().chain(mpi::abi(sh).iter().flatten()) {
            println!("the scenarios on {}", library.version);
            let _environment = library.enter(sh)?;
            count.cargo_test(sh, &[WITH_MPI, SMALL_SCENARIOS].concat())?;
        }
        // No wheels with Fortran or mpi4py exist for these libraries.
        for library in newest.into_iter().chain(mpi::abi(sh).into_iter().flatten()) {
            println!("programs as they are, on {}", library.version);
            let _environment = library.enter(sh)?;
            preloaded(sh, WITH_MPI, &["--skip=fortran", "--skip=python"], count)?;
        }
        Ok(())
    }));
    steps
}

/// Makes the packages of the crates as they would be published, and checks that nothing is missing in their
/// manifests. They are not built: the registry's `mpi-sys` needs libclang.
fn packaged(sh: &Shell) -> Result<()> {
    let options =
        ["--workspace", "--dry-run", "--no-verify", "--allow-dirty", "--target-dir", "target/packages"];
    let output = cmd!(sh, "cargo publish {options...}").quiet().ignore_status().output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    // Cargo also warns of a network that failed for a moment.
    ensure!(output.status.success() && !text.contains("warning: manifest has no"), "{text}");
    Ok(())
}

/// Checks the licences and the sources of all dependencies.
fn licences(sh: &Shell, _: &mut Count) -> Result<()> {
    if mpi::exists(sh, "cargo-deny") {
        return Ok(cmd!(sh, "cargo deny --all-features check licenses bans sources").quiet().run()?);
    }
    println!("not run: cargo-deny was not found; `cargo install cargo-deny` installs it");
    Ok(())
}

/// Runs the tests between ranks, and those of preloaded programs, on two nodes that reach each other by TCP.
fn on_two_nodes(sh: &Shell, library: &mpi::Library, count: &mut Count) -> Result<()> {
    let nodes = match Nodes::new(sh) {
        Ok(nodes) => nodes,
        Err(error) => {
            println!("not run: two nodes could not be made here ({error:#})");
            return Ok(());
        }
    };
    let library = nodes.launcher(library)?;
    let _environment = library.enter(sh)?;
    count.cargo_test(sh, &[WITH_MPI, BRIEF_SCENARIOS].concat())?;
    preloaded(sh, WITH_MPI, &["in_c", "collective", "verify"], count)
}

/// Runs the tests between ranks, optimized, with all cases of generated programs and types and of hostile
/// peers.
fn sweep(sh: &Shell, library: &mpi::Library, count: &mut Count) -> Result<()> {
    println!("long sweeps on {}", library.version);
    let _long = sh.push_env("DTYPE_LONG", "1");
    let _environment = library.enter(sh)?;
    count.cargo_test(sh, &["--package=dtype-tests", "--release", "--test=ranks"])
}

/// Returns the feature that tests reports in a browser, or nothing if no browser can be installed.
fn browser(sh: &Shell) -> &'static [&'static str] {
    if mpi::exists(sh, "chromium") || mpi::install(sh, &["chromium"]).is_ok() {
        return &["--features=dtype-guidelines/browser"];
    }
    println!("not run: the guidelines' report in a browser, because no browser was found");
    &[]
}

/// Returns `true` if a Fortran compiler is installed, and installs a missing one if possible. Otherwise,
/// prints that Fortran programs are not run.
fn fortran_is_here(sh: &Shell) -> bool {
    let is_here = mpi::exists(sh, "gfortran") || mpi::install(sh, &["gfortran"]).is_ok();
    if !is_here {
        println!("not run: Fortran programs, because no Fortran compiler was found");
    }
    is_here
}

/// Tests the structs of compiled programs, which the command reads from debug information.
fn structs(sh: &Shell, packages: &[&str], count: &mut Count) -> Result<()> {
    let mut arguments = [packages, &["--features=dtype-cli/compilers", "--test=structs", "--"]].concat();
    if !mpi::exists(sh, "c++") && mpi::install(sh, &["g++"]).is_err() {
        println!("not run: C++ programs, because no C++ compiler was found");
        arguments.push("--skip=cxx");
    }
    if !fortran_is_here(sh) {
        arguments.push("--skip=fortran");
    }
    count.cargo_test(sh, &arguments)
}

/// Tests the programs that the command writes, and programs that preload our library. They are compiled and
/// run in the languages whose tools are installed.
fn programs(sh: &Shell, packages: &[&str], has_all: bool, count: &mut Count) -> Result<()> {
    let mpi4py = mpi::mpi4py(sh);
    let _folder = mpi4py.as_ref().map(|folder| sh.push_env(xtask::launch::MPI4PY, folder));
    let mut skipped = Vec::new();
    if !fortran_is_here(sh) {
        skipped.push("--skip=fortran");
    }
    if mpi4py.is_none() {
        println!("not run: Python programs, because mpi4py was not found");
        skipped.push("--skip=python");
    }
    if !has_all {
        skipped.extend(LONG_PROGRAMS);
    }
    preloaded(sh, packages, &skipped, count)
}

/// Tests programs that the command writes and programs that preload our library.
/// `options` choose among the tests.
fn preloaded(sh: &Shell, packages: &[&str], options: &[&str], count: &mut Count) -> Result<()> {
    let _selection = sh.push_env(xtask::launch::SELECTION, packages.join(" "));
    count.cargo_test(sh, &[packages, &["--test=programs", "--"], options].concat())
}

/// Runs the tests that need no MPI in Miri, which detects undefined behaviour that a normal run does not
/// show. Tests that would take hours are left out.
fn interpreted(sh: &Shell, count: &mut Count) -> Result<()> {
    const TOO_LONG: [&str; 3] = [
        "the_tiers_agree",
        "every_kernel_copies_what_the_interpreter_does",
        "nothing_that_waits_gets_into_what_has_been_checked",
    ];
    let _toolchain = sh.push_env("RUSTUP_TOOLCHAIN", "nightly");
    if cmd!(sh, "cargo miri --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        println!("not run: Miri was not found; `rustup component add --toolchain nightly miri` installs it");
        return Ok(());
    }
    let _target = sh.push_env("CARGO_TARGET_DIR", sh.current_dir().join("target/miri"));
    let _flags = sh.push_env("MIRIFLAGS", "-Zmiri-disable-isolation");
    let _cases = sh.push_env("PROPTEST_CASES", "1");
    let tests = ["types", "sources", "elements", "pack", "engine"].map(|test| ["--test", test]);
    let features = ["--no-default-features", "--features", "nalgebra,ndarray"];
    let skipped = TOO_LONG.map(|test| ["--skip", test]);
    let arguments = [
        &["--package", "dtype-runtime"],
        &features[..],
        tests.as_flattened(),
        &["--"],
        skipped.as_flattened(),
    ];
    count.tests(sh, &["miri", "test"], &arguments.concat())
}

/// The tests of packing alone, without MPI.
const PACKING: &[&str] = &["--package=dtype-runtime", "--no-default-features", COPY[0], COPY[1]];

/// Runs the optimized tests of packing under valgrind.
fn valgrind(sh: &Shell, count: &mut Count) -> Result<()> {
    if !mpi::exists(sh, "valgrind") && mpi::install(sh, &["valgrind"]).is_err() {
        println!("not run: valgrind was not found and could not be installed");
        return Ok(());
    }
    let _cases = sh.push_env("PROPTEST_CASES", "40");
    let runner = format!("CARGO_TARGET_{}_RUNNER", TARGET.to_uppercase().replace('-', "_"));
    let _runner = sh.push_env(runner, "valgrind --quiet --error-exitcode=9");
    count.cargo_test(sh, &[OPTIMIZED, &COPY].concat())
}

/// Runs the tests of packing with AddressSanitizer, if there is a nightly compiler.
fn sanitizer(sh: &Shell, count: &mut Count) -> Result<()> {
    // For the programs that cargo starts, `RUSTUP_TOOLCHAIN` names the workspace's toolchain. This variable
    // takes precedence over `+nightly`, so it is set here.
    let _toolchain = sh.push_env("RUSTUP_TOOLCHAIN", "nightly");
    if cmd!(sh, "rustc --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        println!("not run: no nightly compiler was found");
        return Ok(());
    }
    let _cases = sh.push_env("PROPTEST_CASES", "40");
    let _flags = sh.push_env("RUSTFLAGS", "-Zsanitizer=address");
    let _target = sh.push_env("CARGO_TARGET_DIR", sh.current_dir().join("target/sanitizer"));
    count.cargo_test(sh, &[PACKING, &["--target", TARGET]].concat())
}

/// The target triple of this machine.
const TARGET: &str = env!("TARGET");

/// The numbers of tests that were run.
#[derive(Clone, Default)]
struct Count {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Count {
    /// Runs `cargo test`.
    fn cargo_test(&mut self, sh: &Shell, arguments: &[&str]) -> Result<()> {
        self.tests(sh, &["test"], arguments)
    }

    /// Runs a cargo command that runs tests, prints its output, and adds up its `test result:` lines.
    fn tests(&mut self, sh: &Shell, command: &[&str], arguments: &[&str]) -> Result<()> {
        let command = cmd!(sh, "cargo {command...} --quiet --no-fail-fast {arguments...}");
        println!("$ {command}");
        let mut child = Command::from(command).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let before = (self.passed, self.failed);
        for line in BufReader::new(child.stdout.take().context("cargo's output")?).lines() {
            let line = line?;
            // Progress dots and empty lines are left out, because they would hide the other lines.
            if !line.trim_matches(['.', 'i']).trim().is_empty() {
                println!("{line}");
            }
            if let Some(result) = line.strip_prefix("test result: ") {
                self.add(result);
            }
        }
        std::io::stdout().flush()?;
        let status = child.wait()?;
        if !status.success() && self.failed == before.1 {
            bail!("cargo test failed before it ran a test");
        }
        ensure!((self.passed, self.failed) != before, "no test was run");
        Ok(())
    }

    /// Adds the numbers of a line such as `ok. 3 passed; 0 failed; 0 ignored; …`.
    fn add(&mut self, result: &str) {
        let words: Vec<_> = result.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            let Ok(number) = pair[0].parse::<u64>() else { continue };
            match pair[1] {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::{ALL, BRIEF_SCENARIOS, LONG_PROGRAMS, SLOW_WITHOUT_MPI, SMALL_SCENARIOS, WITHOUT_RANKS};

    #[test]
    fn each_step_is_in_the_document() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/testing.md");
        let table = fs::read_to_string(path).unwrap();
        let rows: String = table.lines().filter(|line| line.starts_with("| `")).collect();
        for name in super::names() {
            let is_there = rows.contains(&format!("`{name}`")) || rows.contains(&format!("`{name}@…`"));
            assert!(is_there, "docs/testing.md has no step `{name}`");
        }
    }

    #[test]
    fn each_test_that_is_left_out_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut files = Vec::new();
        crate::house::sources(&root, &mut files).unwrap();
        let is_test = |path: &&std::path::PathBuf| path.extension().is_some_and(|of| of == "rs");
        let code: String =
            files.iter().filter(is_test).map(|path| fs::read_to_string(path).unwrap()).collect();
        let lists = [SLOW_WITHOUT_MPI, BRIEF_SCENARIOS, SMALL_SCENARIOS, LONG_PROGRAMS];
        for name in lists.concat().iter().filter_map(|option| option.strip_prefix("--skip=")) {
            let is_there = code.lines().any(|line| {
                let function = line.trim_start().strip_prefix("fn ");
                function.and_then(|rest| rest.split('(').next()).is_some_and(|found| found.contains(name))
            });
            assert!(is_there, "no test `{name}`");
        }
    }

    #[test]
    fn a_brief_run_has_each_test_that_needs_no_ranks() {
        /// The tests that start ranks or compile programs, which have steps of their own.
        const OTHERS: [&str; 4] = ["examples", "programs", "ranks", "structs"];
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = |package: &str| match package {
            "dtype-tests" => "tests".to_owned(),
            "dtype-examples" => "examples".to_owned(),
            other => other.to_owned(),
        };
        let packages = ALL.iter().filter_map(|option| option.strip_prefix("--package="));
        let mut found = 0;
        for package in packages {
            let tests = root.join(folder(package)).join("tests");
            let Ok(entries) = fs::read_dir(&tests) else { continue };
            for entry in entries {
                let path = entry.unwrap().path();
                let is_test = path.extension().is_some_and(|of| of == "rs") || path.join("main.rs").exists();
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                if is_test && !OTHERS.contains(&&*name) {
                    found += 1;
                    assert!(WITHOUT_RANKS.contains(&&*format!("--test={name}")), "{}", path.display());
                }
            }
        }
        assert_eq!(found + 3, WITHOUT_RANKS.len());
    }
}
