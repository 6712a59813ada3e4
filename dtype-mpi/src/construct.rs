//! Constructor programs, run as MPI calls.

use std::os::raw::c_int;

use ::mpi::{
    Count,
    ffi::{self, MPI_Aint, MPI_Count, MPI_Datatype},
};
use dtype_core::{
    Argument, ArrayOrder, BaseType, Constructor, Datatype, Distributed, Distribution, Measure, OldType,
    Packing, Program, Purpose, Step, Subdimension, grid_size,
};

use crate::{
    Error, Usable,
    constants::{self, predefined},
    errors::checked,
    large::{LargeCounts, has_large_counts, large_counts, narrow},
    running,
};

/// Builds and commits the datatype of a constructor program for a purpose, with the calls that suit the
/// library. Returns the handle, and `true` if it was built and must be freed.
///
/// # Errors
/// [`Error::Construction`] if the size or the true extent of the datatype is not that of the program.
pub fn construct(mpi: &Usable, program: &Program, purpose: Purpose) -> Result<(MPI_Datatype, bool), Error> {
    let Datatype { tree, bounds, .. } = program.datatype()?;
    let asked = tree.measure()?;
    let most = if has_large_counts() { i64::MAX as u64 } else { Count::MAX as u64 };
    let packing = running().packing_for(purpose);
    // A call in extents has no version with large counts here.
    let is_in_bytes = program.steps.iter().all(is_in_bytes);
    let suited = if packing == Packing::default() && is_in_bytes && program.largest_count() <= most {
        None
    } else {
        Some(Program::lower_for(&tree, Some(bounds), most, packing)?)
    };
    let may_split = purpose == Purpose::Messages;
    run(mpi, suited.as_ref().unwrap_or(program), may_split, &asked)
}

/// Returns `true` for the calls that programs of trees have.
fn is_in_bytes(step: &Step) -> bool {
    match step {
        Step::Contiguous { .. }
        | Step::Hvector { .. }
        | Step::Hindexed { .. }
        | Step::HindexedBlock { .. }
        | Step::Struct { .. }
        | Step::Resized { .. } => true,
        Step::Dup { .. }
        | Step::Vector { .. }
        | Step::Indexed { .. }
        | Step::IndexedBlock { .. }
        | Step::Subarray { .. }
        | Step::Darray { .. } => false,
    }
}

/// Makes the calls of a program. The datatype has the size and the true extent in `asked`. If `may_split` is
/// set, complex numbers that the library would copy wrongly become two numbers each.
fn run(
    mpi: &Usable,
    program: &Program,
    may_split: bool,
    asked: &Measure,
) -> Result<(MPI_Datatype, bool), Error> {
    let mut steps = Steps { mpi, built: Vec::with_capacity(program.steps.len()), split: Vec::new() };
    for (complex, number) in torn(program).filter(|_| may_split) {
        let two = steps.call(&Step::Contiguous { count: 2, oldtype: OldType::Base(number) })?;
        steps.split.push((complex, two));
    }
    for step in &program.steps {
        let handle = steps.call(step)?;
        steps.built.push(handle);
    }
    let OldType::Step(index) = program.result else {
        return Ok((steps.handle(program.result)?, false));
    };
    let mut result = steps.built.swap_remove(index);
    // SAFETY: the last step built the handle.
    let code = unsafe { mpi.MPI_Type_commit(&raw mut result) };
    let is_right = checked(mpi, "MPI_Type_commit", code).and_then(|()| compare(mpi, result, asked));
    is_right.inspect_err(|_| steps.built.push(result))?;
    Ok((result, true))
}

/// Checks that a committed datatype has the size and the true extent in `asked`. Libraries overflow silently:
/// in Open MPI 4.1 and 5.0, an hvector of 4 GiB without gaps has size 0.
fn compare(mpi: &Usable, datatype: MPI_Datatype, asked: &Measure) -> Result<(), Error> {
    let [mut size, mut first, mut extent] = [0; 3];
    // SAFETY: the datatype is committed; every output is a local of the right type.
    checked(mpi, "MPI_Type_size_x", unsafe { mpi.MPI_Type_size_x(datatype, &raw mut size) })?;
    // SAFETY: the datatype is committed; every output is a local of the right type.
    checked(mpi, "MPI_Type_get_true_extent_x", unsafe {
        mpi.MPI_Type_get_true_extent_x(datatype, &raw mut first, &raw mut extent)
    })?;
    // Libraries disagree on the true lower bound of a datatype without data.
    let is_right = i64::try_from(asked.size) == Ok(size)
        && (size == 0 || (first, extent) == (asked.lower_bound, asked.true_extent()));
    if is_right {
        return Ok(());
    }
    let version = ::mpi::environment::library_version().unwrap_or_default();
    Err(Error::Construction {
        library: version.split([',', '\n']).next().unwrap_or_default().trim_end().to_owned(),
        asked_size: asked.size,
        asked_range: (asked.lower_bound, asked.upper_bound),
        built_size: size,
        built_range: (first, first.wrapping_add(extent)),
    })
}

