//! Envelopes of datatypes (MPI 4.1 section 5.1.13).

use std::os::raw::c_int;

use ::mpi::ffi::{self, MPI_Datatype};

use crate::{SUCCESS, Usable, constants as of, large::large_counts};

/// The envelope of a datatype: its outermost constructor, and the numbers of the constructor's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The letter of the constructor, the same with every library; 0 for an unknown one.
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
    pub unsafe fn of(mpi: &Usable, datatype: MPI_Datatype) -> Result<Self, c_int> {
        // SAFETY: a constant of the library.
        if datatype == unsafe { ffi::RSMPI_DATATYPE_NULL } {
            return Err(ffi::MPI_ERR_TYPE as c_int);
        }
        let mut combiner = 0;
        let (code, numbers) = if let Some(large) = large_counts() {
            let mut numbers = [0; 4];
            let [integers, addresses, counts, datatypes] = numbers.each_mut().map(|number| &raw mut *number);
            // SAFETY: MPI is usable; 1; there is room for four numbers and a combiner.
            let code = unsafe {
                (large.envelope)(datatype, integers, addresses, counts, datatypes, &raw mut combiner)
            };
            (code, numbers)
        } else {
            let [mut integers, mut addresses, mut datatypes] = [0; 3];
            let places = (&raw mut integers, &raw mut addresses, &raw mut datatypes);
            // SAFETY: 1; there is room for three numbers and a combiner.
            let code = unsafe {
                mpi.MPI_Type_get_envelope(datatype, places.0, places.1, places.2, &raw mut combiner)
            };
            (code, [integers.into(), addresses.into(), 0, datatypes.into()])
        };
        if code == SUCCESS { Ok(Self { letter: letter_of(combiner), numbers }) } else { Err(code) }
    }

    /// Returns the number of datatypes that the datatype was made of: 0 for a predefined one.
    pub fn parts(&self) -> i64 {
        self.numbers[3]
    }
}

/// Returns a letter for a combiner; 0 for an unknown one.
fn letter_of(combiner: c_int) -> u8 {
    let letters: [(fn() -> c_int, u8); 17] = [
        (of::MPI_COMBINER_NAMED, b'n'),
        (of::MPI_COMBINER_DUP, b'd'),
        (of::MPI_COMBINER_CONTIGUOUS, b'c'),
        (of::MPI_COMBINER_VECTOR, b'v'),
        (of::MPI_COMBINER_HVECTOR, b'V'),
        (of::MPI_COMBINER_INDEXED, b'i'),
        (of::MPI_COMBINER_HINDEXED, b'I'),
        (of::MPI_COMBINER_INDEXED_BLOCK, b'b'),
        (of::MPI_COMBINER_HINDEXED_BLOCK, b'B'),
        (of::MPI_COMBINER_STRUCT, b's'),
        (of::MPI_COMBINER_SUBARRAY, b'a'),
        (of::MPI_COMBINER_DARRAY, b'A'),
        (of::MPI_COMBINER_F90_REAL, b'R'),
        (of::MPI_COMBINER_F90_COMPLEX, b'C'),
        (of::MPI_COMBINER_F90_INTEGER, b'N'),
        (of::MPI_COMBINER_RESIZED, b'r'),
        (of::MPI_COMBINER_VALUE_INDEX, b'p'),
    ];
    letters.into_iter().find(|(known, _)| known() == combiner).map_or(0, |(_, letter)| letter)
}
