//! Runs programs with the preloaded library and without it. The data and statuses that they receive must be
//! the same, whether the library is preloaded on all ranks or on some.
//!
//! `cargo xtask test` runs these tests with every MPI library.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use dtype_report::{FirstUse, Report, Usage};
use object::{Object, ObjectSymbol};
use xtask::launch::{self, mpicc};

#[path = "../build/arguments.rs"]
#[allow(dead_code, reason = "the types are compared, not the rest")]
mod arguments;
#[path = "../build/table.rs"]
#[allow(dead_code, reason = "the arguments are compared, not the rest")]
mod calls;
#[path = "../src/table.rs"]
#[allow(dead_code, reason = "the roles are asked for, not the rest")]
mod table;

use table::Role;

/// Returns the preloaded library for the MPI library of the test; the archive lies beside it. Cargo does not
/// build a library to which no test is linked, so this function builds it.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| built_for(launch::abi()))
}

/// Builds the preloaded library for a binary interface, and returns its path for `LD_PRELOAD`.
fn built_for(abi: &str) -> PathBuf {
    /// A lock, since a build for another interface replaces the file.
    static BUILDS: Mutex<()> = Mutex::new(());
    let _one = BUILDS.lock().unwrap_or_else(PoisonError::into_inner);
    let options = [vec!["--lib".to_owned()], launch::for_abi(abi)].concat();
    launch::build("dtype-interpose", &options.iter().map(|option| &**option).collect::<Vec<_>>()).unwrap();
    // The library lies one folder above the tests.
    let built = env::current_exe().unwrap().parent().unwrap().with_file_name("libdtype_mpi.so");
    let own = folder().join(format!("libdtype_mpi-{abi}.so"));
    for ending in ["so", "a"] {
        fs::copy(built.with_extension(ending), own.with_extension(ending)).unwrap();
    }
    launch::without_spaces(&own).unwrap()
}

/// Returns the folder for programs that are compiled for the MPI library of the test.
fn folder() -> PathBuf {
    launch::folder(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Compiles a program with a compiler of the MPI library.
fn compiled(compiler: &str, options: &[&str], source: &str, name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let program = folder().join(name);
    let mut command = Command::new(compiler);
    command.args(["-O2", "-w"]).args(options).arg("-o").arg(&program).arg(source).current_dir(folder());
    let output = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Returns `mpi.h` after the preprocessor.
fn header() -> &'static str {
    static HEADER: OnceLock<String> = OnceLock::new();
    let read = || {
        let file = folder().join("header.c");
        fs::write(&file, "#include <mpi.h>\n").unwrap();
        let output = Command::new(mpicc()).arg("-E").arg(&file).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    HEADER.get_or_init(read)
}

/// A lock that is held while a program runs, since ranks that wait keep a core busy.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The environment variables that the library reads.
const SETTINGS: [&str; 7] = [
    "DTYPE_INTERPOSE",
    "DTYPE_ALLOW",
    "DTYPE_DENY",
    "DTYPE_PEERS",
    "DTYPE_PLAN",
    "DTYPE_REPORT",
    "DTYPE_VERIFY",
];

/// Runs a program with a rank for each item of `preloaded`, and returns its output. The item is `true` if the
/// rank preloads the library.
fn run(program: &[&OsStr], preloaded: &[bool], environment: &[(&str, OsString)]) -> String {
    run_with(&library().display().to_string(), program, preloaded, environment)
}

/// Like [`run`], with these libraries preloaded.
fn run_with(
    libraries: &str,
    program: &[&OsStr],
    preloaded: &[bool],
    environment: &[(&str, OsString)],
) -> String {
    let preload = format!("LD_PRELOAD={libraries}");
    let mut command = launch::on_ranks(launch::mpiexec(), 1, "env");
    for (i, is_preloaded) in preloaded.iter().enumerate() {
        if i > 0 {
            command.args([":", "-n", "1", "env"]);
        }
        if *is_preloaded {
            command.arg(&preload);
        }
        for (name, value) in environment {
            let mut assignment = OsString::from(format!("{name}="));
            assignment.push(value);
            command.arg(assignment);
        }
        command.args(program);
    }
    // Only the settings that a test passes count, not those of the user.
    for name in SETTINGS {
        command.env_remove(name);
    }
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let finished = launch::run(&mut command, Duration::from_mins(3)).unwrap();
    let is_over = finished.status.is_some_and(|status| status.success());
    let last: Vec<_> = finished.output.lines().rev().take(9).collect();
    assert!(is_over, "{program:?} {preloaded:?}: {:?}, last {last:#?}", finished.status);
    finished.output
}

/// Returns the lines of a program's output by their first words.
fn lines(program: &Path, preloaded: &[bool], arguments: &[&str]) -> BTreeMap<String, String> {
    lines_with(&library().display().to_string(), program, preloaded, arguments, &AT_ONCE)
}

/// The setting by which datatypes are planned at their first message.
const AT_ONCE: [(&str, &str); 1] = [("DTYPE_PLAN", "first")];

/// Like [`lines`], with these libraries preloaded and these settings.
fn lines_with(
    libraries: &str,
    program: &Path,
    preloaded: &[bool],
    arguments: &[&str],
    settings: &[(&str, &str)],
) -> BTreeMap<String, String> {
    let mut command = vec![program.as_os_str()];
    command.extend(arguments.iter().map(OsStr::new));
    let line = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        Some((name.to_owned(), rest.to_owned()))
    };
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.into())).collect();
    let output = run_with(libraries, &command, preloaded, &settings);
    // Lines that begin with a bracket are the MPI library's.
    output.lines().filter(|line| !line.starts_with('[')).filter_map(line).collect()
}

/// Returns the sum of the reports of two ranks that run a program.
fn reported(program: &[&OsStr], environment: &[(&str, OsString)]) -> Option<Report> {
    reported_with(&library().display().to_string(), program, environment)
}

/// Like [`reported`], with these libraries preloaded, or with none if `libraries` is empty.
fn reported_with(libraries: &str, program: &[&OsStr], environment: &[(&str, OsString)]) -> Option<Report> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let file = folder().join(format!("report-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
    let of_rank = |rank| format!("{}.{rank}.json", file.display());
    for rank in 0..2 {
        let _ = fs::remove_file(of_rank(rank));
    }
    let environment = [environment, &[("DTYPE_REPORT", file.clone().into_os_string())]].concat();
    run_with(libraries, program, &[!libraries.is_empty(); 2], &environment);
    let read = |rank| -> Option<Report> {
        let text = fs::read_to_string(of_rank(rank)).ok()?;
        Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}")))
    };
    let mut sum = read(0)?;
    sum.add(&read(1).expect("both ranks write one"));
    Some(sum)
}

/// Returns the numbers of messages and of packed messages in a program's reports.
fn counted(program: &[&OsStr], environment: &[(&str, OsString)]) -> [u64; 2] {
    counts(reported(program, environment))
}

fn counts(report: Option<Report>) -> [u64; 2] {
    let datatypes = report.map_or(Vec::new(), |report| report.datatypes);
    let counts = datatypes.iter().map(|usage| [usage.messages, usage.packed]);
    counts.fold([0, 0], |sum, counts| [sum[0] + counts[0], sum[1] + counts[1]])
}

