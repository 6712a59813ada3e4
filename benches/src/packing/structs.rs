//! Slices of structs.

use std::{hint::black_box, ptr};

use dtype_guidelines::way::Way;
use dtype_runtime::{
    FromMessage, MpiDatatype,
    pack::{data_of, data_of_mut},
    pack_into, packed_size,
    types::AnyPattern,
    unpack_into,
};

#[cfg(feature = "mpi")]
use super::Travel;
use super::{Bench, Case, Task, c};

/// A struct, with the body of a loop by hand that packs it.
pub trait Sample: MpiDatatype + FromMessage + AnyPattern + Copy {
    const NAME: &'static str;

    fn new(i: usize) -> Self;

    /// Packs the value by hand.
    ///
    /// # Safety
    /// `packed` is writable for the packed bytes of a value.
    unsafe fn pack(&self, packed: *mut u8);

    /// Unpacks a value by hand.
    ///
    /// # Safety
    /// `packed` is readable for the packed bytes of a value.
    unsafe fn unpack(&mut self, packed: *const u8);

    /// Returns the loops in C for a slice.
    fn c<'a>(memory: *mut Self, count: usize) -> Way<'a>;

    /// Returns messages with the datatype of rsmpi's own derive, or `None` if that is wrong.
    #[cfg(feature = "mpi")]
    fn derived<'a>(memory: *mut Self, count: usize) -> Option<Travel<'a>>;
}

/// Defines `Sample::derived` for a type, with the datatype that rsmpi derives for its twin.
macro_rules! derived {
    ($twin:ty) => {
        #[cfg(feature = "mpi")]
        fn derived<'a>(memory: *mut Self, count: usize) -> Option<Travel<'a>> {
            Some(Travel::of_values(memory.cast::<$twin>(), count))
        }
    };
}

/// Twins of the structs, as a user of rsmpi derives their datatypes. Nothing else of the twins is used.
#[cfg(feature = "mpi")]
#[allow(dead_code, reason = "the fields are there to be described")]
mod twins {
    use mpi::traits::Equivalence;

    #[derive(Equivalence)]
    #[repr(C)]
    pub struct Particle {
        position: [f64; 3],
        velocity: [f64; 3],
        id: u64,
        kind: u32,
    }

    #[derive(Equivalence)]
    #[repr(C)]
    pub struct Mixed {
        flag: u8,
        value: f64,
        level: i16,
        weight: f32,
    }

    #[derive(Equivalence)]
    #[repr(C)]
    pub struct Twelve {
        a: u8,
        b: f64,
        c: i16,
        d: f32,
        e: u8,
        f: u64,
        g: i32,
        h: u8,
        i: f64,
        j: u16,
        k: f32,
        l: u8,
    }

    #[derive(Equivalence)]
    #[repr(C)]
    pub struct Inner {
        tag: u8,
        number: u32,
    }

    #[derive(Equivalence)]
    #[repr(C)]
    pub struct Middle {
        inner: [Inner; 2],
        level: u16,
    }

    #[derive(Equivalence)]
    #[repr(C)]
    pub struct Outer {
        value: f64,
        middle: Middle,
        last: u8,
    }
}

/// Defines the bodies that copy these fields one after the other.
macro_rules! by_hand {
    ($([$($field:tt)*])*) => {
        #[inline(always)]
        unsafe fn pack(&self, packed: *mut u8) {
            let mut at = 0;
            $(
                let value = self.$($field)*;
                unsafe { ptr::write_unaligned(packed.add(at).cast(), value) };
                at += size_of_val(&value);
            )*
            let _ = at;
        }
        #[inline(always)]
        unsafe fn unpack(&mut self, packed: *const u8) {
            let mut at = 0;
            $(
                self.$($field)* = unsafe { ptr::read_unaligned(packed.add(at).cast()) };
                at += size_of_val(&self.$($field)*);
            )*
            let _ = at;
        }
    };
}

