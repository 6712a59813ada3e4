//! Windows of random numbers of elements on each rank, in epochs of all kinds.

use std::{fmt::Debug, thread};

use dtype_runtime::{
    Comm, DynamicLayout, Error, FromMessage, MpiDatatype,
    comm::{Epoch, Lock, PassiveWindow, Window},
    layout,
    types::AnyPattern,
};
use mpi::{collective::SystemOperation, topology::SimpleCommunicator, traits::*};

use super::each;
use crate::engine::Random;

/// A number of a window.
trait Number: MpiDatatype + FromMessage + AnyPattern + Copy + Debug + PartialEq {
    fn of(number: usize) -> Self;
    fn plus(self, other: Self) -> Self;
}

macro_rules! numbers {
    ($($type:ty: $most:expr;)*) => {
        $(impl Number for $type {
            fn of(number: usize) -> Self {
                (number % $most) as Self
            }

            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        })*
    };
}
// Open MPI 4.1 adds 8 and 16 bits with saturation, so their sums must fit.
numbers! { u8: 7; u16: 1009; u32: usize::MAX; u64: usize::MAX; i64: usize::MAX; }

impl Number for f64 {
    fn of(number: usize) -> Self {
        f64::from(number as u16)
    }

    fn plus(self, other: Self) -> Self {
        self + other
    }
}

/// Opens windows of all sizes from 0 to 64 bytes, and random ones.
pub fn windows(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let mut drawn = Random(1);
    for bytes in 0..=64 {
        remainder::<u8>(world, bytes, &mut drawn);
        remainder::<u16>(world, bytes, &mut drawn);
        remainder::<u64>(world, bytes, &mut drawn);
    }
    each(world, 120, |_, drawn| match drawn.below(6) {
        0 => one::<u8>(world, drawn),
        1 => one::<u16>(world, drawn),
        2 => one::<u32>(world, drawn),
        3 => one::<u64>(world, drawn),
        4 => one::<i64>(world, drawn),
        _ => one::<f64>(world, drawn),
    });
}

/// Elements of a window: `count` of them from `start` on, `step` apart.
#[derive(Clone, Copy, Debug)]
struct Selected {
    length: usize,
    start: usize,
    count: usize,
    step: usize,
}

impl Selected {
    fn draw(drawn: &mut Random, length: usize) -> Self {
        if length == 0 {
            return Self { length, start: 0, count: 0, step: 1 };
        }
        let (start, step) = (drawn.below(length), 1 + drawn.below(3) * drawn.below(4));
        let count = drawn.below((length - start).div_ceil(step) + 1);
        Self { length, start, count, step }
    }

    /// Returns the elements that one of `ranks` writes if all of them write.
    fn of_rank(drawn: &mut Random, length: usize, rank: usize, ranks: usize) -> Self {
        // All ranks draw the same number.
        if drawn.one_in(2) {
            let count = length.saturating_sub(rank).div_ceil(ranks);
            Self { length, start: rank.min(length), count, step: ranks }
        } else {
            let (start, end) = (length * rank / ranks, length * (rank + 1) / ranks);
            Self { length, start, count: end - start, step: 1 }
        }
    }

    fn indices(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |i| self.start + i * self.step)
    }

    fn layout<T: MpiDatatype>(self) -> DynamicLayout<T, 1> {
        let Self { length, start, count, step } = self;
        let end = (start + count * step).min(length);
        layout!(T[length] => [start..end;step]).unwrap()
    }
}

/// The windows of all ranks as they must be.
type Model<T> = Vec<Vec<T>>;

fn value<T: Number>(drawn: usize, from: usize, to: usize, i: usize) -> T {
    T::of(drawn.wrapping_mul(31) + 101 * from + 17 * to + 3 * i + 1)
}

/// The call by which a rank reaches the window of another one.
#[derive(Clone, Copy, Debug)]
enum Act {
    Put,
    Accumulate,
    Get,
    Fetch,
}

/// One transfer of an epoch.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    act: Act,
    from: usize,
    to: usize,
    selected: Selected,
    drawn: usize,
}

/// Draws what all ranks do to one target: several kinds would be erroneous (MPI 4.1 section 12.7).
fn any_act(drawn: &mut Random) -> Act {
    [Act::Put, Act::Accumulate, Act::Get, Act::Fetch][drawn.below(4)]
}

/// Draws the transfers of an epoch with these pairs of origin and target. All ranks draw the same.
fn transfers(
    drawn: &mut Random,
    lengths: &[usize],
    pairs: &[[usize; 2]],
    mut act: impl FnMut(&mut Random) -> Act,
) -> Vec<Transfer> {
    let ranks = lengths.len();
    let acts: Vec<_> = (0..ranks).map(|_| act(drawn)).collect();
    let states: Vec<_> = (0..ranks).map(|_| drawn.0.wrapping_add(drawn.below(1000) as u64)).collect();
    let mut all = Vec::new();
    for &[from, to] in pairs {
        let (act, length) = (acts[to], lengths[to]);
        let selected = match act {
            Act::Put => Selected::of_rank(&mut Random(states[to]), length, from, ranks),
            Act::Fetch => {
                let selected = Selected::of_rank(&mut Random(states[to]), length, from, ranks);
                Selected { count: selected.count.min(1), ..selected }
            }
            Act::Accumulate | Act::Get => Selected::draw(drawn, length),
        };
        all.push(Transfer { act, from, to, selected, drawn: drawn.below(50) });
    }
    all
}

