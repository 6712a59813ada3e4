//! Collective calls that move data (MPI 4.1 chapter 6), blocking and begun, on one group and between two.

use std::os::raw::{c_int, c_void};

use mpi::ffi::{MPI_Comm, MPI_Datatype, MPI_Request};

use super::sides::{Listed, Members, Side, Sides, in_place};
use crate::staged::Argument;

/// Defines a call and the one that begins it: what to prepare, and with what to call then. Only what the
/// standard says is significant on a rank is looked at.
macro_rules! collectives {
    ($(
        fn $name:ident, $immediate:ident($($argument:ident: $type:ty),* $(,)?)
        |$call:ident| $prepare:block
        |$sides:ident| ($($hand:expr),* $(,)?)
    )*) => { calls_of_both_counts! {$(
        fn $name($($argument: $type),*) |next| {
            // SAFETY: the program's promise; packed bytes are as many as the datatypes have.
            unsafe {
                let $call = &CALL;
                let $sides = $prepare;
                let code = next($($hand),*);
                $sides.finish(code)
            }
        }

        fn $immediate($($argument: $type,)* request: *mut MPI_Request) |next| {
            // SAFETY: the program's promise; packed bytes are as many as the datatypes have, and are kept.
            unsafe {
                let $call = &CALL;
                let $sides = $prepare;
                let code = next($($hand,)* request);
                $sides.begin(code, request)
            }
        }
    )*} };
}

pub(super) use collectives;

