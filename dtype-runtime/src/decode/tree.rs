//! The conversion of a datatype's envelope and contents to a tree, node for node (MPI 4.1 section 5.1.13).

use std::os::raw::{c_char, c_int};

use ::mpi::ffi::{self, MPI_Aint, MPI_Datatype};
use dtype_core::{
    ArrayOrder, BaseType, Bounds, Constructor, Datatype, Distributed, Distribution, Subdimension, TypeTree,
};

use super::contents::Contents;
use crate::{
    Error,
    mpi::{Envelope, checked, predefined, shim, size},
};

/// The largest depth of nested datatypes. Each level is a recursive call.
const MOST_LEVELS: usize = 256;

/// Returns the lower bound and the extent of a datatype.
pub(super) fn bounds(datatype: MPI_Datatype) -> Result<Bounds, Error> {
    let (mut lower_bound, mut extent) = (0, 0);
    // SAFETY: MPI is usable and the datatype live.
    let code = unsafe { ffi::MPI_Type_get_extent(datatype, &raw mut lower_bound, &raw mut extent) };
    checked("MPI_Type_get_extent", code)?;
    Ok(Bounds { lower_bound: lower_bound as i64, extent: extent as i64 })
}

/// The combiner of a datatype: its constructor, or `Named` for a predefined datatype.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Combiner {
    Named,
    Dup,
    Contiguous,
    Vector,
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Subarray,
    Darray,
    F90Real,
    F90Complex,
    F90Integer,
    Resized,
    ValueIndex,
}

impl Combiner {
    /// Returns the combiner for a letter of `shim.c`.
    fn of_letter(letter: u8) -> Option<Self> {
        Some(match letter {
            b'n' => Self::Named,
            b'd' => Self::Dup,
            b'c' => Self::Contiguous,
            b'v' => Self::Vector,
            b'V' => Self::Hvector,
            b'i' => Self::Indexed,
            b'I' => Self::Hindexed,
            b'b' => Self::IndexedBlock,
            b'B' => Self::HindexedBlock,
            b's' => Self::Struct,
            b'a' => Self::Subarray,
            b'A' => Self::Darray,
            b'R' => Self::F90Real,
            b'C' => Self::F90Complex,
            b'N' => Self::F90Integer,
            b'r' => Self::Resized,
            b'p' => Self::ValueIndex,
            _ => return None,
        })
    }

    fn is_predefined(self) -> bool {
        matches!(self, Self::Named | Self::F90Real | Self::F90Complex | Self::F90Integer | Self::ValueIndex)
    }
}

/// Returns the combiner of a datatype, and the numbers of its integers, addresses, large counts and
/// datatypes.
fn envelope(datatype: MPI_Datatype) -> Result<(Combiner, [i64; 4]), Error> {
    // SAFETY: MPI is usable, and the datatype live.
    let Envelope { letter, numbers } = unsafe { Envelope::of(datatype) }?;
    match Combiner::of_letter(letter) {
        Some(combiner) => Ok((combiner, numbers)),
        None => Err(refused(datatype, "it was built by a constructor that this program does not know")),
    }
}

/// Returns the tree of a datatype, and `true` if the datatype is predefined.
pub(super) fn tree_of(datatype: MPI_Datatype, level: usize) -> Result<(TypeTree, bool), Error> {
    if level == MOST_LEVELS {
        return Err(refused(datatype, "it is nested 256 levels deep, the limit: build it with fewer levels"));
    }
    let (combiner, numbers) = envelope(datatype)?;
    let tree = match combiner {
        Combiner::Named => named(datatype)?,
        Combiner::F90Real => number(datatype, Some(BaseType::F64))?,
        Combiner::F90Complex => number(datatype, Some(BaseType::C64))?,
        Combiner::F90Integer => number(datatype, Some(BaseType::I64))?,
        Combiner::ValueIndex => {
            value_index(datatype, &Arguments::of(datatype, numbers)?.datatypes, level + 1)?
        }
        _ => Arguments::of(datatype, numbers)?.constructor(datatype, combiner, level + 1)?.tree()?,
    };
    Ok((tree, combiner.is_predefined()))
}

