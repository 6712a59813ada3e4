//! Cost models of an MPI library: their constants, fitted to the times of a designed set of trees, and how
//! well they predict other trees.

use dtype_core::{BaseType, NodeCosts, TypeTree, Weighting};
use serde::{Deserialize, Serialize};

use crate::{
    generate::{Random, samples},
    judgement::Judgement,
    statistics::{Estimate, rank_correlation},
};

/// The number of terms of a time: those of the call and its data, then the constants of [`NodeCosts`] for
/// nodes and lists.
const TERMS: usize = 10;

/// The number of terms of the call and its data: the call itself, bytes, blocks and changes of base type.
const DATA: usize = 4;

/// The names of the constants.
pub const NAMES: [&str; TERMS] =
    ["call", "byte", "block", "change", "leaf", "vec", "idx", "strc", "idxbuc", "lookup"];

/// The number of units of a cost file in a microsecond: one unit is 0.01 ns.
pub const UNITS: f64 = 1e5;

/// A kind of cost model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// A price for each kind of node, paid each time that the node is processed.
    Processing,
    /// A price for each kind of node, paid once.
    Storage,
    /// One price for a word of the description. The thesis says how many words a node has.
    Words,
}

impl Model {
    /// All models.
    pub const ALL: [Self; 3] = [Self::Processing, Self::Storage, Self::Words];

    /// Returns the name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::Processing => "processing",
            Self::Storage => "storage",
            Self::Words => "words",
        }
    }

    /// Returns the way that nodes are counted.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Processing => "as often as they are run",
            Self::Storage => "once",
            Self::Words => "by one price for their words",
        }
    }

    fn weighting(self) -> Weighting {
        if self == Self::Processing { Weighting::Processing } else { Weighting::Storage }
    }

    /// Returns the terms of the nodes. Each one is a cost model that counts the nodes of one kind, or the
    /// words of the thesis.
    fn nodes(self) -> Vec<NodeCosts> {
        let none = NodeCosts {
            leaf: 0,
            vec: 0,
            idx: 0,
            strc: 0,
            idxbuc: 0,
            lookup: 0,
            block: 0,
            change: 0,
            byte: 0,
            weighting: self.weighting(),
        };
        match self {
            Self::Words => vec![NodeCosts::THESIS],
            Self::Processing | Self::Storage => vec![
                NodeCosts { leaf: 1, ..none },
                NodeCosts { vec: 1, ..none },
                NodeCosts { idx: 1, ..none },
                NodeCosts { strc: 1, ..none },
                NodeCosts { idxbuc: 1, ..none },
                NodeCosts { lookup: 1, ..none },
            ],
        }
    }

    /// Returns the terms of a tree that are multiplied by the fitted prices.
    fn terms(self, tree: &TypeTree) -> Vec<f64> {
        let data = |costs: NodeCosts| (costs.time(tree) - tree.cost(&costs)) as f64;
        let none = NodeCosts::THESIS;
        let of_data =
            [NodeCosts { byte: 1, ..none }, NodeCosts { block: 1, ..none }, NodeCosts { change: 1, ..none }];
        let mut terms = vec![1.0];
        terms.extend(of_data.map(data));
        terms.extend(self.nodes().iter().map(|costs| tree.cost(costs) as f64));
        terms
    }
}

/// Returns the non-negative factors of the columns of some rows whose sums are nearest to the wanted values,
/// by least squares.
///
/// The method is coordinate descent: the sum of squares is convex, and each factor by itself has a best
/// value.
pub fn least_squares(rows: &[Vec<f64>], wanted: &[f64]) -> Vec<f64> {
    const SWEEPS: usize = 20_000;
    let count = rows.first().map_or(0, Vec::len);
    let product = |i: usize, j: usize| rows.iter().map(|row| row[i] * row[j]).sum();
    let products: Vec<Vec<f64>> = (0..count).map(|i| (0..count).map(|j| product(i, j)).collect()).collect();
    let sum = |i: usize| rows.iter().zip(wanted).map(|(row, wanted)| row[i] * wanted).sum();
    let sums: Vec<f64> = (0..count).map(sum).collect();
    let mut fitted = vec![0.0; count];
    for _ in 0..SWEEPS {
        for i in 0..count {
            let others: f64 = (0..count).filter(|j| *j != i).map(|j| products[i][j] * fitted[j]).sum();
            if products[i][i] > 0.0 {
                fitted[i] = ((sums[i] - others) / products[i][i]).max(0.0);
            }
        }
    }
    fitted
}

