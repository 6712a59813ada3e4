//! The house check: files use each other without cycles, in every crate, and as the table of ARCHITECTURE.md
//! says; no line is too long; the first line
//! of a doc comment is a statement; the runtime calls MPI only with the proof that MPI is usable; paths,
//! commands and calls in the documents exist; and their Rust code is compiled.
//!
//! No files of a crate may use each other in a circle (a cycle of any length). A file uses another one if a
//! path in a `use` line or in code leads to it, also through a re-export. A module that re-exports its own
//! children does not use them. Uses in tests are ignored.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use syn::{
    Attribute, Item, ItemMod, ItemUse, Macro, UseTree, Visibility,
    visit::{self, Visit},
};

use crate::{
    documents,
    rooms::{self, Module, Uses},
};

/// The names of the first file of a crate.
const ROOTS: [&str; 2] = ["lib.rs", "main.rs"];

/// The largest number of lines of a file, in the folders of [`SHORT`].
const LINES: usize = 560;

/// The folders whose files are short.
const SHORT: [&str; 4] = ["dtype-engine/src", "dtype-interpose/src", "dtype-mpi/src", "dtype-runtime/src"];

/// Checks every crate below a folder, and reports all faults at once.
pub(crate) fn check(root: &Path) -> Result<()> {
    let mut files = Vec::new();
    sources(root, &mut files)?;
    let mut faults = Vec::new();
    let known = documents::Known::read(root)?;
    for path in &files {
        if path.extension().is_some_and(|extension| extension == "md") {
            let of_document = known.faults(path)?;
            faults.extend(of_document.iter().map(|fault| format!("{}:{fault}", shown(root, path))));
            continue;
        }
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let faults_at = |line: usize, fault: String| format!("{}:{line}: {fault}", shown(root, path));
        faults.extend(long_lines(&text).map(|line| faults_at(line, format!("more than {MOST} columns"))));
        faults.extend(oblique_docs(&text).map(|(line, word)| {
            faults_at(line, format!("a doc comment begins with `{word}`: begin with a verb or a noun"))
        }));
        let lines = text.lines().count();
        if lines > LINES && SHORT.iter().any(|folder| path.starts_with(root.join(folder))) {
            faults
                .push(faults_at(lines, format!("a file of more than {LINES} lines: divide it by its jobs")));
        }
        let is_checked =
            path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with(CALLS);
        if is_checked && PROVING.iter().any(|folder| path.starts_with(root.join(folder))) {
            faults.extend(unproven_calls(&text).map(|(line, name)| {
                faults_at(line, format!("`{name}` is called without `Usable`: see {CALLS}"))
            }));
        }
    }
    let is_root = |path: &&PathBuf| ROOTS.iter().any(|root| path.ends_with(root));
    let crates: BTreeSet<_> = files.iter().filter(is_root).filter_map(|path| path.parent()).collect();
    ensure!(!crates.is_empty(), "{}: no crate below this folder", root.display());
    let map = fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    for source in crates {
        let name = shown(root, source);
        let uses = uses(source)?;
        faults.extend(rooms::faults(&map, &name, &uses));
        faults.extend(circles(&uses).iter().map(|circle| {
            let names: Vec<_> = circle.iter().map(|module| module.join("/")).collect();
            format!(
                "{name}: the files {} use each other; ARCHITECTURE.md says which may use which",
                names.join(", ")
            )
        }));
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

/// Collects the files in Rust and C and the documents below a folder, except build outputs and cases that
/// must not compile.
pub(crate) fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "target" && name != "ui" && !name.starts_with('.') {
            sources(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|extension| ["rs", "c", "md"].iter().any(|kind| extension == *kind))
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

/// The largest number of columns of a line.
const MOST: usize = 110;

/// Returns the numbers of the lines that are too long. rustfmt does not break comments and strings. JSON in
/// raw strings may be longer.
fn long_lines(text: &str) -> impl Iterator<Item = usize> {
    let is_long = |(_, line): &(usize, &str)| line.chars().count() > MOST && !line.contains("r#\"");
    text.lines().enumerate().filter(is_long).map(|(i, _)| i + 1)
}

/// Returns the first lines of doc comments, and of their sections, that are not statements: the number of
/// each line, and the word that it begins with.
fn oblique_docs(text: &str) -> impl Iterator<Item = (usize, &'static str)> {
    const WORDS: [&str; 7] = ["What", "Whether", "How", "Where", "That", "Those", "The same"];
    let mut begins = true;
    text.lines().enumerate().filter_map(move |(i, line)| {
        let line = line.trim_start();
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim_start);
        let is_first = std::mem::replace(&mut begins, doc.is_none_or(|doc| doc.starts_with("# ")));
        let doc = doc.filter(|_| is_first)?;
        let word =
            WORDS.iter().find(|word| doc.strip_prefix(**word).is_some_and(|rest| rest.starts_with(' ')));
        word.map(|word| (i + 1, *word))
    })
}

/// The folders in which functions of MPI are called as methods of `Usable`, the proof that MPI is usable.
const PROVING: [&str; 2] = ["dtype-mpi/src", "dtype-runtime/src"];

/// The file of these methods.
const CALLS: &str = "dtype-mpi/src/calls.rs";

/// Returns the calls of MPI functions that are no method calls: the number of each line, and the name. The
/// functions that tell whether MPI is usable need no proof.
fn unproven_calls(text: &str) -> impl Iterator<Item = (usize, &str)> {
    const FREE: [&str; 2] = ["MPI_Initialized", "MPI_Finalized"];
    text.lines().enumerate().flat_map(|(i, line)| {
        let code = if line.trim_start().starts_with("//") { "" } else { line };
        let calls = code.match_indices("MPI_").filter_map(move |(start, _)| {
            let name = &code[start..];
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_')?;
            let is_function = name[4..end].contains(char::is_lowercase) && name[end..].starts_with('(');
            let is_path = code[..start].ends_with("::") || !code[..start].ends_with('.');
            (is_function && is_path && !FREE.contains(&&name[..end])).then_some((i + 1, &name[..end]))
        });
        calls.collect::<Vec<_>>()
    })
}

/// Shows a path as seen from the root of the repository.
fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

/// Returns the modules that each module of a crate uses.
fn uses(source: &Path) -> Result<Uses> {
    let mut paths = BTreeMap::new();
    read(source, &Module::new(), &mut paths)?;
    let known: BTreeSet<Module> = paths.keys().cloned().collect();
    // A re-export may lead to another re-export, so the exports are resolved in several rounds.
    let mut exports: BTreeMap<Module, Module> = BTreeMap::new();
    for _ in 0..3 {
        for (module, found) in &paths {
            for path in &found.exported {
                let (Some(name), target) = (path.last(), resolve(path, &known, &exports)) else { continue };
                exports.insert([module.as_slice(), std::slice::from_ref(name)].concat(), target);
            }
        }
    }
    let mut all = Uses::new();
    for (module, found) in &paths {
        let used = found.used.iter().chain(found.exported.iter().filter(|path| !path.starts_with(module)));
        let used = used.map(|path| resolve(path, &known, &exports)).filter(|target| target != module);
        // Uses of the root are ignored: it re-exports everything, and only code for users takes paths through
        // it.
        all.entry(module.clone()).or_default().extend(used.filter(|target| !target.is_empty()));
    }
    all.remove(&Module::new());
    Ok(all)
}

/// Returns the file that a path leads into. A module takes precedence over a re-export of the same name,
/// because a macro or a type may have the name of a module.
fn resolve(path: &[String], known: &BTreeSet<Module>, exports: &BTreeMap<Module, Module>) -> Module {
    let mut module = Module::new();
    for name in path {
        module.push(name.clone());
        if known.contains(&module) {
            continue;
        }
        if let Some(target) = exports.get(&module) {
            return target.clone();
        }
        module.pop();
        break;
    }
    module
}

/// Reads the files of a crate. Folders of programs, and folders that are crates themselves, are left out.
fn read(folder: &Path, module: &Module, paths: &mut BTreeMap<Module, Paths>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            let is_crate = name == "bin" || ROOTS.iter().any(|root| path.join(root).exists());
            if !is_crate {
                read(&path, &[module.as_slice(), &[name]].concat(), paths)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "snapshots" {
            let is_front = ["lib", "main", "mod"].contains(&&*name);
            let module = if is_front { module.clone() } else { [module.as_slice(), &[name]].concat() };
            let file =
                syn::parse_file(&fs::read_to_string(&path)?).with_context(|| path.display().to_string())?;
            let mut found = Paths { module: module.clone(), ..Paths::default() };
            found.visit_file(&file);
            paths.insert(module, found);
        }
    }
    Ok(())
}

/// The paths in a file, from the root of the crate.
#[derive(Default)]
struct Paths {
    /// The module that is visited.
    module: Module,
    used: BTreeSet<Module>,
    exported: BTreeSet<Module>,
}

impl Paths {
    /// Returns the path from the root of the crate. A path that does not begin with `crate` or `super` is
    /// taken for the path of a child module.
    fn absolute(&self, path: &[String]) -> Option<Module> {
        let first = path.first()?.as_str();
        let mut module = if first == "crate" { Module::new() } else { self.module.clone() };
        for name in path {
            match name.as_str() {
                "super" => drop(module.pop()),
                "crate" | "self" => {}
                name => module.push(name.to_owned()),
            }
        }
        Some(module)
    }

    fn note(&mut self, path: &[String], is_exported: bool) {
        let absolute = self.absolute(path);
        if is_exported { &mut self.exported } else { &mut self.used }.extend(absolute);
    }

    fn tree(&mut self, tree: &UseTree, before: &mut Module, is_exported: bool) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(&path.tree, before, is_exported);
                before.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(tree, before, is_exported)),
            UseTree::Name(name) if name.ident == "self" => self.note(before, is_exported),
            UseTree::Name(name) => {
                self.note(&[before.as_slice(), &[name.ident.to_string()]].concat(), is_exported);
            }
            UseTree::Rename(name) => {
                self.note(&[before.as_slice(), &[name.ident.to_string()]].concat(), is_exported);
            }
            UseTree::Glob(_) => self.note(before, is_exported),
        }
    }
}

