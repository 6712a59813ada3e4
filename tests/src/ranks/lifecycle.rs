//! The lifetime of datatypes: when they are built, shared and freed.

use std::{
    os::raw::{c_int, c_void},
    panic, ptr,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use dtype_runtime::{
    Comm, Error, MpiDatatype, Wire, decode,
    decode::normalize,
    in_session, layout,
    traits::*,
    wire,
    wire::{send_receive_over, send_receive_packed},
};
use dtype_tests::is_intel;
use mpi::{
    datatype::DatatypeRef,
    ffi::{self, MPI_Comm, MPI_Datatype},
    raw::{AsRaw, FromRaw},
    request::scope,
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
fn calls_refused(world: &Comm<&SimpleCommunicator>, expected: &Error) {
    let (peer, mut place) = (world.peer(0), 0u8);
    let refused = [
        peer.send(&1u8).err(),
        peer.receive::<u8>().err(),
        peer.receive_into(&mut place).err(),
        peer.start().send(&1u8).err(),
        peer.start().receive::<u8>().err(),
        world.any().try_receive::<u8>().err(),
        world.exchange([(0, &1u8)], [(0, &mut place)]).err(),
        world.scope(|scope| scope.peer(0).send(&1u8)).err(),
        world.all_gather(&1u8).err(),
        world.broadcast(0, Some(1u8)).err(),
        world.all_reduce(&1u8, |a, b| a + b).err(),
        world.neighbours().sources().err(),
        world.graph(&[], &[]).err(),
        world.cartesian([1], [true]).err(),
        world.window(&mut [1u8], |_| Ok(())).err(),
        world.open("no file").err(),
    ];
    assert!(refused.iter().all(|error| error.as_ref() == Some(expected)), "{refused:?}");
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
    errors(&Error::NotInitialized);
    let universe = mpi::initialize().expect("MPI is initialized once");
    for _ in 0..3 {
        Particle::datatype().unwrap();
        Meters::datatype().unwrap();
        column.datatype().unwrap();
    }
    let world = universe.world();
    let itself = world.process_at_rank(0);
    let made_within = Comm::from(&world);
    drop(universe);
    errors(&Error::Finalized);
    calls_refused(&made_within, &Error::Finalized);
    calls_refused(&Comm::from(&world), &Error::Finalized);
    // A communicator may still exist after `MPI_Finalize`.
    let (mut into, finalized) = ([0u8; 3], Some(Error::Finalized));
    assert_eq!(itself.send_packed(&1u8).err(), finalized);
    assert_eq!(itself.send_over(Wire::Typed, &[1u8; 3][..]).err(), finalized);
    assert_eq!(itself.receive_values_into(&mut into).err(), finalized);
    assert_eq!(send_receive_packed(&1u8, &itself, &mut into, &itself).err(), finalized);
    scope(|scope| assert_eq!(itself.immediate_send_packed(scope, &1u8).err(), finalized));
    assert_eq!(itself.broadcast_packed(&mut into).err(), finalized);
    assert_eq!(itself.gather_packed(&1u8).err(), finalized);
    assert_eq!(itself.scatter_packed_into(&mut into).err(), finalized);
    assert_eq!(world.all_gather_packed(&1u8, &mut into).err(), finalized);
    assert_eq!(world.all_to_all_packed(&1u8, &mut into).err(), finalized);
    assert_eq!(itself.gather_packed_into_root(&1u8, &mut into).err(), finalized);
    assert_eq!(itself.scatter_packed_into_root(&1u8, &mut into).err(), finalized);
    assert_eq!(world.all_to_all_varcount_packed(&[1u8], &mut into).err(), finalized);
    // SAFETY: there is one rank, so all ranks have the same number of bytes.
    unsafe {
        assert_eq!(itself.broadcast_packed_exact(&mut into).err(), finalized);
        assert_eq!(itself.gather_packed_exact(&1u8).err(), finalized);
        assert_eq!(itself.gather_packed_into_root_exact(&1u8, &mut into).err(), finalized);
        assert_eq!(itself.scatter_packed_into_exact(&mut into).err(), finalized);
        assert_eq!(itself.scatter_packed_into_root_exact(&1u8, &mut into).err(), finalized);
        assert_eq!(world.all_gather_packed_exact(&1u8, &mut into).err(), finalized);
        assert_eq!(world.all_to_all_packed_exact(&1u8, &mut into).err(), finalized);
    }
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
    assert_eq!(kept.datatype().unwrap_err(), Error::Finalized);
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
    let (rank, before) = (world.rank(), handler_of(world));
    let long = vec![7u8; 300_000];
    for length in [3, 40_000, long.len()] {
        let message = &long[..length];
        for wire in [Wire::Packed, Wire::Auto, Wire::Typed, Wire::Segments] {
            for polls in [false, true] {
                let (copy, mut into) = (world.duplicate(), vec![0u8; length]);
                wire::attach(&copy).unwrap();
                scope(|scope| {
                    let other = copy.process_at_rank(1 - rank);
                    if wire == Wire::Segments {
                        let send = other.immediate_send_over_with_tag(scope, wire, message, 0).unwrap();
                        other.receive_over(wire, &mut into[..]).unwrap();
                        drop(copy);
                        // Attaching another communicator frees the contexts of the dropped one.
                        wire::attach(&world.duplicate()).unwrap();
                        return send.wait().unwrap();
                    }
                    let mut receive = other.immediate_receive_values_into(scope, &mut into[..]).unwrap();
                    let mut send = other.immediate_send_over_with_tag(scope, wire, message, 0).unwrap();
                    drop(copy);
                    // The new communicator may have the handle of the dropped one.
                    let next = world.duplicate();
                    while polls && !(receive.is_done().unwrap() & send.is_done().unwrap()) {}
                    receive.wait().unwrap();
                    send.wait().unwrap();
                    assert!(handler_of(&next) == before);
                });
                assert!(into == message, "{wire:?}, {length} bytes");
            }
        }
        // A message that does not fit is still an error value.
        let (copy, mut into) = (world.duplicate(), [1u8; 2]);
        wire::attach(&copy).unwrap();
        scope(|scope| {
            let other = copy.process_at_rank(1 - rank);
            let receive = other.immediate_receive_values_into(scope, &mut into).unwrap();
            let send = other.immediate_send_packed(scope, message).unwrap();
            drop(copy);
            let error = receive.wait().unwrap_err();
            assert!(matches!(error, Error::Fit { expected: 2, .. } | Error::Mismatch { .. }), "{error}");
            send.wait().unwrap();
        });
        assert_eq!(into, [1; 2]);
    }
    for sends in [false, true] {
        given_up(world, sends, false);
        given_up(world, sends, true);
    }
    assert!(handler_of(world) == before);
}

/// Drops a receive whose communicator is gone. If `sends` is `true`, a message that is too long has been sent
/// to it, and otherwise none. If `unwinds` is `true`, the program panics meanwhile.
fn given_up(world: &SimpleCommunicator, sends: bool, unwinds: bool) {
    let (copy, mut into) = (world.duplicate(), [1u8; 2]);
    wire::attach(&copy).unwrap();
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let result = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        scope(|scope| {
            let other = copy.process_at_rank(1 - world.rank());
            let _receive = other.immediate_receive_values_into(scope, &mut into).unwrap();
            if sends {
                let send = other.immediate_send_packed(scope, &[7u8; 200]).unwrap();
                world.barrier();
                drop(copy);
                drop(send);
            } else {
                drop(copy);
            }
            assert!(!unwinds);
        });
    }));
    panic::set_hook(hook);
    assert_eq!(result.is_err(), unwinds);
    assert_eq!(into, [1; 2]);
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
    assert_eq!(Particle::datatype().unwrap_err(), Error::NotInitialized);
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
    assert_eq!(Particle::datatype().unwrap_err(), Error::NotInitialized);
    // SAFETY: the session is open until it is closed below.
    unsafe { in_session(|| exchange_in_session(all)) }.unwrap();
    assert_eq!(Particle::datatype().unwrap_err(), Error::Finalized);
    // SAFETY: the session is still open, and nothing is called in it.
    assert_eq!(unsafe { in_session(|| ()) }.unwrap_err(), Error::Finalized);
    // SAFETY: nothing uses the session any more.
    unsafe { spy::c_close_session(&raw mut all) };
}

