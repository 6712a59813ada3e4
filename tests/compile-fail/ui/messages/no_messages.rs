//! Types that have no derive, references where values are received, and values where references are sent.

use dtype_runtime::{Comm, Result};

struct Loose {
    value: f64,
}

fn calls(world: &Comm, mut loose: Loose, values: Vec<u8>) -> Result {
    let other = world.peer(0);
    other.send(&loose)?;
    other.send(&vec![None::<Loose>])?;
    other.send(&std::time::Instant::now())?;
    other.receive_into(&mut loose)?;
    other.receive_into("text")?;
    let text: &str = other.receive()?;
    let all: Vec<Loose> = world.all_gather(&loose)?;
    other.send(values)?;
    world.broadcast(0, values)?;
    Ok(())
}

fn main() {}
