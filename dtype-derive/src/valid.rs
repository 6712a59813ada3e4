//! The checks of the derive. Each error points at the offending token, and all errors of a type are reported
//! together.
//!
//! The checks recognize some field types by their names. The compiler rejects any other field type that lacks
//! `MpiDatatype`, at the same token and with the message of the trait.

use std::slice;

use proc_macro2::Span;
use syn::{
    Attribute, Data, DataEnum, DeriveInput, Error, Fields, GenericArgument, GenericParam, Ident, Member,
    Path, PathArguments, Type, spanned::Spanned,
};

use crate::{
    ast::{Field, Input, Kind, Repr, Variant},
    errors::Errors,
    known,
};

/// Rejects items that no MPI datatype can describe.
pub(crate) fn check(input: &DeriveInput, item: Option<&Input<'_>>, errors: &mut Errors) {
    for parameter in &input.generics.params {
        if let GenericParam::Lifetime(lifetime) = parameter {
            errors.push(Error::new_spanned(
                lifetime,
                "MPI cannot carry borrowed data: an address means nothing to another process. Remove the \
                 lifetime and hold the data itself, in arrays of fixed length",
            ));
        }
    }
    match (&input.data, item) {
        (_, Some(item @ Input { kind: Kind::Struct(fields), .. })) => check_struct(item, fields, errors),
        (Data::Enum(data), Some(item)) => check_enum(data, item, errors),
        (Data::Union(data), _) => errors.push(Error::new(
            data.union_token.span(),
            format!(
                "MPI cannot carry the union `{}`: an MPI datatype names the type of every byte, and a union \
                 does not. Send a struct with the field that is in use",
                input.ident
            ),
        )),
        _ => {}
    }
}

fn check_struct(item: &Input<'_>, fields: &[Field<'_>], errors: &mut Errors) {
    for field in fields.iter().filter(|field| !field.skipped) {
        let name = as_written(&field.member);
        check_type(&name, field.ty, errors);
        if known::names(field.ty, &Ident::new("__dtype", Span::call_site())) {
            errors.push(Error::new_spanned(
                field.ty,
                format!(
                    "the type of the field `{name}` is in a module `__dtype`, a name that the expansion \
                     uses: bring the type into scope with `use`, or rename the module"
                ),
            ));
        }
    }
    let Input { ident, repr, attributes, .. } = item;
    if attributes.vouched && !item.is_complete() {
        errors.push(Error::new_spanned(
            ident,
            format!(
                "rsmpi may build values of `{ident}` from received bytes, in which the fields with \
                 `#[mpi(skip)]` are not initialized: remove either `#[mpi(unsafe_equivalence)]` or \
                 `#[mpi(skip)]`"
            ),
        ));
    }
    if !attributes.bytes {
        return;
    }
    if fields.iter().any(|field| field.skipped) {
        errors.push(Error::new_spanned(
            ident,
            format!(
                "`{ident}` is sent as all of its bytes, so no field can be excluded: remove either \
                 `#[mpi(wire = \"bytes\")]` or `#[mpi(skip)]`"
            ),
        ));
    }
    if !repr.c && !repr.transparent {
        errors.push(Error::new_spanned(
            ident,
            format!(
                "`{ident}` cannot be sent as bytes: without `#[repr(C)]` its layout may differ between \
                 programs. Add `#[repr(C)]`, or remove `#[mpi(wire = \"bytes\")]`"
            ),
        ));
    }
}

