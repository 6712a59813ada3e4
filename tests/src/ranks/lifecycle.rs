//! The lifetime of datatypes: when they are built, shared and freed.

use std::{
    os::raw::{c_int, c_void},
    panic, ptr,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use dtype_mpi::Error as LibraryError;
use dtype_runtime::{
    Comm, Error, MpiDatatype, Pending, Wire,
    comm::{Handle, in_session},
    decode,
    decode::normalize,
    layout,
};
use dtype_tests::is_intel;
use mpi::{
    datatype::DatatypeRef,
    ffi::{self, MPI_Comm, MPI_Datatype},
    raw::{AsRaw, FromRaw},
    topology::SimpleCommunicator,
    traits::*,
};

use crate::samples::{Generic, Loose, Meters, Nested, Particle, Sample};
use crate::spy;

/// Eight threads ask for the same datatypes at once, and all get the same handles.
pub fn threads() {
    let (universe, threading) =
        mpi::initialize_with_threading(mpi::Threading::Multiple).expect("MPI is initialized once");
    assert_eq!(threading, mpi::Threading::Multiple);
    let n = 11;
    let handles = || {
        let raw = |datatype: Result<mpi::datatype::DatatypeRef<'static>, Error>| {
            format!("{:?}", datatype.unwrap().as_raw())
        };
        [
            raw(Particle::datatype()),
            raw(Loose::datatype()),
            raw(Nested::datatype()),
            raw(Generic::<Loose, 7>::datatype()),
            raw(<[Particle; 9]>::datatype()),
            format!("{:?}", layout!(f64[10][10] => [.., 3]).datatype().unwrap().as_raw()),
            // Each thread makes this layout, and finds its datatype in the cache.
            format!("{:?}", layout!(f64[n][n] => [.., 3]).unwrap().datatype().unwrap().as_raw()),
        ]
    };
    let found = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(handles)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    // Each expansion of `layout!` is a separate layout, but all threads run the one in `handles`.
    assert!(found.iter().all(|handles| *handles == found[0]), "{found:?}");
    drop(universe);
}

/// Makes calls on a communicator that cannot be used.
fn calls_refused(world: &Comm<impl Handle>, expected: &Error) {
    let (peer, mut place) = (world.peer(0), 0u8);
    let mut into = [0u8; 3];
    let between_two = [
        peer.send(&1u8).err(),
        peer.wire(Wire::Typed).send(&[1u8; 3][..]).err(),
        peer.synchronous().send(&1u8).err(),
        peer.receive::<u8>().err(),
        peer.receive_into(&mut into).err(),
        peer.receive_into(&mut Vec::<u8>::new()).err(),
        peer.try_receive::<u8>().err(),
        peer.probe().err(),
        peer.swap(&mut place).err(),
        peer.start().send(&1u8).err(),
        peer.start().receive::<u8>().err(),
        peer.start().receive_into(&mut place).err(),
        peer.prepare().send(&1u8).err(),
        peer.prepare().receive_into(&place).err(),
        world.any().receive::<u8>().err(),
        world.any().receive_into(&mut place).err(),
        world.any().try_receive::<u8>().err(),
        world.any().probe().err(),
        world.exchange([(0, &1u8)], [(0, &mut place)]).err(),
        world.scope(|scope| scope.peer(0).send(&1u8)).err(),
    ];
    let collective = [
        world.broadcast(0, Some(1u8)).err(),
        world.broadcast_into(0, &mut into).err(),
        world.gather(0, &1u8).err(),
        world.gather_into(0, &1u8, Some(&mut into)).err(),
        world.scatter(0, Some(&[1u8])).err(),
        world.scatter_into(0, Some(&1u8), &mut into).err(),
        world.all_gather(&1u8).err(),
        world.all_gather_into(&1u8, &mut into).err(),
        world.all_to_all(&[1u8]).err(),
        world.all_to_all_into(&[1u8], &mut into).err(),
        world.start().all_to_all_into(&[1u8], &mut into).err(),
        world.prepare().all_to_all_into(&[1u8], &into).err(),
        world.reduce(0, &1u8, |a, b| a + b).err(),
        world.reduce_into(0, &[1u8], Some(&mut [0]), |a, b| a + b).err(),
        world.all_reduce(&1u8, |a, b| a + b).err(),
        world.all_reduce_into(&[1u8], &mut [0], |a, b| a + b).err(),
        world.scan(&1u8, |a, b| a + b).err(),
        world.scan_into(&[1u8], &mut [0], |a, b| a + b).err(),
        world.scan_before(&1u8, |a, b| a + b).err(),
        world.neighbours().sources().err(),
        world.neighbours().all_gather(&1u8).err(),
        world.neighbours().all_to_all_into(&[1u8], &mut into).err(),
        world.neighbours().start().all_to_all_into(&[1u8], &mut into).err(),
        world.neighbours().prepare().all_to_all_into(&[1u8], &into).err(),
        world.graph(&[], &[]).err(),
        world.cartesian([1], [true]).err(),
        world.attach().err(),
        world.window(&mut [1u8], |_| Ok(())).err(),
        world.passive_window(&mut [1u8], |_| Ok(())).err(),
        world.create("no file").err(),
        world.open("no file").err(),
    ];
    assert!(between_two.iter().all(|error| error.as_ref() == Some(expected)), "{between_two:?}");
    assert!(collective.iter().all(|error| error.as_ref() == Some(expected)), "{collective:?}");
}

