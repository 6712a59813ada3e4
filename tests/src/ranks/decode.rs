//! Datatypes of every constructor are decoded and normalized. MPI shows whether the results are equivalent:
//! it packs with them, and reports their bounds.

use std::{
    collections::HashSet,
    ops::Range,
    os::raw::c_int,
    sync::{Arc, atomic::Ordering},
};

use dtype_core::{
    ArrayOrder, BaseType, Bounds, Constructor, ConstructorKind, Datatype, Distributed, Distribution, Error,
    NodeCosts, Subdimension, TypeTree,
};
use dtype_mpi::{Committed, Contents, Decoded, constructors, make};
use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{
    decode,
    decode::{build, normalize},
    pack::{Data, Representation},
};
use dtype_tests::{constant, is_intel, is_library, mpi_pack};
use mpi::{
    datatype::{DatatypeRef, UserDatatype},
    ffi::{self, MPI_Aint, MPI_Datatype},
    raw::{AsRaw, FromRaw},
    traits::Equivalence,
};

use crate::{
    engine::{Random, base_types, has, predefined},
    inspect::bounds,
    lifecycle::{FREED, watch},
    spy,
};

fn reference(datatype: MPI_Datatype) -> DatatypeRef<'static> {
    // SAFETY: the datatypes here live until their test frees them, and are not used later.
    unsafe { DatatypeRef::from_raw(datatype) }
}

/// A generator of random datatypes, which it makes by direct calls.
struct Maker {
    random: Random,
    predefined: Vec<MPI_Datatype>,
    made: Vec<MPI_Datatype>,
}

impl Maker {
    fn int(&mut self, range: Range<i32>) -> c_int {
        range.start + self.random.below((range.end - range.start) as usize) as c_int
    }

    fn ints(&mut self, count: c_int, range: Range<i32>) -> Vec<c_int> {
        (0..count).map(|_| self.int(range.clone())).collect()
    }

    /// Returns displacements in bytes, further apart than most children are long.
    fn places(&mut self, count: c_int) -> Vec<MPI_Aint> {
        (0..count).map(|i| (i * 200 + self.int(-20..60) * 4) as MPI_Aint).collect()
    }

    /// Makes a datatype of up to `levels` levels.
    fn datatype(&mut self, levels: usize) -> MPI_Datatype {
        if levels == 0 {
            return self.predefined[self.random.below(self.predefined.len())];
        }
        let old = self.datatype(levels - 1);
        let (count, length) = (self.int(0..4), self.int(1..4));
        let constructor = self.int(0..12);
        let (lengths, places) = (self.ints(count, 0..4), self.places(count));
        let displacements = self.ints(count, -5..20);
        // Open MPI 4.1.4 treats a stride of -1 byte as another stride.
        let stride = match self.int(-3..8) {
            -1 if bounds(old).2 == 1 => -2,
            stride => stride,
        };
        let olds: Vec<_> =
            (0..count).map(|_| if self.random.one_in(2) { old } else { self.datatype(levels - 1) }).collect();
        let dimensions = self.int(1..4);
        let sizes = self.ints(dimensions, 2..5);
        let subsizes: Vec<_> = sizes.iter().map(|size| self.int(1..size + 1)).collect();
        let starts: Vec<_> =
            sizes.iter().zip(&subsizes).map(|(size, subsize)| self.int(0..size - subsize + 1)).collect();
        let order = if self.random.one_in(2) { constant!(MPI_ORDER_C) } else { constant!(MPI_ORDER_FORTRAN) };
        let lower_bound = self.int(-3..4) as MPI_Aint;
        // SAFETY: MPI is initialized, every list has the length that is passed with it, and the old datatypes
        // live.
        unsafe {
            let mut new = ffi::RSMPI_DATATYPE_NULL;
            let result = &raw mut new;
            let code = match constructor {
                0 => ffi::MPI_Type_dup(old, result),
                1 => ffi::MPI_Type_contiguous(count, old, result),
                2 => ffi::MPI_Type_vector(count, length, stride, old, result),
                3 => ffi::MPI_Type_create_hvector(count, length, 40 * stride as MPI_Aint, old, result),
                4 => ffi::MPI_Type_indexed(count, lengths.as_ptr(), displacements.as_ptr(), old, result),
                5 => ffi::MPI_Type_create_hindexed(count, lengths.as_ptr(), places.as_ptr(), old, result),
                6 => ffi::MPI_Type_create_indexed_block(count, length, displacements.as_ptr(), old, result),
                7 => ffi::MPI_Type_create_hindexed_block(count, length, places.as_ptr(), old, result),
                8 => ffi::MPI_Type_create_struct(
                    count,
                    lengths.as_ptr(),
                    places.as_ptr(),
                    olds.as_ptr(),
                    result,
                ),
                9 => ffi::MPI_Type_create_subarray(
                    dimensions,
                    sizes.as_ptr(),
                    subsizes.as_ptr(),
                    starts.as_ptr(),
                    order,
                    old,
                    result,
                ),
                10 => {
                    let extent = self.int(0..300) as MPI_Aint;
                    ffi::MPI_Type_create_resized(old, lower_bound, extent, result)
                }
                _ => self.darray(&sizes, order, old, result),
            };
            if code != ffi::MPI_SUCCESS as c_int {
                // Open MPI 4.1.4 cannot make a darray of a datatype without data.
                assert_eq!(bounds(old).0, 0, "constructor {constructor}: error code {code}");
                ffi::MPI_Type_dup(old, result);
            }
            self.made.push(new);
            new
        }
    }

