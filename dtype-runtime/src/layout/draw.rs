//! Pictures of layouts.

use std::fmt::Write;

use dtype_core::{ArrayOrder, Bounds, TypeTree, picture::Picture};

use super::region::Region;
use crate::{
    Error,
    types::entry::{COSTS, LazyDatatype},
};

/// Draws the selection in an array without gaps: as a grid, byte by byte, and as the least-cost tree.
pub(super) fn draw(region: &Region<'_>, offset: usize, entry: &LazyDatatype) -> Result<Picture, Error> {
    let mut title = String::from("array ");
    for length in region.shape {
        // Writing to a string does not fail.
        let _ = write!(title, "[{length}]");
    }
    let solution = entry.solution();
    let moved = TypeTree::index([offset as i64], solution.tree.clone());
    let bounds = Bounds::of_extent(region.array_size() as i64);
    let mut dimensions: Vec<u64> = region.shape.iter().map(|length| *length as u64).collect();
    if region.order == ArrayOrder::ColumnMajor {
        dimensions.reverse();
    }
    let heading = format!("least-cost tree ({})", solution.optimality.name());
    let picture = Picture::new(&title, &moved, bounds)?.array(&moved, &dimensions, region.element as u64)?;
    Ok(picture.tree(&heading, &solution.tree, offset as i64, &COSTS)?)
}
