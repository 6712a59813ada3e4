//! Functions of the program that the MPI library calls. Open MPI and libraries of the standard's ABI call
//! them directly. MPICH's handles and statuses are others, so MPICH calls functions of this file, which call
//! those of the program.
//!
//! # Safety
//! As in the MPI standard. The library passes its own handles, and the state that it was given.

use std::{
    mem,
    os::raw::{c_char, c_int, c_void},
    process,
    sync::Mutex,
};

use crate::{chosen::family, convert, library::Family, *};

/// Makes a handle of MPICH one of the program.
fn wide(handle: c_int) -> usize {
    handle as u32 as usize
}

/// The functions of a keyval.
struct Keyval<Copy, Delete> {
    copy: Copy,
    delete: Delete,
    state: *mut c_void,
}

macro_rules! keyvals {
    ($($name:ident, $native:ident: $handle:ident, $copy:ident, $delete:ident;)*) => {$(
        #[doc = concat!("Calls `", stringify!($name), "` of the MPI library.")]
        ///
        /// # Safety
        /// See the MPI standard.
        pub unsafe extern "C" fn $name(
            copy: $copy,
            delete: $delete,
            keyval: *mut c_int,
            state: *mut c_void,
        ) -> c_int {
            type Own = Keyval<$copy, $delete>;
            unsafe extern "C" fn copied(
                handle: c_int,
                keyval: c_int,
                own: *mut c_void,
                from: *mut c_void,
                to: *mut c_void,
                is_copied: *mut c_int,
            ) -> c_int {
                let own = &*own.cast::<Own>();
                let Some(copy) = own.copy else { return 0 };
                copy($handle(wide(handle)), keyval, own.state, from, to, is_copied)
            }
            unsafe extern "C" fn deleted(
                handle: c_int,
                keyval: c_int,
                value: *mut c_void,
                own: *mut c_void,
            ) -> c_int {
                let own = &*own.cast::<Own>();
                let Some(delete) = own.delete else { return 0 };
                delete($handle(wide(handle)), keyval, value, own.state)
            }
            unsafe extern "C" fn not_copied(
                _: $handle,
                _: c_int,
                _: *mut c_void,
                _: *mut c_void,
                _: *mut c_void,
                is_copied: *mut c_int,
            ) -> c_int {
                is_copied.write(0);
                MPI_SUCCESS
            }
            unsafe extern "C" fn not_told(_: $handle, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
                MPI_SUCCESS
            }
            // No function is a null pointer in MPICH alone.
            let copy: $copy = copy.or(Some(not_copied));
            let delete: $delete = delete.or(Some(not_told));
            if family() != Family::Mpich {
                return $native(copy, delete, keyval, state);
            }
            // Attributes outlive their keyval, so the box is never freed.
            let own: *mut Own = Box::into_raw(Box::new(Keyval { copy, delete, state }));
            type Copied = unsafe extern "C" fn(
                c_int,
                c_int,
                *mut c_void,
                *mut c_void,
                *mut c_void,
                *mut c_int,
            ) -> c_int;
            type Deleted = unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_void) -> c_int;
            let copy: $copy = copy.map(|_| mem::transmute(copied as Copied));
            let delete: $delete = delete.map(|_| mem::transmute(deleted as Deleted));
            $native(copy, delete, keyval, own.cast())
        }
    )*};
}

keyvals! {
    MPI_Comm_create_keyval, native_MPI_Comm_create_keyval:
        MPI_Comm, MPI_Comm_copy_attr_function, MPI_Comm_delete_attr_function;
    MPI_Keyval_create, native_MPI_Keyval_create: MPI_Comm, MPI_Copy_function, MPI_Delete_function;
    MPI_Type_create_keyval, native_MPI_Type_create_keyval:
        MPI_Datatype, MPI_Type_copy_attr_function, MPI_Type_delete_attr_function;
    MPI_Win_create_keyval, native_MPI_Win_create_keyval:
        MPI_Win, MPI_Win_copy_attr_function, MPI_Win_delete_attr_function;
}

macro_rules! duplicating {
    ($($name:ident: $handle:ty;)*) => {$(
        /// Copies an attribute as it is (MPI 5.0 section 7.7).
        ///
        /// # Safety
        /// See the MPI standard.
        pub unsafe extern "C" fn $name(
            _: $handle,
            _: c_int,
            _: *mut c_void,
            from: *mut c_void,
            to: *mut c_void,
            is_copied: *mut c_int,
        ) -> c_int {
            to.cast::<*mut c_void>().write(from);
            is_copied.write(1);
            MPI_SUCCESS
        }
    )*};
}

