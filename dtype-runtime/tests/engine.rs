//! Compares the pack engine with an interpreter that goes byte by byte: random trees, ranges, segments,
//! visitors, byte orders, and copies from layout to layout.

use std::io::{IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};

use dtype_core::{BaseType, NodeCosts, TypeTree, normalize};
use dtype_runtime::pack::{Error as PackError, data_of, data_of_mut};
use dtype_runtime::{
    MpiDatatype, layout, pack,
    pack::{Block, Data, DataMut, LeafVisitor, Plan, Representation, Transpack, Unpacker},
    packed_size,
};
use proptest::{collection::vec, prelude::*, sample::Index};

/// Returns every entry of a tree, in order, by the definition of the nodes.
fn entries(tree: &TypeTree) -> Vec<(BaseType, i64)> {
    fn at(displacement: i64, of: &[(BaseType, i64)]) -> impl Iterator<Item = (BaseType, i64)> {
        of.iter().map(move |(base, at)| (*base, at + displacement))
    }
    match tree {
        TypeTree::Leaf(base) => match base.pair() {
            Some(numbers) => numbers.map(|(at, base)| (base, at as i64)).to_vec(),
            None => vec![(*base, 0)],
        },
        TypeTree::Vector { count, stride, child } => {
            let child = entries(child);
            (0..*count as i64).flat_map(|i| at(i * stride, &child)).collect()
        }
        TypeTree::Index { displacements, child } => {
            let child = entries(child);
            displacements.iter().flat_map(|displacement| at(*displacement, &child)).collect()
        }
        TypeTree::IndexBucket { stride, buckets, displacements, child } => {
            let child = entries(child);
            let copies = buckets.iter().zip(displacements);
            copies
                .flat_map(|(count, displacement)| (0..*count as i64).map(move |i| displacement + i * stride))
                .flat_map(|displacement| at(displacement, &child))
                .collect()
        }
        TypeTree::Struct { displacements, children } => children
            .iter()
            .zip(displacements)
            .flat_map(|(child, displacement)| at(*displacement, &entries(child)).collect::<Vec<_>>())
            .collect(),
    }
}

/// The packed bytes of a layout, as the interpreter finds them.
struct Reference {
    /// The displacement of each packed byte.
    bytes: Vec<i64>,
    /// The base type of each value.
    types: Vec<BaseType>,
}

impl Reference {
    fn of(tree: &TypeTree, count: usize, extent: i64) -> Self {
        let one = entries(tree);
        let all = (0..count as i64).flat_map(|i| one.iter().map(move |(base, at)| (*base, at + i * extent)));
        let (mut bytes, mut types) = (Vec::new(), Vec::new());
        for (base, at) in all {
            bytes.extend(at..at + base.size() as i64);
            types.push(base);
        }
        Self { bytes, types }
    }

    fn is_disjoint(&self) -> bool {
        let mut bytes = self.bytes.clone();
        bytes.sort_unstable();
        bytes.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// Returns memory with room for all bytes and a guard on either side, and the position of displacement 0.
    fn memory(&self, seed: u64) -> (Vec<u8>, usize) {
        let low = self.bytes.iter().min().copied().unwrap_or(0).min(0) - 8;
        let high = self.bytes.iter().max().copied().unwrap_or(0).max(0) + 9;
        (noise(seed, (high - low) as usize), -low as usize)
    }

    fn pack(&self, memory: &[u8], origin: usize) -> Vec<u8> {
        self.bytes.iter().map(|at| memory[(origin as i64 + at) as usize]).collect()
    }

    /// Returns the packed bytes in external32, in which some numbers have fewer bytes (MPI 4.1 section
    /// 14.5.2), and the packed bytes that these are decoded to.
    fn external(&self, packed: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let (mut rest, mut external, mut again) = (packed, Vec::new(), Vec::new());
        for base in &self.types {
            let (value, after) = rest.split_at(base.size() as usize);
            rest = after;
            for unit in value.chunks(base.alignment() as usize) {
                let mut number = unit.to_vec();
                if cfg!(target_endian = "little") {
                    number.reverse();
                }
                let lost = match base {
                    BaseType::Long | BaseType::UnsignedLong => unit.len() - 4,
                    BaseType::WChar => unit.len() - 2,
                    _ => 0,
                };
                external.extend(&number[lost..]);
                let is_signed = !matches!(base, BaseType::UnsignedLong | BaseType::WChar);
                let is_negative = is_signed && number[lost] >= 0x80;
                number[..lost].fill(if is_negative { 0xFF } else { 0 });
                if cfg!(target_endian = "little") {
                    number.reverse();
                }
                again.extend(number);
            }
        }
        (external, again)
    }

    /// Returns the packed bytes with the bytes of every number reversed.
    fn turned(&self, packed: &[u8]) -> Vec<u8> {
        let (mut rest, mut turned) = (packed, Vec::new());
        for base in &self.types {
            let (value, after) = rest.split_at(base.size() as usize);
            rest = after;
            value.chunks(base.alignment() as usize).for_each(|unit| turned.extend(unit.iter().rev()));
        }
        turned
    }
}

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

fn base() -> impl Strategy<Value = BaseType> {
    use BaseType::{
        Bool, Byte, C32, C64, F32, F64, I16, I32, Long, LongInt, ShortInt, U8, U16, UnsignedLong, WChar,
    };
    let bases = [
        U8,
        F64,
        I16,
        F32,
        I32,
        C32,
        C64,
        Bool,
        Byte,
        U16,
        F64,
        U8,
        Long,
        LongInt,
        ShortInt,
        UnsignedLong,
        WChar,
    ];
    proptest::sample::select(bases.to_vec())
}

fn distance() -> impl Strategy<Value = i64> {
    prop_oneof![(-3i64..24).prop_map(|step| 8 * step), -40i64..200, Just(0), Just(4096)]
}

/// Generates trees of all kinds. Many of them have parts that continue one another.
fn tree() -> impl Strategy<Value = TypeTree> {
    let size = |tree: &TypeTree| tree.measure().unwrap().true_extent();
    base().prop_map(TypeTree::Leaf).prop_recursive(4, 48, 5, move |inner| {
        let list = || vec((distance(), any::<bool>()), 0..6);
        // Each displacement is the end of the previous part, plus a distance unless `gapless`.
        let places = |list: Vec<(i64, bool)>, sizes: Vec<i64>| -> Vec<i64> {
            let mut at = 0;
            let next = |((by, gapless), size): ((i64, bool), i64)| {
                let here = at + if gapless { 0 } else { by };
                at = here + size;
                here
            };
            list.into_iter().zip(sizes).map(next).collect()
        };
        prop_oneof![
            (0u64..7, distance(), any::<bool>(), inner.clone()).prop_map(
                move |(count, stride, gapless, child)| {
                    TypeTree::vector(count, if gapless { size(&child) } else { stride }, child)
                }
            ),
            (list(), inner.clone()).prop_map(move |(list, child)| {
                let sizes = vec![size(&child); list.len()];
                TypeTree::index(places(list, sizes), child)
            }),
            (list(), vec(0u64..5, 6), distance(), any::<bool>(), inner.clone()).prop_map(
                move |(list, counts, stride, gapless, child)| {
                    let stride = if gapless { size(&child) } else { stride };
                    let sizes = counts.iter().map(|count| *count as i64 * size(&child)).collect();
                    let places = places(list, sizes);
                    TypeTree::index_bucket(stride, &counts[..places.len()], places, child)
                }
            ),
            (list(), vec(inner, 6)).prop_map(move |(list, mut children)| {
                let places = places(list, children.iter().map(size).collect());
                children.truncate(places.len());
                TypeTree::structure(places, children)
            }),
        ]
    })
}

/// Generates a tree, a number of copies, and their distance.
fn layouts() -> impl Strategy<Value = (TypeTree, usize, i64)> {
    let count = prop_oneof![0usize..4, Just(1), 5usize..700];
    (tree(), count, prop_oneof![Just(None), distance().prop_map(Some)]).prop_filter_map(
        "few enough bytes for the interpreter",
        |(tree, count, extent)| {
            let measure = tree.measure().ok()?;
            let extent = extent.unwrap_or(measure.extent());
            (measure.size * count as u64 <= 40_000).then_some((tree, count, extent))
        },
    )
}

fn plan(tree: &TypeTree, extent: i64) -> Plan {
    Plan::new(tree).unwrap().resized(extent as isize)
}

/// A visitor that collects the displacements of bytes, through its first method only.
#[derive(Default)]
struct Bytes {
    displacements: Vec<i64>,
    calls: usize,
}

impl LeafVisitor for Bytes {
    fn contiguous(&mut self, offset: isize, size: usize) {
        self.displacements.extend(offset as i64..offset as i64 + size as i64);
        self.calls += 1;
    }
}

/// A visitor that collects the displacements of bytes, through all of its methods.
#[derive(Default)]
struct Families(Bytes);

impl LeafVisitor for Families {
    fn contiguous(&mut self, offset: isize, size: usize) {
        self.0.contiguous(offset, size);
    }
    fn vector(&mut self, offset: isize, count: usize, size: usize, stride: isize) {
        (0..count).for_each(|i| self.0.contiguous(offset + i as isize * stride, size));
    }
    fn indexed_block(&mut self, offset: isize, displacements: &[isize], size: usize) {
        for at in displacements {
            self.0.contiguous(offset + at, size);
        }
    }
    fn indexed(&mut self, blocks: impl ExactSizeIterator<Item = Block>) {
        blocks.for_each(|block| self.0.contiguous(block.offset, block.size));
    }
}

proptest! {
    // PROPTEST_CASES sets the number of cases: more of them, or fewer under valgrind.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packing_and_unpacking_move_the_bytes_of_the_type_map(
        (tree, count, extent) in layouts(), seed: u64,
    ) {
        let reference = Reference::of(&tree, count, extent);
        let (memory, origin) = reference.memory(seed);
        let plan = plan(&tree, extent);
        let data = Data::new(&plan, count, &memory, origin).unwrap();
        let packed = data.pack();
        prop_assert_eq!(&packed, &reference.pack(&memory, origin));
        prop_assert_eq!(packed.len(), data.packed_size());

        let (mut copy, _) = reference.memory(!seed);
        let mut expected = copy.clone();
        for (at, byte) in reference.bytes.iter().zip(&packed) {
            expected[(origin as i64 + at) as usize] = *byte;
        }
        DataMut::new(&plan, count, &mut copy, origin).unwrap().unpack(&packed).unwrap();
        prop_assert!(copy == expected, "a byte beside the layout was written, or one of it was not");
    }

