//! The user's mistakes: collected, and written into the expansion as compile errors.

use proc_macro2::{TokenStream, TokenTree};
use syn::{Error, Result};

/// A collection of errors, so that a user sees every mistake at once.
#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    pub(crate) fn push(&mut self, error: Error) {
        match &mut self.0 {
            None => self.0 = Some(error),
            Some(all) => all.combine(error),
        }
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

/// Says in the user's words what syn says of its own features.
pub(crate) fn in_plain_words(errors: Error) -> Error {
    let mut all = Errors::default();
    for error in errors {
        let is_of_syn = error.to_string().starts_with("unsupported expression");
        all.push(if is_of_syn { Error::new(error.span(), LENGTH) } else { error });
    }
    all.0.expect("an error has one message or more")
}

/// The advice for a length that syn cannot parse without its feature `full`.
const LENGTH: &str = "this length is too complicated for the derive: write `const N: usize = …;` above the \
                      type, and `[T; N]` here";

/// Returns the errors as calls of `compile_error!`. The calls that syn writes begin with `::core`, which does
/// not resolve in a crate of edition 2015; so that prefix is removed.
pub(crate) fn refusals(errors: Error) -> TokenStream {
    let is_path = |token: &TokenTree| match token {
        TokenTree::Punct(punct) => punct.as_char() == ':',
        TokenTree::Ident(name) => name == "core",
        _ => false,
    };
    errors.into_compile_error().into_iter().filter(|token| !is_path(token)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_no_crate() {
        let mut errors = syn::Error::new(proc_macro2::Span::call_site(), "first");
        errors.combine(syn::Error::new(proc_macro2::Span::call_site(), "second"));
        let written = refusals(errors).to_string();
        assert_eq!(written, r#"compile_error ! { "first" } compile_error ! { "second" }"#);
    }
}
