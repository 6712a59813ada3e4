//! Measuring all layouts, pass by pass, until the time is used up.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use dtype_core::{NodeCosts, Program, TypeTree, normalize, picture::Picture};
use mpi::{topology::SimpleCommunicator, traits::*};

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

/// What ranks agree upon before a group is measured.
struct Effort {
    /// Repetitions of each contender, and of the constructions.
    batches: Vec<u64>,
    rounds: u64,
}

/// Measures groups.
pub struct Runner<'a> {
    /// All ranks.
    pub world: &'a SimpleCommunicator,
    /// Other memory in each pass.
    pub random: Random,
}

impl Runner<'_> {
    fn is_first(&self) -> bool {
        self.world.rank() == 0
    }

    /// What rank 0 says, on all ranks.
    pub fn agreed<T: Equivalence>(&self, mut value: T) -> T {
        self.world.process_at_rank(0).broadcast_into(&mut value);
        value
    }

    /// Measures all groups again and again until the time is up, but each `least` times at least. `done` is
    /// told how often all have been measured, and after each group which share of the time is used.
    pub fn run(
        &mut self,
        groups: &[Group],
        time: Duration,
        least: usize,
        shared: &Shared,
        done: &mut dyn FnMut(usize, f64, &str),
    ) {
        let start = Instant::now();
        if self.is_first() {
            lock(shared).layouts = described(groups);
        }
        // What is wrong on one rank is left out on all.
        let mut wrong: HashMap<usize, Vec<&'static str>> = HashMap::new();
        for pass in 0.. {
            for (number, group) in groups.iter().enumerate() {
                let elapsed = start.elapsed();
                if self.agreed(pass >= least && elapsed >= time) {
                    return;
                }
                done(pass, (elapsed.as_secs_f64() / time.as_secs_f64()).min(1.0), &group.name());
                self.measure(number, group, pass, &mut wrong, shared);
            }
        }
    }

    /// Measures a group once.
    fn measure(
        &mut self,
        number: usize,
        group: &Group,
        pass: usize,
        wrong: &mut HashMap<usize, Vec<&'static str>>,
        shared: &Shared,
    ) {
        let prepared = Prepared::new(group, self.world.size() as usize, &mut self.random);
        let mut all = contenders(&prepared, self.world);
        if pass == 0 {
            let mut found = prepared.wrong(&all);
            found.dedup_by_key(|(way, _)| *way);
            let names: Vec<_> = found.iter().map(|(way, _)| *way).collect();
            if self.is_first() {
                let layout = &mut lock(shared).layouts[number];
                for (way, what) in found {
                    if let Some(way) = layout.ways.iter_mut().find(|known| known.name == way) {
                        way.wrong = Some(what);
                    }
                }
                let costs = NodeCosts::default();
                if let Some(way) = layout.ways.iter_mut().find(|way| way.name == LEAST_COST) {
                    way.cost = Some(prepared.decoded().tree().cost(&costs));
                }
            }
            wrong.insert(number, names);
        }
        let left_out = wrong.get(&number).map(Vec::as_slice).unwrap_or_default();
        all.retain(|contender| !left_out.contains(&contender.way));
        let effort = self.effort(&all, group.ways.len(), |way| creation(group, way, 1).iter().sum());
        let times = self.rounds(&all, &effort);
        let mut creations = vec![[Vec::new(), Vec::new()]; group.ways.len()];
        for _ in 0..effort.rounds {
            for (way, creations) in creations.iter_mut().enumerate().filter(|_| self.is_first()) {
                let batch = effort.batches[all.len() + way] as usize;
                let both = creation(group, way, batch);
                creations.iter_mut().zip(both).for_each(|(all, time)| all.push(time));
            }
        }
        if !self.is_first() {
            return;
        }
        let layout = &mut lock(shared).layouts[number];
        let mut add = |way: &str, operation, times: Vec<f64>| {
            if let Some(way) = layout.ways.iter_mut().find(|known| known.name == way) {
                let times = times.into_iter().map(rounded).collect();
                way.times.entry(operation).or_insert_with(Samples::default).0.push(times);
            }
        };
        for (contender, times) in all.iter().zip(times) {
            add(contender.way, contender.operation, times);
        }
        for (way, [construct, commit]) in group.ways.iter().zip(creations) {
            add(way.name, Operation::Construct, construct);
            add(way.name, Operation::Commit, commit);
        }
    }

    /// Times `MPI_Pack`, and half a ping-pong if `sends`, with several descriptions of each layout, again and
    /// again until the time is up, but `least` times at least. By layout, in the order of its descriptions;
    /// nothing on other ranks than 0. `done` is told after each layout which share of the time is used.
    pub fn time_all(
        &mut self,
        layouts: &[(Vec<Description>, usize, usize)],
        sends: bool,
        (time, least): (Duration, usize),
        done: &mut dyn FnMut(f64),
    ) -> Vec<Vec<Samples>> {
        let start = Instant::now();
        let each = if sends { 2 } else { 1 };
        let none = |(descriptions, ..): &(Vec<_>, _, _)| vec![Samples::default(); each * descriptions.len()];
        let mut times: Vec<Vec<Samples>> = layouts.iter().map(none).collect();
        for pass in 0.. {
            for ((descriptions, size, end), all) in layouts.iter().zip(&mut times) {
                let elapsed = start.elapsed();
                if self.agreed(pass >= least && elapsed >= time) {
                    return times;
                }
                done((elapsed.as_secs_f64() / time.as_secs_f64()).min(1.0));
                let alternatives = Alternatives::new(descriptions, (*size, *end), &mut self.random);
                let contenders = alternatives.contenders(self.world, sends);
                let effort = self.effort(&contenders, 0, |_| 0.0);
                let found = self.rounds(&contenders, &effort);
                all.iter_mut().zip(found).for_each(|(all, found)| all.0.push(found));
            }
        }
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
        self.world.process_at_rank(0).broadcast_into(&mut batches[..]);
        Effort { batches, rounds: self.agreed(rounds) }
    }
}