    /// Compares a layout with the list of its leaves. At most one leaf is changed. The list contains `inner`
    /// copies of the layout.
    #[test]
    fn the_first_difference_of_two_signatures_is_found(
        (tree, count, _) in layouts(), inner in 1usize..4, change: Option<Index>, other in base(),
    ) {
        prop_assume!(tree.measure().unwrap().size > 0);
        let plain = |base: &BaseType| base.plain().unwrap_or(*base);
        let all = TypeTree::vector(inner as u64, 0, tree.clone()).gapless().unwrap().flatten().unwrap();
        let (mut leaves, at) = (all.types().to_vec(), all.displacements());
        let mut expected = None;
        if let Some(i) = change.map(|i| i.index(leaves.len()))
            && leaves[i].size() == other.size()
            && plain(&leaves[i]) != plain(&other)
            && other.pair().is_none()
        {
            expected = Some((at[i] as usize, plain(&leaves[i]), plain(&other))).filter(|_| count > 0);
            leaves[i] = other;
        }
        let leaf = |base: &BaseType| TypeTree::Leaf(*base);
        let list = TypeTree::structure(at, leaves.iter().map(leaf).collect::<Vec<_>>());
        let (plan, listed) = (Plan::new(&tree).unwrap(), Plan::new(&list).unwrap());
        let difference = |from: &Plan, copies, to: &Plan, to_copies| {
            match Transpack::new(from, copies, to, to_copies) {
                Ok(_) => None,
                Err(PackError::Signature { byte, from, to }) => Some((byte, from, to)),
                Err(error) => panic!("{error}"),
            }
        };
        prop_assert_eq!(difference(&plan, inner * count, &listed, count), expected);
        let swapped = expected.map(|(byte, from, to)| (byte, to, from));
        prop_assert_eq!(difference(&listed, count, &plan, inner * count), swapped);
    }

    #[test]
    fn loops_are_joined_where_their_turns_begin_at_other_bytes(
        from in (0u64..20, vec((1u64..6, 0i64..3), 1..4), 1u64..40, 1u64..4),
        to in (0u64..20, vec((1u64..6, 0i64..3), 1..4), 1u64..40, 1u64..4),
        copies in 1usize..3,
    ) {
        let block = |size| TypeTree::vector(size, 1, TypeTree::Leaf(BaseType::U8));
        let in_a_row = |list: Vec<(u64, i64)>| {
            let mut at = 0;
            let places: Vec<_> = list.iter().map(|(size, gap)| (at, at += *size as i64 + gap).0).collect();
            TypeTree::structure(places, list.iter().map(|(size, _)| block(*size)).collect::<Vec<_>>())
        };
        // A block, loops over a few blocks, and a block that gives both layouts the same size.
        let layout = |(first, fields, inner, outer): (u64, Vec<(u64, i64)>, u64, u64), size: u64| {
            let fields = in_a_row(fields);
            let extent = fields.measure().unwrap().upper_bound + 1;
            let inner = TypeTree::vector(inner, extent, fields);
            let extent = inner.measure().unwrap().upper_bound + 3;
            let loops = TypeTree::vector(outer, extent, inner);
            let end = first as i64 + extent * outer as i64;
            let last = size - loops.measure().unwrap().size - first;
            TypeTree::structure([0, first as i64, end], [block(first), loops, block(last)])
        };
        let layouts = [from, to].map(|parts| layout(parts, 3000));
        let plans = layouts.each_ref().map(|tree| Plan::new(tree).unwrap());
        let [(memory, origin), (copy, copy_origin)] = layouts.each_ref().map(|tree| {
            Reference::of(tree, copies, tree.measure().unwrap().extent()).memory(copies as u64)
        });
        let data = Data::new(&plans[0], copies, &memory, origin).unwrap();
        let mut copy: Vec<u8> = copy.iter().map(|byte| !byte).collect();
        let mut into = DataMut::new(&plans[1], copies, &mut copy, copy_origin).unwrap();
        Transpack::new(&plans[0], copies, &plans[1], copies).unwrap().copy(&data, &mut into).unwrap();
        prop_assert_eq!(into.as_data().pack(), data.pack());
    }

