//! Calls that rsmpi's examples do not make: handlers of errors, generalized requests, lists of handles and of
//! statuses, and handles in Fortran. Run it on two ranks; each prints `ok`.

use std::{
    env,
    ffi::CString,
    mem::MaybeUninit,
    os::raw::{c_char, c_int, c_void},
    process, ptr,
    sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering},
    thread,
};

use mpi_sys::*;

fn main() {
    println!("{}", chosen_library().expect("an MPI library"));
    assert!(has("MPI_Init") && !has("MPI_Nothing"));
    // SAFETY: nobody changes a constant.
    let lacking = unsafe { [MPI_ERR_ABI, MPI_ERR_ERRHANDLER] };
    assert!(lacking.iter().all(|code| *code != MPI_SUCCESS));
    // SAFETY: each call has the arguments that the standard asks for; the two ranks make the same calls.
    unsafe {
        let mut level = 0;
        let code = MPI_Init_thread(ptr::null_mut(), ptr::null_mut(), MPI_THREAD_MULTIPLE, &mut level);
        assert_eq!(code, MPI_SUCCESS);
        let mut rank = -1;
        MPI_Comm_rank(MPI_COMM_WORLD, &mut rank);
        let mut size = 0;
        MPI_Comm_size(MPI_COMM_WORLD, &mut size);
        assert_eq!(size, 2);
        in_fortran();
        errors(rank);
        generalized_request();
        lists_of_requests(rank);
        lists_of_datatypes(rank);
        attributes();
        operation(rank);
        if level == MPI_THREAD_MULTIPLE {
            operations_of_threads();
        }
        MPI_Finalize();
    }
    println!("ok");
}

/// Checks that handles are the same after they have been integers of Fortran.
unsafe fn in_fortran() {
    macro_rules! same {
        ($($handle:expr, $to:ident, $from:ident;)*) => {
            $(assert_eq!($from($to($handle)), $handle, stringify!($to));)*
        };
    }
    let mut group = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &mut group);
    let mut info = MPI_INFO_NULL;
    MPI_Info_create(&mut info);
    same! {
        MPI_COMM_WORLD, RSMPI_Comm_c2f, RSMPI_Comm_f2c;
        MPI_DOUBLE, RSMPI_Type_c2f, RSMPI_Type_f2c;
        MPI_SUM, RSMPI_Op_c2f, RSMPI_Op_f2c;
        MPI_REQUEST_NULL, RSMPI_Request_c2f, RSMPI_Request_f2c;
        MPI_MESSAGE_NULL, RSMPI_Message_c2f, RSMPI_Message_f2c;
        MPI_WIN_NULL, RSMPI_Win_c2f, RSMPI_Win_f2c;
        MPI_FILE_NULL, RSMPI_File_c2f, RSMPI_File_f2c;
        MPI_ERRORS_RETURN, RSMPI_Errhandler_c2f, RSMPI_Errhandler_f2c;
        group, RSMPI_Group_c2f, RSMPI_Group_f2c;
        info, RSMPI_Info_c2f, RSMPI_Info_f2c;
    }
    MPI_Info_free(&mut info);
    MPI_Group_free(&mut group);
}

/// The handle and the code that a handler of errors got last.
static OF: AtomicUsize = AtomicUsize::new(0);
static CODE: AtomicI32 = AtomicI32::new(0);

/// Returns them, and forgets them.
fn told() -> (usize, c_int) {
    (OF.swap(0, Ordering::Relaxed), CODE.swap(0, Ordering::Relaxed))
}

macro_rules! handlers {
    ($($name:ident: $handle:ident, $type:ident;)*) => {$(
        /// Returns a handler that keeps what it gets. The library passes more arguments, which are not used.
        fn $name() -> $type {
            unsafe extern "C" fn keep(handle: *mut $handle, code: *mut c_int) {
                OF.store((*handle).0, Ordering::Relaxed);
                CODE.store(*code, Ordering::Relaxed);
            }
            type Plain = unsafe extern "C" fn(*mut $handle, *mut c_int);
            type Variadic = unsafe extern "C" fn(*mut $handle, *mut c_int, ...);
            // SAFETY: the first two arguments lie where they lie without the others.
            Some(unsafe { std::mem::transmute::<Plain, Variadic>(keep) })
        }
    )*};
}