fn check_enum(data: &DataEnum, item: &Input<'_>, errors: &mut Errors) {
    let (ident, at) = (item.ident, data.enum_token.span());
    let mut refuse = |message: String| errors.push(Error::new(at, message));
    if data.variants.iter().any(|variant| !variant.fields.is_empty()) {
        refuse(format!(
            "MPI cannot carry the enum `{ident}`: its values hold different fields, but an MPI datatype is \
             the same for all values. Derive `MpiMessage` instead of `MpiDatatype`, or send a struct with a \
             tag and the fields of all variants"
        ));
    } else if data.variants.is_empty() {
        refuse(format!("MPI cannot carry the enum `{ident}`: it has no variants, and so no values to send"));
    } else {
        match &item.repr.integer {
            None => refuse(format!(
                "MPI cannot carry the enum `{ident}`: its integer type is not fixed. Fix it with \
                 `#[repr(u8)]` or another integer type"
            )),
            Some(integer) if integer == "i128" || integer == "u128" => refuse(format!(
                "MPI cannot carry the enum `{ident}`: `{integer}` has no MPI datatype. Use a smaller integer \
                 type, such as `#[repr(u64)]`"
            )),
            Some(_) => {}
        }
    }
    // An enum with variants such as `A()` can be cast to an integer only if no variant has an explicit
    // discriminant.
    let is_explicit = data.variants.iter().any(|variant| variant.discriminant.is_some());
    if is_explicit && data.variants.iter().any(|variant| !matches!(variant.fields, Fields::Unit)) {
        refuse(format!(
            "the enum `{ident}` has explicit discriminants and variants with brackets, so Rust cannot cast \
             it to an integer: write `A` instead of `A()` or `A {{}}`"
        ));
    }
    if item.repr.align.is_some() {
        refuse(format!(
            "`align` adds padding to the enum `{ident}`, which must be a single integer: remove `align`, or \
             put the enum in a struct with `align`"
        ));
    }
    if item.attributes.bytes || item.attributes.memory_order {
        refuse(format!(
            "the enum `{ident}` is a single integer: remove `wire` and `order` from `#[mpi(...)]`"
        ));
    }
}

