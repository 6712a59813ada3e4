//! The macros of dtype-runtime: `#[derive(MpiDatatype)]` and `layout!`. Use them from there.
//!
//! Data flows one way, a room a step: `ast` parses into a small model, `valid` refuses what MPI cannot carry,
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

/// Implements `MpiDatatype`, and with it rsmpi's `Equivalence`, for a struct.
///
/// Fields may be integers, floats, `bool`, arrays and tuples of such, and other structs that derive it. The layout of a
/// `repr(C)`, `repr(C, packed)`, `repr(C, align)` or `repr(transparent)` struct of base types, arrays and tuples is
/// solved here, during expansion; that of any other struct when its datatype is first used.
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
