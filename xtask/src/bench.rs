//! `cargo xtask bench NAME`: runs one benchmark. All its contenders run in turn in one process.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    io::IsTerminal,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use xshell::{Shell, cmd};

use crate::{Libraries, interpose, mpi, programs};

/// The benchmarks.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Name {
    /// Reconstruction and normalization, against the published algorithms.
    Reconstruct,
    /// Compilation of a crate of structs or layouts, against rsmpi and against a crate that uses neither.
    Compile,
    /// Making, solving, finding and packing layouts, and planning redistributions of one rank of many,
    /// against plain loops.
    Layout,
    /// Packing and unpacking, against loops by hand in Rust and in C, `memcpy`, and each MPI library,
    /// including the newest ones.
    Pack,
    /// Half a ping-pong between two ranks on each MPI library, including the newest ones: our wires against
    /// the code that a user would write. Prices and policies are derived from the times.
    Libraries,
    /// Messages of any shape to bytes and back, between two ranks and among four, against other codecs and
    /// the code that a user would write.
    Messages,
    /// Exchanges of ghost cells among four ranks, against subarray datatypes, a neighbourhood collective, and
    /// packing by hand.
    Halo,
    /// Exchanges of the edges of a matrix between two ranks, as three published programs make them, with the
    /// preloaded library and in Rust, against datatypes and packing by hand in the same mode.
    Stencils,
    /// Arrays that move from one distribution over four ranks to another and back, against `MPI_Alltoallw`
    /// with subarray datatypes and packing by hand.
    Redistribute,
    /// Columns of a matrix that are put into the window of another rank, against `MPI_Put`.
    Windows,
    /// A distributed array of 1 GiB that is written to a file and read, against subarray datatypes and
    /// contiguous bytes.
    Files,
    /// Half a ping-pong by a program that preloads our library, against direct calls of the MPI library.
    Interpose,
    /// Programs of other people, as Debian has them, with the preloaded library and without it: the same
    /// results, and the times.
    Programs,
    /// A report on each MPI library: which expectations its datatypes meet, and its fitted cost model.
    Guidelines,
}

/// The options of a benchmark.
#[derive(Args)]
pub(crate) struct Options {
    /// The benchmark to run.
    #[arg(value_enum)]
    name: Name,
    /// Run all cases with fewer sizes and runs: up to a minute for each library beyond the build, two for
    /// `guidelines`.
    #[arg(long)]
    quick: bool,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
    /// Keep the rows in `benches/recorded/NAME.csv`, and write tables of them into BENCHMARKS.md, and for
    /// `interpose` also into dtype-interpose/README.md. For `libraries`, derive the prices of `Wire::Auto`
    /// and the policy of the preloaded library; with `--mpi`, replace only rows of these libraries. For
    /// `guidelines`, write only into BENCHMARKS.md. Rows of `libraries` on processors of another maker stay.
    #[arg(long)]
    record: bool,
    /// (`pack`, `libraries`, `interpose`) The seed of the random layouts. Another seed gives other layouts,
    /// as a check.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// (`libraries`, `guidelines`) The MPI library. Default: five for `libraries`, both of the system for
    /// `guidelines`.
    #[arg(long, value_enum)]
    mpi: Option<Libraries>,
    #[command(flatten, next_help_heading = "Options of `guidelines`")]
    guidelines: Guidelines,
}

/// The options of `guidelines`.
#[derive(Args)]
struct Guidelines {
    /// The number of ranks. Default: 2. Messages go between the first two.
    #[arg(long, value_parser = clap::value_parser!(u64).range(2..))]
    ranks: Option<u64>,
    /// The folder of the report. Default: `target/guidelines`, which is emptied first.
    #[arg(long, value_name = "FOLDER")]
    report: Option<PathBuf>,
    /// The folder of an earlier report to compare with.
    #[arg(long, value_name = "FOLDER")]
    baseline: Option<PathBuf>,
}

impl Guidelines {
    fn is_given(&self) -> bool {
        self.ranks.is_some() || self.report.is_some() || self.baseline.is_some()
    }
}

