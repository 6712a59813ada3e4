//! The exported C functions: each calls its handler with a closure that calls the next function.

use std::{cell::RefCell, fmt::Write, ops::Range};

use crate::{
    arguments::{c_types, given, replaced, taken},
    table::{Row, Table},
};

/// The C functions that are intercepted.
pub struct Calls<'a> {
    functions: Vec<Function<'a>>,
}

struct Function<'a> {
    row: &'a Row,
    name: String,
    is_large: bool,
}

/// Returns the call of a row's handler, with `next` as its last argument.
fn call(row: &Row) -> String {
    let handler = row.handler.as_deref().expect("the row is intercepted");
    let names = |parameters: Range<usize>| parameters.map(|i| format!("a{i}")).collect::<Vec<_>>();
    let named = RefCell::new(Vec::new());
    let value = |name: &str| {
        if name == "call" {
            return Some("&CALL".to_owned());
        }
        let (parameters, argument) = row.placed().find(|(_, argument)| argument.name == name)?;
        named.borrow_mut().push(parameters.start);
        Some(taken(&argument.kind, &names(parameters)))
    };
    let call = replaced(handler, value);
    // The next function gets its own parameters, or what the handler has put in their places.
    let (mut replacing, mut given_to_next) = (Vec::new(), Vec::new());
    for (parameters, argument) in row.placed() {
        let (is_named, name) = (named.borrow().contains(&parameters.start), format!("b{}", parameters.start));
        match given(&argument.kind, &name).filter(|_| is_named) {
            Some(parts) => {
                replacing.push(name);
                given_to_next.extend(parts);
            }
            None => given_to_next.extend(names(parameters)),
        }
    }
    let next = format!("|{}| next({})", replacing.join(", "), given_to_next.join(", "));
    with_last(&call, &next)
}

/// Returns a call with one more argument.
pub fn with_last(call: &str, argument: &str) -> String {
    let front = call.strip_suffix(')').expect("a handler is called");
    let comma = if front.ends_with('(') { "" } else { ", " };
    format!("{front}{comma}{argument})")
}

impl<'a> Calls<'a> {
    /// Returns the functions of C in the table that have a handler.
    pub fn of(table: &'a Table) -> Self {
        let is_intercepted = |row: &&Row| !row.role.starts_with("fortran") && row.handler.is_some();
        let functions =
            |row: &'a Row| row.functions().map(move |(_, name, is_large)| Function { row, name, is_large });
        Self { functions: table.rows.iter().filter(is_intercepted).flat_map(functions).collect() }
    }

    /// Returns `true` if a function is intercepted.
    pub fn has(&self, name: &str) -> bool {
        self.functions.iter().any(|function| function.name == name)
    }

    /// Returns the source text of two lists for the library: all functions, and the intercepted functions.
    pub fn functions(&self, table: &Table) -> String {
        let mut text = String::from("pub const FUNCTIONS: &[Function] = &[\n");
        for row in table.rows.iter().filter(|row| !row.role.starts_with("fortran")) {
            let (role, completed) = (camel(&row.role), completed_by(row));
            for name in &row.names {
                let is_intercepted = self.has(name);
                let entry = format!(
                    "    Function {{ name: {name:?}, role: Role::{role}, completed_by: {completed}, \
                     is_intercepted: {is_intercepted} }},\n"
                );
                text.push_str(&entry);
            }
        }
        let intercepted: Vec<_> = self.functions.iter().map(|function| &function.name).collect();
        format!("{text}];\n\npub const INTERCEPTED: &[&str] = &{intercepted:?};\n")
    }

    /// Returns the source text of the exported functions.
    pub fn text(&self) -> String {
        let newer = self.functions.iter().filter(|function| function.row.is_newer || function.is_large);
        let names: Vec<_> = newer.map(|function| format!("c{:?}", function.name)).collect();
        let mut text = format!(
            "/// The functions of MPI 4 and newer versions.\n\
             pub(crate) const NEWER: &[&std::ffi::CStr] = &[{}];\n\n",
            names.join(", ")
        );
        for Function { row, name, is_large } in &self.functions {
            let types: Vec<_> =
                row.arguments.iter().flat_map(|argument| c_types(&argument.kind)).copied().collect();
            let [count, place] = if *is_large { ["MPI_Count", "MPI_Aint"] } else { ["c_int"; 2] };
            let types: Vec<_> =
                types.iter().map(|of| of.replace("Count", count).replace("Place", place)).collect();
            let named: Vec<_> = types.iter().enumerate().map(|(i, of)| format!("a{i}: {of}")).collect();
            let (named, types) = (named.join(", "), types.join(", "));
            let (call, completed) = (call(row), completed_by(row));
            write!(
                text,
                "#[unsafe(export_name = {name:?})]
pub(crate) unsafe extern \"C\" fn {name}({named}) -> c_int {{
    type Count = {count};
    type Next = unsafe extern \"C\" fn({types}) -> c_int;
    static CALL: Call = Call::new(c{name:?}, {completed});
    unsafe {{
        let next: Next = std::mem::transmute(CALL.next());
        ended(|| {call})
    }}
}}

"
            )
            .expect("a text has room");
        }
        text
    }
}

/// Returns the roles of the functions that complete what the functions of a row begin, as an expression.
fn completed_by(row: &Row) -> &'static str {
    match (row.role == "moves", row.has("new_request")) {
        (true, true) => "&[Role::CompletesMoves, Role::CompletesRequests]",
        (true, false) => "&[Role::CompletesMoves]",
        (false, true) => "&[Role::CompletesRequests]",
        (false, false) => "&[]",
    }
}

fn camel(role: &str) -> String {
    let words = role.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
    words.collect()
}
