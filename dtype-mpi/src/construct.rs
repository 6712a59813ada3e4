//! Constructor programs, run as MPI calls.

use std::os::raw::c_int;

use ::mpi::{
    Address, Count,
    ffi::{self, MPI_Datatype},
};
use dtype_core::{BaseType, Measure, OldType, Program, Step};

use crate::{Current, Error, Library, Usable, VERSION, errors::checked, shim};

/// Runs a constructor program and commits the resulting datatype. Returns the handle, and `true` if it was
/// built and must be freed. If `may_split` is set, complex numbers that the library would copy wrongly become
/// two numbers each.
///
/// # Errors
/// [`Error::Construction`] if the size or the true extent of the datatype differs from `asked`.
pub fn construct(
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
    let tears = Current::tears_complex(VERSION);
    let complex = [(BaseType::C32, BaseType::F32), (BaseType::C64, BaseType::F64)];
    complex.into_iter().filter(move |(complex, _)| {
        let mut oldtypes = program.steps.iter().flat_map(Step::oldtypes);
        let mut strides = program.steps.iter().flat_map(Step::strides);
        tears
            && oldtypes.any(|old| *old == OldType::Base(*complex))
            && strides.any(|stride| stride % complex.size() as i64 != 0)
    })
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
        if unsafe { size(self.mpi, handle) }? == 0 {
            return Err(missing());
        }
        Ok(handle)
    }

    fn handles(&self, oldtypes: &[OldType]) -> Result<Vec<MPI_Datatype>, Error> {
        oldtypes.iter().map(|oldtype| self.handle(*oldtype)).collect()
    }

    /// Makes the constructor call of a step. The shim uses the large-count version if a count does not fit an
    /// `int`.
    fn call(&self, step: &Step) -> Result<MPI_Datatype, Error> {
        // SAFETY: a constant of the library.
        let mut new = unsafe { ffi::RSMPI_DATATYPE_NULL };
        // SAFETY, for every call below: 1. MPI is usable; 2. the lists have the length that is passed with
        // them; 3. the old types are predefined or built by earlier steps and not freed yet.
        match step {
            Step::Contiguous { count: copies, oldtype } => {
                const CALL: &str = "MPI_Type_contiguous";
                let (copies, old) = (count(CALL, "count", *copies)?, self.handle(*oldtype)?);
                // SAFETY: 1 to 3.
                checked(self.mpi, CALL, unsafe { shim::dtype_shim_contiguous(copies, old, &raw mut new) })
            }
            Step::Hvector { count: copies, blocklength, stride, oldtype } => {
                const CALL: &str = "MPI_Type_create_hvector";
                let copies = count(CALL, "count", *copies)?;
                let blocklength = count(CALL, "blocklength", *blocklength)?;
                let old = self.handle(*oldtype)?;
                // SAFETY: 1 to 3.
                checked(self.mpi, CALL, unsafe {
                    shim::dtype_shim_hvector(copies, blocklength, *stride, old, &raw mut new)
                })
            }
            Step::HindexedBlock { blocklength, displacements, oldtype } => {
                const CALL: &str = "MPI_Type_create_hindexed_block";
                let copies = count(CALL, "count", displacements.len() as u64)?;
                let blocklength = count(CALL, "blocklength", *blocklength)?;
                let (displacements, old) = (displacements.as_ptr(), self.handle(*oldtype)?);
                // SAFETY: 1 to 3.
                checked(self.mpi, CALL, unsafe {
                    shim::dtype_shim_hindexed_block(copies, blocklength, displacements, old, &raw mut new)
                })
            }
            Step::Hindexed { blocklengths, displacements, oldtype } => {
                const CALL: &str = "MPI_Type_create_hindexed";
                let (copies, lengths) =
                    (count(CALL, "count", displacements.len() as u64)?, counts(CALL, blocklengths)?);
                let old = self.handle(*oldtype)?;
                // SAFETY: 1 to 3.
                checked(self.mpi, CALL, unsafe {
                    let (lengths, displacements) = (lengths.as_ptr(), displacements.as_ptr());
                    shim::dtype_shim_hindexed(copies, lengths, displacements, old, &raw mut new)
                })
            }
            Step::Struct { blocklengths, displacements, oldtypes } => {
                const CALL: &str = "MPI_Type_create_struct";
                let (copies, lengths) =
                    (count(CALL, "count", displacements.len() as u64)?, counts(CALL, blocklengths)?);
                let old = self.handles(oldtypes)?;
                // SAFETY: 1 to 3.
                checked(self.mpi, CALL, unsafe {
                    let (lengths, displacements) = (lengths.as_ptr(), displacements.as_ptr());
                    shim::dtype_shim_struct(copies, lengths, displacements, old.as_ptr(), &raw mut new)
                })
            }
            Step::Resized { lower_bound, extent, oldtype } => {
                const CALL: &str = "MPI_Type_create_resized";
                let (lb, extent) = (address(CALL, "lb", *lower_bound)?, address(CALL, "extent", *extent)?);
                let old = self.handle(*oldtype)?;
                // SAFETY: 1 to 3.
                checked(self.mpi, CALL, unsafe {
                    self.mpi.MPI_Type_create_resized(old, lb, extent, &raw mut new)
                })
            }
        }?;
        Ok(new)
    }
}

/// Returns `true` if the library has constructors with large counts.
pub fn has_large_counts() -> bool {
    // SAFETY: a constant of the library.
    unsafe { shim::dtype_shim_has_large_counts() != 0 }
}

/// Returns the predefined handle of a base type, or `None` if the library lacks the type. Open MPI has
/// handles for some types that it was built without; their size is 0.
pub fn predefined(base: BaseType) -> Option<MPI_Datatype> {
    // SAFETY: constants of the MPI library, set up before `main`.
    let (handle, null) = unsafe { (shim::dtype_shim_handle(base as c_int), ffi::RSMPI_DATATYPE_NULL) };
    (handle != null).then_some(handle)
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

/// Returns a count, or an error if it exceeds the largest count of the library.
fn count(call: &'static str, argument: &'static str, value: u64) -> Result<i64, Error> {
    let limit = if has_large_counts() { i64::MAX } else { Count::MAX.into() };
    let error = Error::Argument { call, argument, value: value.into(), limit: limit.into() };
    i64::try_from(value).ok().filter(|value| *value <= limit).ok_or(error)
}

fn counts(call: &'static str, values: &[u64]) -> Result<Vec<i64>, Error> {
    values.iter().map(|value| count(call, "array_of_blocklengths", *value)).collect()
}

fn address(call: &'static str, argument: &'static str, value: i64) -> Result<Address, Error> {
    let error = Error::Argument { call, argument, value: value.into(), limit: Address::MAX as i128 };
    Address::try_from(value).map_err(|_| error)
}
