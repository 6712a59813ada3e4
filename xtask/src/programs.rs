//! `cargo xtask bench programs`: programs of other people, as Debian has them, with the preloaded library and
//! without it.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::{
    Libraries, interpose,
    mpi::{self, Library},
};

/// Debian's packages with the programs.
const PACKAGES: [&str; 2] = ["scalapack-mpi-test", "python3-mpi4py-fft"];

/// The tests of ScaLAPACK and of the BLACS: they send columns and blocks of matrices.
const SCALAPACK: [&str; 14] = [
    "xdlu",
    "xdllt",
    "xdqr",
    "xdinv",
    "xdbrd",
    "xdhrd",
    "xdtrd",
    "xdsep",
    "xdsvd",
    "xzlu",
    "xzinv",
    "PBLAS/dpb3tst",
    "xCbtest",
    "xFbtest",
];

/// A program of other people.
struct Program {
    name: String,
    words: Vec<PathBuf>,
    ranks: usize,
    /// The folder where it is started, with its input.
    folder: PathBuf,
    /// `true` if it ends by `MPI_Abort`, which is its last test. There is no report then.
    aborts: bool,
}

/// The measured times and results of a program.
struct Measured {
    name: String,
    /// The medians without the preloaded library and with it.
    times: [Duration; 2],
    /// The first line of the report: how many messages have derived datatypes, and what could be won.
    report: String,
}

/// Measures all programs on Open MPI and MPICH. Writes the medians to `rows`, if it is given.
pub(crate) fn run(sh: &Shell, is_quick: bool, rows: Option<&Path>) -> Result<()> {
    mpi::install(sh, &PACKAGES)?;
    cmd!(sh, "cargo build --quiet --release --package dtype-cli").quiet().run()?;
    let mut text = String::from("library,case,contender,microseconds\n");
    for library in mpi::set_up(sh, Libraries::All)? {
        let preloaded = interpose::build(sh, &library)?;
        println!("\n{}: seconds without → with, ratio; messages of derived datatypes", library.version);
        for program in all(sh, &library, is_quick)? {
            let measured = program.measure(sh, &library, &preloaded, if is_quick { 1 } else { 5 })?;
            let [without, with] = measured.times.map(|time| time.as_secs_f64());
            println!(
                "  {:24} {without:7.2} → {with:7.2}  {:5.2}  {}",
                measured.name,
                with / without,
                measured.report
            );
            for (contender, time) in [("ours", with), ("without", without)] {
                writeln!(text, "{},{},{contender},{:.0}", library.label(), measured.name, time * 1e6)?;
            }
        }
    }
    rows.map_or(Ok(()), |rows| Ok(fs::write(rows, text)?))
}

/// Returns the programs that are installed for a library.
fn all(sh: &Shell, library: &Library, is_quick: bool) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    // The programs read their input from the folder where they are started, and some write there.
    let input = sh.current_dir().join("target/programs");
    sh.remove_path(&input)?;
    cmd!(sh, "cp -r /usr/share/scalapack {input}").quiet().run()?;
    let folder = Path::new("/usr/lib/x86_64-linux-gnu/scalapack").join(format!("{}-tests", library.name));
    for name in SCALAPACK.iter().take(if is_quick { 4 } else { SCALAPACK.len() }) {
        let file = folder.join(name);
        let own = match *name {
            "xCbtest" | "xFbtest" => input.join("BLACS"),
            name if name.starts_with("PBLAS") => input.join("PBLAS"),
            _ => input.clone(),
        };
        if file.exists() {
            let aborts = own.ends_with("BLACS");
            programs.push(Program {
                name: (*name).to_owned(),
                words: vec![file],
                ranks: 4,
                folder: own,
                aborts,
            });
        }
    }
    // Debian's mpi4py is built for Open MPI.
    if library.name == "openmpi" {
        let file = sh.current_dir().join("benches/python/transpose.py");
        let words = vec!["/usr/bin/python3".into(), file];
        let name = "mpi4py-fft".to_owned();
        programs.push(Program { name, words, ranks: 4, folder: input, aborts: false });
    }
    Ok(programs)
}