/// Fitted prices, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// The prices in the order of [`NAMES`].
    pub each: [f64; TERMS],
    /// The model, which says how often a node counts.
    pub model: Model,
}

impl Prices {
    /// Fits non-negative prices to measured times, by least squares of the relative errors.
    pub fn fit<'a>(trees: impl Iterator<Item = (&'a TypeTree, f64)>, model: Model) -> Self {
        // Each row is divided by its time, so that all trees have the same weight.
        let row =
            |(tree, time): (&TypeTree, f64)| model.terms(tree).into_iter().map(|term| term / time).collect();
        let rows: Vec<Vec<f64>> = trees.map(row).collect();
        let fitted = least_squares(&rows, &vec![1.0; rows.len()]);
        let mut each = [0.0; TERMS];
        each.iter_mut().zip(&fitted).take(DATA).for_each(|(each, fitted)| *each = *fitted);
        for (NodeCosts { leaf, vec, idx, strc, idxbuc, lookup, .. }, price) in
            model.nodes().iter().zip(fitted.iter().skip(DATA))
        {
            let has = [leaf, vec, idx, strc, idxbuc, lookup];
            each[DATA..].iter_mut().zip(has).for_each(|(each, has)| *each += *has as f64 * price);
        }
        Self { each, model }
    }

    /// Returns the predicted time of a tree, in microseconds.
    pub fn predict(&self, tree: &TypeTree) -> f64 {
        self.each[0] + self.costs().time(tree) as f64 / UNITS
    }

    /// Returns the prices in the units of a cost file. Nodes and their lists cost at least a unit: if they
    /// were free, each tree would have the least cost.
    pub fn costs(&self) -> NodeCosts {
        let [_, byte, block, change, nodes @ ..] = self.each.map(|price| (price * UNITS).round() as u64);
        let [leaf, vec, idx, strc, idxbuc, lookup] = nodes.map(|price| price.max(1));
        NodeCosts {
            leaf,
            vec,
            idx,
            strc,
            idxbuc,
            lookup,
            block,
            change,
            byte,
            weighting: self.model.weighting(),
        }
    }
}

/// A model with its prices and its accuracy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    /// The prices of packing.
    pub pack: Prices,
    /// The prices of half a ping-pong.
    pub ping_pong: Prices,
    /// The rank correlation of prediction and time for packing, on layouts that were held back.
    pub of_pack: f64,
    /// The rank correlation of prediction and time for half a ping-pong, on layouts that were held back.
    pub of_ping_pong: f64,
}

/// A tree of the calibration, with its times in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// The name.
    pub name: String,
    /// `true` if the tree was held back from the fit.
    pub held_back: bool,
    /// The packed size in bytes.
    pub bytes: u64,
    /// The time of `MPI_Pack`.
    pub pack: f64,
    /// The time of half a ping-pong.
    pub ping_pong: f64,
    /// The predicted times of packing, in the order of [`Model::ALL`].
    pub predicted: Vec<f64>,
}

/// The times of a generated layout, packed as it was described and as the least-cost trees of the models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The name.
    pub name: String,
    /// The time of the layout as it was described, in microseconds.
    pub described: f64,
    /// The time of each model's least-cost tree relative to `described`, in the order of [`Model::ALL`].
    pub factors: Vec<Estimate>,
}

