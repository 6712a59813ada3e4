//! Generated types on every wire, in every pair of counts: right values, or an error and nothing written.
//!
//! What is right says [`Cover`], which knows from the compiler alone which bytes of a type travel.

use std::{any::type_name, cell::Cell, fmt, os::raw::c_int};

use dtype_runtime::{Error, MpiDatatype, Wire, pack, packed_size, traits::*, unpack_into, wire};
use dtype_tests::{Cover, is_long, is_misfit, memory};
use mpi::{
    ffi,
    raw::AsRaw,
    topology::{Process, SimpleCommunicator},
    traits::*,
};

use crate::{SEED, Visit, for_each};

unsafe extern "C" {
    /// `MPI_ERRORS_RETURN`.
    fn c_errors_return() -> ffi::MPI_Errhandler;
}

/// Types of which values can be made, at least.
const TYPES: usize = 300;

/// The most values of a message.
const MOST: usize = 200;

/// Pairs of counts for each type, but with `DTYPE_LONG=1`, when it is all of them.
const SOME: usize = 25;

pub fn pairs(world: &SimpleCommunicator) {
    wire::attach(world).unwrap();
    let pairs = Pairs { world, all: is_long(), types: Cell::new(0) };
    for_each(&pairs);
    assert!(pairs.types.get() >= TYPES, "{} types", pairs.types.get());
}

struct Pairs<'a> {
    world: &'a SimpleCommunicator,
    /// Whether it is all pairs of counts.
    all: bool,
    /// How many types have travelled.
    types: Cell<usize>,
}

impl Visit for Pairs<'_> {
    fn visit<T: MpiDatatype + Cover>(&self) {
        if !T::FACTS.complete {
            // There is no value to be had of the types of skipped fields.
            return;
        }
        self.types.set(self.types.get() + 1);
        let name = format!("{} of seed {SEED}", type_name::<T>());
        let mut order = Vec::new();
        T::cover(0, &mut order);
        let wire_size: usize = order.iter().map(ExactSizeIterator::len).sum();
        let mut end = 0;
        let in_a_row = order.iter().all(|range| {
            let follows = range.start == end || range.is_empty();
            end = end.max(range.end);
            follows
        });
        // Empty fields at other places may keep values from lying as they travel.
        let lies_as_it_travels = T::FACTS.dense || T::BYTES;
        assert!(!lies_as_it_travels || in_a_row && wire_size == size_of::<T>(), "{name}");
        let (own, mut into) = (values::<T>(1), values::<T>(2));
        let (packed, before) = (pack(&own), pack(&into));
        let mut plain = Plain::new(&own);
        for (sent, received) in self.pairs(wire_size, size_of::<T>()) {
            let (right, before) = (&packed[..packed_size::<T>(sent)], &before[..packed_size::<T>(received)]);
            let case = Case { name: &name, wire_size, lies_as_it_travels, sent, received, right, before };
            case.travel(self.world, &own[..sent], &mut into[..received], &mut plain);
        }
    }
}

impl Pairs<'_> {
    /// Pairs of counts: all, or some, those among them of which the lengths coincide in one way or another.
    fn pairs(&self, packed: usize, size: usize) -> Vec<(usize, usize)> {
        if self.all {
            return (0..=MOST).flat_map(|sent| (0..=MOST).map(move |received| (sent, received))).collect();
        }
        let mut all = vec![(0, 0), (1, 1), (MOST, MOST), (0, 1), (1, 0), (7, 8), (8, 7)];
        let other_lengths = (1..=MOST).filter(|n| packed > 0 && (n * size) % packed == 0);
        for n in other_lengths.map(|n| (n, n * size / packed)).filter(|(_, m)| *m <= MOST).take(8) {
            all.extend([n, (n.1, n.0)]);
        }
        let mut state = SEED.wrapping_add((packed * 1000 + size) as u64);
        while all.len() < SOME {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = (state >> 33) as usize;
            all.push((number % (MOST + 1), number / 256 % (MOST + 1)));
        }
        all
    }
}

struct Case<'a> {
    name: &'a str,
    /// Bytes of a value that travel.
    wire_size: usize,
    /// Whether these are its memory.
    lies_as_it_travels: bool,
    sent: usize,
    received: usize,
    /// The values sent, and those that are there before, packed.
    right: &'a [u8],
    before: &'a [u8],
}

/// Values of any bytes, but where a type has no such value.
fn values<T: MpiDatatype>(which: usize) -> Vec<T> {
    let mut values = Vec::<T>::with_capacity(MOST);
    // SAFETY: numbers, `bool` and `char`, arrays and tuples of them: all may be zero, and so is their
    // padding.
    unsafe {
        values.as_mut_ptr().write_bytes(0, MOST);
        values.set_len(MOST);
    }
    let size = packed_size::<T>(1);
    let bytes = memory(which, size * MOST);
    for (i, value) in values.iter_mut().enumerate() {
        let mut packed = bytes[i * size..(i + 1) * size].to_vec();
        while let Err(error) = unpack_into(&packed, std::slice::from_mut(value)) {
            let Error::InvalidValue { what, offset, .. } = error else { panic!("{error}") };
            let size = if what == "char" { 4 } else { 1 };
            packed[offset..offset + size].fill(0);
        }
    }
    values
}

