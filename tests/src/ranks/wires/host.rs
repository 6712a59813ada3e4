//! Scenarios for the effects on a program apart from its messages: errors, error handlers, threads, and the
//! end of MPI.

use std::{mem::MaybeUninit, os::raw::c_int};

use super::matching::Shared;
use dtype_mpi::Error as LibraryError;
use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{Comm, Error, MpiDatatype, Wire, layout};
use mpi::{
    ffi::{self, MPI_Comm, MPI_Errhandler},
    raw::AsRaw,
    topology::SimpleCommunicator,
    traits::*,
};

fn handler(communicator: MPI_Comm) -> MPI_Errhandler {
    let mut handler = MaybeUninit::uninit();
    // SAFETY: the communicator is live, and `handler` is writable.
    unsafe {
        ffi::MPI_Comm_get_errhandler(communicator, handler.as_mut_ptr());
        handler.assume_init()
    }
}

/// A mistake is an error value with every library, even if MPI would abort the program. The program keeps its
/// error handlers.
pub fn errors(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    // SAFETY: constants of the library.
    let (fatal, own) = unsafe { (ffi::RSMPI_ERRORS_ARE_FATAL, ffi::RSMPI_COMM_SELF) };
    let all_are_fatal = || assert!([world.as_raw(), own].into_iter().all(|each| handler(each) == fatal));
    all_are_fatal();
    wrong_tags(world);
    all_are_fatal();
}

fn wrong_tags(world: &Comm<&SimpleCommunicator>) {
    let next = (world.rank() + 1) % world.size();
    for tag in [-5, -77, i32::MIN, i32::MAX] {
        let (other, any) = (world.peer(next).tag(tag), world.any().tag(tag));
        let (mut value, mut place) = (1u8, 1u8);
        // If the tag is valid, each call that waits for a message follows one that sends it.
        let results = [
            other.send(&1u8),
            other.wire(Wire::Typed).send(&1u8),
            any.receive_into(&mut value).map(drop),
            any.receive::<u8>().map(drop),
            other.start().send(&1u8).map(drop),
            world.scope(|scope| scope.peer(next).tag(tag).send(&1u8)),
            any.try_receive::<u8>().map(drop),
            any.probe().map(drop),
            other.start().receive_into(&mut place).map(drop),
            other.start().receive::<u8>().map(drop),
            other.prepare().send(&1u8).map(drop),
            other.prepare().receive_into(&1u8).map(drop),
            other.try_receive::<u8>().map(drop),
            other.probe().map(drop),
        ];
        // In some libraries, even the largest `i32` is a valid tag.
        if tag == i32::MAX && results[0].is_ok() {
            continue;
        }
        for result in results {
            let error = result.unwrap_err();
            assert!(matches!(error, Error::Tag { tag: found, .. } if found == tag), "{error}");
        }
        let results =
            [other.receive_into(&mut value), other.receive::<u8>().map(drop), other.swap(&mut value)];
        assert!(results.iter().all(|result| matches!(result, Err(Error::Tag { .. }))), "{results:?}");
    }
}

/// A number that is not a rank is an error, even if its lower 32 bits are one. Nothing is sent.
pub fn nobody(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, size) = (world.rank(), world.size());
    world.attach().unwrap();
    for absent in [size, 99, i32::MAX as usize, 1 << 32, usize::MAX] {
        let other = world.peer(absent);
        let mut place = 9u8;
        let mut results = vec![
            other.send(&1u8),
            other.synchronous().send(&1u8),
            other.receive::<u8>().map(drop),
            other.receive_into(&mut place),
            other.try_receive::<u8>().map(drop),
            other.probe().map(drop),
            other.swap(&mut place),
            other.start().send(&1u8).map(drop),
            other.start().receive::<u8>().map(drop),
            other.start().receive_into(&mut place).map(drop),
            other.prepare().send(&1u8).map(drop),
            other.prepare().receive_into(&1u8).map(drop),
            world.scope(|scope| scope.peer(absent).send(&1u8)),
            world.scope(|scope| scope.peer(absent).receive_into(&mut place)),
            world.exchange([(rank, &1u8), (absent, &1u8)], [(rank, &mut place)]),
            world.exchange([(rank, &1u8)], [(absent, &mut place)]),
            world.broadcast(absent, Some(1u8)).map(drop),
            world.broadcast_into(absent, &mut place),
            world.gather(absent, &1u8).map(drop),
            world.gather_into(absent, &1u8, Some(&mut place)),
            world.gather_into::<u8, u8>(absent, &1u8, None),
            world.scatter(absent, Some(&[1u8; 4][..])).map(drop),
            world.scatter_into(absent, Some(&[1u8; 4]), &mut place),
            world.scatter_into::<u8, u8>(absent, None, &mut place),
            world.reduce(absent, &1u8, |a, b| a + b).map(drop),
            world.reduce_into(absent, &[1u8], Some(&mut [0]), |a, b| a + b),
        ];
        for wire in super::WIRES {
            results.push(other.wire(wire).send(&[1.0f64; 100_000]));
            results.push(other.wire(wire).receive_into(&mut place));
        }
        let error = Error::Rank { rank: i32::try_from(absent).unwrap_or(i32::MAX), ranks: size as i32 };
        results.retain(|result| *result != Err(error.clone()));
        assert!(results.is_empty(), "rank {absent}: {results:?}");
        assert_eq!(place, 9);
        assert!(world.peer(rank).tag(0).probe().unwrap().is_none());
    }
}

