//! The house: which file of a crate uses which, and that it stays one way; and how long lines are.
//!
//! No two folders of a crate may use each other, however far round, and no more than two files of one folder.
//! A file uses another one where a path leads there, in `use` lines or in code, also by way of a re-export.
//! What a file re-exports from below itself it does not use; nor do its tests count.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, Result, bail};
use syn::{
    Attribute, Item, ItemMod, ItemUse, Macro, UseTree, Visibility,
    visit::{self, Visit},
};

/// Where something is among the modules of its crate: `["layout", "view"]`.
type Module = Vec<String>;

/// What uses what.
type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// Checks the crates in these folders.
pub(crate) fn check(root: &Path, crates: &[&str]) -> Result<()> {
    for name in crates {
        let files = uses(&root.join(name).join("src"))?;
        let mut folders = Uses::new();
        for (from, to) in files.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to))) {
            if from.first() != to.first() {
                let folder = |module: &Module| module.iter().take(1).cloned().collect();
                folders.entry(folder(from)).or_default().insert(folder(to));
            }
        }
        let circles_of = |uses, most| circles(uses).into_iter().filter(move |circle| circle.len() > most);
        if let Some(circle) = circles_of(&folders, 1).chain(circles_of(&files, 2)).next() {
            let names: Vec<_> = circle.iter().map(|module| module.join("/")).collect();
            bail!("{name}: {} use each other; DESIGN.md says which way is down", names.join(", "));
        }
    }
    Ok(())
}

/// Checks that no line of code or comment is longer than rustfmt's, which leaves alone what it cannot break:
/// only JSON in raw strings may be.
pub(crate) fn check_lines(folder: &Path) -> Result<()> {
    const MOST: usize = 110;
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // What must not compile stays as its message shows it.
        if path.is_dir() && name != "target" && name != "ui" && !name.starts_with('.') {
            check_lines(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "c") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let is_long = |line: &str| line.chars().count() > MOST && !line.contains("r#\"");
            if let Some(i) = text.lines().position(is_long) {
                bail!("{}, line {}: more than {MOST} columns", path.display(), i + 1);
            }
        }
    }
    Ok(())
}

/// What the files of a crate use of each other.
fn uses(source: &Path) -> Result<Uses> {
    let mut paths = BTreeMap::new();
    read(source, &Module::new(), &mut paths)?;
    let known: BTreeSet<Module> = paths.keys().cloned().collect();
    // A re-export may be one of a re-export.
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
        // The root re-exports all, and is used by none but what is written for users.
        all.entry(module.clone()).or_default().extend(used.filter(|target| !target.is_empty()));
    }
    all.remove(&Module::new());
    Ok(all)
}

/// The file that a path leads into.
fn resolve(path: &[String], known: &BTreeSet<Module>, exports: &BTreeMap<Module, Module>) -> Module {
    let mut module = Module::new();
    for name in path {
        module.push(name.clone());
        if let Some(target) = exports.get(&module) {
            return target.clone();
        }
        if !known.contains(&module) {
            module.pop();
            break;
        }
    }
    module
}

/// Reads the files of a folder.
fn read(folder: &Path, module: &Module, paths: &mut BTreeMap<Module, Paths>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            read(&path, &[module.as_slice(), &[name]].concat(), paths)?;
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
    /// Where in the file the visit is.
    module: Module,
    used: BTreeSet<Module>,
    exported: BTreeSet<Module>,
}

impl Paths {
    /// A path from the root of the crate, if it is one of this crate's: names of children are, as far as can
    /// be seen here.
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

    /// What a macro is given is not parsed: its paths from the root are found all the same.
    fn visit_macro(&mut self, item: &'a Macro) {
        let tokens = item.tokens.to_string().replace(' ', "");
        for path in tokens.split("crate::").skip(1) {
            let end = path.find(|c: char| !c.is_alphanumeric() && !"_:".contains(c)).unwrap_or(path.len());
            let names = ["crate"].into_iter().chain(path[..end].split("::"));
            self.note(&names.map(str::to_owned).collect::<Module>(), false);
        }
    }
}

/// Those that lead back to themselves, each circle with all that it joins.
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

/// All that a module leads to.
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
