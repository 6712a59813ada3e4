//! Ways to send messages between two ranks: on our wires, and with datatypes in plain MPI calls.

use std::{cell::RefCell, ffi::c_int, hint::black_box, rc::Rc};

use dtype_guidelines::way::Way;
use dtype_runtime::{
    Wire,
    traits::*,
    wire::{self, Receivable, Sendable},
};
use mpi::{
    ffi::{self, MPI_Datatype},
    topology::Process,
    traits::*,
};

/// A function that sends to the other rank or receives from it.
pub type Call<'a> = Box<dyn Fn(&Process<'_>) + 'a>;

/// A way to send and receive a message.
pub struct Travel<'a> {
    /// Sends the message.
    pub send: Call<'a>,
    /// Receives the message.
    pub receive: Call<'a>,
    /// The beginning of the table row for such messages, if `Wire::Auto` has a choice for them.
    pub row: Option<String>,
}

impl<'a> Travel<'a> {
    fn new(send: impl Fn(&Process<'_>) + 'a, receive: impl Fn(&Process<'_>) + 'a) -> Self {
        Self { send: Box::new(send), receive: Box::new(receive), row: None }
    }

    /// Returns the message on the wires `Auto`, `Packed` and `Segments`, by name.
    ///
    /// # Panics
    /// The calls panic if the message cannot be sent on a wire, or does not fit.
    pub fn on_all_wires<M: Sendable + 'a, N: Receivable + 'a>(
        message: impl Fn() -> M + Clone + 'a,
        into: impl Fn() -> N + Clone + 'a,
    ) -> Vec<(&'static str, Self)> {
        let on = |wire| {
            let (message, into) = (message.clone(), into.clone());
            Self::new(
                move |process| process.send_over(wire, &message()).expect("it can travel so"),
                move |process| {
                    process.receive_over(wire, &mut into()).expect("it fits");
                },
            )
        };
        let row = wire::table_row(&message());
        vec![
            ("auto", Self { row, ..on(Wire::Auto) }),
            ("packed", on(Wire::Packed)),
            ("segments", on(Wire::Segments)),
        ]
    }

    /// Returns the message with its least-cost datatype, in plain MPI calls.
    pub fn least_cost<M: Buffer + 'a, N: BufferMut + 'a>(
        message: impl Fn() -> M + 'a,
        into: impl Fn() -> N + 'a,
    ) -> (&'static str, Self) {
        let receive = move |from: &Process<'_>| {
            from.receive_into(&mut into());
        };
        ("least-cost", Self::new(move |to| to.send(&message()), receive))
    }

    /// Returns values with the datatype that rsmpi gives them.
    pub fn of_values<T: Equivalence + 'a>(memory: *mut T, count: usize) -> Self {
        let values = move || unsafe { std::slice::from_raw_parts_mut(black_box(memory), count) };
        Self::new(
            move |to| to.send(values()),
            move |from| {
                from.receive_into(values());
            },
        )
    }

    /// Returns a message of `count` copies of a datatype, which `owner` keeps alive.
    pub fn of_raw(memory: *mut u8, count: c_int, datatype: MPI_Datatype, owner: impl Sized + 'a) -> Self {
        let owner = Rc::new(owner);
        let also = Rc::clone(&owner);
        Self::new(
            move |to| unsafe {
                let (_owner, communicator) = (&owner, to.as_communicator().as_raw());
                ffi::MPI_Send(memory.cast(), count, datatype, to.rank(), 0, communicator);
            },
            move |from| unsafe {
                let (_owner, communicator) = (&also, from.as_communicator().as_raw());
                let status = ffi::RSMPI_STATUS_IGNORE;
                ffi::MPI_Recv(memory.cast(), count, datatype, from.rank(), 0, communicator, status);
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
                to.send(&buffer[..]);
            },
            move |from| {
                let mut buffer = also.borrow_mut();
                from.receive_into(&mut buffer[..]);
                (way.unpack)(&buffer);
            },
        )
    }
}
