//! The members of structs: their offsets, and the bytes that MPI carries of each.

use anyhow::{Result, bail};
use dtype_core::TypeTree;
use gimli::{AttributeValue, constants as dw};

use super::{
    sections::Slice,
    types::{Entry, MOST_LEVELS, Place, Types},
    walk::{Described, Type, Walk, alignment, nothing, whole},
};
use crate::record::{Field, FieldPlace, Language, Record};

/// Describes a struct under `name`, without the skipped fields.
pub(super) fn describe(
    types: &Types<'_>,
    place: Place,
    name: String,
    skipped: &mut [(String, bool)],
) -> Result<Described> {
    let entry = types.entry(place)?;
    let mut walk = Walk { types, skipped, refused: Vec::new() };
    let members = walk.members(place, &entry, "", MOST_LEVELS)?;
    let (tree, alignment) = (members.tree(), members.alignment);
    let Members { fields, size, data, .. } = members;
    let refused = walk.refused;
    let declared = types.declared(place.unit, &entry);
    let language = types.language(place.unit);
    let record = Record { name, language, declared, header: None, size, alignment, data, fields };
    Ok(Described { record, tree, refused })
}

/// The members of a struct, each with the tree of the bytes that MPI carries.
struct Members {
    fields: Vec<Field>,
    trees: Vec<(u64, TypeTree)>,
    size: u64,
    alignment: u64,
    /// The bytes that are not padding.
    data: u64,
}

impl Members {
    /// Returns the tree of all members that have data, by offset.
    fn tree(&self) -> TypeTree {
        let carried = |tree: &TypeTree| tree.measure().is_ok_and(|measure| measure.entries > 0);
        let (places, trees): (Vec<i64>, Vec<TypeTree>) = self
            .trees
            .iter()
            .filter(|(_, tree)| carried(tree))
            .map(|(at, tree)| (*at as i64, tree.clone()))
            .unzip();
        TypeTree::structure(places, trees)
    }
}

