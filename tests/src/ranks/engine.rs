//! A comparison of the pack engine with MPI's own packing, on random trees. The datatype of a tree is made by
//! direct calls, one for each node. Values are packed, unpacked, and packed as `external32`.

use std::{
    ffi::CString,
    os::raw::{c_char, c_int},
};

use dtype_core::{BaseType, TypeTree};
use dtype_runtime::pack::{Data, DataMut, Plan, Representation};
use dtype_tests::{is_intel, is_library, mpi_pack, packed_by_many};
use mpi::ffi::{self, MPI_Aint, MPI_Datatype};

use crate::spy;

#[allow(dead_code, reason = "the build script needs more of it")]
#[path = "../../build/random.rs"]
mod generator;
pub use generator::Random;

impl Random {
    /// Returns a random tree of up to `depth` levels that covers no byte twice.
    fn tree(&mut self, depth: usize) -> TypeTree {
        let kind = if depth == 0 { 0 } else { 1 + self.below(4) };
        if kind == 0 {
            let bases = base_types();
            return TypeTree::Leaf(bases[self.below(bases.len())]);
        }
        if kind == 4 {
            let (mut at, count) = (-(8 * self.below(3) as i64), 1 + self.below(4));
            let parts = (0..count).map(|_| {
                let child = self.tree(depth - 1);
                let measure = child.measure().expect("a small tree");
                let here = at - measure.lower_bound;
                at += measure.true_extent() + self.gap();
                (here, child)
            });
            let (displacements, children): (Vec<_>, Vec<_>) = parts.unzip();
            return TypeTree::structure(displacements, children);
        }
        let child = self.tree(depth - 1);
        let step = child.measure().expect("a small tree").true_extent() + self.gap();
        match kind {
            1 => {
                // Open MPI 4.1.4 treats a stride of -1 byte as another stride.
                let backwards = if self.one_in(4) && step > 1 { -1 } else { 1 };
                TypeTree::vector(self.below(7) as u64, backwards * step, child)
            }
            2 => {
                let places = (0..self.below(6)).map(|i| i as i64 * (step + 8) + self.gap() % 8);
                TypeTree::index(places.collect::<Vec<_>>(), child)
            }
            _ => {
                let buckets: Vec<u64> = (0..self.below(5)).map(|_| self.below(4) as u64).collect();
                let places: Vec<i64> = (0..buckets.len()).map(|i| i as i64 * (4 * step + 8)).collect();
                TypeTree::index_bucket(step, buckets, places, child)
            }
        }
    }

    /// Returns a random gap in bytes, often 0.
    fn gap(&mut self) -> i64 {
        [0, 0, 8, 3, 40][self.below(5)]
    }
}

/// Returns the predefined datatype of a base type, by its MPI name.
pub fn predefined(base: BaseType) -> MPI_Datatype {
    let name = CString::new(base.mpi_name()).expect("a name");
    // SAFETY: the function reads the C string, and there is room for a handle.
    unsafe {
        let mut datatype = ffi::RSMPI_DATATYPE_NULL;
        spy::c_named(name.as_ptr(), &raw mut datatype);
        datatype
    }
}

/// Returns `true` if the library has the base type. In Open MPI, a base type without support has size 0.
pub fn has(base: BaseType) -> bool {
    let (datatype, mut size) = (predefined(base), 0);
    // SAFETY: the null handle is a constant of the library; the datatype is predefined, and its size is
    // written to a local.
    unsafe {
        datatype != ffi::RSMPI_DATATYPE_NULL && {
            ffi::MPI_Type_size(datatype, &raw mut size);
            size > 0
        }
    }
}

/// Returns the base types that the library has, and whose values it copies unchanged from any stride.
///
/// MPICH packs only the ten significant bytes of a `long double`, and MPICH 5 treats all numbers of 16 bytes
/// like this. Open MPI 5.0 takes strides of complex numbers for multiples of their size.
pub fn base_types() -> Vec<BaseType> {
    let is_torn = |base: BaseType| {
        is_library("Open MPI", 5) && base.pair().is_none() && base.alignment() < base.size()
            || is_library("MPICH", 5) && matches!(base, BaseType::Integer16 | BaseType::Logical16)
    };
    BaseType::all().filter(|base| base.external_size().is_some() && has(*base) && !is_torn(*base)).collect()
}