/// Checks that a program receives the same data, whichever of its two ranks preload the library. Datatypes
/// are planned at their first message. If both ranks preload the library, they also write a report, and a
/// second run plans datatypes only when a plan pays. If one rank does, its messages are also verified.
fn is_the_same_with_it(program: &Path, least: usize, arguments: &[&str]) {
    let plain = lines(program, &[false, false], arguments);
    assert!(plain.len() >= least, "{} programs", plain.len());
    let own = library().display().to_string();
    let verified = [AT_ONCE[0], ("DTYPE_VERIFY", "1")];
    let mixed = [(&verified[..], [true, false]), (&verified, [false, true])];
    let report = program.with_extension("report").display().to_string();
    let reported = [AT_ONCE[0], ("DTYPE_REPORT", &*report)];
    let all = [(&reported[..], [true, true]), (&[], [true, true])];
    // In a brief run, `sample` selects one case of each list, another one on MPICH than on Open MPI.
    for &(settings, preloaded) in launch::sample(&mixed).iter().chain(launch::sample(&all)) {
        let found = lines_with(&own, program, &preloaded, arguments, settings);
        for (name, expected) in &plain {
            assert_eq!(found.get(name), Some(expected), "{name}, {settings:?}, preloaded on {preloaded:?}");
        }
    }
}

#[test]
fn programs_in_c_receive_the_same() {
    is_the_same_with_it(&compiled(&mpicc(), &[], "tests/c/suite.c", "suite"), 700, &[]);
}

/// Checks messages between two layouts of one signature. MPICH 4.0 cannot receive a value that it has cut in
/// two into a struct, so a message without gaps must not be cut there.
#[test]
fn layouts_of_one_signature_receive_each_other() {
    is_the_same_with_it(&compiled(&mpicc(), &[], "tests/c/arrays.c", "arrays"), 20, &["2000"]);
}

/// Checks datatypes that some libraries pack otherwise than the standard says: a plan must not change the
/// data in the middle of a run.
#[test]
fn messages_that_the_library_packs_otherwise_stay_as_they_are() {
    let program = compiled(&mpicc(), &[], "tests/c/otherwise.c", "otherwise");
    is_the_same_with_it(&program, 21 * 24, &[]);
    let report = reported(&[program.as_os_str()], &[]).expect("there is one");
    let wrong: &[&str] = match report.library.as_str() {
        of if of.starts_with("Open MPI v5") => {
            &["hvector(MPI_CHAR)", "hvector(c64)", "struct(f64, indexed(MPI_SHORT))"]
        }
        of if of.starts_with("Open MPI") => &["hvector(MPI_CHAR)", "struct(f64, indexed(MPI_SHORT))"],
        of if of.starts_with("Intel") => &["darray(f64)", "hvector(f64)"],
        _ => &[],
    };
    let settings = [("DTYPE_VERIFY", "1".into())];
    let output = run(&[program.as_os_str()], &[true, true], &settings);
    assert!(output.contains(": 0 differ. 0 could"), "{output}");
    let all = [
        "struct(f64, indexed(MPI_SHORT))",
        "hvector(MPI_CHAR)",
        "hvector(c64)",
        "darray(f64)",
        "hvector(f64)",
    ];
    for constructors in all {
        let line = format!("DTYPE_VERIFY: messages of {constructors}, committed in ");
        assert_eq!(output.contains(&line), wrong.contains(&constructors), "{output}");
    }
    let otherwise = |usage: &&Usage| {
        usage.reasons.contains_key("the MPI library packs it otherwise than the standard says")
    };
    let rows: BTreeSet<_> = report.datatypes.iter().filter(otherwise).map(|usage| &*usage.built).collect();
    assert_eq!(rows.into_iter().collect::<Vec<_>>(), wrong, "{report}");
}

#[test]
fn requests_that_share_a_handle_all_receive() {
    is_the_same_with_it(&compiled(&mpicc(), &[], "tests/c/shared.c", "shared"), 16, &[]);
}

/// Codes name `MPI_PROC_NULL` beyond the edges of their grids, where there may be no memory.
#[test]
fn nothing_is_read_for_nobody() {
    is_the_same_with_it(&compiled(&mpicc(), &[], "tests/c/nobody.c", "nobody"), 10, &[]);
}

/// The rows of an exchange stay where they are, and its columns are packed, but none for a missing neighbour.
#[test]
fn columns_of_an_exchange_go_packed_beside_its_rows() {
    let program = compiled(&mpicc(), &[], "tests/c/edges.c", "edges");
    is_the_same_with_it(&program, 32, &[]);
    let report = reported(&[program.as_os_str()], &[]).expect("there is one");
    assert!(report.datatypes.iter().any(|usage| usage.packed > 0), "{report:?}");
}

/// MPICH copies ten of the sixteen bytes of a `long double`, so the others must not be compared.
#[test]
fn values_with_padding_receive_the_same() {
    let program = compiled(&mpicc(), &[], "tests/c/padding.c", "padding");
    is_the_same_with_it(&program, 6, &[]);
    let settings = [("DTYPE_VERIFY", "1".into()), ("DTYPE_PLAN", "first".into())];
    let output = run(&[program.as_os_str()], &[true, true], &settings);
    // Open MPI cannot receive a complex number of 32 bytes that is cut in two, so the third is not packed.
    // Open MPI 5 copies the other two as fast.
    let is_compared = |count: &str| output.contains(&format!("compared {count} messages"));
    let report = reported(&[program.as_os_str()], &[]).expect("there is one");
    let is_open_mpi_5 = report.library.starts_with("Open MPI v5");
    let compared = if is_open_mpi_5 { is_compared("0") } else { is_compared("2") || is_compared("3") };
    assert!(compared && output.contains(": 0 differ. 0 could"), "{output}");
}

/// MPICH says at its end how many datatypes are left.
#[test]
fn verification_leaves_no_datatypes() {
    let program = compiled(&mpicc(), &[], "tests/c/arrays.c", "arrays-verified");
    let settings = [("DTYPE_VERIFY", "1".into()), ("DTYPE_PLAN", "first".into())];
    let output = run(&[program.as_os_str(), OsStr::new("50")], &[true, true], &settings);
    assert!(!output.contains("leaked") && output.contains(": 0 differ. 0 could"), "{output}");
}

#[test]
fn programs_with_sessions_and_without_init_receive_the_same() {
    // Open MPI 4 has no sessions.
    if header().contains("MPI_Session_init") {
        is_the_same_with_it(&compiled(&mpicc(), &[], "tests/c/sessions.c", "sessions"), 8, &[]);
    }
}

/// Returns the functions of MPI that a header declares or a library defines: names with a letter in lower
/// case.
fn functions<'a>(words: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let is_function = |word: &&str| {
        (word.starts_with("MPI_") || word.starts_with("MPIX_")) && word.contains(|c: char| c.is_lowercase())
    };
    words.filter(is_function).map(str::to_owned).collect()
}

/// The names that an object defines and imports.
struct Symbols {
    defined: BTreeSet<String>,
    imported: BTreeSet<String>,
}

/// Reads the symbols of a file.
fn symbols(file: &Path) -> Symbols {
    let bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let object = object::File::parse(&*bytes).unwrap();
    let names = |is_imported: bool| {
        let symbols = object.dynamic_symbols().filter(|symbol| symbol.is_undefined() == is_imported);
        symbols.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect()
    };
    Symbols { defined: names(false), imported: names(true) }
}

/// Returns the libraries of MPI that a program is linked with.
fn libraries_of(program: &Path) -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(program).output().expect("there is a `ldd`");
    let text = String::from_utf8(output.stdout).unwrap();
    let paths = text.lines().filter_map(|line| line.split_once("=> ")?.1.split_whitespace().next());
    let is_of_mpi = |path: &&str| path.rsplit('/').next().is_some_and(|name| name.starts_with("libmpi"));
    paths.filter(is_of_mpi).map(PathBuf::from).collect()
}

/// The roles of functions that must not be called past the preloaded library.
const FOLLOWING: [Role; 3] = [Role::Receives, Role::CompletesRequests, Role::CompletesMoves];