    #[test]
    fn any_range_is_that_part_of_the_whole(
        (tree, count, extent) in layouts(), seed: u64, ends in vec((any::<Index>(), any::<Index>()), 1..6),
    ) {
        let reference = Reference::of(&tree, count, extent);
        let (memory, origin) = reference.memory(seed);
        let plan = plan(&tree, extent);
        let data = Data::new(&plan, count, &memory, origin).unwrap();
        let packed = reference.pack(&memory, origin);
        for (a, b) in ends {
            let (a, b) = (a.index(packed.len() + 1), b.index(packed.len() + 1));
            let range = a.min(b)..a.max(b);
            let mut part = vec![0; range.len()];
            data.pack_range(range.clone(), &mut part).unwrap();
            prop_assert_eq!(&part, &packed[range.clone()]);

            let (mut copy, _) = reference.memory(!seed);
            let mut expected = copy.clone();
            for (at, byte) in reference.bytes[range.clone()].iter().zip(&part) {
                expected[(origin as i64 + at) as usize] = *byte;
            }
            DataMut::new(&plan, count, &mut copy, origin).unwrap().unpack_range(range.start, &part).unwrap();
            prop_assert!(copy == expected);
        }
    }

    #[test]
    fn visitors_see_the_bytes_in_order_and_blocks_are_maximal(
        (tree, count, extent) in layouts(), a: Index, b: Index,
    ) {
        let reference = Reference::of(&tree, count, extent);
        let (memory, origin) = reference.memory(7);
        let plan = plan(&tree, extent);
        let data = Data::new(&plan, count, &memory, origin).unwrap();
        let size = reference.bytes.len();
        let (a, b) = (a.index(size + 1), b.index(size + 1));
        let range = a.min(b)..a.max(b);
        let expected = &reference.bytes[range.clone()];

        let mut bytes = Bytes::default();
        data.visit(range.clone(), &mut bytes).unwrap();
        prop_assert_eq!(&bytes.displacements, expected);
        let mut families = Families::default();
        data.visit(range.clone(), &mut families).unwrap();
        prop_assert_eq!(&families.0.displacements, expected);

        let blocks = data.flatten(range.clone()).unwrap();
        let listed = blocks.iter().flat_map(|block| {
            block.offset as i64..block.offset as i64 + block.size as i64
        });
        prop_assert_eq!(&listed.collect::<Vec<_>>(), expected);
        let breaks = expected.windows(2).filter(|pair| pair[0] + 1 != pair[1]).count();
        prop_assert_eq!(blocks.len(), breaks + usize::from(!expected.is_empty()));
        prop_assert_eq!(data.blocks(range.clone()).unwrap(), blocks.len());

        let mut written = Vec::new();
        let mut slices = data.io_slices(range.clone()).unwrap();
        let mut slices = &mut slices[..];
        while !slices.is_empty() {
            let count = written.write_vectored(slices).unwrap();
            IoSlice::advance_slices(&mut slices, count);
        }
        prop_assert_eq!(&written, &reference.pack(&memory, origin)[range.clone()]);

        let (mut copy, _) = reference.memory(8);
        let mut read_into = DataMut::new(&plan, count, &mut copy, origin).unwrap();
        let mut sorted = expected.to_vec();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            prop_assert_eq!(read_into.io_slices_mut(range).unwrap_err(), PackError::Overlap);
        } else {
            let mut source = &written[..];
            for slice in &mut read_into.io_slices_mut(range.clone()).unwrap() {
                let slice: &mut IoSliceMut<'_> = slice;
                source.read_exact(slice).unwrap();
            }
            prop_assert_eq!(&reference.pack(&copy, origin)[range], &written);
        }
    }

    #[test]
    fn segments_may_come_in_any_order_get_lost_come_twice_and_end_anywhere(
        (tree, count, extent) in layouts(),
        cuts in vec(any::<Index>(), 0..12), order in vec((any::<Index>(), any::<bool>()), 0..24),
        representation in proptest::sample::select(vec![
            Representation::Native,
            Representation::LittleEndian,
            Representation::BigEndian,
            Representation::External32,
        ]),
    ) {
        let reference = Reference::of(&tree, count, extent);
        prop_assume!(reference.is_disjoint());
        let (memory, origin) = reference.memory(3);
        let plan = plan(&tree, extent);
        let mut native = reference.pack(&memory, origin);
        let turned = (representation == Representation::BigEndian) == cfg!(target_endian = "little");
        let packed = match representation {
            Representation::Native => native.clone(),
            Representation::External32 => {
                let (external, again) = reference.external(&native);
                native = again;
                external
            }
            _ if turned => reference.turned(&native),
            _ => native.clone(),
        };
        let size = packed.len();
        let mut borders: Vec<_> = cuts.iter().map(|cut| cut.index(size + 1)).chain([0, size]).collect();
        borders.sort_unstable();
        let segments: Vec<_> = borders.windows(2).map(|pair| pair[0]..pair[1]).collect();

        // The sender packs in order, and then from any position.
        let data = Data::new(&plan, count, &memory, origin).unwrap();
        let mut packer = data.packer().with_representation(representation).unwrap().with_checksum();
        let mut sent = Vec::new();
        for segment in &segments {
            let mut bytes = vec![0; segment.len()];
            prop_assert_eq!(packer.pack(&mut bytes), segment.len());
            sent.extend(bytes);
        }
        prop_assert_eq!(&sent, &packed);
        prop_assert_eq!(packer.checksum(), Some(crc32c::crc32c(&packed)));
        prop_assert_eq!(packer.pack(&mut [0; 4]), 0);
        for (index, _) in order.iter().filter(|_| segments.len() > 1) {
            let segment = index.get(&segments);
            let mut bytes = vec![0; segment.len()];
            packer.seek(SeekFrom::Start(segment.start as u64)).unwrap();
            packer.read_exact(&mut bytes).unwrap();
            prop_assert_eq!(&bytes, &packed[segment.clone()]);
            prop_assert_eq!(packer.checksum(), Some(crc32c::crc32c(&bytes)));
        }

        // The receiver gets some of the segments, some of them damaged, and then the missing ranges.
        let (mut copy, _) = reference.memory(4);
        let before = copy.clone();
        let mut unpacker = DataMut::new(&plan, count, &mut copy, origin).unwrap().unpacker()
            .with_representation(representation).unwrap().with_checksum();
        let (mut arrived, mut came) = (vec![false; size], Vec::new());
        for (index, damaged) in &order {
            let segment = index.get(&segments);
            let mut bytes = packed[segment.clone()].to_vec();
            let checksum = crc32c::crc32c(&bytes);
            if *damaged && !bytes.is_empty() {
                bytes[0] ^= 4;
                let error = unpacker.unpack_checked(segment.start, &bytes, checksum).unwrap_err();
                prop_assert!(matches!(error, PackError::Checksum { .. }), "{}", error);
                continue;
            }
            unpacker.unpack_checked(segment.start, &bytes, checksum).unwrap();
            arrived[segment.clone()].fill(true);
            came.extend(bytes);
        }
        prop_assert_eq!(unpacker.checksum(), Some(crc32c::crc32c(&came)));
        let missing: Vec<_> = unpacker.missing().collect();
        let missed: Vec<usize> = missing.iter().cloned().flatten().collect();
        prop_assert_eq!(missed, (0..size).filter(|at| !arrived[*at]).collect::<Vec<_>>());
        prop_assert_eq!(unpacker.is_complete(), arrived.iter().all(|arrived| *arrived));
        for range in missing.into_iter().rev() {
            unpacker.seek(SeekFrom::Start(range.start as u64)).unwrap();
            unpacker.write_all(&packed[range]).unwrap();
        }
        prop_assert!(unpacker.is_complete());
        let mut expected = before;
        for (at, byte) in reference.bytes.iter().zip(&native) {
            expected[(origin as i64 + at) as usize] = *byte;
        }
        prop_assert!(copy == expected);
    }

    #[test]
    fn transpacking_is_packing_and_unpacking(
        (tree, count, extent) in layouts(), seed: u64, normal: bool, copies in 1usize..4,
    ) {
        // The other layout has the same values at other displacements. One copy of it holds the values of all
        // copies of `tree`, or of an equal share of them.
        let whole = TypeTree::vector(count as u64, 0, tree.clone());
        let copies = if count > 0 && count % copies == 0 { copies } else { 1 };
        let one = TypeTree::vector((count / copies) as u64, 0, tree.clone());
        let mut random = noise(seed, 4096).into_iter().cycle();
        let (mut other, other_extent) = relaid(if copies == 1 { &whole } else { &one }, &mut random);
        if normal {
            other = normalize(&other, &NodeCosts::default()).unwrap().tree;
        }
        let (reference, target) =
            (Reference::of(&tree, count, extent), Reference::of(&other, copies, other_extent));
        prop_assert_eq!(&reference.types, &target.types);
        prop_assert!(target.is_disjoint());
        let (memory, origin) = reference.memory(seed);
        let (mut copy, into) = target.memory(seed ^ 5);
        let mut expected = copy.clone();
        for (at, byte) in target.bytes.iter().zip(reference.pack(&memory, origin)) {
            expected[(into as i64 + at) as usize] = byte;
        }
        let (from, to) = (plan(&tree, extent), plan(&other, other_extent));
        let source = Data::new(&from, count, &memory, origin).unwrap();
        let mut destination = DataMut::new(&to, copies, &mut copy, into).unwrap();
        destination.copy_from(&source).unwrap();
        prop_assert!(copy == expected, "from {} to {}", tree, other);
    }

    /// Any segments give errors or valid values, never an invalid `bool`; a rejected segment changes nothing.
    #[test]
    fn hostile_segments_never_make_an_invalid_value(
        segments in vec((0usize..30, vec(0u8..3, 0..20)), 1..12), big: bool,
    ) {
        let mut values = [(0u8, 'x', [true; 2], 1u16); 3];
        let mut last = values;
        let representation = if big { Representation::BigEndian } else { Representation::Native };
        let mut unpacker = data_of_mut(&mut values).unpacker().with_representation(representation).unwrap();
        let mut good = Vec::new();
        for (position, segment) in &segments {
            if unpacker.unpack(*position, segment).is_ok() {
                good.push((*position, segment));
            }
        }
        drop(unpacker);
        <(u8, char, [bool; 2], u16)>::validate_slice(&values).unwrap();
        // Rejected segments have changed nothing.
        let mut unpacker = data_of_mut(&mut last).unpacker().with_representation(representation).unwrap();
        for (position, segment) in good {
            unpacker.unpack(position, segment).unwrap();
        }
        prop_assert_eq!(values, last);
    }
}