impl<'a> Walk<'_, 'a> {
    pub(super) fn structure(
        &mut self,
        place: Place,
        entry: &Entry<'a>,
        path: &str,
        levels: usize,
    ) -> Result<Type> {
        let language = self.types.language(place.unit);
        let name = self.types.name(place.unit, entry);
        let title = match &name {
            Some(name) => Types::title(language, entry.tag(), name),
            None if entry.tag() == dw::DW_TAG_union_type => "union {…}".to_owned(),
            None => "struct {…}".to_owned(),
        };
        if entry.has_attr(dw::DW_AT_declaration) {
            let definition = match &name {
                Some(name) => self.types.definition(name)?,
                None => None,
            };
            if let Some(definition) = definition {
                return self.type_at(definition, path, levels);
            }
            let tree = self.refuse(path, format!("is a `{title}`, which is declared, but not defined"));
            return Ok(Type { name: title, size: 0, alignment: 1, padding: 0, tree });
        }
        let members = self.members(place, entry, path, levels)?;
        let tree = members.tree();
        let Members { size, alignment, data, .. } = members;
        Ok(Type { name: title, size, alignment, padding: size.saturating_sub(data), tree })
    }

    /// Returns the members of a struct, a class or a union.
    fn members(&mut self, place: Place, entry: &Entry<'a>, path: &str, levels: usize) -> Result<Members> {
        let is_union = entry.tag() == dw::DW_TAG_union_type;
        let size = entry.attr_value(dw::DW_AT_byte_size).and_then(|size| size.udata_value()).unwrap_or(0);
        let mut members = Members { fields: Vec::new(), trees: Vec::new(), size, alignment: 1, data: 0 };
        let (inside, unit) = (path, &self.types.units[place.unit]);
        let mut tree = unit.entries_tree(Some(place.offset))?;
        let mut children = tree.root()?.children();
        while let Some(child) = children.next()? {
            let child = child.entry();
            match child.tag() {
                dw::DW_TAG_member | dw::DW_TAG_inheritance => {}
                dw::DW_TAG_variant_part => {
                    let what = "is an enum whose variants hold values: the variant is known only at run time";
                    self.refuse(path, what);
                    members.fields.push(Field {
                        name: String::new(),
                        type_name: "variants".to_owned(),
                        offset: 0,
                        size,
                        alignment: 1,
                        padding: 0,
                        place: FieldPlace::First,
                    });
                    continue;
                }
                _ => continue,
            }
            // A static member belongs to the class and not to an object.
            if child.has_attr(dw::DW_AT_external) || child.has_attr(dw::DW_AT_declaration) {
                continue;
            }
            self.member(place, child, inside, levels, &mut members)?;
        }
        members.trees.sort_by_key(|(at, _)| *at);
        members.fields.sort_by_key(|field| field.offset);
        spread(&mut members);
        let aligned = members.fields.iter().map(|field| field.alignment);
        let multiple = if size == 0 { 1 } else { 1 << size.trailing_zeros().min(63) };
        members.alignment = alignment(entry).unwrap_or(aligned.max().unwrap_or(1).min(multiple));
        members.data = data(&members.fields, is_union);
        if is_union {
            self.union(&mut members, path);
        }
        Ok(members)
    }

    fn member(
        &mut self,
        place: Place,
        child: &Entry<'a>,
        inside: &str,
        levels: usize,
        members: &mut Members,
    ) -> Result<()> {
        let is_base = child.tag() == dw::DW_TAG_inheritance;
        let name = match self.types.name(place.unit, child) {
            _ if is_base => Some(self.pointed_name(place, child)),
            name => name,
        };
        let path = match (&name, inside) {
            // The fields of an unnamed struct and of a base class are named like the outer struct's own.
            (None, inside) => inside.to_owned(),
            _ if is_base => inside.to_owned(),
            (Some(name), "") => name.clone(),
            (Some(name), inside) => format!("{inside}.{name}"),
        };
        let what = if is_base { name.clone().unwrap_or_default() } else { path.clone() };
        let bits = child.attr_value(dw::DW_AT_bit_size).and_then(|bits| bits.udata_value());
        let before = self.refused.len();
        let mut found = self.type_of(place, child, &path, levels)?;
        let offset = match child.attr_value(dw::DW_AT_data_member_location) {
            None => {
                let bit = child.attr_value(dw::DW_AT_data_bit_offset).and_then(|bit| bit.udata_value());
                // The offset of the storage unit that holds the bits.
                bit.unwrap_or(0) / 8 / found.size.max(1) * found.size
            }
            Some(AttributeValue::Exprloc(expression)) => constant(expression, self.types, place)
                .unwrap_or_else(|| {
                    self.refused.truncate(before);
                    let why = "is inherited virtually: its offset is known only at run time";
                    found.tree = self.refuse(&what, why);
                    0
                }),
            Some(value) => match whole(&value).and_then(|offset| u64::try_from(offset).ok()) {
                Some(offset) => offset,
                None => bail!("the offset of `{what}` has an unknown form"),
            },
        };
        let name = name.unwrap_or_default();
        let is_table =
            name.starts_with("_vptr") || child.has_attr(dw::DW_AT_artificial) && is_pointer(&found);
        if let Some(bits) = bits {
            self.refused.truncate(before);
            found.tree = self.refuse(
                &path,
                format!(
                    "is a bit-field of {}, but MPI datatypes consist of whole bytes",
                    count_of(bits, "bit", "bits")
                ),
            );
        } else if is_table && self.refused.len() > before {
            self.refused.truncate(before);
            let why = "is the pointer to the table of virtual functions, an address that means nothing to \
                       another process";
            found.tree = self.refuse(&path, why);
        }
        // A base class is skipped by its name. The hidden length of a Fortran character string is skipped
        // with the string.
        let skipped = if is_base { name.as_str() } else { path.as_str() };
        let text = path.rsplit('.').next().and_then(|own| own.strip_prefix('_')?.strip_suffix("_length"));
        let is_length = self.types.language(place.unit) == Language::Fortran
            && text.is_some_and(|text| self.is_skipped(&path.replace(&format!("_{text}_length"), text)));
        if is_length || !skipped.is_empty() && self.is_skipped(skipped) {
            self.refused.truncate(before);
            found.tree = nothing();
        }
        let natural = if offset == 0 { found.alignment } else { 1 << offset.trailing_zeros().min(63) };
        let field = Field {
            name,
            type_name: found.name,
            offset,
            size: found.size,
            alignment: alignment(child).unwrap_or(found.alignment.min(natural)),
            padding: found.padding,
            place: match bits {
                Some(bits) => FieldPlace::Bits(bits),
                None if is_base || is_table => FieldPlace::First,
                None => FieldPlace::Free,
            },
        };
        members.fields.push(field);
        members.trees.push((offset, found.tree));
        Ok(())
    }

    /// Merges the members of a union into one, if all of them have the same type map. Otherwise, refuses the
    /// union, because MPI cannot know which member is present.
    fn union(&mut self, members: &mut Members, path: &str) {
        let size = |tree: &TypeTree| tree.measure().map_or(0, |measure| measure.entries);
        let mut carried = members.trees.iter().filter(|(_, tree)| size(tree) > 0);
        let Some((at, first)) = carried.next().cloned() else { return };
        let runs = |at: u64, tree: &TypeTree| TypeTree::index([at as i64], tree.clone()).few_runs(1 << 16);
        let of_first = runs(at, &first);
        let is_same = of_first.is_some() && carried.all(|(at, tree)| runs(*at, tree) == of_first);
        members.trees.clear();
        if is_same {
            members.trees.push((at, first));
            return;
        }
        let names = members.fields.iter().map(|field| format!("`{} {}`", field.type_name, field.label()));
        let inside = if path.is_empty() { String::new() } else { format!("{path}.") };
        let example = members.fields.iter().find(|field| !field.name.is_empty());
        let example =
            example.map_or(String::new(), |field| format!(", as with `--skip {inside}{}`", field.name));
        let why = format!(
            "{} a union ({}): MPI cannot know which member is in use. Skip all but one{example}",
            if path.is_empty() { "holds" } else { "is" },
            names.collect::<Vec<_>>().join(", ")
        );
        self.refuse(path, why);
    }
}