/// Before `MPI_Init` and after `MPI_Finalize`, calls return an error that says so. If a trait of rsmpi does
/// not allow an error, the call panics with the same text.
pub fn before_and_after() {
    let column = layout!(f64[10][10] => [.., 3]);
    let matrix = [[1.0; 10]; 10];
    let errors = |expected: &Error| {
        assert_eq!(Particle::datatype().err().as_ref(), Some(expected));
        assert_eq!(Nested::datatype().err().as_ref(), Some(expected));
        assert_eq!(Meters::datatype().err().as_ref(), Some(expected));
        assert_eq!(column.datatype().err().as_ref(), Some(expected));
        assert_eq!(column.of(&matrix).datatype().err().as_ref(), Some(expected));
        // SAFETY: a predefined datatype; it is not used before `MPI_Init` or after `MPI_Finalize`.
        let double = unsafe { DatatypeRef::from_raw(ffi::RSMPI_DOUBLE) };
        assert_eq!(decode(&double).err().as_ref(), Some(expected));
        assert_eq!(normalize(&double).err().as_ref(), Some(expected));
        let hook = panic::take_hook();
        panic::set_hook(Box::new(|_| {}));
        let messages = [
            panic::catch_unwind(|| drop_value(Particle::equivalent_datatype())),
            panic::catch_unwind(|| drop_value(column.of(&matrix).as_datatype())),
        ]
        .map(|result| *result.unwrap_err().downcast::<String>().unwrap());
        panic::set_hook(hook);
        assert!(messages.iter().all(|message| message.ends_with(&expected.to_string())), "{messages:?}");
        // Calls that need no MPI still work.
        assert_eq!(Particle::cost(), 25);
        assert_eq!(column.of(&matrix).pack().len(), 80);
    };
    errors(&Error::Library(LibraryError::NotInitialized));
    let universe = mpi::initialize().expect("MPI is initialized once");
    for _ in 0..3 {
        Particle::datatype().unwrap();
        Meters::datatype().unwrap();
        column.datatype().unwrap();
    }
    let world = universe.world();
    let itself = world.process_at_rank(0);
    let made_within = Comm::from(&world);
    let of_a_process = Comm::from(&itself);
    drop(universe);
    errors(&Error::Library(LibraryError::Finalized));
    // A communicator may still exist after `MPI_Finalize`.
    calls_refused(&made_within, &Error::Library(LibraryError::Finalized));
    calls_refused(&of_a_process, &Error::Library(LibraryError::Finalized));
    calls_refused(&Comm::from(&world), &Error::Library(LibraryError::Finalized));
    calls_refused(&Comm::from(itself), &Error::Library(LibraryError::Finalized));
}