/// Returns a disjoint layout of the same values, with other displacements, gaps and nodes; and the number of
/// bytes from one copy to the next.
fn relaid(tree: &TypeTree, random: &mut impl Iterator<Item = u8>) -> (TypeTree, i64) {
    let mut below = |limit: u8| i64::from(random.next().unwrap() % limit);
    let (copies, child) = match tree {
        TypeTree::Leaf(base) => return (tree.clone(), base.span() as i64 + below(2) * 3),
        TypeTree::Vector { count, child, .. } => (*count, child),
        TypeTree::Index { displacements, child } => (displacements.len() as u64, child),
        TypeTree::IndexBucket { buckets, child, .. } => (buckets.iter().sum(), child),
        TypeTree::Struct { children, .. } => {
            let mut at = 0;
            let placed = children.iter().map(|child| {
                let (child, size) = relaid(child, random);
                at += size;
                (at - size, child)
            });
            let (displacements, children): (Vec<_>, Vec<_>) = placed.unzip();
            return (TypeTree::structure(displacements, children), at + 1);
        }
    };
    let (kind, gap, cut) = (below(5), 4 * below(3), below(100) as u64);
    let (child, size) = relaid(child, random);
    let stride = size + gap;
    let irregular: Vec<_> = (0..copies as i64).map(|i| i * (stride + 2) + i % 3).collect();
    let cut = cut.min(copies);
    let tree = match kind {
        0 => TypeTree::vector(copies, stride, child),
        1 => TypeTree::index(irregular, child),
        // From the last to the first.
        2 => {
            let last = copies as i64 * stride;
            TypeTree::structure([last], [TypeTree::vector(copies, -stride, child)])
        }
        3 => {
            let (buckets, displacements) = ([cut, copies - cut], [copies as i64 * stride, 0]);
            TypeTree::index_bucket(stride, buckets, displacements, child)
        }
        _ => {
            let halves = [cut, copies - cut].map(|count| TypeTree::vector(count, stride, child.clone()));
            TypeTree::structure([0, cut as i64 * stride + 8], halves)
        }
    };
    let upper = tree.measure().unwrap().upper_bound;
    (tree, upper + 2)
}

#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Mixed {
    flag: bool,
    value: f64,
    level: i16,
    weights: [(u8, f32); 3],
}

fn values(count: usize) -> Vec<Mixed> {
    let value = |i: usize| Mixed {
        flag: i % 3 == 0,
        value: i as f64 / 3.0,
        level: i as i16,
        weights: [(i as u8, 0.5), (1, i as f32), (2, 2.5)],
    };
    (0..count).map(value).collect()
}

/// Copies blocks of every size that has a kernel of its own, in every shape, at an odd address.
#[test]
fn every_kernel_copies_what_the_interpreter_does() {
    let sizes: Vec<i64> = if cfg!(miri) {
        vec![4, 8, 24]
    } else {
        (1..=34)
            .chain([48, 63, 64, 65, 100, 127])
            .chain((128..=256).step_by(32))
            .chain((129..=257).step_by(32))
            .collect()
    };
    for size in sizes {
        let block = TypeTree::vector(size as u64, 1, TypeTree::Leaf(BaseType::U8));
        let rows = |rows: u64, columns: u64, pitch: i64| {
            TypeTree::vector(columns, size, TypeTree::vector(rows, pitch, block.clone()))
        };
        let places: Vec<i64> = (0..13).map(|i| i * (size + 7) + i % 3).collect();
        let [float, byte, short] = [BaseType::F32, BaseType::U8, BaseType::I16].map(TypeTree::Leaf);
        let shapes = [
            TypeTree::vector(11, 2 * size, block.clone()),
            TypeTree::vector(11, size + 5, block.clone()),
            TypeTree::vector(9, -size - 5, block.clone()),
            TypeTree::vector(5, 1000, TypeTree::vector(6, size + 1, block.clone())),
            rows(21, 18, 20 * size),
            rows(3, 5, 64 + 7 * size),
            TypeTree::index(places.clone(), block.clone()),
            TypeTree::vector(3, 5000, TypeTree::index(places, block.clone())),
            TypeTree::vector(
                4,
                5000,
                TypeTree::index_bucket(size + 2, [1, 3, 2], [0, 1000, 2000], block.clone()),
            ),
            TypeTree::vector(
                if cfg!(miri) { 9 } else { 300 },
                size + 40,
                TypeTree::structure([0, size + 20], [block.clone(), TypeTree::Leaf(BaseType::F64)]),
            ),
            TypeTree::index(
                (0..40).map(|i| i * (size + 45) + i % 5).collect::<Vec<_>>(),
                TypeTree::structure(
                    [0, size + 10, size + 20, size + 30],
                    [block.clone(), float, byte, short],
                ),
            ),
        ];
        for tree in shapes {
            compare(&Plan::new(&tree).unwrap(), &tree, 1, 0);
        }
    }
}

