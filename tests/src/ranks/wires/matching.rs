//! Random programs of sends and receives, whose outcome is determined by MPI's rules of order and matching
//! (MPI 4.1 section 3.5). The calls of this library, with plain calls between them, must have this outcome.
//!
//! A program is made from a seed, the same on all ranks. Its receives are matched in advance: each takes the
//! first message that is left from its source with its tag, in the order in which the receives are posted.
//! For a single source, the match does not depend on time. Receives from any source are made only in programs
//! in which one rank sends.

use dtype_runtime::{MpiDatatype, Wire, traits::*, wire};
use dtype_tests::is_long;
use mpi::{
    point_to_point::Status,
    request::{LocalScope, scope},
    topology::{AnyProcess, Process, SimpleCommunicator},
    traits::*,
};

/// A struct that the compiler reorders: it has no padding, but its packed bytes have another order than its
/// bytes in memory.
#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
struct Mixed {
    first: u16,
    second: u32,
    third: u16,
}

/// A pseudorandom number generator (xorshift*).
struct Random(u64);

impl Random {
    fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.below(i + 1));
        }
    }
}

/// The order of the calls in a program, in which no rank waits forever.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Style {
    /// Immediate sends first, then all receives.
    Started,
    /// Immediate receives first, then blocking sends.
    Posted,
    /// One message after another, in the same order on all ranks.
    Ordered,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    from: i32,
    to: i32,
    tag: i32,
    /// The number of bytes, or of `Mixed` values.
    count: usize,
    is_mixed: bool,
    /// The wire, or `None` for a plain call.
    wire: Option<Wire>,
    immediately: bool,
    which: u64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum How {
    Waiting,
    Immediate,
    Plain,
    PlainImmediate,
    Probed,
}

#[derive(Clone, Copy, Debug)]
struct Receive {
    source: Option<i32>,
    tag: Option<i32>,
    how: How,
    message: Message,
}

struct Program {
    style: Style,
    /// The messages, in the order in which they are sent.
    messages: Vec<Message>,
    /// `true` if a receive may be from any source, so that no other program may run at the same time.
    alone: bool,
}

impl Message {
    fn on_segments(&self) -> bool {
        self.wire == Some(Wire::Segments)
    }

    fn bytes(&self) -> Vec<u8> {
        (0..self.count).map(|i| (i as u64 ^ self.which.wrapping_mul(31) ^ (i as u64 >> 8)) as u8).collect()
    }

    fn mixed(&self) -> Vec<Mixed> {
        let value = |i: usize| {
            let number = (i as u64).wrapping_mul(0x9E37_79B9).wrapping_add(self.which);
            Mixed { first: number as u16, second: (number >> 8) as u32, third: !(number as u16) }
        };
        (0..self.count).map(value).collect()
    }
}

impl Program {
    fn new(seed: u64, ranks: i32, tags: &[i32]) -> Self {
        let mut random = Random::of(seed);
        let style = match random.below(if ranks == 1 { 2 } else { 3 }) {
            0 => Style::Started,
            1 => Style::Posted,
            _ => Style::Ordered,
        };
        let one_sends = random.one_in(3);
        let sender = random.below(ranks as usize) as i32;
        let messages = (0..=random.below(9)).map(|i| {
            let from = if one_sends { sender } else { random.below(ranks as usize) as i32 };
            let to = match random.below(ranks as usize) as i32 {
                to if to == from && style == Style::Ordered => (from + 1) % ranks,
                to => to,
            };
            let wire = match random.below(8) {
                0 => None,
                1 => Some(Wire::Typed),
                2 | 3 => Some(Wire::Auto),
                4 if style != Style::Posted => Some(Wire::Segments),
                _ => Some(Wire::Packed),
            };
            Message {
                from,
                to,
                tag: tags[random.below(tags.len())],
                count: size(&mut random),
                is_mixed: random.one_in(3),
                wire,
                immediately: style == Style::Started,
                which: seed.wrapping_mul(100) + i as u64,
            }
        });
        let messages = messages.collect();
        Self { style, messages, alone: one_sends }
    }