fn exchange_in_session(all: MPI_Comm) {
    // SAFETY: the communicator lives until the session is closed; this value does not free it.
    let all = std::mem::ManuallyDrop::new(unsafe { SimpleCommunicator::from_raw(all) });
    wire::attach(&*all).unwrap();
    let (rank, ranks) = (all.rank(), all.size());
    let (next, previous) =
        (all.process_at_rank((rank + 1) % ranks), all.process_at_rank((rank + ranks - 1) % ranks));
    let of = |rank: i32| (0..20_000).map(|i| Particle::sample(i + 50 * rank as usize)).collect::<Vec<_>>();
    for wire in [Wire::Typed, Wire::Packed, Wire::Auto, Wire::Segments] {
        let mut received = vec![Particle::sample(7); 20_000];
        send_receive_over(wire, &of(rank), &next, &mut received, &previous).unwrap();
        assert!(received == of((rank + ranks - 1) % ranks), "{wire:?}");
        let error = next.send_over_with_tag(wire, &1u8, -5).unwrap_err();
        assert!(matches!(error, Error::Tag { .. }), "{error}");
    }
    let column = layout!(f64[9][9] => [.., 1]).datatype().unwrap();
    assert!(decode(&column).unwrap().datatype().is_ok());
    let mut everything = vec![Particle::sample(7); ranks as usize];
    all.all_gather_packed(&Particle::sample(rank as usize), &mut everything).unwrap();
    assert!(everything.into_iter().enumerate().all(|(i, particle)| particle == Particle::sample(i)));
}
