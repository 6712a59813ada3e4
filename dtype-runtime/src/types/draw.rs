//! Pictures of types.

use dtype_core::{Bounds, LinearCosts, picture::Picture};

use super::{entry::LazyDatatype, fields::Field};
use crate::Error;

/// Returns a picture of a value of a type with this name and size in bytes: each field in its colour, padding
/// hatched, and the least-cost tree.
pub(super) fn draw(
    type_name: &str,
    size: usize,
    fields: &[Field],
    lazy: &LazyDatatype,
    costs: &LinearCosts,
) -> Result<Picture, Error> {
    // The last part of the path, with its generic arguments.
    let end = type_name.find('<').unwrap_or(type_name.len());
    let name = type_name[..end].rfind("::").map_or(type_name, |at| &type_name[at + 2..]);
    let solution = lazy.solution();
    let mut picture = Picture::new(name, &solution.tree, Bounds::of_extent(size as i64))?;
    for field in fields {
        picture = picture.field(field.name(), field.offset() as i64, field.size());
    }
    let heading = format!("least-cost tree ({})", solution.optimality.name());
    Ok(picture.tree(&heading, &solution.tree, 0, costs)?)
}
