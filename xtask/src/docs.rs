//! `cargo xtask docs`: the guide as a book with a search that needs no network, and the documentation of the
//! crates.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::{house, mpi};

/// Further parts of the book: pages that are not in the guide's own table of contents.
const PARTS: [(&str, &[&str]); 2] = [
    (
        "The tools",
        &[
            "dtype-cli/README.md",
            "dtype-interpose/README.md",
            "dtype-guidelines/README.md",
            "BENCHMARKS.md",
            "packaging/README.md",
        ],
    ),
    (
        "For engineers",
        &[
            "ARCHITECTURE.md",
            "docs/types-and-layouts.md",
            "docs/search.md",
            "docs/pack-engine.md",
            "docs/wires.md",
            "docs/messages.md",
            "docs/halos.md",
            "docs/exchanges.md",
            "docs/windows-and-files.md",
            "docs/preload.md",
            "docs/guidelines.md",
            "docs/mpi-faults.md",
            "docs/testing.md",
            "docs/history.md",
            "CONTRIBUTING.md",
            "CHANGELOG.md",
        ],
    ),
];

/// The page of compile errors, which is made from the cases of `tests/compile-fail/ui`.
const ERRORS: &str = "docs/guide/compile-errors.md";

/// The settings of the book. The pages keep their paths, so that links between them hold.
const BOOK: &str = r#"[book]
title = "dtype"
description = "The datatype compiler for MPI"
language = "en"
src = "pages"

[build]
build-dir = "book"
create-missing = false
use-default-preprocessors = false

[output.html]
smart-punctuation = false
no-section-label = true

[output.html.search]
heading-split-level = 2

[output.html.playground]
runnable = false
"#;

/// Builds the book and the documentation of the crates, and prints where they are.
pub(crate) fn run() -> Result<()> {
    let sh = Shell::new()?;
    println!("The guide: {}", book(&sh)?.display());
    let features = ["--features", "dtype-runtime/picture,dtype-runtime/serde"];
    let packages = ["--package", "dtype-runtime", "--package", "dtype-engine", "--package", "dtype-core"];
    cmd!(sh, "cargo doc --no-deps {packages...} {features...}").quiet().run()?;
    println!("The crates: {}", sh.current_dir().join("target/doc/dtype_runtime/index.html").display());
    Ok(())
}

/// Builds the book, and returns its first page.
pub(crate) fn book(sh: &Shell) -> Result<PathBuf> {
    let root = sh.current_dir();
    let folder = root.join("target/docs");
    let pages = folder.join("pages");
    sh.remove_path(&folder)?;
    sh.create_dir(&pages)?;
    sh.write_file(folder.join("book.toml"), BOOK)?;
    let mut files = Vec::new();
    house::sources(&root, &mut files)?;
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "md")) {
        let page = file.strip_prefix(&root)?;
        let mut text = sh.read_file(file)?;
        if page == Path::new("README.md") {
            // The book shows its table of contents on each page.
            text = text.replace("](docs/SUMMARY.md)", "](docs/guide/first-program.md)");
        }
        sh.write_file(pages.join(page), text)?;
    }
    sh.write_file(pages.join(ERRORS), errors(&root.join("tests/compile-fail/ui"))?)?;
    sh.write_file(pages.join("SUMMARY.md"), summary(&fs::read_to_string(root.join("docs/SUMMARY.md"))?)?)?;
    let mdbook = mdbook(sh)?;
    cmd!(sh, "{mdbook} build {folder}").quiet().ignore_stderr().run()?;
    let book = folder.join("book");
    let broken = broken_links(&book)?;
    ensure!(broken.is_empty(), "links of the book lead nowhere:\n{}", broken.join("\n"));
    Ok(book.join("index.html"))
}

/// Returns the program mdBook, which is compiled once if it is not installed.
fn mdbook(sh: &Shell) -> Result<PathBuf> {
    if mpi::exists(sh, "mdbook") {
        return Ok("mdbook".into());
    }
    let tools = sh.current_dir().join("target/tools");
    let program = tools.join("bin/mdbook");
    if !program.exists() {
        println!("Compiling mdBook, once: about two minutes.");
        cmd!(sh, "cargo install --quiet --locked --debug --root {tools} mdbook@0.5.4").quiet().run()?;
    }
    Ok(program)
}