impl Options {
    /// Checks that the benchmark takes these options.
    fn check(&self) -> Result<()> {
        let Self { name, quick, json, record, seed, mpi, guidelines } = self;
        let is_drawn = seed.is_none() || matches!(name, Name::Pack | Name::Libraries | Name::Interpose);
        ensure!(is_drawn, "only `pack`, `libraries` and `interpose` take `--seed`");
        let is_partial = *quick && *record && matches!(name, Name::Libraries);
        ensure!(
            !is_partial,
            "`libraries --quick` has too few sizes for prices: leave out `--record` or `--quick`"
        );
        let is_of_guidelines = matches!(name, Name::Guidelines);
        ensure!(
            is_of_guidelines || !guidelines.is_given(),
            "only `guidelines` takes `--ranks`, `--report` and `--baseline`"
        );
        ensure!(
            is_of_guidelines || matches!(name, Name::Libraries) || mpi.is_none(),
            "only `libraries` and `guidelines` take `--mpi`"
        );
        ensure!(
            !(*record && matches!(mpi, Some(Libraries::Abi))),
            "`abi` is MPICH by another name, and has no rows of its own: leave out `--record`"
        );
        ensure!(
            !(is_of_guidelines && *json),
            "`guidelines` does not take `--json`: it writes its numbers beside its report (`--report`)"
        );
        Ok(())
    }
}

/// Runs a benchmark. Relative paths start from the folder `called_from`.
pub(crate) fn run(options: Options, called_from: &Path) -> Result<()> {
    options.check()?;
    let sh = Shell::new()?;
    let Options { name, quick, json, record, seed, mpi, guidelines } = options;
    let _seed = seed.map(|seed| sh.push_env("DTYPE_LAYOUTS_SEED", seed.to_string()));
    let options = [(quick, "--quick"), (json, "--json")].into_iter().filter(|(on, _)| *on);
    let mut options: Vec<_> = options.map(|(_, option)| option.to_owned()).collect();
    let label = name.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    // The programs append their rows to this file. A completed run copies it over the recorded file.
    let rows = format!("target/{label}.csv");
    if record {
        sh.remove_path(&rows)?;
        options.extend(["--record".to_owned(), rows.clone()]);
    }
    let options = &options;
    let run = |bin: &str, features: &[&str], more: &[&str]| {
        let package = ["--package", "dtype-benches", "--bin", bin];
        cmd!(sh, "cargo run --quiet --release {package...} {features...} -- {options...} {more...}")
            .quiet()
            .run()
    };
    match name {
        Name::Reconstruct => run("bench-reconstruct", &[], &[])?,
        Name::Layout => run("bench-layout", &["--features", "mpi"], &[])?,
        Name::Compile => run("bench-compile", &[], &[])?,
        Name::Pack => match mpi::set_up(&sh, Libraries::All) {
            Ok(libraries) => {
                for library in libraries.into_iter().chain(mpi::newest(&sh)) {
                    let _environment = library.enter(&sh)?;
                    eprintln!("On {}:", library.version);
                    run("bench-pack", &["--features", "mpi"], &["--library", &library.label()])?;
                }
            }
            Err(error) => {
                eprintln!("MPI was not found: {error:#}\n\nOnly the peers that need no MPI are measured.\n");
                run("bench-pack", &[], &[])?;
            }
        },
        Name::Programs => programs::run(&sh, quick, record.then(|| Path::new(&rows)))?,
        Name::Guidelines => {
            let report = run_guidelines(&sh, quick, mpi, guidelines, called_from)?;
            return if record { write_table(&sh, "BENCHMARKS.md", &label, &report, &[]) } else { Ok(()) };
        }
        Name::Libraries => {
            let wanted = match mpi {
                Some(mpi) => mpi::set_up(&sh, mpi)?,
                None => mpi::set_up(&sh, Libraries::All)?.into_iter().chain(mpi::newest(&sh)).collect(),
            };
            for library in wanted {
                on_ranks(&sh, &library, 2, "bench-libraries", &[], options)?;
            }
        }
        Name::Messages => {
            run("bench-codecs", &["--features", "codecs"], &[])?;
            for library in mpi::set_up(&sh, Libraries::All)?.into_iter().chain(mpi::newest(&sh)) {
                on_ranks(&sh, &library, 2, "bench-messages", &[], options)?;
                on_ranks(&sh, &library, 4, "bench-messages", &[], options)?;
            }
        }
        Name::Halo | Name::Redistribute | Name::Windows | Name::Files => {
            on_all(&sh, &format!("bench-{label}"), name, options)?;
        }
        Name::Stencils => {
            for library in mpi::set_up(&sh, Libraries::All)?.into_iter().chain(mpi::newest(&sh)) {
                on_ranks(&sh, &library, 2, "bench-stencils", &[], options)?;
                let preloaded = interpose::build(&sh, &library)?;
                on_ranks(&sh, &library, 2, "bench-stencils", &preloading(&preloaded), options)?;
            }
        }
        Name::Interpose => {
            for library in mpi::set_up(&sh, Libraries::All)?.into_iter().chain(mpi::newest(&sh)) {
                let preloaded = interpose::build(&sh, &library)?;
                on_ranks(&sh, &library, 2, "bench-interpose", &preloading(&preloaded), options)?;
                if !options.iter().any(|option| option == "--json") {
                    interpose::compare(&sh, &library, &preloaded)?;
                }
            }
        }
    }
    if record {
        keep(&sh, name, &label, &rows, mpi.is_some())?;
    }
    Ok(())
}

