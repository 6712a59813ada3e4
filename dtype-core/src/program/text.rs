//! Programs as text: `Display`, and the parser of its output.

use alloc::{string::String, vec::Vec};
use core::{fmt, str::FromStr};

use super::{OldType, Program, Step};
use crate::draw::List;

/// The beginning of the last line, and its end if there is nothing to build.
const COMMIT: &str = "MPI_Type_commit";
const PREDEFINED: &str = "(predefined, nothing to build)";

impl fmt::Display for OldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base(base) => f.write_str(base.mpi_name()),
            Self::Step(index) => write!(f, "t{index}"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = f.alternate();
        match self {
            Self::Contiguous { count, oldtype } => write!(f, "MPI_Type_contiguous({count}, {oldtype})"),
            Self::Hvector { count, blocklength, stride, oldtype } => {
                write!(f, "MPI_Type_create_hvector({count}, {blocklength}, {stride}, {oldtype})")
            }
            Self::HindexedBlock { blocklength, displacements, oldtype } => {
                let (count, displacements) = (displacements.len(), List { items: displacements, all });
                write!(
                    f,
                    "MPI_Type_create_hindexed_block({count}, {blocklength}, {displacements}, {oldtype})"
                )
            }
            Self::Hindexed { blocklengths, displacements, oldtype } => {
                let (count, blocklengths) = (displacements.len(), List { items: blocklengths, all });
                let displacements = List { items: displacements, all };
                write!(f, "MPI_Type_create_hindexed({count}, {blocklengths}, {displacements}, {oldtype})")
            }
            Self::Struct { blocklengths, displacements, oldtypes } => {
                let (count, blocklengths) = (displacements.len(), List { items: blocklengths, all });
                let (displacements, oldtypes) =
                    (List { items: displacements, all }, List { items: oldtypes, all });
                write!(f, "MPI_Type_create_struct({count}, {blocklengths}, {displacements}, {oldtypes})")
            }
            Self::Resized { lower_bound, extent, oldtype } => {
                write!(f, "MPI_Type_create_resized({oldtype}, {lower_bound}, {extent})")
            }
        }
    }
}

/// Writes the calls as C, one on each line, and ends with the commit. `t`i is the result of step i. The
/// middle of a long list is left out. `{:#}` writes whole lists; only this form can be parsed.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            if f.alternate() {
                writeln!(f, "t{index} = {step:#}")?;
            } else {
                writeln!(f, "t{index} = {step}")?;
            }
        }
        match self.result {
            OldType::Step(_) => writeln!(f, "{COMMIT}({})", self.result),
            OldType::Base(base) => writeln!(f, "{} {PREDEFINED}", base.mpi_name()),
        }
    }
}

/// The reason why a text is not a list of constructor calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallsError {
    /// The line, counted from 1.
    line: usize,
    expected: &'static str,
    /// The text that was found instead.
    found: String,
}

impl fmt::Display for CallsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, expected, found } = self;
        let found = if found.is_empty() { "nothing" } else { found };
        write!(f, "line {line}: expected {expected}, found `{found}`")
    }
}

impl core::error::Error for CallsError {}

/// Parses the output of `{:#}`.
///
/// ```
/// use dtype_core::{BaseType, Program, TypeTree};
///
/// let tree = TypeTree::vector(3, 16, TypeTree::Leaf(BaseType::F64));
/// let program = Program::lower(&tree, None)?;
/// assert_eq!(format!("{program:#}").parse(), Ok(program));
///
/// let error = "t0 = MPI_Type_contiguous(three, MPI_DOUBLE)".parse::<Program>().unwrap_err();
/// assert_eq!(error.to_string(), "line 1: expected a count, found `three, MPI_DOUBLE)`");
/// # Ok::<(), dtype_core::Error>(())
/// ```
impl FromStr for Program {
    type Err = CallsError;

