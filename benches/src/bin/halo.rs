//! `cargo xtask bench halo`: exchanges of the faces of a box in three dimensions, against the code that a
//! user would write with MPI's own calls: subarray datatypes, a neighbourhood collective, packing by hand.

use std::{
    cell::RefCell,
    hint::black_box,
    os::raw::{c_int, c_void},
    time::{Duration, Instant},
};

use clap::Parser;
use dtype_benches::{
    boxes::{MANY, Part, Way, measure},
    journeys::Arguments,
};
use dtype_runtime::{Comm, Halo};
use mpi::{
    ffi::{self, MPI_Comm, MPI_Datatype, MPI_Request},
    raw::AsRaw,
    topology::{CartesianCommunicator, SimpleCommunicator},
    traits::*,
};

/// Times halo exchanges.
#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

/// The number of faces of a box.
const FACES: usize = 6;

fn main() {
    let Command { arguments } = Command::parse();
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    let comm = Comm::from(&world);
    let ranks = comm.size();
    let lengths = if ranks == 4 { [2, 2, 1] } else { [ranks, 1, 1] };
    let grid = |lengths, periodic| comm.cartesian(lengths, periodic).expect("all ranks are in the grid");
    // Dimensions of one rank are not periodic, so that no rank is its own neighbour.
    let open = grid(lengths, lengths.map(|length| length > 1));
    for side in [64, 128] {
        for width in [1, 2] {
            exchange(&arguments, &world, &open, &format!("faces/{side}/width-{width}"), side, width);
        }
    }
    // The ghost cells of the last dimension are short rows, far apart.
    let along = grid([1, 1, ranks], [false, false, true]);
    for width in [1, 2, 8, 16] {
        exchange(&arguments, &world, &along, &format!("last/64/width-{width}"), 64, width);
    }
    let torus = grid(lengths, [true; 3]);
    exchange(&arguments, &world, &torus, "torus/64/width-1", 64, 1);
    overlap(&arguments, &world, &open);
}

/// Exchanges the faces of a box of `side` cells along each dimension.
fn exchange(
    arguments: &Arguments,
    world: &SimpleCommunicator,
    grid: &Comm<CartesianCommunicator>,
    case: &str,
    side: usize,
    width: usize,
) {
    let sizes = [side + 2 * width; 3];
    let array = || RefCell::new(vec![f64::from(world.rank()); sizes.iter().product()]);
    let (own, once, typed, neighbour, hand, persistent) =
        (array(), array(), array(), array(), array(), array());
    let halo = Halo::new(sizes, width).faces();
    let prepared = RefCell::new(grid.halo::<f64, 3>(halo).expect("a halo"));
    let plain = Plain::new(grid, sizes, width);
    let buffers = RefCell::new(Buffers::new(&plain));
    let kept = RefCell::new(Buffers::new(&plain));
    let requests = RefCell::new(kept.borrow_mut().requests(&plain, true));
    let ways: Vec<Way<'_>> = vec![
        ("ours", Box::new(|| prepared.borrow_mut().exchange(&mut *own.borrow_mut()).expect("it arrives"))),
        (
            "ours once",
            Box::new(|| {
                let mut exchange = grid.halo::<f64, 3>(halo).expect("a halo");
                exchange.exchange(&mut *once.borrow_mut()).expect("it arrives");
            }),
        ),
        ("subarrays", Box::new(|| plain.by_subarrays(&mut typed.borrow_mut()))),
        ("neighbourhood", Box::new(|| plain.by_neighbourhood(&mut neighbour.borrow_mut()))),
        (
            "by hand",
            Box::new(|| {
                let mut buffers = buffers.borrow_mut();
                plain.pack(&hand.borrow(), &mut buffers.send);
                let mut requests = buffers.requests(&plain, false);
                wait(&mut requests);
                plain.unpack(&mut hand.borrow_mut(), &buffers.receive);
            }),
        ),
        (
            "by hand persistent",
            Box::new(|| {
                let (mut kept, mut requests) = (kept.borrow_mut(), requests.borrow_mut());
                plain.pack(&persistent.borrow(), &mut kept.send);
                // SAFETY: the requests are persistent and inactive, and their buffers live on.
                unsafe { ffi::MPI_Startall(requests.len() as c_int, requests.as_mut_ptr()) };
                wait(&mut requests);
                plain.unpack(&mut persistent.borrow_mut(), &kept.receive);
            }),
        ),
    ];
    for (_, way) in &ways {
        way();
    }
    let expected = own.borrow();
    for (name, array) in [
        ("once", &once),
        ("subarrays", &typed),
        ("neighbourhood", &neighbour),
        ("by hand", &hand),
        ("persistent", &persistent),
    ] {
        assert!(*array.borrow() == *expected, "{name}: the ghost cells are the same");
    }
    drop(expected);
    measure("halo", arguments, world, case, MANY, &ways);
    for request in requests.borrow_mut().iter_mut() {
        // SAFETY: the request is inactive, and is freed once.
        unsafe { ffi::MPI_Request_free(request) };
    }
}

