//! A layout as users of dtype-runtime write it: a struct that derives `MpiDatatype`, or a part of an array
//! that `layout!` names.

use std::{
    collections::HashSet,
    fmt::{self, Write},
};

use anyhow::{Result, bail};
use dtype_core::{BaseType, Bounds, Run, TypeTree};

use super::emitted::Emitted;
use crate::record::Record;

/// The largest number of fields, or of pieces of an array, that are written.
const MOST: usize = 200;

/// Writes a part of an array if the layout has one base type and no fields with names. Otherwise, writes a
/// struct.
pub(super) fn write(f: &mut String, emitted: &Emitted<'_>, tree: &TypeTree) -> Result<()> {
    let Emitted { name, bounds, record, .. } = *emitted;
    if let Some(base) = emitted.bases().find(|base| base.rust_type().is_none()) {
        bail!(
            "Rust has no type for {} that MPI carries; write the datatype in another language",
            base.mpi_name()
        );
    }
    let runs = tree.few_runs(MOST);
    let runs = runs.as_ref().map(dtype_core::Runs::as_slice);
    let is_of_one_type = emitted.bases().all(|base| Some(base) == emitted.bases().next());
    let part = || is_of_one_type.then(|| part(tree, runs, bounds)).flatten();
    let structure = || runs.and_then(|runs| structure(runs, bounds, record));
    let comment = |f: &mut String| {
        emitted.comment.lines().try_for_each(|line| writeln!(f, "{}", format!("// {line}").trim_end()))?;
        if emitted.has_complex() {
            let features = "the feature `num-complex` of `dtype-runtime`";
            writeln!(f, "// Complex numbers need the crate `num-complex`, and {features}.")?;
        }
        Ok::<(), fmt::Error>(())
    };
    if let (None, Some(part)) = (record, part()) {
        comment(f)?;
        return Ok(part.write(f, name)?);
    }
    let Some(structure) = structure() else {
        if bounds.lower_bound != 0 {
            bail!(
                "Rust structs and arrays begin at 0, but the lower bound of this datatype is {}; `--format \
                 rsmpi` writes any datatype",
                bounds.lower_bound
            );
        }
        bail!(
            "this datatype is neither a struct whose fields follow one another nor a part of an array of at \
             most {MOST} pieces; `--format rsmpi` writes any datatype"
        );
    };
    comment(f)?;
    Ok(structure.write(f, record.map_or_else(|| camel(name), |record| camel(&record.name)).as_str())?)
}

/// Returns the name of a type in Rust's style, without its namespaces.
fn camel(name: &str) -> String {
    let name = name.trim_start_matches("struct ").trim_start_matches("union ");
    let name = name.strip_prefix("type(").map_or(name, |name| name.trim_end_matches(')'));
    let (own, arguments) = name.split_at(name.find('<').unwrap_or(name.len()));
    let own = own.rsplit("::").next().unwrap_or(own);
    let is_word = |word: &&str| !word.is_empty();
    let words = [own, arguments].map(|part| part.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_word));
    let mut all = String::new();
    for word in words.into_iter().flatten() {
        all.extend(word[..1].chars().map(|c| c.to_ascii_uppercase()));
        all.push_str(&word[1..]);
    }
    let is_free = !["Self", "MpiDatatype"].contains(&all.as_str());
    if is_free && all.starts_with(|c: char| c.is_ascii_alphabetic()) { all } else { format!("Layout{all}") }
}

/// A struct with the layout of C.
struct Structure {
    fields: Vec<Field>,
    is_packed: bool,
    /// The alignment, if it is greater than that of the fields.
    aligned: Option<i64>,
    size: i64,
}

struct Field {
    name: String,
    type_name: String,
    /// The offset in bytes, or `None` for explicit padding.
    at: Option<i64>,
}

/// Returns the struct whose fields are the runs, if these follow one another without overlap.
fn structure(runs: &[Run], bounds: Bounds, record: Option<&Record>) -> Option<Structure> {
    // Rust does not accept larger types.
    const MOST_BYTES: i64 = 1 << 46;
    let pieces = pieces(runs, record)?;
    let natural = pieces.iter().map(|piece| piece.base.alignment() as i64).max()?;
    let is_packed = bounds.extent % natural != 0
        || pieces.iter().any(|piece| piece.at % piece.base.alignment() as i64 != 0);
    let (mut end, mut fields, mut gaps) = (0, Vec::new(), 0);
    let aligned = record.and_then(|record| i64::try_from(record.alignment).ok());
    let aligned = aligned.filter(|more| !is_packed && *more > natural && bounds.extent % more == 0);
    let alignment = aligned.unwrap_or(natural);
    let mut pad = |fields: &mut Vec<Field>, bytes: i64| {
        while pieces.iter().any(|piece| piece.name == format!("gap{gaps}")) {
            gaps += 1;
        }
        fields.push(Field { name: format!("gap{gaps}"), type_name: format!("[u8; {bytes}]"), at: None });
        gaps += 1;
    };
    for piece in &pieces {
        let alignment = if is_packed { 1 } else { piece.base.alignment() as i64 };
        if piece.at < end {
            return None;
        }
        if i64::try_from((end as u64).next_multiple_of(alignment as u64)).ok()? != piece.at {
            pad(&mut fields, piece.at - end);
        }
        let element = piece.base.rust_type()?;
        let type_name = match piece.count {
            None => element.to_owned(),
            Some(count) => format!("[{element}; {count}]"),
        };
        end = piece.at.checked_add(piece.base.extent() as i64 * piece.count.unwrap_or(1) as i64)?;
        fields.push(Field { name: piece.name.clone(), type_name, at: Some(piece.at) });
    }
    if bounds.lower_bound != 0 || bounds.extent < end || bounds.extent > MOST_BYTES {
        return None;
    }
    let whole = (end as u64).next_multiple_of(if is_packed { 1 } else { alignment as u64 }) as i64;
    if whole != bounds.extent {
        pad(&mut fields, bounds.extent - end);
    }
    Some(Structure { fields, is_packed, aligned, size: bounds.extent })
}

