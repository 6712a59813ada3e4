//! The input of the command: a layout, described in one of several forms. Each form has a file here.

mod calls;
mod list;
mod notation;
mod numpy;
mod program;
mod scanner;

use std::{
    fs,
    io::{self, Read},
    path::PathBuf,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, ValueEnum};
use dtype_core::{BaseType, Bounds, Datatype, TypeMap, TypeTree};
use serde::{Deserialize, de::DeserializeOwned};

use crate::record::Record;
pub(crate) use program::Listed;
use program::{Compiled, Wanted};

/// The form of a description.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// A type map or a type tree, such as {"vec":{"count":3,"stride":16,"child":{"leaf":"f64"}}}.
    Json,
    /// The papers' notation: vec(3, 16, idx([0, 8], f64)), subarray([4, 4], [2, 2], [1, 1], f64).
    Notation,
    /// Indices of elements of `--type`, one per line or with commas between them.
    List,
    /// MPI calls in C, Fortran, Python or Julia: MPI_Type_vector(3, 1, 16, MPI_DOUBLE, &t). Variables may be
    /// given values first, as in int n = 3, and arguments may be expressions such as n * sizeof(double).
    Calls,
    /// The description of a numpy dtype, such as [('x', '<f8'), ('n', '<i4', 3)].
    Numpy,
    /// A struct (`--name`) of a compiled program, library or object file, read from its debug information.
    Program,
    /// A struct declared in C, for example in a header; a C compiler reads the declarations.
    C,
    /// A struct declared in C++; a C++ compiler reads the declarations.
    #[value(name = "c++")]
    Cxx,
}

/// The options that say which description is read, and how.
#[derive(Args)]
pub(crate) struct Source {
    /// The form of the input; recognized if omitted.
    #[arg(long, value_enum)]
    from: Option<Form>,
    /// The base type of lists, and of leaves without a type.
    #[arg(long = "type", value_name = "BASE")]
    base: Option<BaseType>,
    /// The variable of the datatype to read, if MPI calls make several. If omitted: the last one committed,
    /// or else the last one made. For a program: the name of the struct, as in 'struct particle'.
    #[arg(long)]
    name: Option<String>,
    /// A field of the struct to leave out of the datatype, as in `next` or `list.next`. May be given several
    /// times.
    #[arg(long, value_name = "FIELD")]
    skip: Vec<String>,
    /// The compiler for declarations, with its arguments, as in 'mpicc -Iinclude'. If omitted: CC or CXX, or
    /// else `cc` or `c++`.
    #[arg(long, value_name = "COMMAND")]
    compiler: Option<String>,
    /// The header that declares the struct. Written programs include it and check the offsets of its fields.
    /// If omitted: the header that is read.
    #[arg(long, value_name = "HEADER")]
    include: Option<String>,
}

/// A layout as the input describes it: a type map or a datatype.
pub(crate) struct InputLayout {
    described: Described,
    /// The fields, if the layout is a struct.
    pub(crate) record: Option<Record>,
}

enum Described {
    Map(TypeMap),
    Datatype(Datatype),
}

impl InputLayout {
    fn of(described: Described) -> Self {
        Self { described, record: None }
    }

    /// Returns the type map.
    pub(crate) fn map(self) -> Result<TypeMap> {
        match self.described {
            Described::Map(map) => Ok(map),
            Described::Datatype(datatype) => Ok(datatype.tree.flatten()?),
        }
    }

    /// Returns the bounds. For a type map, these are the standard's bounds of a datatype with this map.
    pub(crate) fn bounds(&self) -> Result<Bounds> {
        Ok(match &self.described {
            Described::Datatype(datatype) => datatype.bounds,
            Described::Map(map) => Datatype::of_tree(listing(map))?.bounds,
        })
    }

    /// Returns the datatype. For a type map, its tree lists all entries.
    pub(crate) fn datatype(self) -> Result<Datatype> {
        Ok(match self.described {
            Described::Datatype(datatype) => datatype,
            Described::Map(map) => Datatype::of_tree(listing(&map))?,
        })
    }
}

