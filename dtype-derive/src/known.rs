//! The layouts of types that the macro can see through: base types by name, arrays of literal length, and
//! tuples of these.
//!
//! A layout computed here rests on assumptions. A name may be shadowed, another target may have other
//! alignments, and the compiler alone decides how a tuple lies in memory. So each assumption is recorded as a
//! *fact*, which the expansion checks in a constant. If a fact does not hold, the layout is solved in a
//! constant or at run time instead.

use std::cmp::Reverse;

use dtype_core::{BaseType, TypeTree};
use proc_macro2::{Ident, Literal, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, Lit, Member, Type};

use crate::ast::{Field, Input};

/// A layout computed by the macro.
pub(crate) struct KnownLayout {
    /// The type tree before normalization; displacements are in bytes.
    pub(crate) tree: TypeTree,
    pub(crate) size: u64,
    align: u64,
    /// `true` if some byte patterns are not valid values. The compiler considers this when it orders the
    /// fields of a tuple.
    niche: bool,
}

/// A list of constant expressions of type `bool`, each with its text. All of them must hold.
#[derive(Default)]
pub(crate) struct Facts(Vec<(TokenStream, String)>);

impl Facts {
    /// Adds a fact, unless the list contains it already.
    pub(crate) fn push(&mut self, fact: TokenStream) {
        let text = fact.to_string();
        if self.0.iter().all(|(_, known)| *known != text) {
            self.0.push((fact, text));
        }
    }

