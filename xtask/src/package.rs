//! `cargo xtask package`: the wheel of the command `dtype` and of the preloaded libraries, for people who
//! have no Rust.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::{
    Libraries, interpose,
    mpi::{self, Library},
};

/// Builds the wheel, and prints how it is installed.
pub(crate) fn run() -> Result<()> {
    let sh = Shell::new()?;
    let staged = stage(&sh)?;
    let (maturin, dist) = (maturin(&sh)?, sh.current_dir().join("dist"));
    {
        let _folder = sh.push_dir("packaging/python");
        let _modules = sh.push_env("PYTHONPATH", &maturin);
        cmd!(sh, "{maturin}/bin/maturin build --quiet --release --out {dist}").quiet().run()?;
    }
    println!("The wheel is in dist, with preloaded libraries for:");
    for library in staged {
        println!("  {library}");
    }
    println!("\n  pip install dist/*.whl\n  dtype run mpiexec -n 2 python program.py");
    Ok(())
}

/// Builds the preloaded library for each MPI library, into the folder that becomes a part of the wheel.
/// Returns the names and versions of the MPI libraries.
fn stage(sh: &Shell) -> Result<Vec<String>> {
    let folder = sh.current_dir().join("target/package/data/data/lib/dtype-mpi");
    sh.remove_path(&folder)?;
    sh.create_dir(&folder)?;
    let libraries =
        mpi::set_up(sh, Libraries::All)?.into_iter().chain(mpi::newest(sh)).chain(mpi::abi(sh).ok());
    let mut staged = Vec::new();
    for library in libraries {
        let built = interpose::build(sh, &library)?;
        let dynamic = cmd!(sh, "readelf --dynamic --wide {built}").quiet().read()?;
        let named = dynamic.lines().find(|line| line.contains("(RPATH)") || line.contains("(RUNPATH)"));
        ensure!(named.is_none(), "{}: {}", built.display(), named.unwrap_or_default());
        sh.copy_file(&built, folder.join(format!("libdtype_mpi-{}.so", name(&library)?)))?;
        staged.push(library.version);
    }
    Ok(staged)
}

/// Returns the name of the preloaded library for an MPI library, as `dtype run` knows it: `openmpi-5`.
fn name(library: &Library) -> Result<String> {
    if library.name == "abi" {
        return Ok("abi".to_owned());
    }
    let label = library.label();
    Ok(label.split_once('.').context("a version")?.0.to_owned())
}

/// Returns the folder of maturin, which is installed from PyPI if it is missing.
fn maturin(sh: &Shell) -> Result<PathBuf> {
    let folder = sh.current_dir().join("target/package/maturin");
    if !folder.join("bin/maturin").exists() {
        mpi::install_wheel(sh, "maturin", "--target", &folder).context("maturin builds the wheel")?;
    }
    Ok(folder)
}
