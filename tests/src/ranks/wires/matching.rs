//! Random programs of sends and receives, whose outcome is determined by MPI's rules of order and matching
//! (MPI 4.1 section 3.5). The calls of this library, with plain calls between them, must have this outcome.
//!
//! A program is made from a seed, the same on all ranks. Its receives are matched in advance: each takes the
//! first message that is left from its source with its tag, in the order in which the receives are posted.
//! For a single source, the match does not depend on time. Receives from any source are made only in programs
//! in which one rank sends.

use dtype_runtime::{Any, Comm, FromMessage, MpiDatatype, Peer, Pending, Place, Wire, comm::Scope};
use dtype_tests::is_long;
use mpi::{
    point_to_point::Status,
    request::{LocalScope, scope},
    topology::SimpleCommunicator,
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
    /// Sends that are started first, then all receives.
    Started,
    /// Receives that are started first, then blocking sends.
    Posted,
    /// One message after another, in the same order on all ranks.
    Ordered,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    from: usize,
    to: usize,
    tag: i32,
    /// The number of bytes, or of `Mixed` values.
    count: usize,
    is_mixed: bool,
    /// The wire, or `None` for a plain call.
    wire: Option<Wire>,
    sent: Sent,
    which: u64,
}

/// The way in which a message is sent.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Sent {
    Waiting,
    Synchronous,
    Started,
    Scoped,
}

/// The way in which a message is received.
#[derive(Clone, Copy, PartialEq, Debug)]
enum How {
    /// Into a slice.
    Into,
    /// Into a vector, which takes what comes.
    IntoVec,
    /// As a new vector.
    Value,
    /// As a new vector, once it has arrived.
    Tried,
    /// Into a slice, once it has arrived.
    Probed,
    /// Into a slice, by a receive that was started.
    Started,
    /// Into a slice, by a receive of a scope.
    Scoped,
    /// Into a vector, by a receive that was started. MPI has no such receive, so calls of this library look
    /// for the message. Plain calls do not.
    StartedVec,
    ScopedVec,
    /// As a new vector, by a receive that was started.
    StartedValue,
    Plain,
    PlainStarted,
    PlainProbed,
}

#[derive(Clone, Copy, Debug)]
struct Receive {
    source: Option<usize>,
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
    /// `true` if there are no plain calls.
    pure: bool,
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
    fn new(seed: u64, ranks: usize, tags: &[i32]) -> Self {
        let mut random = Random::of(seed);
        let style = match random.below(if ranks == 1 { 2 } else { 3 }) {
            0 => Style::Started,
            1 => Style::Posted,
            _ => Style::Ordered,
        };
        let (one_sends, pure) = (random.one_in(3), random.one_in(2));
        let sender = random.below(ranks);
        let messages = (0..=random.below(9)).map(|i| {
            let from = if one_sends { sender } else { random.below(ranks) };
            let to = match random.below(ranks) {
                to if to == from && style == Style::Ordered => (from + 1) % ranks,
                to => to,
            };
            let wire = match random.below(8) {
                0 if !pure => None,
                1 => Some(Wire::Typed),
                2 | 3 => Some(Wire::Auto),
                // Segments are sent only while a call waits.
                4 if style == Style::Ordered => Some(Wire::Segments),
                _ => Some(Wire::Packed),
            };
            let sent = match (style, wire) {
                (Style::Started, None) => Sent::Started,
                // Started messages are packed. A scope sends from where the values are.
                (Style::Started, Some(Wire::Typed)) => Sent::Scoped,
                (Style::Started, Some(_)) => [Sent::Started, Sent::Scoped][random.below(2)],
                (_, Some(Wire::Typed | Wire::Packed | Wire::Auto)) if random.one_in(6) => Sent::Synchronous,
                (_, _) => Sent::Waiting,
            };
            Message {
                from,
                to,
                tag: tags[random.below(tags.len())],
                count: size(&mut random),
                is_mixed: random.one_in(3),
                wire,
                sent,
                which: seed.wrapping_mul(100) + i as u64,
            }
        });
        let messages = messages.collect();
        Self { style, messages, alone: one_sends, pure }
    }

