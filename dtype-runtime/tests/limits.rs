//! Tests all functions with trees and layouts whose numbers are at the limits of their ranges: nothing
//! overflows or panics, every call returns soon, and the packed bytes are those of the type map.
//!
//! If `DTYPE_LONG` is set, 10⁷ trees are tested. `DTYPE_CASES` sets another number, and `DTYPE_SEED` chooses
//! other trees.
#![cfg(feature = "marshal")]

use std::{env, panic};

use dtype_core::{
    ArrayOrder, BaseType, Bounds, Constructor, Datatype, Distributed, Distribution, Limits, Measure,
    NodeCosts, Program, Shape, Subdimension, TypeMap, TypeTree, normalize_within, reconstruct_within,
    solve_layout,
};
use dtype_runtime::{
    marshal::{marshal, unmarshal},
    pack::{Data, DataMut, Plan, Representation, Transpack},
};

/// A pseudorandom number generator (splitmix64).
struct Random(u64);

impl Random {
    fn of_case(seed: u64, case: u64) -> Self {
        Self(seed.wrapping_mul(0x5851_F42D_4C95_7F2D) ^ (case << 8))
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// Returns a stride or displacement: small, or next to a power of two or an end of the range.
    fn place(&mut self) -> i64 {
        match self.below(8) {
            0..4 => self.below(41) as i64 - 20,
            4 => [i64::MIN, i64::MAX][self.below(2) as usize].wrapping_add(self.below(70) as i64 - 35),
            5 => 8 * (self.below(33) as i64 - 16),
            _ => {
                let near = (1i64 << (29 + self.below(34))).wrapping_add(self.below(5) as i64 - 2);
                if self.one_in(2) { near } else { near.wrapping_neg() }
            }
        }
    }

    /// Returns a count: mostly small, or next to a power of two or the end of the range.
    fn count(&mut self) -> u64 {
        match self.below(8) {
            0..5 => self.below(5),
            5 => self.below(40),
            6 => (1u64 << (29 + self.below(35))).wrapping_add(self.below(5)).wrapping_sub(2),
            _ => u64::MAX - self.below(3),
        }
    }

    /// Returns a few displacements, some of them regular.
    fn places(&mut self) -> Vec<i64> {
        let length = self.below(5) as i64;
        if self.one_in(3) {
            let (first, step) = (self.place(), self.place());
            return (0..length).map(|i| first.wrapping_add(step.wrapping_mul(i))).collect();
        }
        (0..length).map(|_| self.place()).collect()
    }

    fn counts(&mut self, length: usize) -> Vec<u64> {
        (0..length).map(|_| self.count()).collect()
    }

    fn bounds(&mut self) -> Bounds {
        Bounds { lower_bound: self.place(), extent: self.place() }
    }

    fn order(&mut self) -> ArrayOrder {
        if self.one_in(2) { ArrayOrder::RowMajor } else { ArrayOrder::ColumnMajor }
    }

    fn base(&mut self) -> BaseType {
        match self.below(4) {
            0 => BaseType::U8,
            1 => BaseType::F64,
            2 => BaseType::I16,
            _ => BaseType::all().nth(self.below(BaseType::all().count() as u64) as usize).unwrap(),
        }
    }

    /// Returns a tree of at most `levels` levels above the leaves.
    fn tree(&mut self, levels: u64) -> TypeTree {
        let Some(below) = levels.checked_sub(1) else { return TypeTree::Leaf(self.base()) };
        match self.below(10) {
            0 => TypeTree::Leaf(self.base()),
            1..4 => TypeTree::vector(self.count(), self.place(), self.tree(below)),
            4 => TypeTree::index(self.places(), self.tree(below)),
            5 => {
                let (stride, places) = (self.place(), self.places());
                TypeTree::index_bucket(stride, self.counts(places.len()), places, self.tree(below))
            }
            6 | 7 => {
                let places = self.places();
                let children: Vec<_> = places.iter().map(|_| self.tree(below)).collect();
                TypeTree::structure(places, children)
            }
            _ => match self.constructor(below).datatype() {
                Ok(made) => made.tree,
                Err(_) => TypeTree::Leaf(self.base()),
            },
        }
    }

    fn datatype(&mut self, levels: u64) -> Datatype {
        let tree = self.tree(levels);
        match Datatype::of_tree(tree) {
            Ok(natural) if self.one_in(3) => Datatype { bounds: self.bounds(), resized: true, ..natural },
            Ok(natural) => natural,
            Err(_) => Datatype::base(self.base()),
        }
    }

    /// Returns one of MPI's constructors, with arguments.
    fn constructor(&mut self, levels: u64) -> Constructor<Datatype> {
        let oldtype = self.datatype(levels);
        let (count, blocklength, stride) = (self.count(), self.count(), self.place());
        let displacements = self.places();
        let blocklengths = self.counts(displacements.len());
        match self.below(12) {
            0 => Constructor::Dup { oldtype },
            1 => Constructor::Contiguous { count, oldtype },
            2 => Constructor::Vector { count, blocklength, stride, oldtype },
            3 => Constructor::Hvector { count, blocklength, stride, oldtype },
            4 => Constructor::Indexed { blocklengths, displacements, oldtype },
            5 => Constructor::Hindexed { blocklengths, displacements, oldtype },
            6 => Constructor::IndexedBlock { blocklength, displacements, oldtype },
            7 => Constructor::HindexedBlock { blocklength, displacements, oldtype },
            8 => {
                let oldtypes = displacements.iter().map(|_| self.datatype(levels)).collect();
                Constructor::Struct { blocklengths, displacements, oldtypes }
            }
            9 => {
                let dimensions = (0..self.below(4)).map(|_| self.subdimension()).collect();
                Constructor::Subarray { dimensions, order: self.order(), oldtype }
            }
            10 => {
                let dimensions: Vec<_> = (0..self.below(4)).map(|_| self.distributed()).collect();
                let rank = if self.one_in(2) { self.count() } else { 0 };
                Constructor::Darray { rank, dimensions, order: self.order(), oldtype }
            }
            _ => Constructor::Resized { lower_bound: stride, extent: self.place(), oldtype },
        }
    }

    fn subdimension(&mut self) -> Subdimension {
        let size = self.count();
        // Mostly within the array; `start` may exceed it by one.
        let within = |random: &mut Self, limit: u64| random.count() % limit.saturating_add(1).max(1);
        let subsize = within(self, size);
        Subdimension { size, subsize, start: within(self, size - subsize) + u64::from(self.one_in(9)) }
    }

    fn distributed(&mut self) -> Distributed {
        let (size, processes) = (self.count(), self.count());
        let block = self.one_in(2).then(|| self.count() as usize);
        let distribution = match self.below(3) {
            0 => Distribution::None,
            1 => Distribution::Block(block),
            // With a block, the datatype lists all elements, which must fit into memory.
            _ => Distribution::Cyclic(block.filter(|_| size < 1000)),
        };
        Distributed { size, distribution, processes }
    }
}

/// The limits of a search: low, as there are many trees.
const LIMITS: Limits = Limits { exact_entries: 60, kept: 1 << 12 };

/// The largest number of entries of a type map that is listed.
const MOST_ENTRIES: u64 = 60;

/// Calls every function that works on a tree.
fn work_on(tree: &TypeTree, random: &mut Random) {
    let bounds = random.bounds();
    let Ok(measure) = tree.measure() else {
        assert!(Plan::new(tree).is_err() && Program::lower(tree, None).is_err());
        assert!(marshal(tree, bounds).is_err() && tree.runs().is_err() && tree.flatten().is_err());
        assert!(tree.gapless().is_err() && solve_layout(tree, &NodeCosts::THESIS.linear()).is_err());
        assert!(normalize_within(tree, &NodeCosts::THESIS, &LIMITS).is_err());
        return;
    };
    in_core(tree, measure, bounds, random);
    let mut bytes = marshal(tree, bounds).unwrap();
    assert_eq!(unmarshal(&bytes).unwrap(), (tree.clone(), bounds));
    in_the_engine(tree, measure, bounds.extent, random);
    // Bytes from others may be damaged.
    for _ in 0..=random.below(2) {
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] = random.below(256) as u8;
    }
    if let Ok((tree, bounds)) = unmarshal(&bytes) {
        let measure = tree.measure().unwrap();
        in_the_engine(&tree, measure, bounds.extent, random);
    }
}

