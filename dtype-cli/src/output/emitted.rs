//! The data from which programs in all languages are written, and functions that write their numbers and
//! lists.

use std::fmt::{self, Display, Write};

use dtype_core::{BaseType, Bounds, Measure, OldType, Program, Step};

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
    /// Returns the true lower bound and the true extent. If there is no data, the result is `None`, because
    /// libraries then report different true lower bounds.
    pub(super) fn true_bounds(&self) -> Option<[i64; 2]> {
        (self.measure.size > 0).then(|| [self.measure.lower_bound, self.measure.true_extent()])
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

/// Returns the block lengths and the displacements of a step.
pub(super) fn numbers(step: &Step) -> (&[u64], &[i64]) {
    match step {
        Step::HindexedBlock { displacements, .. } => (&[], displacements),
        Step::Hindexed { blocklengths, displacements, .. }
        | Step::Struct { blocklengths, displacements, .. } => (blocklengths, displacements),
        Step::Contiguous { .. } | Step::Hvector { .. } | Step::Resized { .. } => (&[], &[]),
    }
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
