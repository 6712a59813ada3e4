//! Types of every form that the derive accepts. Each has values that differ in every field.

use std::{
    fmt::Debug,
    marker::PhantomData,
    num::{NonZero, Wrapping},
};

use dtype_runtime::{FromMessage, MpiDatatype, layout::LayoutOrigin};
use mpi::traits::Equivalence;

/// A type with values to send.
pub trait Sample: MpiDatatype + FromMessage + Equivalence + Copy + PartialEq + Debug + Send {
    /// The tier that must have solved the layout.
    const ORIGIN: LayoutOrigin;

    /// Returns a value in which every field depends on `i`.
    fn sample(i: usize) -> Self;
}

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Particle {
    pub position: [f64; 3],
    pub velocity: [f64; 3],
    pub id: u64,
    pub kind: u8,
}

/// A packed struct. rsmpi's own derive gives it an extent of 16.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C, packed)]
pub struct Packed {
    pub tag: u8,
    pub value: f64,
}

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C, packed(2))]
pub struct PackedTwo {
    pub tag: u8,
    pub value: f64,
    pub last: u32,
}

/// A struct whose layout the macro assumes wrongly: the compiler reorders the fields, so the next tier solves
/// it.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(Rust, packed(2))]
pub struct Reordered {
    pub tag: u8,
    pub value: f64,
}

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(Rust, packed)]
pub struct RustPacked {
    pub tag: u8,
    pub value: f64,
}

/// An aligned struct. rsmpi's own derive gives it an extent of 16.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Aligned {
    pub tag: u8,
    pub value: f64,
}

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C, align(16))]
pub struct Wide(pub f64);

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C, align(32))]
pub struct Wider(pub [Wide; 4]);

/// A struct whose numbers 16 bytes apart become buckets of a resized datatype. The resized bounds count for
/// the whole datatype in Open MPI, but not in MPICH.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Marked {
    pub few: [Wide; 5],
    pub more: Wider,
    pub last: [i64; 4],
}

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub struct Meters(pub f64);

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Pair(pub u16, pub [[f32; 3]; 2]);

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Tuples {
    pub first: (u8, f64, u16),
    pub flags: [(bool, [u8; 16]); 2],
    pub arrays: (u64, [u8; 32], u8),
    pub niches: (u8, bool, u16, [bool; 4]),
    pub nested: (u8, ([u8; 4], u16), u32),
    pub last: (i8,),
    pub nothing: (),
}

/// Base types of all kinds, in an order that the compiler changes.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
pub struct Loose {
    pub a: u8,
    pub b: f64,
    pub c: u16,
    pub d: bool,
    pub e: i64,
    pub f: f32,
    pub g: i8,
    pub h: u32,
    pub i: i16,
    pub j: i32,
    pub k: u64,
    pub l: usize,
    pub m: isize,
}

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Nested {
    pub flag: bool,
    pub particles: [Particle; 2],
    pub loose: Loose,
    pub packed: Packed,
    pub tuple: (u8, Meters),
}

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
pub struct Generic<T, const N: usize> {
    pub count: u8,
    pub items: [T; N],
}

/// A restricted type. All ranks run this program, and so send only valid values.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[mpi(unsafe_equivalence)]
#[repr(i16)]
pub enum Phase {
    Solid = -5,
    Liquid,
    Gas = 300,
}

/// Restricted types, and types that wrap another type.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[mpi(unsafe_equivalence)]
pub struct Restricted {
    pub phase: Phase,
    pub letter: char,
    pub count: NonZero<u64>,
    pub wrapping: Wrapping<i32>,
    pub nothing: PhantomData<String>,
    pub phases: [Phase; 3],
}

/// A struct whose fields the compiler reorders; they travel in the order in memory.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[mpi(order = "memory")]
pub struct InMemory {
    pub small: u8,
    pub large: f64,
    pub middle: u16,
}

/// A struct that travels as one block, including padding.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
#[mpi(wire = "bytes")]
pub struct Block {
    pub tag: u8,
    pub value: f64,
}

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
#[mpi(cost = "processing")]
pub struct Processed {
    pub pairs: [(f64, u8); 4],
    pub last: [f64; 3],
}

/// A struct with more entries than the solver searches one by one.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Large {
    pub rows: [[f64; 40]; 30],
    pub names: [[u8; 24]; 30],
    pub count: u16,
}

/// A struct without data. Its values are all equal, so the type is no sample.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
pub struct Nothing {
    pub unit: (),
    pub none: [u64; 0],
}

/// A struct whose field names a type that hides `f64`, with the same size and alignment. The macro assumes
/// the primitive type, and its assumption fails.
pub mod shadowed {
    use dtype_runtime::MpiDatatype;

    #[allow(non_camel_case_types)]
    pub type f64 = i64;

    #[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    pub struct Shadowed {
        pub number: f64,
    }
}

