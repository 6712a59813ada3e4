//! Envelopes of datatypes (MPI 4.1 section 5.1.13).

use std::os::raw::c_int;

use ::mpi::ffi::{self, MPI_Datatype};

use crate::{SUCCESS, Usable, shim};

/// The envelope of a datatype: its outermost constructor, and the numbers of the constructor's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The letter of the constructor in `shim.c`; 0 for an unknown one.
    pub letter: u8,
    /// The numbers of integers, addresses, large counts and datatypes.
    pub numbers: [i64; 4],
}

impl Envelope {
    /// Asks the library for the envelope of a datatype.
    ///
    /// # Errors
    /// The code that the library returns. `MPI_ERR_TYPE` for the null datatype, without a call: the library
    /// would pass the error to the handler of `MPI_COMM_WORLD`.
    ///
    /// # Safety
    /// 1. The datatype is live, or null.
    pub unsafe fn of(_: &Usable, datatype: MPI_Datatype) -> Result<Self, c_int> {
        // SAFETY: a constant of the library.
        if datatype == unsafe { ffi::RSMPI_DATATYPE_NULL } {
            return Err(ffi::MPI_ERR_TYPE as c_int);
        }
        let (mut numbers, mut letter) = ([0; 4], 0);
        // SAFETY: MPI is usable; 1; there is room for four numbers and a letter.
        let code = unsafe { shim::dtype_shim_envelope(datatype, numbers.as_mut_ptr(), &raw mut letter) };
        if code == SUCCESS { Ok(Self { letter: letter as u8, numbers }) } else { Err(code) }
    }

    /// Returns the number of datatypes that the datatype was made of: 0 for a predefined one.
    pub fn parts(&self) -> i64 {
        self.numbers[3]
    }
}
