//! The calls and messages in tables of the documents: read from the rows, and looked up in a file that is
//! compiled and run, and in the expected messages of the compiler.

use std::{fs, path::Path};

use anyhow::{Context, Result};

/// A table of a document, which is read line by line.
#[derive(Default)]
pub(crate) struct Table {
    heads: Vec<String>,
}

/// The parts of a row that are tested.
#[derive(Default)]
pub(crate) struct Row {
    /// The code in columns for calls.
    pub(crate) calls: Vec<String>,
    /// The quotations in columns for messages of the compiler.
    pub(crate) messages: Vec<String>,
}

impl Table {
    /// Reads a line, and returns what it says of the crates.
    pub(crate) fn row(&mut self, line: &str) -> Row {
        let mut row = Row::default();
        if !line.starts_with('|') {
            self.heads.clear();
            return row;
        }
        let cells = cells(line);
        if self.heads.is_empty() {
            self.heads = cells;
            return row;
        }
        for (head, cell) in self.heads.iter().zip(&cells) {
            let spans = cell.split('`').skip(1).step_by(2);
            row.calls.extend(spans.filter_map(|span| written_as(head, span)));
            if head == "message" {
                row.messages.extend(cell.split('"').skip(1).step_by(2).map(str::to_owned));
            }
        }
        row
    }
}

/// Returns the cells of a row. A bar within a cell has a backslash before it.
fn cells(line: &str) -> Vec<String> {
    const BAR: &str = "\u{1}";
    let line = line.replace("\\|", BAR);
    line.trim().trim_matches('|').split('|').map(|cell| cell.trim().replace(BAR, "|")).collect()
}

/// Returns the Rust code that stands for a span of code below a head of a table, or `None` if the column has
/// no calls of ours. The commands of a shell are checked elsewhere.
fn written_as(head: &str, span: &str) -> Option<String> {
    let is_command = ["cargo ", "dtype "].iter().any(|program| span.starts_with(program));
    match head {
        _ if is_command => None,
        "call" | "do" | "here" | "module" | "what to do" | "wire" => Some(span.to_owned()),
        "error" => Some(format!("ErrorKind::{span}")),
        "layout" => Some(format!("layout!({span})")),
        _ => None,
    }
}

/// The code that calls what tables name.
pub(crate) struct Calls {
    /// The code without spaces and comments.
    code: String,
}

impl Calls {
    /// The file with the code.
    pub(crate) const FILE: &str = "tests/src/ranks/documents.rs";

    /// Reads the code.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        Ok(Self::of(&fs::read_to_string(root.join(Self::FILE)).context(Self::FILE)?))
    }

    fn of(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        Self { code: dense(&lines.collect::<String>()) }
    }

    /// Returns `true` if the code has a call, as whole words. `…` in the call stands for anything. The name
    /// of a function or a module must be followed by what belongs to it.
    pub(crate) fn have(&self, call: &str) -> bool {
        let call = dense(call);
        let parts: Vec<&str> = call.split('…').collect();
        let is_name = call.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        parts.iter().enumerate().all(|(i, part)| {
            let is_found = |at: usize| {
                let (before, behind) = (&self.code[..at], &self.code[at + part.len()..]);
                let begins = i > 0 || !continues(before.chars().next_back(), part.chars().next());
                let ends = i + 1 < parts.len() || !continues(part.chars().next_back(), behind.chars().next());
                begins && ends && (!is_name || behind.starts_with('(') || behind.starts_with("::"))
            };
            self.code.match_indices(part).any(|(at, _)| is_found(at))
        })
    }
}

/// The messages of the compiler in the cases that must not compile.
pub(crate) struct Messages {
    text: String,
}

impl Messages {
    /// The folder with the cases.
    pub(crate) const FOLDER: &str = "tests/compile-fail/ui";

    /// Reads the messages.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut text = String::new();
        for topic in fs::read_dir(root.join(Self::FOLDER)).context(Self::FOLDER)? {
            for case in fs::read_dir(topic?.path())? {
                let path = case?.path();
                if path.extension().is_some_and(|extension| extension == "stderr") {
                    text += &fs::read_to_string(path)?;
                }
            }
        }
        Ok(Self { text })
    }

    /// Returns `true` if a line has a message. `…` in the message stands for anything.
    pub(crate) fn have(&self, message: &str) -> bool {
        self.text.lines().any(|line| {
            message
                .split('…')
                .try_fold(line, |rest, part| rest.split_once(part).map(|(_, rest)| rest))
                .is_some()
        })
    }
}

/// Returns code without spaces, and without the commas that rustfmt adds to broken lines.
fn dense(code: &str) -> String {
    let code: String = code.split_whitespace().collect();
    code.replace(",)", ")")
}

/// Returns `true` if two adjacent characters belong to one word.
fn continues(left: Option<char>, right: Option<char>) -> bool {
    let is_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    is_of_word(left) && is_of_word(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_from_their_columns() {
        let mut table = Table::default();
        let mut calls = |line: &str| table.row(line).calls;
        assert!(calls("| you want | call | error |").is_empty() && calls("|---|---|---|").is_empty());
        assert_eq!(calls("| `a` | `b(\\|x\\| …)?`, `c` | `Fit` |"), ["b(|x| …)?", "c", "ErrorKind::Fit"]);
        assert!(calls("text").is_empty() && calls("| message |").is_empty() && calls("| `a` |").is_empty());
    }

    #[test]
    fn messages_that_the_compiler_does_not_print_are_found() {
        let mut table = Table::default();
        table.row("| message | what to do |");
        let row = table.row("| \"a `String` …sent\" | `send` |");
        assert_eq!(
            (&row.messages[..], &row.calls[..]),
            (&["a `String` …sent".to_owned()][..], &["send".to_owned()][..])
        );
        let messages = Messages { text: "error: a `String` cannot be sent\nerror: a `Vec` is".to_owned() };
        assert!(
            messages.have(&row.messages[0]) && !messages.have("a `Vec` …sent") && !messages.have("sent … a")
        );
    }

    #[test]
    fn calls_that_no_test_has_are_found() {
        let calls = Calls::of("there.send_packed(&values, 3)?;\n// view()\nlet view = f(\n    |a| a,\n);");
        assert!(calls.have("there.send_packed(&values, 3)?") && calls.have("send_packed"));
        assert!(calls.have("f(|a| …)") && calls.have("…_packed(&values, 3)"));
        assert!(!calls.have("packed") && !calls.have("view") && !calls.have("here.send_packed(&values, 3)"));
    }
}
