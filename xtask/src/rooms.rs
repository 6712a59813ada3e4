//! The folders that the folders of a crate may use, as ARCHITECTURE.md says: the table of section 4, and the
//! order of the files of the preloaded library.

use std::collections::{BTreeMap, BTreeSet};

/// The path of a module within its crate: `["layout", "view"]`.
pub(crate) type Module = Vec<String>;

/// The modules that each module uses.
pub(crate) type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// The beginning of the list of files of which each uses only earlier ones, up to the folder.
const ORDERED: [&str; 2] = ["In `", "` each file uses only earlier ones of this list:"];

/// The folders that a folder may use; `None` for all.
type Allowed = Option<BTreeSet<Module>>;

/// Returns what a crate uses against the page. `name` is the folder of the crate, and `uses` the modules that
/// each of its modules uses.
pub(crate) fn faults(page: &str, name: &str, uses: &Uses) -> Vec<String> {
    let (table, order) = (table(page, name), order(page, name));
    let pairs = || uses.iter().flat_map(|(module, used)| used.iter().map(move |used| (module, used)));
    let shown = |module: &Module| if module.is_empty() { "root".to_owned() } else { module.join("/") };
    let by_table = pairs().filter_map(|(module, used)| {
        let (folder, other) = (folder_of(&table, module)?, folder_of(&table, used)?);
        let Some(allowed) = &table[folder] else { return None };
        let message = || {
            let (folder, other) = (shown(folder), shown(other));
            let (module, used) = (module.join("/"), used.join("/"));
            format!("{name}: {module} uses {used}; in ARCHITECTURE.md, {folder} does not use {other}")
        };
        (folder != other && !allowed.contains(other)).then(message)
    });
    let place = |module: &Module| order.iter().position(|file| module.first() == Some(file));
    let by_order = pairs().filter_map(|(module, used)| {
        let (own, other) = place(module).zip(place(used))?;
        let message = || format!("{name}: {} uses {}, which is later", module.join("/"), used.join("/"));
        (other > own).then(message)
    });
    by_table.chain(by_order).collect()
}

/// Returns the rows of the table for the folders of a crate.
fn table(page: &str, name: &str) -> BTreeMap<Module, Allowed> {
    let rows = page.lines().filter_map(|line| {
        let cells: Vec<_> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        let [folders, _, uses] = cells[..] else { return None };
        Some((folders, uses))
    });
    let mut table = BTreeMap::new();
    for (folders, uses) in rows {
        for folder in folders.split('`').skip(1).step_by(2) {
            let within = if folder == name { Some("") } else { folder.strip_prefix(&format!("{name}/")) };
            if let Some(within) = within {
                table.insert(path(within), allowed(uses));
            }
        }
    }
    table
}

/// Returns the folders that a cell of the table names.
fn allowed(uses: &str) -> Allowed {
    let names = || uses.split(", ").filter(|name| !name.is_empty());
    (uses != "all").then(|| names().map(|name| path(if name == "root" { "" } else { name })).collect())
}

fn path(text: &str) -> Module {
    text.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns the innermost folder with a row that a module is in.
fn folder_of<'t>(table: &'t BTreeMap<Module, Allowed>, module: &Module) -> Option<&'t Module> {
    (0..=module.len()).rev().find_map(|length| table.get_key_value(&module[..length])).map(|(key, _)| key)
}

/// Returns the files of a crate in the order of its list, if the page has one.
fn order(page: &str, name: &str) -> Vec<String> {
    let [before, behind] = ORDERED;
    let begin = format!("{before}{name}{behind}");
    let list = page.split_once(&begin).map_or("", |(_, rest)| rest);
    let list = list.split_once("\n\n").map_or(list, |(list, _)| list);
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_that_the_page_does_not_allow_are_found() {
        let page = "| folder | what | uses |\n|---|---|---|\n| `a/src` | x | |\n| `a/src/low` | y | root |\n\
                    | `a/src/high`, `a/src/higher` | z | root, low |\n| `a/src/high/top` | z | all |\n\n\
                    In `a/src` each file uses only earlier ones of this list: `one`,\n`two`; then \
                    `low`.\n\n`six`";
        let uses = |pairs: &[(&str, &str)]| {
            pairs.iter().fold(Uses::new(), |mut uses, (from, to)| {
                uses.entry(path(from)).or_default().insert(path(to));
                uses
            })
        };
        let right = [
            ("low/x", "one"),
            ("high/x", "low"),
            ("high/x", "two"),
            ("high/top/x", "higher"),
            ("two", "one"),
        ];
        assert_eq!(faults(page, "a/src", &uses(&right)), [""; 0]);
        let wrong = [("low/x", "high/y"), ("one", "low"), ("higher", "high/top/x"), ("one", "two")];
        let found = faults(page, "a/src", &uses(&wrong));
        assert_eq!(
            found[0],
            "a/src: higher uses high/top/x; in ARCHITECTURE.md, higher does not use high/top"
        );
        assert_eq!(found[1], "a/src: low/x uses high/y; in ARCHITECTURE.md, low does not use high");
        assert_eq!(found[2], "a/src: one uses low; in ARCHITECTURE.md, root does not use low");
        assert_eq!(
            found[3..],
            ["a/src: one uses low, which is later", "a/src: one uses two, which is later"]
        );
        assert_eq!(order(page, "b/src"), [""; 0]);
    }
}
