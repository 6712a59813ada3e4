//! The types of a program: the places of their descriptions, and their names.

use std::{cell::RefCell, collections::HashMap};

use anyhow::{Context, Result, bail};
use gimli::{AttributeValue, DebuggingInformationEntry, UnitOffset, UnitType, constants as dw};

use super::sections::{Dwarf, Slice};
use crate::record::Language;

pub(super) type Unit<'a> = gimli::Unit<Slice<'a>>;
pub(super) type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

/// The place where a type is described: the number of a unit, and an offset in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) unit: usize,
    pub(super) offset: UnitOffset,
}

/// The types of a program.
pub(super) struct Types<'a> {
    pub(super) dwarf: &'a Dwarf<'a>,
    pub(super) units: Vec<Unit<'a>>,
    /// The language of each unit.
    languages: Vec<Language>,
    /// The places of the types that have a signature.
    pub(super) signed: HashMap<u64, Place>,
    /// The places of the defined structs, by their names without namespaces. `definition` fills the map.
    pub(super) defined: RefCell<Option<HashMap<String, Place>>>,
}

/// A struct that is defined in the debug information.
pub(super) struct Found {
    pub(super) place: Place,
    /// The name, with its namespaces or modules.
    pub(super) name: String,
    pub(super) tag: gimli::DwTag,
    /// The line of the declaration. With the size, it distinguishes structs of one name.
    pub(super) line: u64,
    pub(super) size: u64,
}

impl<'a> Types<'a> {
    pub(super) fn load(dwarf: &'a Dwarf<'a>) -> Result<Self> {
        let (mut units, mut signed) = (Vec::new(), HashMap::new());
        let mut headers = dwarf.units();
        while let Some(header) = headers.next()? {
            units.push(dwarf.unit(header)?);
        }
        let mut headers = dwarf.type_units();
        while let Some(header) = headers.next()? {
            units.push(dwarf.unit(header)?);
        }
        for unit in &units {
            if let Ok(Some(name)) = unit.dwo_name() {
                let name = dwarf
                    .attr_string(unit, name)
                    .map_or("another file".into(), |name| name.to_string_lossy());
                bail!("its debug information is in `{name}`: compile without `-gsplit-dwarf`");
            }
        }
        for (unit, header) in units.iter().map(|unit| unit.header).enumerate() {
            if let UnitType::Type { type_signature, type_offset }
            | UnitType::SplitType { type_signature, type_offset } = header.type_()
            {
                signed.insert(type_signature.0, Place { unit, offset: type_offset });
            }
        }
        let languages = units.iter().map(language).collect();
        Ok(Self { dwarf, units, languages, signed, defined: RefCell::new(None) })
    }