/// Adds a datatype to `contents`: its combiner, its arguments, and the datatypes within it.
pub(super) fn add_contents(
    contents: &mut Contents,
    datatype: MPI_Datatype,
    level: usize,
) -> Result<(), Error> {
    if level == MOST_LEVELS {
        return Err(refused(datatype, "it is nested 256 levels deep, the limit: build it with fewer levels"));
    }
    let (combiner, numbers) = envelope(datatype)?;
    contents.nodes.push(combiner as i64);
    if combiner.is_predefined() {
        match tree_of(datatype, level)?.0 {
            TypeTree::Leaf(base) => {
                contents.nodes.push(base as i64);
                contents.is_mixed |= base.pair().is_some();
            }
            tree => {
                let text = tree.to_string();
                contents.nodes.push(text.len() as i64);
                contents.nodes.extend(text.bytes().map(i64::from));
                contents.is_mixed = true;
            }
        }
        return Ok(());
    }
    contents.is_mixed |= combiner == Combiner::Struct;
    contents.nodes.extend(numbers);
    let Arguments { integers, addresses, counts, datatypes } = Arguments::of(datatype, numbers)?;
    contents.integers.extend_from_slice(integers.as_slice());
    contents.addresses.extend(addresses.as_slice().iter().map(|address| *address as i64));
    contents.addresses.extend(counts.into_iter().flatten());
    datatypes.iter().try_for_each(|Old(old)| add_contents(contents, *old, level + 1))
}

/// The largest number of parts of a struct that are named.
const MOST_PARTS: usize = 6;

/// The largest depth of constructors whose parts are named.
const MOST_NAMED: usize = 5;

/// Returns the constructors of a datatype, the outermost first: `resized(struct(u8, f64))`.
pub(super) fn constructors_of(datatype: MPI_Datatype, level: usize) -> Result<String, Error> {
    let (combiner, numbers) = envelope(datatype)?;
    let name = match combiner {
        Combiner::Dup => "dup",
        Combiner::Contiguous => "contiguous",
        Combiner::Vector => "vector",
        Combiner::Hvector => "hvector",
        Combiner::Indexed => "indexed",
        Combiner::Hindexed => "hindexed",
        Combiner::IndexedBlock => "indexed_block",
        Combiner::HindexedBlock => "hindexed_block",
        Combiner::Struct => "struct",
        Combiner::Subarray => "subarray",
        Combiner::Darray => "darray",
        Combiner::Resized => "resized",
        _ => {
            return Ok(match tree_of(datatype, level)?.0 {
                TypeTree::Leaf(base) => base.to_string(),
                tree => tree.kind().to_string(),
            });
        }
    };
    let parts = Arguments::of(datatype, numbers)?.datatypes;
    let named = parts.iter().take(if level < MOST_NAMED { MOST_PARTS } else { 0 });
    let named = named.map(|Old(part)| constructors_of(*part, level + 1));
    let mut named = named.collect::<Result<Vec<_>, _>>()?;
    if parts.len() > named.len() {
        named.push("…".to_owned());
    }
    Ok(format!("{name}({})", named.join(", ")))
}

/// Returns the base type of a predefined datatype, as a leaf.
fn named(datatype: MPI_Datatype) -> Result<TypeTree, Error> {
    let Some(base) = BaseType::all().find(|base| predefined(*base) == Some(datatype)) else {
        return Err(refused(datatype, "it is not a predefined datatype of the MPI standard"));
    };
    let size = size(datatype)?;
    if size == 0 {
        return Err(refused(datatype, "this MPI library was built without this datatype"));
    }
    if size == base.size() as i64 && bounds(datatype)? == Bounds::of_extent(base.extent() as i64) {
        return Ok(TypeTree::Leaf(base));
    }
    // An option of the Fortran compiler can make the numbers of a library larger.
    number(datatype, base.plain())
}

/// Returns the leaf for a number of the same kind as this base type. The number has the datatype's size in
/// this library.
fn number(datatype: MPI_Datatype, kind: Option<BaseType>) -> Result<TypeTree, Error> {
    const KINDS: [&[BaseType]; 4] = [
        &[BaseType::I8, BaseType::I16, BaseType::I32, BaseType::I64, BaseType::Integer16],
        &[BaseType::U8, BaseType::U16, BaseType::U32, BaseType::U64],
        &[BaseType::Real2, BaseType::F32, BaseType::F64],
        &[BaseType::Complex4, BaseType::C32, BaseType::C64],
    ];
    let size = size(datatype)?;
    let kind = KINDS.into_iter().find(|bases| kind.is_some_and(|base| bases.contains(&base)));
    let base = kind.into_iter().flatten().find(|base| base.size() as i64 == size);
    // There are two kinds of 16-byte reals, and MPI does not tell which kind a datatype has.
    let unknown = || refused(datatype, "its size does not determine its Fortran type");
    base.map(|base| TypeTree::Leaf(*base)).ok_or_else(unknown)
}

/// Returns an error that names the datatype.
fn refused(datatype: MPI_Datatype, reason: &'static str) -> Error {
    /// The size of the name's buffer. `MPI_MAX_OBJECT_NAME` is 64 to 128.
    const ROOM: usize = 1024;
    let (mut name, mut length) = (vec![0u8; ROOM], 0);
    // SAFETY: MPI is usable, the datatype live, and there is more room than any library needs.
    let code =
        unsafe { ffi::MPI_Type_get_name(datatype, name.as_mut_ptr().cast::<c_char>(), &raw mut length) };
    name.truncate(if code == 0 { usize::try_from(length).unwrap_or(0) } else { 0 });
    let name = String::from_utf8_lossy(&name).into_owned();
    Error::Datatype { name: if name.is_empty() { "without a name".into() } else { name }, reason }
}

