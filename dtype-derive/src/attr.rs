//! The attribute `#[mpi(...)]`, on a type and on a field.

use dtype_core::{LinearCosts, NodeCosts, Penalty, Weighting};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Attribute, Error, LitInt, LitStr, Path, Result, Token, WherePredicate, braced,
    meta::ParseNestedMeta,
    parse::{ParseStream, Parser},
    parse_quote,
    punctuated::Punctuated,
};

use crate::valid::Errors;

/// What stands on a type.
pub(crate) struct TypeAttributes {
    /// Where the runtime crate is.
    pub(crate) runtime: Path,
    /// The bounds to write instead of one for each type parameter.
    pub(crate) bound: Option<Vec<WherePredicate>>,
    /// Whether fields travel in the order they have in memory.
    pub(crate) memory_order: bool,
    /// Whether MPI carries the bytes that the type takes in memory.
    pub(crate) bytes: bool,
    pub(crate) cost: Cost,
}

/// A cost model: for solving here, and as a constant expression.
pub(crate) struct Cost {
    pub(crate) model: LinearCosts,
    /// Nothing for the default.
    pub(crate) tokens: Option<TokenStream>,
}

impl TypeAttributes {
    /// All `#[mpi(...)]` on a type. What is wrong with them is added to the errors.
    pub(crate) fn of(attributes: &[Attribute], errors: &mut Errors) -> Self {
        let mut found = Self {
            runtime: parse_quote!(::dtype_runtime),
            bound: None,
            memory_order: false,
            bytes: false,
            cost: Cost { model: NodeCosts::THESIS.linear(), tokens: None },
        };
        const KNOWN: &[&str] = &["crate", "bound", "order", "wire", "cost"];
        for_each_option(attributes, KNOWN, "a type", errors, |name, meta| {
            match name {
                "crate" => found.runtime = text(meta)?.parse()?,
                "bound" => {
                    let bounds = text(meta)?.parse_with(Punctuated::<_, Token![,]>::parse_terminated)?;
                    found.bound = Some(bounds.into_iter().collect());
                }
                "order" => found.memory_order = choice(meta, &["declared", "memory"])? == "memory",
                "wire" => found.bytes = choice(meta, &["typed", "bytes"])? == "bytes",
                _ => found.cost = Cost::of(&text(meta)?)?,
            }
            Ok(())
        });
        found
    }
}

/// Whether a field has `#[mpi(skip)]`. What is wrong with its attributes is added to the errors.
pub(crate) fn is_skipped(attributes: &[Attribute], errors: &mut Errors) -> bool {
    let mut skipped = false;
    for_each_option(attributes, &["skip"], "a field", errors, |_, _| {
        skipped = true;
        Ok(())
    });
    skipped
}

/// Refuses `#[mpi(...)]` where it means nothing.
pub(crate) fn refuse(attributes: &[Attribute], place: &str, errors: &mut Errors) {
    for_each_option(attributes, &[], place, errors, |_, _| Ok(()));
}

/// Hands on each option of all `#[mpi(...)]`; unknown and doubled ones are errors that name the known ones.
fn for_each_option(
    attributes: &[Attribute],
    known: &[&str],
    place: &str,
    errors: &mut Errors,
    mut visit: impl FnMut(&str, &ParseNestedMeta<'_>) -> Result<()>,
) {
    let mut given: Vec<String> = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("mpi")) {
        let parsed = attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            let refused = match known.iter().find(|known| **known == name) {
                None if known.is_empty() => Some(format!("`#[mpi({name})]` means nothing on {place}")),
                None => {
                    let known = known.join("`, `");
                    Some(format!("`{name}` is no option of `#[mpi(...)]` on {place}; there is `{known}`"))
                }
                Some(_) if given.contains(&name) => Some(format!("`{name}` is given twice on this")),
                Some(_) => None,
            };
            given.push(name.clone());
            if let Some(message) = refused {
                errors.push(Error::new_spanned(&meta.path, message));
                // On with the next one: the value, if any, is passed over.
                if meta.input.peek(Token![=]) {
                    meta.value()?.parse::<syn::Expr>()?;
                }
                return Ok(());
            }
            visit(&name, &meta).unwrap_or_else(|error| errors.push(error));
            Ok(())
        });
        parsed.unwrap_or_else(|error| errors.push(error));
    }
}