/// Four digits are enough, and keep the file small.
fn rounded(time: f64) -> f64 {
    let scale = 10f64.powi(3 - time.abs().max(1e-6).log10().floor() as i32);
    (time * scale).round() / scale
}

/// Groups before they are measured; of those that differ in size, the first one is drawn.
fn described(groups: &[Group]) -> Vec<Layout> {
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
    /// generated layouts. The result is for rank 0. `done` is told which share of the time is used.
    pub fn calibrate(&mut self, time: Duration, done: &mut dyn FnMut(f64)) -> Calibration {
        let trees = calibrate::trees();
        let layouts: Vec<_> =
            trees.iter().map(|tree| laid_out(&tree.tree, vec![lowered(&tree.tree)])).collect();
        let half = time / 2;
        let times = self.time_all(&layouts, true, (half, 3), &mut |share| done(share / 2.0));
        let times: Vec<_> = times.iter().map(|times| [times[0].quiet(), times[1].quiet()]).collect();
        let mut calibration = Calibration::of(&trees, &times);
        // All ranks build what rank 0 has found.
        for model in &mut calibration.models {
            self.world.process_at_rank(0).broadcast_into(&mut model.pack.each[..]);
        }
        let compared = [0, 1].map(|which| {
            let compared = self.compare(&calibration, SEEDS[which], half / 2, &mut |share| {
                done(0.5 + 0.25 * (which as f64 + share));
            });
            if which == 0 {
                calibration.choose(&compared);
            }
            compared
        });
        let [_, unseen] = compared;
        calibration.compared = unseen;
        calibration
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
            laid_out(tree, std::iter::once(described).chain(solved).collect())
        };
        let layouts: Vec<_> = generated.iter().map(|tree| of(&tree.tree)).collect();
        let time = time.saturating_sub(start.elapsed());
        let times = self.time_all(&layouts, false, (time, 3), done);
        let compared = |(tree, times): (&calibrate::Tree, &Vec<Samples>)| Compared {
            name: tree.name.clone(),
            described: times[0].median(),
            factors: times[1..].iter().filter_map(|other| ratio(other, &times[0])).collect(),
        };
        generated.iter().zip(&times).map(compared).collect()
    }
}

/// Descriptions of a tree, its packed bytes, and the bytes it lies in.
fn laid_out(tree: &TypeTree, descriptions: Vec<Description>) -> (Vec<Description>, usize, usize) {
    let measure = tree.measure().expect("a small tree");
    (descriptions, measure.size as usize, measure.upper_bound as usize)
}

/// A tree as our own calls.
fn lowered(tree: &TypeTree) -> Description {
    Description::of_program(&Program::lower(tree, None).expect("a small tree"))
}