/// Exchanges while the program computes for a millisecond.
fn overlap(arguments: &Arguments, world: &SimpleCommunicator, grid: &Comm<CartesianCommunicator>) {
    let sizes = [66; 3];
    let halo = Halo::new(sizes, 1).faces();
    let prepared = RefCell::new(grid.halo::<f64, 3>(halo).expect("a halo"));
    let array = RefCell::new(vec![0.5; sizes.iter().product()]);
    // The work is counted, not timed, so that ranks that share a core do it one after another.
    let turns = turns_of(Duration::from_millis(1));
    let ways: Vec<Way<'_>> = vec![
        (
            "ours",
            Box::new(|| {
                let (mut exchange, mut array) = (prepared.borrow_mut(), array.borrow_mut());
                let mut pending = exchange.start(&mut *array).expect("it starts");
                compute(turns / 2);
                let _ = pending.is_done().expect("it is tested");
                compute(turns - turns / 2);
                pending.finish().expect("it arrives");
            }),
        ),
        ("computation", Box::new(|| compute(turns))),
        (
            "exchange",
            Box::new(|| prepared.borrow_mut().exchange(&mut *array.borrow_mut()).expect("it arrives")),
        ),
        (
            "one after the other",
            Box::new(|| {
                prepared.borrow_mut().exchange(&mut *array.borrow_mut()).expect("it arrives");
                compute(turns);
            }),
        ),
    ];
    measure("halo", arguments, world, "overlap/64/1-ms", MANY, &ways);
}

fn compute(turns: u64) {
    let mut sum = 1.0f64;
    for i in 0..turns {
        sum = black_box(sum * 1.000_001 + i as f64);
    }
    black_box(sum);
}

/// Returns the number of iterations that take so long.
fn turns_of(time: Duration) -> u64 {
    const SOME: u64 = 1_000_000;
    let start = Instant::now();
    compute(SOME);
    (SOME as f64 * time.as_secs_f64() / start.elapsed().as_secs_f64()) as u64
}

/// The exchange as a user writes it: faces in the order of `MPI_Neighbor_alltoallw`, for each dimension the
/// lower and the upper one.
struct Plain {
    communicator: MPI_Comm,
    sizes: [usize; 3],
    neighbours: [c_int; FACES],
    send: [Part; FACES],
    receive: [Part; FACES],
    send_types: [MPI_Datatype; FACES],
    receive_types: [MPI_Datatype; FACES],
}

impl Plain {
    fn new(grid: &CartesianCommunicator, sizes: [usize; 3], width: usize) -> Self {
        let part = |face: usize, start: usize| {
            let mut part = Part { start: [width; 3], lengths: sizes.map(|size| size - 2 * width) };
            (part.start[face / 2], part.lengths[face / 2]) = (start, width);
            part
        };
        let size = sizes[0];
        let send = std::array::from_fn(|face| part(face, [width, size - 2 * width][face % 2]));
        let receive = std::array::from_fn(|face| part(face, [0, size - width][face % 2]));
        // SAFETY: a constant of the library.
        let nobody = unsafe { ffi::RSMPI_PROC_NULL };
        let neighbours = std::array::from_fn(|face| {
            let (below, above) = grid.shift((face / 2) as c_int, 1);
            [below, above][face % 2].unwrap_or(nobody)
        });
        let datatypes = |parts: &[Part; FACES]| parts.map(|part| part.subarray(sizes));
        Self {
            communicator: grid.as_raw(),
            sizes,
            neighbours,
            send_types: datatypes(&send),
            receive_types: datatypes(&receive),
            send,
            receive,
        }
    }

    fn by_subarrays(&self, array: &mut [f64]) {
        let place = array.as_mut_ptr().cast::<c_void>();
        let mut requests = Vec::with_capacity(2 * FACES);
        for face in 0..FACES {
            requests.push(self.receive(place, 1, self.receive_types[face], face));
        }
        for face in 0..FACES {
            requests.push(self.send(place, 1, self.send_types[face], face));
        }
        wait(&mut requests);
    }

    fn by_neighbourhood(&self, array: &mut [f64]) {
        let (counts, displacements) = ([1; FACES], [0; FACES]);
        let place = array.as_mut_ptr().cast::<c_void>();
        // SAFETY: the datatypes select parts of the array that do not overlap; there is one for each
        // neighbour of the communicator.
        unsafe {
            ffi::MPI_Neighbor_alltoallw(
                place,
                counts.as_ptr(),
                displacements.as_ptr(),
                self.send_types.as_ptr(),
                place,
                counts.as_ptr(),
                displacements.as_ptr(),
                self.receive_types.as_ptr(),
                self.communicator,
            );
        }
    }

