//! `cargo xtask bench programs`: programs of other people, as Debian has them, with the preloaded library and
//! without it.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use xshell::{Shell, cmd};

use crate::{
    Libraries, interpose,
    mpi::{self, Library},
};

/// Debian's packages with the programs and the libraries that they use.
const PACKAGES: [&str; 11] = [
    "scalapack-mpi-test",
    "python3-mpi4py-fft",
    "python3-petsc4py-real",
    "python3-slepc4py-real",
    "python3-h5py-mpi",
    "libp4est-dev",
    "libpnetcdf-dev",
    "lammps",
    "cmake",
    "gfortran",
    "python3-pip",
];

/// The way to start a program: a file of ScaLAPACK's test programs, or a file of `benches/programs`.
enum Start {
    Installed(&'static str),
    /// A program in C, and the libraries that it is linked to.
    C(&'static str, &'static [&'static str]),
    Python(&'static str),
    Lammps(&'static str),
}

/// Returns a test program of ScaLAPACK.
const fn tester(name: &'static str) -> (&'static str, Start) {
    (name, Start::Installed(name))
}

/// Programs that run on each MPI library. The tests of ScaLAPACK and of the BLACS send columns and blocks of
/// matrices.
const EVERYWHERE: [(&str, Start); 15] = [
    ("DDTBench's patterns", Start::C("patterns.c", &[])),
    ("dtFFT", Start::C("dtfft.c", &["-ldtfft"])),
    tester("xdlu"),
    tester("xdllt"),
    tester("xdqr"),
    tester("xdinv"),
    tester("xdbrd"),
    tester("xdhrd"),
    tester("xdtrd"),
    tester("xdsvd"),
    tester("xzlu"),
    tester("xzinv"),
    ("PBLAS", Start::Installed("PBLAS/dpb3tst")),
    ("BLACS in C", Start::Installed("xCbtest")),
    ("BLACS in Fortran", Start::Installed("xFbtest")),
];

/// Programs whose libraries Debian has for Open MPI alone.
const ON_OPEN_MPI: [(&str, Start); 7] = [
    ("mpi4py-fft", Start::Python("transpose.py")),
    ("PETSc", Start::Python("poisson.py")),
    ("SLEPc", Start::Python("eigenvalues.py")),
    ("HDF5", Start::Python("hdf5.py")),
    ("PnetCDF", Start::C("netcdf.c", &["-lpnetcdf"])),
    ("p4est", Start::C("forest.c", &["-lp4est", "-lsc"])),
    ("LAMMPS", Start::Lammps("melt.lammps")),
];

/// The programs of a quick run.
const QUICK: [&str; 6] = ["DDTBench's patterns", "dtFFT", "xdlu", "BLACS in C", "mpi4py-fft", "LAMMPS"];

/// A program of other people.
struct Program {
    name: &'static str,
    words: Vec<PathBuf>,
    ranks: usize,
    /// The folder where it is started, with its input.
    folder: PathBuf,
    /// `true` if it ends by `MPI_Abort`, which is its last test. There is no report then.
    aborts: bool,
    /// The library by which ranks leave their core while they wait, if the MPI library needs it.
    yielding: Option<PathBuf>,
}

/// The measured times and results of a program.
struct Measured {
    /// The medians without the preloaded library, with it, and without it again. `None` if the program
    /// aborts, which takes longer or shorter by chance.
    times: Option<[Duration; 3]>,
    /// The messages that would be packed, and all messages. `None` if the program ends without a report.
    messages: Option<[u64; 2]>,
}

impl Measured {
    /// Returns the name of a program with the number of messages.
    fn case(&self, name: &str) -> String {
        match self.messages {
            Some([packed, all]) => format!("{name}: {packed} of {all} messages packed"),
            None => name.to_owned(),
        }
    }
}

/// Measures all programs on Open MPI and MPICH. Writes the medians to `rows`, if it is given.
pub(crate) fn run(sh: &Shell, is_quick: bool, rows: Option<&Path>) -> Result<()> {
    mpi::install(sh, &PACKAGES)?;
    cmd!(sh, "cargo build --quiet --release --package dtype-cli").quiet().run()?;
    let yielding = mpi::yielding(sh)?;
    let mut text = String::from("library,case,contender,microseconds\n");
    let mut failed = Vec::new();
    for library in mpi::set_up(sh, Libraries::All)? {
        let preloaded = interpose::build(sh, &library)?;
        println!("\n{}: seconds without → with, ratio; ratio of two measurements without", library.version);
        let yielding = (library.name == "mpich").then_some(&*yielding);
        for program in all(sh, &library, is_quick, yielding)? {
            let measured = match program.measure(sh, &library, &preloaded, is_quick) {
                Ok(measured) => measured,
                Err(error) => {
                    println!("  {:24} {error:#}", program.name);
                    failed.push(program.name);
                    continue;
                }
            };
            let Some(times) = measured.times else {
                println!("  {:60} the same", program.name);
                continue;
            };
            let [without, with, again] = times.map(|time| time.as_secs_f64());
            println!(
                "  {:60} {without:7.2} → {with:7.2}  {:5.2}; {:5.2}",
                measured.case(program.name),
                with / f64::midpoint(without, again),
                again / without
            );
            for (contender, time) in [("ours", with), ("without", without), ("again", again)] {
                let (library, case) = (library.label(), measured.case(program.name));
                writeln!(text, "{library},{case},{contender},{:.0}", time * 1e6)?;
            }
        }
    }
    if let Some(rows) = rows {
        fs::write(rows, text)?;
    }
    ensure!(failed.is_empty(), "these programs failed or had other results: {}", failed.join(", "));
    Ok(())
}

/// Prepares the programs of a library.
fn all(sh: &Shell, library: &Library, is_quick: bool, yielding: Option<&Path>) -> Result<Vec<Program>> {
    let root = sh.current_dir();
    // The programs read their input from the folder where they are started, and some write there.
    let input = root.join("target/programs");
    sh.remove_path(&input)?;
    cmd!(sh, "cp -r /usr/share/scalapack {input}").quiet().run()?;
    let installed = Path::new("/usr/lib/x86_64-linux-gnu/scalapack").join(format!("{}-tests", library.name));
    // Only dtFFT's program needs them, and they do no harm to others.
    let build = dtfft(sh, library)?;
    let build = build.display();
    let dtfft = [format!("-I{build}/include"), format!("-L{build}"), format!("-Wl,-rpath,{build}")];
    let python_path = format!("PYTHONPATH={}", of_petsc().join(":"));
    let (sources, compiled) = (root.join("benches/programs"), library.programs(sh));
    sh.create_dir(&compiled)?;
    let more = if library.name == "openmpi" { &ON_OPEN_MPI[..] } else { &[] };
    let chosen = EVERYWHERE.iter().chain(more).filter(|(name, _)| !is_quick || QUICK.contains(name));
    let mut programs = Vec::new();
    for (name, start) in chosen {
        let (mut folder, mut ranks) = (input.clone(), 4);
        let words = match start {
            Start::Installed(file) => {
                match *file {
                    "xCbtest" | "xFbtest" => folder.push("BLACS"),
                    file if file.starts_with("PBLAS") => folder.push("PBLAS"),
                    _ => {}
                }
                vec![installed.join(file)]
            }
            Start::C(file, libraries) => {
                let (source, program) = (sources.join(file), compiled.join(file).with_extension(""));
                let links = libraries.iter().copied().chain(dtfft.iter().map(String::as_str));
                let mpicc = library.mpicc();
                cmd!(sh, "{mpicc} -O2 -Wall -o {program} {source} {links...}").quiet().run()?;
                ranks = if *file == "patterns.c" { 2 } else { 4 };
                vec![program]
            }
            // Debian's MPI packages are those of its own Python.
            Start::Python(file) => {
                vec!["env".into(), (&python_path).into(), "/usr/bin/python3".into(), sources.join(file)]
            }
            Start::Lammps(file) => {
                let words = ["lmp", "-log", "none", "-in"].map(PathBuf::from);
                words.into_iter().chain([sources.join(file)]).collect()
            }
        };
        let aborts = folder.ends_with("BLACS");
        programs.push(Program { name, words, ranks, folder, aborts, yielding: yielding.map(Path::to_owned) });
    }
    Ok(programs)
}

/// Returns the folders of the Python packages of PETSc and SLEPc, which Debian has outside Python's own.
fn of_petsc() -> Vec<String> {
    let folders = ["petsc", "slepc"].map(|name| {
        let all = fs::read_dir(format!("/usr/lib/{name}dir"));
        let version = all.ok().and_then(|mut all| all.find_map(Result::ok)).map(|entry| entry.path());
        version.map(|path| path.join("x86_64-linux-gnu-real/lib/python3/dist-packages").display().to_string())
    });
    folders.into_iter().flatten().collect()
}

/// Builds dtFFT from PyPI's sources for an MPI library, if it is not built yet, and returns the folder of its
/// library. The headers are in the folder `include` there.
fn dtfft(sh: &Shell, library: &Library) -> Result<PathBuf> {
    const VERSION: &str = "dtfft-3.2.0";
    let tools = sh.current_dir().join("target/mpi");
    let (source, build) = (tools.join(VERSION), tools.join(format!("{VERSION}-{}", library.name)));
    if sh.path_exists(build.join("libdtfft.so")) {
        return Ok(build);
    }
    if !sh.path_exists(&source) {
        let wanted = VERSION.replace('-', "==");
        cmd!(sh, "python3 -m pip download --quiet --no-deps -d {tools} {wanted}").quiet().run()?;
        cmd!(sh, "tar -xzf {source}.tar.gz -C {tools}").quiet().run()?;
    }
    let mpicc = library.mpicc();
    let compilers = [("C", "mpicc"), ("CXX", "mpicxx"), ("Fortran", "mpif90")]
        .map(|(language, name)| format!("-DCMAKE_{language}_COMPILER={}", mpicc.replace("mpicc", name)));
    cmd!(sh, "cmake -S {source} -B {build} -DCMAKE_BUILD_TYPE=Release {compilers...}")
        .quiet()
        .ignore_stdout()
        .ignore_stderr()
        .run()?;
    cmd!(sh, "cmake --build {build} --parallel 2").quiet().ignore_stdout().ignore_stderr().run()?;
    let include = build.join("include");
    cmd!(sh, "cp -r {source}/include {include}").quiet().run()?;
    cmd!(sh, "cp {build}/dtfft_config.h {include}").quiet().run()?;
    Ok(build)
}

/// The orders of three runs.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 0, 1], [1, 0, 2]];

impl Program {
    /// Runs the program without the preloaded library, with it, and without it again, and compares what it
    /// prints. A run may take longer or shorter after another one, so all orders are taken in turn.
    fn measure(&self, sh: &Shell, library: &Library, preloaded: &Path, is_quick: bool) -> Result<Measured> {
        let (expected, time) = self.run(library, None, &[])?;
        let messages = self.messages(sh, library, preloaded)?;
        let same = |found: Vec<String>| {
            ensure!(found == expected, "another result: {}", difference(&expected, &found));
            Ok(())
        };
        same(self.run(library, Some(preloaded), &["DTYPE_VERIFY=1"])?.0)?;
        if self.aborts {
            return Ok(Measured { times: None, messages });
        }
        // Short programs run more often, since their times vary more.
        let runs = if is_quick { 1 } else { (12.0 / time.as_secs_f64()).clamp(6.0, 12.0) as usize };
        let mut times = [const { Vec::new() }; 3];
        for order in ORDERS.iter().cycle().take(runs) {
            for which in *order {
                let (found, time) = self.run(library, [None, Some(preloaded), None][which], &[])?;
                same(found)?;
                times[which].push(time);
            }
        }
        let times = times.map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2]
        });
        Ok(Measured { times: Some(times), messages })
    }

    /// Counts the messages that would be packed, and all messages, in a run without packing.
    fn messages(&self, sh: &Shell, library: &Library, preloaded: &Path) -> Result<Option<[u64; 2]>> {
        if self.aborts {
            return Ok(None);
        }
        let file = sh.current_dir().join("target/programs-report");
        let report = format!("DTYPE_REPORT={}", file.display());
        self.run(library, Some(preloaded), &[&report, "DTYPE_INTERPOSE=report"])?;
        let printed = cmd!(sh, "target/release/dtype report {file}").quiet().read()?;
        // … messages were counted, 320 of 14080 would be packed.
        let first = printed.lines().next().unwrap_or_default();
        let counts = first.split_once("counted, ").and_then(|(_, counts)| counts.split_once(" would"));
        let Some((packed, all)) = counts.and_then(|(counts, _)| counts.split_once(" of ")) else {
            bail!("the report says `{first}`");
        };
        Ok(Some([packed.parse()?, all.parse()?]))
    }

    /// Runs the program, and returns what it prints except times, and the time that it takes.
    fn run(
        &self,
        library: &Library,
        preloaded: Option<&Path>,
        settings: &[&str],
    ) -> Result<(Vec<String>, Duration)> {
        let mut command: Command = xtask::launch::on_ranks(&library.mpiexec, self.ranks, "env");
        let all =
            preloaded.into_iter().chain(self.yielding.as_deref()).map(|path| path.display().to_string());
        command.arg(format!("LD_PRELOAD={}", all.collect::<Vec<_>>().join(":")));
        command.args(settings).args(&self.words).current_dir(&self.folder);
        let started = Instant::now();
        let finished = xtask::launch::run(&mut command, Duration::from_mins(10));
        let took = started.elapsed();
        let finished = finished.context("it cannot be started")?;
        let is_over = finished.status.is_some_and(|status| status.success());
        ensure!(is_over || self.aborts, "with {preloaded:?} {settings:?}, it failed:\n{}", finished.output);
        let mut results = results(&finished.output);
        if self.aborts {
            // The test of repeatable sums is skipped in some runs: it depends on the time.
            let is_result = |line: &String| line.contains("TESTS;") || line.contains("PASSED");
            results.retain(|line| is_result(line) && !line.contains("REPEATABLE"));
        }
        Ok((results, took))
    }
}

/// Returns the words of each line that are no decimal numbers or times of day, which depend on the run. Lines
/// of this library and of MPI libraries are left out, and the order of lines, which depends on the ranks.
fn results(output: &str) -> Vec<String> {
    let is_result = |line: &&str| !line.starts_with("dtype:") && !line.starts_with('[');
    let words = |line: &str| {
        let is_time =
            |word: &&str| word.contains(['.', ':']) && word.starts_with(|c: char| c.is_ascii_digit());
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
