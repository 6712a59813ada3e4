//! The parser of `layout!`, which reads the input into a small model. The grammar is in the macro's
//! documentation.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Attribute, Error, Ident, Lifetime, Member, Path, Result, Token, Type, Visibility, braced, bracketed,
    parse::{Parse, ParseStream},
    token::{Brace, Bracket},
};

use super::number::Expression;

/// The input of the procedural macro: the path of dtype-runtime, and the user's input.
pub(crate) struct Call {
    pub(crate) runtime: Path,
    pub(crate) input: LayoutInput,
}

/// The user's input: everything between the parentheses of `layout!`.
pub(crate) struct LayoutInput {
    pub(crate) name: Option<Name>,
    pub(crate) body: Body,
}

/// The name of a layout: `pub type Column =`.
pub(crate) struct Name {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) ident: Ident,
}

pub(crate) enum Body {
    Array(Box<Array>),
    TypeMap(Vec<MapEntry>),
}

/// A layout of an array: `column_major f64[100][100] => [.., 3] + [3, ..] for i in 0..8`.
pub(crate) struct Array {
    pub(crate) column_major: bool,
    pub(crate) element: Type,
    pub(crate) lengths: Vec<Expression>,
    pub(crate) terms: Vec<Term>,
    pub(crate) loops: Vec<Loop>,
}

/// A selection from the array: `[.., 3].velocity[0..2]`.
pub(crate) struct Term {
    /// The selections, one for each dimension.
    pub(crate) items: Vec<Item>,
    pub(crate) path: Vec<Step>,
    /// The source location for messages about the whole term.
    pub(crate) span: Span,
}

/// A step from an element to a part of it.
pub(crate) enum Step {
    Field(Member),
    Items(Vec<Item>),
}

/// A selection in one dimension.
pub(crate) enum Item {
    Index(Expression),
    Range(Range),
    List(TokenStream),
}

/// A range of indices: `1..-1;2`.
pub(crate) struct Range {
    pub(crate) start: Option<Expression>,
    pub(crate) dots: Dots,
    pub(crate) end: Option<Expression>,
    pub(crate) step: Option<Expression>,
}

/// The operator between the bounds of a range.
pub(crate) enum Dots {
    HalfOpen(Token![..]),
    Closed(Token![..=]),
}

/// A loop over a variable: `i in 0..8`.
pub(crate) struct Loop {
    pub(crate) variable: Ident,
    pub(crate) start: Expression,
    pub(crate) closed: bool,
    pub(crate) end: Expression,
}

/// An entry of a type map: `f64 @ 8`.
pub(crate) struct MapEntry {
    pub(crate) ty: Type,
    pub(crate) displacement: Expression,
}

impl Parse for Call {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let runtime = input.call(Path::parse_mod_style)?;
        input.parse::<Token![;]>()?;
        Ok(Self { runtime, input: input.parse()? })
    }
}

impl Parse for LayoutInput {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility: Visibility = input.parse()?;
        let named = input.peek(Token![type]);
        let name = if named {
            input.parse::<Token![type]>()?;
            let ident = input.parse()?;
            input.parse::<Token![=]>()?;
            Some(Name { attributes, visibility, ident })
        } else if attributes.is_empty() && matches!(visibility, Visibility::Inherited) {
            None
        } else {
            return Err(
                input.error("expected `type`, as in `layout!(pub type Column = f64[9][9] => [.., 3]);`")
            );
        };
        let body = if is_type_map(input) {
            Body::TypeMap(type_map(input)?)
        } else {
            Body::Array(Box::new(input.parse()?))
        };
        if named {
            input.parse::<Option<Token![;]>>()?;
        }
        if !input.is_empty() {
            return Err(
                input.error("expected the end of the layout, `+` and another part, or `for` and a loop")
            );
        }
        Ok(Self { name, body })
    }
}

/// Returns `true` if a type map such as `<f64 @ 8>` begins here, and not a type such as `<T as Trait>::Type`.
fn is_type_map(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    ahead.parse::<Token![<]>().is_ok()
        && (ahead.peek(Token![>]) || (ahead.parse::<Type>().is_ok() && !ahead.peek(Token![as])))
}