/// Makes the datatype of a tree with one call for each node. Appends every datatype that it makes to `made`.
fn datatype(tree: &TypeTree, made: &mut Vec<MPI_Datatype>) -> MPI_Datatype {
    let several = |children: &[MPI_Datatype], places: &[i64], made: &mut Vec<MPI_Datatype>| {
        let lengths = vec![1 as c_int; children.len()];
        let places: Vec<MPI_Aint> = places.iter().map(|at| *at as MPI_Aint).collect();
        // SAFETY: each of the three lists has `children.len()` entries; the result is written to a local.
        let all = unsafe {
            let mut all = ffi::RSMPI_DATATYPE_NULL;
            let (lengths, places) = (lengths.as_ptr(), places.as_ptr());
            ffi::MPI_Type_create_struct(
                children.len() as c_int,
                lengths,
                places,
                children.as_ptr(),
                &raw mut all,
            );
            all
        };
        made.push(all);
        all
    };
    let vector = |count: u64, stride: i64, child: MPI_Datatype, made: &mut Vec<MPI_Datatype>| {
        // SAFETY: the result is written to a local.
        let vector = unsafe {
            let mut vector = ffi::RSMPI_DATATYPE_NULL;
            ffi::MPI_Type_create_hvector(count as c_int, 1, stride as MPI_Aint, child, &raw mut vector);
            vector
        };
        made.push(vector);
        vector
    };
    match tree {
        TypeTree::Leaf(base) => predefined(*base),
        TypeTree::Vector { count, stride, child } => {
            let child = datatype(child, made);
            vector(*count, *stride, child, made)
        }
        TypeTree::Index { displacements, child } => {
            let child = datatype(child, made);
            several(&vec![child; displacements.len()], displacements, made)
        }
        TypeTree::IndexBucket { stride, buckets, displacements, child } => {
            let child = datatype(child, made);
            let buckets: Vec<_> = buckets.iter().map(|count| vector(*count, *stride, child, made)).collect();
            several(&buckets, displacements, made)
        }
        TypeTree::Struct { displacements, children } => {
            let children: Vec<_> = children.iter().map(|child| datatype(child, made)).collect();
            several(&children, displacements, made)
        }
    }
}

/// Appends the bytes that `MPI_Pack_external` makes of a value at `source`.
fn pack_external(source: *const u8, datatype: MPI_Datatype, packed: &mut [u8], position: &mut MPI_Aint) {
    let (name, room) = (c"external32".as_ptr().cast::<c_char>().cast_mut(), packed.len() as MPI_Aint);
    // SAFETY: the datatype describes the memory at `source`; `packed` has space for its packed bytes.
    unsafe {
        let target = packed.as_mut_ptr().cast();
        ffi::MPI_Pack_external(name, source.cast(), 1, datatype, target, room, &raw mut *position);
    }
}

/// Returns a value at `source` as external32. MPICH 4.0.2 crashes in MPI_Pack_external of any struct (eight
/// lines of C show this), and Intel MPI packs other bytes. So with both, each number is packed by itself,
/// which by definition gives the same bytes.
fn external(source: *const u8, tree: &TypeTree, datatype: MPI_Datatype, size: usize) -> Vec<u8> {
    let (mut packed, mut position) = (vec![0u8; size + 64], 0);
    if is_library("MPICH", 4) || is_library("MPICH", 5) || is_intel() {
        for (base, at) in tree.flatten().expect("a small tree").entries() {
            let numbers = base.pair().map_or(vec![(0, base)], Vec::from);
            for (within, base) in numbers {
                // MPICH reverses the bytes of both parts of a Fortran complex number as one number.
                let base = match base {
                    BaseType::Complex => BaseType::C32,
                    BaseType::DoubleComplex => BaseType::C64,
                    base => base,
                };
                let place = source.wrapping_offset(at as isize + within as isize);
                pack_external(place, predefined(base), &mut packed, &mut position);
            }
        }
    } else {
        pack_external(source, datatype, &mut packed, &mut position);
    }
    packed.truncate(position as usize);
    packed
}

