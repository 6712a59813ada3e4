//! The conversion of a datatype's envelope and contents to a tree, node for node (MPI 4.1 section 5.1.13).
//!
//! # Safety
//! Handles of this file come from values of rsmpi, or from calls of MPI. So they are live: condition 1 of all
//! calls below.

use std::os::raw::{c_char, c_int};

use ::mpi::ffi::{self, MPI_Aint, MPI_Datatype};
use dtype_core::{
    ArgumentReader, ArrayOrder, BaseType, Bounds, ConstructorKind, Datatype, Distributed, Distribution,
    NumberKind, TypeTree,
};

use super::contents::Contents;
use crate::{
    Combiner, Envelope, Error, Usable,
    constants::{self, predefined},
    construct::size,
    errors::{checked, told},
};

/// The largest depth of nested datatypes. Each level is a recursive call.
const MOST_LEVELS: usize = 256;

/// Returns the lower bound and the extent of a datatype.
pub fn bounds(mpi: &Usable, datatype: MPI_Datatype) -> Result<Bounds, Error> {
    let (mut lower_bound, mut extent) = (0, 0);
    // SAFETY: the datatype is live; there is room for two numbers.
    let code = unsafe { mpi.MPI_Type_get_extent(datatype, &raw mut lower_bound, &raw mut extent) };
    checked(mpi, "MPI_Type_get_extent", code)?;
    Ok(Bounds { lower_bound: lower_bound as i64, extent: extent as i64 })
}

/// Returns the combiner of a datatype, and the numbers of its integers, addresses, large counts and
/// datatypes.
fn envelope(mpi: &Usable, datatype: MPI_Datatype) -> Result<(Combiner, [i64; 4]), Error> {
    // SAFETY: 1.
    let found = told(mpi, "MPI_Type_get_envelope", unsafe { Envelope::of(mpi, datatype) })?;
    Ok((found.combiner, found.numbers))
}

/// Checks the depth of a datatype within others.
fn check_level(mpi: &Usable, datatype: MPI_Datatype, level: usize) -> Result<(), Error> {
    let reason = "it is nested 256 levels deep, the limit: build it with fewer levels";
    if level == MOST_LEVELS { Err(refused(mpi, datatype, reason)) } else { Ok(()) }
}

/// Returns the tree of a datatype, and `true` if the datatype is predefined.
pub fn tree_of(mpi: &Usable, datatype: MPI_Datatype, level: usize) -> Result<(TypeTree, bool), Error> {
    check_level(mpi, datatype, level)?;
    let (combiner, numbers) = envelope(mpi, datatype)?;
    if let Some(kind) = combiner.constructor() {
        let mut arguments = Arguments::of(mpi, datatype, numbers, level + 1)?;
        // The bounds of a resized datatype are not read here: the caller asks MPI for them. They become the
        // bounds of the result, or affect the strides in the enclosing datatype.
        return Ok((kind.read(&mut arguments)?.tree()?, false));
    }
    let tree = match combiner {
        Combiner::Named => named(mpi, datatype)?,
        Combiner::F90Real => number(mpi, datatype, Some(NumberKind::Real))?,
        Combiner::F90Complex => number(mpi, datatype, Some(NumberKind::Complex))?,
        Combiner::F90Integer => number(mpi, datatype, Some(NumberKind::Signed))?,
        Combiner::ValueIndex => value_index(&Arguments::of(mpi, datatype, numbers, level + 1)?)?,
        _ => {
            return Err(refused(
                mpi,
                datatype,
                "it was built by a constructor that this program does not know",
            ));
        }
    };
    Ok((tree, true))
}

