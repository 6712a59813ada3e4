//! numpy dtypes as Python prints them: a string, a list of fields or a dictionary, possibly nested, and
//! possibly inside `dtype(…, align=True)`.

use std::collections::HashSet;

use dtype_core::{BaseType, Bounds, Constructor, Datatype, TypeTree};

use super::scanner::{Read, Scanner};
use crate::record::{self, FieldPlace, Language, Record};

/// The greatest depth of nested records. Each level is a recursive call.
const MOST_LEVELS: usize = 256;

/// Reads a dtype. Returns the datatype and, for a record, the fields.
pub(super) fn read(text: &str) -> Read<(Datatype, Option<Record>)> {
    let mut reader = Reader { scanner: Scanner::new(text) };
    let described = reader.whole()?;
    reader.scanner.end()?;
    Ok((described.datatype, described.record))
}

/// A dtype, with its alignment in an aligned record.
struct Described {
    datatype: Datatype,
    alignment: u64,
    /// The fields, if the dtype is a record.
    record: Option<Record>,
}

/// A field of a record, before its offset is computed.
struct Field<'a> {
    name: &'a str,
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
            _ => false,
        };
        if !is_wrapped {
            self.scanner.go_back(place);
            return self.dtype(false, MOST_LEVELS);
        }
        self.scanner.expect("(")?;
        let inner = self.scanner.place();
        // `align` follows the description that it affects, so the description is read twice.
        self.dtype(false, MOST_LEVELS)?;
        let align = self.align()?;
        let behind = self.scanner.place();
        self.scanner.go_back(inner);
        let described = self.dtype(align, MOST_LEVELS)?;
        self.scanner.go_back(behind);
        self.scanner.expect(")")?;
        Ok(described)
    }

    fn align(&mut self) -> Read<bool> {
        if !self.scanner.takes(",") || !self.scanner.takes_word("align") {
            return Ok(false);
        }
        self.scanner.expect("=")?;
        self.truth()
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

    fn dtype(&mut self, align: bool, levels: usize) -> Read<Described> {
        let place = self.scanner.place();
        if levels == 0 {
            return Err(self
                .scanner
                .unexpected("the name of a type, because records are nested 256 levels deep, the limit"));
        }
        if self.scanner.takes("[") {
            let fields = self.fields(align, levels - 1)?;
            return self.record(place, fields, None, align);
        }
        if self.scanner.takes("{") {
            return self.dictionary(place, align, levels - 1);
        }
        if self.scanner.takes("(") {
            // A pair of a type and a shape.
            let described = self.dtype(align, levels - 1)?;
            self.scanner.expect(",")?;
            let described = self.shaped(place, described)?;
            self.scanner.expect(")")?;
            return Ok(described);
        }
        let name = match self.scanner.quoted() {
            Some(name) => name,
            // numpy prints the name of a simple type without quotation marks.
            None => self.scanner.until(&[',', ')', ']', '}', '\n', '\'', '"']),
        };
        if name.is_empty() {
            let expected = "a dtype: a name such as '<f8', a list of fields, or a dictionary";
            return Err(self.scanner.unexpected_at(place, expected));
        }
        self.named(place, name)
    }

    /// Reads the fields of a list: each has a name, a dtype and optionally a shape.
    fn fields(&mut self, align: bool, levels: usize) -> Read<Vec<Field<'a>>> {
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
            fields.push(Field { name, described, offset: None });
            self.scanner.behind_item("]")?;
        }
        Ok(fields)
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

    /// Reads a dictionary with `'names'`, `'formats'` and the optional keys `'offsets'`, `'itemsize'`,
    /// `'titles'` and `'aligned'`.
    fn dictionary(&mut self, place: usize, align: bool, levels: usize) -> Read<Described> {
        let (begin, mut aligned) = (self.scanner.place(), align);
        let (mut names, mut formats) = (None, None);
        let (mut offsets, mut itemsize): (Option<Vec<i64>>, Option<i64>) = (None, None);
        while !self.scanner.takes("}") {
            let key_at = self.scanner.place();
            let key = self.scanner.quoted().ok_or_else(|| self.scanner.unexpected("a key"))?;
            self.scanner.expect(":")?;
            match key {
                "names" => {
                    let name = |scanner: &mut Scanner<'a>| {
                        scanner.quoted().ok_or_else(|| scanner.unexpected("a name"))
                    };
                    names = Some(self.scanner.list("a list of names", name)?);
                }
                "titles" => {
                    let title = |scanner: &mut Scanner<'_>| {
                        let is_one = scanner.quoted().is_some() || scanner.takes_word("None");
                        is_one.then_some(()).ok_or_else(|| scanner.unexpected("a title"))
                    };
                    self.scanner.list("a list of titles", title)?;
                }
                "formats" => {
                    self.scanner.expect("[")?;
                    let mut all = Vec::new();
                    while !self.scanner.takes("]") {
                        all.push(self.dtype(align, levels)?);
                        self.scanner.behind_item("]")?;
                    }
                    formats = Some(all);
                }
                "offsets" => {
                    offsets =
                        Some(self.scanner.list("a list of offsets", |scanner| scanner.number("an offset"))?);
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
            return self.dictionary(place, true, levels);
        }
        let (Some(names), Some(formats)) = (names, formats) else {
            return Err(self.scanner.unexpected_at(place, "a dictionary with 'names' and 'formats'"));
        };
        let count = names.len();
        if count != formats.len() || offsets.as_ref().is_some_and(|offsets| offsets.len() != count) {
            let expected = "one format, and one offset, for each name";
            return Err(self.scanner.unexpected_at(place, expected));
        }
        let field = |(k, described)| {
            let offset = offsets.as_ref().map(|offsets| offsets[k]);
            Field { name: names[k], described, offset }
        };
        let fields = formats.into_iter().enumerate().map(field).collect();
        self.record(place, fields, itemsize, align)
    }

    /// Returns a record. Fields without an offset follow the field before them, aligned if `align` is set.
    fn record(
        &self,
        place: usize,
        fields: Vec<Field<'_>>,
        itemsize: Option<i64>,
        align: bool,
    ) -> Read<Described> {
        let refused = |error: dtype_core::Error| self.scanner.wrong_at(place, error);
        let too_large = || self.scanner.unexpected_at(place, "a record of less than 2^63 bytes");
        let (mut end, mut alignment) = (0i64, 1);
        let (mut displacements, mut oldtypes, mut listed) = (Vec::new(), Vec::new(), Vec::new());
        let mut names = HashSet::new();
        for Field { name, described, offset } in fields {
            if !names.insert(name) {
                return Err(self.scanner.wrong_at(place, format!("two fields are called `{name}`")));
            }
            let own = if align { described.alignment } else { 1 };
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
            listed.push(listed_field(name, at, own, &described.datatype));
            oldtypes.push(described.datatype);
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
        Ok(Described { datatype, alignment, record: Some(record) })
    }

    /// Reads a shape: a number, or the lengths of an array in C order. Returns an array of this shape, whose
    /// elements `described` describes.
    fn shaped(&mut self, place: usize, described: Described) -> Read<Described> {
        let shape: Vec<u64> = if self.scanner.takes("(") {
            self.scanner.items(")", |scanner| scanner.number("a length"))?
        } else {
            vec![self.scanner.number("a shape: a number, or lengths in brackets")?]
        };
        self.copies(place, &shape, described)
    }

    fn copies(&self, place: usize, shape: &[u64], described: Described) -> Read<Described> {
        let too_large = || self.scanner.unexpected_at(place, "an array of less than 2^63 elements");
        let count = shape.iter().try_fold(1u64, |count, length| count.checked_mul(*length));
        let count = count.filter(|count| i64::try_from(*count).is_ok()).ok_or_else(too_large)?;
        let Described { datatype, alignment, .. } = described;
        let array = Constructor::Contiguous { count, oldtype: datatype }.datatype();
        let refused = |error: dtype_core::Error| self.scanner.wrong_at(place, error);
        Ok(Described { datatype: array.map_err(refused)?, alignment, record: None })
    }

    /// Returns the dtype with this name: `f8`, `<f8`, `float64`, `S10`, `(2,3)i4`.
    fn named(&self, place: usize, name: &str) -> Read<Described> {
        let unknown = |expected: &str| Err(self.scanner.unexpected_at(place, expected));
        let (shape, rest) = shape_before(name);
        let is_big = rest.starts_with('>');
        let rest = rest.strip_prefix(['<', '=', '|', '>']).unwrap_or(rest);
        let (base, count) = match element(rest) {
            Some(found) => found,
            None if rest.starts_with('O') || rest == "object" => {
                return unknown("numbers: an object is an address, which means nothing to another process");
            }
            None => return unknown("a dtype that numpy knows, such as '<f8', 'int32' or 'S10'"),
        };
        if is_big && base.size() > 1 {
            return unknown("numbers in this machine's byte order: MPI has no datatypes for another one");
        }
        let one = Described { datatype: Datatype::base(base), alignment: base.alignment(), record: None };
        let element = if count == 1 { one } else { self.bytes(place, count, one)? };
        match shape {
            Some(shape) => self.copies(place, &shape, element),
            None => Ok(element),
        }
    }

    /// Returns `count` characters or bytes. The count may be 0.
    fn bytes(&self, place: usize, count: u64, one: Described) -> Read<Described> {
        if count > 0 {
            return self.copies(place, &[count], one);
        }
        let tree = TypeTree::structure([], []);
        Ok(Described {
            datatype: Datatype { tree, bounds: Bounds::of_extent(0), resized: false },
            alignment: one.alignment,
            record: None,
        })
    }
}

