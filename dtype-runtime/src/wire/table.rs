//! Tables of what was measured: which of two ways is the faster for a message of which the packed bytes
//! travel in any case, by library, size, and for parts of arrays how the contiguous blocks lie and how long
//! they are. Structs with gaps are in no table: they are always packed, since no library is good at their
//! datatypes.

use std::{
    env, fmt,
    fs::File,
    io::{self, Read as _},
    ops::RangeInclusive,
    path::Path,
    sync::OnceLock,
};

use ::mpi::Rank;

use super::{Sendable, message::sealed::Read};
use crate::{
    Error,
    engine::{Spacing, node::Order},
};

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

/// What rows about the wire of segments have in the place of how blocks lie.
const PIECES: &str = "pieces";

/// The ways, as a table calls them.
const PACKED: &str = "packed";
const TYPED: &str = "typed";
const SEGMENTS: &str = "segments";

/// A table of wires has no more bytes than this: a thousand times what is built in.
pub(super) const LARGEST: u64 = 8 << 20;

/// What is best for the messages of one library.
#[derive(Clone)]
pub(super) struct Table {
    /// Whether parts of arrays go as their datatype: by how their blocks lie, how long these are, and the
    /// size.
    typed: [[[bool; SIZES]; BLOCKS]; ORDERS.len()],
    /// Whether any of that size do.
    any_typed: [bool; SIZES],
    /// The library whose rows these are.
    library: String,
    /// Whether messages of a size are faster in pieces than packed.
    in_pieces: [bool; SIZES],
}

impl Table {
    /// That of the library which runs, read at the first call.
    ///
    /// # Errors
    /// [`Error::Table`] where `DTYPE_WIRES` names what is no table.
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

    /// Reads the rows of a library; of one that has none, those of the version before it, or else of the one
    /// behind it.
    fn nearest(text: &str, library: &str) -> Result<Option<Self>, String> {
        match Self::read(text, library)? {
            None => nearest_version(text, library).map_or(Ok(None), |nearest| Self::read(text, nearest)),
            table => Ok(table),
        }
    }

    /// The rows that begin with the name of a library, if there are any; of others it is only seen whether
    /// they are rows.
    pub fn read(text: &str, library: &str) -> Result<Option<Self>, String> {
        if text.len() as u64 > LARGEST {
            return Err(too_long());
        }
        let (mut rows, mut pieces) = (Vec::new(), Vec::new());
        // Some editors begin a file with a mark of their own.
        let text = text.trim_start_matches('\u{feff}');
        for (i, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let (of, row) = Row::read(line).map_err(|what| format!("line {}: {what}", i + 1))?;
            if of == library {
                if row.order.is_some() { rows.push(row) } else { pieces.push(row) }
            }
        }
        if rows.is_empty() && pieces.is_empty() {
            return Ok(None);
        }
        // What was measured nearest to a cell.
        let is_typed = |order: usize, block: usize, size: usize| {
            let rows = rows.iter().filter(|row| row.order == Some(order));
            let near = rows.min_by_key(|row| row.block.abs_diff(block) + row.size.abs_diff(size));
            near.is_some_and(|row| row.is_other_way)
        };
        let typed: [[[bool; SIZES]; BLOCKS]; _] = std::array::from_fn(|order| {
            std::array::from_fn(|block| std::array::from_fn(|size| is_typed(order, block, size)))
        });
        let any_typed = std::array::from_fn(|size| typed.as_flattened().iter().any(|sizes| sizes[size]));
        let in_pieces = std::array::from_fn(|size| {
            let near = pieces.iter().min_by_key(|row| row.size.abs_diff(size));
            near.is_some_and(|row| row.is_other_way)
        });
        Ok(Some(Self { typed, any_typed, in_pieces, library: library.to_owned() }))
    }

    /// Whether a message that is not contiguous is best left to MPI, on either side.
    #[inline]
    pub fn is_typed<M: Read + ?Sized>(&self, message: &M) -> bool {
        let size = size_class(message.packed_size());
        self.any_typed[size]
            && message.spacing().is_some_and(|Spacing { mean_block, order }| {
                self.typed[order as usize][block_class(mean_block)][size]
            })
    }

    /// Whether a message of this number of packed bytes is faster in pieces than packed.
    pub fn is_in_pieces(&self, bytes: usize) -> bool {
        self.in_pieces[size_class(bytes)]
    }
}

impl Default for Table {
    /// All is packed.
    fn default() -> Self {
        Self {
            typed: [[[false; SIZES]; BLOCKS]; _],
            any_typed: [false; SIZES],
            in_pieces: [false; SIZES],
            library: String::new(),
        }
    }
}

/// The tables of the ranks of a communicator.
pub(super) struct Tables {
    /// The ranks on one's own node, in order.
    neighbours: Vec<Rank>,
    /// What is best for messages to them, and to all others; nothing where nothing is known.
    near: Option<Table>,
    far: Option<Table>,
}