    /// Makes a random darray.
    ///
    /// # Safety
    /// As for `MPI_Type_create_darray`: `old` is a live datatype, and `new` is valid for writes.
    unsafe fn darray(
        &mut self,
        sizes: &[c_int],
        order: c_int,
        old: MPI_Datatype,
        new: *mut MPI_Datatype,
    ) -> c_int {
        let mut distributions = Vec::new();
        let mut blocks = Vec::new();
        let mut grid = Vec::new();
        for size in sizes {
            // Intel MPI packs block-cyclic dimensions wrongly.
            let kinds = if is_intel() { 3 } else { 5 };
            let (distribution, block, processes) = match self.int(0..kinds) {
                0 => (constant!(MPI_DISTRIBUTE_NONE), constant!(MPI_DISTRIBUTE_DFLT_DARG), 1),
                1 => (constant!(MPI_DISTRIBUTE_BLOCK), constant!(MPI_DISTRIBUTE_DFLT_DARG), 2),
                2 => (constant!(MPI_DISTRIBUTE_BLOCK), *size, self.int(1..3)),
                3 => (constant!(MPI_DISTRIBUTE_CYCLIC), constant!(MPI_DISTRIBUTE_DFLT_DARG), 2),
                _ => (constant!(MPI_DISTRIBUTE_CYCLIC), self.int(1..3), 2),
            };
            distributions.push(distribution);
            blocks.push(block);
            grid.push(processes);
        }
        let size: c_int = grid.iter().product();
        let rank = self.int(0..size);
        // SAFETY: the old datatype is live, by the caller's condition; the lists are as long as there are
        // dimensions.
        unsafe {
            let distributions = distributions.as_ptr();
            let blocks = blocks.as_ptr();
            let grid = grid.as_ptr();
            let dimensions = sizes.len() as c_int;
            ffi::MPI_Type_create_darray(
                size,
                rank,
                dimensions,
                sizes.as_ptr(),
                distributions,
                blocks,
                grid,
                order,
                old,
                new,
            )
        }
    }

    fn free(&mut self) {
        for mut datatype in self.made.drain(..) {
            // SAFETY: each was made here, and is freed once.
            unsafe { ffi::MPI_Type_free(&raw mut datatype) };
        }
    }
}

/// The number of bytes on each side of the values.
const ROOM: usize = 1 << 16;

/// Returns the number of bytes of two items of a datatype, or `None` if they are too many or lie beyond the
/// memory.
fn fits(datatype: MPI_Datatype) -> Option<usize> {
    let (size, _, extent, lower, reach) = bounds(datatype);
    let room = ROOM as i64 / 2;
    let fits = size == 0 || (lower > -room && lower + reach < room && extent < room && extent > -room);
    (fits && size < 20_000).then_some(2 * size as usize)
}

