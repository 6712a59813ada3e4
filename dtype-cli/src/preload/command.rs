//! The words of a command: a launcher, its options, and the programs that it starts.
//!
//! Launchers have hundreds of options, so words are recognized by what they name: a program is an executable
//! file that is linked with MPI.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::Read,
    ops::Range,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::PermissionsExt,
    },
    path::{Path, PathBuf},
};

use anyhow::{Error, Result, bail};

use super::{
    program::{Loaded, is_python, on_path},
    rust,
};

/// A program in a command.
pub(crate) struct Program {
    /// The index of its word.
    pub(crate) at: usize,
    /// The word by which `env` finds the program.
    pub(crate) word: OsString,
    /// The files that it loads.
    pub(crate) loaded: Loaded,
    /// The libraries that the command itself preloads into it.
    pub(crate) preloaded: Option<OsString>,
}

/// Returns the programs of a command that use MPI, or the scripts that start them: one for each part of a
/// launcher's command. `:` separates the parts.
///
/// # Errors
/// If a part has only programs whose MPI library cannot be preloaded, or the command has no program that uses
/// MPI.
pub(crate) fn programs(command: &[OsString]) -> Result<Vec<Program>> {
    let (mut found, mut others) = (Vec::new(), Vec::new());
    let all = 0..command.len();
    let on_the_path = on_path("mpiexec".as_ref());
    let launcher = rust::launcher(all.clone().filter_map(|at| file_at(command, &all, at)).chain(on_the_path));
    for part in parts(command) {
        let mut errors = Vec::new();
        // A script of Python may start another program, which is the one that counts.
        let mut script = None;
        for at in part.clone() {
            let Some(file) = file_at(command, &part, at) else { continue };
            match Loaded::by(&file, &variables(&command[part.start..at]), launcher.as_deref()) {
                Ok(loaded) if loaded.mpi.is_empty() => others.push(command[at].display().to_string()),
                Ok(loaded) if loaded.by_python => {
                    script.get_or_insert((at, file, loaded));
                }
                Ok(loaded) => {
                    script = Some((at, file, loaded));
                    break;
                }
                Err(error) => errors.push(error.context(command[at].display().to_string())),
            }
        }
        match (script, errors.into_iter().next()) {
            (Some((at, file, loaded)), _) => {
                // A wrapper may do anything with its arguments, so it runs with the library itself.
                let wrapper = (part.start..at).find_map(|i| {
                    let is_set = i >= 2 && ENV_OPTIONS.iter().any(|option| command[i - 2] == *option);
                    let file = file_at(command, &part, i).filter(|file| is_script(&command[i], file))?;
                    (!is_set && (i > 0 || is_interpreter(&command[i]))).then_some((i, file))
                });
                let (at, file) = wrapper.unwrap_or((at, file));
                found.push(program(command, &part, at, &file, loaded));
            }
            (None, Some(error)) => return Err(error),
            (None, None) => {}
        }
        // Without a launcher, `:` is an argument of the program.
        if found.first().is_some_and(|program| program.at == 0) {
            break;
        }
    }
    if found.is_empty() { Err(nothing(command, &others)) } else { Ok(found) }
}

/// Returns the programs of a command whose scripts start a program with these files: in each part, the first
/// program behind the launcher.
///
/// # Errors
/// If the command has no program.
pub(crate) fn scripts(command: &[OsString], loaded: &Loaded) -> Result<Vec<Program>> {
    let mut found = Vec::new();
    for part in parts(command) {
        let files = part.clone().filter_map(|at| Some((at, file_at(command, &part, at)?)));
        let mut files: Vec<_> = files.collect();
        if part.start == 0 && files.len() > 1 {
            files.remove(0);
        }
        let is_program = |(at, _): &&(usize, PathBuf)| !is_value(command, *at);
        let Some((at, file)) = files.iter().find(is_program).or(files.first()) else { continue };
        found.push(program(command, &part, *at, file, loaded.clone()));
    }
    if found.is_empty() {
        bail!("the command has no program");
    }
    Ok(found)
}

fn program(command: &[OsString], part: &Range<usize>, at: usize, file: &Path, loaded: Loaded) -> Program {
    let mut word = command[at].clone();
    // `env` does not search the current folder, as launchers do.
    if !word.as_bytes().contains(&b'/') && file.parent() == Some(&folder(&command[part.start..at])) {
        word = Path::new(".").join(word).into();
    }
    let set = variables(&command[part.start..at]).into_iter().rev().find(|(name, _)| name == "LD_PRELOAD");
    Program { at, word, loaded, preloaded: set.map(|(_, libraries)| libraries) }
}

/// Returns the error for a command without a program that uses MPI. `others` are its other programs.
fn nothing(command: &[OsString], others: &[String]) -> Error {
    if let Some(word) = command.iter().find(|word| is_missing(word)) {
        return Error::msg(format!("there is no file {}", word.display()));
    }
    let others = if others.is_empty() { String::new() } else { format!(": not {}", others.join(", ")) };
    Error::msg(format!(
        "no program of this command is linked with an MPI library{others}. If a script starts the program, \
         `--program FILE` names the program, or the MPI library itself"
    ))
}

/// Returns `true` if a word looks like the path of a program or a script, but no such file exists.
fn is_missing(word: &OsStr) -> bool {
    let is_path = [&b"/"[..], b"./", b"../"].iter().any(|start| word.as_bytes().starts_with(start));
    (is_path || word.as_bytes().ends_with(b".py")) && !Path::new(word).exists()
}

/// Returns the parts of a command between the words `:`.
fn parts(command: &[OsString]) -> Vec<Range<usize>> {
    let ends = (0..command.len()).filter(|at| command[*at] == ":").chain([command.len()]);
    let mut start = 0;
    ends.map(|end| std::mem::replace(&mut start, end + 1)..end).collect()
}