/// The result of a calibration.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Calibration {
    /// The models in the order of [`Model::ALL`].
    pub models: Vec<Fitted>,
    /// The index of the model for the cost file, [chosen](Self::choose) on other layouts than those of
    /// `compared`.
    pub chosen: usize,
    /// The rank correlations of the default model, for packing and for half a ping-pong.
    pub default: [f64; 2],
    /// All trees, with their times.
    pub trees: Vec<Timed>,
    /// The layouts on which the models are compared. None of them was used to fit or to choose a model.
    pub compared: Vec<Compared>,
}

/// A layout that is timed.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The name.
    pub name: String,
    /// The type tree of one copy.
    pub tree: TypeTree,
    /// `true` if the tree is held back from the fit.
    pub held_back: bool,
}

impl Tree {
    fn new(name: impl Into<String>, tree: TypeTree) -> Self {
        Self { name: name.into(), tree, held_back: false }
    }
}

/// The number of generated layouts that are held back from the fit.
const HELD_BACK: usize = 80;

/// Returns the trees of the calibration. The designed set has each kind of node alone and over other nodes in
/// many sizes. Generated layouts follow, which are held back.
pub fn trees() -> Vec<Tree> {
    let mut all = designed();
    let drawn = samples(HELD_BACK as u64, 64, 1 << 18).filter(|sample| is_small(&sample.tree));
    all.extend(drawn.take(HELD_BACK).map(|sample| Tree {
        name: sample.name.clone(),
        tree: sample.tree,
        held_back: true,
    }));
    all
}

/// The number of generated layouts that are compared.
const COMPARED: usize = 200;

/// Returns generated layouts on which the models are compared. Another seed generates other layouts.
pub fn generated(seed: u64) -> Vec<Tree> {
    let drawn = samples(seed, 64, 1 << 17).filter(|sample| is_small(&sample.tree));
    drawn.take(COMPARED).map(|sample| Tree::new(sample.name.clone(), sample.tree)).collect()
}

/// Returns `true` if a layout begins at displacement 0 or above and ends within 2 MiB, which fits in a cache.
fn is_small(tree: &TypeTree) -> bool {
    tree.measure().is_ok_and(|measure| measure.lower_bound >= 0 && measure.upper_bound <= 2 << 20)
}

