//! Redistributions: a global array moves from one distribution over the ranks to another.
//!
//! If the ranks of a grid divide the array by one rule before and one after, they agree on both by a
//! reduction, and each rank computes from the rules what it sends to whom, and what it receives. Otherwise,
//! all ranks tell all others which parts they have (`MPI_Allgatherv`). One message goes to each rank that
//! needs elements of this one; elements that stay are copied without MPI.

use std::{array, os::raw::c_int, sync::Arc};

use super::{
    Comm, Handle, Pending,
    moves::{Message, Moves, Piece},
};
use crate::{
    Error, MpiDatatype, Result,
    layout::{
        ArrayLike, ArrayLikeMut, Dimensions, Distributed,
        distributed::{Grid, IndexSet, OwnPart, Positions, Whole},
        shapes::refused,
        source::Place,
    },
    mpi::{Usable, ready},
    transfer::{
        address::Address,
        attach::companion,
        frame::checks,
        members::{Members, intracommunicator},
    },
};

/// A redistribution of a global array with elements `T`: from the parts that the ranks have to other parts of
/// it. It is planned once, and may then run many times, on other arrays each time.
///
/// Each element must be in exactly one part of the source, if it is in a part of the destination. It may be
/// in parts of the destination of several ranks.
///
/// ```no_run
/// use dtype_runtime::{Redistribution, Result, run};
///
/// fn main() {
///     run(|world| -> Result {
///         // A matrix of 100 × 80, divided into rows, and then into columns.
///         let rows = world.blocks([100, 80], [world.size(), 1]);
///         let columns = world.blocks([100, 80], [1, world.size()]);
///         let (own_rows, mut own_columns) = (rows.vec(0.5), columns.vec(0.0));
///         let mut transpose = world.prepare().redistribute(&rows, &columns)?;
///         for _ in 0..10 {
///             transpose.run(&own_rows, &mut own_columns)?;
///         }
///         Ok(())
///     });
/// }
/// ```
pub struct Redistribution<T, const D: usize> {
    from: Vec<Whole<T, D>>,
    to: Vec<Whole<T, D>>,
    moves: Moves<T, D>,
}

impl<T: MpiDatatype, const D: usize> Redistribution<T, D> {
    /// Plans a redistribution: see [`Preparing::redistribute`](super::Preparing::redistribute).
    pub(super) fn new<C, A, B>(communicator: &Comm<C>, from: &A, to: &B) -> Result<Self>
    where
        C: Handle,
        A: Distributed<D> + ?Sized,
        B: Distributed<D> + ?Sized,
    {
        let mpi = &ready()?;
        let Members { communicator: raw, ranks, .. } = communicator.members(mpi);
        intracommunicator(mpi, raw)?;
        let (companion, tag) = companion(mpi, raw, 1)?;
        let rank = communicator.rank();
        let own = from.parts().and_then(|from| Ok([from, to.parts()?]));
        let grids = own.as_ref().ok().and_then(|_| Some([from.grid()?, to.grid()?]));
        let grids =
            grids.filter(|[from, to]| (from.rank, to.rank, from.gsizes()) == (rank, rank, to.gsizes()));
        let dimensions = D as u64;
        let told = [failed(&own, rank), u64::from(grids.is_none()), dimensions, !dimensions];
        let [failure, has_parts, most_dimensions, fewest] = most(communicator, told)?;
        // A rank with an error tells the others, so that none waits for its messages.
        let own = succeeded(own, failure)?;
        let may_agree = has_parts == 0 && most_dimensions == !fewest;
        let grids = match grids.filter(|_| may_agree) {
            Some(grids) if agree(communicator, &grids)? => Some(grids),
            _ => None,
        };
        let divided = match grids {
            Some(grids) => Ok(Divided::ByGrids(grids)),
            None => Parts::read(&communicator.all_gather(&numbers(&own))?).map(Divided::ByParts),
        };
        let moves = Moves::on(Arc::clone(&companion));
        let peer = |rank| Address { communicator: companion.communicator, rank: rank as c_int, tag };
        let made = divided.and_then(|divided| Self::plan(own, &divided, [rank, ranks], moves, peer));
        let [failure] = most(communicator, [failed(&made, rank)])?;
        succeeded(made, failure)
    }

