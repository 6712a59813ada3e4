//! Shared code of the integration tests: the exhaustive search, the interpreter of constructor programs, and
//! the generators of random maps and trees.
#![allow(dead_code)] // each test file uses its part

pub mod proposed;

use dtype_core::{BaseType, CostModel, NodeCosts, OldType, Penalty, Price, Program, Step, TypeMap, TypeTree};
use proptest::prelude::*;

/// Returns the least cost over *all* type trees of a small map. Tries every node at every place. Shares
/// nothing with the programs under test: no repeat tables, no pruning, no memory of subproblems.
pub fn exhaustive(types: &[BaseType], displacements: &[i64], costs: &dyn CostModel) -> u64 {
    let (n, first) = (types.len(), displacements[0]);
    let mut best = if n == 1 && first == 0 { costs.leaf(types[0]) } else { u64::MAX };
    for copies in (1..=n).filter(|copies| n.is_multiple_of(*copies)) {
        let q = n / copies;
        let starts: Vec<i64> = displacements.iter().step_by(q).copied().collect();
        let repeats = (0..n).all(|i| {
            types[i] == types[i % q] && displacements[i] - starts[i / q] == displacements[i % q] - first
        });
        if !repeats {
            continue;
        }
        let differences: Vec<i64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        if copies > 1 && differences.iter().all(|d| *d == differences[0]) {
            let child = exhaustive(&types[..q], &displacements[..q], costs);
            best = best.min(costs.vector(copies as u64).of(child));
        }
        if copies > 1 || first != 0 {
            let child = exhaustive(&types[..q], &aligned(&displacements[..q]), costs);
            best = best.min(costs.index(copies as u64).of(child));
            for stride in differences.iter().chain(&[0]) {
                let buckets = 1 + differences.iter().filter(|d| *d != stride).count();
                best = best.min(index_bucket(costs, buckets, copies).of(child));
            }
        }
    }
    let least_part = if first == 0 { n - 1 } else { n };
    for end in 1..=least_part {
        let parts = exhaustive_parts(types, displacements, end, costs);
        best = best.min(costs.structure() + parts);
    }
    best
}

/// Returns the cost of the best sequence of parts whose first part has `end` entries.
fn exhaustive_parts(types: &[BaseType], displacements: &[i64], end: usize, costs: &dyn CostModel) -> u64 {
    let first = costs.part().of(exhaustive(&types[..end], &aligned(&displacements[..end]), costs));
    let (types, displacements) = (&types[end..], &displacements[end..]);
    let rest = (1..=types.len()).map(|next| exhaustive_parts(types, displacements, next, costs));
    first + rest.min().unwrap_or(0)
}

/// Like [`exhaustive`], for type paths: vec and idx, and idxbuc if `buckets` is set.
pub fn exhaustive_path(displacements: &[i64], buckets: bool, costs: &dyn CostModel) -> u64 {
    let (n, first) = (displacements.len(), displacements[0]);
    let mut best = if n == 1 && first == 0 { costs.leaf(BaseType::I32) } else { u64::MAX };
    for copies in (1..=n).filter(|copies| n.is_multiple_of(*copies)) {
        let q = n / copies;
        let starts: Vec<i64> = displacements.iter().step_by(q).copied().collect();
        if (0..n).any(|i| displacements[i] - starts[i / q] != displacements[i % q] - first) {
            continue;
        }
        let differences: Vec<i64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        if copies > 1 && differences.iter().all(|d| *d == differences[0]) {
            let child = exhaustive_path(&displacements[..q], buckets, costs);
            best = best.min(costs.vector(copies as u64).of(child));
        }
        if copies > 1 || first != 0 {
            let child = exhaustive_path(&aligned(&displacements[..q]), buckets, costs);
            best = best.min(costs.index(copies as u64).of(child));
            for stride in differences.iter().chain(&[0]).filter(|_| buckets) {
                let starts = 1 + differences.iter().filter(|d| *d != stride).count();
                best = best.min(index_bucket(costs, starts, copies).of(child));
            }
        }
    }
    best
}

