//! The implementation that the derive writes.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::{
    DeriveInput, Generics, Ident, Member, Result, Type, ext::IdentExt, parse_quote_spanned, parse2,
    spanned::Spanned,
};

use crate::{
    ast::{Field, Input, Kind},
    emit::{self, ours_at},
    errors::Errors,
    known::{self, Facts},
    valid,
};

/// The expansion of `#[derive(MpiDatatype)]`.
///
/// Its `unsafe impl`s must hold whatever module `#[mpi(crate = "…")]` names. So each of them names the type
/// `Runtime` as its `DtypeRuntime`, and the compiler refuses any but ours; and what they say they say in
/// functions of that type and of the trait, which nobody else can write.
pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let mut errors = Errors::default();
    let item = Input::of(input, &mut errors);
    valid::check(input, item.as_ref(), &mut errors);
    errors.finish()?;
    // What is neither struct nor enum has been refused.
    let Some(item) = item else { return Ok(TokenStream::new()) };
    let ident = item.ident;
    let generics = bounded(&item);
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let types = Types::of(&item);
    let members = match &item.kind {
        Kind::Struct(fields) => struct_members(&item, fields, &types),
        Kind::Enum(variants) => enum_members(&item, variants),
    };
    let runtime = &item.attributes.runtime;
    let safety = match item.kind {
        Kind::Struct(_) => {
            " SAFETY: the fields of the struct, in order, with the offsets that the compiler gives them."
        }
        Kind::Enum(_) => " SAFETY: the enum is its discriminant, of the integer type that `repr` says.",
    };
    // Constants of their own, so that what they assert is refused at the field, without further use.
    let fixed = match &item.kind {
        Kind::Struct(fields) if item.attributes.bytes && item.generics.params.is_empty() => fields.as_slice(),
        _ => &[],
    };
    // Only within the type itself is there a `Self`; of such a field the whole type says it.
    let fixed = fixed.iter().filter(|field| !known::may_name_self(field.ty)).map(|field| {
        let ty = field.ty;
        quote_spanned!(ours_at(ty.span())=> const _: () = __dtype::Runtime::must_be_fixed::<#ty>();)
    });
    let witness = emit::witness();
    let (equivalence, marks) = (equivalence(&item, &generics), marks(&item, &generics, &types));
    let aliases = &types.aliases;
    Ok(ours! {
        // The user's own type and fields are named here, and not used.
        #[allow(deprecated)]
        const _: () = {
            use #runtime::__private as __dtype;
            #aliases

            #[doc = #safety]
            #[automatically_derived]
            unsafe impl #parameters __dtype::MpiDatatype for #ident #arguments #bounds {
                #witness
                #members
            }

            #marks
            #equivalence
            #(#fixed)*
        };
    })
}

/// The types of the fields that travel, as they are named here. The length of an array is an expression to
/// the compiler, each time that it is written: so arrays and tuples have an alias, unless only the type
/// itself can name them.
///
/// Each has its own. What reads the same need not be the same type: a `$crate` is that of the macro which
/// wrote it.
struct Types {
    aliases: TokenStream,
    /// One a field.
    of_fields: Vec<TokenStream>,
}

