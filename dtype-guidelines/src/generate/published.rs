//! Layouts of published applications in usual sizes, as DDTBench collects them (Schneider, Gerstenberger and
//! Hoefler, "Micro-applications for communication data access patterns and MPI datatypes", 2012).

use dtype_core::{BaseType, TypeTree};

use super::drawn::{Random, Sample, repeated};

pub fn samples() -> Vec<Sample> {
    let mut all = Vec::new();
    for n in [34, 130, 258] {
        let inside = (n, 1, n - 2);
        let face = |name: &str, part: [(u64, u64, u64); 3]| once(name, part_of(&part, 8, F64));
        all.push(face("nas-mg-x", [inside, inside, (n, 1, 1)]));
        all.push(face("nas-mg-y", [inside, (n, 1, 1), inside]));
        all.push(face("nas-mg-z", [(n, 1, 1), inside, inside]));
    }
    for n in [12, 33, 102] {
        // Two layers of cells, five numbers each.
        let cells = || (n + 4, 2, n);
        let five = || TypeTree::vector(5, 8, TypeTree::Leaf(F64));
        let (x, y) = ([cells(), cells(), (n + 4, 2, 2)], [cells(), (n + 4, 2, 2), cells()]);
        all.push(once("nas-lu-x", part(&x, 40, five())));
        all.push(once("nas-lu-y", part(&y, 40, five())));
    }
    for n in [16, 64] {
        let (rim, height) = (n + 8, 28);
        let (whole, strip, levels) = ((rim, 4, n), (rim, 4, 3), (height, 0, height));
        all.push(once("wrf-x", weather(&[(4, 0, 4), whole, levels, strip])));
        all.push(once("wrf-y", weather(&[(4, 0, 4), strip, levels, whole])));
    }
    for n in [8, 16] {
        // Half of the sites of a hyperplane, three complex numbers each.
        let sites = TypeTree::vector(n * n / 2 * 6, 4, TypeTree::Leaf(F32));
        let plane = (n * n * n / 2 * 24) as i64;
        let slices = TypeTree::vector(n, plane, sites);
        all.push(once("milc-zdown", TypeTree::vector(2, plane * n as i64, slices)));
    }
    for n in [64, 512] {
        // A block of columns of a matrix of complex numbers, which becomes rows on other ranks.
        let column = TypeTree::vector(n, n as i64 * 16, TypeTree::Leaf(BaseType::C64));
        all.push(once("fft-columns", TypeTree::vector(n / 4, 16, column)));
    }
    let mut random = Random::new(7);
    for atoms in [100, 3000, 60_000] {
        let chosen = chosen(&mut random, atoms, 3);
        let own = |bytes: u64, base: BaseType| {
            let block = repeated(bytes / base.size(), base.size() as i64, TypeTree::Leaf(base));
            TypeTree::index(chosen.iter().map(|at| at * bytes as i64).collect::<Vec<_>>(), block)
        };
        let last = *chosen.last().expect("atoms") + 1;
        let arrays = |fields: &[(u64, BaseType)]| {
            let (mut displacements, mut at) = (Vec::new(), 0);
            for (bytes, _) in fields {
                displacements.push(at);
                at += last * *bytes as i64 + 64;
            }
            let fields: Vec<_> = fields.iter().map(|(bytes, base)| own(*bytes, *base)).collect();
            TypeTree::structure(displacements, fields)
        };
        let atomic = [(24, F64), (4, BaseType::I32), (4, BaseType::I32), (4, BaseType::I32)];
        all.push(once("lammps-atomic", arrays(&atomic)));
        all.push(once("lammps-full", arrays(&[&atomic[..], &[(4, BaseType::I32), (8, F64)]].concat())));
        if atoms == 3000 {
            // One array of structs, with these atoms.
            let three = TypeTree::vector(3, 8, TypeTree::Leaf(F64));
            let numbers = TypeTree::vector(3, 4, TypeTree::Leaf(BaseType::I32));
            let atom = TypeTree::structure([0, 24], [three, numbers]);
            let places: Vec<_> = chosen.iter().map(|at| at * 40).collect();
            all.push(once("lammps-structs", TypeTree::index(places, atom)));
        }
    }
    for points in [500, 20_000, 400_000] {
        let chosen = chosen(&mut random, points, 6);
        let list = |bytes: i64| chosen.iter().map(|at| at * bytes).collect::<Vec<_>>();
        let three = TypeTree::vector(3, 4, TypeTree::Leaf(F32));
        all.push(once("specfem-outer-core", TypeTree::index(list(4), TypeTree::Leaf(F32))));
        all.push(once("specfem-mantle", TypeTree::index(list(12), three)));
        let rows = (points as f64).sqrt() as u64;
        let turned = TypeTree::vector(rows, rows as i64 * 4, TypeTree::vector(1, 4, TypeTree::Leaf(F32)));
        all.push(once("specfem-transposed", TypeTree::vector(rows, 4, turned)));
    }
    all
}

const F32: BaseType = BaseType::F32;
const F64: BaseType = BaseType::F64;

fn once(name: &str, tree: TypeTree) -> Sample {
    let size = tree.measure().expect("a tree of an application").size;
    let extent = tree.measure().expect("a tree of an application").extent();
    Sample { name: format!("{name}/{size}"), tree, extent, count: 1 }
}

/// Returns a part of an array of numbers. Each dimension has its length, the start of the part and the length
/// of the part. `size` is the size of a number in bytes.
fn part_of(dimensions: &[(u64, u64, u64)], size: u64, base: BaseType) -> TypeTree {
    part(dimensions, size, TypeTree::Leaf(base))
}

/// Returns a part of an array of elements of `size` bytes. The dimensions are as for [`part_of`].
fn part(dimensions: &[(u64, u64, u64)], size: u64, element: TypeTree) -> TypeTree {
    let (mut tree, mut stride, mut start) = (element, size, 0);
    for (length, begin, count) in dimensions.iter().rev() {
        tree = TypeTree::vector(*count, stride as i64, tree);
        start += stride * begin;
        stride *= length;
    }
    TypeTree::structure([start as i64], [tree])
}

/// Returns the parts of four surfaces, three fields and two tracers of a weather model. The arrays are
/// separate, and their last dimensions are equal.
fn weather(dimensions: &[(u64, u64, u64); 4]) -> TypeTree {
    let [tracers, y, z, x] = *dimensions;
    let (mut displacements, mut children, mut at) = (Vec::new(), Vec::new(), 0);
    let kinds: [(usize, Vec<_>); 3] = [(4, vec![y, x]), (3, vec![y, z, x]), (2, vec![tracers, y, z, x])];
    for (count, dimensions) in kinds {
        for _ in 0..count {
            displacements.push(at);
            children.push(part_of(&dimensions, 4, F32));
            at += dimensions.iter().map(|(length, ..)| *length as i64).product::<i64>() * 4 + 64;
        }
    }
    TypeTree::structure(displacements, children)
}

/// Returns `count` ascending indices, which are `distance` apart on average.
fn chosen(random: &mut Random, count: u64, distance: u64) -> Vec<i64> {
    let mut at = 0;
    let mut next = || {
        at += 1 + random.below(2 * distance - 1) as i64;
        at
    };
    (0..count).map(|_| next()).collect()
}