/// Checks that MPI, a plan of the decoded datatype, and MPI with the normalized datatype pack the same bytes.
///
/// Returns 1 if the library itself is wrong about the original datatype, and 0 otherwise. For a few datatypes
/// with empty parts, Open MPI 4.1.4 packs two copies wrongly. For a few datatypes with resized parts, the
/// true extents of MPICH 4.0.2 are too wide. Its true extents also include the places of empty parts.
fn compare(datatype: MPI_Datatype, memory: &[u8]) -> usize {
    let Some(size) = fits(datatype) else { return 0 };
    let mut committed = datatype;
    // SAFETY: a live datatype.
    unsafe { ffi::MPI_Type_commit(&raw mut committed) };
    let decoded = decode(&reference(datatype)).expect("a type tree can tell of it");
    let tree = decoded.tree();
    let uncached = Decoded::of(&reference(datatype)).expect("it has been decoded before");
    assert_eq!((&uncached.tree, uncached.bounds), (tree, decoded.bounds()));
    let normalized = normalize(&reference(datatype)).expect("its tree can be built");
    let (before, after) = (bounds(datatype), bounds(normalized.as_raw()));
    if size == 0 {
        assert_eq!((before.0, before.1, before.2), (after.0, after.1, after.2), "bounds of {tree}");
        return 0;
    }
    let measure = tree.measure().expect("it has been measured");
    let expected = (before.0, before.1, before.2, measure.lower_bound, measure.true_extent());
    assert_eq!(after, expected, "bounds of {tree}");
    let wider = before.3 <= after.3 && before.3 + before.4 >= after.3 + after.4;
    assert!(wider, "bounds {before:?} instead of {after:?}: {tree}");
    let origin = ROOM;
    let source = memory[origin..].as_ptr();
    let packed = mpi_pack(source, 2, datatype, size);
    assert_eq!(packed.len(), size);
    let plan = decoded.plan().expect("it fits the memory");
    let data = Data::new(&plan, 2, memory, origin).expect("there is room");
    if has_empty_parts(tree) && data.pack() != packed {
        return 1;
    }
    // Intel MPI packs copies that share bytes wrongly.
    if is_intel() && covers_twice(&data, size) {
        return 0;
    }
    assert_eq!(data.pack(), packed, "the plan of {tree}");
    assert_eq!(mpi_pack(source, 2, normalized.as_raw(), size), packed, "{normalized:?} of {tree}");
    unpacked_alike(datatype, normalized.as_raw(), &packed, &data);
    let (one, packed_tree) = (before.0, tree.gapless().expect("it has been measured"));
    let committed = Committed::new(&packed_tree, Bounds::of_extent(one)).expect("it can be built");
    assert_eq!(mpi_pack(packed.as_ptr(), 2, committed.raw(), size), packed, "built of {tree}");
    let gapless = build(packed_tree, Bounds::of_extent(one)).expect("it can be built");
    assert_eq!(bounds(gapless.as_raw()), (one, 0, one, 0, one), "bounds of {gapless:?} of {tree}");
    assert_eq!(mpi_pack(packed.as_ptr(), 2, gapless.as_raw(), size), packed, "{gapless:?} of {tree}");
    usize::from(before != after && !has_empty_parts(tree))
}

fn has_empty_parts(tree: &TypeTree) -> bool {
    let buckets = matches!(tree, TypeTree::IndexBucket { buckets, .. } if buckets.contains(&0));
    buckets
        || tree.measure().is_ok_and(|measure| measure.entries == 0)
        || tree.children().iter().any(has_empty_parts)
}

/// Returns `true` if data of `size` bytes covers a byte twice.
fn covers_twice(data: &Data<'_>, size: usize) -> bool {
    let mut blocks = data.flatten(0..size).expect("all of it");
    blocks.sort_unstable_by_key(|block| block.offset);
    blocks.windows(2).any(|pair| pair[0].offset + pair[0].size as isize > pair[1].offset)
}

