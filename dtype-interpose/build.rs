//! Compiles the C code that has the constants of `mpi.h`, and sets a `cfg` for each feature of the MPI
//! library.

use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=src/constants.c");
    println!("cargo::rerun-if-env-changed=MPICC");
    // rsmpi finds its library in the same way, so both use the same one.
    let library = build_probe_mpi::probe().unwrap_or_else(|errors| {
        let reasons: Vec<_> = errors.iter().map(ToString::to_string).collect();
        panic!("no MPI library was found:\n{}", reasons.join("\n"));
    });
    let build = || {
        let mut build = cc::Build::new();
        match &library.mpicc {
            Some(mpicc) => build.compiler(mpicc),
            None => build.includes(&library.include_paths),
        };
        build
    };
    build().file("src/constants.c").warnings(true).compile("dtype_interpose_constants");
    // Conditions that the preprocessor evaluates, each with the name of its `cfg`.
    let asked = Path::new(&env::var_os("OUT_DIR").expect("cargo sets it")).join("asked.c");
    let questions = [
        ("open_mpi", "defined OPEN_MPI"),
        ("open_mpi_5", "defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5"),
        // The header in `abi` defines this, for every library that has the standard's ABI.
        ("standard_abi", "defined DTYPE_INTERPOSE_ABI"),
        ("mpich_4_1", "defined MPICH_NUMVERSION && MPICH_NUMVERSION >= 40100000"),
        ("large_counts", "MPI_VERSION >= 4"),
        // Open MPI 5 has these calls, but reports an older version of the standard.
        ("exchanges_later", "MPI_VERSION >= 4 || defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5"),
        ("statuses_of_many", "MPI_VERSION > 4 || MPI_VERSION == 4 && MPI_SUBVERSION >= 1"),
        // Persistent collective calls of MPICH 4.0 work once, if at all.
        (
            "persistent_collectives",
            "defined OPEN_MPI ? OMPI_MAJOR_VERSION >= 5 : MPICH_NUMVERSION >= 40100000 || MPI_VERSION >= 5",
        ),
    ];
    let mut question = String::from("#include <mpi.h>\n");
    for (name, condition) in questions {
        question.push_str(&["#if ", condition, "\nyes_", name, ";\n#endif\n"].concat());
    }
    fs::write(&asked, question).expect("cargo's folder can be written to");
    let answer = String::from_utf8_lossy(&build().file(&asked).expand()).into_owned();
    for (name, _) in questions {
        println!("cargo::rustc-check-cfg=cfg({name})");
        if answer.lines().any(|line| line.trim() == format!("yes_{name};")) {
            println!("cargo::rustc-cfg={name}");
        }
    }
}