/// Returns all trees of a small map that begins at 0, except trees with nodes that have a single copy. The
/// least-cost DAG folds from one of these trees.
pub fn all_trees(types: &[BaseType], displacements: &[i64]) -> Vec<TypeTree> {
    let n = types.len();
    if n == 1 {
        return vec![TypeTree::Leaf(types[0])];
    }
    let mut found = Vec::new();
    for q in (1..n).filter(|q| n.is_multiple_of(*q)) {
        let starts: Vec<i64> = displacements.iter().step_by(q).copied().collect();
        if (0..n)
            .any(|i| types[i] != types[i % q] || displacements[i] - starts[i / q] != displacements[i % q])
        {
            continue;
        }
        let differences: Vec<i64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for child in all_trees(&types[..q], &displacements[..q]) {
            found.push(TypeTree::index(starts.clone(), child.clone()));
            if differences.iter().all(|d| *d == differences[0]) {
                found.push(TypeTree::vector(starts.len() as u64, differences[0], child.clone()));
            }
            for stride in &differences {
                let begins = |i: &usize| *i == 0 || differences[i - 1] != *stride;
                let firsts: Vec<usize> = (0..starts.len()).filter(begins).collect();
                let ends = firsts.iter().skip(1).copied().chain([starts.len()]);
                let buckets: Vec<u64> = firsts.iter().zip(ends).map(|(a, b)| (b - a) as u64).collect();
                let at: Vec<i64> = firsts.iter().map(|i| starts[*i]).collect();
                found.push(TypeTree::index_bucket(*stride, buckets, at, child.clone()));
            }
        }
    }
    // Try all ways to cut the map into two or more parts, and all trees of each part.
    for cuts in 1..1usize << (n - 1) {
        let ends = (1..=n).filter(|end| *end == n || cuts >> (end - 1) & 1 == 1);
        let mut strcs: Vec<(Vec<i64>, Vec<TypeTree>)> = vec![(Vec::new(), Vec::new())];
        let mut begin = 0;
        for end in ends {
            let parts = all_trees(&types[begin..end], &aligned(&displacements[begin..end]));
            strcs = strcs
                .iter()
                .flat_map(|(at, children)| {
                    parts.iter().map(|part| {
                        let (mut at, mut children) = (at.clone(), children.clone());
                        at.push(displacements[begin]);
                        children.push(part.clone());
                        (at, children)
                    })
                })
                .collect();
            begin = end;
        }
        found.extend(strcs.into_iter().map(|(at, children)| TypeTree::structure(at, children)));
    }
    found
}

fn aligned(displacements: &[i64]) -> Vec<i64> {
    displacements.iter().map(|at| at - displacements[0]).collect()
}

/// The rules for bounds in which libraries differ.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    /// `true` if every constructor rounds upper bounds up to the alignment.
    pub rounds: bool,
    /// `true` if only the resized parts of a datatype count for its bounds, provided that there are any (MPI
    /// 4.1 section 5.1.7). Open MPI has this rule, MPICH does not.
    pub marks: bool,
}

impl Library {
    pub const ALL: [Self; 4] = [
        Self { rounds: false, marks: false },
        Self { rounds: true, marks: false },
        Self { rounds: false, marks: true },
        Self { rounds: true, marks: true },
    ];
}

/// A type map with lower bound and extent; the last field is `true` if these were resized.
type Datatype = (Vec<(BaseType, i64)>, i64, i64, bool);

