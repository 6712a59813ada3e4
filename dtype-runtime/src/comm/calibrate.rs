//! Measurement of the fastest wires between the ranks of a communicator, on their network.
//!
//! Two ranks of one node, and then two ranks of different nodes, exchange samples of all kinds of messages
//! that tables have rows about. They send each sample in two ways, again and again until the time is up. The
//! first rank of the pair broadcasts its results as the text of a table.

use std::{
    fmt, mem,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use ::mpi::{
    Rank,
    collective::{CommunicatorCollectives, Root},
    topology::{Color, Communicator},
};

use dtype_engine::{Error as PackError, Order, Spacing};

use super::{Comm, Handle, Message, Peer};
use crate::{
    DynamicLayout, Error, Result, Wire,
    layout::{
        ArrayOrder,
        pieces::Pieces,
        shapes::{Subarray, span},
    },
    mpi::{Usable, is_between_groups, ready},
    transfer::{
        attach::{attach, keep_tables},
        segments::PIECE,
        sendable::sealed::Read,
        table::{LARGEST, Subject, Tables, between_nodes, row, table_library, table_line},
    },
};

/// The time that two ranks measure. At most two pairs measure, one after the other.
const TIME: Duration = Duration::from_millis(180);

impl<C: Handle> Comm<C> {
    /// Prepares the communicator for messages on [`Wire::Segments`]. With `DTYPE_CHECK=1`, base types of
    /// messages between two ranks are compared from then on. All ranks must make this call before the first
    /// such message; a second call does nothing.
    ///
    /// It creates two communicators with the same ranks. They live as long as this one, or until
    /// `MPI_Finalize`. With `DTYPE_CHECK=1` it creates a third one, which lives until `MPI_Finalize`.
    ///
    /// # Errors
    /// `Unsupported` on all ranks if `DTYPE_CHECK` is set on some ranks and not on others. An error before
    /// `MPI_Init`, after `MPI_Finalize`, and if an MPI call fails.
    pub fn attach(&self) -> Result {
        let mpi = &ready()?;
        attach(mpi, self.members(mpi).communicator)
    }

    /// Measures in about half a second which wires are the fastest between the ranks. All ranks must make
    /// this call. Two ranks of one node exchange messages, and then two ranks of different nodes. All ranks
    /// get the same result; a single rank measures nothing. From then on, [`Wire::Auto`] follows the result
    /// on this communicator, instead of the table of the process. The communicator is also
    /// [attached](Self::attach).
    ///
    /// The result can be stored: it prints as a table, which [`calibrate_with`](Self::calibrate_with) or the
    /// environment variable `DTYPE_WIRES` accept. The program's own packing is measured, so calibrate in a
    /// release build.
    ///
    /// ```no_run
    /// use std::error::Error;
    ///
    /// use dtype_runtime::run;
    ///
    /// fn main() {
    ///     run(|world| -> Result<(), Box<dyn Error>> {
    ///         let calibration = world.calibrate()?;
    ///         if world.rank() == 0 {
    ///             std::fs::write("wires.txt", calibration.to_string())?;
    ///         }
    ///         Ok(())
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// `Unsupported` on an intercommunicator, and the errors of [`attach`](Self::attach). An error before
    /// `MPI_Init`, after `MPI_Finalize`, and if there is no memory for a message of 7 MiB.
    pub fn calibrate(&self) -> Result<Calibration> {
        let mpi = &ready()?;
        let world = World::of(mpi, self)?;
        let mut text = String::from(HEADER);
        for (pair, is_near) in [(world.near_pair(), true), (world.far_pair(), false)] {
            let Some(pair) = pair else { continue };
            text += &world.measured_by(pair, is_near)?;
        }
        world.agreed(mpi, self, text)
    }

    /// Makes [`Wire::Auto`] on this communicator follow a table that was measured before. All ranks must make
    /// this call. The table of rank 0 is used; those of other ranks are ignored.
    ///
    /// # Errors
    /// `Argument` on all ranks if the text is not a table; otherwise the errors of
    /// [`calibrate`](Self::calibrate).
    pub fn calibrate_with(&self, table: &str) -> Result<Calibration> {
        let mpi = &ready()?;
        let world = World::of(mpi, self)?;
        let text = world.told(0, table)?;
        world.agreed(mpi, self, text)
    }
}

/// Returns the beginning of a row of a table for [`Wire::Auto`], for messages like this one. It names the
/// library, the arrangement and the length of the blocks, and the bytes. Returns `None` for a message that is
/// always sent in one way.
pub fn table_row<M: Message + ?Sized>(message: &M) -> Option<String> {
    row(&message.carried(false).ok()?)
}

/// The result of a measurement between the ranks of a communicator, the same on all of them. It prints as a
/// table.
pub struct Calibration {
    text: String,
    tables: Arc<Tables>,
}

impl Calibration {
    /// Returns the wire for a message to or from a rank of the communicator. Both sides must name it. It is
    /// [`Wire::Segments`](crate::Wire::Segments) if long messages were faster in segments. Otherwise it is
    /// [`Wire::Auto`](crate::Wire::Auto), which every call receives. Both sides get the same wire, because it
    /// depends only on the number of packed bytes and on whether the ranks are on one node.
    ///
    /// The function is meant for messages that are not contiguous. Contiguous ones are always faster on
    /// `Auto`.
    pub fn wire<M: Message + ?Sized>(&self, message: &M, rank: usize) -> Wire {
        let size = message.carried(false).map_or(0, |message| message.packed_size());
        let table = Rank::try_from(rank).ok().and_then(|rank| self.tables.of(rank));
        if table.is_some_and(|table| table.is_in_pieces(size)) { Wire::Segments } else { Wire::Auto }
    }
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

debug!([] Calibration, |calibration| rows: calibration.text.lines().count());

/// The first lines of the printed table.
const HEADER: &str = "\
# The faster of two ways to send a message, as measured by `calibrate`.
#
# LIBRARY strided|nested|listed BLOCK BYTES typed|packed    parts of arrays, of BYTES in all, with contiguous
#                                                           blocks of BLOCK bytes in this order
# LIBRARY pieces PIECE BYTES segments|packed                long messages, in pieces of PIECE bytes or whole
#
# Each row ends with the least and the greatest ratio of the first way's time to the second's, and the number
# of rounds.

";

/// The ranks of a communicator, in a communicator of this crate that carries no other messages.
struct World {
    own: Comm,
    /// For each rank, the first rank on its node.
    nodes: Vec<usize>,
}

impl World {
    fn of<C: Handle>(mpi: &Usable, communicator: &Comm<C>) -> Result<Self> {
        if is_between_groups(mpi, communicator.members(mpi).communicator)? {
            let reason = "an intercommunicator cannot be measured: call `calibrate` on an intracommunicator";
            return Err(Error::Wire { wire: "automatic", reason });
        }
        communicator.attach()?;
        let communicator = communicator.handle();
        let rank = communicator.rank();
        let own = communicator.split_by_color_with_key(Color::with_value(0), rank);
        let own = Comm::from(own.expect("every rank is in the communicator"));
        own.attach()?;
        let node = own.split_shared(rank);
        let mut first = rank;
        node.process_at_rank(0).broadcast_into(&mut first);
        let nodes = own.all_gather(&(first as usize))?;
        Ok(Self { own, nodes })
    }

    /// Returns the first two ranks that share a node.
    fn near_pair(&self) -> Option<[usize; 2]> {
        let mut with_first = self.nodes.iter().copied().zip(0..);
        with_first.find(|(first, rank)| first != rank).map(<[usize; 2]>::from)
    }

    /// Returns the first two ranks that do not share a node.
    fn far_pair(&self) -> Option<[usize; 2]> {
        self.nodes.iter().position(|first| *first != 0).map(|other| [0, other])
    }

    /// Returns on all ranks the rows that a pair of ranks has measured.
    fn measured_by(&self, pair: [usize; 2], is_near: bool) -> Result<String> {
        let place = pair.iter().position(|rank| *rank == self.own.rank());
        // All ranks must complete the call, even if one has no memory.
        let samples = if place.is_some() { Samples::new() } else { Ok(Samples::default()) };
        let have_memory = self.own.all_reduce(&samples.is_ok(), |a, b| *a && *b)?;
        let samples = samples?;
        if !have_memory {
            return Err(PackError::Memory { bytes: size_of::<f64>() * Samples::LENGTH }.into());
        }
        let library = table_library();
        let library = if is_near { library } else { between_nodes(&library) };
        let rows = match place {
            Some(place) => {
                let other = self.own.peer(pair[1 - place]);
                let mut pair = Pair { other, leads: place == 0, samples };
                if pair.leads { pair.lead(&library) } else { pair.follow().map(|()| String::new()) }
            }
            None => Ok(String::new()),
        };
        // The waiting ranks leave the processors to the pair.
        let mut barrier = Some(self.own.immediate_barrier());
        while let Some(Err(waiting)) = barrier.take().map(::mpi::request::Request::test) {
            thread::sleep(Duration::from_micros(200));
            barrier = Some(waiting);
        }
        let told = self.told(pair[0], rows.as_deref().unwrap_or_default());
        rows.and(told)
    }

    /// Broadcasts a text of one rank. If it is too long for a table, only enough of it is sent to show that.
    fn told(&self, rank: usize, text: &str) -> Result<String> {
        let bytes = &text.as_bytes()[..text.len().min(LARGEST as usize + 1)];
        let own = (rank == self.own.rank()).then(|| bytes.to_vec());
        let bytes: Vec<u8> = self.own.broadcast(rank, own)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Stores the tables that all ranks have agreed on.
    fn agreed<C: Handle>(&self, mpi: &Usable, communicator: &Comm<C>, text: String) -> Result<Calibration> {
        let own = self.nodes[self.own.rank()];
        let near = (0..).zip(&self.nodes).filter(|(_, first)| **first == own).map(|(rank, _)| rank);
        let failed = |reason| Error::Table { table: "of rank 0".to_owned(), reason };
        let tables = Arc::new(Tables::read(&text, near.collect()).map_err(failed)?);
        keep_tables(mpi, communicator.members(mpi).communicator, Arc::clone(&tables))?;
        Ok(Calibration { text, tables })
    }
}

/// Messages of all kinds that are measured. They share one piece of memory.
#[derive(Default)]
struct Samples {
    all: Vec<Sample>,
    memory: Vec<f64>,
}

/// A message, and the wire that is compared with packing.
struct Sample {
    subject: Subject,
    layout: DynamicLayout<f64, 3>,
    /// The length of the array that the message is a part of, in numbers.
    array: usize,
    /// The packed size in bytes.
    size: usize,
    other: Wire,
}

/// A command from the leading rank to the other one: a number of round trips of a sample, packed or on its
/// other wire. If there are no round trips, the measurement ends.
#[derive(Clone, Copy)]
struct Task {
    sample: usize,
    packed: bool,
    journeys: usize,
}

impl Samples {
    /// The length of the memory in numbers, as the largest sample needs it.
    const LENGTH: usize = 7 << 17;

    fn new() -> Result<Self> {
        let (mut memory, mut all) = (Vec::new(), Vec::new());
        let none = |_| PackError::Memory { bytes: size_of::<f64>() * Self::LENGTH };
        memory.try_reserve_exact(Self::LENGTH).map_err(none)?;
        memory.resize(Self::LENGTH, 0.5);
        for size in (3..=9).map(|class| 1usize << (2 * class)) {
            for block in [8, 128, 2048].into_iter().filter(|block| 4 * block <= size) {
                for order in [Order::Strided, Order::Nested, Order::Listed] {
                    let (layout, array) = blocks(order, block, size)?;
                    let spacing = Spacing { mean_block: block, order, is_mixed: false };
                    let (subject, other) = (Subject::Blocks { spacing, size }, Wire::Typed);
                    all.push(Sample { subject, layout, array, size, other });
                }
            }
        }
        for size in (9..=11).map(|class| 1usize << (2 * class)) {
            let (layout, array) = blocks(Order::Nested, 64, size)?;
            let (subject, other) = (Subject::Pieces { piece: PIECE, size }, Wire::Segments);
            all.push(Sample { subject, layout, array, size, other });
        }
        Ok(Self { all, memory })
    }
}

/// One of the two ranks that measure.
struct Pair<'a> {
    other: Peer<'a>,
    /// `true` if this rank sends the tasks and measures the times.
    leads: bool,
    samples: Samples,
}

impl Pair<'_> {
    /// Runs the leading rank. In each round every sample is sent on both wires, until the time is up. A
    /// sample whose result is clear after some rounds is left out.
    fn lead(&mut self, library: &str) -> Result<String> {
        const CLEAR: usize = 4;
        let count = self.samples.all.len();
        let mut times = vec![[const { Vec::new() }; 2]; count];
        // The first round trips make plans and datatypes. They count as a round, because there may be no time
        // for another one.
        for (sample, times) in times.iter_mut().enumerate() {
            for packed in [false, true] {
                let time = self.time(Task { sample, packed, journeys: 1 })?;
                times[usize::from(packed)].push(time);
            }
        }
        let began = Instant::now();
        let mut open: Vec<usize> = (0..count).collect();
        let mut round = 0;
        'rounds: while !open.is_empty() {
            for sample in open.iter().copied() {
                if began.elapsed() > TIME {
                    break 'rounds;
                }
                for packed in if round % 2 == 0 { [false, true] } else { [true, false] } {
                    let journeys = (8192 / (self.samples.all[sample].size + 512)).clamp(1, 16);
                    let task = Task { sample, packed, journeys };
                    let time = self.time(task)?;
                    times[sample][usize::from(packed)].push(time);
                }
            }
            round += 1;
            open.retain(|sample| {
                let ratio = ratio(&times[*sample]);
                times[*sample][0].len() < CLEAR || ratio.is_some_and(|ratio| (0.75..1.33).contains(&ratio))
            });
        }
        self.tell(Task { sample: 0, packed: true, journeys: 0 })?;
        let rows = self.samples.all.iter().zip(&times).filter_map(|(sample, times)| {
            let ratio = ratio(times)?;
            Some(table_line(&format!("{library} {}", sample.subject), ratio..=ratio, times[0].len()))
        });
        Ok(rows.collect())
    }

    fn tell(&self, task: Task) -> Result {
        let numbers = [task.sample, usize::from(task.packed), task.journeys];
        self.other.send(&numbers)
    }

    fn time(&mut self, task: Task) -> Result<Duration> {
        self.tell(task)?;
        // After this round trip, the other rank is ready, and the caches are as this wire leaves them.
        self.travel(task)?;
        let start = Instant::now();
        for _ in 0..task.journeys {
            self.travel(task)?;
        }
        Ok(start.elapsed() / task.journeys as u32)
    }

    /// Runs the other rank.
    fn follow(&mut self) -> Result {
        loop {
            let [sample, packed, journeys] = self.other.receive::<[usize; 3]>()?;
            if journeys == 0 {
                return Ok(());
            }
            for _ in 0..=journeys {
                self.travel(Task { sample, packed: packed == 1, journeys })?;
            }
        }
    }

    /// Makes a round trip. The leading rank sends first; the other rank receives first.
    fn travel(&mut self, task: Task) -> Result {
        let Self { other, samples: Samples { all, memory }, .. } = self;
        let sample = &all[task.sample];
        let wire = if task.packed { Wire::Packed } else { sample.other };
        for sends in [self.leads, !self.leads] {
            if sends {
                other.wire(wire).send(&sample.layout.of(&memory[..sample.array])?)?;
            } else {
                other.wire(wire).receive_into(&mut sample.layout.of_mut(&mut memory[..sample.array])?)?;
            }
        }
        Ok(())
    }
}

