//! What the command reads: a layout, described in one of several forms, each a file here.

mod arguments;
mod calls;
mod list;
mod notation;
mod numpy;
mod scanner;

use std::{
    fs,
    io::{self, Read},
    path::PathBuf,
};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use dtype_core::{BaseType, Bounds, Datatype, TypeMap, TypeTree};
use serde::Deserialize;

/// The form of a description.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// A type map or a type tree, such as {"vec":{"count":3,"stride":16,"child":{"leaf":"f64"}}}.
    Json,
    /// The papers' notation: vec(3, 16, idx([0, 8], f64)), subarray([4, 4], [2, 2], [1, 1], f64).
    Notation,
    /// Indices of elements of `--type`, one a line or with commas between them.
    List,
    /// MPI calls, in C or Fortran: MPI_Type_vector(3, 1, 16, MPI_DOUBLE, &t). Variables may have values
    /// before, as in int n = 3; and n * sizeof(double) is read.
    Calls,
    /// The description of a numpy dtype, such as [('x', '<f8'), ('n', '<i4', 3)].
    Numpy,
}

/// Where a description is, and how it is to be read.
#[derive(Args)]
pub(crate) struct Source {
    /// The form of the input; recognized if left out.
    #[arg(long, value_enum)]
    from: Option<Form>,
    /// The base type of lists, and of leaves that have none.
    #[arg(long = "type", value_name = "BASE")]
    base: Option<BaseType>,
    /// Which of several datatypes that calls make: the variable; if left out, the last that is committed, or
    /// made.
    #[arg(long)]
    name: Option<String>,
}

/// A layout as it was described.
pub(crate) enum Layout {
    Map(TypeMap),
    Datatype(Datatype),
}

impl Layout {
    /// Its type map.
    pub(crate) fn map(self) -> Result<TypeMap> {
        match self {
            Self::Map(map) => Ok(map),
            Self::Datatype(datatype) => Ok(datatype.tree.flatten()?),
        }
    }

    /// The bounds: of a type map those that the standard gives a datatype of it.
    pub(crate) fn bounds(&self) -> Result<Bounds> {
        Ok(match self {
            Self::Datatype(datatype) => datatype.bounds,
            Self::Map(map) => Datatype::of_tree(listing(map))?.bounds,
        })
    }

    /// A tree of it: of a type map the one that lists all entries.
    pub(crate) fn datatype(self) -> Result<Datatype> {
        Ok(match self {
            Self::Datatype(datatype) => datatype,
            Self::Map(map) => Datatype::of_tree(listing(&map))?,
        })
    }
}

/// The tree that lists the entries of a map: an idx, or a strc of all leaves.
fn listing(map: &TypeMap) -> TypeTree {
    if let Ok(base) = map.single_type() {
        return TypeTree::index(map.displacements(), TypeTree::Leaf(base));
    }
    let leaves: Vec<_> = map.types().iter().map(|base| TypeTree::Leaf(*base)).collect();
    TypeTree::structure(map.displacements(), leaves)
}

/// What messages and programs call an input.
pub(crate) fn name_of(file: Option<&PathBuf>) -> String {
    match file.filter(|path| path.as_os_str() != "-") {
        Some(path) => path.display().to_string(),
        None => "standard input".to_owned(),
    }
}

impl Source {
    /// Reads the description in a file, or on standard input.
    pub(crate) fn read(&self, file: Option<&PathBuf>) -> Result<Layout> {
        let name = name_of(file);
        let text = if let Some(path) = file.filter(|path| path.as_os_str() != "-") {
            fs::read(path)
        } else {
            let mut text = Vec::new();
            io::stdin().read_to_end(&mut text).map(|_| text)
        };
        text.map_err(Into::into).and_then(|text| self.parse(&text)).context(name)
    }

    fn parse(&self, text: &[u8]) -> Result<Layout> {
        // Some editors write a mark before the first byte.
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        let form = match self.from {
            Some(form) => form,
            None => recognized(text)?,
        };
        if form == Form::List {
            return Ok(Layout::Map(list::read(text, self.base)?));
        }
        let text = std::str::from_utf8(text).context(NO_TEXT)?;
        Ok(match form {
            Form::Json => json(text)?,
            Form::Notation => Layout::Datatype(notation::read(text, self.base)?),
            Form::Calls => Layout::Datatype(calls::read(text, self.name.as_deref())?),
            Form::Numpy => Layout::Datatype(numpy::read(text)?),
            Form::List => bail!("a list is no text"),
        })
    }
}

const NO_TEXT: &str = "this is no text: it is not UTF-8";

/// The form of a text that nobody has named.
fn recognized(text: &[u8]) -> Result<Form> {
    const UNKNOWN: &str = "this is in no form that is recognized; name it with `--from json`, `notation`, \
                           `list`, `calls` or `numpy`";
    let first = text.iter().position(|byte| !byte.is_ascii_whitespace());
    match first.map(|first| text[first]) {
        None => bail!("there is nothing to read"),
        // These may be very long.
        Some(b'0'..=b'9' | b'-' | b'+') => return Ok(Form::List),
        Some(b'[') if is_of_numbers(text) => return Ok(Form::List),
        Some(b'[' | b'(' | b'\'' | b'"' | b'<' | b'>' | b'=' | b'|') => return Ok(Form::Numpy),
        Some(_) => {}
    }
    let text = std::str::from_utf8(text).context(NO_TEXT)?;
    let start = text.trim_start();
    let word = start.find(|c: char| !c.is_alphanumeric() && c != '_').map_or(start, |end| &start[..end]);
    if start.starts_with('{') {
        return Ok(match first_key(start) {
            Some("names" | "formats" | "offsets" | "itemsize" | "titles" | "aligned") => Form::Numpy,
            _ => Form::Json,
        });
    }
    let is_call = |at: usize| text[at..].get(..9).is_some_and(|name| name.eq_ignore_ascii_case("MPI_Type_"));
    if text.match_indices(['M', 'm']).any(|(at, _)| is_call(at)) || text.contains("(predefined, ") {
        return Ok(Form::Calls);
    }
    match word {
        "" if start.starts_with('#') => Ok(Form::List),
        "dtype" | "np" | "numpy" => Ok(Form::Numpy),
        _ if notation::NODES.contains(&word) || word.parse::<BaseType>().is_ok() => Ok(Form::Notation),
        _ if numpy::is_name(word) => Ok(Form::Numpy),
        _ => bail!(UNKNOWN),
    }
}

/// Whether what opens first is a list of numbers.
fn is_of_numbers(text: &[u8]) -> bool {
    let inner = text.iter().find(|byte| !byte.is_ascii_whitespace() && **byte != b'[');
    inner.is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b']'))
}

/// The first key of a dictionary.
fn first_key(text: &str) -> Option<&str> {
    let key = text.strip_prefix('{')?.trim_start();
    let mark = key.chars().next().filter(|mark| matches!(mark, '"' | '\''))?;
    key[1..].split(mark).next()
}

/// An answer of this command: the tree in it.
#[derive(Deserialize)]
struct Answer {
    tree: TypeTree,
}

/// A type map, a tree, or an answer with one.
fn json(text: &str) -> Result<Layout> {
    let tree = match first_key(text.trim_start()) {
        Some("types" | "type" | "displacements") => return Ok(Layout::Map(serde_json::from_str(text)?)),
        Some("cost" | "optimality" | "tree") => serde_json::from_str::<Answer>(text)?.tree,
        _ => serde_json::from_str(text)?,
    };
    Ok(Layout::Datatype(Datatype::of_tree(tree)?))
}
