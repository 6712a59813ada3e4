//! Least-cost type trees with all five node kinds: the sparse interval program.
//!
//! Let W(i, j) be the least cost of the segment `i..j`, moved so that it begins at 0. Its root is a leaf, a
//! strc, or a vec, idx or idxbuc. The last three have the child `i..i+q`, if that segment repeats (j − i)/q
//! times from i on. A strc joins parts that follow each other, at 2·lookup each. The cheapest sequence of
//! parts is a shortest path over segments. Row i consists of the segments that begin at i. Rows are solved
//! from i = n − 1 down, each with j ascending. So everything that a segment needs is in its own row, or is a
//! *kept* segment of a later row.
//!
//! A segment is kept as a possible part only if, as a whole, it is cheaper than the best sequence of two or
//! more parts for the same entries. Otherwise that sequence can replace it in any strc, and consists of kept
//! segments itself. This rule alone removes all segments whose best root is a strc.
//!
//! *Open runs.* If the prices are linear in the counts, nodes over a single atom (a vec, idx or idxbuc of
//! leaves) need not be kept. A sequence of parts that ends in such a node is extended atom by atom in
//! constant time. The state is one open vec, one open idx, and for idxbuc one value per stride; an atom
//! changes only the values of the strides at which it follows its predecessor. On maps of one base type
//! nearly all segments have this form.
//!
//! *Open repeats.* Of a node over longer segments, only the beginning is kept. Sequences that end in such a
//! node are extended copy by copy.
//!
//! A row ends with the last repetition from its start on. If a row begins like a later row, it reuses that
//! row and continues where it ends.
//!
//! The worst-case time is O(n² log n + n·Z) for Z kept segments and beginnings, and O(n²) if few are kept.
//! The space is n²/2 bits and O(n + Z).

use alloc::{vec, vec::Vec};
use core::cell::RefCell;

use super::{
    atoms::{Atoms, Paid},
    open::AtomRuns,
    open_repeats::{Beginning, NextCopy, OpenRepeat, OpenRepeats},
    prices::Prices,
    repeats::Repeats,
    rows::{ByRow, Choice, Root, Row, Rows},
};
use crate::{
    CostModel, NodeCosts, Optimality, TypeTree,
    repeat::{Repeat, StrideCounts},
};

/// Returns the least-cost tree over `atoms`, and its optimality. If more than `limit` segments had to be
/// kept, the tree is not known to be optimal. There must be at least one atom, and every difference of two
/// displacements must fit `i64`.
///
/// If `paid` is given, that tree of at least two atoms costs nothing wherever its type map occurs.
pub(crate) fn least_cost(
    atoms: &Atoms,
    costs: &dyn CostModel,
    limit: u64,
    paid: Option<Paid>,
) -> (TypeTree, Optimality) {
    let search = Search::new(atoms, costs, limit, paid);
    let (row, length, shift) = (search.row(0, atoms.len()), atoms.len(), atoms.displacements[0]);
    if search.choice(&row, length, shift).cost < u64::MAX {
        return (search.build(&row, length, shift), search.optimality);
    }
    // The costs of all trees saturate. Any tree is valid, so the default constants choose one.
    let costs = &NodeCosts::THESIS;
    (least_cost(&atoms.priced(costs), costs, limit, None).0, Optimality::UpperBound)
}

/// A segment that may be a part of a strc.
#[derive(Clone)]
struct Kept {
    length: usize,
    cost: u64,
}