/// Packs and unpacks records of a few fields from lists, buckets and nests of loops of different depths, of
/// which the records of some are equally far apart in pairs.
#[test]
fn records_are_copied_from_every_nest() {
    let block = |size| TypeTree::vector(size, 1, TypeTree::Leaf(BaseType::U8));
    let sizes: &[u64] = if cfg!(miri) { &[2, 8, 11] } else { &[1, 2, 3, 4, 5, 7, 8, 9, 11, 15, 16, 17] };
    let pairs = sizes.iter().flat_map(|first| sizes.iter().map(move |second| vec![*first, *second]));
    let more = [vec![1, 16, 8], vec![4, 1, 2], vec![8, 8, 8, 8], vec![1, 2, 4, 8], vec![2, 8, 2, 8, 1]];
    for fields in pairs.chain(more) {
        let at: Vec<i64> = (0..fields.len() as i64).map(|i| i * 20 + i % 2).collect();
        let record = TypeTree::structure(at, fields.into_iter().map(block).collect::<Vec<_>>());
        let places: Vec<i64> = (0..7).map(|i| i * 101 + i % 3).collect();
        let inner = [
            TypeTree::vector(4, 110, record.clone()),
            TypeTree::vector(3, -110, record.clone()),
            TypeTree::vector(5, 500, TypeTree::vector(2, 105, record.clone())),
            TypeTree::index(places.clone(), record.clone()),
            TypeTree::index_bucket(105, [2, 1, 2], [0, 300, 600], record.clone()),
            TypeTree::structure(
                [0, 1000],
                [TypeTree::vector(3, 110, record.clone()), TypeTree::vector(2, 120, record.clone())],
            ),
        ];
        for inner in inner {
            for extent in [1500, -1500] {
                compare(&plan(&inner, extent), &inner, 3, extent);
            }
            let far: Vec<i64> = (0..9).map(|i| i * 3001 + i % 2).collect();
            let turns = if cfg!(miri) { 3 } else { 40 };
            for tree in
                [TypeTree::vector(turns, 3000, inner.clone()), TypeTree::index(far, inner.clone()), inner]
            {
                compare(&Plan::new(&tree).unwrap(), &tree, 1, 0);
            }
        }
    }
}

/// Copies blocks of one size and of two sizes whose cache lines together are larger than a second-level
/// cache, so that the next ones are fetched meanwhile.
#[test]
fn lists_of_blocks_that_are_far_from_one_another_are_copied() {
    let places: Vec<i64> = (0..40).map(|i| i * 640 + i * i % 7 * 8).collect();
    let number = TypeTree::Leaf(BaseType::F64);
    let pair = TypeTree::structure([0, 300], [TypeTree::Leaf(BaseType::I16), number.clone()]);
    let turns = if cfg!(miri) { 2 } else { 1000 };
    for block in [number, pair] {
        let list = TypeTree::index(places.clone(), block);
        for stride in [25_672, -25_672] {
            let tree = TypeTree::vector(turns, stride, list.clone());
            compare(&Plan::new(&tree).unwrap(), &tree, 1, 0);
        }
    }
}

/// Copies records of one nest into those of another, and some of their bytes: from the middle of a record to
/// the middle of another.
#[test]
fn records_are_copied_from_nest_to_nest_and_in_parts() {
    let [short, number] = [BaseType::I16, BaseType::F64].map(TypeTree::Leaf);
    let record = TypeTree::structure([0, 8], [short, number]);
    let pair = TypeTree::vector(2, 20, record.clone());
    let nests = [
        TypeTree::vector(3, 400, TypeTree::vector(2, 200, pair.clone())),
        TypeTree::index([0, 900, 300, 600], TypeTree::vector(3, -40, record.clone())),
        TypeTree::vector(2, 1000, TypeTree::index_bucket(20, [2, 1, 3], [0, 101, 300], record.clone())),
        TypeTree::structure(
            [0, 500],
            [TypeTree::vector(4, 120, pair.clone()), TypeTree::vector(2, 99, pair)],
        ),
    ];
    let trees = nests.map(|nest| TypeTree::vector(if cfg!(miri) { 2 } else { 30 }, 3000, nest));
    for tree in &trees {
        let reference = Reference::of(tree, 1, 0);
        let (memory, origin) = reference.memory(3);
        let from = Plan::new(tree).unwrap();
        let source = Data::new(&from, 1, &memory, origin).unwrap();
        let whole = reference.pack(&memory, origin);
        for range in [0..whole.len() - 1, 7..whole.len() / 2 + 3, 5..16, 131..whole.len()] {
            let mut packed = vec![0; range.len()];
            source.pack_range(range.clone(), &mut packed).unwrap();
            assert!(packed == whole[range.clone()], "{range:?} of {tree}");
        }
        for other in &trees {
            let target = Reference::of(other, 1, 0);
            let (mut copy, into) = target.memory(4);
            let mut expected = copy.clone();
            for (at, byte) in target.bytes.iter().zip(&whole) {
                expected[(into as i64 + at) as usize] = *byte;
            }
            let to = Plan::new(other).unwrap();
            DataMut::new(&to, 1, &mut copy, into).unwrap().copy_from(&source).unwrap();
            assert!(copy == expected, "from {tree} to {other}");
        }
    }
}

/// Checks that copies of a plan are packed and unpacked as the interpreter does it.
fn compare(plan: &Plan, tree: &TypeTree, count: usize, extent: i64) {
    let reference = Reference::of(tree, count, extent);
    let (memory, origin) = reference.memory(5);
    let packed = Data::new(plan, count, &memory, origin).unwrap().pack();
    assert!(packed == reference.pack(&memory, origin), "packed {count} times: {tree}");
    let (mut copy, _) = reference.memory(6);
    let mut expected = copy.clone();
    for (at, byte) in reference.bytes.iter().zip(&packed) {
        expected[(origin as i64 + at) as usize] = *byte;
    }
    DataMut::new(plan, count, &mut copy, origin).unwrap().unpack(&packed).unwrap();
    assert!(copy == expected, "unpacked {count} times: {tree}");
}

/// Returns layouts whose copies are joined in special ways: blocks that touch the next copy, few and many
/// small blocks, several in a loop, and from last to first.
fn of_several_copies() -> Vec<(TypeTree, i64)> {
    let leaf = TypeTree::Leaf;
    let ends = TypeTree::structure([0, 12], [leaf(BaseType::F32), leaf(BaseType::F32)]);
    let fields = TypeTree::structure(
        [0, 8, 16, 20],
        [leaf(BaseType::U8), leaf(BaseType::F64), leaf(BaseType::I16), leaf(BaseType::F32)],
    );
    let list = TypeTree::index([40, 0, 9, 77, 20], leaf(BaseType::F64));
    vec![
        (ends.clone(), 16),
        (TypeTree::vector(7, 16, ends), 200),
        (fields.clone(), 24),
        (TypeTree::vector(3, 24, fields), -100),
        (list.clone(), 88),
        (TypeTree::vector(30, 90, list), 2700),
        (leaf(BaseType::F64), 8),
        (leaf(BaseType::F64), -8),
    ]
}

#[test]
fn a_plan_packs_any_number_of_copies_after_another() {
    for (tree, extent) in of_several_copies() {
        let plan = plan(&tree, extent);
        for count in [5, 1, 0, 5, 3, 40, 2] {
            compare(&plan, &tree, count, extent);
        }
    }
}

