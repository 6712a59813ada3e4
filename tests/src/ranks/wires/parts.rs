//! Parts of arrays on all wires.

use dtype_runtime::{Comm, Wire, layout};
use mpi::topology::SimpleCommunicator;

use super::WIRES;

/// Sends parts of arrays of all kinds to the next rank. Each side names each wire; for segments, both sides
/// name it.
pub fn parts(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    world.attach().unwrap();
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    for n in [6usize, 48, 400] {
        let number = |rank: usize, i: usize| rank as f64 * 1e6 + i as f64;
        let own: Vec<f64> = (0..n * n).map(|i| number(rank, i)).collect();
        let list: Vec<usize> = (0..n / 2).map(|i| 2 * i + i * i % 2).collect();
        let layouts = [
            layout!(f64[n][n] => [.., 3]).unwrap(),
            layout!(f64[n][n] => [1..-1, 2..-1]).unwrap(),
            layout!(f64[n][n] => [{ &list }, {&list}]).unwrap(),
        ];
        for layout in layouts {
            let view = layout.of(&own).unwrap();
            let pairs = WIRES.into_iter().flat_map(|sent| WIRES.map(|received| [sent, received]));
            for [sent, received_on] in pairs {
                let mut received = vec![-1.0; n * n];
                let mut into = layout.of_mut(&mut received).unwrap();
                let (to, from) =
                    (world.peer(next).wire(sent).tag(5), world.peer(previous).wire(received_on).tag(5));
                match [sent, received_on].map(|wire| wire == Wire::Segments) {
                    [true, true] if size > 1 => {
                        // Segments are sent only while a call waits: even ranks send first.
                        if rank % 2 == 0 {
                            to.send(&view).unwrap();
                        }
                        from.receive_into(&mut into).unwrap();
                        if rank % 2 == 1 {
                            to.send(&view).unwrap();
                        }
                    }
                    [false, false] => {
                        let transferred = world.scope(|scope| {
                            scope.peer(next).wire(sent).tag(5).send(&view)?;
                            from.receive_into(&mut into)
                        });
                        transferred.unwrap();
                    }
                    _ => continue,
                }
                let mut expected = vec![-1.0; n * n];
                let of_previous: Vec<f64> = (0..n * n).map(|i| number(previous, i)).collect();
                let packed = layout.of(&of_previous).unwrap().pack();
                layout.of_mut(&mut expected).unwrap().unpack(&packed).unwrap();
                assert!(received == expected, "{n} {sent:?} {received_on:?}");
            }
        }
    }
}