/// Rejects items and fields that cannot be messages.
pub(crate) fn check_message(input: &DeriveInput, variants: &[Variant<'_>], errors: &mut Errors) {
    let ident = &input.ident;
    if let Data::Union(data) = &input.data {
        errors.push(Error::new(
            data.union_token.span(),
            format!(
                "the union `{ident}` cannot be a message: it does not say which of its fields is in use. Use \
                 an enum with a variant for each field"
            ),
        ));
    }
    let is_packed = |attribute: &&Attribute| {
        Repr::of(slice::from_ref(*attribute)).is_ok_and(|repr| repr.packed.is_some())
    };
    if let Some(attribute) = input.attrs.iter().find(is_packed) {
        errors.push(Error::new_spanned(
            attribute,
            format!(
                "`{ident}` is packed, so its fields cannot be borrowed to write them into a message: derive \
                 `MpiDatatype`, which copies them, or remove `packed`"
            ),
        ));
    }
    for field in variants.iter().flat_map(|variant| &variant.fields).filter(|field| !field.skipped) {
        let name = as_written(&field.member);
        check_part(&name, field.ty, errors);
    }
}

/// Rejects a field type that cannot be a part of a message, if its form or its name shows it. Looks inside
/// arrays, tuples, references, and the arguments of the pointers and collections of the standard library.
fn check_part(field: &str, ty: &Type, errors: &mut Errors) {
    let mut refuse = |what: &str, why: &str, instead: &str| {
        errors.push(Error::new_spanned(
            ty,
            format!(
                "the field `{field}` cannot be a part of a message: {what} {why}. {instead}, or exclude the \
                 field with `#[mpi(skip)]`"
            ),
        ));
    };
    match ty {
        Type::Array(array) => check_part(field, &array.elem, errors),
        Type::Slice(slice) => check_part(field, &slice.elem, errors),
        Type::Tuple(tuple) => tuple.elems.iter().for_each(|ty| check_part(field, ty, errors)),
        Type::Paren(paren) => check_part(field, &paren.elem, errors),
        Type::Group(group) => check_part(field, &group.elem, errors),
        Type::Reference(reference) => check_part(field, &reference.elem, errors),
        Type::Ptr(_) => refuse("a raw pointer", ADDRESS, "Hold the value in a `Box`, or an index"),
        Type::FnPtr(_) => refuse("a function pointer", ADDRESS, "Use an enum that names the function"),
        Type::TraitObject(_) | Type::ImplTrait(_) => refuse(
            "a trait object",
            "does not say which type its value has",
            "Use an enum with a variant for each type",
        ),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last().filter(|_| may_be_of_std(&path.path)) else { return };
            let mut inner = Vec::new();
            if let PathArguments::AngleBracketed(list) = &last.arguments {
                inner.extend(list.args.iter().filter_map(|argument| match argument {
                    GenericArgument::Type(ty) => Some(ty),
                    _ => None,
                }));
            }
            let (name, generic) = (last.ident.to_string(), !inner.is_empty());
            let qualified = path.path.segments.len() > 1;
            match name.as_str() {
                "OsString" | "PathBuf" | "CString" | "OsStr" | "CStr" if !generic => {
                    refuse(&with_article(&name), NO_TEXT, "Use a `String`");
                }
                // Users have types of these names, too.
                "Path" if qualified && !generic => refuse("a `Path`", NO_TEXT, "Use a `str`"),
                "Instant" if qualified && !generic => {
                    refuse("an `Instant`", "is a time of this process alone", "Use a `Duration`");
                }
                "Weak" | "NonNull" if generic => {
                    refuse(&with_article(&name), ADDRESS, "Hold the value in a `Box`, or an index");
                }
                "MaybeUninit" if generic => {
                    refuse("a `MaybeUninit`", "may be uninitialized", "Use an `Option`");
                }
                _ if generic && is_cell(&path.path) => {
                    refuse(&with_article(&name), "may change while it is sent", "Hold the value itself");
                }
                _ if !generic && is_atomic(&name) => {
                    refuse(&with_article(&name), "may change while it is sent", "Hold the integer itself");
                }
                "Vec" | "VecDeque" | "HashMap" | "BTreeMap" | "HashSet" | "BTreeSet" | "LinkedList"
                | "BinaryHeap" | "Box" | "Rc" | "Arc" | "Cow" | "Option" | "Result" => {
                    for ty in inner {
                        check_part(field, ty, errors);
                    }
                }
                _ => {}
            }
        }
        _ => {}
    }
}

