//! Descriptions of datatypes, kept on the datatypes as an attribute (MPI 4.1 section 7.7.4).

use std::sync::Arc;

use ::mpi::ffi::MPI_Datatype;
use dtype_mpi::Attribute;

use super::decoded::Decoded;
use crate::{
    Error,
    mpi::{Usable, at_end, told},
};

static ATTRIBUTE: Attribute<Arc<Decoded>> = Attribute::new();

/// Returns the description that is kept on a datatype, if there is one.
pub(super) fn get(mpi: &Usable, datatype: MPI_Datatype) -> Result<Option<Arc<Decoded>>, Error> {
    // SAFETY: MPI is usable, and the datatype borrowed by the caller. A description is deleted only with its
    // datatype.
    let found = told(mpi, "MPI_Type_get_attr", unsafe { ATTRIBUTE.get(mpi, datatype) })?;
    Ok(found.map(Arc::clone))
}

/// Stores a description on a datatype that is not predefined. If another thread has stored a description
/// before, that one stays.
pub(super) fn set(mpi: &Usable, datatype: MPI_Datatype, decoded: &Arc<Decoded>) -> Result<(), Error> {
    static AT_END: std::sync::Once = std::sync::Once::new();
    // SAFETY: 1, since the datatype is borrowed by the caller.
    let kept = unsafe { ATTRIBUTE.keep(mpi, datatype, Arc::clone(decoded)) };
    AT_END.call_once(|| at_end(|mpi| ATTRIBUTE.end(mpi)));
    told(mpi, "MPI_Type_set_attr", kept)?;
    Ok(())
}
