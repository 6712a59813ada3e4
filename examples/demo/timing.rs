//! Ping-pong times between two ranks: on this project's wires, with rsmpi's own datatypes, and packed by
//! hand.

use std::{convert::Infallible, time::Instant};

use dtype_runtime::{
    Comm, FromMessage, Layout, MpiDatatype, Peer, Result, Wire, layout,
    layout::{ArrayLikeMut, Disjoint},
    packed_size,
};
use mpi::{topology::Process, traits::*};

use crate::layouts::{Cell, Mixed, Particle, zero_grid, zero_matrix};

/// `Particle` as rsmpi's derive builds it.
#[derive(mpi::traits::Equivalence, Clone, Copy, Default)]
#[repr(C)]
struct RsmpiParticle {
    position: [f64; 3],
    velocity: [f64; 3],
    id: u64,
    kind: u8,
}

/// `Mixed` as rsmpi's derive builds it.
#[derive(mpi::traits::Equivalence, Clone, Copy, Default)]
#[repr(C)]
struct RsmpiMixed {
    flag: u8,
    value: f64,
    level: i16,
    weight: f32,
}

/// `Cell` as rsmpi's derive builds it.
#[derive(mpi::traits::Equivalence, Clone, Copy, Default)]
struct RsmpiCell {
    occupied: bool,
    particles: [RsmpiParticle; 2],
    summary: RsmpiMixed,
}

/// One way to send a layout to the other rank, and to receive it there.
struct Method<'a> {
    name: &'static str,
    send: Box<dyn FnMut() + 'a>,
    receive: Box<dyn FnMut() + 'a>,
}

impl<'a> Method<'a> {
    fn new(name: &'static str, send: impl FnMut() + 'a, receive: impl FnMut() + 'a) -> Self {
        Self { name, send: Box::new(send), receive: Box::new(receive) }
    }
}

const COLUMNS: [&str; 6] = ["datatype", "rsmpi", "packed", "auto", "segments", "by hand"];

/// Prints the table on rank 0. Both ranks must call this function.
pub fn table(world: &Comm) -> Result {
    world.attach()?;
    if world.rank() == 0 {
        println!("\nHalf a ping-pong between two ranks in µs, medians of interleaved runs:\n");
        println!("{:<44}{}", "", COLUMNS.map(|name| format!("{name:>10}")).concat());
    }
    for count in [100_000, 1_000] {
        structs::<Particle, RsmpiParticle>(
            world,
            &format!("{count} × Particle"),
            count,
            &particles_by_hand(),
        );
        structs::<Mixed, RsmpiMixed>(world, &format!("{count} × Mixed"), count, &mixed_by_hand());
        structs::<Cell, RsmpiCell>(world, &format!("{count} × Cell"), count, &cells_by_hand());
    }
    sub_blocks(world);
    if world.rank() == 0 {
        println!("\ndatatype  this project's MPI datatype, in rsmpi's calls");
        println!("rsmpi     the struct as rsmpi's derive builds it");
        println!("packed    this project's packed wire: `.wire(Wire::Packed)` before `send`");
        println!("auto      the wire that `Wire::Auto` chooses");
        println!("segments  the wire that both sides name: `.wire(Wire::Segments)`");
        println!("by hand   a loop over the fields or elements, and one message");
        println!(
            "(If MPICH reports leaked objects below: rsmpi does not free the datatypes of its derive.)\n"
        );
    }
    Ok(())
}

/// Runs the methods alternately, many times, and prints a row of their medians.
fn measure(world: &Comm, title: &str, mut methods: Vec<Method<'_>>) {
    // The first runs build datatypes and touch memory. A build without optimization makes few runs, because
    // its times mean little.
    const WARM_UP: usize = 10;
    const RUNS: usize = WARM_UP + if cfg!(debug_assertions) { 3 } else { 51 };
    let mut times: Vec<Vec<f64>> = methods.iter().map(|_| Vec::new()).collect();
    for run in 0..RUNS {
        for (method, times) in methods.iter_mut().zip(&mut times) {
            world.barrier();
            let start = Instant::now();
            if world.rank() == 0 {
                (method.send)();
                (method.receive)();
            } else {
                (method.receive)();
                (method.send)();
            }
            if run >= WARM_UP {
                times.push(start.elapsed().as_secs_f64() * 1e6 / 2.0);
            }
        }
    }
    if world.rank() != 0 {
        return;
    }
    let median = |column: &str| {
        let times = &mut times[methods.iter().position(|method| method.name == column)?];
        times.sort_by(f64::total_cmp);
        Some(times[times.len() / 2])
    };
    let cells = COLUMNS.map(median).map(|median| match median {
        Some(median) => format!("{median:>10.1}"),
        None => format!("{:>10}", "–"),
    });
    println!("{title:<44}{}", cells.concat());
}