/// The memory that the transfers of a rank use.
struct Memory<T> {
    sent: Vec<Vec<T>>,
    received: Vec<Vec<T>>,
}

impl<T: Number> Memory<T> {
    fn of(own: &[Transfer]) -> Self {
        let sent = |transfer: &Transfer| {
            let Transfer { from, to, drawn, selected, .. } = *transfer;
            (0..selected.count).map(|i| value(drawn, from, to, i)).collect()
        };
        let received = own.iter().map(|transfer| vec![T::of(0); transfer.selected.count]).collect();
        Self { sent: own.iter().map(sent).collect(), received }
    }
}

/// Starts the transfers of this rank.
fn start<'e, T: Number>(
    epoch: &Epoch<'e, T>,
    own: &[Transfer],
    memory: &'e mut Memory<T>,
) -> Result<(), Error> {
    for ((transfer, sent), received) in own.iter().zip(&memory.sent).zip(&mut memory.received) {
        let (to, selected) = (transfer.to, transfer.selected);
        match transfer.act {
            Act::Put => epoch.put(sent, to, &selected.layout())?,
            Act::Accumulate => epoch.accumulate(sent, SystemOperation::sum(), to, &selected.layout())?,
            Act::Get => epoch.get(received, to, &selected.layout())?,
            Act::Fetch => {
                for (sent, received) in sent.iter().zip(received) {
                    epoch.fetch_and_op(sent, received, SystemOperation::sum(), to, selected.start)?;
                }
            }
        }
    }
    Ok(())
}

/// Applies all transfers to the model, and returns what this rank receives.
fn apply<T: Number>(model: &mut Model<T>, all: &[Transfer], rank: usize) -> Vec<Vec<T>> {
    let before = model.clone();
    let mut received = Vec::new();
    for transfer in all {
        let Transfer { act, from, to, selected, drawn } = *transfer;
        let is_fetched = matches!(act, Act::Get | Act::Fetch);
        if from == rank {
            let element = |i| if is_fetched { before[to][i] } else { T::of(0) };
            received.push(selected.indices().map(element).collect());
        }
        for (i, at) in selected.indices().enumerate() {
            let value = value(drawn, from, to, i);
            match act {
                Act::Put => model[to][at] = value,
                Act::Accumulate | Act::Fetch => model[to][at] = model[to][at].plus(value),
                Act::Get => (),
            }
        }
    }
    received
}

/// Returns the values of all ranks at first.
fn model<T: Number>(lengths: &[usize]) -> Model<T> {
    let of = |(of, length): (usize, &usize)| (0..*length).map(|i| value(7, of, of, i)).collect();
    lengths.iter().enumerate().map(of).collect()
}

/// Fences in which all ranks reach all ranks, with this number of bytes on the first rank.
fn remainder<T: Number>(world: &Comm<&SimpleCommunicator>, bytes: usize, drawn: &mut Random) {
    let (rank, ranks) = (world.rank(), world.size());
    let lengths: Vec<_> = (0..ranks).map(|of| (bytes + 21 * of) % 65 / size_of::<T>()).collect();
    let every: Vec<_> = (0..ranks * ranks).map(|pair| [pair / ranks, pair % ranks]).collect();
    let mut model = model::<T>(&lengths);
    let mut values = model[rank].clone();
    let opened = world.window(&mut values, |window| {
        for act in [Act::Put, Act::Accumulate, Act::Fetch, Act::Get] {
            let all = transfers(drawn, &lengths, &every, |_| act);
            fence(window, rank, &all, &mut model, &format!("{bytes} bytes"));
        }
        Ok(())
    });
    opened.unwrap();
    assert_eq!(values, model[rank], "{bytes} bytes, the values of rank {rank} at the end");
}

fn one<T: Number>(world: &Comm<&SimpleCommunicator>, drawn: &mut Random) {
    let (rank, ranks) = (world.rank(), world.size());
    let bytes: Vec<_> = (0..ranks).map(|_| if drawn.one_in(4) { 0 } else { drawn.below(65) }).collect();
    let lengths: Vec<_> = bytes.iter().map(|bytes| bytes / size_of::<T>()).collect();
    let mut model = model::<T>(&lengths);
    let mut values = model[rank].clone();
    let opened = if drawn.one_in(4) {
        world.passive_window(&mut values, |window| {
            passive(world, window, &mut model, drawn);
            Ok(())
        })
    } else {
        world.window(&mut values, |window| {
            active(window, rank, &mut model, drawn);
            Ok(())
        })
    };
    opened.unwrap();
    assert_eq!(values, model[rank], "the values of rank {rank} at the end");
}

