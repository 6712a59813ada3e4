//! Statements of Fortran, line by line. Names are read without regard to case.

use super::{
    Changes, Declared, MOST_ITEMS, MOST_LEVELS, Reader, Refused, arguments::Value, c::holds, is_of_mpi,
};
use crate::input::scanner::Read;

impl Reader<'_> {
    /// Reads a line, with those that continue it.
    pub(super) fn line_of_fortran(&mut self) -> Result<(), Refused> {
        let (place, end) = (self.scanner.place(), self.scanner.end_of_line());
        if self.is_comment_of_fixed_form(place, end) {
            self.scanner.go_on(end);
            return Ok(());
        }
        match self.within(end, Self::statement_of_fortran) {
            Ok(Passed::Line) => self.scanner.go_on(end),
            Ok(Passed::Condition) => {}
            Ok(Passed::Block(why)) => {
                let last = self.end_of_construct(end, false);
                self.pass_unread(place, last, Changes::Statements, why)?;
                self.scanner.go_on(last);
            }
            Ok(Passed::Untaken { until_else }) => {
                let last = self.end_of_construct(end, until_else);
                self.scanner.go_on(last);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Returns `true` if a line has a `C` in its first column, and does not assign to a variable of this
    /// name.
    fn is_comment_of_fixed_form(&self, place: usize, end: usize) -> bool {
        let is_first = place == 0 || self.scanner.between(place - 1, place) == "\n";
        let line = self.scanner.between(place, end);
        let rest = line.strip_prefix(['C', 'c']).filter(|rest| rest.starts_with(char::is_whitespace));
        is_first && rest.is_some_and(|rest| !rest.trim_start().starts_with('='))
    }

    /// Reads up to a place as if the text ended there. If that is an error, the rest of the text is still
    /// there.
    pub(super) fn within<T>(&mut self, end: usize, read: impl FnOnce(&mut Self) -> T) -> T {
        let inside = self.scanner.up_to(end);
        let mut whole = std::mem::replace(&mut self.scanner, inside);
        let read = read(self);
        whole.go_on(self.scanner.place());
        self.scanner = whole;
        read
    }

    fn statement_of_fortran(&mut self) -> Result<Passed, Refused> {
        let place = self.scanner.place();
        let Some(word) = self.scanner.word() else { return Ok(Passed::Line) };
        match word.to_ascii_lowercase().as_str() {
            "call" => match self.scanner.word() {
                Some(call) if self.scanner.sees("(") && is_of_mpi(call) => {
                    self.call(call, None)?;
                    Ok(Passed::Line)
                }
                _ => self.pass_line(place, "the call is a part of another one"),
            },
            "if" => self.condition_of_fortran(place),
            "do" | "select" | "where" | "forall" if !self.is_assignment() => {
                let line = self.scanner.between(place, self.scanner.end_of_line()).to_ascii_lowercase();
                match bracket(&line) {
                    Some(Bracket::Opens) => Ok(Passed::Block("the calls here stand in a loop")),
                    _ => self.pass_line(place, "the call stands in a loop"),
                }
            }
            // The condition before it holds.
            "else" | "elseif" if !self.is_assignment() => Ok(Passed::Untaken { until_else: false }),
            "parameter" if self.scanner.takes("(") => {
                self.entities(None)?;
                Ok(Passed::Line)
            }
            "integer" | "type" | "real" | "logical" | "character" | "double" | "complex"
                if !self.is_assignment() =>
            {
                self.declaration()
            }
            _ if is_of_mpi(word) && self.scanner.sees("(") => {
                // A call, without `call`.
                self.call(word, None)?;
                Ok(Passed::Line)
            }
            _ => {
                self.scanner.go_back(place);
                self.assignment(place)
            }
        }
    }

    fn is_assignment(&self) -> bool {
        self.scanner.sees("=") && !self.scanner.sees("==")
    }

    /// Passes the rest of a line that is not read.
    fn pass_line(&mut self, place: usize, why: &str) -> Result<Passed, Refused> {
        let end = self.scanner.end_of_line();
        self.pass_unread(place, end, Changes::Statements, why)?;
        Ok(Passed::Line)
    }

    /// Reads the condition of `if`. A statement behind it is passed if the condition does not hold.
    fn condition_of_fortran(&mut self, place: usize) -> Result<Passed, Refused> {
        if !self.scanner.takes("(") {
            return self.pass_line(place, "the call is a part of another one");
        }
        let begin = self.scanner.place();
        self.pass_balanced("(", ")")?;
        let body = self.scanner.place();
        let known = holds(self.scanner.between(begin, body).trim_end().trim_end_matches(')'));
        match (self.scanner.takes_word("then"), known) {
            (_, Some(true)) => Ok(Passed::Condition),
            (false, Some(false)) => Ok(Passed::Line),
            (true, Some(false)) => Ok(Passed::Untaken { until_else: true }),
            (true, None) => Ok(Passed::Block("the calls here depend on a condition")),
            (false, None) => self.pass_line(body, "the call depends on a condition"),
        }
    }

    /// Returns the place after the construct whose first line ends at `end`, or after its `else`.
    fn end_of_construct(&self, end: usize, until_else: bool) -> usize {
        let (mut depth, mut rest) = (1usize, self.scanner.up_to(usize::MAX));
        rest.go_on(end);
        while depth > 0 && !rest.is_at_end() {
            let (line, end) = (rest.place(), rest.end_of_line());
            let text = rest.between(line, end).to_ascii_lowercase();
            depth = match bracket(&text) {
                Some(Bracket::Opens) => depth + 1,
                Some(Bracket::Ends) => depth - 1,
                Some(Bracket::Else) if depth == 1 && until_else => 0,
                Some(Bracket::Else) | None => depth,
            };
            rest.go_on(end);
        }
        rest.place()
    }

    /// Reads a declaration: the bounds of arrays, and values.
    fn declaration(&mut self) -> Result<Passed, Refused> {
        let mut dimension = None;
        while !self.scanner.takes("::") {
            if self.scanner.is_at_end() {
                return Ok(Passed::Line);
            }
            if self.scanner.takes_word("dimension") && self.scanner.takes("(") {
                dimension = self.bounds()?;
            } else if self.scanner.takes("(") {
                self.pass_balanced("(", ")")?;
            } else {
                self.scanner.skip_sign();
            }
        }
        self.entities(dimension)?;
        Ok(Passed::Line)
    }

    /// Reads the entities of a declaration: `n = 4`, `lengths(2) = [1, 3]`, `t(0:1)`.
    fn entities(&mut self, dimension: Option<Declared>) -> Result<(), Refused> {
        while let Some(name) = self.scanner.word() {
            let own = if self.scanner.sees("(") && !self.scanner.sees("(/") {
                self.scanner.takes("(");
                self.bounds()?
            } else {
                dimension
            };
            let key = self.own(name);
            // A name may be another variable in another procedure.
            self.values.remove(&key);
            self.arrays.remove(&key);
            self.arrays.extend(own.map(|declared| (key, declared)));
            if self.scanner.takes("=>") {
                self.scanner.word();
                self.scanner.takes("()");
            } else if self.scanner.takes("=") {
                match self.value() {
                    Ok(value) => self.store(name, value),
                    Err(_) => return Ok(()),
                }
            }
            if !self.scanner.takes(",") {
                break;
            }
        }
        Ok(())
    }

    /// Reads the bounds of an array after their opening bracket. Bounds that are not known, and those of
    /// several dimensions, are `None`.
    fn bounds(&mut self) -> Read<Option<Declared>> {
        let place = self.scanner.place();
        let mut read = || -> Read<Declared> {
            let first = self.expression(MOST_LEVELS)?;
            let declared = if self.scanner.takes(":") {
                let length =
                    self.expression(MOST_LEVELS)?.checked_sub(first).and_then(|last| last.checked_add(1));
                Declared { first, length: length.and_then(|length| usize::try_from(length).ok()) }
            } else {
                Declared { first: 1, length: usize::try_from(first).ok() }
            };
            self.scanner.expect(")")?;
            Ok(declared)
        };
        if let Ok(declared) = read() {
            return Ok(Some(declared));
        }
        self.scanner.go_back(place);
        self.pass_balanced("(", ")")?;
        Ok(None)
    }

    /// Stores a value. One number for a whole array is that of each item.
    fn store(&mut self, name: &str, value: Value) {
        let length = self.arrays.get(&self.own(name)).and_then(|declared| declared.length);
        let most = match value {
            Value::Number(_) | Value::Name(_) => MOST_ITEMS,
            // Each item has a tree of its own.
            Value::Datatype(_) => 1 << 10,
            Value::List(_) => 0,
        };
        let value = match length {
            Some(length) if length <= most => Value::List(vec![value; length]),
            _ => value,
        };
        self.set(name, value);
    }

    /// Reads an assignment. Other statements are passed.
    fn assignment(&mut self, place: usize) -> Result<Passed, Refused> {
        if let Ok(true) = self.assigned() {
            Ok(Passed::Line)
        } else {
            self.scanner.go_back(place);
            self.pass_line(place, "the call is a part of another one")
        }
    }

    /// Reads an assignment: `n = 2`, `at(1) = 8`, `at(1:2) = [0, 8]`, `at = 0`. Returns `false` for other
    /// statements.
    fn assigned(&mut self) -> Read<bool> {
        let Some(name) = self.scanner.word() else { return Ok(false) };
        let name = &*self.member(name);
        let place = self.scanner.place();
        let mut first = None;
        if self.scanner.sees("(") && !self.scanner.sees("(/") {
            self.scanner.takes("(");
            let is_open = self.scanner.sees(":");
            first = Some(if is_open { self.first_of(name) } else { self.expression(MOST_LEVELS)? });
            if self.scanner.takes(":") && !self.scanner.sees(")") {
                self.expression(MOST_LEVELS)?;
            }
            self.scanner.expect(")")?;
        }
        if self.scanner.sees("==") || !self.scanner.takes("=") {
            return Ok(false);
        }
        let value = self.value()?;
        self.scanner.takes(";");
        if !self.scanner.is_at_end() {
            return Ok(false);
        }
        match (first, value) {
            (None, value) => self.store(name, value),
            (Some(first), Value::List(values)) => {
                let value = self.with_items(place, name, first, values)?;
                self.set(name, value);
            }
            (Some(first), value) => {
                let value = self.with_items(place, name, first, vec![value])?;
                self.set(name, value);
            }
        }
        Ok(true)
    }
}

/// The part of a program that a reader has passed, or is to pass.
enum Passed {
    Line,
    /// A condition that holds. A statement may follow in the line.
    Condition,
    /// A construct that is not read, with the reason.
    Block(&'static str),
    /// A construct whose condition does not hold. What follows its `else` may be read.
    Untaken {
        until_else: bool,
    },
}

/// The role of a line in a construct of several lines.
enum Bracket {
    Opens,
    Else,
    Ends,
}

/// Returns the role of a line, in lower case.
fn bracket(line: &str) -> Option<Bracket> {
    let code = line.split('!').next().unwrap_or("").trim().trim_end_matches(';').trim_end();
    // A construct may have a name.
    let own =
        code.split_once(':').filter(|(name, _)| name.trim().chars().all(|c| c.is_alphanumeric() || c == '_'));
    let code = own.map_or(code, |(_, code)| code.trim());
    let word = code.find(|c: char| !c.is_alphanumeric() && c != '_').map_or(code, |end| &code[..end]);
    match word {
        "end" | "enddo" | "endif" | "endselect" | "endwhere" | "endforall" | "endblock" | "endassociate" => {
            Some(Bracket::Ends)
        }
        "else" if code == "else" => Some(Bracket::Else),
        "do" | "select" | "block" | "associate" => Some(Bracket::Opens),
        "if" if code.ends_with("then") => Some(Bracket::Opens),
        "where" | "forall" if code.ends_with(')') => Some(Bracket::Opens),
        _ => None,
    }
}