pub(super) struct Search<'a> {
    pub(super) atoms: &'a Atoms,
    prices: Prices<'a>,
    pub(super) repeats: Repeats,
    /// The data for open runs, if the prices allow them.
    runs: Option<AtomRuns>,
    /// The kept segments of each row, in ascending order of length, complete once the row is solved.
    kept: ByRow<Kept>,
    /// The beginnings of nodes over more than one atom, if the prices are linear.
    beginnings: ByRow<Beginning>,
    /// By first element: the furthest end of a kept segment, or of the two copies of a beginning.
    furthest: Vec<usize>,
    /// By first element: the distance in elements to the row whose beginnings were inherited, and the number
    /// of these.
    inherited: Vec<(usize, usize)>,
    /// The storage for open repeats, empty between rows.
    open_repeats: RefCell<OpenRepeats>,
    pub(super) paid: Option<Paid>,
    /// The number of segments that may still be kept.
    room: u64,
    /// `Proven` as long as all segments could be kept.
    optimality: Optimality,
}

impl<'a> Search<'a> {
    fn new(atoms: &'a Atoms, costs: &'a dyn CostModel, limit: u64, paid: Option<Paid>) -> Self {
        let n = atoms.len();
        let prices = Prices::of(costs, n);
        let runs = AtomRuns::of(atoms, &prices);
        let mut search = Self {
            atoms,
            prices,
            repeats: Repeats::of(atoms),
            runs,
            kept: ByRow::new(n),
            beginnings: ByRow::new(n),
            furthest: vec![0; n],
            inherited: vec![(0, 0); n],
            open_repeats: RefCell::new(OpenRepeats::new(n)),
            paid,
            room: limit,
            optimality: Optimality::Proven,
        };
        if search.runs.is_none() && atoms.counts.iter().any(|count| *count > 1) {
            // Without open runs, nodes over single atoms are not searched as later parts of a strc.
            search.optimality = Optimality::UpperBound;
        }
        let lengths = search.row_lengths();
        let alike = search.alike(&lengths);
        let mut rows = Rows::new(n, alike.iter().flatten());
        // Row 0 is solved last, by the caller, which needs more of it than the kept segments.
        for start in (1..n).rev() {
            let end = start + lengths[start];
            search.kept.begin(start);
            search.beginnings.begin(start);
            let later = alike[start].and_then(|later| rows.take(later));
            let later = later.filter(|later| search.keep_again(later, start));
            let known = later.as_ref().map_or(0, |later| later.length());
            let mut row = later.unwrap_or_else(|| rows.spare());
            if known > 0 {
                search.prolong(&mut row, start, end);
            } else {
                search.solve(&mut row, start, end);
            }
            for length in known + 1..=lengths[start] {
                search.keep(&row, length);
            }
            rows.put(row);
        }
        search
    }

    /// Returns for each row the length of the longest segment that may be kept. No row except row 0 needs
    /// longer segments.
    fn row_lengths(&self) -> Vec<usize> {
        let atoms = self.atoms;
        // Open runs handle nodes over single atoms. If no node over several atoms of a run is better, open
        // runs handle the whole run. For this, every child must cost at least as much as an atom. A tree that
        // is paid for costs less.
        let (runs, runs_are_open) = (self.runs.as_ref().filter(|_| self.paid.is_none()), self.runs.is_some());
        let left_out = |at: usize| match runs {
            Some(runs) if runs.dominates_all(&self.prices, atoms.symbols[at], atoms.atom(at).1) => {
                runs.length(at)
            }
            _ => 0,
        };
        let shortest = |at: usize| if runs_are_open && atoms.counts[at] == 1 { 2 } else { 1 };
        let mut lengths = self.repeats.reach(atoms.len(), shortest, left_out);
        for (start, length) in lengths.iter_mut().enumerate() {
            let paid = self.paid.as_ref().filter(|paid| paid.at[start]).map_or(0, |paid| paid.length);
            *length = (*length).max(paid).max(1);
        }
        lengths
    }

    /// Returns for each row a later row with the same beginning. Returns `None` for row 0, and if the later
    /// row is too short to save time.
    fn alike(&self, lengths: &[usize]) -> Vec<Option<usize>> {
        let is_plain = self.runs.is_some() && self.paid.is_none();
        let alike = |start: usize| {
            let (period, length) = self.repeats.alike[start];
            let later = start + period;
            let is_worth_it = start > 0 && period > 0 && lengths[later] >= Rows::SHORT;
            (is_plain && is_worth_it && lengths[later] <= length).then_some(later)
        };
        (0..lengths.len()).map(alike).collect()
    }

