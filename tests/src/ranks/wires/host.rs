//! Scenarios for the effects on a program apart from its messages: errors, error handlers, threads, and the
//! end of MPI.

use std::{mem::MaybeUninit, os::raw::c_int};

use super::matching::Shared;
use dtype_runtime::{Error, MpiDatatype, Wire, layout, traits::*, wire, wire::send_receive_over};
use mpi::{
    ffi::{self, MPI_Comm, MPI_Errhandler},
    raw::AsRaw,
    request::{StaticScope, scope},
    topology::{AsCommunicator, SimpleCommunicator},
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
    // SAFETY: constants of the library.
    let (fatal, own) = unsafe { (ffi::RSMPI_ERRORS_ARE_FATAL, ffi::RSMPI_COMM_SELF) };
    let all_are_fatal = || assert!([world.as_raw(), own].into_iter().all(|each| handler(each) == fatal));
    all_are_fatal();
    let other = world.process_at_rank((world.rank() + 1) % world.size());
    for tag in [-5, -77, i32::MIN, i32::MAX] {
        let results = [
            other.send_packed_with_tag(&1u8, tag),
            other.send_over_with_tag(Wire::Typed, &1u8, tag),
            other.receive_values_into_with_tag(&mut 1u8, tag).map(|_| ()),
        ];
        for result in results {
            // In some libraries, even the largest `i32` is a valid tag.
            if tag == i32::MAX && !matches!(result, Err(Error::Tag { .. })) {
                return;
            }
            let error = result.unwrap_err();
            assert!(matches!(error, Error::Tag { .. }), "{error}");
        }
    }
    all_are_fatal();
}

/// A communicator that reuses the handle of a dropped one counts as a new communicator.
pub fn communicators(world: &SimpleCommunicator) {
    let rank = world.rank();
    for round in 0..50 {
        let communicator = world.duplicate();
        let other = communicator.process_at_rank(1 - rank);
        let mut into = [0u8; 4];
        for wire in [Wire::Packed, Wire::Segments] {
            if wire == Wire::Segments {
                assert!(matches!(other.send_over(wire, &[1u8; 3]), Err(Error::Wire { .. })));
                wire::attach(&communicator).unwrap();
                wire::attach(&communicator).unwrap();
            }
            if rank == 0 {
                other.send_over(wire, &[round; 3]).unwrap();
                other.send_over(wire, &[round; 4]).unwrap();
            } else {
                let error = other.receive_over(wire, &mut into).unwrap_err();
                assert_eq!(error, Error::Fit { value: 4, expected: 4, found: Some(3), from: Some((0, 0)) });
                other.receive_over(wire, &mut into).unwrap();
                assert_eq!(into, [round; 4]);
            }
            let mut too_small = [0u8; 2];
            scope(|scope| {
                if rank == 0 {
                    other.send_packed(&[1u8; 200_000]).unwrap();
                } else {
                    let receive = other.immediate_receive_values_into(scope, &mut too_small[..]).unwrap();
                    let error = receive.wait().unwrap_err();
                    assert!(matches!(error, Error::Fit { .. }), "{error}");
                }
            });
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
    let other = world.process_at_rank(1 - world.rank());
    for length in (0..700usize).chain([5000, 70_000, 300_000]) {
        if world.rank() == 0 {
            other.send_packed(&vec![7u8; length]).unwrap();
            other.send_packed(&vec![7u8; length]).unwrap();
        } else {
            for posted in [true, false] {
                let mut into = [1u8; 20];
                let received = scope(|scope| {
                    if posted {
                        other.immediate_receive_values_into(scope, &mut into[..])?.wait()
                    } else {
                        other.receive_values_into(&mut into[..])
                    }
                });
                assert_eq!(received.is_ok(), length == 20, "{length}: {received:?}");
                assert_eq!(into, if length == 20 { [7; 20] } else { [1; 20] });
            }
        }
    }
    assert_eq!(
        other
            .send_packed_with_tag(&1u8, -7)
            .map_err(|error| error.to_string().contains("-7 is not a valid tag")),
        Err(true)
    );
    assert!(handler(world.as_raw()) == own);
    // SAFETY: the handler was made here, and is now replaced by the default one.
    unsafe { ffi::MPI_Comm_set_errhandler(world.as_raw(), ffi::RSMPI_ERRORS_ARE_FATAL) };
}

/// A process with any number as its rank.
struct Numbered<'a>(&'a SimpleCommunicator, i32);

impl AsCommunicator for Numbered<'_> {
    type Out = SimpleCommunicator;
    fn as_communicator(&self) -> &SimpleCommunicator {
        self.0
    }
}

