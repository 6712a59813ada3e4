//! The cost of collective calls, counted in the profiling interface: MPI calls, bytes in addition to the
//! values, and numbers in lists with an entry for each rank.

use dtype_runtime::Comm;
use mpi::topology::SimpleCommunicator;

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

/// Checks the cost of all collective calls: with the same number of values on all ranks, and with one more
/// value on the first rank. With `DTYPE_TABLE`, prints the numbers of the root and of the last rank.
pub fn counts(world: &SimpleCommunicator) {
    const N: usize = 20;
    let world = &Comm::from(world);
    let (rank, ranks) = (world.rank(), world.size());
    let is_root = rank == 0;
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
    for (kind, own) in [("even", N), ("uneven", if is_root { N + 1 } else { N })] {
        let is_even = kind == "even";
        let total = N * ranks + usize::from(!is_even);
        let message = values::<Particle>(1, own);
        let mut all = blank(total);
        let mut part = blank(own);
        let seals = 8 * (1 + p);
        let of_all = if is_even { [2, 64 + seals, 0] } else { [3, 64 + 16 * (1 + p) + seals, 2 * p] };
        world.all_gather_into(&message, &mut all[..]).unwrap();
        check(&format!("all_gather_into, {kind}"), own + total, of_all);
        world.all_gather(&message).unwrap();
        check(&format!("all_gather, {kind}"), own + total, of_all);

        let even = [2, 64 + differ(8, seals), 0];
        let told = differ(16 + 8, 16 * (1 + p) + seals);
        let to_root = if is_even { even } else { [3, 64 + told, differ(0, 2 * p)] };
        let values = own + if is_root { total } else { 0 };
        world.gather_into(0, &message, is_root.then_some(&mut all[..])).unwrap();
        check(&format!("gather_into, {kind}"), values, to_root);
        world.gather(0, &message).unwrap();
        check(&format!("gather, {kind}"), values, to_root);

        world.scatter_into(0, is_root.then_some(&all), &mut part[..]).unwrap();
        let cost = if is_even { even } else { [4, 64 + 16 + told, differ(0, 2 * p)] };
        check(&format!("scatter_into, {kind}"), values, cost);
    }
    // In the uneven case, each rank receives one more value from the first rank.
    for (kind, first, others) in [("even", N, N), ("uneven", N + 1, N), ("long", 2 * N, 2 * N)] {
        let of = |rank: usize| if rank == 0 { first } else { others };
        let messages: Vec<Vec<Particle>> = (0..ranks).map(|_| blank(of(rank))).collect();
        let mut into: Vec<_> = (0..ranks).map(|from| blank(of(from))).collect();
        let values = of(rank) * ranks + into.iter().map(Vec::len).sum::<usize>();
        let bytes = announced - (size * values) as i64;
        let cost = if first <= short { [1, bytes, 0] } else { [2, announced + 16 * p, 4 * p] };
        let mut places: Vec<_> = into.iter_mut().map(Vec::as_mut_slice).collect();
        world.all_to_all_into(&messages, &mut places).unwrap();
        check(&format!("all_to_all_into, {kind}"), values, cost);
        world.all_to_all(&messages).unwrap();
        check(&format!("all_to_all, {kind}"), values, cost);
    }

    // A message that fits in the first part, and one that does not.
    let mut short = blank(5);
    world.broadcast_into(0, &mut short[..]).unwrap();
    check("broadcast_into, 5 values", 5, [1, 1024 - 5 * size as i64, 0]);
    world.broadcast(0, is_root.then(|| short.clone())).unwrap();
    check("broadcast, 5 values", 5, [1, 1024 - 5 * size as i64, 0]);
    let long = 1_000_000 / size;
    let mut long = blank(long);
    world.broadcast_into(0, &mut long[..]).unwrap();
    let first = 984 / size * size;
    let parts = (long.len() * size - first).div_ceil((256 << 10) / size * size) as i64;
    check("broadcast_into, 1 MB", long.len(), [1 + parts, 1024 - first as i64 + 8 * parts, 0]);
}
