//! MPI calls as in a program: `MPI_Type_vector(3, 1, 16, MPI_DOUBLE)`.
//!
//! The result may be an argument as in C, `MPI_Type_vector(3, 1, 16, MPI_DOUBLE, &column);`, or as in
//! Fortran, where `ierror` follows. It may also be assigned, as `constructor_calls()` prints it: `t0 = …`.
//! Lists are in square, curly or angle brackets, or are variables: `int lengths[2] = {1, 3};`. Their type may
//! stand before them, as in `(int[2]){1, 3}`. The answer is the last committed datatype. If none is
//! committed, it is the last one made.

use std::collections::HashMap;

use anyhow::{Result, anyhow, bail};
use dtype_core::{BaseType, ConstructorKind, Datatype};

use super::{
    arguments::{Value, constructor},
    scanner::{Read, Scanner, Wrong},
};

/// Reads the calls in `text`. If they make several datatypes, `name` chooses one.
pub(super) fn read(text: &str, name: Option<&str>) -> Result<Datatype> {
    let mut reader =
        Reader { scanner: Scanner::new(text), values: HashMap::new(), made: None, committed: None };
    while !reader.scanner.is_at_end() {
        let place = reader.scanner.place();
        reader.statement().map_err(|error| match error {
            Refused::Text(wrong) => wrong,
            Refused::Call(reason) => reader.scanner.wrong_at(place, format!("{reason:#}")),
        })?;
    }
    if let Some(name) = name {
        let mut datatypes = reader.values;
        datatypes.retain(|_, value| matches!(value, Value::Datatype(_)));
        if let Some(Value::Datatype(datatype)) = datatypes.remove(name) {
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
    values: HashMap<String, Value>,
    /// The last datatype that was made. `committed` is the last one that was committed.
    made: Option<Datatype>,
    committed: Option<Datatype>,
}

impl Reader<'_> {
    fn statement(&mut self) -> Result<(), Refused> {
        const EXPECTED: &str = "a call such as MPI_Type_vector, or a variable with its value";
        if self.scanner.takes(";") {
            return Ok(());
        }
        if self.scanner.takes("#") {
            self.directive();
            return Ok(());
        }
        let place = self.scanner.place();
        let Some(word) = self.scanner.word() else { return Err(self.scanner.unexpected(EXPECTED).into()) };
        if let Some(base) = predefined(word)
            && self.scanner.takes("(predefined, nothing to build)")
        {
            self.committed = Some(Datatype::base(base));
        } else if self.scanner.sees("(") && !self.scanner.sees("(/") {
            self.call(word, None)?;
        } else if word.eq_ignore_ascii_case("call") {
            // After Fortran's `call`, the next statement is the call itself.
        } else {
            self.scanner.go_back(place);
            self.variables()?;
        }
        Ok(())
    }

    /// Reads a line of the preprocessor. Only the definition of a name as a number has an effect.
    fn directive(&mut self) {
        let line = self.scanner.until(&['\n']);
        let Some(definition) = line.strip_prefix("define") else { return };
        let Some((name, value)) = definition.trim_start().split_once(char::is_whitespace) else { return };
        let values = std::mem::take(&mut self.values);
        let mut reader = Reader { scanner: Scanner::new(value), values, made: None, committed: None };
        let value = reader.expression(MOST_LEVELS).ok().filter(|_| reader.scanner.is_at_end());
        self.values = reader.values;
        if let Some(value) = value {
            self.values.insert(name.to_owned(), Value::Number(value));
        }
    }

    /// Reads variables, with or without their type in front, and with or without values.
    fn variables(&mut self) -> Result<(), Refused> {
        let (mut words, mut name) = (0, None);
        while let Some(word) = self.scanner.word() {
            self.scanner.takes("*");
            (words, name) = (words + 1, Some(word));
        }
        loop {
            let place = self.scanner.place();
            let Some(own) = name else {
                return Err(self.scanner.unexpected("the name of a variable").into());
            };
            if predefined(own).is_some() {
                let reason = format!("`{own}` is a predefined datatype, not a variable");
                return Err(self.scanner.wrong_at(place, reason).into());
            }
            // The length of a declared array, or the index of the item that is assigned.
            let mut number = None;
            if self.scanner.takes("[") && !self.scanner.takes("]") {
                number = usize::try_from(self.expression(MOST_LEVELS)?).ok();
                self.scanner.expect("]")?;
            }
            if self.scanner.takes("=") {
                let place = self.scanner.place();
                match self.scanner.word() {
                    Some(word) if self.scanner.sees("(") && is_of_mpi(word) => self.call(word, Some(own))?,
                    _ => {
                        self.scanner.go_back(place);
                        let value = self.value()?;
                        let value = match number {
                            Some(length) if words > 1 => self.filled(place, value, length)?,
                            Some(item) => self.with_item(place, own, item, value)?,
                            None => value,
                        };
                        self.values.insert(own.to_owned(), value);
                    }
                }
            }
            if !self.scanner.takes(",") {
                return Ok(());
            }
            name = self.scanner.word();
        }
    }

    /// Returns the list that initializes an array of `length` items. In an array of numbers, items without a
    /// value are 0.
    fn filled(&self, place: usize, value: Value, length: usize) -> Read<Value> {
        let Value::List(mut items) = value else { return Err(self.scanner.unexpected_at(place, "a list")) };
        if items.len() > length {
            let reason = format!("this list is longer than its array: {} > {length}", items.len());
            return Err(self.scanner.wrong_at(place, reason));
        }
        if length <= MOST_ITEMS && matches!(items.first(), Some(Value::Number(_))) {
            items.resize(length, Value::Number(0));
        }
        Ok(Value::List(items))
    }

    /// Returns the array `name` with `value` at index `item`.
    fn with_item(&mut self, place: usize, name: &str, item: usize, value: Value) -> Read<Value> {
        if item >= MOST_ITEMS {
            return Err(self.scanner.unexpected_at(place, format!("an index below {MOST_ITEMS}")));
        }
        let mut items = match self.values.remove(name) {
            Some(Value::List(items)) => items,
            _ => Vec::new(),
        };
        while items.len() <= item {
            items.push(Value::Name(format!("{name}[{}]", items.len())));
        }
        items[item] = value;
        Ok(Value::List(items))
    }

    /// Passes the type of a compound literal, `(int[2])`, or the cast of a pointer, `(int *)`. Returns the
    /// length if it is given.
    fn array_type(&mut self) -> Read<Option<usize>> {
        let place = self.scanner.place();
        let mut length = None;
        if self.scanner.takes("(") && self.type_name().is_some() {
            let is_pointer = self.scanner.takes("*");
            if is_pointer || self.scanner.takes("[") {
                if !is_pointer && !self.scanner.takes("]") {
                    length = usize::try_from(self.expression(MOST_LEVELS)?).ok();
                    self.scanner.expect("]")?;
                }
                if self.scanner.takes(")") {
                    return Ok(length);
                }
            }
        }
        self.scanner.go_back(place);
        Ok(None)
    }

    /// Reads a list or a single item.
    fn value(&mut self) -> Read<Value> {
        if let Some(length) = self.array_type()? {
            let place = self.scanner.place();
            let value = self.list_or_item()?;
            return self.filled(place, value, length);
        }
        self.list_or_item()
    }

    fn list_or_item(&mut self) -> Read<Value> {
        let Some(close) = self.scanner.opens() else { return self.item() };
        let mut items = Vec::new();
        while !self.scanner.takes(close) {
            items.push(self.item()?);
            self.scanner.behind_item(close)?;
        }
        Ok(Value::List(items))
    }

    /// Reads a datatype, a constant of MPI, or an expression.
    fn item(&mut self) -> Read<Value> {
        self.scanner.takes("&");
        let place = self.scanner.place();
        if let Some(word) = self.scanner.word() {
            let known = match self.values.get(word) {
                Some(Value::Number(_)) => None,
                Some(Value::List(items)) if self.scanner.takes("[") => {
                    let items = items.clone();
                    let number = usize::try_from(self.expression(MOST_LEVELS)?).ok();
                    self.scanner.expect("]")?;
                    let item = number.and_then(|number| items.get(number).cloned());
                    Some(item.unwrap_or_else(|| Value::Name(format!("an item past the end of {word}"))))
                }
                Some(value) => Some(value.clone()),
                None if word == "sizeof" => None,
                None => Some(match predefined(word) {
                    Some(base) => Value::Datatype(Datatype::base(base)),
                    None => self.unknown(word)?,
                }),
            };
            if let Some(known) = known {
                return Ok(known);
            }
            self.scanner.go_back(place);
        }
        self.expression(MOST_LEVELS).map(Value::Number)
    }

    /// Returns a name without a value, with the index after the name if there is one.
    fn unknown(&mut self, word: &str) -> Read<Value> {
        if !self.scanner.takes("[") {
            return Ok(Value::Name(word.to_owned()));
        }
        let number = self.expression(MOST_LEVELS)?;
        self.scanner.expect("]")?;
        Ok(Value::Name(format!("{word}[{number}]")))
    }

    /// Reads a sum of products, as in C.
    fn expression(&mut self, levels: usize) -> Read<i64> {
        let place = self.scanner.place();
        let mut sum = self.product(levels)?;
        loop {
            let next = if self.scanner.takes("+") {
                sum.checked_add(self.product(levels)?)
            } else if self.scanner.takes("-") {
                sum.checked_sub(self.product(levels)?)
            } else {
                return Ok(sum);
            };
            sum = next.ok_or_else(|| self.too_large(place))?;
        }
    }

    fn product(&mut self, levels: usize) -> Read<i64> {
        let place = self.scanner.place();
        let mut product = self.factor(levels)?;
        loop {
            let next = if self.scanner.takes("*") {
                product.checked_mul(self.factor(levels)?)
            } else if !self.scanner.sees("/)") && self.scanner.takes("/") {
                product.checked_div(self.factor(levels)?)
            } else {
                return Ok(product);
            };
            product = next.ok_or_else(|| self.too_large(place))?;
        }
    }

    fn too_large(&self, place: usize) -> Wrong {
        self.scanner.wrong_at(place, "this number is beyond the limits of i64")
    }

    fn factor(&mut self, levels: usize) -> Read<i64> {
        const EXPECTED: &str = "a number, a list or a datatype";
        let place = self.scanner.place();
        let Some(levels) = levels.checked_sub(1) else {
            return Err(self
                .scanner
                .unexpected("a number, because brackets are nested 256 levels deep, the limit"));
        };
        if self.scanner.sees_number() {
            return self.scanner.number_with(&['u', 'l', 'U', 'L'], EXPECTED);
        }
        if self.scanner.takes("-") {
            let negative = self.factor(levels)?.checked_neg();
            return negative.ok_or_else(|| self.too_large(place));
        }
        if self.scanner.takes("(") {
            let inner = self.scanner.place();
            // A cast does not change a number that fits.
            if self.type_name().is_some_and(|name| is_integer(&name)) && self.scanner.takes(")") {
                return self.factor(levels);
            }
            self.scanner.go_back(inner);
            let value = self.expression(levels)?;
            self.scanner.expect(")")?;
            return Ok(value);
        }
        match self.scanner.word() {
            Some("sizeof") if self.scanner.takes("(") => {
                let size = self.type_name().and_then(|name| name.parse::<BaseType>().ok());
                let size = size.map(|base| base.extent() as i64);
                let size =
                    size.ok_or_else(|| self.scanner.unexpected_at(place, "`sizeof` of a number of C"))?;
                self.scanner.expect(")")?;
                Ok(size)
            }
            Some(word) => match self.values.get(word) {
                Some(Value::Number(number)) => Ok(*number),
                _ => Err(self.scanner.unexpected_at(place, "a number or a variable that holds a number")),
            },
            None => Err(self.scanner.unexpected(EXPECTED)),
        }
    }

    /// Reads the words of a type, if words come next.
    fn type_name(&mut self) -> Option<String> {
        let words: Vec<_> = std::iter::from_fn(|| self.scanner.word()).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// Reads a call after its name. `result` is the variable to which the call is assigned.
    fn call(&mut self, call: &str, result: Option<&str>) -> Result<(), Refused> {
        self.scanner.expect("(")?;
        if is_of_mpi(call) && !is_of_types(call) {
            return self.skip_call();
        }
        let (mut values, mut places) = (Vec::new(), Vec::new());
        while !self.scanner.takes(")") {
            places.push(self.scanner.place());
            values.push(self.value()?);
            if !self.scanner.takes(",") && !self.scanner.sees(")") {
                return Err(self.scanner.unexpected("`,` or `)`").into());
            }
        }
        let short = call.to_ascii_lowercase().replacen("mpi_type_", "", 1);
        let short = short.strip_suffix("_c").unwrap_or(&short);
        if short == "commit" || short == "free" {
            let Some(Value::Datatype(datatype)) = values.into_iter().next() else {
                return Err(anyhow!("{call}: no earlier call creates this datatype").into());
            };
            if short == "commit" {
                self.committed = Some(datatype);
            }
            return Ok(());
        }
        let Some(known) = ConstructorKind::from_name(short) else {
            let [all @ .., last] = ConstructorKind::ALL.map(|kind| format!("MPI_Type_{}", kind.name()));
            let all = all.join(", ");
            let error =
                anyhow!("`{call}` is not a datatype constructor; the constructors are {all} and {last}");
            return Err(error.into());
        };
        let wanted = known.arguments().len();
        // The result may follow the arguments, and Fortran's error code may follow the result.
        if values.len() < wanted || values.len() > wanted + 2 {
            let (names, found) = (known.arguments().join(", "), values.len());
            let error =
                anyhow!("{call} takes {wanted} arguments ({names}) and the result, but {found} are given");
            return Err(error.into());
        }
        let datatype = constructor(call, known, values)?.datatype()?;
        // If the datatype is an argument, the call returns an error code.
        if let Some(place) = places.get(wanted) {
            self.keep(*place, datatype.clone())?;
        } else if let Some(name) = result {
            self.values.insert(name.to_owned(), Value::Datatype(datatype.clone()));
        }
        self.made = Some(datatype);
        Ok(())
    }

    /// Stores a datatype in the variable or the array item that the argument at `place` names.
    fn keep(&mut self, place: usize, datatype: Datatype) -> Read<()> {
        let behind = self.scanner.place();
        self.scanner.go_back(place);
        self.scanner.takes("&");
        let name = self.scanner.word().filter(|name| !is_of_mpi(name));
        let name = name.ok_or_else(|| self.scanner.unexpected_at(place, "a variable for the result"))?;
        let mut value = Value::Datatype(datatype);
        if self.scanner.takes("[") {
            let item = usize::try_from(self.expression(MOST_LEVELS)?).unwrap_or(usize::MAX);
            value = self.with_item(place, name, item, value)?;
        }
        self.values.insert(name.to_owned(), value);
        self.scanner.go_back(behind);
        Ok(())
    }

    /// Skips the arguments of a call that does not make a datatype.
    fn skip_call(&mut self) -> Result<(), Refused> {
        let mut open = 1;
        while open > 0 {
            if self.scanner.takes("(") {
                open += 1;
            } else if self.scanner.takes(")") {
                open -= 1;
            } else if self.scanner.is_at_end() {
                return Err(self.scanner.unexpected("`)`").into());
            } else {
                self.scanner.skip_sign();
            }
        }
        Ok(())
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
