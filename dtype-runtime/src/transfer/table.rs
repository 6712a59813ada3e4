//! Tables of measurements: which of two wires is the faster for a message whose bytes are the same on both. A
//! table has rows for each library and size. For parts of arrays, rows also depend on the order and the
//! length of the contiguous blocks.

use std::{
    array::from_fn,
    env, fmt,
    fs::File,
    io::{self, Read as _},
    ops::RangeInclusive,
    path::Path,
    sync::OnceLock,
};

use ::mpi::Rank;

use dtype_engine::{Order, Spacing};

use super::sendable::sealed::Read;
use crate::{Error, mpi::running};

/// The built-in table of measurements: see its first lines.
const BUILT_IN: &str = include_str!("wires.txt");

/// The environment variable that names another table.
const VARIABLE: &str = "DTYPE_WIRES";

/// The number of classes of sizes. Sizes in a class are four times those in the class before.
const SIZES: usize = 16;

/// The number of classes of block lengths. Lengths in a class are twice those in the class before.
const BLOCKS: usize = 16;

/// The arrangements of blocks, with their names in a table: those of values of one base type, by their
/// [`Order`], and any of values of different ones.
const ARRANGEMENTS: [&str; 4] = ["strided", "nested", "listed", "mixed"];

/// The number of the last arrangement.
const MIXED: usize = ARRANGEMENTS.len() - 1;

/// Returns the number of the arrangement of blocks.
fn arrangement(Spacing { order, is_mixed, .. }: Spacing) -> usize {
    match order {
        _ if is_mixed => MIXED,
        Order::Strided => 0,
        Order::Nested => 1,
        Order::Listed => 2,
    }
}

/// The word in rows about the wire of segments, in place of an arrangement.
const PIECES: &str = "pieces";

/// The names of the ways in a table: packed and whole, typed, or in segments.
const PACKED: &str = "packed";
const TYPED: &str = "typed";
const SEGMENTS: &str = "segments";

/// The largest size of a table of wires in bytes: a thousand times that of the built-in table.
pub(crate) const LARGEST: u64 = 8 << 20;

/// The fastest ways for the messages of one library. By default, everything is packed.
#[derive(Clone, Default)]
pub(crate) struct Table {
    /// `true` if messages are sent with their datatype, for each arrangement of their blocks, block length
    /// and size.
    typed: [[[bool; SIZES]; BLOCKS]; ARRANGEMENTS.len()],
    /// `true` if there are rows about values of different base types.
    has_mixed: bool,
    /// For each size, `true` if messages are sent with their datatype for some arrangement and block length.
    any_typed: [bool; SIZES],
    /// The library that the rows are about.
    library: String,
    /// For each size, `true` if messages are faster in segments than packed.
    in_pieces: [bool; SIZES],
}