    /// Plans the messages of this rank, and the copies within it.
    fn plan(
        [from, to]: [Vec<OwnPart<D>>; 2],
        divided: &Divided<D>,
        [own, ranks]: [usize; 2],
        mut moves: Moves<T, D>,
        peer: impl Fn(usize) -> Address,
    ) -> Result<Self> {
        let [mut sent, mut received] = divided.shared(own, ranks)?;
        let whole = |parts: Vec<OwnPart<D>>| {
            parts.into_iter().map(|OwnPart { local, .. }| Whole::new(local)).collect::<Result<Vec<_>, _>>()
        };
        let (from, to) = (whole(from)?, whole(to)?);
        let piece = |arrays: &[Whole<T, D>], array: usize, positions: &Positions<D>| {
            let layout = positions.layout(&arrays[array].array)?;
            Ok::<_, Error>(Piece { array: Some(array), layout })
        };
        // Each rank begins with its neighbours, so that not all wait for the same one.
        sent.sort_by_key(|shared| (shared.rank + ranks - own) % ranks);
        received.sort_by_key(|shared| (own + ranks - shared.rank) % ranks);
        for Shared { rank, elements } in &sent {
            if *rank == own {
                for Common { before, after, positions: [source, destination] } in elements {
                    moves.copies.push([piece(&from, *before, source)?, piece(&to, *after, destination)?]);
                }
                continue;
            }
            let pieces = elements.iter().map(|common| piece(&from, common.before, &common.positions[0]));
            moves.sends.push(Message { peer: peer(*rank), pieces: pieces.collect::<Result<Vec<_>, _>>()? });
        }
        for Shared { rank, elements } in received.iter().filter(|shared| shared.rank != own) {
            let pieces = elements.iter().map(|common| piece(&to, common.after, &common.positions[1]));
            moves
                .receives
                .push(Message { peer: peer(*rank), pieces: pieces.collect::<Result<Vec<_>, _>>()? });
        }
        Ok(Self { from, to, moves })
    }