/// Splits a name such as `(2,3)f8` or `3f8` into the shape and the rest.
fn shape_before(name: &str) -> (Option<Vec<u64>>, &str) {
    if let Some((lengths, rest)) = name.strip_prefix('(').and_then(|name| name.split_once(')')) {
        let lengths = lengths.split(',').map(str::trim).filter(|length| !length.is_empty());
        return (lengths.map(|length| length.parse().ok()).collect(), rest);
    }
    let digits = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    match name[..digits].parse() {
        Ok(length) => (Some(vec![length]), &name[digits..]),
        Err(_) => (None, name),
    }
}

/// Returns `true` if `name` is a type in numpy.
pub(super) fn is_name(name: &str) -> bool {
    element(name).is_some()
}

/// Returns the base type and the count that a dtype's name stands for: `S10` is 10 characters. Without a
/// length, the count of characters or bytes is 0.
fn element(name: &str) -> Option<(BaseType, u64)> {
    use BaseType::{Bool, Byte, C32, C64, Char, F32, F64, I8, I16, I32, I64, LongDouble, U8, U16, U32, U64};
    let one = |base| Some((base, 1));
    match name {
        "?" | "b1" | "bool" | "bool_" | "bool8" => one(Bool),
        "b" | "i1" | "int8" => one(I8),
        "B" | "u1" | "uint8" => one(U8),
        "h" | "i2" | "int16" => one(I16),
        "H" | "u2" | "uint16" => one(U16),
        "i" | "i4" | "int32" | "intc" => one(I32),
        "I" | "u4" | "uint32" | "uintc" => one(U32),
        "l" | "q" | "p" | "i8" | "int64" | "int" | "int_" | "intp" => one(I64),
        "L" | "Q" | "P" | "u8" | "uint64" | "uint" | "uintp" => one(U64),
        "e" | "f2" | "float16" | "half" => one(BaseType::Real2),
        "f" | "f4" | "float32" | "single" => one(F32),
        "d" | "f8" | "float64" | "float" | "double" => one(F64),
        "g" | "f16" | "float128" | "longdouble" => one(LongDouble),
        "F" | "c8" | "complex64" | "csingle" => one(C32),
        "D" | "c16" | "complex128" | "complex" | "cdouble" => one(C64),
        "G" | "c32" | "complex256" | "clongdouble" => one(BaseType::CLongDoubleComplex),
        _ if name.starts_with("M8") || name.starts_with("m8") => one(I64),
        _ if name.starts_with("datetime64") || name.starts_with("timedelta64") => one(I64),
        _ => {
            let (base, length) = match name.split_at_checked(1)? {
                ("S" | "a", length) => (Char, length),
                // Each character has four bytes.
                ("U", length) => (U32, length),
                ("V", length) => (Byte, length),
                _ => return None,
            };
            Some((base, if length.is_empty() { 0 } else { length.parse().ok()? }))
        }
    }
}
