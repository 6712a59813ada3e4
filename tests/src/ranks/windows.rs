//! One-sided transfers: every rank computes what all ranks write, and compares.

use std::panic::{self, AssertUnwindSafe};

use dtype_runtime::{
    Error, MpiDatatype, layout,
    layout::{ArrayOrder, Subarray},
    traits::*,
    wire::{Lock, Window, passive_window, window},
};
use mpi::{collective::SystemOperation, topology::SimpleCommunicator, traits::*};

use crate::engine::Random;
use crate::spy;

/// Numbers with padding between them.
#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Mixed {
    tag: u8,
    value: f64,
}

/// Writes to and reads from windows in every kind of epoch.
pub fn windows(world: &SimpleCommunicator) {
    let mut drawn = Random(dtype_tests::seed(59));
    for _ in 0..if dtype_tests::is_long() { 300 } else { 10 } {
        boxes(world, &mut drawn);
    }
    pairs(world);
    passive(world);
    tickets(world);
    leavers(world);
    mistakes(world);
    absent(world);
    aligned(world);
    shifted(world);
}

/// In each epoch, each rank puts a column into a box of its own in every window, and gets a box of another
/// rank's.
fn boxes(world: &SimpleCommunicator, drawn: &mut Random) {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    // The rows of a window are divided among the ranks that write.
    let columns = drawn.below(6);
    let heights: Vec<usize> = (0..ranks).map(|_| drawn.below(4)).collect();
    let rows: usize = heights.iter().sum();
    let start = |of: usize| heights[..of].iter().sum::<usize>();
    let (first, width) = (drawn.below(columns + 1), drawn.below(columns + 1));
    let width = width.min(columns - first);
    let part = |of: usize| {
        let (sizes, subsizes) = ([rows, columns], [heights[of], width]);
        Subarray { sizes, subsizes, starts: [start(of), first], order: ArrayOrder::RowMajor }
            .layout::<Mixed>()
            .unwrap()
    };
    let value = |from: usize, to: usize, i: usize| Mixed {
        tag: (from + to) as u8,
        value: (100 * from + 10 * to + i) as f64,
    };
    // The values for one target are a column of a matrix.
    let count = heights[rank] * width;
    let source: Vec<Mixed> = (0..count * ranks).map(|at| value(rank, at % ranks, at / ranks)).collect();
    let column = |to: usize| layout!(Mixed[count][ranks] => [.., to]).unwrap();
    let sent: Vec<_> = (0..ranks).map(column).collect();
    let sent: Vec<_> = sent.iter().map(|layout| layout.of(&source).unwrap()).collect();
    let expected = |of: usize| {
        let mut all = vec![Mixed::default(); rows * columns];
        for from in 0..ranks {
            for i in 0..heights[from] * width {
                all[(start(from) + i / width) * columns + first + i % width] = value(from, of, i);
            }
        }
        all
    };
    let mut values = vec![Mixed::default(); rows * columns];
    let mut fetched: Vec<Vec<Mixed>> =
        (0..ranks).map(|from| vec![Mixed::default(); heights[from] * width]).collect();
    window(world, &mut values, |window| {
        window
            .fence(|epoch| (0..ranks).try_for_each(|to| epoch.put(&sent[to], to as i32, &part(rank))))
            .unwrap()
            .unwrap();
        assert_eq!(window.values(), expected(rank));
        // Each rank reads the parts of all ranks at the next rank.
        let next = (rank + 1) % ranks;
        window
            .fence(|epoch| {
                fetched
                    .iter_mut()
                    .enumerate()
                    .try_for_each(|(from, into)| epoch.get(into, next as i32, &part(from)))
            })
            .unwrap()
            .unwrap();
        for (from, fetched) in fetched.iter().enumerate() {
            assert!(fetched.iter().enumerate().all(|(i, found)| *found == value(from, next, i)));
        }
        // Values may be changed between epochs.
        window.values_mut().fill(Mixed::default());
        window.fence(|_| ()).unwrap();
    })
    .unwrap();
    assert!(values.iter().all(|value| *value == Mixed::default()));
}

