//! The macros of dtype-runtime: `#[derive(MpiDatatype)]`, `#[derive(MpiMessage)]` and `layout!`. Use them
//! through that crate.
//!
//! Each module is one step. `attr` and `ast` parse the item into a small model, and `valid` rejects types
//! that MPI cannot carry. `known` computes the layout of types that the macro can see through, and `expand`
//! writes the implementation. The modules in `layout` do the same for `layout!`. Both macros use `emit` to
//! solve the layout and to write its program, and `errors` to collect the user's mistakes. `message` writes
//! the implementations for messages of any shape, for both derives.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

use proc_macro::TokenStream;

/// `quote!` with the hygiene of this crate: variables are invisible to the user's code, and paths resolve by
/// the rules of this crate's edition.
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
mod message;
#[cfg(test)]
mod snapshots;
mod valid;

/// Implements `MpiDatatype`, and with it rsmpi's `Equivalence`, for a struct, or an enum without data.
///
/// Fields may be integers of up to 64 bits, floats, `bool`, `char`, `NonZero`, `Wrapping`, arrays and tuples
/// of these, `PhantomData`, and other types that derive `MpiDatatype`. Features of `dtype-runtime` add
/// complex numbers, 16-bit floats, and nalgebra's vectors and matrices of fixed size. A type parameter is
/// bounded by `MpiDatatype` if a field holds it. A field that MPI cannot carry is an error that says why, and
/// what to do instead:
///
/// ```text
/// error: MPI cannot carry the field `name`: a `String` holds the address of its text, which means nothing to
///        another process. Use an array of bytes `[u8; N]`, or send the bytes as a message of their own, or
///        exclude the field with `#[mpi(skip)]`
/// ```
///
/// If a struct of base types, arrays and tuples is `repr(C)`, `repr(C, packed)`, `repr(C, align)` or
/// `repr(transparent)`, its layout is solved during macro expansion. The layout of other types is solved
/// during constant evaluation or, beyond 64 runs, when the datatype is first used.
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
/// An attribute macro may stand below the derive. The derive sees the item before that macro runs. If the
/// macro changes the fields, their types or the variants, the compiler rejects the expansion. Put such a
/// macro above the derive.
///
/// An enum without data needs a `repr` with an integer type, and travels as that integer. The calls of this
/// library check the values they receive, as `unpack_into` does. The calls of rsmpi do not, and so accept
/// such a type only with `unsafe_equivalence` (see below).
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
/// `#[mpi(skip)]`: the field is neither sent nor written on receipt, and may have any type. rsmpi may
/// construct values from received data, and such values would lack the field. So a type with a skipped field
/// does not implement `Equivalence`; pass `T::buffer(&values)` and `T::buffer_mut(&mut values)` to the calls
/// of rsmpi.
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
/// `#[mpi(order = "declared")]`, the default: fields travel in the order of their declaration. This order
/// gives the type signature, which is the same on every machine. `#[mpi(order = "memory")]`: fields travel in
/// the order of their offsets, which the compiler chooses unless the struct is `repr(C)`. Both sides must
/// then run the same program.
///
/// ```
/// # use dtype_runtime::{MpiDatatype, pack};
/// #[derive(MpiDatatype)]
/// #[mpi(order = "memory")]
/// struct Loose { tag: u8, value: u64 }
/// assert_eq!(pack(&[Loose { tag: 1, value: 2 }]).len(), 9);
/// ```
///
/// `#[mpi(wire = "typed")]`, the default: MPI knows every field. `#[mpi(wire = "bytes")]`: MPI and every
/// other wire carry one contiguous block of bytes, including padding. This is fast, but correct only between
/// machines of one kind. The type must have the same layout in every program: it and the structs in it must
/// be `repr(C)` or `repr(transparent)`, and it must contain no tuples. `pack` packs field by field in any
/// case.
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
/// to the crate's `Cargo.toml`: the cost model that the type tree minimizes. A cost file is JSON, and each of
/// its fields is optional: `{"leaf":3,"vec":5,"idx":5,"strc":5,"idxbuc":7,"lookup":1,"weighting":"storage"}`.
/// The fields `block`, `change` and `byte` in files of `cargo xtask bench guidelines` are accepted, and do
/// not affect the tree.
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
/// `#[mpi(unsafe_equivalence)]`: the calls of rsmpi accept a restricted type, for which not every byte
/// pattern is a valid value: an enum, or a type that holds an enum, a `char` or a `NonZero`. The user who
/// writes the option guarantees that every rank sends only valid values; otherwise the behaviour is
/// undefined. Without the option, receive such a type with the calls of `dtype_runtime::Peer` and
/// `dtype_runtime::Comm`, which check the values. They also send it; rsmpi's calls send it as
/// `T::buffer(&values)`.
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
/// `#[mpi(bound = "…")]`: the predicates of the `where` clause, instead of the inferred bounds.
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
/// `#[mpi(crate = "…")]`: the path of `dtype_runtime`, if the crate is renamed or re-exported.
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
    let input = match syn::parse(input) {
        Ok(input) => input,
        Err(error) => return errors::refusals(errors::in_plain_words(error)).into(),
    };
    let expanded = expand::derive(&input).unwrap_or_else(|error| {
        let (errors, stand_in) = (errors::refusals(error), expand::stand_in(&input));
        ours!(#errors #stand_in)
    });
    expanded.into()
}

