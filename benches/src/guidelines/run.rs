//! Measuring all layouts, pass by pass, until the time is used up.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use dtype_core::{NodeCosts, Program, TypeTree, normalize, picture::Picture};
use mpi::{collective::SystemOperation, topology::SimpleCommunicator, traits::*};

use super::{
    calibrate::{self, Calibration, Compared},
    contenders::{
        Alternatives, BY_HAND, Contender, GENERATED, LEAST_COST, PLAN, Prepared, WIRE, contenders, creation,
    },
    groups::{Expected, Group},
    results::{Kind, Layout, Measured, Operation, Results, Samples},
    statistics::ratio,
};
use crate::{description::Description, generate::Random};

/// What is known so far, which another thread may save at any time.
pub type Shared = Arc<Mutex<Results>>;

/// The results, whoever has them: what another thread left is whole.
pub fn lock(shared: &Shared) -> MutexGuard<'_, Results> {
    shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A measurement takes so long at least, in microseconds: clocks are not exact.
const SAMPLE: f64 = 30.0;
/// In a pass, a group is measured so often at least, and at most;
const ROUNDS: (usize, usize) = (3, 9);
/// and about so long, in microseconds.
const GROUP: f64 = 40_000.0;

/// What rank 0 says, on all ranks.
pub fn agreed<T: Equivalence>(world: &SimpleCommunicator, mut value: T) -> T {
    world.process_at_rank(0).broadcast_into(&mut value);
    value
}

/// What ranks agree upon before a group is measured.
struct Effort {
    /// Repetitions of each contender, and of the constructions.
    batches: Vec<u64>,
    rounds: u64,
}

/// How long is measured: until the time is used up, but so many passes at least.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The time.
    pub time: Duration,
    /// The passes.
    pub least: usize,
}

/// Measures groups.
pub struct Runner<'a> {
    world: &'a SimpleCommunicator,
    /// Other memory in each pass.
    random: Random,
    /// Whether rank 0 does all that is done, and asks no other one.
    alone: bool,
}

impl<'a> Runner<'a> {
    /// On these ranks, of which the first two send each other messages. Memory is other memory for another
    /// seed, of which rank 0's counts.
    pub fn new(world: &'a SimpleCommunicator, seed: u64) -> Self {
        Self { world, random: Random::new(agreed(world, seed)), alone: false }
    }

    fn is_first(&self) -> bool {
        self.world.rank() == 0
    }

    /// What rank 0 says, on all ranks that take part.
    fn agreed<T: Equivalence>(&self, value: T) -> T {
        if self.alone { value } else { agreed(self.world, value) }
    }

    /// Does something for each of so many, pass by pass. `each` is told the pass, the number, and which share
    /// of the time is used.
    fn passes(&mut self, count: usize, budget: Budget, mut each: impl FnMut(&mut Self, usize, usize, f64)) {
        let start = Instant::now();
        let all = (0..).flat_map(|pass| (0..count).map(move |number| (pass, number)));
        // Of nothing there is no end.
        for (pass, number) in all.take(if count == 0 { 0 } else { usize::MAX }) {
            let elapsed = start.elapsed();
            if self.agreed(pass >= budget.least && elapsed >= budget.time) {
                return;
            }
            // Neither the time nor the passes alone say how much is left.
            let of_time = elapsed.as_secs_f64() / budget.time.as_secs_f64();
            let of_passes = (pass * count + number) as f64 / (budget.least * count) as f64;
            let share = of_time.min(of_passes);
            each(self, pass, number, share.min(1.0));
        }
    }

    /// Measures all groups pass by pass. Rank 0 adds to the results in `shared`, whose layouts are those of
    /// the [groups](described). `done` is told how often all have been measured, which share of the time is
    /// used, and what is next.
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

