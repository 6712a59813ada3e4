//! The calls between ranks, a file a chapter of the standard.
//!
//! The [front page](crate) has a table of all calls. Programs seldom write the names of the types that are
//! only here: calls return them.

/// Implements `Debug`: the name of a type, and some of its fields.
macro_rules! debug {
    (
        [$($generics:tt)*] $name:ident$(<$($parameter:tt),*>)?
        $(, |$value:ident| $($field:ident: $of:expr),+)?
    ) => {
        impl<$($generics)*> std::fmt::Debug for $name$(<$($parameter),*>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $(let $value = self;)?
                f.debug_struct(stringify!($name))
                    $($(.field(stringify!($field), &$of))+)?
                    .finish_non_exhaustive()
            }
        }
    };
}

mod any;
mod collective;
mod communicator;
mod exchange;
mod file;
mod guesses;
mod halo;
mod message;
mod moves;
mod neighbours;
mod part;
mod peer;
mod pending;
mod prepare;
mod redistribution;
mod reduce;
mod run;
mod scope;
mod window;

pub use crate::mpi::in_session;
pub use any::Any;
pub use communicator::{Cartesian, Comm, Handle};
pub use file::{File, FileAt, FileOptions, FileView};
pub use halo::{HaloExchange, PendingHalo};
pub use message::{Message, Place, shape_of};
pub use neighbours::Neighbours;
pub use peer::{Arrived, Peer};
pub use pending::{Pending, Preparing, Starting};
pub use prepare::{PreparedExchange, PreparedReceive, PreparedSend};
pub use redistribution::Redistribution;
pub use reduce::Operand;
pub use run::run;
pub use scope::{Scope, ScopedPeer};
pub use window::{Epoch, Lock, PassiveWindow, Window};