impl Table {
    /// Returns the table of the running library, which the first call reads.
    ///
    /// # Errors
    /// `Argument` if `DTYPE_WIRES` names a file that is not a table.
    #[inline]
    pub fn current() -> Result<&'static Self, Error> {
        static TABLE: OnceLock<Result<Table, Error>> = OnceLock::new();
        TABLE.get_or_init(Self::load).as_ref().map_err(Clone::clone)
    }

    #[cold]
    fn load() -> Result<Self, Error> {
        let library = table_library();
        let of_library = |text: &str| Self::nearest(text, &library).map(Option::unwrap_or_default);
        let Some(path) = env::var_os(VARIABLE) else {
            return Ok(of_library(BUILT_IN).unwrap_or_default());
        };
        let path = Path::new(&path);
        let table = format!("{}, named by `{VARIABLE}`,", path.display());
        let failed = |reason| Error::Table { table: table.clone(), reason };
        let text = limited(path).map_err(|error| failed(error.to_string()))?;
        of_library(&text).map_err(failed)
    }

    /// Reads the rows of a library. If there are none, reads those of the nearest version before it, or else
    /// of the nearest version after it.
    fn nearest(text: &str, library: &str) -> Result<Option<Self>, String> {
        if let table @ Some(_) = Self::read(text, library)? {
            return Ok(table);
        }
        nearest_version(text, library).map_or(Ok(None), |nearest| Self::read(text, nearest))
    }

    /// Reads the rows that begin with the name of a library, or returns `None` if there are none. Other rows
    /// are only checked for their form.
    pub fn read(text: &str, library: &str) -> Result<Option<Self>, String> {
        if text.len() as u64 > LARGEST {
            return Err(too_long());
        }
        let mut rows = Vec::new();
        // Some editors put a byte order mark at the beginning of a file.
        let text = text.trim_start_matches('\u{feff}');
        for (i, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let (of, row) = Row::read(line).map_err(|what| format!("line {}: {what}", i + 1))?;
            if of == library {
                rows.push(row);
            }
        }
        if rows.is_empty() {
            return Ok(None);
        }
        // Each cell of the table gets the result of the nearest row.
        let is_other_way = |order: Option<usize>, block: usize, size: usize| {
            let rows = rows.iter().filter(|row| row.arrangement == order);
            let near = rows.min_by_key(|row| row.block.abs_diff(block) + row.size.abs_diff(size));
            near.is_some_and(|row| row.is_other_way)
        };
        let typed: [[[bool; SIZES]; BLOCKS]; _] =
            from_fn(|order| from_fn(|block| from_fn(|size| is_other_way(Some(order), block, size))));
        let any_typed = from_fn(|size| typed.as_flattened().iter().any(|sizes| sizes[size]));
        let in_pieces = from_fn(|size| is_other_way(None, 0, size));
        let has_mixed = rows.iter().any(|row| row.arrangement == Some(MIXED));
        Ok(Some(Self { typed, has_mixed, any_typed, in_pieces, library: library.to_owned() }))
    }

    /// Returns the table with the choices of the table of the process for values of different base types, if
    /// it has none itself: [`calibrate`](crate::Comm::calibrate) does not measure them.
    fn completed(mut self) -> Self {
        if !self.has_mixed
            && let Ok(current) = Self::current()
        {
            self.typed[MIXED] = current.typed[MIXED];
            self.any_typed = from_fn(|size| self.typed.as_flattened().iter().any(|sizes| sizes[size]));
        }
        self
    }

    /// Returns `true` if a message that is not contiguous should be sent or received with its datatype.
    #[inline]
    pub fn is_typed<M: Read + ?Sized>(&self, message: &M) -> bool {
        let size = size_class(message.packed_size());
        self.any_typed[size]
            && message.spacing().is_some_and(|spacing| {
                self.typed[arrangement(spacing)][block_class(spacing.mean_block)][size]
            })
    }

    /// Returns `true` if a message of this number of packed bytes is faster in segments than packed.
    pub fn is_in_pieces(&self, bytes: usize) -> bool {
        self.in_pieces[size_class(bytes)]
    }
}

/// The tables for the ranks of a communicator.
pub(crate) struct Tables {
    /// The ranks on the node of this rank, in order.
    neighbours: Vec<Rank>,
    /// The table for messages to the ranks on this node, if there is one.
    near: Option<Table>,
    /// The table for messages to all other ranks, if there is one.
    far: Option<Table>,
}

impl Tables {
    /// Reads the tables from a text, for a rank with these neighbours on its node. If the text has rows only
    /// for messages within nodes, or only for messages between nodes, these are used for both.
    pub fn read(text: &str, neighbours: Vec<Rank>) -> Result<Self, String> {
        let library = table_library();
        let read = |library: &str| Ok::<_, String>(Table::read(text, library)?.map(Table::completed));
        let (within, between) = (read(&library)?, read(&between_nodes(&library))?);
        let near = within.as_ref().or(between.as_ref()).cloned();
        Ok(Self { neighbours, near, far: between.or(within) })
    }

