//! Structs of compiled programs in C, C++, Fortran and Rust, read from their debug information (DWARF).
//!
//! This module does not parse any language: declarations go through a compiler first (`compiler`). `sections`
//! finds the debug information in a file, `types` finds the structs in it, and `walk` determines what MPI
//! carries of a struct.

mod base;
mod compiler;
mod members;
mod sections;
mod types;
mod walk;

use std::collections::HashSet;

use anyhow::{Context, Result, anyhow, bail};
use dtype_core::{Bounds, Datatype};
use gimli::constants as dw;
use object::FileKind;
use serde::Serialize;

pub(super) use compiler::{Compiled, compile};
use members::describe;
use sections::Sections;
use types::{Found, Types};
use walk::{Described, Refused};

use crate::record::{Language, Record};

/// The selection of a struct and its fields.
pub(super) struct Wanted<'a> {
    pub(super) name: Option<&'a str>,
    /// The file whose structs are listed. If no struct is named, the last one in the file is chosen.
    pub(super) file: Option<&'a str>,
    /// The fields to leave out.
    pub(super) skip: &'a [String],
}

/// A struct of a program, with the reason if MPI cannot carry it.
#[derive(Serialize)]
pub(crate) struct Listed {
    pub(crate) record: Record,
    pub(crate) refused: Option<String>,
    /// The least size of the struct in another order of its fields, and that order, if it saves memory.
    pub(crate) least: Option<(u64, Vec<String>)>,
}

/// Returns `true` if a file is a program, a library, or an object file.
pub(super) fn is_program(file: &[u8]) -> bool {
    use FileKind::{Archive, Elf32, Elf64, MachO32, MachO64, MachOFat32, MachOFat64, Pe32, Pe64};
    let kind = FileKind::parse(file);
    kind.is_ok_and(|kind| {
        matches!(kind, Archive | Elf32 | Elf64 | MachO32 | MachO64 | MachOFat32 | MachOFat64 | Pe32 | Pe64)
    })
}

/// Reads the chosen struct. The inner error names the fields that MPI cannot carry.
pub(super) fn read(file: &[u8], wanted: &Wanted<'_>) -> Result<(Record, Result<Datatype>)> {
    let sections = Sections::load(file)?;
    let dwarf = sections.dwarf();
    let types = Types::load(&dwarf)?;
    let all = types.structs()?;
    let mut skipped: Vec<_> = wanted.skip.iter().map(|path| (path.clone(), false)).collect();
    let Described { record, tree, refused } = types.described(types.chosen(&all, wanted)?, &mut skipped)?;
    if let Some((path, _)) = skipped.iter().find(|(_, is_found)| !is_found) {
        let fields: Vec<_> = record.fields.iter().map(|field| field.name.as_str()).collect();
        bail!("`{}` has no field `{path}` to skip; its fields are {}", record.name, fields.join(", "));
    }
    let datatype = if !refused.is_empty() {
        Err(anyhow!(refusal(&record, &refused)))
    } else if tree.measure()?.entries == 0 {
        Err(anyhow!("`{}` has no data", record.name))
    } else {
        let bounds = Bounds::of_extent(i64::try_from(record.size)?);
        Ok(Datatype { tree, bounds, resized: true })
    };
    Ok((record, datatype))
}

/// Lists the structs whose names contain `wanted.name`, each once.
pub(super) fn list(file: &[u8], wanted: &Wanted<'_>) -> Result<Vec<Listed>> {
    let sections = Sections::load(file)?;
    let dwarf = sections.dwarf();
    let types = Types::load(&dwarf)?;
    let (mut all, mut seen) = (Vec::new(), HashSet::new());
    for found in types.structs()? {
        if wanted.name.is_some_and(|part| !found.name.contains(bare(part))) {
            continue;
        }
        let declared = types.declared(found.place.unit, &types.entry(found.place)?);
        // The struct of `MPI_Status` is the library's own, unless the user asks for it.
        let is_all = wanted.name.is_none() && wanted.file.is_none();
        if is_all && declared.as_ref().is_some_and(|(file, _)| file == "mpi.h") {
            continue;
        }
        // Only C allows different structs of one name in one program.
        let file = declared.filter(|_| types.language(found.place.unit) == Language::C);
        if !seen.insert((found.name.clone(), file, found.line, found.size)) {
            continue;
        }
        let Described { record, refused, .. } = types.described(&found, &mut [])?;
        if wanted.file.is_some_and(|file| !is_declared_in(&record, file)) {
            continue;
        }
        let refused = refused.first().map(short);
        let least = record
            .reordered()
            .map(|better| (better.size, better.fields.into_iter().map(|(field, _)| field.label()).collect()));
        all.push(Listed { record, refused, least });
    }
    if all.is_empty() {
        bail!(
            "the debug information describes no struct{}: compile with `-g`, and use the struct in the \
             program",
            match wanted.name {
                Some(part) => format!(" with `{part}` in its name"),
                None => String::new(),
            }
        );
    }
    Ok(all)
}

