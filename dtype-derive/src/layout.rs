//! `layout!`: parsing, checks and expansion.

use dtype_core::{NodeCosts, TypeTree};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{
    Error, LitInt, Path, Result, Token, bracketed,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
    token::Bracket,
};

use crate::{emit, known, valid::Errors};

/// The most dimensions an array may have.
const MOST_DIMENSIONS: usize = 4;

/// `f64[100][100] => [.., 3]`
pub(crate) struct LayoutInput {
    element: Path,
    lengths: Vec<LitInt>,
    brackets: Span,
    items: Punctuated<Item, Token![,]>,
}

/// What is selected in one dimension.
enum Item {
    Index(Bound),
    Range { start: Option<Bound>, dots: Dots, end: Option<Bound>, step: Option<Bound> },
}

/// What stands between the bounds of a range.
enum Dots {
    HalfOpen(Token![..]),
    Closed(Token![..=]),
}

/// An integer literal, possibly negative.
struct Bound {
    negative: Option<Token![-]>,
    literal: LitInt,
}

impl Parse for LayoutInput {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let element: Path = input.parse()?;
        let mut lengths = Vec::new();
        while input.peek(Bracket) {
            let content;
            bracketed!(content in input);
            let length = content.parse::<LitInt>().map_err(|error| {
                Error::new(
                    error.span(),
                    "expected the length of a dimension as an integer literal, as in `[100]`",
                )
            })?;
            if !content.is_empty() {
                return Err(
                    content.error("expected a single integer literal: one bracket for each dimension")
                );
            }
            lengths.push(length);
        }
        if lengths.is_empty() {
            return Err(
                input.error("expected the array's dimensions after its element type, as in `f64[100][100]`")
            );
        }
        input.parse::<Token![=>]>()?;
        let content;
        let brackets = bracketed!(content in input).span.join();
        let items = content.parse_terminated(Item::parse, Token![,])?;
        Ok(Self { element, lengths, brackets, items })
    }
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let starts_range = |input: ParseStream<'_>| input.peek(Token![..]) || input.peek(Token![..=]);
        let start = if starts_range(input) { None } else { Some(input.parse::<Bound>()?) };
        if !starts_range(input) {
            return match start {
                Some(index) => Ok(Self::Index(index)),
                None => Err(input.error("expected an index or a range")),
            };
        }
        let dots = match input.parse()? {
            Some(dots) => Dots::Closed(dots),
            None => Dots::HalfOpen(input.parse()?),
        };
        let ends = input.is_empty() || input.peek(Token![,]) || input.peek(Token![;]);
        if let (true, Dots::Closed(dots)) = (ends, &dots) {
            return Err(Error::new_spanned(dots, "expected the last index after `..=`"));
        }
        let end = if ends { None } else { Some(input.parse::<Bound>()?) };
        let step = match input.parse::<Option<Token![;]>>()? {
            Some(_) => Some(input.parse::<Bound>()?),
            None => None,
        };
        Ok(Self::Range { start, dots, end, step })
    }
}

impl Parse for Bound {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let negative = input.parse()?;
        let literal = input.parse().map_err(|error| {
            Error::new(error.span(), "expected an integer literal, or a range such as `..` or `1..3`")
        })?;
        Ok(Self { negative, literal })
    }
}

impl ToTokens for Bound {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.negative.to_tokens(tokens);
        self.literal.to_tokens(tokens);
    }
}

/// An index, or a range without its step: what a message about it points at.
impl ToTokens for Item {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Index(index) => index.to_tokens(tokens),
            Self::Range { start, dots, end, .. } => {
                start.to_tokens(tokens);
                match dots {
                    Dots::HalfOpen(dots) => dots.to_tokens(tokens),
                    Dots::Closed(dots) => dots.to_tokens(tokens),
                }
                end.to_tokens(tokens);
            }
        }
    }
}

impl Bound {
    fn value(&self) -> Result<i128> {
        // A u64 always fits, so that every message can show the value as it was written.
        let value = i128::from(self.literal.base10_parse::<u64>()?);
        Ok(if self.negative.is_some() { -value } else { value })
    }
}

/// One dimension worked out, in elements of that dimension.
struct Selected {
    start: usize,
    count: usize,
    step: usize,
}

impl Item {
    /// The elements selected in dimension `k`, which has `length`.
    fn select(&self, k: usize, length: usize) -> Result<Selected> {
        let at = |bound: &Bound, limit: usize, what: &str| -> Result<usize> {
            let given = bound.value()?;
            let index = if given < 0 { given + length as i128 } else { given };
            usize::try_from(index).ok().filter(|index| *index < limit).ok_or_else(|| {
                let greatest = limit as i128 - 1;
                Error::new_spanned(
                    bound,
                    format!(
                        "{what} {given} is out of bounds: dimension {k} has length {length}, so it can be \
                         -{length} to {greatest}"
                    ),
                )
            })
        };
        match self {
            Self::Index(index) => Ok(Selected { start: at(index, length, "index")?, count: 1, step: 1 }),
            Self::Range { start, dots, end, step } => {
                let first = start.as_ref().map_or(Ok(0), |bound| at(bound, length + 1, "range start"))?;
                let past = match end {
                    None => length,
                    Some(bound) if matches!(dots, Dots::Closed(_)) => at(bound, length, "range end")? + 1,
                    Some(bound) => at(bound, length + 1, "range end")?,
                };
                if past <= first {
                    return Err(Error::new_spanned(
                        self,
                        format!(
                            "the range {first}..{past} of dimension {k} is empty, and an empty layout sends nothing; \
                             its end must be greater than its start"
                        ),
                    ));
                }
                let step = match step {
                    None => 1,
                    Some(bound) => usize::try_from(bound.value()?).ok().filter(|step| *step > 0).ok_or_else(|| {
                        let error = "the step of a range must be at least 1; the elements are selected front to back";
                        Error::new_spanned(bound, error)
                    })?,
                };
                Ok(Selected { start: first, count: (past - first).div_ceil(step), step })
            }
        }
    }
}

