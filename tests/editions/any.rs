//! The library of one crate for each edition: the expansions of the macros must compile in all editions.

#[allow(unused_extern_crates)]
extern crate dtype_runtime;

/// A module that hides the crate `core`. Paths in expansions, such as `::core::mem`, must not lead into it.
mod core {}

/// A type whose name is also the name of a type in another crate.
#[derive(dtype_runtime::MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
pub enum Unit {
    Metre,
    Foot,
}

/// Defines a struct with both types, whose paths have equal tokens. Takes the `$crate` of the other crate,
/// and the name of the struct.
#[macro_export]
macro_rules! with_units {
    ($of:tt $name:ident) => {
        #[derive(dtype_runtime::MpiDatatype, Clone, Copy, Debug, PartialEq)]
        #[repr(C)]
        pub struct $name {
            pub theirs: [$of::Unit; 2],
            pub ours: [$crate::Unit; 2],
            pub one: $of::Unit,
            pub other: $crate::Unit,
        }
    };
}

#[cfg(test)]
mod inner {
    use dtype_runtime::{layout, pack, MpiDatatype};

    #[derive(MpiDatatype, Clone, Copy)]
    #[repr(C)]
    pub struct Fixed {
        pub a: u8,
        pub b: [f64; 3],
        pub t: (u8, u16),
    }

    #[derive(MpiDatatype, Clone, Copy)]
    #[mpi(order = "memory", cost = "processing")]
    pub struct Loose {
        pub a: u8,
        pub b: [f64; 3],
        pub fixed: Fixed,
    }

    #[derive(MpiDatatype, Clone, Copy)]
    #[repr(u8)]
    pub enum Side {
        Left,
        Right,
    }

    #[derive(MpiDatatype)]
    #[repr(C)]
    #[mpi(wire = "bytes")]
    pub struct Bytes {
        a: u8,
        b: f64,
        c: (),
    }

    #[derive(MpiDatatype)]
    #[mpi(crate = "dtype_runtime")]
    pub struct ByPath {
        a: u8,
        side: Side,
    }

    #[derive(dtype_runtime::MpiMessage, Debug, PartialEq)]
    pub enum Tree {
        Leaf(String),
        Node { children: Vec<Tree>, side: u8 },
    }

    layout!(pub type Column = f64[3][3] => [.., 1]);

    #[test]
    fn the_macros_work() {
        let n = 3;
        let matrix = [[1.0f64; 3]; 3];
        assert_eq!(Column.of(&matrix).pack().len(), 24);
        let turns = layout!(f64[n][n] => [.., n - 1] + [0, i] for i in 0..n).unwrap();
        assert_eq!(turns.of(&matrix).unwrap().pack().len(), 96);
        let fixed = Fixed { a: 1, b: [1.0; 3], t: (1, 2) };
        let loose = Loose { a: 1, b: [0.0; 3], fixed };
        assert_eq!(layout!(Loose[1] => [0].fixed.b[1..2]).of(&[loose]).pack(), pack(&[1.0]));
        assert_eq!(pack(&[Side::Right, Side::Left]), [1, 0]);
        assert_eq!(pack(&[ByPath { a: 2, side: Side::Left }]), [2, 0]);
        assert_eq!(pack(&[Bytes { a: 2, b: 0.0, c: () }]).len(), 9);
        let tree = Tree::Node { children: vec![Tree::Leaf("a".to_owned())], side: 3 };
        let bytes = dtype_runtime::message::to_bytes(&tree).unwrap();
        assert_eq!(dtype_runtime::message::from_bytes::<Tree>(&bytes).unwrap(), tree);
    }
}