/// Returns the words before a benchmark that preloads a library. The benchmark calls `PMPI_Recv` directly, so
/// the preloaded library would not find out that all ranks are peers. They are: `PMPI_Recv` only receives
/// messages of `PMPI_Send`. Intel MPI gathers by another algorithm than its own choice, which corrupts the
/// heap on AMD EPYC.
fn preloading(library: &Path) -> [OsString; 4] {
    let mut preload = OsString::from("LD_PRELOAD=");
    preload.push(library);
    ["env".into(), preload, "DTYPE_PEERS=all".into(), "I_MPI_ADJUST_GATHER=3".into()]
}

/// Keeps the rows of a benchmark, and writes what is derived from them. If they are `only_of_some` libraries,
/// the rows of the others stay.
fn keep(sh: &Shell, name: Name, label: &str, rows: &str, only_of_some: bool) -> Result<()> {
    let kept = format!("benches/recorded/{label}.csv");
    sh.create_dir("benches/recorded")?;
    // Libraries were measured on machines of several makers.
    if only_of_some || matches!(name, Name::Libraries) {
        let (old, new) = (sh.read_file(&kept)?, sh.read_file(rows)?);
        sh.write_file(&kept, replaced(&old, &new))?;
    } else {
        sh.copy_file(rows, &kept)?;
    }
    let derived = if matches!(name, Name::Libraries) { DERIVED } else { &[] };
    write_table(sh, "BENCHMARKS.md", label, Path::new(&kept), derived)?;
    if matches!(name, Name::Interpose) {
        write_table(sh, "dtype-interpose/README.md", "interpose-readme", Path::new(&kept), &[])?;
    }
    Ok(())
}

/// Returns recorded rows with those of some libraries replaced: all rows of the same major versions, on
/// processors of the same maker.
fn replaced(old: &str, new: &str) -> String {
    // `openmpi-5` and `AMD` of `openmpi-5.0.11 on AMD,contiguous/8,…`
    let library = |row: &str| {
        let name = row.split(',').next().unwrap_or_default();
        let (version, maker) = name.split_once(" on ").unwrap_or((name, ""));
        (version.split('.').next().unwrap_or_default().to_owned(), maker.to_owned())
    };
    let (header, rows) = new.split_once('\n').unwrap_or((new, ""));
    let measured: BTreeSet<_> = rows.lines().map(library).collect();
    let others = old.lines().skip(1).filter(|row| !measured.contains(&library(row)));
    let all = [header].into_iter().chain(others).chain(rows.lines());
    all.fold(String::new(), |all, row| all + row + "\n")
}

/// Runs a benchmark of a distributed array on each MPI library.
fn on_all(sh: &Shell, bin: &str, name: Name, options: &[String]) -> Result<()> {
    let numbers: &[usize] = match name {
        Name::Windows => &[2],
        Name::Files => &[4],
        _ => &[4, 2],
    };
    for library in mpi::set_up(sh, Libraries::All)?.into_iter().chain(mpi::newest(sh)) {
        for &ranks in numbers {
            on_ranks(sh, &library, ranks, bin, &[], options)?;
        }
    }
    Ok(())
}

/// Builds a benchmark for an MPI library and runs it on some ranks. `before` holds the words before the
/// program.
fn on_ranks(
    sh: &Shell,
    library: &mpi::Library,
    ranks: usize,
    bin: &str,
    before: &[OsString],
    options: &[String],
) -> Result<()> {
    let _environment = library.enter(sh)?;
    let package = ["--package", "dtype-benches", "--bin", bin, "--features", "codecs,mpi"];
    cmd!(sh, "cargo build --quiet --release {package...}").quiet().run()?;
    let program = sh.current_dir().join("target/release").join(bin).into_os_string();
    let mut words = before.iter().chain([&program]);
    let mut command = xtask::launch::on_ranks(&library.mpiexec, ranks, words.next().unwrap_or(&program));
    command.args(words).args(["--library", &library.label()]).args(options);
    command.envs(library.variables());
    if has_cores(ranks) {
        command.env_remove("OMPI_MCA_mpi_yield_when_idle");
    }
    eprintln!("On {}, {ranks} rank{}:", library.version, if ranks == 1 { "" } else { "s" });
    let status = command.status().with_context(|| format!("could not start {}", library.mpiexec))?;
    ensure!(status.success(), "the benchmark failed on {}", library.version);
    Ok(())
}

