//! Enums of every integer type, with any discriminants.
#![deny(warnings)]

use dtype_runtime::{MpiDatatype, pack, unpack_into};

macro_rules! enums {
    ($($name:ident: $integer:ident,)*) => {$(
        #[derive(MpiDatatype, Debug, PartialEq)]
        #[repr($integer)]
        enum $name {
            Least = $integer::MIN,
            Seven = 7,
            Eight,
            Most = $integer::MAX,
        }
        let mut copy = [$name::Seven, $name::Eight];
        unpack_into(&pack(&[$name::Least, $name::Most]), &mut copy).unwrap();
        assert_eq!(copy, [$name::Least, $name::Most]);
        let error = unpack_into(&pack(&[7 as $integer, 9]), &mut copy).unwrap_err();
        assert!(error.to_string().contains("0x9 is not a valid"));
    )*};
}

/// Not `Copy`, nor `Clone`.
#[derive(MpiDatatype)]
#[repr(u8)]
enum r#Type {
    r#Fn,
}

fn main() {
    enums! { A: i8, B: i16, C: i32, D: i64, E: isize, F: u8, G: u16, H: u32, I: u64, J: usize, }
    assert_eq!(pack(&[r#Type::r#Fn]), [0]);
}