/// Epochs of neighbours in a ring.
fn pairs(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let mut ghosts = [0.0f64; 2];
    let own = f64::from(rank);
    let end = layout!(f64[2] => [1]);
    window(world, &mut ghosts, |window| {
        window
            .exchange(&[next, previous], &[next, previous], |epoch| {
                epoch.put(&own, next, &layout!(f64[2] => [0]))?;
                epoch.put(&own, previous, &end)
            })
            .unwrap()
            .unwrap();
        assert_eq!(window.values(), [f64::from(previous), f64::from(next)]);
        if ranks > 2 {
            let other = (rank + 2) % ranks;
            let refused =
                window.exchange(&[next], &[previous], |epoch| epoch.put(&own, other, &end)).unwrap();
            assert!(matches!(refused, Err(Error::Window { .. })));
        }
        window.exchange(&[], &[], |_| ()).unwrap();
    })
    .unwrap();
}

/// Epochs of single ranks: sums, and a value that one rank at a time changes.
fn passive(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank(), world.size());
    let mut counters = vec![0u64; 6];
    let own = [1u64, 10, 100];
    let every_second = layout!(u64[6] => [..;2]);
    passive_window(world, &mut counters, |window| {
        for _ in 0..10 {
            window
                .lock_all(|epoch| {
                    (0..ranks)
                        .try_for_each(|to| epoch.accumulate(&own, SystemOperation::sum(), to, &every_second))
                })
                .unwrap()
                .unwrap();
        }
        // A counter that is read and written by one rank at a time.
        for _ in 0..5 {
            let (mut found, last) = ([0u64], layout!(u64[6] => [5]));
            let (to, place) = (0, &mut found);
            window
                .lock(Lock::Exclusive, to, |epoch| {
                    epoch.get(place, to, &last)?;
                    epoch.flush(to)
                })
                .unwrap()
                .unwrap();
            let _ = found;
        }
        let mut all = [0u64; 6];
        world.barrier();
        window
            .lock(Lock::Shared, rank, |epoch| epoch.get(&mut all, rank, &layout!(u64[6] => [..])))
            .unwrap()
            .unwrap();
        let sum = 10 * ranks as u64;
        assert_eq!(all, [sum, 0, 10 * sum, 0, 100 * sum, 0]);
        world.barrier();
    })
    .unwrap();
    assert_eq!(counters[2], 100 * ranks as u64);
    // The largest value of all, of a view.
    let mut best = vec![[0.0f64; 2]; 2];
    let own = [[f64::from(rank), -1.0], [f64::from(-rank), 3.0]];
    let column = layout!(f64[2][2] => [.., 0]);
    let seen = column.of(&own);
    passive_window(world, best.as_flattened_mut(), |window| {
        window
            .lock_all(|epoch| {
                (0..ranks).try_for_each(|to| {
                    epoch.accumulate(&seen, SystemOperation::max(), to, &layout!(f64[4] => [..2]))
                })
            })
            .unwrap()
            .unwrap();
    })
    .unwrap();
    assert_eq!(best, [[f64::from(ranks - 1), 0.0], [0.0; 2]]);
}

