//! What a program in any language is written from, and how its lists are.

use std::fmt::{self, Display, Write};

use dtype_core::{BaseType, Bounds, Measure, OldType, Program, Step};

use crate::record::Record;

/// A datatype that a program makes.
pub(super) struct Emitted<'a> {
    /// What functions are called.
    pub(super) name: &'a str,
    pub(super) program: Program,
    pub(super) bounds: Bounds,
    /// The datatype's size and true extent.
    pub(super) measure: Measure,
    /// What the program says of itself.
    pub(super) comment: String,
    /// Of a struct, its fields.
    pub(super) record: Option<&'a Record>,
}

/// Columns of a line of a program.
pub(super) const WIDTH: usize = 100;

impl Emitted<'_> {
    /// The true lower bound and the true extent, unless there is no data: libraries differ in where that
    /// begins.
    pub(super) fn true_bounds(&self) -> Option<[i64; 2]> {
        (self.measure.size > 0).then(|| [self.measure.lower_bound, self.measure.true_extent()])
    }

    /// The predefined datatypes that the program is made of, as often as they stand in it.
    pub(super) fn bases(&self) -> impl Iterator<Item = BaseType> {
        let Program { steps, result } = &self.program;
        let all = steps.iter().flat_map(Step::oldtypes).chain([result]);
        all.filter_map(|oldtype| match oldtype {
            OldType::Base(base) => Some(*base),
            OldType::Step(_) => None,
        })
    }
}

/// A number of a kind; the least one cannot be written in C, nor in Fortran.
pub(super) fn literal(number: i64, kind: &str) -> String {
    match number {
        i64::MIN => format!("{}{kind} - 1{kind}", i64::MIN + 1),
        number => format!("{number}{kind}"),
    }
}

/// A step's block lengths and displacements.
pub(super) fn numbers(step: &Step) -> (&[u64], &[i64]) {
    match step {
        Step::HindexedBlock { displacements, .. } => (&[], displacements),
        Step::Hindexed { blocklengths, displacements, .. }
        | Step::Struct { blocklengths, displacements, .. } => (blocklengths, displacements),
        Step::Contiguous { .. } | Step::Hvector { .. } | Step::Resized { .. } => (&[], &[]),
    }
}

/// Writes `start`, a list, and `end`, in lines of [`WIDTH`] columns, those behind the first one indented.
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