impl<'a> Visit<'a> for Paths {
    fn visit_item(&mut self, item: &'a Item) {
        let attributes: &[Attribute] = match item {
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => &[],
        };
        let is_test = |attribute: &Attribute| {
            attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
        };
        if !attributes.iter().any(is_test) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        if item.leading_colon.is_none() {
            self.tree(&item.tree, &mut Module::new(), !matches!(item.vis, Visibility::Inherited));
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: Module = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if path.leading_colon.is_none() && names.len() > 1 {
            self.note(&names, false);
        }
        visit::visit_path(self, path);
    }

    /// Finds the paths from the root in the tokens of a macro call, which are not parsed.
    fn visit_macro(&mut self, item: &'a Macro) {
        let tokens = item.tokens.to_string().replace(' ', "");
        for path in tokens.split("crate::").skip(1) {
            let end = path.find(|c: char| !c.is_alphanumeric() && !"_:".contains(c)).unwrap_or(path.len());
            let names = ["crate"].into_iter().chain(path[..end].split("::"));
            self.note(&names.map(str::to_owned).collect::<Module>(), false);
        }
    }
}

/// Returns the circles, each as the set of its modules.
fn circles(uses: &Uses) -> Vec<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        uses.keys().map(|from| (from, reach(uses, from))).collect();
    let with = |from: &&Module| -> BTreeSet<Module> {
        let back = |to: &&&Module| reached.get(**to).is_some_and(|further| further.contains(*from));
        reached[*from].iter().filter(back).map(|module| (*module).clone()).collect()
    };
    let circles: BTreeSet<_> = reached.keys().map(with).filter(|circle| circle.len() > 1).collect();
    circles.into_iter().collect()
}