fn designed() -> Vec<Tree> {
    let mut all = Vec::new();
    let mut random = Random::new(3);
    let leaf = TypeTree::Leaf;
    let mut add = |name: String, tree: TypeTree| all.push(Tree::new(name, tree));
    let number = BaseType::F64;
    for base in [BaseType::U8, BaseType::I32, number, BaseType::C64] {
        let size = base.size() as i64;
        for count in [16, 256, 4096] {
            add(format!("{count} {base}"), TypeTree::vector(count, size, leaf(base)));
            add(format!("{count} {base}, stride 3"), TypeTree::vector(count, 3 * size, leaf(base)));
        }
    }
    let block = |count: u64| if count == 1 { leaf(number) } else { TypeTree::vector(count, 8, leaf(number)) };
    let strided = |count: u64| TypeTree::vector(count, 24, leaf(number));
    let mut places = |count: u64, span: i64| {
        let mut at = -span;
        let step = |_| {
            at += span + 8 * (1 + random.below(8) as i64);
            at
        };
        let places: Vec<i64> = (0..count).map(step).collect();
        let first = places[0];
        places.into_iter().map(|at| at - first).collect::<Vec<_>>()
    };
    for count in [4, 32, 256, 2048] {
        for length in [1, 2, 8, 64] {
            let span = 8 * length as i64;
            if count * length > 32_768 {
                continue;
            }
            if length > 1 {
                let stride = span + 24;
                add(format!("{count} × block {length}"), TypeTree::vector(count, stride, block(length)));
                let stride = 3 * span + 40;
                add(format!("{count} × strided {length}"), TypeTree::vector(count, stride, strided(length)));
            }
            let list = places(count, span);
            add(format!("{count} at × block {length}"), TypeTree::index(list, block(length)));
            if length > 1 {
                let list = places(count, 3 * span);
                add(format!("{count} at × strided {length}"), TypeTree::index(list, strided(length)));
            }
        }
        let lengths: Vec<u64> = (0..count).map(|i| 1 + (i * 7 + i / 3) % 9).collect();
        let list = places(count, 80);
        add(format!("{count} buckets"), TypeTree::index_bucket(8, lengths, list, leaf(number)));
        let fields = [BaseType::U8, BaseType::F64, BaseType::I16, BaseType::F32].map(leaf);
        let record = TypeTree::structure([0, 8, 16, 20], fields);
        add(format!("{count} records"), TypeTree::vector(count, 24, record.clone()));
        add(format!("{count} at × records"), TypeTree::index(places(count, 24), record));
        for length in [4, 16] {
            let inner = TypeTree::index(places(length, 8), leaf(number));
            let span = inner.measure().map_or(8, |measure| measure.upper_bound);
            add(format!("{count} × list {length}"), TypeTree::vector(count, span + 16, inner.clone()));
            add(format!("{count} at × list {length}"), TypeTree::index(places(count, span), inner));
            let two = TypeTree::vector(length, 3 * 64 + 8, TypeTree::vector(4, 48, block(2)));
            let stride = 200 * length as i64 + 64;
            add(format!("{count} × {length} × 4 × block 2"), TypeTree::vector(count, stride, two));
        }
    }
    for parts in [2_i64, 8, 32] {
        let child = |i: i64| if i % 2 == 0 { strided(16) } else { block(16) };
        let (places, children): (Vec<_>, Vec<_>) = (0..parts).map(|i| (i * 512, child(i))).unzip();
        let several = TypeTree::structure(places, children);
        add(format!("{parts} parts"), several.clone());
        add(format!("16 × {parts} parts"), TypeTree::vector(16, parts * 512 + 64, several));
    }
    all.retain(|tree| is_small(&tree.tree));
    all
}

impl Calibration {
    /// Fits all models to the times of [`trees`]. The times of a tree are those of `MPI_Pack` and of half a
    /// ping-pong, in microseconds.
    pub fn of(trees: &[Tree], times: &[[f64; 2]]) -> Self {
        let part =
            |held_back: bool| trees.iter().zip(times).filter(move |(tree, _)| tree.held_back == held_back);
        let fit = |which: usize, model| {
            Prices::fit(part(false).map(|(tree, times)| (&tree.tree, times[which])), model)
        };
        let correlation = |which: usize, predict: &dyn Fn(&TypeTree) -> f64| {
            let pairs = part(true).map(|(tree, times)| (predict(&tree.tree), times[which]));
            rank_correlation(&pairs.collect::<Vec<_>>())
        };
        let models: Vec<Fitted> = Model::ALL
            .into_iter()
            .map(|model| {
                let (pack, ping_pong) = (fit(0, model), fit(1, model));
                Fitted {
                    pack,
                    ping_pong,
                    of_pack: correlation(0, &|tree| pack.predict(tree)),
                    of_ping_pong: correlation(1, &|tree| ping_pong.predict(tree)),
                }
            })
            .collect();
        let timed = |(tree, times): (&Tree, &[f64; 2])| Timed {
            name: tree.name.clone(),
            held_back: tree.held_back,
            bytes: tree.tree.measure().map_or(0, |measure| measure.size),
            pack: times[0],
            ping_pong: times[1],
            predicted: models.iter().map(|model| model.pack.predict(&tree.tree)).collect(),
        };
        Self {
            chosen: 0,
            default: [0, 1].map(|which| correlation(which, &|tree| tree.cost(&NodeCosts::THESIS) as f64)),
            trees: trees.iter().zip(times).map(timed).collect(),
            compared: Vec::new(),
            models,
        }
    }