impl Program {
    /// Runs the program without the preloaded library and with it in turn, and compares what it prints.
    fn measure(&self, sh: &Shell, library: &Library, preloaded: &Path, runs: usize) -> Result<Measured> {
        let report = self.report(sh, library, preloaded)?;
        let preload = format!("LD_PRELOAD={}", preloaded.display());
        let (expected, _) = self.run(library, &[])?;
        let verified = [preload.clone(), "DTYPE_VERIFY=1".to_owned()];
        let same = |found: Vec<String>| {
            ensure!(found == expected, "{}: another result: {}", self.name, difference(&expected, &found));
            Ok(())
        };
        same(self.run(library, &verified)?.0)?;
        let mut times = [const { Vec::new() }; 2];
        for _ in 0..runs {
            for (times, settings) in times.iter_mut().zip([&[][..], std::slice::from_ref(&preload)]) {
                let (found, time) = self.run(library, settings)?;
                same(found)?;
                times.push(time);
            }
        }
        let times = times.map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2]
        });
        Ok(Measured { name: self.name.clone(), times, report })
    }

    /// Returns the first line of a report of the program, which is run without packing.
    fn report(&self, sh: &Shell, library: &Library, preloaded: &Path) -> Result<String> {
        if self.aborts {
            return Ok("it ends by MPI_Abort, without a report".to_owned());
        }
        let file = sh.current_dir().join("target/programs-report");
        let settings =
            [("LD_PRELOAD", preloaded), ("DTYPE_REPORT", &*file), ("DTYPE_INTERPOSE", Path::new("report"))];
        let settings = settings.map(|(name, value)| format!("{name}={}", value.display()));
        self.run(library, &settings)?;
        let printed = cmd!(sh, "target/release/dtype report {file}").quiet().read()?;
        let line = printed.lines().next().unwrap_or_default();
        Ok(line.split_once(": ").map_or(line, |(_, counts)| counts).to_owned())
    }

    /// Runs the program, and returns what it prints except times, and the time that it takes.
    fn run(&self, library: &Library, settings: &[String]) -> Result<(Vec<String>, Duration)> {
        let mut command: Command = xtask::launch::on_ranks(&library.mpiexec, self.ranks, "env");
        command.args(settings).args(&self.words).current_dir(&self.folder);
        let started = Instant::now();
        let finished = xtask::launch::run(&mut command, Duration::from_mins(10));
        let took = started.elapsed();
        let finished = finished.with_context(|| format!("{} cannot be started", self.name))?;
        let is_over = finished.status.is_some_and(|status| status.success());
        ensure!(is_over || self.aborts, "{} {settings:?} failed:\n{}", self.name, finished.output);
        let mut results = results(&finished.output);
        if self.aborts {
            // The test of repeatable sums is skipped in some runs: it depends on the time.
            let is_result = |line: &String| line.contains("TESTS;") || line.contains("PASSED");
            results.retain(|line| is_result(line) && !line.contains("REPEATABLE"));
        }
        Ok((results, took))
    }
}

/// Returns the words of each line that are no decimal numbers, which may be times. Lines of this library and
/// of MPI libraries are left out, and the order of lines, which depends on the ranks.
fn results(output: &str) -> Vec<String> {
    let is_result = |line: &&str| !line.starts_with("dtype:") && !line.starts_with('[');
    let words = |line: &str| {
        let is_time = |word: &&str| word.contains('.') && word.parse::<f64>().is_ok();
        line.split_whitespace().filter(|word| !is_time(word)).collect::<Vec<_>>().join(" ")
    };
    let mut lines: Vec<_> = output.lines().filter(is_result).map(words).collect();
    lines.sort_unstable();
    lines
}

/// Returns the first lines that differ.
fn difference(expected: &[String], found: &[String]) -> String {
    let mut both = expected.iter().zip(found);
    both.find(|(one, other)| one != other)
        .map_or_else(|| "more or fewer lines".to_owned(), |(one, other)| format!("`{other}`, not `{one}`"))
}