/// Checks that both datatypes unpack the same bytes to the same places. Skips datatypes that cover a byte
/// twice.
fn unpacked_alike(datatype: MPI_Datatype, normalized: MPI_Datatype, packed: &[u8], data: &Data<'_>) {
    if covers_twice(data, packed.len()) {
        return;
    }
    let unpack = |datatype| {
        let (mut memory, mut position) = (vec![0xA5u8; 2 * ROOM], 0);
        // SAFETY: two items of the datatype lie within the memory, and have as many packed bytes as are
        // passed.
        unsafe {
            let target = memory[ROOM..].as_mut_ptr().cast();
            let size = packed.len() as c_int;
            let world = ffi::RSMPI_COMM_WORLD;
            ffi::MPI_Unpack(packed.as_ptr().cast(), size, &raw mut position, target, 2, datatype, world);
        }
        memory
    };
    assert!(unpack(datatype) == unpack(normalized), "unpacked {}", packed.len());
}

/// Makes MPI return its errors, so that the test sees when a library rejects a datatype.
fn return_errors() {
    // SAFETY: MPI is initialized.
    unsafe {
        ffi::MPI_Comm_set_errhandler(ffi::RSMPI_COMM_WORLD, ffi::RSMPI_ERRORS_RETURN);
        ffi::MPI_Comm_set_errhandler(ffi::RSMPI_COMM_SELF, ffi::RSMPI_ERRORS_RETURN);
    }
}

/// Decodes all predefined datatypes, and a few thousand random datatypes of all constructors.
pub fn decoded() {
    return_errors();
    let predefined: Vec<_> = base_types().into_iter().map(predefined).collect();
    let memory: Vec<u8> = (0..2 * ROOM).map(|i| (i.wrapping_mul(167) + (i >> 8)) as u8 % 2).collect();
    for datatype in
        predefined.iter().copied().chain(spy::datatypes(spy::c_f90)).chain(spy::datatypes(spy::c_value_index))
    {
        assert_eq!(compare(datatype, &memory), 0);
    }
    for mut datatype in spy::datatypes(spy::c_large) {
        compare(datatype, &memory);
        // SAFETY: made by the function in C, and freed once.
        unsafe { ffi::MPI_Type_free(&raw mut datatype) };
    }
    let memory: Vec<u8> = (0..2 * ROOM).map(|i| (i.wrapping_mul(167) + (i >> 8)) as u8).collect();
    let mut maker = Maker { random: Random(11), predefined, made: Vec::new() };
    let (rounds, mut wrong) = (4000, 0);
    for round in 0..rounds {
        let datatype = maker.datatype(1 + round % 4);
        wrong += compare(datatype, &memory);
        maker.free();
    }
    assert!(wrong < rounds / 200, "the library was wrong {wrong} times");
}

/// A decoded tree is kept on the datatype and its duplicates. If a datatype cannot be decoded, the error says
/// why.
pub fn kept() {
    // SAFETY: MPI is initialized; all handles are freed once.
    unsafe {
        let mut column = ffi::RSMPI_DATATYPE_NULL;
        ffi::MPI_Type_vector(10, 1, 10, ffi::RSMPI_DOUBLE, &raw mut column);
        let first = decode(&reference(column)).unwrap();
        let mut copy = ffi::RSMPI_DATATYPE_NULL;
        ffi::MPI_Type_dup(column, &raw mut copy);
        assert!(Arc::ptr_eq(&first, &decode(&reference(column)).unwrap()));
        assert!(Arc::ptr_eq(&first, &decode(&reference(copy)).unwrap()));
        assert_eq!(Arc::strong_count(&first), 3);
        ffi::MPI_Type_free(&raw mut column);
        ffi::MPI_Type_free(&raw mut copy);
        assert_eq!(Arc::strong_count(&first), 1);
        // Normalizing twice gives the same datatype.
        let again = first.datatype().unwrap();
        assert!(first.datatype().unwrap().as_raw() == again.as_raw());

        named();
        made();
        by_other_costs();
        contents();
        let mut deep = ffi::RSMPI_DATATYPE_NULL;
        ffi::MPI_Type_contiguous(1, ffi::RSMPI_DOUBLE, &raw mut deep);
        for _ in 0..300 {
            let mut deeper = ffi::RSMPI_DATATYPE_NULL;
            ffi::MPI_Type_create_resized(deep, 0, 16, &raw mut deeper);
            ffi::MPI_Type_free(&raw mut deep);
            deep = deeper;
        }
        assert!(decode(&reference(deep)).unwrap_err().to_string().contains("256 levels deep"));
        ffi::MPI_Type_free(&raw mut deep);
    }
}

