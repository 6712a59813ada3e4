//! Collective calls that move data, among all ranks or between neighbours in a topology: blocking,
//! nonblocking and persistent (MPI 4.1 chapter 6 and section 8.6).

use std::os::raw::{c_int, c_void};

#[cfg(persistent_collectives)]
use mpi::ffi::MPI_Info;
use mpi::ffi::{MPI_Aint, MPI_Comm, MPI_Datatype, MPI_Request};

use super::{
    collective_buffers::{Broadcast, CollectiveBuffers, Named},
    members::Asked,
};
use crate::requests::once;
#[cfg(persistent_collectives)]
use crate::requests::persistent;

/// Defines calls with two buffers, by the arguments after each buffer, the root if there is one, and the
/// method of [`Asked`] that returns the blocks.
macro_rules! collectives {
    ($ending:literal; $($send:tt $receive:tt $root:tt
        $($name:ident $begun:ident $prepared:ident: $blocks:ident,)*;
    )*) => {$($(
        collective! { $ending; $send $receive $root $blocks once;
            $name () |sides, _kind, code| sides.finish(code) }
        collective! { $ending; $send $receive $root $blocks once;
            $begun (request: *mut MPI_Request) |sides, kind, code| sides.keep(code, request, kind) }
        #[cfg(persistent_collectives)]
        collective! { $ending; $send $receive $root $blocks persistent;
            $prepared (info: MPI_Info, request: *mut MPI_Request)
            |sides, kind, code| sides.keep(code, request, kind) }
    )*)*};
}

/// Defines one of these calls, by its kind, its further arguments, and an expression that ends the call.
macro_rules! collective {
    (
        $ending:literal;
        ($($from_name:ident: $from_type:ty),*) ($($to_name:ident: $to_type:ty),*) ($($root:ident)?)
        $blocks:ident $kind:ident;
        $name:ident ($($more:ident: $type:ty),*) |$sides:ident, $of_kind:ident, $code:ident| $end:expr
    ) => { calls! { $ending;
        fn $name(
            from: *const c_void,
            $($from_name: $from_type,)*
            to: *mut c_void,
            $($to_name: $to_type,)*
            $($root: c_int,)?
            communicator: MPI_Comm,
            $($more: $type,)*
        ) |next| {
            // SAFETY: promises 1 to 4 for the call's arguments. A packed buffer has as many bytes as its
            // blocks, and is kept until the operation is complete.
            unsafe {
                let (send, receive) = ((from, ($($from_name),*)), (to, ($($to_name),*)));
                if send.1.stays() && receive.1.stays() {
                    return next(
                        from, $($from_name,)* to, $($to_name,)* $($root,)? communicator, $($more),*
                    );
                }
                let asked = Asked { communicator, root: [$($root,)? 0][0], from, to };
                let (mut $sides, $of_kind) =
                    $kind(|| CollectiveBuffers::of(&CALL, asked.$blocks(), send, receive, communicator));
                if !$of_kind.is_persistent() {
                    $sides.begin();
                }
                let (from, ($($from_name),*)) = ($sides.send.buffer, $sides.send.arguments);
                let (to, ($($to_name),*)) = ($sides.receive.buffer, $sides.receive.arguments);
                let $code =
                    next(from, $($from_name,)* to, $($to_name,)* $($root,)? communicator, $($more),*);
                $end
            }
        }
    } };
}