/// Returns the complex base types of a program that the library would copy wrongly, each with the type of its
/// two components.
///
/// Open MPI 5.0 copies numbers by their alignment, and assumes that their strides are multiples of their size
/// (`opal_datatype_pack_unpack_predefined.h`). If complex numbers are 24 bytes apart, it packs numbers that
/// are 16 bytes apart.
fn torn(program: &Program) -> impl Iterator<Item = (BaseType, BaseType)> {
    let tears = running().tears_complex;
    let complex = [(BaseType::C32, BaseType::F32), (BaseType::C64, BaseType::F64)];
    complex.into_iter().filter(move |(complex, _)| {
        let mut oldtypes = program.steps.iter().flat_map(Step::oldtypes);
        tears
            && oldtypes.any(|old| *old == OldType::Base(*complex))
            && program.steps.iter().flat_map(strides).any(|stride| stride % complex.size() as i64 != 0)
    })
}

/// Returns the stride, the displacements or the extent of a call, in bytes; none if they are multiples of an
/// extent.
fn strides(step: &Step) -> impl Iterator<Item = i64> {
    let bytes = |argument: Argument<'_, OldType>| match argument {
        Argument::Address(stride) => vec![stride],
        Argument::Addresses(displacements) => displacements.to_vec(),
        _ => Vec::new(),
    };
    // A lower bound moves no data.
    let lower_bound = usize::from(matches!(step, Step::Resized { .. }));
    step.arguments().into_iter().flat_map(bytes).skip(lower_bound)
}

/// The datatypes built so far. Dropping frees them; datatypes that were built from them stay valid.
struct Steps<'m> {
    mpi: &'m Usable,
    built: Vec<MPI_Datatype>,
    /// Datatypes of two numbers, each in place of a complex base type that the library would copy wrongly.
    split: Vec<(BaseType, MPI_Datatype)>,
}

impl Drop for Steps<'_> {
    fn drop(&mut self) {
        for handle in self.built.iter_mut().chain(self.split.iter_mut().map(|(_, handle)| handle)) {
            // SAFETY: each datatype was built here and is freed once.
            unsafe { self.mpi.MPI_Type_free(handle) };
        }
    }
}

impl Steps<'_> {
    fn handle(&self, oldtype: OldType) -> Result<MPI_Datatype, Error> {
        let base = match oldtype {
            OldType::Step(index) => return Ok(self.built[index]),
            OldType::Base(base) => base,
        };
        if let Some((_, numbers)) = self.split.iter().find(|(torn, _)| *torn == base) {
            return Ok(*numbers);
        }
        let missing = || Error::Datatype {
            name: base.mpi_name().to_owned(),
            reason: "this MPI library does not have this datatype",
        };
        let handle = predefined(base).ok_or_else(missing)?;
        // SAFETY: 1, as the datatype is predefined.
        let size = unsafe { size(self.mpi, handle) };
        if size.is_ok_and(|size| size > 0) { Ok(handle) } else { Err(missing()) }
    }

    /// Makes the constructor call of a step.
    fn call(&self, step: &Step) -> Result<MPI_Datatype, Error> {
        // SAFETY: 1, since datatypes of earlier steps are freed when `self` is dropped.
        unsafe { make(self.mpi, step, |oldtype| self.handle(*oldtype)) }
    }
}