    /// Moves the elements of this rank's array to the arrays of all ranks. All ranks must make this call.
    ///
    /// A source or destination is any array of the part's sizes: nested arrays, a slice or `Vec` of all
    /// elements, an array of `ndarray`. A slice of several arrays moves them all, with one message for each
    /// rank. A rank without a part passes an array without elements.
    ///
    /// # Errors
    /// `Argument` if an array has other sizes than its part, if there are several parts, or if source and
    /// destination are different numbers of arrays; `Size` if a rank sends another number of elements, or has
    /// an error; `Value` if it sends an invalid value; an error if an MPI call fails. After an error, some
    /// elements may have been written.
    pub fn run<S, R>(&mut self, source: &S, destination: &mut R) -> Result
    where
        S: ArrayLike<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
        R: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        let from = &[source][usize::from(self.from.is_empty())..];
        let to = &mut [destination][usize::from(self.to.is_empty())..];
        self.run_all(from, to)
    }

    /// Like [`run`](Self::run), for ranks with several parts: one array for each, in the order of the parts.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run); `Argument` for another number of arrays.
    pub fn run_all<S, R>(&mut self, sources: &[&S], destinations: &mut [&mut R]) -> Result
    where
        S: ArrayLike<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
        R: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        let mpi = &ready()?;
        let [from, to] = self.places(sources, destinations).map_err(|error| self.moves.refuse(mpi, error))?;
        // A message of one piece is sent from its array, and received there.
        let mut all = self.moves.sends.iter().chain(&self.moves.receives);
        let are_packed = checks() || all.any(|message| message.pieces.len() > 1);
        // SAFETY: 1, since the destinations are borrowed mutably, and 2, since the sources are borrowed.
        unsafe {
            if !are_packed {
                return self.moves.directly(mpi, &from, &to);
            }
            self.start_at(mpi, &from, &to)?;
            self.moves.finish(mpi, &to)
        }
    }

    /// Starts [`run`](Self::run), and returns without waiting. The source is free again at once. The
    /// destination is borrowed until [`finish`](Pending::finish).
    ///
    /// # Errors
    /// The errors of [`run`](Self::run).
    pub fn start<'a, S, R>(&'a mut self, source: &S, destination: &'a mut R) -> Result<Pending<'a>>
    where
        S: ArrayLike<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
        R: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        let mpi = &ready()?;
        let from = &[source][usize::from(self.from.is_empty())..];
        let to = &mut [destination][usize::from(self.to.is_empty())..];
        let [from, to] = self.places(from, to).map_err(|error| self.moves.refuse(mpi, error))?;
        // SAFETY: 1, since the destination is borrowed mutably, and 2, since the source is borrowed.
        unsafe { self.start_at(mpi, &from, &to) }?;
        Ok(Pending::new(
            &mut self.moves,
            |moves, mpi| moves.is_done(mpi),
            move |moves, mpi| {
                // SAFETY: 1, since the result borrows the destination mutably.
                unsafe { moves.finish(mpi, &to) }
            },
        ))
    }

    /// Returns the number of elements that this rank sends to other ranks in each run.
    pub fn elements_sent(&self) -> usize {
        let pieces = self.moves.sends.iter().flat_map(|message| &message.pieces);
        pieces.map(|piece| piece.layout.count()).fold(0, usize::saturating_add)
    }

    /// Returns the places of arrays, of which there must be one for each part.
    fn places<S, R>(&self, sources: &[&S], destinations: &mut [&mut R]) -> Result<[Vec<Place>; 2]>
    where
        S: ArrayLike<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
        R: ArrayLikeMut<T, Dimensions<D>, Mismatch: Into<Error>> + ?Sized,
    {
        same_number("sources", sources.len(), self.from.len())?;
        same_number("destinations", destinations.len(), self.to.len())?;
        let from = self.from.iter().zip(sources);
        let from = from.map(|(local, array)| local.place(|region| array.place(region)));
        let to = self.to.iter().zip(destinations);
        let to = to.map(|(local, array)| local.place(|region| array.place_mut(region)));
        let places = [from.collect::<Result<Vec<_>, _>>()?, to.collect::<Result<Vec<_>, _>>()?];
        same_copies(&places[0], &places[1])?;
        Ok(places)
    }

    /// Sends elements to other ranks, and copies those that stay.
    ///
    /// # Safety
    /// 1. The arrays at the places `to` are borrowed mutably.
    /// 2. The arrays at the places `from` are borrowed, and are others.
    unsafe fn start_at(&mut self, mpi: &Usable, from: &[Place], to: &[Place]) -> Result {
        self.moves.start(mpi, same_copies(from, to)?, from)?;
        // SAFETY: 1 and 2.
        unsafe { self.moves.copy(from, to) }
    }
}

/// Returns the number of global arrays, which must be the same on both sides.
fn same_copies(from: &[Place], to: &[Place]) -> Result<usize> {
    let mut copies = from.iter().chain(to).map(|place| place.copies);
    let arrays = copies.next().unwrap_or(1);
    match copies.find(|other| *other != arrays) {
        None => Ok(arrays),
        Some(other) => {
            let requirement = format!("{arrays} on both sides");
            Err(refused("Redistribution", "the number of arrays", other as i128, requirement))
        }
    }
}

fn same_number(what: &str, found: usize, parts: usize) -> Result {
    if found == parts {
        return Ok(());
    }
    let requirement = format!("{parts}, the number of parts of this rank");
    Err(refused("Redistribution", format!("the number of {what}"), found as i128, requirement))
}

/// Returns the largest of each number of all ranks.
fn most<C: Handle, const N: usize>(communicator: &Comm<C>, numbers: [u64; N]) -> Result<[u64; N]> {
    communicator.all_reduce(&numbers, |one, two| array::from_fn(|i| one[i].max(two[i])))
}

