//! The macros of dtype-runtime: `#[derive(MpiDatatype)]` and `layout!`. Use them from there.
//!
//! Data flows one way, a room a step: `attr` and `ast` parse into a small model, `valid` refuses what MPI
//! cannot carry, `known` works out the layout of types the macro can see through, `expand` writes the
//! implementation. `layout!` has the same rooms in `layout`. Both have `emit` solve the layout and write its
//! program, and `errors` collect what is wrong.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

use proc_macro::TokenStream;

/// `quote!` of what is ours: its variables are its own, and its paths mean what they mean in this crate's
/// edition.
macro_rules! ours {
    ($($tokens:tt)*) => {
        ::quote::quote_spanned!(::proc_macro2::Span::mixed_site()=> $($tokens)*)
    };
}

mod ast;
mod attr;
mod emit;
mod errors;
mod expand;
mod known;
mod layout;
#[cfg(test)]
mod snapshots;
mod valid;

/// Implements `MpiDatatype`, and with it rsmpi's `Equivalence`, for a struct, or an enum without data.
///
/// Fields may be integers of up to 64 bits, floats, `bool`, `char`, `NonZero`, `Wrapping`, arrays and tuples
/// of such, `PhantomData`, and other types that derive it; with features of `dtype-runtime`, complex numbers,
/// 16-bit floats, and nalgebra's vectors and matrices of fixed size. Type parameters are bounded by
/// `MpiDatatype` where a field holds them. The layout of a `repr(C)`, `repr(C, packed)`, `repr(C, align)` or
/// `repr(transparent)` struct of base types, arrays and tuples is solved here, during expansion; that of
/// others while constants are evaluated, or, beyond 64 runs, when their datatype is first used.
///
/// ```
/// use dtype_runtime::MpiDatatype;
///
/// #[derive(MpiDatatype)]
/// #[repr(C)]
/// struct Cell {
///     corners: [[f64; 3]; 8],
///     level: u8,
/// }
/// assert_eq!(Cell::type_map().unwrap().to_string(), "24 × f64 @ 0 stride 8, u8 @ 192");
/// ```
///
/// An attribute macro may stand below the derive, which then sees the type as it is before: the compiler
/// refuses what comes out of that if its fields, their types or its variants differ. Put such a macro above
/// the derive.
///
/// An enum without data says which integer it is, and travels as that. Our own calls check what arrives, as
/// `unpack_into` does; rsmpi's do not, and so take such a type only with `unsafe_equivalence`, see below.
///
/// ```
/// # use dtype_runtime::{MpiDatatype, unpack_into};
/// #[derive(MpiDatatype, Clone, Copy)]
/// #[repr(u8)]
/// enum Phase { Solid, Liquid, Gas }
///
/// let mut phases = [Phase::Gas; 2];
/// assert!(unpack_into(&[0, 3], &mut phases).is_err());
/// ```
///
/// # On a field
///
/// `#[mpi(skip)]`: the field neither leaves nor is touched on receipt. Its type may be any. rsmpi may make
/// values out of what it receives, which would lack the field; so such a type is no `Equivalence`, and goes
/// into rsmpi's calls as `T::buffer(&values)` and `T::buffer_mut(&mut values)`.
///
/// ```
/// # use dtype_runtime::MpiDatatype;
/// #[derive(MpiDatatype)]
/// #[repr(C)]
/// struct Node {
///     value: f64,
///     #[mpi(skip)]
///     neighbours: Vec<usize>,
///     level: u8,
/// }
/// assert_eq!(Node::type_map().unwrap().to_string(), "f64 @ 0, u8 @ 32");
/// ```
///
/// # On the type
///
/// `#[mpi(order = "declared")]`, the default: fields travel in the order in which they are written down. That
/// is the type signature, the same on every machine. `#[mpi(order = "memory")]`: in the order in which they
/// lie in memory, which the compiler chooses unless the struct is `repr(C)`; both sides must be the same
/// program.
///
/// ```
/// # use dtype_runtime::{MpiDatatype, pack};
/// #[derive(MpiDatatype)]
/// #[mpi(order = "memory")]
/// struct Loose { tag: u8, value: u64 }
/// assert_eq!(pack(&[Loose { tag: 1, value: 2 }]).len(), 9);
/// ```
///
/// `#[mpi(wire = "typed")]`, the default: MPI knows every field. `#[mpi(wire = "bytes")]`: MPI carries one
/// contiguous block of bytes, padding included, and so does every wire. That is quick, and right only between
/// machines of one kind. It needs a layout that is the same in every program: `repr(C)`, for the structs in
/// it too, and no tuples. Packing is by field in any case.
///
/// ```
/// # use dtype_runtime::MpiDatatype;
/// #[derive(MpiDatatype)]
/// #[repr(C)]
/// #[mpi(wire = "bytes")]
/// struct Block { tag: u8, value: f64 }
/// assert_eq!(Block::type_map().unwrap().to_string(), "16 × byte @ 0 stride 1");
/// ```
///
/// `#[mpi(cost = "storage")]`, the default, `"processing"`, `"penalty"`, or the path of a cost file relative
/// to the crate's `Cargo.toml`: what the least-cost tree is least in. A cost file is JSON, each of its fields
/// optional: `{"leaf":3,"vec":5,"idx":5,"strc":5,"idxbuc":7,"lookup":1,"weighting":"storage"}`; `block`,
/// `change` and `byte`, which the files of `cargo xtask bench guidelines` have, too, alter no choice.
///
/// ```
/// # use dtype_runtime::MpiDatatype;
/// #[derive(MpiDatatype)]
/// #[repr(C)]
/// #[mpi(cost = "processing")]
/// struct Row { values: [f64; 10] }
/// assert_eq!(Row::cost(), 5 + 10 * 3);
/// ```
///
/// `#[mpi(unsafe_equivalence)]`: rsmpi's own calls take the type though not all bytes are values of it, being
/// an enum, or holding one, or a `char` or `NonZero`. Whoever writes it vouches for it that no rank ever
/// sends anything else; if one does, the behaviour is undefined. Without it such a type is sent with
/// `T::buffer(&values)`, and received with the calls of `dtype_runtime::traits`.
///
/// ```
/// # use dtype_runtime::{MpiDatatype, types::AnyPattern};
/// #[derive(MpiDatatype)]
/// #[mpi(unsafe_equivalence)]
/// struct Name { letters: [char; 8] }
/// # fn any<T: AnyPattern>() {}
/// # any::<Name>();
/// ```
///
/// `#[mpi(bound = "…")]`: what stands behind `where`, instead of the inferred bounds.
///
/// ```
/// # use dtype_runtime::MpiDatatype;
/// trait Scalar: 'static {
///     type Number: MpiDatatype;
/// }
///
/// #[derive(MpiDatatype)]
/// #[mpi(bound = "S: Scalar")]
/// struct Point<S: Scalar> { coordinates: [S::Number; 3] }
/// ```
///
/// `#[mpi(crate = "…")]`: where `dtype_runtime` is, if it has another name or is re-exported.
///
/// ```
/// mod vendor {
///     pub use dtype_runtime as data;
/// }
///
/// #[derive(vendor::data::MpiDatatype)]
/// #[mpi(crate = "vendor::data")]
/// struct Meters(f64);
/// ```
#[proc_macro_derive(MpiDatatype, attributes(mpi))]
pub fn derive_mpi_datatype(input: TokenStream) -> TokenStream {
    let input = syn::parse(input).and_then(|input| expand::derive(&input));
    input.unwrap_or_else(errors::refusals).into()
}

/// What `dtype_runtime::layout!` calls: the path of dtype-runtime, `;`, and what it was given.
#[proc_macro]
pub fn layout(input: TokenStream) -> TokenStream {
    let expanded = syn::parse(input)
        .and_then(|layout::Call { runtime, input }: layout::Call| layout::expand(&runtime, &input));
    // Several errors are several macro calls, which are an expression only inside a block.
    let expanded = expanded.unwrap_or_else(|error| {
        let errors = errors::refusals(error);
        ours!({ #errors })
    });
    expanded.into()
}