/// Makes a constructor call. `handle` returns the datatype for an old type.
///
/// # Errors
/// [`Error::Argument`] for a number that the library's function does not take; an error if lists differ in
/// length; [`Error::Mpi`] if the call fails; those of `handle`.
///
/// # Safety
/// 1. `handle` returns datatypes that are live until this function returns.
#[allow(clippy::too_many_lines, reason = "a table of calls")]
pub unsafe fn make<T>(
    mpi: &Usable,
    constructor: &Constructor<T>,
    handle: impl Fn(&T) -> Result<MPI_Datatype, Error>,
) -> Result<MPI_Datatype, Error> {
    let call = constructor.kind().mpi_name();
    check_lists(constructor)?;
    // SAFETY: a constant of the library.
    let mut new = unsafe { ffi::RSMPI_DATATYPE_NULL };
    let place = &raw mut new;
    let mut olds = constructor.oldtypes().iter().map(handle).collect::<Result<Vec<_>, _>>()?;
    let old = olds.first().copied().unwrap_or(new);
    let counts = Counts::of(constructor)?;
    // SAFETY, for every call below: 1. MPI is usable; 2. the lists have the length that is passed with them,
    // as `check_lists` has found; 3. the old types are live, by 1.
    let code = match constructor {
        // SAFETY: 1 and 3.
        Constructor::Dup { .. } => unsafe { mpi.MPI_Type_dup(old, place) },
        // SAFETY: 1 and 3.
        Constructor::Contiguous { .. } => unsafe {
            match counts {
                Counts::Few(count, _) => mpi.MPI_Type_contiguous(count, old, place),
                Counts::Many(large, count, _) => (large.contiguous)(count, old, place),
            }
        },
        Constructor::Vector { stride, .. } => {
            let (count, lengths) = counts.few(call)?;
            let stride = int(call, "stride", *stride)?;
            // SAFETY: 1 and 3.
            unsafe { mpi.MPI_Type_vector(count, lengths[0], stride, old, place) }
        }
        // SAFETY: 1 and 3.
        Constructor::Hvector { stride, .. } => unsafe {
            match counts {
                Counts::Few(count, lengths) => {
                    mpi.MPI_Type_create_hvector(count, lengths[0], *stride as MPI_Aint, old, place)
                }
                Counts::Many(large, count, lengths) => {
                    (large.hvector)(count, lengths[0], *stride, old, place)
                }
            }
        },
        Constructor::Indexed { displacements, .. } => {
            let (count, lengths) = counts.few(call)?;
            let at = ints(call, "array_of_displacements", displacements)?;
            // SAFETY: 1 to 3.
            unsafe { mpi.MPI_Type_indexed(count, lengths.as_ptr(), at.as_ptr(), old, place) }
        }
        Constructor::Hindexed { displacements, .. } => {
            let at = displacements.as_ptr();
            // SAFETY: 1 to 3.
            unsafe {
                match counts {
                    Counts::Few(count, lengths) => {
                        mpi.MPI_Type_create_hindexed(count, lengths.as_ptr(), at.cast(), old, place)
                    }
                    Counts::Many(large, count, lengths) => {
                        (large.hindexed)(count, lengths.as_ptr(), at.cast(), old, place)
                    }
                }
            }
        }
        Constructor::IndexedBlock { displacements, .. } => {
            let (count, lengths) = counts.few(call)?;
            let at = ints(call, "array_of_displacements", displacements)?;
            // SAFETY: 1 to 3.
            unsafe { mpi.MPI_Type_create_indexed_block(count, lengths[0], at.as_ptr(), old, place) }
        }
        Constructor::HindexedBlock { displacements, .. } => {
            let at = displacements.as_ptr();
            // SAFETY: 1 to 3.
            unsafe {
                match counts {
                    Counts::Few(count, lengths) => {
                        mpi.MPI_Type_create_hindexed_block(count, lengths[0], at.cast(), old, place)
                    }
                    Counts::Many(large, count, lengths) => {
                        (large.hindexed_block)(count, lengths[0], at.cast(), old, place)
                    }
                }
            }
        }
        Constructor::Struct { displacements, .. } => {
            let at = displacements.as_ptr();
            // SAFETY: 1 to 3.
            unsafe {
                match counts {
                    Counts::Few(count, lengths) => {
                        let lengths = lengths.as_ptr();
                        mpi.MPI_Type_create_struct(count, lengths, at.cast(), olds.as_ptr(), place)
                    }
                    Counts::Many(large, count, lengths) => {
                        narrow(&mut olds);
                        (large.structure)(count, lengths.as_ptr(), at.cast(), olds.as_ptr(), place)
                    }
                }
            }
        }
        Constructor::Subarray { dimensions, order, .. } => {
            let list = |argument, of: fn(&Subdimension) -> u64| {
                ints(call, argument, &dimensions.iter().map(of).collect::<Vec<_>>())
            };
            let sizes = list("array_of_sizes", |dimension| dimension.size)?;
            let subsizes = list("array_of_subsizes", |dimension| dimension.subsize)?;
            let starts = list("array_of_starts", |dimension| dimension.start)?;
            let ndims = int(call, "ndims", dimensions.len())?;
            let sizes = sizes.as_ptr();
            let subsizes = subsizes.as_ptr();
            let starts = starts.as_ptr();
            // SAFETY: 1 to 3.
            unsafe {
                mpi.MPI_Type_create_subarray(ndims, sizes, subsizes, starts, order_of(*order), old, place)
            }
        }
        Constructor::Darray { rank, dimensions, order, .. } => {
            let list = |argument, of: fn(&Distributed) -> u64| {
                ints(call, argument, &dimensions.iter().map(of).collect::<Vec<_>>())
            };
            let sizes = list("array_of_gsizes", |dimension| dimension.size)?;
            let processes = list("array_of_psizes", |dimension| dimension.processes)?;
            let (kinds, blocks) = distributions(call, dimensions)?;
            let all = grid_size(dimensions.iter().map(|dimension| dimension.processes));
            let (all, rank) = (int(call, "size", all)?, int(call, "rank", *rank)?);
            let (ndims, order) = (int(call, "ndims", dimensions.len())?, order_of(*order));
            let (sizes, kinds) = (sizes.as_ptr(), kinds.as_ptr());
            let (blocks, processes) = (blocks.as_ptr(), processes.as_ptr());
            // SAFETY: 1 to 3.
            unsafe {
                mpi.MPI_Type_create_darray(
                    all, rank, ndims, sizes, kinds, blocks, processes, order, old, place,
                )
            }
        }
        Constructor::Resized { lower_bound, extent, .. } => {
            let (lb, extent) = (address(call, "lb", *lower_bound)?, address(call, "extent", *extent)?);
            // SAFETY: 1 and 3.
            unsafe { mpi.MPI_Type_create_resized(old, lb, extent, place) }
        }
    };
    checked(mpi, call, code)?;
    Ok(new)
}