handlers! {
    of_communicator: MPI_Comm, MPI_Comm_errhandler_function;
    of_window: MPI_Win, MPI_Win_errhandler_function;
    of_file: MPI_File, MPI_File_errhandler_function;
}

/// Checks that handlers of errors get the handle of the program.
unsafe fn errors(rank: c_int) {
    let mut own = MPI_ERRHANDLER_NULL;
    assert_eq!(MPI_Comm_create_errhandler(of_communicator(), &mut own), MPI_SUCCESS);
    let mut copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &mut copy);
    MPI_Comm_set_errhandler(copy, own);
    let mut now = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(copy, &mut now);
    assert_eq!(now, own);
    MPI_Errhandler_free(&mut now);
    MPI_Errhandler_free(&mut own);
    assert_eq!(own, MPI_ERRHANDLER_NULL);
    MPI_Send(ptr::null(), 0, MPI_BYTE, 1 - rank, -5, copy);
    let (of, code) = told();
    assert_eq!(of, copy.0);
    let mut class = 0;
    MPI_Error_class(code, &mut class);
    assert_eq!(class, MPI_ERR_TAG);
    MPI_Comm_free(&mut copy);
    assert_eq!(copy, MPI_COMM_NULL);

    let (mut window, mut base) = (MPI_WIN_NULL, ptr::null_mut::<c_void>());
    let place: *mut *mut c_void = &mut base;
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, place.cast(), &mut window);
    MPI_Win_create_errhandler(of_window(), &mut own);
    MPI_Win_set_errhandler(window, own);
    MPI_Errhandler_free(&mut own);
    MPI_Win_fence(0, window);
    MPI_Put([0u8; 4].as_ptr().cast(), 4, MPI_BYTE, 99, 0, 4, MPI_BYTE, window);
    assert_eq!(told().0, window.0);
    MPI_Win_fence(0, window);
    MPI_Win_free(&mut window);

    let path = env::temp_dir().join(format!("mpi-sys-{}-{rank}", process::id()));
    let name = CString::new(path.display().to_string()).expect("no zero byte");
    let mut file = MPI_FILE_NULL;
    let mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    let opened = MPI_File_open(MPI_COMM_SELF, name.as_ptr(), mode, MPI_INFO_NULL, &mut file);
    assert_eq!(opened, MPI_SUCCESS);
    assert_eq!(RSMPI_File_f2c(RSMPI_File_c2f(file)), file);
    MPI_File_create_errhandler(of_file(), &mut own);
    MPI_File_set_errhandler(file, own);
    MPI_Errhandler_free(&mut own);
    MPI_File_seek(file, -1, MPI_SEEK_SET);
    let (of, code) = told();
    assert!(of == file.0 && code != MPI_SUCCESS, "{of:x} {:x} {code}", file.0);
    MPI_File_close(&mut file);
    assert_eq!(file, MPI_FILE_NULL);
}

/// Checks that the functions of a generalized request get their state and a status of the program.
unsafe fn generalized_request() {
    unsafe extern "C" fn query(state: *mut c_void, status: *mut MPI_Status) -> c_int {
        MPI_Status_set_elements(status, MPI_BYTE, *state.cast::<c_int>());
        MPI_Status_set_cancelled(status, 0);
        (*status).MPI_SOURCE = 3;
        (*status).MPI_TAG = 4;
        MPI_SUCCESS
    }
    unsafe extern "C" fn free(state: *mut c_void) -> c_int {
        *state.cast::<c_int>() = -1;
        MPI_SUCCESS
    }
    unsafe extern "C" fn cancel(_: *mut c_void, _: c_int) -> c_int {
        MPI_SUCCESS
    }
    let mut state: c_int = 7;
    let mut request = MPI_REQUEST_NULL;
    let place: *mut c_int = &mut state;
    MPI_Grequest_start(Some(query), Some(free), Some(cancel), place.cast(), &mut request);
    assert_ne!(request, MPI_REQUEST_NULL);
    let mut done = 1;
    MPI_Test(&mut request, &mut done, MPI_STATUS_IGNORE);
    assert_eq!(done, 0);
    MPI_Grequest_complete(request);
    let mut status = std::mem::zeroed::<MPI_Status>();
    MPI_Wait(&mut request, &mut status);
    let mut count = 0;
    MPI_Get_count(&status, MPI_BYTE, &mut count);
    assert_eq!((count, status.MPI_SOURCE, status.MPI_TAG), (7, 3, 4));
    assert_eq!((request, place.read()), (MPI_REQUEST_NULL, -1));
}

