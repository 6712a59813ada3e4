//! Generated types on every wire, for pairs of counts: either the right values arrive, or the receive is an
//! error and writes nothing.
//!
//! [`Cover`] says which values are right: it learns from the compiler alone which bytes of a type travel.

use std::{any::type_name, cell::Cell, fmt, os::raw::c_int};

use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{Comm, Error, FromMessage, MpiDatatype, Wire, pack, packed_size, unpack_into};
use dtype_tests::{Cover, is_intel, is_long, is_misfit, memory};
use mpi::{ffi, raw::AsRaw, topology::SimpleCommunicator};

use crate::{SEED, STRUCTS, VisitComplete, for_each_complete};

/// The least number of types whose values must travel: those without skipped fields, generic ones included.
const TYPES: usize = STRUCTS * 3 / 4;

/// Returns the largest number of values in a message.
fn most() -> usize {
    if is_long() { 200 } else { 64 }
}

/// The number of pairs of counts for each type, unless `DTYPE_LONG=1` selects all pairs.
const SOME: usize = 25;

pub fn pairs(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    world.attach().unwrap();
    let pairs = Pairs { world, all: is_long(), types: Cell::new(0) };
    for_each_complete(&pairs);
    assert!(pairs.types.get() >= TYPES, "{} types", pairs.types.get());
}

struct Pairs<'a> {
    world: &'a Comm<&'a SimpleCommunicator>,
    /// `true` if all pairs of counts are tested.
    all: bool,
    /// The number of types that have travelled.
    types: Cell<usize>,
}

impl VisitComplete for Pairs<'_> {
    fn visit<T: MpiDatatype + FromMessage + Cover>(&self) {
        // The test cannot make values of the types of skipped fields.
        assert!(T::FACTS.complete);
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
        // The converse need not hold: because of an empty field at another offset, a type may not count as
        // dense.
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
    /// Returns the pairs of counts to test: all pairs, or `SOME` of them. `SOME` pairs include those for
    /// which the bytes in memory of one count equal the packed bytes of the other.
    fn pairs(&self, packed: usize, size: usize) -> Vec<(usize, usize)> {
        let most = most();
        if self.all {
            return (0..=most).flat_map(|sent| (0..=most).map(move |received| (sent, received))).collect();
        }
        let mut all = vec![(0, 0), (1, 1), (most, most), (0, 1), (1, 0), (7, 8), (8, 7)];
        let other_lengths = (1..=most).filter(|n| packed > 0 && (n * size) % packed == 0);
        for n in other_lengths.map(|n| (n, n * size / packed)).filter(|(_, m)| *m <= most).take(8) {
            all.extend([n, (n.1, n.0)]);
        }
        let mut state = SEED.wrapping_add((packed * 1000 + size) as u64);
        while all.len() < SOME {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = (state >> 33) as usize;
            all.push((number % (most + 1), number / 256 % (most + 1)));
        }
        all
    }
}

struct Case<'a> {
    name: &'a str,
    /// The number of bytes of a value that travel.
    wire_size: usize,
    /// `true` if the packed bytes of a value are its bytes in memory.
    lies_as_it_travels: bool,
    sent: usize,
    received: usize,
    /// The packed bytes of the values sent, and of the destination before the receive.
    right: &'a [u8],
    before: &'a [u8],
}

/// Returns `most()` values of arbitrary bytes. Bytes that are not a valid value are replaced by zeros.
fn values<T: MpiDatatype>(which: usize) -> Vec<T> {
    let most = most();
    let mut values = Vec::<T>::with_capacity(most);
    // SAFETY: the types consist of numbers, `bool` and `char`, and arrays and tuples of them. Zero bytes are
    // a valid value of each; the padding is zero, too.
    unsafe {
        values.as_mut_ptr().write_bytes(0, most);
        values.set_len(most);
    }
    let size = packed_size::<T>(1);
    let bytes = memory(which, size * most);
    for (i, value) in values.iter_mut().enumerate() {
        let mut packed = bytes[i * size..(i + 1) * size].to_vec();
        while let Err(error) = unpack_into(&packed, std::slice::from_mut(value)) {
            let Error::Pack(PackError::InvalidValue { what, offset, .. }) = error else { panic!("{error}") };
            let size = if what == "char" { 4 } else { 1 };
            packed[offset..offset + size].fill(0);
        }
    }
    values
}