/// Makes the transfers of an epoch of all ranks.
fn fence<T: Number>(
    window: &mut Window<'_, T>,
    rank: usize,
    all: &[Transfer],
    model: &mut Model<T>,
    name: &str,
) {
    let own = of_rank(all, rank);
    let mut memory = Memory::of(&own);
    let into = &mut memory;
    window.fence(|epoch| start(epoch, &own, into)).unwrap();
    assert_eq!(memory.received, apply(model, all, rank), "{name}: {own:?}");
    assert_eq!(window.values(), model[rank], "{name}, rank {rank}: {all:?}");
}

/// Returns the transfers that a rank starts.
fn of_rank(all: &[Transfer], rank: usize) -> Vec<Transfer> {
    all.iter().copied().filter(|transfer| transfer.from == rank).collect()
}

/// Runs epochs of all ranks, and of groups that change each time.
fn active<T: Number>(window: &mut Window<'_, T>, rank: usize, model: &mut Model<T>, drawn: &mut Random) {
    let lengths: Vec<_> = model.iter().map(Vec::len).collect();
    let ranks = lengths.len();
    assert_eq!(window.values(), model[rank], "the values of rank {rank} at first");
    let every: Vec<_> = (0..ranks * ranks).map(|pair| [pair / ranks, pair % ranks]).collect();
    for step in 0..=drawn.below(12) {
        let is_fence = drawn.one_in(4);
        let pairs: Vec<_> = every
            .iter()
            .copied()
            .filter(|_| if is_fence { !drawn.one_in(4) } else { drawn.one_in(3) })
            .collect();
        let all = transfers(drawn, &lengths, &pairs, any_act);
        let name = format!("step {step}");
        if is_fence {
            fence(window, rank, &all, model, &name);
            continue;
        }
        let of = |this: usize, other: usize| -> Vec<usize> {
            pairs.iter().filter(|pair| pair[this] == rank).map(|pair| pair[other]).collect()
        };
        let (targets, origins) = (of(0, 1), of(1, 0));
        let own = of_rank(&all, rank);
        let mut memory = Memory::of(&own);
        let into = &mut memory;
        // A rank without partners may leave the call out.
        if step % 2 == 0 || !(targets.is_empty() && origins.is_empty()) {
            window.exchange(&targets, &origins, |epoch| start(epoch, &own, into)).unwrap();
        }
        assert_eq!(memory.received, apply(model, &all, rank), "{name}: {own:?}");
        // Between epochs nobody changes the values, however long it takes.
        let values = window.values();
        for _ in 0..3 {
            assert_eq!(values, model[rank], "{name}, rank {rank}: {all:?}");
            thread::yield_now();
        }
    }
}

/// Runs epochs with locks, and waits for all ranks between those that change values and those that read.
fn passive<T: Number>(
    world: &Comm<&SimpleCommunicator>,
    window: &mut PassiveWindow<'_, T>,
    model: &mut Model<T>,
    drawn: &mut Random,
) {
    let rank = world.rank();
    let lengths: Vec<_> = model.iter().map(Vec::len).collect();
    let ranks = lengths.len();
    let every: Vec<_> = (0..ranks * ranks).map(|pair| [pair / ranks, pair % ranks]).collect();
    for step in 0..=drawn.below(6) {
        let pairs: Vec<_> = every.iter().copied().filter(|_| !drawn.one_in(3)).collect();
        let all = transfers(drawn, &lengths, &pairs, any_act);
        let own = of_rank(&all, rank);
        let mut memory = Memory::of(&own);
        match drawn.below(3) {
            0 => {
                let into = &mut memory;
                window.lock_all(|epoch| start(epoch, &own, into)).unwrap();
            }
            kind => {
                let lock = if kind == 1 { Lock::Shared } else { Lock::Exclusive };
                let mut received = Vec::new();
                for transfer in &own {
                    let own = [*transfer];
                    let mut memory = Memory::of(&own);
                    let into = &mut memory;
                    window.lock(lock, transfer.to, |epoch| start(epoch, &own, into)).unwrap();
                    received.append(&mut memory.received);
                }
                memory.received = received;
            }
        }
        assert_eq!(memory.received, apply(model, &all, rank), "step {step}: {own:?}");
        world.barrier();
        for (to, expected) in model.iter().enumerate() {
            let mut found = vec![T::of(0); lengths[to]];
            let (into, whole) =
                (&mut found, Selected { length: lengths[to], start: 0, count: lengths[to], step: 1 });
            window.lock(Lock::Shared, to, |epoch| epoch.get(into, to, &whole.layout())).unwrap();
            assert_eq!(found, *expected, "rank {to}, seen by rank {rank} after step {step}: {all:?}");
        }
        world.barrier();
    }
}
