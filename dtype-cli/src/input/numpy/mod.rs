//! numpy dtypes as Python prints them: a string, a list of fields or a dictionary, possibly nested, and
//! possibly inside `dtype(…, align=True)`. A void without a name is padding, as in numpy's own `descr`.
//!
//! `arrays` has descriptions of arrays, whose elements have a dtype, and `names` the names of types.

mod arrays;
mod names;

use std::collections::HashSet;

use dtype_core::{BaseType, Bounds, Constructor, Datatype, TypeTree};

use super::scanner::{Comments, Read, Scanner};
use crate::record::{self, FieldPlace, Language, Record};
pub(super) use arrays::{header, is_npy};
pub(super) use names::is_name;
use names::{KEYS, element, shape_before};

/// The greatest depth of nested records. Each level is a recursive call.
const MOST_LEVELS: usize = 256;

/// Reads a dtype. Returns the datatype and, for a record, the fields.
pub(super) fn read(text: &str) -> Read<(Datatype, Option<Record>)> {
    let mut reader = Reader { scanner: Scanner::in_language(text, Comments::Python) };
    let described = reader.whole()?;
    reader.scanner.end()?;
    Ok((described.datatype, described.record))
}

/// Returns `true` if a dictionary of numpy begins with this key.
pub(super) fn is_key(key: &str) -> bool {
    const OF_RECORDS: [&str; 6] = ["names", "formats", "offsets", "itemsize", "titles", "aligned"];
    OF_RECORDS.contains(&key) || KEYS.contains(&key)
}

/// A dtype, with its alignment in an aligned record.
struct Described {
    datatype: Datatype,
    alignment: u64,
    /// The fields, if the dtype is a record.
    record: Option<Record>,
    /// `true` for bytes without a meaning, and arrays of them: without a name, they are padding.
    is_void: bool,
    /// The base type of characters or bytes without a length, which may follow: `('S', 5)`.
    unsized_base: Option<BaseType>,
}

/// A field of a record, before its offset is computed.
struct Field {
    /// The name, or `None` for padding.
    name: Option<String>,
    described: Described,
    /// The offset in bytes, if a dictionary gives it.
    offset: Option<i64>,
}

/// Returns a field for tables and pictures.
fn listed_field(
    name: &str,
    at: i64,
    alignment: u64,
    Datatype { tree, bounds, .. }: &Datatype,
) -> record::Field {
    let size = bounds.extent as u64;
    let drawn = tree.to_string();
    record::Field {
        name: name.to_owned(),
        type_name: drawn.lines().next().unwrap_or_default().to_owned(),
        offset: at as u64,
        size,
        alignment,
        padding: size.saturating_sub(tree.measure().map_or(size, |measure| measure.size)),
        place: FieldPlace::Free,
    }
}

struct Reader<'a> {
    scanner: Scanner<'a>,
}

impl<'a> Reader<'a> {
    /// Reads a dtype, with or without `dtype(…)` or `np.dtype(…)` around it.
    fn whole(&mut self) -> Read<Described> {
        let place = self.scanner.place();
        let is_wrapped = match self.scanner.word() {
            Some("np" | "numpy") => self.scanner.takes(".") && self.scanner.takes_word("dtype"),
            Some("dtype") => true,
            // An assignment, as in a program.
            Some(_) if self.scanner.takes("=") => return self.whole(),
            _ => false,
        };
        if !is_wrapped {
            self.scanner.go_back(place);
            return if self.scanner.sees_name() {
                self.list_of_names()
            } else {
                self.dtype(false, MOST_LEVELS)
            };
        }
        self.scanner.expect("(")?;
        let inner = self.scanner.place();
        // `align` follows the description that it affects, so the description is read twice.
        self.dtype(false, MOST_LEVELS)?;
        let align = self.options()?;
        let behind = self.scanner.place();
        self.scanner.go_back(inner);
        let described = self.dtype(align, MOST_LEVELS)?;
        self.scanner.go_back(behind);
        self.scanner.expect(")")?;
        Ok(described)
    }

    /// Reads the arguments after a description. Returns `true` if fields are aligned.
    fn options(&mut self) -> Read<bool> {
        let mut align = false;
        while self.scanner.takes(",") && !self.scanner.sees(")") {
            if self.scanner.takes_word("align") {
                self.scanner.expect("=")?;
                align = self.truth()?;
            } else if self.scanner.sees_word("True") || self.scanner.sees_word("False") {
                align |= self.truth()?;
            } else if self.scanner.word().is_some() {
                self.scanner.expect("=")?;
                self.pass_value()?;
            } else {
                return Err(self.scanner.unexpected("an argument such as align=True"));
            }
        }
        Ok(align)
    }

