//! The implementations that the derive writes.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::{DeriveInput, Generics, Ident, Result, Type, parse_quote_spanned, parse2, spanned::Spanned};

use crate::{
    ast::{Field, Input, Kind},
    emit::{self, ours_at},
    errors::Errors,
    known::{self, Facts},
    message, valid,
};

/// Returns the expansion of `#[derive(MpiDatatype)]`.
///
/// The `unsafe impl`s must be sound whatever module `#[mpi(crate = "…")]` names. So each `unsafe impl` sets
/// `DtypeRuntime` to the type `Runtime`, and the compiler accepts only the `Runtime` of this library.
/// Everything else in an `unsafe impl` comes from functions of that type and of the trait, which no other
/// crate can define.
pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let mut errors = Errors::default();
    let item = Input::of(input, &mut errors);
    valid::check(input, item.as_ref(), &mut errors);
    errors.finish()?;
    // A union has been rejected above.
    Ok(item.map_or_else(TokenStream::new, |item| implementations(&item)))
}

/// Returns the implementations that stand beside the errors of a rejected type: those of a struct without
/// fields. With them, the compiler reports no further errors where the type is sent or received.
///
/// The result is empty if the type's attributes are wrong, too, if it borrows, or if it has no size: then it
/// cannot implement the traits.
pub(crate) fn stand_in(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let Some(mut item) = Input::of(input, &mut errors) else { return TokenStream::new() };
    let is_unsized = |ty: &Type| match ty {
        Type::Slice(_) | Type::TraitObject(_) => true,
        ty => ty.to_token_stream().to_string() == "str",
    };
    let has_size = match &item.kind {
        Kind::Struct(fields) => fields.last().is_none_or(|last| !is_unsized(last.ty)),
        Kind::Enum(_) => true,
    };
    if errors.finish().is_err() || input.generics.lifetimes().next().is_some() || !has_size {
        return TokenStream::new();
    }
    item.attributes.bytes = false;
    implementations(&Input { kind: Kind::Struct(Vec::new()), below: None, ..item })
}

fn implementations(item: &Input<'_>) -> TokenStream {
    let ident = item.ident;
    let generics = bounded(item);
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let types = Types::of(item);
    let members = match &item.kind {
        Kind::Struct(fields) => struct_members(item, fields, &types),
        Kind::Enum(variants) => enum_members(item, variants),
    };
    let runtime = &item.attributes.runtime;
    let safety = match item.kind {
        Kind::Struct(_) => {
            " SAFETY: the fields of the struct, in order, with the offsets that the compiler gives them."
        }
        Kind::Enum(_) => " SAFETY: the enum is its discriminant, of the integer type that `repr` says.",
    };
    // Each field has a constant of its own, so that a failed assertion is reported at the field, even if the
    // type is unused.
    let fixed = match &item.kind {
        Kind::Struct(fields) if item.attributes.bytes && item.generics.params.is_empty() => fields.as_slice(),
        _ => &[],
    };
    // `Self` exists only within the item: a field that names it is checked by the constants of the whole
    // type.
    let fixed = fixed.iter().filter(|field| !known::may_name_self(field.ty)).map(|field| {
        let ty = field.ty;
        quote_spanned!(ours_at(ty.span())=> const _: () = __dtype::Runtime::must_be_fixed::<#ty>();)
    });
    let witness = emit::witness();
    let (equivalence, marks) = (equivalence(item, &generics), marks(item, &generics, &types));
    let (aliases, messages) = (&types.aliases, message::of_datatype(item, &generics));
    ours! {
        // The expansion names the user's type and fields, which may be deprecated, but does not use them.
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

            #messages
            #marks
            #equivalence
            #(#fixed)*
        };
    }
}

/// The types of the fields that travel, as the expansion names them.
///
/// The compiler evaluates the length of an array type each time that the type is written. So arrays and
/// tuples have an alias, unless only the item itself can name them. Each field has an alias of its own,
/// because equal tokens need not name equal types: `$crate` means the crate of the macro that wrote it.
struct Types {
    aliases: TokenStream,
    /// The types, one for each field.
    of_fields: Vec<TokenStream>,
}