    /// Returns the receives of a rank, in the order in which they are posted.
    fn receives(&self, seed: u64, rank: i32, any_tag: bool) -> Vec<Receive> {
        let incoming: Vec<Message> =
            self.messages.iter().filter(|message| message.to == rank).copied().collect();
        let mut random = Random::of(seed ^ (rank as u64 + 77) << 32);
        for wildcards in [true, false] {
            let mut targets = incoming.clone();
            if self.style != Style::Ordered {
                random.shuffle(&mut targets);
            }
            let mut left = incoming.clone();
            let receives = targets.iter().map(|target| {
                let source = (!(wildcards && self.alone && random.one_in(2))).then_some(target.from);
                let tag = (!(wildcards && any_tag && random.one_in(3))).then_some(target.tag);
                let first = left.iter().position(|message| {
                    message.on_segments() == target.on_segments()
                        && source.is_none_or(|source| source == message.from)
                        && tag.is_none_or(|tag| tag == message.tag)
                })?;
                let message = left.remove(first);
                Some(Receive { source, tag, how: self.how(&message, &mut random), message })
            });
            if let Some(receives) = receives.collect() {
                return receives;
            }
        }
        unreachable!("receives without wildcards take all messages")
    }

    fn how(&self, message: &Message, random: &mut Random) -> How {
        if message.on_segments() {
            return How::Waiting;
        }
        // MPICH 4 and 5 report an error if a plain call receives a long packed message of structs.
        let is_plain =
            !message.is_mixed || message.count < 500 || matches!(message.wire, None | Some(Wire::Typed));
        match (random.below(8), self.style) {
            (0, Style::Posted) | (1, _) if is_plain => How::PlainImmediate,
            (_, Style::Posted) | (3..=5, _) => How::Immediate,
            (0, _) if is_plain => How::Plain,
            (2, _) if is_plain => How::Probed,
            _ => How::Waiting,
        }
    }
}

/// Returns a random size: mostly a small one, sometimes one near a possible threshold.
fn size(random: &mut Random) -> usize {
    const THRESHOLDS: [usize; 12] =
        [64, 1024, 4000, 4096, 8192, 16_384, 32_768, 65_536, 131_040, 131_072, 262_144, 524_288];
    match random.below(100) {
        0..70 => random.below(300),
        70..74 => 0,
        74..98 => {
            let small = THRESHOLDS.len() - if random.one_in(8) { 0 } else { 5 };
            THRESHOLDS[random.below(small)] + random.below(5) - 2
        }
        _ => random.below(700_000),
    }
}

/// The values of a message, at the sender or at the receiver.
enum Room {
    Bytes(Vec<u8>),
    Mixed(Vec<Mixed>),
}

/// Evaluates a call for either kind of values.
macro_rules! either {
    ($room:expr, |$values:ident| $call:expr) => {
        match $room {
            Room::Bytes($values) => $call,
            Room::Mixed($values) => $call,
        }
    };
}

impl Room {
    fn of(message: &Message) -> Self {
        if message.is_mixed {
            Self::Mixed(vec![Mixed::default(); message.count])
        } else {
            Self::Bytes(vec![0; message.count])
        }
    }

    fn full(message: &Message) -> Self {
        if message.is_mixed { Self::Mixed(message.mixed()) } else { Self::Bytes(message.bytes()) }
    }

    fn has_come(&self, message: &Message) -> bool {
        match self {
            Self::Bytes(bytes) => *bytes == message.bytes(),
            Self::Mixed(values) => *values == message.mixed(),
        }
    }
}

