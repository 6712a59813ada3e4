//! The exchange of the faces of a box as a user writes it with MPI's own calls: subarray datatypes, a
//! neighbourhood collective, and packing by hand, each with messages that are started anew or prepared.

// Each buffer outlives its requests, and the datatypes select parts of the array that do not overlap.
#![allow(clippy::undocumented_unsafe_blocks)]

use std::{
    marker::PhantomData,
    os::raw::{c_int, c_void},
};

use mpi::{
    ffi::{self, MPI_Aint, MPI_Comm, MPI_Datatype, MPI_Request, MPI_Status},
    raw::AsRaw,
    topology::CartesianCommunicator,
    traits::*,
};

use crate::boxes::Part;

/// The number of faces of a box.
pub const FACES: usize = 6;

type Receive =
    unsafe extern "C" fn(*mut c_void, c_int, MPI_Datatype, c_int, c_int, MPI_Comm, *mut MPI_Request) -> c_int;

type Send = unsafe extern "C" fn(
    *const c_void,
    c_int,
    MPI_Datatype,
    c_int,
    c_int,
    MPI_Comm,
    *mut MPI_Request,
) -> c_int;

type Neighbourhood = unsafe extern "C" fn(
    *const c_void,
    *const c_int,
    *const MPI_Aint,
    *const MPI_Datatype,
    *mut c_void,
    *const c_int,
    *const MPI_Aint,
    *const MPI_Datatype,
    MPI_Comm,
) -> c_int;

/// The functions of MPI that exchange faces.
#[derive(Clone, Copy)]
pub struct Calls {
    receive: Receive,
    send: Send,
    receive_prepared: Receive,
    send_prepared: Send,
    start: unsafe extern "C" fn(c_int, *mut MPI_Request) -> c_int,
    wait: unsafe extern "C" fn(c_int, *mut MPI_Request, *mut MPI_Status) -> c_int,
    neighbourhood: Neighbourhood,
}

impl Calls {
    /// The functions that programs call. A preloaded library intercepts them.
    pub const OF_PROGRAMS: Self = Self {
        receive: ffi::MPI_Irecv,
        send: ffi::MPI_Isend,
        receive_prepared: ffi::MPI_Recv_init,
        send_prepared: ffi::MPI_Send_init,
        start: ffi::MPI_Startall,
        wait: ffi::MPI_Waitall,
        neighbourhood: ffi::MPI_Neighbor_alltoallw,
    };

    /// The functions of the MPI library itself.
    pub const OF_LIBRARY: Self = Self {
        receive: ffi::PMPI_Irecv,
        send: ffi::PMPI_Isend,
        receive_prepared: ffi::PMPI_Recv_init,
        send_prepared: ffi::PMPI_Send_init,
        start: ffi::PMPI_Startall,
        wait: ffi::PMPI_Waitall,
        neighbourhood: ffi::PMPI_Neighbor_alltoallw,
    };
}

/// The faces of a rank's box and the ranks across them, in the order of `MPI_Neighbor_alltoallw`: for each
/// dimension the lower and the upper one. The box has ghost cells on all sides. The elements are `T`s.
pub struct Faces<T> {
    calls: Calls,
    communicator: MPI_Comm,
    sizes: [usize; 3],
    neighbours: [c_int; FACES],
    send: [Part; FACES],
    receive: [Part; FACES],
    send_types: [MPI_Datatype; FACES],
    receive_types: [MPI_Datatype; FACES],
    element: PhantomData<T>,
}

impl<T: Equivalence + Copy + Default> Faces<T> {
    /// Finds the faces of a box in an array of these sizes, which include ghost cells of this width. The
    /// datatypes live as long as the program.
    pub fn new(calls: Calls, grid: &CartesianCommunicator, sizes: [usize; 3], width: usize) -> Self {
        let part = |face: usize, start: usize| {
            let mut part = Part { start: [width; 3], lengths: sizes.map(|size| size - 2 * width) };
            (part.start[face / 2], part.lengths[face / 2]) = (start, width);
            part
        };
        let send = std::array::from_fn(|face| {
            part(face, if face % 2 == 0 { width } else { sizes[face / 2] - 2 * width })
        });
        let receive =
            std::array::from_fn(|face| part(face, if face % 2 == 0 { 0 } else { sizes[face / 2] - width }));
        let nobody = unsafe { ffi::RSMPI_PROC_NULL };
        let neighbours = std::array::from_fn(|face| {
            let (below, above) = grid.shift((face / 2) as c_int, 1);
            [below, above][face % 2].unwrap_or(nobody)
        });
        let datatypes = |parts: &[Part; FACES]| parts.map(|part| part.subarray::<T>(sizes));
        Self {
            calls,
            communicator: grid.as_raw(),
            sizes,
            neighbours,
            send_types: datatypes(&send),
            receive_types: datatypes(&receive),
            send,
            receive,
            element: PhantomData,
        }
    }