/// Checks the table against the header and the symbols. If a program calls a function that the table lacks,
/// the preloaded library does not know what the function receives.
#[test]
fn the_table_has_all_functions_of_the_installed_library() {
    let program = compiled(&mpicc(), &[], "tests/c/suite.c", "suite-of-symbols");
    let text = header();
    let declared = functions(text.split(|letter: char| !letter.is_alphanumeric() && letter != '_'));
    // Types are named like functions, but no parenthesis follows them.
    let declared = declared.into_iter().filter(|name| text.contains(&format!("{name}(")));
    let libraries = libraries_of(&program);
    let all: Vec<_> = libraries.iter().map(|library| symbols(library)).collect();
    let defined = functions(all.iter().flat_map(|symbols| &symbols.defined).map(String::as_str));
    assert!(defined.len() > 300, "{} functions in {libraries:?}", defined.len());
    let role_of = |name: &str| table::FUNCTIONS.iter().find(|of| of.name == name).map(|of| of.role);
    let own = symbols(&fs::canonicalize(library()).unwrap()).defined;
    let mut wrong = Vec::new();
    for name in declared.chain(defined.iter().cloned()) {
        let role = role_of(&name).or_else(|| role_of(name.strip_suffix("_c")?));
        let follows = role.is_some_and(|role| FOLLOWING.contains(&role));
        // If a program imports an extension, its rank is no peer, so extensions need not be intercepted.
        if role.is_none() || follows && !name.starts_with("MPIX_") && !own.contains(&name) {
            wrong.push((name, role));
        }
    }
    wrong.retain(|(name, _)| !name.ends_with("_FN") && !name.ends_with("_function"));
    assert!(wrong.is_empty(), "without a role, or not intercepted: {wrong:?}");
}

/// Returns the types of a function's parameters as `mpi.h` declares them: `void*`, `MPI_Request*`, `int`.
fn declared_types(header: &str, name: &str) -> Option<Vec<String>> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let all = header.match_indices(name);
    let mut whole = all.filter(|(at, _)| !header[..*at].ends_with(is_part));
    let rest = whole.find_map(|(at, _)| header[at + name.len()..].trim_start().strip_prefix('('))?;
    let parameters = rest.split(')').next()?.split(',').map(str::trim);
    let parameters = parameters.filter(|parameter| !["", "void"].contains(parameter));
    let of = |parameter: &str| {
        let mut words = parameter.split(|letter: char| !is_part(letter));
        let base = words.find(|word| !["", "const", "struct"].contains(word))?.to_owned();
        let levels = parameter.matches(['*', '[']).count();
        Some(base + &"*".repeat(levels))
    };
    parameters.map(of).collect()
}

/// Checks that mistakes in the table are reported, with the number of the line or the name of the function.
#[test]
fn a_table_with_a_mistake_is_not_read() {
    let refused = |text: &str| calls::Table::read(text).err().unwrap_or_default();
    assert_eq!(
        refused("[sends]\nMPI_Send (read) => a::b(read)\n[other]\nMPI_Foo\n    MPI_Send\n"),
        "`MPI_Send` has two rows"
    );
    assert_eq!(refused("[sends]\n\n# a comment\nMPI_Send (read\n"), "line 4: no row");
    assert_eq!(refused("[sends]\nMPI_Send (read) point_to_point::send(read)\n"), "line 2: no row");
    assert_eq!(refused("[sends\n"), "line 1: `]` is missing");
}

/// Checks that the arguments in the table are those of the header.
#[test]
fn the_arguments_are_those_of_the_header() {
    let header = header();
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("calls.txt")).unwrap();
    let mut compared = 0;
    for row in calls::Table::read(&text).unwrap().rows {
        if row.handler.is_none() || row.role.starts_with("fortran") {
            continue;
        }
        for (_, name, is_large) in row.functions() {
            let Some(declared) = declared_types(header, &name) else { continue };
            let [count, place] = if is_large { ["MPI_Count", "MPI_Aint"] } else { ["int", "int"] };
            let ours = row.arguments.iter().flat_map(|argument| arguments::c_types(&argument.kind));
            let ours = ours.map(|of| {
                let base = of.rsplit([' ', '*']).next().unwrap().replace("c_", "");
                let base = base.replace("Count", count).replace("Place", place);
                base + &"*".repeat(of.matches('*').count())
            });
            assert_eq!(ours.collect::<Vec<_>>(), declared, "{name}");
            compared += 1;
        }
    }
    assert!(compared > 80, "{compared} functions");
}

/// Checks that each Fortran binding calls an intercepted function of C, or is itself intercepted.
#[test]
fn functions_of_fortran_that_follow_are_intercepted() {
    let compiler = mpicc().replace("mpicc", "mpif90");
    let (binding, _) = bindings()[bindings().len() - 1];
    let options = ["-fallow-argument-mismatch", &format!("-DBINDING={binding}")];
    let program = compiled(&compiler, &options, "tests/fortran/suite.F90", "suite-of-symbols-f");
    let bindings: Vec<_> = libraries_of(&program).iter().map(|library| symbols(library)).collect();
    let defined = |name: &str| bindings.iter().any(|symbols| symbols.defined.contains(name));
    let imported = |name: &str| bindings.iter().any(|symbols| symbols.imported.contains(name));
    let own = symbols(&fs::canonicalize(library()).unwrap()).defined;
    let is_mpich = defined("MPIR_F08_MPI_STATUS_IGNORE_OBJ");
    let mut missing = Vec::new();
    let mut found = 0;
    for role in FOLLOWING {
        // On Open MPI, packed messages have the same base types as unpacked ones, so any call may receive
        // them.
        if role == Role::Receives && !is_mpich {
            continue;
        }
        for name in table::functions(role).map(|of| of.name).filter(|name| name.starts_with("MPI_")) {
            let lower = name.to_lowercase();
            let short = lower.trim_start_matches("mpi_");
            let symbols = [format!("{lower}_"), format!("{lower}_f08_"), format!("ompi_{short}_f")];
            for symbol in symbols.into_iter().filter(|symbol| defined(symbol)) {
                found += 1;
                // MPICH's bindings call C functions, which this library intercepts. Open MPI's `mpi_f08`
                // calls functions of `mpi`.
                let is_f08 = symbol.ends_with("_f08_");
                let goes_on = if is_mpich {
                    !is_f08 && imported(name)
                } else {
                    let of_mpi = [format!("ompi_{short}_f"), format!("p{lower}_")];
                    is_f08 && of_mpi.iter().any(|symbol| imported(symbol) && own.contains(symbol))
                };
                if !goes_on && !own.contains(&symbol) {
                    missing.push(symbol);
                }
            }
        }
    }
    assert!(found >= 20, "{found} symbols");
    assert!(missing.is_empty(), "neither intercepted nor by a function of C: {missing:?}");
}

/// Checks that programs in Rust, which look up functions of MPI and import none, cannot bypass the preloaded
/// library.
#[test]
fn functions_of_the_crate_that_follow_are_intercepted() {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../mpi-sys/functions.txt")).unwrap();
    let names: Vec<_> = text.lines().filter_map(|line| line.split_once('(')).map(|(name, _)| name).collect();
    let names = names.into_iter().filter(|name| name.starts_with("MPI_"));
    let own = symbols(&fs::canonicalize(library()).unwrap()).defined;
    let mut found = 0;
    for name in names {
        let role_of = |name: &str| table::FUNCTIONS.iter().find(|of| of.name == name).map(|of| of.role);
        let role = role_of(name).or_else(|| role_of(name.strip_suffix("_c")?));
        assert!(role.is_some(), "{name} has no role");
        if role.is_some_and(|role| FOLLOWING.contains(&role)) {
            found += 1;
            assert!(own.contains(name), "{name} is not intercepted");
        }
    }
    assert!(found > 40, "{found} functions");
}