macro_rules! samples {
    ($($type:ty: $origin:ident, |$i:ident| $value:expr;)*) => {
        $(impl Sample for $type {
            const ORIGIN: LayoutOrigin = LayoutOrigin::$origin;
            fn sample($i: usize) -> Self {
                $value
            }
        })*

        /// Calls the visitor with every sample type.
        pub fn for_each_sample(visitor: &mut impl Visit) {
            $(visitor.visit::<$type>();)*
        }
    };
}

/// An action on every sample type.
pub trait Visit {
    fn visit<T: Sample>(&mut self);
}

samples! {
    Particle: Expansion, |i| Particle {
        position: [i as f64, 0.5, -1.25],
        velocity: [1e300, i as f64 / 3.0, -0.0],
        id: u64::MAX - i as u64,
        kind: i as u8,
    };
    Packed: Expansion, |i| Packed { tag: i as u8, value: i as f64 / 7.0 };
    PackedTwo: Expansion, |i| PackedTwo { tag: i as u8, value: i as f64 / 7.0, last: !(i as u32) };
    Reordered: ConstantEvaluation, |i| Reordered { tag: i as u8, value: i as f64 / 7.0 };
    RustPacked: Expansion, |i| RustPacked { tag: i as u8, value: i as f64 / 7.0 };
    Aligned: Expansion, |i| Aligned { tag: i as u8, value: i as f64 / 7.0 };
    Marked: ConstantEvaluation, |i| Marked {
        few: [0, 1, 2, 3, 4].map(|k| Wide((i + k) as f64)),
        more: Wider([Wide(0.5), Wide(-(i as f64)), Wide(1e-300), Wide(0.0)]),
        last: [1, 2, 3, i as i64],
    };
    Meters: Expansion, |i| Meters(i as f64 * 1.5);
    Pair: Expansion, |i| Pair(i as u16, [[i as f32, 1.0, 2.0], [3.0, 4.0, -(i as f32)]]);
    Tuples: Expansion, |i| Tuples {
        first: (i as u8, i as f64, !(i as u16)),
        flags: [(i % 2 == 0, [i as u8; 16]), (i % 3 == 0, [!(i as u8); 16])],
        arrays: (i as u64, [i as u8 ^ 0x55; 32], 9),
        niches: (i as u8, i % 2 == 1, 7, [true, false, i % 2 == 0, true]),
        nested: (1, ([2; 4], i as u16), 3),
        last: (-(i as i8 & 0x7f),),
        nothing: (),
    };
    Loose: ConstantEvaluation, |i| Loose {
        a: i as u8, b: i as f64, c: i as u16, d: i % 2 == 1, e: -(i as i64), f: i as f32, g: i as i8,
        h: i as u32,
        i: -(i as i16), j: -(i as i32), k: i as u64, l: i, m: -(i as isize),
    };
    Nested: ConstantEvaluation, |i| Nested {
        flag: i % 2 == 0,
        particles: [Particle::sample(i), Particle::sample(i + 1)],
        loose: Loose::sample(i + 2),
        packed: Packed::sample(i + 3),
        tuple: (i as u8, Meters(i as f64)),
    };
    Generic<Loose, 3>: ConstantEvaluation, |i| {
        Generic { count: i as u8, items: [0, 1, 2].map(|k| Loose::sample(i + k)) }
    };
    // This type has more runs than constant evaluation handles.
    Generic<Loose, 12>: RunTime, |i| Generic { count: i as u8, items: [(); 12].map(|()| Loose::sample(i)) };
    Generic<f32, 5>: ConstantEvaluation, |i| {
        Generic { count: i as u8, items: [i as f32, 1.0, 2.0, 3.0, 4.0] }
    };
    Large: Expansion, |i| Large { rows: [[i as f64; 40]; 30], names: [[i as u8; 24]; 30], count: i as u16 };
    Phase: ConstantEvaluation, |i| [Phase::Solid, Phase::Liquid, Phase::Gas][i % 3];
    Restricted: ConstantEvaluation, |i| Restricted {
        phase: Phase::sample(i),
        letter: char::from_u32(0x1F600 + i as u32).unwrap(),
        count: NonZero::new(i as u64 + 1).unwrap(),
        wrapping: Wrapping(-(i as i32)),
        nothing: PhantomData,
        phases: [0, 1, 2].map(|k| Phase::sample(i + k)),
    };
    InMemory: ConstantEvaluation, |i| InMemory { small: i as u8, large: i as f64 / 3.0, middle: !(i as u16) };
    Block: ConstantEvaluation, |i| Block { tag: i as u8, value: i as f64 * 0.1 };
    Processed: Expansion, |i| Processed { pairs: [(i as f64, i as u8); 4], last: [1.0, 2.0, i as f64] };
    shadowed::Shadowed: ConstantEvaluation, |i| shadowed::Shadowed { number: i as i64 };
}