/// Checks lists of requests and of statuses, which MPICH has narrower.
unsafe fn lists_of_requests(rank: c_int) {
    const N: usize = 5;
    let other = 1 - rank;
    for round in 0..3 {
        let (mut values, sent) = ([0i32; N], [7, 8, 9, 10, 11]);
        let mut requests = [MPI_REQUEST_NULL; 2 * N];
        for i in 0..N {
            let (to, tag): (*mut i32, _) = (&mut values[i], i as c_int);
            MPI_Irecv(to.cast(), 1, MPI_INT, other, tag, MPI_COMM_WORLD, &mut requests[i]);
        }
        for i in (0..N).rev() {
            let (from, tag): (*const i32, _) = (&sent[i], i as c_int);
            MPI_Isend(from.cast(), 1, MPI_INT, other, tag, MPI_COMM_WORLD, &mut requests[N + i]);
        }
        let (count, first) = (2 * N as c_int, requests.as_mut_ptr());
        let mut statuses = [std::mem::zeroed::<MPI_Status>(); 2 * N];
        let right = |i: usize, status: &MPI_Status| {
            assert!(i >= N || (status.MPI_SOURCE, status.MPI_TAG) == (other, i as c_int), "{i} {status:?}");
        };
        if round == 0 {
            MPI_Waitall(count, first, statuses.as_mut_ptr());
            statuses.iter().enumerate().for_each(|(i, status)| right(i, status));
        } else {
            let (mut left, mut indices) = (2 * N as c_int, [-1; 2 * N]);
            while left > 0 {
                let (mut some, list) = (0, statuses.as_mut_ptr());
                if round == 1 {
                    MPI_Waitsome(count, first, &mut some, indices.as_mut_ptr(), list);
                } else {
                    MPI_Testsome(count, first, &mut some, indices.as_mut_ptr(), list);
                }
                for k in 0..some as usize {
                    right(indices[k] as usize, &statuses[k]);
                }
                left -= some;
            }
        }
        assert_eq!((requests, values), ([MPI_REQUEST_NULL; 2 * N], sent));
    }
    // Two equal receives give equal statuses, of which all bytes are set.
    let filled = |byte: u8| {
        let sent = 5i32;
        let from: *const i32 = &sent;
        let mut request = MPI_REQUEST_NULL;
        MPI_Isend(from.cast(), 1, MPI_INT, other, 1, MPI_COMM_WORLD, &mut request);
        let mut status = MaybeUninit::<MPI_Status>::uninit();
        status.as_mut_ptr().write_bytes(byte, 1);
        status.as_mut_ptr().cast::<[c_int; 3]>().write([0; 3]);
        let mut value = 0i32;
        let to: *mut i32 = &mut value;
        MPI_Recv(to.cast(), 1, MPI_INT, other, 1, MPI_COMM_WORLD, status.as_mut_ptr());
        MPI_Wait(&mut request, MPI_STATUS_IGNORE);
        status.assume_init()
    };
    let [first, second] = [0x11, 0xff].map(filled);
    assert_eq!(first.MPI_internal[3..], second.MPI_internal[3..]);
    // Requests that are started again stay what they are.
    let mut requests = [MPI_REQUEST_NULL; 2];
    let mut value = 0i32;
    let to: *mut i32 = &mut value;
    MPI_Recv_init(to.cast(), 1, MPI_INT, other, 0, MPI_COMM_WORLD, &mut requests[0]);
    let sent = 5i32;
    let from: *const i32 = &sent;
    MPI_Send_init(from.cast(), 1, MPI_INT, other, 0, MPI_COMM_WORLD, &mut requests[1]);
    let before = requests;
    for _ in 0..3 {
        to.write(0);
        MPI_Startall(2, requests.as_mut_ptr());
        MPI_Waitall(2, requests.as_mut_ptr(), MPI_STATUSES_IGNORE);
        assert_eq!((requests, to.read()), (before, 5));
    }
    requests.iter_mut().for_each(|request| assert_eq!(MPI_Request_free(request), MPI_SUCCESS));
    assert_eq!(requests, [MPI_REQUEST_NULL; 2]);
}

