//! Writes the exported functions from the table of calls, for the MPI library that `dtype-mpi` has found.

mod arguments;
mod c;
mod fortran;
mod table;

use std::{env, fs, path::PathBuf};

use table::{Row, Table};

fn main() {
    println!("cargo::rerun-if-changed=calls.txt");
    // The build script of `dtype-mpi` sets these variables.
    let of_library = |name| env::var(name).unwrap_or_else(|_| panic!("dtype-mpi sets {name}"));
    let header = fs::read_to_string(of_library("DEP_DTYPE_SHIM_HEADER")).expect("dtype-mpi writes it");
    let bindings = of_library("DEP_DTYPE_SHIM_FORTRAN");
    let has_persistent_collectives = of_library("DEP_DTYPE_SHIM_PERSISTENT_COLLECTIVES") == "true";

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
    write("fortran.rs", fortran::text(&table, &calls, &bindings));
    println!("cargo::rustc-check-cfg=cfg(fortran, values(\"converted\", \"shared\", \"none\"))");
    println!("cargo::rustc-cfg=fortran=\"{bindings}\"");
}
