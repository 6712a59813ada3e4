//! The command `run`: a command whose programs preload the library that fits their MPI library.

use std::{
    collections::hash_map::DefaultHasher,
    env,
    ffi::{OsStr, OsString},
    fs,
    hash::{Hash, Hasher},
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, symlink},
        process::CommandExt,
    },
    path::{Path, PathBuf, absolute},
    process::Command,
};

use anyhow::{Context, Error, Result, ensure};
use clap::Args;

use crate::{
    outcome::Outcome,
    preload::{
        command::{self, Program},
        library,
        program::Loaded,
    },
};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Write a report: each rank writes FILE.RANK and FILE.RANK.json, which `dtype report FILE` adds up.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Compare each message with the bytes of the MPI library. A difference ends the program.
    #[arg(long)]
    verify: bool,
    /// Print the command with the preloaded library, for scripts, and run nothing.
    #[arg(long)]
    print: bool,
    /// The program that uses MPI, if a script starts it; or an MPI library.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The folder of the preloaded libraries. Default: the variable DTYPE_LIBRARIES, or else `lib/dtype-mpi`
    /// beside the folder of this command.
    #[arg(long, value_name = "FOLDER")]
    libraries: Option<PathBuf>,
    /// The command, with its launcher: mpiexec -n 2 ./program
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

impl Arguments {
    /// Runs the command in place of this process, or prints it.
    pub(crate) fn run(self) -> Result<Outcome> {
        let Self { report, verify, print, program, libraries, mut command } = self;
        ensure!(
            !command[0].as_encoded_bytes().starts_with(b"-"),
            "`dtype run` has no option `{}`: `dtype run --help` lists them",
            command[0].display()
        );
        let set = || env::var_os("DTYPE_LIBRARIES").filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let libraries = libraries.or_else(set).map_or_else(installed, Ok)?;
        let report = report.map(|file| reported(&file)).transpose().context("--report")?;
        let mode = env::var("DTYPE_INTERPOSE").unwrap_or_default();
        let (is_off, only_counts) = (mode == "off" || mode == "0", mode == "report");
        ensure!(
            !(is_off && (verify || report.is_some()) || only_counts && verify),
            "DTYPE_INTERPOSE={mode} is set, so nothing would be {}: unset it",
            if verify { "verified" } else { "reported" }
        );
        // Ranks on several nodes cannot find out by themselves that all run one program with the library.
        let is_one_program = program.is_none() && !command.iter().any(|word| word == ":");
        let are_same = is_one_program && env::var_os("DTYPE_PEERS").is_none();
        let programs = match program {
            Some(program) => {
                let loaded =
                    Loaded::by(&program, &[], None).with_context(|| program.display().to_string())?;
                ensure!(
                    !loaded.mpi.is_empty(),
                    "{}: it is not linked with an MPI library; for a script, name its interpreter",
                    program.display()
                );
                command::scripts(&command, &loaded)?
            }
            None => command::programs(&command)?,
        };
        // From the last one on, since words are inserted.
        for Program { at, word, loaded, preloaded } in programs.into_iter().rev() {
            command[at] = word;
            let mut words = vec![OsString::from("env"), preload(&loaded, preloaded, &libraries)?];
            words.extend(report.as_ref().map(|report| variable("DTYPE_REPORT", report)));
            words.extend(are_same.then(|| variable("DTYPE_PEERS", "same")));
            words.extend(verify.then(|| variable("DTYPE_VERIFY", "1")));
            command.splice(at..at, words);
        }
        if print {
            let words: Vec<_> = command.iter().map(|word| quoted(word)).collect();
            return Ok((words.join(" ") + "\n").into());
        }
        report.as_deref().map_or(Ok(()), super::report::remove)?;
        // The process becomes that of the command, or this fails.
        let error = Command::new(&command[0]).args(&command[1..]).exec();
        Err(Error::new(error).context(format!("{} cannot be started", command[0].display())))
    }
}

/// Returns the folder of the preloaded libraries that were installed with this command.
fn installed() -> Result<PathBuf> {
    let command = env::current_exe().and_then(fs::canonicalize).context("the file of this command")?;
    let prefix = command.parent().and_then(Path::parent).context("the folder of this command")?;
    Ok(prefix.join("lib/dtype-mpi"))
}

