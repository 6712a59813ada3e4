//! Code generation for a type tree: the constructor calls of the least-cost tree, as the text that the
//! runtime parses.
//!
//! All names in the tokens are items of `dtype_runtime::__private`, which the expansion imports as `__dtype`.
//! The expansion calls functions of `__dtype::Runtime` only; `expand.rs` explains why.

use dtype_core::{Bounds, LinearCosts, Program, TypeTree, solve_layout};
use proc_macro2::{Literal, Span, TokenStream};

/// Returns a span with the hygiene of this crate and the source location of the user's tokens.
pub(crate) fn ours_at(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

/// Returns the associated type by which the compiler checks that `__dtype` is this library's module.
pub(crate) fn witness() -> TokenStream {
    ours!(
        type DtypeRuntime = __dtype::Runtime;
    )
}

/// Solves a layout, by the same function as constants and the running program, and returns an expression of
/// type `Option<Expansion>` for it. The expression is `None` if one of `facts` does not hold. If `extent` (in
/// bytes) is given, the datatype has that extent.
///
/// Returns `None` if the layout cannot be solved here.
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
