//! A master hands out tasks of any size to whichever worker is free, and receives results of any size.
//!
//! Run it on two ranks or more: `mpiexec -n 4 target/debug/workers`.

use std::collections::BTreeMap;

use dtype_runtime::{Error, MpiMessage, traits::*};
use mpi::{topology::SimpleCommunicator, traits::*};

#[derive(MpiMessage)]
enum Task {
    /// Finds the prime factors of some numbers.
    Factor {
        numbers: Vec<u64>,
    },
    Stop,
}

#[derive(MpiMessage)]
enum Answer {
    Ready,
    Factors(Vec<(u64, Vec<u64>)>),
}

fn main() -> Result<(), Error> {
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    if world.rank() > 0 {
        return work(&world);
    }
    let mut tasks: Vec<_> = (0..40).map(|i| (i * i + 1..i * i + 2 * i + 2).collect::<Vec<u64>>()).collect();
    let mut found = BTreeMap::new();
    let mut working = world.size() - 1;
    while working > 0 {
        let (answer, status) = world.any_process().receive_message::<Answer>()?;
        if let Answer::Factors(factors) = answer {
            found.extend(factors);
        }
        let task = tasks.pop().map_or(Task::Stop, |numbers| Task::Factor { numbers });
        working -= i32::from(matches!(task, Task::Stop));
        world.process_at_rank(status.source_rank()).send_message(&task)?;
    }
    if world.size() > 1 {
        let all: Vec<u64> = (1..=1600).collect();
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), all);
        assert!(found.iter().all(|(number, factors)| factors.iter().product::<u64>() == *number));
        println!("{} numbers have been factored by {} workers", found.len(), world.size() - 1);
    }
    Ok(())
}

fn work(world: &SimpleCommunicator) -> Result<(), Error> {
    let master = world.process_at_rank(0);
    let mut answer = Answer::Ready;
    loop {
        master.send_message(&answer)?;
        match master.receive_message()?.0 {
            Task::Factor { numbers } => {
                answer =
                    Answer::Factors(numbers.into_iter().map(|number| (number, factors(number))).collect());
            }
            Task::Stop => return Ok(()),
        }
    }
}

fn factors(mut number: u64) -> Vec<u64> {
    let (mut factors, mut factor) = (Vec::new(), 2);
    while factor * factor <= number {
        while number.is_multiple_of(factor) {
            factors.push(factor);
            number /= factor;
        }
        factor += 1;
    }
    if number > 1 {
        factors.push(number);
    }
    factors
}
