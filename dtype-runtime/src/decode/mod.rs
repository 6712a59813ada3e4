//! Existing datatypes as type trees, whether built by C code, by rsmpi's constructors or elsewhere (MPI 4.1
//! section 5.1.13).
//!
//! [`decode()`] reads a datatype, and [`normalize`] builds a least-cost datatype with the same type map. The
//! [plan](Decoded::plan) of a decoded datatype does everything that the [pack engine](mod@crate::pack)
//! does.
//!
//! ```rust,no_run
//! use dtype_runtime::{decode, decode::normalize, pack::Data};
//! use mpi::{datatype::UserDatatype, traits::*};
//!
//! let universe = mpi::initialize().unwrap();
//! let places: Vec<i32> = (0..100).map(|i| 2 * i).collect();
//! let list = UserDatatype::indexed(&[1; 100], &places, &f64::equivalent_datatype());
//! let decoded = decode(&list)?; // kept on the datatype, so done once
//! let vector = normalize(&list)?; // MPI_Type_create_hvector(100, 1, 16, MPI_DOUBLE)
//! let bytes = Data::new(&decoded.plan()?, 1, &[0; 1600], 0)?.pack();
//! # Ok::<(), dtype_runtime::Error>(())
//! ```

use std::sync::{Arc, Once};

use ::mpi::datatype::UncommittedDatatype;
use dtype_core::{Bounds, TypeTree};
use dtype_mpi::Attribute;

use crate::{
    Error,
    layout::LayoutDatatype,
    mpi::{at_end, ready, told, without_communicator},
};

mod decoded;

pub use decoded::Decoded;

/// The description of a datatype, as an attribute of it (MPI 4.1 section 7.7.4).
static DESCRIPTION: Attribute<Arc<Decoded>> = Attribute::new();
static AT_END: Once = Once::new();

/// Decodes a datatype, committed or not. The result is cached as an attribute (MPI 4.1 section 7.7.4) of the
/// datatype and its duplicates, so that each datatype is decoded once.
///
/// The leaves of the tree are the predefined datatypes within the datatype, under their own names: `MPI_INT`
/// does not become `i32`, and [`normalize`] builds its datatype from `MPI_INT` again. The datatypes of
/// `MPI_Type_create_f90_real` and its siblings have no names. They become base types of the same sizes.
///
/// ```no_run
/// use dtype_runtime::{decode, pack::Data};
/// use mpi::{datatype::UserDatatype, traits::*};
///
/// let universe = mpi::initialize().unwrap();
/// let column = UserDatatype::vector(10, 1, 10, &i32::equivalent_datatype());
/// let decoded = decode(&column)?;
/// assert_eq!(decoded.tree().to_string(), "vec 10, stride 40\n└─ i32\n");
///
/// let bytes = [1u8; 400]; // a matrix of 10 × 10 numbers
/// assert_eq!(Data::new(&decoded.plan()?, 1, &bytes, 0)?.pack().len(), 40);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// `Unsupported` if no tree can describe the datatype: it has an unknown constructor, contains a
/// predefined datatype that is not in the MPI standard, or is nested 256 deep. Another error before
/// `MPI_Init` and after `MPI_Finalize`, and if an MPI call fails.
pub fn decode<D: UncommittedDatatype + ?Sized>(datatype: &D) -> Result<Arc<Decoded>, Error> {
    let mpi = &ready()?;
    let raw = datatype.as_raw();
    let known = without_communicator(mpi, || {
        // SAFETY: 1 and 2, since the datatype is borrowed, and a description is deleted only with it.
        told(mpi, "MPI_Type_get_attr", unsafe { DESCRIPTION.get(mpi, raw) })
    })?;
    if let Some(decoded) = known {
        return Ok(Arc::clone(decoded));
    }
    let dtype_mpi::Decoded { tree, bounds, is_predefined } = dtype_mpi::Decoded::of(datatype)?;
    let decoded = Arc::new(Decoded::new(tree, bounds));
    if !is_predefined {
        without_communicator(mpi, || {
            // If another thread has stored a description before, that one stays.
            // SAFETY: 1, since the datatype is borrowed.
            let kept = unsafe { DESCRIPTION.keep(mpi, raw, Arc::clone(&decoded)) };
            AT_END.call_once(|| at_end(|mpi| DESCRIPTION.end(mpi)));
            told(mpi, "MPI_Type_set_attr", kept)
        })?;
    }
    Ok(decoded)
}

/// Returns a new committed datatype of least cost with the same type map, lower bound and extent: [`decode`],
/// then [`Decoded::datatype`].
///
/// ```no_run
/// use dtype_runtime::decode::normalize;
/// use mpi::{datatype::UserDatatype, traits::*};
///
/// let universe = mpi::initialize().unwrap();
/// let number = i32::equivalent_datatype();
/// // A list of 100 places, 8 bytes apart: a vector.
/// let lengths = [1; 100];
/// let places: Vec<i32> = (0..100).map(|i| 2 * i).collect();
/// let list = UserDatatype::indexed(&lengths, &places, &number);
/// let vector = normalize(&list)?;
/// assert!(format!("{vector:?}").contains("Hvector"));
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// The errors of [`decode`] and of [`Decoded::datatype`].
pub fn normalize<D: UncommittedDatatype + ?Sized>(datatype: &D) -> Result<LayoutDatatype, Error> {
    decode(datatype)?.datatype()
}

/// Returns a committed datatype of least cost for a type tree and these bounds: the inverse of
/// [`Decoded::tree`]. A datatype that was built before comes from the cache of layouts.
///
/// ```no_run
/// use dtype_runtime::{
///     decode::{build, decode},
///     tree::Bounds,
/// };
/// use mpi::{datatype::UserDatatype, traits::*};
///
/// let universe = mpi::initialize().unwrap();
/// let column = UserDatatype::vector(10, 1, 10, &i32::equivalent_datatype());
/// // The packed bytes of a column: ten numbers.
/// let numbers = build(decode(&column)?.tree().gapless()?, Bounds::of_extent(40))?;
/// assert!(format!("{numbers:?}").contains("Contiguous"));
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// `Argument` for an invalid tree; the errors of [`Decoded::datatype`].
pub fn build(tree: TypeTree, bounds: Bounds) -> Result<LayoutDatatype, Error> {
    tree.measure()?;
    Decoded::new(tree, bounds).datatype()
}