/// Returns the absolute path of a report, whose folder must exist.
fn reported(file: &Path) -> Result<PathBuf> {
    ensure!(
        !file.is_dir() && file.file_name().is_some(),
        "{} is a folder: name a file in it, to which each rank adds its number",
        file.display()
    );
    let file = absolute(file)?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    ensure!(folder.is_dir(), "there is no folder {}", folder.display());
    Ok(file)
}

/// Returns the setting of `LD_PRELOAD` for a program: the library that fits its MPI library, behind it those
/// that are preloaded anyway, and the MPI library.
fn preload(loaded: &Loaded, anyway: Option<OsString>, libraries: &Path) -> Result<OsString> {
    let own = library::for_mpi(&loaded.mpi, libraries)?;
    let anyway = anyway.or_else(|| env::var_os("LD_PRELOAD")).filter(|libraries| !libraries.is_empty());
    let mut all = Vec::new();
    for library in loaded.sanitizer.iter().chain([&own]) {
        all.push(preloadable(library)?.into_os_string());
    }
    all.extend(anyway);
    // The preloaded library names no MPI library that it needs: it is the one that the program loads,
    // wherever that is. Python's modules load it where the preloaded library would not find it, and processes
    // that the program starts do not load it.
    all.push(preloadable(&loaded.mpi[0])?.into_os_string());
    Ok(variable("LD_PRELOAD", all.join(OsStr::new(":"))))
}

fn variable(name: &str, value: impl AsRef<OsStr>) -> OsString {
    let mut setting = OsString::from(name);
    setting.push("=");
    setting.push(value);
    setting
}

/// Returns a path of the library that `LD_PRELOAD` can hold. `LD_PRELOAD` separates paths by spaces and
/// colons, so a path with one of these gets a link in the folder for temporary files.
fn preloadable(library: &Path) -> Result<PathBuf> {
    let ends = |path: &Path| path.to_string_lossy().contains([' ', ':']);
    let library = absolute(library).context("the path of the preloaded library")?;
    if !ends(&library) {
        return Ok(library);
    }
    let mut hasher = DefaultHasher::new();
    library.hash(&mut hasher);
    let name = library.file_name().unwrap_or_default().to_string_lossy();
    let link = absolute(env::temp_dir())?.join(format!("{:016x}-{name}", hasher.finish()));
    ensure!(
        !ends(&link),
        "LD_PRELOAD separates paths by spaces and colons, and {} contains one, as TMPDIR does",
        library.display()
    );
    // Another user could make the link lead elsewhere later. `/proc/self` belongs to this user.
    let is_own = || Some(fs::symlink_metadata(&link).ok()?.uid() == fs::metadata("/proc/self").ok()?.uid());
    let is_made = || fs::read_link(&link).is_ok_and(|target| target == library) && is_own() == Some(true);
    if !is_made() {
        // Another command may make the same link at the same time.
        let made = symlink(&library, &link).or_else(|error| if is_made() { Ok(()) } else { Err(error) });
        made.with_context(|| format!("a link at {}", link.display()))?;
    }
    Ok(link)
}

/// Quotes a word for the shell if it needs to be quoted. Bytes that are no text are escaped.
fn quoted(word: &OsStr) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    match word.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        Some(text) => format!("'{}'", text.replace('\'', r"'\''")),
        None => format!("$'{}'", word.as_bytes().escape_ascii()),
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path, sync::Barrier, thread};

    fn quoted(word: &str) -> String {
        super::quoted(OsStr::new(word))
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted("--map-by=:OVERSUBSCRIBE"), "--map-by=:OVERSUBSCRIBE");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("$HOME"), "'$HOME'");
        assert_eq!(super::quoted(OsStr::from_bytes(b"a\xff b'")), r"$'a\xff b\''");
    }

    #[test]
    fn commands_that_start_at_the_same_time_share_a_link() {
        for i in 0..50 {
            let library = format!("/a folder/{}-{i}.so", std::process::id());
            let together = Barrier::new(4);
            let made = || {
                together.wait();
                super::preloadable(Path::new(&library)).unwrap()
            };
            let links = thread::scope(|scope| {
                let threads = [(); 4].map(|()| scope.spawn(made));
                threads.map(|thread| thread.join().unwrap())
            });
            fs::remove_file(&links[0]).unwrap();
            assert!(links.iter().all(|link| *link == links[0]), "{links:?}");
        }
    }
}
