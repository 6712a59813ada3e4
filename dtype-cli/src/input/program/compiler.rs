//! Declarations in C and C++. An installed compiler turns them into an object file with debug information.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

/// A language of declarations, with its compiler.
pub(crate) struct Compiled {
    /// The environment variable that names a compiler. If it is not set, the compiler is `usual`.
    variable: &'static str,
    usual: &'static str,
    /// The compiler's name for the language.
    language: &'static str,
    /// The extensions of the language's files.
    endings: &'static [&'static str],
}

impl Compiled {
    pub(crate) const C: Self = Self { variable: "CC", usual: "cc", language: "c", endings: &["h", "c"] };
    pub(crate) const CXX: Self = Self {
        variable: "CXX",
        usual: "c++",
        language: "c++",
        endings: &["hpp", "hh", "hxx", "H", "cpp", "cc", "cxx", "C"],
    };

    /// Returns `true` if the extension of a file is one of this language.
    pub(crate) fn is_of(&self, file: &Path) -> bool {
        let ending = file.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| self.endings.contains(&ending))
    }
}

/// Returns `true` if a command is a compiler for C++, by its name: `g++-13`, `mpicxx`, `CC`.
pub(crate) fn is_of_cxx(command: &str) -> bool {
    let program = command.split_whitespace().next().map(Path::new).and_then(Path::file_name);
    let name = program.unwrap_or_default().to_string_lossy();
    name.contains("++") || ["cxx", "CC", "icpc", "icpx"].iter().any(|end| name.ends_with(end))
}

/// Compiles declarations as if they were in `file`, and returns the object file. `compiler` is a command with
/// or without arguments.
pub(crate) fn compile(
    text: &[u8],
    file: Option<&PathBuf>,
    compiled: &Compiled,
    compiler: Option<&str>,
) -> Result<Vec<u8>> {
    let variable = env::var(compiled.variable).ok().filter(|value| !value.trim().is_empty());
    let command = compiler.map(str::to_owned).or(variable).unwrap_or_else(|| compiled.usual.to_owned());
    let mut words = command.split_whitespace();
    let program = words.next().context("`--compiler` names no command")?;
    let folder = tempfile::tempdir().context("a folder for the compiler")?;
    let [source, object] = ["declared", "declared.o"].map(|name| folder.path().join(name));
    let shown = file.map_or("declared", |file| file.to_str().unwrap_or("declared"));
    let mut marked = format!("#line 1 \"{}\"\n", shown.replace(['\\', '"'], "_")).into_bytes();
    marked.extend_from_slice(text);
    fs::write(&source, marked).context("the source for the compiler")?;
    let mut command = Command::new(program);
    command.args(words).args(["-g", "-O0", "-c", "-w", "-fno-eliminate-unused-debug-types"]);
    if let Some(folder) = file.and_then(|file| file.parent()) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        command.arg("-iquote").arg(folder);
    }
    command.args(["-x", compiled.language]).arg(&source).arg("-o").arg(&object);
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| {
        format!("`{program}` cannot be run; name a compiler with `--compiler`, or in {}", compiled.variable)
    })?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`{program}` does not compile the declarations as {} ({}):\n{}",
            compiled.language.to_uppercase(),
            output.status,
            text.trim_end()
        );
    }
    fs::read(&object).context("the output of the compiler")
}
