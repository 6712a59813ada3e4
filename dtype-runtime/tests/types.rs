//! The types and attributes of the derive: the fields that are sent, their order, and the checks.

use std::{
    marker::PhantomData,
    num::{NonZero, Wrapping},
};

use dtype_core::{NodeCosts, Optimality};
use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{Error, MpiDatatype, layout::LayoutOrigin, pack, unpack_into};

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(u16)]
enum Kind {
    Gas = 1,
    Liquid = 1000,
    Solid,
}

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Restricted {
    kind: Kind,
    letter: char,
    count: NonZero<u32>,
    wrapping: Wrapping<i64>,
    nothing: PhantomData<fn(String)>,
    flags: [bool; 2],
}

const VALUE: Restricted = Restricted {
    kind: Kind::Solid,
    letter: 'ß',
    count: NonZero::<u32>::MAX,
    wrapping: Wrapping(-1),
    nothing: PhantomData,
    flags: [true, false],
};

#[test]
fn restricted_types_travel_as_integers_and_are_checked_on_arrival() {
    assert_eq!(
        Restricted::type_map().unwrap().to_string(),
        "u16 @ 0, 2 × u32 @ 4 stride 4, i64 @ 16, 2 × bool @ 24 stride 1"
    );
    let bytes = pack(&[VALUE; 2]);
    let mut copies = [Restricted { kind: Kind::Gas, ..VALUE }; 2];
    unpack_into(&bytes, &mut copies).unwrap();
    assert_eq!(copies, [VALUE; 2]);

    let cases: [(&str, usize, &[u8]); 4] = [
        ("types::Kind", 20, &999u16.to_ne_bytes()),
        ("char", 22, &0xd800u32.to_ne_bytes()),
        ("core::num::nonzero::NonZero<u32>", 26, &[0; 4]),
        ("bool", 39, &[2]),
    ];
    for (what, offset, invalid) in cases {
        let mut damaged = bytes.clone();
        damaged[offset..offset + invalid.len()].copy_from_slice(invalid);
        let error = unpack_into(&damaged, &mut copies).unwrap_err();
        let found = invalid.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        assert_eq!(
            error,
            Error::Pack(PackError::InvalidValue { what, offset, found }),
            "on a little-endian machine"
        );
        assert_eq!(copies, [VALUE; 2], "nothing is written");
    }
    assert_eq!(Restricted::validate_slice(&[VALUE; 3]), Ok(()));
    assert_eq!(f64::validate_slice(&[f64::NAN]), Ok(()));
}

#[test]
fn values_that_mpi_has_received_can_be_validated() {
    let memory = [1u8, 0, 7, 1];
    // SAFETY: `u8` has the size and alignment of `bool`; the values are looked at as bytes, never read as
    // `bool`.
    let flags = unsafe { std::slice::from_raw_parts(memory.as_ptr().cast::<bool>(), memory.len()) };
    let error = Error::Pack(PackError::InvalidValue { what: "bool", offset: 2, found: 7 });
    assert_eq!(bool::validate_slice(flags), Err(error));
    assert_eq!(bool::validate_slice(&flags[..2]), Ok(()));
}

#[derive(MpiDatatype, Clone, Copy)]
#[repr(C, packed(2))]
struct Close {
    byte: u8,
    flag: bool,
    number: u32,
    kind: Kind,
    count: NonZero<u16>,
}

#[derive(MpiDatatype, Clone, Copy)]
#[mpi(order = "memory")]
struct Nested {
    byte: u8,
    pair: (bool, u32),
    close: [Close; 3],
    none: [bool; 0],
    short: u16,
    letter: char,
    wide: [[f64; 2]; 2],
}