/// Returns the type map, if it is short.
fn short_map(tree: &TypeTree, measure: Measure) -> Option<TypeMap> {
    (1..=MOST_ENTRIES).contains(&measure.entries).then(|| tree.flatten().unwrap())
}

fn in_core(tree: &TypeTree, measure: Measure, bounds: Bounds, random: &mut Random) {
    let costs = NodeCosts::THESIS;
    let models = [costs, NodeCosts::processing()];
    for costs in models {
        assert!(tree.folded_cost(&costs) > 0 && tree.cost(&costs) > 0);
    }
    assert!(!tree.to_string().is_empty() && measure.extent() >= measure.true_extent());
    match tree.gapless() {
        Ok(gapless) => assert_eq!(gapless.measure().unwrap().size, measure.size),
        // Overlapping copies can have more bytes than fit side by side.
        Err(_) => assert!(measure.size > i64::MAX as u64 - 32),
    }
    let model = models[random.below(2) as usize];
    let normalized = normalize_within(tree, &model, &LIMITS).unwrap();
    let solved = solve_layout(tree, &model.linear()).unwrap();
    for found in [&normalized, &solved] {
        assert_eq!(found.tree.cost(&model), found.cost);
    }
    // The measure of a split tree may be an error: copies of a bucket may be out of range before they are
    // displaced.
    let split = tree.split(2 + random.below(1 << 32)).measure();
    let found = [&normalized, &solved].map(|found| found.tree.measure().unwrap());
    for found in found.into_iter().chain(split) {
        assert_eq!((found.entries, found.size), (measure.entries, measure.size));
        assert_eq!((found.lower_bound, found.upper_bound), (measure.lower_bound, measure.upper_bound));
    }
    for limit in [u64::MAX, i32::MAX as u64, 2 + random.below(1 << 20)] {
        let bounds = random.one_in(2).then_some(bounds);
        let program = Program::lower_within(tree, bounds, limit).unwrap();
        assert!(program.largest_count() <= limit);
        assert_eq!(format!("{program:#}").parse::<Program>().unwrap(), program);
        // Bounds of intermediate datatypes may be out of range.
        if let Ok(made) = program.datatype() {
            let made = made.tree.measure().unwrap();
            assert_eq!((made.entries, made.size), (measure.entries, measure.size));
        }
    }
    if let Some(runs) = tree.few_runs(300) {
        assert!(!runs.to_string().is_empty());
        let entries = runs.as_slice().iter().map(|run| run.count).sum::<u64>();
        assert_eq!(entries, measure.entries);
    }
    if let Some(map) = short_map(tree, measure) {
        assert_eq!(normalized.tree.flatten().unwrap(), map);
        assert_eq!(solved.tree.flatten().unwrap(), map);
        for shape in [Shape::Tree, Shape::Path, Shape::ExtendedPath, Shape::Dag] {
            if let Ok(found) = reconstruct_within(&map, shape, &costs, &LIMITS) {
                assert_eq!(found.tree.flatten().unwrap(), map);
            }
        }
    }
}