/// Runs a program as a library does. Returns the type map of its result with lower bound and extent, by the
/// rules of MPI 4.1 section 5.1.
pub fn interpret(program: &Program, library: Library) -> (Vec<(BaseType, i64)>, i64, i64) {
    let mut built: Vec<Datatype> = Vec::new();
    let get = |built: &[Datatype], old: OldType| match old {
        OldType::Base(base) => (vec![(base, 0)], 0, base.size() as i64, false),
        OldType::Step(index) => built[index].clone(),
    };
    for step in &program.steps {
        // Blocks: displacement, length, old type.
        let blocks: Vec<(i64, u64, OldType)> = match step {
            Step::Contiguous { count, oldtype } => vec![(0, *count, *oldtype)],
            Step::Hvector { count, blocklength, stride, oldtype } => {
                (0..*count as i64).map(|i| (i * stride, *blocklength, *oldtype)).collect()
            }
            Step::HindexedBlock { blocklength, displacements, oldtype } => {
                displacements.iter().map(|at| (*at, *blocklength, *oldtype)).collect()
            }
            Step::Hindexed { blocklengths, displacements, oldtype } => {
                blocklengths.iter().zip(displacements.iter()).map(|(l, at)| (*at, *l, *oldtype)).collect()
            }
            Step::Struct { blocklengths, displacements, oldtypes } => {
                (0..displacements.len()).map(|i| (displacements[i], blocklengths[i], oldtypes[i])).collect()
            }
            Step::Resized { lower_bound, extent, oldtype } => {
                let (map, ..) = get(&built, *oldtype);
                built.push((map, *lower_bound, *extent, true));
                continue;
            }
            other => panic!("no program makes {other}"),
        };
        let (mut map, mut bounds, mut marked) = (Vec::new(), Vec::new(), Vec::new());
        for (at, length, old) in blocks {
            let (old_map, old_lower, old_extent, resized) = get(&built, old);
            for i in 0..length as i64 {
                let start = at + i * old_extent;
                map.extend(old_map.iter().map(|(base, d)| (*base, d + start)));
                let span = (start + old_lower, start + old_lower + old_extent);
                bounds.push(span);
                marked.extend(resized.then_some(span));
            }
        }
        let resized = library.marks && !marked.is_empty();
        let counted = if resized { marked } else { bounds };
        let lower = counted.iter().map(|(lower, _)| *lower).min().unwrap_or(0);
        let upper = counted.iter().map(|(_, upper)| *upper).max().unwrap_or(0);
        let mut extent = upper - lower;
        if library.rounds && !resized {
            let alignment = map.iter().map(|(base, _)| base.alignment()).max().unwrap_or(1) as i64;
            extent += (alignment - extent % alignment) % alignment;
        }
        built.push((map, lower, extent, resized));
    }
    let (map, lower_bound, extent, _) = get(&built, program.result);
    (map, lower_bound, extent)
}

/// Generates small maps in which repetitions, runs, overlaps and changes of type are all likely.
pub fn small_map(entries: usize) -> impl Strategy<Value = TypeMap> {
    let base = prop_oneof![4 => Just(BaseType::I32), 1 => Just(BaseType::F64)];
    let step = prop_oneof![4 => Just(4i64), 2 => Just(8), 1 => -8i64..20];
    (1..=entries, prop_oneof![Just(0i64), Just(0), -8i64..8], any::<bool>()).prop_flat_map(
        move |(n, start, mixed)| {
            let base = base.clone();
            let bases = if mixed {
                proptest::collection::vec(base, n).boxed()
            } else {
                Just(vec![BaseType::I32; n]).boxed()
            };
            (bases, proptest::collection::vec(step.clone(), n)).prop_map(move |(types, steps)| {
                let displacements = steps
                    .iter()
                    .scan(start, |at, step| {
                        let here = *at;
                        *at += step;
                        Some(here)
                    })
                    .collect();
                TypeMap::new(types, displacements).expect("a well-formed map")
            })
        },
    )
}

/// Generates trees of all five kinds, up to a few hundred entries, with shifts, overlaps and negative
/// strides.
pub fn small_tree() -> impl Strategy<Value = TypeTree> {
    let leaf = proptest::sample::select(vec![BaseType::U8, BaseType::I16, BaseType::I32, BaseType::F64])
        .prop_map(TypeTree::Leaf);
    let displacement = || prop_oneof![3 => (0i64..16).prop_map(|i| i * 8), 1 => -50i64..50];
    leaf.prop_recursive(4, 24, 4, move |child| {
        let child = child.boxed();
        prop_oneof![
            (0u64..6, displacement(), child.clone())
                .prop_map(|(count, stride, child)| TypeTree::vector(count, stride, child)),
            (proptest::collection::vec(displacement(), 0..5), child.clone())
                .prop_map(|(displacements, child)| TypeTree::index(displacements, child)),
            (displacement(), proptest::collection::vec((0u64..4, displacement()), 0..4), child.clone())
                .prop_map(|(stride, buckets, child)| {
                    let (buckets, displacements): (Vec<_>, Vec<_>) = buckets.into_iter().unzip();
                    TypeTree::index_bucket(stride, buckets, displacements, child)
                }),
            proptest::collection::vec((displacement(), child), 0..4).prop_map(|parts| {
                let (displacements, children): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
                TypeTree::structure(displacements, children)
            }),
        ]
    })
}