/// Implements `MpiMessage` and `FromMessage` for a struct or an enum, so that its values can be sent and
/// received as messages, whatever memory they own. A type that derives `MpiDatatype` has both traits already.
///
/// Fields may be of all types with these traits: numbers and everything else that derives `MpiDatatype`,
/// `String`, `Vec`, `Option`, `Box`, maps, and other types that derive `MpiMessage`, the type itself
/// included. The module `message` of `dtype-runtime` says which have them, and which do not. An enum travels
/// as the number of its variant and the fields of this variant. A type that derives `MpiDatatype` is a
/// message already: do not derive both.
///
/// ```
/// use dtype_runtime::{MpiMessage, message::{from_bytes, to_bytes}};
///
/// #[derive(MpiMessage, Debug, PartialEq)]
/// enum Tree<T> {
///     Leaf(T),
///     Node { name: String, children: Vec<Tree<T>> },
/// }
///
/// let tree = Tree::Node { name: "root".to_owned(), children: vec![Tree::Leaf(1u32), Tree::Leaf(2)] };
/// assert_eq!(from_bytes::<Tree<u32>>(&to_bytes(&tree)?)?, tree);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// A type with references, such as `&str`, can be sent and not received: it has only `MpiMessage`. What was
/// sent so can be received as a type of the same name with the same fields that owns them: `Vec<&str>` as
/// `Vec<String>`. A sequence of references to numbers is not a sequence of numbers, though, because those
/// travel as one block.
///
/// # On a field
///
/// `#[mpi(skip)]`: the field does not travel. A received value has `Default::default()` there, and a value
/// that is received into keeps its own. So do the elements of a `Vec` that is received into: the first one
/// keeps the field of the old first one, whatever arrives there.
///
/// ```
/// # use dtype_runtime::{MpiMessage, message::{from_bytes, to_bytes}};
/// #[derive(MpiMessage)]
/// struct Task {
///     input: Vec<f64>,
///     #[mpi(skip)]
///     started: Option<std::time::Instant>,
/// }
/// let task = Task { input: vec![0.5], started: Some(std::time::Instant::now()) };
/// assert!(from_bytes::<Task>(&to_bytes(&task)?)?.started.is_none());
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # On the type
///
/// `#[mpi(send_only)]`: values can be sent and not received. It is needed for types that borrow where the
/// definition does not show it, such as a type alias of a reference.
///
/// `#[mpi(bound = "…")]`: the predicates of the `where` clauses, instead of a bound for each type parameter.
/// Types with lifetimes that contain each other need `#[mpi(bound = "")]`, on one of them or more.
///
/// `#[mpi(crate = "…")]`: the path of `dtype_runtime`, if the crate is renamed or re-exported.
///
/// ```
/// # use dtype_runtime::MpiMessage;
/// trait Model {
///     type State: dtype_runtime::FromMessage;
/// }
///
/// #[derive(MpiMessage)]
/// #[mpi(bound = "M: Model")]
/// struct Snapshot<M: Model> { states: Vec<M::State> }
/// ```
#[proc_macro_derive(MpiMessage, attributes(mpi))]
pub fn derive_mpi_message(input: TokenStream) -> TokenStream {
    let input = syn::parse(input).map_err(errors::in_plain_words).and_then(|input| message::derive(&input));
    input.unwrap_or_else(errors::refusals).into()
}

/// Expands `dtype_runtime::layout!`, which passes the path of dtype-runtime, `;`, and the user's input.
#[proc_macro]
pub fn layout(input: TokenStream) -> TokenStream {
    let expanded = syn::parse(input)
        .and_then(|layout::Call { runtime, input }: layout::Call| layout::expand(&runtime, &input));
    // Each error becomes one macro call. Several calls are an expression only inside a block.
    let expanded = expanded.unwrap_or_else(|error| {
        let errors = errors::refusals(error);
        ours!({ #errors })
    });
    expanded.into()
}
