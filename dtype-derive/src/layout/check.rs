//! The checks of `layout!` that literals allow; all mistakes are reported together. The library checks the
//! same rules again when it makes the layout. So these checks exist for their messages, which point at the
//! token.

use std::fmt::Display;

use dtype_core::{
    Item as Selected, MOST_ARRAYS, MOST_DIMENSIONS, MOST_FIXED_PIECES, Progression, SelectionError,
};
use quote::ToTokens;
use syn::{Error, Result};

use super::{
    number::{Expression, Variables},
    parse::{Array, Item, Loop, MapEntry, Range, Step, Term},
};
use crate::errors::Errors;

/// The pieces of a layout whose numbers are all literals: for each piece, the indices in each dimension.
pub(crate) type Progressions = Vec<Vec<Progression>>;

/// Rejects an array layout with mistakes. Returns its lengths and its pieces if all of them are literals.
pub(crate) fn array(array: &Array) -> Result<Option<(Vec<usize>, Progressions)>> {
    let mut errors = Errors::default();
    lengths(array, &mut errors);
    loops(&array.loops, &mut errors);
    for term in &array.terms {
        check_term(array, term, &mut errors);
    }
    // The walk assigns items to dimensions by position, which works only if their numbers match.
    errors.finish()?;
    let mut walk = Walk { array, errors: Errors::default(), turns: 0, pieces: Some(Vec::new()) };
    walk.all(0, &mut Vec::new());
    walk.errors.finish()?;
    let lengths: Option<Vec<usize>> = array.lengths.iter().map(length).collect();
    Ok(lengths.zip(walk.pieces))
}

/// Rejects a type map with mistakes.
pub(crate) fn type_map(entries: &[MapEntry]) -> Result<()> {
    let mut errors = Errors::default();
    for MapEntry { ty, displacement } in entries {
        match displacement.value(&Vec::new()) {
            Some(value) if value < 0 => errors.push(Error::new_spanned(
                displacement,
                format!(
                    "the displacement of `{}` is {value}, but must be 0 or more: displacements are in bytes \
                     from the start of the source",
                    ty.to_token_stream(),
                ),
            )),
            None if !displacement.is_constant(&[]) => errors.push(Error::new_spanned(
                displacement,
                "a displacement of a type map must be a constant: an integer, or a name in upper case",
            )),
            _ => {}
        }
    }
    errors.finish()
}

fn length(expression: &Expression) -> Option<usize> {
    usize::try_from(expression.value(&Vec::new())?).ok()
}

fn lengths(array: &Array, errors: &mut Errors) {
    if let Some(extra) = array.lengths.get(MOST_DIMENSIONS) {
        let message =
            format!("{} dimensions, but a layout has at most {MOST_DIMENSIONS}", array.lengths.len());
        errors.push(Error::new_spanned(extra, message));
    }
    let mut elements = Some(1usize);
    for (dimension, expression) in array.lengths.iter().enumerate() {
        let Some(given) = expression.value(&Vec::new()) else { continue };
        match usize::try_from(given).ok().filter(|length| isize::try_from(*length).is_ok()) {
            None => errors.push(Error::new_spanned(expression, SelectionError::Length { dimension, given })),
            Some(length) => elements = elements.and_then(|elements| elements.checked_mul(length.max(1))),
        }
    }
    if elements.is_none_or(|elements| isize::try_from(elements).is_err()) {
        errors.push(Error::new_spanned(&array.lengths[0], SelectionError::TooLarge));
    }
}

fn loops(loops: &[Loop], errors: &mut Errors) {
    for (k, Loop { variable, .. }) in loops.iter().enumerate() {
        if loops[..k].iter().any(|other| other.variable == *variable) {
            let message = format!("`{variable}` is already a loop variable; use another name");
            errors.push(Error::new_spanned(variable, message));
        }
    }
}

fn check_term(array: &Array, term: &Term, errors: &mut Errors) {
    let (items, dimensions) = (term.items.len(), array.lengths.len());
    if items != dimensions {
        let plural = |number, one: &'static str, many| if number == 1 { one } else { many };
        let message = if dimensions == 0 {
            format!(
                "the array has no dimensions to select from, since `{}` is the type of a single value: write \
                 lengths after the element type, as in `f64[100][100]`, or select fields, as in \
                 `Particle => .position`",
                array.element.to_token_stream()
            )
        } else {
            format!(
                "{items} {} for {dimensions} {}: give one index or range for each, `..` for all of a \
                 dimension",
                plural(items, "index", "indices"),
                plural(dimensions, "dimension", "dimensions"),
            )
        };
        errors.push(Error::new(term.span, message));
    }
    let mut arrays = 0;
    for item in term.path.iter().filter_map(|step| match step {
        Step::Items(items) => Some(items),
        Step::Field(_) => None,
    }) {
        if item.is_empty() {
            errors.push(Error::new(term.span, "expected an index or a range for each array on the path"));
        }
        for item in item {
            arrays += 1;
            if let Item::List(list) = item {
                let message = "a list of indices cannot select within an element; use an index or a range";
                errors.push(Error::new_spanned(list, message));
            }
        }
    }
    if arrays > MOST_ARRAYS {
        let message = format!("a path selects from {arrays} arrays; the limit is {MOST_ARRAYS}");
        errors.push(Error::new(term.span, message));
    }
}

