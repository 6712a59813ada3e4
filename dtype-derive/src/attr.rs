//! The options in `#[mpi(...)]`, on a type and on a field.

use dtype_core::{LinearCosts, NodeCosts, Penalty, Weighting};
use proc_macro2::{Span, TokenStream, TokenTree};
use syn::{
    Attribute, Error, LitInt, LitStr, Path, Result, Token, WherePredicate, braced,
    meta::ParseNestedMeta,
    parse::{ParseBuffer, ParseStream, Parser},
    parse_quote_spanned,
    punctuated::Punctuated,
};

use crate::errors::Errors;

/// Returns the first attribute that may be an attribute macro. Such a macro runs after the derive, and may
/// replace the item. The attributes in `BUILT_IN` cannot be macros. If a macro has the name of a built-in
/// attribute, the compiler reports an ambiguity; and `mpi` below the derive is the derive's helper attribute.
pub(crate) fn may_be_macro(attributes: &[Attribute]) -> Option<&Attribute> {
    const BUILT_IN: [&str; 12] = [
        "allow",
        "automatically_derived",
        "deny",
        "deprecated",
        "doc",
        "expect",
        "forbid",
        "mpi",
        "must_use",
        "non_exhaustive",
        "repr",
        "warn",
    ];
    let is_built_in = |attribute: &Attribute| BUILT_IN.iter().any(|name| attribute.path().is_ident(name));
    attributes.iter().find(|attribute| !is_built_in(attribute))
}

/// The options on a type.
pub(crate) struct TypeAttributes {
    /// The path of the crate dtype-runtime.
    pub(crate) runtime: Path,
    /// The predicates that replace the inferred bound for each type parameter.
    pub(crate) bound: Option<Vec<WherePredicate>>,
    /// `true` if fields travel in the order of their offsets.
    pub(crate) memory_order: bool,
    /// `true` if MPI carries the bytes of the type in memory.
    pub(crate) bytes: bool,
    /// `true` if the user guarantees that the calls of rsmpi receive only valid values.
    pub(crate) vouched: bool,
    pub(crate) cost: Cost,
}

/// A cost model, both as a value for the macro and as a constant expression for the expansion.
pub(crate) struct Cost {
    pub(crate) model: LinearCosts,
    /// The constant expression, or `None` for the default model.
    pub(crate) tokens: Option<TokenStream>,
}

/// The options of `#[mpi(...)]` on a type that derives `MpiMessage`.
pub(crate) struct MessageAttributes {
    /// The path of the crate dtype-runtime.
    pub(crate) runtime: Path,
    /// The predicates that replace the inferred bound for each type parameter.
    pub(crate) bound: Option<Vec<WherePredicate>>,
    /// `true` if values can be sent and not received.
    pub(crate) send_only: bool,
}

/// Declares the options of a place, with their names.
macro_rules! options {
    ($(#[$doc:meta])* $options:ident { $($option:ident = $name:literal),* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        enum $options {
            $($option,)*
        }

        impl $options {
            const ALL: &[(&str, Self)] = &[$(($name, Self::$option)),*];
        }
    };
}

options! {
    /// An option of a message.
    MessageOption { Crate = "crate", Bound = "bound", SendOnly = "send_only" }
}

options! {
    /// An option of a type.
    TypeOption {
        Crate = "crate", Bound = "bound", Order = "order", Wire = "wire", Cost = "cost",
        UnsafeEquivalence = "unsafe_equivalence"
    }
}

impl MessageAttributes {
    /// Parses all `#[mpi(...)]` on a type. Adds their mistakes to `errors`.
    pub(crate) fn of(attributes: &[Attribute], errors: &mut Errors) -> Self {
        let mut found = Self { runtime: default_runtime(), bound: None, send_only: false };
        for_each_option(attributes, MessageOption::ALL, "a message", errors, |option, meta| {
            match option {
                MessageOption::Crate => found.runtime = runtime(meta)?,
                MessageOption::Bound => found.bound = Some(bound(meta, "FromMessage")?),
                MessageOption::SendOnly => found.send_only = true,
            }
            Ok(())
        });
        found
    }
}