    pub(super) fn row(&self, start: usize, end: usize) -> Row {
        let mut row = Row::default();
        self.solve(&mut row, start, end);
        row
    }

    /// Solves all segments from `start` that end by `end`, given the kept segments of all later rows.
    /// Discards the contents of the row and reuses its memory.
    fn solve(&self, row: &mut Row, start: usize, end: usize) {
        row.reset(start, end - start);
        if let Some(runs) = &self.runs {
            row.open.begin(runs);
        }
        self.go_on(row, 1, end);
    }

    /// Turns a solved later row into the row from `start`, which begins like it, and solves the longer
    /// segments.
    fn prolong(&self, row: &mut Row, start: usize, end: usize) {
        let (known, period) = (row.length(), row.start - start);
        row.start = start;
        row.resize(end - start);
        // Relax the segments that end beyond the old row.
        self.singles(row, end);
        for q in self.repeats.of_row(start).take_while(|q| *q <= known) {
            if self.repeats.are_alike() && (known / q + 1) * q > end - start {
                continue;
            }
            self.repeat(row, q, end);
        }
        for middle in self.repeats.vectors(start).take_while(|middle| *middle <= start + known) {
            self.repeat(row, middle - start, end);
        }
        let mut repeats = self.open_repeats.borrow_mut();
        let mut waiting = core::mem::take(&mut row.waiting);
        repeats.go_on(&mut waiting, |length, open| self.next_copy(start + length, open, end));
        row.waiting = waiting;
        for length in 1..=known {
            let next = start + length;
            if self.furthest[next] > start + known {
                self.append_kept(row, length, start + known, end);
            } else if self.inherited[next] == (period, self.beginnings.of(next).len()) {
                continue;
            }
            for beginning in self.beginnings.of(next) {
                if next + beginning.length() > start + known {
                    repeats.begin(beginning, length, row.before[length], end - start);
                } else if self.beginnings.of(next + period).iter().all(|later| !later.is_like(beginning)) {
                    // The beginning is of use only for segments that are longer than the later row.
                    let next = |length: usize, open: &OpenRepeat| self.next_copy(start + length, open, end);
                    let row = (known, end - start, row.before[length], &mut row.waiting);
                    repeats.begin_again(beginning, length, row, next);
                }
            }
        }
        drop(repeats);
        self.go_on(row, known + 1, end);
    }

    /// Solves the segments of a row from length `from` on. All shorter segments must be solved.
    fn go_on(&self, row: &mut Row, from: usize, end: usize) {
        let start = row.start;
        let mut repeats = self.open_repeats.borrow_mut();
        for length in from..=end - start {
            if let Some(runs) = &self.runs {
                // Kept segments have been relaxed, when the row reached their first element.
                let (atoms, parts) = ((runs, &self.atoms.symbols[..]), &mut row.parts[length]);
                row.open.step(atoms, (start, length), &row.before, parts);
                let next = |length: usize, open: &OpenRepeat| self.next_copy(start + length, open, end);
                repeats.advance(length, &mut row.parts[length], &mut row.waiting, next);
            }
            if length == 1 {
                row.whole[1] = Choice { cost: self.element_cost(start), root: Root::Atom };
            }
            if self.paid.as_ref().is_some_and(|paid| paid.length == length && paid.at[start]) {
                row.whole[length] = Choice { cost: 0, root: Root::Paid };
            }
            let parts = row.parts[length].0;
            row.before[length] = parts.min(self.prices.part.of(row.whole[length].cost));
            if start == 0 {
                self.shift(row, length);
            }
            if length == 1 {
                self.singles(row, end);
            }
            self.repeat(row, length, end);
            if start + length < end {
                self.append_kept(row, length, 0, end);
                for beginning in self.beginnings.of(start + length) {
                    repeats.begin(beginning, length, row.before[length], end - start);
                }
            }
        }
    }

