//! `cargo xtask bench NAME`: one benchmark, all of whose contenders run in turn in one process.

use std::{io::IsTerminal, path::PathBuf};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use xshell::{Shell, cmd};

use crate::{Libraries, mpi};

/// The benchmarks.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Name {
    /// Reconstruction and normalization against the published algorithms.
    Reconstruct,
    /// Compiling a crate of structs, or of layouts, against rsmpi and against doing without.
    Compile,
    /// Layouts made, solved, found and packed, against plain loops.
    Layout,
    /// Packing and unpacking against loops by hand in Rust and in C, `memcpy`, and each MPI library, the
    /// newest ones included.
    Pack,
    /// Half a ping-pong between two ranks on each MPI library, the newest ones included: our wires against
    /// what a user would write.
    Pingpong,
    /// What users may expect of datatypes against what each MPI library does, and what things cost there: a
    /// report.
    Guidelines,
}

/// How one is run.
pub(crate) struct Options {
    pub(crate) quick: bool,
    pub(crate) json: bool,
    pub(crate) record: bool,
    pub(crate) wires: Option<PathBuf>,
    pub(crate) seed: Option<u64>,
    pub(crate) guidelines: Guidelines,
}

/// What `guidelines` is asked for.
pub(crate) struct Guidelines {
    pub(crate) mpi: Libraries,
    pub(crate) ranks: usize,
    pub(crate) report: Option<PathBuf>,
    pub(crate) baseline: Option<PathBuf>,
}

pub(crate) fn run(
    name: Name,
    Options { quick, json, record, wires, seed, guidelines }: Options,
) -> Result<()> {
    let has_table = wires.is_none() || matches!(name, Name::Pingpong);
    ensure!(has_table, "only `pingpong` finds out what `--wires` writes");
    let is_drawn = seed.is_none() || matches!(name, Name::Pack);
    ensure!(is_drawn, "only `pack` measures layouts that are drawn with a `--seed`");
    let sh = Shell::new()?;
    if matches!(name, Name::Guidelines) {
        ensure!(!json && !record, "`guidelines` writes a report, with its numbers beside it: see `--report`");
        return run_guidelines(&sh, quick, guidelines);
    }
    let _seed = seed.map(|seed| sh.push_env("DTYPE_LAYOUTS_SEED", seed.to_string()));
    let options = [(quick, "--quick"), (json, "--json")].into_iter().filter(|(on, _)| *on);
    let mut options: Vec<_> = options.map(|(_, option)| option.to_owned()).collect();
    let label = name.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    // The programs add their rows to this file. Only those of a run to its end replace the ones kept.
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
        Name::Layout => run("bench-layout", &[], &[])?,
        Name::Compile => {
            // Both derives are compiled against the first MPI library.
            let library = mpi::set_up(&sh, Libraries::All)?.into_iter().next();
            let _environment = library.as_ref().map(|library| library.enter(&sh));
            run("bench-compile", &[], &[])?;
        }
        Name::Pack => match mpi::set_up(&sh, Libraries::All) {
            Ok(libraries) => {
                for library in libraries.into_iter().chain(mpi::newest(&sh)) {
                    let _environment = library.enter(&sh);
                    run("bench-pack", &["--features", "mpi"], &["--library", &library.label()])?;
                }
            }
            Err(error) => {
                eprintln!("No MPI here: {error:#}\n\nThese are the peers that need none.\n");
                run("bench-pack", &[], &[])?;
            }
        },
        Name::Guidelines => unreachable!("it has returned"),
        Name::Pingpong => {
            for library in mpi::set_up(&sh, Libraries::All)?.into_iter().chain(mpi::newest(&sh)) {
                let _environment = library.enter(&sh);
                let package = ["--package", "dtype-benches", "--bin", "bench-pingpong", "--features", "mpi"];
                cmd!(sh, "cargo build --quiet --release {package...}").quiet().run()?;
                let program = library.target(&sh).join("release/bench-pingpong");
                let mut command = xtask::launch::on_ranks(&library.mpiexec, 2, program);
                command.args(["--library", &library.label()]).args(options);
                if let Some(file) = &wires {
                    command.arg("--wires").arg(file);
                }
                let _path = library.lib().map(|lib| command.env("LD_LIBRARY_PATH", lib));
                let status =
                    command.status().with_context(|| format!("could not start {}", library.mpiexec))?;
                ensure!(status.success(), "the benchmark failed on {}", library.version);
            }
        }
    }
    if record {
        let kept = format!("benches/recorded/{label}.csv");
        sh.create_dir("benches/recorded")?;
        sh.copy_file(&rows, &kept)?;
        let package = ["--package", "dtype-benches", "--bin", "bench-record"];
        cmd!(sh, "cargo run --quiet --release {package...} -- BENCHMARKS.md {label} {kept}").quiet().run()?;
    }
    Ok(())
}

/// Measures each library into one report. It is written anew after each of them.
fn run_guidelines(sh: &Shell, quick: bool, wanted: Guidelines) -> Result<()> {
    let Guidelines { mpi, ranks, report, baseline } = wanted;
    let report = report.unwrap_or_else(|| {
        let folder = sh.current_dir().join("target/guidelines");
        // What is there is of an earlier run.
        let _ = sh.remove_path(&folder);
        folder
    });
    for library in mpi::set_up(sh, mpi)? {
        let _environment = library.enter(sh);
        let package = ["--package", "dtype-benches", "--bin", "guidelines", "--features", "mpi"];
        cmd!(sh, "cargo build --quiet --release {package...}").quiet().run()?;
        eprintln!("Measuring {} …", library.version);
        let program = library.target(sh).join("release/guidelines");
        let mut command = xtask::launch::on_ranks(&library.mpiexec, ranks, program);
        command.arg("--report").arg(&report);
        if let Some(baseline) = &baseline {
            command.arg("--baseline").arg(baseline);
        }
        if quick {
            command.arg("--quick");
        }
        // The launcher stands between the program and the terminal.
        command.args(["--progress", if std::io::stderr().is_terminal() { "bar" } else { "lines" }]);
        let status = command.status().with_context(|| format!("could not start {}", library.mpiexec))?;
        ensure!(status.success(), "the benchmark failed on {}", library.version);
    }
    Ok(())
}
