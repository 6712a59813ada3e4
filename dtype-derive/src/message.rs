//! The implementations of `MpiMessage` and `FromMessage`: those of `#[derive(MpiMessage)]`, and those that
//! `#[derive(MpiDatatype)]` adds to its own.
//!
//! Both traits are safe, and so is all of this code. If an attribute below the derive changes the fields, the
//! code does not compile: it takes values apart and puts them together field by field.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::{
    Data, DeriveInput, Fields, Generics, Ident, Result, Type, WherePredicate, ext::IdentExt,
    parse_quote_spanned, spanned::Spanned,
};

use crate::{
    ast::{self, Field, Input, Kind, Variant},
    attr::{self, MessageAttributes},
    emit::ours_at,
    errors::Errors,
    known, valid,
};

/// Returns the expansion of `#[derive(MpiMessage)]`.
pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let mut errors = Errors::default();
    let attributes = MessageAttributes::of(&input.attrs, &mut errors);
    let variants = variants(input, &mut errors);
    valid::check_message(input, &variants, &mut errors);
    errors.finish()?;
    let item = Item { input, variants };
    let runtime = &attributes.runtime;
    let bounded = |name| item.bounded(attributes.bound.as_ref(), name);
    let written = item.written(&bounded("MpiMessage"));
    let made = (!attributes.send_only).then(|| item.made(&bounded("FromMessage")));
    Ok(ours! {
        // The expansion names the user's type and fields, which may be deprecated, but does not use them.
        #[allow(deprecated)]
        const _: () = {
            use #runtime::__private as __dtype;
            #written
            #made
        };
    })
}

/// The item that the derive is applied to.
struct Item<'a> {
    input: &'a DeriveInput,
    /// The variants of an enum; a struct is one variant.
    variants: Vec<Variant<'a>>,
}

fn variants<'a>(input: &'a DeriveInput, errors: &mut Errors) -> Vec<Variant<'a>> {
    let mut of = |ident, fields: &'a Fields| Variant { ident, fields: ast::fields(fields, errors) };
    match &input.data {
        Data::Struct(data) => vec![of(None, &data.fields)],
        Data::Enum(data) => {
            let all = data.variants.iter().map(|variant| of(Some(&variant.ident), &variant.fields)).collect();
            data.variants.iter().for_each(|variant| attr::refuse(&variant.attrs, "a variant", errors));
            all
        }
        Data::Union(_) => Vec::new(),
    }
}

