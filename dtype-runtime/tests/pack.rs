//! Packing and unpacking without MPI: rejected input, untouched memory, and equal results at all stages.

use dtype_core::{Bounds, NodeCosts, Optimality, Program, Shape, reconstruct};
use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{
    Error, MpiDatatype, layout, layout::LayoutOrigin, pack, pack_into, packed_size, unpack_into,
};
use proptest::prelude::*;

#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Flags {
    id: u32,
    set: [(bool, u16); 3],
    last: bool,
}

#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
struct Outer {
    before: u8,
    flags: [Flags; 2],
    value: f64,
}

fn outer() -> impl Strategy<Value = Outer> {
    let flags = (any::<u32>(), any::<[(bool, u16); 3]>(), any::<bool>()).prop_map(|(id, set, last)| Flags {
        id,
        set,
        last,
    });
    (any::<u8>(), [flags.clone(), flags], any::<i32>()).prop_map(|(before, flags, value)| Outer {
        before,
        flags,
        value: f64::from(value),
    })
}

/// Returns the packed bytes of a value, field by field.
fn by_hand(outer: &Outer) -> Vec<u8> {
    let mut bytes = vec![outer.before];
    for flags in &outer.flags {
        bytes.extend(flags.id.to_ne_bytes());
        for (flag, number) in flags.set {
            bytes.push(flag.into());
            bytes.extend(number.to_ne_bytes());
        }
        bytes.push(flags.last.into());
    }
    bytes.extend(outer.value.to_ne_bytes());
    bytes
}

proptest! {
    #[test]
    fn packing_gives_the_fields_in_order_and_unpacking_gives_them_back(
        values in proptest::collection::vec(outer(), 0..9)
    ) {
        let packed = pack(&values);
        prop_assert_eq!(&packed, &values.iter().flat_map(by_hand).collect::<Vec<_>>());
        prop_assert_eq!(packed.len(), packed_size::<Outer>(values.len()));
        let mut copies = vec![Outer::default(); values.len()];
        unpack_into(&packed, &mut copies).unwrap();
        prop_assert_eq!(copies, values);
    }

    /// Unpacking any bytes gives the value that they represent, or an error. After an error, nothing is
    /// written.
    #[test]
    fn hostile_bytes_never_make_an_invalid_value(bytes in proptest::collection::vec(0u8..4, 37)) {
        let mut target = [Outer::default()];
        prop_assert_eq!(bytes.len(), packed_size::<Outer>(1));
        let flags = [5, 8, 11, 14, 19, 22, 25, 28];
        let invalid = flags.into_iter().find(|at| bytes[*at] > 1);
        match unpack_into(&bytes, &mut target) {
            Ok(()) => {
                prop_assert_eq!(invalid, None);
                prop_assert_eq!(by_hand(&target[0]), bytes);
            }
            Err(error) => {
                let offset = invalid.expect("a byte that is no bool");
                let found = bytes[offset].into();
                prop_assert_eq!(error, Error::Pack(PackError::InvalidValue { what: "bool", offset, found }));
                prop_assert_eq!(target, [Outer::default()]);
            }
        }
    }
}

#[test]
fn buffers_of_the_wrong_length_are_refused_by_name() {
    let values = [Flags::default(); 2];
    let size = packed_size::<Flags>(2);
    let mut short = vec![7; size - 1];
    let error = pack_into(&values, &mut short).unwrap_err();
    assert!(error.to_string().contains("Flags takes 28 packed bytes, but the buffer has 27"), "{error}");
    assert_eq!(short, vec![7; size - 1]);
    let mut long = vec![7; size + 2];
    assert_eq!(pack_into(&values, &mut long), Ok(size));
    assert_eq!(long[size..], [7, 7]);
    // More bytes than the values need are an error.
    assert!(matches!(
        unpack_into(&long, &mut values.clone()),
        Err(Error::Pack(PackError::Length { expected: 28, found: 30, .. }))
    ));

    let column = layout!(u16[4][4] => [.., 1]);
    let mut matrix = [[1; 4]; 4];
    assert!(matches!(
        column.of(&matrix).pack_into(&mut [0; 7]),
        Err(Error::Pack(PackError::Length { expected: 8, found: 7, .. }))
    ));
    assert!(matches!(
        column.of_mut(&mut matrix).unpack(&[0; 9]),
        Err(Error::Pack(PackError::Length { expected: 8, found: 9, .. }))
    ));
    assert_eq!(matrix, [[1; 4]; 4]);
}

#[test]
fn layouts_of_flags_are_checked_too() {
    let mut board = [[false; 3]; 3];
    let column = layout!(bool[3][3] => [.., 0]);
    let error = column.of_mut(&mut board).unpack(&[1, 1, 9]).unwrap_err();
    assert_eq!(error, Error::Pack(PackError::InvalidValue { what: "bool", offset: 2, found: 9 }));
    assert_eq!(board, [[false; 3]; 3]);
    column.of_mut(&mut board).unpack(&[1, 0, 1]).unwrap();
    assert_eq!(board, [[true, false, false], [false; 3], [true, false, false]]);
}

