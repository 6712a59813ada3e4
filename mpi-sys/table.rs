//! The words of the tables, for the build script and for the test that reads headers.

/// Returns the rows of a table: lines that begin with a space continue the one before.
pub fn rows(table: &str) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        match rows.last_mut() {
            Some(row) if line.starts_with(' ') => {
                row.push(' ');
                row.push_str(line.trim());
            }
            _ => rows.push(line.to_owned()),
        }
    }
    rows
}

/// Returns the type of a handle.
pub fn handle(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "comm" => "MPI_Comm",
        "type" => "MPI_Datatype",
        "group" => "MPI_Group",
        "op" => "MPI_Op",
        "request" => "MPI_Request",
        "win" => "MPI_Win",
        "file" => "MPI_File",
        "info" => "MPI_Info",
        "errhandler" => "MPI_Errhandler",
        "message" => "MPI_Message",
        "session" => "MPI_Session",
        _ => return None,
    })
}

/// Returns the type of a number.
pub fn number(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "int" => "c_int",
        "aint" => "MPI_Aint",
        "count" => "MPI_Count",
        "offset" => "MPI_Offset",
        "double" => "f64",
        _ => return None,
    })
}