#[test]
fn a_program_in_rust_goes_packed() {
    launch::build("dtype-interpose", &["--example=structs"]).unwrap();
    let program = env::current_exe().unwrap().parent().unwrap().with_file_name("examples").join("structs");
    assert_eq!(counted(&[program.as_os_str()], &[("DTYPE_PLAN", "first".into())]), [40, 40]);
    // The command knows it by its mark.
    let report = reported_by_run(&launch::on_ranks(launch::mpiexec(), 2, &program), "reported in rust");
    assert_eq!(counts(Some(report)), [20, 20]);
    // A wrapper may precede the launcher; without one, the program takes the library of the path's `mpiexec`.
    let printed = |command: &mut Command| {
        let output = run_command(command, &["--print".as_ref()]).output().unwrap();
        let [answer, message] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert_eq!(output.status.code(), Some(0), "{message}");
        answer
    };
    let own = format!("libdtype_mpi-{}.so", launch::abi());
    let mut wrapped = Command::new("timeout");
    wrapped.arg("60").arg(launch::mpiexec()).args(["-n", "2"]).arg(&program);
    assert!(printed(&mut wrapped).contains(&own));
    assert!(printed(&mut Command::new(&program)).contains("LD_PRELOAD="));
}

/// Checks that programs find the functions that the MPI library has, and no others.
#[test]
fn functions_that_the_library_lacks_are_not_there() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("calls.txt")).unwrap();
    let rows = calls::Table::read(&text).unwrap().rows;
    let functions = rows.iter().filter(|row| row.handler.is_some() && !row.role.starts_with("fortran"));
    let names: Vec<_> = functions.flat_map(calls::Row::functions).map(|(_, name, _)| name).collect();
    let names: Vec<_> = names.iter().map(|name| &**name).collect();
    let program = compiled(&mpicc(), &["-ldl"], "tests/c/found.c", "found");
    let plain = lines(&program, &[false], &names);
    assert_eq!(plain.len(), names.len());
    assert_eq!(lines(&program, &[true], &names), plain);
}

/// Checks that the suite calls each function that receives messages.
#[test]
fn the_suite_receives_with_all_functions() {
    let suite = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/suite.c")).unwrap();
    for name in table::functions(Role::Receives).map(|of| of.name).filter(|name| name.starts_with("MPI_")) {
        for call in [format!("{name}("), format!("{name}_c(")] {
            assert!(suite.contains(&call), "{call}");
        }
    }
}

/// Checks that messages of a datatype arrive even if another datatype has its slot.
#[test]
fn more_datatypes_than_there_are_slots_arrive() {
    let many = compiled(&mpicc(), &[], "tests/c/many.c", "many");
    for preloaded in [[false, false], [true, true], [true, false], [false, true]] {
        let output = run(&[many.as_os_str()], &preloaded, &[]);
        assert!(output.contains("318 of 318 messages"), "{preloaded:?}: {output}");
    }
}

/// Checks that a datatype which is never freed, and has few messages, costs few bytes beside those of the MPI
/// library.
#[test]
fn datatypes_that_are_never_freed_take_little_memory() {
    /// The largest number of bytes for each datatype.
    const MOST: i64 = 200;
    let kept = compiled(&mpicc(), &[], "tests/c/kept.c", "kept");
    let bytes = |preloaded, settings: &[(&str, &str)]| {
        let found = lines_with(&library().display().to_string(), &kept, &[preloaded; 2], &[], settings);
        let bytes = found.values().filter_map(|text| text.strip_suffix(" bytes")?.parse::<i64>().ok());
        bytes.max().unwrap_or_else(|| panic!("{found:?}"))
    };
    let [plain, preloaded] = [false, true].map(|preloaded| bytes(preloaded, &[]));
    assert!(preloaded <= plain + MOST, "{preloaded} bytes, {plain} without the library");
}

/// Checks that delete functions of attributes run when a datatype is freed, and may send; and that the null
/// datatype is an error of the program's handler.
#[test]
fn datatypes_are_freed_when_the_program_frees_them() {
    is_the_same_with_it(&compiled(&mpicc(), &[], "tests/c/freed.c", "freed"), 2 * 10, &[]);
}

/// Checks programs that call functions by their second names, past the preloaded library.
#[test]
fn programs_that_go_past_us_receive_the_same() {
    for (name, programs) in [
        ("MPI_Recv", ["send", "ssend", "waitsome"]),
        ("MPI_Wait", ["isend", "free", "persistent"]),
        ("MPI_Waitall", ["ignored", "waitall", "prepared"]),
        ("MPI_Win_fence", ["fence", "puts", "lock-"]),
    ] {
        let option = format!("-D{name}=P{name}");
        let suite = compiled(&mpicc(), &[&option], "tests/c/suite.c", &format!("suite-past-{name}"));
        is_the_same_with_it(&suite, 3 * 17, &programs);
    }
}

/// Checks that a report does not read a receive buffer, which may not exist beyond the message.
#[test]
fn a_report_reads_nothing_that_is_not_sent() {
    let suite = compiled(&mpicc(), &[], "tests/c/suite.c", "suite-of-reports");
    let reported =
        |program: &str| reported(&[suite.as_os_str(), OsStr::new(program)], &[]).expect("there is one");
    let report = reported("roomy");
    assert!(report.datatypes.iter().any(|usage| usage.packed > 0 && usage.samples.bytes > 0));
    assert!(reported("unready").datatypes.iter().any(|usage| usage.packed > 0));
    let of_gather = reported("gather");
    assert!(of_gather.datatypes.iter().any(|usage| usage.packed > 0 && usage.samples.bytes > 0));
}

/// Checks the number of messages in reports: a persistent operation counts each start, and a replaced message
/// counts twice.
#[test]
fn a_report_counts_each_message() {
    let suite = compiled(&mpicc(), &[], "tests/c/suite.c", "suite-of-counts");
    let both = |name: &str| {
        let program = [suite.as_os_str(), OsStr::new(name)];
        let only = counted(&program, &[("DTYPE_INTERPOSE", "report".into())]);
        [counted(&program, &[]), only].map(|[messages, _]| messages)
    };
    // Two ranks with three counts: three rounds of one send and one receive, or two rounds of three each.
    assert_eq!(both("persistent-shorts"), [36, 36]);
    assert_eq!(both("prepared-shorts"), [72, 72]);
    // One call that sends and receives; two calls with blocks for two ranks and from two ranks.
    assert_eq!(both("replace-shorts"), [12, 12]);
    assert_eq!(both("alltoallw-shorts"), [48, 48]);
}

/// Checks that no more messages are packed than there are: a block that is packed to be kept is no message.
#[test]
fn kept_blocks_are_no_messages_of_a_report() {
    let suite = compiled(&mpicc(), &[], "tests/c/suite.c", "suite-of-blocks");
    for program in ["neighbours", "gather", "allgather", "receives", "exchange"] {
        let report = reported(&[suite.as_os_str(), OsStr::new(program)], &[]).expect("there is one");
        for usage in report.datatypes {
            let all = usage.packed + usage.reasons.values().sum::<u64>();
            assert!(all <= usage.messages && usage.worth <= usage.bytes, "{program}: {usage:?}");
        }
    }
}

/// Returns the Fortran bindings that the compiler can use, with their numbers in the suite.
fn bindings() -> &'static [(&'static str, &'static str)] {
    let all = &[("1", "mpif.h"), ("2", "mpi"), ("3", "mpi_f08")];
    if launch::has_fortran_modules() { all } else { &all[..1] }
}

