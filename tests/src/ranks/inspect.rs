//! Comparisons with MPI: the sizes, bounds and envelopes that MPI reports for our datatypes, and the bytes
//! that `MPI_Pack` makes with them.

use std::{any::type_name, mem::MaybeUninit, os::raw::c_int};

use dtype_core::{
    BaseType, Bounds, Datatype, Measure, OldType, Packing, Program, Step, TypeTree, normalize, solve_layout,
};
use dtype_runtime::{
    Error, Layout, MpiDatatype,
    decode::build,
    layout,
    layout::{ArrayLike, LayoutOrigin},
    pack, packed_size, unpack_into,
};
use dtype_tests::mpi_pack;
use mpi::{
    datatype::Pointer,
    ffi::{self, MPI_Datatype},
    raw::AsRaw,
};

use crate::layouts::{Memory, packed_by_mpi};
use crate::samples::{Packed, Particle, Sample, Visit, for_each_sample};
use crate::spy;

/// Returns the size, lower bound, extent, true lower bound and true extent.
pub fn bounds(datatype: MPI_Datatype) -> (i64, i64, i64, i64, i64) {
    let mut size: c_int = 0;
    let mut lower = 0;
    let mut extent = 0;
    let mut true_lower = 0;
    let mut true_extent = 0;
    // SAFETY: the datatype is committed, and every output is a local of the right type.
    unsafe {
        ffi::MPI_Type_size(datatype, &raw mut size);
        ffi::MPI_Type_get_extent(datatype, &raw mut lower, &raw mut extent);
        ffi::MPI_Type_get_true_extent(datatype, &raw mut true_lower, &raw mut true_extent);
    }
    (size.into(), lower as i64, extent as i64, true_lower as i64, true_extent as i64)
}

/// Returns the combiner of a datatype, as MPI reports it.
fn combiner(datatype: MPI_Datatype) -> c_int {
    let mut integers = 0;
    let mut addresses = 0;
    let mut datatypes = 0;
    let mut combiner = 0;
    // SAFETY: the datatype is live, and every output is a local of the right type.
    unsafe {
        ffi::MPI_Type_get_envelope(
            datatype,
            &raw mut integers,
            &raw mut addresses,
            &raw mut datatypes,
            &raw mut combiner,
        );
    }
    combiner
}

/// Returns the combiner of a program's result. It is read from a small datatype made by the same call,
/// because the constants have different names in every library's bindings.
fn expected_combiner(program: &Program) -> c_int {
    // SAFETY: a constant of the MPI library.
    let old = unsafe { ffi::RSMPI_DOUBLE };
    let OldType::Step(last) = program.result else { return combiner(old) };
    let lengths = [1];
    let displacements = [0];
    let olds = [old];
    let (lengths, displacements) = (lengths.as_ptr(), displacements.as_ptr());
    // SAFETY: MPI is initialized; all lists have one element; the datatype is freed once.
    unsafe {
        let mut new = ffi::RSMPI_DATATYPE_NULL;
        match program.steps[last] {
            Step::Contiguous { .. } => ffi::MPI_Type_contiguous(1, old, &raw mut new),
            Step::Hvector { .. } => ffi::MPI_Type_create_hvector(1, 1, 8, old, &raw mut new),
            Step::HindexedBlock { .. } => {
                ffi::MPI_Type_create_hindexed_block(1, 1, displacements, old, &raw mut new)
            }
            Step::Hindexed { .. } => {
                ffi::MPI_Type_create_hindexed(1, lengths, displacements, old, &raw mut new)
            }
            Step::Struct { .. } => {
                ffi::MPI_Type_create_struct(1, lengths, displacements, olds.as_ptr(), &raw mut new)
            }
            Step::Resized { .. } => ffi::MPI_Type_create_resized(old, 0, 16, &raw mut new),
            ref other => panic!("no program makes {other}"),
        };
        let combiner = combiner(new);
        ffi::MPI_Type_free(&raw mut new);
        combiner
    }
}

