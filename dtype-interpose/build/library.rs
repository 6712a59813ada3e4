//! The MPI library that this library is built for, by its `mpi.h`.

use std::{env, fs, path::PathBuf};

use facts::{Fortran, IntelMpi, Library, Mpich, OpenMpi, StandardAbi, Version};

#[allow(dead_code, reason = "only some of the facts are read here")]
#[path = "../../dtype-mpi/src/library.rs"]
mod facts;

/// The MPI library, as far as the build must know it.
pub struct Built {
    /// Its name.
    pub name: &'static str,
    pub version: Version,
    /// The relation of its Fortran bindings to its C functions.
    pub fortran: &'static str,
    pub has_persistent_collectives: bool,
    /// `mpi.h` after the preprocessor.
    pub header: String,
}

/// Returns the library that rsmpi is built with, which is found in the same way.
pub fn found() -> Built {
    println!("cargo::rerun-if-changed=../dtype-mpi/src/library.rs");
    println!("cargo::rerun-if-env-changed=MPICC");
    let found = build_probe_mpi::probe().unwrap_or_else(|errors| {
        let reasons: Vec<_> = errors.iter().map(ToString::to_string).collect();
        panic!("no MPI library was found:\n{}", reasons.join("\n"));
    });
    let mut compiler = cc::Build::new();
    match &found.mpicc {
        Some(mpicc) => compiler.compiler(mpicc),
        None => compiler.includes(&found.include_paths),
    };
    let asked = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("asked.c");
    fs::write(&asked, questions()).expect("cargo's folder can be written to");
    let header = String::from_utf8_lossy(&compiler.file(&asked).expand()).into_owned();
    let libraries = libraries();
    let library = libraries.iter().find_map(|found| Some((found, answered(&header, found.name)?)));
    let Some((library, version)) = library else {
        let known = libraries.map(|library| library.title).join(", ");
        panic!(
            "this `mpi.h` is that of none of the libraries that are supported: {known}. Choose another one \
             by MPICC, or implement `Library` for it in dtype-mpi/src/library.rs."
        );
    };
    Built {
        name: library.name,
        version,
        fortran: library.fortran,
        has_persistent_collectives: (library.has_persistent_collectives)(version),
        header,
    }
}

/// The facts of a library.
struct Facts {
    name: &'static str,
    title: &'static str,
    /// The condition that is true for its `mpi.h`, and its version there.
    condition: &'static str,
    version: &'static str,
    fortran: &'static str,
    has_persistent_collectives: fn(Version) -> bool,
}

fn libraries() -> [Facts; 4] {
    macro_rules! facts {
        ($($library:ident)*) => { [$(Facts {
            name: $library::NAME,
            title: $library::TITLE,
            condition: $library::HEADER,
            version: $library::VERSION,
            fortran: match $library::FORTRAN {
                Fortran::Converted => "converted",
                Fortran::Shared => "shared",
                Fortran::None => "none",
            },
            has_persistent_collectives: $library::has_persistent_collectives,
        }),*] };
    }
    crate::all_libraries!(facts!)
}

/// Returns the names of all libraries.
pub fn names() -> impl Iterator<Item = &'static str> {
    libraries().into_iter().map(|library| library.name)
}

/// Returns a C file in which the preprocessor writes the name and the version of the library.
fn questions() -> String {
    let questions = libraries().map(|library| {
        let Facts { name, condition, version, .. } = library;
        format!("#if {condition}\ndtype_library {name} {version};\n#endif\n")
    });
    format!("#include <mpi.h>\n{}", questions.concat())
}

/// Returns the version of a library if the preprocessor has written its name.
fn answered(answer: &str, name: &str) -> Option<Version> {
    let front = format!("dtype_library {name} ");
    let version = answer.lines().find_map(|line| line.trim().strip_prefix(&front))?;
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok());
    Some((numbers.next()?, numbers.next().unwrap_or(0)))
}