#[test]
fn threads_may_use_a_plan_first_at_once() {
    for (tree, extent) in of_several_copies() {
        let plan = plan(&tree, extent);
        std::thread::scope(|scope| {
            for count in [4, 6, 1, 4] {
                let (plan, tree) = (&plan, &tree);
                scope.spawn(move || {
                    let reference = Reference::of(tree, count, extent);
                    let (memory, origin) = reference.memory(9);
                    let packed = Data::new(plan, count, &memory, origin).unwrap().pack();
                    assert_eq!(packed, reference.pack(&memory, origin), "{count} copies of {tree}");
                });
            }
        });
    }
}

/// A byte that is covered twice gets one of the two values, and nothing else is written.
#[test]
fn where_copies_overlap_one_of_the_values_arrives() {
    for (tree, _) in of_several_copies() {
        for extent in [0, 1, 4, -12] {
            let (plan, count) = (plan(&tree, extent), 9);
            let reference = Reference::of(&tree, count, extent);
            let (memory, origin) = reference.memory(10);
            let packed = Data::new(&plan, count, &memory, origin).unwrap().pack();
            assert_eq!(packed, reference.pack(&memory, origin), "{extent} apart: {tree}");
            let bytes = noise(11, packed.len());
            let (mut copy, _) = reference.memory(12);
            let before = copy.clone();
            DataMut::new(&plan, count, &mut copy, origin).unwrap().unpack(&bytes).unwrap();
            for (i, (now, then)) in copy.iter().zip(&before).enumerate() {
                let own = reference.bytes.iter().zip(&bytes);
                let mut own = own.filter(|(at, _)| origin as i64 + **at == i as i64).peekable();
                let is_right =
                    if own.peek().is_some() { own.any(|(_, byte)| byte == now) } else { now == then };
                assert!(is_right, "byte {i}, copies {extent} apart: {tree}");
            }
        }
    }
}

/// Tests distances beyond 32 bits. Memory that is never touched takes no space.
#[test]
#[cfg(all(target_pointer_width = "64", not(miri)))]
fn blocks_may_be_gigabytes_apart() {
    let far = (1i64 << 31) + 12;
    let trees = [
        TypeTree::index([far, 0, 8, 40], TypeTree::Leaf(BaseType::F64)),
        TypeTree::structure([0, far], [TypeTree::Leaf(BaseType::U8), TypeTree::Leaf(BaseType::F64)]),
        TypeTree::vector(2, far, TypeTree::index([0, 9, 30], TypeTree::Leaf(BaseType::I16))),
        TypeTree::structure([far], [TypeTree::vector(2, -far, TypeTree::Leaf(BaseType::F32))]),
    ];
    for tree in trees {
        let reference = Reference::of(&tree, 1, 0);
        let mut memory = vec![0; far as usize + 100];
        for (i, at) in reference.bytes.iter().enumerate() {
            memory[*at as usize] = i as u8 + 1;
        }
        // The position of a second copy does not matter.
        let plan = Plan::new(&tree).unwrap().resized(isize::MAX);
        let packed = Data::new(&plan, 1, &memory, 0).unwrap().pack();
        assert_eq!(packed, (1..=packed.len() as u8).collect::<Vec<_>>(), "{tree}");
        let turned: Vec<u8> = packed.iter().map(|byte| !byte).collect();
        DataMut::new(&plan, 1, &mut memory, 0).unwrap().unpack(&turned).unwrap();
        assert_eq!(reference.pack(&memory, 0), turned, "{tree}");
    }
}

/// Tests displacements that are addresses, as with `MPI_BOTTOM`, and an origin outside the memory.
#[test]
fn memory_may_be_named_by_addresses() {
    let mut memory = [1u8, 2, 3, 4, 5, 6, 7, 8];
    let start = memory.as_mut_ptr();
    let bytes = |places: [i64; 3]| {
        Plan::new(&TypeTree::index(places, TypeTree::Leaf(BaseType::U8))).unwrap().resized(0)
    };
    let at = start.expose_provenance() as i64;
    let absolute = bytes([at + 6, at, at + 3]);
    let beside = bytes([1006, 1000, 1003]);
    let bottom = std::ptr::with_exposed_provenance_mut(0);
    for (plan, origin) in [(&absolute, bottom), (&beside, start.wrapping_sub(1000))] {
        // SAFETY: the three bytes are in `memory`, and nothing else uses `memory` during these calls.
        unsafe {
            assert_eq!(Data::from_raw_parts(plan, 1, origin).pack(), [7, 1, 4]);
            DataMut::from_raw_parts(plan, 1, origin).unpack(&[9, 9, 9]).unwrap();
            assert_eq!(start.cast::<[u8; 8]>().read(), [9, 2, 3, 9, 5, 6, 9, 8]);
            DataMut::from_raw_parts(plan, 1, origin).unpack(&[7, 1, 4]).unwrap();
        }
    }
}

/// Zero copies need no memory, however large the displacements of the layout are.
#[test]
fn no_copies_lie_anywhere() {
    let leaf = || TypeTree::Leaf(BaseType::F64);
    let (low, high) = (i64::MIN / 2 + 64, i64::MAX / 2 - 64);
    let trees = [
        TypeTree::index([high, low, 0], leaf()),
        TypeTree::structure([low, high], [TypeTree::vector(3, 9, leaf()), leaf()]),
        TypeTree::index_bucket(high, [2, 1], [low, 0], leaf()),
        TypeTree::vector(2, high, TypeTree::index([low, 0], leaf())),
    ];
    for tree in trees {
        for extent in [0, isize::MAX, isize::MIN] {
            let plan = Plan::new(&tree).unwrap().resized(extent);
            assert_eq!(Data::new(&plan, 0, &[], 0).unwrap().pack(), [], "{tree}");
            DataMut::new(&plan, 0, &mut [], 0).unwrap().unpack(&[]).unwrap();
            let mut empty = [0; 0];
            Data::new(&plan, 0, &[], 0).unwrap().pack_range(0..0, &mut empty).unwrap();
        }
    }
}

#[test]
fn structs_whose_ends_touch_are_copied_into_one_another() {
    let leaf = || TypeTree::Leaf(BaseType::F32);
    let (ends, fields) = (TypeTree::structure([0, 12], [leaf(), leaf()]), TypeTree::vector(2, 8, leaf()));
    let layouts = [(ends.clone(), 16), (fields, 24), (TypeTree::vector(2, 4, leaf()), 8), (ends, -20)];
    for (from, extent) in &layouts {
        for (to, to_extent) in &layouts {
            let (from_plan, to_plan) = (plan(from, *extent), plan(to, *to_extent));
            let (source, target) = (Reference::of(from, 50, *extent), Reference::of(to, 50, *to_extent));
            let ((memory, origin), (mut copy, at)) = (source.memory(13), target.memory(14));
            let data = Data::new(&from_plan, 50, &memory, origin).unwrap();
            DataMut::new(&to_plan, 50, &mut copy, at).unwrap().copy_from(&data).unwrap();
            assert_eq!(target.pack(&copy, at), source.pack(&memory, origin), "{from} to {to}");
        }
    }
}

#[test]
fn the_plan_of_a_type_packs_as_its_generated_code_does() {
    for count in [0, 1, 2, 255, 256, 257, if cfg!(miri) { 600 } else { 5000 }] {
        let values = values(count);
        let packed = pack(&values);
        assert_eq!(data_of(&values).pack(), packed);
        let mut copies = vec![Mixed::default(); count];
        data_of_mut(&mut copies).unpack(&packed).unwrap();
        assert_eq!(copies, values);
    }
    assert_eq!(data_of(&[(); 7]).pack(), []);
    assert_eq!(data_of(&[[(); usize::MAX]; 2]).pack(), []);
}