    /// Returns the receives of a rank, in the order in which they are posted.
    fn receives(&self, seed: u64, rank: usize, any_tag: bool) -> Vec<Receive> {
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
                // If no call receives the message from any rank, its sender is named. The match is the same.
                let of_any = source.map_or_else(|| self.calls_of_any(&message), |_| Vec::new());
                let source = if of_any.is_empty() { Some(message.from) } else { None };
                let calls = if of_any.is_empty() { self.calls(&message) } else { of_any };
                Some(Receive { source, tag, how: calls[random.below(calls.len())], message })
            });
            if let Some(receives) = receives.collect() {
                return receives;
            }
        }
        unreachable!("receives without wildcards take all messages")
    }

    /// Returns the calls that receive a message from any rank.
    fn calls_of_any(&self, message: &Message) -> Vec<How> {
        let is_there = |how: &How| {
            use How::{Into, IntoVec, Plain, PlainProbed, PlainStarted, Probed, Tried, Value};
            matches!(how, Into | IntoVec | Value | Tried | Probed | Plain | PlainStarted | PlainProbed)
        };
        if message.on_segments() {
            return Vec::new();
        }
        self.calls(message).into_iter().filter(is_there).collect()
    }

    /// Returns the calls that receive a message from its sender.
    fn calls(&self, message: &Message) -> Vec<How> {
        if message.on_segments() {
            return vec![How::Into];
        }
        let mut calls = vec![How::Started, How::Scoped];
        if self.style != Style::Posted {
            calls.extend([How::Into, How::IntoVec, How::Value, How::Tried, How::Probed]);
        }
        if self.pure {
            calls.extend([How::StartedVec, How::ScopedVec, How::StartedValue]);
            return calls;
        }
        // MPICH 4 and 5 report an error if a plain call receives a long packed message of structs.
        let is_plain =
            !message.is_mixed || message.count < 500 || matches!(message.wire, None | Some(Wire::Typed));
        if is_plain {
            calls.push(How::PlainStarted);
            if self.style != Style::Posted {
                calls.extend([How::Plain, How::PlainProbed]);
            }
        }
        calls
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

/// A value of a message.
trait Value: MpiDatatype + FromMessage + Equivalence + Clone + Default {}

impl Value for u8 {}
impl Value for Mixed {}

/// The source of a receive. Its calls return the rank of the sender.
enum From<'c> {
    One(Peer<'c>),
    Any(Any<'c>),
}

impl From<'_> {
    fn receive_into<M: Place + ?Sized>(&self, place: &mut M) -> usize {
        match self {
            Self::One(peer) => {
                peer.receive_into(place).unwrap();
                peer.rank()
            }
            Self::Any(any) => any.receive_into(place).unwrap().rank(),
        }
    }

    fn receive<T: FromMessage>(&self) -> (T, usize) {
        match self {
            Self::One(peer) => (peer.receive().unwrap(), peer.rank()),
            Self::Any(any) => {
                let (value, from) = any.receive().unwrap();
                (value, from.rank())
            }
        }
    }

    fn try_receive<T: FromMessage>(&self) -> (T, usize) {
        loop {
            let found = match self {
                Self::One(peer) => peer.try_receive().unwrap().map(|value| (value, peer.rank())),
                Self::Any(any) => any.try_receive().unwrap().map(|(value, from)| (value, from.rank())),
            };
            if let Some(found) = found {
                return found;
            }
            std::thread::yield_now();
        }
    }

    /// Waits until a message has arrived. Returns its sender and its tag.
    fn probe<T: Value>(&self, count: usize) -> (Peer<'_>, i32) {
        loop {
            let found = match self {
                Self::One(peer) => peer.probe().unwrap(),
                Self::Any(any) => any.probe().unwrap(),
            };
            if let Some(arrived) = found {
                assert_eq!(arrived.count::<T>().unwrap(), count);
                return (arrived.from(), arrived.tag());
            }
            std::thread::yield_now();
        }
    }
}

/// The end of a call that was started.
type End<'s> = Box<dyn FnOnce() + 's>;

/// The communicators of the calls of a program.
struct Calls<'s, 'env> {
    world: &'env Comm<&'env SimpleCommunicator>,
    scope: &'s Scope<'s, 'env, &'env SimpleCommunicator>,
    /// The scope of plain requests.
    plain: &'s LocalScope<'s>,
    seed: u64,
}

/// Waits for a transfer, or asks until it is complete.
fn finish<T>(mut pending: Pending<'_, T>, polls: bool) -> T {
    while polls && !pending.is_done().unwrap() {
        std::thread::yield_now();
    }
    pending.finish().unwrap()
}

impl<'s> Calls<'s, '_> {
    /// Receives with the call that `receive` names. Returns the end of a receive that was started.
    fn receive<T: Value>(
        &self,
        receive: &'s Receive,
        values: &'s mut Vec<T>,
        polls: bool,
    ) -> Option<End<'s>> {
        let Self { world, scope, plain, seed } = *self;
        let Receive { source, tag, how, message } = receive;
        let named = message.from;
        let mut from = From::Any(world.any());
        let (mut peer, mut scoped) = (world.peer(named), scope.peer(named));
        if let Some(tag) = *tag {
            (peer, scoped) = (peer.tag(tag), scoped.tag(tag));
            from = From::Any(world.any().tag(tag));
        }
        if source.is_some() {
            from = From::One(peer.wire(message.wire.unwrap_or_default()));
        }
        let is_from = move |rank: usize| assert_eq!(rank, named, "program {seed}: {receive:?}");
        match how {
            How::Into => is_from(from.receive_into(&mut values[..])),
            How::IntoVec => {
                values.truncate(message.count / 2);
                is_from(from.receive_into(values));
            }
            How::Value | How::Tried => {
                let (value, rank) = if *how == How::Value { from.receive() } else { from.try_receive() };
                *values = value;
                is_from(rank);
            }
            How::Probed => {
                let (sender, tag) = from.probe::<T>(message.count);
                is_from(sender.rank());
                assert_eq!(tag, message.tag, "program {seed}: {receive:?}");
                sender.receive_into(&mut values[..]).unwrap();
            }
            How::Scoped => scoped.receive_into(values.as_mut_slice()).unwrap(),
            How::ScopedVec => {
                values.truncate(message.count / 2);
                scoped.receive_into(values).unwrap();
            }
            How::Started => {
                let pending = peer.start().receive_into(values.as_mut_slice()).unwrap();
                return Some(Box::new(move || finish(pending, polls)));
            }
            How::StartedVec => {
                values.truncate(message.count / 2);
                let pending = peer.start().receive_into(values).unwrap();
                return Some(Box::new(move || finish(pending, polls)));
            }
            How::StartedValue => {
                let pending = peer.start().receive::<Vec<T>>().unwrap();
                return Some(Box::new(move || *values = finish(pending, polls)));
            }
            How::Plain | How::PlainStarted | How::PlainProbed => {
                return match source {
                    Some(source) => {
                        let from = world.process_at_rank(*source as i32);
                        receive_plainly(&from, receive, values, plain, seed)
                    }
                    None => receive_plainly(&world.any_process(), receive, values, plain, seed),
                };
            }
        }
        None
    }

    /// Sends with the call that the message names. Returns the end of a send that was started.
    fn send<T: Value>(&self, message: &Message, values: &'s Vec<T>) -> Option<End<'s>> {
        let Message { to, tag, sent, .. } = *message;
        let Some(wire) = message.wire else {
            let process = self.world.process_at_rank(to as i32);
            if sent != Sent::Started {
                process.send_with_tag(&values[..], tag);
                return None;
            }
            let request = process.immediate_send_with_tag(self.plain, &values[..], tag);
            return Some(Box::new(move || request.wait_without_status()));
        };
        let peer = self.world.peer(to).wire(wire).tag(tag);
        match sent {
            Sent::Waiting => peer.send(values).unwrap(),
            Sent::Synchronous => peer.synchronous().send(values).unwrap(),
            Sent::Scoped => self.scope.peer(to).wire(wire).tag(tag).send(values).unwrap(),
            Sent::Started => {
                let pending = peer.start().send(values).unwrap();
                return Some(Box::new(move || pending.finish().unwrap()));
            }
        }
        None
    }
}