/// Returns the time of the other wire divided by that of packing. Each of the two is a median, for an even
/// number of times the lower one, because disturbances only make a round trip longer. Returns `None` if there
/// are no times.
fn ratio([other, packed]: &[Vec<Duration>; 2]) -> Option<f64> {
    let median = |times: &[Duration]| {
        let mut times = times.to_vec();
        times.sort_unstable();
        times.get(times.len().saturating_sub(1) / 2).copied()
    };
    let (other, packed) = (median(other)?, median(packed)?);
    Some(other.as_secs_f64() / packed.as_secs_f64().max(1e-9))
}

/// Returns a layout of `size` bytes in blocks of `block` bytes, in this arrangement, and the length of its
/// array in numbers. Single numbers are a cache line apart, as in the column of a matrix.
fn blocks(order: Order, block: usize, size: usize) -> Result<(DynamicLayout<f64, 3>, usize)> {
    let (width, count) = (block / size_of::<f64>(), size / block);
    let pitch = if width == 1 { 8 } else { width + width / 2 };
    if order == Order::Listed {
        // Rows at irregular distances of one to three.
        let distances = (0..count).map(|i| 1 + (i.wrapping_mul(2_654_435_761) >> 16) % 3);
        let next = |row: &mut usize, distance| Some(mem::replace(row, *row + distance));
        let list: Vec<usize> = distances.scan(0, next).collect();
        let rows = 3 * count;
        let mut pieces = Pieces::new([1, rows as i128, pitch as i128]);
        let listed = pieces.list(1, &list);
        let axes = [pieces.select(0, 1, span(0, 1)), listed, pieces.select(2, pitch, span(0, width))];
        let whole = pieces.whole();
        pieces.push(axes, &whole, []);
        return Ok((DynamicLayout::new(pieces, ArrayOrder::RowMajor)?, rows * pitch));
    }
    let inner = if order == Order::Nested { (count as f64).sqrt() as usize } else { count };
    let inner = (1..=inner.max(1)).rev().find(|inner| count % inner == 0).unwrap_or(1);
    let (planes, rows) = (count / inner, inner);
    let sizes = [planes, rows + usize::from(order == Order::Nested), pitch];
    let order = ArrayOrder::RowMajor;
    let part = Subarray { sizes, subsizes: [planes, rows, width], starts: [0; 3], order };
    Ok((part.layout()?, sizes.iter().product()))
}