#[test]
fn what_travels_as_bytes_is_packed_field_by_field() {
    #[derive(MpiDatatype, Clone, Copy, Default)]
    #[mpi(wire = "bytes")]
    #[repr(C)]
    struct AsBytes {
        a: u8,
        b: u32,
    }
    let values = [AsBytes { a: 1, b: u32::MAX }; 3];
    assert_eq!(data_of(&values).pack(), pack(&values));
    assert_eq!(data_of(&values).packed_size(), packed_size::<AsBytes>(3));
    // A layout of `AsBytes` has the same tree as a layout of byte arrays, but another plan.
    let n = 3;
    let bytes = layout!([u8; 8][n] => [..]).unwrap();
    let fields = layout!(AsBytes[n] => [..]).unwrap();
    assert_eq!(bytes.of(&[[7; 8]; 3][..]).unwrap().data().packed_size(), 24);
    assert_eq!(fields.of(&values[..]).unwrap().data().pack(), pack(&values));
}

#[test]
fn what_waits_is_forgotten_when_all_of_it_arrives() {
    let mut value = [0u32];
    let mut unpacker = data_of_mut(&mut value).unpacker();
    unpacker.unpack(0, &[9, 9]).unwrap(); // damaged on the way, and not checked
    unpacker.unpack(0, &[1, 2, 3, 4]).unwrap();
    unpacker.unpack(2, &[3, 4]).unwrap(); // arrives twice
    assert_eq!(value, [u32::from_ne_bytes([1, 2, 3, 4])]);
}

/// A skipped field is neither sent nor checked with its struct. A layout may select it.
#[test]
fn a_layout_of_a_skipped_flag_is_checked() {
    #[derive(MpiDatatype, Clone, Copy)]
    struct Marked {
        number: u8,
        #[mpi(skip)]
        mark: bool,
    }
    let mut values = [Marked { number: 1, mark: false }; 3];
    let marks = layout!(Marked[3] => [..].mark);
    let expected = PackError::InvalidValue { what: "bool", offset: 1, found: 9 };
    assert_eq!(marks.of_mut(&mut values).unpack(&[1, 9, 1]), Err(expected.clone().into()));
    assert_eq!(marks.of_mut(&mut values).data().unpack(&[1, 9, 1]), Err(expected));
    assert!(values.iter().all(|value| !value.mark));
    marks.of_mut(&mut values).data().unpack_range(1, &[1]).unwrap();
    assert_eq!(values.map(|value| (value.number, value.mark)), [(1, false), (1, true), (1, false)]);
}

/// If a character arrives first in part and then whole, the bytes of the part are never written, wherever the
/// unpacker cuts the segment into chunks.
#[test]
fn nothing_that_waits_gets_into_what_has_been_checked() {
    let count = 4096;
    let letters = vec!['x'; count];
    let packed = pack(&letters);
    for shift in 0..4 {
        let mut values = vec![(0u8, 'a'); count];
        let mut unpacker = data_of_mut(&mut values).unpacker().with_checksum();
        // The upper half of each character. No valid character has this half.
        for i in 0..count {
            unpacker.unpack(5 * i + 3, &[0xFF, 0xFF]).unwrap();
        }
        let all: Vec<u8> = packed.chunks(4).flat_map(|letter| [&[7], letter].concat()).collect();
        unpacker.unpack(shift, &all[shift..]).unwrap();
        drop(unpacker);
        <(u8, char)>::validate_slice(&values).unwrap();
        assert_eq!(values[1..], vec![(7, 'x'); count - 1]);
    }
}

#[test]
fn parts_of_restricted_values_wait_and_are_checked() {
    let mut values = [Mixed::default(); 2];
    let packed = pack(&[Mixed { flag: true, value: 1.5, ..Mixed::default() }; 2]);
    let mut data = data_of_mut(&mut values);
    // Packed byte 3 is within a number. A range may begin or end at any `bool`, which has a single byte.
    assert_eq!(data.unpack_range(3, &packed[3..9]), Err(PackError::Torn { position: 3 }));
    data.unpack_range(1, &packed[1..9]).unwrap();
    assert_eq!(
        data.unpack_range(0, &[2]),
        Err(PackError::InvalidValue { what: "bool", offset: 0, found: 2 })
    );
    assert_eq!(data.io_slices_mut(0..1).unwrap_err(), PackError::Restricted);
    let size = packed.len() / 2;
    let error = data.unpack_range(size, &[9]).unwrap_err();
    assert_eq!(error, PackError::InvalidValue { what: "bool", offset: size, found: 9 });
    assert_eq!(values[0], Mixed { value: 1.5, ..Mixed::default() });

    // Copies from other layouts are checked before anything is written, too.
    let (mut flags, numbers) = ([false; 3], [1u8, 1, 7]);
    let error = data_of_mut(&mut flags).copy_from(&data_of(&numbers)).unwrap_err();
    assert!(
        matches!(error, PackError::Signature { byte: 0, from: BaseType::U8, to: BaseType::Bool }),
        "{error}"
    );
    assert_eq!(flags, [false; 3]);
    let (mut letters, numbers) = (['a'; 3000], [0x11_0000u32; 3000]);
    let error = data_of_mut(&mut letters).copy_from(&data_of(&numbers)).unwrap_err();
    assert!(matches!(error, PackError::InvalidValue { what: "char", offset: 0, .. }), "{error}");
    assert_eq!(letters, ['a'; 3000]);
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let tree = TypeTree::index([-8, 16], TypeTree::Leaf(BaseType::F64));
    let plan = Plan::new(&tree).unwrap();
    let mut memory = [0u8; 64];
    let error = Data::new(&plan, 1, &memory, 0).unwrap_err();
    let text = "the layout reaches from byte -8 to byte 24, but the memory has 64 bytes";
    assert_eq!(error.to_string(), text);
    assert!(Data::new(&plan, 2, &memory, 8).is_ok());
    assert!(matches!(
        Data::new(&plan, 3, &memory, 8),
        Err(PackError::Reach { first: 0, end: 96, found: 64 })
    ));
    assert!(matches!(DataMut::new(&plan, usize::MAX, &mut memory, 8), Err(PackError::Tree(_))));
    assert!(matches!(Data::new(&plan, 1, &memory, usize::MAX), Err(PackError::Reach { .. })));
    let data = Data::new(&plan, 1, &memory, 8).unwrap();
    assert_eq!(data.pack_range(3..17, &mut [0; 14]), Err(PackError::Range { start: 3, end: 17, size: 16 }));
    assert!(matches!(
        data.pack_range(3..5, &mut [0; 3]),
        Err(PackError::Length { expected: 2, found: 3, .. })
    ));
    assert!(matches!(data.pack_into(&mut [0; 15]), Err(PackError::Length { expected: 16, found: 15, .. })));
    assert!(data.packer().set_position(17).is_err());
    assert!(data.packer().seek(SeekFrom::Current(-1)).is_err());

    // Absurd counts at one displacement: no memory can hold the packed bytes.
    let absurd = Plan::new(&TypeTree::vector(1 << 59, 0, TypeTree::Leaf(BaseType::F64))).unwrap();
    let mut copy = [0u8; 8];
    let mut data = DataMut::new(&absurd, 1, &mut copy, 0).unwrap();
    assert_eq!(data.packed_size(), 1 << 62);
    assert!(matches!(data.unpack(&[0; 8]), Err(PackError::Length { .. })));
    data.unpack_range((1 << 62) - 5, &[1, 2, 3, 4, 5]).unwrap();
    assert_eq!(copy, [0, 0, 0, 1, 2, 3, 4, 5]);
    assert!(matches!(
        Plan::new(&TypeTree::vector(1 << 62, 8, TypeTree::Leaf(BaseType::F64))),
        Err(PackError::Tree(_))
    ));
    let copies = TypeTree::index_bucket(1, [u64::MAX, u64::MAX], [0, 0], TypeTree::structure([], []));
    assert_eq!(Plan::new(&copies).map_or(0, |plan| plan.packed_size()), 0);
}