    /// Returns the table for messages to and from a rank.
    pub fn of(&self, rank: Rank) -> Option<&Table> {
        let is_near = self.neighbours.binary_search(&rank).is_ok();
        if is_near { self.near.as_ref() } else { self.far.as_ref() }
    }
}

/// Returns the name of a library in rows about ranks on different nodes.
pub(crate) fn between_nodes(library: &str) -> String {
    format!("{library}-between-nodes")
}

/// A row of a table.
struct Row {
    /// The arrangement of the blocks; `None` in a row about segments.
    arrangement: Option<usize>,
    /// The class of the bytes of a block; 0 in a row about segments.
    block: usize,
    /// The class of the bytes of a message.
    size: usize,
    /// `true` if another way than packed and whole is the faster one.
    is_other_way: bool,
}

impl Row {
    /// Reads the library and the row from a line, or returns what is wrong with the line.
    fn read(line: &str) -> Result<(&str, Self), String> {
        let mut words = line.split_whitespace();
        let [library, order, block, size, way] = from_fn(|_| words.next().unwrap_or("nothing"));
        let number =
            |word: &str, what| word.parse::<usize>().map_err(|_| format!("expected {what}, found `{word}`"));
        let known = ARRANGEMENTS.iter().position(|name| *name == order);
        if known.is_none() && order != PIECES {
            return Err(format!(
                "expected `strided`, `nested`, `listed`, `mixed` or `{PIECES}`, found `{order}`"
            ));
        }
        let other = if known.is_some() { TYPED } else { SEGMENTS };
        let block = block_class(number(block, "the bytes of a block")?);
        let row = Self {
            arrangement: known,
            block: if known.is_some() { block } else { 0 },
            size: size_class(number(size, "the bytes of a message")?),
            is_other_way: match way {
                PACKED => false,
                way if way == other => true,
                _ => return Err(format!("expected `{other}` or `{PACKED}`, found `{way}`")),
            },
        };
        Ok((library, row))
    }
}

/// Returns a line of a table for [`Wire::Auto`](super::Wire::Auto). It consists of the beginning of a row
/// (see `table_row`), the way that is chosen, the least and the greatest of the measured ratios, and the
/// number of cases. A ratio is the time of the other way divided by that of the packed and whole message.
///
/// The chosen way is the one that loses less in its worst case, because times vary: one machine takes 6 or 46
/// µs for the same message at different hours.
///
/// ```
/// use dtype_runtime::__private::table_line;
///
/// let line = table_line("openmpi-4 strided 8 4096", 0.5..=1.25, 6);
/// assert_eq!(line, "openmpi-4 strided 8 4096 typed 0.50 1.25 6\n");
/// let line = table_line("mpich-4 pieces 8192 65536", 0.75..=1.5, 3);
/// assert_eq!(line, "mpich-4 pieces 8192 65536 packed 0.75 1.50 3\n");
/// ```
pub fn table_line(row: &str, ratios: RangeInclusive<f64>, cases: usize) -> String {
    /// The fraction of the packed time below which another way is chosen.
    const LIMIT: f64 = 0.95;
    let (least, most) = ratios.into_inner();
    // In the worst cases, packing takes `1 / least` times as long as the other way, and the other way takes
    // `most` times as long as packing.
    let way = match row.split_whitespace().nth(1) {
        _ if (least * most).sqrt() >= LIMIT => PACKED,
        Some(PIECES) => SEGMENTS,
        _ => TYPED,
    };
    format!("{row} {way} {least:.2} {most:.2} {cases}\n")
}

/// The subject of a row, with sizes in bytes. `Display` writes the words of the row.
#[derive(Clone, Copy)]
pub(crate) enum Subject {
    /// Parts of arrays, and structs with gaps.
    Blocks { spacing: Spacing, size: usize },
    /// Messages that may be sent in pieces.
    Pieces { piece: usize, size: usize },
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Blocks { spacing, size } => {
                write!(f, "{} {} {size}", ARRANGEMENTS[arrangement(spacing)], spacing.mean_block)
            }
            Self::Pieces { piece, size } => write!(f, "{PIECES} {piece} {size}"),
        }
    }
}

