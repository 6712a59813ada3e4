//! The implementation that the derive writes.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Error, Result, parse_quote};

use crate::{
    ast::Struct,
    emit,
    known::{self, Facts},
    valid,
};

/// The expansion of `#[derive(MpiDatatype)]`.
pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    valid::check(input)?;
    let Some(item) = Struct::of(input)? else {
        return Err(Error::new_spanned(&input.ident, "`#[derive(MpiDatatype)]` is for structs"));
    };
    let ident = item.ident;
    let (types, members): (Vec<_>, Vec<_>) =
        item.fields.iter().map(|field| (field.ty, &field.member)).unzip();
    let mut generics = item.generics.clone();
    for parameter in item.generics.type_params() {
        let name = &parameter.ident;
        generics.make_where_clause().predicates.push(parse_quote!(#name: __dtype::MpiDatatype));
    }
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let lazy = lazy(&item);
    let safety =
        " SAFETY: the fields of the struct, in order, with the offsets that the compiler gives them.";
    Ok(quote! {
        const _: () = {
            use ::dtype_runtime::__private as __dtype;

            #[doc = #safety]
            #[automatically_derived]
            unsafe impl #parameters __dtype::MpiDatatype for #ident #arguments #bounds {
                __dtype::fields!(offset_of: #(#members: #types),*);

                fn lazy() -> &'static __dtype::LazyDatatype {
                    #lazy
                }
            }

            __dtype::equivalence!({#parameters} {#ident #arguments} {#bounds});
        };
    })
}

/// The body of `lazy`: a `static` with the finished constructor calls where the macro can see the whole layout, an empty
/// one for other structs, and an entry found by type for generic ones, which cannot have a `static` of their own.
fn lazy(item: &Struct<'_>) -> TokenStream {
    if !item.generics.params.is_empty() {
        return quote!(__dtype::of_type::<Self>());
    }
    let mut facts = Facts::default();
    let expansion = known::of_struct(item, &mut facts).and_then(|known| {
        let extent = i64::try_from(known.size).ok()?;
        emit::expansion(&known.tree, Some(extent), &facts.expression())
    });
    let expansion = expansion.unwrap_or_else(|| quote!(::core::option::Option::None));
    let ident = item.ident;
    quote! {
        static LAZY: __dtype::LazyDatatype = __dtype::LazyDatatype::new::<#ident>(#expansion);
        &LAZY
    }
}