/// Signatures with billions of runs are compared without a list of the runs.
#[test]
fn repetitions_are_compared_once() {
    let (letter, number) = (TypeTree::Leaf(BaseType::U8), TypeTree::Leaf(BaseType::F64));
    let pairs = |count, first: &TypeTree, second: &TypeTree| {
        TypeTree::vector(count, 16, TypeTree::structure([0, 8], [first.clone(), second.clone()]))
    };
    let (count, last) = (1u64 << 33, 1i64 << 40);
    let ends_with =
        |base| TypeTree::structure([0, last], [pairs(count, &letter, &number), TypeTree::Leaf(base)]);
    let turned =
        [letter.clone(), pairs(count - 1, &number, &letter), number.clone(), TypeTree::Leaf(BaseType::U32)];
    let turned = Plan::new(&TypeTree::structure([0, 8, last, last + 8], turned)).unwrap();
    let straight = [BaseType::U32, BaseType::F32].map(|base| Plan::new(&ends_with(base)).unwrap());
    Transpack::new(&straight[0], 3, &turned, 3).unwrap();
    let error = Transpack::new(&straight[1], 3, &turned, 3).unwrap_err();
    let byte = 9 << 33;
    assert_eq!(error, PackError::Signature { byte, from: BaseType::F32, to: BaseType::U32 });
}

/// Iterations of both loops begin together only at a packed byte far beyond the end of the data.
#[test]
fn loops_whose_common_turn_is_beyond_all_ranges_are_joined() {
    let bytes = |count: u64| TypeTree::vector(count, 2, TypeTree::Leaf(BaseType::U8));
    let loops = |turns: u64, size: u64| TypeTree::vector(turns, 1 << 40, bytes(size));
    for (size, to_size) in [((1 << 33) + 1, (1 << 33) + 5), ((1u64 << 32) + 4, (1 << 32) + 12)] {
        let from = Plan::new(&loops(5, size)).unwrap();
        let rest = 5 * size - 1 - 4 * to_size;
        let parts = [TypeTree::Leaf(BaseType::U8), loops(4, to_size), bytes(rest)];
        let to = Plan::new(&TypeTree::structure([0, 1 << 41, 1 << 44], parts)).unwrap();
        Transpack::new(&from, 1, &to, 1).unwrap();
        Transpack::new(&to, 1, &from, 1).unwrap();
    }
}

/// Joins records whose second field is nearly as far away as an offset can be, 101 copies 16 bytes apart,
/// with records that are equally far apart in pairs. Nothing is copied: no memory is as large.
#[test]
fn records_at_the_end_of_all_ranges_are_joined() {
    let number = || TypeTree::Leaf(BaseType::U64);
    let far = TypeTree::structure([0, 24 - i64::MAX], [number(), number()]);
    let to = Plan::new(&far).unwrap().resized(16);
    let pairs = TypeTree::vector(100, 64, TypeTree::vector(2, 24, number()));
    let from = Plan::new(&TypeTree::structure([0, 64, 1 << 20], [number(), pairs, number()])).unwrap();
    Transpack::new(&from, 1, &to, 101).unwrap();
    Transpack::new(&to, 101, &from, 1).unwrap();
}

#[test]
fn a_transpack_is_for_its_plans() {
    let (column, row) = (layout!(f64[4][4] => [.., 1]), layout!(f64[4][4] => [2, ..]));
    let from: [[f64; 4]; 4] = std::array::from_fn(|i| std::array::from_fn(|j| (4 * i + j) as f64));
    let mut to = [[0.0; 4]; 4];
    let view = column.of(&from);
    let source = view.data();
    let mut into = row.of_mut(&mut to);
    let mut into = into.data();
    let transpack = Transpack::new(source.plan(), 1, into.as_data().plan(), 1).unwrap();
    transpack.copy(&source, &mut into).unwrap();
    let bytes = [0u8; 32];
    assert_eq!(transpack.copy(&data_of(&bytes), &mut into), Err(PackError::Plan));
    let error = into.copy_from(&data_of(&bytes)).unwrap_err();
    assert!(matches!(error, PackError::Signature { byte: 0, from: BaseType::U8, to: BaseType::F64 }));
    assert!(matches!(
        into.copy_from(&data_of(&[0.0; 5])),
        Err(PackError::Length { expected: 32, found: 40, .. })
    ));
    assert_eq!(to[2], [1.0, 5.0, 9.0, 13.0]);
}

fn sendable<T: Send + Sync>() {}

#[test]
fn streams_can_be_moved_to_other_threads() {
    let values = values(1000);
    let data = data_of(&values);
    let (size, half) = (data.packed_size(), data.packed_size() / 2);
    let mut packed = vec![0; size];
    let (first, second) = packed.split_at_mut(half);
    std::thread::scope(|scope| {
        let data = &data;
        scope.spawn(move || data.pack_range(0..half, first).unwrap());
        scope.spawn(move || data.pack_range(half..size, second).unwrap());
    });
    assert_eq!(packed, pack(&values));
    sendable::<Data<'_>>();
    sendable::<Unpacker<'_>>();
}

/// A change of the representation starts anew: positions have another meaning, and the checksum covers only
/// later bytes.
#[test]
fn another_representation_begins_anew() {
    let values = [1u32, 2, 3];
    let data = data_of(&values);
    let mut packer = data.packer().with_checksum();
    assert_eq!(packer.pack(&mut [0; 4]), 4);
    let mut packer = packer.with_representation(Representation::External32).unwrap();
    let mut packed = [0; 12];
    assert_eq!((packer.position(), packer.pack(&mut packed)), (0, 12));
    assert_eq!(packer.checksum(), Some(crc32c::crc32c(&packed)));

    let mut copies = [0u32; 3];
    let mut unpacker = data_of_mut(&mut copies).unpacker().with_checksum();
    unpacker.unpack(0, &[9; 6]).unwrap();
    let mut unpacker = unpacker.with_representation(Representation::External32).unwrap();
    assert_eq!((unpacker.position(), unpacker.missing().next()), (0, Some(0..12)));
    unpacker.unpack(0, &packed).unwrap();
    assert_eq!(unpacker.checksum(), Some(crc32c::crc32c(&packed)));
    assert_eq!(copies, values);
}

/// A character takes two bytes in `external32`, and has no sign.
#[test]
fn characters_of_external32_are_never_negative() {
    let plan = Plan::new(&TypeTree::vector(2, 4, TypeTree::Leaf(BaseType::WChar))).unwrap();
    let memory: Vec<u8> = ['한', '漢'].into_iter().flat_map(|c| (c as u32).to_ne_bytes()).collect();
    let packer = Data::new(&plan, 1, &memory, 0).unwrap().packer();
    let mut packer = packer.with_representation(Representation::External32).unwrap();
    let mut packed = [0; 4];
    assert_eq!((packer.size(), packer.pack(&mut packed)), (4, 4));
    assert_eq!(packed, [0xD5, 0x5C, 0x6F, 0x22]);
    let mut copy = vec![0; 8];
    let unpacker = DataMut::new(&plan, 1, &mut copy, 0).unwrap().unpacker();
    unpacker.with_representation(Representation::External32).unwrap().unpack(0, &packed).unwrap();
    assert_eq!(copy, memory);
}