fn type_map(input: ParseStream<'_>) -> Result<Vec<MapEntry>> {
    input.parse::<Token![<]>()?;
    let mut entries = Vec::new();
    while !input.peek(Token![>]) {
        let ty = input.parse()?;
        let example = "expected `@` and a displacement in bytes, as in `<i32 @ 0, f64 @ 8>`";
        input.parse::<Token![@]>().map_err(|error| Error::new(error.span(), example))?;
        entries
            .push(MapEntry { ty, displacement: Expression::parse(input, &|input| input.peek(Token![>]))? });
        if !input.peek(Token![>]) {
            input.parse::<Token![,]>()?;
        }
    }
    input.parse::<Token![>]>()?;
    Ok(entries)
}

impl Parse for Array {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.is_empty() {
            return Err(input.error("expected a layout, as in `f64[100][100] => [.., 3]`"));
        }
        let column_major = input.peek(syn::Ident) && input.fork().parse::<Ident>()? == "column_major";
        if column_major {
            input.parse::<Ident>()?;
        }
        let element = input.parse()?;
        let mut lengths = Vec::new();
        while input.peek(Bracket) {
            let content;
            let brackets = bracketed!(content in input).span.join();
            if content.is_empty() {
                return Err(Error::new(brackets, "expected the length of a dimension, as in `[100]`"));
            }
            lengths.push(Expression::parse(&content, &|_| false)?);
            if !content.is_empty() {
                return Err(content.error("expected a single length: one bracket for each dimension"));
            }
        }
        let arrow = "expected `=>` and a selection, as in `f64[100][100] => [.., 3]`";
        input.parse::<Token![=>]>().map_err(|error| Error::new(error.span(), arrow))?;
        let mut terms = vec![input.parse()?];
        while input.parse::<Option<Token![+]>>()?.is_some() {
            terms.push(input.parse()?);
        }
        let mut loops = Vec::new();
        if input.parse::<Option<Token![for]>>()?.is_some() {
            loops.push(input.parse()?);
            while input.parse::<Option<Token![,]>>()?.is_some() {
                loops.push(input.parse()?);
            }
        }
        Ok(Self { column_major, element, lengths, terms, loops })
    }
}

impl Parse for Term {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut span = input.span();
        let mut items = Vec::new();
        if input.peek(Bracket) {
            (items, span) = bracketed_items(input)?;
        } else if input.peek(Brace) {
            items.push(input.parse()?);
        } else if !input.peek(Token![.]) || input.peek(Token![..]) {
            return Err(input.error(
                "expected a selection: `[…]` with an index or a range for each dimension, `{…}` with a list \
                 of indices, or `.field`",
            ));
        }
        if input.peek(Bracket) {
            return Err(input
                .error("all indices stand in one bracket, as in `[.., 3]`; between two parts stands `+`"));
        }
        let mut path = Vec::new();
        while input.peek(Token![.]) || (input.peek(Bracket) && !path.is_empty()) {
            path.push(if input.peek(Bracket) {
                Step::Items(bracketed_items(input)?.0)
            } else {
                input.parse::<Token![.]>()?;
                Step::Field(input.parse()?)
            });
        }
        Ok(Self { items, path, span })
    }
}

/// Parses `[.., 3]`.
fn bracketed_items(input: ParseStream<'_>) -> Result<(Vec<Item>, Span)> {
    let content;
    let span = bracketed!(content in input).span.join();
    let items = content.parse_terminated(Item::parse, Token![,])?;
    Ok((items.into_iter().collect(), span))
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(Brace) {
            let content;
            braced!(content in input);
            return Ok(Self::List(content.parse()?));
        }
        let start = if starts_range(input) { None } else { Some(Expression::parse(input, &|_| false)?) };
        match start {
            Some(index) if !starts_range(input) => Ok(Self::Index(index)),
            start => {
                let range = Range::parse_from(start, input)?;
                if starts_range(input) {
                    return Err(input.error("a step stands behind a semicolon, as in `0..10;2`"));
                }
                Ok(Self::Range(range))
            }
        }
    }
}