/// Returns the path of dtype-runtime that holds without `#[mpi(crate = "…")]`.
fn default_runtime() -> Path {
    parse_quote_spanned!(Span::mixed_site()=> ::dtype_runtime)
}

/// Parses the option `crate`.
fn runtime(meta: &ParseNestedMeta<'_>) -> Result<Path> {
    let path = text(meta)?;
    path.parse().map_err(|_| {
        let example = "`crate` takes the path of the crate dtype-runtime, as in `crate = \
                       \"vendor::dtype_runtime\"`";
        Error::new_spanned(&path, example)
    })
}

/// Parses the option `bound`. `example` is the trait in the example of the error.
fn bound(meta: &ParseNestedMeta<'_>, example: &str) -> Result<Vec<WherePredicate>> {
    let bounds = text(meta)?;
    let parsed = bounds.parse_with(Punctuated::<_, Token![,]>::parse_terminated).map_err(|problem| {
        let example =
            format!("`bound` takes the predicates of a `where` clause, as in `bound = \"T: {example}\"`");
        Error::new_spanned(&bounds, format!("{example}: {problem}"))
    })?;
    Ok(parsed.into_iter().collect())
}

impl TypeAttributes {
    /// Parses all `#[mpi(...)]` on a type. Adds their mistakes to `errors`.
    pub(crate) fn of(attributes: &[Attribute], errors: &mut Errors) -> Self {
        let mut found = Self {
            runtime: default_runtime(),
            bound: None,
            memory_order: false,
            bytes: false,
            vouched: false,
            cost: Cost { model: NodeCosts::THESIS.linear(), tokens: None },
        };
        for_each_option(attributes, TypeOption::ALL, "a type", errors, |option, meta| {
            match option {
                TypeOption::Crate => found.runtime = runtime(meta)?,
                TypeOption::Bound => found.bound = Some(bound(meta, "MpiDatatype")?),
                TypeOption::Order => {
                    found.memory_order = choice(meta, &["declared", "memory"])? == "memory";
                }
                TypeOption::Wire => found.bytes = choice(meta, &["typed", "bytes"])? == "bytes",
                TypeOption::Cost => found.cost = Cost::of(&text(meta)?)?,
                TypeOption::UnsafeEquivalence => found.vouched = true,
            }
            Ok(())
        });
        found
    }
}

/// Returns `true` if a field has `#[mpi(skip)]`. Adds the mistakes in its attributes to `errors`.
pub(crate) fn is_skipped(attributes: &[Attribute], errors: &mut Errors) -> bool {
    let mut skipped = false;
    for_each_option(attributes, &[("skip", ())], "a field", errors, |(), _| {
        skipped = true;
        Ok(())
    });
    skipped
}

/// Rejects `#[mpi(...)]` in a place that has no options.
pub(crate) fn refuse(attributes: &[Attribute], place: &str, errors: &mut Errors) {
    for_each_option::<()>(attributes, &[], place, errors, |(), _| Ok(()));
}