/// Returns `true` if each rank has a core of its own, so that ranks need not yield while they wait.
fn has_cores(ranks: usize) -> bool {
    std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= ranks)
}

/// The files that are derived from the rows of `libraries`, as options of `bench-record`.
const DERIVED: &[&str] =
    &["--prices", "dtype-engine/src/prices.csv", "--policy", "dtype-interpose/src/policy.csv"];

/// Writes the table of recorded rows into a page, and what else is derived from them into files.
fn write_table(sh: &Shell, page: &str, label: &str, recorded: &Path, derived: &[&str]) -> Result<()> {
    let package = ["--package", "dtype-benches", "--bin", "bench-record"];
    cmd!(sh, "cargo run --quiet --release {package...} -- {page} {label} {recorded} {derived...}")
        .quiet()
        .run()?;
    Ok(())
}

/// Measures each library into one report, and returns its folder. The page is written again after each start.
fn run_guidelines(
    sh: &Shell,
    quick: bool,
    mpi: Option<Libraries>,
    wanted: Guidelines,
    called_from: &Path,
) -> Result<PathBuf> {
    let Guidelines { ranks, report, baseline } = wanted;
    let baseline = baseline.map(|folder| called_from.join(folder));
    let report = report.map_or_else(|| own_folder(sh, baseline.as_deref()), |to| Ok(called_from.join(to)))?;
    let libraries = mpi::set_up(sh, mpi.unwrap_or_default())?;
    let ranks = ranks.unwrap_or(2) as usize;
    let has_cores = has_cores(ranks);
    // The launcher forwards standard error, so the program cannot see the terminal itself.
    let progress = if std::io::stderr().is_terminal() { "bar" } else { "lines" };
    let started = |library: &mpi::Library, mut command: Command, options: &[&str]| {
        command.arg("--report").arg(&report).args(options);
        command.args(baseline.iter().flat_map(|baseline| [OsStr::new("--baseline"), baseline.as_os_str()]));
        command.envs(library.variables());
        let status = command.status().with_context(|| format!("{}", command.get_program().display()))?;
        ensure!(status.success(), "the benchmark failed on {}", library.version);
        Ok(())
    };
    let program = sh.current_dir().join("target/release/guidelines");
    eprintln!("Building the measuring program …");
    let package = ["--package", "dtype-guidelines", "--features", "mpi"];
    cmd!(sh, "cargo build --quiet --release {package...}").quiet().run()?;
    // Each library is started twice, with the other one in between: times differ from one start to the next.
    let [first, second] = if quick { ["21", "9"] } else { ["180", "90"] };
    for (seconds, more) in [(first, None), (second, Some("--more"))] {
        for library in &libraries {
            eprintln!("Measuring {} …", library.version);
            let mut command = xtask::launch::on_ranks(&library.mpiexec, ranks, &program);
            if has_cores {
                command.env_remove("OMPI_MCA_mpi_yield_when_idle");
            }
            command.stdout(Stdio::null());
            let options = ["--progress", progress, "--seconds", seconds];
            let options = options.into_iter().chain(quick.then_some("--quick")).chain(more);
            started(library, command, &options.collect::<Vec<_>>())?;
        }
    }
    // The other starts discard their summaries; this one prints them once.
    started(&libraries[0], Command::new(&program), &["--page"])?;
    Ok(report)
}

/// Empties the default folder of a report, and returns it.
fn own_folder(sh: &Shell, baseline: Option<&Path>) -> Result<PathBuf> {
    let folder = sh.current_dir().join("target/guidelines");
    ensure!(
        baseline.is_none_or(|baseline| !baseline.starts_with(&folder)),
        "target/guidelines is emptied before each run: give another folder with `--report`, or move the \
         baseline"
    );
    sh.remove_path(&folder)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn rows_of_the_measured_libraries_are_replaced() {
        let others =
            "mpich-4.0.2 on AMD,a,ours=2\nopenmpi-4.1.4 on AMD,a,ours=3\nopenmpi-5.0.11 on Intel,a,ours=5\n";
        let old = format!("head\nopenmpi-5.0.11 on AMD,a,ours=1\n{others}");
        let new = "head\nopenmpi-5.1.0 on AMD,a,ours=4\n";
        let expected = format!("head\n{others}openmpi-5.1.0 on AMD,a,ours=4\n");
        assert_eq!(replaced(&old, new), expected);
    }
}
