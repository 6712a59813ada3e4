//! Every refusal of the derive, each at the offending token, all of a struct at once.
//!
//! What cannot be refused by its name alone, a type that does not implement `MpiDatatype`, the compiler refuses at the
//! same token through the trait's own message.

use syn::{Data, DeriveInput, Error, GenericParam, PathArguments, Result, Type, spanned::Spanned};

/// Collects errors, so that a user sees every mistake at once.
#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    pub(crate) fn push(&mut self, error: Error) {
        match &mut self.0 {
            None => self.0 = Some(error),
            Some(all) => all.combine(error),
        }
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

/// Refuses what no MPI datatype can describe.
pub(crate) fn check(input: &DeriveInput) -> Result<()> {
    let mut errors = Errors::default();
    for parameter in &input.generics.params {
        if let GenericParam::Lifetime(lifetime) = parameter {
            errors.push(Error::new_spanned(
                lifetime,
                "MPI cannot carry borrowed data: an address means nothing to another process. Remove the lifetime and \
                 hold the data itself, in arrays of fixed length",
            ));
        }
    }
    match &input.data {
        Data::Struct(data) => {
            for (i, field) in data.fields.iter().enumerate() {
                let name = field.ident.as_ref().map_or_else(|| i.to_string(), ToString::to_string);
                check_type(&name, &field.ty, &mut errors);
            }
        }
        Data::Enum(data) if data.variants.iter().any(|variant| !variant.fields.is_empty()) => {
            errors.push(Error::new(
                data.enum_token.span(),
                format!(
                    "MPI cannot carry the enum `{}`: which of its fields hold data differs from value to value, and an \
                     MPI datatype is the same for all. Send a struct with a tag and the fields of all variants",
                    input.ident
                ),
            ));
        }
        Data::Enum(data) => errors.push(Error::new(
            data.enum_token.span(),
            format!(
                "`#[derive(MpiDatatype)]` is for structs, and `{}` is an enum. Send its discriminant: a struct field of \
                 an integer type, converted on either side",
                input.ident
            ),
        )),
        Data::Union(data) => errors.push(Error::new(
            data.union_token.span(),
            format!(
                "MPI cannot carry the union `{}`: an MPI datatype names the type of every byte, and a union does not. \
                 Send a struct with the field that is in use",
                input.ident
            ),
        )),
    }
    errors.finish()
}

/// Why anything that points cannot travel.
const ADDRESS: &str = "is an address, which means nothing to another process";

/// Refuses a field's type wherever its outermost form shows that it cannot travel, inside arrays and tuples too.
fn check_type(field: &str, ty: &Type, errors: &mut Errors) {
    let mut refuse = |what: &str, why: &str, instead: &str| {
        errors.push(Error::new_spanned(
            ty,
            format!("MPI cannot carry the field `{field}`: {what} {why}. {instead}"),
        ));
    };
    match ty {
        Type::Array(array) => check_type(field, &array.elem, errors),
        Type::Tuple(tuple) => tuple.elems.iter().for_each(|ty| check_type(field, ty, errors)),
        Type::Paren(paren) => check_type(field, &paren.elem, errors),
        Type::Group(group) => check_type(field, &group.elem, errors),
        Type::Reference(_) => refuse("a reference", ADDRESS, "Hold the value itself"),
        Type::Ptr(_) => refuse("a raw pointer", ADDRESS, "Hold the value itself, or an index"),
        Type::FnPtr(_) => refuse("a function pointer", ADDRESS, "Hold a number that stands for the function"),
        Type::Slice(_) => refuse(
            "a slice",
            "has no length known at compile time",
            "Use an array `[T; N]`, or send the slice as a message of its own",
        ),
        Type::TraitObject(_) | Type::ImplTrait(_) => {
            refuse("a trait object", "has no layout known at compile time", "Use the concrete type");
        }
        Type::Never(_) => refuse("`!`", "has no values", "Remove the field"),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return };
            let generic = !matches!(last.arguments, PathArguments::None);
            let name = last.ident.to_string();
            match name.as_str() {
                "String" | "OsString" | "PathBuf" | "CString" if !generic => refuse(
                    &format!("a `{name}`"),
                    "holds the address of its text, which means nothing to another process",
                    "Use an array of bytes `[u8; N]`, or send the bytes as a message of their own",
                ),
                "Vec" | "VecDeque" | "HashMap" | "BTreeMap" | "HashSet" | "BTreeSet" if generic => refuse(
                    &format!("a `{name}`"),
                    "holds the address of its elements, which means nothing to another process",
                    "Use an array `[T; N]`, or send the elements as a message of their own",
                ),
                "Box" | "Rc" | "Arc" | "Weak" | "NonNull" | "Cow" if generic => {
                    refuse(&format!("a `{name}`"), ADDRESS, "Hold the value itself");
                }
                "Option" if generic => refuse(
                    "an `Option`",
                    "has no data where it is `None`, and an MPI datatype is the same for every value",
                    "Hold the value and a `bool` that says whether it counts",
                ),
                "str" if !generic => refuse(
                    "a `str`",
                    "has no length known at compile time",
                    "Use an array of bytes `[u8; N]`",
                ),
                "i128" | "u128" if !generic => {
                    refuse(
                        &format!("`{name}`"),
                        "has no MPI datatype",
                        "Use two 64-bit integers, `[u64; 2]`",
                    );
                }
                _ => {}
            }
        }
        _ => {}
    }
}
