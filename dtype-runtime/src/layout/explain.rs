//! Descriptions of layouts in text: the selection, drawn as cells, beside the type tree.

use std::fmt::Write;

use dtype_core::Optimality;
use dtype_engine::{Plan, prices::predictions};

use super::region::{Region, Totals};
use crate::types::entry::LazyDatatype;

/// The largest number of rows that are drawn.
const MOST_ROWS: usize = 16;

/// The largest number of columns that are drawn.
const MOST_COLUMNS: usize = 32;

/// Returns the text of [`Layout::explain`](crate::Layout::explain). A message consists of `copies` of the
/// plan.
pub(crate) fn explain(region: &Region<'_>, entry: &LazyDatatype, plan: &Plan, copies: usize) -> String {
    let solution = entry.solution();
    let mut shape = String::new();
    for length in region.shape {
        // Writing to a string does not fail, here and below.
        let _ = write!(shape, "[{length}]");
    }
    let Totals { count, packed_size: bytes, .. } = region.totals();
    let of = if shape.is_empty() { String::from("an element") } else { format!("an array {shape}") };
    let proven = match solution.optimality {
        Optimality::Proven => "the least cost",
        Optimality::UpperBound => "an upper bound of the least cost",
    };
    let mut text = String::new();
    let _ = writeln!(text, "{count} values of {of}, {bytes} bytes; cost {}, {proven}", entry.cost());
    let _ = writeln!(text, "solved at {}\n", entry.origin());
    let tree = solution.tree.to_string();
    let grid = grid(region);
    let width = grid.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let mut tree = tree.lines();
    for line in &grid {
        let _ = match tree.next() {
            Some(node) => writeln!(text, "{line:width$}   {node}"),
            None => writeln!(text, "{line}"),
        };
    }
    let margin = if grid.is_empty() { 0 } else { width + 3 };
    for node in tree {
        let _ = writeln!(text, "{:margin$}{node}", "");
    }
    let _ = write!(text, "\n{}", entry.program());
    if let Some(times) = predictions(plan, copies) {
        let _ = write!(text, "\n{times}");
    }
    text
}

/// Draws the cells of an array of one or two dimensions, one line for each row. A cell is not selected,
/// selected once, or selected more than once. The middle of a large array is left out. Returns no lines for
/// any other number of dimensions.
fn grid(region: &Region<'_>) -> Vec<String> {
    let (rows, columns) = match *region.shape {
        [columns] => (1, columns),
        [rows, columns] => (rows, columns),
        _ => return Vec::new(),
    };
    let (rows, columns) = (shown(rows, MOST_ROWS), shown(columns, MOST_COLUMNS));
    let cells = region.cells(&rows, &columns);
    let gap_behind = |shown: &[usize], k: usize| shown.get(k + 1).is_some_and(|next| *next != shown[k] + 1);
    let mut lines = Vec::new();
    for (k, line) in cells.chunks(columns.len().max(1)).enumerate() {
        let mut drawn = String::new();
        for (j, cell) in line.iter().enumerate() {
            drawn.push_str(if j == 0 { "" } else { " " });
            drawn.push(match cell {
                0 => '·',
                1 => '■',
                _ => '2',
            });
            if gap_behind(&columns, j) {
                drawn.push_str(" …");
            }
        }
        lines.push(drawn);
        if gap_behind(&rows, k) {
            lines.push(String::from("⋮"));
        }
    }
    lines
}

/// Returns the indices of a dimension that are drawn: all, or the first and the last ones.
fn shown(length: usize, most: usize) -> Vec<usize> {
    if length <= most {
        (0..length).collect()
    } else {
        (0..most / 2).chain(length - most / 2..length).collect()
    }
}