/// Calls `visit` for each option in all `#[mpi(...)]`. An unknown or repeated option is an error; for an
/// unknown one, the message lists the known ones.
fn for_each_option<O: Copy>(
    attributes: &[Attribute],
    known: &[(&str, O)],
    place: &str,
    errors: &mut Errors,
    mut visit: impl FnMut(O, &ParseNestedMeta<'_>) -> Result<()>,
) {
    let mut given: Vec<String> = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("mpi")) {
        let parsed = attribute.parse_nested_meta(|meta| {
            let name = option(&meta);
            let found = match known.iter().find(|(known, _)| *known == name) {
                None if known.is_empty() => Err(format!("`#[mpi({name})]` is not allowed on {place}")),
                None => {
                    let verb = if known.len() == 1 { "only option is" } else { "options are" };
                    let known: Vec<_> = known.iter().map(|(known, _)| *known).collect();
                    let known = known.join("`, `");
                    Err(format!(
                        "`{name}` is not an option of `#[mpi(...)]` on {place}; the {verb} `{known}`"
                    ))
                }
                Some(_) if given.contains(&name) => Err(format!("`{name}` is given twice; keep one")),
                Some((_, option)) => Ok(*option),
            };
            given.push(name.clone());
            let outcome = match found {
                Err(message) => Err(Error::new_spanned(&meta.path, message)),
                Ok(option) => visit(option, &meta),
            };
            let refused = outcome.is_err();
            outcome.unwrap_or_else(|error| errors.push(error));
            // Skips to the next option, so that all mistakes are reported.
            let (mut rest, at) = (false, meta.input.span());
            while !meta.input.is_empty() && !meta.input.peek(Token![,]) {
                meta.input.parse::<TokenTree>()?;
                rest = true;
            }
            if rest && !refused {
                errors.push(Error::new(at, format!("expected `,` or `)` after the option `{name}`")));
            }
            Ok(())
        });
        parsed.unwrap_or_else(|error| errors.push(error));
    }
}

/// Parses the text in `option = "text"`.
fn text(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    let name = option(meta);
    let missing = || meta.error(format!("`{name}` takes a string: `{name} = \"…\"`"));
    meta.value().and_then(ParseBuffer::parse).map_err(|_| missing())
}

/// Returns the option's name.
fn option(meta: &ParseNestedMeta<'_>) -> String {
    meta.path.get_ident().map(ToString::to_string).unwrap_or_default()
}

/// Parses a text that must be one of `choices`.
fn choice(meta: &ParseNestedMeta<'_>, choices: &[&str]) -> Result<String> {
    let text = text(meta)?;
    let value = text.value();
    if choices.contains(&value.as_str()) {
        return Ok(value);
    }
    let (name, choices) = (option(meta), choices.join("\" or \""));
    Err(Error::new_spanned(&text, format!("`{name}` must be \"{choices}\", not \"{value}\"")))
}

impl Cost {
    /// Returns the cost model with that name, or the one in that cost file.
    fn of(text: &LitStr) -> Result<Self> {
        Ok(match text.value().as_str() {
            "storage" => Self { model: NodeCosts::THESIS.linear(), tokens: None },
            "processing" => Self {
                model: NodeCosts::processing().linear(),
                tokens: Some(ours!(__dtype::NodeCosts::processing().linear())),
            },
            "penalty" => Self {
                model: Penalty::GUIDELINES.linear(),
                tokens: Some(ours!(__dtype::Penalty::GUIDELINES.linear())),
            },
            file => Self::of_file(text, file)?,
        })
    }