/// The text in `option = "text"`.
fn text(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
    let missing = || meta.error(format!("`{name}` takes a text: `{name} = \"…\"`"));
    meta.value().and_then(|value| value.parse()).map_err(|_| missing())
}

/// One of some texts.
fn choice(meta: &ParseNestedMeta<'_>, choices: &[&str]) -> Result<String> {
    let text = text(meta)?;
    let value = text.value();
    if choices.contains(&value.as_str()) {
        return Ok(value);
    }
    let choices = choices.join("\" or \"");
    Err(Error::new_spanned(&text, format!("there is no \"{value}\" here: \"{choices}\"")))
}

impl Cost {
    /// By the name of a model, or by a cost file.
    fn of(text: &LitStr) -> Result<Self> {
        Ok(match text.value().as_str() {
            "storage" => Self { model: NodeCosts::THESIS.linear(), tokens: None },
            "processing" => Self {
                model: NodeCosts::processing().linear(),
                tokens: Some(quote!(__dtype::NodeCosts::processing().linear())),
            },
            "penalty" => Self {
                model: Penalty::GUIDELINES.linear(),
                tokens: Some(quote!(__dtype::Penalty::GUIDELINES.linear())),
            },
            file => Self::of_file(text, file)?,
        })
    }

    fn of_file(text: &LitStr, file: &str) -> Result<Self> {
        let error = |problem: &dyn std::fmt::Display| {
            let models = "`cost` takes \"storage\", \"processing\", \"penalty\" or the path of a cost file, relative to \
                          the crate's Cargo.toml";
            Error::new_spanned(text, format!("{models}; as a file, `{file}`: {problem}"))
        };
        let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
        let path = std::path::Path::new(&root).join(file);
        let content = std::fs::read_to_string(&path).map_err(|problem| error(&problem))?;
        let costs = cost_file.parse_str(&content).map_err(|problem| error(&problem))?;
        let NodeCosts { leaf, vec, idx, strc, idxbuc, lookup, weighting } = costs;
        let weighting = match weighting {
            Weighting::Storage => quote!(Storage),
            Weighting::Processing => quote!(Processing),
        };
        let path = path.to_string_lossy();
        let tokens = quote! {{
            // Changes of the file are changes of this.
            const _: &::core::primitive::str = ::core::include_str!(#path);
            __dtype::NodeCosts {
                leaf: #leaf, vec: #vec, idx: #idx, strc: #strc, idxbuc: #idxbuc, lookup: #lookup,
                weighting: __dtype::Weighting::#weighting,
            }
            .linear()
        }};
        Ok(Self { model: costs.linear(), tokens: Some(tokens) })
    }
}

/// A cost file: `{"leaf":3,"vec":5,"idx":5,"strc":5,"idxbuc":7,"lookup":1,"weighting":"storage"}`, a flat JSON object whose
/// tokens are Rust's, too. What is left out has its default.
fn cost_file(input: ParseStream<'_>) -> Result<NodeCosts> {
    let content;
    braced!(content in input);
    let mut costs = NodeCosts::THESIS;
    while !content.is_empty() {
        let name: LitStr = content.parse()?;
        content.parse::<Token![:]>()?;
        let field = match name.value().as_str() {
            "leaf" => &mut costs.leaf,
            "vec" => &mut costs.vec,
            "idx" => &mut costs.idx,
            "strc" => &mut costs.strc,
            "idxbuc" => &mut costs.idxbuc,
            "lookup" => &mut costs.lookup,
            "weighting" => {
                let weighting: LitStr = content.parse()?;
                costs.weighting = match weighting.value().as_str() {
                    "storage" => Weighting::Storage,
                    "processing" => Weighting::Processing,
                    other => {
                        let problem =
                            format!("the weighting is \"storage\" or \"processing\", not \"{other}\"");
                        return Err(Error::new_spanned(&weighting, problem));
                    }
                };
                if !content.is_empty() {
                    content.parse::<Token![,]>()?;
                }
                continue;
            }
            other => {
                let known = "leaf, vec, idx, strc, idxbuc, lookup and weighting";
                return Err(Error::new_spanned(&name, format!("there is no cost `{other}`, but {known}")));
            }
        };
        *field = content.parse::<LitInt>()?.base10_parse()?;
        if !content.is_empty() {
            content.parse::<Token![,]>()?;
        }
    }
    Ok(costs)
}
