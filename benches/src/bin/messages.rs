//! `cargo xtask bench messages`: half a ping-pong of messages of any shape and unknown length, against the
//! code that a user would write, and on four ranks the exchange of vectors.

use std::{cell::RefCell, ops::Deref, time::Duration};

use clap::Parser;
use dtype_benches::{
    journeys::{Arguments, Direction, Effort, rounds},
    measure::{Medians, print},
    shapes::{Log, log},
};
use dtype_runtime::{
    Comm, FromMessage, MpiDatatype, Wire,
    message::{from_bytes, to_bytes},
};
use mpi::{Count, datatype::PartitionMut, topology::SimpleCommunicator, traits::*};

/// Times messages.
#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

/// Half of a round trip in one way: sends or receives.
type Way<'a> = (&'static str, Box<dyn Fn(Direction) + 'a>);

#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Particle {
    position: [f64; 3],
    velocity: [f64; 3],
    id: u64,
    weight: f64,
}

/// A struct with padding, which is packed.
#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Mixed {
    flag: bool,
    value: f64,
    level: i16,
    weight: f32,
}

/// Returns the ways to send a value as one message of bytes: ours, and other codecs.
macro_rules! codecs {
    ($peer:ident, $other:ident, $value:ident, $type:ty) => {{
        let peer = $peer;
        let other = &$other;
        let value = &$value;
        let ours: Way<'_> = (
            "ours",
            either(move || peer.send(value).unwrap(), move || taken(peer.receive::<$type>().unwrap())),
        );
        let to_bytes = |value: &$type| to_bytes(value).unwrap();
        let to_wincode = |value: &$type| wincode::serialize(value).unwrap();
        let to_rkyv = |value: &$type| rkyv::to_bytes::<rkyv::rancor::Error>(value).unwrap();
        let to_postcard = |value: &$type| postcard::to_allocvec(value).unwrap();
        let from_rkyv = |bytes: &[u8]| {
            let mut aligned = rkyv::util::AlignedVec::<16>::new();
            aligned.extend_from_slice(bytes);
            rkyv::from_bytes::<$type, rkyv::rancor::Error>(&aligned).unwrap()
        };
        vec![
            ours,
            codec("to_bytes", other, value, to_bytes, |bytes| from_bytes(bytes).unwrap()),
            codec("wincode", other, value, to_wincode, |bytes| wincode::deserialize(bytes).unwrap()),
            codec("bitcode", other, value, bitcode::encode, |bytes| bitcode::decode(bytes).unwrap()),
            codec("rkyv", other, value, to_rkyv, from_rkyv),
            codec("postcard", other, value, to_postcard, |bytes| postcard::from_bytes(bytes).unwrap()),
        ]
    }};
}

/// Returns the way that sends a value as the bytes of a codec.
fn codec<'a, T, B: Deref<Target = [u8]>>(
    name: &'static str,
    other: &'a (impl Destination + Source),
    value: &'a T,
    to_bytes: impl Fn(&T) -> B + 'a,
    from_bytes: impl Fn(&[u8]) -> T + 'a,
) -> Way<'a> {
    let receive = move || taken(from_bytes(&other.receive_vec::<u8>().0));
    (name, either(move || other.send(&to_bytes(value)[..]), receive))
}

struct Bench {
    arguments: Arguments,
    world: SimpleCommunicator,
}

fn main() {
    let Command { arguments } = Command::parse();
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    let bench = Bench { arguments, world };
    match bench.world.size() {
        2 => bench.two_ranks(),
        _ => bench.exchange(),
    }
}

