//! Which wire is the fastest for a message: a table of what was measured.
//!
//! What decides, apart from the library and the size: for a contiguous message nothing, it travels as it lies; for values with
//! padding how much of it there is; and for parts of arrays how the contiguous blocks lie, and how long they are. Structs with gaps or fields that are
//! skipped are packed always: no library is good at their datatypes.

use std::{env, fs, sync::OnceLock};

use super::{
    Message,
    message::{Lies, Span, sealed::Read},
    transfer::Chosen,
};
use crate::pack::{Order, Spacing};

/// What was measured where this was built: see its first lines.
const BUILT_IN: &str = include_str!("wires.txt");

/// The environment variable that names another table.
const VARIABLE: &str = "DTYPE_WIRES";

/// Sizes that are told apart: each is four times the one before.
const SIZES: usize = 16;

/// Lengths of blocks that are told apart: each is twice the one before.
const BLOCKS: usize = 16;

/// How blocks lie, and what that is called in a table.
const ORDERS: [(Order, &str); 3] =
    [(Order::Strided, "strided"), (Order::Nested, "nested"), (Order::Listed, "listed")];

/// Amounts of padding that are told apart, in percent of the packed bytes.
const PADDINGS: [usize; 4] = [12, 25, 50, 100];

/// Messages up to so many bytes are received into a buffer and copied: to look for them first, so that they can be received straight into
/// their memory, takes longer.
const COPIED: usize = 16 << 10;

/// What is best for the messages of one library.
pub(super) struct Table {
    /// Whether parts of arrays go as their datatype: by how their blocks lie, how long these are, and the size.
    typed: [[[bool; SIZES]; BLOCKS]; ORDERS.len()],
    /// Whether any of that size do.
    any_typed: [bool; SIZES],
    /// Whether values with padding go as they lie in memory, by padding and size.
    padding: [[bool; SIZES]; PADDINGS.len()],
    /// Whether it is faster to look for short messages than to have a buffer wait for them.
    probes: bool,
}

impl Table {
    /// That of the library which runs, read at the first call.
    #[inline]
    pub fn current() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| {
            let library = table_library();
            let own = env::var_os(VARIABLE).and_then(|path| fs::read_to_string(path).ok());
            Self::read(own.as_deref().unwrap_or(BUILT_IN), &library)
        })
    }

    /// The rows of a library. A line that is none says nothing.
    fn read(text: &str, library: &str) -> Self {
        let mut rows = Vec::new();
        let mut probes = false;
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [of, "probes", answer, ..] if of == library => probes = answer == "yes",
                [of, kind, scale, bytes, wire, ..] if of == library => {
                    if let (Ok(scale), Ok(bytes)) = (scale.parse(), bytes.parse()) {
                        rows.push((kind, scale, size_class(bytes), wire));
                    }
                }
                _ => {}
            }
        }
        // What was measured nearest to a cell.
        let nearest = |kind: &str, class: usize, size: usize, of: fn(usize) -> usize, yes: &str| {
            let rows = rows.iter().filter(|row| row.0 == kind);
            let near = rows.min_by_key(|row| of(row.1).abs_diff(class) + row.2.abs_diff(size));
            near.is_some_and(|row| row.3 == yes)
        };
        let typed: [[[bool; SIZES]; BLOCKS]; _] = ORDERS.map(|(_, kind)| {
            std::array::from_fn(|block| {
                std::array::from_fn(|size| nearest(kind, block, size, block_class, "typed"))
            })
        });
        let any_typed = std::array::from_fn(|size| typed.as_flattened().iter().any(|sizes| sizes[size]));
        let padding = std::array::from_fn(|padding| {
            std::array::from_fn(|size| nearest("padding", padding, size, padding_class, "bytes"))
        });
        Self { typed, any_typed, padding, probes }
    }

    /// Whether it is faster to look for short messages than to have a buffer wait for them.
    #[inline]
    pub fn probes(&self) -> bool {
        self.probes
    }

    /// How to send a message.
    #[inline]
    pub fn choose<M: Read + ?Sized>(&self, message: &M) -> Chosen {
        let size = message.packed_size();
        match message.lies() {
            Lies::Contiguous(span) => Chosen::Span(span),
            Lies::Padded(span) if self.padding[padding_class(percent(span, size))][size_class(size)] => {
                Chosen::Span(span)
            }
            Lies::Scattered if self.is_typed(message, size) => Chosen::Typed,
            Lies::Padded(_) | Lies::Scattered => Chosen::Packed,
        }
    }

    /// Whether a message that is scattered is best left to MPI, on either side.
    #[inline]
    pub fn is_typed<M: Read + ?Sized>(&self, message: &M, size: usize) -> bool {
        let size = size_class(size);
        self.any_typed[size]
            && message.spacing().is_some_and(|Spacing { mean_block, order }| {
                self.typed[order as usize][block_class(mean_block)][size]
            })
    }

    /// Whether a message of less than a segment is best received straight into its memory, after it has been looked for.
    #[inline]
    pub fn goes_straight<M: Read + ?Sized>(&self, message: &M) -> bool {
        let size = message.packed_size();
        size > COPIED
            && match message.lies() {
                Lies::Contiguous(_) => true,
                Lies::Padded(_) => false,
                Lies::Scattered => self.is_typed(message, size),
            }
    }
}

