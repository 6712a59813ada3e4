//! `cargo xtask bench redistribute`: an array moves from one distribution over the ranks to another, and
//! back, against the code that a user would write with MPI's own calls: `MPI_Alltoallw` with subarray
//! datatypes, and packing by hand for `MPI_Alltoallv`.

use std::{cell::RefCell, os::raw::c_int};

use clap::Parser;
use dtype_benches::{
    boxes::{MANY, Part, Way, measure},
    journeys::Arguments,
};
use dtype_runtime::{
    Comm,
    layout::{ArrayOrder, Subarray},
};
use mpi::{
    ffi::{self, MPI_Comm, MPI_Datatype},
    raw::AsRaw,
    topology::SimpleCommunicator,
    traits::*,
};

/// Times redistributions.
#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

fn main() {
    let Command { arguments } = Command::parse();
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    let ranks = world.size() as usize;
    let grid = if ranks == 4 { [2, 2] } else { [ranks, 1] };
    for side in [512, 2048] {
        // Complex numbers: pairs of doubles.
        let case = format!("rows-columns-rows/complex/{side}");
        let sizes = [side, side, 2];
        both_ways(&arguments, &world, &case, sizes, [[ranks, 1, 1], [1, ranks, 1]]);
    }
    for side in [64, 256] {
        let case = format!("slab-pencil-slab/double/{side}");
        both_ways(&arguments, &world, &case, [side; 3], [[ranks, 1, 1], [grid[0], 1, grid[1]]]);
    }
}

/// Moves an array to another distribution and back.
fn both_ways(
    arguments: &Arguments,
    world: &SimpleCommunicator,
    case: &str,
    sizes: [usize; 3],
    blocks: [[usize; 3]; 2],
) {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let all =
        blocks.map(|blocks| (0..ranks).map(|rank| Part::of_rank(rank, sizes, blocks)).collect::<Vec<_>>());
    let own = [all[0][rank], all[1][rank]];
    let moves =
        [Move::new(world, own, &all[1], &all[0]), Move::new(world, [own[1], own[0]], &all[0], &all[1])];
    let described = own.map(|Part { start, lengths }| Subarray {
        sizes,
        subsizes: lengths,
        starts: start,
        order: ArrayOrder::RowMajor,
    });
    let comm = Comm::from(world);
    let planned = |from: &Subarray<3>, to: &Subarray<3>| {
        RefCell::new(comm.prepare().redistribute::<f64, 3, _, _>(from, to).expect("a plan"))
    };
    let plans = [planned(&described[0], &described[1]), planned(&described[1], &described[0])];
    let value = |at: usize| (rank * 1_000_003 + at) as f64;
    let first: Vec<f64> = (0..own[0].count()).map(value).collect();
    let arrays = || (RefCell::new(first.clone()), RefCell::new(vec![0.0; own[1].count()]));
    let (ours, once, typed, hand) = (arrays(), arrays(), arrays(), arrays());
    let buffers = RefCell::new(moves.each_ref().map(Move::buffers));
    let ways: Vec<Way<'_>> = vec![
        (
            "ours",
            Box::new(|| {
                let (mut one, mut two) = (ours.0.borrow_mut(), ours.1.borrow_mut());
                plans[0].borrow_mut().run(&*one, &mut *two).expect("it arrives");
                plans[1].borrow_mut().run(&*two, &mut *one).expect("it arrives");
            }),
        ),
        (
            "ours once",
            Box::new(|| {
                let (mut one, mut two) = (once.0.borrow_mut(), once.1.borrow_mut());
                let [first, second] = &described;
                comm.redistribute(first, &*one, second, &mut *two).expect("it arrives");
                comm.redistribute(second, &*two, first, &mut *one).expect("it arrives");
            }),
        ),
        (
            "alltoallw",
            Box::new(|| {
                let (mut one, mut two) = (typed.0.borrow_mut(), typed.1.borrow_mut());
                moves[0].by_subarrays(&one, &mut two);
                moves[1].by_subarrays(&two, &mut one);
            }),
        ),
        (
            "by hand",
            Box::new(|| {
                let (mut one, mut two) = (hand.0.borrow_mut(), hand.1.borrow_mut());
                let mut buffers = buffers.borrow_mut();
                moves[0].by_hand(&one, &mut two, &mut buffers[0]);
                moves[1].by_hand(&two, &mut one, &mut buffers[1]);
            }),
        ),
    ];
    for (_, way) in &ways {
        way();
    }
    for (name, (one, two)) in [("ours", &ours), ("once", &once), ("typed", &typed), ("by hand", &hand)] {
        assert!(*one.borrow() == first && *two.borrow() == *hand.1.borrow(), "{name}");
    }
    measure("redistribute", arguments, world, case, MANY, &ways);
}

