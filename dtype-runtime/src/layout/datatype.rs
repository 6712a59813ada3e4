//! The MPI datatypes of layouts.

use std::fmt;

use ::mpi::{
    datatype::{Datatype, UncommittedDatatype, UserDatatype},
    ffi::MPI_Datatype,
    raw::AsRaw,
};

use super::entry::Entry;
use crate::{Error, mpi::Handle, types::rsmpi::or_panic};

/// The committed MPI datatype of a layout or a view, as an rsmpi datatype.
///
/// The MPI datatype of a layout that is known only at run time lives as long as a layout, a `LayoutDatatype`
/// or the cache refers to it. It is then freed when the next datatype is built, or by `MPI_Finalize`.
pub struct LayoutDatatype(Entry, Handle);

impl Entry {
    pub(crate) fn datatype(self) -> Result<LayoutDatatype, Error> {
        let handle = self.handle()?;
        Ok(LayoutDatatype(self, handle))
    }

    /// Returns the datatype of a view of this type, or panics.
    pub(super) fn datatype_or_panic(self, of: &str) -> LayoutDatatype {
        or_panic(self.datatype(), of)
    }
}

// SAFETY: the handle is of a committed datatype, which the entry keeps alive.
unsafe impl AsRaw for LayoutDatatype {
    type Raw = MPI_Datatype;

    fn as_raw(&self) -> MPI_Datatype {
        self.1.raw()
    }
}

impl UncommittedDatatype for LayoutDatatype {
    type DuplicatedDatatype = UserDatatype;
}

impl Datatype for LayoutDatatype {}

impl Clone for LayoutDatatype {
    fn clone(&self) -> Self {
        Self(self.0.clone(), self.1)
    }
}

impl fmt::Debug for LayoutDatatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LayoutDatatype").field(self.0.program()).finish()
    }
}
