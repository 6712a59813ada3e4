//! The calls of this crate, a file a chapter of the standard.

mod collective;
mod communicator;
mod exchange;
mod message;
mod neighbours;
mod part;
mod peer;
mod pending;
mod reduce;
mod run;
mod scope;

pub use communicator::{Cartesian, Comm, Handle};
pub use message::{Message, Place};
pub use neighbours::Neighbours;
pub use peer::{Any, Arrived, Peer, StartedPeer};
pub use pending::Pending;
pub use reduce::Operand;
pub use run::run;
pub use scope::{Scope, ScopedPeer};
