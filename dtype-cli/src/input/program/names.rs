//! The names in a program: those of its structs, and those that lead to a struct or elsewhere: of `typedef`s,
//! enums and variables.

use std::collections::HashMap;

use anyhow::{Context, Result};
use gimli::constants as dw;

use super::types::{MOST_LEVELS, Place, Types};

/// A struct that is defined in the debug information.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) place: Place,
    /// The name, with its namespaces or modules.
    pub(super) name: String,
    pub(super) tag: gimli::DwTag,
    /// The line of the declaration. With the size, it distinguishes structs of one name.
    pub(super) line: u64,
    pub(super) size: u64,
}

/// A name for a type or a variable, and the place of its description.
pub(super) struct Named {
    /// The name, with its namespaces or modules.
    pub(super) name: String,
    pub(super) place: Place,
}

/// The names of a program's types.
#[derive(Default)]
pub(super) struct Names {
    /// All defined structs, classes and unions that have a name of their own or from a `typedef`.
    pub(super) structs: Vec<Found>,
    /// The names from a `typedef` or `using`, and those of enums.
    pub(super) others: Vec<Named>,
}

/// A type after all `typedef`s and qualifiers.
pub(super) enum Meant {
    Struct(Place),
    /// A struct of this name that no unit defines.
    Undefined(String),
    /// A type that is no struct. `void` has no place.
    Other(Option<Place>),
}

/// The names of a program while its units are read.
#[derive(Default)]
struct Reading {
    names: Names,
    /// The structs without a name of their own.
    unnamed: HashMap<Place, Found>,
    /// The types that a `typedef` names, in the order of the program.
    given: Vec<(Place, String)>,
}