impl Types {
    fn of(item: &Input<'_>) -> Self {
        let fields = match &item.kind {
            Kind::Struct(fields) => fields.as_slice(),
            Kind::Enum(_) => &[],
        };
        // If a field may name a type that is called like an alias, no aliases are declared.
        let has_aliases =
            item.generics.params.is_empty() && !fields.iter().any(|field| known::may_name_alias(field.ty));
        let mut types = Self { aliases: TokenStream::new(), of_fields: Vec::new() };
        for (number, field) in fields.iter().filter(|field| !field.skipped).enumerate() {
            let ty = field.ty;
            let has_alias =
                has_aliases && matches!(ty, Type::Array(_) | Type::Tuple(_)) && !known::may_name_self(ty);
            types.of_fields.push(if has_alias {
                // With this span, the compiler reports errors about the alias at the field.
                let alias = format_ident!("__DtypeField{number}", span = ty.span());
                types.aliases.extend(ours!(type #alias = #ty;));
                ours!(#alias)
            } else {
                ty.to_token_stream()
            });
        }
        types
    }

    /// Returns the types without duplicates. Only single names are compared.
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

/// Returns the implementations of the marker traits that rsmpi's `Equivalence` needs. `AnyPattern` holds if
/// every byte pattern of each field is a valid value or the user guarantees valid values: rsmpi may receive
/// such a type. `Complete` holds if no field is skipped: rsmpi may construct values of such a type.
fn marks(item: &Input<'_>, generics: &Generics, types: &Types) -> TokenStream {
    let of_all = types.distinct();
    let any_pattern = item.is_any_pattern().then(|| {
        let of_all = if item.attributes.vouched { &[][..] } else { &of_all };
        mark(item, generics, &ours!(AnyPattern), of_all)
    });
    let complete = item.is_complete().then(|| mark(item, generics, &ours!(Complete), &of_all));
    ours!(#any_pattern #complete)
}

/// Returns the implementation of one marker trait, bounded by the same trait for the types of the fields.
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

/// Returns the bound that a type has a marker trait. The bound is on a reference, which has the marker traits
/// of its referent. A bound on the reference is checked where the implementation is used, not where it is
/// defined.
fn marked(ty: &impl ToTokens, name: &TokenStream) -> TokenStream {
    ours!(for<'__dtype> &'__dtype #ty: __dtype::#name)
}

/// Returns the `where` clause of `generics`, extended by `more`.
fn with_bounds(generics: &Generics, more: impl IntoIterator<Item = TokenStream>) -> TokenStream {
    let own = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let all: Vec<_> = own.map(ToTokens::to_token_stream).chain(more).collect();
    if all.is_empty() { TokenStream::new() } else { ours!(where #(#all),*) }
}

/// Returns the implementation of rsmpi's `Equivalence`, bounded by both marker traits. If the item itself
/// shows that it lacks one of them, the bound is a trait that no type implements, and its message gives the
/// reason. The compiler would not give the reason for an unsatisfied bound on the marker trait itself.
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

/// Returns the generics with the bounds that the implementation needs: the predicates of
/// `#[mpi(bound = "…")]`, or one bound for each type parameter. As in serde, only parameters that a
/// travelling field mentions must be `MpiDatatype`.
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

/// Returns the members of the implementation for a struct.
fn struct_members(item: &Input<'_>, fields: &[Field<'_>], types: &Types) -> TokenStream {
    let travelling = fields.iter().filter(|field| !field.skipped);
    let types = &types.of_fields;
    // Each constant is written only if it differs from the trait's default.
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
    let places = travelling.map(|field| {
        let (member, name) = (&field.member, field.name());
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

        // Inlined, so that the crate generates code only for the types that it uses.
        #[inline]
        fn lazy() -> &'static __dtype::LazyDatatype {
            #unchanged
            #lazy
        }
    }
}

/// Returns a statement that never runs, and compiles only if the item still has the fields, field types or
/// variants that the derive saw, and no others. Returns `None` if no attribute that may be a macro stands
/// below the derive.
///
/// For a struct, the statement constructs a value. This checks all of the above, takes no references to
/// packed fields, and moves nothing out of a type with a destructor. A coercion cannot hide a changed field
/// type, because no type that travels coerces to another one.
fn unchanged(item: &Input<'_>) -> Option<TokenStream> {
    // With this span, the compiler reports errors about the statement at the attribute.
    let span = ours_at(item.below?.span());
    let seen = match &item.kind {
        Kind::Struct(fields) => {
            let value = |Field { member, ty, .. }: &Field<'_>| quote_spanned!(span=> #member: loop {} as #ty);
            let values = fields.iter().map(value);
            // A union with one field also accepts such a literal, but no pattern with `..`.
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

/// Returns an associated constant of type `bool`.
fn flag(name: &str, value: bool) -> TokenStream {
    let name = Ident::new(name, Span::mixed_site());
    ours!(const #name: ::core::primitive::bool = #value;)
}

/// Returns the members of the implementation for an enum without data, which travels as its discriminant.
fn enum_members(item: &Input<'_>, variants: &[&Ident]) -> TokenStream {
    // The name in `repr` always means the primitive type, even if the name is shadowed.
    let integer = item.repr.integer.as_ref().map(|integer| ours!(::core::primitive::#integer));
    let (costs, lazy, unchanged) = (costs(item), lazy(item, &[]), unchanged(item));
    let vouched = item.attributes.vouched.then(|| flag("VOUCHED", true));
    ours! {
        const FACTS: __dtype::Facts = __dtype::Runtime::facts_of_enum::<Self, #integer>();
        const RUNS: __dtype::RunBuffer = <#integer as __dtype::MpiDatatype>::RUNS;
        #vouched
        #costs

        #[inline(always)]
        fn visit(__dtype_visitor: &mut impl __dtype::Visitor) {
            __dtype::Runtime::visit_integer::<Self, #integer>(__dtype_visitor);
        }

        fn is_valid(__dtype_packed: &[::core::primitive::u8]) -> ::core::primitive::bool {
            // With braces, the path of a variant `A()` also constructs a value, and does not name the
            // constructor.
            __dtype::Runtime::is_one_of::<#integer>(__dtype_packed, &[#(Self::#variants {} as #integer),*])
        }

        // Inlined, so that the crate generates code only for the types that it uses.
        #[inline]
        fn lazy() -> &'static __dtype::LazyDatatype {
            #unchanged
            #lazy
        }
    }
}

/// Returns the constant with the cost model, unless the model is the default.
fn costs(item: &Input<'_>) -> Option<TokenStream> {
    let tokens = item.attributes.cost.tokens.as_ref()?;
    Some(ours!(const COSTS: __dtype::LinearCosts = #tokens;))
}

/// Returns the body of `lazy`. If the macro can see the whole layout, the body is a `static` with the
/// finished constructor calls.
///
/// Otherwise the body looks up an entry by type. A generic type cannot have a `static` of its own. A type
/// that constant evaluation solves could have one, but would then be solved even if it is unused.
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