/// A communicator that reuses the handle of a dropped one counts as a new communicator.
pub fn communicators(world: &SimpleCommunicator) {
    for round in 0..50 {
        let communicator = Comm::from(world.duplicate());
        let rank = communicator.rank();
        let mut into = [0u8; 4];
        for wire in [Wire::Packed, Wire::Segments] {
            let other = communicator.peer(1 - rank).wire(wire);
            if wire == Wire::Segments {
                assert!(matches!(other.send(&[1u8; 3]), Err(Error::Wire { .. })));
                assert!(matches!(other.receive_into(&mut into), Err(Error::Wire { .. })));
                communicator.attach().unwrap();
                communicator.attach().unwrap();
            }
            if rank == 0 {
                other.send(&[round; 3]).unwrap();
                other.send(&[round; 4]).unwrap();
            } else {
                let error = other.receive_into(&mut into).unwrap_err();
                assert_eq!(error, Error::Fit { value: 4, expected: 4, found: Some(3), from: Some((0, 0)) });
                other.receive_into(&mut into).unwrap();
                assert_eq!(into, [round; 4]);
            }
            let (other, mut too_small) = (communicator.peer(1 - rank), [0u8; 2]);
            if rank == 0 {
                other.send(&[1u8; 200_000]).unwrap();
            } else {
                let receiving = other.start().receive_into(&mut too_small[..]).unwrap();
                let error = receiving.finish().unwrap_err();
                assert!(matches!(error, Error::Fit { .. }), "{error}");
            }
        }
    }
}

/// An error handler of the program that returns stays in place. Errors that it hides are still error values.
pub fn own_handlers(world: &SimpleCommunicator) {
    unsafe extern "C" fn returns(_: *mut MPI_Comm, _: *mut c_int) {}
    let mut own = MaybeUninit::uninit();
    // SAFETY: the handler takes what MPI passes, and returns; it reads none of the variable arguments.
    unsafe {
        type Handler = unsafe extern "C" fn(*mut MPI_Comm, *mut c_int, ...);
        let returns =
            std::mem::transmute::<unsafe extern "C" fn(*mut MPI_Comm, *mut c_int), Handler>(returns);
        ffi::MPI_Comm_create_errhandler(Some(returns), own.as_mut_ptr());
        ffi::MPI_Comm_set_errhandler(world.as_raw(), own.assume_init());
    }
    // SAFETY: the handler was made above.
    let own = unsafe { own.assume_init() };
    let world = &Comm::from(world);
    let other = world.peer(1 - world.rank());
    for length in (0..700usize).chain([5000, 70_000, 300_000]) {
        if world.rank() == 0 {
            other.send(&vec![7u8; length]).unwrap();
            other.send(&vec![7u8; length]).unwrap();
        } else {
            for is_started in [true, false] {
                let mut into = [1u8; 20];
                let received = if is_started {
                    other.start().receive_into(&mut into[..]).unwrap().finish()
                } else {
                    other.receive_into(&mut into[..])
                };
                assert_eq!(received.is_ok(), length == 20, "{length}: {received:?}");
                assert_eq!(into, if length == 20 { [7; 20] } else { [1; 20] });
            }
        }
    }
    let error = other.tag(-7).send(&1u8).unwrap_err().to_string();
    assert!(error.contains("-7 is not a valid tag"), "{error}");
    assert!(handler(world.as_raw()) == own);
    // SAFETY: the handler was made here, and is now replaced by the default one.
    unsafe { ffi::MPI_Comm_set_errhandler(world.as_raw(), ffi::RSMPI_ERRORS_ARE_FATAL) };
}