/// What a row of a table for [`Wire::auto`](super::Wire::auto) begins with that is about messages like this one: library, how they lie, how
/// long their blocks are or how much padding they have, and bytes. Nothing for a message that always travels in one way.
///
/// ```no_run
/// use dtype_runtime::{layout, wire};
///
/// let _universe = mpi::initialize().unwrap();
/// let column = layout!(f64[512][512] => [.., 3]);
/// println!("{:?}", wire::table_row(&column.of(&[[0.5; 512]; 512]))); // "openmpi-4 strided 8 4096", for example
/// ```
pub fn table_row<M: Message + ?Sized>(message: &M) -> Option<String> {
    let size = message.packed_size();
    let (kind, scale) = match message.lies() {
        Lies::Contiguous(_) => return None,
        Lies::Padded(span) => ("padding", PADDINGS[padding_class(percent(span, size))]),
        Lies::Scattered => {
            let Spacing { mean_block, order } = message.spacing()?;
            (ORDERS[order as usize].1, 1 << block_class(mean_block))
        }
    };
    Some(format!("{} {kind} {scale} {}", table_library(), 1u64 << (2 * size_class(size))))
}

/// The library that runs, as tables for [`Wire::auto`](super::Wire::auto) call it: `openmpi-4`, for example.
pub fn table_library() -> String {
    ::mpi::environment::library_version().map_or(String::new(), |text| name(&text))
}

/// `openmpi-4` or `mpich-5`, of what a library says of itself.
fn name(version: &str) -> String {
    let (name, after) = if version.contains("MPICH") { ("mpich", "Version:") } else { ("openmpi", "v") };
    let number = version.split_once(after).map_or("", |(_, rest)| rest.trim_start());
    let major: String = number.chars().take_while(char::is_ascii_digit).collect();
    format!("{name}-{major}")
}

fn size_class(bytes: usize) -> usize {
    (bytes.max(1).ilog2() as usize / 2).min(SIZES - 1)
}

fn block_class(bytes: usize) -> usize {
    (bytes.max(1).ilog2() as usize).min(BLOCKS - 1)
}

/// Padding, in percent of the packed bytes.
fn percent(span: Span, size: usize) -> usize {
    (span.size - size) * 100 / size.max(1)
}

fn padding_class(percent: usize) -> usize {
    PADDINGS.iter().position(|limit| percent <= *limit).unwrap_or(PADDINGS.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::{BUILT_IN, ORDERS, Order, Table, block_class, name, padding_class, size_class};

    #[test]
    fn libraries_are_known_by_what_they_say_of_themselves() {
        assert_eq!(name("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "openmpi-4");
        assert_eq!(name("Open MPI v5.0.11, package: Open MPI"), "openmpi-5");
        assert_eq!(name("MPICH Version:      4.0.2\nMPICH Release date: 2022"), "mpich-4");
    }

    #[test]
    fn a_row_stands_for_what_is_near_and_other_lines_say_nothing() {
        let text = "# comment\nx strided 8 4096 packed\nx strided 1024 4096 typed\ny strided 8 64 typed\n\
                    x padding 60 64 packed\nx padding 60 4194304 bytes 0.5 3\nx strided much 3 typed\ny probes yes\n\n";
        let table = Table::read(text, "x");
        assert!(!table.probes() && Table::read(text, "y").probes());
        let typed = |block, size| table.typed[Order::Strided as usize][block_class(block)][size_class(size)];
        assert!(!typed(8, 64) && !typed(16, 1 << 20) && typed(600, 64) && typed(1 << 20, 1 << 30));
        let bytes = |percent, size| table.padding[padding_class(percent)][size_class(size)];
        assert!(!bytes(60, 100) && bytes(60, 16 << 20) && bytes(500, usize::MAX));
        let none = Table::read("", "x");
        assert!(!none.any_typed.iter().chain(none.padding.as_flattened()).any(|yes| *yes));
        assert!(table.any_typed[0] && ORDERS.iter().enumerate().all(|(i, (order, _))| *order as usize == i));
    }

    #[test]
    fn every_line_of_the_table_that_is_built_in_is_a_row() {
        for line in BUILT_IN.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let right = match words[..] {
                [_, "probes", "yes" | "no", ..] => true,
                [_, "strided" | "nested" | "listed", scale, bytes, "typed" | "packed", ..]
                | [_, "padding", scale, bytes, "bytes" | "packed", ..] => {
                    scale.parse::<usize>().is_ok() && bytes.parse::<usize>().is_ok()
                }
                _ => false,
            };
            assert!(right, "{line}");
        }
    }
}
