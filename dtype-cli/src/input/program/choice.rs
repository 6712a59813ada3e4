//! The choice of a struct by its name, and the sentences for names that lead to none.

use anyhow::{Result, bail};
use dtype_core::TypeTree;
use gimli::constants as dw;

use super::{
    base::by_name,
    names::{Found, Meant, Named, Names},
    types::{MOST_LEVELS, Place, Types},
    walk::{Type, Walk},
};
use crate::record::{Language, Record};

/// The selection of a struct and its fields.
pub(crate) struct Wanted<'a> {
    pub(crate) name: Option<&'a str>,
    /// The file whose structs are listed. If no struct is named, the last one in the file is chosen.
    pub(crate) file: Option<&'a str>,
    /// The fields to leave out.
    pub(crate) skip: &'a [String],
}

/// A name as a user writes it.
struct Sought<'a> {
    /// The name without keywords and without blanks that do not matter.
    name: String,
    /// `true` if the keyword of a struct, a class or a union stands before it. In C, such names and those of
    /// typedefs are different.
    is_tagged: bool,
    /// The file of the declaration, with or without the line, if it was given.
    declared: Option<&'a str>,
}

impl<'a> Sought<'a> {
    fn parse(text: &'a str) -> Self {
        let (name, declared) = text.split_once('@').map_or((text, None), |(name, at)| (name, Some(at)));
        let name = name.trim();
        let is_tagged = ["struct ", "class ", "union "].iter().any(|word| name.starts_with(word));
        Self { name: squeezed(bare(name)), is_tagged, declared }
    }

    /// Returns `true` if this is the name, or its end.
    fn is(&self, part: Part, language: Language, name: &str) -> bool {
        let name = squeezed(name);
        let (scopes, own) = match (part, name.len().checked_sub(self.name.len())) {
            (Part::Whole, _) => ("::", &*name),
            (Part::End, Some(end)) => name.split_at_checked(end).unwrap_or_default(),
            (Part::End, None) => return false,
        };
        let is_same = match language {
            Language::Fortran => own.eq_ignore_ascii_case(&self.name),
            _ => own == self.name,
        };
        is_same && scopes.ends_with("::")
    }
}

/// The part of a name that is compared.
#[derive(Clone, Copy)]
enum Part {
    /// The name with all namespaces.
    Whole,
    /// The name without outer namespaces.
    End,
}

/// Returns a name in one form of several that compilers and users write: `Vec<float,3>` for `Vec<float,
/// 3u>`, and the same for `Vec<unsigned>` and `Vec<unsigned int>`.
pub(super) fn squeezed(name: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let (mut all, mut rest) = (String::new(), name.trim());
    while let Some(first) = rest.chars().next() {
        if !is_part(first) {
            all.push(first);
            rest = rest[first.len_utf8()..].trim_start();
            continue;
        }
        let end = rest.find(|c: char| !is_part(c) && !c.is_whitespace()).unwrap_or(rest.len());
        let words: Vec<_> = rest[..end].split_whitespace().map(without_suffix).collect();
        let words = words.join(" ");
        // Within arguments, the names of numbers have several forms.
        match by_name(&words).filter(|_| all.contains('<')) {
            Some(base) => all.push_str(base.mpi_name()),
            None => all.push_str(&words),
        }
        rest = &rest[end..];
    }
    all
}

/// Returns a number without the letters of its type.
fn without_suffix(word: &str) -> &str {
    let is_number = word.starts_with(|c: char| c.is_ascii_digit());
    if is_number { word.trim_end_matches(['u', 'U', 'l', 'L']) } else { word }
}

/// Returns a name without the language's keywords around it.
pub(super) fn bare(name: &str) -> &str {
    let name = name.trim();
    for word in ["struct ", "class ", "union ", "enum "] {
        if let Some(rest) = name.strip_prefix(word) {
            return rest.trim();
        }
    }
    let of_fortran = name.strip_prefix("type(").and_then(|rest| rest.strip_suffix(')'));
    of_fortran.map_or(name, str::trim)
}

