//! Compiles the few lines of C that know the constants of `mpi.h`, if the feature `mpi` is enabled.

fn main() {
    println!("cargo::rerun-if-changed=src/mpi/shim.c");
    println!("cargo::rerun-if-env-changed=MPICC");
    #[cfg(feature = "mpi")]
    compile();
}

#[cfg(feature = "mpi")]
fn compile() {
    // The library that rsmpi finds, by the same method.
    let library = build_probe_mpi::probe().unwrap_or_else(|errors| {
        let reasons: Vec<_> = errors.iter().map(ToString::to_string).collect();
        panic!("no MPI library was found:\n{}", reasons.join("\n"));
    });
    let mut build = cc::Build::new();
    match &library.mpicc {
        Some(mpicc) => build.compiler(mpicc),
        None => build.includes(&library.include_paths),
    };
    build.file("src/mpi/shim.c").warnings(true).compile("dtype_shim");
}
