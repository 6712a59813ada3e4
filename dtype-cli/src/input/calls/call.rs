//! The calls of a program.

use anyhow::{anyhow, bail};
use dtype_core::{Bounds, ConstructorKind, Datatype};

use super::{
    Changes, MOST_LEVELS, Reader, Refused,
    arguments::{Value, constructor},
    is_of_mpi, is_of_types,
};
use crate::input::scanner::Read;

impl Reader<'_> {
    /// Reads a call after its name. `result` is the variable to which the call is assigned.
    pub(super) fn call(&mut self, call: &str, result: Option<&str>) -> Result<(), Refused> {
        self.scanner.expect("(")?;
        if is_of_mpi(call) && !is_of_types(call) {
            let begin = self.scanner.place();
            if self.queried(call)? {
                return Ok(());
            }
            self.scanner.go_back(begin);
            self.pass_balanced("(", ")")?;
            return Ok(self.pass_arguments(call, begin)?);
        }
        let given = self.arguments()?;
        let short = call.to_ascii_lowercase().replacen("mpi_type_", "", 1);
        let short = short.strip_suffix("_c").unwrap_or(&short);
        if short == "free" {
            return Ok(());
        }
        if short == "commit" {
            let given = ordered(call, &["datatype", "ierror"], given)?;
            let Some(Value::Datatype(datatype)) = given.into_iter().next().map(|argument| argument.value)
            else {
                return Err(anyhow!("{call}: no earlier call creates this datatype").into());
            };
            self.committed = Some(datatype);
            return Ok(());
        }
        let Some(known) = ConstructorKind::from_name(short) else {
            let all: Vec<_> = ConstructorKind::ALL.iter().map(|kind| kind.mpi_name()).collect();
            let all = all.join(", ");
            let error = anyhow!("`{call}` is not a datatype constructor; the constructors are {all}");
            return Err(error.into());
        };
        let wanted = known.arguments().len();
        let names = [known.arguments(), &["newtype", "ierror"]].concat();
        let given = ordered(call, &names, given)?;
        // The result may follow the arguments, and Fortran's error code may follow the result.
        if given.len() < wanted || given.len() > wanted + 2 {
            let (names, found) = (known.arguments().join(", "), given.len());
            let error =
                anyhow!("{call} takes {wanted} arguments ({names}) and the result, but {found} are given");
            return Err(error.into());
        }
        let place = given.get(wanted).map(|argument| argument.place);
        let values = given.into_iter().map(|argument| argument.value).collect();
        let datatype = constructor(call, known, values)?.datatype()?;
        // If the datatype is an argument, the call returns an error code.
        if let Some(place) = place {
            self.keep(place, Value::Datatype(datatype.clone()))?;
        } else if let Some(name) = result {
            self.set(name, Value::Datatype(datatype.clone()));
        }
        self.made = Some(datatype);
        Ok(())
    }

    /// Reads the arguments of a call, to its closing bracket.
    fn arguments(&mut self) -> Read<Vec<Argument>> {
        let mut given = Vec::new();
        while !self.scanner.takes(")") {
            let begin = self.scanner.place();
            let keyword = self.scanner.word().filter(|_| !self.scanner.sees("==") && self.scanner.takes("="));
            if keyword.is_none() {
                self.scanner.go_back(begin);
            }
            let place = self.scanner.place();
            let value = self.value()?;
            given.push(Argument { keyword: keyword.map(str::to_owned), value, place });
            if !self.scanner.takes(",") && !self.scanner.sees(")") {
                return Err(self.scanner.unexpected("`,` or `)`"));
            }
        }
        Ok(given)
    }

    /// Reads a call that asks for the size or the bounds of a known datatype, and stores the answers in their
    /// variables. Returns `false` if it is another call.
    fn queried(&mut self, call: &str) -> Result<bool, Refused> {
        let short = call.to_ascii_lowercase();
        let short = short.strip_prefix("mpi_type_").unwrap_or("");
        let short = short.strip_suffix("_x").or_else(|| short.strip_suffix("_c")).unwrap_or(short);
        if !["size", "get_extent", "get_true_extent", "extent", "lb", "ub"].contains(&short) {
            return Ok(false);
        }
        let Ok(given) = self.arguments() else { return Ok(false) };
        let [Argument { value: Value::Datatype(datatype), .. }, answers @ ..] = &given[..] else {
            return Ok(false);
        };
        let places: Vec<_> = answers.iter().map(|argument| argument.place).collect();
        for (place, answer) in places.into_iter().zip(asked(datatype, short)?) {
            self.keep(place, Value::Number(answer))?;
        }
        Ok(true)
    }

    /// Passes the arguments of a call that makes no datatype. Variables that it may change have no value
    /// afterwards.
    pub(super) fn pass_arguments(&mut self, call: &str, begin: usize) -> Read<()> {
        let (end, name) = (self.scanner.place(), call.to_ascii_lowercase());
        let stores = ["get", "address", "sizeof"].iter().any(|part| name.contains(part));
        let sends = name.contains("send") && !name.contains("recv");
        let changes = match is_of_mpi(call) {
            // A message that is sent is not changed.
            true if sends => Changes::Statements,
            true if !stores => Changes::MpiArguments,
            _ => Changes::Arguments,
        };
        self.pass_unread(begin, end, changes, "the call is an argument of another one")
    }

    /// Stores a value in the variable or the array item that the argument at `place` names.
    fn keep(&mut self, place: usize, mut value: Value) -> Read<()> {
        let behind = self.scanner.place();
        self.scanner.go_back(place);
        self.scanner.takes("&");
        let name = self.scanner.word().filter(|name| !is_of_mpi(name));
        let name = name.ok_or_else(|| self.scanner.unexpected_at(place, "a variable for the result"))?;
        let name = self.member(name);
        if self.opens_index().is_some() {
            let item = self.expression(MOST_LEVELS)?;
            value = self.with_items(place, &name, item, vec![value])?;
        }
        self.set(&name, value);
        self.scanner.go_back(behind);
        Ok(())
    }

    /// Passes a text to its closing sign. Texts in quotation marks are passed as a whole.
    pub(super) fn pass_balanced(&mut self, open: &str, close: &str) -> Read<()> {
        let mut depth = 1;
        while depth > 0 {
            if self.scanner.takes(open) {
                depth += 1;
            } else if self.scanner.takes(close) {
                depth -= 1;
            } else if self.scanner.is_at_end() {
                return Err(self.scanner.unexpected(format!("`{close}`")));
            } else if self.scanner.quoted().is_none() {
                self.scanner.skip_sign();
            }
        }
        Ok(())
    }
}