    fn of_file(text: &LitStr, file: &str) -> Result<Self> {
        let error = |problem: &dyn std::fmt::Display| {
            let models = "`cost` takes \"storage\", \"processing\", \"penalty\" or the path of a cost file, \
                          relative to the crate's Cargo.toml";
            Error::new_spanned(text, format!("{models}; cannot read `{file}` as a cost file: {problem}"))
        };
        let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
        let path = std::path::Path::new(&root).join(file);
        let content = std::fs::read_to_string(&path).map_err(|problem| error(&problem))?;
        let costs = cost_file.parse_str(&content).map_err(|problem| error(&problem))?;
        let NodeCosts { leaf, vec, idx, strc, idxbuc, lookup, block, change, byte, weighting } = costs;
        let weighting = match weighting {
            Weighting::Storage => ours!(Storage),
            Weighting::Processing => ours!(Processing),
        };
        let path = path.to_string_lossy();
        let tokens = ours! {{
            // If the file changes, `include_str!` makes cargo compile the crate again.
            const _: &::core::primitive::str = ::core::include_str!(#path);
            __dtype::NodeCosts {
                leaf: #leaf, vec: #vec, idx: #idx, strc: #strc, idxbuc: #idxbuc, lookup: #lookup,
                block: #block, change: #change, byte: #byte, weighting: __dtype::Weighting::#weighting,
            }
            .linear()
        }};
        Ok(Self { model: costs.linear(), tokens: Some(tokens) })
    }
}

/// Parses a cost file: `{"leaf":3,"vec":5,"idx":5,"strc":5,"idxbuc":7,"lookup":1,"weighting":"storage"}`, a
/// flat JSON object whose tokens are also Rust tokens. An omitted cost has its default value.
fn cost_file(input: ParseStream<'_>) -> Result<NodeCosts> {
    let content;
    braced!(content in input);
    let mut costs = NodeCosts::THESIS;
    while !content.is_empty() {
        let name = content.parse()?;
        content.parse::<Token![:]>()?;
        set_cost(&mut costs, &name, &content)?;
        if !content.is_empty() {
            content.parse::<Token![,]>()?;
        }
    }
    Ok(costs)
}

/// Parses the value of the cost `name`.
fn set_cost(costs: &mut NodeCosts, name: &LitStr, value: ParseStream<'_>) -> Result<()> {
    let field = match name.value().as_str() {
        "leaf" => &mut costs.leaf,
        "vec" => &mut costs.vec,
        "idx" => &mut costs.idx,
        "strc" => &mut costs.strc,
        "idxbuc" => &mut costs.idxbuc,
        "lookup" => &mut costs.lookup,
        "block" => &mut costs.block,
        "change" => &mut costs.change,
        "byte" => &mut costs.byte,
        "weighting" => {
            costs.weighting = weighting(&value.parse()?)?;
            return Ok(());
        }
        other => {
            let known = "leaf, vec, idx, strc, idxbuc, lookup, block, change, byte and weighting";
            return Err(Error::new_spanned(name, format!("`{other}` is not a cost; the costs are {known}")));
        }
    };
    let whole =
        |error: Error| Error::new(error.span(), format!("`{}` must be an integer, 0 or more", name.value()));
    *field = value.parse::<LitInt>().and_then(|number| number.base10_parse()).map_err(whole)?;
    Ok(())
}

fn weighting(name: &LitStr) -> Result<Weighting> {
    match name.value().as_str() {
        "storage" => Ok(Weighting::Storage),
        "processing" => Ok(Weighting::Processing),
        other => {
            let problem = format!("`weighting` must be \"storage\" or \"processing\", not \"{other}\"");
            Err(Error::new_spanned(name, problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_is_described() {
        let page = include_str!("lib.rs");
        let of_types = TypeOption::ALL.iter().map(|(name, _)| *name);
        for name in of_types.chain(MessageOption::ALL.iter().map(|(name, _)| *name)) {
            assert!(page.contains(&format!("#[mpi({name}")), "the documentation lacks `#[mpi({name})]`");
        }
    }

    #[test]
    fn cost_files_are_read_and_their_mistakes_named() {
        let default = NodeCosts::THESIS;
        assert_eq!(cost_file.parse_str("{}").unwrap(), default);
        let all = r#"{"leaf":3,"vec":4,"idx":5,"strc":6,"idxbuc":7,"lookup":2,"weighting":"processing"}"#;
        let expected = NodeCosts { vec: 4, strc: 6, lookup: 2, weighting: Weighting::Processing, ..default };
        assert_eq!(cost_file.parse_str(all).unwrap(), expected);
        let message = |text| cost_file.parse_str(text).unwrap_err().to_string();
        assert!(
            message(r#"{"vector": 5}"#).starts_with("`vector` is not a cost; the costs are leaf, vec, idx")
        );
        assert!(message(r#"{"weighting": "both"}"#).contains("not \"both\""));
        assert_eq!(message(r#"{"leaf": -1}"#), "`leaf` must be an integer, 0 or more");
        assert_eq!(message(r#"{"leaf": 1.5}"#), "`leaf` must be an integer, 0 or more");
        assert!(message("[3]").contains("expected curly braces"));
        assert!(message(r#"{"leaf": 3} 4"#).contains("unexpected token"));
    }
}