duplicating! { MPI_COMM_DUP_FN: MPI_Comm; MPI_TYPE_DUP_FN: MPI_Datatype; MPI_WIN_DUP_FN: MPI_Win; }

/// The functions of a generalized request.
struct Grequest {
    query: MPI_Grequest_query_function,
    free: MPI_Grequest_free_function,
    cancel: MPI_Grequest_cancel_function,
    state: *mut c_void,
}

/// Calls `MPI_Grequest_start` of the MPI library.
///
/// # Safety
/// See the MPI standard.
pub unsafe extern "C" fn MPI_Grequest_start(
    query: MPI_Grequest_query_function,
    free: MPI_Grequest_free_function,
    cancel: MPI_Grequest_cancel_function,
    state: *mut c_void,
    request: *mut MPI_Request,
) -> c_int {
    unsafe extern "C" fn queried(own: *mut c_void, status: *mut MPI_Status) -> c_int {
        let own = &*own.cast::<Grequest>();
        // The library has memory for its own status alone.
        let mut copy = mem::MaybeUninit::<MPI_Status>::zeroed();
        let words = |status: *mut MPI_Status| status.cast::<[c_int; 5]>();
        words(copy.as_mut_ptr()).write(words(status).read());
        convert::from_native(copy.as_mut_ptr());
        let code = own.query.map_or(MPI_SUCCESS, |query| query(own.state, copy.as_mut_ptr()));
        convert::to_native(copy.as_mut_ptr());
        words(status).write(words(copy.as_mut_ptr()).read());
        code
    }
    unsafe extern "C" fn freed(own: *mut c_void) -> c_int {
        let own = Box::from_raw(own.cast::<Grequest>());
        own.free.map_or(MPI_SUCCESS, |free| free(own.state))
    }
    unsafe extern "C" fn cancelled(own: *mut c_void, is_complete: c_int) -> c_int {
        let own = &*own.cast::<Grequest>();
        own.cancel.map_or(MPI_SUCCESS, |cancel| cancel(own.state, is_complete))
    }
    if family() != Family::Mpich {
        return native_MPI_Grequest_start(query, free, cancel, state, request);
    }
    let own = Box::into_raw(Box::new(Grequest { query, free, cancel, state }));
    native_MPI_Grequest_start(Some(queried), Some(freed), Some(cancelled), own.cast(), request)
}

/// The number of operations that exist at a time, and of handlers of errors that are ever made for each kind
/// of handle: an object may use a handler after it is freed.
const SLOTS: usize = 256;

/// The functions of the program behind functions that have no state of their own.
struct Pool<F> {
    functions: [Option<F>; SLOTS],
    /// The handle for which a place is in use; 0 if it is free.
    handles: [usize; SLOTS],
    next: usize,
}

impl<F: Copy> Pool<F> {
    const fn new() -> Self {
        Self { functions: [None; SLOTS], handles: [0; SLOTS], next: 0 }
    }

    /// Takes the next free place for a function, and returns its number. A place that was given back last is
    /// taken last: the library may still use it.
    fn take(&mut self, function: F) -> Option<usize> {
        let place = (0..SLOTS).map(|i| (self.next + i) % SLOTS).find(|i| self.handles[*i] == 0)?;
        self.next = place + 1;
        self.functions[place] = Some(function);
        self.handles[place] = usize::MAX;
        Some(place)
    }

    /// Returns the place of a handle. From now on, the place belongs to no handle, and is in use.
    fn withdraw(&mut self, handle: usize) -> Option<usize> {
        let place = self.handles.iter().position(|used| *used == handle)?;
        self.handles[place] = usize::MAX;
        Some(place)
    }
}

/// Ends the program, which has more functions of a kind than there are places: rsmpi takes what a call leaves
/// for a handle, even if it fails. `when` says how they are counted.
fn no_place(name: &str, when: &str) -> ! {
    eprintln!("mpi-sys: {name}: on MPICH and its kin, a program has at most {SLOTS} {when}");
    process::exit(1)
}

/// Locks a pool. A function of the program that panics ends the program, so no pool is left half changed.
fn lock<F>(pool: &Mutex<Pool<F>>) -> std::sync::MutexGuard<'_, Pool<F>> {
    pool.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Returns a list of 256 instances of a function with a number.