with_both_counts! { collectives! {
    (from_count: Count, from_type: MPI_Datatype) (to_count: Count, to_type: MPI_Datatype) (root)
        Gather Igather Gather_init: gather,
        Scatter Iscatter Scatter_init: scatter,;
    (from_count: Count, from_type: MPI_Datatype)
    (counts: *const Count, places: *const Place, to_type: MPI_Datatype) (root)
        Gatherv Igatherv Gatherv_init: gather,;
    (counts: *const Count, places: *const Place, from_type: MPI_Datatype)
    (to_count: Count, to_type: MPI_Datatype) (root)
        Scatterv Iscatterv Scatterv_init: scatter,;
    (from_count: Count, from_type: MPI_Datatype) (to_count: Count, to_type: MPI_Datatype) ()
        Allgather Iallgather Allgather_init: allgather,
        Alltoall Ialltoall Alltoall_init: alltoall,
        Neighbor_allgather Ineighbor_allgather Neighbor_allgather_init: neighbor_allgather,
        Neighbor_alltoall Ineighbor_alltoall Neighbor_alltoall_init: neighbor_alltoall,;
    (from_count: Count, from_type: MPI_Datatype)
    (counts: *const Count, places: *const Place, to_type: MPI_Datatype) ()
        Allgatherv Iallgatherv Allgatherv_init: allgather,
        Neighbor_allgatherv Ineighbor_allgatherv Neighbor_allgatherv_init: neighbor_allgather,;
    (from_counts: *const Count, from_places: *const Place, from_type: MPI_Datatype)
    (to_counts: *const Count, to_places: *const Place, to_type: MPI_Datatype) ()
        Alltoallv Ialltoallv Alltoallv_init: alltoall,
        Neighbor_alltoallv Ineighbor_alltoallv Neighbor_alltoallv_init: neighbor_alltoall,;
    (from_counts: *const Count, from_places: *const Place, from_types: *const MPI_Datatype)
    (to_counts: *const Count, to_places: *const Place, to_types: *const MPI_Datatype) ()
        Alltoallw Ialltoallw Alltoallw_init: alltoall,;
    (from_counts: *const Count, from_places: *const MPI_Aint, from_types: *const MPI_Datatype)
    (to_counts: *const Count, to_places: *const MPI_Aint, to_types: *const MPI_Datatype) ()
        Neighbor_alltoallw Ineighbor_alltoallw Neighbor_alltoallw_init: neighbor_alltoall,;
} }

/// Defines broadcasts, which have one buffer, as [`collective`] defines the other calls.
macro_rules! broadcasts {
    ($ending:literal; $(
        $name:ident $kind:ident ($($more:ident: $type:ty),*)
            |$sides:ident, $of_kind:ident, $code:ident| $end:expr;
    )*) => {
        calls! { $ending; $(
            fn $name(
                buffer: *mut c_void,
                count: Count,
                datatype: MPI_Datatype,
                root: c_int,
                communicator: MPI_Comm,
                $($more: $type,)*
            ) |next| {
                // SAFETY: promises 1 to 4 for the call's arguments. The packed buffer has as many bytes as
                // the message, and is kept until the operation is complete.
                unsafe {
                    if (count, datatype).stays() {
                        return next(buffer, count, datatype, root, communicator, $($more),*);
                    }
                    let blocks = Asked { communicator, root, from: buffer, to: buffer }.broadcast();
                    let named = (count, datatype);
                    let (mut $sides, $of_kind) =
                        $kind(|| Broadcast::of_one(&CALL, blocks, buffer, named, communicator));
                    if !$of_kind.is_persistent() {
                        $sides.begin();
                    }
                    let (buffer, datatype) = $sides.used();
                    let $code = next(buffer, count, datatype, root, communicator, $($more),*);
                    $end
                }
            }
        )* }
    };
}

pub(crate) mod broadcasting {
    use super::*;
    with_both_counts! { broadcasts! {
        Bcast once () |sides, _kind, code| sides.finish(code);
        Ibcast once (request: *mut MPI_Request) |sides, kind, code| sides.keep(code, request, kind);
    } }
    #[cfg(persistent_collectives)]
    pub(crate) mod prepared {
        use super::*;
        with_both_counts! { broadcasts! {
            Bcast_init persistent (info: MPI_Info, request: *mut MPI_Request)
                |sides, kind, code| sides.keep(code, request, kind);
        } }
    }
}