/// The source of a receive.
enum From<'a> {
    One(Process<'a>),
    Any(AnyProcess<'a>),
}

type Pending<'a> = Box<dyn FnOnce() -> Option<Status> + 'a>;

/// Receives with the call that `receive` names. Returns an immediate receive as an error, to be completed
/// later.
fn receive<'a, S: Source>(
    from: &S,
    receive: &Receive,
    room: &'a mut Room,
    scope: &'a LocalScope<'a>,
    polls: bool,
) -> Result<Status, Pending<'a>> {
    // SAFETY: a constant of the library.
    let tag = receive.tag.unwrap_or(unsafe { mpi::ffi::RSMPI_ANY_TAG });
    let wire = receive.message.wire.unwrap_or_default();
    match receive.how {
        How::Waiting => Ok(either!(room, |values| from.receive_over_with_tag(wire, values, tag).unwrap())),
        How::Plain => Ok(either!(room, |values| from.receive_into_with_tag(&mut values[..], tag))),
        How::Probed => Ok(either!(room, |values| {
            let (message, _) = from.matched_probe_with_tag(tag);
            message.matched_receive_into(&mut values[..])
        })),
        How::PlainImmediate => Err(either!(room, |values| {
            let request = from.immediate_receive_into_with_tag(scope, &mut values[..], tag);
            Box::new(move || Some(request.wait()))
        })),
        How::Immediate => Err(either!(room, |values| {
            let mut request = from.immediate_receive_values_into_with_tag(scope, values, tag).unwrap();
            Box::new(move || {
                while polls && !request.is_done().unwrap() {
                    std::thread::yield_now();
                }
                Some(request.wait().unwrap())
            })
        })),
    }
}

/// Sends with the call that the message names. Returns an immediate send, to be completed later.
fn send<'a>(
    to: &Process<'_>,
    message: &Message,
    room: &'a Room,
    scope: &'a LocalScope<'a>,
) -> Option<Pending<'a>> {
    let tag = message.tag;
    match (message.wire, message.immediately) {
        (Some(wire), false) => {
            either!(room, |values| to.send_over_with_tag(wire, values, tag).unwrap());
            None
        }
        (Some(wire), true) => Some(either!(room, |values| {
            let request = to.immediate_send_over_with_tag(scope, wire, values, tag).unwrap();
            Box::new(move || {
                request.wait().unwrap();
                None
            })
        })),
        (None, false) => {
            either!(room, |values| to.send_with_tag(&values[..], tag));
            None
        }
        (None, true) => Some(either!(room, |values| {
            let request = to.immediate_send_with_tag(scope, &values[..], tag);
            Box::new(move || {
                request.wait_without_status();
                None
            })
        })),
    }
}

