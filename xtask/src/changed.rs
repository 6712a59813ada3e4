//! The steps of the tests for the files that have changed.

use std::{collections::BTreeSet, path::Path};

use anyhow::Result;
use xshell::{Shell, cmd};

/// The steps that any change may fail.
const ALWAYS: [&str; 3] = ["format", "house", "lint"];

/// The steps of every crate that programs with MPI use.
const WITH_MPI: &[&str] = &["units", "doctests", "ranks", "examples", "programs", "guidelines"];

/// The steps that a change in a folder may fail, beside [`ALWAYS`]. The first folder that a path begins with
/// counts.
const FOLDERS: &[(&str, &[&[&str]])] = &[
    ("benches/", &[&["optimized", "guidelines"]]),
    ("docs/", &[&["doctests"]]),
    ("dtype-cli/", &[&["rustdoc", "without-mpi", "structs", "optimized", "programs"]]),
    ("dtype-core/", &[&["rustdoc", "without-mpi", "structs", "optimized", "messages"], WITH_MPI]),
    ("dtype-derive/", &[&["rustdoc", "without-mpi", "messages"], WITH_MPI]),
    ("dtype-engine/", &[&["rustdoc", "without-mpi", "optimized", "valgrind", "sanitizer"], WITH_MPI]),
    ("dtype-guidelines/", &[&["rustdoc", "optimized", "guidelines"]]),
    ("dtype-interpose/", &[&["rustdoc", "optimized", "units", "doctests", "programs"]]),
    ("dtype-mpi/", &[&["rustdoc"], WITH_MPI]),
    ("dtype-report/", &[&["rustdoc", "without-mpi", "programs"]]),
    (
        "dtype-runtime/",
        &[
            &["rustdoc", "without-mpi", "optimized", "valgrind", "sanitizer", "messages", "uncalled"],
            WITH_MPI,
        ],
    ),
    ("examples/", &[&["examples"]]),
    ("fuzz/", &[]),
    ("mpi-sys/", &[&["rustdoc", "any-mpi"], WITH_MPI]),
    ("packaging/", &[&["programs"]]),
    ("tests/compile-fail/", &[&["without-mpi", "messages"]]),
    ("tests/", &[&["without-mpi", "messages", "ranks", "uncalled"]]),
    ("xtask/", &[&["without-mpi"], WITH_MPI]),
];

/// The steps for the pages at the top: their code is compiled, and their figures are compared.
const PAGES: &[&[&str]] = &[&["doctests", "optimized"]];

/// The steps for the manifests and the other files at the top.
const TOP: &[&[&str]] = &[&["rustdoc", "packages", "licences", "without-mpi", "messages"], WITH_MPI];

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
    let of_path = |path: &String| -> &[&[&'static str]] {
        match FOLDERS.iter().find(|(folder, _)| path.starts_with(folder)) {
            Some((_, steps)) => steps,
            None if Path::new(path).extension().is_some_and(|of| of == "md") => PAGES,
            None => TOP,
        }
    };
    paths.iter().flat_map(of_path).copied().flatten().copied().chain(ALWAYS).collect()
}

#[cfg(test)]
mod tests {
    use xshell::{Shell, cmd};

    use super::{ALWAYS, FOLDERS, PAGES, Path, TOP, steps_of};
    use crate::test::names;

    #[test]
    fn each_folder_has_steps_that_exist() {
        let sh = Shell::new().unwrap();
        sh.change_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
        let files = cmd!(sh, "git ls-files").quiet().read().unwrap();
        for (folder, _) in files.lines().filter_map(|file| file.split_once('/')) {
            let is_known = FOLDERS.iter().any(|(known, _)| known.strip_suffix('/') == Some(folder));
            assert!(is_known || folder.starts_with('.'), "{folder}");
        }
        let all = names();
        let listed = FOLDERS.iter().flat_map(|(_, steps)| *steps).chain(TOP).chain(PAGES);
        for step in listed.copied().flatten().chain(&ALWAYS) {
            assert!(all.iter().any(|name| name == step), "no step `{step}`");
        }
    }

    #[test]
    fn a_path_has_the_steps_of_its_folder() {
        let steps = |path: &str| steps_of(&[path.to_owned()]).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(steps("packaging/module"), "format house lint programs");
        assert_eq!(steps("tests/compile-fail/ui/a.rs"), "format house lint messages without-mpi");
        assert_eq!(steps("README.md"), "doctests format house lint optimized");
        assert!(steps("Cargo.toml").contains("ranks"));
    }
}