    /// Returns the cost of an element by itself.
    fn element_cost(&self, at: usize) -> u64 {
        let (cost, count) = (self.atoms.atom(at).1, self.atoms.counts[at]);
        if count == 1 { cost } else { self.prices.vector(count).of(cost) }
    }

    /// Returns the least-cost root of the row's first `length` elements, moved to begin at `shift`.
    pub(super) fn choice(&self, row: &Row, length: usize, shift: i64) -> Choice {
        if shift != 0 {
            return row.shifted[length];
        }
        let mut choice = row.whole[length];
        choice.relax(self.prices.structure.saturating_add(row.parts[length].0), Root::Parts);
        choice
    }

    /// Finds the next copy of an open repeat that ends before element `here`, in a row that ends before
    /// `end`.
    fn next_copy(&self, here: usize, open: &OpenRepeat, end: usize) -> NextCopy {
        let (from, at) = (here - open.q, &self.atoms.displacements);
        if self.repeats.atoms(from, here) > self.repeats.atoms(here, end) {
            return NextCopy::Behind;
        }
        match self.repeats.next(from, here) {
            Some(next) => NextCopy::Of(next - here, at[here] - at[from]),
            None => NextCopy::None,
        }
    }

    /// Copies the kept segments and beginnings of the later row `known` to the row from `start`, which begins
    /// like the later row. Returns `false` if they exceed the limit.
    fn keep_again(&mut self, known: &Row, start: usize) -> bool {
        let period = known.start - start;
        let count = (self.kept.of(known.start).len() + self.beginnings.of(known.start).len()) as u64;
        if self.room < count {
            return false;
        }
        self.room -= count;
        self.kept.push_again(start, known.start);
        self.beginnings.push_again(start, known.start);
        self.inherited[start] = (period, self.beginnings.of(start).len());
        self.furthest[start] = self.furthest[known.start] - period.min(self.furthest[known.start]);
        true
    }

    /// Keeps the row's first `length` elements, as a whole, as a part of a strc, if
    /// [`is_part`](Self::is_part) holds. If open repeats can extend the segment from its first two copies,
    /// only this beginning is kept. If open runs cover the segment, nothing is kept.
    fn keep(&mut self, row: &Row, length: usize) {
        if !self.is_part(row, length) {
            return;
        }
        let whole = row.whole[length];
        let linear = self.prices.linear.as_ref().filter(|_| self.runs.is_some());
        match (linear, whole.root) {
            (Some(_), Root::Atom | Root::Singles(_)) => {}
            // Single atoms are kept even beyond the limit, because every sequence can be made of them.
            (_, root) if self.room == 0 && root != Root::Atom => self.optimality = Optimality::UpperBound,
            (Some(linear), Root::Repeat(kind, q)) => {
                let q = q as usize;
                if self.beginnings.of(row.start).iter().all(|known| !known.is(kind, q)) {
                    let child = self.choice(row, q, 0).cost;
                    let (line, bucket) = match kind {
                        Repeat::Vector => (linear.vector, 0),
                        Repeat::Index => (linear.index, 0),
                        Repeat::Bucket => (linear.index_bucket, linear.bucket_over(child)),
                    };
                    let second = row.start + q;
                    let two = self.repeats.next(row.start, second).map_or(length, |end| end - row.start);
                    let stride = self.atoms.displacements[second] - self.atoms.displacements[row.start];
                    let ((first, more), part) = (line.over(child), self.prices.part);
                    let beginning = Beginning::of((kind, q), (two, stride), (first, more, bucket), part);
                    self.furthest[row.start] = self.furthest[row.start].max(row.start + beginning.length());
                    self.beginnings.push(row.start, beginning);
                    self.room -= 1;
                }
            }
            _ => {
                self.furthest[row.start] = self.furthest[row.start].max(row.start + length);
                self.kept.push(row.start, Kept { length, cost: whole.cost });
                self.room = self.room.saturating_sub(1);
            }
        }
    }