macro_rules! instances {
    ($function:ident: $type:ident) => {{
        const ALL: [$type; SLOTS] =
            instances!(@rows $function $type [0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240]);
        &ALL
    }};
    (@rows $f:ident $type:ident [$($from:literal)*]) => {{
        let mut all: [$type; SLOTS] = [$f::<0>; SLOTS];
        $(
            all[$from] = $f::<$from>;
            all[$from + 1] = $f::<{ $from + 1 }>;
            all[$from + 2] = $f::<{ $from + 2 }>;
            all[$from + 3] = $f::<{ $from + 3 }>;
            all[$from + 4] = $f::<{ $from + 4 }>;
            all[$from + 5] = $f::<{ $from + 5 }>;
            all[$from + 6] = $f::<{ $from + 6 }>;
            all[$from + 7] = $f::<{ $from + 7 }>;
            all[$from + 8] = $f::<{ $from + 8 }>;
            all[$from + 9] = $f::<{ $from + 9 }>;
            all[$from + 10] = $f::<{ $from + 10 }>;
            all[$from + 11] = $f::<{ $from + 11 }>;
            all[$from + 12] = $f::<{ $from + 12 }>;
            all[$from + 13] = $f::<{ $from + 13 }>;
            all[$from + 14] = $f::<{ $from + 14 }>;
            all[$from + 15] = $f::<{ $from + 15 }>;
        )*
        all
    }};
}

macro_rules! operations {
    ($($name:ident, $native:ident: $function:ident, $count:ty, $pool:ident;)*) => {$(
        static $pool: Mutex<Pool<$function>> = Mutex::new(Pool::new());

        #[doc = concat!("Calls `", stringify!($name), "` of the MPI library.")]
        ///
        /// # Safety
        /// See the MPI standard.
        pub unsafe extern "C" fn $name(function: $function, commutes: c_int, op: *mut MPI_Op) -> c_int {
            type Native = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut $count, *mut c_int);
            unsafe extern "C" fn combine<const I: usize>(
                from: *mut c_void,
                into: *mut c_void,
                length: *mut $count,
                datatype: *mut c_int,
            ) {
                let function = lock(&$pool).functions[I].flatten();
                let mut datatype = MPI_Datatype(wide(datatype.read()));
                if let Some(function) = function {
                    function(from, into, length, &mut datatype);
                }
            }
            if family() != Family::Mpich || function.is_none() {
                return $native(function, commutes, op);
            }
            let Some(place) = lock(&$pool).take(function) else {
                no_place(stringify!($name), "at a time")
            };
            let native: Native = instances!(combine: Native)[place];
            type Plain =
                unsafe extern "C" fn(*mut c_void, *mut c_void, *mut $count, *mut MPI_Datatype);
            let code = $native(Some(mem::transmute::<Native, Plain>(native)), commutes, op);
            lock(&$pool).handles[place] = if code == MPI_SUCCESS { (*op).0 } else { 0 };
            code
        }
    )*};
}

operations! {
    MPI_Op_create, native_MPI_Op_create: MPI_User_function, c_int, OPERATIONS;
    MPI_Op_create_c, native_MPI_Op_create_c: MPI_User_function_c, MPI_Count, LARGE_OPERATIONS;
}

/// Calls `MPI_Op_free` of the MPI library.
///
/// # Safety
/// See the MPI standard.
pub unsafe extern "C" fn MPI_Op_free(op: *mut MPI_Op) -> c_int {
    if family() != Family::Mpich {
        return native_MPI_Op_free(op);
    }
    // Another thread may get the same handle as soon as it is free.
    let own = (*op).0;
    let (place, large) = (lock(&OPERATIONS).withdraw(own), lock(&LARGE_OPERATIONS).withdraw(own));
    let code = native_MPI_Op_free(op);
    let now = if code == MPI_SUCCESS { 0 } else { own };
    place.into_iter().for_each(|place| lock(&OPERATIONS).handles[place] = now);
    large.into_iter().for_each(|place| lock(&LARGE_OPERATIONS).handles[place] = now);
    code
}

macro_rules! handlers {
    ($($name:ident, $native:ident: $function:ident, $handle:ident, $raw:ty, $pool:ident;)*) => {
        $(
        static $pool: Mutex<Pool<$function>> = Mutex::new(Pool::new());

        #[doc = concat!("Calls `", stringify!($name), "` of the MPI library.")]
        ///
        /// # Safety
        /// See the MPI standard.
        pub unsafe extern "C" fn $name(function: $function, handler: *mut MPI_Errhandler) -> c_int {
            // The library passes two arguments and more. Those after the second one are not used, and on the
            // supported systems, the first two lie where they lie without the others.
            type Native = unsafe extern "C" fn(*mut $raw, *mut c_int);
            type Variadic = unsafe extern "C" fn(*mut $handle, *mut c_int, ...);
            unsafe extern "C" fn handle<const I: usize>(handle: *mut $raw, code: *mut c_int) {
                let function = lock(&$pool).functions[I].flatten();
                let mut own = $handle(handle.read() as u64 as usize & <$raw>::MAX as u64 as usize);
                if let Some(function) = function {
                    function(&mut own, code);
                }
            }
            if family() != Family::Mpich || function.is_none() {
                return $native(function, handler);
            }
            let Some(place) = lock(&$pool).take(function) else {
                no_place(stringify!($name), "in all, also if they are freed")
            };
            let native: Native = instances!(handle: Native)[place];
            let code = $native(Some(mem::transmute::<Native, Variadic>(native)), handler);
            lock(&$pool).handles[place] = if code == MPI_SUCCESS { (*handler).0 } else { 0 };
            code
        }
        )*
    };
}