/// Adds a datatype to `contents`: its combiner, its arguments, and the datatypes within it.
pub fn add_contents(
    mpi: &Usable,
    contents: &mut Contents,
    datatype: MPI_Datatype,
    level: usize,
) -> Result<(), Error> {
    check_level(mpi, datatype, level)?;
    let (combiner, numbers) = envelope(mpi, datatype)?;
    contents.nodes.push(combiner as i64);
    let Some(kind) = combiner.constructor() else {
        match tree_of(mpi, datatype, level)?.0 {
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
    };
    contents.is_mixed |= kind == ConstructorKind::Struct;
    contents.has_darrays |= kind == ConstructorKind::Darray;
    contents.nodes.extend(numbers);
    let Arguments { integers, addresses, counts, datatypes, level, .. } =
        Arguments::of(mpi, datatype, numbers, level + 1)?;
    contents.integers.extend_from_slice(integers.as_slice());
    contents.addresses.extend(addresses.as_slice().iter().map(|address| *address as i64));
    contents.addresses.extend(counts.into_iter().flatten());
    datatypes.iter().try_for_each(|Old(mpi, old)| add_contents(mpi, contents, *old, level))
}

/// The largest number of parts of a struct that are named.
const MOST_PARTS: usize = 6;

/// The largest depth of constructors whose parts are named.
const MOST_NAMED: usize = 5;

/// Returns the constructors of a datatype, the outermost first: `resized(struct(u8, f64))`.
pub fn constructors_of(mpi: &Usable, datatype: MPI_Datatype, level: usize) -> Result<String, Error> {
    let (combiner, numbers) = envelope(mpi, datatype)?;
    let Some(kind) = combiner.constructor() else {
        return Ok(match tree_of(mpi, datatype, level)?.0 {
            TypeTree::Leaf(base) => base.to_string(),
            tree => tree.kind().to_string(),
        });
    };
    let Arguments { datatypes: parts, .. } = Arguments::of(mpi, datatype, numbers, level + 1)?;
    let named = parts.iter().take(if level < MOST_NAMED { MOST_PARTS } else { 0 });
    let named = named.map(|Old(mpi, part)| constructors_of(mpi, *part, level + 1));
    let mut named = named.collect::<Result<Vec<_>, _>>()?;
    if parts.len() > named.len() {
        named.push("…".to_owned());
    }
    Ok(format!("{}({})", kind.name().trim_start_matches("create_"), named.join(", ")))
}

/// Returns the base type of a predefined datatype, as a leaf.
fn named(mpi: &Usable, datatype: MPI_Datatype) -> Result<TypeTree, Error> {
    let Some(base) = BaseType::all().find(|base| predefined(*base) == Some(datatype)) else {
        return Err(refused(mpi, datatype, "it is not a predefined datatype of the MPI standard"));
    };
    // SAFETY: 1.
    let size = unsafe { size(mpi, datatype) }?;
    if size == 0 {
        return Err(refused(mpi, datatype, "this MPI library was built without this datatype"));
    }
    if size == base.size() as i64 && bounds(mpi, datatype)? == Bounds::of_extent(base.extent() as i64) {
        return Ok(TypeTree::Leaf(base));
    }
    // An option of the Fortran compiler can make the Fortran types of an MPI library larger.
    number(mpi, datatype, base.number_kind())
}

/// Returns the leaf for a number of this kind. The number has the datatype's size in this library.
fn number(mpi: &Usable, datatype: MPI_Datatype, kind: Option<NumberKind>) -> Result<TypeTree, Error> {
    // SAFETY: 1.
    let size = unsafe { size(mpi, datatype) }?;
    let base = kind.zip(size.try_into().ok()).and_then(|(kind, size)| BaseType::of_number(kind, size));
    // There are two kinds of 16-byte reals, and MPI does not tell which kind a datatype has.
    let unknown = || refused(mpi, datatype, "its size does not determine its Fortran type");
    base.map(TypeTree::Leaf).ok_or_else(unknown)
}

/// Returns an error that names the datatype.
fn refused(mpi: &Usable, datatype: MPI_Datatype, reason: &'static str) -> Error {
    /// The size of the name's buffer. `MPI_MAX_OBJECT_NAME` is 64 to 128.
    const ROOM: usize = 1024;
    let (mut name, mut length) = (vec![0u8; ROOM], 0);
    // SAFETY: the datatype is live, and the buffer is longer than the names of any library.
    let code =
        unsafe { mpi.MPI_Type_get_name(datatype, name.as_mut_ptr().cast::<c_char>(), &raw mut length) };
    name.truncate(if code == 0 { usize::try_from(length).unwrap_or(0) } else { 0 });
    let name = String::from_utf8_lossy(&name).into_owned();
    Error::Datatype { name: if name.is_empty() { "without a name".into() } else { name }, reason }
}

/// A datatype within another one. If it is not predefined, dropping frees it: `MPI_Type_get_contents` returns
/// a new handle.
struct Old<'m>(&'m Usable, MPI_Datatype);