    /// Returns `true` if the row's first `length` elements, as a whole, are a better part of a strc than any
    /// sequence of two or more parts. At equal cost, the whole is better if it is a run of adjacent leaves,
    /// because MPI takes that as a block length.
    pub(super) fn is_part(&self, row: &Row, length: usize) -> bool {
        let whole = &row.whole[length];
        let (part, sequence) = (self.prices.part.of(whole.cost), row.parts[length].0);
        match whole.root {
            Root::Unknown => false,
            Root::Atom => true,
            Root::Singles(Repeat::Vector) if part == sequence => {
                let (atom, _) = self.atoms.atom(row.start);
                matches!(atom, TypeTree::Leaf(base) if self.atoms.steps[row.start] == base.extent() as i64)
            }
            _ => part < sequence,
        }
    }

    /// Relaxes the first `length` elements, shifted as a whole. A strc of parts can carry the shift, or a
    /// node with a single child.
    fn shift(&self, row: &mut Row, length: usize) {
        let aligned = self.choice(row, length, 0).cost;
        let shifted = &mut row.shifted[length];
        shifted.relax(self.prices.structure.saturating_add(row.parts[length].0), Root::Parts);
        let carried = self.carried(aligned, row.whole[length].cost, length);
        shifted.relax(carried.cost, carried.root);
    }

    /// Returns the cheapest node with a single child that carries a shift. The child has `length` elements
    /// and costs `aligned`, or `whole` without a strc at its root. A part of a strc is never a strc itself.
    pub(super) fn carried(&self, aligned: u64, whole: u64, length: usize) -> Choice {
        let (prices, length) = (&self.prices, length as u32);
        let mut choice = Choice::UNKNOWN;
        choice.relax(prices.index(1).of(aligned), Root::Repeat(Repeat::Index, length));
        choice.relax(prices.index_bucket(1, 1).of(aligned), Root::Repeat(Repeat::Bucket, length));
        choice.relax(prices.structure.saturating_add(prices.part.of(whole)), Root::Part);
        choice
    }

    /// Relaxes every segment that consists of copies of the row's first atom. Begins at the first element
    /// that has not been read.
    fn singles(&self, row: &mut Row, end: usize) {
        let (prices, atoms, start) = (&self.prices, self.atoms, row.start);
        let cost = atoms.atom(start).1;
        let below = self.carried(cost, cost, 1).cost;
        let mut singles = core::mem::take(&mut row.singles);
        while start + singles.elements < end
            && atoms.symbols[start + singles.elements] == atoms.symbols[start]
        {
            let at = start + singles.elements;
            self.read(at, at == start, &mut singles.strides);
            singles.elements += 1;
            singles.copies += atoms.counts[at];
            singles.long = singles.long.with(atoms.counts[at], atoms.strides[at]);
            let Some(strides) = singles.strides.as_ref() else { continue };
            let (elements, copies) = (singles.elements, singles.copies);
            let vector = strides.is_regular().then(|| prices.vector(copies));
            let index = singles.long.can_be_listed().then(|| (prices.index(copies), Repeat::Index));
            let in_buckets = singles.long.fits_buckets(strides.best());
            let bucket = in_buckets.then(|| (prices.index_bucket(copies, strides.buckets()), Repeat::Bucket));
            let relax = |choice: &mut Choice, below: u64| {
                if let Some(vector) = vector {
                    choice.relax(vector.of(below), Root::Singles(Repeat::Vector));
                }
                for (price, kind) in index.into_iter().chain(bucket) {
                    choice.relax(price.of(cost), Root::Singles(kind));
                }
            };
            relax(&mut row.whole[elements], cost);
            if start == 0 {
                relax(&mut row.shifted[elements], below);
            }
        }
        row.singles = singles;
    }