/// One layout has a datatype for each of two cost models, with the same type map. A second call returns the
/// same datatypes.
fn by_other_costs() {
    // SAFETY: a predefined datatype, which is never freed.
    let number = unsafe { DatatypeRef::from_raw(ffi::RSMPI_DOUBLE) };
    let list = UserDatatype::indexed(&[1; 3], &[0, 2, 4], &number);
    let decoded = decode(&list).unwrap();
    let costs = NodeCosts { vec: 250, idxbuc: 250, ..NodeCosts::THESIS }.linear();
    let both = || [decoded.datatype().unwrap(), decoded.datatype_by(&costs).unwrap()];
    let [vector, listed] = both();
    assert!(format!("{vector:?}").contains("Hvector"), "{vector:?}");
    assert!(format!("{listed:?}").contains("HindexedBlock"), "{listed:?}");
    assert!(both().map(|again| again.as_raw()) == [vector.as_raw(), listed.as_raw()]);
    let memory: Vec<u8> = (0..40).collect();
    let packed = [&vector, &listed].map(|of| mpi_pack(memory.as_ptr(), 1, of.as_raw(), 24));
    assert_eq!(packed[0], packed[1]);
    assert_eq!(bounds(vector.as_raw()), bounds(listed.as_raw()));
}

/// Datatypes are described and compared by their constructors and arguments.
fn contents() {
    // SAFETY: predefined datatypes, which are never freed.
    let [number, byte] =
        unsafe { [ffi::RSMPI_DOUBLE, ffi::RSMPI_UINT8_T].map(|raw| DatatypeRef::from_raw(raw)) };
    let column = |length| UserDatatype::vector(length, 1, 10, &f64::equivalent_datatype());
    let of = |length| Contents::of(&column(length)).unwrap();
    assert_eq!(of(10), of(10));
    assert_ne!(of(10), of(9));
    // Three ints, and the numbers of the constructor, of its lists and of the base type.
    assert!(of(10).size() >= 12 && of(10).size() % 4 == 0, "{:?}", of(10));
    let pair = UserDatatype::structured(&[1, 1], &[0, 8], &[number, byte]);
    // SAFETY: a constant of the library.
    let mut darray = unsafe { ffi::RSMPI_DATATYPE_NULL };
    let sizes = [8];
    let kinds = [constant!(MPI_DISTRIBUTE_CYCLIC)];
    let blocks = [constant!(MPI_DISTRIBUTE_DFLT_DARG)];
    let processes = [2];
    // SAFETY: each list has one number.
    let code = unsafe {
        let [sizes, kinds, blocks, processes] =
            [&sizes, &kinds, &blocks, &processes].map(|list| list.as_ptr());
        let order = constant!(MPI_ORDER_C);
        ffi::MPI_Type_create_darray(
            2,
            0,
            1,
            sizes,
            kinds,
            blocks,
            processes,
            order,
            ffi::RSMPI_DOUBLE,
            &raw mut darray,
        )
    };
    assert_eq!(code, ffi::MPI_SUCCESS as c_int);
    let found = [
        Contents::of(&column(3)),
        Contents::of(&pair),
        Contents::of(&UserDatatype::contiguous(2, &reference(darray))),
    ];
    let found = found.map(Result::unwrap);
    assert_eq!(found.each_ref().map(Contents::is_mixed), [false, true, false]);
    assert_eq!(found.each_ref().map(Contents::has_darrays), [false, false, true]);
    assert_eq!(constructors(&UserDatatype::contiguous(3, &column(2))).unwrap(), "contiguous(vector(f64))");
    assert_eq!(constructors(&pair).unwrap(), "struct(f64, u8)");
    assert_eq!(constructors(&reference(darray)).unwrap(), "darray(f64)");
    // SAFETY: made above, and freed once.
    unsafe { ffi::MPI_Type_free(&raw mut darray) };
}

