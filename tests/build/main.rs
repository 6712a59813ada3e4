//! Writes random structs of every form that the derive accepts to `structs.rs`, for the program `generated`,
//! and random layouts to `layouts.rs`, for the scenario `random-layouts`.
//!
//! `DTYPE_SEED` chooses another seed. A scenario that fails prints its seed.

use std::{env, fs, path::Path};

mod layouts;
mod random;
mod structs;

use random::Random;

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-env-changed=DTYPE_SEED");
    println!("cargo::rerun-if-env-changed=DTYPE_BRIEF");
    #[cfg(feature = "mpi")]
    compile_c();
    let seed = env::var("DTYPE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(2026);
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    let write = |name: &str, text: String| {
        fs::write(Path::new(&out).join(name), text).expect("OUT_DIR can be written");
    };
    // A brief run of `cargo xtask test` compiles a quarter of the structs and layouts.
    let share = if env::var("DTYPE_BRIEF").is_ok_and(|value| value == "1") { 4 } else { 1 };
    write("structs.rs", Random(seed).structs(seed, 400 / share));
    write("layouts.rs", Random(seed).layouts(seed, 90 / share));
}

/// Compiles the functions in C: datatypes that only C has names for, and wrappers in the profiling interface.
#[cfg(feature = "mpi")]
fn compile_c() {
    println!("cargo::rerun-if-changed=c");
    println!("cargo::rerun-if-env-changed=MPICC");
    let library = build_probe_mpi::probe().expect("an MPI library, as rsmpi finds it");
    let mut build = cc::Build::new();
    match &library.mpicc {
        Some(mpicc) => build.compiler(mpicc),
        None => build.includes(&library.include_paths),
    };
    build.files(["c/count.c", "c/spy.c", "c/types.c"]).warnings(true).compile("types");
}