/// Unpacks with `MPI_Unpack` into memory filled with a pattern, and checks every byte: the bytes of the type
/// map hold the data, and all others the pattern.
fn mpi_unpack_touches_only_the_type_map(
    packed: &[u8],
    datatype: MPI_Datatype,
    tree: &TypeTree,
    extent: usize,
) {
    const PATTERN: u8 = 0xA5;
    let count = 3;
    let mut memory: Vec<MaybeUninit<u128>> =
        vec![MaybeUninit::new(u128::from_ne_bytes([PATTERN; 16])); extent * count / 16 + 8];
    let mut position = 0;
    // SAFETY: the memory holds `count` extents, and `packed` holds the packed bytes of `count` values.
    let bytes = unsafe {
        ffi::MPI_Unpack(
            packed.as_ptr().cast(),
            packed.len() as c_int,
            &raw mut position,
            memory.as_mut_ptr().cast(),
            count as c_int,
            datatype,
            ffi::RSMPI_COMM_WORLD,
        );
        std::slice::from_raw_parts(memory.as_ptr().cast::<u8>(), extent * count + 64)
    };
    let mut expected = vec![PATTERN; bytes.len()];
    let map = tree.flatten().expect("a type with data");
    let mut next = packed.iter();
    for value in 0..count {
        for (base, at) in map.entries() {
            let start = value * extent + at as usize;
            expected[start..start + base.size() as usize]
                .iter_mut()
                .for_each(|byte| *byte = *next.next().unwrap());
        }
    }
    assert!(bytes == expected, "a byte beside the type map was written");
}

/// Checks every sample type: size, extents, envelope, packed bytes, and that the tiers agree.
pub fn types() {
    struct Inspect;
    impl Visit for Inspect {
        fn visit<T: Sample>(&mut self) {
            inspect::<T>(T::ORIGIN);
        }
    }
    for_each_sample(&mut Inspect);
}

fn inspect<T: Sample>(origin: LayoutOrigin) {
    let name = type_name::<T>();
    let (tree, program) = (T::tree(), T::constructor_calls());
    assert_eq!(T::layout_origin(), origin, "{name}");
    assert_eq!(tree.cost(&T::COSTS), T::cost(), "{name}");
    // All tiers find the same cost, and so does the search over single entries.
    assert_eq!(solve_layout(tree, &T::COSTS).unwrap().cost, T::cost(), "{name}");
    assert_eq!(normalize(tree, &T::COSTS).unwrap().cost, T::cost(), "{name}");
    // At run time, the algorithms find the macro's program.
    let lowered = Program::lower(tree, Some(Bounds::of_extent(size_of::<T>() as i64))).unwrap();
    assert_eq!(program, &lowered, "{name}");

    let datatype = T::datatype().unwrap().as_raw();
    let measure = tree.measure().unwrap();
    // The datatype consists of the fields, or of all bytes.
    let size = if T::BYTES { size_of::<T>() } else { packed_size::<T>(1) };
    assert_eq!(measure.size, size as u64, "{name}");
    let expected = (size as i64, 0, size_of::<T>() as i64, measure.lower_bound, measure.true_extent());
    assert_eq!(bounds(datatype), expected, "{name}");
    assert_eq!(combiner(datatype), expected_combiner(program), "{name}");

    let values: Vec<T> = (0..3).map(T::sample).collect();
    let packed = pack(&values);
    let mut unpacked: Vec<T> = (10..13).map(T::sample).collect();
    unpack_into(&packed, &mut unpacked).unwrap();
    assert_eq!(unpacked, values, "{name}");
    assert_eq!(T::validate_slice(&values), Ok(()), "{name}");
    if T::BYTES {
        return;
    }
    assert_eq!(packed, mpi_pack(values.as_ptr().cast(), 3, datatype, packed.len()), "{name}");
    mpi_unpack_touches_only_the_type_map(&packed, datatype, tree, size_of::<T>());
}

