//! A picture as SVG. Pointing at a node of a tree marks its bytes in memory, by CSS alone.

use alloc::{format, string::String, vec::Vec};
use core::fmt::{self, Write};

use super::{Drawn, MOST_IN_ROW, MOST_NODES, Picture, colours::Palette};

/// The width of the picture, the height of a line of text, and the width of a character of a tree, in pixels.
const WIDTH: i64 = 960;
const LINE: i64 = 18;
const CHARACTER: i64 = 8;
/// The largest number of characters in a line of a tree.
const MOST_CHARACTERS: i64 = 300;
/// The left edge of the bytes, to the right of their offsets, and the height of a row of bytes, in pixels.
const LEFT: i64 = 84;
const ROW: i64 = 26;
/// The largest number of colours in the legend.
const MOST_NAMES: usize = 24;
/// The width of a character of the names in memory, in pixels.
const SMALL: i64 = 7;

/// A row of bytes.
struct Strip<'a> {
    palette: &'a Palette,
    /// The first byte, and the byte after the last one.
    begin: i64,
    end: i64,
    /// The width of a byte in pixels.
    wide: i64,
    /// The upper edge in pixels.
    y: i64,
}

impl Strip<'_> {
    /// Returns the left edge and the width in pixels of a range of bytes in this row.
    fn across(&self, from: i64, to: i64) -> (i64, i64) {
        let (from, to) = (from.max(self.begin), to.min(self.end));
        (LEFT + (from - self.begin) * self.wide, (to - from) * self.wide)
    }
}

/// A part of the SVG, and its height in pixels.
struct Section {
    text: String,
    height: i64,
}

/// The hatching of padding, which each picture defines. Browsers use only the first definition in a page, and
/// draw no hatching if this definition is hidden. So a page with hidden pictures needs the definition in a
/// visible SVG element before all pictures.
pub const PATTERNS: &str = "<defs><pattern id=\"gap\" width=\"6\" height=\"6\" \
                            patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect \
                            width=\"6\" height=\"6\" fill=\"#fff\"/><line y2=\"6\" stroke=\"#999\" \
                            stroke-width=\"2\"/></pattern></defs>";

impl Picture {
    /// Returns the picture as a whole SVG file.
    ///
    /// Named fields and base types have colours that people with colour blindness can tell apart. Padding is
    /// hatched. Pointing at a node of a tree marks its bytes.
    pub fn svg(&self) -> String {
        // Writing to a `String` does not fail.
        self.write_svg().unwrap_or_default()
    }