/// Plans pack and unpack the same bytes as MPI, also as external32.
pub fn engine() {
    let mut random = Random(3);
    let mut compared = 0;
    for _ in 0..600 {
        let depth = random.below(4);
        let tree = random.tree(depth);
        let measure = tree.measure().expect("a small tree");
        if measure.entries == 0 || measure.entries > 4000 {
            continue;
        }
        let origin = (8 - measure.lower_bound.min(0)) as usize;
        let length = (origin as i64 + measure.upper_bound.max(0) + 8) as usize;
        // Numbers have different bytes, and flags are 0 or 1, because a library may look at a flag's value.
        let mut memory: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        for (base, at) in tree.flatten().expect("a small tree").entries() {
            if base.plain() == Some(BaseType::Bool) {
                memory[(origin as i64 + at) as usize] %= 2;
            }
        }
        let plan = Plan::new(&tree).expect("a small tree");
        let data = Data::new(&plan, 1, &memory, origin).expect("room on both sides");
        let (ours, name) = (data.pack(), tree.to_string());
        let packer = data.packer().with_representation(Representation::External32);
        let mut packer = packer.expect("all sizes are known");
        let mut turned = vec![0; packer.size()];
        packer.pack(&mut turned);

        let mut made = Vec::new();
        let mut datatype = datatype(&tree, &mut made);
        // SAFETY: a datatype that has just been made, or a predefined one.
        unsafe { ffi::MPI_Type_commit(&raw mut datatype) };
        let source = memory[origin..].as_ptr();
        packed_by_many(&mpi_pack(source, 1, datatype, ours.len()), &ours, &name);
        // For MPI_WCHAR, Open MPI packs four bytes instead of the two in the standard's table, and MPICH
        // crashes. MPICH 5 and Intel MPI also crash for logical types of a given size, and MPICH 5 for
        // `MPI_REAL2`.
        let types = tree.flatten().expect("a small tree");
        let dies = |base: &BaseType| match base {
            BaseType::WChar | BaseType::Real2 | BaseType::Complex4 => true,
            BaseType::Logical1 | BaseType::Logical2 | BaseType::Logical4 | BaseType::Logical8 => {
                is_library("MPICH", 5) || is_intel()
            }
            _ => false,
        };
        if !types.types().iter().any(dies) {
            assert_eq!(external(source, &tree, datatype, ours.len()), turned, "external32 of {name}");
        }

        // MPI and the plan both unpack the bytes that the plan has packed.
        let (mut theirs, mut copy) = (vec![0xA5; length], vec![0xA5; length]);
        let mut position = 0;
        // SAFETY: the datatype describes the memory at `target`, and `packed` has `size` bytes.
        unsafe {
            let (packed, target) = (ours.as_ptr().cast(), theirs[origin..].as_mut_ptr().cast());
            let size = ours.len() as c_int;
            ffi::MPI_Unpack(packed, size, &raw mut position, target, 1, datatype, ffi::RSMPI_COMM_WORLD);
        }
        let mut into = DataMut::new(&plan, 1, &mut copy, origin).expect("room on both sides");
        into.unpack(&ours).expect("all of it");
        assert!(copy == theirs, "unpacked {name}");
        external_again(&plan, origin, &turned, &tree, &mut random);
        for datatype in &mut made {
            // SAFETY: each is freed once; MPI keeps a datatype while another one uses it.
            unsafe { ffi::MPI_Type_free(&raw mut *datatype) };
        }
        compared += 1;
    }
    assert!(compared > 300, "only {compared} trees");
}

/// Unpacks external32 bytes in two parts, the second one first, and packs the result to the same bytes again.
fn external_again(plan: &Plan, origin: usize, turned: &[u8], tree: &TypeTree, random: &mut Random) {
    let measure = tree.measure().expect("a small tree");
    let length = (origin as i64 + measure.upper_bound.max(0) + 8) as usize;
    let mut copy = vec![0; length];
    let into = DataMut::new(plan, 1, &mut copy, origin).expect("room on both sides");
    let mut unpacker = into.unpacker().with_representation(Representation::External32).unwrap();
    let cut = random.below(turned.len() + 1);
    unpacker.unpack(cut, &turned[cut..]).expect("the end");
    unpacker.unpack(0, &turned[..cut]).expect("the beginning");
    assert!(unpacker.is_complete(), "{tree}");
    let data = Data::new(plan, 1, &copy, origin).expect("room on both sides");
    let mut packer = data.packer().with_representation(Representation::External32).unwrap();
    let mut again = vec![0; turned.len()];
    let (first, second) = again.split_at_mut(random.below(turned.len() + 1));
    assert_eq!((packer.pack(first), packer.pack(second)), (first.len(), second.len()));
    assert_eq!(again, turned, "external32 of {tree}");
}
