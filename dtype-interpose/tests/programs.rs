//! Programs as they are, with the preloaded library and without it: what they receive, pack and are told must
//! be the same, whether it is preloaded on all ranks or on some.
//!
//! `cargo xtask test` runs this on every library.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};

use xtask::launch;

/// The preloaded library. A test has cargo build it, since what is not linked to a test it does not.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "dtype-interpose"]);
        let output = build.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // Beside the folder of the tests.
        env::current_exe().unwrap().parent().unwrap().with_file_name("libdtype_mpi.so")
    })
}

/// Where programs go.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// Compiles a program with a compiler of the MPI library.
fn compiled(compiler: &str, options: &[&str], source: &str, name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
    let program = folder().join(name);
    let mut command = Command::new(compiler);
    command.args(["-O1", "-w"]).args(options).arg("-o").arg(&program).arg(source).current_dir(folder());
    let output = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

fn mpicc() -> String {
    env::var("MPICC").unwrap_or_else(|_| "mpicc".into())
}

/// Runs a program on ranks of which these preload the library, and gives its lines: what they begin with, and
/// the rest.
fn lines(program: &Path, preloaded: &[bool], arguments: &[&str]) -> BTreeMap<String, String> {
    let preload = format!("LD_PRELOAD={}", library().display());
    let mut command = launch::on_ranks(launch::mpiexec(), 1, "env");
    for (i, is_preloaded) in preloaded.iter().enumerate() {
        if i > 0 {
            command.args([":", "-n", "1", "env"]);
        }
        if *is_preloaded {
            command.arg(&preload);
        }
        command.arg(program).args(arguments);
    }
    // What a test says about modes is said by itself.
    for name in ["DTYPE_INTERPOSE", "DTYPE_ALLOW", "DTYPE_DENY", "DTYPE_PEERS"] {
        command.env_remove(name);
    }
    // Ranks that wait keep a core busy.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let finished = launch::run(&mut command, Duration::from_secs(180)).unwrap();
    let is_over = finished.status.is_some_and(|status| status.success());
    let last: Vec<_> = finished.output.lines().rev().take(9).collect();
    assert!(is_over, "{} {preloaded:?}: {:?}, last {last:#?}", program.display(), finished.status);
    let line = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        Some((name.to_owned(), rest.to_owned()))
    };
    finished.output.lines().filter(|line| !line.contains("[WARNING]")).filter_map(line).collect()
}

/// What must be the same, with all ways of preloading on two ranks.
fn is_the_same_with_it(program: &Path, least: usize, arguments: &[&str]) {
    let plain = lines(program, &[false, false], arguments);
    assert!(plain.len() >= least, "{} programs", plain.len());
    for preloaded in [[true, true], [true, false], [false, true]] {
        let found = lines(program, &preloaded, arguments);
        for (name, expected) in &plain {
            assert_eq!(found.get(name), Some(expected), "{name}, preloaded on {preloaded:?}");
        }
    }
}

#[test]
fn programs_in_c_receive_the_same() {
    is_the_same_with_it(&compiled(&mpicc(), &[], "c/suite.c", "suite"), 700, &[]);
}

#[test]
fn programs_in_fortran_receive_the_same() {
    let compiler = mpicc().replace("mpicc", "mpif90");
    for (binding, name) in [("1", "mpif.h"), ("2", "mpi"), ("3", "mpi_f08")] {
        let options = ["-fallow-argument-mismatch", &format!("-DBINDING={binding}")];
        let suite = compiled(&compiler, &options, "fortran/suite.F90", &format!("suite-{name}"));
        is_the_same_with_it(&suite, 16, &[]);
    }
}

#[test]
fn collective_calls_of_three_ranks_are_the_same() {
    let suite = compiled(&mpicc(), &[], "c/suite.c", "suite-of-three");
    let calls = ["bcast", "gather", "scatter", "allgather", "alltoall", "neighbours"];
    let plain = lines(&suite, &[false; 3], &calls);
    assert!(plain.len() > 150, "{} programs", plain.len());
    for preloaded in [[true; 3], [false, true, true]] {
        let found = lines(&suite, &preloaded, &calls);
        for (name, expected) in &plain {
            assert_eq!(found.get(name), Some(expected), "{name}, preloaded on {preloaded:?}");
        }
    }
}