#[cfg(test)]
mod tests {
    use super::{Order, Samples, Spacing, Subject, Wire, ratio};
    use std::time::Duration;

    #[test]
    fn samples_are_what_their_rows_say_and_fit_into_their_memory() {
        let samples = Samples::new().unwrap();
        assert_eq!(samples.all.len(), 3 * 15 + 3);
        for sample in &samples.all {
            let view = sample.layout.of(&samples.memory[..sample.array]).unwrap();
            assert_eq!(view.packed_size(), sample.size);
            assert!(view.contiguous().is_none());
            let spacing = crate::transfer::sendable::sealed::Read::spacing(&view).unwrap();
            match sample.subject {
                Subject::Blocks { spacing: Spacing { order, mean_block: block, .. }, .. } => {
                    assert_eq!((spacing.order, sample.other), (order, Wire::Typed));
                    assert!((block..2 * block).contains(&spacing.mean_block), "{block}: {spacing:?}");
                }
                Subject::Pieces { .. } => assert_eq!(spacing.order, Order::Nested),
            }
        }
    }

    #[test]
    fn a_ratio_is_one_of_medians() {
        let times = |times: &[u64]| times.iter().copied().map(Duration::from_micros).collect::<Vec<_>>();
        assert_eq!(ratio(&[times(&[9, 1, 4]), times(&[2, 2, 100])]), Some(2.0));
        assert_eq!(ratio(&[times(&[9]), times(&[])]), None);
    }
}