// SAFETY: receives are only from `MPI_PROC_NULL`.
unsafe impl Source for Numbered<'_> {
    fn source_rank(&self) -> i32 {
        self.1
    }
}

impl Destination for Numbered<'_> {
    fn destination_rank(&self) -> i32 {
        self.1
    }
}

/// A receive from `MPI_PROC_NULL` gets no data, and a send to it has no effect (MPI 4.1 section 3.11).
pub fn nobody(world: &SimpleCommunicator) {
    // SAFETY: a constant of the library.
    let nobody = Numbered(world, unsafe { ffi::RSMPI_PROC_NULL });
    wire::attach(world).unwrap();
    let mut into = [3.5f64; 4];
    for wire in super::WIRES {
        nobody.send_over(wire, &[1.0f64; 100_000]).unwrap();
        let status = nobody.receive_over(wire, &mut into).unwrap();
        assert_eq!(status.source_rank(), nobody.1);
        send_receive_over(wire, &[1u8; 9], &nobody, &mut into, &nobody).unwrap();
    }
    scope(|scope| {
        let mut receive = nobody.immediate_receive_values_into(scope, &mut into).unwrap();
        assert!(receive.is_done().unwrap());
        receive.wait().unwrap();
    });
    assert_eq!(into, [3.5; 4]);
    // Other numbers outside of the communicator are errors.
    for rank in [world.size(), -1000, i32::MAX, i32::MIN] {
        let error = Numbered(world, rank).send_packed(&1u8).unwrap_err();
        assert_eq!(error, Error::Rank { rank, ranks: world.size() });
    }
}

/// A request that has failed returns the same error from each later call.
pub fn asked_again(world: &SimpleCommunicator) {
    let other = world.process_at_rank(1 - world.rank());
    if world.rank() == 0 {
        other.send_packed(&[2u8; 3]).unwrap();
        return;
    }
    let mut flags = [true; 3];
    scope(|scope| {
        let mut receive = other.immediate_receive_values_into(scope, &mut flags[..]).unwrap();
        let error = loop {
            match receive.is_done() {
                Ok(done) => assert!(!done),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::InvalidValue { .. }), "{error}");
        assert_eq!((receive.is_done(), receive.is_done()), (Err(error.clone()), Err(error.clone())));
        assert_eq!(receive.wait().map(|_| ()), Err(error));
    });
    assert_eq!(flags, [true; 3]);
}