/// A struct of 60 packed bytes in 64 bytes.
#[derive(MpiDatatype, Clone, Copy)]
#[repr(C)]
struct Particle {
    position: [f64; 3],
    velocity: [f64; 3],
    id: u64,
    kind: u32,
}

impl Sample for Particle {
    const NAME: &'static str = "particle-60-of-64";
    fn new(i: usize) -> Self {
        Self { position: [i as f64; 3], velocity: [0.5; 3], id: i as u64, kind: 3 }
    }
    #[inline(always)]
    unsafe fn pack(&self, packed: *mut u8) {
        unsafe { ptr::copy_nonoverlapping(ptr::from_ref(self).cast(), packed, 60) };
    }
    #[inline(always)]
    unsafe fn unpack(&mut self, packed: *const u8) {
        unsafe { ptr::copy_nonoverlapping(packed, ptr::from_mut(self).cast(), 60) };
    }
    fn c<'a>(memory: *mut Self, count: usize) -> Way<'a> {
        c::particle(memory, count)
    }
    derived!(twins::Particle);
}

#[derive(MpiDatatype, Clone, Copy)]
#[repr(C)]
pub struct Mixed {
    flag: u8,
    value: f64,
    level: i16,
    weight: f32,
}

impl Sample for Mixed {
    const NAME: &'static str = "struct-u8-f64-i16-f32";
    fn new(i: usize) -> Self {
        Self { flag: i as u8, value: i as f64, level: i as i16, weight: 0.5 }
    }
    by_hand! { [flag] [value] [level] [weight] }
    fn c<'a>(memory: *mut Self, count: usize) -> Way<'a> {
        c::mixed(memory, count)
    }
    derived!(twins::Mixed);
}

#[derive(MpiDatatype, Clone, Copy)]
#[repr(C)]
struct Twelve {
    a: u8,
    b: f64,
    c: i16,
    d: f32,
    e: u8,
    f: u64,
    g: i32,
    h: u8,
    i: f64,
    j: u16,
    k: f32,
    l: u8,
}

impl Sample for Twelve {
    const NAME: &'static str = "struct-of-12";
    fn new(n: usize) -> Self {
        let (a, e, h, l) = (n as u8, 1, 2, 3);
        let (b, i, d, k) = (n as f64, 0.5, 1.5, n as f32);
        Self { a, b, c: n as i16, d, e, f: n as u64, g: 7, h, i, j: n as u16, k, l }
    }
    by_hand! { [a] [b] [c] [d] [e] [f] [g] [h] [i] [j] [k] [l] }
    fn c<'a>(memory: *mut Self, count: usize) -> Way<'a> {
        c::twelve(memory, count)
    }
    derived!(twins::Twelve);
}

#[derive(MpiDatatype, Clone, Copy)]
#[repr(C, packed)]
struct Packed {
    a: u8,
    b: f64,
    c: i16,
    d: f32,
}

impl Sample for Packed {
    const NAME: &'static str = "struct-packed";
    fn new(i: usize) -> Self {
        Self { a: i as u8, b: i as f64, c: i as i16, d: 0.5 }
    }
    #[inline(always)]
    unsafe fn pack(&self, packed: *mut u8) {
        unsafe { packed.cast::<Self>().write_unaligned(*self) };
    }
    #[inline(always)]
    unsafe fn unpack(&mut self, packed: *const u8) {
        unsafe { *self = packed.cast::<Self>().read_unaligned() };
    }
    fn c<'a>(memory: *mut Self, count: usize) -> Way<'a> {
        c::packed(memory, count)
    }
    /// Returns nothing, because rsmpi gives a packed struct a wrong extent.
    #[cfg(feature = "mpi")]
    fn derived<'a>(_: *mut Self, _: usize) -> Option<Travel<'a>> {
        None
    }
}

