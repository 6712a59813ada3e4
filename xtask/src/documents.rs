//! The check of the documents: paths, commands and calls that they name exist, and their Rust code is
//! compiled as a reader sees it.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use clap::Parser;
use syn::{Item, visit::Visit};

use crate::tables::{Calls, Messages, Table};

/// The file with the list of the documents whose code is compiled.
const COMPILES: &str = "dtype-runtime/src/lib.rs";

/// The parts of the repository that documents are compared with.
pub(crate) struct Known<'a> {
    root: &'a Path,
    /// The names of the subcommands of `dtype`.
    subcommands: Vec<String>,
    /// The text of [`COMPILES`].
    compiles: String,
    calls: Calls,
    messages: Messages,
}

impl<'a> Known<'a> {
    /// Reads what documents are compared with.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(crate) fn read(root: &'a Path) -> Result<Self> {
        let compiles = fs::read_to_string(root.join(COMPILES)).context(COMPILES)?;
        let (calls, messages) = (Calls::read(root)?, Messages::read(root)?);
        Ok(Self { root, subcommands: subcommands(root)?, compiles, calls, messages })
    }

    /// Returns the faults of a document: paths that do not exist, commands that are not accepted, calls and
    /// messages that are not tested, and Rust code that is not compiled or has lines that only rustdoc hides.
    ///
    /// # Errors
    /// If the document cannot be read.
    pub(crate) fn faults(&self, document: &Path) -> Result<Vec<String>> {
        let text = fs::read_to_string(document).with_context(|| document.display().to_string())?;
        let name = document.strip_prefix(self.root).unwrap_or(document).to_string_lossy();
        let folder = document.parent().unwrap_or(self.root);
        let is_compiled = self.compiles.contains(&format!(" \"../../{name}\"\n"));
        let is_for_users = name == "README.md" || name.starts_with("docs/guide/");
        let mut faults = Vec::new();
        let mut table = Table::default();
        // The words behind the opening fence of the current code block.
        let mut code: Option<&str> = None;
        for (i, line) in text.lines().enumerate() {
            let mut fault = |what: String| faults.push(format!("{}: {what}", i + 1));
            if let Some(info) = line.trim_start().strip_prefix("```") {
                code = code.is_none().then_some(info);
                if code.is_some_and(is_tested) && !is_compiled {
                    fault(format!("no test compiles this code: list the document in {COMPILES}"));
                }
                continue;
            }
            if code.is_some_and(is_tested) && is_hidden(line) {
                fault("rustdoc alone hides this line: readers see it, and copy it".to_owned());
            }
            for link in links(line).filter(|_| code.is_none()) {
                if !folder.join(link).exists() {
                    fault(format!("there is no file {link}"));
                }
            }
            let in_backticks = line.split('`').skip(1).step_by(2);
            let spans: Vec<&str> = if code.is_some() { vec![line] } else { in_backticks.collect() };
            for span in spans {
                if let Some(path) = missing_path(self.root, span) {
                    fault(format!("there is no {path}"));
                }
                if let Some(command) = unknown_command(span, &self.subcommands) {
                    fault(format!("`{command}` is not a command"));
                }
            }
            if is_for_users && code.is_none() {
                let row = table.row(line);
                for call in row.calls.iter().filter(|call| !self.calls.have(call)) {
                    fault(format!("no test has `{call}`: call it in {}", Calls::FILE));
                }
                for message in row.messages.iter().filter(|message| !self.messages.have(message)) {
                    fault(format!("no case in {} has the message \"{message}\"", Messages::FOLDER));
                }
            }
        }
        Ok(faults)
    }
}

/// Returns `true` for the words behind the fence of a code block that rustdoc compiles.
fn is_tested(info: &str) -> bool {
    let mut words = info.split(',').map(str::trim);
    words.next() == Some("rust") && words.all(|word| word != "ignore")
}

/// Returns `true` if rustdoc does not show a line of Rust code.
fn is_hidden(line: &str) -> bool {
    let line = line.trim_start();
    line == "#" || line.starts_with("# ")
}

/// Returns the targets of the links of a line that lead to files.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    let files = targets.map(|target| target.split('#').next().unwrap_or_default());
    files.filter(|target| !target.is_empty() && !target.contains("://"))
}

/// Returns a span of code that is a path, if its first folder is in the repository, but the path does not
/// exist.
fn missing_path<'a>(root: &Path, span: &'a str) -> Option<&'a str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let (first, _) = span.split_once('/')?;
    let is_placeholder = span.split(['/', '.']).any(is_placeholder);
    let is_path = !is_placeholder
        && span.chars().all(is_part)
        && !span.contains("..")
        && !first.is_empty()
        && first != "target";
    (is_path && root.join(first).is_dir() && !root.join(span).exists()).then_some(span)
}

