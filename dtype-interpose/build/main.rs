//! Writes the exported functions from the table of calls, for the MPI library that is found.

mod arguments;
mod c;
mod fortran;
mod library;
mod table;

use std::{env, fs, path::PathBuf};

use library::Built;
use table::{Row, Table};

fn main() {
    println!("cargo::rerun-if-changed=calls.txt");
    let Built { name, version, fortran: bindings, has_persistent_collectives, header } = library::found();

    let text = fs::read_to_string("calls.txt").expect("the table is beside Cargo.toml");
    let table = Table::read(&text).unwrap_or_else(|error| panic!("calls.txt, {error}"));
    let has = |property: &str| match property {
        "persistent_collectives" => has_persistent_collectives,
        other => panic!("calls.txt: `{other}` is not a property of a library"),
    };
    let words: std::collections::HashSet<_> =
        header.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let is_intercepted = |row: &Row, name: &str| {
        row.handler.is_some() && row.condition.as_deref().is_none_or(has) && words.contains(name)
    };
    let calls = c::Calls::of(&table, is_intercepted);

    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let write = |name, text: String| fs::write(out.join(name), text).expect("cargo's folder is writable");
    write("functions.rs", calls.functions(&table));
    write("c.rs", calls.text());
    write("fortran.rs", fortran::text(&table, &calls, bindings));
    println!("cargo::rustc-check-cfg=cfg(fortran, values(\"converted\", \"shared\", \"none\"))");
    println!("cargo::rustc-cfg=fortran=\"{bindings}\"");
    let names = library::names().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    println!("cargo::rustc-check-cfg=cfg(library, values({names}))");
    println!("cargo::rustc-cfg=library=\"{name}\"");
    println!("cargo::rustc-env=DTYPE_MPI_MAJOR={}", version.0);
    println!("cargo::rustc-env=DTYPE_MPI_MINOR={}", version.1);
}