#[test]
fn programs_in_fortran_receive_the_same() {
    let compiler = mpicc().replace("mpicc", "mpif90");
    for &(binding, name) in launch::sample(bindings()) {
        let options = ["-fallow-argument-mismatch", &format!("-DBINDING={binding}")];
        let suite = compiled(&compiler, &options, "tests/fortran/suite.F90", &format!("suite-{name}"));
        is_the_same_with_it(&suite, 16, &[]);
        let report = reported(&[suite.as_os_str()], &[]).expect("there is one");
        // MPICH's `mpi_f08` makes a datatype of its own for each array section. The sections have 3000
        // numbers.
        let is_section = |usage: &&Usage| usage.sizes == [3000 * 8; 2];
        let sections = report.datatypes.iter().filter(is_section).map(|usage| usage.packed).sum::<u64>();
        let are_hidden = name == "mpi_f08" && !report.library.starts_with("Open MPI");
        assert_eq!(sections, if are_hidden { 8 } else { 0 }, "{name}");
    }
}

#[test]
fn collective_calls_of_three_ranks_are_the_same() {
    let suite = compiled(&mpicc(), &[], "tests/c/suite.c", "suite-of-three");
    let calls =
        ["bcast", "gather", "scatter", "allgather", "alltoall", "each", "again", "neighbours", "fence"];
    let plain = lines(&suite, &[false; 3], &calls);
    assert!(plain.len() > 150, "{} programs", plain.len());
    for preloaded in [[true; 3], [false, true, true]] {
        let found = lines(&suite, &preloaded, &calls);
        for (name, expected) in &plain {
            assert_eq!(found.get(name), Some(expected), "{name}, preloaded on {preloaded:?}");
        }
    }
}

/// Checks one-sided calls of columns, to and from columns and contiguous numbers in the window.
#[test]
fn what_is_moved_goes_packed_where_libraries_are_slow() {
    let suite = compiled(&mpicc(), &[], "tests/c/suite.c", "suite-of-windows");
    let program = [suite.as_os_str(), OsStr::new("lock-shorts")];
    let report = reported(&program, &[]).expect("there is one");
    // MPICH 4.0 is fast here, and Intel MPI was not measured, so nothing is packed.
    let is_slow = !["MPICH 4.0", "Intel"].iter().any(|library| report.library.starts_with(library));
    let [messages, packed] = counts(Some(report));
    assert!(messages > 0 && (packed > 0) == is_slow, "{packed} of {messages}");
}

#[test]
fn the_example_in_c_goes_packed_unless_it_must_not() {
    let structs = compiled(&mpicc(), &["-g"], "../examples/interpose/structs.c", "structs");
    let structs = [structs.as_os_str()];
    let report = reported(&structs, &[]).expect("there is one");
    assert_eq!((report.ranks, report.packs, report.datatypes.len()), (2, true, 1));
    let usage = &report.datatypes[0];
    assert_eq!(usage.built, "resized(struct(u8, f64, i16, f32))");
    assert!(usage.place.starts_with("main (structs.c:"), "{}", usage.place);
    assert_eq!((usage.worth, usage.sizes, usage.committed), (usage.bytes, [15, 15], 2));
    assert!(usage.reasons.is_empty(), "{:?}", usage.reasons);
    let FirstUse { commit, planning, message, bytes } = usage.first_use;
    assert!(commit > 0.0 && planning > 0.0 && (0.0..usage.seconds).contains(&message) && message > 0.0);
    assert_eq!(bytes, 2 * 10_000 * 15, "a first message on each rank");
    assert!(usage.samples.bytes > 0 && usage.samples.library > 0.0 && usage.seconds > 0.0);
    assert!(usage.layout.as_ref().is_some_and(|layout| layout.least.is_some()));
    let [messages, packed] = counted(&structs, &[]);
    assert_eq!(messages, packed, "all are packed");
    assert_eq!(messages, 800, "200 rounds of two ranks, that send and receive");
    let with = |name, value: &str| counted(&structs, &[(name, value.into())]);
    assert_eq!(with("DTYPE_INTERPOSE", "report"), [800, 0]);
    let only = reported(&structs, &[("DTYPE_INTERPOSE", "report".into())]).expect("there is one");
    let counted = &only.datatypes[0];
    assert_eq!((only.packs, counted.worth, counted.packable), (false, usage.bytes, 800));
    assert!(counted.first_use.planning > 0.0 && counted.first_use.message == 0.0);
    has_the_report_of_the_readme(&report);
    assert_eq!(with("DTYPE_INTERPOSE", "off"), [0, 0]);
    assert_eq!(with("DTYPE_ALLOW", "MPI_Bcast,MPI_I*"), [800, 0]);
    // Only the sends are forwarded unchanged; the receives are packed on every library.
    assert_eq!(with("DTYPE_DENY", "MPI_Send"), [800, 400]);
    let denied = [("excluded by DTYPE_DENY or DTYPE_ALLOW".to_owned(), 400)];
    assert_eq!(reasons(&structs, "DTYPE_DENY", "MPI_Send"), denied);
    assert_eq!(with("DTYPE_PEERS", "all"), [800, 800]);
    // On MPICH, a rank that denies receives is no peer, so no structs are packed.
    let is_mpich = !report.library.starts_with("Open MPI");
    assert_eq!(with("DTYPE_DENY", "MPI_Recv,MPI_I*"), [800, if is_mpich { 0 } else { 400 }]);
    assert_eq!(with("DTYPE_PEERS", "none"), [800, if is_mpich { 400 } else { 800 }]);
    let peers = "a rank may run without this library (DTYPE_PEERS=all declares that all ranks have it)";
    let expected = if is_mpich { vec![(peers.to_owned(), 400)] } else { Vec::new() };
    assert_eq!(reasons(&structs, "DTYPE_PEERS", "none"), expected);
}

/// Returns the reasons why messages are forwarded unchanged, with the number of messages for each.
fn reasons(program: &[&OsStr], name: &'static str, value: &str) -> Vec<(String, u64)> {
    let report = reported(program, &[(name, value.into())]).expect("there is one");
    report.datatypes.into_iter().flat_map(|usage| usage.reasons).collect()
}