fn drop_value<T>(_: T) {}

/// The number of [watched](watch) datatypes that have been freed.
pub static FREED: AtomicUsize = AtomicUsize::new(0);

/// Sets an attribute on a datatype that increments [`FREED`] when the datatype is freed.
pub fn watch(datatype: MPI_Datatype) {
    unsafe extern "C" fn no_copy(
        _: MPI_Datatype,
        _: c_int,
        _: *mut c_void,
        _: *mut c_void,
        _: *mut c_void,
        flag: *mut c_int,
    ) -> c_int {
        // SAFETY: MPI passes a valid pointer to the flag.
        unsafe { *flag = 0 };
        ffi::MPI_SUCCESS as c_int
    }
    unsafe extern "C" fn count(_: MPI_Datatype, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
        FREED.fetch_add(1, Ordering::Relaxed);
        ffi::MPI_SUCCESS as c_int
    }
    let mut key = 0;
    // SAFETY: MPI is initialized, the datatype is live, and the callbacks have the types of MPI 4.1 section
    // 7.7.4.
    unsafe {
        ffi::MPI_Type_create_keyval(Some(no_copy), Some(count), &raw mut key, ptr::null_mut());
        ffi::MPI_Type_set_attr(datatype, key, ptr::null_mut());
        ffi::MPI_Type_free_keyval(&raw mut key);
    }
}

/// Every datatype is freed exactly once, at the latest when MPI finalizes.
pub fn freed() {
    let universe = mpi::initialize().expect("MPI is initialized once");
    let column = layout!(f64[10][10] => [.., 3]);
    let types = [Particle::datatype(), Nested::datatype(), Generic::<Loose, 2>::datatype()];
    let mut datatypes: Vec<_> = types.map(|datatype| datatype.unwrap().as_raw()).to_vec();
    datatypes.push(column.datatype().unwrap().as_raw());
    datatypes.iter().chain(&datatypes).for_each(|datatype| watch(*datatype));
    assert_eq!(FREED.load(Ordering::Relaxed), 0);

    // Layouts that are known only at run time: the datatypes that the cache evicts are freed when the next
    // one is built. A datatype is kept while the program holds its layout.
    let column = |n: usize| layout!(f64[n][n] => [.., 0]).unwrap();
    let kept = column(2);
    kept.datatype().unwrap();
    let made = 400;
    for n in 2..made + 2 {
        watch(column(n).datatype().unwrap().as_raw());
    }
    let freed = FREED.load(Ordering::Relaxed);
    assert!((made - 256 - 3..made - 256).contains(&freed), "{freed}");
    kept.datatype().unwrap();
    drop(universe);
    assert_eq!(kept.datatype().unwrap_err(), Error::Library(LibraryError::Finalized));
    assert_eq!(FREED.load(Ordering::Relaxed), 2 * datatypes.len() + made);
}

/// Leaks a datatype. If the library's report did not show it, the absence of reports would prove nothing.
pub fn leak() {
    // SAFETY: MPI is initialized; the handle is leaked on purpose.
    unsafe {
        let mut leaked = ffi::RSMPI_DATATYPE_NULL;
        ffi::MPI_Type_contiguous(3, ffi::RSMPI_DOUBLE, &raw mut leaked);
        ffi::MPI_Type_commit(&raw mut leaked);
    }
}

