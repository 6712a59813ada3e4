//! A master hands out tasks of any size to whichever worker is free, and receives results of any size.
//!
//! Run it on two ranks or more: `mpiexec -n 4 target/debug/workers`.

use std::collections::BTreeMap;

use dtype_runtime::{Comm, MpiMessage, Result, run};

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

fn main() {
    run(|world| if world.rank() == 0 { hand_out(world) } else { work(world) });
}

fn hand_out(world: &Comm) -> Result {
    let mut tasks: Vec<_> = (0..40).map(|i| (i * i + 1..i * i + 2 * i + 2).collect::<Vec<u64>>()).collect();
    let mut found = BTreeMap::new();
    let mut working = world.size() - 1;
    while working > 0 {
        let (answer, worker) = world.any().receive()?;
        if let Answer::Factors(factors) = answer {
            found.extend(factors);
        }
        let task = tasks.pop().map_or(Task::Stop, |numbers| Task::Factor { numbers });
        working -= usize::from(matches!(task, Task::Stop));
        worker.send(&task)?;
    }
    if world.size() > 1 {
        let all: Vec<u64> = (1..=1600).collect();
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), all);
        assert!(found.iter().all(|(number, factors)| factors.iter().product::<u64>() == *number));
        println!("{} numbers have been factored by {} workers", found.len(), world.size() - 1);
    }
    Ok(())
}

fn work(world: &Comm) -> Result {
    let master = world.peer(0);
    let mut answer = Answer::Ready;
    loop {
        master.send(&answer)?;
        match master.receive()? {
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