/// Checks that README.md of this crate shows this report, but for times and for the name of the library.
fn has_the_report_of_the_readme(report: &Report) {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let (_, rest) = readme.split_once("$ dtype report seen\n").unwrap();
    let (shown, _) = rest.split_once("```").unwrap();
    let bare = |table: &str| -> Vec<String> {
        let (_, counts) = table.split_once(", ").unwrap();
        let words = counts.split_whitespace().map(|word| match word.trim_end_matches([',', ':', '.']) {
            // The number of bytes, which is always the same.
            "120.0" => word,
            // Builds for tests may lose time, and times may have other units.
            "us" | "ms" | "s" | "won" | "lost" => "",
            time if time.contains('.') && time.trim_start_matches('-').parse::<f64>().is_ok() => "#",
            _ => word,
        });
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    assert_eq!(bare(shown), bare(&report.table(20)));
}

/// Checks that many sizes of one constructor from one call site are one row, with a range of sizes. Each
/// message that is forwarded unchanged has a reason, and the report has the time of first use.
#[test]
fn many_sizes_from_one_place_are_one_row_of_a_report() {
    let sizes = compiled(&mpicc(), &["-g"], "tests/c/sizes.c", "sizes");
    let report = reported(&[sizes.as_os_str()], &[]).expect("there is one");
    let row = |function: &str| {
        let mut rows = report.datatypes.iter().filter(|usage| usage.place.starts_with(function));
        let row = rows.next().unwrap_or_else(|| panic!("{function}: {report}"));
        assert!(rows.next().is_none(), "{function}: {report}");
        row
    };
    assert_eq!(report.datatypes.len(), 4, "{report}");
    for (function, built, range) in [
        ("columns", "vector(f64)", [800, 48_000]),
        ("lists", "indexed(f64)", [808, 48_000]),
        ("blocks", "contiguous(f64)", [16_000, 960_000]),
        ("structs", "resized(struct(MPI_CHAR, f64, MPI_SHORT))", [11, 11]),
    ] {
        let row = row(function);
        assert_eq!((row.built.as_str(), row.sizes), (built, range), "{function}");
        // Two ranks, with five rounds of a send and a receive on each.
        assert_eq!((row.committed, row.messages), (120, 1200), "{function}");
        let stay: u64 = row.reasons.values().sum();
        assert_eq!(row.packed + stay, row.messages, "{function}: {:?}", row.reasons);
        assert!(row.first_use.commit > 0.0 && (row.packed == 0 || row.first_use.planning > 0.0));
        let layout = row.layout.as_ref().unwrap_or_else(|| panic!("{function}: no layout"));
        assert_eq!(layout.tree.measure().unwrap().size, range[1], "{function}: the largest");
    }
    let one_block = [("one block, which the library copies equally fast".to_owned(), 1200)];
    assert_eq!(row("blocks").reasons, one_block.into());
    // One to five times eight structs of 11 bytes are less than 512 bytes.
    let small = row("structs").reasons.get("too small to gain from packing");
    assert!(small.is_some_and(|small| *small >= 5 * 20), "{:?}", row("structs").reasons);
}

/// Checks that each mistake in the environment is one line for the job, and that correct settings print
/// nothing.
#[test]
fn a_mistake_in_the_environment_is_one_line_for_the_job() {
    let program = compiled(&mpicc(), &[], "tests/c/arrays.c", "arrays-with-mistakes");
    let program = [program.as_os_str(), OsStr::new("50")];
    // Settings are read when a datatype is planned.
    let said = |environment: &[(&str, &str)]| {
        let environment = AT_ONCE.iter().chain(environment);
        let environment: Vec<_> = environment.map(|(name, value)| (*name, value.into())).collect();
        let output = run(&program, &[true, true], &environment);
        output.lines().filter(|line| line.contains("dtype:")).map(str::to_owned).collect::<Vec<_>>()
    };
    for (name, value, says) in [
        ("DTYPE_INTERPOSE", "onn", "may be on, report or off"),
        ("DTYPE_PEERS", "yes", "may be all, same or none"),
        ("DTYPE_DENY", "MPI_Send,MPI_Snd", "MPI_Snd names no call"),
        ("DTYPE_ALLOW", "*,MPI_Q*", "MPI_Q* names no call"),
        ("DTYPE_REPORT", "/nowhere/at/all/seen", "/nowhere/at/all/seen.0: "),
        ("DTYPE_VERIFY", "on", "may be 1 or plain"),
        ("DTYPE_PLAN", "now", "may be first"),
    ] {
        let mut lines = said(&[(name, value)]);
        lines.retain(|line| !line.contains("rank 0 compared"));
        assert!(lines.len() == 1 && lines[0].contains(name) && lines[0].contains(says), "{name}: {lines:?}");
    }
    // Two mistakes are two lines.
    assert_eq!(said(&[("DTYPE_DENY", "MPI_Snd,,mpi_send"), ("DTYPE_PEERS", "all")]).len(), 2);
    let right = [("DTYPE_PEERS", ""), ("DTYPE_DENY", " MPI_I*, MPI_Bcast,"), ("DTYPE_ALLOW", "*")];
    assert_eq!(said(&right), [""; 0]);
}

/// Checks the warning of the launcher of another library, which starts each rank as a job of its own.
#[test]
fn ranks_that_are_jobs_of_their_own_say_so() {
    let alone = compiled(&mpicc(), &[], "tests/c/alone.c", "alone");
    // One rank of the one launcher, with the variables of the other launcher.
    let other = if launch::is_mpich() { "OMPI_COMM_WORLD_SIZE" } else { "PMI_SIZE" };
    for (size, lines) in [("1", 0), ("2", 1)] {
        let output = run(&[alone.as_os_str()], &[true], &[(other, size.into())]);
        assert_eq!(output.matches("dtype: the launcher started 2 processes").count(), lines, "{output}");
    }
}

/// Checks that a rank other than 0 prints an error if it alone cannot write its report.
#[test]
fn a_report_that_only_another_rank_cannot_write_is_one_line_too() {
    let structs = compiled(&mpicc(), &[], "../examples/interpose/structs.c", "structs-half-reported");
    let file = folder().join("half-reported");
    let taken = folder().join("half-reported.1");
    fs::create_dir_all(&taken).unwrap();
    let output = run(&[structs.as_os_str()], &[true, true], &[("DTYPE_REPORT", file.into())]);
    let lines: Vec<_> = output.lines().filter(|line| line.contains("dtype:")).collect();
    assert!(lines.len() == 1 && lines[0].contains(&taken.display().to_string()), "{lines:?}");
}

#[test]
fn the_example_in_fortran_goes_packed() {
    if !launch::has_fortran_modules() {
        return;
    }
    let compiler = mpicc().replace("mpicc", "mpif90");
    let rows = compiled(&compiler, &[], "../examples/interpose/rows.f90", "rows");
    assert_eq!(counted(&[rows.as_os_str()], &[]), [1600, 1600]);
}

#[test]
fn the_example_in_python_goes_packed() {
    let particles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/interpose/particles.py");
    let environment = launch::python(&mpicc(), launch::mpi4py().unwrap(), &folder()).unwrap();
    let [messages, packed] = counted(&[OsStr::new("python3"), particles.as_os_str()], &environment);
    assert_eq!((messages, packed), (800, 800));
}

/// Checks other tools, before and behind the preloaded library. A tool that comes first and forwards calls by
/// PMPI bypasses this library: here with the sends and with `MPI_Finalize`.
#[test]
fn other_tools_stand_before_and_behind() {
    let structs = compiled(&mpicc(), &[], "../examples/interpose/structs.c", "structs-with-tools");
    let structs = [structs.as_os_str()];
    for (options, name) in [(&["-DNEXT"][..], "next"), (&[], "pmpi")] {
        let options = [options, &["-shared", "-fPIC"]].concat();
        let tool = compiled(&mpicc(), &options, "tests/c/counter.c", &format!("libcounter-{name}.so"));
        let tool = launch::without_spaces(&tool).unwrap().display().to_string();
        let own = library().display().to_string();
        for libraries in [format!("{tool}:{own}"), format!("{own}:{tool}")] {
            let output = run_with(&libraries, &structs, &[true, true], &[]);
            assert_eq!(output.matches("200 sends").count(), 2, "{libraries}: {output}");
            let environment = [("DTYPE_PEERS", "all".into())];
            let [messages, packed] = counts(reported_with(&libraries, &structs, &environment));
            let is_left_out = name == "pmpi" && libraries.starts_with(&tool);
            // If the tool bypasses this library's `MPI_Finalize`, there is no report.
            let expected = if is_left_out { [0, 0] } else { [800, 800] };
            assert_eq!([messages, packed], expected, "{libraries}");
        }
    }
}

/// Checks tools that forward some calls past the preloaded library. Messages that only such a call would
/// complete are forwarded unchanged.
#[test]
fn tools_may_go_past_us_with_some_calls() {
    let suite = compiled(&mpicc(), &[], "tests/c/suite.c", "suite-with-tools");
    for (option, programs) in [
        ("-DWAITS", ["isend", "waitall", "persistent"]),
        ("-DSTARTS", ["persistent", "prepared", "again"]),
        ("-DFENCES", ["fence", "puts", "lock-"]),
        ("-DRECEIVES", ["send", "ssend", "waitsome"]),
    ] {
        let tool =
            compiled(&mpicc(), &[option, "-shared", "-fPIC"], "tests/c/past.c", &format!("lib{option}.so"));
        let tool = launch::without_spaces(&tool).unwrap().display().to_string();
        let plain = lines(&suite, &[false, false], &programs);
        assert!(plain.len() >= 3 * 17, "{plain:?}");
        let libraries = format!("{tool}:{}", library().display());
        assert_eq!(lines_with(&libraries, &suite, &[true, true], &programs, &AT_ONCE), plain, "{option}");
    }
}

/// Checks that a message is verified: with a library that packs a wrong byte, the first message ends the
/// program, or is sent as that library packs it.
#[test]
fn a_message_that_the_library_packs_otherwise_is_named() {
    let structs = compiled(&mpicc(), &["-g"], "../examples/interpose/structs.c", "structs-verified");
    let wrong = compiled(&mpicc(), &["-shared", "-fPIC"], "tests/c/wrong.c", "libwrong.so");
    let own = library().display();
    let started = |libraries: &str, value: &str| {
        let mut command = launch::on_ranks(launch::mpiexec(), 2, "env");
        for name in SETTINGS {
            command.env_remove(name);
        }
        command.args([&format!("LD_PRELOAD={libraries}"), &format!("DTYPE_VERIFY={value}")]).arg(&structs);
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let finished = launch::run(&mut command, Duration::from_mins(1)).unwrap();
        (finished.status.is_some_and(|status| status.success()), finished.output)
    };
    let (is_over, output) = started(&own.to_string(), "1");
    let all = "compared 400 messages with MPI_Pack and MPI_Unpack: 0 differ. 0 could not be compared.";
    assert!(is_over && output.contains(all), "{output}");
    let both = format!("{own}:{}", launch::without_spaces(&wrong).unwrap().display());
    let (is_over, output) = started(&both, "1");
    let difference = "10000 elements of resized(struct(u8, f64, i16, f32)), committed in main (structs.c:";
    assert!(!is_over && output.contains(difference), "{output}");
    assert!(output.contains("byte 7 is "), "{output}");
    // The other rank unpacks by the same library, so the program receives what was sent.
    let (is_over, output) = started(&both, "plain");
    let lines = output.matches(difference).count();
    assert!(is_over && output.contains("400 differ.") && lines == 2, "{output}");
}

/// Builds the command `dtype`, and returns a folder in which the preloaded library has the names of all.
fn all_libraries() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        launch::build("dtype-cli", &["--bin=dtype"]).unwrap();
        let libraries = folder().join("all libraries");
        fs::create_dir_all(&libraries).unwrap();
        for name in ["openmpi", "mpich", "abi"] {
            let link = libraries.join(format!("libdtype_mpi-{name}.so"));
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(fs::canonicalize(library()).unwrap(), link).unwrap();
        }
        libraries
    })
}

