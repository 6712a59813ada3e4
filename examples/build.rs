//! Compiles the part of `mixed` that is written in C, with the compiler of the MPI library that rsmpi uses.

fn main() {
    println!("cargo::rerun-if-changed=mixed.c");
    println!("cargo::rerun-if-env-changed=MPICC");
    #[cfg(feature = "mpi")]
    compile();
}

#[cfg(feature = "mpi")]
fn compile() {
    let found = build_probe_mpi::probe().expect("an MPI library");
    let mut build = cc::Build::new();
    match &found.mpicc {
        Some(mpicc) => build.compiler(mpicc),
        None => build.includes(&found.include_paths),
    };
    build.file("mixed.c").compile("dtype_example_mixed");
}