    fn from_str(text: &str) -> Result<Self, CallsError> {
        let mut steps = Vec::new();
        let mut lines = (1..).zip(text.lines());
        let mut last = 0;
        for (line, text) in &mut lines {
            let mut reader = Reader { rest: text.trim(), steps: steps.len(), is_first: true };
            let failed =
                |expected, rest: &str| CallsError { line, expected, found: rest.chars().take(40).collect() };
            match reader.line() {
                Ok(Line::Step(step)) => steps.push(step),
                Ok(Line::Result(result)) => {
                    return match lines.find(|(_, text)| !text.trim().is_empty()) {
                        Some((line, text)) => {
                            Err(CallsError { line, ..failed("the end of the calls", text) })
                        }
                        None => Ok(Self { steps, result }),
                    };
                }
                Err(expected) => return Err(failed(expected, reader.rest)),
            }
            last = line;
        }
        Err(CallsError { line: last + 1, expected: "the commit of a datatype", found: String::new() })
    }
}

/// A description of the text that was expected.
type Expected = &'static str;

enum Line {
    Step(Step),
    Result(OldType),
}

/// The rest of a line.
struct Reader<'a> {
    rest: &'a str,
    /// The number of steps on the lines before.
    steps: usize,
    /// `true` if no argument has been read yet.
    is_first: bool,
}

impl<'a> Reader<'a> {
    fn line(&mut self) -> Result<Line, Expected> {
        let line = if self.rest.starts_with('t') {
            let own = alloc::format!("t{}", self.steps);
            self.accept("`t` and the number of the call", |word| (word == own).then_some(()))?;
            self.expect("=", "`=`")?;
            Line::Step(self.step()?)
        } else if self.rest.starts_with(COMMIT) {
            self.expect(COMMIT, COMMIT)?;
            self.expect("(", "`(`")?;
            let result = self.oldtype()?;
            self.expect(")", "`)`")?;
            Line::Result(result)
        } else {
            let result = self.accept("a call", Self::base)?;
            self.expect(PREDEFINED, PREDEFINED)?;
            Line::Result(result)
        };
        if self.rest.is_empty() { Ok(line) } else { Err("the end of the line") }
    }

    fn step(&mut self) -> Result<Step, Expected> {
        const COUNT: Expected = "a count";
        const BLOCKLENGTH: Expected = "a block length";
        const BYTES: Expected = "a number of bytes";
        let calls = [
            "contiguous",
            "create_hvector",
            "create_hindexed_block",
            "create_hindexed",
            "create_struct",
            "create_resized",
        ];
        let call = self.accept("a constructor call", |word| {
            calls.iter().find(|call| word.strip_prefix("MPI_Type_") == Some(call))
        })?;
        self.expect("(", "`(`")?;
        let step = match *call {
            "contiguous" => Step::Contiguous { count: self.number(COUNT)?, oldtype: self.oldtype()? },
            "create_hvector" => Step::Hvector {
                count: self.number(COUNT)?,
                blocklength: self.number(BLOCKLENGTH)?,
                stride: self.number(BYTES)?,
                oldtype: self.oldtype()?,
            },
            "create_hindexed_block" => {
                let count = self.number(COUNT)?;
                Step::HindexedBlock {
                    blocklength: self.number(BLOCKLENGTH)?,
                    displacements: self.list(count, |list| list.number(BYTES))?,
                    oldtype: self.oldtype()?,
                }
            }
            "create_hindexed" => {
                let count = self.number(COUNT)?;
                Step::Hindexed {
                    blocklengths: self.list(count, |list| list.number(BLOCKLENGTH))?,
                    displacements: self.list(count, |list| list.number(BYTES))?,
                    oldtype: self.oldtype()?,
                }
            }
            "create_struct" => {
                let count = self.number(COUNT)?;
                Step::Struct {
                    blocklengths: self.list(count, |list| list.number(BLOCKLENGTH))?,
                    displacements: self.list(count, |list| list.number(BYTES))?,
                    oldtypes: self.list(count, Self::oldtype)?,
                }
            }
            _ => {
                let oldtype = self.oldtype()?;
                Step::Resized { lower_bound: self.number(BYTES)?, extent: self.number(BYTES)?, oldtype }
            }
        };
        self.expect(")", "`)`")?;
        Ok(step)
    }