#[test]
fn values_without_data_pack_to_nothing_however_many() {
    #[derive(MpiDatatype, Clone, Copy)]
    struct Nothing;

    /// Has too many runs for constant evaluation.
    #[derive(MpiDatatype, Clone, Copy)]
    struct Many {
        pairs: [(u8, f32); 40],
        nothing: [[f64; 0]; usize::MAX],
    }

    assert_eq!(pack(&[Nothing; 5]), []);
    assert_eq!(pack(&[[(); usize::MAX]; 2]), []);
    assert_eq!(<[(); usize::MAX]>::type_map().unwrap().to_string(), "(empty)");
    assert_eq!(<[Nothing; usize::MAX]>::cost(), 5);
    assert_eq!(Many::cost(), <[(u8, f32); 40]>::cost());
    assert_eq!(packed_size::<f64>(usize::MAX), usize::MAX);
}

#[test]
fn arrays_of_any_size_cost_nothing() {
    assert_eq!(<[[f64; 1000]; 1000]>::cost(), 8);
    assert_eq!(<[[f64; 1000]; 1000]>::type_map().unwrap().to_string(), "1000000 × f64 @ 0 stride 8");
    assert_eq!(<[[[u8; 1 << 10]; 1 << 10]; 1 << 10]>::constructor_calls().calls(), 1);
}

/// Solves one struct at three stages: in the macro, in a constant (as the macro cannot resolve the type
/// alias), and from its type map in this test.
#[test]
fn the_tiers_agree() {
    type Number = f64;

    macro_rules! structs {
        ($($name:ident: $number:ty,)*) => {$(
            #[derive(MpiDatatype)]
            #[repr(C)]
            struct $name {
                a: [u8; 7],
                b: ($number, bool),
                c: [[i16; 3]; 2],
                d: [$number; 500],
                e: u8,
            }
        )*};
    }
    structs! { Seen: f64, Named: Number, }
    assert_eq!(Seen::layout_origin(), LayoutOrigin::Expansion);
    assert_eq!(Named::layout_origin(), LayoutOrigin::ConstantEvaluation);
    assert_eq!(Outer::layout_origin(), LayoutOrigin::ConstantEvaluation);
    let map = Seen::tree().flatten().unwrap();
    let solution = reconstruct(&map, Shape::Tree, &NodeCosts::default()).unwrap();
    assert_eq!((Seen::cost(), Seen::tree()), (solution.cost, &solution.tree));
    assert_eq!((Named::cost(), Named::tree()), (solution.cost, &solution.tree));
    assert_eq!((Seen::optimality(), Named::optimality()), (Optimality::Proven, Optimality::Proven));
    let program = Program::lower(&solution.tree, Some(Bounds::of_extent(size_of::<Seen>() as i64))).unwrap();
    assert_eq!(Seen::constructor_calls(), &program);
    assert_eq!(Named::constructor_calls(), &program);
}

#[test]
fn values_without_size_are_looked_at_in_no_time() {
    let all = [[' '; 0]; usize::MAX];
    <[char; 0]>::validate_slice(&all[..]).unwrap();
    <[bool; 0]>::validate_slice(&[[true; 0]; 1 << 40]).unwrap();
}

/// Up to 16 fields in memory order are packed by generated code, more fields by a plan.
#[test]
fn fields_in_the_order_of_memory_are_packed_in_it_however_many() {
    macro_rules! check {
        ($name:ident: $($field:ident: $type:ty),*) => {{
            #[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
            #[mpi(order = "memory")]
            struct $name {
                $($field: $type),*
            }
            let mut next = 0;
            let values = [(); 20].map(|()| $name { $($field: { next += 1; next as $type }),* });
            let mut expected = Vec::new();
            for value in values {
                let mut fields =
                    vec![$((std::mem::offset_of!($name, $field), value.$field.to_ne_bytes().to_vec())),*];
                fields.sort();
                expected.extend(fields.into_iter().flat_map(|(_, bytes)| bytes));
            }
            let packed = pack(&values[..]);
            assert_eq!(packed, expected);
            let mut received = [$name::default(); 20];
            unpack_into(&packed, &mut received[..]).unwrap();
            assert_eq!(received, values);
        }};
    }
    check!(Two: a: u8, b: f64);
    check!(Sixteen: a: u8, b: f64, c: u16, d: u32, e: u8, f: f64, g: i16, h: i32, i: u8, j: f32, k: u64,
        l: u8, m: i8, n: u16, o: f32, p: u8);
    check!(Seventeen: a: u8, b: f64, c: u16, d: u32, e: u8, f: f64, g: i16, h: i32, i: u8, j: f32, k: u64,
        l: u8, m: i8, n: u16, o: f32, p: u8, q: u64);
}
