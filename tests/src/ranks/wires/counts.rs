//! The cost of collective calls, counted in the profiling interface: MPI calls, bytes in addition to the
//! values, and numbers in lists with an entry for each rank.

use dtype_runtime::traits::*;
use mpi::{topology::SimpleCommunicator, traits::*};

use super::values;
use crate::samples::Particle;
use crate::spy;

/// Returns the cost of this rank's calls since the last call of this function: calls, bytes beyond those of
/// the values, and listed numbers. `values` is in bytes.
fn counted(values: usize) -> [i64; 3] {
    let mut counted = [0; 3];
    // SAFETY: `counted` holds three numbers.
    unsafe { spy::c_counted(counted.as_mut_ptr()) };
    counted[1] -= values as i64;
    counted
}

/// Checks the cost of all collective calls: with the same number of values on all ranks, promised or not, and
/// with one more value on the first rank. With `DTYPE_TABLE`, prints the numbers of the root and of the last
/// rank.
pub fn counts(world: &SimpleCommunicator) {
    const N: usize = 20;
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let (root, is_root) = (world.process_at_rank(0), rank == 0);
    let size = dtype_runtime::packed_size::<Particle>(1);
    let blank = |n: usize| values::<Particle>(99, n);
    let p = ranks as i64;
    // The first number is for the ranks other than the root, the second for the root.
    let differ = |other: i64, at_root: i64| if is_root { at_root } else { other };
    let check = |name: &str, values: usize, expected: [i64; 3]| {
        let found = counted(size * values);
        assert_eq!(found, expected, "{name}, rank {rank} of {ranks}");
        if std::env::var_os("DTYPE_TABLE").is_some() && (is_root || rank == ranks - 1) {
            let [calls, bytes, listed] = found;
            println!(
                "{name} | {ranks} | {} | {calls} | {bytes} | {listed}",
                if is_root { "root" } else { "other" }
            );
        }
    };
    // In an all-to-all, short parts of up to `short` values travel with the announcements.
    let slot = match 65_536 / ranks {
        many if many < 160 => 32,
        few => few.min(2048),
    };
    let short = (slot - 32).saturating_sub(8) / size;
    let announced = 2 * slot as i64 * p;
    counted(0);
    for (kind, own) in [("even", N), ("uneven", if rank == 0 { N + 1 } else { N })] {
        let is_even = kind == "even";
        let total = N * ranks + usize::from(!is_even);
        let (message, mut all, mut part) = (values::<Particle>(1, own), blank(total), blank(own));
        world.all_gather_packed(&message, &mut all).unwrap();
        let seals = 8 * (1 + p);
        let cost = if is_even { [2, 64 + seals, 0] } else { [3, 64 + 16 * (1 + p) + seals, 2 * p] };
        check(&format!("all_gather_packed, {kind}"), own + total, cost);

        if is_root {
            root.gather_packed_into_root(&message, &mut all).unwrap();
        } else {
            root.gather_packed(&message).unwrap();
        }
        let even = [2, 64 + differ(8, seals), 0];
        let told = differ(16 + 8, 16 * (1 + p) + seals);
        let cost = if is_even { even } else { [3, 64 + told, differ(0, 2 * p)] };
        check(&format!("gather_packed, {kind}"), own + if is_root { total } else { 0 }, cost);

        if is_root {
            root.scatter_packed_into_root(&all, &mut part).unwrap();
        } else {
            root.scatter_packed_into(&mut part).unwrap();
        }
        let cost = if is_even { even } else { [4, 64 + 16 + told, differ(0, 2 * p)] };
        check(&format!("scatter_packed, {kind}"), own + if is_root { total } else { 0 }, cost);

        // In the uneven case, each rank receives one more value from the first rank.
        let (message, mut columns) = (blank(own * ranks), blank(total));
        world.all_to_all_packed(&message, &mut columns).unwrap();
        let values = own * ranks + total;
        let cost = match (is_even, N < short) {
            (true, _) => [2, 64 + 16 * p, 0],
            (_, true) => [2, 64 + announced - (size * values) as i64, 0],
            _ => [3, 64 + announced + 16 * p, 4 * p],
        };
        check(&format!("all_to_all_packed, {kind}"), values, cost);
    }
    for n in [N, 2 * N] {
        let messages: Vec<Vec<Particle>> = (0..ranks).map(|_| blank(n)).collect();
        let mut into = messages.clone();
        world.all_to_all_varcount_packed(&messages, &mut into).unwrap();
        let values = 2 * n * ranks;
        let bytes = announced - (size * values) as i64;
        let cost = if n <= short { [1, bytes, 0] } else { [2, announced + 16 * p, 4 * p] };
        check(&format!("all_to_all_varcount_packed, {n} values"), values, cost);
    }

    // A message that fits in the first part, and one that does not.
    let mut short = blank(5);
    root.broadcast_packed(&mut short).unwrap();
    check("broadcast_packed, 5 values", 5, [1, 1024 - 5 * size as i64, 0]);
    let long = 1_000_000 / size;
    let mut long = blank(long);
    root.broadcast_packed(&mut long).unwrap();
    let first = 984 / size * size;
    let parts = (long.len() * size - first).div_ceil((256 << 10) / size * size) as i64;
    check("broadcast_packed, 1 MB", long.len(), [1 + parts, 1024 - first as i64 + 8 * parts, 0]);

    let (message, mut all, mut part) = (values::<Particle>(1, N), blank(N * ranks), blank(N));
    let rows = blank(N * ranks);
    // SAFETY: all ranks make the same calls with the same root, and have the same number of values.
    unsafe {
        world.all_gather_packed_exact(&message, &mut all).unwrap();
        check("all_gather_packed_exact", N + N * ranks, [1, 0, 0]);
        if is_root {
            root.gather_packed_into_root_exact(&message, &mut all).unwrap();
        } else {
            root.gather_packed_exact(&message).unwrap();
        }
        check("gather_packed_exact", N + if is_root { N * ranks } else { 0 }, [1, 0, 0]);
        if is_root {
            root.scatter_packed_into_root_exact(&all, &mut part).unwrap();
        } else {
            root.scatter_packed_into_exact(&mut part).unwrap();
        }
        check("scatter_packed_exact", N + if is_root { N * ranks } else { 0 }, [1, 0, 0]);
        world.all_to_all_packed_exact(&rows, &mut all).unwrap();
        check("all_to_all_packed_exact", 2 * N * ranks, [1, 0, 0]);
        root.broadcast_packed_exact(&mut short).unwrap();
        check("broadcast_packed_exact, 5 values", 5, [1, 0, 0]);
    }
}
