//! The use of a type that the derive rejects: its fields are the only errors.

use dtype_runtime::{MpiDatatype, layout, traits::*};
use mpi::{topology::SimpleCommunicator, traits::*};

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

fn main() {
    let world = SimpleCommunicator::world();
    let other = world.process_at_rank(0);
    let mut people = vec![Person::default(); 3];
    other.send(&people[..]);
    other.receive_into(&mut people[..]);
    other.send_packed(&people[..]).unwrap();
    other.receive_values_into(&mut people[..]).unwrap();
    other.send(&Team::<f64>::default());
    let (teams, _) = other.receive_values::<Team<u8>>().unwrap();
    let ages = layout!(Person[3] => [..].age);
    drop((ages, teams));
}
