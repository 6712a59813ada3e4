//! Messages of several gibibytes, and of more values than an MPI count.

use std::hint::black_box;

use dtype_runtime::{Comm, MpiDatatype, Wire, layout};
use mpi::{topology::SimpleCommunicator, traits::*};

#[derive(MpiDatatype, Clone, Copy, PartialEq)]
#[repr(C)]
struct Page {
    numbers: [u64; 511],
    mark: u8,
}

/// Returns a page of 4,096 bytes, of which 4,089 are packed.
fn page(i: usize) -> Page {
    Page { numbers: [i as u64; 511], mark: i as u8 }
}

/// Sends a message of more than 3 GiB on every wire.
pub fn large(world: &SimpleCommunicator) {
    const COUNT: usize = (3 << 30) / size_of::<Page>() + 1000;
    let world = &Comm::from(world);
    let mut pages = vec![page(0); COUNT];
    world.attach().unwrap();
    for (round, wire) in super::WIRES.into_iter().enumerate() {
        if world.rank() == 0 {
            pages.iter_mut().enumerate().for_each(|(i, page)| {
                page.numbers[510] = (i * (round + 1)) as u64;
                page.mark = (i + round) as u8;
            });
            world.peer(1).wire(wire).send(&pages).unwrap();
        } else {
            world.peer(0).wire(wire).receive_into(&mut pages[..]).unwrap();
            for (i, page) in pages.iter().enumerate() {
                assert_eq!((page.numbers[0], page.numbers[510]), (0, (i * (round + 1)) as u64), "{wire:?}");
                assert_eq!(page.mark, (i + round) as u8, "{wire:?}");
            }
        }
    }
}

/// Messages of more values, and of more bytes, than an MPI count.
pub fn beyond_counts(world: &SimpleCommunicator) {
    /// The number of pages on a rank. Two ranks have 2.2 GiB of packed bytes; one has an odd number of bytes.
    const COUNT: usize = 288_001;
    let world = &Comm::from(world);
    let (rank, is_root) = (world.rank(), world.rank() == 0);
    {
        let mut bytes = vec![0u8; (1 << 31) + 12_345];
        for place in (7..bytes.len()).step_by(1 << 20) {
            bytes[place] = (place >> 20) as u8;
        }
        if is_root {
            world.peer(1).wire(Wire::Typed).send(&bytes).unwrap();
            world.peer(1).send(&bytes).unwrap();
        } else {
            let mut received = vec![1u8; bytes.len()];
            world.peer(0).receive_into(&mut received[..]).unwrap();
            assert!(received == bytes);
            drop(received);
            let received: Vec<u8> = world.peer(0).receive().unwrap();
            assert!(received == bytes);
        }
    }
    let own = |rank: usize| -> Vec<Page> { (0..COUNT).map(|i| page(i + rank)).collect() };
    let both = || [own(0), own(1)].concat();
    let mut into = vec![page(0); if is_root { 2 * COUNT } else { COUNT }];
    world.gather_into(0, &own(rank), is_root.then_some(&mut into[..])).unwrap();
    if is_root {
        assert!(into == both());
        into = own(5);
    }
    world.scatter_into(0, is_root.then(both).as_ref(), &mut into[..]).unwrap();
    assert!(into == own(rank));
    drop(into);
    let (messages, mut into) = if is_root {
        ([vec![page(3)], both()], [vec![page(0)], vec![page(0); 2]])
    } else {
        ([vec![page(4); 2], Vec::new()], [vec![page(0); 2 * COUNT], Vec::new()])
    };
    world.all_to_all_into(&messages, &mut into.each_mut().map(Vec::as_mut_slice)).unwrap();
    assert!(into == if is_root { [vec![page(3)], vec![page(4); 2]] } else { [both(), Vec::new()] });
}

/// Messages of more bytes than an unsigned int counts: a layout through rsmpi's calls, wires, and a receive
/// that is started.
pub fn beyond_4_gib(world: &SimpleCommunicator) {
    let n = (1 << 32) + black_box(17);
    let layout = layout!(u8[n] => [..]).unwrap();
    let world = &Comm::from(world);
    let (sender, receiver) = (world.peer(0), world.peer(1));
    let places = || (7..n).step_by(1 << 20).chain([n - 1]);
    let mut bytes = vec![0u8; n];
    for round in 1..4 {
        let mark = |place: usize| (place >> 20) as u8 ^ (place as u8 + round);
        if world.rank() == 0 {
            places().for_each(|place| bytes[place] = mark(place));
            match round {
                1 => world.process_at_rank(1).send(&layout.of(&bytes).unwrap()),
                2 => receiver.wire(Wire::Typed).send(&bytes).unwrap(),
                _ => receiver.send(&bytes).unwrap(),
            }
            continue;
        }
        match round {
            1 => drop(world.process_at_rank(0).receive_into(&mut layout.of_mut(&mut bytes).unwrap())),
            2 => sender.receive_into(&mut bytes[..]).unwrap(),
            _ => sender.start().receive_into(&mut bytes[..]).unwrap().finish().unwrap(),
        }
        assert!(places().all(|place| bytes[place] == mark(place)), "round {round}");
    }
}
