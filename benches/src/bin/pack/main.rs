//! `cargo xtask bench pack`: packing and unpacking, by generated code and by plans.
//!
//! The peers are the best loops by hand in Rust and in C, `MPI_Pack` and `MPI_Unpack`, and a `memcpy` of the
//! same number of bytes. Small cases fit in the first-level cache, middle ones in the second, large ones in
//! neither.

use std::{cell::RefCell, hint::black_box};

use clap::Parser;
use dtype_benches::{
    measure::{Contender, Effort, Options, medians, print},
    packing::{Bench, Case, Task, arrays, drawn, structs},
};

mod distribution;
mod other;

use distribution::Distribution;

/// Times packing against loops, in one run.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    /// The MPI library that this program was compiled against.
    #[arg(long, default_value = "none")]
    library: String,
    /// Only cases whose names begin with this text.
    #[arg(long, default_value = "")]
    only: String,
}

/// The benchmark, with its options.
struct Packing {
    arguments: Arguments,
    /// The rows of the generated layouts.
    distribution: RefCell<Distribution>,
}

impl Bench for Packing {
    fn wants(&self, name: &str, task: Task, quick: bool) -> bool {
        let wanted = task == Task::Pack && name.starts_with(&self.arguments.only);
        wanted && (quick || !self.arguments.options.quick)
    }

    /// Measures a case, after checking that all ways pack and unpack the same bytes.
    fn measure(&self, case: &Case<'_>) {
        let Case { name, size, ways, .. } = case;
        let mut expected = vec![0; *size];
        (ways[0].1.pack)(&mut expected);
        let (mut packed, other) = (vec![0; *size], vec![1u8; *size]);
        let mut right = vec![true; ways.len()];
        for (right, (way, both)) in right.iter_mut().zip(ways) {
            packed.fill(0xA5);
            (both.pack)(&mut packed);
            if *way == "mpi_pack" && packed != expected {
                eprintln!("{name}: MPI_Pack packs other bytes than the loop by hand, so it is not measured");
                *right = false;
                continue;
            }
            assert!(packed == expected, "{name}: `{way}` packs other bytes than the loop by hand");
            (both.unpack)(&other);
            (both.unpack)(&expected);
            (ways[0].1.pack)(&mut packed);
            assert!(packed == expected, "{name}: `{way}` unpacks other bytes than the loop by hand");
        }
        let ways = || ways.iter().zip(&right).filter(|(_, right)| **right).map(|(way, _)| way);
        let effort = self.effort(*size);
        let batch = effort.batch;
        let target = RefCell::new(packed);
        let memcpy = || {
            Contender::new("memcpy", || {
                (0..batch)
                    .for_each(|_| black_box(&mut *target.borrow_mut()).copy_from_slice(black_box(&expected)));
                None
            })
        };
        let pack = ways().map(|(way, both)| {
            let target = &target;
            Contender::new(way, move || {
                (0..batch).for_each(|_| (both.pack)(black_box(&mut target.borrow_mut())));
                None
            })
        });
        self.print(name, "pack", *size, pack.chain([memcpy()]).collect(), &effort);
        let unpack = ways().map(|(way, both)| {
            let expected = &expected;
            Contender::new(way, move || {
                (0..batch).for_each(|_| (both.unpack)(black_box(expected)));
                None
            })
        });
        self.print(name, "unpack", *size, unpack.chain([memcpy()]).collect(), &effort);
    }
}

impl Packing {
    /// Returns the effort for a packed size in bytes.
    fn effort(&self, size: usize) -> Effort {
        let effort = if self.arguments.options.quick { Effort::new(5, 60) } else { Effort::new(15, 400) };
        Effort { batch: u32::try_from((100_000 / size.max(1)).clamp(1, 1000)).unwrap_or(1), ..effort }
    }

    /// Measures contenders, and prints a row for each one that is ours.
    fn print(&self, name: &str, what: &str, size: usize, contenders: Vec<Contender<'_>>, effort: &Effort) {
        let mut options = self.arguments.options.clone();
        options.record = options.record.filter(|_| drawn::is_chosen(name));
        let ours: Vec<_> = ["generated", "plan", "ours"]
            .into_iter()
            .filter(|ours| contenders.iter().any(|c| c.name == *ours))
            .collect();
        let medians = medians(contenders, effort);
        for way in &ours {
            let case = if *way == "ours" { format!("{name}/{what}") } else { format!("{name}/{what}/{way}") };
            let mut row = medians.row("pack", case, way);
            row.library.clone_from(&self.arguments.library);
            row.peers_us.retain(|peer, _| !ours.contains(peer));
            print(&row, &options);
            if name.starts_with("drawn/") {
                self.distribution.borrow_mut().add(&row, size);
            }
        }
    }
}

fn main() {
    let bench = Packing { arguments: Arguments::parse(), distribution: RefCell::default() };
    #[cfg(feature = "mpi")]
    let _universe = mpi::initialize().expect("MPI is initialized once");
    arrays::run(&bench);
    structs::run(&bench);
    drawn::run(&bench);
    other::run(&bench);
    if !bench.arguments.options.json {
        bench.distribution.borrow().print();
    }
}