    fn truth(&mut self) -> Read<bool> {
        if self.scanner.takes_word("True") {
            Ok(true)
        } else if self.scanner.takes_word("False") {
            Ok(false)
        } else {
            Err(self.scanner.unexpected("True or False"))
        }
    }

    /// Passes a value of Python, up to a comma or a bracket that closes.
    fn pass_value(&mut self) -> Read<()> {
        let mut open = 0usize;
        while !self.scanner.is_at_end() {
            let closes = [")", "]", "}"].iter().any(|sign| self.scanner.sees(sign));
            if open == 0 && (closes || self.scanner.sees(",")) {
                return Ok(());
            }
            if self.scanner.quoted().is_some() {
                continue;
            }
            open += usize::from(["(", "[", "{"].iter().any(|sign| self.scanner.sees(sign)));
            open -= usize::from(closes);
            self.scanner.skip_sign();
        }
        Err(self.scanner.unexpected("the end of a value"))
    }

    fn dtype(&mut self, align: bool, levels: usize) -> Read<Described> {
        let place = self.scanner.place();
        if levels == 0 {
            return Err(self
                .scanner
                .unexpected("the name of a type, because records are nested 256 levels deep, the limit"));
        }
        if self.scanner.takes("[") {
            let fields = self.fields(align, levels - 1)?;
            return self.record_of_list(place, fields, align);
        }
        if self.scanner.takes("{") {
            return self.dictionary(place, align, levels - 1);
        }
        if self.scanner.takes("(") {
            return self.pair(place, align, levels - 1);
        }
        let is_wrapped = ["dtype", "np.dtype", "numpy.dtype"]
            .iter()
            .any(|name| self.scanner.sees(name) && self.scanner.takes(&format!("{name}(")));
        if is_wrapped {
            // `dtype` within a dtype.
            let described = self.dtype(align, levels - 1)?;
            self.options()?;
            self.scanner.expect(")")?;
            return Ok(described);
        }
        if let Some(name) = self.scanner.quoted() {
            return self.quoted_names(place, name, align);
        }
        // numpy prints the name of a simple type without quotation marks.
        let name = self.scanner.until(&[',', ')', ']', '}', '\n', '\'', '"', '#']);
        self.named(place, name)
    }

    /// Reads the names of types to the end of the text: `i4, (2,3)f8`.
    fn list_of_names(&mut self) -> Read<Described> {
        let place = self.scanner.place();
        let text = self.scanner.until(&['\n', '#']);
        self.quoted_names(place, text, false)
    }

