//! The types of a program: the places of their descriptions. The names of all of them are in `names`.

use std::{cell::RefCell, collections::HashMap};

use anyhow::{Result, bail};
use gimli::{AttributeValue, DebuggingInformationEntry, UnitOffset, UnitType, constants as dw};

use super::sections::{Dwarf, Slice};
use crate::record::Language;

pub(super) type Unit<'a> = gimli::Unit<Slice<'a>>;
pub(super) type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

/// The greatest depth to which types are followed. Each level is a recursive call.
pub(super) const MOST_LEVELS: usize = 200;

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
        self.pointed(unit, &entry.attr_value(at)?)
    }

    /// Returns the place to which the value of an attribute refers, if it is in this file.
    pub(super) fn pointed(&self, unit: usize, value: &AttributeValue<Slice<'a>>) -> Option<Place> {
        match *value {
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
