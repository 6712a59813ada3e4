//! The implementation of `layout!`. As in the derive, each module is one step: `parse` reads the input into a
//! small model, `number` finds out which expressions are constant, `check` rejects mistakes that literals
//! show, and `expand` writes the expansion.

mod check;
mod expand;
mod number;
mod parse;

pub(crate) use expand::expand;
pub(crate) use parse::Call;
#[cfg(test)]
pub(crate) use parse::LayoutInput;