    /// Exchanges the faces by one message each way, of subarray datatypes.
    pub fn by_subarrays(&self, array: &mut [T]) {
        self.wait(&mut self.of_subarrays(array, When::Now));
    }

    /// Returns prepared requests for the messages of [`by_subarrays`](Self::by_subarrays).
    pub fn prepared(&self, array: &mut [T]) -> Vec<MPI_Request> {
        self.of_subarrays(array, When::Later)
    }

    fn of_subarrays(&self, array: &mut [T], when: When) -> Vec<MPI_Request> {
        let place = array.as_mut_ptr().cast::<c_void>();
        let one = |datatype| Block { place, count: 1, datatype };
        let received = (0..FACES).map(|face| self.receive(face, one(self.receive_types[face]), when));
        let sent = (0..FACES).map(|face| self.send(face, one(self.send_types[face]), when));
        received.chain(sent).collect()
    }

    /// Exchanges the faces by `MPI_Neighbor_alltoallw` with subarray datatypes.
    pub fn by_neighbourhood(&self, array: &mut [T]) {
        let (counts, displacements) = ([1; FACES], [0; FACES]);
        let place = array.as_mut_ptr().cast::<c_void>();
        self.neighbourhood([place; 2], &counts, [&displacements; 2], [&self.send_types, &self.receive_types]);
    }

    /// Calls `MPI_Neighbor_alltoallw`. Of each pair, the first item is that of the sent data.
    fn neighbourhood(
        &self,
        [sent, received]: [*mut c_void; 2],
        counts: &[c_int; FACES],
        [sent_at, received_at]: [&[MPI_Aint; FACES]; 2],
        [sent_types, received_types]: [&[MPI_Datatype; FACES]; 2],
    ) {
        unsafe {
            (self.calls.neighbourhood)(
                sent,
                counts.as_ptr(),
                sent_at.as_ptr(),
                sent_types.as_ptr(),
                received,
                counts.as_ptr(),
                received_at.as_ptr(),
                received_types.as_ptr(),
                self.communicator,
            );
        }
    }

    /// Starts or prepares a receive from the neighbour across a face. The message has the tag of the sender's
    /// face.
    fn receive(&self, face: usize, Block { place, count, datatype }: Block, when: When) -> MPI_Request {
        let call = match when {
            When::Now => self.calls.receive,
            When::Later => self.calls.receive_prepared,
        };
        let tag = (face ^ 1) as c_int;
        let rank = self.neighbours[face];
        made(|request| unsafe { call(place, count, datatype, rank, tag, self.communicator, request) })
    }

    /// Starts or prepares a send to the neighbour across a face.
    fn send(&self, face: usize, Block { place, count, datatype }: Block, when: When) -> MPI_Request {
        let call = match when {
            When::Now => self.calls.send,
            When::Later => self.calls.send_prepared,
        };
        let tag = face as c_int;
        let rank = self.neighbours[face];
        made(|request| unsafe { call(place, count, datatype, rank, tag, self.communicator, request) })
    }

    /// Starts prepared requests, and waits for them.
    pub fn run(&self, requests: &mut [MPI_Request]) {
        unsafe { (self.calls.start)(requests.len() as c_int, requests.as_mut_ptr()) };
        self.wait(requests);
    }

    /// Returns the ghost cells of all faces, one after the other.
    pub fn ghosts(&self, array: &[T]) -> Vec<T> {
        let mut found = Vec::new();
        for part in &self.receive {
            part.rows(self.sizes, |row| found.extend_from_slice(&array[row..row + part.lengths[2]]));
        }
        found
    }

    /// Gives all ghost cells this value.
    pub fn fill_ghosts(&self, array: &mut [T], value: T) {
        for part in &self.receive {
            part.rows(self.sizes, |row| array[row..row + part.lengths[2]].fill(value));
        }
    }

    /// Waits for requests.
    fn wait(&self, requests: &mut [MPI_Request]) {
        let ignored = unsafe { ffi::RSMPI_STATUSES_IGNORE };
        unsafe { (self.calls.wait)(requests.len() as c_int, requests.as_mut_ptr(), ignored) };
    }
}

/// The data of a message: its address, its number of elements, and their datatype.
struct Block {
    place: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
}

/// The time at which a message is started.
#[derive(Clone, Copy)]
enum When {
    Now,
    /// By each start of a persistent request.
    Later,
}

/// The buffers of an exchange by hand: one for each face, each way.
pub struct Buffers<T> {
    send: [Vec<T>; FACES],
    receive: [Vec<T>; FACES],
}

