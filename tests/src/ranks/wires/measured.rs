//! Measurements between ranks, and tables that the program provides: values arrive, whatever a table says.

use dtype_runtime::{
    __private::{table_followed, table_library},
    Comm, Error, Wire,
    comm::{Calibration, table_row},
    layout,
};
use dtype_tests::is_intel;
use mpi::{
    topology::{Color, SimpleCommunicator},
    traits::*,
};

use super::WIRES;

/// Sends by measured tables, by tables with the opposite choices, and by a table of a communicator that is
/// then dropped.
pub fn measured(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    travel(world, None);
    // The built-in table has rows for every library that this test runs with, but for Intel MPI.
    let followed = if is_intel() { String::new() } else { table_library() };
    assert_eq!(table_followed().unwrap(), followed);
    let calibration = world.calibrate().unwrap();
    let text = calibration.to_string();
    agree(world, &text);
    let rows: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert_eq!(rows.is_empty(), world.size() == 1, "{text}");
    let library = table_library();
    let column = layout!(f64[512][8] => [.., 3]);
    let row = table_row(&column.of(&[[0.5; 8]; 512]));
    assert_eq!(row, Some(format!("{library} strided 8 4096")));
    assert_eq!(table_row(&[0.5; 512]), None);
    for row in &rows {
        let words: Vec<&str> = row.split_whitespace().collect();
        let [of, _, _, _, _, least, most, rounds] = words[..] else { panic!("{row}") };
        assert!(of.starts_with(&library), "{row}");
        // If ranks share a processor, one wire may seem to take no time.
        assert_eq!(least, most, "{row}");
        assert!(least.parse::<f64>().unwrap() >= 0.0 && rounds.parse::<u32>().unwrap() > 0, "{row}");
    }
    travel(world, Some(&calibration));

    // The text of a calibration is a table. All ranks use the table of rank 0.
    let again = world.calibrate_with(&text).unwrap();
    assert_eq!(again.to_string(), text);
    for (way, pieces) in [("typed", "segments"), ("packed", "packed")] {
        let rows = ["strided", "nested", "listed", "mixed"];
        let rows = rows.map(|blocks| format!("{library} {blocks} 8 64 {way}\n"));
        let table = rows.concat() + &format!("{library}-between-nodes pieces 131072 262144 {pieces}\n");
        let table = if world.rank() == 0 { table } else { String::from("what is no table") };
        let calibration = world.calibrate_with(&table).unwrap();
        agree(world, &calibration.to_string());
        travel(world, Some(&calibration));
    }
    let all_pieces = format!("{library} pieces 131072 262144 segments\n");
    travel(world, Some(&world.calibrate_with(&all_pieces).unwrap()));
    let error = world.calibrate_with(&format!("{library} strided 8 64 quickly")).unwrap_err();
    assert!(matches!(error, Error::Table { .. }) && error.to_string().contains("of rank 0"), "{error}");
    // A table longer than the limit is an error on every rank, even if the limit lies within a character.
    let longer = "é".repeat((4 << 20) + 1);
    let error = world.calibrate_with(if world.rank() == 0 { &longer } else { "" }).unwrap_err();
    assert!(matches!(error, Error::Table { .. }) && error.to_string().contains("8388608"), "{error}");

    // A calibration of a communicator with some of the ranks, which is then dropped.
    let color = Color::with_value(world.rank() as i32 % 2);
    let half = world.split_by_color(color).expect("every rank is in one");
    let calibration = Comm::from(&half).calibrate().unwrap();
    travel(&Comm::from(&half), Some(&calibration));
    drop(half);
    travel(world, None);
}

/// Checks that all ranks have the same text.
fn agree(world: &Comm<&SimpleCommunicator>, text: &str) {
    let of_root = (world.rank() == 0).then(|| text.to_owned());
    assert_eq!(world.broadcast(0, of_root).unwrap(), text);
}

/// Sends parts of arrays of all kinds to the next rank, on every wire and on the wire that both sides look up
/// in the calibration.
fn travel(world: &Comm<&SimpleCommunicator>, calibration: Option<&Calibration>) {
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
            let named = |rank| calibration.map_or(Wire::Auto, |found| found.wire(&view, rank));
            for wire in WIRES.map(Some).into_iter().chain([None]) {
                let mut received = vec![-1.0; n * n];
                let mut into = layout.of_mut(&mut received).unwrap();
                let [send, receive] = [next, previous].map(|rank| wire.unwrap_or_else(|| named(rank)));
                let (to, from) =
                    (world.peer(next).wire(send).tag(5), world.peer(previous).wire(receive).tag(5));
                if send == Wire::Segments {
                    // Segments are sent only while a call waits: even ranks send first.
                    if size == 1 {
                        continue;
                    }
                    if rank % 2 == 0 {
                        to.send(&view).unwrap();
                    }
                    from.receive_into(&mut into).unwrap();
                    if rank % 2 == 1 {
                        to.send(&view).unwrap();
                    }
                } else {
                    let transferred = world.scope(|scope| {
                        scope.peer(next).wire(send).tag(5).send(&view)?;
                        from.receive_into(&mut into)
                    });
                    transferred.unwrap();
                }
                let mut expected = vec![-1.0; n * n];
                let of_previous: Vec<f64> = (0..n * n).map(|i| number(previous, i)).collect();
                let packed = layout.of(&of_previous).unwrap().pack();
                layout.of_mut(&mut expected).unwrap().unpack(&packed).unwrap();
                assert!(received == expected, "{n} {send:?} {receive:?}");
            }
        }
    }
}