/// A redistribution as a user writes it: what this rank sends to each rank and receives from each.
struct Move {
    communicator: MPI_Comm,
    sizes: [[usize; 3]; 2],
    sent: Vec<Part>,
    received: Vec<Part>,
    sent_types: Vec<MPI_Datatype>,
    received_types: Vec<MPI_Datatype>,
}

impl Move {
    fn new(world: &SimpleCommunicator, [own, will_own]: [Part; 2], later: &[Part], now: &[Part]) -> Self {
        let sent: Vec<_> = later.iter().map(|part| own.common(part).within(own.start)).collect();
        let received: Vec<_> = now.iter().map(|part| will_own.common(part).within(will_own.start)).collect();
        let sizes = [own.lengths, will_own.lengths];
        let double = f64::equivalent_datatype().as_raw();
        let datatypes = |parts: &[Part], sizes: [usize; 3]| {
            let datatype = |part: &Part| if part.count() == 0 { double } else { part.subarray::<f64>(sizes) };
            parts.iter().map(datatype).collect()
        };
        let (sent_types, received_types) = (datatypes(&sent, sizes[0]), datatypes(&received, sizes[1]));
        Self { communicator: world.as_raw(), sizes, sent, received, sent_types, received_types }
    }

    fn by_subarrays(&self, from: &[f64], to: &mut [f64]) {
        let ones =
            |parts: &[Part]| parts.iter().map(|part| c_int::from(part.count() > 0)).collect::<Vec<_>>();
        let (sent, received, zeros) = (ones(&self.sent), ones(&self.received), vec![0; self.sent.len()]);
        // SAFETY: the datatypes select parts of the arrays; there is one for each rank.
        unsafe {
            ffi::MPI_Alltoallw(
                from.as_ptr().cast(),
                sent.as_ptr(),
                zeros.as_ptr(),
                self.sent_types.as_ptr(),
                to.as_mut_ptr().cast(),
                received.as_ptr(),
                zeros.as_ptr(),
                self.received_types.as_ptr(),
                self.communicator,
            );
        }
    }

    fn buffers(&self) -> [Vec<f64>; 2] {
        [&self.sent, &self.received].map(|parts| vec![0.0; parts.iter().map(Part::count).sum()])
    }

    fn by_hand(&self, from: &[f64], to: &mut [f64], [outgoing, incoming]: &mut [Vec<f64>; 2]) {
        let (mut counts, mut starts, mut at) = (Vec::new(), Vec::new(), 0);
        for part in &self.sent {
            let (start, length) = (at, part.lengths[2]);
            part.rows(self.sizes[0], |row| {
                outgoing[at..at + length].copy_from_slice(&from[row..row + length]);
                at += length;
            });
            starts.push(start as c_int);
            counts.push((at - start) as c_int);
        }
        let (mut counts_in, mut starts_in, mut end) = (Vec::new(), Vec::new(), 0);
        for part in &self.received {
            starts_in.push(end as c_int);
            counts_in.push(part.count() as c_int);
            end += part.count();
        }
        let double = f64::equivalent_datatype().as_raw();
        // SAFETY: the buffers have room for the elements of all ranks.
        unsafe {
            ffi::MPI_Alltoallv(
                outgoing.as_ptr().cast(),
                counts.as_ptr(),
                starts.as_ptr(),
                double,
                incoming.as_mut_ptr().cast(),
                counts_in.as_ptr(),
                starts_in.as_ptr(),
                double,
                self.communicator,
            );
        }
        let mut at = 0;
        for part in &self.received {
            let length = part.lengths[2];
            part.rows(self.sizes[1], |row| {
                to[row..row + length].copy_from_slice(&incoming[at..at + length]);
                at += length;
            });
        }
    }
}