handlers! {
    MPI_Comm_create_errhandler, native_MPI_Comm_create_errhandler:
        MPI_Comm_errhandler_function, MPI_Comm, u32, OF_COMMUNICATORS;
    // MPICH's files are pointers.
    MPI_File_create_errhandler, native_MPI_File_create_errhandler:
        MPI_File_errhandler_function, MPI_File, u64, OF_FILES;
    MPI_Session_create_errhandler, native_MPI_Session_create_errhandler:
        MPI_Session_errhandler_function, MPI_Session, u32, OF_SESSIONS;
    MPI_Win_create_errhandler, native_MPI_Win_create_errhandler:
        MPI_Win_errhandler_function, MPI_Win, u32, OF_WINDOWS;
}

/// The functions of a representation of data.
struct Datarep<Convert> {
    read: Convert,
    write: Convert,
    extent: MPI_Datarep_extent_function,
    state: *mut c_void,
}

macro_rules! representations {
    ($($name:ident, $native:ident: $convert:ident, $count:ty;)*) => {$(
        #[doc = concat!("Calls `", stringify!($name), "` of the MPI library.")]
        ///
        /// # Safety
        /// See the MPI standard.
        pub unsafe extern "C" fn $name(
            name: *const c_char,
            read: $convert,
            write: $convert,
            extent: MPI_Datarep_extent_function,
            state: *mut c_void,
        ) -> c_int {
            type Own = Datarep<$convert>;
            type Native = unsafe extern "C" fn(
                *mut c_void,
                c_int,
                $count,
                *mut c_void,
                MPI_Offset,
                *mut c_void,
            ) -> c_int;
            type Plain = unsafe extern "C" fn(
                *mut c_void,
                MPI_Datatype,
                $count,
                *mut c_void,
                MPI_Offset,
                *mut c_void,
            ) -> c_int;
            unsafe extern "C" fn convert<const WRITES: bool>(
                memory: *mut c_void,
                datatype: c_int,
                count: $count,
                file: *mut c_void,
                position: MPI_Offset,
                own: *mut c_void,
            ) -> c_int {
                let own = &*own.cast::<Own>();
                let Some(convert) = (if WRITES { own.write } else { own.read }) else { return MPI_SUCCESS };
                convert(memory, MPI_Datatype(wide(datatype)), count, file, position, own.state)
            }
            unsafe extern "C" fn extent_of(
                datatype: c_int,
                extent: *mut MPI_Aint,
                own: *mut c_void,
            ) -> c_int {
                let own = &*own.cast::<Own>();
                let Some(function) = own.extent else { return MPI_SUCCESS };
                function(MPI_Datatype(wide(datatype)), extent, own.state)
            }
            if family() != Family::Mpich {
                return $native(name, read, write, extent, state);
            }
            // A representation stays for ever.
            let own: *mut Own = Box::into_raw(Box::new(Datarep { read, write, extent, state }));
            let plain = |convert: Native| mem::transmute::<Native, Plain>(convert);
            let to_extent: unsafe extern "C" fn(c_int, *mut MPI_Aint, *mut c_void) -> c_int = extent_of;
            $native(
                name,
                read.map(|_| plain(convert::<false>)),
                write.map(|_| plain(convert::<true>)),
                extent.map(|_| mem::transmute(to_extent)),
                own.cast(),
            )
        }
    )*};
}

representations! {
    MPI_Register_datarep, native_MPI_Register_datarep: MPI_Datarep_conversion_function, c_int;
    MPI_Register_datarep_c, native_MPI_Register_datarep_c: MPI_Datarep_conversion_function_c, MPI_Count;
}

/// Returns the weights of a topology without weights.
pub fn RSMPI_UNWEIGHTED() -> *mut c_int {
    // SAFETY: a constant of the library.
    unsafe { MPI_UNWEIGHTED }
}

/// Returns the time in seconds.
///
/// # Safety
/// See the MPI standard.
pub unsafe fn RSMPI_Wtime() -> f64 {
    MPI_Wtime()
}

/// Returns the resolution of the time in seconds.
///
/// # Safety
/// See the MPI standard.
pub unsafe fn RSMPI_Wtick() -> f64 {
    MPI_Wtick()
}
