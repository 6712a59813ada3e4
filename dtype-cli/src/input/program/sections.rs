//! The debug information of a file: its sections, decompressed and, in an object file, relocated.

use std::borrow::Cow;

use anyhow::{Context, Result, bail};
use gimli::{DwarfSections, SectionId};
use object::{File, FileKind, Object, ObjectKind, ObjectSection, RelocationMap, Section};

/// The debug sections of a file, which a [`Dwarf`] borrows.
pub(super) struct Sections<'a> {
    sections: DwarfSections<Cow<'a, [u8]>>,
    endian: gimli::RunTimeEndian,
}

pub(super) type Slice<'a> = gimli::EndianSlice<'a, gimli::RunTimeEndian>;
pub(super) type Dwarf<'a> = gimli::Dwarf<Slice<'a>>;

impl<'a> Sections<'a> {
    pub(super) fn load(file: &'a [u8]) -> Result<Self> {
        if FileKind::parse(file).is_ok_and(|kind| kind == FileKind::Archive) {
            bail!(
                "this is an archive: give one of its object files (extract it with `ar x`), or a program \
                 that contains it"
            );
        }
        let object = File::parse(file).context("this is not a program in a known format")?;
        let endian =
            if object.is_little_endian() { gimli::RunTimeEndian::Little } else { gimli::RunTimeEndian::Big };
        if object.section_by_name(SectionId::DebugInfo.name()).is_none() {
            let elsewhere = match object.gnu_debuglink() {
                Ok(Some((name, _))) => format!("; it is in `{}`", String::from_utf8_lossy(name)),
                _ if object.section_by_name(".debug_info.dwo").is_some() => {
                    ": it is split; compile without `-gsplit-dwarf`".to_owned()
                }
                _ => ": compile with `-g`, and do not `strip`".to_owned(),
            };
            bail!("it has no debug information (DWARF){elsewhere}");
        }
        let sections = DwarfSections::load(|id| section(&object, id))?;
        Ok(Self { sections, endian })
    }

    pub(super) fn dwarf(&self) -> Dwarf<'_> {
        let mut dwarf = self.sections.borrow(|section| Slice::new(section, self.endian));
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        dwarf
    }
}

/// Returns the bytes of a section, or no bytes if the section does not exist.
fn section<'a>(object: &File<'a>, id: SectionId) -> Result<Cow<'a, [u8]>> {
    if object.kind() != ObjectKind::Relocatable {
        let Some(section) = object.section_by_name(id.name()) else { return Ok(Cow::Borrowed(&[])) };
        return section.uncompressed_data().with_context(|| id.name());
    }
    // An object file may have several sections of one name, each with its own units. In some formats the
    // sections have other names, which `section_by_name` knows.
    let (mut all, is_it) = (Vec::new(), |section: &Section<'_, '_>| section.name() == Ok(id.name()));
    let mut sections: Vec<_> = object.sections().filter(is_it).collect();
    if sections.is_empty() {
        sections.extend(object.section_by_name(id.name()));
    }
    for section in sections {
        all.extend(relocated(object, &section).with_context(|| id.name())?);
    }
    Ok(Cow::Owned(all))
}

/// Returns the bytes of an object file's section, with the offsets into other sections filled in.
fn relocated<'a>(object: &File<'a>, section: &Section<'a, '_>) -> Result<Vec<u8>> {
    let mut data = section.uncompressed_data()?.into_owned();
    for (at, relocation) in section.relocations() {
        let size = usize::from(relocation.size()) / 8;
        let mut map = RelocationMap::default();
        // Other relocations are of run-time addresses, which no type depends on.
        if size == 0 || size > 8 || map.add(object, at, relocation).is_err() {
            continue;
        }
        let Some(place) = usize::try_from(at).ok().and_then(|at| data.get_mut(at..)?.get_mut(..size)) else {
            bail!("a relocation lies outside of it");
        };
        let mut word = [0; 8];
        if object.is_little_endian() {
            word[..size].copy_from_slice(place);
            let value = map.relocate(at, u64::from_le_bytes(word));
            place.copy_from_slice(&value.to_le_bytes()[..size]);
        } else {
            word[8 - size..].copy_from_slice(place);
            let value = map.relocate(at, u64::from_be_bytes(word));
            place.copy_from_slice(&value.to_be_bytes()[8 - size..]);
        }
    }
    Ok(data)
}