fn starts_range(input: ParseStream<'_>) -> bool {
    input.peek(Token![..])
}

impl Range {
    fn parse_from(start: Option<Expression>, input: ParseStream<'_>) -> Result<Self> {
        let dots = match input.parse()? {
            Some(dots) => Dots::Closed(dots),
            None => Dots::HalfOpen(input.parse()?),
        };
        let ends = input.is_empty() || input.peek(Token![,]) || input.peek(Token![;]);
        if let (true, Dots::Closed(dots)) = (ends, &dots) {
            return Err(Error::new_spanned(dots, "expected the last index after `..=`"));
        }
        let end = if ends { None } else { Some(Expression::parse(input, &|_| false)?) };
        let step = match input.parse::<Option<Token![;]>>()? {
            Some(_) => Some(Expression::parse(input, &|_| false)?),
            None => None,
        };
        Ok(Self { start, dots, end, step })
    }

    pub(crate) fn closed(&self) -> bool {
        matches!(self.dots, Dots::Closed(_))
    }
}

impl Parse for Loop {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let example = "expected a loop, as in `for i in 0..8`";
        let variable = input.parse().map_err(|error: Error| Error::new(error.span(), example))?;
        input.parse::<Token![in]>().map_err(|error| Error::new(error.span(), example))?;
        if starts_range(input) {
            return Err(input.error("a loop needs a first number, as in `for i in 0..8`"));
        }
        let start = Expression::parse(input, &|_| false)?;
        if !starts_range(input) {
            return Err(input.error("expected `..` and the end of the loop, as in `for i in 0..8`"));
        }
        let Range { dots, end, step, .. } = Range::parse_from(None, input)?;
        let of_step = "a loop has no step: multiply the variable where it is used";
        if let Some(step) = step {
            return Err(Error::new_spanned(step, of_step));
        }
        if starts_range(input) {
            return Err(input.error(of_step));
        }
        let Some(end) = end else {
            return Err(Error::new_spanned(dots, "a loop needs an end, as in `for i in 0..8`"));
        };
        Ok(Self { variable, start, closed: matches!(dots, Dots::Closed(_)), end })
    }
}

impl Expression {
    /// Parses the tokens of an expression, which the compiler interprets later. The expression ends at the
    /// end of the input, a comma, a semicolon, the dots of a range, or where `ends` returns `true`.
    fn parse(input: ParseStream<'_>, ends: &dyn Fn(ParseStream<'_>) -> bool) -> Result<Self> {
        let mut tokens = TokenStream::new();
        while !(input.is_empty()
            || input.peek(Token![,])
            || input.peek(Token![;])
            || starts_range(input)
            || ends(input))
        {
            if input.peek(Token![::]) {
                input.parse::<Token![::]>()?.to_tokens(&mut tokens);
            } else if input.peek(Lifetime) {
                // The label of a block, with its colon.
                input.parse::<Lifetime>()?.to_tokens(&mut tokens);
                input.parse::<Option<Token![:]>>()?.to_tokens(&mut tokens);
            } else if input.peek(Token![:]) {
                let message = "a range has dots: `..` for all of a dimension, `1..3`, or `0..10;2`";
                return Err(input.error(message));
            } else {
                input.parse::<TokenTree>()?.to_tokens(&mut tokens);
            }
        }
        if tokens.is_empty() {
            return Err(input.error("expected a number: an index, or a bound such as in `1..3`"));
        }
        Ok(Self::new(tokens))
    }
}

impl ToTokens for Dots {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::HalfOpen(dots) => dots.to_tokens(tokens),
            Self::Closed(dots) => dots.to_tokens(tokens),
        }
    }
}

/// Writes a range without its step: the tokens that a message about the range points at.
impl ToTokens for Range {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.start.to_tokens(tokens);
        self.dots.to_tokens(tokens);
        self.end.to_tokens(tokens);
    }
}