/// A datatype within another one. If it is not predefined, dropping frees it: `MPI_Type_get_contents` returns
/// a new handle.
struct Old(MPI_Datatype);

impl Drop for Old {
    fn drop(&mut self) {
        if envelope(self.0).is_ok_and(|(combiner, _)| !combiner.is_predefined()) {
            // SAFETY: the handle is a new one that must be freed, and is not used any more.
            unsafe { ffi::MPI_Type_free(&raw mut self.0) };
        }
    }
}

/// The constructor arguments of a datatype, read one after another in the order of the constructor.
struct Arguments {
    integers: std::vec::IntoIter<c_int>,
    addresses: std::vec::IntoIter<MPI_Aint>,
    /// The counts and addresses of a constructor with large counts; `None` for any other constructor.
    counts: Option<std::vec::IntoIter<i64>>,
    datatypes: Vec<Old>,
}

impl Arguments {
    fn of(datatype: MPI_Datatype, numbers: [i64; 4]) -> Result<Self, Error> {
        let length = |i: usize| usize::try_from(numbers[i]).unwrap_or(0);
        let mut integers = vec![0; length(0)];
        let mut addresses: Vec<MPI_Aint> = vec![0; length(1)];
        let mut counts = vec![0i64; length(2)];
        // SAFETY: reading a constant that MPI_Init has set up.
        let mut datatypes = vec![unsafe { ffi::RSMPI_DATATYPE_NULL }; length(3)];
        // SAFETY: MPI is usable, the datatype live and not predefined, and there is room for the numbers of
        // arguments in its envelope.
        let code = unsafe {
            shim::dtype_shim_contents(
                datatype,
                numbers.as_ptr(),
                integers.as_mut_ptr(),
                addresses.as_mut_ptr(),
                counts.as_mut_ptr(),
                datatypes.as_mut_ptr(),
            )
        };
        checked("MPI_Type_get_contents", code)?;
        Ok(Self {
            integers: integers.into_iter(),
            addresses: addresses.into_iter(),
            counts: (!counts.is_empty()).then(|| counts.into_iter()),
            datatypes: datatypes.into_iter().map(Old).collect(),
        })
    }

    /// Returns the next argument that is a C `int` in every constructor.
    fn integer(&mut self) -> c_int {
        self.integers.next().unwrap_or(0)
    }

    /// Returns the next argument that is a count, or is counted in elements.
    fn number(&mut self) -> i64 {
        match &mut self.counts {
            Some(counts) => counts.next().unwrap_or(0),
            None => self.integer().into(),
        }
    }

    /// Returns the next argument that is counted in bytes.
    fn address(&mut self) -> i64 {
        match &mut self.counts {
            Some(counts) => counts.next().unwrap_or(0),
            None => self.addresses.next().unwrap_or(0) as i64,
        }
    }

    fn count(&mut self) -> u64 {
        u64::try_from(self.number()).unwrap_or(0)
    }

    fn numbers(&mut self, count: u64) -> Vec<i64> {
        (0..count).map(|_| self.number()).collect()
    }

    fn counts(&mut self, count: u64) -> Vec<u64> {
        (0..count).map(|_| self.count()).collect()
    }

    fn in_bytes(&mut self, count: u64) -> Vec<i64> {
        (0..count).map(|_| self.address()).collect()
    }

    /// Returns the constructor call with these arguments.
    fn constructor(
        mut self,
        datatype: MPI_Datatype,
        combiner: Combiner,
        level: usize,
    ) -> Result<Constructor, Error> {
        let datatypes = std::mem::take(&mut self.datatypes);
        if combiner == Combiner::Struct {
            return self.structure(&datatypes, level);
        }
        let Some(Old(old)) = datatypes.first() else {
            return Err(refused(datatype, "MPI does not return the datatypes that it was built from"));
        };
        let oldtype = old_type(*old, level)?;
        Ok(match combiner {
            Combiner::Contiguous => Constructor::Contiguous { count: self.count(), oldtype },
            Combiner::Vector => {
                let (count, blocklength, stride) = (self.count(), self.count(), self.number());
                Constructor::Vector { count, blocklength, stride, oldtype }
            }
            Combiner::Hvector => {
                let (count, blocklength, stride) = (self.count(), self.count(), self.address());
                Constructor::Hvector { count, blocklength, stride, oldtype }
            }
            Combiner::Indexed => {
                let count = self.count();
                let (blocklengths, displacements) = (self.counts(count), self.numbers(count));
                Constructor::Indexed { blocklengths, displacements, oldtype }
            }
            Combiner::Hindexed => {
                let count = self.count();
                let (blocklengths, displacements) = (self.counts(count), self.in_bytes(count));
                Constructor::Hindexed { blocklengths, displacements, oldtype }
            }
            Combiner::IndexedBlock => {
                let (count, blocklength) = (self.count(), self.count());
                Constructor::IndexedBlock { blocklength, displacements: self.numbers(count), oldtype }
            }
            Combiner::HindexedBlock => {
                let (count, blocklength) = (self.count(), self.count());
                Constructor::HindexedBlock { blocklength, displacements: self.in_bytes(count), oldtype }
            }
            Combiner::Subarray => self.subarray(oldtype),
            Combiner::Darray => self.darray(oldtype),
            // A resized datatype, too, has the tree of its old type. MPI is asked for its bounds: they become
            // the bounds of the result, or affect the strides in the datatype around it.
            _ => Constructor::Dup { oldtype },
        })
    }