fn index_bucket(costs: &dyn CostModel, buckets: usize, copies: usize) -> Price {
    let (base, bucket) = (costs.index_bucket(copies as u64), costs.bucket());
    let buckets = buckets as u64;
    Price { own: base.own + buckets * bucket.own, times: base.times + buckets * bucket.times }
}

/// A model whose prices are neither linear nor monotone in the counts.
struct Crooked;

impl CostModel for Crooked {
    fn leaf(&self, base: BaseType) -> u64 {
        base.size()
    }
    fn vector(&self, count: u64) -> Price {
        Price { own: 9 - count % 3, times: 1 }
    }
    fn index(&self, count: u64) -> Price {
        Price { own: [1, 7, 2, 12, 4][count as usize % 5], times: 1 + count % 2 }
    }
    fn index_bucket(&self, copies: u64) -> Price {
        Price { own: 3 + copies % 4, times: 0 }
    }
    fn bucket(&self) -> Price {
        Price { own: 1, times: 1 }
    }
    fn structure(&self) -> u64 {
        2
    }
    fn part(&self) -> Price {
        Price::plus(1)
    }
}

/// Returns the thesis's model, two with skewed constants that make other nodes attractive, and Träff's.
pub fn node_costs() -> [NodeCosts; 4] {
    let default = NodeCosts::default();
    [
        default,
        NodeCosts { vec: 20, idx: 2, ..default },
        NodeCosts { leaf: 1, vec: 9, idxbuc: 1, strc: 1, lookup: 2, ..default },
        NodeCosts::processing(),
    ]
}

/// Returns the models of the papers, some with skewed constants, and a model that is not linear.
pub fn cost_models() -> [Box<dyn CostModel>; 6] {
    let [a, b, c, d] = node_costs().map(|costs| Box::new(costs) as Box<dyn CostModel>);
    [a, b, c, d, Box::new(Penalty::default()), Box::new(Crooked)]
}

/// A model that is not known to be linear, so every tree search works on single entries.
pub struct ByEntry(pub NodeCosts);

impl CostModel for ByEntry {
    fn leaf(&self, base: BaseType) -> u64 {
        self.0.leaf(base)
    }

    fn vector(&self, count: u64) -> Price {
        self.0.vector(count)
    }

    fn index(&self, count: u64) -> Price {
        self.0.index(count)
    }

    fn index_bucket(&self, copies: u64) -> Price {
        self.0.index_bucket(copies)
    }

    fn bucket(&self) -> Price {
        self.0.bucket()
    }

    fn structure(&self) -> u64 {
        self.0.structure()
    }

    fn part(&self) -> Price {
        self.0.part()
    }
}

/// Generates maps of a few long runs: fields and arrays of structs, some of them cut off at either end.
pub fn long_map() -> impl Strategy<Value = TypeMap> {
    let base = prop_oneof![3 => Just(BaseType::F64), 1 => Just(BaseType::U64), 1 => Just(BaseType::U32)];
    let length = prop_oneof![Just(1u64), Just(2), 1u64..9, 40u64..90, Just(50)];
    let gap = prop_oneof![3 => Just(0i64), 1 => (-1i64..4).prop_map(|gap| 8 * gap)];
    let field = (base, length, gap, prop_oneof![3 => Just(8i64), 1 => Just(16)]);
    let unit = proptest::collection::vec(field, 1..5);
    (unit, 1u64..5, 0usize..60, 0usize..60, prop_oneof![3 => Just(0i64), 1 => Just(16)]).prop_map(
        |(fields, copies, front, back, first)| {
            let mut at = 0;
            let (mut displacements, mut children) = (Vec::new(), Vec::new());
            for (base, length, gap, stride) in fields {
                at += gap;
                displacements.push(at);
                children.push(TypeTree::vector(length, stride, TypeTree::Leaf(base)));
                at += stride * length as i64;
            }
            let unit = TypeTree::vector(copies, at, TypeTree::structure(displacements, children));
            let map = unit.flatten().unwrap();
            let kept =
                front.min(map.len() - 1)..map.len().saturating_sub(back).max(front.min(map.len() - 1) + 1);
            let start = map.displacements()[kept.start] - first;
            let displacements = map.displacements()[kept.clone()].iter().map(|at| at - start).collect();
            TypeMap::new(map.types()[kept].to_vec(), displacements).unwrap()
        },
    )
}