    fn write_svg(&self) -> Result<String, fmt::Error> {
        let (mut below, mut y) = (String::new(), 30);
        for note in [self.grid()?, self.overview()?].into_iter().flatten() {
            write!(below, "<g transform=\"translate(0 {y})\">\n{}</g>\n", note.text)?;
            y += note.height;
        }
        let ribbon = self.ribbon()?;
        write!(below, "<g class=\"ribbon\" transform=\"translate(0 {y})\">\n{}</g>\n", ribbon.text)?;
        y += ribbon.height;
        let legend = self.legend()?;
        write!(below, "<g transform=\"translate(0 {y})\">\n{}</g>\n", legend.text)?;
        y += legend.height;
        let (trees, width) = self.trees_at(y)?;
        let height = y + trees.height;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" class=\"dtype\">\n<title>{}</title>\n",
            escaped(&self.summary())
        );
        write!(svg, "<style>\n{}</style>\n", self.style()?)?;
        writeln!(svg, "{PATTERNS}")?;
        writeln!(svg, "<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>")?;
        writeln!(svg, "<text x=\"12\" y=\"20\" class=\"head\">{}</text>", escaped(&self.summary()))?;
        // CSS can mark only elements after the one that is pointed at, so the trees come first.
        svg.push_str(&trees.text);
        svg.push_str(&below);
        svg.push_str("</svg>\n");
        Ok(svg)
    }

    fn style(&self) -> Result<String, fmt::Error> {
        let mut css = String::from(
            ".dtype text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#000;white-space:pre}\n\
             .dtype .head{font-weight:bold}\n.dtype .note{font-size:11px;fill:#444}\n\
             .dtype .inner{font-size:11px;text-anchor:middle;pointer-events:none}\n\
             .dtype .light{fill:#fff}\n.dtype .c{stroke:#000;stroke-width:.6}\n\
             .dtype .hit{fill:transparent}\n.dtype .n:hover .hit{fill:#ddd}\n",
        );
        for tree in 0..self.trees.len() {
            for node in 0..self.trees[tree].lines.len().min(MOST_NODES) {
                let name = node_name(tree, node);
                writeln!(
                    css,
                    ".dtype .h{name}:hover~.ribbon .c:not(.{name}){{opacity:.2}}\n\
                     .dtype .h{name}:hover~.ribbon .{name}{{stroke-width:2}}"
                )?;
            }
        }
        Ok(css)
    }

    /// Draws a strip for the whole of a large layout.
    fn overview(&self) -> Result<Option<Section>, fmt::Error> {
        let Some(overview) = &self.overview else { return Ok(None) };
        let (mut text, parts) = (String::new(), overview.data.len() as i64);
        let (width, high) = ((WIDTH - LEFT - 12) / parts, 40);
        writeln!(
            text,
            "<text x=\"12\" y=\"12\" class=\"note\">the whole layout: share of data in each {} bytes</text>",
            overview.part
        )?;
        let whole = width * parts;
        writeln!(
            text,
            "<rect x=\"{LEFT}\" y=\"20\" width=\"{whole}\" height=\"{high}\" fill=\"url(#gap)\"/>"
        )?;
        for (i, data) in overview.data.iter().enumerate().filter(|(_, data)| **data > 0) {
            let part = overview.part.max(1) as u64;
            let filled = (((*data).min(part) * high as u64 + part / 2) / part).max(1);
            writeln!(
                text,
                "<rect x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{filled}\" fill=\"#56B4E9\"/>",
                LEFT + i as i64 * width,
                20 + high - filled as i64
            )?;
        }
        writeln!(text, "<text x=\"{LEFT}\" y=\"74\" class=\"note\">{}</text>", self.from)?;
        let end = LEFT + whole;
        writeln!(text, "<text x=\"{end}\" y=\"74\" class=\"note\" text-anchor=\"end\">{}</text>", self.to)?;
        let mut y = 94;
        for said in &self.zoom {
            writeln!(text, "<text x=\"12\" y=\"{y}\" class=\"note\">{}</text>", escaped(said))?;
            y += 15;
        }
        let (from, to) = self.window;
        writeln!(text, "<text x=\"12\" y=\"{y}\" class=\"note\">detail: bytes {from} to {}:</text>", to - 1)?;
        Ok(Some(Section { text, height: y + 8 }))
    }

    /// Draws the array that the layout is a part of: planes of squares, four side by side.
    fn grid(&self) -> Result<Option<Section>, fmt::Error> {
        let Some(grid) = &self.grid else { return Ok(None) };
        let [planes, rows, columns] = grid.shown.map(|count| count as i64);
        let beside = planes.min(4);
        let side = ((WIDTH - 24) / (beside * (columns + 1))).min(280 / rows).clamp(3, 16);
        let dimensions = grid.dimensions.iter().fold(String::new(), |all, count| all + &format!("[{count}]"));
        let step = match grid.step {
            [1, 1, 1] => String::new(),
            [1, rows, columns] => format!("; a square is {rows} × {columns} elements"),
            [planes, rows, columns] => format!("; a square is {planes} × {rows} × {columns} elements"),
        };
        let mut text =
            format!("<text x=\"12\" y=\"12\" class=\"note\">in an array {dimensions}{step}</text>\n");
        let place = |plane: i64| {
            (12 + plane % beside * (columns + 1) * side, 22 + plane / beside * (rows + 1) * side)
        };
        for plane in 0..planes {
            let (x, y) = place(plane);
            let (width, height) = (columns * side, rows * side);
            writeln!(
                text,
                "<g transform=\"translate({x} {y})\"><rect width=\"{width}\" height=\"{height}\" \
                 fill=\"#e4e4e4\"/>"
            )?;
            for row in 0..rows {
                let first = ((plane * rows + row) * columns) as usize;
                let mut x = 0;
                // Draw adjacent squares of the same fill as one; the lines between squares are drawn over it.
                for same in grid.filled[first..first + columns as usize].chunk_by(|a, b| a == b) {
                    let (y, width) = (row * side, same.len() as i64 * side);
                    if same[0] > 0 {
                        let opacity = u32::from(same[0]) * 100 / 255;
                        writeln!(
                            text,
                            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"#0072B2\" \
                             fill-opacity=\"{}.{:02}\"/>",
                            width,
                            side,
                            opacity / 100,
                            opacity % 100
                        )?;
                    }
                    x += width;
                }
            }
            // The lines between squares.
            text.push_str("<path stroke=\"#fff\" d=\"");
            (1..columns).try_for_each(|i| write!(text, "M{} 0v{height}", i * side))?;
            (1..rows).try_for_each(|i| write!(text, "M0 {}h{width}", i * side))?;
            text.push_str("\"/></g>\n");
        }
        let (_, y) = place(planes - 1);
        Ok(Some(Section { text, height: y + (rows + 1) * side + 8 }))
    }

    /// Draws the bytes in rows.
    fn ribbon(&self) -> Result<Section, fmt::Error> {
        let (_, to) = self.window;
        let row = self.row(2 * MOST_IN_ROW);
        let (rows, palette) = (self.rows(row), self.palette());
        let wide = ((WIDTH - LEFT - 12) / row).min(44);
        let mut text = String::new();
        let tick = if row <= 16 { 1 } else { 8 };
        for at in (0..row).step_by(tick) {
            let x = LEFT + at * wide + 2;
            writeln!(text, "<text x=\"{x}\" y=\"10\" class=\"note\">{at}</text>")?;
        }
        for (i, begin) in rows.iter().enumerate() {
            let y = 16 + i as i64 * ROW;
            let Some(begin) = *begin else {
                writeln!(text, "<text x=\"{LEFT}\" y=\"{}\" class=\"note\">… no data …</text>", y + 15)?;
                continue;
            };
            let (x, width) = (LEFT - 8, (to - begin).min(row) * wide);
            writeln!(
                text,
                "<text x=\"{x}\" y=\"{}\" class=\"note\" text-anchor=\"end\">{begin}</text>\n\
                 <rect x=\"{LEFT}\" y=\"{y}\" width=\"{width}\" height=\"{}\" fill=\"url(#gap)\" \
                 stroke=\"#bbb\" stroke-width=\".5\"><title>{}</title></rect>",
                y + 16,
                ROW - 4,
                self.gap()
            )?;
            let strip = Strip { palette: &palette, begin, end: (begin + row).min(to), wide, y };
            self.cells_of_row(&mut text, &strip)?;
            self.labels_of_row(&mut text, &strip)?;
        }
        Ok(Section { text, height: 24 + rows.len() as i64 * ROW })
    }

    /// Returns the numbers of the cells that reach into a row.
    fn cells_in(&self, row: &Strip<'_>) -> impl Iterator<Item = usize> {
        let (begin, behind) = (row.begin, self.cells.partition_point(|cell| cell.at < row.end));
        (0..behind).filter(move |number| self.cells[*number].end() > begin)
    }

    fn cells_of_row(&self, text: &mut String, row: &Strip<'_>) -> fmt::Result {
        for number in self.cells_in(row) {
            let cell = &self.cells[number];
            let name = row.palette.of_cells[number];
            let ((r, g, b), _) = Palette::colour(name);
            let mut class = String::from("c");
            for (tree, drawn) in self.trees.iter().enumerate() {
                drawn.covers[number]
                    .iter()
                    .try_for_each(|node| write!(class, " {}", node_name(tree, *node)))?;
            }
            let (x, width) = row.across(cell.at, cell.end());
            writeln!(
                text,
                "<rect class=\"{class}\" x=\"{x}\" y=\"{}\" width=\"{width}\" height=\"{}\" \
                 fill=\"#{r:02X}{g:02X}{b:02X}\"><title>{}: {} at {}</title></rect>",
                row.y,
                ROW - 4,
                escaped(&row.palette.names[name]),
                cell.base,
                cell.at
            )?;
        }
        Ok(())
    }

    /// Draws names on fields, or base types on entries, if there is room.
    fn labels_of_row(&self, text: &mut String, row: &Strip<'_>) -> fmt::Result {
        let palette = row.palette;
        let in_row: Vec<usize> = self.cells_in(row).collect();
        // Adjacent cells of one field share a name.
        let is_one = |a: &usize, b: &usize| {
            let name = palette.of_cells[*a];
            name == palette.of_cells[*b]
                && self.fields.iter().any(|field| field.name == palette.names[name])
                && self.cells[*b].at <= self.cells[*a].end()
        };
        for same in in_row.chunk_by(is_one) {
            let (first, last) = (same[0], same[same.len() - 1]);
            let (x, room) = row.across(self.cells[first].at, self.cells[last].end());
            let name = palette.of_cells[first];
            let label = &palette.names[name];
            if label.chars().count() as i64 * SMALL + 4 <= room {
                let (x, y) = (x + room / 2, row.y + 15);
                let light = if Palette::colour(name).1 { "" } else { " light" };
                writeln!(text, "<text class=\"inner{light}\" x=\"{x}\" y=\"{y}\">{}</text>", escaped(label))?;
            }
        }
        Ok(())
    }

    /// Draws the legend of the colours.
    fn legend(&self) -> Result<Section, fmt::Error> {
        let (mut text, mut x, mut y) = (String::new(), LEFT, 0);
        let palette = self.palette();
        let fills = palette.names.iter().enumerate().map(|(i, name)| {
            let ((r, g, b), _) = Palette::colour(i);
            (format!("#{r:02X}{g:02X}{b:02X}"), name.as_str())
        });
        let more = palette.names.len().saturating_sub(MOST_NAMES);
        let rest = format!("{more} more");
        let rest = (more > 0).then(|| ("#fff".into(), rest.as_str()));
        for (fill, name) in
            fills.take(MOST_NAMES).chain(rest).chain(self.has_gap().then(|| ("url(#gap)".into(), self.gap())))
        {
            let width = 30 + name.chars().count() as i64 * CHARACTER;
            if x > LEFT && x + width > WIDTH {
                (x, y) = (LEFT, y + LINE);
            }
            writeln!(
                text,
                "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" fill=\"{fill}\" stroke=\"#000\" \
                 stroke-width=\".6\"/><text x=\"{}\" y=\"{}\" class=\"note\">{}</text>",
                x + 17,
                y + 10,
                escaped(name)
            )?;
            x += width;
        }
        Ok(Section { text, height: y + 32 })
    }

    /// Draws the trees side by side, or below each other if they are wide, and returns the width of all.
    fn trees_at(&self, y: i64) -> Result<(Section, i64), fmt::Error> {
        let width = |drawn: &Drawn| {
            let lines = drawn.lines.iter().map(|line| &line.text).chain([&drawn.heading]);
            (lines.map(|line| line.chars().count()).max().unwrap_or(0) as i64).min(MOST_CHARACTERS) + 10
        };
        let room = WIDTH / (self.trees.len() as i64).max(1);
        let is_beside = self.trees.iter().all(|drawn| width(drawn) * CHARACTER + 24 <= room);
        let (mut text, mut x, mut y, mut height, mut widest) = (String::new(), 12, y, 0, WIDTH);
        let top = y;
        for (tree, drawn) in self.trees.iter().enumerate() {
            let heading = escaped(&cut(&drawn.heading, MOST_CHARACTERS as usize));
            let costs = width(drawn) * CHARACTER;
            writeln!(
                text,
                "<text x=\"{x}\" y=\"{0}\" class=\"head\">{heading}</text>\n\
                 <text x=\"{1}\" y=\"{0}\" class=\"note\" text-anchor=\"end\">cost</text>",
                y + 14,
                x + costs
            )?;
            for (node, line) in drawn.lines.iter().enumerate() {
                let at = y + 24 + node as i64 * LINE;
                let shown = escaped(&cut(&line.text, MOST_CHARACTERS as usize));
                let cost = if node < MOST_NODES { format!("{}", line.cost) } else { String::new() };
                writeln!(
                    text,
                    "<g class=\"n h{}\"><rect class=\"hit\" x=\"{x}\" y=\"{at}\" width=\"{costs}\" \
                     height=\"{LINE}\"/><text x=\"{x}\" y=\"{1}\">{shown}</text><text x=\"{2}\" y=\"{1}\" \
                     text-anchor=\"end\">{cost}</text></g>",
                    node_name(tree, node),
                    at + 13,
                    x + costs
                )?;
            }
            widest = widest.max(x + costs + 12);
            let own = 40 + drawn.lines.len() as i64 * LINE;
            if is_beside {
                x += room;
                height = height.max(own);
            } else {
                y += own;
                height = y - top;
            }
        }
        Ok((Section { text, height: height + 8 }, widest))
    }
}

/// Returns the class of a node of a tree: `a0` is the root of the first tree.
fn node_name(tree: usize, node: usize) -> String {
    let letter = char::from(b'a' + (tree % 26) as u8);
    format!("{letter}{node}")
}

/// Returns a text, cut off after `most` characters.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.into();
    }
    let mut shown: String = text.chars().take(most.saturating_sub(1)).collect();
    shown.push('…');
    shown
}

/// Returns a text escaped for XML.
fn escaped(text: &str) -> String {
    let mut all = String::new();
    for c in text.chars() {
        match c {
            '<' => all.push_str("&lt;"),
            '>' => all.push_str("&gt;"),
            '&' => all.push_str("&amp;"),
            '"' => all.push_str("&quot;"),
            // XML cannot represent these characters.
            c if c.is_control() => all.push(' '),
            c => all.push(c),
        }
    }
    all
}
