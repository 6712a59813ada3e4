//! The implementation that the derive writes.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{DeriveInput, Generics, Ident, Result, parse_quote, spanned::Spanned};

use crate::{
    ast::{Field, Item, Kind},
    emit,
    known::{self, Facts},
    valid::{self, Errors},
};

/// The expansion of `#[derive(MpiDatatype)]`.
pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let mut errors = Errors::default();
    let item = Item::of(input, &mut errors);
    valid::check(input, item.as_ref(), &mut errors);
    errors.finish()?;
    // What is neither struct nor enum has been refused.
    let Some(item) = item else { return Ok(TokenStream::new()) };
    let ident = item.ident;
    let generics = bounded(&item);
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let members = match &item.kind {
        Kind::Struct(fields) => struct_members(&item, fields),
        Kind::Enum(variants) => enum_members(&item, variants),
    };
    let runtime = &item.attributes.runtime;
    let safety = match item.kind {
        Kind::Struct(_) => {
            " SAFETY: the fields of the struct, in order, with the offsets that the compiler gives them."
        }
        Kind::Enum(_) => " SAFETY: the enum is its discriminant, of the integer type that `repr` says.",
    };
    // rsmpi makes values out of what it receives, which needs every field.
    // Constants of their own, so that what they assert is refused at the field, without further use.
    let fixed = match &item.kind {
        Kind::Struct(fields) if item.attributes.bytes && item.generics.params.is_empty() => fields.as_slice(),
        _ => &[],
    };
    let fixed = fixed.iter().map(|field| {
        let ty = field.ty;
        quote_spanned!(ty.span()=> const _: () = __dtype::must_be_fixed::<#ty>();)
    });
    let equivalence = item
        .is_complete()
        .then(|| quote!(__dtype::equivalence!({#parameters} {#ident #arguments} {#bounds});));
    Ok(quote! {
        const _: () = {
            use #runtime::__private as __dtype;

            #[doc = #safety]
            #[automatically_derived]
            unsafe impl #parameters __dtype::MpiDatatype for #ident #arguments #bounds {
                #members
            }

            #equivalence
            #(#fixed)*
        };
    })
}

/// The generics with the bounds that the implementation needs: one for each type parameter that a travelling field
/// mentions, as serde does it, or those that `#[mpi(bound = "…")]` gives.
fn bounded(item: &Item<'_>) -> Generics {
    let mut generics = item.generics.clone();
    let inferred = || {
        let travel = |name: &Ident| match &item.kind {
            Kind::Struct(fields) => fields.iter().any(|field| !field.skipped && known::holds(field.ty, name)),
            Kind::Enum(_) => false,
        };
        let bounds = item.generics.type_params().map(|parameter| {
            let name = &parameter.ident;
            if travel(name) {
                parse_quote!(#name: __dtype::MpiDatatype)
            } else {
                parse_quote!(#name: 'static)
            }
        });
        bounds.collect()
    };
    let bounds = item.attributes.bound.clone().unwrap_or_else(inferred);
    if !bounds.is_empty() {
        generics.make_where_clause().predicates.extend(bounds);
    }
    generics
}

/// The members of the implementation for a struct.
fn struct_members(item: &Item<'_>, fields: &[Field<'_>]) -> TokenStream {
    let travelling = || fields.iter().filter(|field| !field.skipped);
    let (types, members): (Vec<_>, Vec<_>) = travelling().map(|field| (field.ty, &field.member)).unzip();
    let order = if item.attributes.memory_order { quote!(Memory) } else { quote!(Declared) };
    // What there is to say beyond the fields.
    let loose = (!item.repr.c && !item.repr.transparent).then(|| quote!(.loose()));
    let incomplete = (!item.is_complete()).then(|| quote!(.incomplete()));
    let bytes = item.attributes.bytes.then(|| {
        quote!(
            const BYTES: ::core::primitive::bool = true;
        )
    });
    let costs = costs(item);
    let lazy = lazy(item, fields);
    quote! {
        __dtype::fields!(offset_of, #order, [#(#members: #types),*] #loose #incomplete);
        #bytes
        #costs

        // Inlined, so that a crate pays for the types only that it uses.
        #[inline]
        fn lazy() -> &'static __dtype::LazyDatatype {
            #lazy
        }
    }
}

/// The members of the implementation for an enum without data, which travels as the integer it is.
fn enum_members(item: &Item<'_>, variants: &[&Ident]) -> TokenStream {
    // The name in `repr` is always the primitive type, whatever else it may mean.
    let integer = item.repr.integer.as_ref().map(|integer| quote!(::core::primitive::#integer));
    let (costs, lazy) = (costs(item), lazy(item, &[]));
    quote! {
        const DESCRIPTION: __dtype::Description = <#integer as __dtype::MpiDatatype>::DESCRIPTION;
        const FACTS: __dtype::Facts = <#integer as __dtype::MpiDatatype>::FACTS.restricted();
        const RUNS: __dtype::RunBuffer = <#integer as __dtype::MpiDatatype>::RUNS;

        #[inline(always)]
        fn visit(visitor: &mut impl __dtype::Visitor) {
            __dtype::visit_integer::<Self, #integer>(visitor);
        }

        fn is_valid(packed: &[::core::primitive::u8]) -> ::core::primitive::bool {
            __dtype::is_one_of::<#integer>(packed, &[#(Self::#variants as #integer),*])
        }
        #costs

        // Inlined, so that a crate pays for the types only that it uses.
        #[inline]
        fn lazy() -> &'static __dtype::LazyDatatype {
            #lazy
        }
    }
}

/// The cost model, where it is not the default.
fn costs(item: &Item<'_>) -> Option<TokenStream> {
    let tokens = item.attributes.cost.tokens.as_ref()?;
    Some(quote!(const COSTS: __dtype::LinearCosts = #tokens;))
}

/// The body of `lazy`: a `static` with the finished constructor calls where the macro can see the whole layout. For other
/// types, an entry found by type: generic ones cannot have a `static` of their own, and those that constant evaluation is to
/// solve would be solved with it, used or not.
fn lazy(item: &Item<'_>, fields: &[Field<'_>]) -> TokenStream {
    let mut facts = Facts::default();
    let known = match item.kind {
        Kind::Struct(_) => known::of_struct(item, fields, &mut facts),
        Kind::Enum(_) => None,
    };
    let expansion = known.and_then(|known| {
        let extent = i64::try_from(known.size).ok()?;
        emit::expansion(&known.tree, Some(extent), &item.attributes.cost.model, &facts.expression())
    });
    let Some(expansion) = expansion else { return quote!(__dtype::of_type::<Self>()) };
    let ident = item.ident;
    quote! {
        static LAZY: __dtype::LazyDatatype = __dtype::LazyDatatype::new::<#ident>(#expansion);
        &LAZY
    }
}
