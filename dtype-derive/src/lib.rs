//! The macros of dtype-runtime: `#[derive(MpiDatatype)]` and `layout!`. Use them from there.
//!
//! Data flows one way, a room a step: `ast` and `attr` parse into a small model, `valid` refuses what MPI cannot carry,
//! `known` works out the layout of types the macro can see through, `expand` writes the implementation. `layout!`
//! has its own parser and checks in `layout`; both have `emit` solve the layout and write its program.
#![deny(missing_docs)]

use proc_macro::TokenStream;

mod ast;
mod attr;
mod emit;
mod expand;
mod known;
mod layout;
#[cfg(test)]
mod snapshots;
mod valid;

/// Implements `MpiDatatype`, and with it rsmpi's `Equivalence`, for a struct, or an enum without data.
///
/// Fields may be integers of up to 64 bits, floats, `bool`, `char`, `NonZero`, `Wrapping`, arrays and tuples of such,
/// `PhantomData`, and other types that derive it; with features of `dtype-runtime`, complex numbers, 16-bit floats, and
/// nalgebra's vectors and matrices of fixed size. Type parameters are bounded by `MpiDatatype` where a field holds
/// them. The layout of a `repr(C)`, `repr(C, packed)`, `repr(C, align)` or `repr(transparent)` struct of base types, arrays
/// and tuples is solved here, during expansion; that of others while constants are evaluated, or, beyond 64 runs, when their
/// datatype is first used.
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
/// assert_eq!(Cell::type_map(), "24 × f64 @ 0 stride 8, u8 @ 192");
/// ```
///
/// An enum without data says which integer it is, and travels as that; `unpack_into` checks what arrives.
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
/// `#[mpi(skip)]`: the field neither leaves nor is touched on receipt. Its type may be any. rsmpi may make values out of what
/// it receives, which would lack the field; so such a type is no `Equivalence`, and goes into rsmpi's calls as
/// `T::buffer(&values)` and `T::buffer_mut(&mut values)`.
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
/// assert_eq!(Node::type_map(), "f64 @ 0, u8 @ 32");
/// ```
///
/// # On the type
///
/// `#[mpi(order = "declared")]`, the default: fields travel in the order in which they are written down. That is the type
/// signature, the same on every machine. `#[mpi(order = "memory")]`: in the order in which they lie in memory, which the
/// compiler chooses unless the struct is `repr(C)`; both sides must be the same program.
///
/// ```
/// # use dtype_runtime::{MpiDatatype, pack};
/// #[derive(MpiDatatype)]
/// #[mpi(order = "memory")]
/// struct Loose { tag: u8, value: u64 }
/// assert_eq!(pack(&[Loose { tag: 1, value: 2 }]).len(), 9);
/// ```
///
/// `#[mpi(wire = "typed")]`, the default: MPI knows every field. `#[mpi(wire = "bytes")]`: MPI carries one contiguous block of
/// bytes, padding included. That is quick, and right only between machines of one kind. It needs a layout that is the same
/// in every program: `repr(C)`, for the structs in it too, and no tuples. Packing is by field in any case.
///
/// ```
/// # use dtype_runtime::MpiDatatype;
/// #[derive(MpiDatatype)]
/// #[repr(C)]
/// #[mpi(wire = "bytes")]
/// struct Block { tag: u8, value: f64 }
/// assert_eq!(Block::type_map(), "16 × byte @ 0 stride 1");
/// ```
///
/// `#[mpi(cost = "storage")]`, the default, `"processing"`, `"penalty"`, or the path of a cost file relative to the crate's
/// `Cargo.toml`: what the least-cost tree is least in. A cost file is JSON, each of its fields optional:
/// `{"leaf":3,"vec":5,"idx":5,"strc":5,"idxbuc":7,"lookup":1,"weighting":"storage"}`.
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
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Names a sub-block of an array: `layout!(f64[100][100] => [.., 3])` is column 3 of a `[[f64; 100]; 100]`.
///
/// ```text
/// layout    := element dimension+ "=>" "[" item ("," item)* "]"
/// element   := the path of a type that implements MpiDatatype
/// dimension := "[" integer "]"                  one to four
/// item      := index | range [";" step]         one for each dimension
/// range     := [index] ".." [index] | [index] "..=" index
/// ```
///
/// Indices, bounds and steps are integer literals; as in ndarray's `s![]`, a negative index counts from the end. The
/// result is a `StaticLayout`; its `of` and `of_mut` give typed views. Nothing about it can fail at run time: a bound
/// beyond the array, an empty range or a step of 0 does not compile.
///
/// ```
/// use dtype_runtime::layout;
///
/// let mut grid = [[[0u16; 8]; 8]; 8];
/// let face = layout!(u16[8][8][8] => [1..7, 1..=6, -1]); // a face without its rim
/// face.of_mut(&mut grid).unpack(&[1; 72])?;
/// assert_eq!(grid[1][1][7], u16::from_ne_bytes([1, 1]));
/// assert_eq!(grid[0][1][7], 0);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
#[proc_macro]
pub fn layout(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as layout::LayoutInput);
    // Several errors are several macro calls, which are an expression only inside a block.
    let refused = |error: syn::Error| {
        let errors = error.into_compile_error();
        quote::quote!({ #errors })
    };
    layout::expand(&input).unwrap_or_else(refused).into()
}
