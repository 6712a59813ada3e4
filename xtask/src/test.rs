//! `cargo xtask test`: every check there is, in the order in which they are quick to fail.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};
use xshell::{Shell, cmd};

use crate::{Libraries, house, mpi};

pub(crate) fn run(choice: Libraries, long: bool) -> Result<()> {
    let sh = Shell::new()?;
    let libraries = mpi::set_up(&sh, choice)?;
    let mut count = Count::default();

    step("rustfmt");
    cmd!(sh, "cargo fmt --all --check").quiet().run()?;

    step("the house");
    house::check_lines(&sh.current_dir())?;
    house::check(
        &sh.current_dir(),
        &["dtype-core", "dtype-derive", "dtype-runtime", "dtype-interpose", "dtype-cli"],
    )?;

    step("clippy and rustdoc, warnings denied");
    {
        let _environment = libraries[0].enter(&sh);
        let _flags = sh.push_env("RUSTDOCFLAGS", "--deny warnings");
        let features = ["--features", "dtype-runtime/picture"];
        cmd!(sh, "cargo clippy --quiet --workspace {features...} --all-targets -- --deny warnings")
            .quiet()
            .run()?;
        cmd!(sh, "cargo doc --quiet --workspace {features...} --no-deps").quiet().run()?;
    }

    step("what needs no MPI: the core, the macros and their messages, packing, the command");
    // Exhaustive search takes minutes without optimization; the laws are checked with overflow checks on.
    count.cargo_test(
        &sh,
        &[
            "--package",
            "dtype-core",
            "--all-features",
            "--lib",
            "--test",
            "laws",
            "--test",
            "papers",
            "--test",
            "constant",
            "--test",
            "picture",
        ],
    )?;
    count.cargo_test(&sh, &["--package", "dtype-core", "--all-features", "--doc"])?;
    count.cargo_test(
        &sh,
        &["--package", "dtype-core", "--release", "--test", "exhaustive", "--test", "runs"],
    )?;
    benchmarks(&sh, &mut count)?;
    count.cargo_test(&sh, &["--package", "dtype-cli"])?;
    structs(&sh, &mut count)?;
    count.cargo_test(
        &sh,
        &[
            "--package",
            "dtype-derive",
            "--package",
            "dtype-runtime",
            "--no-default-features",
            "--features",
            "dtype-runtime/picture",
        ],
    )?;
    let other_crates = ["--no-default-features", "--features", "half,marshal,nalgebra,ndarray,num-complex"];
    let with_them =
        ["--package", "dtype-runtime", "--test", "types", "--test", "sources", "--test", "marshal"];
    count.cargo_test(&sh, &[&with_them[..], &other_crates[..]].concat())?;
    count.cargo_test(&sh, &["--package", "dtype-tests", "--no-default-features"])?;
    count.cargo_test(&sh, &["--package", "dtype-edition-*"])?;
    count.cargo_test(&sh, &["--package", "xtask"])?;

    memory(&sh, &mut count)?;

    for (i, library) in libraries.iter().enumerate() {
        step(&format!("on {}", library.version));
        let _environment = library.enter(&sh);
        // What the compiler says of messages does not depend on the library.
        if i == 0 {
            count.cargo_test(&sh, &["--package", "dtype-tests", "--test", "compile_fail"])?;
        }
        count.cargo_test(&sh, &["--package", "dtype-runtime", "--features", "marshal"])?;
        count.cargo_test(&sh, &["--package", "dtype-tests", "--test", "ranks"])?;
        count.cargo_test(&sh, &["--package", "dtype-examples"])?;
        programs(&sh, &mut count)?;
        // All benchmarks are built with it. A whole run takes two minutes, so one library has it.
        let guidelines = ["--package", "dtype-benches", "--features", "mpi", "--test", "guidelines", "--"];
        let brief: &[&str] = if i == 0 || long { &[] } else { &["--skip", "everything"] };
        count.cargo_test(&sh, &[&guidelines[..], brief].concat())?;
    }
    if long {
        interpreted(&sh, &mut count)?;
        sweeps(&sh, libraries, &mut count)?;
    }
    println!("\n{} passed, {} failed, {} skipped", count.passed, count.failed, count.ignored);
    ensure!(count.failed == 0, "some tests failed");
    Ok(())
}

