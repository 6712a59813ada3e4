//! `cargo xtask interpose`: builds the library that programs preload, for each binary interface of MPI, and
//! prints how to use it.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::mpi::{self, Library};

/// The folder in which the command `dtype` of a checkout finds the preloaded libraries.
const FOLDER: &str = "target/lib/dtype-mpi";

/// The binary interfaces of MPI libraries.
const ABIS: [(&str, &str); 3] = [
    ("openmpi", "Open MPI"),
    ("mpich", "MPICH, and libraries with its ABI, such as Intel MPI"),
    ("abi", "libraries with the ABI of MPI 5"),
];

pub(crate) fn run() -> Result<()> {
    let sh = Shell::new()?;
    for (title, file) in build_all(&sh, &sh.current_dir().join(FOLDER))? {
        println!("{title}:\n  {}", file.display());
    }
    println!("\n  cargo run -q -p dtype-cli -- run mpiexec -n 2 ./program");
    println!("\n`dtype run` preloads the library that fits. It changes only the times of a program.");
    println!("`dtype run --report FILE` also writes a report of its datatypes.");
    Ok(())
}

/// Builds all preloaded libraries into a folder, under the names that `dtype run` knows. Returns what each is
/// for.
pub(crate) fn build_all(sh: &Shell, folder: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
    sh.create_dir(folder)?;
    let one = |(abi, title)| {
        let file = folder.join(format!("libdtype_mpi-{abi}.so"));
        sh.copy_file(build_for(sh, abi, title)?, &file)?;
        Ok((title, file))
    };
    ABIS.into_iter().map(one).collect()
}

/// Builds the preloaded library for an MPI library, and returns the path for `LD_PRELOAD`.
pub(crate) fn build(sh: &Shell, library: &Library) -> Result<PathBuf> {
    placed(sh, library, &build_for(sh, library.abi(), &library.version)?)
}

/// Copies a preloaded library, which the next build may replace, to a place for an MPI library. Returns the
/// path for `LD_PRELOAD`.
pub(crate) fn placed(sh: &Shell, library: &Library, built: &Path) -> Result<PathBuf> {
    let folder = library.programs(sh);
    sh.create_dir(&folder)?;
    let file = folder.join("libdtype_mpi.so");
    sh.copy_file(built, &file)?;
    Ok(xtask::launch::without_spaces(&file)?)
}

/// The profile of preloaded libraries for users, which takes two minutes to build.
const PROFILE: &str = "preload";

fn build_for(sh: &Shell, abi: &str, title: &str) -> Result<PathBuf> {
    eprintln!("Building the preloaded library for {title} …");
    let options = xtask::launch::for_abi(abi);
    cmd!(sh, "cargo build --quiet --profile {PROFILE} --package dtype-interpose {options...}")
        .quiet()
        .run()?;
    Ok(sh.current_dir().join("target").join(PROFILE).join("libdtype_mpi.so"))
}

/// An example program that does not use our crates, and prints its time.
pub(crate) struct Program {
    /// The path of its source file.
    pub(crate) name: String,
    words: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
}

/// The names of the example programs, which are in `examples/interpose`.
const EXAMPLES: [&str; 3] = ["structs.c", "rows.f90", "particles.py"];

/// Prepares an example for an MPI library: compiles it, or finds mpi4py.
///
/// # Errors
/// If a tool for its language is missing.
pub(crate) fn example(sh: &Shell, library: &Library, name: &str) -> Result<Program> {
    let (file, folder) = (format!("examples/interpose/{name}"), library.programs(sh));
    sh.create_dir(&folder)?;
    let (stem, ending) = name.split_once('.').context("a file name with an ending")?;
    let compiler = match ending {
        "c" => library.mpicc().to_owned(),
        "f90" => library.mpicc().replace("mpicc", "mpif90"),
        _ => {
            let mpi4py = mpi::mpi4py(sh).context("mpi4py is missing")?;
            let mut environment = xtask::launch::python(library.mpicc(), mpi4py.into(), &folder)?;
            // A library in a folder of its own is found by its own variable.
            environment.retain(|(name, _)| library.variables().all(|(own, _)| own != *name));
            let words = vec!["python3".into(), file.clone().into()];
            return Ok(Program { name: file, words, environment });
        }
    };
    let program = folder.join(stem);
    cmd!(sh, "{compiler} -O2 -o {program} {file}").quiet().ignore_stderr().run()?;
    Ok(Program { name: file, words: vec![program.into()], environment: Vec::new() })
}

impl Program {
    /// Runs the program on two ranks, and returns its output.
    pub(crate) fn run(&self, library: &Library, preloaded: Option<&Path>) -> Result<String> {
        let mut command = xtask::launch::on_ranks(&library.mpiexec, 2, "env");
        command.envs(library.variables());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.args(preloaded.map(|library| format!("LD_PRELOAD={}", library.display()))).args(&self.words);
        let output = command.output().with_context(|| format!("could not start {}", library.mpiexec))?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Runs all examples with and without the preloaded library in turn, and prints the medians of their times.
pub(crate) fn compare(sh: &Shell, library: &Library, preloaded: &Path) -> Result<()> {
    /// The number of runs of each example.
    const RUNS: usize = 5;
    println!("\nWhole programs on {}, without and with the preloaded library:", library.version);
    // An example whose tools are missing is left out.
    for program in EXAMPLES.iter().filter_map(|name| example(sh, library, name).ok()) {
        let mut times = [const { Vec::new() }; 2];
        for _ in 0..RUNS {
            for (times, preloaded) in times.iter_mut().zip([None, Some(preloaded)]) {
                let said = program.run(library, preloaded)?;
                let time = said.split_once(": ").and_then(|(_, time)| time.split_once(" us"));
                let time = time.and_then(|(time, _)| time.parse::<f64>().ok());
                times.push(time.with_context(|| format!("{} prints no time: {said}", program.name))?);
            }
        }
        let [before, after] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[RUNS / 2]
        });
        println!("  {:32} {before:8.1} → {after:6.1} us, {:4.1} ×", program.name, before / after);
    }
    Ok(())
}