/// Checks layouts of every form: this library, `MPI_Pack` and a plain loop pack the same bytes.
pub fn layouts() {
    inspect_layout(&layout!(u8[7] => [2]));
    inspect_layout(&layout!(i16[7] => [1..]));
    inspect_layout(&layout!(f32[7] => [..=5;2]));
    inspect_layout(&layout!(f64[9][11] => [.., 3]));
    inspect_layout(&layout!(f64[9][11] => [4, ..]));
    inspect_layout(&layout!(f64[9][11] => [.., ..]));
    inspect_layout(&layout!(f64[9][11] => [..;2, 1..;3]));
    inspect_layout(&layout!(f64[2][11] => [.., 1..3]));
    inspect_layout(&layout!(u32[5][6][7] => [1..4, 1..5, 0]));
    inspect_layout(&layout!(u32[5][6][7] => [0, 1..5, 1..6]));
    inspect_layout(&layout!(u32[5][6][7] => [.., -1, ..]));
    inspect_layout(&layout!(i64[3][4][5][6] => [1.., ..;3, 2..4, -3..-1]));
    inspect_layout(&layout!(u8[100][100] => [10..90, 20..80]));
    inspect_layout(&layout!(u8[300][300] => [..;2, ..;2]));
    inspect_layout(&layout!(Particle[6][5] => [1..5;2, 2..]));
    inspect_layout(&layout!(Packed[50] => [..;7]));
}

fn inspect_layout<L: Layout>(layout: &L)
where
    [L::Element]: ArrayLike<L::Element, L::Shape, Mismatch = Error>,
{
    let tree = layout.tree();
    let (measure, datatype) = (tree.measure().unwrap(), layout.datatype().unwrap());
    let datatype = datatype.as_raw();
    let (size, _, _, true_lower, true_extent) = bounds(datatype);
    assert_eq!(size, layout.packed_size() as i64);
    assert_eq!((true_lower, true_extent), (measure.lower_bound, measure.true_extent()));
    let program = layout.constructor_calls();
    let packing = dtype_mpi::running().packing.for_size(measure.size);
    let Datatype { bounds, .. } = program.datatype().unwrap();
    let suited = Program::lower_for(tree, Some(bounds), i32::MAX as u64, packing).unwrap();
    let built = if packing == Packing::default() { program } else { &suited };
    assert_eq!(combiner(datatype), expected_combiner(built));
    assert_eq!(layout.constructor_calls(), &Program::lower(tree, None).unwrap());
    let predefined = <L::Element as MpiDatatype>::tree() == &TypeTree::Leaf(BaseType::U8);
    assert!(layout.layout_origin() == LayoutOrigin::Expansion || !predefined);

    // In the source, no two neighbouring bytes are equal.
    let memory = Memory::<L::Element>::new(0, layout.region().array_elements());
    let view = layout.of(memory.elements()).unwrap();
    let start = view.pointer() as usize - memory.bytes().as_ptr() as usize;
    let expected: Vec<u8> = tree
        .flatten()
        .unwrap()
        .entries()
        .flat_map(|(base, at)| {
            let start = start + at as usize;
            memory.bytes()[start..start + base.size() as usize].to_vec()
        })
        .collect();
    assert_eq!(view.pack(), expected);
    assert_eq!(packed_by_mpi(&view), expected);
}

/// Datatypes whose counts, block lengths and sizes do not fit a C `int`. They are built with large counts if
/// the library has them, and otherwise from several nodes. Nothing is sent.
pub fn large_counts() {
    const HUGE: usize = 3 << 30;
    let n = 20_000_000_000usize;
    let of = |name: &str, datatype: MPI_Datatype, size: usize, reach: usize| {
        let [mut found, mut first, mut true_extent] = [0; 3];
        // SAFETY: the datatype is committed, and every output is a local of the right type.
        unsafe {
            ffi::MPI_Type_size_x(datatype, &raw mut found);
            ffi::MPI_Type_get_true_extent_x(datatype, &raw mut first, &raw mut true_extent);
        }
        assert_eq!((found as usize, first, true_extent as usize), (size, 0, reach), "{name}");
    };
    let array = <[u8; HUGE]>::datatype().unwrap();
    of("contiguous", array.as_raw(), HUGE, HUGE);
    let pair = <(f64, [u16; HUGE])>::datatype().unwrap();
    of("struct", pair.as_raw(), 8 + 2 * HUGE, 8 + 2 * HUGE);
    let every_other = layout!(u8[n] => [..;2]).unwrap().datatype().unwrap();
    of("vector", every_other.as_raw(), n / 2, n - 1);
    let end = 4 * HUGE;
    let blocks = layout!(u8[n] => [0..HUGE] + [4_000_000_000..8_000_000_001usize] + [end..end + 5]).unwrap();
    of("blocks", blocks.datatype().unwrap().as_raw(), HUGE + 4_000_000_001 + 5, end + 5);
    let equal = layout!(u8[n] => [0..HUGE] + [5_000_000_000..5_000_000_000 + HUGE] + [end..end + HUGE]);
    of("equal blocks", equal.unwrap().datatype().unwrap().as_raw(), 3 * HUGE, end + HUGE);
    // Decoding the datatype gives the same type map.
    let decoded = dtype_runtime::decode(&blocks.datatype().unwrap()).unwrap();
    assert_eq!(decoded.tree().runs().unwrap(), blocks.type_map().unwrap());
}