    pub(super) fn entry(&self, place: Place) -> Result<Entry<'a>> {
        Ok(self.units[place.unit].entry(place.offset)?)
    }

    /// Returns the entry that an attribute refers to, if it is in this file.
    pub(super) fn referred(&self, unit: usize, entry: &Entry<'a>, at: gimli::DwAt) -> Option<Place> {
        match entry.attr_value(at)? {
            AttributeValue::UnitRef(offset) => Some(Place { unit, offset }),
            AttributeValue::DebugInfoRef(offset) => {
                let begin =
                    |unit: &Unit<'_>| unit.header.debug_info_offset().map_or(usize::MAX, |begin| begin.0);
                let behind = self.units.partition_point(|unit| begin(unit) <= offset.0);
                let unit = behind.checked_sub(1)?;
                Some(Place { unit, offset: offset.to_unit_offset(&self.units[unit].header)? })
            }
            AttributeValue::DebugTypesRef(signature) => self.signed.get(&signature.0).copied(),
            _ => None,
        }
    }

    pub(super) fn name(&self, unit: usize, entry: &Entry<'a>) -> Option<String> {
        let name = entry.attr_value(dw::DW_AT_name)?;
        let text = self.dwarf.attr_string(&self.units[unit], name).ok()?;
        Some(text.to_string_lossy().into_owned())
    }

    pub(super) fn language(&self, unit: usize) -> Language {
        self.languages[unit]
    }

    /// Returns the file and the line of a declaration.
    pub(super) fn declared(&self, unit: usize, entry: &Entry<'a>) -> Option<(String, u64)> {
        let line = entry.attr_value(dw::DW_AT_decl_line)?.udata_value()?;
        let file = match entry.attr_value(dw::DW_AT_decl_file)? {
            AttributeValue::FileIndex(file) => file,
            value => value.udata_value()?,
        };
        let unit = &self.units[unit];
        let name = unit.line_program.as_ref()?.header().file(file)?.path_name();
        let path = self.dwarf.attr_string(unit, name).ok()?.to_string_lossy().into_owned();
        let file = path.rsplit('/').next().unwrap_or_default();
        (!file.is_empty()).then(|| (file.to_owned(), line))
    }

    /// Returns the name of a struct as its language writes it.
    pub(super) fn title(language: Language, tag: gimli::DwTag, name: &str) -> String {
        match (language, tag) {
            (Language::C | Language::Other, dw::DW_TAG_union_type) => format!("union {name}"),
            (Language::C, _) => format!("struct {name}"),
            (Language::Fortran, _) => {
                format!("type({})", name.rsplit_once("::").map_or(name, |(_, own)| own))
            }
            _ => name.to_owned(),
        }
    }

    /// Returns all defined structs, classes and unions that have a name of their own or from a `typedef`.
    pub(super) fn structs(&self) -> Result<Vec<Found>> {
        let mut all = Vec::new();
        for unit in 0..self.units.len() {
            self.structs_of(unit, &mut all)?;
        }
        Ok(all)
    }

    fn structs_of(&self, number: usize, all: &mut Vec<Found>) -> Result<()> {
        let unit = &self.units[number];
        let mut entries = unit.entries_raw(None)?;
        // The open scopes, each with its depth, its name, and `true` for an enum. The structs in an enum are
        // its variants, which the compiler generates.
        let mut scopes: Vec<(isize, String, bool)> = Vec::new();
        // `declared` has the names of structs that are defined outside their scope. `unnamed` has the structs
        // without a name.
        let mut declared: HashMap<usize, String> = HashMap::new();
        let mut unnamed: HashMap<usize, Found> = HashMap::new();
        let mut given: Vec<(usize, String)> = Vec::new();
        while !entries.is_empty() {
            let (offset, depth) = (entries.next_offset(), entries.next_depth());
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            let tag = abbreviation.tag();
            let is_struct =
                matches!(tag, dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type);
            while scopes.last().is_some_and(|(open, ..)| *open >= depth) {
                scopes.pop();
            }
            if tag == dw::DW_TAG_variant_part
                && let Some((.., is_enum)) = scopes.last_mut()
            {
                *is_enum = true;
            }
            let is_scope = is_struct || matches!(tag, dw::DW_TAG_namespace | dw::DW_TAG_module);
            if !is_scope && tag != dw::DW_TAG_typedef {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            let (mut own, mut target, mut specified) = (None, None, None);
            let (mut size, mut line, mut is_declaration) = (None, 0, false);
            for specification in abbreviation.attributes() {
                let attribute = entries.read_attribute(*specification)?;
                match attribute.name() {
                    dw::DW_AT_name => own = self.dwarf.attr_string(unit, attribute.value()).ok(),
                    dw::DW_AT_byte_size => size = attribute.udata_value(),
                    dw::DW_AT_decl_line => line = attribute.udata_value().unwrap_or(0),
                    dw::DW_AT_declaration => is_declaration = true,
                    dw::DW_AT_type => target = in_unit(&attribute.value()),
                    dw::DW_AT_specification => specified = in_unit(&attribute.value()),
                    _ => {}
                }
            }
            let own = own.map(|name| name.to_string_lossy().into_owned());
            let name = match (specified.and_then(|offset| declared.get(&offset)), &own) {
                (Some(name), _) => Some(name.clone()),
                (None, Some(own)) => {
                    let outer: String =
                        scopes.iter().fold(String::new(), |outer, (_, scope, _)| outer + scope + "::");
                    Some(outer + own)
                }
                (None, None) => None,
            };
            if tag == dw::DW_TAG_typedef {
                given.extend(target.zip(name));
                continue;
            }
            if let (true, Some(name)) = (is_declaration, &name) {
                declared.insert(offset.0, name.clone());
            }
            let is_variant = scopes.last().is_some_and(|(.., is_enum)| *is_enum);
            scopes.extend(own.map(|own| (depth, own, false)));
            if is_variant {
                continue;
            }
            let (true, Some(size), false) = (is_struct, size, is_declaration) else { continue };
            let place = Place { unit: number, offset };
            match name {
                // Compilers generate some structs themselves.
                Some(name) if !name.contains('{') && !name.contains("__vtype_") => {
                    all.push(Found { place, name, tag, line, size });
                }
                Some(_) => {}
                None => {
                    unnamed.insert(offset.0, Found { place, name: String::new(), tag, line, size });
                }
            }
        }
        // A `typedef` names a struct that has no name of its own.
        for (target, name) in given {
            if let Some(found) = unnamed.remove(&target) {
                all.push(Found { name, tag: dw::DW_TAG_typedef, ..found });
            }
        }
        Ok(())
    }

    /// Returns the definition of a struct that a unit only declares.
    pub(super) fn definition(&self, name: &str) -> Result<Option<Place>> {
        if self.defined.borrow().is_none() {
            let mut all = HashMap::new();
            for found in self.structs()? {
                let entry = self.entry(found.place)?;
                if let Some(name) = self.name(found.place.unit, &entry) {
                    all.entry(name).or_insert(found.place);
                }
            }
            *self.defined.borrow_mut() = Some(all);
        }
        let defined = self.defined.borrow();
        Ok(defined.as_ref().context("no definitions")?.get(name).copied())
    }
}