/// Returns the message for the parts of a struct that MPI cannot carry.
fn refusal(record: &Record, refused: &[Refused]) -> String {
    const SHOWN: usize = 12;
    let declared = record.declared.as_ref().map(|(file, line)| format!(" ({file}:{line})"));
    let mut lines =
        vec![format!("MPI cannot carry all of `{}`{}:", record.name, declared.unwrap_or_default())];
    for Refused { path, why } in refused.iter().take(SHOWN) {
        let path = if path.is_empty() { "it" } else { &format!("`{path}`") };
        lines.push(format!("  {path} {why}"));
    }
    if refused.len() > SHOWN {
        lines.push(format!("  … and {} more", refused.len() - SHOWN));
    }
    if let Some(Refused { path, .. }) = refused.iter().find(|refused| !refused.path.is_empty()) {
        let is_of = |name: &&str| {
            !name.is_empty()
                && path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let field = record.fields.iter().map(|field| field.name.as_str()).find(is_of).unwrap_or(path);
        lines.push(format!("Exclude fields with `--skip`, as in `--skip {field}`"));
    }
    lines.join("\n")
}

/// Returns a refusal in short form, for a table.
fn short(Refused { path, why }: &Refused) -> String {
    let end = [": ", " (", ", "].iter().filter_map(|mark| why.find(mark)).min();
    let why = &why[..end.unwrap_or(why.len())];
    format!("{path} {why}").trim_start().to_owned()
}

/// Returns a name without the language's keywords around it.
fn bare(name: &str) -> &str {
    let name = name.trim();
    for word in ["struct ", "class ", "union "] {
        if let Some(rest) = name.strip_prefix(word) {
            return rest.trim();
        }
    }
    let of_fortran = name.strip_prefix("type(").and_then(|rest| rest.strip_suffix(')'));
    of_fortran.map_or(name, str::trim)
}

fn is_declared_in(record: &Record, file: &str) -> bool {
    record.declared.as_ref().is_some_and(|(declared, _)| declared == file)
}

impl Types<'_> {
    fn described(&self, found: &Found, skipped: &mut [(String, bool)]) -> Result<Described> {
        let language = self.language(found.place.unit);
        let name = match found.tag {
            dw::DW_TAG_typedef => found.name.clone(),
            tag => Self::title(language, tag, &found.name),
        };
        describe(self, found.place, name, skipped)
    }

    /// Returns the struct that `wanted` selects.
    fn chosen<'f>(&self, all: &'f [Found], wanted: &Wanted<'_>) -> Result<&'f Found> {
        let Some(wanted_name) = wanted.name else { return self.only(all, wanted) };
        let (name, place) = wanted_name.split_once('@').map_or((wanted_name, None), |(n, at)| (n, Some(at)));
        let name = bare(name);
        let is_whole = |found: &&Found| match self.language(found.place.unit) {
            Language::Fortran => found.name.eq_ignore_ascii_case(name),
            _ => found.name == name,
        };
        let is_end = |found: &&Found| {
            let end = found.name.len().checked_sub(name.len());
            end.and_then(|end| found.name.split_at_checked(end)).is_some_and(|(scopes, own)| {
                let is_own = match self.language(found.place.unit) {
                    Language::Fortran => own.eq_ignore_ascii_case(name),
                    _ => own == name,
                };
                is_own && scopes.ends_with("::")
            })
        };
        let mut candidates: Vec<_> = all.iter().filter(is_whole).collect();
        // Users name a Fortran type without its module, so other modules are searched, too.
        let is_fortran = |found: &&Found| self.language(found.place.unit) == Language::Fortran;
        if candidates.is_empty() || place.is_some() || candidates.iter().all(is_fortran) {
            candidates.extend(all.iter().filter(is_end));
        }
        let mut different: Vec<(&Found, Record)> = Vec::new();
        for found in candidates {
            let record = self.described(found, &mut [])?.record;
            let is_there = place.is_none_or(|place| {
                let declared = record.declared.as_ref();
                declared.is_some_and(|(file, line)| file == place || format!("{file}:{line}") == place)
            });
            let is_new =
                |(_, other): &(&Found, Record)| (&other.fields, other.size) != (&record.fields, record.size);
            if is_there && different.iter().all(is_new) {
                different.push((found, record));
            }
        }
        match different.len() {
            0 => bail!(unknown(all, wanted_name, name)),
            1 => Ok(different[0].0),
            _ => {
                let mut lines = vec![format!("more than one struct is called `{name}`; choose one, as in")];
                for (_, record) in &different {
                    let at = record.declared.as_ref();
                    let at = at.map_or("?".to_owned(), |(file, line)| format!("{file}:{line}"));
                    lines.push(format!("  '{name}@{at}', {} of {} bytes", record.name, record.size));
                }
                bail!(lines.join("\n"))
            }
        }
    }

    /// Returns the struct to use if `wanted` names none: the last one that `wanted.file` declares, or without
    /// a file the only one.
    fn only<'f>(&self, all: &'f [Found], wanted: &Wanted<'_>) -> Result<&'f Found> {
        if let Some(file) = wanted.file {
            let mut last: Option<(u64, &Found)> = None;
            for found in all {
                let declared = self.declared(found.place.unit, &self.entry(found.place)?);
                if let Some((_, line)) = declared.filter(|(declared, _)| declared == file)
                    && last.is_none_or(|(last, _)| last <= line)
                {
                    last = Some((line, found));
                }
            }
            return last.map(|(_, found)| found).context("the file declares no struct");
        }
        match all {
            [] => bail!("its debug information describes no struct"),
            [found] => Ok(found),
            _ => bail!(
                "it has {} structs: choose one with `--name`; `dtype struct FILE` lists them",
                all.len()
            ),
        }
    }
}

/// Returns the message for a name that no struct has.
fn unknown(all: &[Found], wanted: &str, name: &str) -> String {
    let (small, mut near) = (name.to_lowercase(), Vec::new());
    for found in all {
        if found.name.to_lowercase().contains(&small) && !near.contains(&&found.name) && near.len() < 6 {
            near.push(&found.name);
        }
    }
    let near: Vec<_> = near.into_iter().map(|name| format!("`{name}`")).collect();
    let near = if near.is_empty() {
        "`dtype struct FILE` lists the structs".to_owned()
    } else {
        format!("similar names are {}", near.join(", "))
    };
    format!(
        "the debug information describes no struct `{wanted}`; {near}. Compilers leave out unused structs"
    )
}