/// Returns the tree that lists the entries of a map: an idx, or a strc of all leaves.
fn listing(map: &TypeMap) -> TypeTree {
    if let Ok(base) = map.single_type() {
        return TypeTree::index(map.displacements(), TypeTree::Leaf(base));
    }
    let leaves: Vec<_> = map.types().iter().map(|base| TypeTree::Leaf(*base)).collect();
    TypeTree::structure(map.displacements(), leaves)
}

/// Returns the file, or `None` for standard input.
fn named(file: Option<&PathBuf>) -> Option<&PathBuf> {
    file.filter(|path| path.as_os_str() != "-")
}

/// Returns the name of an input, for messages and for the programs that the command writes.
pub(crate) fn name_of(file: Option<&PathBuf>) -> String {
    match named(file) {
        // A terminal would interpret control characters.
        Some(path) => path.display().to_string().replace(char::is_control, "?"),
        None => "standard input".to_owned(),
    }
}

impl Source {
    /// Reads the description in a file, or on standard input.
    pub(crate) fn read(&self, file: Option<&PathBuf>) -> Result<InputLayout> {
        bytes_of(file).and_then(|bytes| self.parse(&bytes, file)).with_context(|| name_of(file))
    }

    /// Replaces `--name`, if a name is given.
    pub(crate) fn named(self, name: Option<String>) -> Self {
        Self { name: name.or(self.name), ..self }
    }

    /// Returns `true` if a name was given.
    pub(crate) fn has_name(&self) -> bool {
        self.name.is_some()
    }

    /// Reads a struct of a program or of declarations. The inner error names the fields that MPI cannot
    /// carry.
    pub(crate) fn structure_of(&self, file: Option<&PathBuf>) -> Result<(Record, Result<Datatype>)> {
        let structure = |bytes: Vec<u8>| self.structure(self.form(&bytes, file)?, &bytes, file);
        bytes_of(file).and_then(structure).with_context(|| name_of(file))
    }

    /// Lists the structs of a program or of declarations whose names contain `--name`.
    pub(crate) fn list(&self, file: Option<&PathBuf>) -> Result<Vec<Listed>> {
        let list = |bytes: Vec<u8>| {
            let form = self.form(&bytes, file)?;
            let (program, declared_in) = self.compiled(form, &bytes, file)?;
            program::list(program.as_deref().unwrap_or(&bytes), &self.wanted(declared_in.as_deref()))
        };
        bytes_of(file).and_then(list).with_context(|| name_of(file))
    }

    /// Returns the form of the input: as given by `--from`, or as recognized from the content and the file
    /// name.
    fn form(&self, bytes: &[u8], file: Option<&PathBuf>) -> Result<Form> {
        if let Some(form) = self.from {
            return Ok(form);
        }
        if program::is_program(bytes) {
            return Ok(Form::Program);
        }
        let is_of = |compiled: Compiled| file.is_some_and(|file| compiled.is_of(file));
        let form = match recognized(bytes) {
            // A C file that contains MPI calls is read for these calls.
            Ok(Form::Calls) => Form::Calls,
            _ if is_of(Compiled::C) => Form::C,
            _ if is_of(Compiled::CXX) => Form::Cxx,
            form => form?,
        };
        // Headers in C++ may be called `.h`, too.
        let is_cxx = form == Form::C && self.compiler.as_deref().is_some_and(program::is_of_cxx);
        Ok(if is_cxx { Form::Cxx } else { form })
    }

