//! Pictures of layouts: memory as rows of bytes, or an array as a grid, and the trees that describe it, with
//! the cost of each node.
//!
//! This module computes the contents of a picture. `svg` draws it for browsers and papers, and `ansi` for
//! terminals. `bytes` finds the leaf that a byte belongs to, and `nodes` lists the nodes of a tree.

mod ansi;
mod bytes;
mod colours;
mod grid;
mod nodes;
mod svg;

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{Bounds, CostModel, Error, TypeTree};
use bytes::{Cell, Cells, Overview};
use colours::Palette;
use grid::Grid;
use nodes::Nodes;
pub use svg::PATTERNS;

/// A picture of a layout, with one or several trees that describe it.
///
/// ```
/// use dtype_core::{BaseType, Bounds, NodeCosts, TypeTree, picture::Picture};
/// let tree = TypeTree::structure([0, 8], [BaseType::U8, BaseType::F64].map(TypeTree::Leaf));
/// let picture = Picture::new("particle", &tree, Bounds::of_extent(16))?
///     .field("kind", 0, 1)
///     .field("value", 8, 8)
///     .tree("strc", &tree, 0, &NodeCosts::default())?;
/// assert!(picture.svg().starts_with("<svg "));
/// assert!(picture.text(false).starts_with("particle: 9 bytes of data in 16\n"));
/// # Ok::<(), dtype_core::Error>(())
/// ```
pub struct Picture {
    title: String,
    /// The number of bytes of data, and the range that contains the data and the bounds.
    size: u64,
    from: i64,
    to: i64,
    fields: Vec<Field>,
    /// The bytes that are drawn one by one, and notes on the repetition around them.
    window: (i64, i64),
    zoom: Vec<String>,
    cells: Vec<Cell>,
    /// `true` if `cells` has all entries in the window.
    are_all: bool,
    overview: Option<Overview>,
    grid: Option<Grid>,
    trees: Vec<Drawn>,
}

/// A range of bytes with a name.
struct Field {
    name: String,
    from: i64,
    to: i64,
}

/// A tree with its heading.
struct Drawn {
    heading: String,
    lines: Vec<Line>,
    /// The leaf of each cell, and all nodes above it.
    covers: Vec<Vec<usize>>,
}

/// A node, drawn as a line of its tree.
struct Line {
    text: String,
    cost: u64,
}

/// The largest number of bytes that are drawn one by one.
const MOST_BYTES: i64 = 1024;
/// The largest number of bytes in a row, unless the pattern of the data is longer.
const MOST_IN_ROW: i64 = 64;
/// The largest number of nodes that are drawn for each tree.
const MOST_NODES: usize = 100;

impl Picture {
    /// Returns a picture of the layout that `tree` describes, for a datatype with these bounds. The picture
    /// shows no tree yet.
    ///
    /// # Errors
    /// The errors of [`TypeTree::measure`].
    pub fn new(title: &str, tree: &TypeTree, bounds: Bounds) -> Result<Self, Error> {
        let measure = tree.measure()?;
        let end = bounds.lower_bound.saturating_add(bounds.extent);
        let (from, to) = if measure.entries == 0 {
            (bounds.lower_bound.min(end), bounds.lower_bound.max(end))
        } else {
            (
                bounds.lower_bound.min(measure.lower_bound).min(end),
                end.max(measure.upper_bound).max(bounds.lower_bound),
            )
        };
        let nodes = Nodes::of(tree)?;
        let whole = to.saturating_sub(from);
        let (window, zoom) =
            if whole <= MOST_BYTES { ((from, to), Vec::new()) } else { nodes.zoomed(MOST_BYTES) };
        let cells = Cells::of(&nodes, 0, window);
        let overview = (whole > MOST_BYTES).then(|| Overview::of(&nodes, from, to));
        Ok(Self {
            title: title.to_string(),
            size: measure.size,
            from,
            to,
            fields: Vec::new(),
            window,
            zoom,
            cells: cells.all,
            are_all: cells.are_all,
            overview,
            grid: Grid::inferred(&nodes, from, to),
            trees: Vec::new(),
        })
    }

    /// Gives a name and a colour to `size` bytes at `offset`.
    #[must_use]
    pub fn field(mut self, name: &str, offset: i64, size: u64) -> Self {
        let to = offset.saturating_add(i64::try_from(size).unwrap_or(i64::MAX));
        self.fields.push(Field { name: name.to_string(), from: offset, to });
        self
    }

    /// Draws the layout as a part of an array with these dimensions: as a grid, for up to three dimensions.
    /// The last dimension is the fastest. An element has `element` bytes, and the first one is at
    /// displacement 0.
    ///
    /// # Errors
    /// The errors of [`TypeTree::measure`].
    pub fn array(mut self, tree: &TypeTree, dimensions: &[u64], element: u64) -> Result<Self, Error> {
        self.grid = Grid::of(&Nodes::of(tree)?, dimensions, element);
        Ok(self)
    }

