//! Programs that end MPI inside of a call: in a closure, in `write` or `read` of a message, in `clone`,
//! `drop` or `default` of a value. Each of them ends with a message, and none hangs or crashes.

use std::cell::RefCell;

use dtype_runtime::{
    Comm, Error, FromMessage, MpiDatatype, MpiMessage, Pending,
    comm::Lock,
    message::{Fingerprint, Reader, Writer},
};
use mpi::{environment::Universe, traits::*};

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
type Case = (&'static str, fn(&Comm));

/// The calls. Each runs on two ranks. If only one rank runs code that ends MPI, the other one waits for it.
const CASES: &[Case] = &[
    ("send", |world| match world.rank() {
        0 => drop(world.peer(1).send(&Treacherous::Written)),
        _ => drop(world.peer(0).receive::<Option<u8>>()),
    }),
    ("synchronous send", |world| match world.rank() {
        0 => drop(world.peer(1).synchronous().send(&Treacherous::Written)),
        _ => drop(world.peer(0).receive::<Option<u8>>()),
    }),
    ("start and send", |world| match world.rank() {
        0 => drop(world.peer(1).start().send(&Treacherous::Written)),
        _ => drop(world.peer(0).receive::<Option<u8>>()),
    }),
    ("receive", |world| match world.rank() {
        0 => drop(world.peer(1).send(&Treacherous::Read)),
        _ => drop(world.peer(0).receive::<Treacherous>()),
    }),
    ("receive from any rank", |world| match world.rank() {
        0 => drop(world.peer(1).send(&Treacherous::Read)),
        _ => drop(world.any().receive::<Treacherous>()),
    }),
    ("receive_into", |world| match world.rank() {
        0 => drop(world.peer(1).send(&Treacherous::Read)),
        _ => drop(world.peer(0).receive_into(&mut Treacherous::Read)),
    }),
    ("try_receive", |world| match world.rank() {
        0 => drop(world.peer(1).send(&Treacherous::Read)),
        _ => while matches!(world.peer(0).try_receive::<Treacherous>(), Ok(None)) {},
    }),
    ("start and receive", |world| match world.rank() {
        0 => drop(world.peer(1).send(&Treacherous::Read)),
        _ => drop(world.peer(0).start().receive::<Treacherous>().map(|pending| pending.finish().err())),
    }),
    ("start and receive_into", |world| {
        let mut place = Treacherous::Read;
        match world.rank() {
            0 => drop(world.peer(1).send(&Treacherous::Read)),
            _ => drop(world.peer(0).start().receive_into(&mut place).map(Pending::finish)),
        }
    }),
    ("prepare and send", |world| match world.rank() {
        0 => drop(world.peer(1).prepare().send(&Treacherous::Written)),
        _ => drop(world.peer(0).receive::<Option<u8>>()),
    }),
    ("prepare and receive_into", |world| {
        if world.rank() == 0 {
            drop(world.peer(1).send(&Treacherous::Read));
        } else {
            let prepared = world.peer(0).prepare().receive_into(&Treacherous::Read);
            drop(prepared.map(|mut prepared| prepared.run(&mut Treacherous::Read)));
        }
    }),
    ("receive of values", |world| match world.rank() {
        0 => drop(world.peer(1).send(&[1u64, 2])),
        _ => drop(world.peer(0).receive::<Vec<Defaulted>>().map(|values| values[0].value)),
    }),
    ("drop of a value", |world| {
        let mut kept = vec![Dropped::default()];
        if world.rank() == 0 {
            std::mem::forget(kept);
            drop(world.peer(1).send(&Vec::<Dropped>::new()));
        } else {
            drop(world.peer(0).receive_into(&mut kept));
        }
    }),
    ("swap", |world| drop(world.peer(1 - world.rank()).swap(&mut Treacherous::Written))),
    ("exchange", |world| {
        let other = 1 - world.rank();
        drop(world.exchange([(other, &Treacherous::Written)], [(other, &mut Treacherous::Read)]));
    }),
    ("scope", |world| {
        let _ = world.scope(|_| {
            finalize();
            Ok(())
        });
    }),
    ("send in a scope", |world| match world.rank() {
        0 => drop(world.scope(|scope| scope.peer(1).send(&Treacherous::Written))),
        _ => drop(world.peer(0).receive::<Option<u8>>()),
    }),
    ("receive_into in a scope", |world| {
        let mut place = Treacherous::Read;
        match world.rank() {
            0 => drop(world.peer(1).send(&Treacherous::Read)),
            _ => drop(world.scope(|scope| scope.peer(0).receive_into(&mut place))),
        }
    }),
    ("broadcast", |world| drop(world.broadcast(0, (world.rank() == 0).then_some(Treacherous::Written)))),
    ("broadcast_into", |world| drop(world.broadcast_into(0, &mut Treacherous::Written))),
    ("gather", |world| drop(world.gather(0, &Treacherous::Written))),
    ("gather_into", |world| {
        let mut all = vec![Treacherous::Read; 2];
        drop(world.gather_into(0, &Treacherous::Written, (world.rank() == 0).then_some(&mut all)));
    }),
    ("scatter", |world| {
        let all = [Treacherous::Written; 2];
        drop(world.scatter(0, (world.rank() == 0).then_some(&all[..])));
    }),
    ("scatter_into", |world| {
        let all = [Treacherous::Written; 2];
        drop(world.scatter_into(0, (world.rank() == 0).then_some(&all), &mut Treacherous::Read));
    }),
    ("all_gather", |world| drop(world.all_gather(&Treacherous::Written))),
    ("all_gather_into", |world| {
        drop(world.all_gather_into(&Treacherous::Written, &mut vec![Treacherous::Read; 2]));
    }),
    ("all_to_all", |world| drop(world.all_to_all(&[Treacherous::Written; 2]))),
    ("all_to_all_into", |world| {
        drop(world.all_to_all_into(&[Treacherous::Written; 2], &mut [Treacherous::Read; 2]));
    }),
    ("start and all_to_all_into", |world| {
        let mut places = [Treacherous::Read; 2];
        drop(world.start().all_to_all_into(&[Treacherous::Written; 2], &mut places).map(Pending::finish));
    }),
    ("all_gather of neighbours", |world| {
        let pair = world.graph(&[0, 1], &[0, 1]);
        drop(pair.map(|pair| pair.neighbours().all_gather(&Treacherous::Written).err()));
    }),
    ("all_to_all_into of neighbours", |world| {
        let (pair, mut places) = (world.graph(&[0, 1], &[0, 1]), [Treacherous::Read; 2]);
        drop(pair.map(|pair| pair.neighbours().all_to_all_into(&[Treacherous::Written; 2], &mut places)));
    }),
    ("all_reduce", |world| {
        let _ = world.all_reduce(&1u64, |a, b| {
            finalize();
            a + b
        });
    }),
    ("all_reduce_into", |world| {
        let _ = world.all_reduce_into(&[1u64], &mut [0], |a, b| {
            finalize();
            a + b
        });
    }),
    ("scan", |world| {
        let _ = world.scan(&1u64, |a, b| {
            finalize();
            a + b
        });
    }),
    ("reduce", |world| {
        let _ = world.reduce(0, &1u64, |a, b| {
            finalize();
            a + b
        });
    }),
    ("clone of a value", |world| {
        let mut into = [Cloned(0)];
        drop(world.all_reduce_into(&[Cloned(1)], &mut into, |a, b| Cloned(a.0 + b.0)));
    }),
    ("window", |world| {
        let _ = world.window(&mut [1u64; 2], |_| {
            finalize();
            Ok(())
        });
    }),
    ("fence", |world| {
        let _ = world.window(&mut [1u64; 2], |window| {
            window.fence(|_| {
                finalize();
                Ok(())
            })
        });
    }),
    ("passive_window", |world| {
        let _ = world.passive_window(&mut [1u64; 2], |window| {
            window.lock(Lock::Shared, 0, |_| {
                finalize();
                Ok(())
            })
        });
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
    let world = Comm::from(universe.world());
    UNIVERSE.set(Some(universe));
    case(&world);
    // A rank that ran no such code waits until the other one has ended the job.
    world.barrier();
}