impl Drop for Old<'_> {
    fn drop(&mut self) {
        let Self(mpi, raw) = self;
        if envelope(mpi, *raw).is_ok_and(|(combiner, _)| combiner.constructor().is_some()) {
            // SAFETY: the handle is a new one that must be freed, and is not used any more.
            unsafe { mpi.MPI_Type_free(raw) };
        }
    }
}

/// The constructor arguments of a datatype, read one after another in the order of the constructor.
struct Arguments<'m> {
    mpi: &'m Usable,
    datatype: MPI_Datatype,
    integers: std::vec::IntoIter<c_int>,
    addresses: std::vec::IntoIter<MPI_Aint>,
    /// The counts and addresses of a constructor with large counts; `None` for any other constructor.
    counts: Option<std::vec::IntoIter<i64>>,
    datatypes: Vec<Old<'m>>,
    /// The level of the datatypes within this one.
    level: usize,
}

impl<'m> Arguments<'m> {
    fn of(mpi: &'m Usable, datatype: MPI_Datatype, numbers: [i64; 4], level: usize) -> Result<Self, Error> {
        let length = |i: usize| usize::try_from(numbers[i]).unwrap_or(0);
        let mut integers = vec![0; length(0)];
        let mut addresses: Vec<MPI_Aint> = vec![0; length(1)];
        let mut counts = vec![0i64; length(2)];
        // SAFETY: reading a constant that MPI_Init has set up.
        let mut datatypes = vec![unsafe { ffi::RSMPI_DATATYPE_NULL }; length(3)];
        // SAFETY: 1, since the caller has asked for the constructor; 2, as the lists are made here.
        let code = unsafe {
            mpi.contents(
                datatype,
                numbers,
                integers.as_mut_ptr(),
                addresses.as_mut_ptr(),
                counts.as_mut_ptr(),
                datatypes.as_mut_ptr(),
            )
        };
        checked(mpi, "MPI_Type_get_contents", code)?;
        Ok(Self {
            mpi,
            datatype,
            integers: integers.into_iter(),
            addresses: addresses.into_iter(),
            counts: (!counts.is_empty()).then(|| counts.into_iter()),
            datatypes: datatypes.into_iter().map(|old| Old(mpi, old)).collect(),
            level,
        })
    }

    /// Returns the next argument of C type `int`, or 0 if there is none.
    fn int(&mut self) -> c_int {
        self.integers.next().unwrap_or(0)
    }

    /// Returns an error that says that a datatype is missing.
    fn incomplete(&self) -> Error {
        refused(self.mpi, self.datatype, "MPI does not return the datatypes that it was built from")
    }
}