/// Requests that outlive MPI return errors, and do not end the program.
pub fn after_the_end() {
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    let other = world.process_at_rank((world.rank() + 1) % world.size());
    let number: &'static u64 = Box::leak(Box::new(7));
    let mut kept = Vec::new();
    let mut receives = Vec::new();
    for _ in 0..2 {
        kept.push(other.immediate_send_packed(StaticScope, number).unwrap());
        let into: &'static mut u64 = Box::leak(Box::new(0));
        receives.push(other.immediate_receive_values_into_with_tag(StaticScope, into, 99).unwrap());
    }
    let mut into = [0u64; 1];
    for _ in 0..2 {
        world.any_process().receive_values_into_with_tag(&mut into, 0).unwrap();
    }
    drop(universe);
    assert_eq!(kept.pop().unwrap().wait(), Err(Error::Finalized));
    assert_eq!(receives[0].is_done(), Err(Error::Finalized));
    assert_eq!(receives.pop().unwrap().wait().map(|_| ()), Err(Error::Finalized));
    drop((kept, receives));
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
            let world = shared.get();
            let own = world.process_at_rank(0);
            assert_eq!(own.send_packed(&1u8), Err(Error::Thread));
            assert_eq!(own.receive_values_into(&mut 1u8).map(|_| ()), Err(Error::Thread));
            assert_eq!(world.all_gather_packed(&1u8, &mut 1u8), Err(Error::Thread));
            assert_eq!(wire::attach(world), Err(Error::Thread));
            assert_eq!(<(u8, f64)>::datatype().map(|_| ()), Err(Error::Thread));
            let n = 3;
            let layout = layout!(f64[n][n] => [.., 0]).unwrap();
            assert_eq!(layout.datatype().map(|_| ()), Err(Error::Thread));
        });
    });
    world.all_gather_packed(&1u8, &mut vec![1u8; world.size() as usize]).unwrap();
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
    wire::attach(world).unwrap();
    let other = world.process_at_rank(1 - world.rank());
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
            let is_whole = wire == Wire::Bytes;
            if world.rank() == 0 {
                other.send_over(wire, &values).unwrap();
                other.send_over(wire, &flags).unwrap();
                if !is_whole {
                    other.send_over(wire, &column.of(&matrix).unwrap()).unwrap();
                    other.send_over(wire, &flag_column.of(&flag_matrix).unwrap()).unwrap();
                    other.send_over(wire, &values).unwrap();
                }
                continue;
            }
            let mut into = vec![nothing; n];
            other.receive_over(wire, &mut into).unwrap();
            assert_eq!(into, values, "{wire:?} {n}");
            let mut into = vec![no_flag; n];
            other.receive_over(wire, &mut into).unwrap();
            assert_eq!(into, flags, "{wire:?} {n}");
            if !is_whole {
                let mut into = vec![nothing; n * 4];
                other.receive_over(wire, &mut column.of_mut(&mut into).unwrap()).unwrap();
                for (i, block) in into.iter().enumerate() {
                    assert_eq!(*block, if i % 4 == 1 { own(i) } else { nothing }, "{wire:?} {n} {i}");
                }
                let mut into = vec![no_flag; n * 4];
                other.receive_over(wire, &mut flag_column.of_mut(&mut into).unwrap()).unwrap();
                for (i, block) in into.iter().enumerate() {
                    assert_eq!(*block, if i % 4 == 1 { flagged(i) } else { no_flag }, "{wire:?} {n} {i}");
                }
                // A slice is received into a column.
                let mut into = vec![nothing; n * 4];
                other.receive_over(wire, &mut column.of_mut(&mut into).unwrap()).unwrap();
                assert!(into.iter().skip(1).step_by(4).copied().eq(values.iter().copied()));
            }
        }
        if world.rank() == 0 {
            other.send(&values[..]);
            other.send_packed(&values).unwrap();
        } else {
            let mut into = vec![nothing; n];
            other.receive_values_into(&mut into).unwrap();
            assert_eq!(into, values, "{n}");
            let mut into = vec![nothing; n];
            other.receive_into(&mut into[..]);
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
    let other = world.process_at_rank(1 - world.rank());
    let node = |value| Node { neighbours: vec![1, 2, 3], name: "name".to_owned(), data: [value; 4000] };
    let whole = layout!(Node[2] => [1]);
    let parts = layout!(Marked[2] => [1].marker + [0].data);
    for wire in [Wire::Typed, Wire::Packed, Wire::Auto] {
        let mut nodes = [node(1), node(2)];
        let mut marked = Box::new([Marked { data: [3; 40_000], marker: () }; 2]);
        if world.rank() == 0 {
            other.send_over(wire, &whole.of(&nodes)).unwrap();
            other.send_over(wire, &parts.of(&marked)).unwrap();
        } else {
            (nodes[1].data, marked[0].data) = ([0; 4000], [0; 40_000]);
            other.receive_values_into(&mut whole.of_mut(&mut nodes)).unwrap();
            other.receive_values_into(&mut parts.of_mut(&mut marked)).unwrap();
        }
        for (i, node) in nodes.iter().enumerate() {
            assert_eq!((&node.neighbours[..], node.name.as_str()), (&[1, 2, 3][..], "name"));
            assert_eq!(node.data, [i as u64 + 1; 4000]);
        }
        assert!(marked.iter().all(|marked| marked.data == [3; 40_000]));
    }
}