    /// Returns the conjunction of all facts as one expression.
    pub(crate) fn expression(&self) -> TokenStream {
        let facts = self.0.iter().map(|(fact, _)| fact);
        ours!(#(#facts)&&*)
    }
}

/// Returns the layout of a struct if the macro can see through all of its fields and the compiler may not
/// reorder them.
pub(crate) fn of_struct(item: &Input<'_>, fields: &[Field<'_>], facts: &mut Facts) -> Option<KnownLayout> {
    let repr = &item.repr;
    let ordered = repr.c || repr.transparent || repr.packed.is_some();
    if !ordered || !item.generics.params.is_empty() || item.attributes.bytes {
        return None;
    }
    let (mut size, mut align) = (0u64, 1);
    let (mut displacements, mut children) = (Vec::new(), Vec::new());
    let (ident, mut offsets) = (item.ident, Vec::new());
    for field in fields {
        let known = of_type(field.ty, facts)?;
        let field_align = known.align.min(repr.packed.unwrap_or(u64::MAX));
        let offset = size.checked_next_multiple_of(field_align)?;
        align = align.max(field_align);
        size = offset.checked_add(known.size)?;
        if field.skipped {
            continue;
        }
        offsets.push(Literal::u64_unsuffixed(offset));
        displacements.push(i64::try_from(offset).ok()?);
        children.push(known.tree);
    }
    let align = align.max(repr.align.unwrap_or(1));
    let size = size.checked_next_multiple_of(align)?;
    let bytes = Literal::u64_unsuffixed(size);
    facts.push(ours!(__dtype::Runtime::lies_as::<#ident>(&[#(#offsets),*], #bytes)));
    let tree = TypeTree::structure(displacements, children);
    tree.measure().ok()?;
    Some(KnownLayout { tree, size, align, niche: false })
}

/// Returns the layout of a type if the macro can see through it.
fn of_type(ty: &Type, facts: &mut Facts) -> Option<KnownLayout> {
    match ty {
        Type::Paren(paren) => of_type(&paren.elem, facts),
        Type::Group(group) => of_type(&group.elem, facts),
        Type::Path(path) if path.qself.is_none() => {
            let name = path.path.get_ident()?;
            let base = base_type(name)?;
            facts.push(is_base(ty, base));
            let size = base.size();
            let niche = name == "bool" || name == "char";
            Some(KnownLayout { tree: TypeTree::Leaf(base), size, align: base.alignment(), niche })
        }
        Type::Array(array) => {
            let Expr::Lit(literal) = &array.len else { return None };
            let Lit::Int(length) = &literal.lit else { return None };
            let length: u64 = length.base10_parse().ok()?;
            let element = of_type(&array.elem, facts)?;
            let size = element.size.checked_mul(length)?;
            let stride = i64::try_from(element.size).ok()?;
            let tree = TypeTree::vector(length, stride, element.tree);
            tree.measure().ok()?;
            Some(KnownLayout { tree, size, align: element.align, niche: element.niche && length > 0 })
        }
        Type::Tuple(tuple) => {
            let fields: Option<Vec<_>> = tuple.elems.iter().map(|ty| of_type(ty, facts)).collect();
            of_tuple(ty, fields?, facts)
        }
        _ => None,
    }
}

/// Returns the layout of a tuple, with the field order that the compiler chooses.
///
/// The compiler keeps the last field in place and sorts the others by alignment, largest first. For this
/// sort, the alignment of a field counts as the largest power of two that divides its size. If a field is of
/// a restricted type, this number is at most the largest alignment of all fields, and restricted fields come
/// first among equals.
fn of_tuple(ty: &Type, fields: Vec<KnownLayout>, facts: &mut Facts) -> Option<KnownLayout> {
    let largest = fields.iter().map(|field| field.align).max().unwrap_or(1);
    let niche = fields.iter().any(|field| field.niche);
    let group = |field: &KnownLayout| {
        let zeros = field.align.max(field.size).trailing_zeros();
        if niche { zeros.min(largest.trailing_zeros()) } else { zeros }
    };
    let mut in_memory: Vec<usize> = (0..fields.len()).collect();
    if let Some((_last, ordered)) = in_memory.split_last_mut() {
        ordered.sort_by_key(|i| (Reverse(group(&fields[*i])), !fields[*i].niche));
    }
    let mut displacements = vec![0i64; fields.len()];
    let mut size = 0u64;
    for i in in_memory {
        let offset = size.checked_next_multiple_of(fields[i].align)?;
        displacements[i] = i64::try_from(offset).ok()?;
        size = offset.checked_add(fields[i].size)?;
    }
    let size = size.checked_next_multiple_of(largest)?;
    for (i, displacement) in displacements.iter().enumerate() {
        let (member, at) = (Member::from(i), Literal::i64_unsuffixed(*displacement));
        facts.push(ours!(::core::mem::offset_of!(#ty, #member) == #at));
    }
    let bytes = Literal::u64_unsuffixed(size);
    facts.push(ours!(::core::mem::size_of::<#ty>() == #bytes));
    let children: Vec<_> = fields.into_iter().map(|field| field.tree).collect();
    let tree = TypeTree::structure(displacements, children);
    tree.measure().ok()?;
    Some(KnownLayout { tree, size, align: largest, niche })
}

/// Returns `true` if values of a type may hold values of a type parameter: the type names the parameter, and
/// not only in `PhantomData`.
pub(crate) fn holds(ty: &Type, parameter: &Ident) -> bool {
    has_token_in_values(ty, &|token| matches!(token, TokenTree::Ident(ident) if ident == parameter))
}

/// Returns `true` if a type contains a name.
pub(crate) fn names(ty: &Type, name: &Ident) -> bool {
    has_token(ty, &|token| matches!(token, TokenTree::Ident(ident) if ident == name))
}

/// Returns `true` if a type may contain `Self`, which has no meaning outside the item. A macro call counts,
/// because it may expand to any name.
pub(crate) fn may_name_self(ty: &Type) -> bool {
    has_token(ty, &|token| match token {
        TokenTree::Ident(ident) => ident == "Self",
        TokenTree::Punct(punct) => punct.as_char() == '!',
        TokenTree::Group(_) | TokenTree::Literal(_) => false,
    })
}

/// Returns `true` if a type of the user's may name one of the aliases that the expansion declares. A macro
/// call counts, because it may expand to any name.
pub(crate) fn may_name_alias(ty: &Type) -> bool {
    has_token(ty, &|token| match token {
        TokenTree::Ident(ident) => ident.to_string().starts_with("__DtypeField"),
        TokenTree::Punct(punct) => punct.as_char() == '!',
        TokenTree::Group(_) | TokenTree::Literal(_) => false,
    })
}

/// Returns `true` if values of a type may contain a reference.
pub(crate) fn has_reference(ty: &Type) -> bool {
    has_token_in_values(ty, &|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '&'))
}

/// Returns `true` if values of a type may borrow for a lifetime that the type names.
pub(crate) fn has_lifetime(ty: &Type) -> bool {
    has_token_in_values(ty, &|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '\''))
}

/// Looks for a token of a type, except in the arguments of `PhantomData`.
fn has_token_in_values(ty: &Type, is_it: &impl Fn(&TokenTree) -> bool) -> bool {
    fn among(tokens: TokenStream, is_it: &impl Fn(&TokenTree) -> bool) -> bool {
        // The number of angle brackets that are open, from those of `PhantomData` on.
        let (mut open, mut last) = (None, ' ');
        for token in tokens {
            let found = match &token {
                TokenTree::Group(group) => open.is_none() && among(group.stream(), is_it),
                token => open.is_none() && is_it(token),
            };
            if found {
                return true;
            }
            match (&token, open) {
                (TokenTree::Ident(name), None) if name == "PhantomData" => open = Some(0),
                (TokenTree::Punct(punct), Some(levels)) => match (last, punct.as_char()) {
                    (_, '<') => open = Some(levels + 1),
                    // Not the end of an arrow.
                    (before, '>') if before != '-' => open = if levels > 1 { Some(levels - 1) } else { None },
                    (_, ',') if levels == 0 => open = None,
                    _ => {}
                },
                _ => {}
            }
            last = if let TokenTree::Punct(punct) = &token { punct.as_char() } else { ' ' };
        }
        false
    }
    among(ty.to_token_stream(), is_it)
}

fn has_token(ty: &Type, is_it: &impl Fn(&TokenTree) -> bool) -> bool {
    fn among(tokens: TokenStream, is_it: &impl Fn(&TokenTree) -> bool) -> bool {
        tokens.into_iter().any(|token| match &token {
            TokenTree::Group(group) => among(group.stream(), is_it),
            token => is_it(token),
        })
    }
    among(ty.to_token_stream(), is_it)
}

/// Returns the base type that a name stands for, unless the name is shadowed.
pub(crate) fn base_type(name: &syn::Ident) -> Option<BaseType> {
    if name == "char" {
        return Some(BaseType::U32);
    }
    // The other base types are no types of Rust, though type maps name them.
    let is_type = |base: &BaseType| !matches!(base, BaseType::C32 | BaseType::C64 | BaseType::Byte);
    BaseType::all_plain().filter(is_type).find(|base| name == base.name())
}

/// Returns the fact that `ty` is the base type `base` where the expansion stands.
pub(crate) fn is_base(ty: &impl ToTokens, base: BaseType) -> TokenStream {
    // The base type is passed as text, whose meaning does not depend on the module that the expansion names.
    let base = base.name();
    ours!(__dtype::Runtime::is_base::<#ty>(#base))
}
