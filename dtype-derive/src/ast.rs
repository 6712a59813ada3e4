//! The model of the item that the derive is applied to: the parts of syn's tree that the other modules need.

use syn::{
    Attribute, Data, DataEnum, DeriveInput, Fields, Generics, Ident, Index, LitInt, Member, Result, Type,
    ext::IdentExt,
};

use crate::{
    attr::{self, TypeAttributes},
    errors::Errors,
};

/// The item that the derive is applied to.
pub(crate) struct Input<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) repr: Repr,
    pub(crate) attributes: TypeAttributes,
    /// The first attribute below the derive that may be a macro and replace the item.
    pub(crate) below: Option<&'a Attribute>,
    pub(crate) kind: Kind<'a>,
}

/// The kind of an item, with its fields or variants.
pub(crate) enum Kind<'a> {
    Struct(Vec<Field<'a>>),
    /// An enum, with the names of its variants.
    Enum(Vec<&'a Ident>),
}

/// A field, by name or by position.
#[derive(Clone)]
pub(crate) struct Field<'a> {
    pub(crate) member: Member,
    pub(crate) ty: &'a Type,
    /// `true` if the field has `#[mpi(skip)]`.
    pub(crate) skipped: bool,
}

impl Field<'_> {
    /// Returns the name, or the number in a tuple.
    pub(crate) fn name(&self) -> String {
        match &self.member {
            Member::Named(name) => name.unraw().to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        }
    }
}

/// A variant of an enum with its fields, or a struct.
pub(crate) struct Variant<'a> {
    /// The name; `None` for a struct.
    pub(crate) ident: Option<&'a Ident>,
    pub(crate) fields: Vec<Field<'a>>,
}

/// The parts of the `repr` attributes that affect the layout.
#[derive(Default)]
pub(crate) struct Repr {
    pub(crate) c: bool,
    pub(crate) transparent: bool,
    pub(crate) packed: Option<u64>,
    pub(crate) align: Option<u64>,
    /// The integer type of an enum's discriminant.
    pub(crate) integer: Option<Ident>,
}

impl<'a> Input<'a> {
    /// Returns the model of `input`, or `None` for a union. Adds the mistakes in its attributes to `errors`.
    pub(crate) fn of(input: &'a DeriveInput, errors: &mut Errors) -> Option<Self> {
        let attributes = TypeAttributes::of(&input.attrs, errors);
        let repr = Repr::of(&input.attrs).unwrap_or_else(|error| {
            errors.push(error);
            Repr::default()
        });
        let kind = match &input.data {
            Data::Struct(data) => Kind::Struct(fields(&data.fields, errors)),
            Data::Enum(data) => Kind::Enum(variants(data, errors)),
            Data::Union(_) => return None,
        };
        let below = attr::may_be_macro(&input.attrs);
        Some(Self { ident: &input.ident, generics: &input.generics, repr, attributes, below, kind })
    }

    /// Returns `true` if the item itself restricts no byte pattern: a struct (its fields may still be
    /// restricted), or any type with `unsafe_equivalence`.
    pub(crate) fn is_any_pattern(&self) -> bool {
        matches!(self.kind, Kind::Struct(_)) || self.attributes.vouched
    }

    /// Returns `true` if no field has `#[mpi(skip)]`.
    pub(crate) fn is_complete(&self) -> bool {
        match &self.kind {
            Kind::Struct(fields) => fields.iter().all(|field| !field.skipped),
            Kind::Enum(_) => true,
        }
    }
}

/// Returns the fields of a struct or variant. Adds the mistakes in their attributes to `errors`.
pub(crate) fn fields<'a>(fields: &'a Fields, errors: &mut Errors) -> Vec<Field<'a>> {
    let fields = fields.iter().enumerate().map(|(i, field)| Field {
        member: field.ident.clone().map_or_else(|| Index::from(i).into(), Member::Named),
        ty: &field.ty,
        skipped: attr::is_skipped(&field.attrs, errors),
    });
    fields.collect()
}

fn variants<'a>(data: &'a DataEnum, errors: &mut Errors) -> Vec<&'a Ident> {
    for variant in &data.variants {
        attr::refuse(&variant.attrs, "a variant", errors);
        variant.fields.iter().for_each(|field| attr::refuse(&field.attrs, "a field of a variant", errors));
    }
    data.variants.iter().map(|variant| &variant.ident).collect()
}

impl Repr {
    pub(crate) fn of(attributes: &[Attribute]) -> Result<Self> {
        const INTEGERS: &[&str] =
            &["i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize"];
        let mut repr = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
            attribute.parse_nested_meta(|meta| {
                let argument = || -> Result<Option<u64>> {
                    if !meta.input.peek(syn::token::Paren) {
                        return Ok(None);
                    }
                    let content;
                    syn::parenthesized!(content in meta.input);
                    content.parse::<LitInt>()?.base10_parse().map(Some)
                };
                // Any other argument (`Rust`, `simd`) leaves the layout to the compiler.
                if meta.path.is_ident("C") {
                    repr.c = true;
                } else if meta.path.is_ident("transparent") {
                    repr.transparent = true;
                } else if meta.path.is_ident("packed") {
                    repr.packed = Some(argument()?.unwrap_or(1));
                } else if meta.path.is_ident("align") {
                    repr.align = argument()?;
                } else if let Some(name) = meta.path.get_ident()
                    && INTEGERS.iter().any(|integer| name == integer)
                {
                    repr.integer = Some(name.clone());
                }
                Ok(())
            })?;
        }
        Ok(repr)
    }
}