/// Returns all modules that a module uses, directly or not.
fn reach<'a>(uses: &'a Uses, from: &'a Module) -> BTreeSet<&'a Module> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        next.extend(uses.get(module).into_iter().flatten().filter(|to| reached.insert(*to)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_with_all_that_they_join() {
        let module = |name: &str| vec![name.to_owned()];
        let uses = |pairs: &[(&str, &str)]| {
            pairs.iter().fold(Uses::new(), |mut uses, (from, to)| {
                uses.entry(module(from)).or_default().insert(module(to));
                uses
            })
        };
        assert!(circles(&uses(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
        let round = uses(&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")]);
        assert_eq!(circles(&round), [["a", "b", "c"].map(module).into_iter().collect()]);
    }

    #[test]
    fn doc_comments_that_are_no_statements_are_found() {
        let text = "//! Whether.\n/// Whatever it is.\n/// What follows.\nfn f() {}\n    /// What it is.\n";
        assert_eq!(oblique_docs(text).collect::<Vec<_>>(), [(5, "What")]);
        let errors = "/// Packs.\n///\n/// # Errors\n/// Those of others.\n/// That is all.\n";
        assert_eq!(oblique_docs(errors).collect::<Vec<_>>(), [(4, "Those")]);
    }

    #[test]
    fn calls_of_mpi_without_its_proof_are_found() {
        let text = "// ffi::MPI_Send(a)\nlet code = ffi::MPI_Send(a);\nlet code = mpi.MPI_Send(a);\n\
                    let of: MPI_Comm = RSMPI_COMM_WORLD; unsafe { MPI_Win_free(a) }\nffi::MPI_Finalized(a);\n\
                    call(\"MPI_Wait\", MPI_Request_free, MPI_SUCCESS(1))\n";
        assert_eq!(unproven_calls(text).collect::<Vec<_>>(), [(2, "MPI_Send"), (4, "MPI_Win_free")]);
    }

    #[test]
    fn a_module_wins_over_a_re_export_of_its_name() {
        let path = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Module>();
        let known = BTreeSet::from([path(&["layout"]), path(&["layout", "list"]), path(&["derive"])]);
        let exports =
            BTreeMap::from([(path(&["layout"]), path(&["derive"])), (path(&["View"]), path(&["layout"]))]);
        let leads_to = |names| resolve(&path(names), &known, &exports);
        assert_eq!(leads_to(&["layout", "list", "List"]), path(&["layout", "list"]));
        assert_eq!(leads_to(&["layout"]), path(&["layout"]));
        assert_eq!(leads_to(&["View", "of"]), path(&["layout"]));
    }

    #[test]
    fn what_a_file_uses_is_read_from_use_lines_code_and_macros() {
        let file = "use super::{a::A, b}; pub use crate::c::C; mod inner { use super::super::d::D; }
            fn f() -> crate::e::E { println!(\"{}\", crate::g::G); b::B } #[cfg(test)] mod tests { use \
                    crate::h; }";
        let mut found = Paths { module: vec!["room".into(), "file".into()], ..Paths::default() };
        found.visit_file(&syn::parse_file(file).unwrap());
        let joined = |paths: &BTreeSet<Module>| paths.iter().map(|path| path.join("/")).collect::<Vec<_>>();
        assert_eq!(joined(&found.exported), ["c/C"]);
        let used = ["e/E", "g/G", "room/a/A", "room/b", "room/d/D", "room/file/b/B"];
        assert_eq!(joined(&found.used), used);
    }
}
