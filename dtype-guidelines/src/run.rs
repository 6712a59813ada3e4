//! The runner, which measures all layouts pass by pass until the time is used up.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use dtype_core::{NodeCosts, Program, TypeTree, normalize, picture::Picture};
use mpi::{collective::SystemOperation, topology::SimpleCommunicator, traits::*};

use crate::{
    calibrate::{self, Calibration, Compared},
    contenders::{
        Alternatives, BY_HAND, Contender, GENERATED, LEAST_COST, PLAN, Prepared, WIRE, contenders, creation,
    },
    description::Description,
    generate::Random,
    groups::{Expected, Group},
    results::{Kind, Layout, Measured, Operation, Results},
    statistics::{Samples, ratio},
};

/// The results so far, which another thread may save at any time.
pub type Shared = Arc<Mutex<Results>>;

/// Locks the results. If another thread panicked, its results are still complete.
pub fn lock(shared: &Shared) -> MutexGuard<'_, Results> {
    shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The least time of a measurement, in microseconds, because clocks are inexact.
const SAMPLE: f64 = 30.0;
/// The least and the greatest number of rounds of a group in a pass.
const ROUNDS: (usize, usize) = (3, 9);
/// The time of a group in a pass, in microseconds.
const GROUP: f64 = 40_000.0;

/// Returns rank 0's value on all ranks.
pub fn agreed<T: Equivalence>(world: &SimpleCommunicator, mut value: T) -> T {
    world.process_at_rank(0).broadcast_into(&mut value);
    value
}

/// The repetitions on which all ranks agree before a group is measured.
struct Effort {
    /// The repetitions of each contender, then those of the constructions.
    batches: Vec<u64>,
    rounds: u64,
}

/// The budget of a measurement, which ends after both the time and the passes are used up.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The least time.
    pub time: Duration,
    /// The least number of passes.
    pub least: usize,
}

/// A runner that measures groups.
pub struct Runner<'a> {
    world: &'a SimpleCommunicator,
    /// The generator of random memory positions, which differ in each pass.
    random: Random,
    /// `true` if rank 0 works alone, without communication.
    alone: bool,
}

impl<'a> Runner<'a> {
    /// Creates a runner on these ranks. The first two exchange the messages. The positions of memory depend
    /// on rank 0's seed.
    pub fn new(world: &'a SimpleCommunicator, seed: u64) -> Self {
        Self { world, random: Random::new(agreed(world, seed)), alone: false }
    }

    fn is_first(&self) -> bool {
        self.world.rank() == 0
    }

    /// Returns rank 0's value on all ranks that take part.
    fn agreed<T: Equivalence>(&self, value: T) -> T {
        if self.alone { value } else { agreed(self.world, value) }
    }

    /// Runs `each` for `count` items, pass by pass. `each` gets the pass, the number of the item, and the
    /// share of the budget that is used.
    fn passes(&mut self, count: usize, budget: Budget, mut each: impl FnMut(&mut Self, usize, usize, f64)) {
        let start = Instant::now();
        let all = (0..).flat_map(|pass| (0..count).map(move |number| (pass, number)));
        // Without items, the iteration would never end.
        for (pass, number) in all.take(if count == 0 { 0 } else { usize::MAX }) {
            let elapsed = start.elapsed();
            if self.agreed(pass >= budget.least && elapsed >= budget.time) {
                return;
            }
            // The run ends when both the time and the passes are used up, so the smaller share counts.
            let of_time = elapsed.as_secs_f64() / budget.time.as_secs_f64();
            let of_passes = (pass * count + number) as f64 / (budget.least * count) as f64;
            let share = of_time.min(of_passes);
            each(self, pass, number, share.min(1.0));
        }
    }

    /// Measures all groups pass by pass. Rank 0 adds to the results in `shared`, whose layouts are those of
    /// [`described`]. `done` gets the number of complete passes, the share of the budget that is used, and
    /// the name of the next group.
    pub fn run(
        &mut self,
        groups: &[Group],
        budget: Budget,
        shared: &Shared,
        done: &mut dyn FnMut(usize, f64, &str),
    ) {
        let mut left_out = vec![Vec::new(); groups.len()];
        self.passes(groups.len(), budget, |runner, pass, number, share| {
            let group = &groups[number];
            done(pass, share, &group.name());
            let prepared = Prepared::new(group, runner.world.size() as usize, &mut runner.random);
            let mut all = contenders(&prepared, runner.world);
            let mut found = Vec::new();
            if pass == 0 {
                found = runner.wrong(&prepared, &all);
                left_out[number] = found.iter().map(|(way, _)| *way).collect();
            }
            all.retain(|contender| !left_out[number].contains(&contender.way));
            let times = runner.measure(group, &all);
            if runner.is_first() {
                let layout = &mut lock(shared).layouts[number];
                if pass == 0 {
                    note(layout, &found, prepared.decoded().tree());
                }
                add(layout, times);
            }
        });
    }