/// A walk through all iterations of the loops whose bounds are literals.
struct Walk<'a> {
    array: &'a Array,
    errors: Errors,
    /// The number of iterations so far, over all loops: an iteration of an outer loop counts as well.
    turns: usize,
    /// The pieces so far, or `None` once a term has a path or a number that is not a literal.
    pieces: Option<Progressions>,
}

impl<'a> Walk<'a> {
    /// Runs the loops from number `depth` on. Returns `true` if the walk should continue.
    fn all(&mut self, depth: usize, variables: &mut Variables<'a>) -> bool {
        let Some(Loop { variable, start, closed, end }) = self.array.loops.get(depth) else {
            return self.terms(variables);
        };
        let (Some(start), Some(last)) = (start.value(variables), end.value(variables)) else {
            // The loop variable has no known value. Items that do not mention the variable are still checked.
            self.pieces = None;
            return self.terms(variables);
        };
        let past = if *closed { last.saturating_add(1) } else { last };
        let mut value = start;
        while value < past {
            self.turns += 1;
            if self.turns > 2 * MOST_FIXED_PIECES {
                let error = SelectionError::TooManyPieces { limit: MOST_FIXED_PIECES };
                self.errors.push(Error::new_spanned(end, error));
                return false;
            }
            variables.push((variable, value));
            let goes_on = self.all(depth + 1, variables);
            variables.pop();
            if !goes_on {
                return false;
            }
            value += 1;
        }
        true
    }

    /// Checks all terms in one iteration of the loops. Returns `true` if the walk should continue.
    fn terms(&mut self, variables: &Variables<'a>) -> bool {
        let mut right = true;
        for term in &self.array.terms {
            let mut selected = Vec::new();
            for (dimension, item) in term.items.iter().enumerate() {
                match select(item, dimension, &self.array.lengths[dimension], variables) {
                    Ok(Some(progression)) => selected.push(progression),
                    Ok(None) => self.pieces = None,
                    Err(error) => {
                        self.errors.push(error);
                        right = false;
                    }
                }
            }
            if !term.path.is_empty() {
                self.pieces = None;
            }
            if let Some(pieces) = &mut self.pieces {
                pieces.push(selected);
                if pieces.len() > MOST_FIXED_PIECES {
                    let error = SelectionError::TooManyPieces { limit: MOST_FIXED_PIECES };
                    self.errors.push(match self.array.loops.first() {
                        Some(outermost) => Error::new_spanned(&outermost.end, error),
                        None => Error::new(term.span, error),
                    });
                    return false;
                }
            }
        }
        // After a mistake the walk stops, so that a loop reports one iteration only. The walk also stops if
        // the pieces are unknown.
        right && self.pieces.is_some()
    }
}

/// Returns the indices that an item selects, or `None` if they are unknown.
fn select(
    item: &Item,
    dimension: usize,
    length: &Expression,
    variables: &Variables<'_>,
) -> Result<Option<Progression>> {
    let Some(length) = self::length(length) else { return Ok(None) };
    let known = match item {
        Item::List(_) => None,
        Item::Index(index) => index.value(variables).map(Selected::Index),
        Item::Range(range) => known_range(range, variables),
    };
    let Some(known) = known else { return Ok(None) };
    known.select(dimension, length).map(Some).map_err(|error| {
        let turn: Vec<_> =
            variables.iter().map(|(variable, value)| format!("`{variable}` is {value}")).collect();
        let message = if turn.is_empty() {
            error.to_string()
        } else {
            format!("{error} (where {})", turn.join(" and "))
        };
        at_fault(item, &error, message)
    })
}

fn known_range(range: &Range, variables: &Variables<'_>) -> Option<Selected> {
    let value = |bound: &Option<Expression>| match bound {
        None => Some(None),
        Some(bound) => bound.value(variables).map(Some),
    };
    let (start, end, step) = (value(&range.start)?, value(&range.end)?, value(&range.step)?);
    Some(Selected::Range { start, end, closed: range.closed(), step: step.unwrap_or(1) })
}

/// Returns the error, located at the token that caused it.
fn at_fault(item: &Item, error: &SelectionError, message: impl Display) -> Error {
    match (item, error) {
        (Item::Index(index), _) => Error::new_spanned(index, message),
        (Item::List(list), _) => Error::new_spanned(list, message),
        (
            Item::Range(Range { start: Some(start), .. }),
            SelectionError::OutOfBounds { what: "range start", .. },
        ) => Error::new_spanned(start, message),
        (Item::Range(Range { end: Some(end), .. }), SelectionError::OutOfBounds { .. }) => {
            Error::new_spanned(end, message)
        }
        (Item::Range(Range { step: Some(step), .. }), SelectionError::NoStep { .. }) => {
            Error::new_spanned(step, message)
        }
        (Item::Range(range), _) => Error::new_spanned(range, message),
    }
}