/// Requests may outlive their communicator: MPI keeps the parts of a freed communicator that requests need.
pub fn outlived(world: &SimpleCommunicator) {
    let (other, before) = (1 - world.rank() as usize, handler_of(world));
    let long = vec![7u8; 300_000];
    for length in [3, 40_000, long.len()] {
        let message = &long[..length];
        for wire in [Wire::Packed, Wire::Auto, Wire::Bytes] {
            for (polls, is_synchronous) in [(false, false), (false, true), (true, false), (true, true)] {
                let (copy, mut into) = (Comm::from(world.duplicate()), vec![0u8; length]);
                copy.attach().unwrap();
                let mut prepared = copy.peer(other).prepare().receive_into(&into[..]).unwrap();
                let mut receive = prepared.start(&mut into[..]).unwrap();
                let peer = copy.peer(other).wire(wire);
                let peer = if is_synchronous { peer.synchronous() } else { peer };
                let mut send = peer.start().send(message).unwrap();
                drop(copy);
                // The new communicator may have the handle of the dropped one.
                let next = world.duplicate();
                while polls && !(receive.is_done().unwrap() & send.is_done().unwrap()) {}
                receive.finish().unwrap();
                send.finish().unwrap();
                assert!(handler_of(&next) == before);
                assert!(into == message, "{wire:?}, {length} bytes");
            }
        }
        prepared_outlive(world, message);
        segments_outlive(world, message);
        // A message that does not fit is still an error value.
        let (copy, mut into) = (Comm::from(world.duplicate()), [1u8; 2]);
        copy.attach().unwrap();
        let mut prepared = copy.peer(other).prepare().receive_into(&into).unwrap();
        let receive = prepared.start(&mut into).unwrap();
        let send = copy.peer(other).start().send(message).unwrap();
        drop(copy);
        let error = receive.finish().unwrap_err();
        assert!(matches!(error, Error::Fit { expected: 2, .. } | Error::Mismatch { .. }), "{error}");
        send.finish().unwrap();
        assert_eq!(into, [1; 2]);
    }
    for sends in [false, true] {
        for unwinds in [false, true] {
            given_up(world, sends, unwinds);
            borrowed(world, sends, unwinds);
        }
    }
    assert!(handler_of(world) == before);
}

/// Ends exchanges after their communicator is gone, and starts them again. Prepared messages between two
/// ranks cannot be started if it is.
fn prepared_outlive(world: &SimpleCommunicator, message: &[u8]) {
    let other = 1 - world.rank() as usize;
    let (copy, mut into) = (Comm::from(world.duplicate()), vec![0u8; message.len()]);
    copy.attach().unwrap();
    let mut send = copy.peer(other).prepare().send(message).unwrap();
    let mut receive = copy.peer(other).prepare().receive_into(&into[..]).unwrap();
    let receiving = receive.start(&mut into[..]).unwrap();
    send.run(message).unwrap();
    receiving.finish().unwrap();
    assert!(into == message, "{} bytes", message.len());
    let (messages, mut places) = ([message; 2], [into.clone(), into.clone()]);
    let mut exchange = copy.prepare().all_to_all_into(&messages, &places).unwrap();
    let (mut started, mut later) = (places.clone(), places.clone());
    started.iter_mut().chain(&mut later).for_each(|place| place.fill(0));
    let starting = copy.start().all_to_all_into(&messages, &mut started).unwrap();
    let running = exchange.start(&messages, &mut later).unwrap();
    drop(copy);
    // The new communicator may have the handle of the dropped one.
    let next = Comm::from(world.duplicate());
    next.attach().unwrap();
    let neighbours = next.start().all_to_all_into(&messages, &mut places).unwrap();
    starting.finish().unwrap();
    running.finish().unwrap();
    neighbours.finish().unwrap();
    for _ in 0..2 {
        assert!(started.iter().chain(&later).chain(&places).all(|place| place == message));
        for place in &mut places {
            place.fill(0);
        }
        exchange.run(&messages, &mut places).unwrap();
    }
    into.fill(1);
    // MPICH frees the communicator only after its requests.
    let receiving = receive.start(&mut into[..]);
    let is_freed = receiving.is_err();
    let sent = send.run(message);
    assert_eq!(sent, if is_freed { Err(Error::Freed) } else { Ok(()) });
    assert_eq!(receiving.and_then(Pending::finish), sent);
    if is_freed {
        assert_eq!(send.start(message).err(), Some(Error::Freed));
        assert_eq!(receive.run(&mut into[..]), Err(Error::Freed));
        assert!(into.iter().all(|byte| *byte == 1));
    } else {
        assert!(into == message, "{} bytes", message.len());
    }
}