    /// Compiles declarations. Returns the object file, and the name of the source file in its debug
    /// information. For a program, returns neither.
    fn compiled(
        &self,
        form: Form,
        bytes: &[u8],
        file: Option<&PathBuf>,
    ) -> Result<(Option<Vec<u8>>, Option<String>)> {
        let compiled = match form {
            Form::C => Compiled::C,
            Form::Cxx => Compiled::CXX,
            Form::Program => return Ok((None, None)),
            _ => {
                bail!(
                    "this is neither a program nor a header: give the form with `--from program`, `c` or \
                     `c++`"
                )
            }
        };
        let file = named(file);
        let object = program::compile(bytes, file, &compiled, self.compiler.as_deref());
        let is_guessed = form == Form::C && self.from.is_none();
        let object = object.map_err(|error| {
            if is_guessed { anyhow!("{error:#}\nFor C++, add `--from c++`") } else { error }
        })?;
        let name = file.and_then(|file| file.file_name()?.to_str()).unwrap_or("declared");
        Ok((Some(object), Some(name.to_owned())))
    }

    fn structure(
        &self,
        form: Form,
        bytes: &[u8],
        file: Option<&PathBuf>,
    ) -> Result<(Record, Result<Datatype>)> {
        let (object, declared_in) = self.compiled(form, bytes, file)?;
        let program = object.as_deref().unwrap_or(bytes);
        let (mut record, datatype) = program::read(program, &self.wanted(declared_in.as_deref()))?;
        let is_header = object.is_some() && named(file).is_some();
        record.header = self.include.clone().or_else(|| is_header.then(|| name_of(file)));
        Ok((record, datatype))
    }

    fn wanted<'a>(&'a self, file: Option<&'a str>) -> Wanted<'a> {
        Wanted { name: self.name.as_deref(), file, skip: &self.skip }
    }

    fn parse(&self, bytes: &[u8], file: Option<&PathBuf>) -> Result<InputLayout> {
        let form = self.form(bytes, file)?;
        let text = || std::str::from_utf8(bytes).context(NO_TEXT);
        let is_struct = matches!(form, Form::Program | Form::C | Form::Cxx);
        let is_plain = self.skip.is_empty() && self.include.is_none();
        ensure!(is_struct || is_plain, "`--skip` and `--include` are for structs of programs and headers");
        Ok(InputLayout::of(match form {
            Form::Program | Form::C | Form::Cxx => {
                let (record, datatype) = self.structure(form, bytes, file)?;
                return Ok(InputLayout { described: Described::Datatype(datatype?), record: Some(record) });
            }
            Form::Numpy => {
                let text = if numpy::is_npy(bytes) { numpy::header(bytes)? } else { text()? };
                let (datatype, record) = numpy::read(text)?;
                return Ok(InputLayout { described: Described::Datatype(datatype), record });
            }
            Form::List => Described::Map(list::read(bytes, self.base)?),
            Form::Json => json(text()?)?,
            Form::Notation => Described::Datatype(notation::read(text()?, self.base)?),
            Form::Calls => Described::Datatype(calls::read(text()?, self.name.as_deref())?),
        }))
    }
}

/// Reads the whole input, and removes a byte order mark.
fn bytes_of(file: Option<&PathBuf>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match named(file) {
        Some(path) => bytes = fs::read(path)?,
        None => drop(io::stdin().read_to_end(&mut bytes)?),
    }
    // Some editors begin a file with a byte order mark.
    if bytes.starts_with("\u{feff}".as_bytes()) {
        bytes.drain(.."\u{feff}".len());
    }
    Ok(bytes)
}

const NO_TEXT: &str = "this is neither text in UTF-8 nor a program in a known format";