/// Checks that there are as many block lengths, and old types of a struct, as displacements.
fn check_lists<T>(constructor: &Constructor<T>) -> Result<(), Error> {
    let (displacements, all) = match constructor {
        Constructor::Indexed { blocklengths, displacements, .. }
        | Constructor::Hindexed { blocklengths, displacements, .. } => {
            (displacements.len(), vec![("block lengths", blocklengths.len())])
        }
        Constructor::Struct { blocklengths, displacements, oldtypes } => {
            let others = vec![("block lengths", blocklengths.len()), ("datatypes", oldtypes.len())];
            (displacements.len(), others)
        }
        _ => return Ok(()),
    };
    match all.into_iter().find(|(_, others)| *others != displacements) {
        None => Ok(()),
        Some((of, others)) => {
            let node = constructor.kind().mpi_name();
            Err(dtype_core::Error::UnevenNode { node, displacements, of, others }.into())
        }
    }
}

/// Returns MPI's constant for an order.
fn order_of(order: ArrayOrder) -> c_int {
    match order {
        ArrayOrder::RowMajor => constants::MPI_ORDER_C(),
        ArrayOrder::ColumnMajor => constants::MPI_ORDER_FORTRAN(),
    }
}

/// Returns MPI's constants for distributions, and the arguments beside them.
fn distributions(call: &'static str, dimensions: &[Distributed]) -> Result<(Vec<c_int>, Vec<c_int>), Error> {
    let each = dimensions.iter().map(|dimension| {
        let (kind, block) = match dimension.distribution {
            Distribution::None => (constants::MPI_DISTRIBUTE_NONE(), None),
            Distribution::Block(block) => (constants::MPI_DISTRIBUTE_BLOCK(), block),
            Distribution::Cyclic(block) => (constants::MPI_DISTRIBUTE_CYCLIC(), block),
        };
        let block = block.map(|block| int(call, "array_of_dargs", block));
        Ok((kind, block.unwrap_or_else(|| Ok(constants::MPI_DISTRIBUTE_DFLT_DARG()))?))
    });
    each.collect()
}

