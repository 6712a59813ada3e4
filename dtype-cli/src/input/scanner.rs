//! A scanner that reads words, numbers and signs such as `(`, and knows its position. The readers of the
//! notation, of MPI calls and of numpy dtypes use the scanner.

use std::fmt;

/// A text, and the position up to which it has been read.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    comments: Comments,
}

/// The language of a text, which determines its comments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comments {
    /// `// …` and `/* … */`.
    C,
    /// `! …`. A `&` at the end of a line joins it with the next one.
    Fortran,
    /// `# …`.
    Python,
}

/// An error in a text, with its position.
#[derive(Debug)]
pub(super) struct Wrong {
    line: usize,
    column: usize,
    message: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, message } = self;
        write!(f, "line {line}, column {column}: {message}")
    }
}

impl std::error::Error for Wrong {}

pub(super) type Read<T> = Result<T, Wrong>;

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self::in_language(text, Comments::C)
    }

    pub(super) fn in_language(text: &'a str, comments: Comments) -> Self {
        let mut scanner = Self { text, at: 0, comments };
        scanner.skip();
        scanner
    }

    pub(super) fn language(&self) -> Comments {
        self.comments
    }

    /// Returns the text between two places.
    pub(super) fn between(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or("")
    }

    /// Returns a scanner of the same text at the same place that ends at `end`. Places are the same in both.
    pub(super) fn up_to(&self, end: usize) -> Self {
        Self { text: self.text.get(..end).unwrap_or(self.text), at: self.at, comments: self.comments }
    }

    /// Goes on at a place, past the blanks and comments there.
    pub(super) fn go_on(&mut self, place: usize) {
        self.at = place;
        self.skip();
    }

    /// Returns the place after the current line, with the lines that continue it: where a bracket is open, or
    /// in Fortran after `&`. A `;` of Fortran ends a line, too.
    pub(super) fn end_of_line(&self) -> usize {
        let (mut open, mut quote, mut is_comment, mut last) = (0usize, None, false, ' ');
        let mut signs = self.rest().char_indices();
        while let Some((at, sign)) = signs.next() {
            if sign == '\n' {
                let is_continued = match self.comments {
                    // In fixed form, the next line has a sign in column 6.
                    Comments::Fortran => last == '&' || self.rest()[at + 1..].starts_with("     &"),
                    Comments::C | Comments::Python => open > 0 || last == '\\' || quote == Some("\"\"\""),
                };
                if !is_continued {
                    return self.at + at + 1;
                }
                if last != '&' && self.comments == Comments::Fortran {
                    quote = None;
                }
                is_comment = false;
                continue;
            }
            if is_comment {
                continue;
            }
            let rest = &self.rest()[at..];
            let marks = ["\"\"\"", "\"", "'"];
            match quote {
                Some(mark) if rest.starts_with(mark) => {
                    quote = None;
                    (1..mark.len()).for_each(|_| _ = signs.next());
                }
                Some(_) => {}
                None => match sign {
                    ';' if self.comments == Comments::Fortran => return self.at + at + 1,
                    '#' if self.comments == Comments::Python => is_comment = true,
                    '!' if self.comments == Comments::Fortran => is_comment = true,
                    '(' | '[' | '{' => open += 1,
                    ')' | ']' | '}' => open = open.saturating_sub(1),
                    _ => {
                        quote = marks.into_iter().find(|mark| rest.starts_with(mark));
                        (1..quote.map_or(1, str::len)).for_each(|_| _ = signs.next());
                    }
                },
            }
            if !is_comment && !sign.is_whitespace() {
                last = sign;
            }
        }
        self.text.len()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Advances by `bytes` bytes, and past the blanks and comments after them.
    fn pass(&mut self, bytes: usize) {
        self.at += bytes;
        self.skip();
    }

    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            let behind = &rest[blank..];
            let to_end_of_line = || behind.find('\n').unwrap_or(behind.len());
            let comment = match self.comments {
                Comments::C if behind.starts_with("//") => to_end_of_line(),
                // `/*` without an end is not a comment.
                Comments::C if behind.starts_with("/*") => behind.find("*/").map_or(0, |end| end + 2),
                Comments::Fortran if behind.starts_with('!') => to_end_of_line(),
                Comments::Fortran if behind.starts_with('&') => 1,
                Comments::Python if behind.starts_with('#') => to_end_of_line(),
                _ => 0,
            };
            self.at += blank + comment;
            if comment == 0 {
                return;
            }
        }
    }

    /// Returns an error for unexpected text at the current position.
    pub(super) fn unexpected(&self, expected: impl fmt::Display) -> Wrong {
        self.unexpected_at(self.at, expected)
    }

    /// Like [`unexpected`](Self::unexpected), for the text at an earlier [`place`](Self::place).
    pub(super) fn unexpected_at(&self, place: usize, expected: impl fmt::Display) -> Wrong {
        const SHOWN: usize = 30;
        let found = self.text[place..].lines().next().unwrap_or("").trim_end();
        let shown: String = found.chars().take(SHOWN).collect();
        let more = if shown.len() < found.len() { "…" } else { "" };
        self.wrong_at(
            place,
            match found {
                "" => format!("expected {expected}, but the input ends here"),
                _ => format!("expected {expected}, found `{shown}{more}`"),
            },
        )
    }

    /// Returns an error at a [`place`](Self::place), with the reason as its message.
    pub(super) fn wrong_at(&self, place: usize, reason: impl fmt::Display) -> Wrong {
        let before = &self.text[..place];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        Wrong { line, column, message: reason.to_string() }
    }

    /// Returns the current position: the beginning of the next word or sign.
    pub(super) fn place(&self) -> usize {
        self.at
    }

    /// Goes back to a place.
    pub(super) fn go_back(&mut self, place: usize) {
        self.at = place;
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    pub(super) fn end(&self) -> Read<()> {
        if self.is_at_end() { Ok(()) } else { Err(self.unexpected("nothing more")) }
    }

    /// Returns `true` if `sign` comes next.
    pub(super) fn sees(&self, sign: &str) -> bool {
        self.rest().starts_with(sign)
    }

    /// Consumes `sign` if it comes next, and returns `true` in this case.
    pub(super) fn takes(&mut self, sign: &str) -> bool {
        let is_next = self.sees(sign);
        if is_next {
            self.pass(sign.len());
        }
        is_next
    }

    pub(super) fn expect(&mut self, sign: &str) -> Read<()> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected(format!("`{sign}`"))) }
    }

    /// Consumes the next word, if one comes next: letters, digits and underscores, not beginning with a
    /// digit.
    pub(super) fn word(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if length == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.pass(length);
        Some(&rest[..length])
    }

    /// Consumes `word` if it comes next, and returns `true` in this case. Case is ignored.
    pub(super) fn takes_word(&mut self, word: &str) -> bool {
        let place = self.at;
        let is_next = self.word().is_some_and(|found| found.eq_ignore_ascii_case(word));
        if !is_next {
            self.at = place;
        }
        is_next
    }

    /// Returns `true` if `word` comes next. Case is ignored.
    pub(super) fn sees_word(&mut self, word: &str) -> bool {
        let place = self.at;
        let is_next = self.takes_word(word);
        self.at = place;
        is_next
    }

    /// Returns `true` if a name of a type comes next: a letter, or a sign of a byte order.
    pub(super) fn sees_name(&self) -> bool {
        self.rest().starts_with(|c: char| c.is_ascii_alphabetic() || "<>=|?".contains(c))
    }

    /// Consumes the next number. `expected` describes it in an error.
    pub(super) fn number<T: std::str::FromStr>(&mut self, expected: &str) -> Read<T> {
        self.number_with(&[], expected)
    }

    /// Like [`number`](Self::number), but also consumes `letters` that follow and do not affect the value.
    pub(super) fn number_with<T: std::str::FromStr>(&mut self, letters: &[char], expected: &str) -> Read<T> {
        let rest = self.rest();
        let sign = usize::from(rest.starts_with(['-', '+']));
        let digits = rest[sign..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - sign);
        if let Some(number) = self.hexadecimal(letters) {
            return number.parse().map_err(|_| self.unexpected(expected));
        }
        if digits > 1 && rest[sign..].starts_with('0') {
            return Err(self.unexpected(format!("{expected} without a leading zero, which means octal in C")));
        }
        match rest[..sign + digits].parse() {
            Ok(number) if digits > 0 => {
                let behind = &rest[sign + digits..];
                let letters = behind.len() - behind.trim_start_matches(letters).len();
                self.pass(sign + digits + letters + self.kind(behind));
                Ok(number)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// Returns the length of a kind of Fortran after a number: `_MPI_ADDRESS_KIND`, `_8`.
    fn kind(&self, behind: &str) -> usize {
        if self.comments != Comments::Fortran || !behind.starts_with('_') {
            return 0;
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        behind.find(|c| !is_part(c)).unwrap_or(behind.len())
    }

    /// Consumes a number such as `0x10`, if one comes next, and returns its decimal digits. Only texts where
    /// `letters` may follow numbers have such numbers.
    fn hexadecimal(&mut self, letters: &[char]) -> Option<String> {
        if letters.is_empty() {
            return None;
        }
        let digits = self.rest().strip_prefix("0x").or_else(|| self.rest().strip_prefix("0X"))?;
        let length = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        let number = i64::from_str_radix(&digits[..length], 16).ok()?;
        let behind = digits[length..].trim_start_matches(letters).len();
        self.pass(2 + digits.len() - behind);
        Some(number.to_string())
    }

    pub(super) fn sees_number(&self) -> bool {
        let rest = self.rest();
        rest.strip_prefix(['-', '+']).unwrap_or(rest).starts_with(|c: char| c.is_ascii_digit())
    }

    /// Consumes one character, whatever it is.
    pub(super) fn skip_sign(&mut self) {
        self.pass(self.rest().chars().next().map_or(0, char::len_utf8));
    }

    /// Consumes the text up to one of these signs, or to the end.
    pub(super) fn until(&mut self, signs: &[char]) -> &'a str {
        let rest = self.rest();
        let length = rest.find(signs).unwrap_or(rest.len());
        self.pass(length);
        rest[..length].trim_end()
    }

    /// Consumes a text in quotation marks of either kind, and returns the text between them.
    pub(super) fn quoted(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let mark = rest.chars().next().filter(|mark| matches!(mark, '"' | '\''))?;
        let mut is_escaped = false;
        let length = rest[1..].find(|sign| {
            let is_end = sign == mark && !is_escaped;
            is_escaped = sign == '\\' && !is_escaped;
            is_end
        })?;
        self.pass(length + 2);
        Some(&rest[1..=length])
    }

    /// Consumes the opening bracket of a list, if one comes next, and returns the closing one.
    pub(super) fn opens(&mut self) -> Option<&'static str> {
        let all = [("[", "]"), ("{", "}"), ("⟨", "⟩"), ("<", ">"), ("\\langle", "\\rangle"), ("(/", "/)")];
        let (open, close) = all.into_iter().find(|(open, _)| self.sees(open))?;
        self.pass(open.len());
        Some(close)
    }

    /// Reads the items of a list after its opening bracket, to its end. A comma may follow the last item.
    pub(super) fn items<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Read<T>,
    ) -> Read<Vec<T>> {
        let mut items = Vec::new();
        while !self.takes(close) {
            items.push(item(self)?);
            self.behind_item(close)?;
        }
        Ok(items)
    }

    /// Consumes the comma after an item. Before the closing bracket, the comma is optional.
    pub(super) fn behind_item(&mut self, close: &str) -> Read<()> {
        let is_there = self.takes(",") || self.sees(close);
        is_there.then_some(()).ok_or_else(|| self.unexpected(format!("`,` or `{close}`")))
    }

    /// Reads a list with its brackets.
    pub(super) fn list<T>(&mut self, expected: &str, item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        match self.opens() {
            Some(close) => self.items(close, item),
            None => Err(self.unexpected(expected)),
        }
    }
}
