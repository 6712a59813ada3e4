//! Envelopes of datatypes (MPI 4.1 section 5.1.13).

use std::os::raw::c_int;

use ::mpi::ffi::{self, MPI_Datatype};
use dtype_core::ConstructorKind;

use crate::{SUCCESS, Usable, constants as of, large::large_counts};

/// The envelope of a datatype: its outermost constructor, and the numbers of the constructor's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The outermost constructor.
    pub combiner: Combiner,
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
        if code == SUCCESS { Ok(Self { combiner: Combiner::of(combiner), numbers }) } else { Err(code) }
    }

    /// Returns the number of datatypes that the datatype was made of: 0 for a predefined one.
    pub fn parts(&self) -> i64 {
        self.numbers[3]
    }
}

macro_rules! combiners {
    ($($combiner:ident = $constant:ident $(makes $kind:ident)?;)*) => {
        /// The constructor by which a datatype was made, the same with every library.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Combiner {
            $(#[doc = concat!("`", stringify!($constant), "`")] $combiner,)*
            /// One that this program does not know.
            Unknown,
        }

        impl Combiner {
            /// Returns the combiner of a number of the library.
            fn of(number: c_int) -> Self {
                match number {
                    $(_ if number == of::$constant() => Self::$combiner,)*
                    _ => Self::Unknown,
                }
            }

            /// Returns the constructor, or `None` if the datatype is predefined or the combiner is unknown.
            pub fn constructor(self) -> Option<ConstructorKind> {
                match self {
                    $($(Self::$combiner => Some(ConstructorKind::$kind),)?)*
                    _ => None,
                }
            }
        }

        /// The constructors that make a datatype of a combiner.
        #[cfg(test)]
        const MAKERS: &[ConstructorKind] = &[$($(ConstructorKind::$kind,)?)*];
    };
}

combiners! {
    Named = MPI_COMBINER_NAMED;
    Dup = MPI_COMBINER_DUP makes Dup;
    Contiguous = MPI_COMBINER_CONTIGUOUS makes Contiguous;
    Vector = MPI_COMBINER_VECTOR makes Vector;
    Hvector = MPI_COMBINER_HVECTOR makes Hvector;
    Indexed = MPI_COMBINER_INDEXED makes Indexed;
    Hindexed = MPI_COMBINER_HINDEXED makes Hindexed;
    IndexedBlock = MPI_COMBINER_INDEXED_BLOCK makes IndexedBlock;
    HindexedBlock = MPI_COMBINER_HINDEXED_BLOCK makes HindexedBlock;
    Struct = MPI_COMBINER_STRUCT makes Struct;
    Subarray = MPI_COMBINER_SUBARRAY makes Subarray;
    Darray = MPI_COMBINER_DARRAY makes Darray;
    Resized = MPI_COMBINER_RESIZED makes Resized;
    F90Real = MPI_COMBINER_F90_REAL;
    F90Complex = MPI_COMBINER_F90_COMPLEX;
    F90Integer = MPI_COMBINER_F90_INTEGER;
    ValueIndex = MPI_COMBINER_VALUE_INDEX;
}

#[cfg(test)]
mod tests {
    use dtype_core::ConstructorKind;

    use super::MAKERS;

    #[test]
    fn each_constructor_has_a_combiner() {
        assert!(ConstructorKind::ALL.iter().all(|kind| MAKERS.contains(kind)));
        assert_eq!(ConstructorKind::ALL.len(), MAKERS.len());
    }
}
