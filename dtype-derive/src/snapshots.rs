//! Expansions of typical types, kept in `snapshots/` as a person would read them. After a change: `INSTA_UPDATE=always
//! cargo test -p dtype-derive`, and read the difference.

use insta::assert_snapshot;
use syn::{DeriveInput, parse_quote};

fn expansion(input: &DeriveInput) -> String {
    let tokens = crate::expand::derive(input).expect("a type that MPI can carry");
    prettyplease::unparse(&syn::parse2(tokens).expect("items"))
}

macro_rules! snapshot {
    ($name:ident, $($input:tt)*) => {
        #[test]
        fn $name() {
            assert_snapshot!(expansion(&parse_quote! { $($input)* }));
        }
    };
}

snapshot!(
    a_struct_of_numbers,
    #[repr(C)]
    struct Particle {
        position: [f64; 3],
        velocity: [f64; 3],
        id: u64,
        kind: u8,
    }
);
snapshot!(
    a_struct_without_padding,
    #[repr(C)]
    struct Complex {
        re: f64,
        im: f64,
    }
);
snapshot!(
    a_struct_left_to_the_compiler,
    struct Mixed {
        tag: u8,
        value: f64,
        level: i16,
    }
);
snapshot!(
    a_packed_struct,
    #[repr(C, packed)]
    struct Packed {
        tag: u8,
        value: f64,
    }
);
snapshot!(
    a_newtype,
    #[repr(transparent)]
    struct Meters(f64);
);
snapshot!(a_unit_struct, struct Nothing;);
snapshot!(
    a_tuple_struct_of_tuples,
    #[repr(C)]
    struct Pairs([(u8, f64); 2], (u16,));
);
snapshot!(
    a_struct_of_other_structs,
    #[repr(C)]
    struct Cell {
        particles: [Particle; 8],
        level: u8,
    }
);
snapshot!(
    a_generic_struct,
    struct Block<T: Copy, const N: usize>
    where
        T: Default,
    {
        count: usize,
        items: [T; N],
        marker: PhantomData<T>,
    }
);
snapshot!(
    an_enum,
    #[repr(u8)]
    enum Kind {
        Gas = 1,
        Liquid,
    }
);
snapshot!(
    a_struct_with_a_skipped_field,
    #[repr(C)]
    struct Node {
        value: f64,
        #[mpi(skip)]
        neighbours: Vec<usize>,
        level: u8,
    }
);
snapshot!(
    a_struct_in_the_order_of_memory,
    #[mpi(order = "memory", crate = "vendor::data")]
    struct Loose {
        small: u8,
        large: u64,
    }
);
snapshot!(
    a_struct_as_bytes,
    #[repr(C)]
    #[mpi(wire = "bytes")]
    struct Block {
        tag: u8,
        value: f64,
    }
);
snapshot!(
    a_struct_solved_for_processing,
    #[repr(C)]
    #[mpi(cost = "processing", bound = "")]
    struct Triple {
        a: f64,
        b: f64,
        c: f64,
    }
);