/// Returns the source language of a unit.
fn language(unit: &Unit<'_>) -> Language {
    // gimli does not name the language standards of 2023.
    const CXX_23: gimli::DwLang = gimli::DwLang(0x3a);
    const C_23: gimli::DwLang = gimli::DwLang(0x3e);
    const FORTRAN_23: gimli::DwLang = gimli::DwLang(0x3f);
    let root = unit.entry(unit.header.root_offset()).ok();
    let Some(AttributeValue::Language(language)) = root.and_then(|root| root.attr_value(dw::DW_AT_language))
    else {
        return Language::Other;
    };
    match language {
        dw::DW_LANG_C | dw::DW_LANG_C89 | dw::DW_LANG_C99 | dw::DW_LANG_C11 | dw::DW_LANG_C17 | C_23 => {
            Language::C
        }
        dw::DW_LANG_C_plus_plus
        | dw::DW_LANG_C_plus_plus_03
        | dw::DW_LANG_C_plus_plus_11
        | dw::DW_LANG_C_plus_plus_14
        | dw::DW_LANG_C_plus_plus_17
        | dw::DW_LANG_C_plus_plus_20
        | CXX_23 => Language::Cxx,
        dw::DW_LANG_Fortran77
        | dw::DW_LANG_Fortran90
        | dw::DW_LANG_Fortran95
        | dw::DW_LANG_Fortran03
        | dw::DW_LANG_Fortran08
        | dw::DW_LANG_Fortran18
        | FORTRAN_23 => Language::Fortran,
        dw::DW_LANG_Rust => Language::Rust,
        _ => Language::Other,
    }
}

/// Returns the offset to which a reference within the unit points.
fn in_unit(value: &AttributeValue<Slice<'_>>) -> Option<usize> {
    match value {
        AttributeValue::UnitRef(offset) => Some(offset.0),
        _ => None,
    }
}