/// Recognizes the form of a text.
fn recognized(text: &[u8]) -> Result<Form> {
    const UNKNOWN: &str = "the form of this input is not recognized; give it with `--from json`, `notation`, \
                           `list`, `calls`, `numpy`, `program`, `c` or `c++`";
    if numpy::is_npy(text) {
        return Ok(Form::Numpy);
    }
    // A program may begin with a comment, as an index list may.
    if text.starts_with(b"#") && std::str::from_utf8(text).is_ok_and(calls::is_python) {
        return Ok(Form::Calls);
    }
    let first = text.iter().position(|byte| !byte.is_ascii_whitespace());
    match first.map(|first| text[first]) {
        None => bail!("the input is empty"),
        // Index lists may be very long, so only their beginning is examined.
        Some(b'0'..=b'9' | b'-' | b'+') => return Ok(Form::List),
        Some(b'[') if is_of_numbers(text) => return Ok(Form::List),
        Some(b'[' | b'(' | b'\'' | b'"' | b'<' | b'>' | b'=' | b'|') => return Ok(Form::Numpy),
        Some(_) => {}
    }
    let text = std::str::from_utf8(text).context(NO_TEXT)?;
    let start = text.trim_start();
    let word = start.find(|c: char| !c.is_alphanumeric() && c != '_').map_or(start, |end| &start[..end]);
    if start.starts_with('{') {
        let is_python = first_key(start).is_some_and(numpy::is_key) || is_pair(start);
        return Ok(if is_python { Form::Numpy } else { Form::Json });
    }
    let is_call = |at: usize| text[at..].get(..9).is_some_and(|name| name.eq_ignore_ascii_case("MPI_Type_"));
    if text.match_indices(['M', 'm']).any(|(at, _)| is_call(at))
        || text.contains("(predefined, ")
        || calls::is_python(text)
    {
        return Ok(Form::Calls);
    }
    match word {
        "struct" | "typedef" | "union" | "enum" | "extern" => Ok(Form::C),
        "class" | "namespace" | "template" | "using" => Ok(Form::Cxx),
        "" if start.starts_with("#include") || start.starts_with("#define") => Ok(Form::C),
        "" if start.starts_with('#') => Ok(Form::List),
        "dtype" | "np" | "numpy" => Ok(Form::Numpy),
        _ if notation::NODES.contains(&word) || word.parse::<BaseType>().is_ok() => Ok(Form::Notation),
        _ if numpy::is_name(word) || text.contains("dtype(") => Ok(Form::Numpy),
        _ => bail!(UNKNOWN),
    }
}

/// Returns `true` if the first item within the brackets is a number, or if the brackets are empty.
fn is_of_numbers(text: &[u8]) -> bool {
    let inner = text.iter().find(|byte| !byte.is_ascii_whitespace() && **byte != b'[');
    inner.is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b']'))
}

/// Returns the first key of a dictionary.
fn first_key(text: &str) -> Option<&str> {
    let key = text.strip_prefix('{')?.trim_start();
    let mark = key.chars().next().filter(|mark| matches!(mark, '"' | '\''))?;
    key[1..].split(mark).next()
}

/// Returns `true` if the value of a dictionary's first key is a tuple, which JSON does not have.
fn is_pair(text: &str) -> bool {
    let value = text.split_once(':').map(|(_, value)| value.trim_start());
    value.is_some_and(|value| value.starts_with('('))
}

/// The tree in the JSON that this command writes as an answer.
#[derive(Deserialize)]
struct Answer {
    tree: TypeTree,
}

/// Reads a type map, a tree, or an answer with a tree.
fn json(text: &str) -> Result<Described> {
    /// The greatest depth of nested brackets: trees have up to a thousand levels of up to four brackets each.
    const MOST_LEVELS: usize = 4096;
    ensure!(levels(text) <= MOST_LEVELS, "the tree has more than 1000 levels, the limit");
    let tree = match first_key(text.trim_start()) {
        Some("types" | "type" | "displacements") => {
            return Ok(Described::Map(parsed(text)?));
        }
        Some("cost" | "optimality" | "tree") => parsed::<Answer>(text)?.tree,
        _ => parsed(text)?,
    };
    Ok(Described::Datatype(Datatype::of_tree(tree)?))
}

/// Parses JSON. The caller must have checked the depth.
fn parsed<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Returns the greatest depth of nested brackets in a text, including brackets within strings.
fn levels(text: &str) -> usize {
    let (mut open, mut most) = (0usize, 0);
    for byte in text.bytes() {
        match byte {
            b'{' | b'[' => open += 1,
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}