/// Checks lists of datatypes that go to the library, and that come from it.
unsafe fn lists_of_datatypes(rank: c_int) {
    let types = [MPI_DOUBLE, MPI_SHORT, MPI_INT];
    let lengths = [1, 2, 3];
    let at = [0, 8, 16];
    let mut all = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(3, lengths.as_ptr(), at.as_ptr(), types.as_ptr(), &mut all);
    MPI_Type_commit(&mut all);
    // The library writes three of four.
    let mut integers = [0; 4];
    let mut addresses = [0; 3];
    let mut parts = [MPI_BYTE; 4];
    let (to, places) = (parts.as_mut_ptr(), addresses.as_mut_ptr());
    MPI_Type_get_contents(all, 4, 3, 4, integers.as_mut_ptr(), places, to);
    assert_eq!((integers, addresses), ([3, 1, 2, 3], at));
    assert_eq!(parts[..3], types);
    // Intel MPI's library for the standard's ABI clears the rest.
    assert!([MPI_BYTE, MPI_Datatype(0)].contains(&parts[3]), "{parts:?}");
    let mut name = [0 as c_char; 128];
    let mut length = 0;
    MPI_Type_get_name(parts[0], name.as_mut_ptr(), &mut length);
    assert_eq!(length, 10);
    // Each rank sends the first number to rank 0 and the second one to rank 1.
    let (sent, mut into) = ([1.5f64, 2.5], [0.0f64; 4]);
    let counts = [1, 1];
    let places = [0, 16];
    let numbers = [MPI_DOUBLE; 2];
    MPI_Alltoallw(
        sent.as_ptr().cast(),
        counts.as_ptr(),
        [0, 8].as_ptr(),
        numbers.as_ptr(),
        into.as_mut_ptr().cast(),
        counts.as_ptr(),
        places.as_ptr(),
        numbers.as_ptr(),
        MPI_COMM_WORLD,
    );
    let expected = if rank == 0 { 1.5 } else { 2.5 };
    assert_eq!(into, [expected, 0.0, expected, 0.0]);
    MPI_Type_free(&mut all);
    assert_eq!(all, MPI_DATATYPE_NULL);
}

/// The number of copies and of deletions of an attribute.
static CALLS: AtomicI32 = AtomicI32::new(0);