/// The peers of the benchmarks, and the report of the guidelines, in a browser too if there is one.
fn benchmarks(sh: &Shell, count: &mut Count) -> Result<()> {
    let tests = ["--lib", "--test", "peers", "--test", "drawn", "--test", "report"];
    let mut arguments = vec!["--package", "dtype-benches", "--release"];
    arguments.extend(tests);
    if mpi::exists(sh, "chromium") || mpi::install(sh, &["chromium"]).is_ok() {
        arguments.extend(["--features", "browser"]);
    } else {
        println!("not run: the report of the guidelines in a browser, of which there is none here");
    }
    count.cargo_test(sh, &arguments)
}

/// Whether programs in Fortran can be compiled. Says so if not.
fn fortran_is_here(sh: &Shell) -> bool {
    let is_here = mpi::exists(sh, "gfortran") || mpi::install(sh, &["gfortran"]).is_ok();
    if !is_here {
        println!("not run: programs in Fortran, for which there is no compiler here");
    }
    is_here
}

/// Structs of compiled programs, which the command reads from their debug information.
fn structs(sh: &Shell, count: &mut Count) -> Result<()> {
    let mut arguments = vec!["--package", "dtype-cli", "--features", "compilers", "--test", "structs", "--"];
    if !mpi::exists(sh, "c++") && mpi::install(sh, &["g++"]).is_err() {
        println!("not run: programs in C++, for which there is no compiler here");
        arguments.extend(["--skip", "cxx"]);
    }
    if !fortran_is_here(sh) {
        arguments.extend(["--skip", "fortran"]);
    }
    count.cargo_test(sh, &arguments)
}

/// The programs that the command writes, and those that are there and preload: compiled and run in those
/// languages that are here.
fn programs(sh: &Shell, count: &mut Count) -> Result<()> {
    let mpi4py = mpi::mpi4py(sh);
    let _folder = mpi4py.as_ref().map(|folder| sh.push_env(xtask::launch::MPI4PY, folder));
    let mut skipped = Vec::new();
    if !fortran_is_here(sh) {
        skipped.extend(["--skip", "fortran"]);
    }
    if mpi4py.is_none() {
        println!("not run: programs in Python, since there is no mpi4py here");
        skipped.extend(["--skip", "python"]);
    }
    let command = ["--package", "dtype-cli", "--features", "mpi", "--test", "programs", "--"];
    count.cargo_test(sh, &[&command[..], &skipped[..]].concat())?;
    count.cargo_test(sh, &["--package", "dtype-interpose", "--lib"])?;
    preloaded(sh, &skipped, count)
}

/// Programs that preload our library.
fn preloaded(sh: &Shell, skipped: &[&str], count: &mut Count) -> Result<()> {
    let command = ["--package", "dtype-interpose", "--test", "programs", "--"];
    count.cargo_test(sh, &[&command[..], skipped].concat())
}

/// The tests that need no MPI in Miri, which sees undefined behaviour that no run shows; but for those that
/// would take it hours.
fn interpreted(sh: &Shell, count: &mut Count) -> Result<()> {
    const TOO_LONG: [&str; 3] = [
        "the_tiers_agree",
        "every_kernel_copies_what_the_interpreter_does",
        "nothing_that_waits_gets_into_what_has_been_checked",
    ];
    step("packing in Miri");
    let _toolchain = sh.push_env("RUSTUP_TOOLCHAIN", "nightly");
    if cmd!(sh, "cargo miri --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        println!(
            "not run: there is no Miri here; `rustup component add --toolchain nightly miri` installs it"
        );
        return Ok(());
    }
    let _target = sh.push_env("CARGO_TARGET_DIR", sh.current_dir().join("target/miri"));
    let _flags = sh.push_env("MIRIFLAGS", "-Zmiri-disable-isolation");
    let _cases = sh.push_env("PROPTEST_CASES", "1");
    let tests = ["types", "sources", "pack", "engine"].map(|test| ["--test", test]);
    let features = ["--no-default-features", "--features", "nalgebra,ndarray"];
    let skipped = TOO_LONG.map(|test| ["--skip", test]);
    let arguments = [
        &["--package", "dtype-runtime"],
        &features[..],
        tests.as_flattened(),
        &["--"],
        skipped.as_flattened(),
    ];
    count.tests(sh, &["miri", "test"], &arguments.concat())
}