/// Returns `true` for a word in capitals, such as `NAME`, which stands for something.
fn is_placeholder(word: &str) -> bool {
    word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase())
}

/// Returns a span of code that is a command of `cargo xtask` or `dtype`, if the command is not accepted.
/// Commands with placeholders are not checked.
fn unknown_command(span: &str, subcommands: &[String]) -> Option<String> {
    let command = span.trim_start_matches(['$', ' ']).split('#').next().unwrap_or_default();
    let words: Vec<&str> = command.split_whitespace().collect();
    if words.iter().any(|word| is_placeholder(word) || word.contains('…')) {
        return None;
    }
    let is_known = match *words.as_slice() {
        ["cargo", "xtask", ..] if words.len() > 2 => crate::Command::try_parse_from(&words[1..]).is_ok(),
        ["dtype", name, ..] if name.starts_with(|c: char| c.is_ascii_lowercase()) => {
            subcommands.iter().any(|known| known == name)
        }
        _ => true,
    };
    (!is_known).then(|| command.trim().to_owned())
}

/// Returns the names of the subcommands of `dtype`: the variants of the enum that derives `Subcommand`.
///
/// # Errors
/// If the command's source cannot be read.
fn subcommands(root: &Path) -> Result<Vec<String>> {
    struct Variants(Vec<String>);
    impl<'a> Visit<'a> for Variants {
        fn visit_item(&mut self, item: &'a Item) {
            let Item::Enum(item) = item else { return };
            let derives = item.attrs.iter().any(|attribute| {
                let list = attribute.meta.require_list().map(|list| list.tokens.to_string());
                attribute.path().is_ident("derive") && list.is_ok_and(|list| list.contains("Subcommand"))
            });
            if derives {
                self.0.extend(item.variants.iter().map(|variant| variant.ident.to_string().to_lowercase()));
            }
        }
    }
    let main = root.join("dtype-cli/src/main.rs");
    let file = syn::parse_file(&fs::read_to_string(&main)?).with_context(|| main.display().to_string())?;
    let mut variants = Variants(Vec::new());
    variants.visit_file(&file);
    Ok(variants.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_do_not_exist_are_found() {
        let unknown = |span: &str| unknown_command(span, &["draw".to_owned()]).is_some();
        assert!(!unknown("cargo xtask test --ci   # everything") && !unknown("cargo xtask bench NAME"));
        assert!(unknown("cargo xtask tests") && unknown("$ cargo xtask test --all"));
        assert!(!unknown("dtype draw a.json") && unknown("dtype drawn a.json") && !unknown("dtype"));
    }

    #[test]
    fn code_that_is_compiled_has_no_hidden_lines() {
        assert!(is_tested("rust") && is_tested("rust,no_run"));
        assert!(!is_tested("rust,ignore") && !is_tested("text") && !is_tested(""));
        assert!(is_hidden("# Ok::<(), Error>(())") && is_hidden("  #") && !is_hidden("#[derive(Debug)]"));
    }

    #[test]
    fn the_versions_of_arrays_crates_are_those_of_the_manifest() {
        let read = |path: &str| fs::read_to_string(Path::new("..").join(path)).unwrap();
        let (manifest, documentation) = (read("Cargo.toml"), read("dtype-runtime/src/lib.rs"));
        for feature in ["nalgebra", "nalgebra-0_34", "ndarray"] {
            let line = manifest.lines().find(|line| line.starts_with(&format!("{feature} = ")));
            let version = line.and_then(|line| line.split("version = \"").nth(1)?.split('"').next()).unwrap();
            // Of a range, cargo takes the newest version, even if the program has another one.
            assert!(version.chars().all(|c| c.is_ascii_digit() || c == '.'), "{feature}: {version}");
            assert!(documentation.contains(&format!("`{feature}` ({version})")), "{feature}: {version}");
        }
    }

    #[test]
    fn paths_that_do_not_exist_are_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(missing_path(root, "src/main.rs"), None);
        assert_eq!(missing_path(root, "src/nothing.rs"), Some("src/nothing.rs"));
        assert_eq!(missing_path(root, "i32/f64"), None);
        assert_eq!(links("[a](b.md#c), [d](https://e.f), [g](#h)").collect::<Vec<_>>(), ["b.md"]);
    }
}