/// Returns 0, or a number for this rank if it has an error. The number of the lowest rank is the largest.
fn failed<T>(result: &Result<T>, rank: usize) -> u64 {
    if result.is_ok() { 0 } else { u64::MAX - rank as u64 }
}

/// Returns the result of this rank, or an error if another rank `failed`.
fn succeeded<T>(result: Result<T>, failed: u64) -> Result<T> {
    let made = result?;
    if failed == 0 { Ok(made) } else { Err(elsewhere((u64::MAX - failed) as usize)) }
}

/// Returns `true` if all ranks have the same rules. All ranks must make this call.
fn agree<C: Handle, const D: usize>(communicator: &Comm<C>, grids: &[Grid<D>; 2]) -> Result<bool> {
    // The largest complement is that of the least number.
    let numbers: Vec<u64> =
        grids.iter().flat_map(Grid::numbers).flat_map(|number| [number, !number]).collect();
    let most = communicator.all_reduce(&numbers, |one, two| *one.max(two))?;
    Ok(most == numbers)
}

/// Returns the parts of a rank as numbers: the number of dimensions, the numbers of parts before and after,
/// and for each part the sizes of the global array and the indices.
fn numbers<const D: usize>(own: &[Vec<OwnPart<D>>; 2]) -> Vec<u64> {
    let mut numbers = vec![D as u64];
    numbers.extend(own.iter().map(|parts| parts.len() as u64));
    for OwnPart { part, .. } in own.iter().flatten() {
        numbers.extend(part.gsizes.map(|size| size as u64));
        numbers.extend(part.numbers());
    }
    numbers
}

/// The elements that parts before and after have in common.
struct Common<const D: usize> {
    /// The number of the part of the source.
    before: usize,
    /// The number of the part of the destination.
    after: usize,
    /// The positions of the elements in both.
    positions: [Positions<D>; 2],
}

/// The elements that this rank sends to a rank, or receives from it: at least one.
struct Shared<const D: usize> {
    rank: usize,
    elements: Vec<Common<D>>,
}

/// The division of the array among all ranks, as far as each rank knows it.
enum Divided<const D: usize> {
    /// The rules before and after.
    ByGrids([Grid<D>; 2]),
    ByParts(Parts<D>),
}

impl<const D: usize> Divided<D> {
    /// Returns the elements that rank `own` sends to each rank, and those that it receives from each.
    fn shared(&self, own: usize, ranks: usize) -> Result<[Vec<Shared<D>>; 2]> {
        match self {
            Self::ByGrids([from, to]) => {
                let only = |rank, positions| Shared {
                    rank,
                    elements: vec![Common { before: 0, after: 0, positions }],
                };
                let sent = from.peers(to, ranks);
                let received = to.peers(from, ranks);
                // No two ranks of a grid have one element. Those beyond the communicator have none.
                let found = received.iter().map(|(_, [ours, _])| ours.count()).fold(0, u128::saturating_add);
                covered(to.count(), found, own, 0)?;
                let sent = sent.into_iter().map(|(rank, positions)| only(rank, positions));
                let received = received.into_iter().map(|(rank, [ours, theirs])| only(rank, [theirs, ours]));
                Ok([sent.collect(), received.collect()])
            }
            Self::ByParts(Parts { from, to }) => {
                for (number, destination) in to[own].iter().enumerate() {
                    covered_once(from, destination, own, number)?;
                }
                let shared = |before: &[IndexSet<D>], after: &[IndexSet<D>], rank| {
                    let elements: Vec<_> = common(before, after).collect();
                    (!elements.is_empty()).then_some(Shared { rank, elements })
                };
                let sent = (0..ranks).filter_map(|rank| shared(&from[own], &to[rank], rank));
                let received = (0..ranks).filter_map(|rank| shared(&from[rank], &to[own], rank));
                Ok([sent.collect(), received.collect()])
            }
        }
    }
}

/// The parts of all ranks before and after, in the order of the ranks.
struct Parts<const D: usize> {
    from: Vec<Vec<IndexSet<D>>>,
    to: Vec<Vec<IndexSet<D>>>,
}