/// A part of a run that becomes a field: an element, or an array of adjacent elements.
struct Piece {
    name: String,
    base: BaseType,
    at: i64,
    count: Option<u64>,
}

/// Splits the runs at the boundaries of fields, and names the pieces after the fields.
fn pieces(runs: &[Run], record: Option<&Record>) -> Option<Vec<Piece>> {
    let mut pieces: Vec<Piece> = Vec::new();
    for run in runs {
        let extent = run.base.extent() as i64;
        let mut i = 0;
        while i < run.count {
            let at = run.displacement.checked_add(run.stride.checked_mul(i as i64)?)?;
            let place = u64::try_from(at).ok()?;
            let holds =
                |field: &&crate::record::Field| (field.offset..field.offset + field.size).contains(&place);
            let field = record.and_then(|record| record.fields.iter().find(holds));
            let left = run.count - i;
            let count = match field {
                _ if run.stride != extent || left == 1 => 1,
                Some(field) => left.min((field.offset + field.size - place) / extent as u64).max(1),
                None => left,
            };
            let name = field.map_or_else(|| format!("at{at}"), |field| field.name.clone());
            let is_array = count > 1 || field.is_some_and(|field| field.type_name.ends_with([']', ')']));
            pieces.push(Piece { name, base: run.base, at, count: is_array.then_some(count) });
            if pieces.len() > MOST {
                return None;
            }
            i += count;
        }
    }
    // The names of several parts of one field contain their offsets.
    let names: Vec<String> = pieces.iter().map(|piece| snake(&piece.name)).collect();
    let mut used: HashSet<String> = HashSet::new();
    for (i, piece) in pieces.iter_mut().enumerate() {
        let is_part = |other: &usize| *other != i && names[*other] == names[i];
        if (0..names.len()).any(|other| is_part(&other)) {
            piece.name = snake(&format!("{}_at{}", piece.name, piece.at));
            piece.count = piece.count.filter(|count| *count > 1);
            while names.contains(&piece.name) || used.contains(&piece.name) {
                piece.name.push('_');
            }
        } else {
            piece.name.clone_from(&names[i]);
        }
        used.insert(piece.name.clone());
    }
    Some(pieces)
}

/// The keywords of Rust that `snake` escapes with `r#`.
const KEYWORDS: [&str; 51] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
    "union", "raw", "auto",
];

/// Returns a valid name of a field.
fn snake(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    match name.as_str() {
        "" => "unnamed".to_owned(),
        "self" | "Self" | "super" | "crate" | "_" => format!("{name}_"),
        keyword if KEYWORDS.contains(&keyword) => format!("r#{keyword}"),
        name if name.starts_with(|c: char| c.is_ascii_digit()) => format!("_{name}"),
        name => name.to_owned(),
    }
}