impl Bench {
    fn measure(&self, case: String, ways: &[Way<'_>]) {
        self.measure_batches(4, case, ways);
    }

    /// Measures batches of round trips: the shorter they are, the more a batch must have.
    fn measure_batches(&self, batch: usize, case: String, ways: &[Way<'_>]) {
        let quick = self.arguments.options.quick;
        if !case.starts_with(&self.arguments.only) {
            return;
        }
        let effort = Effort {
            runs: if quick { 9 } else { 41 },
            at_least: Duration::from_millis(if quick { 200 } else { 1500 }),
            at_most: Duration::from_secs(20),
            batch,
        };
        let times = rounds(&self.world, ways.len(), &effort, |way, direction| ways[way].1(direction));
        if self.world.rank() == 0 {
            let all = ways.iter().zip(times).map(|((name, _), times)| (*name, times, None));
            let mut row = Medians::of(all).row("messages", case, "ours");
            row.library.clone_from(&self.arguments.library);
            print(&row, &self.arguments.options);
        }
    }

    fn two_ranks(&self) {
        self.many_vectors();
        self.one_vector();
        for values in [16, 1024, 16_384] {
            self.unknown::<Particle>("particle", values);
            self.unknown::<Mixed>("mixed", values);
        }
        self.log();
        for (values, batch) in [(1, 500), (128, 200), (8192, 20), (131_072, 4)] {
            self.beside_plain(values, batch);
        }
    }

    /// 1,024 vectors, 1 MiB in all.
    fn many_vectors(&self) {
        let other = self.world.process_at_rank(1 - self.world.rank());
        let comm = Comm::from(&self.world);
        let peer = comm.peer(1 - comm.rank());
        let value = vec![vec![0.5f64; 128]; 1024];
        let contiguous = || {
            let flat: Vec<f64> = value.concat();
            other.send(&flat[..]);
        };
        let mut ways = codecs!(peer, other, value, Vec<Vec<f64>>);
        ways.extend([
            (
                "by hand",
                either(contiguous, || {
                    let mut flat = vec![0.0f64; 128 * 1024];
                    other.receive_into(&mut flat[..]);
                    taken(flat.chunks_exact(128).map(<[f64]>::to_vec).collect::<Vec<_>>());
                }),
            ),
            (
                "a message each",
                either(
                    || value.iter().for_each(|one| other.send(&one[..])),
                    || taken((0..1024).map(|_| other.receive_vec::<f64>().0).collect::<Vec<_>>()),
                ),
            ),
        ]);
        self.measure("vectors/1024".to_owned(), &ways);
    }

    /// One vector of 64 MiB: into new memory and into old memory.
    fn one_vector(&self) {
        const COUNT: usize = 8 << 20;
        let other = self.world.process_at_rank(1 - self.world.rank());
        let comm = Comm::from(&self.world);
        let peer = comm.peer(1 - comm.rank());
        let value = vec![0.5f64; COUNT];
        let old = RefCell::new(vec![0.0f64; COUNT + 8]);
        let plain = RefCell::new(vec![0.0f64; COUNT]);
        let ways: Vec<Way<'_>> = vec![
            (
                "ours",
                either(|| peer.send(&value).unwrap(), || peer.receive_into(&mut *old.borrow_mut()).unwrap()),
            ),
            (
                "plain",
                either(
                    || other.send(&value[..]),
                    || {
                        other.receive_into(&mut plain.borrow_mut()[..]);
                    },
                ),
            ),
        ];
        self.measure("vector/64-MiB/in-place".to_owned(), &ways);
        let ways: Vec<Way<'_>> = vec![
            ("ours", either(|| peer.send(&value).unwrap(), || taken(peer.receive::<Vec<f64>>().unwrap()))),
            (
                "values",
                either(
                    || peer.wire(Wire::Packed).send(&value).unwrap(),
                    || taken(peer.receive::<Vec<f64>>().unwrap()),
                ),
            ),
            (
                "plain",
                either(
                    || other.send(&value[..]),
                    || {
                        let mut new = vec![0.0f64; COUNT];
                        other.receive_into(&mut new[..]);
                        taken(new);
                    },
                ),
            ),
            ("rsmpi", either(|| other.send(&value[..]), || taken(other.receive_vec::<f64>()))),
        ];
        self.measure("vector/64-MiB/new".to_owned(), &ways);
    }

