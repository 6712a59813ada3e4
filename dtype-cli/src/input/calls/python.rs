//! Statements of Python with mpi4py, and of Julia with MPI.jl, line by line.
//!
//! `MPI.DOUBLE.Create_vector(3, 1, 16)` and `MPI.Types.create_vector(3, 1, 16, MPI.DOUBLE)` leave out the
//! counts of lists.

use anyhow::{anyhow, bail};
use dtype_core::{BaseType, ConstructorKind, Datatype};

use super::{
    Changes, MOST_ITEMS, MOST_LEVELS, Reader, Refused,
    arguments::{Value, constructor, kind_of},
    call::asked,
    makes_datatype,
};
use crate::input::scanner::Read;

/// A variable of an assignment, and its index if there is one.
type Target = (String, Option<i64>);

impl Reader<'_> {
    /// Reads a line, with those that continue it.
    pub(super) fn line_of_python(&mut self) -> Result<(), Refused> {
        let (place, end) = (self.scanner.place(), self.scanner.end_of_line());
        if self.scanner.sees("\"\"\"") {
            // A text about a function.
            self.scanner.go_on(end);
            return Ok(());
        }
        let word = self.scanner.word().unwrap_or("");
        self.scanner.go_back(place);
        if matches!(word, "if" | "elif" | "else" | "for" | "while") {
            let end = self.end_of_block(place, end);
            return Ok(self.pass_unread(
                place,
                end,
                Changes::Statements,
                "the calls here stand in a loop or condition",
            )?);
        }
        let read = self.within(end, |reader| {
            if word == "return" {
                reader.scanner.word();
            }
            reader.statement_of_python()?;
            while reader.scanner.takes(";") && !reader.scanner.is_at_end() {
                reader.statement_of_python()?;
            }
            Ok(())
        });
        let line = self.scanner.between(place, end);
        match read {
            Ok(()) => {}
            // Other lines do not matter, as long as they make no datatypes.
            Err(error)
                if line
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .any(|name| makes_datatype(self.language, name)) =>
            {
                return Err(error);
            }
            Err(_) => self.pass_unread(place, end, Changes::Statements, "")?,
        }
        self.scanner.go_on(end);
        Ok(())
    }

    /// Returns the end of the block after a line: that of the last line with more blanks before it, or in
    /// Julia the line `end`.
    fn end_of_block(&self, place: usize, end: usize) -> usize {
        let before = |at: usize| {
            let line = self.scanner.between(0, at).rsplit('\n').next().unwrap_or("");
            line.chars().count()
        };
        let (own, mut block) = (before(place), self.scanner.up_to(usize::MAX));
        block.go_on(end);
        while !block.is_at_end() {
            let at = block.place();
            if before(at) <= own {
                let is_end = block.takes_word("end");
                return if is_end { block.place() } else { at };
            }
            let next = block.end_of_line();
            block.go_on(next);
        }
        block.place()
    }

    fn statement_of_python(&mut self) -> Result<(), Refused> {
        let place = self.scanner.place();
        let targets = self.targets()?;
        let Some(targets) = targets else {
            self.scanner.go_back(place);
            // `made.append(…)`
            if let Some(name) = self.scanner.word()
                && matches!(self.value_of(name), Some(Value::List(_)))
                && self.scanner.takes(".append(")
            {
                let item = self.sum(MOST_LEVELS)?;
                self.scanner.expect(")")?;
                if let Some(Value::List(items)) = self.values.get_mut(name) {
                    items.push(item);
                }
                return Ok(self.ended()?);
            }
            self.scanner.go_back(place);
            self.sum(MOST_LEVELS)?;
            return Ok(self.ended()?);
        };
        let value = self.sum(MOST_LEVELS)?;
        let value = if self.scanner.sees(",") { Value::List(self.more(value)?) } else { value };
        self.ended()?;
        match (&targets[..], value) {
            ([(name, None)], value) => self.set(name, value),
            ([(name, Some(index))], value) => {
                let value = self.with_items(place, name, *index, vec![value])?;
                self.set(name, value);
            }
            (several, Value::List(values)) if several.len() == values.len() => {
                for ((name, _), value) in targets.iter().zip(values) {
                    self.set(name, value);
                }
            }
            _ => return Err(self.scanner.unexpected_at(place, "a value for each variable").into()),
        }
        Ok(())
    }

    /// Checks that a statement ends here.
    fn ended(&self) -> Read<()> {
        if self.scanner.sees(";") { Ok(()) } else { self.scanner.end() }
    }

    /// Reads the rest of a tuple without brackets.
    fn more(&mut self, first: Value) -> Result<Vec<Value>, Refused> {
        let mut values = vec![first];
        while self.scanner.takes(",") && !self.scanner.is_at_end() {
            values.push(self.sum(MOST_LEVELS)?);
        }
        Ok(values)
    }

    /// Reads the variables of an assignment, each with an index if there is one. Returns `None` for other
    /// statements.
    fn targets(&mut self) -> Read<Option<Vec<Target>>> {
        let mut targets = Vec::new();
        loop {
            let Some(name) = self.scanner.word() else { return Ok(None) };
            let mut name = name.to_owned();
            while self.scanner.takes(".") {
                let Some(attribute) = self.scanner.word() else { return Ok(None) };
                name = format!("{name}.{attribute}");
            }
            let mut index = None;
            if self.scanner.takes("[") {
                let Ok(number) = self.expression(MOST_LEVELS) else { return Ok(None) };
                index = Some(number);
                if !self.scanner.takes("]") {
                    return Ok(None);
                }
            }
            if self.scanner.takes(":") && self.sum(MOST_LEVELS).is_err() {
                return Ok(None);
            }
            targets.push((name, index));
            if self.scanner.takes(",") {
                continue;
            }
            let is_assigned = !self.scanner.sees("==") && self.scanner.takes("=");
            return Ok(is_assigned.then_some(targets));
        }
    }

    fn sum(&mut self, levels: usize) -> Result<Value, Refused> {
        let place = self.scanner.place();
        let Some(levels) = levels.checked_sub(1) else {
            return Err(self
                .scanner
                .unexpected("a value, because brackets are nested 256 levels deep")
                .into());
        };
        let mut sum = self.term(levels)?;
        loop {
            let sign = if self.scanner.takes("+") {
                "+"
            } else if self.scanner.takes("-") {
                "-"
            } else {
                return Ok(sum);
            };
            let next = self.term(levels)?;
            sum = self.combined(place, sign, &sum, &next)?;
        }
    }

    fn term(&mut self, levels: usize) -> Result<Value, Refused> {
        let place = self.scanner.place();
        let mut product = self.with_methods(levels)?;
        loop {
            let Some(sign) = ["*", "//", "%"].into_iter().find(|sign| self.scanner.takes(sign)) else {
                return Ok(product);
            };
            let next = self.with_methods(levels)?;
            product = self.combined(place, sign, &product, &next)?;
        }
    }

    fn combined(&self, place: usize, sign: &str, first: &Value, second: &Value) -> Result<Value, Refused> {
        let number = match (sign, first, second) {
            ("+", Value::Number(a), Value::Number(b)) => a.checked_add(*b),
            ("-", Value::Number(a), Value::Number(b)) => a.checked_sub(*b),
            ("*", Value::Number(a), Value::Number(b)) => a.checked_mul(*b),
            ("//", Value::Number(a), Value::Number(b)) => a.checked_div(*b),
            ("%", Value::Number(a), Value::Number(b)) => a.checked_rem(*b),
            ("+", Value::List(a), Value::List(b)) => return Ok(Value::List([&a[..], b].concat())),
            ("*", Value::List(items), Value::Number(copies))
            | ("*", Value::Number(copies), Value::List(items)) => {
                let copies = usize::try_from(*copies).unwrap_or(0);
                if items.len().saturating_mul(copies) <= MOST_ITEMS {
                    let copies = std::iter::repeat_n(items, copies);
                    return Ok(Value::List(copies.flatten().cloned().collect()));
                }
                None
            }
            _ => None,
        };
        let number =
            number.ok_or_else(|| self.scanner.unexpected_at(place, "numbers or lists within limits"))?;
        Ok(Value::Number(number))
    }

    /// Reads a value with the attributes, methods and indices after it.
    fn with_methods(&mut self, levels: usize) -> Result<Value, Refused> {
        let place = self.scanner.place();
        if self.scanner.takes("-") {
            // The least number is read whole: without its sign it is none.
            if self.scanner.takes(&i64::MIN.unsigned_abs().to_string()) {
                return Ok(Value::Number(i64::MIN));
            }
            let Some(levels) = levels.checked_sub(1) else {
                return Err(self
                    .scanner
                    .unexpected("a value, because signs are nested 256 levels deep")
                    .into());
            };
            let value = self.with_methods(levels)?;
            return self.combined(place, "-", &Value::Number(0), &value);
        }
        let mut value = self.primary(levels)?;
        loop {
            value = if self.scanner.takes(".") {
                let Some(name) = self.scanner.word() else {
                    return Err(self.scanner.unexpected("the name of a method").into());
                };
                self.scanner.takes("!");
                if self.scanner.takes("(") {
                    self.method(value, name, levels)?
                } else {
                    attribute(value, name)?
                }
            } else if let Value::Name(name) = &value
                && self.scanner.takes("(")
            {
                let name = name.clone();
                self.function(&name, levels)?
            } else if let Value::List(items) = &value
                && self.scanner.takes("[")
            {
                let index = self.expression(MOST_LEVELS)?;
                self.scanner.expect("]")?;
                let at = if index < 0 { index.saturating_add(items.len() as i64) } else { index };
                let item = usize::try_from(at).ok().and_then(|at| items.get(at).cloned());
                item.ok_or_else(|| self.scanner.unexpected_at(place, format!("an item {index}")))?
            } else if matches!(value, Value::Name(_)) && self.scanner.sees("[") {
                // Julia writes the type before a list.
                self.primary(levels)?
            } else {
                return Ok(value);
            }
        }
    }

    fn primary(&mut self, levels: usize) -> Result<Value, Refused> {
        if self.scanner.sees_number() {
            return Ok(Value::Number(self.scanner.number_with(&['_'], "a number")?));
        }
        if let Some(text) = self.scanner.quoted() {
            return Ok(Value::Name(text.to_owned()));
        }
        if self.scanner.takes("[") {
            return Ok(Value::List(self.values_to("]", levels)?));
        }
        if self.scanner.takes("(") {
            let first = if self.scanner.sees(")") { None } else { Some(self.sum(levels)?) };
            return match first {
                Some(value) if self.scanner.takes(")") => Ok(value),
                Some(value) => {
                    self.scanner.expect(",")?;
                    let mut all = vec![value];
                    all.extend(self.values_to(")", levels)?);
                    Ok(Value::List(all))
                }
                None => {
                    self.scanner.expect(")")?;
                    Ok(Value::List(Vec::new()))
                }
            };
        }
        let place = self.scanner.place();
        let Some(name) = self.scanner.word() else { return Err(self.scanner.unexpected("a value").into()) };
        // A list whose last item is taken.
        if matches!(self.value_of(name), Some(Value::List(_))) && self.scanner.takes(".pop()") {
            let last = match self.values.get_mut(name) {
                Some(Value::List(items)) => items.pop(),
                _ => None,
            };
            return Ok(last.ok_or_else(|| self.scanner.unexpected_at(place, "a list that is not empty"))?);
        }
        Ok(self.value_of(name).cloned().unwrap_or_else(|| Value::Name(name.to_owned())))
    }

    fn values_to(&mut self, close: &str, levels: usize) -> Result<Vec<Value>, Refused> {
        let mut values = Vec::new();
        while !self.scanner.takes(close) {
            values.push(self.sum(levels)?);
            self.scanner.behind_item(close)?;
        }
        Ok(values)
    }

    /// Reads the arguments of a method or a function, each with its keyword if there is one.
    fn keyword_arguments(&mut self, levels: usize) -> Result<Vec<(Option<String>, Value)>, Refused> {
        let mut given = Vec::new();
        while !self.scanner.takes(")") {
            let place = self.scanner.place();
            let keyword = self.scanner.word().filter(|_| !self.scanner.sees("==") && self.scanner.takes("="));
            if keyword.is_none() {
                self.scanner.go_back(place);
            }
            given.push((keyword.map(str::to_owned), self.sum(levels)?));
            // Julia has keywords after a semicolon.
            if !self.scanner.takes(";") {
                self.scanner.behind_item(")")?;
            }
        }
        Ok(given)
    }

    /// Reads a method after its opening bracket.
    fn method(&mut self, object: Value, name: &str, levels: usize) -> Result<Value, Refused> {
        let datatype = match object {
            Value::Datatype(datatype) => datatype,
            Value::Name(object) => return self.function(&format!("{object}.{name}"), levels),
            _ => return Err(anyhow!("`{name}` is not a method of a datatype").into()),
        };
        let given = self.keyword_arguments(levels)?;
        let numbers = |numbers: Vec<i64>| Value::List(numbers.into_iter().map(Value::Number).collect());
        Ok(match name {
            "Commit" => {
                self.committed = Some(datatype.clone());
                Value::Datatype(datatype)
            }
            "Free" => Value::Name("None".to_owned()),
            "Get_extent" => numbers(asked(&datatype, "get_extent")?),
            "Get_true_extent" => numbers(asked(&datatype, "get_true_extent")?),
            "Get_size" => Value::Number(asked(&datatype, "size")?[0]),
            _ => {
                let call = format!("{name}()");
                let Some(kind) = kind_of(name) else {
                    return Err(anyhow!("`{name}` makes no datatype").into());
                };
                self.constructed(&call, kind, Some(&datatype), given)?
            }
        })
    }

    /// Reads a function after its opening bracket: a constructor of MPI.jl, or one that makes a list or a
    /// number of its first argument.
    fn function(&mut self, name: &str, levels: usize) -> Result<Value, Refused> {
        let given = self.keyword_arguments(levels)?;
        let own = name.rsplit('.').next().unwrap_or(name);
        let first = given.first().map(|(_, value)| value.clone());
        if let Some(kind) = kind_of(own) {
            let has_oldtype = name.starts_with("MPI.Types") || kind == ConstructorKind::Struct;
            if !has_oldtype {
                return Err(anyhow!("`{name}` is not the method of a datatype").into());
            }
            return self.constructed(name, kind, None, given);
        }
        match (own, first) {
            ("commit", Some(Value::Datatype(datatype))) if name.starts_with("MPI.") => {
                self.committed = Some(datatype.clone());
                Ok(Value::Datatype(datatype))
            }
            ("extent", Some(Value::Datatype(datatype))) => {
                let [lower_bound, extent] = asked(&datatype, "get_extent")?[..] else {
                    return Err(anyhow!("{name}: no extent").into());
                };
                Ok(Value::List(vec![Value::Number(lower_bound), Value::Number(extent)]))
            }
            ("Datatype", Some(Value::Name(number))) => {
                let base = in_julia(&number).ok_or_else(|| anyhow!("{name}: `{number}` is no number"))?;
                Ok(Value::Datatype(Datatype::base(base)))
            }
            (
                "Datatype" | "array" | "asarray" | "tuple" | "list" | "int" | "Cint" | "collect",
                Some(value),
            ) => Ok(value),
            _ => Err(anyhow!("`{name}` is not known").into()),
        }
    }

    /// Returns the datatype of a constructor. `oldtype` is the object of a method.
    fn constructed(
        &mut self,
        call: &str,
        kind: ConstructorKind,
        oldtype: Option<&Datatype>,
        given: Vec<(Option<String>, Value)>,
    ) -> Result<Value, Refused> {
        let values = standard_order(call, kind, oldtype, given)?;
        let datatype = constructor(call, kind, values)?.datatype()?;
        self.made = Some(datatype.clone());
        Ok(Value::Datatype(datatype))
    }
}

