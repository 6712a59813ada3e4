//! The steps of the tests for the files that have changed.

use std::{collections::BTreeSet, path::Path};

use anyhow::Result;
use xshell::{Shell, cmd};

/// The steps that any change may fail.
const ALWAYS: [&str; 3] = ["format", "house", "lint"];

/// The steps that a change in a folder may fail, beside [`ALWAYS`]. The first folder that a path begins with
/// counts.
const FOLDERS: &[(&str, &[&str])] = &[
    ("benches/", &["optimized", "guidelines"]),
    ("docs/", &["doctests"]),
    ("dtype-cli/", &["without-mpi", "structs", "programs"]),
    ("dtype-core/", &["without-mpi", "structs", "optimized", "messages", "ranks", "programs", "guidelines"]),
    ("dtype-derive/", &["without-mpi", "messages", "doctests", "ranks", "examples"]),
    ("dtype-engine/", &["without-mpi", "optimized", "valgrind", "sanitizer", "ranks", "programs"]),
    ("dtype-guidelines/", &["optimized", "guidelines"]),
    ("dtype-interpose/", &["programs"]),
    ("dtype-mpi/", &["units", "ranks", "programs", "guidelines"]),
    ("dtype-report/", &["without-mpi", "programs"]),
    (
        "dtype-runtime/",
        &["rustdoc", "without-mpi", "messages", "units", "doctests", "ranks", "uncalled", "examples"],
    ),
    ("examples/", &["examples"]),
    ("fuzz/", &[]),
    ("mpi-sys/", &["any-mpi", "units", "ranks", "programs"]),
    ("packaging/", &["programs"]),
    ("tests/compile-fail/", &["without-mpi", "messages"]),
    ("tests/", &["without-mpi", "messages", "ranks"]),
    ("xtask/", &["without-mpi"]),
];

/// The steps for the manifests and the other files at the top.
const TOP: &[&str] = &["without-mpi", "messages", "units", "doctests", "ranks", "examples", "programs"];

/// Returns the steps for what is not committed, or for the last commit if everything is.
pub(crate) fn steps(sh: &Shell) -> Result<BTreeSet<&'static str>> {
    let now = cmd!(sh, "git status --porcelain --untracked-files=all --no-renames").quiet().read()?;
    let paths: Vec<_> = now.lines().filter_map(|line| line.get(3..)).map(str::to_owned).collect();
    if !paths.is_empty() {
        return Ok(steps_of(&paths));
    }
    let last = cmd!(sh, "git diff --name-only --no-renames HEAD~1 HEAD").quiet().read()?;
    Ok(steps_of(&last.lines().map(str::to_owned).collect::<Vec<_>>()))
}

fn steps_of(paths: &[String]) -> BTreeSet<&'static str> {
    let of_path = |path: &String| -> &[&'static str] {
        match FOLDERS.iter().find(|(folder, _)| path.starts_with(folder)) {
            Some((_, steps)) => steps,
            // Code in documents is compiled with the documentation.
            None if Path::new(path).extension().is_some_and(|of| of == "md") => &["doctests"],
            None => TOP,
        }
    };
    paths.iter().flat_map(of_path).copied().chain(ALWAYS).collect()
}

#[cfg(test)]
mod tests {
    use super::{ALWAYS, FOLDERS, Path, TOP, steps_of};
    use crate::test::names;

    #[test]
    fn each_folder_has_steps_that_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for entry in std::fs::read_dir(root).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if entry.path().is_dir() && !name.starts_with('.') && name != "target" {
                let folder = format!("{name}/");
                assert!(FOLDERS.iter().any(|(known, _)| *known == folder), "{folder}");
            }
        }
        let all = names();
        for step in FOLDERS.iter().flat_map(|(_, steps)| *steps).chain(TOP).chain(&ALWAYS) {
            assert!(all.iter().any(|name| name == step), "no step `{step}`");
        }
    }

    #[test]
    fn a_path_has_the_steps_of_its_folder() {
        let steps = |path: &str| steps_of(&[path.to_owned()]).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(steps("dtype-interpose/calls.txt"), "format house lint programs");
        assert_eq!(steps("tests/compile-fail/ui/a.rs"), "format house lint messages without-mpi");
        assert_eq!(steps("README.md"), "doctests format house lint");
        assert!(steps("Cargo.toml").contains("ranks"));
    }
}
