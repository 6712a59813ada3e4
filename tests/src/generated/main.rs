//! Scenarios for random types, which `build/structs.rs` and `build/messages.rs` write:
//! `mpiexec -n 2 generated ring`.
//!
//! They are a program of their own, because the types take longer to compile than all other scenarios.

mod messages;
mod pairs;
mod ring;
mod sample;

use std::{fmt::Debug, ops::Range};

use dtype_runtime::{FromMessage, MpiDatatype, MpiMessage};
use dtype_tests::{Cover, run, with_world};

use crate::sample::{Random, Sample};

fn main() {
    run(|name| match name {
        "ring" => with_world(ring::ring),
        "pairs" => with_world(pairs::pairs),
        "messages" => with_world(messages::messages),
        _ => panic!("no scenario `{name}`"),
    });
}

/// A length that the macro cannot see.
const LENGTH: usize = 3;

/// A generic struct, solved for each instantiation.
#[derive(MpiDatatype)]
#[allow(dead_code)]
pub struct Generic<T, const N: usize> {
    first: u8,
    items: [T; N],
    last: T,
}

impl<T: Cover, const N: usize> Cover for Generic<T, N> {
    fn cover(at: usize, bytes: &mut Vec<Range<usize>>) {
        u8::cover(at + std::mem::offset_of!(Self, first), bytes);
        <[T; N]>::cover(at + std::mem::offset_of!(Self, items), bytes);
        T::cover(at + std::mem::offset_of!(Self, last), bytes);
    }
}

/// An action on every struct.
pub trait Visit {
    fn visit<T: MpiDatatype + Cover>(&self);
}

/// An action on every struct without skipped fields.
pub trait VisitComplete {
    fn visit<T: MpiDatatype + FromMessage + Cover>(&self);
}

/// The code that `build/structs.rs` writes.
#[allow(clippy::all, clippy::pedantic, clippy::restriction)]
mod structs {
    use std::ops::Range;

    use dtype_runtime::MpiDatatype;

    use super::{Cover, Generic, LENGTH, Visit, VisitComplete};

    include!(concat!(env!("OUT_DIR"), "/structs.rs"));
}
pub use structs::{SEED, STRUCTS, for_each, for_each_complete};

/// A struct of numbers, of which not every pattern is a value.
#[derive(MpiDatatype, Clone, Debug, PartialEq)]
pub struct Fixed {
    tag: u8,
    state: State,
    value: f64,
    letter: char,
}

#[derive(MpiDatatype, Clone, Debug, PartialEq)]
#[repr(u8)]
enum State {
    Solid,
    Liquid,
}

impl Sample for Fixed {
    fn sample(random: &mut Random) -> Self {
        let state = if random.sample() { State::Solid } else { State::Liquid };
        Self { tag: random.sample(), state, value: random.sample(), letter: random.sample() }
    }
}

/// A generic message.
#[derive(MpiMessage, Clone, Debug, PartialEq)]
pub struct Several<T> {
    first: T,
    items: Vec<T>,
    last: Option<T>,
}

impl<T: Sample> Sample for Several<T> {
    fn sample(random: &mut Random) -> Self {
        Self { first: random.sample(), items: random.sample(), last: random.sample() }
    }
}

/// An action on every message.
pub trait VisitMessage {
    fn visit<T: FromMessage + Sample + Clone + PartialEq + Debug>(&self);
}

/// The code that `build/messages.rs` writes.
#[allow(unused_imports, unused_variables, clippy::all, clippy::pedantic, clippy::restriction)]
mod random {
    use std::{
        borrow::Cow,
        collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque},
        rc::Rc,
        sync::Arc,
        time::Duration,
    };

    use dtype_runtime::{MpiDatatype, MpiMessage};

    use super::{Fixed, Random, Sample, Several, VisitMessage};

    include!(concat!(env!("OUT_DIR"), "/messages.rs"));
}
pub use random::{Any, MESSAGES, for_each_message};