    fn structure(mut self, datatypes: &[Old], level: usize) -> Result<Constructor, Error> {
        let count = self.count();
        let (blocklengths, displacements) = (self.counts(count), self.in_bytes(count));
        let mut oldtypes: Vec<Datatype> = Vec::with_capacity(datatypes.len());
        for (i, Old(old)) in datatypes.iter().enumerate() {
            let before = i.checked_sub(1).filter(|before| datatypes[*before].0 == *old);
            oldtypes.push(match before {
                Some(before) => oldtypes[before].clone(),
                None => old_type(*old, level)?,
            });
        }
        Ok(Constructor::Struct { blocklengths, displacements, oldtypes })
    }

    fn order(&mut self) -> ArrayOrder {
        // SAFETY: the call only compares numbers.
        let fortran = unsafe { shim::dtype_shim_is_fortran_order(self.integer()) } != 0;
        if fortran { ArrayOrder::ColumnMajor } else { ArrayOrder::RowMajor }
    }

    fn subarray(&mut self, oldtype: Datatype) -> Constructor {
        let count = u64::try_from(self.integer()).unwrap_or(0);
        let [sizes, subsizes, starts] = [(); 3].map(|()| self.counts(count));
        let dimensions = (0..sizes.len()).map(|k| {
            let (size, subsize, start) = (sizes[k], subsizes[k], starts[k]);
            Subdimension { size, subsize, start }
        });
        Constructor::Subarray { dimensions: dimensions.collect(), order: self.order(), oldtype }
    }

    fn darray(&mut self, oldtype: Datatype) -> Constructor {
        let (_size, rank) = (self.integer(), self.integer());
        let count = u64::try_from(self.integer()).unwrap_or(0);
        let sizes = self.counts(count);
        let [distributions, blocks, processes] =
            [(); 3].map(|()| (0..count).map(|_| self.integer()).collect::<Vec<_>>());
        let dimensions = (0..sizes.len()).map(|k| {
            // SAFETY: both calls only compare numbers.
            let (kind, default) = unsafe {
                (
                    shim::dtype_shim_distribution(distributions[k]) as u8,
                    shim::dtype_shim_default_darg(blocks[k]),
                )
            };
            let block = (default == 0).then(|| usize::try_from(blocks[k]).unwrap_or(0));
            let distribution = match kind {
                b'b' => Distribution::Block(block),
                b'c' => Distribution::Cyclic(block),
                _ => Distribution::None,
            };
            let processes = u64::try_from(processes[k]).unwrap_or(0);
            Distributed { size: sizes[k], distribution, processes }
        });
        Constructor::Darray {
            rank: u64::try_from(rank).unwrap_or(0),
            dimensions: dimensions.collect(),
            order: self.order(),
            oldtype,
        }
    }
}

/// Returns a datatype within another one, with the bounds that MPI gives it.
fn old_type(datatype: MPI_Datatype, level: usize) -> Result<Datatype, Error> {
    Ok(Datatype { tree: tree_of(datatype, level)?.0, bounds: bounds(datatype)?, resized: false })
}

/// Returns the tree of a value and an index, one after the other as in a C struct (MPI 4.1 section 6.9.4).
fn value_index(datatype: MPI_Datatype, datatypes: &[Old], level: usize) -> Result<TypeTree, Error> {
    let [Old(value), Old(index)] = datatypes else {
        return Err(refused(datatype, "MPI does not return the datatypes that it was built from"));
    };
    let (value, index) = (tree_of(*value, level)?.0, tree_of(*index, level)?.0);
    let (before, behind) = (value.measure()?, index.measure()?);
    let at = before.size.next_multiple_of(behind.alignment) as i64;
    Ok(TypeTree::structure([0, at], [value, index]))
}