/// Returns the size of the fields in bytes, without padding. In a union, only the member with the most data
/// counts. Bit-fields in one storage unit count as that unit.
fn data(fields: &[Field], is_union: bool) -> u64 {
    let mut units = Vec::new();
    let data = fields.iter().map(|field| match field.place {
        FieldPlace::Bits(_) if units.contains(&field.offset) => 0,
        place => {
            if matches!(place, FieldPlace::Bits(_)) {
                units.push(field.offset);
            }
            field.size.saturating_sub(field.padding)
        }
    });
    if is_union { data.max().unwrap_or(0) } else { data.fold(0, u64::saturating_add) }
}

/// Sets the size of allocatable fields, which debug information omits, to the distance to the next field.
fn spread(members: &mut Members) {
    let ends: Vec<u64> =
        members.fields.iter().skip(1).map(|next| next.offset).chain([members.size]).collect();
    for (field, end) in members.fields.iter_mut().zip(ends) {
        if field.size == 0 && field.type_name == "allocatable" {
            field.size = end.saturating_sub(field.offset);
        }
    }
}

fn is_pointer(found: &Type) -> bool {
    found.name.ends_with('*') || found.name.starts_with('*')
}

fn count_of(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Returns an offset that is written as an expression, as in DWARF 2. The only accepted expression adds a
/// constant to the address.
fn constant(expression: gimli::Expression<Slice<'_>>, types: &Types<'_>, place: Place) -> Option<u64> {
    let mut operations = expression.operations(types.units[place.unit].encoding());
    let gimli::Operation::PlusConstant { value: offset } = operations.next().ok()?? else { return None };
    operations.next().ok()?.is_none().then_some(offset)
}