/// Returns the name of a field as the user writes it, or its number in a tuple.
fn as_written(member: &Member) -> String {
    match member {
        Member::Named(name) => name.to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

/// The reason why references and pointers of all kinds cannot travel.
const ADDRESS: &str = "is an address, which means nothing to another process";

/// The reason why paths and strings of the system are no parts of messages.
const NO_TEXT: &str = "may hold bytes that are no text on another machine";

/// The reason why owned text cannot travel as it lies in memory.
const OF_TEXT: &str = "holds the address of its text, which means nothing to another process";

/// Rejects a field type whose outermost form shows that it cannot travel. Looks inside arrays and tuples.
fn check_type(field: &str, ty: &Type, errors: &mut Errors) {
    let mut refuse = |what: &str, why: &str, instead: &str| {
        // `skip` does not help for these types: a struct with such a field is unsized, has no values, or does
        // not compile.
        let sized =
            !matches!(ty, Type::Slice(_) | Type::TraitObject(_) | Type::ImplTrait(_) | Type::Never(_))
                && what != "a `str`";
        let skip = if sized { ", or exclude the field with `#[mpi(skip)]`" } else { "" };
        errors.push(Error::new_spanned(
            ty,
            format!("MPI cannot carry the field `{field}`: {what} {why}. {instead}{skip}"),
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
            let Some(last) = path.path.segments.last().filter(|_| may_be_of_std(&path.path)) else { return };
            // The generic types listed below take types, never constants. So a path with a constant argument
            // names another type.
            let is_constant = |argument: &GenericArgument| matches!(argument, GenericArgument::Const(_));
            let generic = match &last.arguments {
                PathArguments::AngleBracketed(list) if list.args.iter().any(is_constant) => return,
                arguments => !arguments.is_none(),
            };
            let name = last.ident.to_string();
            match name.as_str() {
                "String" if !generic => refuse(
                    "a `String`",
                    OF_TEXT,
                    "Derive `MpiMessage` instead of `MpiDatatype`, use an array of bytes `[u8; N]`",
                ),
                "OsString" | "PathBuf" | "CString" if !generic => {
                    refuse(&with_article(&name), OF_TEXT, "Use an array of bytes `[u8; N]`");
                }
                "Vec" | "VecDeque" | "HashMap" | "BTreeMap" | "HashSet" | "BTreeSet" if generic => refuse(
                    &with_article(&name),
                    "holds the address of its elements, which means nothing to another process",
                    "Derive `MpiMessage` instead of `MpiDatatype`, use an array `[T; N]`",
                ),
                "Box" | "Rc" | "Arc" | "Cow" if generic => refuse(
                    &with_article(&name),
                    ADDRESS,
                    "Derive `MpiMessage` instead of `MpiDatatype`, hold the value itself",
                ),
                "Weak" | "NonNull" if generic => {
                    refuse(&with_article(&name), ADDRESS, "Hold the value itself");
                }
                "Option" if generic => refuse(
                    "an `Option`",
                    "holds no value if it is `None`, but an MPI datatype is the same for all values",
                    "Derive `MpiMessage` instead of `MpiDatatype`, hold a `bool` beside the value",
                ),
                "MaybeUninit" if generic => refuse(
                    "a `MaybeUninit`",
                    "may be uninitialized, and MPI reads every byte that it sends",
                    "Use the type itself, initialized",
                ),
                _ if generic && is_cell(&path.path) => {
                    refuse(&with_article(&name), "may change while MPI reads it", "Hold the value itself");
                }
                _ if !generic && is_atomic(&name) => {
                    refuse(&with_article(&name), "may change while MPI reads it", "Hold the integer itself");
                }
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

/// Returns `true` if a path may name a type of the standard library: a single name, or a name in one of the
/// library's modules. A type of the same name in another module is checked only by the trait bound.
fn may_be_of_std(path: &Path) -> bool {
    const MODULES: [&str; 17] = [
        "atomic",
        "borrow",
        "boxed",
        "cell",
        "collections",
        "ffi",
        "mem",
        "option",
        "path",
        "primitive",
        "ptr",
        "rc",
        "string",
        "sync",
        "vec",
        "hash_map",
        "time",
    ];
    let parent = path.segments.iter().rev().nth(1);
    parent.is_none_or(|parent| MODULES.iter().any(|module| parent.ident == module))
}

/// Returns `true` for the types of the standard library whose value may change behind a shared reference.
/// Users have types `Cell<T>` of their own, so that name must stand in its module.
fn is_cell(path: &Path) -> bool {
    let name = path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
    let is_qualified = path.segments.len() > 1;
    matches!(
        name.as_str(),
        "RefCell" | "UnsafeCell" | "OnceCell" | "OnceLock" | "LazyCell" | "LazyLock" | "Mutex" | "RwLock"
    ) || (name == "Cell" && is_qualified)
}

fn is_atomic(name: &str) -> bool {
    let integer = name.strip_prefix("Atomic").unwrap_or_default();
    matches!(
        integer,
        "Bool" | "I8" | "I16" | "I32" | "I64" | "Isize" | "U8" | "U16" | "U32" | "U64" | "Usize" | "Ptr"
    )
}

/// Returns a type's name in backquotes with its indefinite article: a `Box`, an `Rc`.
fn with_article(name: &str) -> String {
    let vowel = name.starts_with(['A', 'U']) || matches!(name, "Rc" | "RwLock" | "OsString");
    format!("{} `{name}`", if vowel { "an" } else { "a" })
}
