//! One-sided transfers: every rank computes what all ranks write, and compares.

use std::panic::{self, AssertUnwindSafe};

use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{
    Comm, Error, MpiDatatype,
    comm::{Lock, Window},
    layout,
    layout::{ArrayOrder, Subarray},
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
    let world = &Comm::from(world);
    let mut drawn = Random(dtype_tests::seed(59));
    for _ in 0..if dtype_tests::is_long() { 300 } else { 10 } {
        boxes(world, &mut drawn);
    }
    epochs(world);
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
fn boxes(world: &Comm<&SimpleCommunicator>, drawn: &mut Random) {
    let (rank, ranks) = (world.rank(), world.size());
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
    let opened = world.window(&mut values, |window| {
        window.fence(|epoch| (0..ranks).try_for_each(|to| epoch.put(&sent[to], to, &part(rank)))).unwrap();
        assert_eq!(window.values(), expected(rank));
        // Each rank reads the parts of all ranks at the next rank.
        let next = (rank + 1) % ranks;
        window
            .fence(|epoch| {
                let mut places = fetched.iter_mut().enumerate();
                places.try_for_each(|(from, into)| epoch.get(into, next, &part(from)))
            })
            .unwrap();
        for (from, fetched) in fetched.iter().enumerate() {
            assert!(fetched.iter().enumerate().all(|(i, found)| *found == value(from, next, i)));
        }
        // Values may be changed between epochs.
        window.values_mut().fill(Mixed::default());
        window.fence(|_| Ok(()))
    });
    opened.unwrap();
    assert!(values.iter().all(|value| *value == Mixed::default()));
}

/// In many short epochs, each rank writes its own values, reads those of the next rank, and writes to the
/// previous one: no epoch begins before all have written, and none ends before all has arrived.
fn epochs(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let (first, second) = (layout!(u64[2] => [0]), layout!(u64[2] => [1]));
    let count = if dtype_tests::is_long() { 20_000 } else { 300 };
    let opened = world.window(&mut [0u64; 2], |window| {
        for epoch in 0..count {
            let value = |of: usize| epoch * ranks as u64 + of as u64;
            window.values_mut()[0] = value(rank);
            let (sent, mut read) = ([!value(rank)], [0]);
            if epoch % 2 == 0 {
                window.fence(|epoch| {
                    epoch.get(&mut read, next, &first)?;
                    epoch.put(&sent, previous, &second)?;
                    epoch.flush(previous)
                })?;
            } else {
                let around = if next == previous { vec![next] } else { vec![next, previous] };
                window.exchange(&around, &around, |epoch| {
                    epoch.put(&sent, previous, &second)?;
                    epoch.get(&mut read, next, &first)?;
                    epoch.flush(next)
                })?;
            }
            assert_eq!((read[0], window.values()[1]), (value(next), !value(next)), "epoch {epoch}");
        }
        Ok(())
    });
    opened.unwrap();
}

/// Epochs of neighbours in a ring.
fn pairs(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let mut ghosts = [0.0f64; 2];
    let own = rank as f64;
    let end = layout!(f64[2] => [1]);
    let opened = world.window(&mut ghosts, |window| {
        window
            .exchange(&[next, previous], &[next, previous], |epoch| {
                epoch.put(&own, next, &layout!(f64[2] => [0]))?;
                epoch.put(&own, previous, &end)
            })
            .unwrap();
        assert_eq!(window.values(), [previous as f64, next as f64]);
        if ranks > 2 {
            let other = (rank + 2) % ranks;
            // The epoch itself is right.
            let refused =
                window.exchange(&[next], &[previous], |epoch| Ok(epoch.put(&own, other, &end))).unwrap();
            assert!(matches!(refused, Err(Error::Window { .. })));
            let refused = window.exchange(&[next], &[previous], |epoch| epoch.put(&own, other, &end));
            assert!(matches!(refused, Err(Error::Window { .. })));
        }
        window.exchange(&[], &[], |_| Ok(()))
    });
    opened.unwrap();
}

/// Epochs of single ranks: sums, and a value that one rank at a time changes.
fn passive(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    let mut counters = vec![0u64; 6];
    let own = [1u64, 10, 100];
    let every_second = layout!(u64[6] => [..;2]);
    let opened = world.passive_window(&mut counters, |window| {
        for _ in 0..10 {
            window
                .lock_all(|epoch| {
                    let sum = SystemOperation::sum;
                    (0..ranks).try_for_each(|to| epoch.accumulate(&own, sum(), to, &every_second))
                })
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
                .unwrap();
            let _ = found;
        }
        let mut all = [0u64; 6];
        world.barrier();
        window.lock(Lock::Shared, rank, |epoch| epoch.get(&mut all, rank, &layout!(u64[6] => [..]))).unwrap();
        let sum = 10 * ranks as u64;
        assert_eq!(all, [sum, 0, 10 * sum, 0, 100 * sum, 0]);
        // Ranks that do not exist.
        for beyond in [ranks, usize::MAX] {
            let refused = window.lock(Lock::Shared, beyond, |_| Ok(()));
            assert!(matches!(refused, Err(Error::Rank { .. })), "{refused:?}");
            let refused = window.lock_all(|epoch| epoch.flush(beyond));
            assert!(matches!(refused, Err(Error::Rank { .. })), "{refused:?}");
        }
        world.barrier();
        Ok(())
    });
    opened.unwrap();
    assert_eq!(counters[2], 100 * ranks as u64);
    // The largest value of all, of a view.
    let mut best = vec![[0.0f64; 2]; 2];
    let own = [[rank as f64, -1.0], [-(rank as f64), 3.0]];
    let column = layout!(f64[2][2] => [.., 0]);
    let seen = column.of(&own);
    let opened = world.passive_window(best.as_flattened_mut(), |window| {
        window.lock_all(|epoch| {
            (0..ranks).try_for_each(|to| {
                epoch.accumulate(&seen, SystemOperation::max(), to, &layout!(f64[4] => [..2]))
            })
        })
    });
    opened.unwrap();
    assert_eq!(best, [[(ranks - 1) as f64, 0.0], [0.0; 2]]);
}

/// Numbers that all ranks take from a counter of the last rank: each number is taken once.
fn tickets(world: &Comm<&SimpleCommunicator>) {
    let (rank, last) = (world.rank(), world.size() - 1);
    let mut counters = vec![0u64; if rank == last { 3 } else { 0 }];
    let mut taken = Vec::new();
    let opened = world.passive_window(&mut counters, |window| {
        for _ in 0..10 {
            let mut ticket = 7;
            let sum = SystemOperation::sum();
            window.lock_all(|epoch| epoch.fetch_and_op(&1, &mut ticket, sum, last, 2)).unwrap();
            taken.push(ticket);
        }
        let (mut before, sum) = (0, SystemOperation::sum);
        let mut refused =
            |to, index| window.lock_all(|epoch| epoch.fetch_and_op(&1, &mut before, sum(), to, index));
        assert!(matches!(refused(last, 3), Err(Error::Parameter { .. })));
        assert!(matches!(refused(last + 1, 0), Err(Error::Rank { .. })));
        assert!(matches!(refused(usize::MAX, 0), Err(Error::Rank { .. })));
        Ok(())
    });
    opened.unwrap();
    // Libraries end the program for operations that MPI does not have: they are errors before.
    let mut reals = [1.5f64; 2];
    let mut before = 0.0;
    let column = layout!(f64[2] => [1]);
    let opened = world.passive_window(&mut reals, |window| {
        let mut fetch =
            |operation| window.lock_all(|epoch| epoch.fetch_and_op(&1.0, &mut before, operation, last, 0));
        for operation in [SystemOperation::logical_and(), SystemOperation::bitwise_or()] {
            assert!(matches!(fetch(operation), Err(Error::Window { .. })));
        }
        fetch(SystemOperation::max()).unwrap();
        let xor = SystemOperation::logical_xor();
        let refused = window.lock_all(|epoch| epoch.accumulate(&1.0f64, xor, last, &column));
        assert!(matches!(refused, Err(Error::Window { .. })), "{refused:?}");
        Ok(())
    });
    opened.unwrap();
    assert_eq!((reals, before), ([1.5; 2], 1.5));
    let all = 10 * world.size() as u64;
    assert!(rank < last || counters[1..] == [0, all]);
    let mut taken = world.all_gather(&taken).unwrap().concat();
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
fn leavers(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    let mut untouched = Vec::new();
    panic::set_hook(Box::new(|_| {}));
    for round in 0..3 {
        for leaver in 0..ranks {
            let (mut values, own) = (vec![0u64; 1000], vec![7u64; 1000]);
            let next = (rank + 1) % ranks;
            let written = panic::catch_unwind(AssertUnwindSafe(|| {
                world.window(&mut values, |window| {
                    window.fence(|_| Ok(()))?;
                    if rank == leaver {
                        assert!(round != 1, "a rank panics");
                        return Err(Error::Pack(PackError::Restricted));
                    }
                    if round == 2 {
                        window.fence(|_| Ok(())).unwrap_err();
                    }
                    window.fence(|epoch| epoch.put(&own, next, &layout!(u64[1000] => [..])))
                })
            }));
            let is_right = match written {
                Err(_) => rank == leaver && round == 1,
                Ok(Err(Error::Pack(PackError::Restricted))) => rank == leaver && round != 1,
                Ok(Err(Error::Window { reason })) => rank != leaver && reason.contains("has left it"),
                Ok(_) => false,
            };
            untouched.push(is_right && values.iter().all(|value| *value == 0));
        }
    }
    drop(panic::take_hook());
    assert!(untouched.iter().all(|is_right| *is_right), "{untouched:?}");
    // Windows of different kinds and types.
    let mut values = vec![0u64; 2];
    let opened = if rank == 0 {
        world.window(&mut values, |_| Ok(())).is_ok()
    } else {
        world.passive_window(&mut values, |_| Ok(())).is_ok()
    };
    assert_eq!(opened, ranks == 1);
    let opened = if rank == 0 {
        world.window(&mut [Reversed::default(); 2], |_| Ok(())).is_ok()
    } else {
        world.window(&mut [Skipping::default(); 2], |_| Ok(())).is_ok()
    };
    assert_eq!(opened, ranks == 1);
}

fn mistakes(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    // Windows of other lengths, none on some ranks, and structs.
    let mut values = vec![Mixed::default(); if rank % 2 == 0 { 0 } else { 4 }];
    let own = Mixed { tag: 1, value: 2.0 };
    let flag = true;
    let mut flags = [true];
    let text = String::new();
    let mut other = String::new();
    let mut others = [String::new()];
    let opened = world.window(&mut values, |window| {
        let of = |length: usize| layout!(Mixed[length] => [..]).unwrap();
        let refused = window.fence(|epoch| {
            Ok([
                epoch.put(&own, ranks, &of(1)),
                epoch.put(&own, usize::MAX, &of(1)),
                epoch.put(&own, 0, &of(1)),
                epoch.put(&own, 0, &of(0)),
                epoch.accumulate(&own, SystemOperation::sum(), 0, &of(0)),
                epoch.put(&flag, 0, &of(0)),
                epoch.get(&mut flags, 0, &of(0)),
            ])
        });
        let [a, b, c, d, e, f, g] = refused.unwrap();
        assert!(matches!(a, Err(Error::Rank { .. })) && matches!(b, Err(Error::Rank { .. })));
        assert!(matches!(c, Err(Error::Shape { .. })), "{c:?}");
        assert!(matches!(d, Err(Error::Fit { .. })), "{d:?}");
        assert!(matches!(e, Err(Error::Window { .. })), "{e:?}");
        assert!(matches!(f, Err(Error::Fit { .. })), "{f:?}");
        assert!(matches!(g, Err(Error::Pack(PackError::Restricted))), "{g:?}");
        // A window holds plain values.
        let refused = window.fence(|epoch| {
            Ok([
                epoch.put(&text, 0, &of(0)),
                epoch.get(&mut other, 0, &of(0)),
                epoch.get(&mut others[..], 0, &of(0)),
            ])
        });
        let [a, b, c] = refused.unwrap();
        assert!(matches!(a, Err(Error::Fit { .. })), "{a:?}");
        assert!(matches!((&b, &c), (Err(Error::Wire { .. }), Err(Error::Wire { .. }))), "{b:?}, {c:?}");
        Ok(())
    });
    opened.unwrap();
    // Values of another type with as many bytes.
    let mut values = [0.0f64; 3];
    let bits = [7u64; 3];
    let opened = world.window(&mut values, |window| {
        let refused = window.fence(|epoch| epoch.put(&bits, rank, &layout!(f64[3] => [..])));
        assert!(matches!(refused, Err(Error::Pack(PackError::Signature { byte: 0, .. }))), "{refused:?}");
        Ok(())
    });
    opened.unwrap();
    // A target that selects an element twice is erroneous in MPI. It may be read.
    let own = [7u64; 3];
    let mut into = [0u64; 3];
    let mut values = [1u64, 2, 3, 4];
    let (list, n) = ([0, 3, 0], values.len());
    let twice = layout!(u64[n] => {list}).unwrap();
    let opened = world.window(&mut values, |window| {
        let refused = window.fence(|epoch| {
            let sum = SystemOperation::sum();
            Ok([epoch.put(&own, rank, &twice), epoch.accumulate(&own, sum, rank, &twice)])
        });
        assert_eq!(refused, Ok([Err(Error::Pack(PackError::Overlap)), Err(Error::Pack(PackError::Overlap))]));
        window.fence(|epoch| epoch.get(&mut into, rank, &twice))
    });
    opened.unwrap();
    assert_eq!((into, values), ([1, 4, 1], [1, 2, 3, 4]));
    // Another type on one rank: an error on all.
    if ranks > 1 {
        let refused = if rank == 0 {
            world.window(&mut [0u64; 2], |_| Ok(()))
        } else {
            world.window(&mut [0i64; 2], |_| Ok(()))
        };
        assert!(matches!(refused, Err(Error::Window { .. })), "{refused:?}");
    }
    // A panic on one rank ends its epoch and its window, and the others go on.
    panic::set_hook(Box::new(|_| {}));
    let mut values = [0u8; 4];
    let panicked = panic::catch_unwind(AssertUnwindSafe(|| {
        world.window(&mut values, |window| {
            window.fence(|_| {
                assert!(rank > 0, "rank 0 has had enough");
                Ok(())
            })
        })
    }));
    drop(panic::take_hook());
    assert_eq!(panicked.is_err(), rank == 0);
    assert!(matches!(panicked, Err(_) | Ok(Ok(()))), "{panicked:?}");
    world.window(&mut values, |window| window.fence(|_| Ok(()))).unwrap();
}

/// Ranks that name one another in an exchange in which one of them does not take part: an error on both, and
/// the next exchange is right.
fn absent(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    let own = 7u64;
    let whole = layout!(u64[1] => [..]);
    for wrong in 0..ranks {
        let others: Vec<usize> = (0..ranks).filter(|other| *other != wrong).collect();
        // In a ring of the others, each writes to the next one.
        let ring = |window: &mut Window<'_, u64>| {
            let Some(at) = others.iter().position(|other| *other == rank) else { return };
            let around = |step: usize| others[(at + step) % others.len()];
            let (next, previous) = (around(1), around(others.len() - 1));
            window.values_mut()[0] = 0;
            window.exchange(&[next], &[previous], |epoch| epoch.put(&own, next, &whole)).unwrap();
            assert_eq!(window.values(), [7]);
        };
        let is_refused = |refused: Result<(), Error>| match refused {
            Err(Error::Window { reason }) => reason.contains(&format!("rank {wrong} does not take part")),
            _ => false,
        };
        // A rank has left.
        let opened = world.window(&mut [0u64], |window| {
            if rank == wrong {
                return Ok(());
            }
            for _ in 0..2 {
                assert!(is_refused(window.exchange(&[wrong], &[], |_| Ok(()))));
                assert!(is_refused(window.exchange(&[], &[wrong], |_| Ok(()))));
                // Those that take part are in the epoch nevertheless, without transfers.
                let all: Vec<usize> = (0..ranks).collect();
                assert!(is_refused(window.exchange(&all, &all, |_| Ok(()))));
                ring(window);
                // A fence ends with an error, on some ranks earlier than on others.
                assert!(matches!(window.fence(|_| Ok(())), Err(Error::Window { .. })));
                ring(window);
            }
            Ok(())
        });
        opened.unwrap();
        let opened = world.window(&mut [0u64], |window| {
            // A rank names ranks that do not exist.
            for beyond in [ranks, usize::MAX] {
                if rank == wrong {
                    let mut targets = others.clone();
                    targets.push(beyond);
                    let refused = window.exchange(&targets, &[], |_| Ok(()));
                    let beyond = i32::try_from(beyond).unwrap_or(i32::MAX);
                    assert_eq!(refused, Err(Error::Rank { rank: beyond, ranks: ranks as i32 }));
                } else {
                    assert!(is_refused(window.exchange(&[], &[wrong], |_| Ok(()))));
                }
                ring(window);
            }
            // A rank has another part than the others expect.
            if rank == wrong {
                let refused = window.exchange(&others, &[], |_| Ok(()));
                assert_eq!(refused.is_err(), ranks > 1);
                assert!(window.exchange(&[rank], &[], |_| Ok(())).is_err());
                window.exchange(&[rank], &[rank], |epoch| epoch.put(&own, rank, &whole)).unwrap();
                assert_eq!(window.values(), [7]);
            } else {
                assert!(is_refused(window.exchange(&[wrong], &[wrong], |_| Ok(()))));
            }
            ring(window);
            // A rank makes another call, in which it waits for the others until they have left.
            if rank == wrong {
                assert_eq!(window.fence(|_| Ok(())).is_err(), ranks > 1);
            } else {
                assert!(is_refused(window.exchange(&[wrong], &[], |_| Ok(()))));
                ring(window);
            }
            Ok(())
        });
        opened.unwrap();
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
fn aligned(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let number = |of: usize| of as u64;
    for length in [1, 2, 5] {
        let of = |of: usize| length + of;
        let mut lines = vec![Line::default(); of(rank)];
        let own = Line([7, 8, number(rank)]);
        let there = layout!(Line[of(next)] => [-1]).unwrap();
        let opened = world.window(&mut lines, |window| {
            assert_eq!(window.values().as_ptr().addr() % 64, 0);
            window.fence(|epoch| epoch.put(&own, next, &there))
        });
        opened.unwrap();
        assert_eq!(lines.pop(), Some(Line([7, 8, number(previous)])));
        assert!(lines.iter().all(|line| *line == Line::default()));
        let mut pages = vec![Page(1); of(rank)];
        let own = Page(number(rank));
        let there = layout!(Page[of(next)] => [-1]).unwrap();
        let opened = world.passive_window(&mut pages, |window| {
            window.lock(Lock::Exclusive, next, |epoch| {
                epoch.accumulate(&own, SystemOperation::sum(), next, &there)
            })
        });
        opened.unwrap();
        assert_eq!(pages.pop(), Some(Page(1 + number(previous))));
        assert!(pages.iter().all(|page| *page == Page(1)));
    }
}

/// A library whose memory lies elsewhere than it says: an error on all ranks, and the values stay.
fn shifted(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    for wrong in 0..ranks {
        for bytes in [8, 64] {
            let mut values = [rank as u64; 5];
            // SAFETY: the function sets a number of this process, which has one thread.
            unsafe { spy::c_shift_window(if rank == wrong { bytes } else { 0 }) };
            let opened = world.window(&mut values, |_| Ok(())).map_err(|error| error.to_string());
            assert!(opened.is_err_and(|error| error.contains("reaches other bytes")));
            let opened = world.passive_window(&mut values, |_| Ok(()));
            assert_eq!((opened, values), (Ok(()), [rank as u64; 5]));
        }
    }
}