/// MPI makes every constructor with the type map and the bounds that the core computes.
fn made() {
    let oldtype = BaseType::I16;
    let (count, blocklength) = (3, 2);
    let displacements = vec![8, 0, 24];
    let blocklengths = vec![2, 0, 1];
    let distributions = [Distribution::Block(Some(4)), Distribution::Cyclic(Some(2)), Distribution::None];
    let processes = [2, 3, 1];
    let dimension =
        |k: usize| Distributed { size: 7, distribution: distributions[k], processes: processes[k] };
    let part = |size, subsize, start| Subdimension { size, subsize, start };
    let calls = [
        Constructor::Dup { oldtype },
        Constructor::Contiguous { count, oldtype },
        Constructor::Vector { count, blocklength, stride: 5, oldtype },
        Constructor::Hvector { count, blocklength, stride: 22, oldtype },
        Constructor::Indexed {
            blocklengths: blocklengths.clone(),
            displacements: displacements.clone(),
            oldtype,
        },
        Constructor::Hindexed {
            blocklengths: blocklengths.clone(),
            displacements: displacements.clone(),
            oldtype,
        },
        Constructor::IndexedBlock { blocklength, displacements: displacements.clone(), oldtype },
        Constructor::HindexedBlock { blocklength, displacements: displacements.clone(), oldtype },
        Constructor::Struct {
            blocklengths,
            displacements,
            oldtypes: vec![BaseType::I16, BaseType::F64, BaseType::U8],
        },
        Constructor::Subarray {
            dimensions: vec![part(5, 2, 3), part(6, 4, 1)],
            order: ArrayOrder::ColumnMajor,
            oldtype,
        },
        Constructor::Darray {
            rank: 4,
            dimensions: (0..3).map(dimension).collect(),
            order: ArrayOrder::RowMajor,
            oldtype,
        },
        Constructor::Resized { lower_bound: -4, extent: 12, oldtype },
    ];
    let kinds: HashSet<_> = calls.iter().map(Constructor::kind).collect();
    assert_eq!(kinds.len(), ConstructorKind::ALL.len());
    let mpi = dtype_mpi::ready().unwrap();
    let memory: Vec<u8> = (0..4096).map(|i| (i * 7 % 251) as u8).collect();
    for call in calls {
        // SAFETY: 1, as predefined datatypes live. The datatype is freed once.
        let mut raw = unsafe { make(&mpi, &call, |base| Ok(predefined(*base))) }.unwrap();
        let expected = call.clone().try_map(|base| Ok::<_, Error>(Datatype::base(base)));
        let Datatype { tree, bounds: core, .. } = expected.unwrap().datatype().unwrap();
        let decoded = Decoded::of(&reference(raw)).unwrap();
        let map = tree.flatten().unwrap();
        assert_eq!((decoded.tree.flatten().unwrap(), decoded.bounds), (map.clone(), core), "{call}");
        // SAFETY: a live datatype.
        unsafe { ffi::MPI_Type_commit(&raw mut raw) };
        let entries = map.types().iter().zip(map.displacements());
        let bytes: Vec<u8> = entries
            .flat_map(|(base, at)| memory[*at as usize..][..base.size() as usize].iter().copied())
            .collect();
        assert_eq!(mpi_pack(memory.as_ptr(), 1, raw, bytes.len()), bytes, "{call}");
        // SAFETY: a live datatype.
        unsafe { ffi::MPI_Type_free(&raw mut raw) };
    }
    let uneven = Constructor::Hindexed { blocklengths: vec![1], displacements: vec![0, 8], oldtype };
    // SAFETY: 1, as predefined datatypes live.
    let refused = unsafe { make(&mpi, &uneven, |base| Ok(predefined(*base))) };
    assert!(refused.is_err(), "lists of different lengths");
    let far = Constructor::Vector { count, blocklength, stride: 1 << 40, oldtype };
    // SAFETY: 1, as predefined datatypes live.
    let refused = unsafe { make(&mpi, &far, |base| Ok(predefined(*base))) }.unwrap_err().to_string();
    assert!(
        refused.contains("MPI_Type_vector: 1099511627776 does not fit its argument `stride`"),
        "{refused}"
    );
}

