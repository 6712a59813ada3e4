//! From a type tree to tokens: the constructor program of its least-cost tree, as constants that the runtime
//! executes.
//!
//! All names are those of `dtype_runtime::__private`, which the expansion calls `__dtype`. What is called is
//! a function of `__dtype::Runtime`: see `expand.rs`.

use dtype_core::{BaseType, Bounds, LinearCosts, OldType, Program, Step, TypeTree, solve_layout};
use proc_macro2::{Ident, Literal, Span, TokenStream};

/// What is ours, but shown where the user's tokens are.
pub(crate) fn ours_at(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

/// The constant that the compiler compares.
pub(crate) fn witness() -> TokenStream {
    ours!(
        const RUNTIME: __dtype::Runtime = __dtype::Runtime::OURS;
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
    let cost = number(solution.cost);
    let steps = program.steps.iter().map(step);
    let result = old_type(program.result);
    Some(ours! {{
        const STEPS: &[__dtype::Step] = &[#(#steps),*];
        if #facts {
            ::core::option::Option::Some(__dtype::Runtime::expansion(#cost, STEPS, #result))
        } else {
            ::core::option::Option::None
        }
    }})
}

/// `__dtype::BaseType::F64`
pub(crate) fn base_type(base: BaseType) -> TokenStream {
    let variant = Ident::new(base.variant_name(), Span::call_site());
    ours!(__dtype::BaseType::#variant)
}

fn old_type(old: OldType) -> TokenStream {
    match old {
        OldType::Base(base) => {
            let base = base_type(base);
            ours!(__dtype::Runtime::base(#base))
        }
        OldType::Step(index) => {
            let index = Literal::usize_unsuffixed(index);
            ours!(__dtype::Runtime::step(#index))
        }
    }
}

fn step(step: &Step) -> TokenStream {
    match step {
        Step::Contiguous { count, oldtype } => {
            let (count, oldtype) = (number(*count), old_type(*oldtype));
            ours!(__dtype::Step::Contiguous { count: #count, oldtype: #oldtype })
        }
        Step::Hvector { count, blocklength, stride, oldtype } => {
            let (count, blocklength) = (number(*count), number(*blocklength));
            let (stride, oldtype) = (signed(*stride), old_type(*oldtype));
            ours! {
                __dtype::Step::Hvector {
                    count: #count, blocklength: #blocklength, stride: #stride, oldtype: #oldtype
                }
            }
        }
        Step::HindexedBlock { blocklength, displacements, oldtype } => {
            let blocklength = number(*blocklength);
            let (displacements, oldtype) = (displacements.iter().map(|at| signed(*at)), old_type(*oldtype));
            ours! {
                __dtype::Step::HindexedBlock {
                    blocklength: #blocklength,
                    displacements: __dtype::Runtime::list(&[#(#displacements),*]),
                    oldtype: #oldtype,
                }
            }
        }
        Step::Hindexed { blocklengths, displacements, oldtype } => {
            let blocklengths = blocklengths.iter().map(|length| number(*length));
            let (displacements, oldtype) = (displacements.iter().map(|at| signed(*at)), old_type(*oldtype));
            ours! {
                __dtype::Step::Hindexed {
                    blocklengths: __dtype::Runtime::list(&[#(#blocklengths),*]),
                    displacements: __dtype::Runtime::list(&[#(#displacements),*]),
                    oldtype: #oldtype,
                }
            }
        }
        Step::Struct { blocklengths, displacements, oldtypes } => {
            let blocklengths = blocklengths.iter().map(|length| number(*length));
            let displacements = displacements.iter().map(|at| signed(*at));
            let oldtypes = oldtypes.iter().map(|oldtype| old_type(*oldtype));
            ours! {
                __dtype::Step::Struct {
                    blocklengths: __dtype::Runtime::list(&[#(#blocklengths),*]),
                    displacements: __dtype::Runtime::list(&[#(#displacements),*]),
                    oldtypes: __dtype::Runtime::list(&[#(#oldtypes),*]),
                }
            }
        }
        Step::Resized { lower_bound, extent, oldtype } => {
            let (lower_bound, extent) = (signed(*lower_bound), signed(*extent));
            let oldtype = old_type(*oldtype);
            ours! {
                __dtype::Step::Resized { lower_bound: #lower_bound, extent: #extent, oldtype: #oldtype }
            }
        }
    }
}

fn number(value: u64) -> Literal {
    Literal::u64_unsuffixed(value)
}

fn signed(value: i64) -> Literal {
    Literal::i64_unsuffixed(value)
}