/// The first invalid value is the same in memory and in the packed bytes, and so is its offset.
#[test]
fn values_in_memory_are_checked_as_their_packed_bytes_are() {
    const COUNT: usize = 3;
    let valid = Close { byte: 0, flag: true, number: 0, kind: Kind::Gas, count: NonZero::<u16>::MIN };
    let start = Nested {
        byte: 0,
        pair: (true, 9),
        close: [valid; 3],
        none: [],
        short: 0,
        letter: 'a',
        wide: [[0.5; 2]; 2],
    };
    let mut compared = 0;
    for byte in 0..size_of::<[Nested; COUNT]>() {
        for value in [0, 1, 2, 0x80, 0xff] {
            let mut memory = [std::mem::MaybeUninit::new(start); COUNT];
            // SAFETY: the byte is one of the array's. Afterwards, the values are looked at as bytes, never
            // read as `Nested`.
            let values = unsafe {
                memory.as_mut_ptr().cast::<u8>().add(byte).write(value);
                std::slice::from_raw_parts(memory.as_ptr().cast::<Nested>(), COUNT)
            };
            let (packed, mut copies) = (pack(values), [start; COUNT]);
            assert_eq!(
                Nested::validate_slice(values),
                unpack_into(&packed, &mut copies),
                "{byte} is {value}"
            );
            compared += usize::from(Nested::validate_slice(values).is_err());
        }
    }
    assert!(compared > 100, "{compared} of them were invalid");
}

#[test]
fn skipped_fields_stay_at_home() {
    #[derive(MpiDatatype, Clone, Debug, PartialEq)]
    #[repr(C)]
    struct Node {
        value: f64,
        #[mpi(skip)]
        neighbours: Vec<usize>,
        level: u8,
        #[mpi(skip)]
        cache: u32,
    }

    assert_eq!(Node::type_map().unwrap().to_string(), "f64 @ 0, u8 @ 32");
    assert_eq!(Node::constructor_calls().to_string().matches("resized").count(), 1);
    let node =
        |i: u8| Node { value: i.into(), neighbours: vec![i.into(); 3], level: i, cache: 100 + u32::from(i) };
    let mut nodes = [node(1), node(2)];
    unpack_into(&pack(&[node(7), node(8)]), &mut nodes).unwrap();
    assert_eq!(nodes[0], Node { value: 7.0, level: 7, ..node(1) });
    assert_eq!(nodes[1], Node { value: 8.0, level: 8, ..node(2) });
}

#[test]
fn the_order_of_travel_is_a_choice() {
    macro_rules! loose {
        ($name:ident, $order:literal) => {
            #[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
            #[mpi(order = $order)]
            struct $name {
                small: u8,
                large: u64,
                nothing: (),
                middle: u16,
            }
        };
    }
    loose!(Declared, "declared");
    loose!(InMemory, "memory");
    let bytes =
        |small, large: u64, middle: u16| [&[small][..], &large.to_ne_bytes(), &middle.to_ne_bytes()].concat();
    assert_eq!(pack(&[Declared { small: 1, large: 2, nothing: (), middle: 3 }]), bytes(1, 2, 3));

    let value = InMemory { small: 1, large: 2, nothing: (), middle: 3 };
    let offsets = InMemory::tree().flatten().unwrap().displacements().to_vec();
    assert!(offsets.is_sorted(), "{offsets:?}");
    let mut copy = InMemory::default();
    unpack_into(&pack(&[value]), std::slice::from_mut(&mut copy)).unwrap();
    assert_eq!(copy, value);
    assert!(InMemory::cost() <= Declared::cost());
}

#[test]
fn the_bytes_wire_is_one_contiguous_block() {
    #[derive(MpiDatatype, Clone, Copy)]
    #[repr(C)]
    #[mpi(wire = "bytes")]
    struct Block {
        tag: u8,
        value: f64,
        kind: Kind,
    }

    #[derive(MpiDatatype)]
    #[repr(C)]
    struct Outer<T> {
        first: u16,
        blocks: [T; 3],
    }

    assert_eq!(Block::type_map().unwrap().to_string(), "24 × byte @ 0 stride 1");
    assert_eq!((Block::cost(), Block::constructor_calls().calls()), (8, 1));
    assert_eq!(
        pack(&[Block { tag: 1, value: 2.0, kind: Kind::Gas }]).len(),
        11,
        "packing is always by field"
    );
    assert_eq!(Outer::<Block>::type_map().unwrap().to_string(), "u16 @ 0, 72 × byte @ 8 stride 1");
    assert_eq!(Outer::<Block>::layout_origin(), LayoutOrigin::ConstantEvaluation);
}

