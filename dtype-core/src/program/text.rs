//! Programs as text: `Display`, and the parser of its output.

use alloc::{string::String, vec::Vec};
use core::{fmt, str::FromStr};

use super::{
    Argument, ArgumentReader, ArrayOrder, Constructor, ConstructorKind, Distributed, Distribution, OldType,
    Program, Step,
    distribution::{DEFAULT, grid_size},
};
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

/// Writes the call without the new datatype. The middle of a long list is left out; `{:#}` writes whole
/// lists.
impl<T: fmt::Display> fmt::Display for Constructor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = f.alternate();
        f.write_str(self.kind().mpi_name())?;
        for (i, argument) in self.arguments().iter().enumerate() {
            f.write_str(if i == 0 { "(" } else { ", " })?;
            match argument {
                Argument::Count(count) => write!(f, "{count}"),
                Argument::Counts(items) => List { items, all }.fmt(f),
                Argument::Number(number) | Argument::Address(number) => write!(f, "{number}"),
                Argument::Numbers(items) | Argument::Addresses(items) => List { items, all }.fmt(f),
                Argument::Constant(name) => f.write_str(name),
                Argument::Constants(items) => List { items, all }.fmt(f),
                Argument::OldType(oldtype) => write!(f, "{oldtype}"),
                Argument::OldTypes(items) => List { items, all }.fmt(f),
            }?;
        }
        f.write_str(")")
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
            let mut reader = Reader { rest: text.trim(), steps: steps.len(), names: &[], is_first: true };
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
    /// The names of the arguments that follow.
    names: &'static [&'static str],
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
        let kind = self.accept("a constructor call", |word| {
            ConstructorKind::ALL.iter().copied().find(|kind| kind.mpi_name() == word)
        })?;
        self.expect("(", "`(`")?;
        self.names = kind.arguments();
        let step = kind.read(self)?;
        self.expect(")", "`)`")?;
        Ok(step)
    }

    /// Goes on to the next argument, and describes its numbers.
    fn next(&mut self) -> Expected {
        let (name, rest) = self.names.split_first().unwrap_or((&"", &[]));
        self.names = rest;
        match *name {
            "count" => "a count",
            "blocklength" | "array_of_blocklengths" => "a block length",
            "stride" | "array_of_displacements" | "lb" | "extent" => "a number of bytes",
            _ => "a number",
        }
    }

    /// Reads a word as an argument.
    fn word<T>(
        &mut self,
        expected: Expected,
        known: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<T, Expected> {
        self.separator()?;
        self.accept(expected, known)
    }

    /// Reads a datatype as an argument.
    fn oldtype(&mut self) -> Result<OldType, Expected> {
        let steps = self.steps;
        self.word("a predefined datatype or the result of an earlier call", |word| {
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
        count: u64,
        read: impl Fn(&mut Self) -> Result<T, Expected>,
    ) -> Result<Vec<T>, Expected> {
        self.separator()?;
        self.expect("[", "`[`")?;
        let mut items = Vec::new();
        self.is_first = true;
        while !self.rest.starts_with(']') {
            items.push(read(self)?);
        }
        if items.len() as u64 != count {
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

impl ArgumentReader for Reader<'_> {
    type Datatype = OldType;
    type Error = Expected;

    fn count(&mut self) -> Result<u64, Expected> {
        let expected = self.next();
        self.word(expected, |word| word.parse().ok())
    }

    fn counts(&mut self, count: u64) -> Result<Vec<u64>, Expected> {
        let expected = self.next();
        self.list(count, |list| list.word(expected, |word| word.parse().ok()))
    }

    fn number(&mut self) -> Result<i64, Expected> {
        let expected = self.next();
        self.word(expected, |word| word.parse().ok())
    }

    fn numbers(&mut self, count: u64) -> Result<Vec<i64>, Expected> {
        let expected = self.next();
        self.list(count, |list| list.word(expected, |word| word.parse().ok()))
    }

    fn order(&mut self) -> Result<ArrayOrder, Expected> {
        self.next();
        let orders = [ArrayOrder::RowMajor, ArrayOrder::ColumnMajor];
        let known = |word: &str| orders.into_iter().find(|order| order.mpi_name() == word);
        self.word("MPI_ORDER_C or MPI_ORDER_FORTRAN", known)
    }

    fn distributed(&mut self, size: u64, ndims: u64) -> Result<Vec<Distributed>, Expected> {
        let sizes = self.counts(ndims)?;
        self.next();
        let names = self.list(ndims, |list| list.word("a distribution", Some))?;
        self.next();
        let block = |word: &str| if word == DEFAULT { Some(None) } else { word.parse().ok().map(Some) };
        let blocks = self.list(ndims, |list| list.word("a number of elements", block))?;
        let processes = self.counts(ndims)?;
        if grid_size(processes.iter().copied()) != size {
            return Err("a list whose product is the size");
        }
        let dimension = |k: usize| {
            let distribution = Distribution::from_mpi(names[k], blocks[k]);
            let distribution = distribution.ok_or("constants of distributions before")?;
            Ok(Distributed { size: sizes[k], distribution, processes: processes[k] })
        };
        (0..sizes.len()).map(dimension).collect()
    }

    fn datatype(&mut self) -> Result<OldType, Expected> {
        self.next();
        self.oldtype()
    }

    fn datatypes(&mut self, count: u64) -> Result<Vec<OldType>, Expected> {
        self.next();
        self.list(count, Self::oldtype)
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::ToString, vec, vec::Vec};

    use super::{
        ArrayOrder, Constructor, ConstructorKind, Distributed, Distribution, OldType, Program, Step,
    };
    use crate::{BaseType, Subdimension};

    #[test]
    fn every_constructor_is_read_as_it_is_written() {
        let oldtype = OldType::Base(BaseType::F64);
        let (blocklengths, displacements) = (vec![1, 0], vec![5, -8]);
        let lists = || (blocklengths.clone(), displacements.clone());
        let order = ArrayOrder::ColumnMajor;
        let distributed = |distribution| Distributed { size: 9, distribution, processes: 1 };
        let distributions = [Distribution::None, Distribution::Block(Some(9)), Distribution::Cyclic(None)];
        let (count, blocklength) = (3, 2);
        let stride = -16;
        let all: Vec<Step> = vec![
            Constructor::Contiguous { count, oldtype },
            Constructor::Vector { count, blocklength, stride, oldtype },
            Constructor::Hvector { count, blocklength, stride, oldtype },
            Constructor::Indexed { blocklengths: lists().0, displacements: lists().1, oldtype },
            Constructor::Hindexed { blocklengths: lists().0, displacements: lists().1, oldtype },
            Constructor::IndexedBlock { blocklength, displacements: lists().1, oldtype },
            Constructor::HindexedBlock { blocklength, displacements: lists().1, oldtype },
            Constructor::Struct { blocklengths, displacements, oldtypes: vec![oldtype; 2] },
            Constructor::Subarray {
                dimensions: vec![Subdimension { size: 9, subsize: 4, start: 3 }; 2],
                order: ArrayOrder::RowMajor,
                oldtype,
            },
            Constructor::Darray {
                rank: 0,
                dimensions: distributions.map(distributed).into(),
                order,
                oldtype,
            },
            Constructor::Resized { lower_bound: -3, extent: 99, oldtype },
            Constructor::Dup { oldtype },
        ];
        assert_eq!(all.iter().map(Constructor::kind).collect::<Vec<_>>(), ConstructorKind::ALL);
        for call in &all {
            assert_eq!(call.arguments().len(), call.kind().arguments().len(), "{call}");
        }
        let result = OldType::Step(all.len() - 1);
        let program = Program { steps: all, result };
        assert_eq!(format!("{program:#}").parse(), Ok(program));
    }

    #[test]
    fn what_is_wrong_with_a_distributed_array_is_said() {
        let whole = "t0 = MPI_Type_create_darray(3, 0, 1, [9], [MPI_DISTRIBUTE_BLOCK], [3], [3], \
                     MPI_ORDER_C, MPI_INT)\nMPI_Type_commit(t0)\n";
        assert_eq!(format!("{:#}", whole.parse::<Program>().unwrap()), whole);
        for (from, to, error) in [
            ("darray(3", "darray(2", "expected a list whose product is the size"),
            ("UTE_BLOCK", "UTE_OTHER", "expected constants of distributions before"),
            ("[3], [3]", "[x], [3]", "expected a number of elements, found `x]"),
            ("[3], [3]", "[,], [3]", "expected a number of elements, found `,]"),
            ("[MPI_DISTRIBUTE_BLOCK]", "[,]", "expected a list of the length in count"),
            ("ORDER_C", "ORDER_D", "expected MPI_ORDER_C or MPI_ORDER_FORTRAN"),
        ] {
            let found = whole.replacen(from, to, 1).parse::<Program>().unwrap_err().to_string();
            assert!(found.contains(error), "{found}");
        }
    }

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
