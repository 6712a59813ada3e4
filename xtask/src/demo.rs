//! `cargo xtask demo`: the demo on 2 and 4 ranks, on each MPI library.

use std::{fs, thread};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::{
    Libraries, interpose,
    mpi::{self, Library},
};

pub(crate) fn run(choice: Libraries) -> Result<()> {
    let sh = Shell::new()?;
    let libraries = match mpi::set_up(&sh, choice) {
        Ok(libraries) => libraries,
        Err(error) => {
            let part = "Only the part of the demo that needs no MPI is run.";
            eprintln!("MPI was not found: {error:#}\n\n{part}\n");
            let package = ["--package", "dtype-examples", "--no-default-features", "--bin", "demo"];
            cmd!(sh, "cargo run --quiet --release {package...}").run()?;
            return Ok(());
        }
    };
    if let Some(load) = load() {
        eprintln!("{load}: the times below will be too long, and will vary.");
    }
    for library in &libraries {
        eprintln!("Building the demo for {} …", library.version);
        let _environment = library.enter(&sh);
        cmd!(sh, "cargo build --release --package dtype-examples --bin demo").quiet().run()?;
        for ranks in [2, 4] {
            println!("════ {}, {ranks} ranks ════\n", library.version);
            let demo = library.target(&sh).join("release/demo");
            let status = xtask::launch::on_ranks(&library.mpiexec, ranks, demo).status();
            let status = status.with_context(|| format!("could not start {}", library.mpiexec))?;
            ensure!(status.success(), "the demo failed on {} with {ranks} ranks", library.version);
        }
        preloaded(&sh, library)?;
    }
    Ok(())
}

/// Returns the load of the machine in words, if other programs need more than half of its cores.
fn load() -> Option<String> {
    // The mean number of programs that ran or waited in the last minute (proc_loadavg(5)).
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let running: f64 = text.split(' ').next()?.parse().ok()?;
    let cores = thread::available_parallelism().ok()?.get();
    (running > cores as f64 / 2.0)
        .then(|| format!("This machine is busy, {running} programs on {cores} cores"))
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