impl Types {
    fn of(item: &Input<'_>) -> Self {
        let fields = match &item.kind {
            Kind::Struct(fields) => fields.as_slice(),
            Kind::Enum(_) => &[],
        };
        // An alias must not be what another field names: then there are none.
        let has_aliases =
            item.generics.params.is_empty() && !fields.iter().any(|field| known::may_name_alias(field.ty));
        let mut types = Self { aliases: TokenStream::new(), of_fields: Vec::new() };
        for (number, field) in fields.iter().filter(|field| !field.skipped).enumerate() {
            let ty = field.ty;
            let has_alias =
                has_aliases && matches!(ty, Type::Array(_) | Type::Tuple(_)) && !known::may_name_self(ty);
            types.of_fields.push(if has_alias {
                // What the compiler has to say of it, it says at the field.
                let alias = format_ident!("__DtypeField{number}", span = ty.span());
                types.aliases.extend(ours!(type #alias = #ty;));
                ours!(#alias)
            } else {
                ty.to_token_stream()
            });
        }
        types
    }

    /// Each once, as far as that can be seen: single names.
    fn distinct(&self) -> Vec<&TokenStream> {
        let mut names = Vec::new();
        let mut is_new = |ty: &&TokenStream| match parse2::<Ident>((*ty).clone()) {
            Ok(name) if names.contains(&name) => false,
            Ok(name) => {
                names.push(name);
                true
            }
            Err(_) => true,
        };
        self.of_fields.iter().filter(|ty| is_new(ty)).collect()
    }
}

/// What rsmpi may do with values: receive them, if every pattern of each field is a value or the user vouches
/// for it; and make new ones, if there are no fields that do not travel.
fn marks(item: &Input<'_>, generics: &Generics, types: &Types) -> TokenStream {
    let of_all = types.distinct();
    let any_pattern = item.is_any_pattern().then(|| {
        let of_all = if item.attributes.vouched { &[][..] } else { &of_all };
        mark(item, generics, &ours!(AnyPattern), of_all)
    });
    let complete = item.is_complete().then(|| mark(item, generics, &ours!(Complete), &of_all));
    ours!(#any_pattern #complete)
}

/// The implementation of a mark that types have whose fields have it.
fn mark(item: &Input<'_>, generics: &Generics, name: &TokenStream, types: &[&TokenStream]) -> TokenStream {
    let (ident, witness) = (item.ident, emit::witness());
    let (parameters, arguments, _) = generics.split_for_impl();
    let bounds = with_bounds(generics, types.iter().map(|ty| marked(ty, name)));
    ours! {
        /// SAFETY: so are all fields that travel, or the user vouches for it.
        #[automatically_derived]
        unsafe impl #parameters __dtype::#name for #ident #arguments #bounds {
            #witness
        }
    }
}

/// A type has a mark. Of references, which have it as what they refer to, the compiler asks it only where it
/// matters.
fn marked(ty: &impl ToTokens, name: &TokenStream) -> TokenStream {
    ours!(for<'__dtype> &'__dtype #ty: __dtype::#name)
}

/// The conditions of generics, and more.
fn with_bounds(generics: &Generics, more: impl IntoIterator<Item = TokenStream>) -> TokenStream {
    let own = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let all: Vec<_> = own.map(ToTokens::to_token_stream).chain(more).collect();
    if all.is_empty() { TokenStream::new() } else { ours!(where #(#all),*) }
}

/// rsmpi's `Equivalence`, for whoever has both marks. Where it is seen here that one is missing, a bound that
/// nobody satisfies says so: of a mark that the type itself lacks the compiler would not tell.
fn equivalence(item: &Input<'_>, generics: &Generics) -> TokenStream {
    let ident = item.ident;
    let (parameters, arguments, _) = generics.split_for_impl();
    let own = ours!(#ident #arguments);
    let refused = |why| ours!(for<'__dtype> &'__dtype (): __dtype::#why<#own>);
    let received =
        if item.is_any_pattern() { marked(&own, &ours!(AnyPattern)) } else { refused(ours!(ReceivedByMpi)) };
    let made = if item.is_complete() { marked(&own, &ours!(Complete)) } else { refused(ours!(MadeByRsmpi)) };
    let bounds = with_bounds(generics, [received, made]);
    ours! {
        /// SAFETY: the datatype is the one of the type, with its extent; rsmpi may receive values and make
        /// new ones.
        #[automatically_derived]
        unsafe impl #parameters __dtype::Equivalence for #ident #arguments #bounds {
            type Out = __dtype::EquivalentDatatype;

            #[inline]
            fn equivalent_datatype() -> __dtype::EquivalentDatatype {
                __dtype::Runtime::equivalent_datatype::<Self>()
            }
        }
    }
}

/// The generics with the bounds that the implementation needs: one for each type parameter that a travelling
/// field mentions, as serde does it, or those that `#[mpi(bound = "…")]` gives.
fn bounded(item: &Input<'_>) -> Generics {
    let mut generics = item.generics.clone();
    let inferred = || {
        let travel = |name: &Ident| match &item.kind {
            Kind::Struct(fields) => fields.iter().any(|field| !field.skipped && known::holds(field.ty, name)),
            Kind::Enum(_) => false,
        };
        let bounds = item.generics.type_params().map(|parameter| {
            let name = &parameter.ident;
            if travel(name) {
                parse_quote_spanned!(Span::mixed_site()=> #name: __dtype::MpiDatatype)
            } else {
                parse_quote_spanned!(Span::mixed_site()=> #name: 'static)
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
fn struct_members(item: &Input<'_>, fields: &[Field<'_>], types: &Types) -> TokenStream {
    let travelling = fields.iter().filter(|field| !field.skipped);
    let (types, members) = (&types.of_fields, travelling.map(|field| &field.member).collect::<Vec<_>>());
    // What there is to say beyond the fields.
    let loose = (!item.repr.c && !item.repr.transparent).then(|| flag("FIXED", false));
    let incomplete = (!item.is_complete()).then(|| flag("COMPLETE", false));
    let bytes = item.attributes.bytes.then(|| flag("BYTES", true));
    let vouched = item.attributes.vouched.then(|| flag("VOUCHED", true));
    let numbers: Vec<_> = (0..types.len()).map(Literal::usize_unsuffixed).collect();
    let visit = |(i, ty)| ours!(<#ty as __dtype::MpiDatatype>::visit_in::<Self>(__dtype_visitor, #i));
    let visits: Vec<_> = numbers.iter().zip(types).map(visit).collect();
    let (order, visits) = if item.attributes.memory_order {
        let count = types.len();
        let order = ours! {
            const ORDER: &'static [::core::primitive::usize] =
                &__dtype::Runtime::in_memory::<#count>(<Self as __dtype::MpiDatatype>::LIST);

            #[inline(always)]
            fn visit_nth(
                __dtype_visitor: &mut impl __dtype::Visitor,
                __dtype_field: ::core::primitive::usize,
            ) {
                match __dtype_field {
                    #(#numbers => #visits,)*
                    _ => {}
                }
            }
        };
        (Some(order), ours!(__dtype::Runtime::visit_in_order::<Self>(__dtype_visitor);))
    } else {
        (None, ours!(#(#visits;)*))
    };
    let costs = costs(item);
    let (lazy, unchanged) = (lazy(item, fields), unchanged(item));
    let places = members.iter().map(|member| {
        let name = match member {
            Member::Named(name) => name.unraw().to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        };
        ours!(::core::mem::offset_of!(Self, #member), #name)
    });
    ours! {
        const LIST: &'static [__dtype::Field] =
            &[#(<#types as __dtype::MpiDatatype>::FIELD.at(#places)),*];
        #order
        #loose
        #incomplete
        #bytes
        #vouched
        #costs

        #[inline(always)]
        fn visit(__dtype_visitor: &mut impl __dtype::Visitor) {
            #visits
        }

        // Inlined, so that a crate pays for the types only that it uses.
        #[inline]
        fn lazy() -> &'static __dtype::LazyDatatype {
            #unchanged
            #lazy
        }
    }
}

/// A statement that never runs, and compiles only if the item is as the derive saw it: with these fields, of
/// these types, or these variants, and no others. Where no attribute stands below the derive, nothing.
///
/// A value of the type is all that, takes no references to packed fields, and moves nothing out of a type
/// with a destructor. No type that travels coerces to another one.
fn unchanged(item: &Input<'_>) -> Option<TokenStream> {
    // What the compiler has to say of it, it says at the attribute.
    let span = ours_at(item.below?.span());
    let seen = match &item.kind {
        Kind::Struct(fields) => {
            let value = |Field { member, ty, .. }: &Field<'_>| quote_spanned!(span=> #member: loop {} as #ty);
            let values = fields.iter().map(value);
            // A union may have such a literal as well, if it has one field, but no pattern with `..`.
            quote_spanned!(span=> let Self { .. } = Self { #(#values),* };)
        }
        Kind::Enum(variants) => quote_spanned! { span=>
            match (loop {} as Self) {
                #(Self::#variants {} => {})*
            }
        },
    };
    Some(quote_spanned!(span=> #[allow(trivial_casts, unreachable_code)] if false { #seen }))
}

/// One of the constants of type `bool`.
fn flag(name: &str, value: bool) -> TokenStream {
    let name = Ident::new(name, Span::mixed_site());
    ours!(const #name: ::core::primitive::bool = #value;)
}

/// The members of the implementation for an enum without data, which travels as the integer it is.
fn enum_members(item: &Input<'_>, variants: &[&Ident]) -> TokenStream {
    // The name in `repr` is always the primitive type, whatever else it may mean.
    let integer = item.repr.integer.as_ref().map(|integer| ours!(::core::primitive::#integer));
    let (costs, lazy, unchanged) = (costs(item), lazy(item, &[]), unchanged(item));
    let vouched = item.attributes.vouched.then(|| flag("VOUCHED", true));
    ours! {
        const DESCRIPTION: __dtype::Description = <#integer as __dtype::MpiDatatype>::DESCRIPTION;
        const FACTS: __dtype::Facts = __dtype::Runtime::facts_of_enum::<Self, #integer>();
        const RUNS: __dtype::RunBuffer = <#integer as __dtype::MpiDatatype>::RUNS;
        #vouched
        #costs

        #[inline(always)]
        fn visit(__dtype_visitor: &mut impl __dtype::Visitor) {
            __dtype::Runtime::visit_integer::<Self, #integer>(__dtype_visitor);
        }

        fn is_valid(__dtype_packed: &[::core::primitive::u8]) -> ::core::primitive::bool {
            // Braces make a value of a variant `A()` as well, and not its constructor.
            __dtype::Runtime::is_one_of::<#integer>(__dtype_packed, &[#(Self::#variants {} as #integer),*])
        }

        // Inlined, so that a crate pays for the types only that it uses.
        #[inline]
        fn lazy() -> &'static __dtype::LazyDatatype {
            #unchanged
            #lazy
        }
    }
}

/// The cost model, where it is not the default.
fn costs(item: &Input<'_>) -> Option<TokenStream> {
    let tokens = item.attributes.cost.tokens.as_ref()?;
    Some(ours!(const COSTS: __dtype::LinearCosts = #tokens;))
}

/// The body of `lazy`: a `static` with the finished constructor calls where the macro can see the whole
/// layout. For other types, an entry found by type: generic ones cannot have a `static` of their own, and
/// those that constant evaluation is to solve would be solved with it, used or not.
fn lazy(item: &Input<'_>, fields: &[Field<'_>]) -> TokenStream {
    let mut facts = Facts::default();
    let known = match item.kind {
        Kind::Struct(_) => known::of_struct(item, fields, &mut facts),
        Kind::Enum(_) => None,
    };
    let expansion = known.and_then(|known| {
        let extent = i64::try_from(known.size).ok()?;
        emit::expansion(&known.tree, Some(extent), &item.attributes.cost.model, &facts.expression())
    });
    let Some(expansion) = expansion else { return ours!(__dtype::Runtime::of_type::<Self>()) };
    let ident = item.ident;
    ours! {
        static LAZY: __dtype::LazyDatatype = __dtype::Runtime::entry::<#ident>(#expansion);
        &LAZY
    }
}
