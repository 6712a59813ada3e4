//! The types of a program as MPI sees them: their bytes, or the reason why MPI cannot carry them. Structs are
//! in `members`.

use anyhow::{Result, bail};
use dtype_core::{BaseType, TypeTree};
use gimli::{AttributeValue, constants as dw};

use super::{
    base::{base_type, by_name},
    names::{is_alias, is_qualifier},
    sections::Slice,
    types::{Entry, MOST_LEVELS, Place, Types},
};
use crate::record::{Language, Record};

/// The properties of a type in the program.
pub(super) struct Type {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) alignment: u64,
    /// The bytes of padding.
    pub(super) padding: u64,
    /// The tree of the bytes that MPI carries.
    pub(super) tree: TypeTree,
}

/// A struct: its fields, the tree that MPI carries, and the fields that MPI cannot carry.
pub(super) struct Described {
    pub(super) record: Record,
    pub(super) tree: TypeTree,
    pub(super) refused: Vec<Refused>,
}

/// A field, or a whole struct, that MPI cannot carry.
pub(super) struct Refused {
    /// The field, with the fields that contain it; empty for the whole struct.
    pub(super) path: String,
    pub(super) why: String,
}

/// A walk through the types of a struct.
pub(super) struct Walk<'w, 'a> {
    pub(super) types: &'w Types<'a>,
    /// The fields to leave out, each with `true` if it was found.
    pub(super) skipped: &'w mut [(String, bool)],
    pub(super) refused: Vec<Refused>,
}

pub(super) fn nothing() -> TypeTree {
    TypeTree::structure([], [])
}

impl<'a> Walk<'_, 'a> {
    /// Records that MPI cannot carry `path`, and returns an empty tree.
    pub(super) fn refuse(&mut self, path: &str, why: impl Into<String>) -> TypeTree {
        self.refused.push(Refused { path: path.to_owned(), why: why.into() });
        nothing()
    }

    pub(super) fn is_skipped(&mut self, path: &str) -> bool {
        let found = self.skipped.iter_mut().find(|(skipped, _)| skipped == path);
        found.map(|(_, is_found)| *is_found = true).is_some()
    }

    /// Returns the type to which the entry's attribute `DW_AT_type` refers.
    pub(super) fn type_of(
        &mut self,
        place: Place,
        entry: &Entry<'a>,
        path: &str,
        levels: usize,
    ) -> Result<Type> {
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

    pub(super) fn type_at(&mut self, place: Place, path: &str, levels: usize) -> Result<Type> {
        let Some(levels) = levels.checked_sub(1) else {
            bail!("the type of `{path}` has more than {MOST_LEVELS} levels, or holds itself");
        };
        let entry = self.types.entry(place)?;
        let name = self.types.name(place.unit, &entry);
        let size = entry.attr_value(dw::DW_AT_byte_size).and_then(|size| size.udata_value());
        let word = u64::from(self.types.units[place.unit].header.address_size());
        let mut found = match entry.tag() {
            dw::DW_TAG_base_type => self.base(place, &entry, name.unwrap_or_default(), path),
            tag if is_alias(tag) => self.typedef(place, &entry, name, path, levels)?,
            tag if is_qualifier(tag) => self.type_of(place, &entry, path, levels)?,
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
                    self.refuse(path, "is a character string whose length is known only at run time")
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
                    _ => "of a kind that has no MPI datatype",
                };
                let language = self.types.language(place.unit);
                let name = match (tag, self.pointed_name(place, &entry)) {
                    // Rust's pointer types have names.
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
                // A pointer to a member function takes two words.
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

    /// Returns `true` if a pointer points to a function.
    fn is_of_function(&self, place: Place, entry: &Entry<'a>) -> bool {
        let pointed = self.types.referred(place.unit, entry, dw::DW_AT_type);
        let tag = pointed.and_then(|place| self.types.entry(place).ok()).map(|entry| entry.tag());
        tag == Some(dw::DW_TAG_subroutine_type)
    }

    /// Returns the name of the type that a pointer points to, without examining that type.
    pub(super) fn pointed_name(&self, place: Place, entry: &Entry<'a>) -> String {
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
            // A complex number is aligned like its parts, in Fortran as well.
            Some(base) => (TypeTree::Leaf(base), base.alignment()),
            None if size == 0 => (nothing(), 1),
            None => {
                let why = format!("is a `{name}` of {size} bytes, for which MPI has no datatype");
                (self.refuse(path, why), power_of_two_in(size))
            }
        };
        Type { name, size, alignment, padding: 0, tree }
    }

    /// Returns the type that a `typedef` names. A name such as `int32_t` may determine the predefined
    /// datatype better than the base type does.
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

    /// Returns an enumeration as the integer that represents it.
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

    /// Returns an array. Its elements are equally spaced, so the order of its dimensions does not matter.
    fn array(&mut self, place: Place, entry: &Entry<'a>, path: &str, levels: usize) -> Result<Type> {
        let is_elsewhere = [dw::DW_AT_data_location, dw::DW_AT_allocated, dw::DW_AT_associated]
            .into_iter()
            .any(|attribute| entry.has_attr(attribute));
        if is_elsewhere {
            let why = "is allocatable, or a pointer: its elements are stored outside the struct. Send them \
                       as a separate message";
            let tree = self.refuse(path, why);
            let word = u64::from(self.types.units[place.unit].header.address_size());
            // Debug information omits the size of the descriptor. The descriptor extends to the next field.
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
            // A flexible array member does not add to the size of the struct.
            let why = "is an array without a length: its length is known only at run time";
            let tree = self.refuse(path, why);
            return Ok(Type { name, size: 0, alignment: element.alignment, padding: 0, tree });
        };
        if count == 0 && matches!(language, Language::C | Language::Cxx) && element.size > 0 {
            let tree = self.refuse(
                path,
                "is an array of length 0: the length of the data after the struct is known only at run time",
            );
            return Ok(Type { name, size: 0, alignment: element.alignment, padding: 0, tree });
        }
        // A SIMD vector is aligned to its whole size.
        let alignment = if entry.has_attr(dw::DW_AT_GNU_vector) && size.is_power_of_two() {
            size
        } else {
            element.alignment
        };
        let padding = count.saturating_mul(element.padding + stride.saturating_sub(element.size));
        let tree = repeated(count, stride, element.tree);
        Ok(Type { name, size, alignment, padding, tree })
    }
}

/// Returns the alignment that a program requests explicitly.
pub(super) fn alignment(entry: &Entry<'_>) -> Option<u64> {
    let alignment = entry.attr_value(dw::DW_AT_alignment)?.udata_value()?;
    alignment.is_power_of_two().then_some(alignment)
}

/// Returns the tree of an array: `count` copies of `child`.
fn repeated(count: u64, stride: u64, child: TypeTree) -> TypeTree {
    if count == 0 {
        return nothing();
    }
    TypeTree::vector(count, stride as i64, child)
}

/// Returns the largest power of two, up to 16, that divides `size`.
pub(super) fn power_of_two_in(size: u64) -> u64 {
    if size == 0 { 1 } else { 1 << size.trailing_zeros().min(4) }
}

/// Returns the value of an integer attribute.
pub(super) fn whole(value: &AttributeValue<Slice<'_>>) -> Option<i64> {
    value.sdata_value().or_else(|| value.udata_value().and_then(|value| i64::try_from(value).ok()))
}