/// Returns `true` if a word names a file, but seems to be the value of the option before it: `node` in
/// `--map-by node`, where Node.js is installed. Options without values are followed by paths or interpreters.
fn is_value(command: &[OsString], at: usize) -> bool {
    let follows_option = at > 0 && command[at - 1].as_bytes().starts_with(b"-");
    let is_program = is_interpreter(&command[at]) || command[at] == "env";
    follows_option && !is_program && !command[at].as_bytes().contains(&b'/')
}

/// Returns `true` if a word is the name of an interpreter of scripts.
fn is_interpreter(word: &OsStr) -> bool {
    const NAMES: [&str; 13] =
        ["sh", "bash", "dash", "ksh", "zsh", "csh", "tcsh", "fish", "perl", "ruby", "julia", "R", "Rscript"];
    let name = Path::new(word).file_name().unwrap_or_default();
    NAMES.iter().any(|own| name == *own) || is_python(Path::new(name))
}

/// Returns `true` if a word is a script with its interpreter in the first line, or names an interpreter.
fn is_script(word: &OsStr, file: &Path) -> bool {
    let mut front = [0; 2];
    let is_read = File::open(file).and_then(|mut file| file.read_exact(&mut front)).is_ok();
    is_interpreter(word) || is_read && front == *b"#!"
}

/// Returns the executable file that a word names: as a path, on the `PATH`, or in the folder where the
/// program starts. After `-c`, a shell has a script of one word.
fn file_at(command: &[OsString], part: &Range<usize>, at: usize) -> Option<PathBuf> {
    let before = &command[part.start..at];
    if before.last().is_some_and(|word| word == "-c") {
        return None;
    }
    let is_program = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let (word, folder) = (&command[at], folder(before));
    if word.as_bytes().contains(&b'/') {
        return Some(folder.join(word)).filter(is_program);
    }
    on_path(word).into_iter().chain([folder.join(word)]).find(is_program)
}

/// Returns the folder where a program starts, from the words before it.
fn folder(before: &[OsString]) -> PathBuf {
    const OPTIONS: [&str; 6] = ["-wdir", "--wdir", "-wd", "--wd", "-D", "--chdir"];
    let given = before.iter().enumerate().rev().find_map(|(at, word)| {
        OPTIONS.iter().find_map(|option| {
            let rest = word.as_bytes().strip_prefix(option.as_bytes())?;
            match rest.strip_prefix(b"=") {
                Some(value) => Some(OsStr::from_bytes(value)),
                None if rest.is_empty() => before.get(at + 1).map(|word| &**word),
                None => None,
            }
        })
    });
    given.map_or_else(|| PathBuf::from("."), PathBuf::from)
}

/// The options of launchers that are followed by the name and the value of a variable.
const ENV_OPTIONS: [&str; 4] = ["-env", "--env", "-genv", "--genv"];

/// Returns the variables that a command sets for a program, from the words before it: `NAME=VALUE`, as for
/// `env` or behind `-x`, and `-env NAME VALUE`.
fn variables(before: &[OsString]) -> Vec<(OsString, OsString)> {
    let mut found = Vec::new();
    for (at, word) in before.iter().enumerate() {
        if let Some(equal) = word.as_bytes().iter().position(|byte| *byte == b'=') {
            let (name, value) = (&word.as_bytes()[..equal], &word.as_bytes()[equal + 1..]);
            let is_name = name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
            if is_name && name.first().is_some_and(|first| !first.is_ascii_digit()) {
                found.push([name, value].map(|part| OsString::from_vec(part.to_vec())).into());
            }
        } else if let (true, Some([name, value])) =
            (ENV_OPTIONS.iter().any(|option| word == option), before.get(at + 1..at + 3))
        {
            found.push((name.clone(), value.clone()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsString, path::Path};

    use super::{folder, is_value, parts, variables};

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn parts_end_at_colons() {
        assert_eq!(parts(&words("mpiexec -n 1 a : -n 2 b")), [0..4, 5..8]);
        assert_eq!(parts(&words("a :")), [0..1, 2..2]);
    }

    #[test]
    fn variables_are_found_in_each_form() {
        let set = |line| {
            let found = variables(&words(line)).into_iter();
            found.map(|(name, value)| format!("{} {}", name.display(), value.display())).collect::<Vec<_>>()
        };
        assert_eq!(set("env A=1 B_2=x=y"), ["A 1", "B_2 x=y"]);
        assert_eq!(set("mpiexec -x A=1 -x B --mca=x 2=3 =4"), ["A 1"]);
        assert_eq!(set("mpiexec -genv A 1 -env B 2 -env C"), ["A 1", "B 2"]);
    }

    #[test]
    fn the_folder_is_the_last_one_given() {
        for (line, expected) in [
            ("mpiexec -n 2", "."),
            ("mpiexec -wdir /a -n 2", "/a"),
            ("mpiexec --wdir=b -n 2", "b"),
            ("srun -D a --chdir b", "b"),
            ("mpiexec -wdirs a --wdir", "."),
        ] {
            assert_eq!(folder(&words(line)), Path::new(expected), "{line}");
        }
    }

    #[test]
    fn the_value_of_an_option_is_no_program() {
        for (line, at, expected) in [
            ("mpiexec --map-by node ./s.sh", 2, true),
            ("mpiexec --map-by node ./s.sh", 3, false),
            ("mpiexec --oversubscribe ./s.sh", 2, false),
            ("mpiexec --oversubscribe sh s.sh", 2, false),
            ("mpiexec -n 2 solver", 3, false),
        ] {
            assert_eq!(is_value(&words(line), at), expected, "{line}: {at}");
        }
    }
}
