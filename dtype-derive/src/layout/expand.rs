//! The code that `layout!` writes. If everything is known at compile time, this is a type whose region is a
//! constant; otherwise, the calls that assemble the region at run time.
//!
//! Both forms have the same loops around the same calls of `push`. The compiler evaluates the first form, and
//! the running program the second.

use dtype_core::{NodeCosts, TypeTree};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::{Error, Path, Result, Type, ext::IdentExt, spanned::Spanned};

use super::{
    check,
    number::{Expression, mentions},
    parse::{Array, Body, Item, LayoutInput, Loop, MapEntry, Name, Range, Step, Term},
};
use crate::{
    emit::{self, ours_at, witness},
    known,
};

/// Returns the expansion of `layout!`.
pub(crate) fn expand(runtime: &Path, input: &LayoutInput) -> Result<TokenStream> {
    let name = input.name.as_ref();
    match &input.body {
        Body::TypeMap(entries) => {
            check::type_map(entries)?;
            Ok(fixed(runtime, name, &of_type_map(entries)))
        }
        Body::Array(array) => {
            let literal = check::array(array)?;
            match (array.first_value(), name) {
                (None, _) => Ok(fixed(runtime, name, &of_array(array, literal.as_ref()))),
                (Some(value), Some(name)) => Err(Error::new(
                    value,
                    format!(
                        "`{}` is a type, so this bound must be a constant: an integer, or a name in upper \
                         case",
                        name.ident
                    ),
                )),
                (Some(_), None) => Ok(dynamic(runtime, array)),
            }
        }
    }
}

/// The parts of the expansion for a layout that is known at compile time.
struct Fixed {
    element: TokenStream,
    shape: TokenStream,
    /// The constants of the layout, the last of which is `__DTYPE_PIECES`.
    constants: TokenStream,
    order: TokenStream,
    /// The kind of the layout: whole elements, or parts of them.
    selects: TokenStream,
    /// `true` if the macro can see that no element is selected twice. Otherwise the compiler checks this.
    disjoint: bool,
    /// The solved layout, an expression of type `Option<Expansion>`, if the macro could solve it.
    expansion: Option<TokenStream>,
}

impl Array {
    fn variables(&self) -> Vec<&Ident> {
        self.loops.iter().map(|a_loop| &a_loop.variable).collect()
    }

    /// Returns the location of the first expression whose value is known only at run time.
    fn first_value(&self) -> Option<Span> {
        let variables = self.variables();
        let value = |expression: &Expression| {
            (!expression.is_constant(&variables)).then(|| expression.to_token_stream().span())
        };
        let ends = self.loops.iter().flat_map(|Loop { start, end, .. }| [start, end]);
        let items = self.terms.iter().flat_map(|term| term.items.iter().chain(term.inner()));
        self.lengths.iter().chain(ends).find_map(value).or_else(|| {
            items.into_iter().find_map(|item| match item {
                Item::List(list) => Some(list.span()),
                Item::Index(index) => value(index),
                Item::Range(Range { start, end, step, .. }) => {
                    [start, end, step].into_iter().flatten().find_map(value)
                }
            })
        })
    }

    /// Returns `true` if all terms select whole elements.
    fn selects_elements(&self) -> bool {
        self.terms.iter().all(|term| term.path.is_empty())
    }

    fn order(&self) -> TokenStream {
        if self.column_major {
            ours!(__dtype::ArrayOrder::ColumnMajor)
        } else {
            ours!(__dtype::ArrayOrder::RowMajor)
        }
    }
}

impl Item {
    fn span(&self) -> Span {
        match self {
            Self::Index(index) => index.to_token_stream().span(),
            Self::Range(range) => range.to_token_stream().span(),
            Self::List(list) => list.span(),
        }
    }
}

impl Term {
    /// Returns the selections from the arrays on the path.
    fn inner(&self) -> impl Iterator<Item = &Item> {
        self.path.iter().flat_map(|step| match step {
            Step::Items(items) => &items[..],
            Step::Field(_) => &[],
        })
    }
}

/// The time at which the expansion is evaluated.
#[derive(Clone, Copy, PartialEq)]
enum When {
    Compiling,
    Running,
}

