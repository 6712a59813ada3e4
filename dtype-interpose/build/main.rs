//! Writes the exported functions from the table of calls, for one binary interface of MPI: that of Open MPI,
//! or by the features of this crate that of MPICH (`mpich`) or of MPI 5 (`abi`).

mod arguments;
mod c;
mod fortran;
mod table;

use std::{env, fs, path::PathBuf};

use table::Table;

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=calls.txt");
    // Open MPI's bindings of Fortran do not call the functions of C; those of MPICH do so for messages.
    let is_for = |feature: &str| env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    let (abi, bindings) = match (is_for("MPICH"), is_for("ABI")) {
        (false, false) => ("openmpi", "converted"),
        (true, false) => ("mpich", "shared"),
        (false, true) => ("abi", "none"),
        (true, true) => panic!("the library is built for one binary interface: `mpich` or `abi`"),
    };

    let text = fs::read_to_string("calls.txt").expect("the table is beside Cargo.toml");
    let table = Table::read(&text).unwrap_or_else(|error| panic!("calls.txt, {error}"));
    let calls = c::Calls::of(&table);

    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let write = |name, text: String| fs::write(out.join(name), text).expect("cargo's folder is writable");
    write("functions.rs", calls.functions(&table));
    write("c.rs", calls.text());
    write("fortran.rs", fortran::text(&table, &calls, bindings));
    println!("cargo::rustc-check-cfg=cfg(fortran, values(\"converted\", \"shared\", \"none\"))");
    println!("cargo::rustc-cfg=fortran=\"{bindings}\"");
    println!("cargo::rustc-check-cfg=cfg(abi, values(\"openmpi\", \"mpich\", \"abi\"))");
    println!("cargo::rustc-cfg=abi=\"{abi}\"");
}
