//! A struct with named fields, the padding between them, and an order of the fields that takes less memory.

use serde::Serialize;

/// A struct of a program, or a record of numpy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Record {
    /// The name as the language writes it: `struct particle`, `sim::Particle`, `type(particle)`.
    pub(crate) name: String,
    pub(crate) language: Language,
    /// The file and the line of the declaration.
    pub(crate) declared: Option<(String, u64)>,
    /// The header that declares the struct, as a program includes it.
    pub(crate) header: Option<String>,
    /// The size in bytes, a multiple of `alignment`.
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    /// The bytes that are not padding.
    pub(crate) data: u64,
    /// The fields, by offset.
    pub(crate) fields: Vec<Field>,
}

/// The language in which a record is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Language {
    C,
    Cxx,
    Fortran,
    Rust,
    Numpy,
    Other,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// The type as the language writes it.
    pub(crate) type_name: String,
    /// The offset from the beginning of the record in bytes.
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    /// The bytes of padding within the field.
    pub(crate) padding: u64,
    pub(crate) place: FieldPlace,
}

/// The constraint on a field's position in its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FieldPlace {
    Free,
    /// A part that must come first, such as a base class or the pointer to the table of virtual functions.
    First,
    /// A bit-field of this many bits, which shares its bytes with other bit-fields.
    Bits(u64),
}

/// The fields of a record in another order.
pub(crate) struct Reordered<'a> {
    /// The fields with their new offsets.
    pub(crate) fields: Vec<(&'a Field, u64)>,
    /// The size of the record in this order, in bytes.
    pub(crate) size: u64,
}

impl Field {
    /// Returns the name for tables and messages.
    pub(crate) fn label(&self) -> String {
        match (self.place, self.name.as_str()) {
            (FieldPlace::Bits(bits), name) => format!("{name}:{bits}"),
            (_, "") => "(unnamed)".to_owned(),
            (_, name) => name.to_owned(),
        }
    }
}

impl Record {
    /// Returns the bytes of padding: between fields, after the last one, and within them.
    pub(crate) fn padding(&self) -> u64 {
        self.size.saturating_sub(self.data)
    }

    /// Returns the struct's own name, without keywords, namespaces and type arguments.
    pub(crate) fn own_name(&self) -> &str {
        let before_arguments = self.name.split('<').next().unwrap_or_default();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        before_arguments.trim_end_matches(')').rsplit(|c| !is_part(c)).next().unwrap_or_default()
    }

    /// Returns the offset and the size of each gap that no field covers.
    pub(crate) fn gaps(&self) -> Vec<(u64, u64)> {
        let (mut gaps, mut covered) = (Vec::new(), 0);
        for field in &self.fields {
            if field.offset > covered {
                gaps.push((covered, field.offset - covered));
            }
            covered = covered.max(field.offset.saturating_add(field.size));
        }
        if self.size > covered {
            gaps.push((covered, self.size - covered));
        }
        gaps
    }

    /// Returns the order of the fields that takes the least memory, or `None` if it does not take less than
    /// the record.
    ///
    /// The result is also `None` if the fields do not lie where their alignments put them. This concerns
    /// packed records, bit-fields, and fields that overlap. Sizes are multiples of alignments, so fields of
    /// decreasing alignment leave no gap.
    pub(crate) fn reordered(&self) -> Option<Reordered<'_>> {
        if !self.is_laid_out() {
            return None;
        }
        let (first, mut free): (Vec<_>, Vec<_>) =
            self.fields.iter().partition(|field| field.place == FieldPlace::First);
        let mut end = first.iter().map(|field| field.offset + field.size).max().unwrap_or(0);
        let mut fields: Vec<_> = first.iter().map(|field| (*field, field.offset)).collect();
        while !free.is_empty() {
            // A field that leaves no gap, or else the field that leaves the smallest one.
            let fits = |field: &&Field| end % field.alignment == 0;
            let large = (0..free.len()).rev().filter(|i| fits(&free[*i])).max_by_key(|i| free[*i].alignment);
            let next = large.or_else(|| (0..free.len()).min_by_key(|i| free[*i].alignment))?;
            let field = free.remove(next);
            let offset = end.checked_next_multiple_of(field.alignment)?;
            end = offset.checked_add(field.size)?;
            fields.push((field, offset));
        }
        let size = end.checked_next_multiple_of(self.alignment)?;
        (size < self.size).then_some(Reordered { fields, size })
    }

    /// Returns `true` if each field lies at the next offset that its alignment allows. The size of the record
    /// must also be the next multiple of its alignment.
    pub(crate) fn is_laid_out(&self) -> bool {
        let mut end = 0u64;
        for field in &self.fields {
            let next = end.checked_next_multiple_of(field.alignment);
            if matches!(field.place, FieldPlace::Bits(_)) || next != Some(field.offset) {
                return false;
            }
            end = field.offset.saturating_add(field.size);
        }
        end.checked_next_multiple_of(self.alignment) == Some(self.size)
    }
}
