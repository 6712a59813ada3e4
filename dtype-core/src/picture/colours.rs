//! The colours of Okabe and Ito, which people with colour blindness can tell apart.

use alloc::{string::String, vec::Vec};

/// The red, green and blue of each colour; and `true` if black text is readable on it.
pub(super) const COLOURS: [((u8, u8, u8), bool); 7] = [
    ((0x56, 0xB4, 0xE9), true),
    ((0xE6, 0x9F, 0x00), true),
    ((0x00, 0x9E, 0x73), true),
    ((0xF0, 0xE4, 0x42), true),
    ((0xCC, 0x79, 0xA7), true),
    ((0xD5, 0x5E, 0x00), true),
    ((0x00, 0x72, 0xB2), false),
];

/// The names in the order of their colours, and the name of each cell.
pub(super) struct Palette {
    pub(super) names: Vec<String>,
    /// The index of each cell's name in `names`.
    pub(super) of_cells: Vec<usize>,
}

impl Palette {
    /// Returns the palette of the cells. Known names come first, if a cell has them.
    pub(super) fn of<'a>(
        known: impl Iterator<Item = &'a String>,
        names_of_cells: impl Iterator<Item = String>,
    ) -> Self {
        let names_of_cells: Vec<String> = names_of_cells.collect();
        let (mut names, mut of_cells): (Vec<String>, _) = (Vec::new(), Vec::new());
        for name in known {
            if names_of_cells.contains(name) && !names.contains(name) {
                names.push(name.clone());
            }
        }
        for name in names_of_cells {
            let known = names.iter().position(|known| *known == name);
            of_cells.push(known.unwrap_or(names.len()));
            if known.is_none() {
                names.push(name);
            }
        }
        Self { names, of_cells }
    }

    /// Returns the colour of a name. Colours repeat if there are more names than colours.
    pub(super) fn colour(number: usize) -> ((u8, u8, u8), bool) {
        COLOURS[number % COLOURS.len()]
    }
}