/// Reads the text of a file that is no larger than a table may be.
fn limited(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other(too_long()));
    }
    Ok(text)
}

fn too_long() -> String {
    format!("it has more than {LARGEST} bytes, the limit of a table")
}

/// Returns the beginning of a row of a table for messages like this one, or `None` for a message that is
/// always sent in one way.
pub(crate) fn row(message: &dyn Read) -> Option<String> {
    if message.span().is_some() {
        return None;
    }
    let spacing = message.spacing()?;
    let spacing = Spacing { mean_block: 1 << block_class(spacing.mean_block), ..spacing };
    let size = 1 << (2 * size_class(message.packed_size()));
    Some(format!("{} {}", table_library(), Subject::Blocks { spacing, size }))
}

/// Returns the name of the running library in tables for [`Wire::Auto`](super::Wire::Auto): `openmpi-4`, for
/// example. An unsupported library has the name of the library whose handles it has, and the version 0.
pub fn table_library() -> String {
    let library = running();
    format!("{}-{}", library.name, library.version.0)
}

/// Returns the library whose rows [`Wire::Auto`](super::Wire::Auto) uses if nothing was
/// measured between the ranks. This is the running library, if it has rows in the table,
/// or else its nearest version that has some. The name is empty if there is none; then everything is packed.
///
/// # Errors
/// `Argument` if `DTYPE_WIRES` names a file that is not a table.
pub fn table_followed() -> Result<&'static str, Error> {
    Table::current().map(|table| table.library.as_str())
}

/// Finds the version of a library that has rows in a text and is nearest to a version without rows. This is
/// the last version before it, or else the first one after it.
fn nearest_version<'a>(text: &'a str, library: &str) -> Option<&'a str> {
    let parts = |name: &'a str| {
        let (family, version) = name.split_once('-')?;
        Some((family, version.parse::<u32>().ok()?))
    };
    let (family, version) = library.split_once('-')?;
    let version = version.parse().unwrap_or(u32::MAX);
    let names = text.lines().filter_map(|line| line.split_whitespace().next());
    let versions = names.filter_map(|name| Some((parts(name).filter(|(of, _)| *of == family)?.1, name)));
    let (before, behind): (Vec<_>, Vec<_>) = versions.partition(|(of, _)| *of < version);
    before.into_iter().max().or(behind.into_iter().min()).map(|(_, name)| name)
}

fn size_class(bytes: usize) -> usize {
    (bytes.max(1).ilog2() as usize / 2).min(SIZES - 1)
}

fn block_class(bytes: usize) -> usize {
    (bytes.max(1).ilog2() as usize).min(BLOCKS - 1)
}

#[cfg(test)]
mod tests {
    use super::{
        BUILT_IN, LARGEST, Order, Spacing, Subject, Table, arrangement, block_class, limited, size_class,
        table_line,
    };

    #[test]
    fn a_row_stands_for_what_is_near() {
        let text = "\u{feff}# comment\nx strided 8 4096 packed\nx strided 1024 4096 typed 0.5 3\n\
                    y strided 8 64 typed\n\n";
        let table = Table::read(text, "x").unwrap().unwrap();
        let typed = |block, size| table.typed[0][block_class(block)][size_class(size)];
        assert!(!typed(8, 64) && !typed(16, 1 << 20) && typed(600, 64) && typed(1 << 20, 1 << 30));
        assert!(Table::read("y listed 8 8 packed", "x").unwrap().is_none());
        assert!(!Table::default().any_typed.iter().any(|yes| *yes));
        let pieces = "x pieces 131072 262144 packed\nx pieces 131072 4194304 segments 0.7 9\n";
        let pieces = Table::read(pieces, "x").unwrap().unwrap();
        assert!(!pieces.is_in_pieces(300_000) && pieces.is_in_pieces(4 << 20) && !pieces.any_typed[0]);
        assert!(table.any_typed[0]);
        assert!(Table::read(BUILT_IN, "x").is_ok());
    }