/// Checks that the functions of a keyval get the handle of the program.
unsafe fn attributes() {
    unsafe extern "C" fn copy(
        datatype: MPI_Datatype,
        _: c_int,
        state: *mut c_void,
        from: *mut c_void,
        to: *mut c_void,
        flag: *mut c_int,
    ) -> c_int {
        assert_eq!(state.cast::<MPI_Datatype>().read(), datatype);
        to.cast::<*mut c_void>().write(from);
        flag.write(1);
        CALLS.fetch_add(1, Ordering::Relaxed);
        MPI_SUCCESS
    }
    unsafe extern "C" fn delete(_: MPI_Datatype, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
        CALLS.fetch_add(10, Ordering::Relaxed);
        MPI_SUCCESS
    }
    let mut own = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(3, MPI_INT, &mut own);
    let (mut key, state): (_, *mut MPI_Datatype) = (0, &mut own);
    MPI_Type_create_keyval(Some(copy), Some(delete), &mut key, state.cast());
    MPI_Type_set_attr(own, key, state.cast());
    let mut duplicate = MPI_DATATYPE_NULL;
    MPI_Type_dup(own, &mut duplicate);
    let (mut value, mut found) = (ptr::null_mut::<c_void>(), 0);
    let place: *mut *mut c_void = &mut value;
    MPI_Type_get_attr(duplicate, key, place.cast(), &mut found);
    assert!(found == 1 && value == state.cast());
    MPI_Type_free(&mut duplicate);
    // A keyval without functions copies nothing.
    let mut silent = 0;
    assert_eq!(MPI_Type_create_keyval(None, None, &mut silent, ptr::null_mut()), MPI_SUCCESS);
    MPI_Type_set_attr(own, silent, state.cast());
    MPI_Type_delete_attr(own, key);
    MPI_Type_dup(own, &mut duplicate);
    MPI_Type_get_attr(duplicate, silent, place.cast(), &mut found);
    assert_eq!(found, 0);
    MPI_Type_free(&mut duplicate);
    MPI_Type_free_keyval(&mut silent);
    MPI_Type_free(state);
    MPI_Type_free_keyval(&mut key);
    assert_eq!(CALLS.load(Ordering::Relaxed), 21);
    // The greatest tag is an attribute that the library sets.
    let mut greatest = ptr::null::<c_int>();
    let place: *mut *const c_int = &mut greatest;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, place.cast(), &mut found);
    assert!(found == 1 && *greatest >= 32767);
}

/// Checks that an operation gets the datatype of the program.
unsafe fn operation(rank: c_int) {
    unsafe extern "C" fn add(
        from: *mut c_void,
        into: *mut c_void,
        length: *mut c_int,
        datatype: *mut MPI_Datatype,
    ) {
        assert_eq!(*datatype, MPI_DOUBLE);
        for i in 0..*length as usize {
            *into.cast::<f64>().add(i) += *from.cast::<f64>().add(i);
        }
    }
    let mut sum = MPI_OP_NULL;
    // As many as places: each is given back.
    for _ in 0..1000 {
        assert_eq!(MPI_Op_create(Some(add), 1, &mut sum), MPI_SUCCESS);
        let (own, mut all) = ([f64::from(rank) + 1.0; 2], [0.0; 2]);
        let (from, into) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
        MPI_Allreduce(from, into, 2, MPI_DOUBLE, sum, MPI_COMM_WORLD);
        assert_eq!(all, [3.0; 2]);
        MPI_Op_free(&mut sum);
        assert_eq!(sum, MPI_OP_NULL);
    }
}

/// Checks that an operation calls its own function while threads make and free others, whose handles MPICH
/// uses again at once.
unsafe fn operations_of_threads() {
    unsafe extern "C" fn one(_: *mut c_void, to: *mut c_void, _: *mut c_int, _: *mut MPI_Datatype) {
        *to.cast::<c_int>() = 1;
    }
    unsafe extern "C" fn two(_: *mut c_void, to: *mut c_void, _: *mut c_int, _: *mut MPI_Datatype) {
        *to.cast::<c_int>() = 2;
    }
    static MADE: AtomicUsize = AtomicUsize::new(0);
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    let make = || {
        while !IS_OVER.load(Ordering::Relaxed) {
            // SAFETY: the level of threads allows it; the operation is freed once.
            unsafe {
                let mut others = MPI_OP_NULL;
                MPI_Op_create(Some(one), 1, &mut others);
                MPI_Op_free(&mut others);
            }
            MADE.fetch_add(1, Ordering::Relaxed);
        }
    };
    let threads = [(); 3].map(|()| thread::spawn(make));
    for _ in 0..300 {
        let mut own = MPI_OP_NULL;
        MPI_Op_create(Some(two), 1, &mut own);
        let before = MADE.load(Ordering::Relaxed);
        while MADE.load(Ordering::Relaxed) < before + 600 {
            thread::yield_now();
        }
        let (from, mut found): (c_int, c_int) = (0, 0);
        let (from, to): (*const c_int, *mut c_int) = (&from, &mut found);
        MPI_Reduce_local(from.cast(), to.cast(), 1, MPI_INT, own);
        assert_eq!(to.read(), 2);
        MPI_Op_free(&mut own);
    }
    IS_OVER.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
}