/// A receive that has failed is done, and stays done. `finish` returns its error.
pub fn asked_again(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    if world.rank() == 0 {
        world.peer(1).send(&[2u8; 3]).unwrap();
        world.peer(1).send(&[2u8; 3]).unwrap();
        return;
    }
    let (mut flags, mut many) = ([true; 3], vec![true; 7]);
    let mut receiving = world.peer(0).start().receive_into(&mut flags[..]).unwrap();
    let mut receiving_many = world.peer(0).start().receive_into(&mut many).unwrap();
    while !(receiving.is_done().unwrap() && receiving_many.is_done().unwrap()) {
        std::thread::yield_now();
    }
    assert_eq!((receiving.is_done(), receiving.is_done()), (Ok(true), Ok(true)));
    assert_eq!((receiving_many.is_done(), receiving_many.is_done()), (Ok(true), Ok(true)));
    for receiving in [receiving, receiving_many] {
        let error = receiving.finish().unwrap_err();
        assert!(matches!(error, Error::Pack(PackError::InvalidValue { offset: 0, found: 2, .. })), "{error}");
    }
    assert_eq!((flags, many), ([true; 3], vec![true; 7]));
}

/// Transfers that outlive MPI return errors, and do not end the program.
pub fn after_the_end() {
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = Comm::from(universe.world());
    let other = world.peer((world.rank() + 1) % world.size());
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    let (mut places, mut values) = ([0u64; 3], Vec::new());
    for place in &mut places {
        sends.push(other.start().send(&7u64).unwrap());
        receives.push(other.tag(99).start().receive_into(place).unwrap());
        values.push(other.tag(99).start().receive::<String>().unwrap());
    }
    for _ in 0..3 {
        assert_eq!(world.any().tag(0).receive::<u64>().unwrap().0, 7);
    }
    drop(universe);
    assert_eq!(sends[0].is_done(), Err(Error::Library(LibraryError::Finalized)));
    assert_eq!(sends.pop().unwrap().finish(), Err(Error::Library(LibraryError::Finalized)));
    assert_eq!(receives[0].is_done(), Err(Error::Library(LibraryError::Finalized)));
    assert_eq!(receives.pop().unwrap().finish(), Err(Error::Library(LibraryError::Finalized)));
    assert_eq!(values[0].is_done(), Err(Error::Library(LibraryError::Finalized)));
    assert_eq!(values.pop().unwrap().finish(), Err(Error::Library(LibraryError::Finalized)));
    drop((sends, receives, values));
    assert_eq!(places, [0; 3]);
    assert_eq!(other.send(&7u64), Err(Error::Library(LibraryError::Finalized)));
}

/// Below `MPI_THREAD_SERIALIZED`, every call on a thread other than the main one is an error.
pub fn one_thread() {
    let universe = mpi::initialize().expect("MPI is initialized once");
    assert!(mpi::environment::threading_support() < mpi::Threading::Serialized);
    let world = universe.world();
    // The other thread calls no MPI function: it gets errors instead.
    let shared = Shared(&world);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let world = Comm::from(shared.get());
            let own = world.peer(0);
            let mut place = 1u8;
            let results = [
                own.send(&1u8),
                own.receive::<u8>().map(drop),
                own.receive_into(&mut place),
                own.try_receive::<u8>().map(drop),
                own.start().send(&1u8).map(drop),
                own.start().receive_into(&mut place).map(drop),
                world.any().probe().map(drop),
                world.exchange([(0, &1u8)], [(0, &mut place)]),
                world.scope(|scope| scope.peer(0).send(&1u8)),
                world.broadcast(0, Some(1u8)).map(drop),
                world.all_gather(&1u8).map(drop),
                world.all_gather_into(&1u8, &mut place),
                world.all_reduce(&1u8, |a, b| a + b).map(drop),
                world.neighbours().all_gather(&1u8).map(drop),
                world.attach(),
                <(u8, f64)>::datatype().map(drop),
            ];
            let refused = Err(Error::Library(LibraryError::Thread));
            assert!(results.iter().all(|result| *result == refused), "{results:?}");
            let n = 3;
            let layout = layout!(f64[n][n] => [.., 0]).unwrap();
            assert_eq!(layout.datatype().map(drop), refused);
        });
    });
    let world = Comm::from(world);
    world.all_gather_into(&1u8, &mut vec![1u8; world.size()][..]).unwrap();
    drop(universe);
}

#[derive(MpiDatatype, Clone, Copy, PartialEq, Debug)]
#[repr(C, align(16))]
#[mpi(wire = "bytes")]
struct Block {
    value: f64,
    tag: u8,
}

#[derive(MpiDatatype, Clone, Copy, PartialEq, Debug)]
#[repr(C, align(16))]
#[mpi(wire = "bytes")]
struct Flagged {
    value: f64,
    flag: bool,
}

