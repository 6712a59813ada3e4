//! The exported Fortran functions, for calls that do not pass through the C functions. A function passes a
//! call to C if a datatype of the call may be packed, or if requests or windows are registered. Otherwise it
//! forwards the call unchanged.

use std::{fmt::Write, ops::Range};

use crate::{
    arguments::replaced,
    c::{Calls, with_last},
    table::{Row, Table},
};

/// Returns the source text of the functions for bindings of this kind: `converted`, `shared` or `none`.
pub fn text(table: &Table, calls: &Calls<'_>, bindings: &str) -> String {
    let mut text = String::new();
    let (section, is_shared) = (format!("fortran {bindings}"), bindings == "shared");
    for row in table.rows.iter().filter(|row| row.role == section) {
        let body = format!("Some({})", direct(row));
        write_functions(&mut text, &row.names[0], &row.names, (row, is_shared), &body);
    }
    for row in table.rows.iter().filter(|row| !row.role.starts_with("fortran")) {
        for name in row.names.iter().filter(|name| calls.has(name)) {
            let lower = name.to_lowercase();
            let short = lower.trim_start_matches("mpi_");
            let (names, body) = match bindings {
                "converted" => {
                    let mut names = vec![format!("{lower}_"), format!("ompi_{short}_f")];
                    // If an argument is a logical, `mpi_f08` converts it and then calls the function of this
                    // name.
                    names.extend(lower.contains("test").then(|| format!("p{lower}_")));
                    names.extend(row.has("flag*").then(|| format!("p{lower}_")));
                    names.dedup();
                    (names, converted(row, name))
                }
                "shared" => (vec![format!("{lower}_f08_")], shared(row, name)),
                _ => continue,
            };
            if let Some(body) = body {
                write_functions(&mut text, &lower, &names, (row, is_shared), &body);
            }
        }
    }
    text
}

/// Returns the Fortran types of an argument's parameters, which are all passed by reference.
fn types(kind: &str, is_shared: bool) -> Vec<String> {
    let c = crate::arguments::c_types(kind);
    let of = |c: &&str| match *c {
        "*const c_void" | "*mut c_void" => "*mut c_void".to_owned(),
        "Count" | "c_int" => "*const Integer".to_owned(),
        "*const Count" | "*const Place" | "*mut Count" | "*mut c_int" => "*mut Integer".to_owned(),
        "MPI_Aint" | "*const MPI_Aint" => "*const MPI_Aint".to_owned(),
        "*mut MPI_Aint" => "*mut MPI_Aint".to_owned(),
        handle => {
            let change = if handle.starts_with("*mut") { "*mut" } else { "*const" };
            let handle = if is_shared { handle.rsplit(' ').next().unwrap_or(handle) } else { "Integer" };
            format!("{change} {handle}")
        }
    };
    c.iter().map(of).collect()
}

/// Writes a function under all of its names. `body` is an expression for its code, which is `None` if the
/// call is forwarded. If `is_shared`, handles and statuses are those of C.
fn write_functions(
    text: &mut String,
    module: &str,
    names: &[String],
    (row, is_shared): (&Row, bool),
    body: &str,
) {
    let types: Vec<_> = row.arguments.iter().flat_map(|argument| types(&argument.kind, is_shared)).collect();
    let listed: Vec<_> = types.iter().map(|of| of.clone() + ", ").collect();
    let named: Vec<_> = types.iter().enumerate().map(|(i, of)| format!("a{i}: {of}, ")).collect();
    let (listed, named, variables) = (listed.concat(), named.concat(), variables(types.len()));
    write!(
        text,
        "mod {module} {{
use super::*;
type Function = unsafe extern \"C\" fn({listed}*mut Integer);
unsafe fn run(next: Function, {named}error: *mut Integer) {{ unsafe {{
    let code: Option<c_int> = {body};
    finish(code, error, || next({variables}error));
}} }}
"
    )
    .expect("a text has room");
    for name in names {
        write!(
            text,
            "#[unsafe(export_name = {name:?})]
unsafe extern \"C\" fn {name}({named}error: *mut Integer) {{ unsafe {{
    static CALL: Call = Call::new(c{name:?}, &[]);
    run(std::mem::transmute::<*mut c_void, Function>(CALL.next()), {variables}error);
}} }}
"
        )
        .expect("a text has room");
    }
    text.push_str("}\n\n");
}

/// Returns the names of the first `count` parameters, with a comma after each.
fn variables(count: usize) -> String {
    (0..count).map(|i| format!("a{i}, ")).collect::<Vec<_>>().concat()
}

/// Returns the call of the row's own handler, around the next function of Fortran.
fn direct(row: &Row) -> String {
    let variables = variables(row.placed().last().map_or(0, |(parameters, _)| parameters.end));
    let next = format!("|| {{ let mut code = SUCCESS; next({variables}&raw mut code); code }}");
    let value = |name: &str| {
        let (Range { start: first, .. }, argument) = row.placed().find(|(_, of)| of.name == name)?;
        Some(match argument.kind.as_str() {
            "int" | "type" => format!("*a{first}"),
            "win" => format!("window_of(*a{first})"),
            "win*" => format!("&window_of(*a{first})"),
            _ => format!("a{first}"),
        })
    };
    let handler = row.handler.as_deref().expect("a row of Fortran has a handler");
    with_last(&replaced(handler, value), &next)
}

