//! `cargo xtask bench pack`: packing and unpacking, by generated code and by plans, against the best loops
//! that can be written by hand in Rust and in C, `MPI_Pack` and `MPI_Unpack`, and `memcpy` of as many bytes.
//! Small cases fit the first-level cache, middle ones the second, large ones none.

// The peers may be unsafe, and are: every loop stays within the array of its case and within its packed
// bytes, and a case is measured only after all ways have been found to do the same. A comment at each would
// say this a hundred times.
#![allow(clippy::undocumented_unsafe_blocks)]

use std::hint::black_box;

#[cfg(feature = "mpi")]
use ::mpi::{topology::SimpleCommunicator, traits::*};
use clap::{Parser, ValueEnum};
use dtype_benches::measure::{Contender, Effort, Options, medians, print};
#[cfg(feature = "mpi")]
use pingpong::Travel;

mod arrays;
mod c;
#[cfg(feature = "mpi")]
mod mpi;
mod other;
#[cfg(feature = "mpi")]
mod pingpong;
mod structs;

/// Times packing against loops, in one run.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    /// The MPI library this has been compiled against.
    #[arg(long, default_value = "none")]
    library: String,
    /// What is measured.
    #[arg(long, value_enum, default_value_t)]
    task: Task,
    /// Where the table of a ping-pong goes: see `cargo xtask bench --help`.
    #[cfg(feature = "mpi")]
    #[arg(long)]
    wires: Option<std::path::PathBuf>,
    /// Only cases whose name begins so.
    #[arg(long, default_value = "")]
    only: String,
}

/// What is measured of the cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Task {
    /// Packing and unpacking.
    #[default]
    Pack,
    /// Half a ping-pong between two ranks.
    Pingpong,
}

/// Without MPI nothing travels.
#[cfg(not(feature = "mpi"))]
struct Travel<'a>(std::marker::PhantomData<&'a ()>);

type Pack<'a> = Box<dyn Fn(&mut [u8]) + 'a>;
type Unpack<'a> = Box<dyn Fn(&[u8]) + 'a>;

/// A way to pack something and to unpack it.
struct Way<'a> {
    pack: Pack<'a>,
    unpack: Unpack<'a>,
}

impl<'a> Way<'a> {
    fn new(pack: impl Fn(&mut [u8]) + 'a, unpack: impl Fn(&[u8]) + 'a) -> Self {
        Self { pack: Box::new(pack), unpack: Box::new(unpack) }
    }
}

/// What is packed, in all ways.
struct Case<'a> {
    name: String,
    /// Packed bytes.
    size: usize,
    /// By name, the one by hand first.
    ways: Vec<(&'static str, Way<'a>)>,
    /// By name, how it travels otherwise than packed in one of these ways: nothing without MPI.
    travels: Vec<(&'static str, Travel<'a>)>,
}

/// Where cases are measured.
struct Bench {
    arguments: Arguments,
    /// What is found out for `Wire::Auto`.
    #[cfg(feature = "mpi")]
    table: std::cell::RefCell<pingpong::Table>,
}

impl Bench {
    /// Whether a case is wanted for a task; it may be one of those that are measured where there is little
    /// time.
    fn wants(&self, name: &str, task: Task, quick: bool) -> bool {
        let wanted = task == self.arguments.task && name.starts_with(&self.arguments.only);
        wanted && (quick || !self.arguments.options.quick)
    }

    /// Measures a case, after all ways have been found to do the same.
    fn measure(&self, case: &Case<'_>) {
        let Case { name, size, ways, travels } = case;
        #[cfg(feature = "mpi")]
        if self.arguments.task == Task::Pingpong {
            return pingpong::measure(&self.arguments, case, &self.table);
        }
        let _ = travels;
        let mut expected = vec![0; *size];
        (ways[0].1.pack)(&mut expected);
        let (mut packed, other) = (vec![0; *size], vec![1u8; *size]);
        for (way, both) in ways {
            packed.fill(0xA5);
            (both.pack)(&mut packed);
            assert!(packed == expected, "{name}: `{way}` packs something else than the loop by hand");
            (both.unpack)(&other);
            (both.unpack)(&expected);
            (ways[0].1.pack)(&mut packed);
            assert!(packed == expected, "{name}: `{way}` unpacks something else than the loop by hand");
        }
        let effort = self.effort(*size);
        let batch = effort.batch;
        let target = std::cell::RefCell::new(packed);
        let memcpy = || {
            Contender::new("memcpy", || {
                (0..batch)
                    .for_each(|_| black_box(&mut *target.borrow_mut()).copy_from_slice(black_box(&expected)));
                None
            })
        };
        let pack = ways.iter().map(|(way, both)| {
            let target = &target;
            Contender::new(way, move || {
                (0..batch).for_each(|_| (both.pack)(black_box(&mut target.borrow_mut())));
                None
            })
        });
        self.print(name, "pack", pack.chain([memcpy()]).collect(), &effort);
        let unpack = ways.iter().map(|(way, both)| {
            let expected = &expected;
            Contender::new(way, move || {
                (0..batch).for_each(|_| (both.unpack)(black_box(expected)));
                None
            })
        });
        self.print(name, "unpack", unpack.chain([memcpy()]).collect(), &effort);
    }

    /// As long as is good for `bytes` bytes.
    fn effort(&self, size: usize) -> Effort {
        let effort = if self.arguments.options.quick { Effort::new(5, 60) } else { Effort::new(15, 400) };
        Effort { batch: u32::try_from((100_000 / size.max(1)).clamp(1, 1000)).unwrap_or(1), ..effort }
    }

    /// Measures contenders, and prints a row for each of ours among them.
    fn print(&self, name: &str, what: &str, contenders: Vec<Contender<'_>>, effort: &Effort) {
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
            print(&row, self.arguments.options.json);
        }
    }
}

fn main() {
    let bench = Bench {
        arguments: Arguments::parse(),
        #[cfg(feature = "mpi")]
        table: std::cell::RefCell::default(),
    };
    #[cfg(feature = "mpi")]
    let _universe = ::mpi::initialize().expect("MPI is initialized once");
    arrays::run(&bench);
    structs::run(&bench);
    if bench.arguments.task == Task::Pack {
        other::run(&bench);
    }
    #[cfg(feature = "mpi")]
    if let Some(file) = &bench.arguments.wires
        && SimpleCommunicator::world().rank() == 0
    {
        bench.table.borrow_mut().add_to(file).expect("the table can be written");
    }
}