impl Case<'_> {
    fn travel<T: MpiDatatype + Cover>(
        &self,
        world: &SimpleCommunicator,
        own: &[T],
        into: &mut [T],
        plain: &mut Plain,
    ) {
        let other = world.process_at_rank(1 - world.rank());
        for wire in [Wire::Typed, Wire::Packed, Wire::Auto, Wire::Segments, Wire::Bytes] {
            let says =
                fmt::from_fn(|f| write!(f, "{}: {} to {} on {wire:?}", self.name, self.sent, self.received));
            let travels = wire != Wire::Bytes || self.lies_as_it_travels;
            if world.rank() == 0 {
                let result = other.send_over(wire, own);
                assert_eq!(result.is_ok(), travels, "{says}: {result:?}");
            } else if travels {
                let result = other.receive_over(wire, into).map(|_| ());
                let fits = self.sent * self.wire_size == self.received * self.wire_size;
                if fits {
                    assert_eq!(result, Ok(()), "{says}");
                } else {
                    let (expected, found) = (self.received * self.wire_size, self.sent * self.wire_size);
                    let error = result.unwrap_err();
                    assert!(is_misfit(&error, expected, found), "{says}: {error}");
                }
                assert!(pack(into) == if fits { self.right } else { self.before }, "{says}");
                if fits {
                    unpack_into(self.before, into).unwrap();
                }
            }
        }
        for wire in [Wire::Typed, Wire::Packed, Wire::Auto] {
            if world.rank() == 0 {
                other.send_over(wire, own).unwrap();
            } else {
                self.receive_plainly::<T>(&other, plain, wire);
            }
        }
    }

    /// With `MPI_Recv` and the datatype of the type.
    fn receive_plainly<T: MpiDatatype + Cover>(&self, from: &Process<'_>, plain: &mut Plain, wire: Wire) {
        let says = fmt::from_fn(|f| {
            write!(f, "{}: {} to a plain {} on {wire:?}", self.name, self.sent, self.received)
        });
        let communicator = from.as_communicator().as_raw();
        // SAFETY: there is room for `count` values; MPI writes bytes.
        let code = unsafe {
            ffi::MPI_Comm_set_errhandler(communicator, c_errors_return());
            let datatype = T::datatype().unwrap().as_raw();
            let (place, count, status) =
                (plain.found.as_mut_ptr().cast(), self.received as c_int, ffi::RSMPI_STATUS_IGNORE);
            let code = ffi::MPI_Recv(place, count, datatype, from.rank(), 0, communicator, status);
            ffi::MPI_Comm_set_errhandler(communicator, ffi::RSMPI_ERRORS_ARE_FATAL);
            code
        };
        if code != ffi::MPI_SUCCESS as c_int {
            // MPICH 4 and 5 report an error also of long packed messages that fit.
            let is_long = wire != Wire::Typed && self.sent * self.wire_size > 4 << 10;
            assert!(self.sent > self.received || is_long, "{says}");
            plain.found.copy_from_slice(&plain.before);
            return;
        }
        assert!(self.sent <= self.received || self.wire_size == 0, "{says}");
        let size = size_of::<T>();
        // Of more values than can be received, there is nothing.
        let come = if self.wire_size == 0 { 0 } else { self.sent * size };
        let (found, rest) = plain.found.split_at_mut(come);
        let is_right = *found == plain.expected[..come] && *rest == plain.before[come..];
        assert!(is_right, "{says}, of {size} bytes each, {} of which travel", self.wire_size);
        found.copy_from_slice(&plain.before[..come]);
    }
}

/// Memory for the values of plain receives.
struct Plain {
    /// What is in it before, and what all values make of it.
    before: Vec<u8>,
    expected: Vec<u8>,
    found: Vec<u8>,
}

impl Plain {
    fn new<T: Cover>(values: &[T]) -> Self {
        // More room than is told of, since libraries may write that as well.
        let before = memory(3, size_of_val(values) + 64);
        let (mut expected, mut order) = (before.clone(), Vec::new());
        (0..values.len()).for_each(|i| T::cover(i * size_of::<T>(), &mut order));
        for range in order {
            let from = values.as_ptr().cast::<u8>().wrapping_add(range.start);
            // SAFETY: a part of the values, all bytes of which have been written.
            unsafe { std::ptr::copy_nonoverlapping(from, expected[range.clone()].as_mut_ptr(), range.len()) };
        }
        Self { found: before.clone(), before, expected }
    }
}
