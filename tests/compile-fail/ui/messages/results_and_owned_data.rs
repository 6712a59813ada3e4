//! A view whose shape is checked only at run time is a `Result`; values with owned data are messages.

use dtype_runtime::{MpiMessage, layout, traits::*};
use mpi::{topology::SimpleCommunicator, traits::*};

#[derive(MpiMessage)]
struct Task {
    name: String,
}

fn main() {
    let world = SimpleCommunicator::world();
    let other = world.process_at_rank(0);
    let mut matrix = vec![0.0f64; 81];
    let column = layout!(f64[9][9] => [.., 1]);
    other.send_packed(&column.of(&matrix)).unwrap();
    other.receive_values_into(&mut column.of_mut(&mut matrix)).unwrap();
    let _tasks = other.receive_values::<Task>().unwrap();
}
