//! The calls of this crate, with all traits of rsmpi imported beside them.

mod collective;
mod each_by_each;
pub mod hostile;
mod rest;

use mpi::topology::SimpleCommunicator;

/// Runs a scenario of the calls.
pub fn scenario(name: &str, world: &SimpleCommunicator) {
    match name {
        "calls" => each_by_each::each_by_each(world),
        "calls-collective" => collective::collective(world),
        "calls-failing" => collective::failing(world),
        "calls-reductions" => collective::reductions(world),
        "calls-neighbours" => collective::neighbours(world),
        "calls-pending" => rest::pending(world),
        "calls-scopes" => rest::scopes(world),
        "calls-parts" => rest::parts(world),
        "calls-hostile" => hostile::exchanges(world),
        "calls-edges" => hostile::edges(world),
        "calls-across" => hostile::across(world),
        "calls-owned" => hostile::owned_as_plain(world),
        "calls-forgotten" => hostile::forgotten(world),
        "calls-topologies" => hostile::topologies(world),
        "calls-rest" => rest::rest(world),
        _ => panic!("no scenario `{name}`"),
    }
}