/// Returns the body of a function whose arguments are converted: of messages, requests or windows. Returns
/// `None` if no Fortran function is exported for it.
fn converted(row: &Row, name: &str) -> Option<String> {
    let has_lists = row.arguments.iter().any(|of| of.kind.ends_with("_w") || of.kind.ends_with("_a"));
    let text = match row.role.as_str() {
        "completes_moves" => format!("windows::any().then(|| {})", direct(row)),
        "completes_requests" => of_requests(row, name),
        "sends" | "receives" | "collective" | "moves" | "packs" => {
            // There is no conversion of `MPI_Info`. Converted lists would have to live until completion.
            if row.has("info") || has_lists && row.has("new_request") {
                return None;
            }
            if has_lists { with_lists(row, name) } else { with_datatypes(row, name) }
        }
        _ => return None,
    };
    Some(text)
}

/// Returns the body of a function whose handles are those of C: of requests or windows. Returns `None` if no
/// Fortran function is exported for it.
fn shared(row: &Row, name: &str) -> Option<String> {
    match row.role.as_str() {
        "completes_moves" => Some(format!("windows::any().then(|| {})", direct(row))),
        "completes_requests" => Some(of_requests(row, name)),
        _ => None,
    }
}

/// Returns the call of a C function that completes requests, with converted requests and statuses.
fn of_requests(row: &Row, name: &str) -> String {
    let find =
        |kind: &str| row.placed().find(|(_, of)| of.kind == kind).map(|(parameters, _)| parameters.start);
    let count = find("int").map_or("1".to_owned(), |i| format!("*a{i}"));
    let (list, status) = (find("requests*").or(find("requests")).or(find("request*")), find("status"));
    let requests = match (list, find("request")) {
        (Some(i), _) if find("requests") == Some(i) => format!("a{i}.cast_mut()"),
        (Some(i), _) => format!("a{i}"),
        (None, Some(i)) => format!("ptr::from_mut(&mut {{ *a{i} }})"),
        (None, None) => unreachable!("the call completes requests"),
    };
    let statuses = status.or(find("statuses"));
    let mut set = match (status, statuses, find("done*")) {
        (_, None, _) => "0".to_owned(),
        (Some(_), ..) => "1".to_owned(),
        (None, _, Some(i)) => format!("*a{i}"),
        (None, Some(_), None) => count.clone(),
    };
    if let Some(i) = find("flag*") {
        set = format!("if *a{i} != 0 {{ {set} }} else {{ 0 }}");
    }
    let arguments: Vec<_> = row
        .placed()
        .map(|(Range { start: first, .. }, argument)| match argument.kind.as_str() {
            "int" => format!("*a{first}"),
            "requests*" | "request*" | "requests" => "requests".to_owned(),
            "request" => "*requests".to_owned(),
            "status" | "statuses" => "statuses".to_owned(),
            _ => format!("a{first}"),
        })
        .collect();
    let indices = match (find("index*"), find("indices*"), find("done*")) {
        (Some(i), ..) => format!("index_in_fortran(a{i});"),
        (_, Some(i), Some(done)) => {
            format!(
                "(0..usize::try_from(*a{done}).unwrap_or(0)).for_each(|i| index_in_fortran(a{i}.add(i)));"
            )
        }
        _ => String::new(),
    };
    let statuses = statuses.map_or("ptr::null_mut()".to_owned(), |i| format!("a{i}"));
    format!(
        "asked(({requests}, {count}), {statuses}, |requests, statuses| {{
        let code = c::{name}({});
        {indices}
        (code, {set})
    }})",
        arguments.join(", ")
    )
}

/// Returns the types that convert the parameters of an argument from Fortran, in the order of the parameters.
fn conversions(kind: &str) -> &'static [&'static str] {
    match kind {
        "read" | "written" | "sent" | "received" => &["Buffer", "Number", "Type"],
        "sent_v" | "received_v" => &["Buffer", "Numbers", "Numbers", "Type"],
        "int" | "count" => &["Number"],
        "count*" => &["Numbers"],
        "void" | "void*" => &["Buffer"],
        "aint" => &["Place"],
        "comm" => &["Communicator"],
        "type" => &["Type"],
        "win" => &["Window"],
        "message*" => &["Message"],
        "status" => &["Status"],
        "new_request" => &["NewRequest"],
        kind => panic!("calls.txt: `{kind}` has no conversion from Fortran"),
    }
}

/// Returns the call of a C function with converted arguments, if messages of one of the datatypes may be
/// packed.
fn with_datatypes(row: &Row, name: &str) -> String {
    let conversions: Vec<_> = row.arguments.iter().flat_map(|argument| conversions(&argument.kind)).collect();
    let mut text = String::from("{\n");
    for (i, conversion) in conversions.iter().enumerate() {
        writeln!(text, "    let mut a{i} = {conversion}::of(a{i});").expect("a text has room");
    }
    let each = |form: fn(usize) -> String| (0..conversions.len()).map(form).collect::<Vec<_>>();
    write!(
        text,
        "    if {} {{
        let code = c::{name}({});
        if code == SUCCESS {{ {} }}
        Some(code)
    }} else {{
        None
    }}
    }}",
        each(|i| format!("a{i}.is_ours()")).join(" || "),
        each(|i| format!("a{i}.give()")).join(", "),
        each(|i| format!("a{i}.finish();")).concat()
    )
    .expect("a text has room");
    text
}

/// Returns the call of a C function with a datatype for each rank.
fn with_lists(row: &Row, name: &str) -> String {
    let blocks = row.handler.as_deref().and_then(|handler| handler.split("Asked::").nth(1));
    let blocks = blocks.and_then(|rest| rest.split(',').next()).expect("the handler asks for the blocks");
    format!(
        "with_lists(Asked::{blocks}, (a0, a3), (a4, a7), a8, |from, sent, to, received, communicator| {{
        c::{name}(from, a1, a2, sent, to, a5, a6, received, communicator)
    }})"
    )
}