/// Numbers that all ranks take from a counter of the last rank: each number is taken once.
fn tickets(world: &SimpleCommunicator) {
    let (rank, last) = (world.rank(), world.size() - 1);
    let mut counters = vec![0u64; if rank == last { 3 } else { 0 }];
    let mut taken = Vec::new();
    passive_window(world, &mut counters, |window| {
        for _ in 0..10 {
            let mut ticket = 7;
            let sum = SystemOperation::sum();
            window.lock_all(|epoch| epoch.fetch_and_op(&1, &mut ticket, sum, last, 2)).unwrap().unwrap();
            taken.push(ticket);
        }
        let (mut before, sum) = (0, SystemOperation::sum);
        let mut refused = |to, index| {
            window.lock_all(|epoch| epoch.fetch_and_op(&1, &mut before, sum(), to, index)).unwrap()
        };
        assert!(matches!(refused(last, 3), Err(Error::Parameter { .. })));
        assert!(matches!(refused(last + 1, 0), Err(Error::Rank { .. })));
    })
    .unwrap();
    // Libraries end the program for operations that MPI does not have: they are errors before.
    let (mut reals, mut before, column) = ([1.5f64; 2], 0.0, layout!(f64[2] => [1]));
    passive_window(world, &mut reals, |window| {
        let mut fetch = |operation| {
            window.lock_all(|epoch| epoch.fetch_and_op(&1.0, &mut before, operation, last, 0)).unwrap()
        };
        for operation in [SystemOperation::logical_and(), SystemOperation::bitwise_or()] {
            assert!(matches!(fetch(operation), Err(Error::Window { .. })));
        }
        fetch(SystemOperation::max()).unwrap();
        let refused = window
            .lock_all(|epoch| epoch.accumulate(&1.0f64, SystemOperation::logical_xor(), last, &column))
            .unwrap();
        assert!(matches!(refused, Err(Error::Window { .. })), "{refused:?}");
    })
    .unwrap();
    assert_eq!((reals, before), ([1.5; 2], 1.5));
    let all = 10 * world.size() as u64;
    assert!(rank < last || counters[1..] == [0, all]);
    let mut taken = world.all_gather_vec(&taken).unwrap().concat();
    taken.sort_unstable();
    assert!(taken.into_iter().eq(0..all));
}

/// Two types of the same values, at different offsets.
#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Reversed {
    tag: u8,
    padding: u64,
    value: f64,
}

#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Skipping {
    tag: u8,
    #[mpi(skip)]
    own: u64,
    padding: u64,
    value: f64,
}

/// Ranks that leave a window early, or open it in another way, cause errors, and nothing is written to them.
fn leavers(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank(), world.size());
    let mut untouched = Vec::new();
    panic::set_hook(Box::new(|_| {}));
    for round in 0..3 {
        for leaver in 0..ranks {
            let (mut values, own) = (vec![0u64; 1000], vec![7u64; 1000]);
            let next = (rank + 1) % ranks;
            let written = panic::catch_unwind(AssertUnwindSafe(|| {
                window(world, &mut values, |window| {
                    window.fence(|_| ())?;
                    if rank == leaver {
                        assert!(round != 1, "a rank panics");
                        return Err(Error::Restricted);
                    }
                    if round == 2 {
                        window.fence(|_| ()).unwrap_err();
                    }
                    window.fence(|epoch| epoch.put(&own, next, &layout!(u64[1000] => [..])))?
                })
            }));
            let is_right = match written {
                Err(_) => rank == leaver && round == 1,
                Ok(written) => written.unwrap().is_err(),
            };
            untouched.push(is_right && values.iter().all(|value| *value == 0));
        }
    }
    drop(panic::take_hook());
    assert!(untouched.iter().all(|is_right| *is_right), "{untouched:?}");
    // Windows of different kinds and types.
    let mut values = vec![0u64; 2];
    let opened = if rank == 0 {
        window(world, &mut values, |_| ()).is_ok()
    } else {
        passive_window(world, &mut values, |_| ()).is_ok()
    };
    assert_eq!(opened, ranks == 1);
    let opened = if rank == 0 {
        window(world, &mut [Reversed::default(); 2], |_| ()).is_ok()
    } else {
        window(world, &mut [Skipping::default(); 2], |_| ()).is_ok()
    };
    assert_eq!(opened, ranks == 1);
}