    /// Returns the ways that pack or unpack other bytes than the loops by hand on at least one rank, each
    /// with its first wrong operation.
    fn wrong(&self, prepared: &Prepared<'_>, all: &[Contender<'_>]) -> Vec<(&'static str, Operation)> {
        let here = prepared.wrong(all);
        let mut anywhere = here.clone();
        self.world.all_reduce_into(&here[..], &mut anywhere[..], SystemOperation::max());
        let wrong = all.iter().zip(anywhere).filter(|(_, is_wrong)| *is_wrong > 0);
        let mut ways: Vec<_> = wrong.map(|(contender, _)| (contender.way, contender.operation)).collect();
        ways.dedup_by_key(|(way, _)| *way);
        ways
    }

    /// Measures a group once: the contenders, then the construction of the datatypes. Only rank 0 gets times.
    fn measure(&self, group: &Group, all: &[Contender<'_>]) -> Vec<(&'static str, Operation, Vec<f64>)> {
        let effort = self.effort(all, group.ways.len(), |way| creation(group, way, 1).iter().sum());
        let times = self.rounds(all, &effort);
        let of = all.iter().zip(times).map(|(contender, times)| (contender.way, contender.operation, times));
        let mut measured: Vec<_> = of.collect();
        if !self.is_first() {
            return measured;
        }
        let mut creations = vec![(Vec::new(), Vec::new()); group.ways.len()];
        for _ in 0..effort.rounds {
            for (way, (constructs, commits)) in creations.iter_mut().enumerate() {
                let [construct, commit] = creation(group, way, effort.batches[all.len() + way] as usize);
                constructs.push(construct);
                commits.push(commit);
            }
        }
        for (way, (constructs, commits)) in group.ways.iter().zip(creations) {
            measured.push((way.name, Operation::Construct, constructs));
            measured.push((way.name, Operation::Commit, commits));
        }
        measured
    }

    /// Times `MPI_Pack` with several descriptions of each layout, pass by pass. With `sends`, also times half
    /// a ping-pong.
    ///
    /// Returns the times by layout, in the order of its descriptions: of each, packing and then the
    /// ping-pong. Only rank 0 gets times. `done` gets the share of the budget that is used.
    pub fn time_all(
        &mut self,
        layouts: &[LaidOut],
        sends: bool,
        budget: Budget,
        done: &mut dyn FnMut(f64),
    ) -> Vec<Vec<Samples>> {
        let each = if sends { 2 } else { 1 };
        let none = |layout: &LaidOut| vec![Samples::default(); each * layout.descriptions.len()];
        let mut times: Vec<Vec<Samples>> = layouts.iter().map(none).collect();
        self.passes(layouts.len(), budget, |runner, _, number, share| {
            done(share);
            let LaidOut { descriptions, size, end } = &layouts[number];
            let alternatives = Alternatives::new(descriptions, (*size, *end), &mut runner.random);
            let contenders = alternatives.contenders(runner.world, sends);
            let effort = runner.effort(&contenders, 0, |_| 0.0);
            let found = runner.rounds(&contenders, &effort);
            times[number].iter_mut().zip(found).for_each(|(all, found)| all.0.push(found));
        });
        times
    }

    /// Returns the times of all contenders in turn. Each round begins with another contender.
    fn rounds(&self, all: &[Contender<'_>], effort: &Effort) -> Vec<Vec<f64>> {
        let mut times: Vec<Vec<f64>> = all.iter().map(|_| Vec::new()).collect();
        for round in 0..effort.rounds as usize {
            for i in (0..all.len()).map(|i| (i + round) % all.len()) {
                if let Some(time) = self.time(&all[i], effort.batches[i] as usize) {
                    times[i].push(time);
                }
            }
        }
        times
    }

    /// Runs a contender. Returns the time in microseconds on rank 0, and `None` on other ranks.
    fn time(&self, contender: &Contender<'_>, batch: usize) -> Option<f64> {
        if contender.alone {
            return self.is_first().then(|| contender.time(batch));
        }
        // One untimed run fills the caches with the data of this contender, and all ranks begin together.
        contender.time(1);
        self.world.barrier();
        let time = contender.time(batch);
        self.is_first().then_some(time)
    }

    /// Determines the repetitions of all contenders, and of `others` further operations that rank 0 runs
    /// alone. `other` returns the time of such an operation in microseconds. Rank 0's times decide.
    fn effort(&self, all: &[Contender<'_>], others: usize, other: impl Fn(usize) -> f64) -> Effort {
        let mut batches = Vec::new();
        let mut together = 0.0;
        let mut push = |time: f64, most: f64| {
            let batch = (SAMPLE / time.max(0.01)).ceil().clamp(1.0, most);
            together += batch * time;
            batches.push(batch as u64);
        };
        for contender in all {
            // The first run is slower than the others.
            self.time(contender, 1);
            push(self.time(contender, 1).unwrap_or(1.0), 1000.0);
        }
        for i in 0..others {
            push(if self.is_first() { other(i) } else { 1.0 }, 30.0);
        }
        let rounds = (GROUP / together.max(1.0)).clamp(ROUNDS.0 as f64, ROUNDS.1 as f64) as u64;
        if !self.alone {
            self.world.process_at_rank(0).broadcast_into(&mut batches[..]);
        }
        Effort { batches, rounds: self.agreed(rounds) }
    }
}

/// Records the findings of the first pass about a layout: the ways that are wrong, and the cost of the tree
/// `least` for the way [`LEAST_COST`].
fn note(layout: &mut Layout, wrong: &[(&str, Operation)], least: &TypeTree) {
    for way in &mut layout.ways {
        if let Some((_, operation)) = wrong.iter().find(|(name, _)| *name == way.name) {
            let does = if *operation == Operation::Pack { "packs" } else { "unpacks" };
            way.wrong = Some(format!("{does} other bytes than the loops by hand"));
        }
        if way.name == LEAST_COST {
            way.cost = Some(least.cost(&NodeCosts::default()));
        }
    }
}

/// Adds a pass to the times of a layout.
fn add(layout: &mut Layout, times: Vec<(&str, Operation, Vec<f64>)>) {
    for (name, operation, times) in times {
        if let Some(way) = layout.ways.iter_mut().find(|way| way.name == name) {
            way.times.entry(operation).or_default().0.push(times.into_iter().map(rounded).collect());
        }
    }
}

/// Rounds a time to four digits, which keeps the file small.
fn rounded(time: f64) -> f64 {
    let scale = 10f64.powi(3 - time.abs().max(1e-6).log10().floor() as i32);
    (time * scale).round() / scale
}

/// Returns the layouts of groups, before they are measured. The first of those that differ only in size has a
/// picture.
///
/// # Panics
/// Never: the datatypes of all groups are small, as a test checks.
pub fn described(groups: &[Group]) -> Vec<Layout> {
    let mut all: Vec<Layout> = Vec::new();
    for group in groups {
        let mut layout = described_one(group);
        if all.iter().all(|known| (known.benchmark, &known.series) != (layout.benchmark, &layout.series)) {
            let whole = group.whole().datatype().expect("a small datatype");
            let picture = Picture::new(&group.name(), &whole.tree, whole.bounds);
            layout.picture = picture.expect("a small datatype").svg();
        }
        all.push(layout);
    }
    all
}

fn described_one(group: &Group) -> Layout {
    let costs = NodeCosts::default();
    let of_way = |way: &crate::groups::Way| {
        let calls = match way.count {
            1 => way.description.to_string(),
            count => format!("{count} × {}", way.description),
        };
        let tree = way.description.datatype().expect("a small datatype").tree;
        Measured {
            name: way.name.to_owned(),
            kind: Kind::Datatype,
            calls,
            cost: Some(tree.cost(&costs)),
            times: BTreeMap::new(),
            wrong: None,
        }
    };
    let other = |name: &str, kind, calls: &str| Measured {
        name: name.to_owned(),
        kind,
        calls: calls.to_owned(),
        cost: None,
        times: BTreeMap::new(),
        wrong: None,
    };
    let mut ways = vec![other(BY_HAND, Kind::ByHand, "a loop in C")];
    ways.extend(group.ways.iter().map(of_way));
    ways.push(other(LEAST_COST, Kind::Ours, "the datatype of dtype-runtime"));
    ways.push(other(PLAN, Kind::Ours, "the pack engine of dtype-runtime"));
    if group.application.is_some() {
        ways.push(other(GENERATED, Kind::Ours, "what layout! or the derive generates"));
    }
    ways.push(other(WIRE, Kind::Ours, "send and receive_into of dtype-runtime, on the wire Packed"));
    Layout {
        benchmark: group.benchmark,
        series: group.series.clone(),
        size: group.size.clone(),
        bytes: group.bytes,
        ways,
        expected: group
            .expected
            .iter()
            .map(|Expected { by, left, right }| Expected {
                by: *by,
                left: (*left).to_owned(),
                right: (*right).to_owned(),
            })
            .collect(),
        picture: String::new(),
    }
}

/// The seeds of generated layouts: first those on which a model is chosen, then those that no model has seen.
const SEEDS: [u64; 2] = [1977, 2011];

impl Runner<'_> {
    /// Times the designed set, fits the models, and compares their least-cost trees with the descriptions of
    /// generated layouts.
    ///
    /// Returns `None` on other ranks than 0. `done` gets the share of the time that is used.
    pub fn calibrate(&mut self, time: Duration, done: &mut dyn FnMut(f64)) -> Option<Calibration> {
        let trees = calibrate::trees();
        let layouts: Vec<_> =
            trees.iter().map(|tree| LaidOut::new(&tree.tree, vec![lowered(&tree.tree)])).collect();
        let half = time / 2;
        let budget = Budget { time: half, least: 3 };
        let times = self.time_all(&layouts, true, budget, &mut |share| done(share / 2.0));
        if !self.is_first() {
            return None;
        }
        self.alone = true;
        let times: Vec<_> = times.iter().map(|times| [times[0].quiet(), times[1].quiet()]).collect();
        let mut calibration = Calibration::of(&trees, &times);
        let [seen, unseen] = [0, 1].map(|which| {
            self.compare(&calibration, SEEDS[which], half / 2, &mut |share| {
                done(0.5 + 0.25 * (which as f64 + share));
            })
        });
        calibration.choose(&seen);
        calibration.compared = unseen;
        self.alone = false;
        Some(calibration)
    }

    /// Packs generated layouts as they are described, and as the least-cost trees of all models.
    fn compare(
        &mut self,
        calibration: &Calibration,
        seed: u64,
        time: Duration,
        done: &mut dyn FnMut(f64),
    ) -> Vec<Compared> {
        let start = Instant::now();
        let generated = calibrate::generated(seed);
        let of = |tree: &TypeTree| {
            let described = Description::of_tree(tree).expect("a small tree");
            let solved = calibration
                .models
                .iter()
                .map(|model| lowered(&normalize(tree, &model.pack.costs()).expect("a small tree").tree));
            LaidOut::new(tree, std::iter::once(described).chain(solved).collect())
        };
        let layouts: Vec<_> = generated.iter().map(|tree| of(&tree.tree)).collect();
        let budget = Budget { time: time.saturating_sub(start.elapsed()), least: 3 };
        let times = self.time_all(&layouts, false, budget, done);
        let compared = |(tree, times): (&calibrate::Tree, &Vec<Samples>)| Compared {
            name: tree.name.clone(),
            described: times[0].median(),
            factors: times[1..].iter().filter_map(|other| ratio(other, &times[0])).collect(),
        };
        generated.iter().zip(&times).map(compared).collect()
    }
}

/// A layout in several descriptions.
pub struct LaidOut {
    /// The descriptions. Each datatype is made once in a pass.
    pub descriptions: Vec<Description>,
    /// The packed size in bytes.
    pub size: usize,
    /// The size of the memory in bytes.
    pub end: usize,
}

impl LaidOut {
    /// Combines a tree with descriptions of its layout.
    ///
    /// # Panics
    /// If the tree cannot be measured.
    pub fn new(tree: &TypeTree, descriptions: Vec<Description>) -> Self {
        let measure = tree.measure().expect("a small tree");
        Self { descriptions, size: measure.size as usize, end: measure.upper_bound as usize }
    }
}

/// Describes a tree by its constructor program.
fn lowered(tree: &TypeTree) -> Description {
    Description::of_program(&Program::lower(tree, None).expect("a small tree"))
}