/// Every constructor at sizes around the largest C `int` and `unsigned int`. Nothing is sent.
pub fn large_constructors() {
    const INT: u64 = i32::MAX as u64;
    let run = |base: BaseType, count| TypeTree::vector(count, base.extent() as i64, TypeTree::Leaf(base));
    let large = [INT - 1, INT, INT + 1, INT + 2, 2 * INT, 2 * INT + 1, (1 << 32) + 17, 1 << 33];
    for (n, base) in large.into_iter().flat_map(|n| [BaseType::U8, BaseType::F64].map(|base| (n, base))) {
        let (leaf, short) = (TypeTree::Leaf(base), TypeTree::Leaf(BaseType::I16));
        let (size, at) = (base.size() as i64, n as i64 * base.size() as i64 + 64);
        let trees = [
            run(base, n),
            TypeTree::vector(3, at, run(base, n)),
            TypeTree::vector(n, 3 * size, run(base, 2)),
            TypeTree::vector(2, at * 4 * size, TypeTree::vector(n, 2 * size, leaf.clone())),
            TypeTree::index([0, at, 3 * at], run(base, n)),
            TypeTree::index([0, at], TypeTree::vector(n, 3 * size, run(base, 2))),
            TypeTree::index_bucket(2 * size, [n, 5], [0, 2 * at], leaf),
            TypeTree::structure([0, at], [run(base, n), short.clone()]),
            TypeTree::structure([0, at, 2 * at], [run(base, n), short, run(base, n + 1)]),
        ];
        for tree in trees {
            let Measure { lower_bound, upper_bound, size, .. } = tree.measure().unwrap();
            let datatype = build(tree.clone(), Bounds::of_extent(upper_bound));
            let datatype = datatype.unwrap_or_else(|error| panic!("{error}: {n} × {base}\n{tree}"));
            let [mut found, mut first, mut true_extent] = [0; 3];
            // SAFETY: the datatype is committed, and every output is a local of the right type.
            unsafe {
                ffi::MPI_Type_size_x(datatype.as_raw(), &raw mut found);
                ffi::MPI_Type_get_true_extent_x(datatype.as_raw(), &raw mut first, &raw mut true_extent);
            }
            let found = (found as u64, first, true_extent);
            assert_eq!(found, (size, lower_bound, upper_bound - lower_bound), "{n} × {base}\n{tree}");
        }
    }
}

/// A datatype that the library builds wrongly is an error and is not used. The next attempt builds a new one.
pub fn built_wrongly() {
    let n = 1000 + std::hint::black_box(1);
    let layout = layout!(u8[n] => [..]).unwrap();
    // SAFETY: the function sets a number of this process, which has one thread.
    unsafe { spy::c_make_mistakes(1) };
    let error = layout.datatype().err().map(|error| error.to_string());
    let error = error.expect("an error");
    let library = mpi::environment::library_version().unwrap_or_default();
    let library = library.split([',', '\n']).next().unwrap_or_default().trim_end();
    assert_eq!(
        error,
        format!(
            "the requested datatype has 1001 bytes of data in bytes 0 to 1001 of memory, but {library} built \
             one with 1000 bytes of data in bytes 0 to 1000: divide the message, or use another MPI library"
        )
    );
    assert_eq!(bounds(layout.datatype().unwrap().as_raw()), (1001, 0, 1001, 0, 1001));
}