fn mistakes(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank(), world.size());
    // Windows of other lengths, none on some ranks, and structs.
    let mut values = vec![Mixed::default(); if rank % 2 == 0 { 0 } else { 4 }];
    let own = Mixed { tag: 1, value: 2.0 };
    let flag = true;
    let mut flags = [true];
    window(world, &mut values, |window| {
        let of = |length: usize| layout!(Mixed[length] => [..]).unwrap();
        let refused = window.fence(|epoch| {
            [
                epoch.put(&own, ranks, &of(1)),
                epoch.put(&own, -1, &of(1)),
                epoch.put(&own, 0, &of(1)),
                epoch.put(&own, 0, &of(0)),
                epoch.accumulate(&own, SystemOperation::sum(), 0, &of(0)),
                epoch.put(&flag, 0, &of(0)),
                epoch.get(&mut flags, 0, &of(0)),
            ]
        });
        let [a, b, c, d, e, f, g] = refused.unwrap();
        assert!(matches!(a, Err(Error::Rank { .. })) && matches!(b, Err(Error::Rank { .. })));
        assert!(matches!(c, Err(Error::Shape { .. })), "{c:?}");
        assert!(matches!(d, Err(Error::Fit { .. })), "{d:?}");
        assert!(matches!(e, Err(Error::Window { .. })), "{e:?}");
        assert!(matches!(f, Err(Error::Fit { .. })), "{f:?}");
        assert!(matches!(g, Err(Error::Restricted)), "{g:?}");
    })
    .unwrap();
    // Values of another type with as many bytes.
    let mut values = [0.0f64; 3];
    let bits = [7u64; 3];
    window(world, &mut values, |window| {
        let refused = window.fence(|epoch| epoch.put(&bits, rank, &layout!(f64[3] => [..]))).unwrap();
        assert!(matches!(refused, Err(Error::Signature { byte: 0, .. })), "{refused:?}");
    })
    .unwrap();
    // A target that selects an element twice is erroneous in MPI. It may be read.
    let (own, mut into, mut values) = ([7u64; 3], [0u64; 3], [1u64, 2, 3, 4]);
    let (list, n) = ([0, 3, 0], values.len());
    let twice = layout!(u64[n] => {list}).unwrap();
    window(world, &mut values, |window| {
        let refused = window.fence(|epoch| {
            let sum = SystemOperation::sum();
            [epoch.put(&own, rank, &twice), epoch.accumulate(&own, sum, rank, &twice)]
        });
        assert_eq!(refused, Ok([Err(Error::Overlap), Err(Error::Overlap)]));
        window.fence(|epoch| epoch.get(&mut into, rank, &twice)).unwrap().unwrap();
    })
    .unwrap();
    assert_eq!((into, values), ([1, 4, 1], [1, 2, 3, 4]));
    // Another type on one rank: an error on all.
    if ranks > 1 {
        let refused = if rank == 0 {
            window(world, &mut [0u64; 2], |_| ())
        } else {
            window(world, &mut [0i64; 2], |_| ())
        };
        assert!(matches!(refused, Err(Error::Window { .. })), "{refused:?}");
    }
    // A panic on one rank ends its epoch and its window, and the others go on.
    panic::set_hook(Box::new(|_| {}));
    let mut values = [0u8; 4];
    let panicked = panic::catch_unwind(AssertUnwindSafe(|| {
        window(world, &mut values, |window| window.fence(|_| assert!(rank > 0, "rank 0 has had enough")))
    }));
    drop(panic::take_hook());
    assert_eq!(panicked.is_err(), rank == 0);
    window(world, &mut values, |window| window.fence(|_| ()).unwrap()).unwrap();
}