impl<T: Equivalence + Copy + Default> Buffers<T> {
    /// Makes room for all faces.
    pub fn new(faces: &Faces<T>) -> Self {
        let buffers = |parts: &[Part; FACES]| parts.map(|part| vec![T::default(); part.count()]);
        Self { send: buffers(&faces.send), receive: buffers(&faces.receive) }
    }

    /// Exchanges the faces by one message each way, packed by hand.
    pub fn exchange(&mut self, faces: &Faces<T>, array: &mut [T]) {
        self.pack(faces, array);
        faces.wait(&mut self.requests(faces, When::Now));
        self.unpack(faces, array);
    }

    /// Exchanges the faces by `MPI_Neighbor_alltoallw`, packed by hand.
    pub fn by_neighbourhood(&mut self, faces: &Faces<T>, array: &mut [T]) {
        self.pack(faces, array);
        let counts = std::array::from_fn(|face| self.send[face].len() as c_int);
        let origin = array.as_mut_ptr().cast::<c_void>();
        let from = |buffer: &[T]| (buffer.as_ptr().addr() as MPI_Aint) - (origin.addr() as MPI_Aint);
        let sent: [MPI_Aint; FACES] = std::array::from_fn(|face| from(&self.send[face]));
        let received: [MPI_Aint; FACES] = std::array::from_fn(|face| from(&self.receive[face]));
        let elements = [T::equivalent_datatype().as_raw(); FACES];
        faces.neighbourhood([origin; 2], &counts, [&sent, &received], [&elements; 2]);
        self.unpack(faces, array);
    }

    /// Returns prepared requests for the messages of [`exchange`](Self::exchange).
    pub fn prepared(&mut self, faces: &Faces<T>) -> Vec<MPI_Request> {
        self.requests(faces, When::Later)
    }

    /// Exchanges the faces by prepared requests.
    pub fn run(&mut self, faces: &Faces<T>, array: &mut [T], requests: &mut [MPI_Request]) {
        self.pack(faces, array);
        faces.run(requests);
        self.unpack(faces, array);
    }

    fn requests(&mut self, faces: &Faces<T>, when: When) -> Vec<MPI_Request> {
        let block = |buffer: &mut Vec<T>| Block {
            place: buffer.as_mut_ptr().cast(),
            count: buffer.len() as c_int,
            datatype: T::equivalent_datatype().as_raw(),
        };
        let received = self.receive.iter_mut().map(block).enumerate();
        let received = received.map(|(face, block)| faces.receive(face, block, when));
        let sent = self.send.iter_mut().map(block).enumerate();
        let sent = sent.map(|(face, block)| faces.send(face, block, when));
        received.chain(sent).collect()
    }

    fn pack(&mut self, faces: &Faces<T>, array: &[T]) {
        for (part, buffer) in faces.send.iter().zip(&mut self.send).zip(&faces.neighbours).filter_map(here) {
            let length = part.lengths[2];
            if length == 1 {
                let mut places = buffer.iter_mut();
                part.rows(faces.sizes, |row| {
                    places.next().into_iter().for_each(|place| *place = array[row]);
                });
                continue;
            }
            let mut rows = buffer.chunks_exact_mut(length);
            part.rows(faces.sizes, |row| {
                rows.next().into_iter().for_each(|own| own.copy_from_slice(&array[row..row + length]));
            });
        }
    }

    fn unpack(&self, faces: &Faces<T>, array: &mut [T]) {
        for (part, buffer) in faces.receive.iter().zip(&self.receive).zip(&faces.neighbours).filter_map(here)
        {
            let length = part.lengths[2];
            if length == 1 {
                let mut values = buffer.iter();
                part.rows(faces.sizes, |row| {
                    values.next().into_iter().for_each(|value| array[row] = *value);
                });
                continue;
            }
            let mut rows = buffer.chunks_exact(length);
            part.rows(faces.sizes, |row| {
                rows.next().into_iter().for_each(|own| array[row..row + length].copy_from_slice(own));
            });
        }
    }
}

/// Returns what belongs to a face if there is a neighbour across it.
fn here<F>((face, neighbour): (F, &c_int)) -> Option<F> {
    (*neighbour != unsafe { ffi::RSMPI_PROC_NULL }).then_some(face)
}

/// Returns the request that a call makes.
fn made(call: impl FnOnce(*mut MPI_Request) -> c_int) -> MPI_Request {
    let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
    call(&raw mut request);
    request
}

/// Frees prepared requests.
pub fn free(requests: &mut [MPI_Request]) {
    for request in requests {
        unsafe { ffi::MPI_Request_free(request) };
    }
}