impl<const D: usize> Parts<D> {
    /// Reads the numbers of all ranks.
    fn read(told: &[Vec<u64>]) -> Result<Self> {
        let (mut gsizes, mut all) = (None, Self { from: Vec::new(), to: Vec::new() });
        for (rank, numbers) in told.iter().enumerate() {
            let malformed = || Error::Message {
                from: Some(rank as i32),
                reason: "its parts are those of another version of the library".into(),
            };
            let mut numbers = numbers.iter().copied();
            if numbers.next() != Some(D as u64) {
                return Err(mistake(format!(
                    "rank {rank} has parts of an array of another number of dimensions"
                )));
            }
            let mut number = || numbers.next().and_then(|number| usize::try_from(number).ok());
            let counts = [number().ok_or_else(malformed)?, number().ok_or_else(malformed)?];
            for (count, parts) in counts.into_iter().zip([&mut all.from, &mut all.to]) {
                let mut of_rank = Vec::new();
                for _ in 0..count {
                    let mut found = [0; D];
                    for (k, size) in found.iter_mut().enumerate() {
                        *size = numbers
                            .next()
                            .and_then(|size| usize::try_from(size).ok())
                            .ok_or_else(malformed)?;
                        let expected = gsizes.map_or(*size, |gsizes: [usize; D]| gsizes[k]);
                        if *size != expected {
                            return Err(mistake(format!(
                                "dimension {k} of the global array has length {size} in a part of rank \
                                 {rank}, and {expected} in an earlier part"
                            )));
                        }
                    }
                    gsizes = Some(found);
                    of_rank.push(IndexSet::read(&mut numbers, found).ok_or_else(malformed)?);
                }
                parts.push(of_rank);
            }
            if numbers.next().is_some() {
                return Err(malformed());
            }
        }
        Ok(all)
    }
}

/// Returns the elements that parts before and after have in common, in the order of the parts before and then
/// after: that of the pieces of a message, on both sides.
fn common<'a, const D: usize>(
    before: &'a [IndexSet<D>],
    after: &'a [IndexSet<D>],
) -> impl Iterator<Item = Common<D>> + 'a {
    before.iter().enumerate().flat_map(move |(before, source)| {
        let after = after.iter().enumerate();
        after.filter_map(move |(after, destination)| {
            Some(Common { before, after, positions: source.common(destination)? })
        })
    })
}

/// Checks that each element of a part is in exactly one part of the source.
fn covered_once<const D: usize>(
    from: &[Vec<IndexSet<D>>],
    destination: &IndexSet<D>,
    own: usize,
    number: usize,
) -> Result {
    let mut sources: Vec<(usize, Positions<D>)> = Vec::new();
    for (rank, parts) in from.iter().enumerate() {
        for [common, _] in parts.iter().filter_map(|part| destination.common(part)) {
            if let Some((other, _)) = sources.iter().find(|(_, others)| common.meets(others)) {
                return Err(mistake(format!(
                    "a part of rank {other} and a part of rank {rank} overlap in the source"
                )));
            }
            sources.push((rank, common));
        }
    }
    let found = sources.iter().map(|(_, part)| part.count()).fold(0, u128::saturating_add);
    covered(destination.count(), found, own, number)
}

/// Checks that all of the `count` elements of a part have been found in parts of the source.
fn covered(count: u128, found: u128, own: usize, number: usize) -> Result {
    if found == count {
        return Ok(());
    }
    Err(mistake(format!(
        "part {number} of rank {own} in the destination has {count} elements, of which {found} are in a part \
         of the source"
    )))
}

fn mistake(reason: String) -> Error {
    Error::Distribution { reason }
}

/// The error for a mistake that another rank has found.
fn elsewhere(rank: usize) -> Error {
    mistake(format!("rank {rank} found a mistake, which its own error describes"))
}

debug!([T: MpiDatatype, const D: usize] Redistribution<T, D>, |all| messages: all.moves.sends.len());