/// Returns a number as an `int`, as the function takes it.
fn int<N: Copy + TryInto<c_int> + TryInto<i128>>(
    call: &'static str,
    argument: &'static str,
    number: N,
) -> Result<c_int, Error> {
    let value = TryInto::<i128>::try_into(number).unwrap_or(i128::MAX);
    let error = Error::Argument { call, argument, value, limit: c_int::MAX.into() };
    number.try_into().map_err(|_| error)
}

fn ints<N: Copy + TryInto<c_int> + TryInto<i128>>(
    call: &'static str,
    argument: &'static str,
    numbers: &[N],
) -> Result<Vec<c_int>, Error> {
    numbers.iter().map(|number| int(call, argument, *number)).collect()
}

/// The count of a call and the lengths of its blocks, as the function takes them.
enum Counts {
    Few(c_int, Vec<c_int>),
    /// At least one does not fit an `int`.
    Many(&'static LargeCounts, MPI_Count, Vec<MPI_Count>),
}

impl Counts {
    /// Returns the counts of a call, or an error if one exceeds the largest count of the library.
    fn of<T>(constructor: &Constructor<T>) -> Result<Self, Error> {
        let (count, argument, lengths): (u64, _, &[u64]) = match constructor {
            Constructor::Contiguous { count, .. } => (*count, "", &[]),
            Constructor::Vector { count, blocklength, .. }
            | Constructor::Hvector { count, blocklength, .. } => {
                (*count, "blocklength", std::slice::from_ref(blocklength))
            }
            Constructor::IndexedBlock { displacements, blocklength, .. }
            | Constructor::HindexedBlock { displacements, blocklength, .. } => {
                (displacements.len() as u64, "blocklength", std::slice::from_ref(blocklength))
            }
            Constructor::Indexed { displacements, blocklengths, .. }
            | Constructor::Hindexed { displacements, blocklengths, .. }
            | Constructor::Struct { displacements, blocklengths, .. } => {
                (displacements.len() as u64, "array_of_blocklengths", blocklengths)
            }
            Constructor::Dup { .. }
            | Constructor::Subarray { .. }
            | Constructor::Darray { .. }
            | Constructor::Resized { .. } => (1, "", &[]),
        };
        let all = lengths.iter().map(|length| (argument, *length)).chain([("count", count)]);
        let (argument, greatest) = all.max_by_key(|(_, value)| *value).unwrap_or_default();
        let call = constructor.kind().mpi_name();
        let too_large =
            |limit: i64| Error::Argument { call, argument, value: greatest.into(), limit: limit.into() };
        if c_int::try_from(greatest).is_ok() {
            let lengths = lengths.iter().map(|length| *length as c_int);
            return Ok(Self::Few(count as c_int, lengths.collect()));
        }
        let large = large_counts().ok_or_else(|| too_large(c_int::MAX.into()))?;
        if MPI_Count::try_from(greatest).is_err() {
            return Err(too_large(MPI_Count::MAX));
        }
        let lengths = lengths.iter().map(|length| *length as MPI_Count);
        Ok(Self::Many(large, count as MPI_Count, lengths.collect()))
    }

    /// Returns the counts as `int`s, for a function whose version with large counts is not called here.
    fn few(self, call: &'static str) -> Result<(c_int, Vec<c_int>), Error> {
        match self {
            Self::Few(count, lengths) => Ok((count, lengths)),
            Self::Many(_, count, lengths) => {
                Ok((int(call, "count", count)?, ints(call, "blocklength", &lengths)?))
            }
        }
    }
}

/// Returns the size of a datatype in bytes of data.
///
/// # Errors
/// [`Error::Mpi`] if the call fails.
///
/// # Safety
/// 1. The datatype is live.
pub unsafe fn size(mpi: &Usable, datatype: MPI_Datatype) -> Result<i64, Error> {
    let mut size = 0;
    // SAFETY: 1; there is room for a number.
    checked(mpi, "MPI_Type_size", unsafe { mpi.MPI_Type_size(datatype, &raw mut size) })?;
    Ok(size.into())
}

#[allow(clippy::cast_lossless, reason = "an address is an `isize` in some libraries")]
fn address(call: &'static str, argument: &'static str, value: i64) -> Result<MPI_Aint, Error> {
    let error = Error::Argument { call, argument, value: value.into(), limit: MPI_Aint::MAX as i128 };
    MPI_Aint::try_from(value).map_err(|_| error)
}
