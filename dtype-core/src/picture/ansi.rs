//! A picture as text for terminals, with the colours of the SVG or without any.

use alloc::{format, string::String, vec, vec::Vec};
use core::fmt::{self, Write};

use super::{MOST_IN_ROW, MOST_NODES, Picture, colours::Palette};

impl Picture {
    /// Returns the picture as lines of text, with escape sequences for colours if `is_coloured`.
    ///
    /// A byte is drawn as the letter of its field or base type, a capital one where an entry begins. Padding
    /// and bytes that are not selected are drawn as `░`.
    pub fn text(&self, is_coloured: bool) -> String {
        // Writing to a `String` does not fail.
        self.write_text(is_coloured).unwrap_or_default()
    }

    fn write_text(&self, is_coloured: bool) -> Result<String, fmt::Error> {
        let mut text = format!("{}\n", self.summary());
        let paint = |text: &mut String, colour: Option<usize>, what: &str| match colour {
            Some(number) if is_coloured => {
                let ((r, g, b), is_light) = Palette::colour(number);
                let ink = if is_light { "30" } else { "97" };
                write!(text, "\x1b[{ink};48;2;{r};{g};{b}m{what}\x1b[0m")
            }
            None if is_coloured => write!(text, "\x1b[90m{what}\x1b[0m"),
            _ => text.write_str(what),
        };
        if let Some(grid) = &self.grid {
            let [planes, rows, columns] = grid.shown;
            for plane in 0..planes {
                text.push('\n');
                for row in 0..rows {
                    for column in 0..columns {
                        let filled = grid.filled[(plane * rows + row) * columns + column];
                        let square = match filled {
                            0 => "·",
                            255 => "■",
                            _ => "▪",
                        };
                        if column > 0 {
                            text.push(' ');
                        }
                        text.push_str(square);
                    }
                    text.push('\n');
                }
            }
        }
        if let Some(overview) = &self.overview {
            const LEVELS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
            writeln!(text, "\nthe whole layout: share of data in each {} bytes", overview.part)?;
            for data in &overview.data {
                let part = overview.part.max(1) as u64;
                let level = if *data == 0 { 0 } else { ((*data).min(part) * 7 + part / 2) / part + 1 };
                text.push_str(LEVELS[level as usize]);
            }
            text.push('\n');
            self.zoom.iter().try_for_each(|said| writeln!(text, "{said}"))?;
            writeln!(text, "detail: bytes {} to {}:", self.window.0, self.window.1 - 1)?;
        }
        text.push('\n');
        let (from, to) = self.window;
        let (row, palette) = (self.row(MOST_IN_ROW), self.palette());
        let mut bytes: Vec<(Option<usize>, char)> = vec![(None, '░'); (to - from).max(0) as usize];
        for (number, cell) in self.cells.iter().enumerate() {
            let name = palette.of_cells[number];
            let letter = char::from(b'a' + (name % 26) as u8);
            for at in cell.at..cell.end().min(to) {
                let drawn = if at == cell.at { letter.to_ascii_uppercase() } else { letter };
                bytes[(at - from) as usize] = (Some(name), drawn);
            }
        }
        let digits = format!("{from}").len().max(format!("{to}").len());
        for begin in self.rows(row) {
            let Some(begin) = begin else {
                writeln!(text, "{:>digits$}  … no data …", "")?;
                continue;
            };
            write!(text, "{begin:>digits$}  ")?;
            let row_of_bytes =
                &bytes[(begin - from) as usize..(begin + row).min(to).saturating_sub(from) as usize];
            // Paint adjacent bytes of one colour together.
            for same in row_of_bytes.chunk_by(|a, b| a.0 == b.0) {
                let drawn: String = same.iter().map(|(_, letter)| *letter).collect();
                paint(&mut text, same[0].0, &drawn)?;
            }
            text.push('\n');
        }
        text.push('\n');
        for (number, name) in palette.names.iter().enumerate() {
            let letter = char::from(b'A' + (number % 26) as u8);
            text.push_str(if number == 0 { "" } else { "  " });
            paint(&mut text, Some(number), &format!("{letter}"))?;
            write!(text, " {name}")?;
        }
        if self.has_gap() {
            text.push_str(if palette.names.is_empty() { "" } else { "  " });
            paint(&mut text, None, "░")?;
            write!(text, " {}", self.gap())?;
        }
        text.push('\n');
        for drawn in &self.trees {
            let width = drawn.lines.iter().map(|line| line.text.chars().count()).max().unwrap_or(0);
            let width = width.max(drawn.heading.chars().count());
            writeln!(text, "\n{:<width$}  {:>8}", drawn.heading, "cost")?;
            for (number, line) in drawn.lines.iter().enumerate() {
                let cost = if number < MOST_NODES { format!("{}", line.cost) } else { String::new() };
                writeln!(text, "{}", format!("{:<width$}  {cost:>8}", line.text).trim_end())?;
            }
        }
        Ok(text)
    }
}
