//! The scenario `ring`: arbitrary bytes are sent to the next rank as values of each struct. In the
//! destination, only the bytes of the fields that travel may change.

use std::{any::type_name, os::raw::c_int};

use dtype_core::{Bounds, Program, solve_layout};
use dtype_runtime::{MpiDatatype, layout::LayoutOrigin};
use dtype_tests::{Cover, memory, mpi_pack, packed_by_many};
use mpi::{ffi, raw::AsRaw, topology::SimpleCommunicator, traits::*};

use crate::{SEED, Visit, for_each};

/// The number of values in a message.
const COUNT: usize = 3;

/// Sends values of every struct to the next rank of the ring.
pub fn ring(world: &SimpleCommunicator) {
    struct Ring<'a>(&'a SimpleCommunicator);
    impl Visit for Ring<'_> {
        fn visit<T: MpiDatatype + Cover>(&self) {
            let name = format!("{} of seed {SEED}", type_name::<T>());
            tiers_agree::<T>(&name);
            let mut order = Vec::new();
            (0..COUNT).for_each(|i| T::cover(i * size_of::<T>(), &mut order));
            let (size, rank) = (COUNT * size_of::<T>(), self.0.rank() as usize);
            let from = (rank + self.0.size() as usize - 1) % self.0.size() as usize;
            let sent = memory(rank, size);
            let mut received = memory(100 + rank, size);
            exchange::<T>(self.0, &sent, &mut received);
            let (sender, mut expected) = (memory(from, size), memory(100 + rank, size));
            for range in &order {
                expected[range.clone()].copy_from_slice(&sender[range.clone()]);
            }
            assert_eq!(received, expected, "{name}");
            let travelled: Vec<u8> = order.iter().flat_map(|range| &sent[range.clone()]).copied().collect();
            let packed = mpi_pack(sent.as_ptr(), COUNT, T::datatype().unwrap().as_raw(), travelled.len());
            packed_by_many(&packed, &travelled, &name);
        }
    }
    for_each(&Ring(world));
}

/// Checks that solving the type's tree again gives the same cost and calls, whichever tier has solved the
/// type.
fn tiers_agree<T: MpiDatatype>(name: &str) {
    let solution = solve_layout(T::tree(), &T::COSTS).unwrap();
    assert_eq!((T::cost(), T::optimality()), (solution.cost, solution.optimality), "{name}");
    let program = Program::lower(T::tree(), Some(Bounds::of_extent(size_of::<T>() as i64))).unwrap();
    if T::layout_origin() != LayoutOrigin::Expansion {
        assert_eq!(T::constructor_calls(), &program, "{name}");
    }
}

/// Sends to the next rank and receives from the previous one, as `COUNT` values of `T`.
fn exchange<T: MpiDatatype>(world: &SimpleCommunicator, sent: &[u8], received: &mut [u8]) {
    let (rank, size) = (world.rank(), world.size());
    let datatype = T::datatype().unwrap().as_raw();
    assert!(sent.len() == received.len() && sent.len() == COUNT * size_of::<T>());
    // SAFETY: both buffers hold `COUNT` values, an extent apart; MPI reads and writes bytes, not values.
    let code = unsafe {
        ffi::MPI_Sendrecv(
            sent.as_ptr().cast(),
            COUNT as c_int,
            datatype,
            (rank + 1) % size,
            0,
            received.as_mut_ptr().cast(),
            COUNT as c_int,
            datatype,
            (rank + size - 1) % size,
            0,
            world.as_raw(),
            ffi::RSMPI_STATUS_IGNORE,
        )
    };
    assert_eq!(code, 0);
}
