//! `cargo xtask bench stencils`: the exchanges of three programs, Jacobi's method, Conway's game of life and
//! a filter of an image, as in "Do MPI derived datatypes actually help?" (2025): datatypes and packing by
//! hand, each with messages that are started anew, as a neighbourhood collective, and prepared.
//!
//! Without the preloaded library, ours is the prepared halo of `dtype-runtime`. With it, ours are the calls
//! with datatypes, which the library intercepts; those of the peers go to the MPI library itself.

use std::{cell::RefCell, env};

use clap::Parser;
use dtype_benches::{
    boxes::{SHORT, Way, measure},
    faces::{Buffers, Calls, Faces, free},
    journeys::Arguments,
};
use dtype_runtime::{Comm, Halo, MpiDatatype};
use mpi::{topology::SimpleCommunicator, traits::*};

/// Times the exchanges of stencils in two dimensions.
#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

/// An exchange in one way.
type Run<'a> = Box<dyn Fn() + 'a>;

/// A stencil of a matrix on a grid of one row of ranks, so that columns are exchanged.
struct Stencil<'a> {
    arguments: &'a Arguments,
    world: &'a SimpleCommunicator,
    is_preloaded: bool,
}

fn main() {
    let Command { arguments } = Command::parse();
    let is_preloaded = env::var("LD_PRELOAD").is_ok_and(|libraries| libraries.contains("dtype_mpi"));
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    let stencil = Stencil { arguments: &arguments, world: &world, is_preloaded };
    for rows in [128, 512, 2048, 4096] {
        stencil.run::<f64>("jacobi", rows);
        stencil.run::<u8>("life", rows);
    }
    for rows in [256, 768, 1024, 3072] {
        stencil.run::<f32>("image", rows);
    }
}

impl Stencil<'_> {
    /// Measures the exchanges of a matrix of which each rank has so many rows, and half as many columns.
    fn run<T: MpiDatatype + Equivalence + Copy + Default + PartialEq + From<u8>>(
        &self,
        name: &str,
        rows: usize,
    ) {
        let comm = Comm::from(self.world);
        let grid = comm.cartesian([1, 1, comm.size()], [false; 3]).expect("all ranks are in the grid");
        let sizes = [3, rows + 2, rows / 2 + 2];
        let own = if self.is_preloaded { Calls::OF_PROGRAMS } else { Calls::OF_LIBRARY };
        let [ours, theirs] = [own, Calls::OF_LIBRARY].map(|calls| Faces::<T>::new(calls, &grid, sizes, 1));
        let own_rank = comm.rank() as u8;
        let cells = 0..sizes.iter().product::<usize>();
        // All ways use one array, whose pages are the same for each.
        let array: Vec<T> = cells.map(|i| T::from((i % 97) as u8 + own_rank)).collect();
        let array = RefCell::new(array);
        let halo = Halo::new(sizes, 1).faces();
        let prepared = RefCell::new(grid.halo::<T, 3>(halo).expect("a halo"));
        let buffers = RefCell::new(Buffers::new(&theirs));
        let requests = |faces: &Faces<T>| RefCell::new(faces.prepared(&mut array.borrow_mut()));
        let kept = [requests(&ours), requests(&theirs)];
        let kept_by_hand = RefCell::new(buffers.borrow_mut().prepared(&theirs));
        let by_halo = || prepared.borrow_mut().exchange(&mut *array.borrow_mut()).expect("it arrives");
        let by_hand =
            || buffers.borrow_mut().run(&theirs, &mut array.borrow_mut(), &mut kept_by_hand.borrow_mut());
        let at_once = || buffers.borrow_mut().exchange(&theirs, &mut array.borrow_mut());
        let by_neighbours = || buffers.borrow_mut().by_neighbourhood(&theirs, &mut array.borrow_mut());
        let modes: [(&str, [Run<'_>; 3]); 3] = [
            (
                "immediate",
                [
                    Box::new(|| ours.by_subarrays(&mut array.borrow_mut())),
                    Box::new(|| theirs.by_subarrays(&mut array.borrow_mut())),
                    Box::new(at_once),
                ],
            ),
            (
                "neighbourhood",
                [
                    Box::new(|| ours.by_neighbourhood(&mut array.borrow_mut())),
                    Box::new(|| theirs.by_neighbourhood(&mut array.borrow_mut())),
                    Box::new(by_neighbours),
                ],
            ),
            (
                "prepared",
                [
                    Box::new(|| ours.run(&mut kept[0].borrow_mut())),
                    Box::new(|| theirs.run(&mut kept[1].borrow_mut())),
                    Box::new(by_hand),
                ],
            ),
        ];
        for (mode, [mut own, datatypes, by_hand]) in modes {
            if !self.is_preloaded {
                own = Box::new(by_halo);
            }
            let ways: [Way<'_>; 3] = [("ours", own), ("datatypes", datatypes), ("by hand", by_hand)];
            let by = if self.is_preloaded { "preloaded" } else { "in Rust" };
            let case = format!("{name}/{rows}/{mode}/{by}");
            let ghosts = ways.each_ref().map(|(_, way)| {
                theirs.fill_ghosts(&mut array.borrow_mut(), T::default());
                way();
                theirs.ghosts(&array.borrow())
            });
            assert!(ghosts.iter().all(|cells| *cells == ghosts[0]), "{case}: the ghost cells are the same");
            measure("stencils", self.arguments, self.world, &case, SHORT, &ways);
        }
        for requests in kept.iter().chain([&kept_by_hand]) {
            free(&mut requests.borrow_mut());
        }
    }
}