impl Case<'_> {
    fn travel<T: MpiDatatype + FromMessage + Cover>(
        &self,
        world: &Comm<&SimpleCommunicator>,
        own: &[T],
        into: &mut [T],
        plain: &mut Plain,
    ) {
        let other = world.peer(1 - world.rank());
        for wire in [Wire::Typed, Wire::Packed, Wire::Auto, Wire::Segments, Wire::Bytes] {
            let says =
                fmt::from_fn(|f| write!(f, "{}: {} to {} on {wire:?}", self.name, self.sent, self.received));
            let travels = wire != Wire::Bytes || self.lies_as_it_travels;
            if world.rank() == 0 {
                let result = other.wire(wire).send(own);
                assert_eq!(result.is_ok(), travels, "{says}: {result:?}");
            } else if travels {
                let result = other.wire(wire).receive_into(into);
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
        // A vector takes what comes.
        for wire in [Wire::Typed, Wire::Packed, Wire::Auto] {
            if world.rank() == 0 {
                other.wire(wire).send(own).unwrap();
            } else {
                let come: Vec<T> = other.receive().unwrap();
                assert!(pack(&come) == self.right, "{}: {} on {wire:?}", self.name, self.sent);
                // The message does not tell the number of values without data.
                assert!(come.len() == self.sent || self.wire_size == 0, "{}: {}", self.name, self.sent);
            }
        }
        for wire in [Wire::Typed, Wire::Packed, Wire::Auto] {
            if world.rank() == 0 {
                other.wire(wire).send(own).unwrap();
            } else {
                self.receive_plainly::<T>(world, plain, wire);
            }
        }
    }

    /// Receives with `MPI_Recv` and the datatype of the type.
    fn receive_plainly<T: MpiDatatype + Cover>(
        &self,
        world: &Comm<&SimpleCommunicator>,
        plain: &mut Plain,
        wire: Wire,
    ) {
        let says = fmt::from_fn(|f| {
            write!(f, "{}: {} to a plain {} on {wire:?}", self.name, self.sent, self.received)
        });
        let communicator = world.as_raw();
        // SAFETY: the memory holds `count` values; MPI writes bytes.
        let code = unsafe {
            ffi::MPI_Comm_set_errhandler(communicator, ffi::RSMPI_ERRORS_RETURN);
            let datatype = T::datatype().unwrap().as_raw();
            let place = plain.found.as_mut_ptr().cast();
            let count = self.received as c_int;
            let status = ffi::RSMPI_STATUS_IGNORE;
            let code = ffi::MPI_Recv(place, count, datatype, 0, 0, communicator, status);
            ffi::MPI_Comm_set_errhandler(communicator, ffi::RSMPI_ERRORS_ARE_FATAL);
            code
        };
        if code != ffi::MPI_SUCCESS as c_int {
            // MPICH 4 and 5 also report an error for long packed messages that fit.
            let is_long = wire != Wire::Typed && self.sent * self.wire_size > 4 << 10;
            assert!(self.sent > self.received || is_long, "{says}");
            plain.found.copy_from_slice(&plain.before);
            return;
        }
        if is_intel() && self.received == 0 {
            // Intel MPI takes a longer message for one of length 0.
            return;
        }
        assert!(self.sent <= self.received || self.wire_size == 0, "{says}");
        let size = size_of::<T>();
        // If the values have no data, more of them may be sent than received, and nothing is written.
        let come = if self.wire_size == 0 { 0 } else { self.sent * size };
        let (found, rest) = plain.found.split_at_mut(come);
        let is_right = *found == plain.expected[..come] && *rest == plain.before[come..];
        assert!(is_right, "{says}, of {size} bytes each, {} of which travel", self.wire_size);
        found.copy_from_slice(&plain.before[..come]);
    }
}

/// Memory for the values of plain receives.
struct Plain {
    /// The bytes before each receive, and after a receive of all values.
    before: Vec<u8>,
    expected: Vec<u8>,
    found: Vec<u8>,
}

impl Plain {
    fn new<T: Cover>(values: &[T]) -> Self {
        // The memory is longer than the receive says, to detect a library that writes beyond it.
        let before = memory(3, size_of_val(values) + 64);
        let (mut expected, mut order) = (before.clone(), Vec::new());
        (0..values.len()).for_each(|i| T::cover(i * size_of::<T>(), &mut order));
        for range in order {
            let from = values.as_ptr().cast::<u8>().wrapping_add(range.start);
            // SAFETY: the range lies within the values, all bytes of which have been written.
            unsafe { std::ptr::copy_nonoverlapping(from, expected[range.clone()].as_mut_ptr(), range.len()) };
        }
        Self { found: before.clone(), before, expected }
    }
}