    /// Numbers that MPI moves as they lie: both calls are ours, or only one, or both are those of rsmpi.
    fn beside_plain(&self, count: usize, batch: usize) {
        let other = self.world.process_at_rank(1 - self.world.rank());
        let comm = Comm::from(&self.world);
        let peer = comm.peer(1 - comm.rank());
        let values = vec![0.5f64; count];
        let [ours, plain] = [(), ()].map(|()| RefCell::new(vec![0.0f64; count]));
        let send = || peer.send(&values[..]).unwrap();
        let send_plain = || other.send(&values[..]);
        let receive = || peer.receive_into(&mut ours.borrow_mut()[..]).map(drop).unwrap();
        let receive_plain = || {
            other.receive_into(&mut plain.borrow_mut()[..]);
        };
        let ways: Vec<Way<'_>> = vec![
            ("ours", either(send, receive)),
            ("our send", either(send, receive_plain)),
            ("our receive", either(send_plain, receive)),
            ("our vector", either(send, || taken(peer.receive::<Vec<f64>>().unwrap()))),
            ("plain", either(send_plain, receive_plain)),
        ];
        self.measure_batches(batch, format!("plain/{}-B", 8 * count), &ways);
    }

    /// Values of unknown number, against values of known number.
    fn unknown<T>(&self, name: &str, count: usize)
    where
        T: MpiDatatype + FromMessage + Clone + Default + Equivalence,
    {
        let other = self.world.process_at_rank(1 - self.world.rank());
        let comm = Comm::from(&self.world);
        let peer = comm.peer(1 - comm.rank());
        let value = vec![T::default(); count];
        // A message in the format of owned values.
        let owned = Some(value.clone());
        let send = || peer.send(&value).unwrap();
        let ways: Vec<Way<'_>> = vec![
            ("ours", either(send, || taken(peer.receive::<Vec<T>>().unwrap()))),
            (
                "known",
                either(send, || {
                    let mut new = vec![T::default(); count];
                    peer.receive_into(&mut new[..]).unwrap();
                    taken(new);
                }),
            ),
            (
                "message",
                either(|| peer.send(&owned).unwrap(), || taken(peer.receive::<Option<Vec<T>>>().unwrap())),
            ),
            ("rsmpi", either(|| other.send(&value[..]), || taken(other.receive_vec::<T>()))),
        ];
        let bytes = size_of::<T>() * count;
        self.measure(format!("unknown/{name}/{bytes}-B"), &ways);
    }

    fn log(&self) {
        let other = self.world.process_at_rank(1 - self.world.rank());
        let comm = Comm::from(&self.world);
        let peer = comm.peer(1 - comm.rank());
        let value = log(1000, 1);
        let ways = codecs!(peer, other, value, Log);
        self.measure("log/1000".to_owned(), &ways);
    }

    /// Vectors of different lengths from each rank to each rank.
    fn exchange(&self) {
        let (world, size) = (&self.world, self.world.size() as usize);
        let comm = Comm::from(world);
        for most in [16, 1000, 30_000] {
            let leaving: Vec<Vec<Particle>> = (0..size)
                .map(|to| vec![Particle::default(); most * (1 + (to + world.rank() as usize) % size) / size])
                .collect();
            let by_hand = || {
                let counts: Vec<Count> = leaving.iter().map(|values| values.len() as Count).collect();
                let mut counts_in = vec![0 as Count; size];
                world.all_to_all_into(&counts, &mut counts_in);
                let starts = |counts: &[Count]| -> Vec<Count> {
                    counts
                        .iter()
                        .scan(0, |end, count| {
                            let start = *end;
                            *end += count;
                            Some(start)
                        })
                        .collect()
                };
                let (starts_out, starts_in) = (starts(&counts), starts(&counts_in));
                let all: Vec<Particle> = leaving.concat();
                let mut arrived = vec![Particle::default(); counts_in.iter().sum::<Count>() as usize];
                {
                    let from = mpi::datatype::Partition::new(&all[..], &counts[..], &starts_out[..]);
                    let mut to = PartitionMut::new(&mut arrived[..], &counts_in[..], &starts_in[..]);
                    world.all_to_all_varcount_into(&from, &mut to);
                }
                let one =
                    |(start, count): (&Count, &Count)| arrived[*start as usize..][..*count as usize].to_vec();
                taken(starts_in.iter().zip(&counts_in).map(one).collect::<Vec<_>>());
            };
            let ways: Vec<Way<'_>> = vec![
                ("ours", once(|| taken(comm.all_to_all(&leaving).unwrap()))),
                ("by hand", once(by_hand)),
            ];
            self.measure(format!("all-to-all/Particle/{most}"), &ways);
        }
    }
}

/// Returns a way that sends in one half of a round trip, and receives in the other.
fn either<'a>(send: impl Fn() + 'a, receive: impl Fn() + 'a) -> Box<dyn Fn(Direction) + 'a> {
    Box::new(move |direction| match direction {
        Direction::There => send(),
        Direction::Back => receive(),
    })
}

/// Returns a way that makes a collective call in each half.
fn once<'a>(call: impl Fn() + 'a) -> Box<dyn Fn(Direction) + 'a> {
    Box::new(move |_| call())
}

fn taken<T>(value: T) {
    drop(std::hint::black_box(value));
}