    /// Reads a number as an argument.
    fn number<T: FromStr>(&mut self, expected: Expected) -> Result<T, Expected> {
        self.separator()?;
        self.accept(expected, |word| word.parse().ok())
    }

    /// Reads a datatype as an argument.
    fn oldtype(&mut self) -> Result<OldType, Expected> {
        self.separator()?;
        let steps = self.steps;
        self.accept("a predefined datatype or the result of an earlier call", |word| {
            let step = word.strip_prefix('t').and_then(|number| number.parse().ok());
            step.filter(|step| *step < steps).map(OldType::Step).or_else(|| Self::base(word))
        })
    }

    fn base(word: &str) -> Option<OldType> {
        word.starts_with("MPI_").then(|| word.parse().ok().map(OldType::Base))?
    }

    /// Reads a list of `count` arguments as an argument.
    fn list<T>(
        &mut self,
        count: usize,
        read: impl Fn(&mut Self) -> Result<T, Expected>,
    ) -> Result<Vec<T>, Expected> {
        self.separator()?;
        self.expect("[", "`[`")?;
        let mut items = Vec::new();
        self.is_first = true;
        while !self.rest.starts_with(']') {
            items.push(read(self)?);
        }
        if items.len() != count {
            return Err("a list of the length in count");
        }
        self.is_first = false;
        self.expect("]", "`]`")?;
        Ok(items)
    }

    /// Reads the separator between two arguments.
    fn separator(&mut self) -> Result<(), Expected> {
        if core::mem::take(&mut self.is_first) { Ok(()) } else { self.expect(",", "`,`") }
    }

    /// Reads the next word, if `known` accepts it.
    fn accept<T>(
        &mut self,
        expected: Expected,
        known: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<T, Expected> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let found = known(&self.rest[..end]).ok_or(expected)?;
        self.rest = self.rest[end..].trim_start();
        Ok(found)
    }

    fn expect(&mut self, text: &str, expected: Expected) -> Result<(), Expected> {
        self.rest = self.rest.strip_prefix(text).ok_or(expected)?.trim_start();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::ToString};

    use super::Program;

    #[test]
    fn what_is_wrong_with_calls_is_said_with_its_place() {
        let whole = "t0 = MPI_Type_create_struct(2, [1, 3], [0, -8], [MPI_DOUBLE, MPI_INT8_T])\n\
                     t1 = MPI_Type_create_resized(t0, 0, 64)\n\
                     MPI_Type_commit(t1)\n";
        assert_eq!(format!("{:#}", whole.parse::<Program>().unwrap()), whole);
        for (from, to, error) in [
            ("t1)\n", "t1)\nx", "line 4: expected the end of the calls, found `x`"),
            ("MPI_Type_commit(t1)\n", "", "line 3: expected the commit of a datatype, found `nothing`"),
            ("t1 =", "t2 =", "line 2: expected `t` and the number of the call, found `t2 = "),
            (
                "resized(t0",
                "resized(t1",
                "line 2: expected a predefined datatype or the result of an earlier call",
            ),
            ("MPI_DOUBLE", "f64", "line 1: expected a predefined datatype or the result of an earlier call"),
            ("[1, 3]", "[1]", "line 1: expected a list of the length in count, found `], [0, -8]"),
            ("[1, 3]", "[1, -3]", "line 1: expected a block length, found `-3], "),
            ("[1, 3]", "[1 3]", "line 1: expected `,`, found `3], "),
            ("0, 64)", "0, 64", "line 2: expected `)`, found `nothing`"),
            ("create_struct", "struct", "line 1: expected a constructor call, found `MPI_Type_struct(2, "),
            ("[0, -8]", "[0, …, -8]", "line 1: expected a number of bytes, found `…, -8]"),
        ] {
            let found = whole.replacen(from, to, 1).parse::<Program>().unwrap_err().to_string();
            assert!(found.starts_with(error), "{found}");
        }
    }
}
