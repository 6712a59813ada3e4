//! A summary of the rows of generated layouts: the distance of plans from the loops by hand and from
//! `MPI_Pack`.

use dtype_benches::record::Row;

/// The times of a row, in nanoseconds.
struct Times {
    case: String,
    size: usize,
    plan: f64,
    hand: f64,
    mpi: Option<f64>,
}

/// The rows of a run.
#[derive(Default)]
pub struct Distribution(Vec<Times>);

/// The packed size in bytes from which times are compared by ratio. Smaller rows are compared by difference.
const SMALL: usize = 2 << 10;
const MIDDLE: usize = 40 << 10;

/// The largest number of rows that are named.
const NAMED: usize = 20;

impl Distribution {
    /// Adds the row of a plan, with its packed size in bytes.
    pub fn add(&mut self, row: &Row, size: usize) {
        let peer = |name: &str| row.peers_us.get(name).map(|time| time * 1e3);
        let hand = [peer("hand"), peer("hand_memcpy")].into_iter().flatten().fold(f64::INFINITY, f64::min);
        let (case, plan, mpi) = (row.case.clone(), row.ours_us * 1e3, peer("mpi_pack"));
        self.0.push(Times { case, size, plan, hand, mpi });
    }

    /// Prints a line for each class of sizes, and the rows that are furthest behind.
    pub fn print(&self) {
        if self.0.is_empty() {
            return;
        }
        let of = |from: usize, to: usize, number: fn(&Times) -> Option<f64>| {
            let rows = self.0.iter().filter(|row| (from..to).contains(&row.size));
            let mut numbers: Vec<_> = rows.filter_map(number).collect();
            numbers.sort_by(f64::total_cmp);
            numbers
        };
        println!("\nPlans of random layouts, packing and unpacking:");
        title("as many times by hand", ["> 1.05", "> 1.15"]);
        let by_hand = |row: &Times| Some(row.plan / row.hand);
        line("2 KiB to 40 KiB", &of(SMALL, MIDDLE, by_hand), [1.05, 1.15]);
        line("above", &of(MIDDLE, usize::MAX, by_hand), [1.05, 1.15]);
        title("nanoseconds more", ["> 15", "> 30"]);
        line("below 2 KiB", &of(0, SMALL, |row| Some(row.plan - row.hand)), [15.0, 30.0]);
        title("as many times MPI_Pack", ["> 1", "> 1.05"]);
        line("all", &of(0, usize::MAX, |row| Some(row.plan / row.mpi?)), [1.0, 1.05]);

        self.name("the loops, of 2 KiB and more", |row| {
            if row.size < SMALL { 0.0 } else { row.plan / row.hand - 1.05 }
        });
        self.name(
            "the loops, below 2 KiB",
            |row| {
                if row.size < SMALL { row.plan - row.hand - 15.0 } else { 0.0 }
            },
        );
        self.name("MPI_Pack", |row| row.mpi.map_or(0.0, |mpi| row.plan / mpi - 1.05));
    }

    /// Prints the names of the rows that are furthest behind.
    fn name(&self, whom: &str, behind: fn(&Times) -> f64) {
        let mut rows: Vec<_> = self.0.iter().map(|row| (behind(row), row)).collect();
        rows.retain(|(by, _)| *by > 0.0);
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        if !rows.is_empty() {
            println!("\nFurthest behind {whom}:");
        }
        for (_, Times { case, plan, hand, mpi, .. }) in rows.iter().take(NAMED) {
            let mpi = mpi.map_or(String::new(), |mpi| format!(", MPI_Pack {mpi:.1}"));
            println!("  {case:<60} {plan:>10.1} ns, by hand {hand:.1}{mpi}");
        }
    }
}

fn title(what: &str, [first, second]: [&str; 2]) {
    println!("{what:<24}{:>6}{:>8}{:>8}{:>8}{first:>8}{second:>8}", "rows", "median", "95 %", "worst");
}

fn line(name: &str, numbers: &[f64], limits: [f64; 2]) {
    let Some(last) = numbers.len().checked_sub(1) else { return };
    let [first, second] = limits.map(|limit| numbers.iter().filter(|number| **number > limit).count());
    let (median, most, worst) = (numbers[last / 2], numbers[last * 95 / 100], numbers[last]);
    println!("{name:<24}{:>6}{median:>8.2}{most:>8.2}{worst:>8.2}{first:>8}{second:>8}", numbers.len());
}
