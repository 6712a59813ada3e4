//! The data from which programs in all languages are written, and functions that write their numbers and
//! lists.

use std::fmt::{self, Display, Write};

use dtype_core::{Argument, BaseType, Bounds, Measure, OldType, Program, Step};

use crate::record::Record;

/// A datatype for which a program is written.
pub(super) struct Emitted<'a> {
    /// The name from which the function names are formed.
    pub(super) name: &'a str,
    pub(super) program: Program,
    pub(super) bounds: Bounds,
    /// The datatype's size and true extent.
    pub(super) measure: Measure,
    /// The comment at the beginning of the program.
    pub(super) comment: String,
    /// The fields, if the layout is a struct.
    pub(super) record: Option<&'a Record>,
}

/// The width of a program's lines in columns.
pub(super) const WIDTH: usize = 100;

impl Emitted<'_> {
    /// Returns the program with predefined datatypes that all MPI libraries have in all languages, of the
    /// same bytes. The comment names those that are replaced.
    pub(super) fn portable(mut self) -> Self {
        let mut replaced: Vec<BaseType> = self.bases().filter(|base| base.portable() != *base).collect();
        replaced.sort_unstable();
        replaced.dedup();
        for base in replaced {
            let names = [base, base.portable()].map(BaseType::mpi_name);
            let [name, other] = names;
            self.comment.push_str(
                &["\nNot all MPI libraries have ", name, ", so ", other, " stands for it."].concat(),
            );
        }
        let portable = |oldtype| match oldtype {
            OldType::Base(base) => OldType::Base(base.portable()),
            step @ OldType::Step(_) => step,
        };
        self.program = self.program.with_oldtypes(portable);
        self
    }

    /// Returns the true lower bound and the true extent. If there is no data, the result is `None`, because
    /// libraries then report different true lower bounds.
    pub(super) fn true_bounds(&self) -> Option<[i64; 2]> {
        (self.measure.size > 0).then(|| [self.measure.lower_bound, self.measure.true_extent()])
    }

    /// Returns `true` if the program has complex numbers that Rust has types for.
    pub(super) fn has_complex(&self) -> bool {
        self.bases().any(|base| matches!(base.plain(), Some(BaseType::C32 | BaseType::C64)))
    }

    /// Returns the predefined datatypes of the program, with repetitions.
    pub(super) fn bases(&self) -> impl Iterator<Item = BaseType> {
        let Program { steps, result } = &self.program;
        let all = steps.iter().flat_map(Step::oldtypes).chain([result]);
        all.filter_map(|oldtype| match oldtype {
            OldType::Base(base) => Some(*base),
            OldType::Step(_) => None,
        })
    }
}

/// Returns a number with its kind suffix. The least `i64` cannot be written as one literal in C or Fortran.
pub(super) fn literal(number: i64, kind: &str) -> String {
    match number {
        i64::MIN => format!("{}{kind} - 1{kind}", i64::MIN + 1),
        number => format!("{number}{kind}"),
    }
}

/// A list that is an argument of a call: its name, what it consists of, and its items as text.
pub(super) struct List {
    pub(super) name: String,
    pub(super) of: Of,
    pub(super) items: Vec<String>,
}

/// The items of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Numbers,
    Addresses,
    Datatypes,
}

/// An argument of a call as text, or a list.
pub(super) enum Written {
    Item(String),
    List(List),
}

/// Returns the arguments of step `i` in the order of the call, without the new datatype. `kind` is the suffix
/// of an address, and `of` writes a datatype.
pub(super) fn arguments(i: usize, step: &Step, kind: &str, of: impl Fn(OldType) -> String) -> Vec<Written> {
    let arguments = step.kind().arguments().iter().zip(step.arguments());
    let written = arguments.map(|(name, argument)| {
        let name = format!("{}{i}", name.trim_start_matches("array_of_"));
        let list = |of, items| Written::List(List { name, of, items });
        match argument {
            Argument::Count(count) => Written::Item(count.to_string()),
            Argument::Counts(counts) => list(Of::Numbers, counts.iter().map(u64::to_string).collect()),
            Argument::Number(number) => Written::Item(number.to_string()),
            Argument::Numbers(numbers) => list(Of::Numbers, numbers.iter().map(i64::to_string).collect()),
            Argument::Address(at) => Written::Item(literal(at, kind)),
            Argument::Addresses(all) => {
                list(Of::Addresses, all.iter().map(|at| literal(*at, kind)).collect())
            }
            Argument::Constant(name) => Written::Item(name.to_owned()),
            Argument::Constants(items) => list(Of::Numbers, items),
            Argument::OldType(oldtype) => Written::Item(of(*oldtype)),
            Argument::OldTypes(all) => list(Of::Datatypes, all.iter().map(|oldtype| of(*oldtype)).collect()),
        }
    });
    written.collect()
}

/// Returns the lists among the arguments of a call.
pub(super) fn lists(arguments: &[Written]) -> impl Iterator<Item = &List> {
    arguments.iter().filter_map(|argument| match argument {
        Written::List(list) => Some(list),
        Written::Item(_) => None,
    })
}

/// Writes `start`, a list and `end` in lines of [`WIDTH`] columns. Lines after the first one are indented.
pub(super) fn wrapped<T: Display>(f: &mut String, start: &str, items: &[T], end: &str) -> fmt::Result {
    let indent = start.len() - start.trim_start().len() + 4;
    f.push_str(start);
    let mut column = start.len();
    for (i, item) in items.iter().enumerate() {
        let item = format!("{item}{}", if i + 1 < items.len() { "," } else { "" });
        if i > 0 && column + 1 + item.len() > WIDTH {
            write!(f, "\n{:indent$}{item}", "")?;
            column = indent + item.len();
        } else {
            let blank = if i == 0 { "" } else { " " };
            write!(f, "{blank}{item}")?;
            column += blank.len() + item.len();
        }
    }
    f.push_str(end);
    Ok(())
}