collectives! {
    fn Bcast, Ibcast(
        buffer: *mut c_void,
        count: Count,
        datatype: MPI_Datatype,
        root: c_int,
        communicator: MPI_Comm,
    ) |call| {
        let (members, named) = (Members::of(communicator), Argument::new(buffer, count, datatype));
        let nothing = || Side::<c_int>::named(buffer, datatype, std::ptr::null());
        if members.is_root(root) {
            Sides { send: Side::sent(call, named, 1, communicator), receive: nothing() }
        } else if members.is_other(root) {
            Sides { send: nothing(), receive: Side::received(call, named, 1, communicator) }
        } else {
            Sides { send: nothing(), receive: nothing() }
        }
    } |sides| (sides.used().buffer, count, sides.used().datatype, root, communicator)

    fn Gather, Igather(
        from: *const c_void,
        from_count: Count,
        from_type: MPI_Datatype,
        to: *mut c_void,
        to_count: Count,
        to_type: MPI_Datatype,
        root: c_int,
        communicator: MPI_Comm,
    ) |call| {
        let members = Members::of(communicator);
        let mut sides = Sides::<c_int, c_int>::named((from, from_type), (to, to_type));
        let sends = members.is_other(root) || !members.has_other_group;
        if sends && from != in_place() {
            sides.send = Side::sent(call, Argument::new(from, from_count, from_type), 1, communicator);
        }
        if members.is_root(root) {
            let named = Argument::new(to, to_count, to_type);
            let received = Side::received(call, named, members.size, communicator);
            sides.receive = if from == in_place() { received.packed() } else { received };
        }
        sides
    } |sides| (
        sides.send.buffer,
        from_count,
        sides.send.datatype,
        sides.receive.buffer,
        to_count,
        sides.receive.datatype,
        root,
        communicator,
    )

    fn Scatter, Iscatter(
        from: *const c_void,
        from_count: Count,
        from_type: MPI_Datatype,
        to: *mut c_void,
        to_count: Count,
        to_type: MPI_Datatype,
        root: c_int,
        communicator: MPI_Comm,
    ) |call| {
        let members = Members::of(communicator);
        let mut sides = Sides::<c_int, c_int>::named((from, from_type), (to, to_type));
        if members.is_root(root) {
            let named = Argument::new(from, from_count, from_type);
            sides.send = Side::sent(call, named, members.size, communicator);
        }
        let receives = members.is_other(root) || !members.has_other_group;
        if receives && to.cast_const() != in_place() {
            sides.receive = Side::received(call, Argument::new(to, to_count, to_type), 1, communicator);
        }
        sides
    } |sides| (
        sides.send.buffer,
        from_count,
        sides.send.datatype,
        sides.receive.buffer,
        to_count,
        sides.receive.datatype,
        root,
        communicator,
    )

    fn Allgather, Iallgather(
        from: *const c_void,
        from_count: Count,
        from_type: MPI_Datatype,
        to: *mut c_void,
        to_count: Count,
        to_type: MPI_Datatype,
        communicator: MPI_Comm,
    ) |call| {
        let mut sides = Sides::<c_int, c_int>::named((from, from_type), (to, to_type));
        if from != in_place() {
            let (members, named) = (Members::of(communicator), Argument::new(from, from_count, from_type));
            sides.send = Side::sent(call, named, 1, communicator);
            let named = Argument::new(to, to_count, to_type);
            sides.receive = Side::received(call, named, members.size, communicator);
        }
        sides
    } |sides| (
        sides.send.buffer,
        from_count,
        sides.send.datatype,
        sides.receive.buffer,
        to_count,
        sides.receive.datatype,
        communicator,
    )

    fn Alltoall, Ialltoall(
        from: *const c_void,
        from_count: Count,
        from_type: MPI_Datatype,
        to: *mut c_void,
        to_count: Count,
        to_type: MPI_Datatype,
        communicator: MPI_Comm,
    ) |call| {
        let mut sides = Sides::<c_int, c_int>::named((from, from_type), (to, to_type));
        if from != in_place() {
            let (members, named) = (Members::of(communicator), Argument::new(from, from_count, from_type));
            sides.send = Side::sent(call, named, members.size, communicator);
            let named = Argument::new(to, to_count, to_type);
            sides.receive = Side::received(call, named, members.size, communicator);
        }
        sides
    } |sides| (
        sides.send.buffer,
        from_count,
        sides.send.datatype,
        sides.receive.buffer,
        to_count,
        sides.receive.datatype,
        communicator,
    )

    fn Gatherv, Igatherv(
        from: *const c_void,
        from_count: Count,
        from_type: MPI_Datatype,
        to: *mut c_void,
        counts: *const Count,
        places: *const Place,
        to_type: MPI_Datatype,
        root: c_int,
        communicator: MPI_Comm,
    ) |call| {
        let members = Members::of(communicator);
        let mut sides = Sides::<c_int, Place>::named((from, from_type), (to, to_type));
        sides.receive.places = places;
        let sends = members.is_other(root) || !members.has_other_group;
        if sends && from != in_place() {
            sides.send = Side::sent(call, Argument::new(from, from_count, from_type), 1, communicator);
        }
        if members.is_root(root) {
            let named = Listed { buffer: to, counts, places, datatype: to_type };
            let received = Side::listed(call, &named, members.size, communicator);
            sides.receive = if from == in_place() { received.packed() } else { received };
        }
        sides
    } |sides| (
        sides.send.buffer,
        from_count,
        sides.send.datatype,
        sides.receive.buffer,
        counts,
        sides.receive.places,
        sides.receive.datatype,
        root,
        communicator,
    )

    fn Scatterv, Iscatterv(
        from: *const c_void,
        counts: *const Count,
        places: *const Place,
        from_type: MPI_Datatype,
        to: *mut c_void,
        to_count: Count,
        to_type: MPI_Datatype,
        root: c_int,
        communicator: MPI_Comm,
    ) |call| {
        let members = Members::of(communicator);
        let mut sides = Sides::<Place, c_int>::named((from, from_type), (to, to_type));
        sides.send.places = places;
        if members.is_root(root) {
            let named = Listed { buffer: from, counts, places, datatype: from_type };
            sides.send = Side::sent_listed(call, &named, members.size, communicator);
        }
        let receives = members.is_other(root) || !members.has_other_group;
        if receives && to.cast_const() != in_place() {
            sides.receive = Side::received(call, Argument::new(to, to_count, to_type), 1, communicator);
        }
        sides
    } |sides| (
        sides.send.buffer,
        counts,
        sides.send.places,
        sides.send.datatype,
        sides.receive.buffer,
        to_count,
        sides.receive.datatype,
        root,
        communicator,
    )

    fn Allgatherv, Iallgatherv(
        from: *const c_void,
        from_count: Count,
        from_type: MPI_Datatype,
        to: *mut c_void,
        counts: *const Count,
        places: *const Place,
        to_type: MPI_Datatype,
        communicator: MPI_Comm,
    ) |call| {
        let mut sides = Sides::<c_int, Place>::named((from, from_type), (to, to_type));
        sides.receive.places = places;
        if from != in_place() {
            let members = Members::of(communicator);
            sides.send = Side::sent(call, Argument::new(from, from_count, from_type), 1, communicator);
            let named = Listed { buffer: to, counts, places, datatype: to_type };
            sides.receive = Side::listed(call, &named, members.size, communicator);
        }
        sides
    } |sides| (
        sides.send.buffer,
        from_count,
        sides.send.datatype,
        sides.receive.buffer,
        counts,
        sides.receive.places,
        sides.receive.datatype,
        communicator,
    )

    fn Alltoallv, Ialltoallv(
        from: *const c_void,
        from_counts: *const Count,
        from_places: *const Place,
        from_type: MPI_Datatype,
        to: *mut c_void,
        to_counts: *const Count,
        to_places: *const Place,
        to_type: MPI_Datatype,
        communicator: MPI_Comm,
    ) |call| {
        let mut sides = Sides::<Place, Place>::named((from, from_type), (to, to_type));
        (sides.send.places, sides.receive.places) = (from_places, to_places);
        if from != in_place() {
            let members = Members::of(communicator);
            let named =
                Listed { buffer: from, counts: from_counts, places: from_places, datatype: from_type };
            sides.send = Side::sent_listed(call, &named, members.size, communicator);
            let named = Listed { buffer: to, counts: to_counts, places: to_places, datatype: to_type };
            sides.receive = Side::listed(call, &named, members.size, communicator);
        }
        sides
    } |sides| (
        sides.send.buffer,
        from_counts,
        sides.send.places,
        sides.send.datatype,
        sides.receive.buffer,
        to_counts,
        sides.receive.places,
        sides.receive.datatype,
        communicator,
    )
}
