//! The parser of `calls.txt`, whose first lines explain the form.

use std::{iter, ops::Range};

/// All rows of the table.
pub struct Table {
    pub rows: Vec<Row>,
}

/// Functions with the same role, arguments and handler.
pub struct Row {
    /// The role, or `fortran shared` and the like.
    pub role: String,
    /// `true` if older versions of the standard than MPI 4.0 lack the functions.
    pub is_newer: bool,
    pub names: Vec<String>,
    pub arguments: Vec<Argument>,
    /// The call of the handler; `None` for functions that are forwarded.
    pub handler: Option<String>,
}

/// An argument: its kind, and the name by which the call of the handler refers to it.
pub struct Argument {
    pub kind: String,
    pub name: String,
}

impl Row {
    /// Returns the first argument of a kind.
    pub fn first(&self, kind: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.kind == kind)
    }

    pub fn has(&self, kind: &str) -> bool {
        self.first(kind).is_some()
    }

    /// Returns the arguments, each with the indices of its parameters in the exported function.
    pub fn placed(&self) -> impl Iterator<Item = (Range<usize>, &Argument)> {
        self.arguments.iter().scan(0, |next, argument| {
            let first = *next;
            *next += crate::arguments::c_types(&argument.kind).len();
            Some((first..*next, argument))
        })
    }

    /// Returns the C functions of a row: the name in the row, the name of the function, and `true` for large
    /// counts. A row with counts also stands for the functions with the suffix `_c`.
    pub fn functions(&self) -> impl Iterator<Item = (&str, String, bool)> {
        let has_counts = self.arguments.iter().any(|argument| crate::arguments::has_count(&argument.kind));
        self.names.iter().flat_map(move |name| {
            let large = has_counts && !name.ends_with("_c");
            let plain = (name.as_str(), name.clone(), name.ends_with("_c"));
            iter::once(plain).chain(large.then(|| (name.as_str(), format!("{name}_c"), true)))
        })
    }
}

impl Table {
    /// Reads the table.
    ///
    /// # Errors
    /// The number of the line, and what is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut rows = Vec::new();
        let mut role = String::new();
        let mut is_newer = false;
        let mut lines = text.lines().enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            let mut line = without_comment(line).to_owned();
            while let Some((_, more)) = lines.next_if(|(_, more)| more.starts_with(' ')) {
                line.push_str(without_comment(more));
            }
            let failed = |what: &str| format!("line {}: {what}", number + 1);
            let line = line.trim();
            if let Some(section) = line.strip_prefix('[') {
                let section = section.strip_suffix(']').ok_or_else(|| failed("`]` is missing"))?;
                let older = section.strip_suffix(" from MPI 4");
                is_newer = older.is_some();
                older.unwrap_or(section).clone_into(&mut role);
            } else if !line.is_empty() {
                let row = Row::read(line, &role, is_newer).ok_or_else(|| failed("no row"))?;
                rows.push(row);
            }
        }
        let mut names: Vec<_> = rows.iter().flat_map(|row: &Row| &row.names).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("`{}` has two rows", pair[0])),
            None => Ok(Self { rows }),
        }
    }
}

impl Row {
    fn read(line: &str, role: &str, is_newer: bool) -> Option<Self> {
        let words = |names: &str| names.split_whitespace().map(str::to_owned).collect();
        let role = role.to_owned();
        let Some((names, rest)) = line.split_once('(') else {
            return Some(Self { role, is_newer, names: words(line), arguments: Vec::new(), handler: None });
        };
        let (arguments, handler) = rest.split_once(')')?;
        let arguments = arguments.split(',').map(str::trim).filter(|argument| !argument.is_empty());
        let arguments = arguments.map(|argument| {
            let (kind, name) = argument.split_once(' ').unwrap_or((argument, argument));
            Argument { kind: kind.to_owned(), name: name.to_owned() }
        });
        let handler = Some(handler.trim().strip_prefix("=>")?.trim().to_owned());
        Some(Self { role, is_newer, names: words(names), arguments: arguments.collect(), handler })
    }
}

fn without_comment(line: &str) -> &str {
    line.split_once('#').map_or(line, |(line, _)| line).trim_end()
}