/// Returns the table of contents of the book: the README, the guide's pages, and the further parts.
fn summary(of_guide: &str) -> Result<String> {
    let mut text = String::from("# Summary\n\n[dtype](README.md)\n\n");
    let parts = of_guide.split_once("\n# ").context("docs/SUMMARY.md has no part")?.1;
    writeln!(text, "# {}", parts.replace("](guide/", "](docs/guide/").trim_end())?;
    writeln!(text, "- [All errors of the macros]({ERRORS})")?;
    for (title, pages) in PARTS {
        writeln!(text, "\n# {title}\n")?;
        for page in pages {
            let content = fs::read_to_string(page).with_context(|| page.to_owned())?;
            let heading = content.lines().find_map(|line| line.strip_prefix("# "));
            writeln!(text, "- [{}]({page})", heading.with_context(|| format!("{page} has no title"))?)?;
        }
    }
    Ok(text)
}

/// Returns the page of all compile errors: the code of each case, and what the compiler says of it.
fn errors(cases: &Path) -> Result<String> {
    let mut text = String::from(
        "# All errors of the macros\n\nEach code below does not compile; the compiler's words follow. They \
         are those of the tests in `tests/compile-fail/ui`.\n",
    );
    for topic in sorted(cases)? {
        let mut failing = sorted(&topic)?;
        failing.retain(|path| {
            path.extension().is_some_and(|ending| ending == "rs") && path.with_extension("stderr").exists()
        });
        if failing.is_empty() {
            continue;
        }
        writeln!(text, "\n## {}", words(&topic))?;
        for case in failing {
            let code = fs::read_to_string(&case)?;
            let said = fs::read_to_string(case.with_extension("stderr"))?;
            let code = code.trim_end().trim_end_matches("fn main() {}").trim_end();
            writeln!(text, "\n### {}\n\n```rust,ignore\n{code}\n```\n", words(&case))?;
            for line in messages(&said) {
                writeln!(text, "{line}")?;
            }
        }
    }
    Ok(text)
}

/// Returns the entries of a folder in order.
fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Returns the words of a file's name.
fn words(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().replace('_', " ")
}

/// Returns a list of the messages of the compiler: each error with its line, and the notes that are ours.
fn messages(said: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in said.lines() {
        if line.starts_with("error") {
            let (_, message) = line.split_once(": ").unwrap_or(("", line));
            all.push(format!("- {}", escaped(message)));
        } else if let Some(place) = line.trim_start().strip_prefix("--> ui/")
            && let (Some(last), Some(number)) = (all.last_mut(), place.split(':').nth(1))
            && !last.ends_with(')')
        {
            write!(last, " (line {number})").expect("a string takes everything");
        } else if let Some(note) = line.trim_start().strip_prefix("= note: ")
            && let Some(last) = all.last_mut()
            && !["required", "the trait", "this error", "the following"].iter().any(|of| note.starts_with(of))
        {
            write!(last, "  \n  {}", escaped(note)).expect("a string takes everything");
        }
    }
    all.dedup();
    all
}

/// Returns text of the compiler as Markdown: what is not code must not be taken for HTML or emphasis.
fn escaped(text: &str) -> String {
    let mut result = String::new();
    for (i, part) in text.split('`').enumerate() {
        if i > 0 {
            result.push('`');
        }
        if i % 2 == 0 {
            part.chars().for_each(|c| {
                if "<>*_[]#".contains(c) {
                    result.push('\\');
                }
                result.push(c);
            });
        } else {
            result.push_str(part);
        }
    }
    result
}

/// Returns the links in the pages of a folder that lead to no file.
fn broken_links(book: &Path) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    let mut folders = vec![book.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in sorted(&folder)? {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "html") {
                // These two pages are made by mdBook alone: all chapters in one, and the error of a server.
                if path.ends_with("print.html") || path.ends_with("404.html") {
                    continue;
                }
                for link in fs::read_to_string(&path)?.split("href=\"").skip(1) {
                    let target = link.split(['"', '#']).next().unwrap_or_default();
                    let is_there = target.is_empty()
                        || target.contains(':')
                        || path.parent().is_some_and(|folder| folder.join(target).exists());
                    if !is_there {
                        broken.push(format!("{}: {target}", path.strip_prefix(book)?.display()));
                    }
                }
            }
        }
    }
    Ok(broken)
}