impl Structure {
    fn write(&self, f: &mut String, name: &str) -> fmt::Result {
        let packed = match self.aligned {
            Some(alignment) => format!(", align({alignment})"),
            None => if self.is_packed { ", packed" } else { "" }.to_owned(),
        };
        // rsmpi's calls do not accept slices of a type with skipped fields.
        let usage = if self.fields.iter().any(|field| field.at.is_none()) {
            format!(
                "`{name}::buffer(&values)` and `{name}::buffer_mut(&mut values)` go\n/// into rsmpi's calls."
            )
        } else {
            "slices go into rsmpi's calls as they are.".to_owned()
        };
        writeln!(
            f,
            "use dtype_runtime::MpiDatatype;

/// `{name}::datatype()` is the MPI datatype, committed; {usage}
#[derive(MpiDatatype, Clone, Copy, Debug)]
#[repr(C{packed})]
#[allow(non_snake_case)]
pub struct {name} {{"
        )?;
        for Field { name, type_name, at } in &self.fields {
            if at.is_none() {
                writeln!(f, "    #[mpi(skip)]")?;
            }
            writeln!(f, "    pub {name}: {type_name},")?;
        }
        writeln!(f, "}}\n\nconst _: () = {{\n    assert!(size_of::<{name}>() == {});", self.size)?;
        for Field { name: field, at, .. } in &self.fields {
            if let Some(at) = at {
                writeln!(f, "    assert!(core::mem::offset_of!({name}, {field}) == {at});")?;
            }
        }
        writeln!(f, "}};")
    }
}

/// A part of an array.
struct ArrayPart {
    element: &'static str,
    dimensions: Vec<i64>,
    /// The pieces, as `layout!` writes them.
    pieces: Vec<String>,
}

/// Returns the part of an array that a tree of one base type describes.
fn part(tree: &TypeTree, runs: Option<&[Run]>, bounds: Bounds) -> Option<ArrayPart> {
    if bounds.lower_bound != 0 || bounds.extent <= 0 {
        return None;
    }
    nest(tree, bounds.extent).or_else(|| list(runs?, bounds.extent))
}

/// Returns the block of a multidimensional array that nested loops describe, if each stride divides the next
/// outer one.
fn nest(tree: &TypeTree, extent: i64) -> Option<ArrayPart> {
    let (mut at, mut loops, mut inner) = (0i64, Vec::new(), tree);
    let base = loop {
        match inner {
            TypeTree::Leaf(base) => break *base,
            TypeTree::Vector { count, stride, child } => {
                loops.push((*stride, i64::try_from(*count).ok()?));
                inner = child;
            }
            TypeTree::Index { displacements, child } if displacements.len() == 1 => {
                at = at.checked_add(displacements[0])?;
                inner = child;
            }
            TypeTree::IndexBucket { stride, buckets, displacements, child } if buckets.len() == 1 => {
                at = at.checked_add(displacements[0])?;
                loops.push((*stride, i64::try_from(buckets[0]).ok()?));
                inner = child;
            }
            TypeTree::Index { .. } | TypeTree::IndexBucket { .. } | TypeTree::Struct { .. } => return None,
        }
    };
    let element = base.extent() as i64;
    if loops.last().is_none_or(|(stride, _)| *stride != element) {
        loops.push((element, 1));
    }
    let (mut dimensions, mut indices, mut outer) = (Vec::new(), Vec::new(), extent);
    for (stride, count) in loops {
        if stride <= 0 || outer % stride != 0 || at < 0 {
            return None;
        }
        let (length, first) = (outer / stride, at / stride);
        if count < 1 || first.checked_add(count)? > length {
            return None;
        }
        dimensions.push(length);
        indices.push(match (first, count) {
            (0, all) if all == length => "..".to_owned(),
            (first, 1) => first.to_string(),
            (first, count) => format!("{first}..{}", first + count),
        });
        (at, outer) = (at % stride, stride);
    }
    let pieces = vec![format!("[{}]", indices.join(", "))];
    (at == 0).then_some(ArrayPart { element: base.rust_type()?, dimensions, pieces })
}

/// Returns the pieces of a one-dimensional array.
fn list(runs: &[Run], extent: i64) -> Option<ArrayPart> {
    let base = runs.first()?.base;
    let element = base.extent() as i64;
    let mut pieces = Vec::new();
    for run in runs {
        let (at, stride) = (run.displacement, run.stride);
        if at < 0 || at % element != 0 || stride % element != 0 || extent % element != 0 {
            return None;
        }
        let (first, step) = (at / element, stride / element);
        let last = first.checked_add(step.checked_mul(run.count as i64 - 1)?)?;
        if last >= extent / element {
            return None;
        }
        pieces.push(match (run.count, step) {
            (1, _) => format!("[{first}]"),
            (_, 1) => format!("[{first}..={last}]"),
            (_, 2..) => format!("[{first}..={last};{step}]"),
            _ => return None,
        });
    }
    Some(ArrayPart { element: base.rust_type()?, dimensions: vec![extent / element], pieces })
}

impl ArrayPart {
    fn write(&self, f: &mut String, name: &str) -> fmt::Result {
        let Self { element, dimensions, pieces } = self;
        let array: String = dimensions.iter().fold(String::new(), |all, length| all + &format!("[{length}]"));
        writeln!(
            f,
            "use dtype_runtime::{{Layout, layout}};

/// The part of an array: `{name}_create().of(&array)` is a buffer of rsmpi's calls, and
/// `{name}_create().array_datatype()` the MPI datatype, committed, whose displacement 0 is the first element
/// of the array.
#[allow(non_snake_case)]
pub fn {name}_create() -> impl Layout<Element = {element}> {{"
        )?;
        let mut line = format!("    layout!({element}{array} => {}", pieces[0]);
        for piece in &pieces[1..] {
            if line.len() + piece.len() > 100 {
                writeln!(f, "{line}")?;
                line = format!("        + {piece}");
            } else {
                write!(line, " + {piece}")?;
            }
        }
        writeln!(f, "{line})\n}}")
    }
}