impl ArgumentReader for Arguments<'_> {
    type Datatype = Datatype;
    type Error = Error;

    fn integer(&mut self) -> Result<u64, Error> {
        Ok(u64::try_from(self.int()).unwrap_or(0))
    }

    fn count(&mut self) -> Result<u64, Error> {
        Ok(u64::try_from(self.number()?).unwrap_or(0))
    }

    fn counts(&mut self, count: u64) -> Result<Vec<u64>, Error> {
        (0..count).map(|_| self.count()).collect()
    }

    fn number(&mut self) -> Result<i64, Error> {
        Ok(match &mut self.counts {
            Some(counts) => counts.next().unwrap_or(0),
            None => self.int().into(),
        })
    }

    fn numbers(&mut self, count: u64) -> Result<Vec<i64>, Error> {
        (0..count).map(|_| self.number()).collect()
    }

    fn address(&mut self) -> Result<i64, Error> {
        Ok(match &mut self.counts {
            Some(counts) => counts.next().unwrap_or(0),
            None => self.addresses.next().unwrap_or(0) as i64,
        })
    }

    fn addresses(&mut self, count: u64) -> Result<Vec<i64>, Error> {
        (0..count).map(|_| self.address()).collect()
    }

    fn order(&mut self) -> Result<ArrayOrder, Error> {
        let fortran = self.int() == constants::MPI_ORDER_FORTRAN();
        Ok(if fortran { ArrayOrder::ColumnMajor } else { ArrayOrder::RowMajor })
    }

    fn distributed(&mut self, _size: u64, ndims: u64) -> Result<Vec<Distributed>, Error> {
        let sizes = self.counts(ndims)?;
        let [distributions, blocks, processes] =
            [(); 3].map(|()| (0..ndims).map(|_| self.int()).collect::<Vec<_>>());
        let dimensions = (0..sizes.len()).map(|k| {
            let is_default = blocks[k] == constants::MPI_DISTRIBUTE_DFLT_DARG();
            let block = (!is_default).then(|| usize::try_from(blocks[k]).unwrap_or(0));
            let distribution = match distributions[k] {
                kind if kind == constants::MPI_DISTRIBUTE_BLOCK() => Distribution::Block(block),
                kind if kind == constants::MPI_DISTRIBUTE_CYCLIC() => Distribution::Cyclic(block),
                _ => Distribution::None,
            };
            let processes = u64::try_from(processes[k]).unwrap_or(0);
            Distributed { size: sizes[k], distribution, processes }
        });
        Ok(dimensions.collect())
    }

    fn datatype(&mut self) -> Result<Datatype, Error> {
        let Some(Old(mpi, old)) = self.datatypes.first() else { return Err(self.incomplete()) };
        old_type(mpi, *old, self.level)
    }

    fn datatypes(&mut self, _count: u64) -> Result<Vec<Datatype>, Error> {
        let mut oldtypes: Vec<Datatype> = Vec::with_capacity(self.datatypes.len());
        for (i, Old(mpi, old)) in self.datatypes.iter().enumerate() {
            let before = i.checked_sub(1).filter(|before| self.datatypes[*before].1 == *old);
            oldtypes.push(match before {
                Some(before) => oldtypes[before].clone(),
                None => old_type(mpi, *old, self.level)?,
            });
        }
        Ok(oldtypes)
    }
}

/// Returns a datatype within another one, with the bounds that MPI gives it.
fn old_type(mpi: &Usable, datatype: MPI_Datatype, level: usize) -> Result<Datatype, Error> {
    Ok(Datatype { tree: tree_of(mpi, datatype, level)?.0, bounds: bounds(mpi, datatype)?, resized: false })
}

/// Returns the tree of a value and an index, one after the other as in a C struct (MPI 4.1 section 6.9.4).
fn value_index(arguments: &Arguments<'_>) -> Result<TypeTree, Error> {
    let [Old(mpi, value), Old(_, index)] = &*arguments.datatypes else { return Err(arguments.incomplete()) };
    let (value, index) = (tree_of(mpi, *value, arguments.level)?.0, tree_of(mpi, *index, arguments.level)?.0);
    let (before, behind) = (value.measure()?, index.measure()?);
    let at = before.size.next_multiple_of(behind.alignment) as i64;
    Ok(TypeTree::structure([0, at], [value, index]))
}