impl Variant<'_> {
    fn travelling(&self) -> impl Iterator<Item = &Field<'_>> {
        self.fields.iter().filter(|field| !field.skipped)
    }

    /// Returns the path of the variant.
    fn path(&self) -> TokenStream {
        self.ident.map_or_else(|| ours!(Self), |ident| ours!(Self::#ident))
    }

    /// Returns the names that a pattern gives to the fields that travel.
    fn names(&self) -> Vec<Ident> {
        let name = |i| format_ident!("__dtype_field{i}", span = Span::mixed_site());
        (0..self.travelling().count()).map(name).collect()
    }

    /// Returns a pattern that names all fields, so that it compiles only if there are no others.
    fn pattern(&self) -> TokenStream {
        let (path, mut names) = (self.path(), self.names().into_iter());
        let fields = self.fields.iter().map(|field| {
            let (member, name) = (&field.member, if field.skipped { None } else { names.next() });
            name.map_or_else(|| ours!(#member: _), |name| ours!(#member: #name))
        });
        ours!(#path { #(#fields),* })
    }

    /// Returns an expression that reads all fields in their order.
    fn value(&self) -> TokenStream {
        let path = self.path();
        let fields = self.fields.iter().map(|field| {
            let (Field { member, ty, skipped }, call) = (field, ours!(__dtype_from));
            if *skipped {
                return ours!(#member: ::core::default::Default::default());
            }
            quote_spanned!(ours_at(ty.span())=> #member: <#ty as __dtype::FromMessage>::read(#call)?)
        });
        ours!(#path { #(#fields),* })
    }

    /// Returns one call of a trait's function for each field that travels.
    fn calls(&self, call: impl Fn(&Type, &Ident) -> TokenStream) -> TokenStream {
        let names = self.names();
        self.travelling().zip(&names).map(|(field, name)| call(field.ty, name)).collect()
    }
}

impl Item<'_> {
    fn is_enum(&self) -> bool {
        matches!(self.input.data, Data::Enum(_))
    }

    fn fields(&self) -> impl Iterator<Item = &Field<'_>> {
        self.variants.iter().flat_map(|variant| &variant.fields)
    }

    /// Returns `true` if a type names the item.
    fn is_within(&self, ty: &Type) -> bool {
        known::names(ty, &self.input.ident) || known::may_name_self(ty)
    }

    /// Returns the generics with the bounds of an implementation: the predicates of `#[mpi(bound = "…")]`, or
    /// the trait for each type parameter that a travelling field mentions.
    fn bounded(&self, own: Option<&Vec<WherePredicate>>, name: &str) -> Generics {
        let mut generics = self.input.generics.clone();
        let name = Ident::new(name, Span::mixed_site());
        let inferred = || {
            let travels = |parameter: &Ident| {
                self.fields().any(|field| !field.skipped && known::holds(field.ty, parameter))
            };
            let parameters = self.input.generics.type_params().map(|parameter| &parameter.ident);
            let bound = |parameter| parse_quote_spanned!(Span::mixed_site()=> #parameter: __dtype::#name);
            parameters.filter(|parameter| travels(parameter)).map(bound).collect()
        };
        let mut bounds: Vec<WherePredicate> = own.cloned().unwrap_or_else(inferred);
        if name == "FromMessage" {
            bounds.extend(self.fields().filter(|field| field.skipped).map(|field| with_default(field.ty)));
            // A type that borrows cannot be made, if it is no `Cow`. The type itself is no bound of its own.
            // Types that contain each other cannot be bounds of each other, so the user's bounds replace
            // those of types that only name a lifetime.
            let borrows = if own.is_none() { known::has_lifetime } else { known::has_reference };
            let may_borrow =
                |field: &&Field<'_>| !field.skipped && borrows(field.ty) && !self.is_within(field.ty);
            bounds.extend(self.fields().filter(may_borrow).map(|field| with_made(field.ty)));
        }
        if !bounds.is_empty() {
            generics.make_where_clause().predicates.extend(bounds);
        }
        generics
    }

    /// Returns the type of the numbers of the variants in a message.
    fn number_type(&self) -> TokenStream {
        if self.variants.len() <= 256 { ours!(::core::primitive::u8) } else { ours!(::core::primitive::u32) }
    }

    /// Returns the implementation of `MpiMessage`.
    fn written(&self, generics: &Generics) -> TokenStream {
        let ident = &self.input.ident;
        let (parameters, arguments, bounds) = generics.split_for_impl();
        let types: Vec<_> =
            self.variants.iter().flat_map(Variant::travelling).map(|field| field.ty).collect();
        let number_type = self.number_type();
        let least = if self.is_enum() {
            ours!(::core::mem::size_of::<#number_type>())
        } else {
            ours!(0 #(+ <#types as __dtype::MpiMessage>::LEAST)*)
        };
        let described = self.variants.iter().map(|variant| {
            let name = variant.ident.map(|ident| ident.unraw().to_string());
            let name = name.map(|name| ours!(__dtype_of.add(#name);));
            let fields = variant.travelling().map(|field| {
                let (name, ty) = (field.name(), field.ty);
                // The bound is reported at the field.
                quote_spanned! { ours_at(ty.span())=>
                    __dtype_of.field(#name, <#ty as __dtype::MpiMessage>::describe);
                }
            });
            let count = Literal::usize_unsuffixed(variant.travelling().count());
            ours!(#name __dtype_of.number(#count); #(#fields)*)
        });
        let count = Literal::usize_unsuffixed(self.variants.len());
        let arms = self.variants.iter().enumerate().map(|(number, variant)| {
            let (pattern, number) = (variant.pattern(), Literal::usize_unsuffixed(number));
            let number = ours!(__dtype_to.bytes(&<#number_type>::to_ne_bytes(#number)););
            let number = self.is_enum().then_some(number);
            let fields =
                variant.calls(|ty, name| ours!(<#ty as __dtype::MpiMessage>::write(#name, __dtype_to)?;));
            ours!(#pattern => { #number #fields })
        });
        let name = ident.unraw().to_string();
        // An enum without variants has no values.
        let value = if self.variants.is_empty() { ours!(*self) } else { ours!(self) };
        ours! {
            #[automatically_derived]
            impl #parameters __dtype::MpiMessage for #ident #arguments #bounds {
                const LEAST: ::core::primitive::usize = #least;
                const KEPT: ::core::primitive::usize =
                    __dtype::greatest(&[#(<#types as __dtype::MpiMessage>::KEPT),*]);

                fn describe(__dtype_of: &mut __dtype::Fingerprint) {
                    __dtype_of.item::<Self>(|__dtype_of| {
                        __dtype_of.add(#name);
                        __dtype_of.number(#count);
                        #(#described)*
                    });
                }

                #[allow(unused_variables)]
                fn write<'__dtype>(
                    &'__dtype self,
                    __dtype_to: &mut __dtype::Writer<'__dtype>,
                ) -> ::core::result::Result<(), __dtype::Error> {
                    match #value {
                        #(#arms)*
                    }
                    #[allow(unreachable_code)]
                    ::core::result::Result::Ok(())
                }
            }
        }
    }

    /// Returns the implementation of `FromMessage`. If a field borrows, its bound does not hold. There is
    /// none if a field is a reference to the item, which cannot be a bound.
    fn made(&self, generics: &Generics) -> Option<TokenStream> {
        let refers =
            |field: &Field<'_>| !field.skipped && self.is_within(field.ty) && known::has_reference(field.ty);
        if self.fields().any(refers) {
            return None;
        }
        let (read, into, check) = if self.is_enum() { self.of_enum() } else { self.of_struct() };
        let lend = self.variants.iter().map(|variant| {
            let (pattern, fields) = (
                variant.pattern(),
                variant.calls(|ty, name| {
                    ours! {
                        if <#ty as __dtype::MpiMessage>::KEPT == <Self as __dtype::MpiMessage>::KEPT
                            && let __dtype_lent @ ::core::option::Option::Some(_) =
                                <#ty as __dtype::FromMessage>::lend(#name, __dtype_size)
                        {
                            return __dtype_lent;
                        }
                    }
                }),
            );
            ours!(#pattern => { #fields })
        });
        let ident = &self.input.ident;
        let (parameters, arguments, bounds) = generics.split_for_impl();
        let value = if self.variants.is_empty() { ours!(*self) } else { ours!(self) };
        Some(ours! {
            #[automatically_derived]
            #[allow(unused_variables, unreachable_code, unreachable_patterns)]
            impl #parameters __dtype::FromMessage for #ident #arguments #bounds {
                #[inline]
                fn read(
                    __dtype_from: &mut __dtype::Reader<'_>,
                ) -> ::core::result::Result<Self, __dtype::Error> {
                    #read
                }

                fn read_into(
                    &mut self,
                    __dtype_from: &mut __dtype::Reader<'_>,
                ) -> ::core::result::Result<(), __dtype::Error> {
                    #into
                    ::core::result::Result::Ok(())
                }

                fn check(
                    __dtype_from: &mut __dtype::Reader<'_>,
                ) -> ::core::result::Result<(), __dtype::Error> {
                    #check
                    ::core::result::Result::Ok(())
                }

                fn lend(
                    &mut self,
                    __dtype_size: ::core::primitive::usize,
                ) -> ::core::option::Option<__dtype::OwnedMemory> {
                    match #value {
                        #(#lend)*
                    }
                    ::core::option::Option::None
                }
            }
        })
    }

    /// Returns the bodies of `read`, `read_into` and `check` for a struct.
    fn of_struct(&self) -> (TokenStream, TokenStream, TokenStream) {
        let Some(variant) = self.variants.first() else { return Default::default() };
        let (value, pattern) = (variant.value(), variant.pattern());
        let (into, check) = (variant.calls(read_into), variant.calls(check));
        (ours!(::core::result::Result::Ok(#value)), ours!(let #pattern = self; #into), check)
    }

    /// Returns the bodies of `read`, `read_into` and `check` for an enum.
    fn of_enum(&self) -> (TokenStream, TokenStream, TokenStream) {
        let numbers: Vec<_> = (0..self.variants.len()).map(Literal::usize_unsuffixed).collect();
        let each =
            |of: &dyn Fn(&Variant<'_>) -> TokenStream| -> Vec<_> { self.variants.iter().map(of).collect() };
        let (values, patterns) = (each(&|variant| variant.value()), each(&|variant| variant.pattern()));
        let (intos, checks) =
            (each(&|variant| variant.calls(read_into)), each(&|variant| variant.calls(check)));
        let name = self.input.ident.unraw().to_string();
        let none = ours!(return ::core::result::Result::Err(__dtype::no_variant(
            #name,
            ::core::convert::From::from(__dtype_other),
        )));
        let number_type = self.number_type();
        let number = ours!(<#number_type>::from_ne_bytes(__dtype_from.array()?));
        let read = ours! {
            ::core::result::Result::Ok(match #number {
                #(#numbers => #values,)*
                __dtype_other => #none,
            })
        };
        let into = ours! {
            match (#number, &mut *self) {
                #((#numbers, #patterns) => { #intos })*
                #((#numbers, _) => *self = #values,)*
                (__dtype_other, _) => #none,
            }
        };
        let check = ours! {
            match #number {
                #(#numbers => { #checks })*
                __dtype_other => #none,
            }
        };
        (read, into, check)
    }
}

fn read_into(ty: &Type, name: &Ident) -> TokenStream {
    ours!(<#ty as __dtype::FromMessage>::read_into(#name, __dtype_from)?;)
}

fn check(ty: &Type, _: &Ident) -> TokenStream {
    ours!(<#ty as __dtype::FromMessage>::check(__dtype_from)?;)
}

/// Returns the bound that a skipped field has a default value. The compiler checks a bound of this form where
/// the implementation is used, not where it is defined.
fn with_default(ty: &Type) -> WherePredicate {
    parse_quote_spanned!(Span::mixed_site()=> for<'__dtype_default> #ty: ::core::default::Default)
}

/// Returns the bound that a field can be made. The compiler checks it as [`with_default`].
fn with_made(ty: &Type) -> WherePredicate {
    parse_quote_spanned!(Span::mixed_site()=> for<'__dtype_made> #ty: __dtype::FromMessage)
}

/// Returns the implementations of both traits that `#[derive(MpiDatatype)]` adds.
pub(crate) fn of_datatype(item: &Input<'_>, generics: &Generics) -> TokenStream {
    let ident = item.ident;
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let fields = match &item.kind {
        Kind::Struct(fields) => fields.as_slice(),
        Kind::Enum(_) => &[],
    };
    // A base type can be made. Whether another type can depends on its own fields.
    let others = || fields.iter().filter(|field| !field.skipped && !is_base(field.ty));
    let may_skip = !item.is_complete() || others().next().is_some();
    let read = if may_skip {
        let by_field = by_field(item, fields);
        ours!(__dtype::Runtime::read_by_field(__dtype_from, #by_field))
    } else {
        ours!(__dtype::Runtime::read(__dtype_from))
    };
    let into = may_skip.then(|| into_by_field(item, fields));
    let mut made = generics.clone();
    let more = others().map(|field| with_made(field.ty));
    let more: Vec<WherePredicate> =
        more.chain(fields.iter().filter(|field| field.skipped).map(|field| with_default(field.ty))).collect();
    if !more.is_empty() {
        made.make_where_clause().predicates.extend(more);
    }
    let (_, _, made) = made.split_for_impl();
    ours! {
        #[automatically_derived]
        impl #parameters __dtype::MpiMessage for #ident #arguments #bounds {
            const PLAIN: ::core::option::Option<__dtype::Plain<Self>> =
                __dtype::Runtime::value_type::<Self>();

            #[inline]
            fn describe(__dtype_of: &mut __dtype::Fingerprint) {
                __dtype::Runtime::describe::<Self>(__dtype_of);
            }

            #[inline]
            fn write<'__dtype>(
                &'__dtype self,
                __dtype_to: &mut __dtype::Writer<'__dtype>,
            ) -> ::core::result::Result<(), __dtype::Error> {
                __dtype::Runtime::write(self, __dtype_to)
            }
        }

        #[automatically_derived]
        impl #parameters __dtype::FromMessage for #ident #arguments #made {
            #[inline]
            fn read(__dtype_from: &mut __dtype::Reader<'_>) -> ::core::result::Result<Self, __dtype::Error> {
                #read
            }

            #into
        }
    }
}

/// Returns a closure that reads the fields of a type one by one, in packing order.
fn by_field(item: &Input<'_>, fields: &[Field<'_>]) -> TokenStream {
    let variant = Variant { ident: None, fields: fields.to_vec() };
    if !item.attributes.memory_order {
        let value = variant.value();
        return ours!(|__dtype_from| ::core::result::Result::Ok(#value));
    }
    let (names, types): (_, Vec<_>) = (variant.names(), variant.travelling().map(|field| field.ty).collect());
    let numbers = (0..names.len()).map(Literal::usize_unsuffixed);
    let mut named = names.iter();
    let values = variant.fields.iter().map(|Field { member, skipped, .. }| {
        let name = if *skipped { None } else { named.next() };
        name.map_or_else(
            || ours!(#member: ::core::default::Default::default()),
            |name| ours!(#member: #name.ok_or_else(__dtype::Runtime::missing)?),
        )
    });
    ours! {
        |__dtype_from| {
            #(let mut #names = ::core::option::Option::None;)*
            for __dtype_field in <Self as __dtype::MpiDatatype>::ORDER {
                match *__dtype_field {
                    #(#numbers => {
                        #names = ::core::option::Option::Some(
                            <#types as __dtype::FromMessage>::read(__dtype_from)?,
                        );
                    })*
                    _ => {}
                }
            }
            ::core::result::Result::Ok(Self { #(#values),* })
        }
    }
}

/// Returns `read_into` for a type that may have skipped fields, which stay as they are.
fn into_by_field(item: &Input<'_>, fields: &[Field<'_>]) -> TokenStream {
    let travelling = || fields.iter().filter(|field| !field.skipped);
    let reads = travelling().map(|Field { member, ty, .. }| {
        if item.repr.packed.is_some() {
            // A packed field cannot be borrowed.
            ours!(__dtype_value.#member = <#ty as __dtype::FromMessage>::read(__dtype_from)?)
        } else {
            ours! {
                <#ty as __dtype::FromMessage>::read_into(&mut __dtype_value.#member, __dtype_from)?
            }
        }
    });
    let reads = if item.attributes.memory_order {
        let numbers = (0..travelling().count()).map(Literal::usize_unsuffixed);
        ours! {
            for __dtype_field in <Self as __dtype::MpiDatatype>::ORDER {
                match *__dtype_field {
                    #(#numbers => #reads,)*
                    _ => {}
                }
            }
        }
    } else {
        ours!(#(#reads;)*)
    };
    ours! {
        #[inline]
        fn read_into(
            &mut self,
            __dtype_from: &mut __dtype::Reader<'_>,
        ) -> ::core::result::Result<(), __dtype::Error> {
            __dtype::Runtime::read_into(self, __dtype_from, |__dtype_value, __dtype_from| {
                #reads
                ::core::result::Result::Ok(())
            })
        }
    }
}

/// Returns `true` for a base type, and for arrays and tuples of base types.
fn is_base(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path.path.get_ident().is_some_and(|name| known::base_type(name).is_some()),
        Type::Array(array) => is_base(&array.elem),
        Type::Tuple(tuple) => tuple.elems.iter().all(is_base),
        Type::Paren(paren) => is_base(&paren.elem),
        Type::Group(group) => is_base(&group.elem),
        _ => false,
    }
}
