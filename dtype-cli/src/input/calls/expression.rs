//! The values of arguments and variables: lists, datatypes, and expressions of numbers.

use dtype_core::{BaseType, Datatype};

use super::{MOST_ITEMS, MOST_LEVELS, Reader, arguments::Value, is_integer, predefined};
use crate::input::scanner::{Comments, Read, Wrong};

impl Reader<'_> {
    /// Returns the list that initializes an array of `length` items. In an array of numbers, items without a
    /// value are 0.
    pub(super) fn filled(&self, place: usize, value: Value, length: usize) -> Read<Value> {
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

    /// Returns the array `name` with `values` from index `first` on.
    pub(super) fn with_items(
        &mut self,
        place: usize,
        name: &str,
        first: i64,
        values: Vec<Value>,
    ) -> Read<Value> {
        let begin = self.first_of(name);
        let item = first.checked_sub(begin).and_then(|item| usize::try_from(item).ok());
        let item = item.filter(|item| item.saturating_add(values.len()) <= MOST_ITEMS);
        let item = item.ok_or_else(|| {
            let limit = begin.saturating_add(MOST_ITEMS as i64);
            self.scanner.unexpected_at(place, format!("an index below {limit}, and {begin} or more"))
        })?;
        let mut items = match self.values.remove(&self.own(name)) {
            Some(Value::List(items)) => items,
            _ => Vec::new(),
        };
        while items.len() < item + values.len() {
            items.push(Value::Name(format!("{name}[{}]", begin.saturating_add(items.len() as i64))));
        }
        items.splice(item..item + values.len(), values);
        Ok(Value::List(items))
    }

    /// Returns the index of the first item of an array.
    pub(super) fn first_of(&self, name: &str) -> i64 {
        let usual = i64::from(self.language == Comments::Fortran);
        self.arrays.get(&self.own(name)).map_or(usual, |declared| declared.first)
    }

    /// Consumes the sign before an index, if one comes next, and returns the sign after it.
    pub(super) fn opens_index(&mut self) -> Option<&'static str> {
        let (open, close) = match self.language {
            Comments::Fortran => ("(", ")"),
            Comments::C | Comments::Python => ("[", "]"),
        };
        // `(/` begins a list of Fortran.
        let is_next = !self.scanner.sees("(/") && self.scanner.takes(open);
        is_next.then_some(close)
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
    pub(super) fn value(&mut self) -> Read<Value> {
        if let Some(length) = self.array_type()? {
            let place = self.scanner.place();
            let value = self.list_or_item()?;
            return self.filled(place, value, length);
        }
        self.list_or_item()
    }

    fn list_or_item(&mut self) -> Read<Value> {
        let Some(close) = self.scanner.opens() else { return self.item() };
        self.item_type()?;
        let mut items = Vec::new();
        while !self.scanner.takes(close) {
            items.push(self.item()?);
            self.scanner.behind_item(close)?;
        }
        Ok(Value::List(items))
    }

    /// Passes the type at the beginning of a list in Fortran: `[integer(MPI_ADDRESS_KIND) :: 0, 8]`.
    fn item_type(&mut self) -> Read<()> {
        let place = self.scanner.place();
        if self.language == Comments::Fortran && self.scanner.word().is_some() {
            if self.scanner.takes("(") {
                self.pass_balanced("(", ")")?;
            }
            if self.scanner.takes("::") {
                return Ok(());
            }
        }
        self.scanner.go_back(place);
        Ok(())
    }

    /// Reads a datatype, a constant of MPI, or an expression.
    fn item(&mut self) -> Read<Value> {
        self.scanner.takes("&");
        let place = self.scanner.place();
        if let Some(word) = self.scanner.word() {
            let word = &*self.member(word);
            let known = match self.value_of(word).cloned() {
                Some(Value::Number(_)) => None,
                Some(Value::List(items)) => Some(if let Some(close) = self.opens_index() {
                    let begin = self.first_of(word);
                    let index = self.expression(MOST_LEVELS)?.checked_sub(begin);
                    self.scanner.expect(close)?;
                    let item = index.and_then(|index| items.get(usize::try_from(index).ok()?).cloned());
                    item.unwrap_or_else(|| Value::Name(format!("an item past the end of {word}")))
                } else {
                    // The memory of a container of C++.
                    self.scanner.takes(".data()");
                    Value::List(items)
                }),
                Some(Value::Name(name)) => Some(match self.unknown(word)? {
                    Value::Name(own) if own == word => Value::Name(name),
                    indexed => indexed,
                }),
                Some(value) => Some(value),
                None if is_function(word) => None,
                None => Some(match predefined(word) {
                    Some(base) => Value::Datatype(Datatype::base(base)),
                    None => self.unknown(word)?,
                }),
            };
            match known {
                // A number in an item of a list may be a part of an expression.
                Some(Value::Number(_)) | None => {}
                Some(known) => return Ok(known),
            }
            self.scanner.go_back(place);
        }
        self.expression(MOST_LEVELS).map(Value::Number)
    }

    /// Returns the name of a member of a struct: a variable with the members after it, as in `mesh->row` and
    /// Fortran's `mesh%row`.
    pub(super) fn member(&mut self, variable: &str) -> String {
        let signs: &[&str] = match self.language {
            Comments::C => &[".", "->"],
            Comments::Fortran => &["%"],
            Comments::Python => &[],
        };
        let mut name = variable.to_owned();
        while !self.scanner.sees(".data()") {
            let place = self.scanner.place();
            let Some(sign) = signs.iter().find(|sign| self.scanner.takes(sign)) else { break };
            let Some(member) = self.scanner.word() else {
                self.scanner.go_back(place);
                break;
            };
            name = format!("{name}{sign}{member}");
        }
        name
    }

    /// Returns a name without a value, with the index after the name if there is one.
    fn unknown(&mut self, word: &str) -> Read<Value> {
        let is_declared = self.language != Comments::Fortran
            || self.arrays.contains_key(&self.own(word))
            || word.contains('%');
        let Some(close) = is_declared.then(|| self.opens_index()).flatten() else {
            return Ok(Value::Name(word.to_owned()));
        };
        let number = self.expression(MOST_LEVELS)?;
        self.scanner.expect(close)?;
        Ok(Value::Name(format!("{word}[{number}]")))
    }

    /// Reads a sum of products, as in C.
    pub(super) fn expression(&mut self, levels: usize) -> Read<i64> {
        let place = self.scanner.place();
        let mut sum = self.product(levels)?;
        loop {
            let next = if self.scanner.takes("<<") {
                let bits = u32::try_from(self.product(levels)?).ok().filter(|bits| *bits < 63);
                bits.and_then(|bits| sum.checked_mul(1 << bits))
            } else if self.scanner.takes("+") {
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
            } else if self.language != Comments::Fortran && self.scanner.takes("%") {
                product.checked_rem(self.factor(levels)?)
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
        if self.scanner.takes("+") {
            return self.factor(levels);
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
            Some(word) if is_sum(word).is_some() && self.scanner.takes("(") => {
                let first = self.expression(levels)?;
                self.scanner.expect(",")?;
                let second = self.expression(levels)?;
                self.scanner.expect(")")?;
                let sum = match is_sum(word) {
                    Some(true) => first.checked_add(second),
                    _ => first.checked_sub(second),
                };
                sum.ok_or_else(|| self.too_large(place))
            }
            Some(word) if is_conversion(word) && self.scanner.takes("(") => {
                // A kind does not change a number that fits.
                let value = self.expression(levels)?;
                if self.scanner.takes(",") {
                    while !self.scanner.sees(")") && !self.scanner.is_at_end() {
                        self.scanner.skip_sign();
                    }
                }
                self.scanner.expect(")")?;
                Ok(value)
            }
            Some("offsetof") => Err(self
                .scanner
                .unexpected_at(place, "a number; `dtype struct` reads the offsets of a struct itself")),
            Some("static_cast") if self.scanner.takes("<") => {
                self.pass_balanced("<", ">")?;
                self.factor(levels)
            }
            Some(word) => match self.indexed(word)? {
                Some(Value::Number(number)) => Ok(number),
                _ => Err(self.scanner.unexpected_at(place, "a number or a variable that holds a number")),
            },
            None => Err(self.scanner.unexpected(EXPECTED)),
        }
    }

    /// Returns the value of a variable, or of an item of an array with the index after its name.
    fn indexed(&mut self, word: &str) -> Read<Option<Value>> {
        let word = &*self.member(word);
        let Some(Value::List(items)) = self.value_of(word).cloned() else {
            return Ok(self.value_of(word).cloned());
        };
        let Some(close) = self.opens_index() else { return Ok(None) };
        let index = self.expression(MOST_LEVELS)?.checked_sub(self.first_of(word));
        self.scanner.expect(close)?;
        Ok(index.and_then(|index| items.get(usize::try_from(index).ok()?).cloned()))
    }

    /// Reads the words of a type, if words come next.
    fn type_name(&mut self) -> Option<String> {
        let words: Vec<_> = std::iter::from_fn(|| self.scanner.word()).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }
}

/// Returns `true` if a word begins an expression of a number, as a function.
fn is_function(word: &str) -> bool {
    ["sizeof", "offsetof", "static_cast"].contains(&word) || is_sum(word).is_some() || is_conversion(word)
}

/// Returns `true` for the function of MPI that adds to an address, and `false` for the one that subtracts.
fn is_sum(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "mpi_aint_add" => Some(true),
        "mpi_aint_diff" => Some(false),
        _ => None,
    }
}

/// Returns `true` for the function of Fortran that converts to an integer.
fn is_conversion(word: &str) -> bool {
    word.eq_ignore_ascii_case("int")
}
