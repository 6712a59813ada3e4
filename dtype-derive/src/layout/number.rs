//! Expressions for lengths, bounds and steps: which of them are constant, and the values that the macro can
//! compute.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{BinOp, Expr, ExprBinary, ExprLit, ExprUnary, Lit, UnOp};

/// An expression of integer type.
pub(crate) struct Expression {
    tokens: TokenStream,
    /// The parsed expression, if syn can parse the tokens.
    read: Option<Box<Expr>>,
}

/// The loop variables and their values, from the outermost loop in.
pub(crate) type Variables<'a> = Vec<(&'a Ident, i128)>;

impl Expression {
    pub(crate) fn new(tokens: TokenStream) -> Self {
        Self { read: syn::parse2(tokens.clone()).ok().map(Box::new), tokens }
    }

    /// Returns the value if the expression consists of literals and loop variables only.
    pub(crate) fn value(&self, variables: &Variables<'_>) -> Option<i128> {
        value(self.read.as_deref()?, variables)
    }

    /// Returns `true` if the compiler can evaluate the expression. By Rust's naming convention, names in
    /// upper case are constants; all other names are run-time values, except loop variables.
    pub(crate) fn is_constant(&self, variables: &[&Ident]) -> bool {
        is_constant(self.tokens.clone(), variables)
    }
}

impl ToTokens for Expression {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.tokens.to_tokens(tokens);
    }
}

/// Returns `true` if `tokens` name one of the variables.
pub(crate) fn mentions(tokens: TokenStream, variables: &[&Ident]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => variables.contains(&&ident),
        TokenTree::Group(group) => mentions(group.stream(), variables),
        _ => false,
    })
}

fn value(expression: &Expr, variables: &Variables<'_>) -> Option<i128> {
    match expression {
        Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => literal.base10_parse().ok(),
        Expr::Paren(paren) => value(&paren.expr, variables),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => value(expr, variables)?.checked_neg(),
        Expr::Path(path) => {
            let name = path.path.get_ident()?;
            variables.iter().rev().find(|(variable, _)| *variable == name).map(|(_, value)| *value)
        }
        Expr::Binary(ExprBinary { left, op, right, .. }) => {
            let (left, right) = (value(left, variables)?, value(right, variables)?);
            match op {
                BinOp::Add(_) => left.checked_add(right),
                BinOp::Sub(_) => left.checked_sub(right),
                BinOp::Mul(_) => left.checked_mul(right),
                BinOp::Div(_) => left.checked_div(right),
                BinOp::Rem(_) => left.checked_rem(right),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_constant(tokens: TokenStream, variables: &[&Ident]) -> bool {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |k: Option<usize>, punctuation: char| {
        let token = k.and_then(|k| tokens.get(k));
        matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == punctuation)
    };
    let mut insisted = false;
    tokens.iter().enumerate().all(|(k, token)| match token {
        // A block `const { … }` is constant whatever its content.
        TokenTree::Ident(ident) if ident == "const" => {
            insisted = true;
            true
        }
        TokenTree::Group(_) if std::mem::take(&mut insisted) => true,
        TokenTree::Group(group) => is_constant(group.stream(), variables),
        TokenTree::Ident(ident) => {
            let name = ident.to_string();
            let after_as = k
                .checked_sub(1)
                .and_then(|k| tokens.get(k))
                .is_some_and(|token| matches!(token, TokenTree::Ident(before) if before == "as"));
            name == "as"
                || after_as
                // A field or method of a constant, or a module or type within a path.
                || is(k.checked_sub(1), '.')
                || (is(Some(k + 1), ':') && is(Some(k + 2), ':'))
                || variables.contains(&ident)
                || !name.contains(char::is_lowercase)
        }
        _ => true,
    })
}