    /// Covers a table that leaves structs to the table of the process, and one whose row says `packed`.
    #[test]
    fn a_table_without_rows_of_structs_says_so() {
        for (rows, has_mixed) in [("x strided 8 64 typed\n", false), ("x mixed 8 64 packed\n", true)] {
            assert_eq!(Table::read(rows, "x").unwrap().unwrap().has_mixed, has_mixed, "{rows}");
        }
    }

    #[test]
    fn a_version_without_rows_follows_the_nearest_one() {
        let text = "# x-9 strided\nx-4 strided 8 64 typed\nx-6 strided 8 64 packed\n\
                    xy-7 strided 8 64 packed\nx-6-between-nodes strided 8 64 typed\n";
        for (library, followed) in [
            ("x-4", "x-4"),
            ("x-5", "x-4"),
            ("x-6", "x-6"),
            ("x-7", "x-6"),
            ("x-3", "x-4"),
            ("x-", "x-6"),
            ("xy-1", "xy-7"),
        ] {
            assert_eq!(Table::nearest(text, library).unwrap().unwrap().library, followed, "{library}");
        }
        assert!(
            Table::nearest(text, "y-4").unwrap().is_none() && Table::nearest(text, "").unwrap().is_none()
        );
        for library in ["openmpi-6", "mpich-12"] {
            assert!(Table::nearest(BUILT_IN, library).unwrap().is_some());
        }
    }

    #[test]
    fn rows_that_are_written_are_read_again() {
        let one_type = [Order::Strided, Order::Nested, Order::Listed].map(|order| (order, false));
        for (order, is_mixed) in one_type.into_iter().chain([(Order::Nested, true)]) {
            let spacing = Spacing { mean_block: 64, order, is_mixed };
            let row = format!("x {}", Subject::Blocks { spacing, size: 4096 });
            for (least, most, is_typed) in
                [(0.5, 0.5, true), (0.99, 0.99, false), (0.5, 3.0, false), (0.3, 1.5, true)]
            {
                let table = Table::read(&table_line(&row, least..=most, 3), "x").unwrap().unwrap();
                let of_spacing = table.typed[arrangement(spacing)];
                assert_eq!(of_spacing[block_class(64)][size_class(4096)], is_typed);
            }
        }
        let row = format!("x {}", Subject::Pieces { piece: 1 << 17, size: 1 << 20 });
        assert!(Table::read(&table_line(&row, 0.8..=0.8, 3), "x").unwrap().unwrap().is_in_pieces(1 << 20));
    }

    #[test]
    fn a_line_that_is_no_row_is_an_error_that_says_which() {
        for (line, word) in [
            ("x probes yes", "expected `strided`, `nested`, `listed`, `mixed` or `pieces`, found `probes`"),
            ("x strided many 8 typed", "expected the bytes of a block, found `many`"),
            ("x strided 8 -1 typed", "expected the bytes of a message, found `-1`"),
            ("y listed 8 8 bytes", "expected `typed` or `packed`, found `bytes`"),
            ("y listed 8", "expected the bytes of a message, found `nothing`"),
            ("x pieces 8 8 typed", "expected `segments` or `packed`, found `typed`"),
            ("x listed 8 8 segments", "expected `typed` or `packed`, found `segments`"),
        ] {
            let error = Table::read(&format!("# comment\n{line}\n"), "x").err().unwrap();
            assert!(error.starts_with("line 2: ") && error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_file_that_never_ends_is_not_read_to_its_end() {
        let error = limited("/dev/zero".as_ref()).unwrap_err().to_string();
        assert!(error.contains(&LARGEST.to_string()), "{error}");
        assert!(limited("/no such file".as_ref()).is_err());
        let error = Table::read(&"#".repeat(LARGEST as usize + 1), "x").err().unwrap();
        assert!(error.contains(&LARGEST.to_string()), "{error}");
    }
}