/// Returns the other rank, for this project's calls and for rsmpi's.
fn other(world: &Comm) -> (Peer<'_>, Process<'_>) {
    let rank = 1 - world.rank();
    (world.peer(rank), world.process_at_rank(rank as i32))
}

/// Hand-written functions that pack and unpack one struct.
struct ByHand<T> {
    size: usize,
    pack: fn(&T, &mut [u8]),
    unpack: fn(&[u8], &mut T),
}

fn particles_by_hand() -> ByHand<Particle> {
    ByHand {
        size: 57,
        pack: |particle, bytes| {
            let vectors = particle.position.iter().chain(&particle.velocity);
            for (value, bytes) in vectors.zip(bytes.chunks_exact_mut(8)) {
                bytes.copy_from_slice(&value.to_ne_bytes());
            }
            bytes[48..56].copy_from_slice(&particle.id.to_ne_bytes());
            bytes[56] = particle.kind;
        },
        unpack: |bytes, particle| {
            let vectors = particle.position.iter_mut().chain(&mut particle.velocity);
            for (value, bytes) in vectors.zip(bytes.chunks_exact(8)) {
                *value = f64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
            }
            particle.id = u64::from_ne_bytes(bytes[48..56].try_into().expect("eight bytes"));
            particle.kind = bytes[56];
        },
    }
}

fn mixed_by_hand() -> ByHand<Mixed> {
    ByHand {
        size: 15,
        pack: |mixed, bytes| {
            bytes[0] = mixed.flag;
            bytes[1..9].copy_from_slice(&mixed.value.to_ne_bytes());
            bytes[9..11].copy_from_slice(&mixed.level.to_ne_bytes());
            bytes[11..15].copy_from_slice(&mixed.weight.to_ne_bytes());
        },
        unpack: |bytes, mixed| {
            mixed.flag = bytes[0];
            mixed.value = f64::from_ne_bytes(bytes[1..9].try_into().expect("eight bytes"));
            mixed.level = i16::from_ne_bytes(bytes[9..11].try_into().expect("two bytes"));
            mixed.weight = f32::from_ne_bytes(bytes[11..15].try_into().expect("four bytes"));
        },
    }
}

fn cells_by_hand() -> ByHand<Cell> {
    ByHand {
        size: 130,
        pack: |cell, bytes| {
            bytes[0] = cell.occupied.into();
            (particles_by_hand().pack)(&cell.particles[0], &mut bytes[1..58]);
            (particles_by_hand().pack)(&cell.particles[1], &mut bytes[58..115]);
            (mixed_by_hand().pack)(&cell.summary, &mut bytes[115..]);
        },
        unpack: |bytes, cell| {
            cell.occupied = bytes[0] != 0;
            (particles_by_hand().unpack)(&bytes[1..58], &mut cell.particles[0]);
            (particles_by_hand().unpack)(&bytes[58..115], &mut cell.particles[1]);
            (mixed_by_hand().unpack)(&bytes[115..], &mut cell.summary);
        },
    }
}

fn structs<T, R>(world: &Comm, title: &str, count: usize, by_hand: &ByHand<T>)
where
    T: MpiDatatype + FromMessage + Equivalence + Clone + Default,
    R: Equivalence + Clone + Default,
{
    let (peer, process) = other(world);
    let (values, mut arrived) = (vec![T::default(); count], vec![T::default(); count]);
    let (rsmpi_values, mut rsmpi_arrived) = (vec![R::default(); count], vec![R::default(); count]);
    let size = packed_size::<T>(count);
    let (mut hand_sent, mut hand_received) = (vec![0u8; size], vec![0u8; size]);
    let (mut unpacked, mut chosen, mut put_together, mut hand_unpacked) =
        (arrived.clone(), arrived.clone(), arrived.clone(), arrived.clone());
    let methods = vec![
        Method::new(
            "datatype",
            || process.send(&values[..]),
            || {
                process.receive_into(&mut arrived[..]);
            },
        ),
        Method::new(
            "rsmpi",
            || process.send(&rsmpi_values[..]),
            || {
                process.receive_into(&mut rsmpi_arrived[..]);
            },
        ),
        Method::new(
            "packed",
            || peer.wire(Wire::Packed).send(&values).expect("it is sent"),
            || peer.receive_into(&mut unpacked[..]).expect("it fits"),
        ),
        Method::new(
            "auto",
            || peer.send(&values).expect("it is sent"),
            || peer.receive_into(&mut chosen[..]).expect("it fits"),
        ),
        Method::new(
            "segments",
            || peer.wire(Wire::Segments).send(&values).expect("it is sent"),
            || peer.wire(Wire::Segments).receive_into(&mut put_together[..]).expect("it fits"),
        ),
        Method::new(
            "by hand",
            || {
                let bytes = hand_sent.chunks_exact_mut(by_hand.size);
                values.iter().zip(bytes).for_each(|(value, bytes)| (by_hand.pack)(value, bytes));
                process.send(&hand_sent[..]);
            },
            || {
                process.receive_into(&mut hand_received[..]);
                let bytes = hand_received.chunks_exact(by_hand.size);
                bytes.zip(&mut hand_unpacked).for_each(|(bytes, value)| (by_hand.unpack)(bytes, value));
            },
        ),
    ];
    measure(world, title, methods);
}

