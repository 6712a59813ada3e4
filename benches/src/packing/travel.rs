//! Ways to send messages between two ranks: on our wires, and with datatypes in plain MPI calls.

use std::{cell::RefCell, ffi::c_int, hint::black_box, rc::Rc};

use dtype_engine::prices::Shape;
use dtype_guidelines::way::Way;
use dtype_runtime::{__private::shape_of, Comm, Message, Peer, Place, Wire};
use mpi::{
    ffi::{self, MPI_Datatype},
    topology::{Process, SimpleCommunicator},
    traits::*,
};

/// The other rank of two.
pub struct Other<'w> {
    /// The rank for our calls.
    pub peer: Peer<'w>,
    /// The rank for rsmpi's calls.
    pub process: Process<'w>,
}

impl<'w> Other<'w> {
    /// Returns the other rank.
    pub fn of(world: &'w Comm<&SimpleCommunicator>) -> Self {
        let rank = 1 - world.rank();
        Self { peer: world.peer(rank), process: world.process_at_rank(rank as c_int) }
    }
}

/// A function that sends to the other rank or receives from it.
pub type Call<'a> = Box<dyn Fn(&Other<'_>) + 'a>;

/// A way to send and receive a message.
pub struct Travel<'a> {
    /// Sends the message.
    pub send: Call<'a>,
    /// Receives the message.
    pub receive: Call<'a>,
    /// The shape of the message, if `Wire::Auto` has a choice for it.
    pub shape: Option<Shape>,
}

impl<'a> Travel<'a> {
    fn new(send: impl Fn(&Other<'_>) + 'a, receive: impl Fn(&Other<'_>) + 'a) -> Self {
        Self { send: Box::new(send), receive: Box::new(receive), shape: None }
    }

    /// Returns the message on the wires `Auto`, `Packed` and `Segments`, by name; with `has_datatype`, also
    /// on the wire `Typed`.
    ///
    /// # Panics
    /// The calls panic if the message cannot be sent on a wire, or does not fit.
    pub fn on_all_wires<M: Message + 'a, N: Place + 'a>(
        message: impl Fn() -> M + Clone + 'a,
        into: impl Fn() -> N + Clone + 'a,
        has_datatype: bool,
    ) -> Vec<(&'static str, Self)> {
        let on = |wire| {
            let (message, into) = (message.clone(), into.clone());
            Self::new(
                move |to| to.peer.wire(wire).send(&message()).expect("it can travel so"),
                move |from| from.peer.wire(wire).receive_into(&mut into()).expect("it fits"),
            )
        };
        let shape = shape_of(&message());
        let mut all = vec![
            ("auto", Self { shape, ..on(Wire::Auto) }),
            ("packed", on(Wire::Packed)),
            ("segments", on(Wire::Segments)),
        ];
        if has_datatype {
            all.push(("typed-wire", on(Wire::Typed)));
        }
        all
    }

    /// Returns the message with its least-cost datatype, in plain MPI calls.
    pub fn least_cost<M: Buffer + 'a, N: BufferMut + 'a>(
        message: impl Fn() -> M + 'a,
        into: impl Fn() -> N + 'a,
    ) -> (&'static str, Self) {
        let receive = move |from: &Other<'_>| {
            from.process.receive_into(&mut into());
        };
        ("least-cost", Self::new(move |to| to.process.send(&message()), receive))
    }

    /// Returns values with the datatype that rsmpi gives them.
    pub fn of_values<T: Equivalence + 'a>(memory: *mut T, count: usize) -> Self {
        let values = move || unsafe { std::slice::from_raw_parts_mut(black_box(memory), count) };
        Self::new(
            move |to| to.process.send(values()),
            move |from| {
                from.process.receive_into(values());
            },
        )
    }

    /// Returns a message of `count` copies of a datatype, which `owner` keeps alive.
    pub fn of_raw(memory: *mut u8, count: c_int, datatype: MPI_Datatype, owner: impl Sized + 'a) -> Self {
        let owner = Rc::new(owner);
        let also = Rc::clone(&owner);
        Self::new(
            move |to| unsafe {
                let (_owner, communicator) = (&owner, to.process.as_communicator().as_raw());
                ffi::MPI_Send(memory.cast(), count, datatype, to.process.rank(), 0, communicator);
            },
            move |from| unsafe {
                let (_owner, communicator) = (&also, from.process.as_communicator().as_raw());
                let (rank, status) = (from.process.rank(), ffi::RSMPI_STATUS_IGNORE);
                ffi::MPI_Recv(memory.cast(), count, datatype, rank, 0, communicator, status);
            },
        )
    }

    /// Returns a contiguous message of `size` bytes, which `way` packs and unpacks.
    pub fn packed(way: &'a Way<'a>, size: usize) -> Self {
        let buffer = Rc::new(RefCell::new(vec![0u8; size]));
        let also = Rc::clone(&buffer);
        Self::new(
            move |to| {
                let mut buffer = buffer.borrow_mut();
                (way.pack)(&mut buffer);
                to.process.send(&buffer[..]);
            },
            move |from| {
                let mut buffer = also.borrow_mut();
                from.process.receive_into(&mut buffer[..]);
                (way.unpack)(&buffer);
            },
        )
    }
}