/// Sends on the segments wire while a message is under way, on a communicator that is dropped before the
/// message arrives.
fn segments_outlive(world: &SimpleCommunicator, message: &[u8]) {
    let other = 1 - world.rank() as usize;
    let copy = Comm::from(world.duplicate());
    copy.attach().unwrap();
    let peer = copy.peer(other).wire(Wire::Segments);
    let [mut into, mut later] = [(); 2].map(|()| vec![0u8; message.len()]);
    let mut prepared = copy.peer(other).tag(1).prepare().receive_into(&later[..]).unwrap();
    let receive = prepared.start(&mut later[..]).unwrap();
    let send = copy.peer(other).tag(1).start().send(message).unwrap();
    if world.rank() == 0 {
        peer.send(message).unwrap();
        peer.tag(0).receive_into(&mut into[..]).unwrap();
    } else {
        peer.tag(0).receive_into(&mut into[..]).unwrap();
        peer.send(message).unwrap();
    }
    drop(copy);
    // Attaching another communicator frees the contexts of the dropped one.
    Comm::from(world.duplicate()).attach().unwrap();
    send.finish().unwrap();
    receive.finish().unwrap();
    assert!(into == message && later == message, "{} bytes", message.len());
}

/// Drops a receive whose communicator is gone. If `sends` is `true`, a message that is too long has been sent
/// to it, and otherwise none. If `unwinds` is `true`, the program panics meanwhile.
fn given_up(world: &SimpleCommunicator, sends: bool, unwinds: bool) {
    let (copy, mut into) = (Comm::from(world.duplicate()), [1u8; 2]);
    copy.attach().unwrap();
    let other = 1 - world.rank() as usize;
    let has_unwound = catch(|| {
        let mut prepared = copy.peer(other).prepare().receive_into(&into).unwrap();
        let _receive = prepared.start(&mut into).unwrap();
        if sends {
            let send = copy.peer(other).start().send(&[7u8; 200]).unwrap();
            world.barrier();
            drop(copy);
            drop(send);
        } else {
            drop(copy);
        }
        assert!(!unwinds);
    });
    assert_eq!(has_unwound, unwinds);
    assert_eq!(into, [1; 2]);
}

/// Like [`given_up`], for a receive that borrows its communicator: it is dropped just before it.
fn borrowed(world: &SimpleCommunicator, sends: bool, unwinds: bool) {
    let mut into = [1u8; 2];
    let other = 1 - world.rank() as usize;
    let has_unwound = catch(|| {
        let copy = Comm::from(world.duplicate());
        copy.attach().unwrap();
        let _receive = copy.peer(other).tag(0).start().receive_into(&mut into).unwrap();
        let _value = copy.peer(other).tag(1).start().receive::<Vec<u8>>().unwrap();
        if sends {
            let send = copy.peer(other).start().send(&[7u8; 200]).unwrap();
            world.barrier();
            drop(send);
        }
        assert!(!unwinds);
    });
    assert_eq!(has_unwound, unwinds);
    assert_eq!(into, [1; 2]);
}

/// Calls a function, and returns `true` if it panics. The panic is not printed.
fn catch(function: impl FnOnce()) -> bool {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let result = panic::catch_unwind(panic::AssertUnwindSafe(function));
    panic::set_hook(hook);
    result.is_err()
}

