//! From a type tree to tokens: the constructor calls of its least-cost tree, as the text that the runtime
//! reads.
//!
//! All names are those of `dtype_runtime::__private`, which the expansion calls `__dtype`. What is called is
//! a function of `__dtype::Runtime`: see `expand.rs`.

use dtype_core::{Bounds, LinearCosts, Program, TypeTree, solve_layout};
use proc_macro2::{Literal, Span, TokenStream};

/// What is ours, but shown where the user's tokens are.
pub(crate) fn ours_at(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

/// The type that the compiler compares.
pub(crate) fn witness() -> TokenStream {
    ours!(
        type DtypeRuntime = __dtype::Runtime;
    )
}

/// Solves a layout, as all tiers do, and gives the expression of type `Option<Expansion>` for it: none where
/// one of `facts` does not hold. With `extent`, in bytes, the datatype has that extent. Nothing where the
/// layout cannot be solved here.
pub(crate) fn expansion(
    tree: &TypeTree,
    extent: Option<i64>,
    costs: &LinearCosts,
    facts: &TokenStream,
) -> Option<TokenStream> {
    let solution = solve_layout(tree, costs).ok()?;
    let program = Program::lower(&solution.tree, extent.map(Bounds::of_extent)).ok()?;
    let (cost, calls) = (Literal::u64_unsuffixed(solution.cost), format!("{program:#}"));
    Some(ours!(__dtype::Runtime::expansion(#cost, #calls, #facts)))
}
