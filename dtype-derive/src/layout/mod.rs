//! `layout!`. As in the derive, data flows one way: `parse` reads the language into a small model, `number`
//! says of each expression in it when it is known, `check` refuses what is wrong as far as literals show it,
//! `expand` writes.

mod check;
mod expand;
mod number;
mod parse;

pub(crate) use expand::expand;
pub(crate) use parse::Call;
#[cfg(test)]
pub(crate) use parse::LayoutInput;
