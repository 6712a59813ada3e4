//! `cargo xtask bench reconstruct`: our reconstruction and normalization against the published algorithms.

use clap::Parser;
use dtype_benches::{
    cases,
    measure::{Contender, Effort, Options, print, row},
    peers::{heuristics, thesis, traff},
};
use dtype_core::{
    BaseType, CostModel, Limits, NodeCosts, Shape, TypeMap, TypeTree, normalize, reconstruct_within,
};

const BENCH: &str = "reconstruct";

/// Times least-cost reconstruction against its peers, in one run.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

struct Bench {
    options: Options,
    costs: NodeCosts,
}

fn main() {
    let bench = Bench { options: Arguments::parse().options, costs: NodeCosts::default() };
    bench.trees();
    bench.paths();
    bench.normalization();
    bench.runs();
}

impl Bench {
    fn measure(&self, case: String, contenders: Vec<Contender<'_>>) {
        let effort = if self.options.quick { Effort::new(3, 50) } else { Effort::new(5, 500) };
        print(&row(BENCH, case, contenders, &effort), &self.options);
    }

    fn ours(&self, map: &TypeMap, shape: Shape) -> Option<u64> {
        reconstruct_within(map, shape, &self.costs, &Limits::NONE).ok().map(|solution| solution.cost)
    }

    fn trees(&self) {
        let sizes: &[usize] = if self.options.quick { &[150, 1000] } else { &[150, 600, 1000, 4000, 10_000] };
        for &n in sizes {
            for name in cases::NAMES {
                let map = cases::map(name, n);
                let mut contenders = vec![
                    Contender { once: n > 1000, ..Contender::new("ours", || self.ours(&map, Shape::Tree)) },
                    Contender::new("heuristics", || Some(heuristics::promote(&map).cost(&self.costs))),
                ];
                if n <= 600 {
                    let thesis = Contender::new("thesis-tree", || Some(thesis::tree(&map, &self.costs)));
                    contenders.push(Contender { once: n > 150, ..thesis });
                }
                self.measure(format!("tree/{name}/{n}"), contenders);
            }
        }
    }

    fn paths(&self) {
        // 720,720 has 240 divisors, 720,719 two.
        let sizes: &[usize] = if self.options.quick { &[720_720] } else { &[720_720, 720_719, 10_000_000] };
        for &n in sizes {
            for name in cases::NAMES {
                let map = cases::map(name, n);
                let Ok(base) = map.single_type() else { continue };
                let (displacements, leaf) = (map.displacements(), self.costs.leaf(base));
                let mut contenders = vec![
                    Contender::new("ours", || self.ours(&map, Shape::Path)),
                    Contender::new("read-once", || {
                        let differences = displacements.windows(2).map(|pair| pair[1] - pair[0]);
                        std::hint::black_box(differences.fold(0i64, |sum, d| sum ^ d));
                        None
                    }),
                    // The tree of an irregular map lists all displacements, so every algorithm has to write
                    // that list.
                    Contender::new("read-and-list", || {
                        let differences = displacements.windows(2).map(|pair| pair[1] - pair[0]);
                        std::hint::black_box(differences.collect::<Vec<_>>());
                        None
                    }),
                    Contender::new("extended-path", || self.ours(&map, Shape::ExtendedPath)),
                ];
                if n < 10_000_000 {
                    let traff = || Some(traff::path(displacements, leaf, &self.costs));
                    contenders
                        .push(Contender { once: self.options.quick, ..Contender::new("traff-2014", traff) });
                    let thesis = || Some(thesis::path(displacements, leaf, &self.costs));
                    contenders.push(Contender { once: true, ..Contender::new("thesis-path", thesis) });
                }
                self.measure(format!("path/{name}/{n}"), contenders);
            }
        }
    }

    fn normalization(&self) {
        let leaf = TypeTree::Leaf(BaseType::F64);
        let large = TypeTree::vector(1_000_000_000, 8, leaf.clone());
        let nested = (0..20).fold(leaf.clone(), |tree, i| TypeTree::vector(2, (8 << i) + 3 * i, tree));
        let regular = TypeTree::index((0..1_000_000).map(|i| 16 * i).collect::<Vec<_>>(), leaf);
        for (name, tree) in [("vec-1e9", large), ("nested-20", nested), ("idx-1e6-regular", regular)] {
            let ours = || normalize(&tree, &self.costs).ok().map(|solution| solution.cost);
            self.measure(format!("normalize/{name}"), vec![Contender::new("ours", ours)]);
        }
    }

    /// Measures the normalization of layouts of thousands of runs of various lengths.
    fn runs(&self) {
        let n = if self.options.quick { 400 } else { 2000 };
        for name in cases::RUNS {
            let tree = cases::runs(name, n);
            let ours = || normalize(&tree, &self.costs).ok().map(|solution| solution.cost);
            self.measure(format!("normalize/{name}/{n}"), vec![Contender::new("ours", ours)]);
        }
    }
}