    /// Returns the dtype of a text: a name, or names with commas between them, which make a record.
    fn quoted_names(&self, place: usize, text: &str, align: bool) -> Read<Described> {
        let names = split(text);
        if names.len() == 1 {
            return self.named(place, text);
        }
        let mut fields = Vec::new();
        // A comma may follow the last name.
        for (i, name) in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).enumerate() {
            let described = self.named(place, name)?;
            fields.push(Field { name: Some(format!("f{i}")), described, offset: None });
        }
        self.record(place, fields, None, align)
    }

    /// Reads a pair after its opening bracket: a type and a shape or a length, or a type and the fields into
    /// which its bytes are divided, as in `(numpy.record, [('x', '<f8')])`.
    fn pair(&mut self, place: usize, align: bool, levels: usize) -> Read<Described> {
        let is_record = ["numpy.record", "np.record", "record"].iter().any(|name| self.scanner.takes(name));
        if is_record {
            self.scanner.expect(",")?;
            let described = self.dtype(align, levels)?;
            self.scanner.expect(")")?;
            return Ok(described);
        }
        let of = self.scanner.place();
        let described = self.dtype(align, levels)?;
        self.scanner.expect(",")?;
        let described = if self.scanner.sees("[") || self.scanner.sees("{") {
            let divided = self.dtype(align, levels)?;
            let [whole, size] = [&described, &divided].map(|described| described.datatype.bounds.extent);
            if whole != size {
                let reason = format!("the fields take {size} bytes, but the type has {whole}");
                return Err(self.scanner.wrong_at(place, reason));
            }
            divided
        } else {
            self.shaped(of, described)?
        };
        self.scanner.takes(",");
        self.scanner.expect(")")?;
        Ok(described)
    }

    /// Reads the fields of a list: each has a name, a dtype and optionally a shape.
    fn fields(&mut self, align: bool, levels: usize) -> Read<Vec<Field>> {
        let mut fields = Vec::new();
        while !self.scanner.takes("]") {
            self.scanner.expect("(")?;
            let name = self.name()?;
            self.scanner.expect(",")?;
            let place = self.scanner.place();
            let mut described = self.dtype(align, levels)?;
            if self.scanner.takes(",") && !self.scanner.sees(")") {
                described = self.shaped(place, described)?;
                self.scanner.takes(",");
            }
            self.scanner.expect(")")?;
            let name = match name {
                "" if described.is_void => None,
                "" => Some(format!("f{}", fields.len())),
                name => Some(name.to_owned()),
            };
            fields.push(Field { name, described, offset: None });
            self.scanner.behind_item("]")?;
        }
        Ok(fields)
    }

    /// Returns the record of a list. One field without a name is numpy's `descr` of a type that is no record.
    fn record_of_list(&self, place: usize, mut fields: Vec<Field>, align: bool) -> Read<Described> {
        if matches!(fields[..], [Field { name: None, .. }]) {
            return Ok(fields.remove(0).described);
        }
        self.record(place, fields, None, align)
    }

    /// Reads a field's name, or a pair of its title and its name.
    fn name(&mut self) -> Read<&'a str> {
        if self.scanner.takes("(") {
            self.quoted("a title")?;
            self.scanner.expect(",")?;
            let name = self.quoted("a name")?;
            self.scanner.expect(")")?;
            return Ok(name);
        }
        self.quoted("the name of a field")
    }

    fn quoted(&mut self, expected: &str) -> Read<&'a str> {
        self.scanner.quoted().ok_or_else(|| self.scanner.unexpected(expected))
    }

    /// Reads a dictionary: that of a record, with `'names'` and `'formats'`, that of an array, or one with a
    /// pair of type and offset for each name.
    fn dictionary(&mut self, place: usize, align: bool, levels: usize) -> Read<Described> {
        let begin = self.scanner.place();
        let key = self.scanner.quoted();
        let is_pair = self.scanner.takes(":") && self.scanner.sees("(");
        self.scanner.go_back(begin);
        match key {
            Some(key) if KEYS.contains(&key) => self.array(place, align, levels),
            Some(key) if is_pair && !is_key(key) => self.fields_by_name(place, align, levels),
            _ => self.record_by_keys(place, align, levels),
        }
    }

    /// Reads the items of `{'x': ('<f8', 0), 'n': ('<i4', 8)}`, each with the offset of its field. A title
    /// may follow.
    fn fields_by_name(&mut self, place: usize, align: bool, levels: usize) -> Read<Described> {
        let mut fields = Vec::new();
        while !self.scanner.takes("}") {
            let name = self.quoted("the name of a field")?.to_owned();
            self.scanner.expect(":")?;
            self.scanner.expect("(")?;
            let described = self.dtype(align, levels)?;
            self.scanner.expect(",")?;
            let offset = Some(self.scanner.number("an offset")?);
            if self.scanner.takes(",") && !self.scanner.sees(")") {
                self.pass_value()?;
            }
            self.scanner.expect(")")?;
            fields.push(Field { name: Some(name), described, offset });
            self.scanner.behind_item("}")?;
        }
        // numpy orders the fields so.
        fields.sort_by_key(|field| field.offset);
        self.record(place, fields, None, align)
    }

    /// Reads a dictionary with `'names'`, `'formats'` and the optional keys `'offsets'`, `'itemsize'`,
    /// `'titles'` and `'aligned'`.
    fn record_by_keys(&mut self, place: usize, align: bool, levels: usize) -> Read<Described> {
        let (begin, mut aligned) = (self.scanner.place(), align);
        let mut names: Option<Vec<String>> = None;
        let mut formats = None;
        let mut offsets: Option<Vec<i64>> = None;
        let mut itemsize: Option<i64> = None;
        while !self.scanner.takes("}") {
            let key_at = self.scanner.place();
            let key = self.quoted("a key")?;
            self.scanner.expect(":")?;
            match key {
                "names" => {
                    names =
                        Some(self.list("a list of names", |reader| Ok(reader.quoted("a name")?.to_owned()))?);
                }
                "titles" => self.pass_value()?,
                "formats" => {
                    formats = Some(self.list("a list of formats", |reader| reader.dtype(align, levels))?);
                }
                "offsets" => {
                    offsets =
                        Some(self.list("a list of offsets", |reader| reader.scanner.number("an offset"))?);
                }
                "itemsize" => itemsize = Some(self.scanner.number("a number of bytes")?),
                "aligned" => aligned |= self.truth()?,
                _ => {
                    let known = "one of 'names', 'formats', 'offsets', 'itemsize', 'titles' and 'aligned'";
                    return Err(self.scanner.unexpected_at(key_at, known));
                }
            }
            self.scanner.behind_item("}")?;
        }
        if aligned && !align {
            // `aligned` may follow the formats that it affects, so the dictionary is read again.
            self.scanner.go_back(begin);
            return self.record_by_keys(place, true, levels);
        }
        let (Some(names), Some(formats)) = (names, formats) else {
            return Err(self.scanner.unexpected_at(place, "a dictionary with 'names' and 'formats'"));
        };
        let count = names.len();
        if count != formats.len() || offsets.as_ref().is_some_and(|offsets| offsets.len() != count) {
            let expected = "one format, and one offset, for each name";
            return Err(self.scanner.unexpected_at(place, expected));
        }
        let field = |(k, (name, described))| {
            let offset = offsets.as_ref().map(|offsets| offsets[k]);
            Field { name: Some(name), described, offset }
        };
        let fields = names.into_iter().zip(formats).enumerate().map(field).collect();
        self.record(place, fields, itemsize, align)
    }

    /// Reads a list or a tuple.
    fn list<T>(&mut self, expected: &str, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let close = if self.scanner.takes("[") {
            "]"
        } else if self.scanner.takes("(") {
            ")"
        } else {
            return Err(self.scanner.unexpected(expected));
        };
        let mut items = Vec::new();
        while !self.scanner.takes(close) {
            items.push(item(self)?);
            self.scanner.behind_item(close)?;
        }
        Ok(items)
    }

    /// Returns a record. Fields without an offset follow the field before them, aligned if `align` is set.
    fn record(
        &self,
        place: usize,
        fields: Vec<Field>,
        itemsize: Option<i64>,
        align: bool,
    ) -> Read<Described> {
        let refused = |error: dtype_core::Error| self.scanner.wrong_at(place, error);
        let too_large = || self.scanner.unexpected_at(place, "a record of less than 2^63 bytes");
        let (mut end, mut alignment) = (0i64, 1);
        let (mut displacements, mut oldtypes, mut listed) = (Vec::new(), Vec::new(), Vec::new());
        let mut names = HashSet::new();
        for Field { name, described, offset } in fields {
            let own = if align { described.alignment } else { 1 };
            let Some(name) = name else {
                // Padding has its place, but no data.
                end = end.checked_add(described.datatype.bounds.extent).ok_or_else(too_large)?;
                continue;
            };
            if let Some(offset) = offset.filter(|at| *at < 0 || *at as u64 % own != 0) {
                let reason =
                    format!("the offset of `{name}` is {offset}, but must be a multiple of {own}, 0 or more");
                return Err(self.scanner.wrong_at(place, reason));
            }
            alignment = own.max(alignment);
            let free = (end as u64).checked_next_multiple_of(own).and_then(|at| i64::try_from(at).ok());
            let at = offset.or(free).ok_or_else(too_large)?;
            end = end.max(at.checked_add(described.datatype.bounds.extent).ok_or_else(too_large)?);
            displacements.push(at);
            listed.push(listed_field(&name, at, own, &described.datatype));
            oldtypes.push(described.datatype);
            if !names.insert(name.clone()) {
                return Err(self.scanner.wrong_at(place, format!("two fields are called `{name}`")));
            }
        }
        let least = (end as u64).checked_next_multiple_of(alignment).and_then(|end| i64::try_from(end).ok());
        let least = least.ok_or_else(too_large)?;
        let extent = itemsize.unwrap_or(least);
        if extent < end || extent as u64 % alignment != 0 {
            let reason = format!(
                "the itemsize is {extent}, but must be a multiple of {alignment}, and {end} or more so that \
                 all fields are within"
            );
            return Err(self.scanner.wrong_at(place, reason));
        }
        let structure =
            Constructor::Struct { blocklengths: vec![1; oldtypes.len()], displacements, oldtypes };
        let oldtype = structure.datatype().map_err(refused)?;
        let resized = Constructor::Resized { lower_bound: 0, extent, oldtype };
        let datatype = resized.datatype().map_err(refused)?;
        listed.sort_by_key(|field| field.offset);
        let record = Record {
            name: "dtype".to_owned(),
            language: Language::Numpy,
            declared: None,
            header: None,
            size: extent as u64,
            alignment,
            data: datatype.tree.measure().map_err(refused)?.size,
            fields: listed,
        };
        Ok(Described { datatype, alignment, record: Some(record), is_void: false, unsized_base: None })
    }

    /// Reads a shape: a number, or the lengths of an array in C order. Returns an array of this shape, whose
    /// elements `described` describes.
    fn shaped(&mut self, place: usize, described: Described) -> Read<Described> {
        let shape: Vec<u64> = if self.scanner.takes("(") {
            self.scanner.items(")", |scanner| scanner.number("a length"))?
        } else if self.scanner.takes("[") {
            self.scanner.items("]", |scanner| scanner.number("a length"))?
        } else {
            let length = self.scanner.number("a shape: a number, or lengths in brackets")?;
            // Characters or bytes without a length get it here: ('S', 5).
            if let Some(base) = described.unsized_base {
                return self.bytes(place, length, base);
            }
            vec![length]
        };
        self.copies(place, &shape, described)
    }

    fn copies(&self, place: usize, shape: &[u64], described: Described) -> Read<Described> {
        let too_large = || self.scanner.unexpected_at(place, "an array of less than 2^63 elements");
        let count = shape.iter().try_fold(1u64, |count, length| count.checked_mul(*length));
        let count = count.filter(|count| i64::try_from(*count).is_ok()).ok_or_else(too_large)?;
        let Described { datatype, alignment, is_void, .. } = described;
        let array = Constructor::Contiguous { count, oldtype: datatype }.datatype();
        let refused = |error: dtype_core::Error| self.scanner.wrong_at(place, error);
        Ok(Described {
            datatype: array.map_err(refused)?,
            alignment,
            record: None,
            is_void,
            unsized_base: None,
        })
    }

    /// Returns the dtype with this name: `f8`, `<f8`, `float64`, `np.float64`, `S10`, `(2,3)i4`.
    fn named(&self, place: usize, name: &str) -> Read<Described> {
        let unknown = |expected: &str| Err(self.scanner.unexpected_at(place, expected));
        if name.trim().is_empty() {
            return unknown("a dtype: a name such as '<f8', a list of fields, or a dictionary");
        }
        let (shape, rest) = shape_before(own_name(name.trim()));
        let rest = rest.trim();
        let is_big = rest.starts_with('>');
        let rest = rest.strip_prefix(['<', '=', '|', '>']).unwrap_or(rest);
        let (base, count) = match element(rest) {
            Some(found) => found,
            None if rest.starts_with('O') || rest == "object" || rest == "object_" => {
                return unknown("numbers: an object is an address, which means nothing to another process");
            }
            None if rest == "T" || rest.starts_with("StringDType") => {
                return unknown(
                    "texts of a fixed length, such as 'S10': others are stored outside the array",
                );
            }
            None => return unknown("a dtype that numpy knows, such as '<f8', 'int32' or 'S10'"),
        };
        if is_big && base.size() > 1 {
            return unknown("numbers in this machine's byte order: MPI has no datatypes for another one");
        }
        let element = self.bytes(place, count, base)?;
        match shape {
            Some(shape) => self.copies(place, &shape, element),
            None => Ok(element),
        }
    }

    /// Returns `count` characters or bytes. The count may be 0.
    fn bytes(&self, place: usize, count: u64, base: BaseType) -> Read<Described> {
        let alignment = base.alignment();
        let is_void = base == BaseType::Byte;
        let one = Described {
            datatype: Datatype::base(base),
            alignment,
            record: None,
            is_void,
            unsized_base: None,
        };
        match count {
            0 => {
                let tree = TypeTree::structure([], []);
                let datatype = Datatype { tree, bounds: Bounds::of_extent(0), resized: false };
                Ok(Described { datatype, alignment, record: None, is_void, unsized_base: Some(base) })
            }
            1 => Ok(one),
            _ => self.copies(place, &[count], one),
        }
    }
}

/// Returns the name without the module and the words around it: `float64` for `<class 'numpy.float64'>`.
fn own_name(name: &str) -> &str {
    let name = name.strip_prefix("<class ").map_or(name, |name| name.trim_end_matches('>'));
    let name = name.trim_matches(['\'', '"']);
    ["numpy.", "np."].iter().find_map(|module| name.strip_prefix(module)).unwrap_or(name)
}

/// Splits names at the commas that are not within brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut open, mut begin, mut names) = (0i32, 0, Vec::new());
    for (at, sign) in text.char_indices() {
        match sign {
            '(' => open += 1,
            ')' => open -= 1,
            ',' if open == 0 => {
                names.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    names.push(&text[begin..]);
    names
}
