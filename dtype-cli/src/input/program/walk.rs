//! What a struct of a program is to MPI: its bytes, or why MPI cannot carry them.

use anyhow::{Result, bail};
use dtype_core::{BaseType, TypeTree};
use gimli::{AttributeValue, constants as dw};

use super::{
    base::{base_type, by_name},
    sections::Slice,
    types::{Entry, Place, Types},
};
use crate::record::{Field, FieldPlace, Language, Record};

/// As deep as this, types are followed: each level is a call.
const MOST_LEVELS: usize = 200;

/// A type as it is described.
struct Type {
    name: String,
    size: u64,
    alignment: u64,
    /// Bytes of padding.
    padding: u64,
    /// What MPI carries of it.
    tree: TypeTree,
}

/// A struct: its fields, what MPI carries of them, and what it cannot.
pub(super) struct Described {
    pub(super) record: Record,
    pub(super) tree: TypeTree,
    pub(super) refused: Vec<Refused>,
}

/// Something that MPI cannot carry.
pub(super) struct Refused {
    /// The field, with the fields that it is in.
    pub(super) path: String,
    pub(super) why: String,
}

/// One walk through the types of a struct.
struct Walk<'w, 'a> {
    types: &'w Types<'a>,
    /// Fields to be left out, and whether they were found.
    skipped: &'w mut [(String, bool)],
    refused: Vec<Refused>,
}

/// Describes a struct under a name, without the fields that are skipped.
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

/// The members of a struct, and what MPI carries of each.
struct Members {
    fields: Vec<Field>,
    trees: Vec<(u64, TypeTree)>,
    size: u64,
    alignment: u64,
    /// Bytes that are no padding.
    data: u64,
}

impl Members {
    /// All of them, by offset.
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

fn nothing() -> TypeTree {
    TypeTree::structure([], [])
}

impl<'a> Walk<'_, 'a> {
    /// Notes that MPI cannot carry something, of which nothing is left.
    fn refuse(&mut self, path: &str, why: impl Into<String>) -> TypeTree {
        self.refused.push(Refused { path: path.to_owned(), why: why.into() });
        nothing()
    }

    fn is_skipped(&mut self, path: &str) -> bool {
        let found = self.skipped.iter_mut().find(|(skipped, _)| skipped == path);
        found.map(|(_, is_found)| *is_found = true).is_some()
    }

    /// What an entry's attribute `DW_AT_type` says.
    fn type_of(&mut self, place: Place, entry: &Entry<'a>, path: &str, levels: usize) -> Result<Type> {
        let pointed = self.types.referred(place.unit, entry, dw::DW_AT_type);
        match pointed {
            Some(place) => self.type_at(place, path, levels),
            None => Ok(Type {
                name: "?".to_owned(),
                size: 0,
                alignment: 1,
                padding: 0,
                tree: self.refuse(path, "is of a type that is described in another file"),
            }),
        }
    }