    /// The ways that do something else than the loops by hand, on one rank at least, and the first thing that
    /// each does.
    fn wrong(&self, prepared: &Prepared<'_>, all: &[Contender<'_>]) -> Vec<(&'static str, Operation)> {
        let here = prepared.wrong(all);
        let mut anywhere = here.clone();
        self.world.all_reduce_into(&here[..], &mut anywhere[..], SystemOperation::max());
        let wrong = all.iter().zip(anywhere).filter(|(_, is_wrong)| *is_wrong > 0);
        let mut ways: Vec<_> = wrong.map(|(contender, _)| (contender.way, contender.operation)).collect();
        ways.dedup_by_key(|(way, _)| *way);
        ways
    }

    /// Measures a group once: what the contenders take, and what it takes to make the datatypes. The times
    /// are rank 0's.
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

    /// Times `MPI_Pack`, and half a ping-pong if `sends`, with several descriptions of each layout, pass by
    /// pass. By layout, in the order of its descriptions; nothing on other ranks than 0. `done` is told which
    /// share of the time is used.
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

    /// The times of all contenders in turn, another one first in each round.
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

    /// The time that rank 0 measures.
    fn time(&self, contender: &Contender<'_>, batch: usize) -> Option<f64> {
        if contender.alone {
            return self.is_first().then(|| contender.time(batch));
        }
        // All begin together, and the caches are as this one leaves them.
        contender.time(1);
        self.world.barrier();
        let time = contender.time(batch);
        self.is_first().then_some(time)
    }

    /// How much each is to be repeated, as rank 0 finds out; and each of `others` that it does alone.
    fn effort(&self, all: &[Contender<'_>], others: usize, other: impl Fn(usize) -> f64) -> Effort {
        let mut batches = Vec::new();
        let mut together = 0.0;
        let mut push = |time: f64, most: f64| {
            let batch = (SAMPLE / time.max(0.01)).ceil().clamp(1.0, most);
            together += batch * time;
            batches.push(batch as u64);
        };
        for contender in all {
            // The first time is not like the others.
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

/// What the first pass finds out about a layout: what is wrong, and the cost of the least-cost tree.
fn note(layout: &mut Layout, wrong: &[(&str, Operation)], least: &TypeTree) {
    for way in &mut layout.ways {
        if let Some((_, operation)) = wrong.iter().find(|(name, _)| *name == way.name) {
            let does = if *operation == Operation::Pack { "packs" } else { "unpacks" };
            way.wrong = Some(format!("{does} something else than the loops by hand"));
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

/// Four digits are enough, and keep the file small.
fn rounded(time: f64) -> f64 {
    let scale = 10f64.powi(3 - time.abs().max(1e-6).log10().floor() as i32);
    (time * scale).round() / scale
}

/// Groups before they are measured. Of those that differ in size, the first one is drawn.
///
/// # Panics
/// Never: all groups have small datatypes, which a test goes through.
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
    let of_way = |way: &super::groups::Way| {
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
    ways.push(other(WIRE, Kind::Ours, "send_packed and receive_packed"));
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

/// Seeds of generated layouts: those on which a model is chosen, and those that none has seen.
const SEEDS: [u64; 2] = [1977, 2011];

impl Runner<'_> {
    /// Times the designed set, fits the models, and compares their least-cost trees with the descriptions of
    /// generated layouts. The result is rank 0's. `done` is told which share of the time is used.
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
    /// Each made once.
    pub descriptions: Vec<Description>,
    /// Packed bytes.
    pub size: usize,
    /// The bytes it lies in.
    pub end: usize,
}

impl LaidOut {
    /// Descriptions of a tree.
    ///
    /// # Panics
    /// For a tree that cannot be measured.
    pub fn new(tree: &TypeTree, descriptions: Vec<Description>) -> Self {
        let measure = tree.measure().expect("a small tree");
        Self { descriptions, size: measure.size as usize, end: measure.upper_bound as usize }
    }
}

/// A tree as our own calls.
fn lowered(tree: &TypeTree) -> Description {
    Description::of_program(&Program::lower(tree, None).expect("a small tree"))
}
