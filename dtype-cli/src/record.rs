//! A struct with names: its fields, the padding between them, and an order of the fields that needs less.

use serde::Serialize;

/// A struct of a program, or a record of numpy's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Record {
    /// As the language writes it: `struct particle`, `sim::Particle`, `type(particle)`.
    pub(crate) name: String,
    pub(crate) language: Language,
    /// Where it is declared: a file, and a line.
    pub(crate) declared: Option<(String, u64)>,
    /// The header that declares it, as a program includes it, if there is one.
    pub(crate) header: Option<String>,
    /// Bytes of it, and what they are a multiple of.
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    /// Bytes that are no padding.
    pub(crate) data: u64,
    /// By offset.
    pub(crate) fields: Vec<Field>,
}

/// What a record was written in.
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
    /// As the language writes it.
    pub(crate) type_name: String,
    /// Bytes from the beginning of the record.
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    /// Bytes of padding within it.
    pub(crate) padding: u64,
    pub(crate) place: FieldPlace,
}

/// Whether a field may stand elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FieldPlace {
    Free,
    /// What a class inherits, and the pointer to its table of functions, come first.
    First,
    /// So many bits of the bytes that it shares with others.
    Bits(u64),
}

/// Fields in another order.
pub(crate) struct Reordered<'a> {
    /// With their new offsets.
    pub(crate) fields: Vec<(&'a Field, u64)>,
    /// Bytes of the record then.
    pub(crate) size: u64,
}

impl Field {
    /// What tables and messages call it.
    pub(crate) fn label(&self) -> String {
        match (self.place, self.name.as_str()) {
            (FieldPlace::Bits(bits), name) => format!("{name}:{bits}"),
            (_, "") => "(unnamed)".to_owned(),
            (_, name) => name.to_owned(),
        }
    }
}

impl Record {
    /// Bytes of padding: between fields, behind the last one, and within them.
    pub(crate) fn padding(&self) -> u64 {
        self.size.saturating_sub(self.data)
    }

    /// Where no field is: offset and size.
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

    /// The order of the fields that needs the least memory, if that is less than the record has. None where
    /// the fields do not lie as their alignments say: in packed records, with bit-fields, and where they
    /// overlap.
    ///
    /// Sizes are multiples of alignments, so the largest alignment first leaves no gap.
    pub(crate) fn reordered(&self) -> Option<Reordered<'_>> {
        if !self.is_laid_out() {
            return None;
        }
        let (first, mut free): (Vec<_>, Vec<_>) =
            self.fields.iter().partition(|field| field.place == FieldPlace::First);
        let mut end = first.iter().map(|field| field.offset + field.size).max().unwrap_or(0);
        let mut fields: Vec<_> = first.iter().map(|field| (*field, field.offset)).collect();
        while !free.is_empty() {
            // One that leaves no gap, else one that leaves the smallest.
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

    /// Whether each field lies at the next place that its alignment allows, and the record ends likewise.
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