/// Returns the arguments in the order of the standard, with the counts and the order that may be left out.
fn standard_order(
    call: &str,
    kind: ConstructorKind,
    oldtype: Option<&Datatype>,
    given: Vec<(Option<String>, Value)>,
) -> anyhow::Result<Vec<Value>> {
    let short = |name: &'static str| name.strip_prefix("array_of_").unwrap_or(name);
    let names = kind.arguments();
    let has_lists = names.iter().any(|name| name.starts_with("array_of_"));
    let is_left_out = |name: &str| {
        name == "ndims" || name == "count" && has_lists || name == "oldtype" && oldtype.is_some()
    };
    // The order comes last, and may be left out.
    let positions: Vec<_> =
        names.iter().map(|name| short(name)).filter(|name| !is_left_out(name) && *name != "order").collect();
    let mut found: Vec<(&str, Value)> = Vec::new();
    for (i, (keyword, value)) in given.into_iter().enumerate() {
        let name = match keyword.as_deref() {
            Some("rowmajor") => {
                let is_row_major = matches!(&value, Value::Name(name) if name == "true");
                let order = if is_row_major { "MPI_ORDER_C" } else { "MPI_ORDER_FORTRAN" };
                found.push(("order", Value::Name(order.to_owned())));
                continue;
            }
            Some("datatypes") => Some("types"),
            Some("offset") => Some("starts"),
            Some(keyword) => names.iter().map(|name| short(name)).find(|name| *name == keyword),
            None => positions.get(i).copied().or_else(|| (i == positions.len()).then_some("order")),
        };
        let Some(name) = name else {
            bail!("{call} takes the arguments {}", positions.join(", "));
        };
        found.push((name, value));
    }
    let list = |name: &str| match found.iter().find(|(found, _)| *found == name) {
        Some((_, Value::List(items))) => Some(items.len()),
        _ => None,
    };
    let count = ["displacements", "sizes", "gsizes"].into_iter().find_map(list).unwrap_or(0);
    let is_julia = oldtype.is_none();
    let mut values = Vec::new();
    for name in names {
        let name = short(name);
        let value = match found.iter().find(|(found, _)| *found == name) {
            Some((_, value)) => value.clone(),
            None if name == "oldtype" && !is_julia => {
                oldtype.cloned().map_or(Value::Number(0), Value::Datatype)
            }
            None if is_left_out(name) => Value::Number(i64::try_from(count)?),
            None if name == "order" => {
                Value::Name(if is_julia { "MPI_ORDER_FORTRAN" } else { "MPI_ORDER_C" }.to_owned())
            }
            None => bail!("{call} takes the arguments {}", positions.join(", ")),
        };
        values.push(value);
    }
    Ok(values)
}