/// Runs a program, and checks that every receive has the right message.
fn run(world: &SimpleCommunicator, seed: u64, tags: &[i32], any_tag: bool) {
    let rank = world.rank();
    let program = Program::new(seed, world.size(), tags);
    if program.alone {
        world.barrier();
    }
    let receives = program.receives(seed, rank, any_tag);
    let sent: Vec<Message> =
        program.messages.iter().filter(|message| message.from == rank).copied().collect();
    let full: Vec<Room> = sent.iter().map(Room::full).collect();
    let mut rooms: Vec<Room> = receives.iter().map(|receive| Room::of(&receive.message)).collect();
    let mut random = Random::of(seed ^ rank as u64);
    scope(|scope| {
        // Requests borrow the scope for as long as their buffers live.
        // SAFETY: all requests are completed before this closure ends.
        let scope: &LocalScope<'_> = unsafe { &*std::ptr::from_ref(scope) };
        let mut pending: Vec<(Pending<'_>, Option<&Receive>)> = Vec::new();
        let (mut to_send, mut to_receive) = (sent.iter().zip(&full), receives.iter().zip(&mut rooms));
        let mut send_next = |pending: &mut Vec<_>| {
            if let Some((message, room)) = to_send.next() {
                let begun = send(&world.process_at_rank(message.to), message, room, scope);
                pending.extend(begun.map(|begun| (begun, None)));
            }
        };
        let mut receive_next = |pending: &mut Vec<_>, polls| {
            if let Some((expected, room)) = to_receive.next() {
                let from = expected.source.map_or_else(
                    || From::Any(world.any_process()),
                    |source| From::One(world.process_at_rank(source)),
                );
                let result = match &from {
                    From::One(from) => receive(from, expected, room, scope, polls),
                    From::Any(from) => receive(from, expected, room, scope, polls),
                };
                match result {
                    Ok(status) => check_status(&status, expected, seed),
                    Err(begun) => pending.push((begun, Some(expected))),
                }
            }
        };
        match program.style {
            Style::Started => {
                for _ in &sent {
                    send_next(&mut pending);
                }
                for _ in &receives {
                    receive_next(&mut pending, random.one_in(2));
                }
            }
            Style::Posted => {
                for _ in &receives {
                    receive_next(&mut pending, random.one_in(2));
                }
                for _ in &sent {
                    send_next(&mut pending);
                }
            }
            Style::Ordered => {
                for message in &program.messages {
                    if message.from == rank {
                        send_next(&mut pending);
                    }
                    if message.to == rank {
                        receive_next(&mut pending, false);
                    }
                }
            }
        }
        random.shuffle(&mut pending);
        for (complete, expected) in pending {
            if let (Some(status), Some(expected)) = (complete(), expected) {
                check_status(&status, expected, seed);
            }
        }
    });
    for (receive, room) in receives.iter().zip(&rooms) {
        assert!(room.has_come(&receive.message), "program {seed}, {:?}: {receive:?}", program.style);
    }
    if program.alone {
        world.barrier();
    }
}

fn check_status(status: &Status, receive: &Receive, seed: u64) {
    let Message { from, tag, .. } = receive.message;
    assert_eq!((status.source_rank(), status.tag()), (from, tag), "program {seed}: {receive:?}");
}

/// Returns the number of programs to run: many with `DTYPE_LONG=1`, and fewer if messages are checked.
fn programs() -> u64 {
    match std::env::var_os("DTYPE_CHECK") {
        _ if is_long() => 34_000,
        None => 600,
        Some(_) => 200,
    }
}

/// Runs random programs on one thread.
pub fn matching(world: &SimpleCommunicator) {
    wire::attach(world).unwrap();
    for seed in 0..programs() {
        run(world, seed, &[0, 1, 2], true);
    }
}

/// Runs random programs on several threads at a time. Some threads have a communicator of their own; the
/// others share one and use tags of their own.
pub fn matching_of_threads() {
    let (universe, threading) =
        mpi::initialize_with_threading(mpi::Threading::Multiple).expect("MPI is initialized once");
    assert_eq!(threading, mpi::Threading::Multiple);
    let world = universe.world();
    wire::attach(&world).unwrap();
    for threads in 1..=4u64 {
        let own: Vec<SimpleCommunicator> = (0..threads).map(|_| world.duplicate()).collect();
        for own in &own {
            wire::attach(own).unwrap();
        }
        std::thread::scope(|scope| {
            for (thread, own) in (0..threads).zip(&own) {
                let own = Shared(own);
                scope.spawn(move || {
                    let own = own.get();
                    let world = SimpleCommunicator::world();
                    let tag = 10 * thread as i32 + 10;
                    for i in 0..programs() / 12 {
                        let seed = 1_000_000 * (10 * threads + thread + 1) + i;
                        if thread % 2 == 0 {
                            run(own, seed, &[0, 1, 2], true);
                        } else {
                            run_without_barriers(&world, seed, &[tag, tag + 1]);
                        }
                    }
                });
            }
        });
    }
    drop(universe);
}

/// Runs a program on a communicator that other threads use as well.
fn run_without_barriers(world: &SimpleCommunicator, seed: u64, tags: &[i32]) {
    // Programs in which only one rank sends are left out, because their receives may be from any source.
    let mut seed = seed * 7;
    while Program::new(seed, world.size(), tags).alone {
        seed += 1;
    }
    run(world, seed, tags, false);
}

/// A communicator that may be sent to another thread.
pub struct Shared<'a>(pub &'a SimpleCommunicator);

// SAFETY: MPI was initialized for several threads, and a communicator names an object of the process.
unsafe impl Send for Shared<'_> {}

impl<'a> Shared<'a> {
    pub fn get(self) -> &'a SimpleCommunicator {
        self.0
    }
}