    fn type_at(&mut self, place: Place, path: &str, levels: usize) -> Result<Type> {
        let Some(levels) = levels.checked_sub(1) else {
            bail!("the type of `{path}` has more than {MOST_LEVELS} levels, or holds itself");
        };
        let entry = self.types.entry(place)?;
        let name = self.types.name(place.unit, &entry);
        let size = entry.attr_value(dw::DW_AT_byte_size).and_then(|size| size.udata_value());
        let word = u64::from(self.types.units[place.unit].header.address_size());
        let mut found = match entry.tag() {
            dw::DW_TAG_base_type => self.base(place, &entry, name.unwrap_or_default(), path),
            dw::DW_TAG_typedef => self.typedef(place, &entry, name, path, levels)?,
            dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_restrict_type
            | dw::DW_TAG_atomic_type
            | dw::DW_TAG_packed_type
            | dw::DW_TAG_immutable_type
            | dw::DW_TAG_shared_type => self.type_of(place, &entry, path, levels)?,
            dw::DW_TAG_enumeration_type => {
                let name = format!("enum {}", name.as_deref().unwrap_or("…"));
                self.enumeration(place, &entry, name, size, path, levels)?
            }
            dw::DW_TAG_array_type => self.array(place, &entry, path, levels)?,
            dw::DW_TAG_string_type => {
                let is_fixed = size.is_some() && !entry.has_attr(dw::DW_AT_string_length);
                let size = size.unwrap_or(0);
                let tree = if is_fixed {
                    repeated(size, 1, TypeTree::Leaf(BaseType::Character))
                } else {
                    self.refuse(path, "is a text whose length is known only at run time")
                };
                Type { name: format!("character(len={size})"), size, alignment: 1, padding: 0, tree }
            }
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
                match self.types.referred(place.unit, &entry, dw::DW_AT_signature) {
                    Some(signed) => return self.type_at(signed, path, levels),
                    None => self.structure(place, &entry, path, levels)?,
                }
            }
            tag => {
                let what = match tag {
                    dw::DW_TAG_pointer_type => "a pointer",
                    dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => "a reference",
                    dw::DW_TAG_ptr_to_member_type => "a pointer to a member",
                    dw::DW_TAG_subroutine_type => "a function",
                    _ => "of a kind that MPI has no datatype for",
                };
                let language = self.types.language(place.unit);
                let name = match (tag, self.pointed_name(place, &entry)) {
                    // Rust gives its pointers names.
                    (dw::DW_TAG_pointer_type, _) if name.is_some() => name.unwrap_or_default(),
                    (dw::DW_TAG_pointer_type, pointed) if language == Language::Fortran => {
                        format!("{pointed}, pointer")
                    }
                    (dw::DW_TAG_pointer_type, pointed) if language == Language::Rust => {
                        format!("*{pointed}")
                    }
                    (dw::DW_TAG_pointer_type, pointed) => format!("{pointed} *"),
                    (dw::DW_TAG_reference_type, pointed) => format!("{pointed} &"),
                    (dw::DW_TAG_rvalue_reference_type, pointed) => format!("{pointed} &&"),
                    (_, pointed) => pointed,
                };
                let why = if what.starts_with("of") {
                    format!("is {what}")
                } else {
                    format!("is {what} (`{name}`): an address means nothing to another process")
                };
                let tree = self.refuse(path, why);
                // Those to functions of a class are two words.
                let words = match tag {
                    dw::DW_TAG_ptr_to_member_type if self.is_of_function(place, &entry) => 2,
                    _ => 1,
                };
                Type { name, size: size.unwrap_or(words * word), alignment: word, padding: 0, tree }
            }
        };
        found.alignment = alignment(&entry).unwrap_or(found.alignment);
        Ok(found)
    }

    /// Whether a pointer is one to a function.
    fn is_of_function(&self, place: Place, entry: &Entry<'a>) -> bool {
        let pointed = self.types.referred(place.unit, entry, dw::DW_AT_type);
        let tag = pointed.and_then(|place| self.types.entry(place).ok()).map(|entry| entry.tag());
        tag == Some(dw::DW_TAG_subroutine_type)
    }

    /// The name of what a pointer points to, without a look at what that is made of.
    fn pointed_name(&self, place: Place, entry: &Entry<'a>) -> String {
        let Some(at) = self.types.referred(place.unit, entry, dw::DW_AT_type) else {
            return "void".to_owned();
        };
        let Ok(entry) = self.types.entry(at) else { return "?".to_owned() };
        if let Some(signed) = self.types.referred(at.unit, &entry, dw::DW_AT_signature)
            && let Some(name) =
                self.types.entry(signed).ok().and_then(|entry| self.types.name(signed.unit, &entry))
        {
            return name;
        }
        match self.types.name(at.unit, &entry) {
            Some(name) => match entry.tag() {
                dw::DW_TAG_structure_type | dw::DW_TAG_union_type | dw::DW_TAG_class_type => {
                    Types::title(self.types.language(at.unit), entry.tag(), &name)
                }
                _ => name,
            },
            None => match entry.tag() {
                dw::DW_TAG_const_type | dw::DW_TAG_volatile_type => self.pointed_name(at, &entry),
                dw::DW_TAG_pointer_type => format!("{} *", self.pointed_name(at, &entry)),
                dw::DW_TAG_subroutine_type => "function".to_owned(),
                dw::DW_TAG_string_type => "character(len=:)".to_owned(),
                dw::DW_TAG_array_type => "array".to_owned(),
                _ => "…".to_owned(),
            },
        }
    }

    fn base(&mut self, place: Place, entry: &Entry<'a>, name: String, path: &str) -> Type {
        let size = entry.attr_value(dw::DW_AT_byte_size).and_then(|size| size.udata_value()).unwrap_or(0);
        let encoding = match entry.attr_value(dw::DW_AT_encoding) {
            Some(AttributeValue::Encoding(encoding)) => encoding,
            _ => gimli::DwAte(0),
        };
        let language = self.types.language(place.unit);
        let (tree, alignment) = match base_type(language, &name, encoding, size) {
            // Fortran's complex numbers, too, are aligned as their parts.
            Some(base) => (TypeTree::Leaf(base), base.alignment()),
            None if size == 0 => (nothing(), 1),
            None => {
                let why = format!("is a `{name}` of {size} bytes, for which MPI has no datatype");
                (self.refuse(path, why), power_of_two_in(size))
            }
        };
        Type { name, size, alignment, padding: 0, tree }
    }

    /// A name for another type. That of a base type, such as `int32_t`, may say more than what is behind it.
    fn typedef(
        &mut self,
        place: Place,
        entry: &Entry<'a>,
        name: Option<String>,
        path: &str,
        levels: usize,
    ) -> Result<Type> {
        let mut meant = self.type_of(place, entry, path, levels)?;
        if let Some(name) = name {
            if let TypeTree::Leaf(base) = meant.tree
                && let Some(named) = by_name(&name)
                && named.plain() == base.plain()
            {
                meant.tree = TypeTree::Leaf(named);
            }
            meant.name = name;
        }
        Ok(meant)
    }

    /// An enumeration, as the whole number that it is.
    fn enumeration(
        &mut self,
        place: Place,
        entry: &Entry<'a>,
        name: String,
        size: Option<u64>,
        path: &str,
        levels: usize,
    ) -> Result<Type> {
        if entry.has_attr(dw::DW_AT_type) {
            return Ok(Type { name, ..self.type_of(place, entry, path, levels)? });
        }
        let size = size.unwrap_or(4);
        let base = base_type(Language::Other, "", dw::DW_ATE_signed, size);
        let tree = match base {
            Some(base) => TypeTree::Leaf(base),
            None => self.refuse(path, format!("is an enumeration of {size} bytes")),
        };
        Ok(Type { name, size, alignment: power_of_two_in(size), padding: 0, tree })
    }

    /// An array: its elements lie one behind the other, in whichever order its dimensions are counted.
    fn array(&mut self, place: Place, entry: &Entry<'a>, path: &str, levels: usize) -> Result<Type> {
        let is_elsewhere = [dw::DW_AT_data_location, dw::DW_AT_allocated, dw::DW_AT_associated]
            .into_iter()
            .any(|attribute| entry.has_attr(attribute));
        if is_elsewhere {
            let why = "is allocatable, or a pointer: its elements are elsewhere. Send them as a message of \
                       their own";
            let tree = self.refuse(path, why);
            let word = u64::from(self.types.units[place.unit].header.address_size());
            // A descriptor, whose size is not told; it is what is left up to the next field.
            return Ok(Type { name: "allocatable".to_owned(), size: 0, alignment: word, padding: 0, tree });
        }
        let element = self.type_of(place, entry, path, levels)?;
        let language = self.types.language(place.unit);
        let lowest = i64::from(language == Language::Fortran);
        let mut dimensions = Vec::new();
        let unit = &self.types.units[place.unit];
        let mut tree = unit.entries_tree(Some(place.offset))?;
        let mut children = tree.root()?.children();
        while let Some(child) = children.next()? {
            let child = child.entry();
            if !matches!(child.tag(), dw::DW_TAG_subrange_type | dw::DW_TAG_enumeration_type) {
                continue;
            }
            let number = |at| child.attr_value(at).and_then(|value| whole(&value));
            let count = match (number(dw::DW_AT_count), number(dw::DW_AT_upper_bound)) {
                (Some(count), _) => Some(count),
                (None, Some(upper)) => {
                    upper.checked_sub(number(dw::DW_AT_lower_bound).unwrap_or(lowest)).map(|last| last + 1)
                }
                (None, None) => None,
            };
            dimensions.push(count.map(|count| u64::try_from(count).unwrap_or(0)));
        }
        let brackets = |dimensions: &[Option<u64>]| {
            let count = |count: &Option<u64>| count.map_or(String::new(), |count| count.to_string());
            if language == Language::Fortran {
                format!("({})", dimensions.iter().map(count).collect::<Vec<_>>().join(", "))
            } else {
                dimensions.iter().fold(String::new(), |all, dimension| all + "[" + &count(dimension) + "]")
            }
        };
        let name = match language {
            Language::Rust if dimensions.len() == 1 => {
                format!("[{}; {}]", element.name, dimensions[0].unwrap_or(0))
            }
            _ => format!("{}{}", element.name, brackets(&dimensions)),
        };
        let stride = entry.attr_value(dw::DW_AT_byte_stride).and_then(|value| value.udata_value());
        let stride = stride.unwrap_or(element.size);
        let count = dimensions.iter().try_fold(1u64, |all, count| all.checked_mul((*count)?));
        let Some((count, size)) = count.and_then(|count| Some((count, count.checked_mul(stride)?))) else {
            // A flexible array member is no part of the struct.
            let why = "is an array without a length: how many elements there are is known only at run time";
            let tree = self.refuse(path, why);
            return Ok(Type { name, size: 0, alignment: element.alignment, padding: 0, tree });
        };
        if count == 0 && matches!(language, Language::C | Language::Cxx) && element.size > 0 {
            let tree = self
                .refuse(path, "is an array of length 0: what is behind the struct is known only at run time");
            return Ok(Type { name, size: 0, alignment: element.alignment, padding: 0, tree });
        }
        // Vectors of a machine are aligned as a whole.
        let alignment = if entry.has_attr(dw::DW_AT_GNU_vector) && size.is_power_of_two() {
            size
        } else {
            element.alignment
        };
        let padding = count.saturating_mul(element.padding + stride.saturating_sub(element.size));
        let tree = repeated(count, stride, element.tree);
        Ok(Type { name, size, alignment, padding, tree })
    }

    fn structure(&mut self, place: Place, entry: &Entry<'a>, path: &str, levels: usize) -> Result<Type> {
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
            let tree = self.refuse(path, format!("is a `{title}`, which is declared here, but not defined"));
            return Ok(Type { name: title, size: 0, alignment: 1, padding: 0, tree });
        }
        let members = self.members(place, entry, path, levels)?;
        let tree = members.tree();
        let Members { size, alignment, data, .. } = members;
        Ok(Type { name: title, size, alignment, padding: size.saturating_sub(data), tree })
    }

    /// The members of a struct, a class or a union.
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
                    let what = "is an enum whose variants hold values: which one is there is known only at \
                                run time";
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
            // What belongs to the class, and not to each object.
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
            // The fields of an unnamed struct, and what is inherited, are the outer one's own.
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
                // The unit that holds the bits.
                bit.unwrap_or(0) / 8 / found.size.max(1) * found.size
            }
            Some(AttributeValue::Exprloc(expression)) => constant(expression, self.types, place)
                .unwrap_or_else(|| {
                    self.refused.truncate(before);
                    let why = "is inherited virtually: where it lies is known only at run time";
                    found.tree = self.refuse(&what, why);
                    0
                }),
            Some(value) => match whole(&value).and_then(|offset| u64::try_from(offset).ok()) {
                Some(offset) => offset,
                None => bail!("the offset of `{what}` is not understood"),
            },
        };
        let name = name.unwrap_or_default();
        let is_table =
            name.starts_with("_vptr") || child.has_attr(dw::DW_AT_artificial) && is_pointer(&found);
        if let Some(bits) = bits {
            self.refused.truncate(before);
            found.tree = self.refuse(
                &path,
                format!("is a bit-field of {}, and MPI counts in bytes", count_of(bits, "bit", "bits")),
            );
        } else if is_table && self.refused.len() > before {
            self.refused.truncate(before);
            let why = "is the pointer to the table of virtual functions, which each process has its own of";
            found.tree = self.refuse(&path, why);
        }
        // What is inherited is skipped by the name of the class; the length of a text with the text.
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

    /// Of a union there is one member at a time. It can be carried where all have the same type map.
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
            "{} a union ({}): MPI cannot know which of them is there. Skip all but one{example}",
            if path.is_empty() { "holds" } else { "is" },
            names.collect::<Vec<_>>().join(", ")
        );
        self.refuse(path, why);
    }
}