fn handler_of(communicator: &SimpleCommunicator) -> ffi::MPI_Errhandler {
    let mut handler = std::mem::MaybeUninit::uninit();
    // SAFETY: the communicator is live, and `handler` is writable.
    unsafe {
        ffi::MPI_Comm_get_errhandler(communicator.as_raw(), handler.as_mut_ptr());
        handler.assume_init()
    }
}

/// A program that opens a session and does not call `MPI_Init`. Within `in_session` everything works; before
/// and after it, calls return an error.
pub fn session() {
    assert_eq!(Particle::datatype().unwrap_err(), Error::Library(LibraryError::NotInitialized));
    // SAFETY: a constant of the library; `all` is writable.
    let (mut all, is_open) = unsafe {
        let mut all = ffi::RSMPI_COMM_NULL;
        let is_open = spy::c_open_session(&raw mut all) != 0;
        (all, is_open)
    };
    if !is_open {
        return;
    }
    if is_intel() {
        // In Intel MPI, a session initializes all of MPI.
        exchange_in_session(all);
        // SAFETY: nothing uses the session any more.
        return unsafe { spy::c_close_session(&raw mut all) };
    }
    assert_eq!(Particle::datatype().unwrap_err(), Error::Library(LibraryError::NotInitialized));
    // SAFETY: the session is open until it is closed below.
    unsafe { in_session(|| exchange_in_session(all)) }.unwrap();
    assert_eq!(Particle::datatype().unwrap_err(), Error::Library(LibraryError::Finalized));
    // SAFETY: the session is still open, and nothing is called in it.
    assert_eq!(unsafe { in_session(|| ()) }.unwrap_err(), Error::Library(LibraryError::Finalized));
    // SAFETY: nothing uses the session any more.
    unsafe { spy::c_close_session(&raw mut all) };
}

fn exchange_in_session(all: MPI_Comm) {
    // SAFETY: the communicator lives until the session is closed; this value does not free it.
    let all = std::mem::ManuallyDrop::new(unsafe { SimpleCommunicator::from_raw(all) });
    let all = &Comm::from(&*all);
    all.attach().unwrap();
    let (rank, ranks) = (all.rank(), all.size());
    let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let of = |rank: usize| (0..20_000).map(|i| Particle::sample(i + 50 * rank)).collect::<Vec<_>>();
    let (own, expected) = (of(rank), of(previous));
    for wire in [Wire::Typed, Wire::Packed, Wire::Auto, Wire::Segments] {
        let mut received = vec![Particle::sample(7); 20_000];
        let (to, from) = (all.peer(next).wire(wire), all.peer(previous).wire(wire));
        match wire {
            Wire::Segments if rank == 0 => {
                to.send(&own).unwrap();
                from.receive_into(&mut received[..]).unwrap();
            }
            Wire::Segments => {
                from.receive_into(&mut received[..]).unwrap();
                to.send(&own).unwrap();
            }
            _ => all
                .scope(|scope| {
                    scope.peer(next).wire(wire).send(&own)?;
                    scope.peer(previous).receive_into(&mut received[..])
                })
                .unwrap(),
        }
        assert!(received == expected, "{wire:?}");
        let error = to.tag(-5).send(&1u8).unwrap_err();
        assert!(matches!(error, Error::Tag { .. }), "{error}");
    }
    let mut received = vec![Particle::sample(7); 20_000];
    all.exchange([(next, &own)], [(previous, &mut received[..])]).unwrap();
    assert!(received == expected);
    let column = layout!(f64[9][9] => [.., 1]).datatype().unwrap();
    assert!(decode(&column).unwrap().datatype().is_ok());
    let mut everything = vec![Particle::sample(7); ranks];
    all.all_gather_into(&Particle::sample(rank), &mut everything[..]).unwrap();
    assert!(everything.into_iter().enumerate().all(|(i, particle)| particle == Particle::sample(i)));
}
