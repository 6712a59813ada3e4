//! MPI calls as in a program: `MPI_Type_vector(3, 1, 16, MPI_DOUBLE)`.
//!
//! The result may be an argument as in C, `MPI_Type_vector(3, 1, 16, MPI_DOUBLE, &column);`, or as in
//! Fortran, where `ierror` follows. It may also be assigned, as `constructor_calls()` prints it: `t0 = …`.
//! Lists are in square, curly or angle brackets, or are variables: `int lengths[2] = {1, 3};`. Their type may
//! stand before them, as in `(int[2]){1, 3}`. The answer is the last committed datatype. If none is
//! committed, it is the last one made.
//!
//! Statements are read one after the other: `c`, `fortran` and `python` (with Julia) have those of each
//! language. What follows a condition that is not known, or stands in a loop, must not make datatypes, and
//! the variables that it changes have no value afterwards. `call` reads the calls, `expression` their
//! arguments, and `arguments` gives them to the constructors.

mod arguments;
mod c;
mod call;
mod expression;
mod fortran;
mod python;

use std::collections::HashMap;

use anyhow::{Result, anyhow, bail};
use dtype_core::{BaseType, ConstructorKind, Datatype};

use super::scanner::{Comments, Read, Scanner, Wrong};
use arguments::{Value, kind_of};

/// Reads the calls in `text`. If they make several datatypes, `name` chooses one.
pub(super) fn read(text: &str, name: Option<&str>) -> Result<Datatype> {
    let language = language(text);
    let mut reader = Reader::new(Scanner::in_language(text, language));
    while !reader.scanner.is_at_end() {
        let place = reader.scanner.place();
        let read = match language {
            Comments::C => reader.statement(),
            Comments::Fortran => reader.line_of_fortran(),
            Comments::Python => reader.line_of_python(),
        };
        read.map_err(|error| match error {
            Refused::Text(wrong) => wrong,
            Refused::Call(reason) => reader.scanner.wrong_at(place, format!("{reason:#}")),
        })?;
    }
    if let Some(name) = name {
        let name = reader.own(name);
        let mut datatypes = reader.values;
        datatypes.retain(|_, value| matches!(value, Value::Datatype(_)));
        if let Some(Value::Datatype(datatype)) = datatypes.remove(&name) {
            return Ok(datatype);
        }
        let mut known: Vec<_> = datatypes.into_keys().collect();
        known.sort_unstable();
        bail!("no call creates a datatype `{name}`; the calls create {}", known.join(", "));
    }
    reader.committed.or(reader.made).ok_or_else(|| anyhow!("the input has no call that creates a datatype"))
}

/// An error in a statement: in its syntax, or in the call that it makes.
enum Refused {
    Text(Wrong),
    Call(anyhow::Error),
}

impl From<Wrong> for Refused {
    fn from(wrong: Wrong) -> Self {
        Self::Text(wrong)
    }
}

impl From<anyhow::Error> for Refused {
    fn from(reason: anyhow::Error) -> Self {
        Self::Call(reason)
    }
}

impl From<dtype_core::Error> for Refused {
    fn from(reason: dtype_core::Error) -> Self {
        Self::Call(reason.into())
    }
}

struct Reader<'a> {
    scanner: Scanner<'a>,
    language: Comments,
    /// The variables. In Fortran, their names are in lower case.
    values: HashMap<String, Value>,
    /// The index of the first item of an array, and its length, if they were declared. Arrays of C are left
    /// out: they begin at 0.
    arrays: HashMap<String, Declared>,
    /// The last datatype that was made. `committed` is the last one that was committed.
    made: Option<Datatype>,
    committed: Option<Datatype>,
}

/// The declaration of an array.
#[derive(Clone, Copy)]
struct Declared {
    first: i64,
    length: Option<usize>,
}

impl<'a> Reader<'a> {
    fn new(scanner: Scanner<'a>) -> Self {
        let (language, values, arrays) = (scanner.language(), HashMap::new(), HashMap::new());
        Self { scanner, language, values, arrays, made: None, committed: None }
    }

    /// Returns the key of a name in `values`.
    fn own(&self, name: &str) -> String {
        match self.language {
            Comments::Fortran => name.to_ascii_lowercase(),
            Comments::C | Comments::Python => name.to_owned(),
        }
    }

    fn value_of(&self, name: &str) -> Option<&Value> {
        match self.language {
            Comments::Fortran => self.values.get(&name.to_ascii_lowercase()),
            Comments::C | Comments::Python => self.values.get(name),
        }
    }

    fn set(&mut self, name: &str, value: Value) {
        self.values.insert(self.own(name), value);
    }

    /// Removes the value of a variable, and those of its members.
    fn forget(&mut self, name: &str) {
        let name = self.own(name);
        let is_member =
            |key: &str| key.strip_prefix(&name).is_some_and(|rest| rest.starts_with(['-', '.', '%']));
        self.values.retain(|key, _| *key != name && !is_member(key));
    }