impl Tables {
    /// Of a text, for a rank with these on its own node. Where only messages within nodes are told of, or
    /// only those between, the others are as they.
    pub fn read(text: &str, neighbours: Vec<Rank>) -> Result<Self, String> {
        let library = table_library();
        let (within, between) = (Table::read(text, &library)?, Table::read(text, &between_nodes(&library))?);
        let near = within.as_ref().or(between.as_ref()).cloned();
        Ok(Self { neighbours, near, far: between.or(within) })
    }

    /// That of messages to and from a rank.
    pub fn of(&self, rank: Rank) -> Option<&Table> {
        let is_near = self.neighbours.binary_search(&rank).is_ok();
        if is_near { self.near.as_ref() } else { self.far.as_ref() }
    }
}

/// How tables call a library between ranks of different nodes.
pub(super) fn between_nodes(library: &str) -> String {
    format!("{library}-between-nodes")
}

/// A row of a table.
struct Row {
    /// How blocks lie; nothing in a row about pieces.
    order: Option<usize>,
    /// Bytes of a block or piece, and of a message, as classes.
    block: usize,
    size: usize,
    /// Whether such messages do not go packed and whole.
    is_other_way: bool,
}

impl Row {
    /// The library and what is said of it, or what is wrong with the line.
    fn read(line: &str) -> Result<(&str, Self), String> {
        let mut words = line.split_whitespace();
        let [library, order, block, size, way] = std::array::from_fn(|_| words.next().unwrap_or("nothing"));
        let number = |word: &str, what| {
            word.parse::<usize>().map_err(|_| format!("`{word}` stands where {what} are expected"))
        };
        let known = ORDERS.iter().position(|(_, name)| *name == order);
        if known.is_none() && order != PIECES {
            return Err(format!(
                "`{order}` stands where `strided`, `nested`, `listed` or `{PIECES}` is expected"
            ));
        }
        let other = if known.is_some() { TYPED } else { SEGMENTS };
        let row = Self {
            order: known,
            block: block_class(number(block, "the bytes of a block")?),
            size: size_class(number(size, "the bytes of a message")?),
            is_other_way: match way {
                PACKED => false,
                way if way == other => true,
                _ => return Err(format!("`{way}` stands where `{other}` or `{PACKED}` is expected")),
            },
        };
        Ok((library, row))
    }
}

/// Writes a line of a table for [`Wire::Auto`](super::Wire::Auto): a row that begins so (see [`table_row`]),
/// how many times as long the way takes that is not packed and whole, at least and at most where it was
/// measured, and in how many cases.
///
/// The way is the one that loses less where it loses most: the same machine took 6 or 46 µs for one message
/// in different hours.
///
/// ```
/// use dtype_runtime::wire::table_line;
///
/// let line = table_line("openmpi-4 strided 8 4096", 0.5..=1.25, 6);
/// assert_eq!(line, "openmpi-4 strided 8 4096 typed 0.50 1.25 6\n");
/// let line = table_line("mpich-4 pieces 8192 65536", 0.75..=1.5, 3);
/// assert_eq!(line, "mpich-4 pieces 8192 65536 packed 0.75 1.50 3\n");
/// ```
pub fn table_line(row: &str, ratios: RangeInclusive<f64>, cases: usize) -> String {
    /// Less than this part of the time of the packed way is a reason for another one.
    const LIMIT: f64 = 0.95;
    let (least, most) = ratios.into_inner();
    // Packed it takes `1 / least` times as long as the other way at the worst, and that `most` times as long.
    let way = match row.split_whitespace().nth(1) {
        _ if (least * most).sqrt() >= LIMIT => PACKED,
        Some(PIECES) => SEGMENTS,
        _ => TYPED,
    };
    format!("{row} {way} {least:.2} {most:.2} {cases}\n")
}

/// What a row is about; sizes are bytes. It prints as the row does.
#[derive(Clone, Copy)]
pub(super) enum Subject {
    /// Parts of arrays.
    Blocks { order: Order, block: usize, size: usize },
    /// Messages that may go in pieces.
    Pieces { piece: usize, size: usize },
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Blocks { order, block, size } => {
                write!(f, "{} {block} {size}", ORDERS[order as usize].1)
            }
            Self::Pieces { piece, size } => write!(f, "{PIECES} {piece} {size}"),
        }
    }
}

/// The text of a file that is no larger than a table can be.
fn limited(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other(too_long()));
    }
    Ok(text)
}

fn too_long() -> String {
    format!("it has more than {LARGEST} bytes, which no table has")
}

