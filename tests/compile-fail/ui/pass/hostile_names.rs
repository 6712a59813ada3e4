//! Where whatever an expansion may name means something else.
#![deny(warnings)]
#![allow(non_upper_case_globals, non_camel_case_types, dead_code)]

use dtype_runtime::{MpiDatatype, layout, pack, unpack_into};

static visitor: u8 = 1;
static packed: u8 = 1;
static field: u8 = 1;
static offset: u8 = 1;
static value: u8 = 1;
static pieces: u8 = 1;
static element: u8 = 1;
const FIELDS: u8 = 1;
const LIST: u8 = 1;
const ORDER: u8 = 1;
const STEPS: u8 = 1;
const LAZY: u8 = 1;

/// Has constants and functions of the names of the trait's.
#[derive(MpiDatatype, Debug, PartialEq)]
#[mpi(order = "memory")]
struct Shadowing {
    tag: u8,
    value: u64,
    level: u16,
}

struct Fake;

impl Fake {
    fn nth(&self, _: usize) -> usize {
        7
    }
}

#[allow(unused)]
impl Shadowing {
    const FIELDS: Fake = Fake;
    const LIST: [u8; 0] = [];
    const ORDER: [usize; 0] = [];
    const FACTS: u8 = 0;
    const RUNS: u8 = 0;
    const RUNTIME: u8 = 0;
    fn visit() {}
    fn lazy() {}
    fn visit_field() {}
}

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum Variants {
    A(),
    C,
    D {},
}

#[allow(unused)]
impl Variants {
    const B: u8 = 200;
    fn is_valid() {}
}

/// Of the name of an associated type of rsmpi's.
#[derive(MpiDatatype, Clone, Copy)]
#[repr(u8)]
enum Direction {
    In,
    Out,
}

/// A macro in the type of a field: the derive does not see its expansion.
macro_rules! own {
    () => {
        Self::N
    };
}

/// With itself, and its own constants, in the types of its fields.
#[derive(MpiDatatype)]
#[repr(C)]
#[mpi(wire = "bytes")]
struct OfItself {
    bytes: [u8; Self::N],
    others: [u8; own!()],
    nothing: std::marker::PhantomData<Self>,
}

impl OfItself {
    const N: usize = 4;
}

#[derive(MpiDatatype)]
#[deprecated]
pub struct Old {
    pub x: f64,
}

#[derive(MpiDatatype)]
pub struct Partly {
    #[deprecated]
    pub x: f64,
    pub y: u8,
}

/// Of a name that expansions give to types of fields.
#[derive(MpiDatatype)]
#[repr(C)]
pub struct __DtypeField0 {
    pub x: u16,
}

macro_rules! hidden {
    () => {
        __DtypeField0
    };
}

#[derive(MpiDatatype)]
#[repr(C)]
pub struct Named {
    pub first: [u64; 2],
    pub second: __DtypeField0,
    pub third: [__DtypeField0; 2],
}

#[derive(MpiDatatype)]
#[repr(C)]
pub struct Hidden {
    pub first: [u64; 2],
    pub second: hidden!(),
}

layout!(type r#match = u8[3] => [..2]);

fn main() {
    assert_eq!(pack(&[Direction::In, Direction::Out]), [0, 1]);
    assert_eq!(pack(&[OfItself { bytes: [7; 4], others: [8; 4], nothing: std::marker::PhantomData }]), [7, 7, 7, 7, 8, 8, 8, 8]);
    assert_eq!(Named::type_map().unwrap().to_string(), "2 × u64 @ 0 stride 8, 3 × u16 @ 16 stride 2");
    assert_eq!(Hidden::type_map().unwrap().to_string(), "2 × u64 @ 0 stride 8, u16 @ 16");
    assert_eq!(r#match.of(&[1, 2, 3]).pack(), [1, 2]);
    let values = [Shadowing { tag: 1, value: 2, level: 3 }];
    let mut copy = [Shadowing { tag: 0, value: 0, level: 0 }];
    unpack_into(&pack(&values), &mut copy).unwrap();
    assert_eq!(copy, values);
    assert_eq!(pack(&values).len(), 11);

    assert_eq!(pack(&[Variants::A(), Variants::C, Variants::D {}]), [0, 1, 2]);
    let mut variants = [Variants::C; 2];
    unpack_into(&[0, 2], &mut variants).unwrap();
    assert_eq!(variants, [Variants::A(), Variants::D {}]);
    assert!(unpack_into(&[0, 3], &mut variants).is_err());
    assert!(unpack_into(&[200, 0], &mut variants).is_err());

    let first = 1;
    let second = 2;
    let n = 3;
    let column = layout!(u8[n][n] => [.., second - first]).unwrap();
    assert_eq!(column.of(&[[1, 2, 3], [4, 5, 6], [7, 8, 9]]).unwrap().pack(), [2, 5, 8]);
    assert_eq!(layout!(Shadowing[1] => [0].value + [0].tag).of(&values).pack().len(), 9);
}
