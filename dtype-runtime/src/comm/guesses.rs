//! Names that a reader of MPI or of rsmpi may guess, if the compiler finds no similar one.
//!
//! Each is a hidden method of the shape of the right call, with a bound that never holds and whose message
//! names that call.

use std::ops::Range;

use ::mpi::Tag;

use super::{Comm, Handle, Message, Operand, Peer, Pending, Place};
use crate::{FromMessage, Result, layout::Darray};

/// Defines a trait for each message. No type implements it.
macro_rules! never {
    ($($name:ident: $message:literal;)*) => {$(
        #[doc(hidden)]
        #[diagnostic::on_unimplemented(message = $message, label = "there is no such call")]
        pub trait $name {}
    )*};
}

never! {
    OfPeer: "messages are calls of a rank: `world.peer(1).send(&x)`, `world.peer(0).receive()`";
    OneVerb: "every value is received by `peer.receive()`";
    TagFirst: "options come before the verb: `peer.tag(7).send(&x)`";
    StartFirst: "options come before the verb: `peer.start().send(&x)`, then `finish()`";
    TagAndStartFirst: "options come before the verb: `peer.tag(7).start().send(&x)`, then `finish()`";
    StartReceiving: "options come before the verb: `peer.start().receive()`, then `finish()`";
    SynchronousFirst: "options come before the verb: `peer.synchronous().send(&x)`";
    Swap: "`peer.swap(&mut x)` sends a value and receives another in its place";
    Exchange: "`world.exchange([(to, &x)], [(from, &mut y)])` sends and receives at once";
    Gather: "every value is gathered by `world.gather(root, &x)`";
    AllGather: "every value is gathered on all ranks by `world.all_gather(&x)`";
    OfNeighbours: "neighbours have calls of their own: `grid.neighbours().all_to_all(&values)`";
    ScanBefore: "`world.scan_before(&x, |a, b| …)` combines the values of all lower ranks";
    RangesOfPart: "the indices of a rank's part are `world.blocks(lengths, grid).ranges()`";
    Finish: "`finish()` waits for what was started";
    IsDone: "`is_done()` says, without waiting, whether what was started has ended";
}

fn no_such_call<T>() -> Result<T> {
    unreachable!("a bound of the call never holds")
}

impl Peer<'_> {
    #[doc(hidden)]
    pub fn receive_message<T: FromMessage>(&self) -> Result<T>
    where
        Self: OneVerb,
    {
        no_such_call()
    }

    #[doc(hidden)]
    pub fn immediate_receive<T: FromMessage>(&self) -> Result<T>
    where
        Self: StartReceiving,
    {
        no_such_call()
    }

    #[doc(hidden)]
    pub fn send_with_tag<M: Message + ?Sized>(&self, _message: &M, _tag: Tag) -> Result<()>
    where
        Self: TagFirst,
    {
        no_such_call()
    }

    #[doc(hidden)]
    pub fn synchronous_send<M: Message + ?Sized>(&self, _message: &M) -> Result<()>
    where
        Self: SynchronousFirst,
    {
        no_such_call()
    }

    #[doc(hidden)]
    pub fn immediate_send<M: Message + ?Sized>(&self, _message: &M) -> Result<()>
    where
        Self: StartFirst,
    {
        no_such_call()
    }

    #[doc(hidden)]
    pub fn immediate_send_with_tag<M: Message + ?Sized>(&self, _message: &M, _tag: Tag) -> Result<()>
    where
        Self: TagAndStartFirst,
    {
        no_such_call()
    }

    #[doc(hidden)]
    pub fn send_receive_replace<M: Message + Place + ?Sized>(&self, _message: &mut M) -> Result<()>
    where
        Self: Swap,
    {
        no_such_call()
    }
}

impl<C: Handle> Comm<C> {
    #[doc(hidden)]
    pub fn send<M: Message + ?Sized>(&self, _to: usize, _message: &M) -> Result<()>
    where
        Self: OfPeer,
    {
        no_such_call()
    }

    #[doc(hidden)]
    pub fn receive<T: FromMessage>(&self, _from: usize) -> Result<T>
    where
        Self: OfPeer,
    {
        no_such_call()
    }

    #[doc(hidden)]
    pub fn send_receive<M, P>(&self, _message: &M, _to: usize, _place: &mut P, _from: usize) -> Result<()>
    where
        M: Message + ?Sized,
        P: Place + ?Sized,
        Self: Exchange,
    {
        no_such_call()
    }

    #[doc(hidden)]
    pub fn gather_message<T: FromMessage>(&self, _root: usize, _value: &T) -> Result<Option<Vec<T>>>
    where
        Self: Gather,
    {
        no_such_call()
    }

    #[doc(hidden)]
    pub fn all_gather_message<T: FromMessage>(&self, _value: &T) -> Result<Vec<T>>
    where
        Self: AllGather,
    {
        no_such_call()
    }

    #[doc(hidden)]
    pub fn neighbour_all_to_all<T>(&self, _values: &[T]) -> Result<Vec<T>>
    where
        Self: OfNeighbours,
    {
        no_such_call()
    }

    #[doc(hidden)]
    pub fn neighbour_all_to_all_vec<T>(&self, _values: &[T]) -> Result<Vec<T>>
    where
        Self: OfNeighbours,
    {
        no_such_call()
    }

    #[doc(hidden)]
    pub fn exscan_with<M, F>(&self, _values: &M, _combine: F) -> Result<Option<M::Output>>
    where
        M: Operand + ?Sized,
        F: Fn(&M::Element, &M::Element) -> M::Element + Sync,
        Self: ScanBefore,
    {
        no_such_call()
    }
}

impl<T> Pending<'_, T> {
    #[doc(hidden)]
    pub fn wait(self) -> Result<T>
    where
        Self: Finish,
    {
        no_such_call()
    }

    #[doc(hidden)]
    pub fn test(&mut self) -> Result<bool>
    where
        Self: IsDone,
    {
        no_such_call()
    }
}

impl<const D: usize> Darray<D> {
    #[doc(hidden)]
    pub fn ranges(&self) -> [Range<usize>; D]
    where
        Self: RangesOfPart,
    {
        unreachable!("a bound of the call never holds")
    }
}