/// An argument of a call.
struct Argument {
    keyword: Option<String>,
    value: Value,
    place: usize,
}

/// Returns the arguments in the order of `names`, where Fortran's keywords name them.
fn ordered(call: &str, names: &[&str], given: Vec<Argument>) -> anyhow::Result<Vec<Argument>> {
    if given.iter().all(|argument| argument.keyword.is_none()) {
        return Ok(given);
    }
    let mut places: Vec<Option<Argument>> = names.iter().map(|_| None).collect();
    for (i, argument) in given.into_iter().enumerate() {
        let at = match &argument.keyword {
            Some(keyword) => names.iter().position(|name| name.eq_ignore_ascii_case(keyword)),
            None => Some(i),
        };
        let Some(place) = at.and_then(|at| places.get_mut(at)) else {
            let keyword = argument.keyword.as_deref().unwrap_or("");
            bail!("{call} has no argument `{keyword}`; its arguments are {}", names.join(", "));
        };
        *place = Some(argument);
    }
    // Only arguments at the end may be left out.
    let last = places.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    let all: Option<Vec<_>> = places.into_iter().take(last).collect();
    all.ok_or_else(|| anyhow!("{call}: an argument is missing; its arguments are {}", names.join(", ")))
}

/// Returns what a query of this name answers about a datatype, in the order of its arguments.
pub(super) fn asked(datatype: &Datatype, query: &str) -> anyhow::Result<Vec<i64>> {
    let Bounds { lower_bound, extent } = datatype.bounds;
    let measure = datatype.tree.measure()?;
    Ok(match query {
        "size" => vec![i64::try_from(measure.size)?],
        "get_extent" => vec![lower_bound, extent],
        "get_true_extent" => vec![measure.lower_bound, measure.true_extent()],
        "extent" => vec![extent],
        "lb" => vec![lower_bound],
        _ => vec![lower_bound.saturating_add(extent)],
    })
}