    /// Starts to receive from the neighbour across a face. The message has the tag of the sender's face.
    fn receive(&self, place: *mut c_void, count: usize, datatype: MPI_Datatype, face: usize) -> MPI_Request {
        let (rank, tag, count) = (self.neighbours[face], (face ^ 1) as c_int, count as c_int);
        started(|request| {
            // SAFETY: the memory is valid until `wait`.
            unsafe { ffi::MPI_Irecv(place, count, datatype, rank, tag, self.communicator, request) }
        })
    }

    fn send(&self, place: *const c_void, count: usize, datatype: MPI_Datatype, face: usize) -> MPI_Request {
        let (rank, tag, count) = (self.neighbours[face], face as c_int, count as c_int);
        started(|request| {
            // SAFETY: the memory is valid until `wait`.
            unsafe { ffi::MPI_Isend(place, count, datatype, rank, tag, self.communicator, request) }
        })
    }

    fn pack(&self, array: &[f64], buffers: &mut [Vec<f64>; FACES]) {
        for (part, buffer) in self.send.iter().zip(buffers).zip(&self.neighbours).filter_map(here) {
            let mut at = 0;
            part.rows(self.sizes, |row| {
                buffer[at..at + part.lengths[2]].copy_from_slice(&array[row..row + part.lengths[2]]);
                at += part.lengths[2];
            });
        }
    }

    fn unpack(&self, array: &mut [f64], buffers: &[Vec<f64>; FACES]) {
        for (part, buffer) in self.receive.iter().zip(buffers).zip(&self.neighbours).filter_map(here) {
            let mut at = 0;
            part.rows(self.sizes, |row| {
                array[row..row + part.lengths[2]].copy_from_slice(&buffer[at..at + part.lengths[2]]);
                at += part.lengths[2];
            });
        }
    }
}

/// Returns what belongs to a face if there is a neighbour across it.
fn here<F>((face, neighbour): (F, &c_int)) -> Option<F> {
    // SAFETY: a constant of the library.
    (*neighbour != unsafe { ffi::RSMPI_PROC_NULL }).then_some(face)
}

/// The buffers of the exchange by hand.
struct Buffers {
    send: [Vec<f64>; FACES],
    receive: [Vec<f64>; FACES],
}

impl Buffers {
    fn new(plain: &Plain) -> Self {
        let buffers = |parts: &[Part; FACES]| parts.map(|part| vec![0.0; part.lengths.iter().product()]);
        Self { send: buffers(&plain.send), receive: buffers(&plain.receive) }
    }

    /// Starts all messages, or makes persistent requests for them.
    fn requests(&mut self, plain: &Plain, persistent: bool) -> Vec<MPI_Request> {
        let double = f64::equivalent_datatype().as_raw();
        let mut requests = Vec::with_capacity(2 * FACES);
        for (face, buffer) in self.receive.iter_mut().enumerate() {
            let (place, count) = (buffer.as_mut_ptr().cast::<c_void>(), buffer.len());
            requests.push(if persistent {
                let (rank, tag) = (plain.neighbours[face], (face ^ 1) as c_int);
                let (count, communicator) = (count as c_int, plain.communicator);
                started(|request| {
                    // SAFETY: the buffer lives as long as the request.
                    unsafe { ffi::MPI_Recv_init(place, count, double, rank, tag, communicator, request) }
                })
            } else {
                plain.receive(place, count, double, face)
            });
        }
        for (face, buffer) in self.send.iter().enumerate() {
            let (place, count) = (buffer.as_ptr().cast::<c_void>(), buffer.len());
            requests.push(if persistent {
                let (rank, tag) = (plain.neighbours[face], face as c_int);
                let (count, communicator) = (count as c_int, plain.communicator);
                started(|request| {
                    // SAFETY: the buffer lives as long as the request.
                    unsafe { ffi::MPI_Send_init(place, count, double, rank, tag, communicator, request) }
                })
            } else {
                plain.send(place, count, double, face)
            });
        }
        requests
    }
}

fn started(call: impl FnOnce(*mut MPI_Request) -> c_int) -> MPI_Request {
    // SAFETY: a constant of the library.
    let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
    call(&raw mut request);
    request
}

fn wait(requests: &mut [MPI_Request]) {
    let mut statuses = Vec::with_capacity(requests.len());
    // SAFETY: there is room for a status for each request.
    unsafe { ffi::MPI_Waitall(requests.len() as c_int, requests.as_mut_ptr(), statuses.as_mut_ptr()) };
}
