//! The use of a type that the derive rejects: its fields are the only errors.

use dtype_runtime::{Comm, MpiDatatype, Result, layout};
use mpi::traits::*;

#[derive(MpiDatatype, Clone, Default)]
struct Person {
    age: u32,
    name: String,
}

#[derive(MpiDatatype, Clone, Default)]
#[repr(C)]
struct Team<T> {
    people: [Person; 2],
    notes: Vec<T>,
}

fn calls(world: &Comm) -> Result {
    let (process, other) = (world.process_at_rank(0), world.peer(0));
    let mut people = vec![Person::default(); 3];
    process.send(&people[..]);
    process.receive_into(&mut people[..]);
    other.send(&people)?;
    other.receive_into(&mut people[..])?;
    process.send(&Team::<f64>::default());
    let teams: Vec<Team<u8>> = other.receive()?;
    let all: Vec<Person> = world.all_gather(&people[0])?;
    let ages = layout!(Person[3] => [..].age);
    drop((ages, teams, all));
    Ok(())
}

fn main() {}
