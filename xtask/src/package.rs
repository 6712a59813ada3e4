//! `cargo xtask package`: the wheel of the command `dtype` and of the preloaded libraries, for people who
//! have no Rust.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::{interpose, mpi};

/// Builds the wheel, and prints how it is installed.
pub(crate) fn run() -> Result<()> {
    let sh = Shell::new()?;
    let (tools, dist) = (tools(&sh)?, sh.current_dir().join("dist"));
    let staged = stage(&sh)?;
    {
        let _folder = sh.push_dir("packaging/python");
        cmd!(sh, "{tools}/bin/maturin build --quiet --release --out {dist}").quiet().run()?;
    }
    println!("The wheel is in dist, with preloaded libraries for:");
    for library in staged {
        println!("  {library}");
    }
    println!("\n  pip install dist/*.whl\n  dtype run mpiexec -n 2 python program.py");
    Ok(())
}

/// Builds the preloaded libraries into the folder that becomes a part of the wheel. Returns what each is for.
fn stage(sh: &Shell) -> Result<Vec<&'static str>> {
    let folder = sh.current_dir().join("target/package/data/data/lib/dtype-mpi");
    sh.remove_path(&folder)?;
    let built = interpose::build_all(sh, &folder)?;
    for (_, file) in &built {
        let dynamic = cmd!(sh, "readelf --dynamic --wide {file}").quiet().read()?;
        let names = ["(RPATH)", "(RUNPATH)", "[libmpi"];
        let named = dynamic.lines().find(|line| names.iter().any(|name| line.contains(name)));
        ensure!(named.is_none(), "{}: {}", file.display(), named.unwrap_or_default());
    }
    Ok(built.into_iter().map(|(title, _)| title).collect())
}

/// Returns the folder of maturin, which is installed from PyPI if it is missing.
fn tools(sh: &Shell) -> Result<PathBuf> {
    let folder = sh.current_dir().join("target/package/tools");
    if !folder.join("bin/maturin").exists() {
        mpi::install_wheel(sh, "maturin", "--prefix", &folder).context("maturin is missing")?;
    }
    Ok(folder)
}
