//! The kinds of arguments in `calls.txt`: their types in C, and how handlers take them.

/// Returns the types of the parameters in C that an argument stands for. `Count` and `Place` are the integer
/// types of counts and displacements.
///
/// # Panics
/// If there is no such kind.
pub fn c_types(kind: &str) -> &'static [&'static str] {
    match kind {
        // A buffer, its count and its datatype: of a message that is sent, and of one that is received.
        "read" | "sent" => &["*const c_void", "Count", "MPI_Datatype"],
        "written" | "received" => &["*mut c_void", "Count", "MPI_Datatype"],
        // A buffer with a list of counts and one of displacements.
        "sent_v" => &["*const c_void", "*const Count", "*const Place", "MPI_Datatype"],
        "received_v" => &["*mut c_void", "*const Count", "*const Place", "MPI_Datatype"],
        // A buffer with lists of counts, of displacements in bytes, and of datatypes.
        "sent_w" => &["*const c_void", "*const Count", "*const Place", "*const MPI_Datatype"],
        "received_w" => &["*mut c_void", "*const Count", "*const Place", "*const MPI_Datatype"],
        "sent_a" => &["*const c_void", "*const Count", "*const MPI_Aint", "*const MPI_Datatype"],
        "received_a" => &["*mut c_void", "*const Count", "*const MPI_Aint", "*const MPI_Datatype"],
        "int" => &["c_int"],
        "int*" | "flag*" | "index*" | "done*" | "indices*" => &["*mut c_int"],
        "count" => &["Count"],
        "count*" => &["*mut Count"],
        "aint" => &["MPI_Aint"],
        "aint*" => &["*mut MPI_Aint"],
        "void" => &["*const c_void"],
        "void*" => &["*mut c_void"],
        "argv*" => &["*mut *mut *mut c_char"],
        "comm" => &["MPI_Comm"],
        "comm*" => &["*mut MPI_Comm"],
        "info" => &["MPI_Info"],
        "message*" => &["*mut MPI_Message"],
        "request" => &["MPI_Request"],
        "requests" => &["*const MPI_Request"],
        "request*" | "requests*" | "new_request" => &["*mut MPI_Request"],
        "status" | "statuses" => &["*mut MPI_Status"],
        "type" => &["MPI_Datatype"],
        "type*" => &["*mut MPI_Datatype"],
        "win" => &["MPI_Win"],
        "win*" => &["*mut MPI_Win"],
        kind => panic!("calls.txt: `{kind}` is not a kind of arguments"),
    }
}

/// Returns `true` if the argument contains a count, which may be a large one.
pub fn has_count(kind: &str) -> bool {
    c_types(kind).iter().any(|of| of.contains("Count"))
}

/// Returns the argument as the handler takes it. `parts` are the expressions of its parameters.
pub fn taken(kind: &str, parts: &[String]) -> String {
    match kind {
        "read" | "written" => format!("Argument::{kind}({})", parts.join(", ")),
        "sent" | "sent_v" | "sent_w" | "sent_a" | "received" | "received_v" | "received_w" | "received_a" => {
            format!("({}, ({}))", parts[0], parts[1..].join(", "))
        }
        _ => parts[0].clone(),
    }
}

/// Returns the parameters that the next function gets for an argument, if the handler has put the variable
/// `name` in its place. Returns `None` for kinds that handlers do not replace.
pub fn given(kind: &str, name: &str) -> Option<Vec<String>> {
    let parts = |count: usize| {
        let rest = (0..count).map(|i| format!("{name}.1.{i}"));
        Some(std::iter::once(format!("{name}.0")).chain(rest).collect())
    };
    match kind {
        "read" | "written" => {
            Some(vec![format!("{name}.buffer"), format!("{name}.count as Count"), format!("{name}.datatype")])
        }
        "sent" | "received" => parts(2),
        "sent_v" | "received_v" | "sent_w" | "received_w" | "sent_a" | "received_a" => parts(3),
        "status" | "statuses" => Some(vec![name.to_owned()]),
        _ => None,
    }
}

/// Returns `text` with each name of an argument replaced by the value that `value_of` returns for it, if any.
/// A name may end in a star.
pub fn replaced(text: &str, value_of: impl Fn(&str) -> Option<String>) -> String {
    let (mut result, mut rest) = (String::new(), text);
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
        if end == 0 {
            result.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let starred = if rest[end..].starts_with('*') { end + 1 } else { end };
        let is_path = result.ends_with(':') || result.ends_with('.') || rest[end..].starts_with("::");
        match value_of(&rest[..starred]).filter(|_| !is_path) {
            Some(value) => result.push_str(&value),
            None => result.push_str(&rest[..starred]),
        }
        rest = &rest[starred..];
    }
    result
}