/// The expansion of `layout!`.
pub(crate) fn expand(input: &LayoutInput) -> Result<TokenStream> {
    let (lengths, selected) = check(input)?;
    let mut start = 0;
    let mut pitch = 1usize;
    let mut dimensions = Vec::new();
    for (length, selected) in lengths.iter().zip(&selected).rev() {
        // Neither can overflow: no index is beyond the number of elements, which `check` has seen to fit.
        start += selected.start * pitch;
        if selected.count > 1 {
            dimensions.push((selected.count, selected.step * pitch));
        }
        pitch *= length;
    }
    dimensions.reverse();
    let element = &input.element;
    let source = lengths.iter().rev().fold(quote!(#element), |inner, length| quote!([#inner; #length]));
    let (counts, strides): (Vec<_>, Vec<_>) = dimensions.iter().copied().unzip();
    let expansion = solve(element, &dimensions).unwrap_or_else(|| quote!(::core::option::Option::None));
    Ok(quote! {{
        use ::dtype_runtime::__private as __dtype;

        #[derive(::core::clone::Clone, ::core::marker::Copy)]
        struct __Selection;

        /// SAFETY: written by `layout!` from checked bounds.
        unsafe impl __dtype::Selection for __Selection {
            type Element = #element;
            type Source = #source;
            const START: usize = #start;
            const DIMENSIONS: &'static [__dtype::Dimension] =
                &[#(__dtype::Dimension { count: #counts, stride: #strides }),*];

            fn lazy() -> &'static __dtype::LazyDatatype {
                static LAZY: __dtype::LazyDatatype = __dtype::LazyDatatype::of_layout(
                    <__Selection as __dtype::Selection>::describe,
                    ::core::option::Option::None,
                    #expansion,
                );
                &LAZY
            }
        }

        __dtype::StaticLayout::<__Selection>::new()
    }})
}

/// Lengths and selections of all dimensions; every mistake in one go.
fn check(input: &LayoutInput) -> Result<(Vec<usize>, Vec<Selected>)> {
    let mut errors = Errors::default();
    if let Some(extra) = input.lengths.get(MOST_DIMENSIONS) {
        errors.push(Error::new_spanned(
            extra,
            format!("{} dimensions, but a layout has at most {MOST_DIMENSIONS}", input.lengths.len()),
        ));
    }
    let mut elements = Some(1usize);
    let mut lengths = Vec::new();
    for literal in &input.lengths {
        match literal.base10_parse::<usize>() {
            Ok(0) => {
                errors.push(Error::new_spanned(literal, "a dimension of length 0 has no elements to select"));
            }
            Ok(length) => {
                lengths.push(length);
                elements = elements.and_then(|elements| elements.checked_mul(length));
            }
            Err(error) => errors.push(error),
        }
    }
    if elements.is_none_or(|elements| isize::try_from(elements).is_err()) {
        errors.push(Error::new_spanned(
            &input.lengths[0],
            format!("the array has more elements than memory can hold: the limit is {}", isize::MAX),
        ));
    }
    if input.items.len() != input.lengths.len() {
        let (items, dimensions) = (input.items.len(), input.lengths.len());
        let message = format!(
            "{items} {} for {dimensions} {}: give one index or range for each, `..` for all of a dimension",
            if items == 1 { "index" } else { "indices" },
            if dimensions == 1 { "dimension" } else { "dimensions" },
        );
        errors.push(match input.items.iter().nth(dimensions) {
            Some(extra) => Error::new_spanned(extra, message),
            None => Error::new(input.brackets, message),
        });
    }
    // Only where all lengths are good do they line up with the items.
    errors.finish()?;
    let mut errors = Errors::default();
    let mut selected = Vec::new();
    for (k, (item, length)) in input.items.iter().zip(&lengths).enumerate() {
        match item.select(k, *length) {
            Ok(selection) => selected.push(selection),
            Err(error) => errors.push(error),
        }
    }
    errors.finish()?;
    Ok((lengths, selected))
}

/// The finished constructor calls, where the element is a base type.
fn solve(element: &Path, dimensions: &[(usize, usize)]) -> Option<TokenStream> {
    let base = known::base_type(element.get_ident()?)?;
    let size = i64::try_from(base.size()).ok()?;
    let mut tree = TypeTree::Leaf(base);
    for (count, stride) in dimensions.iter().rev() {
        tree = TypeTree::vector(*count as u64, i64::try_from(*stride).ok()?.checked_mul(size)?, tree);
    }
    emit::expansion(&tree, None, &NodeCosts::THESIS.linear(), &known::is_base(element, base))
}