    /// Passes a part of a program that is not read: the variables that it may change have no value
    /// afterwards.
    ///
    /// # Errors
    /// If the part makes datatypes; `why` says why it is not read.
    fn pass_unread(&mut self, from: usize, to: usize, changes: Changes, why: &str) -> Read<()> {
        let mut inside = Scanner::in_language(self.scanner.between(from, to), self.language);
        let mut is_passed_on = changes != Changes::Statements;
        while !inside.is_at_end() {
            let is_address = ["&", "++", "--"].iter().any(|sign| inside.takes(sign));
            let is_member = ["->", ".", "%"].iter().any(|sign| inside.takes(sign));
            let Some(word) = inside.word() else {
                if inside.quoted().is_none() && !is_address && !is_member {
                    inside.skip_sign();
                }
                continue;
            };
            if makes_datatype(self.language, word) {
                let reason = format!("{why}: write the calls that are made, one after the other");
                return Err(self.scanner.wrong_at(from, reason));
            }
            if is_member {
                continue;
            }
            // A subroutine of Fortran may change its arguments.
            is_passed_on |= self.language == Comments::Fortran && word.eq_ignore_ascii_case("call");
            let is_array = || matches!(self.value_of(word), Some(Value::List(_)));
            // A call of MPI that makes no datatype changes none.
            let is_kept =
                changes == Changes::MpiArguments && matches!(self.value_of(word), Some(Value::Datatype(_)));
            let is_given =
                is_passed_on && (self.language == Comments::Fortran || is_array() && !inside.sees("["));
            if is_address || is_given && !is_kept || is_assigned(&mut inside, self.language) {
                self.forget(word);
            }
        }
        self.scanner.go_back(to);
        Ok(())
    }
}

/// The way in which a part of a program changes variables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changes {
    /// By assignments.
    Statements,
    /// As a function, by its arguments.
    Arguments,
    /// As a function of MPI, by its arguments that are no datatypes.
    MpiArguments,
}

/// Returns `true` if an assignment follows, or a method that changes its object.
fn is_assigned(inside: &mut Scanner<'_>, language: Comments) -> bool {
    let place = inside.place();
    let (open, close) = if language == Comments::Fortran { ("(", ")") } else { ("[", "]") };
    if inside.takes(open) {
        let mut depth = 1;
        while depth > 0 && !inside.is_at_end() {
            depth += usize::from(inside.sees(open));
            depth -= usize::from(inside.sees(close));
            inside.skip_sign();
        }
    }
    let changes = ["+=", "-=", "*=", "<<=", "++", "--"].iter().any(|sign| inside.sees(sign));
    let is_assigned = inside.sees("=") && !inside.sees("==")
        || language != Comments::Fortran && changes
        || [".", "->", "%"].iter().any(|sign| inside.sees(sign));
    inside.go_back(place);
    is_assigned
}

/// Returns `true` if a call of this name makes a datatype.
fn makes_datatype(language: Comments, name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let short = lower.strip_prefix("mpi_type_").map(|short| short.strip_suffix("_c").unwrap_or(short));
    let is_method = language == Comments::Python && (name.starts_with("Create_") || kind_of(name).is_some());
    short.is_some_and(|short| ConstructorKind::from_name(short).is_some()) || is_method
}

/// Returns `true` if a program is one of Python with mpi4py, or of Julia with MPI.jl.
pub(super) fn is_python(text: &str) -> bool {
    ["import MPI", "MPI.Types.", ".Create_"].iter().any(|part| text.contains(part))
}

/// Returns the language of a program.
fn language(text: &str) -> Comments {
    let is_fortran = |line: &str| {
        let line = line.trim_start().to_ascii_lowercase();
        let begins = ["call ", "!", "use mpi", "module ", "subroutine ", "program ", "implicit none"];
        let declares = ["integer", "type(mpi_datatype)"];
        begins.iter().any(|word| line.starts_with(word))
            || line.contains("::") && declares.iter().any(|word| line.starts_with(word))
    };
    if is_python(text) {
        Comments::Python
    } else if text.lines().any(is_fortran) {
        Comments::Fortran
    } else {
        Comments::C
    }
}

/// The greatest depth of nested brackets. Each level is a recursive call.
const MOST_LEVELS: usize = 256;

/// The largest length of an array that is filled item by item.
const MOST_ITEMS: usize = 1 << 20;

/// Returns `true` if a name begins with `MPI_`. Case is ignored, as in Fortran.
fn is_of_mpi(name: &str) -> bool {
    name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("MPI_"))
}

/// Returns `true` if a call begins with `MPI_Type_` and does more than query or annotate a datatype.
fn is_of_types(call: &str) -> bool {
    let call = call.to_ascii_lowercase();
    call.strip_prefix("mpi_type_").is_some_and(|rest| {
        !rest.starts_with("size") && !rest.starts_with("get_") && !rest.starts_with("set_")
    })
}

/// Returns `true` if `name` is an integer type of C or of MPI.
fn is_integer(name: &str) -> bool {
    let is_of_c = |base: BaseType| !matches!(base, BaseType::F32 | BaseType::F64 | BaseType::LongDouble);
    matches!(name, "MPI_Aint" | "MPI_Count" | "MPI_Offset" | "ptrdiff_t" | "intptr_t" | "ssize_t")
        || name.parse().is_ok_and(is_of_c)
}

/// Returns the predefined datatype with this name.
fn predefined(name: &str) -> Option<BaseType> {
    is_of_mpi(name).then(|| name.to_ascii_uppercase().parse().ok())?
}