/// The tests between ranks, optimized; those of generated programs and types, and of hostile peers, with all
/// their cases. Then programs that preload our library, on the newest MPI libraries and by the ABI of MPI 5,
/// for which there are no wheels with Fortran or mpi4py.
fn sweeps(sh: &Shell, libraries: Vec<mpi::Library>, count: &mut Count) -> Result<()> {
    let _long = sh.push_env("DTYPE_LONG", "1");
    for library in libraries.into_iter().chain(mpi::newest(sh)) {
        step(&format!("long sweeps on {}", library.version));
        let _environment = library.enter(sh);
        count.cargo_test(sh, &["--package", "dtype-tests", "--release", "--test", "ranks"])?;
    }
    step("trees at the limits of all ranges");
    {
        let _optimized = sh.push_env("CARGO_PROFILE_TEST_OPT_LEVEL", "2");
        count.cargo_test(sh, &["--package", "dtype-runtime", "--features", "marshal", "--test", "limits"])?;
    }
    for library in mpi::newest(sh).into_iter().chain(mpi::abi(sh).ok()) {
        step(&format!("programs as they are, on {}", library.version));
        let _environment = library.enter(sh);
        preloaded(sh, &["--skip", "fortran", "--skip", "python"], count)?;
    }
    Ok(())
}

/// The tests of packing, optimized, with many cases; then under valgrind, and with AddressSanitizer if there
/// is a nightly compiler.
fn memory(sh: &Shell, count: &mut Count) -> Result<()> {
    let tests = ["--package", "dtype-runtime", "--no-default-features", "--test", "engine", "--test", "pack"];
    let optimized = [&tests[..], &["--release"]].concat();
    step("packing, optimized");
    {
        let _cases = sh.push_env("PROPTEST_CASES", "2000");
        count.cargo_test(sh, &optimized)?;
    }
    let _cases = sh.push_env("PROPTEST_CASES", "40");
    step("packing under valgrind");
    if mpi::exists(sh, "valgrind") || mpi::install(sh, &["valgrind"]).is_ok() {
        let runner = format!("CARGO_TARGET_{}_RUNNER", TARGET.to_uppercase().replace('-', "_"));
        let _runner = sh.push_env(runner, "valgrind --quiet --error-exitcode=9");
        count.cargo_test(sh, &optimized)?;
    } else {
        println!("not run: there is no valgrind here, and it cannot be installed");
    }
    step("packing with AddressSanitizer");
    // The compiler of the workspace is named in the environment of what cargo starts, and would win over
    // `+nightly`.
    let _toolchain = sh.push_env("RUSTUP_TOOLCHAIN", "nightly");
    if cmd!(sh, "rustc --version").quiet().ignore_stdout().ignore_stderr().run().is_ok() {
        let _flags = sh.push_env("RUSTFLAGS", "-Zsanitizer=address");
        let _target = sh.push_env("CARGO_TARGET_DIR", sh.current_dir().join("target/sanitizer"));
        count.cargo_test(sh, &[&tests[..], &["--target", TARGET]].concat())?;
    } else {
        println!("not run: there is no nightly compiler here");
    }
    Ok(())
}

/// The machine that this runs on, as cargo calls it.
const TARGET: &str = env!("TARGET");

fn step(what: &str) {
    println!("\n── {what}");
}

/// What the test runners counted.
#[derive(Default)]
struct Count {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Count {
    /// Runs `cargo test`.
    fn cargo_test(&mut self, sh: &Shell, arguments: &[&str]) -> Result<()> {
        self.tests(sh, &["test"], arguments)
    }

    /// Runs a command of cargo that tests, shows what it prints, and adds up its `test result:` lines.
    fn tests(&mut self, sh: &Shell, command: &[&str], arguments: &[&str]) -> Result<()> {
        let command = cmd!(sh, "cargo {command...} --quiet --no-fail-fast {arguments...}");
        println!("$ {command}");
        let mut child = Command::from(command).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let before = (self.passed, self.failed);
        for line in BufReader::new(child.stdout.take().context("cargo's output")?).lines() {
            let line = line?;
            // Progress dots and empty lines would drown the rest.
            if !line.trim_matches(['.', 'i']).trim().is_empty() {
                println!("{line}");
            }
            if let Some(result) = line.strip_prefix("test result: ") {
                self.add(result);
            }
        }
        std::io::stdout().flush()?;
        let status = child.wait()?;
        if !status.success() && self.failed == before.1 {
            bail!("cargo test did not get as far as running the tests");
        }
        ensure!((self.passed, self.failed) != before, "no test was run");
        Ok(())
    }

    /// Adds the numbers of a line such as `ok. 3 passed; 0 failed; 0 ignored; …`.
    fn add(&mut self, result: &str) {
        let words: Vec<_> = result.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            let Ok(number) = pair[0].parse::<u64>() else { continue };
            match pair[1] {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}
