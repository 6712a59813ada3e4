//! Structs of compiled programs in C, C++, Fortran and Rust, read from their debug information (DWARF).
//!
//! This module does not parse any language: declarations go through a compiler first (`compiler`). `sections`
//! finds the debug information in a file, `names` finds the structs in it, `choice` takes one of them, and
//! `walk` determines what MPI carries of it.

mod base;
mod choice;
mod compiler;
mod members;
mod names;
mod sections;
mod types;
mod walk;

use std::collections::HashSet;

use anyhow::{Result, anyhow, bail};
use dtype_core::{Bounds, Datatype};
use gimli::constants as dw;
use object::FileKind;
use serde::Serialize;

pub(crate) use choice::Wanted;
use choice::{bare, squeezed};
pub(super) use compiler::{Compiled, compile, is_of_cxx};
use members::describe;
use names::Found;
use sections::Sections;
use types::Types;
use walk::{Described, Refused};

use crate::record::{Language, Record};

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
    let chosen = types.chosen(&types.names()?, wanted)?;
    let mut skipped: Vec<_> = wanted.skip.iter().map(|path| (path.clone(), false)).collect();
    let Described { record, tree, refused } = types.described(&chosen, &mut skipped)?;
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
    let part = wanted.name.map(|part| squeezed(bare(part)));
    for found in types.named_with(part.as_deref())? {
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
        match wanted.name {
            Some(part) => bail!("no struct has `{part}` in its name"),
            None => bail!(types.nothing(wanted)?),
        }
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

fn is_declared_in(record: &Record, file: &str) -> bool {
    record.declared.as_ref().is_some_and(|(declared, _)| declared == file)
}

impl Types<'_> {
    /// Returns the structs whose names have this part. If only a `typedef` has it, the struct comes under
    /// that name.
    fn named_with(&self, part: Option<&str>) -> Result<Vec<Found>> {
        let names = self.names()?;
        let Some(part) = part else { return Ok(names.structs) };
        let has_part = |name: &str| squeezed(name).contains(part);
        let mut all: Vec<_> = names.structs.into_iter().filter(|found| has_part(&found.name)).collect();
        let mut places: HashSet<_> = all.iter().map(|found| found.place).collect();
        for named in names.others.iter().filter(|named| has_part(&named.name)) {
            if let Some(found) = self.struct_behind(named)?
                && places.insert(found.place)
            {
                all.push(found);
            }
        }
        Ok(all)
    }

    fn described(&self, found: &Found, skipped: &mut [(String, bool)]) -> Result<Described> {
        let language = self.language(found.place.unit);
        let name = match found.tag {
            dw::DW_TAG_typedef => found.name.clone(),
            tag => Self::title(language, tag, &found.name),
        };
        describe(self, found.place, name, skipped)
    }
}