/// Hand-written loops that collect the elements of a layout and put them back.
struct LoopsByHand<A> {
    gather: fn(&A, &mut Vec<f64>),
    scatter: fn(&[f64], &mut A),
}

fn sub_block<L, A>(world: &Comm, title: &str, layout: &L, zero: fn() -> Box<A>, by_hand: &LoopsByHand<A>)
where
    L: Layout<Element = f64, Coverage: Disjoint<Infallible, L>>,
    A: ArrayLikeMut<f64, L::Shape, Mismatch = Infallible>,
{
    let (peer, process) = other(world);
    let (array, mut arrived, mut unpacked, mut chosen, mut put_together, mut scattered) =
        (zero(), zero(), zero(), zero(), zero(), zero());
    let (mut gathered, mut hand_received) = (Vec::new(), vec![0.0; layout.count()]);
    let methods = vec![
        Method::new(
            "datatype",
            || process.send(&layout.of(&*array)),
            || {
                process.receive_into(&mut layout.of_mut(&mut *arrived));
            },
        ),
        Method::new(
            "packed",
            || peer.wire(Wire::Packed).send(&layout.of(&*array)).expect("it is sent"),
            || peer.receive_into(&mut layout.of_mut(&mut *unpacked)).expect("it fits"),
        ),
        Method::new(
            "auto",
            || peer.send(&layout.of(&*array)).expect("it is sent"),
            || peer.receive_into(&mut layout.of_mut(&mut *chosen)).expect("it fits"),
        ),
        Method::new(
            "segments",
            || peer.wire(Wire::Segments).send(&layout.of(&*array)).expect("it is sent"),
            || {
                let into = &mut layout.of_mut(&mut *put_together);
                peer.wire(Wire::Segments).receive_into(into).expect("it fits");
            },
        ),
        Method::new(
            "by hand",
            || {
                gathered.clear();
                (by_hand.gather)(&array, &mut gathered);
                process.send(&gathered[..]);
            },
            || {
                process.receive_into(&mut hand_received[..]);
                (by_hand.scatter)(&hand_received, &mut scattered);
            },
        ),
    ];
    measure(world, title, methods);
}

fn sub_blocks(world: &Comm) {
    sub_block(
        world,
        "column f64[1000][1000] => [.., 3]",
        &layout!(f64[1000][1000] => [.., 3]),
        zero_matrix,
        &LoopsByHand {
            gather: |matrix, values| values.extend(matrix.iter().map(|row| row[3])),
            scatter: |values, matrix| matrix.iter_mut().zip(values).for_each(|(row, value)| row[3] = *value),
        },
    );
    sub_block(
        world,
        "block f64[1000][1000] => [100..300, 40..90]",
        &layout!(f64[1000][1000] => [100..300, 40..90]),
        zero_matrix,
        &LoopsByHand {
            gather: |matrix, values| {
                matrix[100..300].iter().for_each(|row| values.extend_from_slice(&row[40..90]));
            },
            scatter: |values, matrix| {
                let rows = matrix[100..300].iter_mut().zip(values.chunks_exact(50));
                rows.for_each(|(row, values)| row[40..90].copy_from_slice(values));
            },
        },
    );
    sub_block(
        world,
        "face f64[64][64][64] => [1..63, 1..63, 0]",
        &layout!(f64[64][64][64] => [1..63, 1..63, 0]),
        zero_grid,
        &LoopsByHand {
            gather: |grid, values| {
                grid[1..63].iter().for_each(|plane| values.extend(plane[1..63].iter().map(|line| line[0])));
            },
            scatter: |values, grid| {
                let lines = grid[1..63].iter_mut().flat_map(|plane| &mut plane[1..63]);
                lines.zip(values).for_each(|(line, value)| line[0] = *value);
            },
        },
    );
}
