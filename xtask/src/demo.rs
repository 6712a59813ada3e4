//! `cargo xtask demo`: the demo on 2 and 4 ranks, on each MPI library.

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
    for library in &libraries {
        eprintln!("Building the demo for {} …", library.version);
        let _environment = library.enter(&sh);
        cmd!(sh, "cargo build --quiet --release --package dtype-examples --bin demo").quiet().run()?;
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
