//! The macros of dtype-runtime: `#[derive(MpiDatatype)]` and `layout!`. Use them from there.
//!
//! Data flows one way, a room a step: `ast` and `attr` parse into a small model, `valid` refuses what MPI cannot carry,
//! `known` works out the layout of types the macro can see through, `expand` writes the implementation. `layout!` has the same
//! rooms in `layout`; both have `emit` solve the layout and write its program.
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
/// bytes, padding included, and so does every wire. That is quick, and right only between machines of one kind. It needs a layout that is
/// the same in every program: `repr(C)`, for the structs in it too, and no tuples. Packing is by field in any case.
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

/// Names a part of an array, the way one writes an index: `layout!(f64[100][100] => [.., 3])` is column 3 of a matrix.
///
/// The result is a layout. Its `of(&source)` and `of_mut(&mut source)` are views of that part of an array, which are buffers of
/// every rsmpi call, and can be packed and unpacked without MPI. Nothing about them needs `unsafe`: bounds, the type of
/// elements and overlaps are checked, by the compiler as far as it knows them.
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
///
/// # The language
///
/// ```text
/// input     := layout | attribute* [visibility] "type" name "=" layout [";"]
/// layout    := ["column_major"] element dimension* "=>" part ("+" part)* ["for" loop ("," loop)*]
///            | "<" element "@" number ("," element "@" number)* ">"
/// element   := a type that implements MpiDatatype
/// dimension := "[" number "]"                        its length; up to eight of them
/// part      := "[" item ("," item)* "]" path*        an item for each dimension
///            | "{" list "}" path*                    short for [{list}]
///            | path+                                 of a single element
/// path      := "." field ("[" item ("," item)* "]")* from an element to a part of it
/// item      := number | range [";" number] | "{" list "}"
/// range     := [number] ".." [number] | [number] "..=" number
/// loop      := name "in" number ".." number | name "in" number "..=" number
/// number    := an expression of any integer type
/// list      := an expression of type &[usize], &Vec<i32>, [u64; 4], …
/// ```
///
/// As in ndarray's `s![]`, a negative index or bound counts from the end, a range may be empty, and one with a negative step
/// is walked from its last index to its first.
///
/// *Parts* travel one after the other, each with its last index fastest; so do the turns of a *loop*, the last one fastest, each
/// turn with all parts:
///
/// ```
/// # use dtype_runtime::layout;
/// let a = [[1u8, 2, 3], [4, 5, 6], [7, 8, 9]];
/// assert_eq!(layout!(u8[3][3] => [..;2, 1..]).of(&a).pack(), [2, 3, 8, 9]);
/// assert_eq!(layout!(u8[3][3] => [.., ..;-1]).of(&a).pack(), [3, 2, 1, 6, 5, 4, 9, 8, 7]);
/// assert_eq!(layout!(u8[3][3] => [0, ..] + [1.., 0]).of(&a).pack(), [1, 2, 3, 4, 7]); // a row, then a column
/// assert_eq!(layout!(u8[3][3] => [i, i..] for i in 0..3).of(&a).pack(), [1, 2, 3, 5, 6, 9]); // a triangle
/// assert_eq!(layout!(u8[3][3] => [.., j] for j in 0..3).of(&a).pack(), [1, 4, 7, 2, 5, 8, 3, 6, 9]); // transposed
/// ```
///
/// *Paths* lead to fields and into arrays within an element:
///
/// ```
/// # use dtype_runtime::{MpiDatatype, layout};
/// #[derive(MpiDatatype, Clone, Copy)]
/// struct Particle { position: [f32; 3], id: u32 }
///
/// let particles = [Particle { position: [1.0, 2.0, 3.0], id: 4 }; 500];
/// assert_eq!(layout!(Particle[500] => [..].position[0..2]).of(&particles).pack().len(), 500 * 8);
/// assert_eq!(layout!(Particle => .position + .id).of(&particles[0]).pack().len(), 16);
/// ```
///
/// `column_major`: the first index runs fastest, in memory and on the way, as in Fortran and nalgebra. Nested arrays are then
/// nested the other way round.
///
/// ```
/// # use dtype_runtime::layout;
/// let a = [[1u8, 2], [3, 4], [5, 6]]; // three columns of two
/// assert_eq!(layout!(column_major u8[2][3] => [1, ..]).of(&a).pack(), [2, 4, 6]);
/// ```
///
/// A *type map* lists types and displacements in bytes, as MPI does, and is taken of bytes:
///
/// ```
/// # use dtype_runtime::layout;
/// let header = layout!(<i32 @ 0, f64 @ 8, f64 @ 16>);
/// assert_eq!(header.type_map(), "i32 @ 0, 2 × f64 @ 8 stride 8");
/// assert_eq!(header.of(&[0u8; 24])?.pack().len(), 20);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Literals, constants, values
///
/// What a number is decides when the layout is known. *Literals* the macro understands itself, with `+ - * / %`; it solves
/// such a layout, and points at a wrong bound. Names in upper case are *constants*, as Rust has it, and so is `const { … }`: such
/// a layout is solved while the compiler evaluates constants. Both give a `StaticLayout`, which takes no space.
///
/// Any other number is a *value*. The macro then gives a `Result` of a `DynamicLayout`, with an error in the same words; it is
/// solved when it is first used, and remembered. So is a layout with a list of indices.
///
/// ```
/// # use dtype_runtime::layout;
/// const N: usize = 4;
/// let matrix = [[1u8, 2, 3, 4]; N];
/// assert_eq!(layout!(u8[N][N] => [1..N - 1, 0]).of(&matrix).pack(), [1, 1]);
///
/// let (n, j) = (4, 2);
/// assert_eq!(layout!(u8[n][n] => [1..n - 1, j])?.of(&matrix)?.pack(), [3, 3]);
/// assert!(layout!(u8[n][n] => [.., j + 2]).is_err());
///
/// let nodes = vec![3, 0, 2];
/// assert_eq!(layout!(u8[n] => {nodes})?.of(&matrix[0])?.pack(), [4, 1, 3]);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// A static layout is an item of its own. So it cannot name the generic parameters of the function around it; bind one of
/// them to a value, as in `let n = N;`, and the layout is dynamic.
///
/// # Names
///
/// A layout with a name is a type, and a value of that name:
///
/// ```
/// use dtype_runtime::{View, layout};
///
/// layout!(pub type Column = f64[100][100] => [.., 3]);
///
/// fn send(column: View<'_, Column>) { /* … */ }
/// send(Column.of(&[[0.0; 100]; 100]));
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
