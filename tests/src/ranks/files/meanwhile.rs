//! Immediate transfers of files that are under way beside other calls.

use std::mem;

use dtype_core::Distribution;
use dtype_runtime::{
    Comm, File, layout,
    layout::{ArrayOrder, Darray, Subarray},
};
use mpi::topology::SimpleCommunicator;

use super::{on_disk, path, reason, remove};
use crate::guards::fail_writes;

/// Checks that calls of all ranks wait for immediate transfers of some ranks, also of other files, and that
/// the guards have the outcome nevertheless.
fn calls_of_all_meanwhile(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    let [first, second] = ["meanwhile", "other"].map(|name| path(world, name));
    let (mut file, other) = (world.create(&first).unwrap(), world.create(&second).unwrap());
    let expected = vec![7u8; ranks];
    for call in 0..4 {
        let writes = if rank % 2 == call % 2 { 3 } else { 0 };
        let start = |file: &File| mem::forget(file.start().write_at(rank as u64, &7u8).unwrap());
        (0..writes).for_each(|_| start(&file));
        let others: Vec<_> =
            (0..writes).map(|_| other.start().write_at(rank as u64, &7u8).unwrap()).collect();
        // A write that fails, which only its guard tells.
        fail_writes(1);
        let failing = other.start().write_at(rank as u64, &8u8).unwrap();
        match call {
            0 => file.sync().unwrap(),
            1 => file.set_size(ranks as u64).unwrap(),
            2 => drop(file.view(0, &layout!(u8[1] => [0])).unwrap()),
            _ => {
                let own = Darray::blocks(rank, [20, ranks], [1, ranks]);
                file.at(9).write(&own, &vec![7u8; 20]).unwrap();
            }
        }
        for write in others {
            write.finish().unwrap();
        }
        reason(failing.finish(), "a write that fails");
    }
    file.write_at_all(rank as u64, &7u8).unwrap();
    other.sync().unwrap();
    assert_eq!(on_disk(world, &first)[..ranks], expected);
    drop((file, other));
    for path in [first, second] {
        remove(world, &path);
    }
}

/// Forgets a transfer, and ends several in another order than they began.
fn several(world: &Comm<&SimpleCommunicator>) {
    let path = path(world, "several");
    let own = 3 * world.rank() as u64;
    let mut file = world.create(&path).unwrap();
    file.write_at_all(own, &[1u8; 3]).unwrap();
    let [mut first, mut second, mut third] = [[0u8; 3]; 3];
    mem::forget(file.start().read_at(own, &mut first).unwrap());
    let mut second_read = file.start().read_at(own, &mut second).unwrap();
    let third_read = file.start().read_at(own, &mut third).unwrap();
    let written = file.start().write_at(own + 3 * world.size() as u64, &[2u8; 3]).unwrap();
    mem::forget(written);
    third_read.finish().unwrap();
    while !second_read.is_done().unwrap() {}
    second_read.finish().unwrap();
    assert_eq!((first, second, third), ([0; 3], [1; 3], [1; 3]));
    // Closing waits for the write that was forgotten.
    file.close().unwrap();
    let size = 3 * world.size();
    assert_eq!(on_disk(world, &path), [vec![1; size], vec![2; size]].concat());
    remove(world, &path);
}

/// Writes and reads a cyclic array while messages of other calls on the communicator are under way: no call
/// gets those of another one.
fn messages_meanwhile(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    let path = path(world, "messages");
    let own = Darray {
        rank,
        gsizes: [40, 3 * ranks],
        distributions: [Distribution::Cyclic(None); 2],
        psizes: [1, ranks],
        order: ArrayOrder::RowMajor,
    };
    let values: Vec<u64> = (0..120).map(|i| i * ranks as u64 + rank as u64).collect();
    let sent: Vec<Vec<u64>> = (0..ranks).map(|to| vec![(rank * ranks + to) as u64; 5 + to]).collect();
    let messages: Vec<&[u64]> = sent.iter().map(|one| &one[..]).collect();
    for is_open_first in [false, true] {
        let mut received = vec![Vec::<u64>::new(); ranks];
        let mut read = vec![0u64; 120];
        let mut file = is_open_first.then(|| world.create(&path).unwrap());
        let pending = world.start().all_to_all_into(&messages, &mut received).unwrap();
        let file = file.get_or_insert_with(|| world.create(&path).unwrap());
        file.write(&own, &values).unwrap();
        file.read(&own, &mut read).unwrap();
        pending.finish().unwrap();
        assert_eq!(read, values);
        for (from, message) in received.iter().enumerate() {
            assert_eq!(*message, vec![(from * ranks + rank) as u64; 5 + rank]);
        }
    }
    let all: Vec<u8> = (0..120 * ranks as u64).flat_map(u64::to_ne_bytes).collect();
    assert_eq!(on_disk(world, &path), all);
    remove(world, &path);
}

/// Writes and reads a few bytes far apart: the cost does not follow the bytes between them.
fn far_apart(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    let path = path(world, "far-apart");
    let mut file = world.create(&path).unwrap();
    let part = Subarray {
        sizes: [12, 1 << 36],
        subsizes: [12, 1],
        starts: [0, rank << 20],
        order: ArrayOrder::RowMajor,
    };
    let (values, mut read) = (vec![rank as u8; 12], vec![0u8; 12]);
    file.write(&part, &values).unwrap();
    file.read(&part, &mut read).unwrap();
    assert_eq!((read, file.size().unwrap()), (values, (11 << 36) + ((ranks as u64 - 1) << 20) + 1));
    drop(file);
    remove(world, &path);
}

pub fn meanwhile(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    messages_meanwhile(world);
    far_apart(world);
    several(world);
    calls_of_all_meanwhile(world);
}