/// Types that travel as bytes arrive unchanged on every wire, and through plain calls.
pub fn blocks(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    world.attach().unwrap();
    let plain = world.process_at_rank(1 - world.rank() as i32);
    for n in [1usize, 3, 9, 16, 144, 3000] {
        let own = |i: usize| Block { value: i as f64 + 0.5, tag: i as u8 };
        let flagged = |i: usize| Flagged { value: i as f64, flag: i % 3 == 0 };
        let values: Vec<Block> = (0..n).map(own).collect();
        let flags: Vec<Flagged> = (0..n).map(flagged).collect();
        let matrix: Vec<Block> = (0..n * 4).map(own).collect();
        let flag_matrix: Vec<Flagged> = (0..n * 4).map(flagged).collect();
        let column = layout!(Block[n][4] => [.., 1]).unwrap();
        let flag_column = layout!(Flagged[n][4] => [.., 1]).unwrap();
        let nothing = Block { value: -1.0, tag: 99 };
        let no_flag = Flagged { value: -1.0, flag: true };
        for wire in super::WIRES.into_iter().chain([Wire::Bytes]) {
            let (other, is_whole) = (world.peer(1 - world.rank()).wire(wire), wire == Wire::Bytes);
            if world.rank() == 0 {
                other.send(&values).unwrap();
                other.send(&flags).unwrap();
                if !is_whole {
                    other.send(&column.of(&matrix).unwrap()).unwrap();
                    other.send(&flag_column.of(&flag_matrix).unwrap()).unwrap();
                    other.send(&values).unwrap();
                }
                continue;
            }
            let mut into = vec![nothing; n];
            other.receive_into(&mut into[..]).unwrap();
            assert_eq!(into, values, "{wire:?} {n}");
            let mut into = vec![no_flag; n];
            other.receive_into(&mut into[..]).unwrap();
            assert_eq!(into, flags, "{wire:?} {n}");
            if !is_whole {
                let mut into = vec![nothing; n * 4];
                other.receive_into(&mut column.of_mut(&mut into).unwrap()).unwrap();
                for (i, block) in into.iter().enumerate() {
                    assert_eq!(*block, if i % 4 == 1 { own(i) } else { nothing }, "{wire:?} {n} {i}");
                }
                let mut into = vec![no_flag; n * 4];
                other.receive_into(&mut flag_column.of_mut(&mut into).unwrap()).unwrap();
                for (i, block) in into.iter().enumerate() {
                    assert_eq!(*block, if i % 4 == 1 { flagged(i) } else { no_flag }, "{wire:?} {n} {i}");
                }
                // A slice is received into a column.
                let mut into = vec![nothing; n * 4];
                other.receive_into(&mut column.of_mut(&mut into).unwrap()).unwrap();
                assert!(into.iter().skip(1).step_by(4).copied().eq(values.iter().copied()));
            }
        }
        let other = world.peer(1 - world.rank());
        if world.rank() == 0 {
            plain.send(&values[..]);
            plain.send(&values[..]);
            other.send(&values).unwrap();
        } else {
            let mut into = vec![nothing; n];
            other.receive_into(&mut into[..]).unwrap();
            assert_eq!(into, values, "{n}");
            let mut into = vec![nothing; 2];
            other.receive_into(&mut into).unwrap();
            assert_eq!(into, values, "{n}");
            let mut into = vec![nothing; n];
            plain.receive_into(&mut into[..]);
            assert_eq!(into, values, "{n}");
        }
    }
}

#[derive(MpiDatatype)]
struct Node {
    #[mpi(skip)]
    neighbours: Vec<u64>,
    #[mpi(skip)]
    name: String,
    data: [u64; 4000],
}

#[derive(MpiDatatype, Clone, Copy)]
#[repr(C)]
struct Marked {
    data: [u8; 40_000],
    marker: (),
}

/// A contiguous part need not begin at its first value, which may have no size or may lie elsewhere.
pub fn contiguous(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let node = |value| Node { neighbours: vec![1, 2, 3], name: "name".to_owned(), data: [value; 4000] };
    let whole = layout!(Node[2] => [1]);
    let parts = layout!(Marked[2] => [1].marker + [0].data);
    for wire in [Wire::Typed, Wire::Packed, Wire::Auto] {
        let other = world.peer(1 - world.rank()).wire(wire);
        let mut nodes = [node(1), node(2)];
        let mut marked = Box::new([Marked { data: [3; 40_000], marker: () }; 2]);
        if world.rank() == 0 {
            other.send(&whole.of(&nodes)).unwrap();
            other.send(&parts.of(&marked)).unwrap();
        } else {
            (nodes[1].data, marked[0].data) = ([0; 4000], [0; 40_000]);
            other.receive_into(&mut whole.of_mut(&mut nodes)).unwrap();
            other.receive_into(&mut parts.of_mut(&mut marked)).unwrap();
        }
        for (i, node) in nodes.iter().enumerate() {
            assert_eq!((&node.neighbours[..], node.name.as_str()), (&[1, 2, 3][..], "name"));
            assert_eq!(node.data, [i as u64 + 1; 4000]);
        }
        assert!(marked.iter().all(|marked| marked.data == [3; 40_000]));
    }
}