impl Types<'_> {
    /// Returns the struct that `wanted` selects.
    pub(super) fn chosen(&self, names: &Names, wanted: &Wanted<'_>) -> Result<Found> {
        let Some(wanted_name) = wanted.name else { return self.only(&names.structs, wanted) };
        let sought = Sought::parse(wanted_name);
        let mut different: Vec<(Found, Record)> = Vec::new();
        for found in self.candidates(names, &sought)? {
            let record = self.described(&found, &mut [])?.record;
            let is_there = sought.declared.is_none_or(|place| {
                let declared = record.declared.as_ref();
                declared.is_some_and(|(file, line)| file == place || format!("{file}:{line}") == place)
            });
            let is_new =
                |(_, other): &(Found, Record)| (&other.fields, other.size) != (&record.fields, record.size);
            if is_there && different.iter().all(is_new) {
                different.push((found, record));
            }
        }
        match different.len() {
            0 => bail!(self.unknown(names, wanted_name, &sought)?),
            1 => Ok(different.remove(0).0),
            _ => {
                let name = bare(wanted_name.split('@').next().unwrap_or_default());
                let mut lines = vec![format!("more than one struct is called `{name}`; choose one, as in")];
                for (_, record) in &different {
                    let at = record.declared.as_ref();
                    let at = at.map_or("?".to_owned(), |(file, line)| format!("{file}:{line}"));
                    lines.push(format!("  '{name}@{at}', {} of {} bytes", record.name, record.size));
                }
                bail!(lines.join("\n"))
            }
        }
    }

    /// Returns the structs that a name may mean: those of this name, or else those whose names end with it.
    fn candidates(&self, names: &Names, sought: &Sought<'_>) -> Result<Vec<Found>> {
        let mut candidates = self.named_so(names, sought, Part::Whole)?;
        // Users name a Fortran type without its module, so other modules are searched, too.
        let is_fortran = |found: &Found| self.language(found.place.unit) == Language::Fortran;
        if candidates.is_empty() || sought.declared.is_some() || candidates.iter().all(is_fortran) {
            candidates.extend(self.named_so(names, sought, Part::End)?);
        }
        Ok(candidates)
    }

    fn named_so(&self, names: &Names, sought: &Sought<'_>, part: Part) -> Result<Vec<Found>> {
        let is_it = |place: Place, name: &str| sought.is(part, self.language(place.unit), name);
        let structs = names.structs.iter().filter(|found| is_it(found.place, &found.name));
        let mut all: Vec<_> = structs.cloned().collect();
        let others = names.others.iter().filter(|named| !sought.is_tagged && is_it(named.place, &named.name));
        for named in others {
            all.extend(self.struct_behind(named)?);
        }
        Ok(all)
    }

    /// Returns the struct to use if `wanted` names none: the last one that `wanted.file` declares, or without
    /// a file the only one.
    fn only(&self, all: &[Found], wanted: &Wanted<'_>) -> Result<Found> {
        if let Some(file) = wanted.file {
            let mut last: Option<(u64, &Found)> = None;
            for found in all {
                let declared = self.declared(found.place.unit, &self.entry(found.place)?);
                if let Some((_, line)) = declared.filter(|(declared, _)| declared == file)
                    && last.is_none_or(|(last, _)| last <= line)
                {
                    last = Some((line, found));
                }
            }
            return match last {
                Some((_, found)) => Ok(found.clone()),
                None => bail!(self.nothing(wanted)?),
            };
        }
        match all {
            [] => bail!(self.nothing(wanted)?),
            [found] => Ok(found.clone()),
            _ => bail!(
                "it has {} structs: choose one with `--name`; `dtype struct FILE` lists them",
                all.len()
            ),
        }
    }

    /// Returns the message for a program or declarations without a struct that has a name.
    pub(super) fn nothing(&self, wanted: &Wanted<'_>) -> Result<String> {
        for variable in self.variables()? {
            if let Innermost::Unnamed = self.innermost(variable.place)? {
                let Named { name, .. } = &variable;
                return Ok(format!(
                    "there is no struct with a name; the variable `{name}`{} has one without: name it, as \
                     in `struct {name} {{ … }}`",
                    self.at(variable.place)?
                ));
            }
        }
        Ok(match wanted.file {
            Some(_) => "the file declares no struct".to_owned(),
            None => "the debug information describes no struct: compile with `-g`, and use the struct in \
                     the program"
                .to_owned(),
        })
    }

    /// Returns the message for a name that no struct has.
    fn unknown(&self, names: &Names, wanted: &str, sought: &Sought<'_>) -> Result<String> {
        let is_it = |named: &Named, part| sought.is(part, self.language(named.place.unit), &named.name);
        if sought.declared.is_none() && !sought.is_tagged {
            let named = |part| names.others.iter().find(|named| is_it(named, part));
            if let Some(named) = named(Part::Whole).or_else(|| named(Part::End)) {
                return self.no_struct(named);
            }
            for variable in self.variables()? {
                if is_it(&variable, Part::Whole) {
                    return self.no_type(&variable);
                }
            }
        }
        let (small, mut near) = (sought.name.to_lowercase(), Vec::new());
        let structs = names.structs.iter().map(|found| &found.name);
        for name in structs.chain(names.others.iter().map(|named| &named.name)) {
            if squeezed(name).to_lowercase().contains(&small) && !near.contains(&name) && near.len() < 6 {
                near.push(name);
            }
        }
        let near: Vec<_> = near.into_iter().map(|name| format!("`{name}`")).collect();
        let near = if near.is_empty() {
            "`dtype struct FILE` lists the structs".to_owned()
        } else {
            format!("similar names are {}", near.join(", "))
        };
        Ok(format!(
            "the debug information describes no struct `{wanted}`; {near}. Compilers leave out unused structs"
        ))
    }

    /// Returns the sentence for a name of a type that is no struct.
    fn no_struct(&self, named: &Named) -> Result<String> {
        let Named { name, .. } = named;
        let place = match self.meant(named.place)? {
            Meant::Struct(_) | Meant::Other(None) => return Ok(format!("`{name}` is not a struct")),
            Meant::Undefined(title) => {
                return Ok(format!("`{name}` is a `{title}`, which is declared, but not defined"));
            }
            Meant::Other(Some(place)) => place,
        };
        let entry = self.entry(place)?;
        let mut walk = Walk { types: self, skipped: &mut [], refused: Vec::new() };
        let Type { name: type_name, tree, .. } = walk.type_at(place, name, MOST_LEVELS)?;
        let innermost = self.innermost(place)?;
        let is_unnamed = matches!(innermost, Innermost::Unnamed);
        let inner = match innermost {
            Innermost::Struct(inner) => Some(inner),
            Innermost::Unnamed | Innermost::Other => None,
        };
        let (what, inner_of) = match entry.tag() {
            dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type => ("a pointer", "the struct"),
            dw::DW_TAG_array_type => ("an array", "the struct of its elements"),
            dw::DW_TAG_enumeration_type => ("an enum", ""),
            dw::DW_TAG_base_type => ("a number", ""),
            _ => ("a type", "the struct"),
        };
        let is_shown = bare(&type_name) != name && !type_name.contains('…');
        let shown = if is_shown { format!(" (`{type_name}`)") } else { String::new() };
        let advice = match (inner, tree) {
            (Some(inner), _) => format!(": choose {inner_of}, `{inner}`"),
            (None, _) if is_unnamed => ": name the struct in it".to_owned(),
            (None, TypeTree::Leaf(base)) => format!(": MPI carries it as {}", base.mpi_name()),
            (None, TypeTree::Vector { count, stride, child }) => match *child {
                TypeTree::Leaf(base) => {
                    format!(": other forms describe it, as in `vec({count}, {stride}, {base})`")
                }
                _ => String::new(),
            },
            _ => String::new(),
        };
        Ok(format!("`{name}` is {what}{shown}, not a struct{advice}"))
    }

    /// Returns the sentence for a name that is a variable's.
    fn no_type(&self, variable: &Named) -> Result<String> {
        let Named { name, place } = variable;
        let at = self.at(*place)?;
        Ok(match self.innermost(*place)? {
            Innermost::Struct(inner) => format!("`{name}`{at} is a variable: choose its type, `{inner}`"),
            Innermost::Unnamed => format!(
                "`{name}`{at} is a variable of a struct without a name: name the struct, as in `struct \
                 {name} {{ … }}`"
            ),
            Innermost::Other => {
                let entry = self.entry(*place)?;
                let mut walk = Walk { types: self, skipped: &mut [], refused: Vec::new() };
                let Type { name: type_name, .. } = walk.type_of(*place, &entry, name, MOST_LEVELS)?;
                format!("`{name}`{at} is a variable: its type, `{type_name}`, is not a struct")
            }
        })
    }

    /// Returns the struct within arrays and behind pointers.
    fn innermost(&self, place: Place) -> Result<Innermost> {
        let mut next = Some(place);
        for _ in 0..MOST_LEVELS {
            let Some(place) = next else { return Ok(Innermost::Other) };
            match self.meant(place)? {
                Meant::Struct(place) => {
                    let entry = self.entry(place)?;
                    let name = self.name(place.unit, &entry);
                    return Ok(name.map_or(Innermost::Unnamed, |name| {
                        Innermost::Struct(Self::title(self.language(place.unit), entry.tag(), &name))
                    }));
                }
                Meant::Undefined(title) => return Ok(Innermost::Struct(title)),
                Meant::Other(None) => return Ok(Innermost::Other),
                Meant::Other(Some(place)) => {
                    let entry = self.entry(place)?;
                    let is_passed = matches!(
                        entry.tag(),
                        dw::DW_TAG_array_type
                            | dw::DW_TAG_pointer_type
                            | dw::DW_TAG_reference_type
                            | dw::DW_TAG_variable
                    );
                    next = if is_passed { self.referred(place.unit, &entry, dw::DW_AT_type) } else { None };
                }
            }
        }
        Ok(Innermost::Other)
    }

    /// Returns the file and the line of a declaration for a message, in brackets.
    fn at(&self, place: Place) -> Result<String> {
        let declared = self.declared(place.unit, &self.entry(place)?);
        Ok(declared.map_or(String::new(), |(file, line)| format!(" ({file}:{line})")))
    }
}

/// The type of an array's elements or behind a pointer.
enum Innermost {
    /// A struct, as its language writes it.
    Struct(String),
    Unnamed,
    Other,
}
