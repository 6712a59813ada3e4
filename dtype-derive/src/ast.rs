//! The model of a deriving struct: what the other rooms need, taken from syn's tree.

use syn::{Attribute, Data, DeriveInput, Fields, Generics, Ident, Index, LitInt, Member, Result, Type};

/// A struct to derive for.
pub(crate) struct Struct<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) repr: Repr,
    pub(crate) fields: Vec<Field<'a>>,
}

/// A field, by name or by position.
pub(crate) struct Field<'a> {
    pub(crate) member: Member,
    pub(crate) ty: &'a Type,
}

/// What the `repr` attributes say about the layout.
#[derive(Default)]
pub(crate) struct Repr {
    pub(crate) c: bool,
    pub(crate) transparent: bool,
    pub(crate) packed: Option<u64>,
    pub(crate) align: Option<u64>,
}

impl<'a> Struct<'a> {
    /// The model of `input`, or nothing for an enum or a union.
    pub(crate) fn of(input: &'a DeriveInput) -> Result<Option<Self>> {
        let Data::Struct(data) = &input.data else { return Ok(None) };
        let fields = match &data.fields {
            Fields::Unit => Vec::new(),
            Fields::Named(_) | Fields::Unnamed(_) => data
                .fields
                .iter()
                .enumerate()
                .map(|(i, field)| Field {
                    member: field.ident.clone().map_or_else(|| Index::from(i).into(), Member::Named),
                    ty: &field.ty,
                })
                .collect(),
        };
        let repr = Repr::of(&input.attrs)?;
        Ok(Some(Self { ident: &input.ident, generics: &input.generics, repr, fields }))
    }
}

impl Repr {
    fn of(attributes: &[Attribute]) -> Result<Self> {
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
                // What else there is (`Rust`, `simd`) leaves the layout to the compiler.
                if meta.path.is_ident("C") {
                    repr.c = true;
                } else if meta.path.is_ident("transparent") {
                    repr.transparent = true;
                } else if meta.path.is_ident("packed") {
                    repr.packed = Some(argument()?.unwrap_or(1));
                } else if meta.path.is_ident("align") {
                    repr.align = argument()?;
                }
                Ok(())
            })?;
        }
        Ok(repr)
    }
}
