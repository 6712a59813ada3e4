//! Programs that end MPI inside of a call: in a closure, in `write` or `read` of a message, in `clone`,
//! `drop` or `default` of a value. Each of them ends with a message, and none hangs or crashes.

use std::cell::RefCell;

use dtype_runtime::{
    Error, FromMessage, MpiDatatype, MpiMessage,
    message::{Fingerprint, Reader, Writer},
    traits::*,
    wire::{Lock, passive_window, window},
};
use mpi::{environment::Universe, request::scope, topology::SimpleCommunicator, traits::*};

thread_local! {
    static UNIVERSE: RefCell<Option<Universe>> = const { RefCell::new(None) };
}

/// Ends MPI.
fn finalize() {
    drop(UNIVERSE.take());
}

/// A value whose writing, or reading, ends MPI.
#[derive(Clone, Copy, PartialEq)]
enum Treacherous {
    Written,
    Read,
}

impl MpiMessage for Treacherous {
    fn describe(of: &mut Fingerprint) {
        <u8 as MpiMessage>::describe(of);
    }

    fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
        if *self == Self::Written {
            finalize();
        }
        to.bytes(&[7]);
        Ok(())
    }
}

impl FromMessage for Treacherous {
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        finalize();
        from.array::<1>().map(|_| Self::Read)
    }
}

/// A number that ends MPI when it is cloned.
#[derive(MpiDatatype)]
struct Cloned(u64);

impl Clone for Cloned {
    fn clone(&self) -> Self {
        finalize();
        Self(self.0)
    }
}

/// A value that ends MPI when it is received, since the field that does not travel gets its default.
#[derive(MpiDatatype)]
struct Defaulted {
    value: u64,
    #[mpi(skip)]
    _rest: Rest,
}

struct Rest;

impl Default for Rest {
    fn default() -> Self {
        finalize();
        Self
    }
}

/// A value that ends MPI when it is dropped, such as when a `Vec` of it receives fewer values.
#[derive(MpiMessage, Default)]
struct Dropped(u64);

impl Drop for Dropped {
    fn drop(&mut self) {
        finalize();
    }
}

/// A call that runs code of the program, by name.
type Case = (&'static str, fn(&SimpleCommunicator));

/// The calls. Each runs on two ranks. If only one rank runs code that ends MPI, the other one waits for it.
const CASES: &[Case] = &[
    ("send_message", |world| match world.rank() {
        0 => drop(world.process_at_rank(1).send_message(&Treacherous::Written)),
        _ => drop(world.process_at_rank(0).receive_message::<u8>()),
    }),
    ("immediate_send_message", |world| match world.rank() {
        0 => {
            scope(|scope| {
                drop(world.process_at_rank(1).immediate_send_message(scope, &Treacherous::Written));
            });
        }
        _ => drop(world.process_at_rank(0).receive_message::<u8>()),
    }),
    ("receive_message", |world| match world.rank() {
        0 => drop(world.process_at_rank(1).send_message(&7u8)),
        _ => drop(world.process_at_rank(0).receive_message::<Treacherous>()),
    }),
    ("receive_message_into", |world| match world.rank() {
        0 => drop(world.process_at_rank(1).send_message(&7u8)),
        _ => drop(world.process_at_rank(0).receive_message_into(&mut Treacherous::Read)),
    }),
    ("receive_values", |world| match world.rank() {
        0 => drop(world.process_at_rank(1).send_packed(&[1u64, 2])),
        _ => drop(world.process_at_rank(0).receive_values::<Defaulted>().map(|(values, _)| values[0].value)),
    }),
    ("drop of a value", |world| {
        let mut kept = vec![Dropped::default()];
        if world.rank() == 0 {
            std::mem::forget(kept);
            drop(world.process_at_rank(1).send_message::<Vec<Dropped>>(&Vec::new()));
        } else {
            drop(world.process_at_rank(0).receive_message_into(&mut kept));
        }
    }),
    ("broadcast_message", |world| {
        let message = (world.rank() == 0).then_some(Treacherous::Written);
        drop(world.process_at_rank(0).broadcast_message(message));
    }),
    ("gather_vec", |world| drop(world.process_at_rank(0).gather_vec(&Treacherous::Written))),
    ("scatter_message", |world| {
        let all = [Treacherous::Written; 2];
        drop(world.process_at_rank(0).scatter_message((world.rank() == 0).then_some(&all[..])));
    }),
    ("all_gather_vec", |world| drop(world.all_gather_vec(&Treacherous::Written))),
    ("all_to_all_vec", |world| drop(world.all_to_all_vec(&[Treacherous::Written; 2]))),
    ("all_reduce_with", |world| {
        let _ = world.all_reduce_with(&1u64, |a, b| {
            finalize();
            a + b
        });
    }),
    ("scan_with", |world| {
        let _ = world.scan_with(&1u64, |a, b| {
            finalize();
            a + b
        });
    }),
    ("reduce_with", |world| {
        let _ = world.process_at_rank(0).reduce_with(&1u64, |a, b| {
            finalize();
            a + b
        });
    }),
    ("clone of a value", |world| {
        let mut into = [Cloned(0)];
        drop(world.all_reduce_into_with(&[Cloned(1)], &mut into, |a, b| Cloned(a.0 + b.0)));
    }),
    ("window", |world| drop(window(world, &mut [1u64; 2], |_| finalize()))),
    ("fence", |world| {
        let _ = window(world, &mut [1u64; 2], |window| window.fence(|_| finalize()));
    }),
    ("passive_window", |world| {
        let _ = passive_window(world, &mut [1u64; 2], |window| window.lock(Lock::Shared, 0, |_| finalize()));
    }),
];

/// Prints the names of the cases.
pub fn names() {
    let names: Vec<_> = CASES.iter().map(|(name, _)| *name).collect();
    println!("{}", names.join(","));
}

/// Runs the case that the second argument names, in which MPI ends. The program must end before this function
/// does.
pub fn within() {
    let name = std::env::args().nth(2).expect("the name of a case");
    let (_, case) = CASES.iter().find(|(known, _)| *known == name).expect("a known case");
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    UNIVERSE.set(Some(universe));
    case(&world);
    // A rank that ran no such code waits until the other one has ended the job.
    world.barrier();
}