/// Bytes of fields that are no padding: of those of a union the most, and of bit-fields in one unit all.
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

/// Gives fields of a size that is not told what there is up to the next one.
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

/// An alignment that a program asks for.
fn alignment(entry: &Entry<'_>) -> Option<u64> {
    let alignment = entry.attr_value(dw::DW_AT_alignment)?.udata_value()?;
    alignment.is_power_of_two().then_some(alignment)
}

/// The copies of an array.
fn repeated(count: u64, stride: u64, child: TypeTree) -> TypeTree {
    if count == 0 {
        return nothing();
    }
    TypeTree::vector(count, stride as i64, child)
}

/// The largest power of two that divides a size, up to 16.
fn power_of_two_in(size: u64) -> u64 {
    if size == 0 { 1 } else { 1 << size.trailing_zeros().min(4) }
}

/// A whole number.
fn whole(value: &AttributeValue<Slice<'_>>) -> Option<i64> {
    value.sdata_value().or_else(|| value.udata_value().and_then(|value| i64::try_from(value).ok()))
}

/// An offset that is written as an expression, as DWARF 2 does: only what adds a number to the address.
fn constant(expression: gimli::Expression<Slice<'_>>, types: &Types<'_>, place: Place) -> Option<u64> {
    let mut operations = expression.operations(types.units[place.unit].encoding());
    let gimli::Operation::PlusConstant { value: offset } = operations.next().ok()?? else { return None };
    operations.next().ok()?.is_none().then_some(offset)
}