/// Ranks that name one another in an exchange in which one of them does not take part: an error on both, and
/// the next exchange is right.
fn absent(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank(), world.size());
    let own = 7u64;
    let whole = layout!(u64[1] => [..]);
    for wrong in 0..ranks {
        let others: Vec<i32> = (0..ranks).filter(|other| *other != wrong).collect();
        // In a ring of the others, each writes to the next one.
        let ring = |window: &mut Window<'_, u64>| {
            let Some(at) = others.iter().position(|other| *other == rank) else { return };
            let around = |step: usize| others[(at + step) % others.len()];
            let (next, previous) = (around(1), around(others.len() - 1));
            window.values_mut()[0] = 0;
            window.exchange(&[next], &[previous], |epoch| epoch.put(&own, next, &whole)).unwrap().unwrap();
            assert_eq!(window.values(), [7]);
        };
        let is_refused = |refused: Result<(), Error>| match refused {
            Err(Error::Window { reason }) => reason.contains(&format!("rank {wrong} does not take part")),
            _ => false,
        };
        // A rank has left.
        window(world, &mut [0u64], |window| {
            if rank == wrong {
                return;
            }
            for _ in 0..2 {
                assert!(is_refused(window.exchange(&[wrong], &[], |_| ())));
                assert!(is_refused(window.exchange(&[], &[wrong], |_| ())));
                // Those that take part are in the epoch nevertheless, without transfers.
                let all: Vec<i32> = (0..ranks).collect();
                assert!(is_refused(window.exchange(&all, &all, |_| ())));
                ring(window);
                // A fence ends with an error, on some ranks earlier than on others.
                assert!(matches!(window.fence(|_| ()), Err(Error::Window { .. })));
                ring(window);
            }
        })
        .unwrap();
        window(world, &mut [0u64], |window| {
            // A rank names ranks that do not exist.
            if rank == wrong {
                let mut targets = others.clone();
                targets.push(ranks);
                let refused = window.exchange(&targets, &[], |_| ());
                assert_eq!(refused, Err(Error::Rank { rank: ranks, ranks }));
            } else {
                assert!(is_refused(window.exchange(&[], &[wrong], |_| ())));
            }
            ring(window);
            // A rank has another part than the others expect.
            if rank == wrong {
                let refused = window.exchange(&others, &[], |_| ());
                assert_eq!(refused.is_err(), ranks > 1);
                assert!(window.exchange(&[rank], &[], |_| ()).is_err());
                window.exchange(&[rank], &[rank], |epoch| epoch.put(&own, rank, &whole)).unwrap().unwrap();
                assert_eq!(window.values(), [7]);
            } else {
                assert!(is_refused(window.exchange(&[wrong], &[wrong], |_| ())));
            }
            ring(window);
            // A rank makes another call, in which it waits for the others until they have left.
            if rank == wrong {
                assert_eq!(window.fence(|_| ()).is_err(), ranks > 1);
            } else {
                assert!(is_refused(window.exchange(&[wrong], &[], |_| ())));
                ring(window);
            }
        })
        .unwrap();
    }
}

/// Numbers that lie at multiples of 64 and of 4096 bytes.
#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
struct Line([u64; 3]);

#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(4096))]
struct Page(u64);

/// Windows of values with a greater alignment than that of MPI's memory.
fn aligned(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let number = |of: i32| u64::from(of.unsigned_abs());
    for length in [1, 2, 5] {
        let of = |of: i32| length + of as usize;
        let (mut lines, own, there) = (
            vec![Line::default(); of(rank)],
            Line([7, 8, number(rank)]),
            layout!(Line[of(next)] => [-1]).unwrap(),
        );
        window(world, &mut lines, |window| {
            assert_eq!(window.values().as_ptr().addr() % 64, 0);
            window.fence(|epoch| epoch.put(&own, next, &there)).unwrap().unwrap();
        })
        .unwrap();
        assert_eq!(lines.pop(), Some(Line([7, 8, number(previous)])));
        assert!(lines.iter().all(|line| *line == Line::default()));
        let (mut pages, own, there) =
            (vec![Page(1); of(rank)], Page(number(rank)), layout!(Page[of(next)] => [-1]).unwrap());
        passive_window(world, &mut pages, |window| {
            window
                .lock(Lock::Exclusive, next, |epoch| {
                    epoch.accumulate(&own, SystemOperation::sum(), next, &there)
                })
                .unwrap()
                .unwrap();
        })
        .unwrap();
        assert_eq!(pages.pop(), Some(Page(1 + number(previous))));
        assert!(pages.iter().all(|page| *page == Page(1)));
    }
}

/// A library whose memory lies elsewhere than it says: an error on all ranks, and the values stay.
fn shifted(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank(), world.size());
    for wrong in 0..ranks {
        for bytes in [8, 64] {
            let mut values = [u64::from(rank.unsigned_abs()); 5];
            // SAFETY: the function sets a number of this process, which has one thread.
            unsafe { spy::c_shift_window(if rank == wrong { bytes } else { 0 }) };
            let opened = window(world, &mut values, |_| ()).map_err(|error| error.to_string());
            assert!(opened.is_err_and(|error| error.contains("reaches other bytes")));
            let opened = passive_window(world, &mut values, |_| ());
            assert_eq!((opened, values), (Ok(()), [u64::from(rank.unsigned_abs()); 5]));
        }
    }
}
