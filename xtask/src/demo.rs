//! `cargo xtask demo`: the demo on 2 and 4 ranks, on one MPI library or on all. It is built once.

use std::{fs, thread, time::Duration};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::{
    Libraries, interpose,
    mpi::{self, Library},
};

pub(crate) fn run(choice: Option<Libraries>) -> Result<()> {
    let sh = Shell::new()?;
    // No MPI library is needed to build.
    eprintln!("Building the demo …");
    cmd!(sh, "cargo build --release --package dtype-examples --bin demo").quiet().run()?;
    let demo = sh.current_dir().join("target/release/demo");
    let libraries = match choice {
        Some(choice) => mpi::set_up(&sh, choice)?,
        None => vec![mpi::any(&sh)?],
    };
    for library in &libraries {
        let _environment = library.enter(&sh)?;
        warn_of_load();
        for ranks in [2, 4] {
            println!("════ {}, {ranks} ranks ════\n", library.version);
            let mut command = xtask::launch::on_ranks(&library.mpiexec, ranks, &demo);
            let status = command.envs(library.variables()).status();
            let status = status.with_context(|| format!("could not start {}", library.mpiexec))?;
            ensure!(status.success(), "the demo failed on {} with {ranks} ranks", library.version);
        }
        preloaded(&sh, library)?;
    }
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
fn preloaded(sh: &Shell, library: &Library) -> Result<()> {
    let preloaded = interpose::build(sh, library)?;
    let program = interpose::example(sh, library, "structs.c")?;
    println!("\n{}: {}, a C program that does not use these crates", library.version, program.name);
    for (how, preloaded) in [("without", None), ("preloaded", Some(&*preloaded))] {
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
