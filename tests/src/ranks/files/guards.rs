//! Guards of immediate transfers of files, in every order of the calls that their types allow.

use std::{mem, os::raw::c_int};

use dtype_runtime::{
    Error, MpiDatatype, layout,
    layout::Darray,
    wire::{File, PendingRead, PendingWrite},
};
use mpi::{topology::SimpleCommunicator, traits::*};

use super::{on_disk, path, reason, remove};

/// The end of a transfer's guard.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Finish,
    Drop,
    Forget,
}

/// Calls `is_done` so many times: -1 until it returns `true`, and once more.
fn ask(asks: i32, mut is_done: impl FnMut() -> Result<bool, Error>) -> Result<(), Error> {
    for _ in 0..asks {
        is_done()?;
    }
    if asks < 0 {
        while !is_done()? {}
        assert!(is_done()?);
    }
    Ok(())
}

fn end_write(mut write: PendingWrite<'_>, asks: i32, end: End) -> Result<(), Error> {
    ask(asks, || write.is_done())?;
    match end {
        End::Finish => return write.finish(),
        End::Drop => drop(write),
        End::Forget => mem::forget(write),
    }
    Ok(())
}

fn end_read(mut read: PendingRead<'_, [Flag]>, asks: i32, end: End) -> Result<(), Error> {
    ask(asks, || read.is_done())?;
    match end {
        End::Finish => return read.finish(),
        End::Drop => drop(read),
        End::Forget => mem::forget(read),
    }
    Ok(())
}

/// A value for which most bytes are wrong.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Flag {
    pub is_set: bool,
}

unsafe extern "C" {
    fn c_fail_writes(count: c_int);
}

/// Checks that a write that fails is an error of each `is_done`, and of `finish` after them.
fn failing_writes(world: &SimpleCommunicator) {
    let path = path(world, "failing");
    let file = File::create(world, &path).unwrap();
    for asks in [0, 1, 2] {
        for end in [End::Finish, End::Drop, End::Forget] {
            // SAFETY: sets a number.
            unsafe { c_fail_writes(1) };
            let mut write = file.start_write_at(0, &1u8).unwrap();
            let mut errors: Vec<_> = (0..asks).map(|_| write.is_done().map(|_| ())).collect();
            match end {
                End::Finish => errors.push(write.finish()),
                End::Drop => drop(write),
                End::Forget => mem::forget(write),
            }
            for error in &errors {
                assert!(reason(error.clone(), "a write").contains("MPI_File_iwrite_at"), "{errors:?}");
                assert_eq!(*error, errors[0], "{asks} {end:?}");
            }
        }
    }
    file.start_write_at(0, &1u8).unwrap().finish().unwrap();
    file.close().unwrap();
    remove(world, &path);
}

/// Checks that calls of all ranks wait for immediate transfers of some ranks, also of other files, and that
/// the guards have the outcome nevertheless.
fn calls_of_all_meanwhile(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let [first, second] = ["meanwhile", "other"].map(|name| path(world, name));
    let (mut file, other) = (File::create(world, &first).unwrap(), File::create(world, &second).unwrap());
    let expected = vec![7u8; ranks];
    for call in 0..4 {
        let writes = if rank % 2 == call % 2 { 3 } else { 0 };
        let start = |file: &File| mem::forget(file.start_write_at(rank as u64, &7u8).unwrap());
        (0..writes).for_each(|_| start(&file));
        let others: Vec<_> = (0..writes).map(|_| other.start_write_at(rank as u64, &7u8).unwrap()).collect();
        // A write that fails, which only its guard tells.
        // SAFETY: sets a number.
        unsafe { c_fail_writes(1) };
        let failing = other.start_write_at(rank as u64, &8u8).unwrap();
        match call {
            0 => file.sync().unwrap(),
            1 => file.set_size(ranks as u64).unwrap(),
            2 => drop(file.view(0, &layout!(u8[1] => [0])).unwrap()),
            _ => {
                let own = Darray::blocks(rank, [20, ranks], [1, ranks]);
                file.write_distributed(9, &own, &vec![7u8; 20]).unwrap();
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

/// Makes the calls of immediate transfers in every order: `is_done` never, once, twice, or until the transfer
/// is complete; then `finish`, drop or forget; for values that are right or wrong.
pub fn orders(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let path = path(world, "orders");
    let file = File::create(world, &path).unwrap();
    let (size, mut expected) = (3 * ranks, Vec::new());
    for asks in [0, 1, 2, -1] {
        for end in [End::Finish, End::Drop, End::Forget] {
            for byte in [1u8, 7] {
                let (name, at) = (format!("{asks} {end:?} {byte}"), expected.len() as u64);
                let own = at + 3 * rank as u64;
                end_write(file.start_write_at(own, &[byte; 3]).unwrap(), asks, end).expect(&name);
                expected.extend(vec![byte; size]);
                // The transfers that were forgotten are under way until the file is closed.
                if end == End::Forget {
                    continue;
                }
                let mut into = [Flag { is_set: false }; 3];
                let read = end_read(file.start_read_at(own, &mut into[..]).unwrap(), asks, end);
                let (is_right, is_read) = (byte == 1, end == End::Finish);
                assert_eq!(matches!(read, Err(Error::InvalidValue { .. })), is_read && !is_right, "{name}");
                assert_eq!(read.is_ok(), !is_read || is_right, "{name}");
                assert_eq!(into, [Flag { is_set: is_read && is_right }; 3], "{name}");
            }
        }
    }
    // Reads that are forgotten, and several at a time, which end in another order than they began.
    let (mut first, mut second, mut third) = ([Flag { is_set: false }; 3], [0u8; 3], [0u8; 3]);
    let own = 3 * rank as u64;
    mem::forget(file.start_read_at(own, &mut first[..]).unwrap());
    let mut second_read = file.start_read_at(own, &mut second).unwrap();
    let third_read = file.start_read_at(own, &mut third).unwrap();
    third_read.finish().unwrap();
    while !second_read.is_done().unwrap() {}
    second_read.finish().unwrap();
    assert_eq!((second, third), ([1; 3], [1; 3]));
    file.close().unwrap();
    assert_eq!(on_disk(world, &path), expected);
    remove(world, &path);
    failing_writes(world);
    calls_of_all_meanwhile(world);
}
