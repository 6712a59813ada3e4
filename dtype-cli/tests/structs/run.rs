//! The library that `dtype run` preloads, for MPI libraries that consist of names alone.

use std::{fs, path::Path, process::Command};

use super::{folder, run};

/// Makes a library that defines functions without a body.
fn library(file: &Path, soname: &str, functions: &[&str]) {
    let source = file.with_extension("c");
    let text: String = functions.iter().map(|name| format!("int {name}(void) {{ return 0; }}\n")).collect();
    fs::write(&source, text).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-w", &format!("-Wl,-soname,{soname}"), "-o"]).arg(file).arg(&source);
    run(&mut cc);
}

/// Returns the exit code, the answer and the messages of `dtype run --print` for a program that is linked
/// with a library `libmpi.so`.
fn printed(soname: &str, functions: &[&str], preloaded: &[&str]) -> (i32, String, String) {
    let folder = folder(&format!("run-{soname}-{}-{}", functions.len(), preloaded.len()));
    let main = folder.join("main.c");
    fs::write(&main, "int MPI_Init(void); int main(void) { return MPI_Init(); }\n").unwrap();
    library(&folder.join("libmpi.so"), "libmpi.so", functions);
    let program = folder.join("program");
    run(Command::new("cc").arg("-o").arg(&program).arg(&main).arg(folder.join("libmpi.so")));
    // A copy whose own name is another one, as in Intel MPI.
    library(&folder.join("libmpi.so"), soname, functions);
    let libraries = folder.join("libraries");
    fs::create_dir_all(&libraries).unwrap();
    for name in preloaded {
        library(&libraries.join(format!("libdtype_mpi-{name}.so")), "dtype", &["dtype"]);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_dtype"));
    command.args(["run", "--print", "--libraries"]).arg(&libraries).arg(&program);
    command.env("LD_LIBRARY_PATH", &folder).env_remove("LD_PRELOAD").env_remove("DTYPE_INTERPOSE");
    let output = command.output().unwrap();
    let [answer, message] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code().unwrap(), answer, message)
}

const FUNCTIONS: [&str; 1] = ["MPI_Init"];

#[test]
fn the_library_is_chosen_by_the_own_name_of_the_mpi_library() {
    let all = ["openmpi", "mpich", "abi"];
    let of_open_mpi = ["MPI_Init", "ompi_mpi_comm_world"];
    for (soname, functions, expected) in [
        ("libmpi.so.12", &FUNCTIONS[..], "mpich"),
        ("libmpi.so.40", &of_open_mpi, "openmpi"),
        ("libmpi_abi.so.1", &FUNCTIONS, "abi"),
    ] {
        let (code, answer, message) = printed(soname, functions, &all);
        assert_eq!((code, message.as_str()), (0, ""), "{soname}");
        assert!(answer.contains(&format!("libdtype_mpi-{expected}.so:")), "{answer}");
    }
    let (code, _, message) = printed("libmpi.so.40", &FUNCTIONS, &all);
    assert!(code == 2 && message.contains("(`libmpi.so.40`) is neither Open MPI"), "{message}");
}

#[test]
fn no_library_stands_in_for_that_of_another_interface() {
    let (code, _, message) = printed("libmpi_abi.so.1", &FUNCTIONS, &["openmpi", "mpich"]);
    assert!(code == 2 && message.contains("libdtype_mpi-abi.so is not there"), "{message}");
}
