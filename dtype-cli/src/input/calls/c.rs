//! Statements of C and C++.

use dtype_core::Datatype;

use super::{
    Changes, MOST_LEVELS, Reader, Refused, arguments::Value, is_of_mpi, is_of_types, makes_datatype,
    predefined,
};
use crate::input::scanner::{Read, Scanner};

impl Reader<'_> {
    pub(super) fn statement(&mut self) -> Result<(), Refused> {
        const EXPECTED: &str = "a call such as MPI_Type_vector, or a variable with its value";
        if self.scanner.takes(";") {
            return Ok(());
        }
        if self.scanner.takes("#") {
            self.directive();
            return Ok(());
        }
        // Blocks have no effect on what is read.
        if self.scanner.takes("{") || self.scanner.takes("}") {
            return Ok(());
        }
        let is_pointed = self.scanner.takes("*");
        let place = self.scanner.place();
        let Some(word) = self.scanner.word() else {
            if is_pointed {
                return Ok(self.pass_expression(place)?);
            }
            return Err(self.scanner.unexpected(EXPECTED).into());
        };
        if let Some(base) = predefined(word)
            && self.scanner.takes("(predefined, nothing to build)")
        {
            self.committed = Some(Datatype::base(base));
            return Ok(());
        }
        match word {
            "if" => self.condition(),
            // The condition before it holds.
            "else" => Ok(self.pass_statement()?),
            "for" | "while" | "switch" | "do" => {
                self.scanner.go_back(place);
                self.pass_statement()?;
                let end = self.scanner.place();
                Ok(self.pass_unread(place, end, Changes::Statements, "the calls here stand in a loop")?)
            }
            "return" => {
                let begin = self.scanner.place();
                match self.inner_call()? {
                    Some(_) => Ok(self.pass_to_semicolon()?),
                    None => Ok(self.pass_expression(begin)?),
                }
            }
            "goto" | "break" | "continue" | "typedef" | "using" => Ok(self.pass_to_semicolon()?),
            _ if self.scanner.sees("(") && !self.scanner.sees("(/") => self.call_or_macro(word),
            _ if word.eq_ignore_ascii_case("call") => Ok(()),
            _ if ["++", "--", "+=", "-=", "*="].iter().any(|sign| self.scanner.sees(sign)) => {
                Ok(self.pass_expression(place)?)
            }
            _ => {
                self.scanner.go_back(place);
                self.variables()
            }
        }
    }

    /// Reads a call, or the call within the brackets of a macro: `CHECK(MPI_Type_commit(&t));`.
    fn call_or_macro(&mut self, word: &str) -> Result<(), Refused> {
        if is_of_types(word) || makes_datatype(self.language, &format!("MPI_Type_{word}")) {
            return self.call(word, None);
        }
        let bracket = self.scanner.place();
        self.scanner.expect("(")?;
        let begin = self.scanner.place();
        if let Some(open) = self.inner_call()? {
            return Ok(self.pass_brackets(open + 1)?);
        }
        if is_of_mpi(word) {
            self.scanner.go_back(bracket);
            return self.call(word, None);
        }
        self.pass_balanced("(", ")")?;
        Ok(self.pass_arguments(word, begin)?)
    }

    /// Reads a call that comes next, perhaps within brackets and as the value of an assignment. Returns the
    /// number of brackets before it, or `None` if no call comes next.
    fn inner_call(&mut self) -> Result<Option<usize>, Refused> {
        let (begin, mut open) = (self.scanner.place(), 0);
        loop {
            let place = self.scanner.place();
            if self.scanner.takes("(") {
                open += 1;
            } else if self.scanner.word().is_none() || self.scanner.sees("==") || !self.scanner.takes("=") {
                self.scanner.go_back(place);
                break;
            }
        }
        let call = self.scanner.word().filter(|call| is_of_types(call) && self.scanner.sees("("));
        let Some(call) = call else {
            self.scanner.go_back(begin);
            return Ok(None);
        };
        self.call(call, None)?;
        Ok(Some(open))
    }

    /// Passes a text to the end of `open` brackets.
    fn pass_brackets(&mut self, open: usize) -> Read<()> {
        (0..open).try_for_each(|_| self.pass_balanced("(", ")"))
    }

    /// Reads the condition of `if`, and passes the statement after it if the condition does not hold, or is
    /// not known. Calls of MPI succeed.
    fn condition(&mut self) -> Result<(), Refused> {
        self.scanner.expect("(")?;
        let begin = self.scanner.place();
        let open = self.inner_call()?;
        self.pass_brackets(open.unwrap_or(0) + 1)?;
        let body = self.scanner.place();
        if open.is_none() {
            self.pass_unread(begin, body, Changes::Statements, "the call is a part of a condition")?;
        }
        let condition = self.scanner.between(begin, body).trim_end();
        let known = holds(condition.strip_suffix(')').unwrap_or(condition));
        if known == Some(true) {
            return Ok(());
        }
        self.pass_statement()?;
        let has_else = self.scanner.sees_word("else");
        if known == Some(false) {
            if has_else {
                self.scanner.word();
            }
            return Ok(());
        }
        if has_else {
            self.scanner.word();
            self.pass_statement()?;
        }
        let end = self.scanner.place();
        Ok(self.pass_unread(body, end, Changes::Statements, "the calls here depend on a condition")?)
    }

    /// Passes a statement, or a block of statements.
    fn pass_statement(&mut self) -> Read<()> {
        if self.scanner.takes("{") {
            return self.pass_balanced("{", "}");
        }
        let place = self.scanner.place();
        match self.scanner.word() {
            Some(word @ ("if" | "for" | "while" | "switch")) => {
                self.scanner.expect("(")?;
                self.pass_balanced("(", ")")?;
                self.pass_statement()?;
                if word == "if" && self.scanner.takes_word("else") {
                    self.pass_statement()?;
                }
                Ok(())
            }
            Some("do") => {
                self.pass_statement()?;
                self.pass_to_semicolon()
            }
            _ => {
                self.scanner.go_back(place);
                self.pass_to_semicolon()
            }
        }
    }

    /// Passes the rest of a statement, with its semicolon.
    fn pass_to_semicolon(&mut self) -> Read<()> {
        while !self.scanner.takes(";") {
            let open =
                [("(", ")"), ("{", "}"), ("[", "]")].into_iter().find(|(open, _)| self.scanner.takes(open));
            if let Some((open, close)) = open {
                self.pass_balanced(open, close)?;
            } else if self.scanner.is_at_end() {
                return Err(self.scanner.unexpected("`;`"));
            } else if self.scanner.quoted().is_none() {
                self.scanner.skip_sign();
            }
        }
        Ok(())
    }

    /// Passes an expression that is not read, with its semicolon.
    fn pass_expression(&mut self, begin: usize) -> Read<()> {
        self.pass_to_semicolon()?;
        let end = self.scanner.place();
        self.pass_unread(begin, end, Changes::Statements, "the call is a part of another one")
    }

    /// Reads a line of the preprocessor, with those that continue it. Only the definition of a name as a
    /// number has an effect.
    fn directive(&mut self) {
        let mut line = self.scanner.until(&['\n']);
        let definition = line;
        while line.ends_with('\\') && !self.scanner.is_at_end() {
            line = self.scanner.until(&['\n']);
        }
        let Some(definition) = definition.strip_prefix("define") else { return };
        let Some((name, value)) = definition.trim_start().split_once(char::is_whitespace) else { return };
        let mut reader = Reader::new(Scanner::new(value));
        reader.values = std::mem::take(&mut self.values);
        let value = reader.expression(MOST_LEVELS).ok().filter(|_| reader.scanner.is_at_end());
        self.values = reader.values;
        if let Some(value) = value {
            self.values.insert(name.to_owned(), Value::Number(value));
        }
    }

    /// Reads variables, with or without their type in front, and with or without values.
    fn variables(&mut self) -> Result<(), Refused> {
        let begin = self.scanner.place();
        let (mut words, mut name) = (0, None);
        while let Some(word) = self.scanner.word() {
            (words, name) = (words + 1, Some(word));
            if matches!(word, "struct" | "class" | "union" | "enum") && self.definition(word)? {
                return Ok(());
            }
            let is_scope = matches!(word, "extern" | "namespace");
            if is_scope && (self.scanner.quoted().is_some() || self.scanner.sees("{")) {
                return Ok(());
            }
            if !self.scanner.sees("<<") && self.scanner.takes("<") {
                self.pass_balanced("<", ">")?;
            }
            if !self.scanner.takes("::") {
                self.scanner.takes("*");
                self.scanner.takes("&");
            }
        }
        // The head of a function.
        if words > 1 && self.scanner.takes("(") {
            return Ok(self.pass_balanced("(", ")")?);
        }
        if words > 0 && (self.scanner.sees("<<") || self.scanner.sees(">>")) {
            return Ok(self.pass_expression(begin)?);
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
            let own = self.member(own);
            // The length of a declared array, or the index of the item that is assigned.
            let mut number = None;
            if self.scanner.takes("[") && !self.scanner.takes("]") {
                number = Some(self.expression(MOST_LEVELS)?);
                self.scanner.expect("]")?;
                while self.scanner.takes("[") {
                    self.pass_balanced("[", "]")?;
                }
            }
            if [".", "->"].iter().any(|sign| self.scanner.sees(sign)) {
                return Ok(self.pass_expression(begin)?);
            }
            let is_list = words > 1 && self.scanner.sees("{");
            if is_list || self.scanner.takes("=") {
                let is_declared = words > 1;
                if !self.initializer(&own, number, is_declared)? {
                    return Ok(());
                }
            }
            if !self.scanner.takes(",") {
                return Ok(());
            }
            self.scanner.takes("*");
            name = self.scanner.word();
        }
    }

    /// Passes the definition of a type after its first word, if one follows. The names of an enum are
    /// numbers.
    fn definition(&mut self, word: &str) -> Read<bool> {
        let place = self.scanner.place();
        self.scanner.takes_word("class");
        self.scanner.word();
        if !self.scanner.sees("{") && !self.scanner.sees(":") || self.scanner.sees("::") {
            self.scanner.go_back(place);
            return Ok(false);
        }
        if word == "enum" && self.scanner.takes("{") {
            let mut next = Some(0);
            while let Some(name) = self.scanner.word() {
                if self.scanner.takes("=") {
                    next = self.expression(MOST_LEVELS).ok();
                }
                if let Some(number) = next {
                    self.set(name, Value::Number(number));
                    next = number.checked_add(1);
                }
                if !self.scanner.takes(",") {
                    break;
                }
            }
            self.pass_balanced("{", "}")?;
        }
        self.pass_to_semicolon()?;
        Ok(true)
    }

    /// Reads the value of a variable. `number` is the length of a declared array, or the index of an assigned
    /// item. Returns `false` if the rest of the statement was passed, because the value is one that is not
    /// read.
    fn initializer(&mut self, own: &str, number: Option<i64>, is_declared: bool) -> Result<bool, Refused> {
        let place = self.scanner.place();
        if let Some(word) = self.scanner.word()
            && self.scanner.sees("(")
            && is_of_types(word)
        {
            self.call(word, Some(own))?;
            return Ok(true);
        }
        self.scanner.go_back(place);
        let value = self.value();
        let is_more = ["(", "?", ".", "->", "=", "<", ">", "|", "&", "^", "!", "["];
        let is_read = value.is_ok() && !is_more.iter().any(|sign| self.scanner.sees(sign));
        if !is_read {
            self.scanner.go_back(place);
            if self.pass_to_semicolon().is_err() {
                self.scanner.go_back(place);
                // Without a semicolon, this is no statement of a program.
                return Err(self.value().err().unwrap_or_else(|| self.scanner.unexpected("`;`")).into());
            }
            let end = self.scanner.place();
            self.values.remove(own);
            self.pass_unread(place, end, Changes::Arguments, "the call is a part of another one")?;
            return Ok(false);
        }
        let value = value?;
        let value = match number {
            Some(length) if is_declared => self.filled(place, value, usize::try_from(length).unwrap_or(0))?,
            Some(item) => self.with_items(place, own, item, vec![value])?,
            None => value,
        };
        self.set(own, value);
        Ok(true)
    }
}

/// Returns `true` if a condition holds where all calls of MPI succeed and all datatypes are made, `false`
/// if it does not hold, and `None` if that is not known.
pub(super) fn holds(condition: &str) -> Option<bool> {
    let text = condition.to_ascii_lowercase();
    let text = text.replace(".and.", "&&").replace(".eq.", "==");
    let text = text.replace(".ne.", "!=").replace("/=", "!=");
    if text.contains("||") || text.contains(".or.") || text.contains(".not.") {
        return None;
    }
    let mut all = Some(true);
    for part in text.split("&&") {
        let part = part.trim().trim_end_matches(')');
        let is_equal = part.contains("==");
        let is_of = |constant: &str| part.ends_with(constant) && (is_equal || part.contains("!="));
        match (is_of("mpi_success"), is_of("mpi_datatype_null")) {
            (true, _) if !is_equal => return Some(false),
            (_, true) if is_equal => return Some(false),
            (true, _) | (_, true) => {}
            (false, false) => all = None,
        }
    }
    all
}
