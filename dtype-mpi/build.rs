//! Finds the MPI library, compiles the few lines of C that know the constants of `mpi.h`, and tells the crate
//! and its dependants which library it is.

#[allow(dead_code, reason = "only the constants are read here")]
#[path = "src/library.rs"]
mod library;

use std::{env, fs, path::PathBuf};

use library::{IntelMpi, Library, Mpich, OpenMpi, StandardAbi};

fn main() {
    println!("cargo::rerun-if-changed=src/shim.c");
    println!("cargo::rerun-if-changed=src/library.rs");
    println!("cargo::rerun-if-env-changed=MPICC");
    // rsmpi finds its library in the same way, so both use the same one.
    let found = build_probe_mpi::probe().unwrap_or_else(|errors| {
        let reasons: Vec<_> = errors.iter().map(ToString::to_string).collect();
        panic!("no MPI library was found:\n{}", reasons.join("\n"));
    });
    let compiler = || {
        let mut build = cc::Build::new();
        match &found.mpicc {
            Some(mpicc) => build.compiler(mpicc),
            None => build.includes(&found.include_paths),
        };
        build
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let (asked, header) = (out.join("asked.c"), out.join("mpi.h.txt"));
    fs::write(&asked, questions()).expect("cargo's folder can be written to");
    let answer = String::from_utf8_lossy(&compiler().file(&asked).expand()).into_owned();
    fs::write(&header, &answer).expect("cargo's folder can be written to");
    // Dependants read these as DEP_DTYPE_SHIM_HEADER and so on.
    println!("cargo::metadata=header={}", header.display());
    let libraries = libraries();
    println!("cargo::rustc-check-cfg=cfg(library, values({}))", quoted(libraries.map(|(name, ..)| name)));
    let library = libraries.iter().find_map(|found| Some((*found, answered(&answer, found.0)?)));
    let Some(((name, .., fortran, persistent), version)) = library else {
        let known = libraries.map(|(_, title, ..)| title).join(", ");
        panic!(
            "this `mpi.h` is that of none of the libraries that are supported: {known}. Choose another one \
             by MPICC, or implement `Library` for it in dtype-mpi/src/library.rs."
        );
    };
    // The shim is compiled only now, because the header of an unknown library may lack constants that it
    // needs.
    compiler().file("src/shim.c").warnings(true).compile("dtype_shim");
    println!("cargo::rustc-cfg=library=\"{name}\"");
    println!("cargo::rustc-env=DTYPE_MPI_MAJOR={}", version.0);
    println!("cargo::rustc-env=DTYPE_MPI_MINOR={}", version.1);
    println!("cargo::metadata=fortran={fortran}");
    println!("cargo::metadata=persistent_collectives={}", persistent(version));
}

/// The name of a library, its title, its condition and version in `mpi.h`, its Fortran bindings, and the
/// function that answers whether persistent collective calls work.
type Facts =
    (&'static str, &'static str, &'static str, &'static str, &'static str, fn(library::Version) -> bool);

fn libraries() -> [Facts; 4] {
    macro_rules! facts {
        ($($library:ident)*) => { [$((
            $library::NAME,
            $library::TITLE,
            $library::HEADER,
            $library::VERSION,
            match $library::FORTRAN {
                library::Fortran::Converted => "converted",
                library::Fortran::Shared => "shared",
                library::Fortran::None => "none",
            },
            $library::has_persistent_collectives,
        )),*] };
    }
    all_libraries!(facts!)
}

/// Returns a C file in which the preprocessor writes the name and the version of the library.
fn questions() -> String {
    let questions = libraries().map(|(name, _, condition, version, ..)| {
        format!("#if {condition}\ndtype_library {name} {version};\n#endif\n")
    });
    format!("#include <mpi.h>\n{}", questions.concat())
}

/// Returns the version of a library if the preprocessor has written its name.
fn answered(answer: &str, name: &str) -> Option<library::Version> {
    let front = format!("dtype_library {name} ");
    let version = answer.lines().find_map(|line| line.trim().strip_prefix(&front))?;
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok());
    Some((numbers.next()?, numbers.next().unwrap_or(0)))
}

fn quoted<const N: usize>(names: [&str; N]) -> String {
    names.map(|name| format!("\"{name}\"")).join(", ")
}