    /// Returns `true` if there are prices and predictions of all models.
    pub fn is_whole(&self) -> bool {
        let all = Model::ALL.len();
        let is_of_all = |tree: &Timed| tree.predicted.len() == all;
        self.models.len() == all && self.chosen < all && self.trees.iter().all(is_of_all)
    }

    /// Returns the model that is written into the cost file.
    pub fn best(&self) -> &Fitted {
        &self.models[self.chosen]
    }

    /// Returns the number of layouts whose least-cost tree under a model is slower than the description, and
    /// the number of those where it is faster, both beyond noise.
    pub fn slower_and_faster(compared: &[Compared], model: usize) -> [usize; 2] {
        let factors = compared.iter().filter_map(|of| Some((of.described, *of.factors.get(model)?)));
        let is_slower = |(time, factor): &(f64, Estimate)| {
            Judgement::of(*factor, time * factor.value, *time) == Judgement::Violated
        };
        let is_faster = |(time, factor): &(f64, Estimate)| {
            Judgement::of(factor.inverse(), *time, time * factor.value) == Judgement::Violated
        };
        [factors.clone().filter(is_slower).count(), factors.filter(is_faster).count()]
    }

    /// Chooses a model. Models that predict well come first, then those with the fewest slower trees, then
    /// those with the best prediction.
    pub fn choose(&mut self, compared: &[Compared]) {
        const WELL: f64 = 0.9;
        let rank = |model: &usize| {
            let [slower, _] = Self::slower_and_faster(compared, *model);
            let of_pack = self.models[*model].of_pack;
            (of_pack < WELL, slower, (-1e6 * of_pack) as i64)
        };
        self.chosen = (0..self.models.len()).min_by_key(rank).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_found_again_in_times_that_were_made_of_them() {
        let each = [0.05, 5e-5, 2e-3, 4e-3, 1e-5, 1e-2, 5e-3, 8e-3, 4e-3, 1e-3];
        let made = Prices { each, model: Model::Processing };
        let trees = trees();
        let times: Vec<_> = trees.iter().map(|tree| [made.predict(&tree.tree), 1.0]).collect();
        let found = Calibration::of(&trees, &times);
        let Fitted { pack, of_pack, .. } = &found.models[0];
        for ((name, made), found) in NAMES.iter().zip(each).zip(pack.each) {
            assert!((found - made).abs() <= 0.05 * made.max(1e-4), "{name}: {found} for {made}");
        }
        assert!(*of_pack > 0.999, "{of_pack}");
        assert!(found.default[0] < 0.9, "{:?}", found.default);
        assert_eq!(pack.costs().block, 200);
    }

    #[test]
    fn a_node_is_never_free() {
        for model in Model::ALL {
            let NodeCosts { leaf, vec, idx, strc, idxbuc, lookup, .. } =
                Prices { each: [0.0; TERMS], model }.costs();
            assert_eq!([leaf, vec, idx, strc, idxbuc, lookup], [1; 6]);
        }
    }

    #[test]
    fn a_model_is_chosen_that_predicts_well_and_whose_trees_are_never_slower() {
        let trees = trees();
        let mut calibration = Calibration::of(&trees, &vec![[1.0, 1.0]; trees.len()]);
        let exactly = |value| Estimate { value, low: value, high: value };
        let factors = [1.5, 0.6, 1.0].map(exactly).to_vec();
        let compared = [Compared { name: String::new(), described: 1.0, factors }];
        assert_eq!(
            [0, 1, 2].map(|model| Calibration::slower_and_faster(&compared, model)),
            [[1, 0], [0, 1], [0, 0]]
        );
        for (of_pack, chosen) in [([0.99, 0.95, 0.92], 1), ([0.99, 0.8, 0.92], 2), ([0.8, 0.8, 0.85], 2)] {
            calibration.models.iter_mut().zip(of_pack).for_each(|(model, of_pack)| model.of_pack = of_pack);
            calibration.choose(&compared);
            assert_eq!(calibration.chosen, chosen, "{of_pack:?}");
        }
    }
}