#[test]
fn the_cost_model_is_a_choice() {
    macro_rules! costed {
        ($($name:ident: $cost:literal,)*) => {$(
            #[derive(MpiDatatype)]
            #[repr(C)]
            #[mpi(cost = $cost)]
            struct $name {
                pairs: [(f64, u8); 4],
                last: [f64; 3],
            }
        )*};
    }
    costed! { Storage: "storage", Processing: "processing", Penalty: "penalty", File: "tests/costs.json", }
    let tree = Storage::tree();
    assert_eq!(tree.cost(&NodeCosts::default()), Storage::cost());
    assert_eq!(Processing::tree().cost(&NodeCosts::processing()), Processing::cost());
    assert!(Processing::cost() <= tree.cost(&NodeCosts::processing()));
    let dear = NodeCosts { vec: 50, idx: 2, ..NodeCosts::default() };
    assert_eq!(File::tree().cost(&dear), File::cost());
    assert_eq!((Penalty::optimality(), File::optimality()), (Optimality::Proven, Optimality::Proven));
    assert_ne!(File::tree(), tree);
}

#[test]
fn bounds_are_inferred_from_what_travels() {
    /// A type that MPI cannot transfer.
    struct Marker;

    #[derive(MpiDatatype)]
    #[expect(dead_code, reason = "the local field is only there to be skipped")]
    struct Tagged<T, M> {
        value: T,
        marker: PhantomData<M>,
        #[mpi(skip)]
        local: Option<Box<M>>,
    }

    trait Scalar {
        type Number: MpiDatatype;
    }
    impl Scalar for Marker {
        type Number = f32;
    }

    #[derive(MpiDatatype)]
    #[mpi(bound = "S: Scalar + 'static")]
    struct Associated<S: Scalar> {
        numbers: [S::Number; 2],
    }

    assert_eq!(
        pack(&[Tagged::<u16, Marker> { value: 5, marker: PhantomData, local: None }]),
        5u16.to_ne_bytes()
    );
    assert_eq!(Associated::<Marker>::type_map().unwrap().to_string(), "2 × f32 @ 0 stride 4");
    assert_eq!(pack(&[Associated::<Marker> { numbers: [0.0; 2] }]).len(), 8);
}

#[test]
fn lengths_may_be_constants_of_any_kind() {
    trait Dimensions {
        const CELLS: usize;
    }
    struct Grid;
    impl Dimensions for Grid {
        const CELLS: usize = 3;
    }
    const ROWS: usize = 2 * <Grid as Dimensions>::CELLS;

    #[derive(MpiDatatype)]
    #[repr(C)]
    struct Block<const N: usize> {
        rows: [[f64; <Grid as Dimensions>::CELLS]; ROWS],
        more: [u8; N],
    }

    assert_eq!(Block::<5>::type_map().unwrap().to_string(), "18 × f64 @ 0 stride 8, 5 × u8 @ 144 stride 1");
    assert_eq!(Block::<5>::layout_origin(), LayoutOrigin::ConstantEvaluation);
    assert_eq!(Block::<0>::type_map().unwrap().to_string(), "18 × f64 @ 0 stride 8");
}

#[cfg(feature = "num-complex")]
#[test]
fn complex_numbers_are_base_types() {
    use num_complex::Complex;
    assert_eq!(<[Complex<f64>; 3]>::type_map().unwrap().to_string(), "3 × c64 @ 0 stride 16");
    assert_eq!(pack(&[(1u8, Complex::new(1f32, -1.0))]).len(), 9);
}

#[cfg(feature = "half")]
#[test]
fn short_floats_travel_as_their_bits() {
    assert_eq!(<(half::f16, half::bf16)>::type_map().unwrap().to_string(), "2 × u16 @ 0 stride 2");
}

#[cfg(feature = "nalgebra")]
#[test]
fn matrices_of_fixed_size_are_columns() {
    use nalgebra::{Matrix2x3, Vector3};
    assert_eq!(Vector3::<f32>::type_map().unwrap().to_string(), "3 × f32 @ 0 stride 4");
    let matrix = Matrix2x3::new(1u8, 2, 3, 4, 5, 6);
    assert_eq!(pack(&[matrix]), [1, 4, 2, 5, 3, 6]);
    let mut copy = Matrix2x3::zeros();
    unpack_into(&pack(&[matrix]), std::slice::from_mut(&mut copy)).unwrap();
    assert_eq!(copy, matrix);
}