#[derive(MpiDatatype, Clone, Copy)]
#[repr(C)]
struct Inner {
    tag: u8,
    number: u32,
}

#[derive(MpiDatatype, Clone, Copy)]
#[repr(C)]
struct Middle {
    inner: [Inner; 2],
    level: u16,
}

/// A struct nested three deep.
#[derive(MpiDatatype, Clone, Copy)]
#[repr(C)]
struct Outer {
    value: f64,
    middle: Middle,
    last: u8,
}

impl Sample for Outer {
    const NAME: &'static str = "struct-nested";
    fn new(i: usize) -> Self {
        let inner = [Inner { tag: 1, number: i as u32 }, Inner { tag: i as u8, number: 7 }];
        Self { value: i as f64, middle: Middle { inner, level: i as u16 }, last: 9 }
    }
    by_hand! {
        [value] [middle.inner[0].tag] [middle.inner[0].number] [middle.inner[1].tag] [middle.inner[1].number]
        [middle.level] [last]
    }
    fn c<'a>(memory: *mut Self, count: usize) -> Way<'a> {
        c::nested(memory, count)
    }
    derived!(twins::Outer);
}

pub fn run(bench: &dyn Bench) {
    measure::<Particle>(bench);
    measure::<Mixed>(bench);
    measure::<Twelve>(bench);
    measure::<Packed>(bench);
    measure::<Outer>(bench);
}

fn measure<T: Sample>(bench: &dyn Bench) {
    let sizes = [400, 10_000, 2_000_000].map(|count| (count, Task::Pack));
    let others = [64, 4 << 10, 64 << 10, 256 << 10, 16 << 20]
        .map(|bytes: usize| (bytes / packed_size::<T>(1), Task::Pingpong));
    for (count, task) in sizes.into_iter().chain(others) {
        let count = count.max(1);
        let name = format!("{}/{count}", T::NAME);
        if !bench.wants(&name, task, count == 10_000 || task == Task::Pingpong) {
            continue;
        }
        let mut values: Vec<T> = (0..count).map(T::new).collect();
        let memory = values.as_mut_ptr();
        let (read, write) = unsafe {
            (
                move || std::slice::from_raw_parts(black_box(memory), count),
                move || std::slice::from_raw_parts_mut(black_box(memory), count),
            )
        };
        let size = packed_size::<T>(1);
        let hand = Way::new(
            move |packed| unsafe {
                let packed = packed.as_mut_ptr();
                read().iter().enumerate().for_each(|(i, value)| value.pack(packed.add(i * size)));
            },
            move |packed| unsafe {
                let packed = packed.as_ptr();
                write().iter_mut().enumerate().for_each(|(i, value)| value.unpack(packed.add(i * size)));
            },
        );
        let generated = Way::new(
            move |packed| drop(pack_into(read(), packed)),
            move |packed| drop(unpack_into(packed, write())),
        );
        let plan = Way::new(
            move |packed| drop(data_of(read()).pack_into(packed)),
            move |packed| drop(data_of_mut(write()).unpack(packed)),
        );
        let ways = vec![
            ("hand", hand),
            ("c", T::c(memory, count)),
            ("generated", generated),
            ("plan", plan),
            #[cfg(feature = "mpi")]
            ("mpi_pack", super::mpi::way(T::buffer(read()), size * count)),
        ];
        #[cfg(feature = "mpi")]
        let travels = {
            let mut all = Travel::on_all_wires(read, write, true);
            all.push(Travel::least_cost(move || T::buffer(read()), move || T::buffer_mut(write())));
            all.extend(T::derived(memory, count).map(|typed| ("typed", typed)));
            all.push(("bytes", Travel::of_values(memory.cast::<u8>(), count * size_of::<T>())));
            all
        };
        #[cfg(not(feature = "mpi"))]
        let travels = Vec::new();
        bench.measure(&Case { name, size: size * count, ways, travels });
    }
}
