//! Programs with the crate `mpi-sys` of this repository, built once and run on each MPI library: rsmpi's own
//! examples, and the scenarios of this workspace.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::mpi::Library;

/// The examples of a run of CI: each kind of handle, callbacks, lists of requests and of statuses.
const SAMPLE: [&str; 12] = [
    "attributes",
    "cartesian",
    "datatype_dup",
    "gather_varcount",
    "immediate_multiple_requests",
    "immediate_multiple_test",
    "immediate_reduce",
    "readme",
    "send_receive",
    "split",
    "structured",
    "wait_any",
];

/// Checks the tables of `mpi-sys` against the headers of the libraries, builds the examples, and runs each on
/// each library.
pub(crate) fn check(sh: &Shell, libraries: &[Library], has_all: bool) -> Result<()> {
    let manifest = sh.current_dir().join("mpi-sys/Cargo.toml");
    cmd!(sh, "cargo fmt --check --manifest-path {manifest}").quiet().run()?;
    let folder = sh.current_dir().join("target/any-mpi");
    let target = folder.join("target");
    let _target = sh.push_env("CARGO_TARGET_DIR", &target);
    let lint = ["--quiet", "--all-targets", "--", "--deny", "warnings"];
    cmd!(sh, "cargo clippy --manifest-path {manifest} {lint...}").quiet().run()?;
    for library in libraries {
        let _compiler = sh.push_env("MPICC", library.mpicc());
        let _variables: Vec<_> = library.variables().map(|(name, value)| sh.push_env(name, value)).collect();
        cmd!(sh, "cargo test --quiet --manifest-path {manifest}").quiet().ignore_stdout().run()?;
    }
    let mut names = package(sh, &folder, has_all)?;
    for manifest in [folder.join("Cargo.toml"), manifest] {
        cmd!(sh, "cargo build --quiet --examples --manifest-path {manifest}").quiet().run()?;
    }
    // The example of `mpi-sys` makes the calls that those of rsmpi do not make.
    names.push("rest".to_owned());
    for library in libraries {
        let _variables: Vec<_> = library.variables().map(|(name, value)| sh.push_env(name, value)).collect();
        let mut failed = Vec::new();
        for name in &names {
            // MPICH 4.0 cannot spawn here, nor can Intel MPI on shared memory, whatever crate is used.
            let spawns = name.starts_with("spawn") && !library.name.starts_with("openmpi");
            let program = target.join("debug/examples").join(name);
            let mut command = xtask::launch::on_ranks(&library.mpiexec, 2, program);
            command.envs(library.variables());
            let output = command.output().with_context(|| library.mpiexec.clone())?;
            if !output.status.success() && !spawns {
                failed.push(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
            }
        }
        ensure!(failed.is_empty(), "on {}: {}", library.version, failed.join("\n"));
        println!("{} examples run on {}", names.len(), library.version);
    }
    Ok(())
}

/// Returns the manifest of a workspace with the packages of this one, in which `mpi-sys` is that of the
/// registry. Its packages are links to those here.
pub(crate) fn with_stock_crate(sh: &Shell) -> Result<PathBuf> {
    let own = sh.current_dir();
    let folder = own.join("target/stock/workspace");
    fs::create_dir_all(&folder)?;
    for entry in fs::read_dir(&own)? {
        let entry = entry?;
        let link = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() && entry.path().join("Cargo.toml").exists() {
            // A link of an earlier run may lead elsewhere.
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(entry.path(), link)?;
        }
    }
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(own.join("Cargo.toml"))?;
    let patch = "[patch.crates-io]\nmpi-sys = { path = \"mpi-sys\" }\n";
    ensure!(text.contains(patch), "the patch of `mpi-sys` in Cargo.toml");
    fs::write(&manifest, text.replace(patch, ""))?;
    fs::copy(own.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(manifest)
}

/// Writes a package of rsmpi's examples, and returns their names.
fn package(sh: &Shell, folder: &Path, has_all: bool) -> Result<Vec<String>> {
    let metadata = cmd!(sh, "cargo metadata --format-version 1 --locked").quiet().ignore_stderr().read()?;
    let manifest = metadata
        .split("\"manifest_path\":\"")
        .filter_map(|text| text.split('"').next())
        .find(|path| path.contains("/mpi-0.") && path.ends_with("/Cargo.toml"))
        .context("the package `mpi` in the registry")?;
    let examples = PathBuf::from(manifest).with_file_name("examples");
    let into = folder.join("examples");
    // Examples of an earlier run may be others.
    let _ = fs::remove_dir_all(&into);
    fs::create_dir_all(&into)?;
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("src/lib.rs"), "")?;
    let mut names = Vec::new();
    for entry in fs::read_dir(&examples).with_context(|| examples.display().to_string())? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|end| end == "rs") && (has_all || SAMPLE.contains(&&*name)) {
            fs::copy(&path, into.join(format!("{name}.rs")))?;
            names.push(name);
        }
    }
    ensure!(names.len() >= SAMPLE.len(), "{}: {} examples", examples.display(), names.len());
    let ours = sh.current_dir().join("mpi-sys").display().to_string();
    let text = format!(
        "[package]\nname = \"rsmpi-examples\"\nedition = \"2021\"\n\n\
         [dependencies]\nmpi = {{ version = \"0.8\", features = [\"complex\", \"derive\"] }}\n\
         num-complex = \"0.4\"\n\n\
         [patch.crates-io]\nmpi-sys = {{ path = {ours:?} }}\n\n\
         [lints.rust]\nunexpected_cfgs = \"allow\"\ndeprecated = \"allow\"\n\n\
         [profile.dev]\ndebug = false\n\n[workspace]\n"
    );
    fs::write(folder.join("Cargo.toml"), text)?;
    // The versions of this workspace.
    fs::copy(sh.current_dir().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    names.sort();
    Ok(names)
}
