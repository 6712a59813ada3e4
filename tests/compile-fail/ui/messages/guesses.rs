//! Calls that a reader of MPI, of rsmpi or of the other calls may guess.

use dtype_runtime::{Comm, Result, layout::Darray};
use mpi::topology::CartesianCommunicator;

fn peers(world: &Comm, mut x: Vec<f64>) -> Result {
    let peer = world.peer(1);
    let received: Vec<f64> = peer.receive_packed()?;
    peer.receive_packed_into(&mut x)?;
    let received: Vec<f64> = peer.receive_message()?;
    peer.send_with_tag(&x, 7)?;
    peer.immediate_send(&x)?;
    peer.immediate_send_with_tag(&x, 7)?;
    let received: Vec<f64> = peer.immediate_receive()?;
    peer.synchronous_send(&x)?;
    peer.send_receive_replace(&mut x)?;
    world.send_receive(&x, 1, &mut x, 1)?;
    world.send(1, &x)?;
    let received: Vec<f64> = world.receive(1)?;
    peer.start().send(&x)?.test()?;
    peer.start().send(&x)?.wait()?;
    Ok(())
}

fn collective(world: &Comm, grid: &Comm<CartesianCommunicator>, x: &Vec<f64>) -> Result {
    world.gather_message(0, x)?;
    world.scatter_vec(0, x)?;
    world.all_gather_message(x)?;
    world.all_to_all_message(&[x])?;
    grid.neighbour_all_to_all_vec(&[x])?;
    grid.neighbor_all_to_all(&[x])?;
    Ok(())
}

fn values(world: &Comm, mut x: Vec<f64>, own: &[f64]) -> Result {
    world.all_reduce(&own)?;
    world.broadcast(&x)?;
    world.broadcast(0, &mut x)?;
    let all = world.all_gather(&own)?;
    Ok(())
}

fn reductions(world: &Comm, x: &[f64], into: &mut [f64]) -> Result {
    world.all_reduce_with(x, |a, b| a + b)?;
    world.reduce_into_with(0, x, Some(into), |a, b| a + b)?;
    world.scan_into_with(x, into, |a, b| a + b)?;
    world.exscan_with(x, |a, b| a + b)?;
    Ok(())
}

fn parts() {
    let darray = Darray::blocks(0, [30, 20], [2, 1]);
    let [rows, columns] = darray.ranges();
}

fn main() {}
