//! `cargo xtask demo`: the demo on 2 and 4 ranks, on one MPI library or on all. It is built once.

use std::{fs, path::Path, thread, time::Duration};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::{
    Libraries, interpose,
    mpi::{self, Library},
};

/// The packages that the demo needs, with their features: cargo would compile the same crates again for
/// others.
const PACKAGES: [&str; 5] =
    ["--package", "dtype-examples", "--no-default-features", "--features", "dtype-examples/mpi"];

pub(crate) fn run(choice: Option<Libraries>) -> Result<()> {
    let sh = Shell::new()?;
    // No MPI library is needed to build. Without optimization, the first result is there in half the time.
    eprintln!("Building the demo …");
    cmd!(sh, "cargo build --quiet {PACKAGES...} --bin demo").quiet().run()?;
    let libraries = match choice {
        Some(choice) => mpi::set_up(&sh, choice)?,
        None => vec![mpi::any(&sh)?],
    };
    for library in &libraries {
        for ranks in [2, 4] {
            println!("════ {}, {ranks} ranks ════\n", library.version);
            demo(&sh, library, ranks, "check")?;
        }
    }
    for library in &libraries {
        eprintln!("Building the demo and the preloaded library with optimization …");
        let preloaded = xtask::launch::for_abi(library.abi());
        let packages =
            PACKAGES.map(str::to_owned).into_iter().chain(["--package=dtype-interpose".to_owned()]);
        let options = packages.chain(preloaded);
        cmd!(sh, "cargo build --quiet --release {options...} --bin demo --lib").quiet().run()?;
        let preloaded = interpose::placed(&sh, library, Path::new("target/release/libdtype_mpi.so"))?;
        warn_of_load();
        println!("════ {}, times on 2 ranks ════\n", library.version);
        demo(&sh, library, 2, "times")?;
        in_c(&sh, library, &preloaded)?;
    }
    Ok(())
}

/// Runs a part of the demo: what is checked without optimization, times with it.
fn demo(sh: &Shell, library: &Library, ranks: usize, part: &str) -> Result<()> {
    let profile = if part == "check" { "debug" } else { "release" };
    let _environment = library.enter(sh)?;
    let program = sh.current_dir().join("target").join(profile).join("demo");
    let mut command = xtask::launch::on_ranks(&library.mpiexec, ranks, program);
    let status = command.arg(part).envs(library.variables()).status();
    let status = status.with_context(|| format!("could not start {}", library.mpiexec))?;
    ensure!(status.success(), "the demo failed on {} with {ranks} ranks", library.version);
    Ok(())
}

/// Prints a warning if other programs keep half of the cores or more busy.
fn warn_of_load() {
    // The mean of the last minute would hold the compilers of the demo itself.
    let samples = (0..9).filter_map(|_| {
        thread::sleep(Duration::from_millis(20));
        running(&fs::read_to_string("/proc/loadavg").ok()?)
    });
    let mut samples: Vec<_> = samples.collect();
    samples.sort_unstable();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    // This program is one of those that run.
    let others = samples.get(samples.len() / 2).map_or(0, |running| running.saturating_sub(1));
    if others >= cores.div_ceil(2) {
        eprintln!(
            "This machine is busy ({others} other programs run on {cores} cores): the times below will be \
             too long, and will vary."
        );
    }
}

/// Returns the number of programs that run or wait for a core, from the text of `/proc/loadavg`
/// (proc_loadavg(5)).
fn running(text: &str) -> Option<usize> {
    text.split(' ').nth(3)?.split_once('/')?.0.parse().ok()
}

/// Runs a program in C without the preloaded library and with it.
fn in_c(sh: &Shell, library: &Library, preloaded: &Path) -> Result<()> {
    let Ok(program) = interpose::example(sh, library, "structs.c") else {
        println!("\nnot run: a program in C, because {} was not found", library.mpicc());
        return Ok(());
    };
    println!("\n{}: {}, a C program that does not use these crates", library.version, program.name);
    for (how, preloaded) in [("without", None), ("preloaded", Some(preloaded))] {
        print!("  {how:10} {}", program.run(library, preloaded)?);
    }
    println!();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::running;

    #[test]
    fn the_fourth_word_says_how_many_programs_run() {
        assert_eq!(running("0.52 0.58 0.59 3/467 12345\n"), Some(3));
        assert_eq!(["", "0.5 0.5 0.5", "a b c d"].map(running), [None; 3]);
    }
}