/// Returns an attribute of a module or a datatype: `MPI.DOUBLE`, `row.extent`.
fn attribute(object: Value, name: &str) -> anyhow::Result<Value> {
    Ok(match object {
        Value::Name(module) if module == "MPI" => match base_type(name) {
            Some(base) => Value::Datatype(Datatype::base(base)),
            None if name.starts_with("ORDER_F") => Value::Name("MPI_ORDER_FORTRAN".to_owned()),
            None if name.starts_with("ORDER_") || name.starts_with("DISTRIBUTE_") => {
                Value::Name(format!("MPI_{name}"))
            }
            None => Value::Name(format!("MPI.{name}")),
        },
        Value::Name(outer) => Value::Name(format!("{outer}.{name}")),
        Value::Datatype(datatype) => {
            let query = match name {
                "extent" | "size" | "lb" | "ub" => name,
                _ => bail!("a datatype has no attribute `{name}` that is known"),
            };
            Value::Number(asked(&datatype, query)?[0])
        }
        _ => bail!("`{name}` is not an attribute of a datatype"),
    })
}

/// Returns the predefined datatype that mpi4py or MPI.jl calls so, after `MPI.`.
fn base_type(name: &str) -> Option<BaseType> {
    let name = match name {
        "TWOINT" => "2INT",
        "BOOL" | "CXX_BOOL" => "C_BOOL",
        "LONG_LONG" => "LONG_LONG_INT",
        "SINT8_T" => "INT8_T",
        "SINT16_T" => "INT16_T",
        "SINT32_T" => "INT32_T",
        "SINT64_T" => "INT64_T",
        "F_INT" => "INTEGER",
        "F_REAL" | "F_FLOAT" => "REAL",
        "F_DOUBLE" => "DOUBLE_PRECISION",
        "F_COMPLEX" | "F_FLOAT_COMPLEX" => "COMPLEX",
        "F_DOUBLE_COMPLEX" => "DOUBLE_COMPLEX",
        "F_BOOL" => "LOGICAL",
        name => name,
    };
    format!("MPI_{name}").parse().ok()
}

/// Returns the predefined datatype of a type of Julia.
fn in_julia(name: &str) -> Option<BaseType> {
    Some(match name {
        "Float32" | "Cfloat" => BaseType::F32,
        "Float64" | "Cdouble" => BaseType::F64,
        "Int8" => BaseType::I8,
        "Int16" => BaseType::I16,
        "Int32" => BaseType::I32,
        "Int64" | "Int" => BaseType::I64,
        "UInt8" => BaseType::U8,
        "UInt16" => BaseType::U16,
        "UInt32" => BaseType::U32,
        "UInt64" | "UInt" => BaseType::U64,
        "Cint" => BaseType::Int,
        "Clong" => BaseType::Long,
        "Bool" => BaseType::Bool,
        "ComplexF32" => BaseType::C32,
        "ComplexF64" => BaseType::C64,
        _ => return None,
    })
}
