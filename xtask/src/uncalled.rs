//! The check that tests call every public function of `dtype-runtime`: each function of its documentation
//! has a symbol in a test program. A linker keeps only functions that something refers to, and a generic
//! function exists only where it is used.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

/// The type or the trait of a function, and its name. The first is empty for a function of a module.
type Function = (String, String);

/// Checks that each function in the documentation of a crate, a folder, has a symbol in one of the programs.
pub(crate) fn check(sh: &Shell, documentation: &Path, programs: &[PathBuf]) -> Result<()> {
    let mut called = BTreeSet::new();
    for program in programs {
        let symbols = cmd!(sh, "nm --demangle --defined-only {program}").quiet().read()?;
        for (owner, name) in symbols.lines().filter_map(function_of) {
            called.insert((String::new(), name.clone()));
            called.insert((owner, name));
        }
    }
    let mut public = BTreeSet::new();
    add_functions(documentation, &mut public)?;
    ensure!(!public.is_empty(), "{}: no functions are documented there", documentation.display());
    let uncalled: Vec<_> =
        public.difference(&called).map(|(owner, name)| format!("{owner}::{name}")).collect();
    ensure!(uncalled.is_empty(), "no test calls these public functions: {}", uncalled.join(", "));
    println!("{} public functions are called in {} test programs", public.len(), programs.len());
    Ok(())
}

/// Returns the programs that `cargo test` with these arguments would run, and builds those that are missing.
pub(crate) fn programs(sh: &Shell, arguments: &[&str]) -> Result<Vec<PathBuf>> {
    let format = ["--no-run", "--message-format=json-render-diagnostics"];
    let command = cmd!(sh, "cargo test --quiet {format...} {arguments...}").quiet();
    let output = Command::from(command).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the tests could not be built");
    let text = String::from_utf8(output.stdout).context("cargo's messages")?;
    let programs = text.lines().filter_map(|line| line.split_once("\"executable\":\"")?.1.split('"').next());
    Ok(programs.map(PathBuf::from).collect())
}

/// Returns the function of a line of `nm`, such as `0a T dtype_runtime::comm::File::open::h0123456789abcdef`.
fn function_of(line: &str) -> Option<Function> {
    let symbol = line.splitn(3, ' ').nth(2)?;
    let is_hash = |text: &str| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let symbol = symbol.rsplit_once("::h").filter(|(_, hash)| is_hash(hash)).map_or(symbol, |(name, _)| name);
    // `a::b::<impl c::Type<T>>::call` is a method of a type of another module.
    let symbol = symbol.split_once("<impl ").map_or(symbol, |(_, of)| of);
    let (mut plain, mut depth) = (String::new(), 0u32);
    for c in symbol.replace("->", "").chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    let mut names = plain.rsplit("::").filter(|name| !name.is_empty());
    let (name, owner) = (names.next()?, names.next()?);
    Some((owner.to_owned(), name.to_owned()))
}

/// Adds the functions that the pages of a folder document: methods of types, provided methods of traits, and
/// functions of modules. Leaves out functions in constants, which the compiler runs.
fn add_functions(folder: &Path, functions: &mut BTreeSet<Function>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            add_functions(&path, functions)?;
            continue;
        }
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((kind, name)) = file.strip_suffix(".html").and_then(|file| file.split_once('.')) else {
            continue;
        };
        match kind {
            "struct" | "enum" | "trait" => {
                let page = fs::read_to_string(&path)?;
                functions.extend(methods(&page).map(|method| (name.to_owned(), method.to_owned())));
            }
            // Its page is where it is re-exported, so the module of its symbol may be another one.
            "fn" => drop(functions.insert((String::new(), name.to_owned()))),
            _ => {}
        }
    }
    Ok(())
}

/// Returns the methods of the runtime on the page of a type or a trait, without those of traits that the type
/// implements.
fn methods(page: &str) -> impl Iterator<Item = &str> {
    const FURTHER: [&str; 5] = ["trait-", "synthetic-", "blanket-", "deref-methods", "foreign-impls"];
    let ends = FURTHER.iter().filter_map(|section| page.find(&format!("<h2 id=\"{section}")));
    let own = &page[..ends.min().unwrap_or(page.len())];
    own.split("id=\"method.").skip(1).filter_map(|method| {
        let (name, header) = method.split_once('"')?;
        let header = header.split("class=\"fn\"").next()?;
        let is_checked = header.contains("src/dtype_runtime/") && !header.contains("const");
        // The second method of a name, in another `impl`, has a number.
        is_checked.then(|| name.split('-').next().unwrap_or(name))
    })
}

#[cfg(test)]
mod tests {
    use super::{function_of, methods};

    #[test]
    fn functions_are_read_from_symbols() {
        let is = |line: &str, owner: &str, name: &str| {
            assert_eq!(function_of(line), Some((owner.to_owned(), name.to_owned())), "{line}");
        };
        is("0a T dtype_runtime::comm::file::File::open::h0123456789abcdef", "File", "open");
        is("0a t dtype_runtime::comm::Prepared<M,Sc>::is_done", "Prepared", "is_done");
        is("0a T dtype_runtime::comm::file::<impl dtype_runtime::comm::handle::File>::at", "File", "at");
        is("0a t dtype_runtime::View<L>::get::<alloc::vec::Vec<f64>>", "View", "get");
        is("0a t dtype_runtime::comm::halo::<impl dtype_runtime::layout::Halo<_>>::on", "Halo", "on");
    }

    #[test]
    fn methods_are_read_from_pages() {
        let method = |name: &str, file: &str, front: &str| {
            format!(
                "<section id=\"method.{name}\"><a href=\"src/{file}\">{front} fn <a class=\"fn\">{name}</a>"
            )
        };
        let [open, drop] = ["open", "drop"].map(|name| method(name, "dtype_runtime/a.rs", "pub"));
        let constant = method("new", "dtype_runtime/a.rs", "pub const");
        let elsewhere = method("len", "dtype_core/a.rs", "pub");
        let page = &format!("{open}{constant}{elsewhere}<h2 id=\"trait-implementations\">{drop}");
        assert_eq!(methods(page).collect::<Vec<_>>(), ["open"]);
    }
}