    /// Adds a tree with the same type map, whose displacement 0 is at `at`, with the costs of its nodes.
    ///
    /// # Errors
    /// The errors of [`TypeTree::measure`].
    pub fn tree(
        mut self,
        heading: &str,
        tree: &TypeTree,
        at: i64,
        costs: &dyn CostModel,
    ) -> Result<Self, Error> {
        let nodes = Nodes::of(tree)?;
        let drawn = tree.to_string();
        let mut lines: Vec<Line> = drawn
            .lines()
            .zip(nodes.iter())
            .take(MOST_NODES)
            .map(|(text, node)| Line { text: text.to_string(), cost: node.cost(costs) })
            .collect();
        if nodes.len() > MOST_NODES {
            lines.push(Line { text: format!("… {} more nodes", nodes.len() - MOST_NODES), cost: 0 });
        }
        let cells = Cells::of(&nodes, at, self.window).all;
        let covers = self.cells.iter().map(|cell| {
            let same = cells.binary_search_by_key(&(cell.at, cell.base), |other| (other.at, other.base));
            same.map_or(Vec::new(), |i| nodes.above(cells[i].leaf))
        });
        let covers = covers.collect();
        self.trees.push(Drawn { heading: heading.to_string(), lines, covers });
        Ok(self)
    }

    /// Returns the meaning of the bytes between the data.
    fn gap(&self) -> &'static str {
        match (self.are_all, &self.grid) {
            (false, _) => "no data, or not examined",
            (true, Some(_)) => "no data",
            (true, None) => "padding",
        }
    }

    /// Returns `true` if there are gaps between the data in the window.
    fn has_gap(&self) -> bool {
        let mut covered = self.window.0;
        for cell in &self.cells {
            if cell.at > covered {
                return true;
            }
            covered = covered.max(cell.end());
        }
        covered < self.window.1
    }

    /// Returns the first line, which all output formats share.
    fn summary(&self) -> String {
        const MOST: usize = 70;
        let mut title: String = self.title.chars().take(MOST).collect();
        if title.len() < self.title.len() {
            title.push('…');
        }
        let whole = self.to.saturating_sub(self.from);
        let twice = if self.size > whole.max(0) as u64 { ", some twice" } else { "" };
        format!("{title}: {} of data in {whole}{twice}", bytes_of(self.size))
    }

    /// Returns the colours of the cells: each has that of its field, or else that of its base type.
    fn palette(&self) -> Palette {
        // If fields overlap, the one that begins last applies.
        let field_of = |cell: &Cell| {
            let holding = self.fields.iter().filter(|field| (field.from..field.to).contains(&cell.at));
            holding.max_by_key(|field| field.from)
        };
        let name_of =
            |cell: &Cell| field_of(cell).map_or_else(|| cell.base.to_string(), |field| field.name.clone());
        // Fields come first, so a field keeps its colour wherever it lies.
        Palette::of(self.fields.iter().map(|field| &field.name), self.cells.iter().map(name_of))
    }

    /// Returns the number of bytes in a row. If the data has a period of up to `most` bytes, the row is a
    /// multiple of the period, so that copies line up.
    fn row(&self, most: i64) -> i64 {
        let length = self.window.1 - self.window.0;
        if length <= MOST_IN_ROW {
            return length.max(1);
        }
        let starts: Vec<i64> = self.cells.iter().map(|cell| cell.at).collect();
        let repeats = |period: &i64| {
            let covered = |at: i64| starts.binary_search(&at).is_ok();
            starts.iter().all(|at| at + period >= self.window.1 || covered(at + period))
        };
        // Fewer than three copies are a coincidence, unless they fill the window.
        let is_likely = |period: &i64| length % period == 0 || 3 * period <= length;
        let period = (1..=most).filter(is_likely).find(repeats).unwrap_or(8);
        (MOST_IN_ROW / period).max(1) * period
    }

    /// Returns the first byte of each row of `row` bytes. `None` stands for several rows without data.
    fn rows(&self, row: i64) -> Vec<Option<i64>> {
        let (from, to) = self.window;
        let has_data = |begin: i64| {
            let behind = self.cells.partition_point(|cell| cell.at < begin + row);
            self.cells[..behind].iter().rev().any(|cell| cell.end() > begin)
        };
        let begins: Vec<i64> = (from..to).step_by(row as usize).collect();
        let filled: Vec<bool> = begins.iter().map(|begin| has_data(*begin)).collect();
        let mut rows = Vec::new();
        let mut i = 0;
        while i < begins.len() {
            let empty = filled[i..].iter().take_while(|filled| !**filled).count();
            if empty > 1 {
                rows.push(None);
                i += empty;
            } else {
                rows.push(Some(begins[i]));
                i += 1;
            }
        }
        rows
    }
}

fn bytes_of(count: u64) -> String {
    format!("{count} {}", if count == 1 { "byte" } else { "bytes" })
}
