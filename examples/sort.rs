//! A library function that is generic over `T: MpiDatatype`: it sorts the values of all ranks, of any type.
//!
//! Run it on any number of ranks: `cargo xtask example sort -n 4`.

use dtype_runtime::{Comm, FromMessage, MpiDatatype, Result, run};

/// Sorts values that are distributed over the ranks. Each rank has the values between two bounds afterwards,
/// and lower ranks have lower values.
fn sort<T: MpiDatatype + FromMessage + Ord + Clone>(world: &Comm, mut own: Vec<T>) -> Result<Vec<T>> {
    let size = world.size();
    own.sort();
    // Each rank proposes bounds; those of all ranks together divide the values into parts of similar length.
    let proposed: Vec<T> = (1..size).filter_map(|i| own.get(i * own.len() / size).cloned()).collect();
    let mut proposed: Vec<T> = world.all_gather(&proposed)?.concat();
    proposed.sort();
    let bounds: Vec<&T> = (1..size).filter_map(|i| proposed.get(i * proposed.len() / size)).collect();

    let mut leaving = vec![Vec::new(); size];
    for value in own {
        leaving[bounds.partition_point(|bound| **bound <= value)].push(value);
    }
    let mut arrived: Vec<T> = world.all_to_all(&leaving)?.concat();
    arrived.sort();
    Ok(arrived)
}

#[derive(MpiDatatype, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
struct Record {
    key: u8,
    is_new: bool,
    id: u64,
}

fn main() {
    run(program);
}

fn program(world: &Comm) -> Result {
    let rank = world.rank() as u64;

    let number = |i: u64| (i * 7919 + rank * 104_729).wrapping_mul(2_654_435_761) % 1_000_000;
    let numbers = sort(world, (0..1000).map(number).collect())?;
    let record = |i: u64| Record { key: (number(i) % 256) as u8, is_new: i % 3 == 0, id: rank * 1000 + i };
    let records = sort(world, (0..1000).map(record).collect())?;

    // Each rank tells its bounds and the number of its values.
    let of_ranks = world.all_gather(&(numbers.first().copied(), numbers.last().copied(), numbers.len()))?;
    let edges = of_ranks.iter().flat_map(|(first, last, _)| [*first, *last]).flatten();
    assert!(edges.is_sorted() && numbers.is_sorted() && records.is_sorted());
    let all: usize = of_ranks.iter().map(|(.., count)| count).sum();
    let ids: Vec<u64> = records.iter().map(|record| record.id).collect();
    let mut ids = world.all_gather(&ids)?.concat();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..1000 * world.size() as u64), "no record is lost");
    if rank == 0 {
        println!("{all} numbers and as many records are sorted on {} ranks", of_ranks.len());
    }
    Ok(())
}