/// Generates maps of up to `most` runs at few distances. Many of their lengths are one number, its multiples,
/// and its successor. Some runs have another stride or base type, and the map may be cut off at either end.
pub fn rows(most: usize) -> impl Strategy<Value = TypeMap> {
    let length = (0usize..4, 1u64..6, 1u64..13);
    let lengths = (1u64..10, proptest::collection::vec(length, 1..5)).prop_map(|(one, others)| {
        let of = |(kind, times, any)| [one, one * times, one + times % 2, any][kind];
        others.into_iter().map(of).collect::<Vec<u64>>()
    });
    let gaps = prop_oneof![
        2 => proptest::collection::vec((1i64..7).prop_map(|gap| 8 * gap), 1..5),
        1 => Just(Vec::new()),
    ];
    let stride = prop_oneof![4 => Just(8i64), 1 => Just(16), 1 => Just(24), 1 => Just(-8), 1 => Just(4)];
    let run = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0usize..8, 0usize..10);
    let runs = proptest::collection::vec(run, 1..most);
    let ends = (0usize..40, 0usize..40, prop_oneof![2 => Just(0i64), 1 => Just(16)]);
    (lengths, gaps, [stride.clone(), stride], runs, ends).prop_map(
        |(lengths, gaps, strides, runs, (front, back, first))| {
            let (mut types, mut displacements, mut at) = (Vec::new(), Vec::new(), 0);
            for (length, gap, odd, other) in runs {
                let (length, stride) = (*length.get(&lengths), strides[usize::from(odd == 0)]);
                let base = if other == 0 { BaseType::I32 } else { BaseType::F64 };
                for i in 0..length as i64 {
                    types.push(base);
                    displacements.push(at + i * stride);
                }
                // If there are no gaps, all runs begin at the same distance.
                at += if gaps.is_empty() { 400 } else { stride * length as i64 + gap.get(&gaps) };
            }
            let front = front.min(types.len() - 1);
            let kept = front..types.len().saturating_sub(back).max(front + 1);
            let start = displacements[kept.start] - first;
            let displacements = displacements[kept.clone()].iter().map(|at| at - start).collect();
            TypeMap::new(types[kept].to_vec(), displacements).unwrap()
        },
    )
}

/// Generates extracts of repetitions of repetitions. They begin at 0 and have up to 700 entries.
pub fn repeating_map() -> impl Strategy<Value = TypeMap> {
    let stride = || (-9i64..40).prop_map(|i| 8 * i);
    let part = || (small_tree(), 1u64..40, stride(), stride());
    let parts = proptest::collection::vec(part(), 1..4);
    (parts, 1u64..8, stride(), 0.0f64..0.4, 0.6f64..1.0).prop_filter_map(
        "",
        |(parts, count, stride, from, to)| {
            let displacements: Vec<_> = parts.iter().map(|(.., at)| *at).collect();
            let children =
                parts.into_iter().map(|(tree, count, stride, _)| TypeTree::vector(count, stride, tree));
            let tree = TypeTree::vector(
                count,
                stride,
                TypeTree::structure(displacements, children.collect::<Vec<_>>()),
            );
            let entries: Vec<_> = tree.flatten().ok()?.entries().take(700).collect();
            let place = |part: f64| (entries.len() as f64 * part) as usize;
            let part = &entries[place(from)..place(to)];
            let first = part.first()?.1;
            Some(
                TypeMap::new(
                    part.iter().map(|(base, _)| *base).collect::<Vec<_>>(),
                    part.iter().map(|(_, at)| at - first).collect::<Vec<_>>(),
                )
                .unwrap(),
            )
        },
    )
}