impl Types<'_> {
    /// Returns the names of all types.
    pub(super) fn names(&self) -> Result<Names> {
        let mut reading = Reading::default();
        for unit in 0..self.units.len() {
            self.names_of(unit, &mut reading)?;
        }
        let Reading { mut names, mut unnamed, given } = reading;
        for (target, name) in given {
            if let Some(found) = unnamed.remove(&target) {
                names.structs.push(Found { name, tag: dw::DW_TAG_typedef, ..found });
            }
        }
        Ok(names)
    }

    fn names_of(&self, number: usize, reading: &mut Reading) -> Result<()> {
        let unit = &self.units[number];
        let mut entries = unit.entries_raw(None)?;
        // The open scopes, each with its depth, its name, and `true` for an enum. The structs in an enum are
        // its variants, which the compiler generates.
        let mut scopes: Vec<(isize, String, bool)> = Vec::new();
        // The names of structs that are defined outside their scope.
        let mut declared: HashMap<Place, String> = HashMap::new();
        while !entries.is_empty() {
            let (offset, depth) = (entries.next_offset(), entries.next_depth());
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            let (tag, place) = (abbreviation.tag(), Place { unit: number, offset });
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
            let is_other = is_alias(tag) || tag == dw::DW_TAG_enumeration_type;
            if !is_scope && !is_other {
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
                    dw::DW_AT_type => target = self.pointed(number, &attribute.value()),
                    dw::DW_AT_specification => specified = self.pointed(number, &attribute.value()),
                    _ => {}
                }
            }
            let own = own.map(|name| name.to_string_lossy().into_owned());
            let outer_name = specified.and_then(|place| declared.get(&place)).cloned();
            // A struct that is defined outside its scope has the names of the scope there.
            let scope = outer_name.clone().or_else(|| own.clone());
            let name = outer_name.or_else(|| {
                let outer = scopes.iter().fold(String::new(), |outer, (_, scope, _)| outer + scope + "::");
                Some(outer + own.as_deref()?)
            });
            if is_other {
                if is_alias(tag) {
                    reading.given.extend(target.zip(name.clone()));
                }
                reading.names.others.extend(name.map(|name| Named { name, place }));
                continue;
            }
            if let (true, Some(name)) = (is_declaration, &name) {
                declared.insert(place, name.clone());
            }
            let is_variant = scopes.last().is_some_and(|(.., is_enum)| *is_enum);
            scopes.extend(scope.map(|scope| (depth, scope, false)));
            if is_variant {
                continue;
            }
            let (true, Some(size), false) = (is_struct, size, is_declaration) else { continue };
            match name {
                // Compilers generate some structs themselves.
                Some(name) if !name.contains('{') && !name.contains("__vtype_") => {
                    reading.names.structs.push(Found { place, name, tag, line, size });
                }
                Some(_) => {}
                None => {
                    reading.unnamed.insert(place, Found { place, name: String::new(), tag, line, size });
                }
            }
        }
        Ok(())
    }

    /// Returns the definition of a struct that a unit only declares.
    pub(super) fn definition(&self, name: &str) -> Result<Option<Place>> {
        if self.defined.borrow().is_none() {
            let mut all = HashMap::new();
            for found in self.names()?.structs {
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

    /// Follows `typedef`s and qualifiers to the type that they name.
    pub(super) fn meant(&self, mut place: Place) -> Result<Meant> {
        for _ in 0..MOST_LEVELS {
            let entry = self.entry(place)?;
            let next = match entry.tag() {
                dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
                    if let Some(signed) = self.referred(place.unit, &entry, dw::DW_AT_signature) {
                        Some(signed)
                    } else if entry.has_attr(dw::DW_AT_declaration) {
                        let name = self.name(place.unit, &entry).unwrap_or_default();
                        if let Some(place) = self.definition(&name)? {
                            return Ok(Meant::Struct(place));
                        }
                        let title = Self::title(self.language(place.unit), entry.tag(), &name);
                        return Ok(Meant::Undefined(title));
                    } else {
                        return Ok(Meant::Struct(place));
                    }
                }
                tag if is_alias(tag) || is_qualifier(tag) => {
                    self.referred(place.unit, &entry, dw::DW_AT_type)
                }
                _ => return Ok(Meant::Other(Some(place))),
            };
            match next {
                Some(next) => place = next,
                None => return Ok(Meant::Other(None)),
            }
        }
        Ok(Meant::Other(Some(place)))
    }

    /// Returns the struct that a name leads to, under this name.
    pub(super) fn struct_behind(&self, named: &Named) -> Result<Option<Found>> {
        let Meant::Struct(place) = self.meant(named.place)? else { return Ok(None) };
        let entry = self.entry(place)?;
        let number = |at| entry.attr_value(at).and_then(|value| value.udata_value()).unwrap_or(0);
        let (line, size) = (number(dw::DW_AT_decl_line), number(dw::DW_AT_byte_size));
        Ok(Some(Found { place, name: named.name.clone(), tag: dw::DW_TAG_typedef, line, size }))
    }

    /// Returns the variables of the program, without their namespaces.
    pub(super) fn variables(&self) -> Result<Vec<Named>> {
        let mut all = Vec::new();
        for (number, unit) in self.units.iter().enumerate() {
            let mut entries = unit.entries();
            while let Some(entry) = entries.next_dfs()? {
                if entry.tag() == dw::DW_TAG_variable
                    && let Some(name) = self.name(number, entry)
                {
                    all.push(Named { name, place: Place { unit: number, offset: entry.offset() } });
                }
            }
        }
        Ok(all)
    }
}

/// Returns `true` if an entry gives a type another name.
pub(super) fn is_alias(tag: gimli::DwTag) -> bool {
    matches!(tag, dw::DW_TAG_typedef | dw::DW_TAG_template_alias)
}

/// Returns `true` if an entry adds a property to a type that leaves its bytes as they are.
pub(super) fn is_qualifier(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_restrict_type
            | dw::DW_TAG_atomic_type
            | dw::DW_TAG_packed_type
            | dw::DW_TAG_immutable_type
            | dw::DW_TAG_shared_type
    )
}