impl When {
    /// Returns an expression of type `i128`.
    fn number(self, expression: &Expression) -> TokenStream {
        if let Some(value) = expression.value(&Vec::new()) {
            let value = Literal::i128_suffixed(value);
            return quote_spanned!(ours_at(expression.to_token_stream().span())=> #value);
        }
        let span = ours_at(expression.to_token_stream().span());
        match self {
            // A constant cannot call trait methods; a call of `is_integer` checks the type instead.
            Self::Compiling => {
                quote_spanned!(span=> { __dtype::is_integer(#expression); (#expression) as i128 })
            }
            Self::Running => quote_spanned!(span=> __dtype::Integer::wide(#expression)),
        }
    }

    /// Returns the expression that selects an item's indices in a dimension, or in an array on a path.
    fn select(self, dimension: usize, length: &TokenStream, item: &Item) -> TokenStream {
        let span = ours_at(item.span());
        let item = self.item(item);
        quote_spanned! {span=> {
            let __dtype_length = #length;
            __dtype_pieces.select(#dimension, __dtype_length, #item)
        }}
    }

    fn item(self, item: &Item) -> TokenStream {
        let number = |bound: &Option<Expression>| {
            let Some(bound) = bound else { return ours!(::core::option::Option::None) };
            let bound = self.number(bound);
            ours!(::core::option::Option::Some(#bound))
        };
        match item {
            Item::Index(index) => {
                let index = self.number(index);
                ours!(__dtype::Item::Index(#index))
            }
            Item::Range(Range { start: None, end: None, step: None, .. }) => ours!(__dtype::Item::ALL),
            Item::Range(range) => {
                let (start, end, closed) = (number(&range.start), number(&range.end), range.closed());
                let step = range.step.as_ref().map_or_else(|| ours!(1), |step| self.number(step));
                ours!(__dtype::Item::Range { start: #start, end: #end, closed: #closed, step: #step })
            }
            // A list within an element has been rejected. Other lists are selected by a call of `list`.
            Item::List(_) => TokenStream::new(),
        }
    }

    /// Returns the tokens that begin the body of each loop and count an iteration. The running program leaves
    /// the loops at the first mistake; too many iterations are a mistake. For a constant layout, the compiler
    /// has counted the iterations before.
    fn goes_on(self) -> TokenStream {
        match self {
            Self::Compiling => TokenStream::new(),
            Self::Running => ours! {
                if !__dtype_pieces.turn() {
                    break;
                }
            },
        }
    }
}

/// Returns `body` within all loops. The body of each loop begins with `beginning`.
fn looped(loops: &[Loop], beginning: &TokenStream, body: &TokenStream) -> TokenStream {
    loops.iter().rev().fold(body.clone(), |body, Loop { variable, start, closed, end }| {
        let body = ours!(#beginning #body);
        let turn = if *closed {
            ours! {
                while #variable <= __dtype_end {
                    #body
                    if #variable == __dtype_end {
                        break;
                    }
                    #variable += 1;
                }
            }
        } else {
            ours! {
                while #variable < __dtype_end {
                    #body
                    #variable += 1;
                }
            }
        };
        ours! {{
            let mut #variable = #start;
            let __dtype_end = #end;
            #turn
        }}
    })
}

impl Term {
    /// Returns the statement `let __dtype_path0 = …;` for the path from an element to the selected part.
    fn path(&self, number: usize, element: &Type, when: When) -> TokenStream {
        let name = path_name(number);
        if self.path.is_empty() {
            return match when {
                When::Compiling => ours!(let #name = <__DtypeLayout as __dtype::Selection>::WHOLE;),
                When::Running => ours!(let #name = __dtype_pieces.whole();),
            };
        }
        // `place` is the path so far, with the first entry of every array. `carried` asserts that every step
        // leads through a type that MPI carries, and so through no union, box or reference. `arrays` are the
        // arrays on the path. The user's tokens occur only in place expressions, outside of `unsafe` blocks.
        let (mut place, mut carried, mut arrays) = (TokenStream::new(), Vec::new(), Vec::new());
        let mut span = ours_at(self.span);
        for (k, step) in self.path.iter().enumerate() {
            match step {
                Step::Field(field) => {
                    if k > 0 {
                        carried.push(quote_spanned! {span=>
                            __dtype::Runtime::is_carried(&raw const __dtype_element #place);
                        });
                    }
                    span = ours_at(field.span());
                    place.extend(ours!(.#field));
                }
                Step::Items(items) => items.iter().for_each(|_| {
                    arrays.push(quote_spanned! {span=>
                        let __dtype_array = &raw const __dtype_element #place;
                        // SAFETY: the array is on the path, and the next steps lead to its entries.
                        let __dtype_path = unsafe { __dtype_path.through(__dtype_array) };
                    });
                    place.extend(quote_spanned!(span=> [0]));
                }),
            }
        }
        let to = quote_spanned! {span=>
            let __dtype_field = &raw const __dtype_element #place;
            // SAFETY: the field is part of the element.
            let __dtype_path = unsafe { __dtype::Path::to(__dtype_runtime, __dtype_element, __dtype_field) };
        };
        ours! {
            let #name = const {
                let __dtype_runtime: __dtype::Runtime = __dtype::Runtime::OURS;
                let __dtype_memory = ::core::mem::MaybeUninit::<#element>::uninit();
                // SAFETY: nothing is read through the reference.
                let __dtype_element = unsafe { __dtype::Runtime::unwritten(&__dtype_memory) };
                #(#carried)*
                #to
                #(#arrays)*
                __dtype_path
            };
        }
    }

    /// Returns the statements that select the term's items and push them as a piece.
    fn push(&self, number: usize, when: When) -> TokenStream {
        let path = path_name(number);
        let dimensions = self.items.len();
        let axes = self.items.iter().enumerate().map(|(k, item)| match item {
            Item::List(_) => list_name(number, k).into_token_stream(),
            item => when.select(k, &ours!(__dtype_pieces.length(#k)), item),
        });
        let entries = self
            .inner()
            .enumerate()
            .map(|(k, item)| when.select(dimensions + k, &ours!(#path.length(#k)), item));
        ours! {
            let __dtype_axes = [#(#axes),*];
            let __dtype_entries = [#(#entries),*];
            __dtype_pieces.push(__dtype_axes, &#path, __dtype_entries);
        }
    }
}

fn path_name(term: usize) -> Ident {
    format_ident!("__dtype_path{term}", span = Span::mixed_site())
}

fn list_name(term: usize, dimension: usize) -> Ident {
    format_ident!("__dtype_list{term}_{dimension}", span = Span::mixed_site())
}

/// Returns the statements that push all pieces, after those that need no loop.
fn pushes(array: &Array, when: When) -> TokenStream {
    let (mut before, mut pushes) = (TokenStream::new(), TokenStream::new());
    for (number, term) in array.terms.iter().enumerate() {
        before.extend(term.path(number, &array.element, when));
        for (k, item) in term.items.iter().enumerate() {
            if let Item::List(list) = item {
                let name = list_name(number, k);
                let list_of =
                    quote_spanned!(ours_at(list.span())=> let #name = __dtype_pieces.list(#k, &(#list)););
                // A list is read once, unless it mentions a loop variable.
                let place =
                    if mentions(list.clone(), &array.variables()) { &mut pushes } else { &mut before };
                place.extend(list_of);
            }
        }
        pushes.extend(term.push(number, when));
    }
    before.extend(looped(&array.loops, &when.goes_on(), &pushes));
    before
}

fn of_array(array: &Array, literal: Option<&(Vec<usize>, check::Progressions)>) -> Fixed {
    let Array { element, lengths, terms, loops, .. } = array;
    let dimensions = lengths.len();
    let numbers = lengths.iter().map(|length| When::Compiling.number(length));
    let pushes = pushes(array, When::Compiling);
    let terms = terms.len();
    let count = if let Some((_, pieces)) = literal {
        pieces.len().to_token_stream()
    } else {
        let turn = ours!(__dtype_turns = __dtype::Runtime::turn(__dtype_turns););
        let turns = looped(loops, &turn, &ours!(__dtype_pieces += #terms;));
        ours! {{
            let (mut __dtype_pieces, mut __dtype_turns) = (0, 0);
            #turns
            __dtype_pieces
        }}
    };
    let constants = ours! {
        const __DTYPE_PIECES: &__dtype::FixedPieces<#element, #count, #dimensions> = &{
            let mut __dtype_pieces =
                __dtype::Runtime::fixed_pieces::<#element, #count, #dimensions>([#(#numbers),*]);
            #pushes
            __dtype_pieces
        };
    };
    // The fold begins at the innermost dimension in memory.
    let nest = |shape, (k, length): (usize, &Expression)| {
        let Some(length) = length.value(&Vec::new()) else {
            return ours!([#shape; __DTYPE_PIECES.length(#k)]);
        };
        let length = Literal::i128_unsuffixed(length);
        ours!([#shape; #length])
    };
    let shape = if array.column_major {
        lengths.iter().enumerate().fold(ours!(()), nest)
    } else {
        lengths.iter().enumerate().rev().fold(ours!(()), nest)
    };
    Fixed {
        element: element.to_token_stream(),
        shape,
        constants,
        order: array.order(),
        selects: if array.selects_elements() { ours!(__dtype::Elements) } else { ours!(__dtype::Fields) },
        // A single piece selects each of its elements once.
        disjoint: literal.is_some_and(|(_, pieces)| pieces.len() == 1),
        expansion: literal.and_then(|(lengths, pieces)| solve(array, lengths, pieces)),
    }
}

/// Returns the finished constructor calls if the element is a base type and all numbers are literals.
fn solve(array: &Array, lengths: &[usize], pieces: &check::Progressions) -> Option<TokenStream> {
    let Type::Path(path) = &array.element else { return None };
    let base = known::base_type(path.path.get_ident()?)?;
    // The dimensions from the innermost in memory out; strides are in bytes.
    let mut walk: Vec<usize> = (0..lengths.len()).rev().collect();
    if array.column_major {
        walk.reverse();
    }
    let mut strides = vec![0; lengths.len()];
    let mut pitch = i64::try_from(base.size()).ok()?;
    for &k in &walk {
        strides[k] = pitch;
        pitch = pitch.checked_mul(i64::try_from(lengths[k]).ok()?)?;
    }
    let (mut displacements, mut children) = (Vec::new(), Vec::new());
    for axes in pieces.iter().filter(|axes| axes.iter().all(|axis| axis.count > 0)) {
        let (mut start, mut tree) = (0, TypeTree::Leaf(base));
        for &k in &walk {
            start += axes[k].start as i64 * strides[k];
            tree = TypeTree::vector(axes[k].count as u64, axes[k].step as i64 * strides[k], tree);
        }
        displacements.push(start);
        children.push(tree);
    }
    expansion(displacements, children, &known::is_base(&array.element, base))
}

/// Returns the finished constructor calls for these trees, displaced so that the first one begins at 0.
fn expansion(
    mut displacements: Vec<i64>,
    children: Vec<TypeTree>,
    facts: &TokenStream,
) -> Option<TokenStream> {
    let first = displacements.first().copied().unwrap_or_default();
    for displacement in &mut displacements {
        *displacement -= first;
    }
    let tree = match <[TypeTree; 1]>::try_from(children) {
        Ok([only]) => only,
        Err(children) => TypeTree::structure(displacements, children),
    };
    emit::expansion(&tree, None, &NodeCosts::THESIS.linear(), facts)
}

fn of_type_map(entries: &[MapEntry]) -> Fixed {
    let types: Vec<_> = entries.iter().map(|entry| &entry.ty).collect();
    let displacements: Vec<_> =
        entries.iter().map(|entry| When::Compiling.number(&entry.displacement)).collect();
    let count = entries.len();
    let constants = ours! {
        const __DTYPE_PATHS: [__dtype::Path<__dtype::Memory>; #count] =
            [#(__dtype::Path::displaced::<#types>(#displacements)),*];
        const __DTYPE_END: usize = __dtype::Path::end(&__DTYPE_PATHS);
        const __DTYPE_PIECES: &__dtype::FixedPieces<__dtype::Memory, #count, 0> = &{
            let mut __dtype_pieces = __dtype::Runtime::fixed_entries::<#count>(__DTYPE_END);
            let mut __dtype_next = 0;
            while __dtype_next < #count {
                __dtype_pieces.push([], &__DTYPE_PATHS[__dtype_next], []);
                __dtype_next += 1;
            }
            __dtype_pieces
        };
    };
    Fixed {
        element: ours!([u8; __DTYPE_END]),
        shape: ours!(__dtype::Memory),
        constants,
        order: ours!(__dtype::ArrayOrder::RowMajor),
        selects: ours!(__dtype::Fields),
        disjoint: false,
        expansion: solve_type_map(entries),
    }
}

/// Returns the finished constructor calls if all types are base types and all displacements are literals.
fn solve_type_map(entries: &[MapEntry]) -> Option<TokenStream> {
    let (mut displacements, mut children, mut facts) = (Vec::new(), Vec::new(), known::Facts::default());
    for MapEntry { ty, displacement } in entries {
        let Type::Path(path) = ty else { return None };
        let base = known::base_type(path.path.get_ident()?)?;
        facts.push(known::is_base(ty, base));
        displacements.push(i64::try_from(displacement.value(&Vec::new())?).ok()?);
        children.push(TypeTree::Leaf(base));
    }
    expansion(displacements, children, &facts.expression())
}

/// Returns the layout as a value or, if it has a name, as a type and a constant of that name.
fn fixed(runtime: &Path, name: Option<&Name>, layout: &Fixed) -> TokenStream {
    let Fixed { element, shape, constants, order, selects, disjoint, expansion } = layout;
    let selection = match name {
        Some(Name { ident, .. }) => format_ident!("__{}Selection", ident.unraw()),
        None => format_ident!("__OwnTypeUseDynamicLayoutForSeveral"),
    };
    let expansion = expansion.clone().unwrap_or_else(|| ours!(::core::option::Option::None));
    let witness = witness();
    let disjoint = if *disjoint {
        ours!(true)
    } else {
        ours!({ <__DtypeLayout as __dtype::Selection>::REGION.is_disjoint() })
    };
    let items = ours! {
        #constants

        /// SAFETY: written by `layout!`; the region has been checked as it was put together.
        unsafe impl __dtype::Selection for __DtypeLayout {
            type Element = #element;
            type Shape = #shape;
            type Coverage = __dtype::Coverage<#disjoint>;
            type Selects = #selects;
            #witness
            const REGION: __dtype::Region<'static> = __DTYPE_PIECES.region(#order);

            fn entry() -> &'static __dtype::Entry {
                static LAZY: __dtype::LazyDatatype =
                    __dtype::Runtime::entry_of_selection::<__DtypeLayout>(#expansion);
                static ENTRY: __dtype::Entry = __dtype::Entry::Fixed(&LAZY);
                &ENTRY
            }
        }
    };
    let lints = lints();
    let Some(Name { attributes, visibility, ident }) = name else {
        return ours! {{
            struct __OwnTypeUseDynamicLayoutForSeveral;

            #lints
            const _: () = {
                use #runtime::__private as __dtype;
                type __DtypeLayout = __OwnTypeUseDynamicLayoutForSeveral;
                #items
            };

            #runtime::__private::StaticLayout::<__OwnTypeUseDynamicLayoutForSeveral>::new()
        }};
    };
    let of_that_name = format!("The layout [`{ident}`](type@{ident}).");
    ours! {
        #(#attributes)*
        #visibility type #ident = #runtime::__private::StaticLayout<#selection>;

        #[doc = #of_that_name]
        #[allow(non_upper_case_globals)]
        #visibility const #ident: #ident = #ident::new();

        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #visibility struct #selection;

        #lints
        const _: () = {
            use #runtime::__private as __dtype;
            type __DtypeLayout = #selection;
            #items
        };
    }
}

/// Returns the `allow` attribute for the user's expressions. The user may put a bound in brackets, which are
/// unnecessary in the expansion.
fn lints() -> TokenStream {
    ours!(#[allow(unused_parens, unused_braces, clippy::all, clippy::pedantic)])
}

/// Returns the calls that make the layout in the running program.
fn dynamic(runtime: &Path, array: &Array) -> TokenStream {
    let Array { element, lengths, .. } = array;
    let (dimensions, order) = (lengths.len(), array.order());
    let numbers = lengths.iter().map(|length| When::Running.number(length));
    let (pushes, lints) = (pushes(array, When::Running), lints());
    let new = if array.selects_elements() { ours!(new) } else { ours!(of_fields) };
    ours! {{
        #lints
        let __dtype_layout = {
            use #runtime::__private as __dtype;
            let mut __dtype_pieces = __dtype::Pieces::<#element, #dimensions>::new([#(#numbers),*]);
            #pushes
            __dtype::DynamicLayout::#new(__dtype_pieces, #order)
        };
        __dtype_layout
    }}
}