/// Normalizing keeps the predefined datatype that a datatype is made of, even if another one has the same
/// values.
fn named() {
    // SAFETY: a constant of the library.
    let null = unsafe { ffi::RSMPI_DATATYPE_NULL };
    for base in BaseType::all().filter(|base| has(*base)) {
        let mut every_other = null;
        // SAFETY: MPI is initialized; the datatype is freed once.
        unsafe {
            ffi::MPI_Type_vector(3, 1, 2, predefined(base), &raw mut every_other);
            ffi::MPI_Type_commit(&raw mut every_other);
        }
        let normalized = normalize(&reference(every_other)).unwrap();
        let decoded = decode(&normalized).unwrap();
        let plan = decoded.plan().unwrap();
        // The bytes are valid for any number, and for any flag.
        let memory: Vec<u8> = (0..256).map(|i| (i % 2) as u8).collect();
        let data = Data::new(&plan, 1, &memory, 0).unwrap();
        // Some bytes of a `long double` have no meaning. MPICH 5 treats all numbers of 16 bytes like this.
        let is_long = base.mpi_name().contains("LONG_DOUBLE")
            || is_library("MPICH", 5) && base.pair().is_none() && base.alignment() == 16;
        if !is_long {
            let packed = mpi_pack(memory.as_ptr(), 1, normalized.as_raw(), data.packed_size());
            assert_eq!(packed, data.pack(), "{base}");
        }
        // In MPICH, both names have one handle.
        let twin = |base| if base == BaseType::CComplex { BaseType::C32 } else { base };
        let TypeTree::Vector { count: 3, stride, child } = decoded.tree() else { panic!("{decoded:?}") };
        assert!(matches!(**child, TypeTree::Leaf(leaf) if twin(leaf) == twin(base)), "{base}: {decoded:?}");
        assert_eq!(*stride, 2 * base.extent() as i64);
        assert_eq!(bounds(normalized.as_raw()), bounds(every_other), "{base}");
        let external = |datatype| {
            let mut size: MPI_Aint = 0;
            // SAFETY: a live datatype, and a name.
            unsafe {
                ffi::MPI_Pack_external_size(c"external32".as_ptr().cast_mut(), 1, datatype, &raw mut size)
            };
            size
        };
        assert_eq!(external(normalized.as_raw()), external(every_other), "{base}");
        match (data.packer().with_representation(Representation::External32), base.external_size()) {
            (Ok(packer), Some(size)) => assert_eq!(packer.size() as u64, 3 * size),
            (Err(PackError::Representation { base: found }), None) => {
                assert!(found.external_size().is_none());
            }
            (result, _) => panic!("{base}: {result:?}"),
        }
        // SAFETY: the datatype was made above.
        unsafe { ffi::MPI_Type_free(&raw mut every_other) };
    }
}

/// Checks that many rounds of making, decoding, normalizing and dropping datatypes lose no handle.
pub fn cycles() {
    const ROUNDS: i32 = 100_000;
    let universe = mpi::initialize().expect("MPI is initialized once");
    for round in 0..ROUNDS {
        // There are more different datatypes than the cache holds.
        let (count, stride) = (2 + round % 7, 3 + round % 1009);
        // SAFETY: MPI is initialized; each handle is freed once.
        unsafe {
            let (mut inner, mut outer) = (ffi::RSMPI_DATATYPE_NULL, ffi::RSMPI_DATATYPE_NULL);
            ffi::MPI_Type_vector(count, 1, stride, ffi::RSMPI_DOUBLE, &raw mut inner);
            ffi::MPI_Type_contiguous(2, inner, &raw mut outer);
            watch(inner);
            watch(outer);
            ffi::MPI_Type_free(&raw mut inner);
            let normalized = normalize(&reference(outer)).unwrap();
            assert!(normalized.as_raw() != outer);
            watch(normalized.as_raw());
            ffi::MPI_Type_free(&raw mut outer);
        }
    }
    let freed = FREED.load(Ordering::Relaxed) as i32;
    assert!((3 * ROUNDS - 300..3 * ROUNDS).contains(&freed), "{freed}");
    drop(universe);
    assert_eq!(FREED.load(Ordering::Relaxed) as i32, 3 * ROUNDS);
}
