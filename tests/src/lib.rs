//! Helpers that the test programs share. Their results do not depend on the datatype compiler.

use std::{ops::Range, os::raw::c_int};

use dtype_runtime::Error;
use mpi::{
    ffi::{self, MPI_Datatype},
    topology::SimpleCommunicator,
    traits::*,
};

/// Returns a number of MPI's, by its name: a constant in the stock crate `mpi-sys`, a variable in ours.
#[macro_export]
macro_rules! constant {
    ($name:ident) => {{
        #[allow(unused_unsafe, clippy::unnecessary_cast, reason = "it depends on the crate")]
        // SAFETY: nobody changes the variable.
        let number = unsafe { ::mpi::ffi::$name as ::std::os::raw::c_int };
        number
    }};
}

/// Runs the scenario that the command line names, and prints `ok` at its end.
pub fn run(scenario: impl FnOnce(&str)) {
    // A rank that fails exits at once, and mpiexec ends the others. Unwinding would wait for the other ranks
    // in `MPI_Finalize`.
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        std::process::exit(1);
    }));
    scenario(&std::env::args().nth(1).unwrap_or_default());
    println!("ok");
}

/// Runs the scenario with the world communicator. MPI is initialized before and finalized after it.
///
/// # Panics
/// If MPI has been initialized before.
pub fn with_world(scenario: impl FnOnce(&SimpleCommunicator)) {
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    scenario(&world);
    world.barrier();
}

/// Returns `true` if `DTYPE_LONG` is set: tests that otherwise try some of their cases then try all.
pub fn is_long() -> bool {
    std::env::var_os("DTYPE_LONG").is_some()
}

/// Returns the seed that `DTYPE_SEED` chooses, or another one.
pub fn seed(otherwise: u64) -> u64 {
    std::env::var("DTYPE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(otherwise)
}

/// Returns `true` if the error reports that `expected` bytes were expected and `found` bytes came. If the
/// error does not say how many came, `found` must be more than `expected`.
pub fn is_misfit(error: &Error, expected: usize, found: usize) -> bool {
    match error {
        Error::Fit { expected: own, found: None, .. } => *own == expected && expected < found,
        Error::Fit { expected: own, found: come, from: Some(_), .. } => {
            (*own, *come) == (expected, Some(found))
        }
        _ => false,
    }
}

/// The bytes of a type that travel, according to the offsets that the compiler gives. The derive has no part
/// in this, so that its result can be compared.
pub trait Cover {
    /// Appends the byte ranges of a value at offset `at`, in the order in which they travel.
    fn cover(at: usize, bytes: &mut Vec<Range<usize>>);
}

macro_rules! base_types {
    ($($type:ty)*) => {
        $(impl Cover for $type {
            fn cover(at: usize, bytes: &mut Vec<Range<usize>>) {
                bytes.push(at..at + size_of::<Self>());
            }
        })*
    };
}
base_types! { i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 bool char usize }

impl<T: Cover, const N: usize> Cover for [T; N] {
    fn cover(at: usize, bytes: &mut Vec<Range<usize>>) {
        (0..N).for_each(|i| T::cover(at + i * size_of::<T>(), bytes));
    }
}

macro_rules! tuples {
    ($($name:ident $index:tt)*) => {
        impl<$($name: Cover),*> Cover for ($($name,)*) {
            fn cover(_at: usize, _bytes: &mut Vec<Range<usize>>) {
                $($name::cover(_at + std::mem::offset_of!(Self, $index), _bytes);)*
            }
        }
    };
}
tuples! {}
tuples! { A 0 }
tuples! { A 0 B 1 }
tuples! { A 0 B 1 C 2 }

/// Returns `size` bytes, most of which differ from those of any other `which`.
pub fn memory(which: usize, size: usize) -> Vec<u8> {
    (0..size).map(|i| (i.wrapping_mul(167) + which.wrapping_mul(59) + (i >> 8)) as u8).collect()
}

/// Returns the bytes that `MPI_Pack` makes of `count` values at `source`.
pub fn mpi_pack(source: *const u8, count: usize, datatype: MPI_Datatype, size: usize) -> Vec<u8> {
    let mut packed = vec![0u8; size + 64];
    let mut position = 0;
    // SAFETY: the caller's datatype describes `count` readable values at `source`; `packed` has space for
    // them.
    unsafe {
        ffi::MPI_Pack(
            source.cast(),
            count as c_int,
            datatype,
            packed.as_mut_ptr().cast(),
            packed.len() as c_int,
            &raw mut position,
            ffi::RSMPI_COMM_WORLD,
        );
    }
    packed.truncate(position as usize);
    packed
}

/// Returns `true` if the MPI library has this name and major version. The version text of a library is
/// `MPICH Version:      5.0.2…` or `Open MPI v4.1.4, …`.
pub fn is_library(name: &str, major: u32) -> bool {
    let text = mpi::environment::library_version().unwrap_or_default();
    let version = text.strip_prefix(name).map(|rest| rest.trim_start_matches(|c: char| !c.is_ascii_digit()));
    version.is_some_and(|version| version.starts_with(&format!("{major}.")))
}

/// Returns `true` if the program runs with Intel MPI.
pub fn is_intel() -> bool {
    is_library("Intel(R) MPI Library", 2021)
}

/// Checks the bytes that MPI packed in a process with many datatypes.
///
/// From the 512th datatype of a process on, MPICH 4.0.2 packs only whole multiples of some element size and
/// omits the rest: a loop over MPI_Type_contiguous and MPI_Pack in C shows this. So up to 15 bytes may be
/// missing at the end. MPICH transfers all of these datatypes correctly.
///
/// # Panics
/// If the bytes differ in any other way.
pub fn packed_by_many(packed: &[u8], expected: &[u8], name: &str) {
    assert!(expected.starts_with(packed), "{name}: {packed:?} instead of {expected:?}");
    assert!(expected.len() - packed.len() < 16, "{name}: {packed:?} instead of {expected:?}");
}