/// The bytes of memory on either side of displacement 0.
const ROOM: usize = 1 << 10;

fn in_the_engine(tree: &TypeTree, measure: Measure, extent: i64, random: &mut Random) {
    let plan = Plan::new(tree).unwrap();
    let Ok(packed) = tree.gapless() else { return };
    let packed = Plan::new(&packed).unwrap().resized(measure.size as isize);
    assert_eq!(plan.packed_size() as u64, measure.size);
    assert_eq!(plan.blocks() == 0, measure.size == 0);
    let map = short_map(tree, measure);
    for plan in [&plan, &plan.resized(extent as isize)] {
        for copies in [1, random.below(4) as usize, random.count() as usize] {
            let memory: Vec<u8> = (0..2 * ROOM).map(|i| (i % 251) as u8).collect();
            let Ok(data) = Data::new(plan, copies, &memory, ROOM) else { continue };
            let size = data.packed_size();
            let transpacks = [[plan, &packed], [&packed, plan], [plan, plan]];
            let transpacks = transpacks.map(|[from, to]| Transpack::new(from, copies, to, copies));
            if size > 1 << 12 {
                // Copies at one place can pack to many bytes, so only a part is packed.
                let middle = (random.count() % size as u64) as usize;
                let mut some = vec![0; 100.min(size - middle)];
                data.pack_range(middle..middle + some.len(), &mut some).unwrap();
                continue;
            }
            let [to_packed, from_packed, to_itself] = transpacks.map(Result::unwrap);
            let values = data.pack();
            let bytes = match &map {
                Some(map) => places_of(map, copies, plan.extent()),
                None => places_of_blocks(&data),
            };
            assert_eq!(values, bytes.iter().map(|at| memory[*at]).collect::<Vec<_>>());
            in_parts(&data, &values, random);
            let mut between = vec![0; size];
            let mut into = DataMut::new(&packed, copies, &mut between, 0).unwrap();
            to_packed.copy(&data, &mut into).unwrap();
            assert_eq!(between, values);
            // The opposite direction, into memory in which every byte differs.
            let mut target: Vec<u8> = memory.iter().map(|byte| !byte).collect();
            let mut expected = target.clone();
            for at in &bytes {
                expected[*at] = memory[*at];
            }
            let from = Data::new(&packed, copies, &between, 0).unwrap();
            for way in 0..4 {
                let mut into = DataMut::new(plan, copies, &mut target, ROOM).unwrap();
                match way {
                    0 => into.unpack(&values).unwrap(),
                    1 => from_packed.copy(&from, &mut into).unwrap(),
                    2 => to_itself.copy(&data, &mut into).unwrap(),
                    _ => {
                        let middle = random.below(size as u64 + 1) as usize;
                        into.unpack_range(middle, &values[middle..]).unwrap();
                        into.unpack_range(0, &values[..middle]).unwrap();
                    }
                }
                assert_eq!(target, expected);
                for at in &bytes {
                    target[*at] = !memory[*at];
                }
            }
        }
    }
}