/// Receives with a plain call. Returns the end of a receive that was started.
fn receive_plainly<'s, S: Source, T: Value>(
    from: &S,
    receive: &'s Receive,
    values: &'s mut [T],
    scope: &'s LocalScope<'s>,
    seed: u64,
) -> Option<End<'s>> {
    // SAFETY: a constant of the library.
    let tag = receive.tag.unwrap_or(unsafe { mpi::ffi::RSMPI_ANY_TAG });
    let check = move |status: Status| {
        let Message { from, tag, .. } = receive.message;
        let found = (status.source_rank() as usize, status.tag());
        assert_eq!(found, (from, tag), "program {seed}: {receive:?}");
    };
    match receive.how {
        How::PlainStarted => {
            let request = from.immediate_receive_into_with_tag(scope, &mut values[..], tag);
            return Some(Box::new(move || check(request.wait())));
        }
        How::PlainProbed => {
            let (message, _) = from.matched_probe_with_tag(tag);
            check(message.matched_receive_into(&mut values[..]));
        }
        _ => check(from.receive_into_with_tag(&mut values[..], tag)),
    }
    None
}

/// Runs a program, and checks that every receive has the right message.
fn run(world: &SimpleCommunicator, seed: u64, tags: &[i32], any_tag: bool) {
    let world = &Comm::from(world);
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
    let (mut to_send, mut to_receive) = (sent.iter().zip(&full), receives.iter().zip(&mut rooms));
    scope(|plain| {
        let transferred = world.scope(|scope| {
            // Requests borrow the scope for as long as their buffers live.
            // SAFETY: all requests are completed before this closure ends.
            let plain: &LocalScope<'_> = unsafe { &*std::ptr::from_ref(plain).cast() };
            let calls = Calls { world, scope, plain, seed };
            let mut pending: Vec<End<'_>> = Vec::new();
            let mut send_next = |pending: &mut Vec<_>| {
                if let Some((message, room)) = to_send.next() {
                    pending.extend(either!(room, |values| calls.send(message, values)));
                }
            };
            let mut receive_next = |pending: &mut Vec<_>, polls| {
                if let Some((receive, room)) = to_receive.next() {
                    pending.extend(either!(room, |values| calls.receive(receive, values, polls)));
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
            for end in pending {
                end();
            }
            Ok(())
        });
        transferred.unwrap();
    });
    for (receive, room) in receives.iter().zip(&rooms) {
        assert!(room.has_come(&receive.message), "program {seed}, {:?}: {receive:?}", program.style);
    }
    if program.alone {
        world.barrier();
    }
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
    Comm::from(world).attach().unwrap();
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
    Comm::from(&world).attach().unwrap();
    for threads in 1..=4u64 {
        let own: Vec<SimpleCommunicator> = (0..threads).map(|_| world.duplicate()).collect();
        for own in &own {
            Comm::from(own).attach().unwrap();
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
    while Program::new(seed, world.size() as usize, tags).alone {
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