    /// Reads the distances between the copies within an element and, unless it is the first element, the
    /// distance from the element before.
    pub(super) fn read(&self, at: usize, first: bool, strides: &mut Option<StrideCounts>) {
        let mut push = |stride: i64, times: u64| {
            strides.get_or_insert_with(|| StrideCounts::regular(stride, 0)).push(stride, times);
        };
        if !first {
            push(self.atoms.steps[at - 1], 1);
        }
        if self.atoms.counts[at] > 1 {
            push(self.atoms.strides[at], self.atoms.counts[at] - 1);
        }
    }

    /// Relaxes every longer segment that repeats the first `q` elements of the row.
    fn repeat(&self, row: &mut Row, q: usize, end: usize) {
        let (prices, start) = (&self.prices, row.start);
        // A single atom is repeated by `singles`.
        let is_atom = q == 1 && self.atoms.counts[start] == 1;
        if is_atom || start + q >= end || self.repeats.next(start, start + q).is_none_or(|next| next > end) {
            return;
        }
        let (aligned, at) = (self.choice(row, q, 0).cost, &self.atoms.displacements);
        let mut copies = self.runs.as_ref().map_or(1, |runs| {
            // If the run of atoms at `start` dominates, nodes over several atoms need not be tried within it.
            let within = runs.length(start).min(end - start) / q;
            let (symbol, atoms) = (self.atoms.symbols[start], q as u64 * self.atoms.counts[start]);
            if within > 1 && start > 0 && runs.dominates(prices, symbol, atoms, aligned) { within } else { 1 }
        });
        let mut strides: Option<StrideCounts> =
            (copies > 1).then(|| StrideCounts::regular(at[start + q] - at[start], copies as u64 - 1));
        let (mut last, mut here) = (start + (copies - 1) * q, start + copies * q);
        while let Some(next) = self.repeats.next(last, here).filter(|next| *next <= end) {
            copies += 1;
            let difference = at[here] - at[last];
            let strides = strides.get_or_insert_with(|| StrideCounts::regular(difference, 0));
            strides.push(difference, 1);
            (last, here) = (here, next);
            let (length, count) = (here - start, copies as u64);
            let whole = &mut row.whole[length];
            let index = prices.index(count).of(aligned);
            let bucket = prices.index_bucket(count, strides.buckets()).of(aligned);
            if strides.is_regular() {
                whole.relax(prices.vector(count).of(aligned), Root::Repeat(Repeat::Vector, q as u32));
            }
            whole.relax(index, Root::Repeat(Repeat::Index, q as u32));
            whole.relax(bucket, Root::Repeat(Repeat::Bucket, q as u32));
            if start == 0 {
                let below = row.shifted[q].cost;
                let shifted = &mut row.shifted[length];
                if strides.is_regular() {
                    shifted.relax(prices.vector(count).of(below), Root::Repeat(Repeat::Vector, q as u32));
                }
                shifted.relax(index, Root::Repeat(Repeat::Index, q as u32));
                shifted.relax(bucket, Root::Repeat(Repeat::Bucket, q as u32));
            }
        }
    }

    /// Relaxes every longer sequence of parts whose last part is kept and begins after the first `length`
    /// elements. The last part must end after the first `known` elements of the map.
    fn append_kept(&self, row: &mut Row, length: usize, known: usize, end: usize) {
        let (before, begin) = (row.before[length], row.start + length);
        let kept = self.kept.of(begin);
        for kept in &kept[kept.partition_point(|kept| begin + kept.length <= known)..] {
            if begin + kept.length > end {
                break;
            }
            let cost = before.saturating_add(self.prices.part.of(kept.cost));
            let longer = &mut row.parts[length + kept.length];
            if cost < longer.0 {
                *longer = (cost, length);
            }
        }
    }
}
