//! `cargo xtask example`: runs one of the example programs, or lists them.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::{Context, Result, bail, ensure};
use xshell::{Shell, cmd};

use crate::{
    Libraries, interpose,
    mpi::{self, Library},
};

/// An example program.
struct Example {
    /// The name of its file, and in Rust of the program: `heat3d`, `structs.c`.
    name: String,
    file: PathBuf,
}

/// Runs an example on a number of ranks, or lists all examples if no name is given.
pub(crate) fn run(name: Option<&str>, ranks: usize, choice: Libraries, arguments: &[String]) -> Result<()> {
    let sh = Shell::new()?;
    let examples = all(&sh)?;
    let Some(name) = name else {
        let mut list = String::from("cargo xtask example NAME [-n RANKS]\n");
        for example in &examples {
            writeln!(list, "\n  {}\n    {}", example.name, example.title(&sh)?)?;
        }
        // Whoever reads the list may have read enough of it.
        let _ = io::stdout().write_all(list.as_bytes());
        return Ok(());
    };
    let Some(example) = examples.iter().find(|example| example.name == name) else {
        let names: Vec<_> = examples.iter().map(|example| &*example.name).collect();
        bail!("there is no example {name}; the examples are: {}", names.join(", "));
    };
    if !example.needs_mpi(&sh)? {
        let package = ["--package", "dtype-examples", "--no-default-features", "--bin", name];
        return Ok(cmd!(sh, "cargo run --quiet --release {package...} -- {arguments...}").quiet().run()?);
    }
    let libraries = mpi::set_up(&sh, choice)?;
    let library = libraries.first().context("no MPI library")?;
    eprintln!("Building {name} for {} …", library.version);
    example.run(&sh, library, ranks, arguments)
}

/// Returns the programs in Rust, and those in other languages.
fn all(sh: &Shell) -> Result<Vec<Example>> {
    let in_folder = |folder: &str, endings: &[&str]| -> Result<Vec<PathBuf>> {
        let files = sh.read_dir(folder)?.into_iter();
        let is_source = |file: &PathBuf| file.extension().is_some_and(|of| endings.iter().any(|e| of == *e));
        Ok(files.filter(is_source).collect())
    };
    let name = |file: &PathBuf, is_rust: bool| {
        let name = if is_rust { file.file_stem() } else { file.file_name() };
        name.unwrap_or_default().to_string_lossy().into_owned()
    };
    let mut examples = Vec::new();
    for (folder, endings) in [("examples", &["rs"][..]), ("examples/interpose", &["c", "f90", "py"])] {
        let files = in_folder(folder, endings)?.into_iter().filter(|file| !file.ends_with("build.rs"));
        examples.extend(files.map(|file| Example { name: name(&file, folder == "examples"), file }));
    }
    Ok(examples)
}

impl Example {
    fn is_in_rust(&self) -> bool {
        self.file.extension().is_some_and(|ending| ending == "rs")
    }

    /// Returns the first sentence of the file.
    fn title(&self, sh: &Shell) -> Result<String> {
        let text = sh.read_file(&self.file)?;
        let text = text.replace("\"\"\"", "").replace("/*", "").replace("*/", "");
        let lines = text.lines().map(|line| line.trim().trim_start_matches(['/', '!', '#', '*']).trim());
        let lines = lines.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty());
        let words = lines.collect::<Vec<_>>().join(" ");
        Ok(words.split_once(". ").map_or(words.clone(), |(first, _)| format!("{first}.")))
    }

    fn needs_mpi(&self, sh: &Shell) -> Result<bool> {
        let manifest = sh.read_file("examples/Cargo.toml")?;
        let own = manifest.split("[[bin]]").find(|part| part.contains(&format!("name = \"{}\"", self.name)));
        Ok(own.is_none_or(|part| part.contains("required-features")))
    }

    fn run(&self, sh: &Shell, library: &Library, ranks: usize, arguments: &[String]) -> Result<()> {
        let _environment = library.enter(sh)?;
        if !self.is_in_rust() {
            let preloaded = interpose::build(sh, library)?;
            let program = interpose::example(sh, library, &self.name)?;
            for (title, preloaded) in [("without", None), ("preloaded", Some(&*preloaded))] {
                print!("{title:10} {}", program.run(library, preloaded)?);
            }
            return Ok(());
        }
        let name = &self.name;
        cmd!(sh, "cargo build --release --package dtype-examples --bin {name}").quiet().run()?;
        let program = sh.current_dir().join("target/release").join(name);
        let status = xtask::launch::on_ranks(&library.mpiexec, ranks, program).args(arguments).status();
        let status = status.with_context(|| format!("{} cannot be started", library.mpiexec))?;
        ensure!(status.success(), "{name} failed on {} with {ranks} ranks", library.version);
        Ok(())
    }
}