/// What a row of a table for [`Wire::Auto`](super::Wire::Auto) begins with that is about messages like this
/// one: library, how their blocks lie and how long they are, and bytes. Nothing for a message that always
/// travels in one way.
///
/// ```no_run
/// use dtype_runtime::{layout, wire};
///
/// let _universe = mpi::initialize().unwrap();
/// let column = layout!(f64[512][512] => [.., 3]);
/// // "openmpi-4 strided 8 4096", for example
/// println!("{:?}", wire::table_row(&column.of(&[[0.5; 512]; 512])));
/// ```
pub fn table_row<M: Sendable + ?Sized>(message: &M) -> Option<String> {
    if message.span().is_some() {
        return None;
    }
    let Spacing { mean_block, order } = message.spacing()?;
    let (block, size) = (1 << block_class(mean_block), 1 << (2 * size_class(message.packed_size())));
    Some(format!("{} {}", table_library(), Subject::Blocks { order, block, size }))
}

/// Returns the library that runs, as tables for [`Wire::Auto`](super::Wire::Auto) call it: `openmpi-4`, for
/// example.
pub fn table_library() -> String {
    ::mpi::environment::library_version().map_or(String::new(), |text| name(&text))
}

/// Returns the library by whose rows [`Wire::Auto`](super::Wire::Auto) chooses where nothing was
/// [measured](super::calibrate) between the ranks: the one that runs, if it has rows in the table; or else
/// the nearest version of it that has some. Empty where there is none, and everything goes packed.
///
/// ```no_run
/// use dtype_runtime::wire;
///
/// let _universe = mpi::initialize().unwrap();
/// if wire::table_followed()? != wire::table_library() {
///     println!("{} was not measured; `wire::calibrate` does so.", wire::table_library());
/// }
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// [`Error::Table`] where `DTYPE_WIRES` names what is no table.
pub fn table_followed() -> Result<&'static str, Error> {
    Table::current().map(|table| table.library.as_str())
}

/// Finds the version of a library that has rows in a text and is nearest to a version without: the last one
/// before it, or else the first one behind it.
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

#[cfg(test)]
mod tests {
    use super::{
        BUILT_IN, LARGEST, ORDERS, Order, Subject, Table, block_class, limited, name, size_class, table_line,
    };

    #[test]
    fn libraries_are_known_by_what_they_say_of_themselves() {
        assert_eq!(name("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "openmpi-4");
        assert_eq!(name("Open MPI v5.0.11, package: Open MPI"), "openmpi-5");
        assert_eq!(name("MPICH Version:      4.0.2\nMPICH Release date: 2022"), "mpich-4");
    }

    #[test]
    fn a_row_stands_for_what_is_near() {
        let text = "\u{feff}# comment\nx strided 8 4096 packed\nx strided 1024 4096 typed 0.5 3\n\
                    y strided 8 64 typed\n\n";
        let table = Table::read(text, "x").unwrap().unwrap();
        let typed = |block, size| table.typed[Order::Strided as usize][block_class(block)][size_class(size)];
        assert!(!typed(8, 64) && !typed(16, 1 << 20) && typed(600, 64) && typed(1 << 20, 1 << 30));
        assert!(Table::read("y listed 8 8 packed", "x").unwrap().is_none());
        assert!(!Table::default().any_typed.iter().any(|yes| *yes));
        let pieces = "x pieces 131072 262144 packed\nx pieces 131072 4194304 segments 0.7 9\n";
        let pieces = Table::read(pieces, "x").unwrap().unwrap();
        assert!(!pieces.is_in_pieces(300_000) && pieces.is_in_pieces(4 << 20) && !pieces.any_typed[0]);
        assert!(table.any_typed[0] && ORDERS.iter().enumerate().all(|(i, (order, _))| *order as usize == i));
        assert!(Table::read(BUILT_IN, "x").is_ok());
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
        for order in [Order::Strided, Order::Nested, Order::Listed] {
            let row = format!("x {}", Subject::Blocks { order, block: 64, size: 4096 });
            for (least, most, is_typed) in
                [(0.5, 0.5, true), (0.99, 0.99, false), (0.5, 3.0, false), (0.3, 1.5, true)]
            {
                let table = Table::read(&table_line(&row, least..=most, 3), "x").unwrap().unwrap();
                assert_eq!(table.typed[order as usize][block_class(64)][size_class(4096)], is_typed);
            }
        }
        let row = format!("x {}", Subject::Pieces { piece: 1 << 17, size: 1 << 20 });
        assert!(Table::read(&table_line(&row, 0.8..=0.8, 3), "x").unwrap().unwrap().is_in_pieces(1 << 20));
    }

    #[test]
    fn a_line_that_is_no_row_is_an_error_that_says_which() {
        for (line, word) in [
            ("x probes yes", "`probes` stands where `strided`"),
            ("x strided many 8 typed", "`many` stands where the bytes of a block"),
            ("x strided 8 -1 typed", "`-1` stands where the bytes of a message"),
            ("y listed 8 8 bytes", "`bytes` stands where `typed`"),
            ("y listed 8", "`nothing` stands where the bytes of a message"),
            ("x pieces 8 8 typed", "`typed` stands where `segments`"),
            ("x listed 8 8 segments", "`segments` stands where `typed`"),
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
