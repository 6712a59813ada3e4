//! Constructor programs: the list of MPI calls that builds a datatype from a type tree.
//!
//! A program is plain data. The derive macro writes the text of its calls into the expansion. The runtime
//! parses this text and makes the `MPI_Type_*` calls.

mod arguments;
mod constructor;
mod distribution;
mod lowering;
mod packing;
mod reader;
mod text;
mod written_out;

use alloc::{format, vec::Vec};
use core::convert::Infallible;

pub use self::{
    arguments::{Argument, ConstructorKind},
    constructor::{Constructor, Datatype, Distributed, Subdimension},
    distribution::{ArrayOrder, Blocks, Distribution, Share, grid_size},
    packing::{Buckets, Packing, Purpose, WrittenOut},
    reader::ArgumentReader,
    text::CallsError,
};
use crate::{BaseType, Error};

/// The datatype that a constructor call builds on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OldType {
    /// A predefined datatype.
    Base(BaseType),
    /// The result of an earlier step, by its index.
    Step(usize),
}

/// A call of a [`Program`]. [`Program::lower`] makes six of the twelve, whose distances are in bytes.
pub type Step = Constructor<OldType>;

/// A list of constructor calls, and the datatype that they build. Only this datatype is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The calls in order; each uses only predefined types and earlier steps.
    pub steps: Vec<Step>,
    /// The finished datatype: the last step, or a predefined type if there is none.
    pub result: OldType,
}

impl Program {
    /// Returns the largest count, block length or list length of all calls.
    pub fn largest_count(&self) -> u64 {
        self.steps.iter().map(Step::largest_count).max().unwrap_or(0)
    }

    /// Returns the program with other old types.
    #[must_use]
    pub fn with_oldtypes(self, other: impl Fn(OldType) -> OldType) -> Self {
        let step = |step: Step| step.try_map(|oldtype| Ok::<_, Infallible>(other(oldtype)));
        let steps = self.steps.into_iter().map(|calls| step(calls).unwrap_or_else(|error| match error {}));
        Self { steps: steps.collect(), result: other(self.result) }
    }

    /// Returns the number of constructor calls.
    pub fn calls(&self) -> usize {
        self.steps.len()
    }

    /// Returns the datatype that the calls create: the inverse of [`lower`](Self::lower).
    ///
    /// # Errors
    /// The errors of [`Constructor::datatype`], and [`Error::Argument`] for a step that uses a later one.
    pub fn datatype(&self) -> Result<Datatype, Error> {
        let mut made: Vec<Datatype> = Vec::with_capacity(self.steps.len());
        let old = |made: &[Datatype], oldtype: OldType| match oldtype {
            OldType::Base(base) => Ok(Datatype::base(base)),
            OldType::Step(step) => made.get(step).cloned().ok_or_else(|| Error::Argument {
                argument: "oldtype".into(),
                value: step as i128,
                requirement: format!("the number of an earlier step, less than {}", made.len()),
            }),
        };
        for step in &self.steps {
            let constructor = step.clone().try_map(|oldtype| old(&made, oldtype))?;
            made.push(constructor.datatype()?);
        }
        old(&made, self.result)
    }
}
