//! Expansions of typical types, kept in `snapshots/` as formatted Rust code. After a change, run
//! `INSTA_UPDATE=always cargo test -p dtype-derive` and read the difference.

use insta::assert_snapshot;
use quote::quote;
use syn::{DeriveInput, parse_quote};

use crate::layout::LayoutInput;

fn expansion(input: &DeriveInput) -> String {
    let tokens = crate::expand::derive(input).expect("a type that MPI can carry");
    prettyplease::unparse(&syn::parse2(tokens).expect("items"))
}

fn layout(input: &LayoutInput) -> String {
    let runtime = parse_quote!(::dtype_runtime);
    let tokens = crate::layout::expand(&runtime, input).expect("a layout that is right");
    let file = if input.name.is_some() { tokens } else { quote!(fn main() { #tokens }) };
    prettyplease::unparse(&syn::parse2(file).expect("items, or an expression"))
}

macro_rules! snapshot {
    ($name:ident, layout!($($input:tt)*)) => {
        #[test]
        fn $name() {
            assert_snapshot!(layout(&parse_quote! { $($input)* }));
        }
    };
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
snapshot!(a_layout_of_literals, layout!(f64[100][50] => [1..-1, 3]));
snapshot!(
    a_layout_with_a_loop_of_constants,
    layout!(pub type Triangle = f64[N][N] => [i, i..] for i in 0..N)
);
snapshot!(a_layout_of_values, layout!(Particle[n] => [a..=b].velocity[0..2] + [{list}].id));
snapshot!(a_type_map, layout!(<i32 @ 0, f64 @ AT>));