/// Returns the words of `dtype run`, with this library for all MPI libraries.
fn run_command(command: &Command, options: &[&OsStr]) -> Command {
    let libraries = all_libraries();
    let mut run = Command::new(env::current_exe().unwrap().parent().unwrap().with_file_name("dtype"));
    run.args(["run", "--libraries"]).arg(libraries).args(options);
    run.arg(command.get_program()).args(command.get_args());
    run.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    for name in SETTINGS {
        run.env_remove(name);
    }
    run
}

/// Runs a command by `dtype run --report`, and returns the report of rank 1.
fn reported_by_run(command: &Command, name: &str) -> Report {
    let file = folder().join(name);
    let mut command = run_command(command, &["--report".as_ref(), file.as_os_str()]);
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let finished = launch::run(&mut command, Duration::from_mins(1)).unwrap();
    assert!(finished.status.is_some_and(|status| status.success()), "{}", finished.output);
    let text = fs::read_to_string(format!("{}.1.json", file.display())).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Checks that `dtype run` finds the program and its MPI library in a launcher's command.
#[test]
fn the_command_preloads_the_library_that_fits() {
    let structs = compiled(&mpicc(), &[], "../examples/interpose/structs.c", "structs that run");
    let earlier = folder().join("reported by run.7.json");
    let foreign = folder().join("reported by run.8.json");
    fs::write(&foreign, "a file of the user").unwrap();
    let reported = || reported_by_run(&launch::on_ranks(launch::mpiexec(), 2, &structs), "reported by run");
    let report = reported();
    assert_eq!(counts(Some(report)), [400, 400]);
    fs::copy(earlier.with_file_name("reported by run.1.json"), &earlier).unwrap();
    assert_eq!(counts(Some(reported())), [400, 400]);
    assert!(!earlier.exists() && foreign.exists());

    let mut two = launch::on_ranks(launch::mpiexec(), 1, &structs);
    two.args([":", "-n", "1"]).arg(&structs).args(["-n", "2"]);
    let output = run_command(&two, &["--print".as_ref()]).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let word = |path: &Path| format!("'{}'", path.display());
    let parts: Vec<_> = printed.split(" env LD_PRELOAD=").collect();
    assert!(parts.len() == 3 && parts[1].contains(&format!("{} : -n 1", word(&structs))), "{printed}");
    assert!(parts[2].ends_with(&format!("{} -n 2\n", word(&structs))), "{printed}");
    assert!(printed.contains(&format!("libdtype_mpi-{}.so", launch::abi())), "{printed}");

    let refused = |command: &Command, options: &[&OsStr]| {
        let output = run_command(command, options).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let mut script = Command::new("sh");
    script.arg("-c").arg(&structs);
    let error = refused(&script, &[]);
    assert!(error.contains("no program of this command is linked with an MPI library: not sh"), "{error}");
    let program = ["--print".as_ref(), "--program".as_ref(), structs.as_os_str()];
    let output = run_command(&script, &program).output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("env LD_PRELOAD="));
}

/// Checks where `dtype run` puts the preloaded library in commands with settings, folders and wrappers.
#[test]
fn the_command_knows_settings_folders_and_wrappers() {
    let structs = compiled(&mpicc(), &[], "../examples/interpose/structs.c", "structs-found");
    let commands = folder().join("commands");
    fs::create_dir_all(&commands).unwrap();
    let file = |name: &str, text: &str| {
        let path = commands.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    };
    let script = file("script", "#!/bin/sh\nexec \"$@\"\n");
    let wrapper = file("wrapper.py", "#!/usr/bin/env python3\n");
    file("node", "#!/bin/sh\n");
    let path = env::join_paths([commands.clone(), "/usr/bin".into(), "/bin".into()]).unwrap();
    let started = |words: &[&str], options: &[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("PATH", &path);
        let options: Vec<_> = options.iter().map(OsStr::new).collect();
        let output = run_command(&command, &options).output().unwrap();
        let [printed, error] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        printed + &error
    };
    let printed = |words: &[&str], options: &[&str]| started(words, &[&["--print"], options].concat());
    let name = structs.file_name().unwrap().to_str().unwrap();
    let program = structs.to_str().unwrap();
    let shown = |word: &str| if word.contains(' ') { format!("'{word}'") } else { word.to_owned() };

    // The libraries that the command preloads stay, behind this one.
    let line = printed(&["env", "LD_PRELOAD=/a/x.so", program], &[]);
    let (before, setting) = line.split_once(" env LD_PRELOAD=").expect(&line);
    assert_eq!(before, "env LD_PRELOAD=/a/x.so");
    let setting = setting.split(' ').next().unwrap();
    assert!(setting.contains(".so:/a/x.so:/"), "{line}");
    // The folder of a program, and scripts.
    let line = printed(&["mpiexec", "-wdir", folder().to_str().unwrap(), "-n", "2", name], &[]);
    assert!(line.contains(" -n 2 env LD_PRELOAD=") && line.ends_with(&format!(" ./{name}\n")), "{line}");
    let line = printed(&["mpiexec", "--map-by", "node", &script, program], &["--program", program]);
    assert!(line.starts_with("mpiexec --map-by node env LD_PRELOAD="), "{line}");
    let line = printed(&["mpiexec", "--oversubscribe", "sh", &script], &["--program", program]);
    assert!(line.starts_with("mpiexec --oversubscribe env LD_PRELOAD="), "{line}");
    for (wrapped, before) in [
        (&["mpiexec", "-n", "2", &wrapper, program][..], "mpiexec -n 2 "),
        (&["mpiexec", "-n", "2", "python3", &wrapper, "--run", program], "mpiexec -n 2 "),
        (&["mpiexec", "--oversubscribe", "sh", &script, program], "mpiexec --oversubscribe "),
        (&["mpiexec", "-genv", "SHELL", "/bin/sh", "-n", "2", program], "mpiexec -genv SHELL /bin/sh -n 2 "),
        (&["sh", &script, program], ""),
        // The first word may be the launcher.
        (&[&script, program], &format!("{} ", shown(&script))),
    ] {
        let line = printed(wrapped, &[]);
        assert!(line.starts_with(&format!("{before}env LD_PRELOAD=")), "{line}");
        assert!(line.ends_with(&format!("{}\n", shown(program))), "{line}");
    }
    // Without a launcher, the rest are arguments.
    let line = printed(&[program, ":", program], &[]);
    assert_eq!(line.matches("LD_PRELOAD").count(), 1, "{line}");

    // Another library of the same name is found where the command says.
    let ldd = Command::new("ldd").arg(&structs).output().unwrap();
    let ldd = String::from_utf8(ldd.stdout).unwrap();
    let own = ldd.lines().find(|line| line.contains("libmpi")).unwrap().trim().split(' ').next().unwrap();
    fs::write(commands.join("other.c"), "int MPI_Init(void *a, void *b) { return 0; }\n").unwrap();
    let other = commands.join(own);
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(&other).arg(commands.join("other.c"));
    assert!(cc.status().unwrap().success());
    let setting = format!("LD_LIBRARY_PATH={}", commands.display());
    for command in [&["env", &setting, program][..], &["mpiexec", "-x", &setting, program]] {
        let said = printed(command, &[]);
        // It is preloaded, too, or refused by its name.
        assert!(said.contains(other.to_str().unwrap()), "{said}");
    }
}

#[test]
fn the_command_runs_a_program_with_a_sanitizer() {
    let options = ["-g", "-fsanitize=address"];
    let structs = compiled(&mpicc(), &options, "../examples/interpose/structs.c", "structs-sanitized");
    let mut command = launch::on_ranks(launch::mpiexec(), 2, "env");
    command.arg("ASAN_OPTIONS=detect_leaks=0").arg(structs);
    assert_eq!(counts(Some(reported_by_run(&command, "reported-sanitized"))), [400, 400]);
}

/// Checks that ranks which cannot see each other's names, as on several nodes, are peers if all run the same
/// program. Each rank gets a network of its own, which needs a user who may make one.
#[test]
fn ranks_of_several_nodes_are_peers_if_told() {
    // Open MPI packs structs for any rank, and needs a network.
    let may = Command::new("unshare").args(["-n", "true"]).status().is_ok_and(|status| status.success());
    if !launch::is_mpich() || !may {
        eprintln!("not run: only for MPICH, and a user who may make a network for each rank");
        return;
    }
    let structs = compiled(&mpicc(), &[], "../examples/interpose/structs.c", "structs-on-nodes");
    let program = ["unshare".as_ref(), "-n".as_ref(), structs.as_os_str()];
    let packed = |settings: &[(&str, OsString)]| counted(&program, settings)[1];
    // Receives are packed in any case. Half of the messages are sends.
    assert_eq!(packed(&[]), 400);
    assert_eq!(packed(&[("DTYPE_PEERS", "same".into())]), 800);
    assert_eq!(packed(&[("DTYPE_PEERS", "same".into()), ("DTYPE_DENY", "MPI_Recv".into())]), 0);
}

#[test]
fn the_command_runs_python() {
    let particles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/interpose/particles.py");
    let mut command = launch::on_ranks(launch::mpiexec(), 2, "python3");
    command.arg(particles).envs(launch::python(&mpicc(), launch::mpi4py().unwrap(), &folder()).unwrap());
    let report = reported_by_run(&command, "reported-of-python");
    assert_eq!(report.datatypes[0].place, "<module> (particles.py:13)");
    assert_eq!(counts(Some(report)), [400, 400]);
}

#[test]
fn threads_send_and_receive_at_the_same_time() {
    let threads = compiled(&mpicc(), &["-pthread"], "tests/c/threads.c", "threads");
    let threads = [threads.as_os_str()];
    if run(&threads, &[false, false], &[]).contains("no threads") {
        return;
    }
    for preloaded in [[true, true], [true, false]] {
        let output = run(&threads, &preloaded, &[]);
        assert_eq!(output.matches("600 of 600 messages").count(), 2, "{preloaded:?}: {output}");
    }
    let report = reported(&threads, &[]).expect("there is one");
    // Open MPI 5 copies blocks at equal distances as fast.
    let is_as_fast = report.library.starts_with("Open MPI v5");
    let [messages, packed] = counts(Some(report));
    assert!(messages == 2400, "{messages} messages");
    assert!(if is_as_fast { packed == 0 } else { packed > 1200 }, "{packed} of {messages} were packed");
}

/// Checks that data has arrived after a thread's flush, even while another thread is flushing the window.
#[test]
fn threads_flush_one_window_at_the_same_time() {
    let program = compiled(&mpicc(), &["-pthread"], "tests/c/flush.c", "flush");
    let options = ["-DSLEEPS", "-shared", "-fPIC"];
    let tool = compiled(&mpicc(), &options, "tests/c/past.c", "libslow.so");
    let libraries = format!("{}:{}", library().display(), launch::without_spaces(&tool).unwrap().display());
    let output = run_with(&libraries, &[program.as_os_str()], &[true, true], &[]);
    let are_right = output.matches("6000 of 6000 numbers").count() == 4;
    assert!(are_right || output.contains("no threads"), "{output}");
}

#[test]
fn a_program_that_links_the_archive_goes_packed() {
    let archive = fs::canonicalize(library()).unwrap().with_extension("a").display().to_string();
    // The archive follows the source, since linkers search it only for what earlier files need.
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/interpose/structs.c");
    let program = folder().join("linked");
    let mut command = Command::new(mpicc());
    command.args(["-O2", "-g", "-o"]).arg(&program).args([source, &archive, "-lpthread", "-ldl", "-lm"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = reported_with("", &[program.as_os_str()], &[]).expect("there is one");
    // The program contains both the caller and this library.
    let place = &report.datatypes[0].place;
    assert!(place.starts_with("main (structs.c:"), "{place}");
    assert_eq!(counts(Some(report)), [800, 800]);
}

#[test]
fn with_another_library_a_program_ends_and_says_why() {
    let other = if launch::abi() == "openmpi" { "mpich" } else { "openmpi" };
    let library = built_for(other);
    let program = compiled(&mpicc(), &[], "../examples/interpose/structs.c", "other");
    let mut command = launch::on_ranks(launch::mpiexec(), 1, "env");
    command.arg(format!("LD_PRELOAD={}", library.display())).arg(program);
    let finished = launch::run(&mut command, Duration::from_mins(1)).unwrap();
    assert!(finished.status.is_some_and(|status| !status.success()), "{}", finished.output);
    let advice = format!("Preload libdtype_mpi-{}.so, as `dtype run` does.", launch::abi());
    assert!(finished.output.contains(&advice), "{}", finished.output);
}