/// Returns the positions in memory of the bytes of several copies of a type map, in the order of packing.
fn places_of(map: &TypeMap, copies: usize, extent: isize) -> Vec<usize> {
    let mut places = Vec::new();
    for copy in 0..copies {
        for (base, displacement) in map.entries() {
            let first = ROOM as i128 + copy as i128 * extent as i128 + i128::from(displacement);
            let parts = base.pair().map_or(vec![(0, base)], Vec::from);
            for (at, part) in parts {
                places.extend((0..part.size()).map(|i| (first + i128::from(at + i)) as usize));
            }
        }
    }
    places
}

/// Returns the same positions for a layout whose type map is too long to list.
fn places_of_blocks(data: &Data<'_>) -> Vec<usize> {
    let blocks = data.flatten(0..data.packed_size()).unwrap();
    assert_eq!(data.blocks(0..data.packed_size()).unwrap(), blocks.len());
    let first = |offset: isize| ROOM.strict_add_signed(offset);
    blocks.iter().flat_map(|block| first(block.offset)..first(block.offset) + block.size).collect()
}

/// Packs in parts, and in other representations of the numbers.
fn in_parts(data: &Data<'_>, values: &[u8], random: &mut Random) {
    let size = values.len();
    let middle = random.below(size as u64 + 1) as usize;
    let mut parts = vec![0; size];
    data.pack_range(0..middle, &mut parts[..middle]).unwrap();
    data.pack_range(middle..size, &mut parts[middle..]).unwrap();
    assert_eq!(parts, values);
    let blocks = data.io_slices(middle..size).unwrap();
    assert_eq!(blocks.iter().flat_map(|block| block.iter().copied()).collect::<Vec<_>>(), values[middle..]);
    for representation in [Representation::Native, Representation::BigEndian, Representation::External32] {
        let Ok(mut packer) = data.packer().with_representation(representation) else { continue };
        let mut encoded = vec![0; packer.size()];
        let (first, second) = encoded.split_at_mut(middle.min(packer.size()));
        let written = packer.pack(first) + packer.pack(second);
        assert!(written <= packer.size());
    }
}

#[test]
fn nothing_overflows_at_the_limits_of_all_ranges() {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("DTYPE_SEED").unwrap_or(2026);
    let cases = if env::var_os("DTYPE_LONG").is_some() { 10_000_000 } else { 20_000 };
    for case in 0..number("DTYPE_CASES").unwrap_or(cases) {
        let draw = move || {
            let mut random = Random::of_case(seed, case);
            let levels = random.below(5);
            (random.tree(levels), random)
        };
        let worked = panic::catch_unwind(move || {
            let (tree, mut random) = draw();
            work_on(&tree, &mut random);
        });
        assert!(worked.is_ok(), "case {case} of DTYPE_SEED={seed}: {:?}", draw().0);
    }
}
